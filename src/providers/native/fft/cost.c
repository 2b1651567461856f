/* cost.c - estimates the time of a transform, so that dispatch can compare this provider with libraries.
 *
 * Work is counted in units: a radix-2 pass along a line, for one element in full vectors. The constants were fitted on
 * a Zen 3 core near 3 GHz, to 1,491 transforms of random lengths, batches, types and one or two dimensions: the
 * standard deviation of the ratio of time to estimate is 11 %. Units of AVX-512 are estimated.
 */
#include "choose.h"

#include <math.h>

/* Nanoseconds of a unit, by ISA index and type. */
static const double unit_ns[3][2] = {{0.24, 0.48}, {0.095, 0.185}, {0.06, 0.12}};

/* Nanoseconds of a radix-2 pass for one element in vectors of one lane. */
#define SCALAR_NS 0.9

/* Nanoseconds of work per thread: several times what waking a thread takes. */
#define GRAIN_NS 25000

/* Nanoseconds to start a line, and a group of lines. */
#define LINE_NS 30
#define GROUP_NS 40

/* Units of a pass for one element: for each doubling of an even radix, and for each unit of an odd radix with and
 * without code of its own. The rest of the estimate of convolutions (conv/fourier_cut.c) was fitted to other ones. */
typedef struct radix_costs {
    double even, odd, prime;
} radix_costs;
static const radix_costs of_lines = {0.9, 0.45, 0.52}, of_convolutions = {1, 0.65, 0.9};

/* Units for one element of a pass along a line, to load it and to store it. */
#define PASS_COST 0.6
/* A pass in lanes needs no shuffles, and what it loads is in the first-level cache. */
#define LANES_FACTOR 0.75

/* Units for one element of a group, to read or to write lines that are contiguous across lanes, that are transposed, or
 * whose elements are copied one by one. */
#define ACROSS_COST 2
#define TRANSPOSED_COST 4.2
#define SINGLE_COST 12

/* Units for one element: to make a real spectrum of a complex one in lanes, and along a line; to multiply columns of a
 * split line by twiddles and transpose them; for one element of a convolution. */
#define COMBINED_LANES_COST 1.6
#define COMBINED_LINE_COST 3.4
#define SPLIT_COST 12.5
#define CONVOLVED_COST 2

/* Nanoseconds to copy one element of a line with strides. */
#define COPIED_NS 1.5

/* Returns the units of the butterflies of a line for one element, and the number of passes. */
static double radices_cost(const bp__fft_algorithm *algorithm, const radix_costs *costs, int *passes) {
    int radix[BP__FFT_PASSES_MOST];
    double cost = 0;
    *passes = bp__fft_radices(algorithm, radix);
    for (int i = 0; i < *passes; i++) {
        cost += radix[i] % 2 == 0               ? costs->even * log2(radix[i])
                : radix[i] > BP__FFT_RADIX_MOST ? costs->prime * radix[i]
                : radix[i] > 1                  ? costs->odd * radix[i]
                                                : 0;
    }
    return cost;
}

/* Returns the units for one element of lines in lanes, whatever widths the length suits. */
static double lanes_cost(const bp__fft_kernels *const *kernels, int64_t length) {
    bp__fft_algorithm algorithm = bp__fft_algorithm_of(kernels, length);
    int passes;
    algorithm.across = algorithm.narrow;
    return LANES_FACTOR * radices_cost(&algorithm, &of_lines, &passes);
}

/* Returns the nanoseconds to move `bytes` through the memory, for a working set of `set` bytes. */
static double memory_ns(const bp_host *host, double bytes, double set) {
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    const double l3 = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8 << 20;
    return set <= l2 ? 0 : bytes * (set > l3 / 2 ? 0.12 : 0.01);
}

static double whole(double count, double lanes) {
    return ceil(count / lanes) * lanes;
}

static double split_ns(const bp_host *host, const bp__fft_choice *choice, const bp__fft_algorithm *of) {
    const double lanes = of->wide->lanes, a = (double)of->columns, b = (double)of->rows, pair = choice->f64 ? 16 : 8;
    const double units = a * whole(b, lanes) * lanes_cost(choice->kernels, of->columns) +
                         b * whole(a, lanes) * lanes_cost(choice->kernels, of->rows) +
                         whole(a, lanes) * whole(b, lanes) * SPLIT_COST;
    return GROUP_NS + units * unit_ns[choice->set][choice->f64] + memory_ns(host, 5 * a * b * pair, 4 * a * b * pair);
}

/* Returns the nanoseconds of one line of contiguous pairs. */
static double line_ns(const bp_host *host, const bp__fft_choice *choice, int64_t length) {
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(choice->kernels, length);
    const double n = (double)length, unit = unit_ns[choice->set][choice->f64];
    if (algorithm.way == BP__FFT_CHIRP) {
        const double inner = (double)algorithm.inner;
        return LINE_NS + 2 * line_ns(host, choice, algorithm.inner) + (inner + 2 * n) * CONVOLVED_COST * unit;
    }
    if (algorithm.way == BP__FFT_SPLIT) {
        return LINE_NS + split_ns(host, choice, &algorithm);
    }
    /* Narrower vectors do less work in the same time. */
    const int lanes = algorithm.across->lanes;
    const double pass_ns = lanes == 1 ? SCALAR_NS : unit * algorithm.wide->lanes / lanes;
    int passes;
    const double cost = radices_cost(&algorithm, &of_lines, &passes);
    return LINE_NS + n * pass_ns * (cost + (lanes > 1 ? passes * PASS_COST : 0));
}

double bp__fft_lanes_ns(const bp__fft_kernels *const *kernels, int set, bool f64, int64_t n) {
    enum { START_NS = 15 };
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(kernels, n);
    int passes;
    const double cost = radices_cost(&algorithm, &of_convolutions, &passes);
    return START_NS + (double)n * kernels[0]->lanes * unit_ns[set][f64] * (cost + 1);
}

/* Returns the units for one element to read or to write the lines of a group, `apart` reals from each other. Lines of
 * an odd number of reals are no pairs. */
static double side_cost(const bp__fft_axis *axis, bool real, int64_t step, int64_t apart, bool full) {
    const bool single = real && !bp__fft_halves(axis);
    return full && !single && apart == (real ? 1 : 2)  ? ACROSS_COST
           : full && !single && step == (real ? 1 : 2) ? TRANSPOSED_COST
                                                       : SINGLE_COST;
}

static double groups_ns(const bp__fft_choice *choice, const bp__fft_axis *axis) {
    const bp__fft_grid *grid = &axis->lines;
    const int last = grid->ndim - 1;
    const double lanes = choice->kernels[0]->lanes, n = (double)axis->length, lines = (double)grid->count;
    const double run = last >= 0 && (double)grid->size[last] >= lanes ? (double)grid->size[last] : lines;
    const double groups = lines / run * ceil(run / lanes), full = lines / run * floor(run / lanes);
    const int64_t in = last >= 0 ? grid->in[last] : 0, out = last >= 0 ? grid->out[last] : 0;
    const bool reads = axis->kind == BP_FFT_R2C, writes = axis->kind == BP_FFT_C2R;
    double cost = lanes_cost(choice->kernels, axis->length) + (bp__fft_halves(axis) ? COMBINED_LANES_COST : 0);
    double sides = 0;
    for (int some = 0; some < 2; some++) {
        const double count = some ? groups - full : full;
        sides += count * (side_cost(axis, reads, axis->in_step, in, !some) +
                          side_cost(axis, writes, axis->out_step, out, !some));
    }
    return groups * GROUP_NS + n * lanes * unit_ns[choice->set][choice->f64] * (groups * cost + sides);
}

static double axis_ns(const bp_host *host, const bp__fft_choice *choice, const bp__fft_axis *axis) {
    const double pair = choice->f64 ? 16 : 8, n = (double)axis->length, lines = (double)axis->lines.count;
    const double memory = memory_ns(host, 2 * n * pair * lines, 2 * n * pair * lines);
    if (axis->in_lanes) {
        return groups_ns(choice, axis) + memory;
    }
    const bool halves = bp__fft_halves(axis);
    const bool reads = axis->kind == BP_FFT_R2C, writes = axis->kind == BP_FFT_C2R;
    /* With other strides, elements are loaded and stored as single reals. */
    const bool plain =
        (axis->kind == BP_FFT_C2C || halves) && axis->in_step == (reads ? 1 : 2) && axis->out_step == (writes ? 1 : 2);
    const double combine = halves ? n * COMBINED_LINE_COST * unit_ns[choice->set][choice->f64] : 0;
    return lines * (line_ns(host, choice, axis->length) + combine + (plain ? 0 : n * COPIED_NS)) + memory;
}

double bp__fft_cost(const bp_host *host, const bp__fft_choice *choice) {
    double total = choice->axes > 1 || choice->axis[0].lines.count > 1 || choice->items.count > 1 ? 30 : 0;
    for (int i = 0; i < choice->axes; i++) {
        total += axis_ns(host, choice, choice->axis + i) * (double)choice->items.count;
    }
    return total;
}

int bp__fft_worth(double alone_ns, int most) {
    const double worth = 1 + alone_ns / GRAIN_NS;
    return most < 1 ? 1 : worth < most ? (int)worth : most;
}

double bp__fft_cost_threads(double alone_ns, int threads) {
    return threads <= 1 ? alone_ns : alone_ns / (0.85 * threads) + 2000;
}
