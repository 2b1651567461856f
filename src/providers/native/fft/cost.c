/* cost.c - how long a transform takes, roughly, so that a dispatcher can compare this provider with a library.
 *
 * Rates were measured on a Zen 3 core near 3 GHz, AVX-512 is estimated. Work is counted in levels: what one butterfly
 * of two elements does to each of them.
 */
#include "choose.h"

#include <math.h>

/* Nanoseconds of a level for one element in full vectors, by instruction set and type. */
static const double level_ns[3][2] = {{0.24, 0.48}, {0.095, 0.185}, {0.06, 0.12}};

/* The same in vectors of one lane. */
#define SCALAR_NS 0.6

/* Work that is worth a thread: what waking one takes, several times over. */
#define GRAIN_NS 25000

/* Starting on a line, and on a group of lines. */
#define LINE_NS 15
#define GROUP_NS 50

/* A butterfly of an odd radix does so much work for each of its elements and each unit of the radix. */
#define ODD_LEVELS 0.65
#define PRIME_LEVELS 0.9

static double levels_of(const bp__fft_algorithm *recipe) {
    int radix[BP__FFT_PASSES_MOST];
    double levels = 0;
    const int count = bp__fft_radices(recipe, radix);
    for (int i = 0; i < count; i++) {
        levels += radix[i] % 2 == 0               ? log2(radix[i])
                  : radix[i] > BP__FFT_RADIX_MOST ? PRIME_LEVELS * radix[i]
                                                  : ODD_LEVELS * radix[i];
    }
    return levels;
}

/* Bytes that pass through the memory, contiguous or in strides, for a working set of so many. */
static double memory_ns(const bp_host *host, double bytes, double set, bool strided) {
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    const double l3 = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8 << 20;
    return set <= l2 ? 0 : bytes * (set > l3 / 2 ? 0.12 : strided ? 0.12 : 0.02);
}

/* One line of contiguous pairs. */
static double line_ns(const bp_host *host, const bp__fft_choice *choice, int64_t length) {
    const bp__fft_algorithm recipe = bp__fft_algorithm_of(choice->kernels, length);
    const double n = (double)length, full = level_ns[choice->set][choice->f64], pair = choice->f64 ? 16 : 8;
    if (recipe.way == BP__FFT_CHIRP) {
        const double inner = (double)recipe.inner;
        return LINE_NS + 2 * line_ns(host, choice, recipe.inner) + (inner + 2 * n) * 3 * full;
    }
    if (recipe.way == BP__FFT_SPLIT) {
        const bp__fft_algorithm columns = bp__fft_algorithm_of(choice->kernels, recipe.columns);
        const bp__fft_algorithm rows = bp__fft_algorithm_of(choice->kernels, recipe.rows);
        return LINE_NS + GROUP_NS + n * full * (levels_of(&columns) + levels_of(&rows) + 2) +
               memory_ns(host, 5 * n * pair, 4 * n * pair, false);
    }
    /* Narrower vectors of the same registers do less in the same time. */
    const int lanes = recipe.across->lanes;
    const double level = lanes == 1 ? SCALAR_NS : full * (lanes < recipe.wide->lanes ? 1.7 : 1);
    return LINE_NS + n * level * levels_of(&recipe);
}

static double stage_ns(const bp_host *host, const bp__fft_choice *choice, const bp__fft_axis *stage) {
    const double full = level_ns[choice->set][choice->f64], pair = choice->f64 ? 16 : 8;
    const double n = (double)stage->length, lines = (double)stage->lines.count;
    const bool pairs = stage->in_step == 2 && stage->out_step == 2;
    const double weave = bp__fft_halves(stage) ? 2 : stage->kind == BP_FFT_C2C ? 0 : 20;
    if (stage->in_lanes) {
        const bp__fft_algorithm recipe = bp__fft_algorithm_of(choice->kernels, stage->length);
        const double lanes = recipe.wide->lanes, groups = ceil(lines / lanes);
        const bp__fft_grid *grid = &stage->lines;
        const int64_t apart = grid->ndim > 0 ? grid->out[grid->ndim - 1] : 0;
        /* Side by side in memory; contiguous each, to be transposed; or gathered one by one. */
        const double move = apart == 2 || apart == 1 ? 1 : pairs && lines >= lanes ? 11 : 30;
        return groups * (GROUP_NS + n * lanes * full * (levels_of(&recipe) + weave + move)) +
               memory_ns(host, 2 * n * pair * lines, 2 * n * pair * lines, true);
    }
    /* Other steps than pairs' are taken by loads and stores of single reals. */
    const bool plain = pairs || (bp__fft_halves(stage) && (stage->in_step == 1 || stage->out_step == 1));
    const double one = line_ns(host, choice, stage->length) + n * full * weave + (plain ? 0 : 3 * n);
    return lines * one + memory_ns(host, 2 * n * pair * lines, 2 * n * pair * lines, false);
}

double bp__fft_cost(const bp_host *host, const bp__fft_choice *choice) {
    double total = choice->stages > 1 || choice->stage[0].lines.count > 1 || choice->items.count > 1 ? 30 : 0;
    for (int i = 0; i < choice->stages; i++) {
        total += stage_ns(host, choice, choice->stage + i) * (double)choice->items.count;
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
