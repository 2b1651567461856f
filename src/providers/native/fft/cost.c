/* cost.c - estimates the time of a transform, so that dispatch can compare this provider with libraries.
 *
 * Rates were measured on a Zen 3 core near 3 GHz; rates of AVX-512 are estimated. Work is counted in radix-2 passes
 * over the data.
 */
#include "choose.h"

#include <math.h>

/* Nanoseconds of a radix-2 pass for one element in full vectors, by ISA index and type. */
static const double radix2_ns[3][2] = {{0.24, 0.48}, {0.095, 0.185}, {0.06, 0.12}};

/* Nanoseconds of a radix-2 pass for one element in vectors of one lane. */
#define SCALAR_NS 0.6

/* Nanoseconds of work per thread: several times what waking a thread takes. */
#define GRAIN_NS 25000

/* Nanoseconds to start a line, and a group of lines. */
#define LINE_NS 15
#define GROUP_NS 50

/* Radix-2 passes that a butterfly of an odd radix costs, for each unit of the radix. */
#define ODD_RADIX_COST 0.65
#define PRIME_RADIX_COST 0.9

static double radix2_passes(const bp__fft_algorithm *algorithm) {
    int radix[BP__FFT_PASSES_MOST];
    double passes = 0;
    const int count = bp__fft_radices(algorithm, radix);
    for (int i = 0; i < count; i++) {
        passes += radix[i] % 2 == 0               ? log2(radix[i])
                  : radix[i] > BP__FFT_RADIX_MOST ? PRIME_RADIX_COST * radix[i]
                                                  : ODD_RADIX_COST * radix[i];
    }
    return passes;
}

/* Returns the nanoseconds to move `bytes` through the memory, for a working set of `set` bytes. */
static double memory_ns(const bp_host *host, double bytes, double set, bool strided) {
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    const double l3 = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8 << 20;
    return set <= l2 ? 0 : bytes * (set > l3 / 2 ? 0.12 : strided ? 0.12 : 0.02);
}

/* Returns the nanoseconds of one line of contiguous pairs. */
static double line_ns(const bp_host *host, const bp__fft_choice *choice, int64_t length) {
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(choice->kernels, length);
    const double n = (double)length, full = radix2_ns[choice->set][choice->f64], pair = choice->f64 ? 16 : 8;
    if (algorithm.way == BP__FFT_CHIRP) {
        const double inner = (double)algorithm.inner;
        return LINE_NS + 2 * line_ns(host, choice, algorithm.inner) + (inner + 2 * n) * 3 * full;
    }
    if (algorithm.way == BP__FFT_SPLIT) {
        const bp__fft_algorithm columns = bp__fft_algorithm_of(choice->kernels, algorithm.columns);
        const bp__fft_algorithm rows = bp__fft_algorithm_of(choice->kernels, algorithm.rows);
        return LINE_NS + GROUP_NS + n * full * (radix2_passes(&columns) + radix2_passes(&rows) + 2) +
               memory_ns(host, 5 * n * pair, 4 * n * pair, false);
    }
    /* Narrower vectors do less work in the same time. */
    const int lanes = algorithm.across->lanes;
    const double pass_ns = lanes == 1 ? SCALAR_NS : full * (lanes < algorithm.wide->lanes ? 1.7 : 1);
    return LINE_NS + n * pass_ns * radix2_passes(&algorithm);
}

double bp__fft_lanes_ns(const bp__fft_kernels *const *kernels, int set, bool f64, int64_t n) {
    const bp__fft_algorithm algorithm = bp__fft_algorithm_of(kernels, n);
    return LINE_NS + (double)n * kernels[0]->lanes * radix2_ns[set][f64] * (radix2_passes(&algorithm) + 1);
}

static double axis_ns(const bp_host *host, const bp__fft_choice *choice, const bp__fft_axis *axis) {
    const double full = radix2_ns[choice->set][choice->f64], pair = choice->f64 ? 16 : 8;
    const double n = (double)axis->length, lines = (double)axis->lines.count;
    const bool pairs = axis->in_step == 2 && axis->out_step == 2;
    const double combine = bp__fft_halves(axis) ? 2 : axis->kind == BP_FFT_C2C ? 0 : 20;
    if (axis->in_lanes) {
        const bp__fft_algorithm algorithm = bp__fft_algorithm_of(choice->kernels, axis->length);
        const double lanes = algorithm.wide->lanes, groups = ceil(lines / lanes);
        const bp__fft_grid *grid = &axis->lines;
        const int64_t apart = grid->ndim > 0 ? grid->out[grid->ndim - 1] : 0;
        /* In radix-2 passes: lines that are contiguous across lanes; lines that must be transposed; elements copied one
         * by one. */
        const double load_store = apart == 2 || apart == 1 ? 1 : pairs && lines >= lanes ? 11 : 30;
        return groups * (GROUP_NS + n * lanes * full * (radix2_passes(&algorithm) + combine + load_store)) +
               memory_ns(host, 2 * n * pair * lines, 2 * n * pair * lines, true);
    }
    /* With other strides, elements are loaded and stored as single reals. */
    const bool plain = pairs || (bp__fft_halves(axis) && (axis->in_step == 1 || axis->out_step == 1));
    const double one = line_ns(host, choice, axis->length) + n * full * combine + (plain ? 0 : 3 * n);
    return lines * one + memory_ns(host, 2 * n * pair * lines, 2 * n * pair * lines, false);
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
