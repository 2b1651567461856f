/* choose.c - turns a problem into one axis for each dimension, and decides how the 1-D transforms are split over SIMD
 * lanes and threads. All of it follows from the problem's bytes and the machine.
 */
#include "choose.h"

#include "providers/native/isa.h"

#include <string.h>

/* Elements from which items of several dimensions are transformed one after another, so that an item stays in the cache
 * between axes. Lines of smaller items share the lanes. */
#define ITEM_ELEMENTS 4096

static const bp__fft_set *const sets[] = BP__NATIVE_PER_ISA(&bp__fft_default, &bp__fft_avx2, &bp__fft_avx512);

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Inserts a dimension into a grid that is sorted by output stride; the smallest stride is the fastest dimension. */
static void add_dimension(bp__fft_grid *grid, int64_t size, int64_t in, int64_t out) {
    if (size == 1) {
        return;
    }
    int at = grid->ndim++;
    for (; at > 0 && magnitude(grid->out[at - 1]) < magnitude(out); at--) {
        grid->size[at] = grid->size[at - 1];
        grid->in[at] = grid->in[at - 1];
        grid->out[at] = grid->out[at - 1];
    }
    grid->size[at] = size;
    grid->in[at] = in;
    grid->out[at] = out;
    grid->count *= size;
}

/* Reals per unit of a stride. */
static int reals_in(const bp_fft_problem *f) {
    return f->kind == BP_FFT_R2C ? 1 : 2;
}

static int reals_out(const bp_fft_problem *f) {
    return f->kind == BP_FFT_C2R ? 1 : 2;
}

/* Adds the batch to an axis that reads memory `from` and writes the output. */
static void add_batch(bp__fft_grid *grid, const bp_fft_problem *f, bp__fft_memory from) {
    for (int d = 0; d < f->batch_ndim; d++) {
        const int64_t out = f->batch_out[d] * reals_out(f);
        add_dimension(grid, f->batch_shape[d], from == BP__FFT_INPUT ? f->batch_in[d] * reals_in(f) : out, out);
    }
}

/* Strides of one memory of the problem, in reals. */
typedef struct side {
    bp__fft_memory memory;
    int64_t step[BP_MAX_FFT_NDIM];
} side;

/* Returns the elements of dimension d in the lines of other axes: all, or the elements of the half spectrum. */
static int64_t stored_length(const bp_fft_problem *f, int d) {
    return f->kind != BP_FFT_C2C && d == f->ndim - 1 ? f->n[d] / 2 + 1 : f->n[d];
}

static void add_axis(bp__fft_choice *choice, const bp_fft_problem *f, int d, const side *from, const side *to,
                     bool with_batch) {
    bp__fft_axis *axis = choice->axis + choice->axes++;
    const bool last = d == f->ndim - 1;
    *axis = (bp__fft_axis){.kind = last ? (bp_fft_kind)f->kind : BP_FFT_C2C,
                           .swapped = f->inverse,
                           .from = from->memory,
                           .to = to->memory,
                           .n = d < 0 ? 1 : f->n[d],
                           .in_step = d < 0 ? 0 : from->step[d],
                           .out_step = d < 0 ? 0 : to->step[d],
                           .scale = 1,
                           .lines = {.count = 1}};
    axis->length = bp__fft_halves(axis) ? axis->n / 2 : axis->n;
    for (int other = 0; other < f->ndim; other++) {
        if (other != d) {
            add_dimension(&axis->lines, stored_length(f, other), from->step[other], to->step[other]);
        }
    }
    if (with_batch) {
        add_batch(&axis->lines, f, from->memory);
    }
}

/* Adds an axis for each dimension in order. The axes of C2R use memory of their own, because the output is too small
 * for a spectrum. */
static void add_axes(bp__fft_choice *choice, const bp_fft_problem *f, bool with_batch) {
    side input = {.memory = BP__FFT_INPUT}, output = {.memory = BP__FFT_OUTPUT}, between = {.memory = BP__FFT_BETWEEN};
    int64_t elements = 1;
    for (int d = f->ndim - 1; d >= 0; d--) {
        input.step[d] = f->in[d] * reals_in(f);
        output.step[d] = f->out[d] * reals_out(f);
        between.step[d] = elements * 2;
        elements *= stored_length(f, d);
    }
    const side *from = &input;
    if (f->kind == BP_FFT_C2R) {
        const int last = f->ndim - 1;
        for (int d = last - 1; d >= 0; d--, from = &between) {
            add_axis(choice, f, d, from, &between, with_batch);
        }
        add_axis(choice, f, last, from, &output, with_batch);
        choice->between = last > 0 ? elements : 0;
    } else {
        for (int d = f->ndim - 1; d >= 0; d--, from = &output) {
            add_axis(choice, f, d, from, &output, with_batch);
        }
    }
    if (f->ndim == 0) {
        add_axis(choice, f, -1, from, &output, with_batch);
    }
    choice->axis[choice->axes - 1].scale = f->scale;
}

/* Returns whether the lines of an axis share the lanes. They do not if there is one line, or if a line can use vectors
 * by itself and is contiguous. */
static bool goes_in_lanes(const bp__fft_choice *choice, const bp__fft_axis *axis) {
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(choice->kernels, axis->length);
    const bool halves = bp__fft_halves(axis);
    const bool in_pairs = axis->kind != BP_FFT_R2C ? axis->in_step == 2 : halves && axis->in_step == 1;
    const bool out_pairs = axis->kind != BP_FFT_C2R ? axis->out_step == 2 : halves && axis->out_step == 1;
    if (algorithm.way != BP__FFT_DIRECT || axis->lines.count == 1) {
        return false;
    }
    if (algorithm.across->lanes == 1) {
        return true;
    }
    if (in_pairs && out_pairs) {
        return algorithm.across->lanes < algorithm.wide->lanes && axis->lines.count >= algorithm.wide->lanes;
    }
    return 2 * axis->lines.count >= algorithm.wide->lanes;
}

static int64_t product(const int64_t *size, int ndim) {
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        count *= size[d];
    }
    return count;
}

static const char *algorithm_text(const bp__fft_choice *choice) {
    static const char *const text[][3] = {
        [BP__FFT_DIRECT] = {"stockham default", "stockham avx2", "stockham avx512"},
        [BP__FFT_SPLIT] = {"four-step default", "four-step avx2", "four-step avx512"},
        [BP__FFT_CHIRP] = {"bluestein default", "bluestein avx2", "bluestein avx512"},
    };
    bp__fft_way way = BP__FFT_DIRECT;
    for (int i = 0; i < choice->axes; i++) {
        const bp__fft_way other = bp__fft_algorithm_of(choice->kernels, choice->axis[i].length).way;
        way = other > way ? other : way;
    }
    return text[way][choice->set];
}

/* Decides whether threads take items, lines, or parts of each line. */
static void split(bp__fft_choice *choice, int most) {
    const int64_t threads = bp__fft_worth(choice->cost_ns, most);
    int64_t lines = INT64_MAX;
    bool splits = true; /* every line can be split among threads */
    for (int i = 0; i < choice->axes; i++) {
        const bp__fft_axis *axis = choice->axis + i;
        const int64_t units = axis->in_lanes
                                  ? (axis->lines.count + choice->kernels[0]->lanes - 1) / choice->kernels[0]->lanes
                                  : axis->lines.count;
        lines = units < lines ? units : lines;
        splits = splits && !axis->in_lanes && bp__fft_algorithm_of(choice->kernels, axis->length).way != BP__FFT_DIRECT;
    }
    choice->split_items = choice->items.count >= threads;
    choice->split_lines = choice->split_items || lines >= threads || !splits;
    choice->threads = (int)threads;
    if (!choice->split_items && choice->split_lines && lines < threads) {
        choice->threads = lines < 1 ? 1 : (int)lines;
    }
}

bp_reason bp__fft_choose(const bp_host *host, const bp_problem *problem, bp__fft_choice *choice) {
    const bp_fft_problem *f = &problem->of.fft;
    memset(choice, 0, sizeof *choice);
    if (problem->dtype != BP_C64 && problem->dtype != BP_C128) {
        return BP_REASON_DTYPE;
    }
    if (f->full_spectrum || f->conjugate || f->zero_padded) {
        return BP_REASON_OTHER;
    }
    choice->f64 = problem->dtype == BP_C128;
    choice->set = bp__native_isa(host, problem);
    choice->kernels = sets[choice->set]->of[choice->f64];
    choice->items.count = 1;
    choice->threads = 1;
    if (f->batch == 0) {
        choice->empty = true;
        choice->algorithm = "nothing to do";
        choice->cost_ns = 5;
        return BP_REASON_ACCEPTED;
    }
    const bool by_item = f->ndim > 1 && (f->kind == BP_FFT_C2R || product(f->n, f->ndim) >= ITEM_ELEMENTS);
    if (by_item) {
        add_batch(&choice->items, f, BP__FFT_INPUT);
    }
    add_axes(choice, f, !by_item);
    for (int i = 0; i < choice->axes; i++) {
        choice->axis[i].in_lanes = goes_in_lanes(choice, choice->axis + i);
    }
    choice->algorithm = algorithm_text(choice);
    choice->cost_ns = bp__fft_cost(host, choice);
    split(choice, problem->policy.threads);
    choice->cost_ns = bp__fft_cost_threads(choice->cost_ns, choice->threads);
    return BP_REASON_ACCEPTED;
}
