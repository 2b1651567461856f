/* fourier_tile.c - reads the tiles of a convolution by Fourier transforms into the lanes of vectors, and writes the
 * results.
 *
 * Rows that are equally long in all lanes are copied by the kernels of transforms, in pairs of neighbouring elements.
 * Others, at the edges of an image, are copied lane by lane. */
#include "fourier.h"

#include <string.h>

/* ---- Planes ---- */

/* Converts a tile of all items to its item and its indexes. */
static int64_t find_row(const bp__fourier_cut *cut, int64_t tile, int64_t index[BP__FOURIER_AXES]) {
    for (int d = BP__FOURIER_LAST; d >= 0; d--) {
        index[d] = tile % cut->axis[d].tiles;
        tile /= cut->axis[d].tiles;
    }
    return tile;
}

static int64_t limited(int64_t x, int64_t most) {
    return x < 0 ? 0 : bp__least(x, most);
}

void bp__fourier_add_image(const bp__fourier_cut *cut, bp__fourier_planes *planes, int64_t tile, int64_t channel) {
    const int i = planes->count++;
    int64_t index[BP__FOURIER_AXES];
    planes->at[i] = channel + find_row(cut, tile, index) * cut->job.image_batch;
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        const bp__fourier_axis *axis = &cut->axis[d];
        const int64_t from = index[d] * axis->results * axis->of.step + axis->first;
        planes->at[i] += from * axis->of.stride;
        planes->box[i].low[d] = limited(-from, axis->n);
        planes->box[i].high[d] = limited(axis->of.size - from, axis->n);
    }
}

void bp__fourier_add_result(const bp__fourier_cut *cut, bp__fourier_planes *planes, int64_t tile, int64_t channel,
                            int64_t offset) {
    const int i = planes->count++;
    int64_t index[BP__FOURIER_AXES];
    planes->channel[i] = channel;
    planes->at[i] = offset + cut->job.origin + find_row(cut, tile, index) * cut->job.result_batch;
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        const bp__fourier_axis *axis = &cut->axis[d];
        const int64_t from = index[d] * axis->results;
        planes->at[i] += from * axis->of.result;
        planes->box[i].low[d] = 0;
        planes->box[i].high[d] = bp__least(axis->results, axis->of.grid - from);
    }
}

static bool is_empty(const bp__fourier_box *box) {
    bool empty = false;
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        empty = empty || box->low[d] >= box->high[d];
    }
    return empty;
}

/* Returns the smallest box with the elements of all planes. */
bp__fourier_box bp__fourier_needed(const bp__fourier_planes *planes) {
    bp__fourier_box all = {{0}, {0}};
    bool any = false;
    for (int i = 0; i < planes->count; i++) {
        const bp__fourier_box *one = &planes->box[i];
        for (int d = 0; !is_empty(one) && d < BP__FOURIER_AXES; d++) {
            all.low[d] = any ? bp__least(all.low[d], one->low[d]) : one->low[d];
            all.high[d] = any && all.high[d] > one->high[d] ? all.high[d] : one->high[d];
        }
        any = any || !is_empty(one);
    }
    return all;
}

/* ---- Rows ---- */

/* A row of the tile, and the operand's elements in each lane. */
typedef struct row {
    const bp__fourier_cut *cut;
    const bp__fourier_set *set;
    const bp__fourier_planes *planes;
    int64_t index[BP__FOURIER_LAST];
    int64_t steps[BP__FOURIER_AXES]; /* of the operand */
    char *operand, *tile;
} row;

static bool has_row(const row *r, int i) {
    const bp__fourier_box *box = &r->planes->box[i];
    bool inside = !is_empty(box);
    for (int d = 0; d < BP__FOURIER_LAST; d++) {
        inside = inside && r->index[d] >= box->low[d] && r->index[d] < box->high[d];
    }
    return inside;
}

/* Returns the offset of element e of a row. */
static int64_t offset_of(const row *r, int i, int64_t e) {
    return r->planes->at[i] + r->index[0] * r->steps[0] + r->index[1] * r->steps[1] + e * r->steps[2];
}

/* Returns whether the same elements of the row exist in all lanes. */
static bool is_uniform(const row *r) {
    const bp__fourier_box *first = &r->planes->box[0];
    bool same = r->planes->count == bp__fourier_lanes(r->set);
    for (int i = 0; same && i < r->planes->count; i++) {
        const bp__fourier_box *one = &r->planes->box[i];
        same = has_row(r, i) && one->low[2] == first->low[2] && one->high[2] == first->high[2];
    }
    return same;
}

static int lane_of(const row *r, int line) {
    const int *order = r->set->transforms[0]->order;
    int lane = 0;
    while (order[lane] != line) {
        lane++;
    }
    return lane;
}

/* Copies elements [low, high) of one lane, to the tile or from it. */
static void copy_lane(const row *r, int i, int64_t low, int64_t high, bool read) {
    const int lanes = bp__fourier_lanes(r->set);
    const int64_t real = bp__fourier_real(r->cut);
    char *in_tile = r->tile + (low * lanes + lane_of(r, i)) * real, *there = r->operand + offset_of(r, i, low) * real;
    if (read) {
        r->set->own->to_lane(high - low, lanes, in_tile, there, r->steps[2]);
    } else {
        r->set->own->from_lane(high - low, lanes, there, r->steps[2], in_tile);
    }
}

static void copy_lanes(const row *r, int64_t low, int64_t high, bool read) {
    for (int i = 0; low < high && i < r->planes->count; i++) {
        copy_lane(r, i, low, high, read);
    }
}

/* Copies pairs of neighbouring elements of all lanes. */
static void copy_pairs(const row *r, int64_t low, int64_t pairs, bool read) {
    const int lanes = bp__fourier_lanes(r->set);
    const int64_t real = bp__fourier_real(r->cut), step = r->steps[2];
    const bp__fft_view in_tile = {
        .at = r->tile + low * lanes * real, .step = 2 * lanes, .part = lanes, .layout = BP__FFT_LANES};
    int64_t offset[BP__FFT_LANES_MOST];
    bool neighbours = true;
    for (int i = 0; i < lanes; i++) {
        offset[i] = offset_of(r, i, low);
        neighbours = neighbours && offset[i] == offset[0] + i;
    }
    const bp__fft_view there = {
        .at = r->operand + offset[0] * real, .step = 2 * step, .part = step, .layout = BP__FFT_PLAIN};
    const bp__fft_lines lines = {r->operand, offset, lanes, 2 * step, step, false};
    if (neighbours) {
        bp__fourier_copy(r->set, read ? &there : &in_tile, read ? &in_tile : &there, pairs);
    } else if (read) {
        r->set->transforms[0]->gather(in_tile.at, &lines, false, pairs);
    } else {
        r->set->transforms[0]->scatter(in_tile.at, &lines, false, pairs);
    }
}

/* Copies a row that is the same in all lanes. Pairs begin at even elements of the tile. */
static void copy_uniform(const row *r, bool read) {
    const int64_t low = r->planes->box[0].low[2], high = r->planes->box[0].high[2];
    const int64_t even = bp__least(bp__conv_round_up(low, 2), high), pairs = (high - even) / 2;
    copy_lanes(r, low, even, read);
    if (pairs > 0) {
        copy_pairs(r, even, pairs, read);
    }
    copy_lanes(r, even + 2 * pairs, high, read);
}

static void copy_different(const row *r, bool read) {
    for (int i = 0; i < r->planes->count; i++) {
        if (has_row(r, i)) {
            copy_lane(r, i, r->planes->box[i].low[2], r->planes->box[i].high[2], read);
        }
    }
}

/* ---- Tiles ---- */

static void read_row(const row *r, int64_t n) {
    const size_t vector = (size_t)(bp__fourier_real(r->cut) * bp__fourier_lanes(r->set));
    const bp__fourier_box *first = &r->planes->box[0];
    if (is_uniform(r)) {
        memset(r->tile, 0, (size_t)first->low[2] * vector);
        memset(r->tile + (size_t)first->high[2] * vector, 0, (size_t)(n - first->high[2]) * vector);
        copy_uniform(r, true);
    } else {
        memset(r->tile, 0, (size_t)n * vector);
        copy_different(r, true);
    }
}

static char *row_at(const bp__fourier_cut *cut, const bp__fourier_set *set, void *tile, int64_t i, int64_t j) {
    return (char *)tile + (i * cut->axis[1].n + j) * cut->row * bp__fourier_element(cut, set);
}

bp__fourier_box bp__fourier_read(const bp__fourier_cut *cut, const bp__fourier_set *set,
                                 const bp__fourier_planes *planes, const char *image, void *tile) {
    const bp__fourier_box all = bp__fourier_needed(planes);
    row r = {.cut = cut, .set = set, .planes = planes, .operand = (char *)(uintptr_t)image};
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        r.steps[d] = cut->axis[d].of.stride;
    }
    for (r.index[0] = all.low[0]; r.index[0] < all.high[0]; r.index[0]++) {
        for (r.index[1] = all.low[1]; r.index[1] < all.high[1]; r.index[1]++) {
            r.tile = row_at(cut, set, tile, r.index[0], r.index[1]);
            read_row(&r, cut->axis[BP__FOURIER_LAST].n);
        }
    }
    return all;
}

/* Makes a vector of the biases of all planes. */
static void fill_bias(const row *r, const char *bias, int64_t step, void *vector) {
    const int64_t real = bp__fourier_real(r->cut);
    memset(vector, 0, (size_t)(real * bp__fourier_lanes(r->set)));
    for (int i = 0; bias && i < r->planes->count; i++) {
        memcpy((char *)vector + lane_of(r, i) * real, bias + r->planes->channel[i] * step * real, (size_t)real);
    }
}

void bp__fourier_write(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_planes *planes,
                       const char *bias, int64_t bias_step, bool relu, void *tile, char *result) {
    const bp__fourier_box all = bp__fourier_needed(planes);
    row r = {.cut = cut, .set = set, .planes = planes, .operand = result};
    double added[BP__FFT_LANES_MOST];
    fill_bias(&r, bias, bias_step, added);
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        r.steps[d] = cut->axis[d].of.result;
    }
    for (r.index[0] = 0; r.index[0] < all.high[0]; r.index[0]++) {
        for (r.index[1] = 0; r.index[1] < all.high[1]; r.index[1]++) {
            r.tile = row_at(cut, set, tile, r.index[0], r.index[1]);
            set->own->finish(all.high[2], r.tile, added, relu);
            if (is_uniform(&r)) {
                copy_uniform(&r, false);
            } else {
                copy_different(&r, false);
            }
        }
    }
}

/* ---- The weight ---- */

/* Tap t is element -t of a periodic tile, so that element o of the product's transform is result o. Returns the index
 * of the tap whose image element is u steps behind the first one. */
static int64_t tap_of(const bp__conv_axis *axis, int64_t u) {
    return axis->change > 0 ? u : axis->taps - 1 - u;
}

static int64_t distance(const bp__conv_axis *axis) {
    return axis->change > 0 ? axis->change : -axis->change;
}

/* Copies a row of taps to elements n - u distance. */
static void read_taps(const bp__fourier_cut *cut, const bp__fourier_set *set, int lane, const char *from, char *to) {
    const bp__fourier_axis *axis = &cut->axis[BP__FOURIER_LAST];
    const int64_t real = bp__fourier_real(cut), apart = distance(&axis->of), taps = axis->of.taps;
    const int64_t lanes = bp__fourier_lanes(set), at = axis->n - axis->span + 1;
    const int64_t first = axis->of.weight_first + tap_of(&axis->of, taps - 1) * axis->of.weight;
    const int64_t last = axis->of.weight_first + tap_of(&axis->of, 0) * axis->of.weight;
    const int64_t step = axis->of.change > 0 ? -axis->of.weight : axis->of.weight;
    set->own->to_lane(taps - 1, (int)(lanes * apart), to + (at * lanes + lane) * real, from + first * real, step);
    set->own->to_lane(1, (int)lanes, to + lane * real, from + last * real, 0);
}

void bp__fourier_read_weight(const bp__fourier_cut *cut, const bp__fourier_set *set, int count, const int *lane,
                             const int64_t *at, const char *weight, void *tile) {
    const bp__fourier_axis *axis = cut->axis;
    memset(tile, 0, (size_t)(cut->frequencies * bp__fourier_element(cut, set)));
    for (int64_t t = 0; t < axis[0].of.taps * axis[1].of.taps; t++) {
        const int64_t index[] = {t / axis[1].of.taps, t % axis[1].of.taps};
        int64_t from = 0, at_row[BP__FOURIER_LAST];
        for (int d = 0; d < BP__FOURIER_LAST; d++) {
            from += axis[d].of.weight_first + tap_of(&axis[d].of, index[d]) * axis[d].of.weight;
            at_row[d] = (axis[d].n - index[d] * distance(&axis[d].of)) % axis[d].n;
        }
        for (int i = 0; i < count; i++) {
            read_taps(cut, set, lane[i], weight + (at[i] + from) * bp__fourier_real(cut),
                      row_at(cut, set, tile, at_row[0], at_row[1]));
        }
    }
}
