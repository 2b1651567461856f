/* gather.c - packs positions of an image, and rows of a weight, into panels for the product kernels. */
#include "conv.h"

#include <string.h>

enum { MOST_WIDTH = 64 }; /* columns of a panel */

void bp__conv_position(const bp__conv_job *job, int64_t position, int64_t index[1 + BP_MAX_CONV_NDIM]) {
    for (int d = BP_MAX_CONV_NDIM - 1; d >= 0; d--) {
        index[1 + d] = position % job->axis[d].grid;
        position /= job->axis[d].grid;
    }
    index[0] = position;
}

static void next_position(const bp__conv_job *job, int64_t index[1 + BP_MAX_CONV_NDIM]) {
    for (int d = BP_MAX_CONV_NDIM; d > 0; d--) {
        if (++index[d] < job->axis[d - 1].grid) {
            return;
        }
        index[d] = 0;
    }
    index[0]++;
}

/* Pieces of panels of pairs are packed as floats first. */
static bp__native_pack packer(const bp__conv_set *set, bool as_v) {
    const bp__native_kernels *products = set->products;
    return products->pair ? (as_v ? products->plain_v : products->plain_s) : as_v ? products->pack_v : products->pack_s;
}

static size_t row_element(const bp__conv_set *set) {
    return set->products->pair ? sizeof(float) : set->products->packed;
}

/* The positions of one panel: image indexes for the first tap, and their range in each dimension. */
typedef struct positions {
    int count;
    int64_t at[MOST_WIDTH]; /* element of the image, which may be outside it */
    int64_t index[BP_MAX_CONV_NDIM][MOST_WIDTH];
    int64_t low[BP_MAX_CONV_NDIM], high[BP_MAX_CONV_NDIM];
    bool even; /* the elements have equal distances */
    int64_t distance;
} positions;

static void locate(const bp__conv_job *job, int64_t index[1 + BP_MAX_CONV_NDIM], int count, positions *p) {
    p->count = count;
    for (int i = 0; i < count; i++, next_position(job, index)) {
        p->at[i] = index[0] * job->image_batch;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            const bp__conv_axis *axis = &job->axis[d];
            const int64_t at = index[1 + d] * axis->step + axis->first;
            p->index[d][i] = at;
            p->at[i] += at * axis->stride;
            p->low[d] = i == 0 || at < p->low[d] ? at : p->low[d];
            p->high[d] = i == 0 || at > p->high[d] ? at : p->high[d];
        }
    }
    p->distance = count > 1 ? p->at[1] - p->at[0] : 0;
    p->even = true;
    for (int i = 2; i < count; i++) {
        p->even = p->even && p->at[i] - p->at[i - 1] == p->distance;
    }
}

void bp__conv_tap(const bp__conv_job *job, int64_t tap, int64_t of[BP_MAX_CONV_NDIM]) {
    for (int d = BP_MAX_CONV_NDIM - 1; d >= 0; d--) {
        of[d] = tap % job->axis[d].taps;
        tap /= job->axis[d].taps;
    }
}

typedef enum coverage { OUTSIDE, PARTLY, INSIDE } coverage;

/* Returns whether the image has the elements that the positions need for a tap. */
static coverage covers(const bp__conv_job *job, const positions *p, const int64_t shift[BP_MAX_CONV_NDIM]) {
    coverage all = INSIDE;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        const int64_t low = p->low[d] + shift[d], high = p->high[d] + shift[d];
        if (high < 0 || low >= job->axis[d].size) {
            return OUTSIDE;
        }
        all = low < 0 || high >= job->axis[d].size ? PARTLY : all;
    }
    return all;
}

static bool is_inside(const bp__conv_job *job, const positions *p, int i, const int64_t shift[BP_MAX_CONV_NDIM]) {
    bool inside = true;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        inside = inside && (uint64_t)(p->index[d][i] + shift[d]) < (uint64_t)job->axis[d].size;
    }
    return inside;
}

/* Terms whose elements have equal distances in the image. */
typedef struct piece {
    int64_t shift[BP_MAX_CONV_NDIM]; /* of the image index, from the index of tap 0 */
    int64_t at, step, count;
} piece;

/* Finds the terms of a tap from a channel on. If the elements of the next taps in the row follow at the same distance,
 * and are all inside the image, they are part of the piece: images with few channels have short pieces otherwise. */
static void find_piece(const bp__conv_job *job, const positions *p, const int64_t tap[BP_MAX_CONV_NDIM],
                       int64_t channel, int64_t most, piece *of) {
    enum { LAST = BP_MAX_CONV_NDIM - 1 };
    const bp__conv_axis *row = &job->axis[LAST];
    const int64_t next = row->change * row->stride, left = row->taps - tap[LAST];
    int64_t at = channel * job->image_channel, step = job->image_channel, count = job->channels - channel;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        of->shift[d] = tap[d] * job->axis[d].change;
        at += of->shift[d] * job->axis[d].stride;
    }
    if (left > 1 && (job->channels == 1 || next == job->channels * job->image_channel)) {
        int64_t end[BP_MAX_CONV_NDIM];
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            end[d] = of->shift[d] + (d == LAST ? (left - 1) * row->change : 0);
        }
        if (covers(job, p, of->shift) == INSIDE && covers(job, p, end) == INSIDE) {
            count += (left - 1) * job->channels;
            step = job->channels == 1 ? next : step;
        }
    }
    of->at = at;
    of->step = step;
    of->count = bp__least(count, most);
}

/* Packs a piece into rows of a panel. */
static void gather_piece(const bp__conv_job *job, const bp__conv_set *set, const char *image, bool as_v,
                         const positions *p, int width, const piece *of, char *rows) {
    const int64_t element = (int64_t)set->products->element, *shift = of->shift;
    const coverage part = covers(job, p, shift);
    if (part == OUTSIDE) {
        memset(rows, 0, (size_t)width * (size_t)of->count * row_element(set));
    } else if (part == INSIDE && p->even) {
        packer(set, as_v)(rows, image + (p->at[0] + of->at) * element, p->distance, of->step, p->count, of->count,
                          false);
    } else {
        const char *from[MOST_WIDTH];
        for (int i = 0; i < width; i++) {
            from[i] = i < p->count && is_inside(job, p, i, shift) ? image + (p->at[i] + of->at) * element : NULL;
        }
        set->own->gather(rows, width, from, of->step, of->count);
    }
}

/* One panel, and what fills it: positions of the image, or rows of the weight from `first` on. */
typedef struct filling {
    const bp__conv_job *job;
    const bp__conv_set *set;
    const char *from;
    bool as_v;
    int width;
    const positions *positions; /* NULL: rows of the weight */
    int64_t first, rows;
} filling;

/* Packs the terms k0 to k0 + k of the weight's rows. */
static void fill_weight(const filling *f, int64_t k0, int64_t k, char *panel) {
    const bp__conv_job *job = f->job;
    for (int64_t l = 0; l < k;) {
        const int64_t channel = (k0 + l) % job->channels, some = bp__least(job->channels - channel, k - l);
        int64_t tap[BP_MAX_CONV_NDIM], at = f->first * job->weight_row + channel * job->weight_channel;
        bp__conv_tap(job, (k0 + l) / job->channels, tap);
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at += job->axis[d].weight_first + tap[d] * job->axis[d].weight;
        }
        packer(f->set, f->as_v)(panel + l * f->width * (int64_t)row_element(f->set),
                                f->from + at * (int64_t)f->set->products->element, job->weight_row, job->weight_channel,
                                f->rows, some, false);
        l += some;
    }
}

/* Moves on by `count` terms, which end in the same row of taps. */
static void next_term(const bp__conv_job *job, int64_t tap[BP_MAX_CONV_NDIM], int64_t *channel, int64_t count) {
    for (*channel += count; *channel >= job->channels; *channel -= job->channels) {
        tap[BP_MAX_CONV_NDIM - 1]++;
    }
    for (int d = BP_MAX_CONV_NDIM - 1; d > 0 && tap[d] >= job->axis[d].taps; d--) {
        tap[d] = 0;
        tap[d - 1]++;
    }
}

static void fill_image(const filling *f, int64_t k0, int64_t k, char *panel) {
    int64_t tap[BP_MAX_CONV_NDIM], channel = k0 % f->job->channels;
    bp__conv_tap(f->job, k0 / f->job->channels, tap);
    for (int64_t l = 0; l < k;) {
        piece of;
        find_piece(f->job, f->positions, tap, channel, k - l, &of);
        gather_piece(f->job, f->set, f->from, f->as_v, f->positions, f->width, &of,
                     panel + l * f->width * (int64_t)row_element(f->set));
        l += of.count;
        next_term(f->job, tap, &channel, of.count);
    }
}

/* Packs k terms of one panel. Panels of pairs are converted from floats, some terms at a time, because a piece may
 * begin in the middle of a pair. */
static void fill(const filling *f, int64_t k0, int64_t k, char *panel) {
    enum { ROWS = 16 }; /* even; the floats are 4 KiB of the stack, and stay in the first-level cache */
    void (*const some)(const filling *, int64_t, int64_t, char *) = f->positions ? fill_image : fill_weight;
    const bp__native_kernels *products = f->set->products;
    if (!products->pair) {
        some(f, k0, k, panel);
        return;
    }
    float rows[ROWS * MOST_WIDTH];
    for (int64_t l = 0; l < k; l += ROWS) {
        const int64_t depth = bp__least(k - l, ROWS);
        some(f, k0 + l, depth, (char *)rows);
        products->pair(panel + l * f->width * (int64_t)products->packed, rows, f->width, depth);
    }
}

static int width_of(const bp__conv_set *set, bool as_v, int64_t left) {
    return as_v ? bp__conv_v_width(set->products, left) : set->products->q_panel;
}

/* Packs positions of one row and some channels, if the kernel has one element and the image has all of them. Returns
 * whether it has. */
static bool gather_row(const bp__conv_job *job, const bp__conv_set *set, const char *image, bool as_v,
                       const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t count, int64_t k0, int64_t k, char *panels) {
    const bp__conv_axis *row = &job->axis[BP_MAX_CONV_NDIM - 1];
    int64_t at = index[0] * job->image_batch + k0 * job->image_channel;
    if (job->taps != 1 || set->products->k_unit != 1 || index[BP_MAX_CONV_NDIM] + count > row->grid) {
        return false;
    }
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        const bp__conv_axis *axis = &job->axis[d];
        const int64_t low = index[1 + d] * axis->step + axis->first;
        const int64_t high = low + (axis == row ? (count - 1) * axis->step : 0);
        if (low < 0 || high >= axis->size) {
            return false;
        }
        at += low * axis->stride;
    }
    packer(set, as_v)(panels, image + at * (int64_t)set->products->element, row->step * row->stride, job->image_channel,
                      count, k, false);
    return true;
}

void bp__conv_gather(const bp__conv_job *job, const bp__conv_set *set, const char *image, bool as_v, int64_t start,
                     int64_t count, int64_t k0, int64_t k, char *panels) {
    int64_t index[1 + BP_MAX_CONV_NDIM];
    bp__conv_position(job, start, index);
    if (gather_row(job, set, image, as_v, index, count, k0, k, panels)) {
        return;
    }
    for (int64_t done = 0; done < count;) {
        const int width = width_of(set, as_v, count - done);
        positions p;
        locate(job, index, (int)bp__least(count - done, width), &p);
        fill(&(filling){.job = job, .set = set, .from = image, .as_v = as_v, .width = width, .positions = &p}, k0, k,
             panels);
        panels += width * bp__conv_depth(set->products, k) * (int64_t)set->products->packed;
        done += p.count;
    }
}

void bp__conv_pack_weight(const bp__conv_job *job, const bp__conv_set *set, const char *weight, bool as_v,
                          int64_t start, int64_t count, int64_t k0, int64_t k, char *panels) {
    for (int64_t done = 0; done < count;) {
        const int width = width_of(set, as_v, count - done);
        const int64_t rows = bp__least(count - done, width);
        fill(&(filling){.job = job,
                        .set = set,
                        .from = weight,
                        .as_v = as_v,
                        .width = width,
                        .first = start + done,
                        .rows = rows},
             k0, k, panels);
        panels += width * bp__conv_depth(set->products, k) * (int64_t)set->products->packed;
        done += rows;
    }
}
