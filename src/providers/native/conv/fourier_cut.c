/* fourier_cut.c - decides which convolutions are computed by Fourier transforms, cuts them into tiles and estimates
 * their time.
 *
 * The bits of a result depend on the sizes of tiles. So these follow from the kernel, the image and the instruction set
 * alone, not from the batch, threads, caches or packed weights. */
#include "fourier.h"

#include "providers/native/fft/choose.h"

#include <math.h>
#include <string.h>

enum { MOST_SIZES = 24, MOST_TILE = 1 << 17, MOST_BLOCK = 96 };

/* Bytes of the spectra of a block of tiles, and the most for all spectra together. */
#define BLOCK_BYTES 4e6
#define MOST_BYTES 0x1p30

/* Nanoseconds, measured on a Zen 3 core near 3 GHz with vectors of 32 bytes. For each vector: reading or writing a real
 * element, splitting a complex one between panels, joining one, multiplying one, and the step from a complex spectrum
 * to a real one. For each row and each unit of planes, each product of matrices, and each tap of a weight. */
#define COPY_NS 2.6
#define SPREAD_NS 14
#define JOIN_NS 4
#define MULTIPLY_NS 1.6
#define COMBINE_NS 1.5
#define ROW_NS 60
#define UNIT_NS 400
#define PRODUCT_NS 45
#define TAP_NS 1.2
#define CALL_NS 500
#define MEMORY_RATE 12 /* bytes for each nanosecond */

const char *bp__fourier_refusal(const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    if (problem->op == BP_OP_CONV_WEIGHT) {
        return "does not compute gradients by the weight";
    }
    if (problem->dtype < BP_F32) {
        return "only f32 and f64 are transformed";
    }
    bool any = false;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        if (c->stride[d] > 1 && (c->kernel[d] > 1 || problem->op == BP_OP_CONV_INPUT)) {
            return "the stride is above 1, so that most results of a tile would not be needed";
        }
        any = any || c->kernel[d] > 1;
    }
    return any ? NULL : "the kernel has one tap";
}

/* ---- Sizes of tiles ---- */

/* Returns the smallest size from `least` on whose transform has passes of radix 2, 3 and 5 only. */
static int64_t smooth(int64_t least) {
    static const int64_t odd[] = {1, 3, 5, 9, 15};
    int64_t best = INT64_MAX;
    for (int i = 0; i < (int)(sizeof odd / sizeof *odd); i++) {
        int64_t n = odd[i];
        while (n < least) {
            n *= 2;
        }
        best = bp__least(best, n);
    }
    return best;
}

/* Sizes of one axis that are compared, with the time of a complex transform of each in all lanes. */
typedef struct sizes {
    int count;
    int64_t n[MOST_SIZES];
    double ns[MOST_SIZES];
} sizes;

static void list_sizes(const bp__fourier_axis *axis, bool real, const bp__fourier_set *set, bool f64, sizes *list) {
    list->count = 0;
    if (axis->of.taps == 1) {
        list->n[0] = 1;
        list->ns[0] = 0;
        list->count = 1;
        return;
    }
    if (axis->span >= MOST_TILE) {
        return;
    }
    const int64_t unit = real ? 2 : 1, whole = axis->span + axis->of.grid - 1;
    const int64_t largest = unit * smooth((whole + unit - 1) / unit);
    for (int64_t n = axis->span + 1; list->count < MOST_SIZES - 1 && n <= 12 * axis->span + 64; n += n / 8 + 1) {
        n = unit * smooth((n + unit - 1) / unit);
        if (n >= largest || n > MOST_TILE) {
            break;
        }
        list->n[list->count++] = n;
    }
    if (largest <= MOST_TILE) {
        list->n[list->count++] = largest;
    }
    for (int i = 0; i < list->count; i++) {
        list->ns[i] = bp__fft_lanes_ns(set->transforms, set->isa, f64, list->n[i] / unit);
    }
}

static int64_t parts(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}

/* Sets the size of one axis. */
static void set_size(bp__fourier_axis *axis, int64_t n) {
    axis->n = n;
    axis->results = n == 1 ? 1 : bp__least(n - axis->span + 1, axis->of.grid);
    axis->tiles = parts(axis->of.grid, axis->results);
}

static void set_sizes(bp__fourier_cut *cut) {
    cut->row = cut->axis[2].n / 2 + 1;
    cut->frequencies = cut->axis[0].n * cut->axis[1].n * cut->row;
    cut->tiles = cut->axis[0].tiles * cut->axis[1].tiles * cut->axis[2].tiles;
}

/* ---- Cost ---- */

/* Times of the transform of one plane in each lane, with reading or writing it. */
typedef struct transforms {
    double forward, inverse;
} transforms;

static transforms transforms_of(const bp__fourier_cut *cut, const double ns[BP__FOURIER_AXES]) {
    const bp__fourier_axis *a = cut->axis;
    const double row = (double)cut->row, n0 = (double)a[0].n, n1 = (double)a[1].n;
    const double line = ns[2] + COMBINE_NS * row + COPY_NS * (double)a[2].n + ROW_NS;
    const double first = n1 * row * ns[0], second = row * ns[1];
    return (transforms){.forward = UNIT_NS + n0 * n1 * line + n0 * second + first,
                        .inverse = UNIT_NS + (double)a[0].results * ((double)a[1].results * line + second) + first};
}

/* Returns the bytes of all spectra of a weight. */
static double weight_bytes(const bp__fourier_cut *cut, const bp__fourier_set *set) {
    const double lanes = bp__fourier_lanes(set), rows = (double)cut->job.rows, groups = (double)cut->groups;
    const double kernels = cut->way == BP__FOURIER_MATRICES
                               ? (double)cut->job.channels * ceil(rows / lanes) * lanes * groups
                           : cut->way == BP__FOURIER_GROUPS ? rows * ceil(groups / lanes) * lanes
                                                            : rows * groups;
    return kernels * (double)cut->frequencies * 2 * (double)bp__fourier_real(cut);
}

/* Returns the bytes of the spectra of one tile, for MATRICES. */
static double tile_bytes(const bp__fourier_cut *cut, const bp__fourier_set *set) {
    const double lanes = bp__fourier_lanes(set);
    return (double)cut->groups * ((double)cut->job.channels + ceil((double)cut->job.rows / lanes) * lanes) *
           (double)cut->frequencies * 2 * (double)bp__fourier_real(cut);
}

static int64_t block_of(const bp__fourier_cut *cut, const bp__fourier_set *set, int64_t tiles) {
    const double fit = BLOCK_BYTES / tile_bytes(cut, set);
    const int64_t most = fit < 1 ? 1 : fit < MOST_BLOCK ? (int64_t)fit : MOST_BLOCK, panel = set->products->q_panel;
    const int64_t block = most > panel ? most / panel * panel : most;
    return bp__least(block, tiles);
}

static double weights_ns(const bp__fourier_cut *cut, const bp__fourier_set *set, const transforms *t) {
    const double lanes = bp__fourier_lanes(set), taps = (double)cut->job.taps, rows = (double)cut->job.rows;
    const double groups = (double)cut->groups;
    const double times = cut->way == BP__FOURIER_MATRICES ? groups * (double)cut->job.channels * ceil(rows / lanes)
                         : cut->way == BP__FOURIER_GROUPS ? rows * ceil(groups / lanes)
                                                          : ceil(rows * groups / lanes);
    return times * (t->forward + TAP_NS * taps * lanes + JOIN_NS * (double)cut->frequencies);
}

/* Returns the time for `items` items. */
static double time_of(const bp__fourier_cut *cut, const bp__fourier_set *set, const transforms *t, double rate,
                      double items) {
    const double lanes = bp__fourier_lanes(set), f = (double)cut->frequencies, rows = (double)cut->job.rows;
    const double groups = (double)cut->groups, tiles = items * (double)cut->tiles;
    if (cut->way != BP__FOURIER_MATRICES) {
        const double times =
            cut->way == BP__FOURIER_GROUPS ? tiles * ceil(groups / lanes) : groups * ceil(tiles / lanes);
        return times * (t->forward + rows * (t->inverse + MULTIPLY_NS * f));
    }
    const double channels = (double)cut->job.channels, panels = ceil(rows / lanes);
    const double blocks = ceil(tiles / (double)block_of(cut, set, INT64_MAX));
    const double multiply = groups * f * (panels * lanes * channels * tiles / rate + PRODUCT_NS * blocks);
    return groups * ceil(tiles * channels / lanes) * (t->forward + SPREAD_NS * f) +
           groups * tiles * panels * (t->inverse + JOIN_NS * f) + multiply +
           blocks * weight_bytes(cut, set) / MEMORY_RATE;
}

static bp__fourier_way way_of(const bp__fourier_cut *cut, const bp__fourier_set *set, int64_t tiles) {
    const int64_t lanes = bp__fourier_lanes(set);
    return cut->job.channels > 1                                                    ? BP__FOURIER_MATRICES
           : tiles * parts(cut->groups, lanes) <= cut->groups * parts(tiles, lanes) ? BP__FOURIER_GROUPS
                                                                                    : BP__FOURIER_TILES;
}

/* ---- The cut ---- */

/* Moves axes without transforms to the front, because the last one is real. */
static void set_axes(bp__fourier_cut *cut) {
    int last = BP__FOURIER_LAST;
    while (cut->job.axis[last].taps == 1) {
        last--;
    }
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        bp__fourier_axis *axis = &cut->axis[(d + BP__FOURIER_LAST - last) % BP__FOURIER_AXES];
        axis->of = cut->job.axis[d];
        const int64_t reach = (axis->of.taps - 1) * axis->of.change;
        axis->span = 1 + (reach < 0 ? -reach : reach);
        axis->first = axis->of.first + bp__least(reach, 0);
    }
}

/* Finds the sizes that take the least time for one item. Returns false if there are none. */
static bool find_sizes(bp__fourier_cut *cut, const bp__fourier_set *set, double rate, transforms *times) {
    sizes list[BP__FOURIER_AXES];
    double least = HUGE_VAL;
    bp__fourier_cut best = *cut;
    for (int d = 0; d < BP__FOURIER_AXES; d++) {
        list_sizes(&cut->axis[d], d == BP__FOURIER_LAST, set, cut->f64, &list[d]);
    }
    const int count = list[0].count * list[1].count * list[2].count;
    for (int i = 0; i < count; i++) {
        const int at[] = {i % list[0].count, i / list[0].count % list[1].count, i / list[0].count / list[1].count};
        double ns[BP__FOURIER_AXES], elements = 1;
        for (int d = 0; d < BP__FOURIER_AXES; d++) {
            ns[d] = list[d].ns[at[d]];
            elements *= (double)list[d].n[at[d]];
            set_size(&cut->axis[d], list[d].n[at[d]]);
        }
        if (elements > MOST_TILE) {
            continue;
        }
        set_sizes(cut);
        cut->way = way_of(cut, set, cut->tiles);
        const transforms t = transforms_of(cut, ns);
        const double time = time_of(cut, set, &t, rate, 1) + weights_ns(cut, set, &t);
        if (time < least) {
            least = time;
            best = *cut;
            *times = t;
        }
    }
    *cut = best;
    return least < HUGE_VAL;
}

bool bp__fourier_cut_for(const bp_problem *problem, const bp__fourier_set *set, bp__fourier_cut *cut) {
    transforms times;
    memset(cut, 0, sizeof *cut);
    cut->f64 = problem->dtype == BP_F64;
    cut->groups = problem->of.conv.groups;
    bp__conv_job_of(problem, 0, &cut->job);
    set_axes(cut);
    const double rate = bp__native_rate(set->isa, cut->f64 ? BP_C128 : BP_C64);
    if (!find_sizes(cut, set, rate, &times)) {
        return false;
    }
    const int64_t tiles = cut->tiles * cut->job.batch;
    cut->way = way_of(cut, set, tiles);
    if (weight_bytes(cut, set) + tile_bytes(cut, set) > MOST_BYTES) {
        return false;
    }
    cut->block = block_of(cut, set, tiles);
    cut->cost_ns = CALL_NS + time_of(cut, set, &times, rate, (double)cut->job.batch) +
                   (problem->policy.packed & 2u ? 0 : weights_ns(cut, set, &times));
    return true;
}
