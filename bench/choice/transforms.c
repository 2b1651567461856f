/* transforms.c - makes Fourier transforms: powers of two, products of small primes, and lengths with large prime
 * factors; complex and real, single, in batches and in two dimensions. No single dimension is among those that are
 * measured when the machine is calibrated. */
#include "choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MOST_ELEMENTS (1 << 18)

typedef struct shape {
    int64_t batch, n, m; /* m is 0 in one dimension */
} shape;

static const shape fixed_shapes[] = {
    {1, 16, 0},    {1, 128, 0},   {1, 1024, 0}, {1, 8192, 0},  {1, 131072, 0}, {1, 6, 0},      {1, 30, 0},
    {1, 100, 0},   {1, 360, 0},   {1, 1000, 0}, {1, 2520, 0},  {1, 12000, 0},  {1, 100000, 0}, {1, 7, 0},
    {1, 31, 0},    {1, 101, 0},   {1, 1009, 0}, {1, 1018, 0},  {1, 10007, 0},  {1, 20011, 0},  {64, 1024, 0},
    {1000, 16, 0}, {100, 100, 0}, {2000, 7, 0}, {50, 1009, 0}, {1, 64, 64},    {1, 512, 512},  {1, 100, 100},
    {1, 240, 320}, {1, 127, 127}, {10, 30, 30},
};
enum { SHAPES = sizeof fixed_shapes / sizeof *fixed_shapes };

static const bp_dtype dtypes[] = {BP_C64, BP_C128, BP_F32, BP_F64};

static void make(problem *p, bp_dtype dtype, bool inverse, shape s) {
    const bool real = dtype == BP_F32 || dtype == BP_F64;
    const int64_t sizes[] = {s.batch, s.n, s.m};
    bp_dtype out;
    int ndim;
    int64_t out_sizes[BP_MAX_NDIM];
    p->fft = (bp_fft_call){.struct_size = sizeof p->fft,
                           .transform = real      ? BP_RFFT
                                        : inverse ? BP_IFFT
                                                  : BP_FFT,
                           .axis_count = s.m ? 2 : 1};
    problem_add(p, dtype, s.m ? 3 : 2, sizes);
    must(bp_fft_shape(&p->fft, &p->views[0].tensor, &out, &ndim, out_sizes), "bp_fft_shape");
    problem_add(p, out, ndim, out_sizes);
    int used = snprintf(p->name, sizeof p->name, "%s %s",
                        real      ? "rfft"
                        : inverse ? "ifft"
                                  : "fft",
                        bp_dtype_name(dtype));
    used += snprintf(p->name + used, sizeof p->name - (size_t)used, " %" PRId64 "*%" PRId64, s.batch, s.n);
    if (s.m) {
        snprintf(p->name + used, sizeof p->name - (size_t)used, "x%" PRId64, s.m);
    }
}

static void make_fixed(problem *p, int index) {
    make(p, dtypes[index / SHAPES], false, fixed_shapes[index % SHAPES]);
}

/* Returns the largest prime factor. */
static int64_t largest_factor(int64_t n) {
    int64_t largest = 1;
    for (int64_t f = 2; f * f <= n; f++) {
        for (; n % f == 0; n /= f) {
            largest = f;
        }
    }
    return n > largest ? n : largest;
}

enum kind { POWERS, FACTORS, PRIMES, KINDS };

static bool is_of(enum kind kind, int64_t n) {
    const bool power = (n & (n - 1)) == 0;
    return kind == POWERS ? power : kind == FACTORS ? !power && largest_factor(n) <= 7 : largest_factor(n) > 7;
}

/* Returns a length of the kind, at least 2 and at most a little above `most`. Multiples of 3 among the exponents of two
 * are calibrated, and some products of small primes. */
static int64_t random_length(enum kind kind, double most, uint64_t *state) {
    static const int64_t measured[] = {12, 60, 420, 5040, 50400, 216000, 11, 61, 509, 4099, 40009};
    int64_t n =
        kind == POWERS ? (int64_t)1 << (1 + random_below(state, (int)log2(most))) : 1 + random_size(state, most - 1);
    for (;; n++) {
        bool known = kind == POWERS && n >= 8 && (int)(log2((double)n) + 0.5) % 3 == 0;
        for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
            known = known || n == measured[i];
        }
        n = known && kind == POWERS ? 2 * n - 1 : n;
        if (!known && is_of(kind, n)) {
            return n;
        }
    }
}

static void make_random(problem *p, uint64_t *state) {
    const enum kind kind = (enum kind)random_below(state, KINDS);
    shape s = {.batch = 1};
    const int form = random_below(state, 5); /* two of five in batches, one in two dimensions */
    if (form == 0) {
        s.n = random_length(kind, 512, state);
        s.m = random_length(kind, 512, state);
    } else {
        s.batch = form <= 2 ? random_size(state, 256) : 1;
        s.n = random_length(kind, fmax(8, (double)MOST_ELEMENTS / (double)s.batch), state);
    }
    const bp_dtype dtype = dtypes[random_below(state, 4)];
    make(p, dtype, random_below(state, 2) == 1, s);
}

static bp_status plan(bp_plan **plan, const bp_options *options, const problem *p) {
    return bp_fft_plan(plan, options, &p->fft, &p->views[0].tensor, &p->views[1].tensor);
}

static bp_status explain(bp_explanation **explanation, const bp_options *options, const problem *p) {
    return bp_fft_explain(explanation, options, &p->fft, &p->views[0].tensor, &p->views[1].tensor);
}

static bp_status run(const problem *p) {
    return bp_fft_run(NULL, &p->fft, &p->views[0].tensor, (DLTensor *)&p->views[1].tensor);
}

const family family_transforms = {
    .name = "transforms",
    .preferred = "fft.preferred",
    .fixed = (int)(sizeof dtypes / sizeof *dtypes) * SHAPES,
    .make_fixed = make_fixed,
    .make_random = make_random,
    .plan = plan,
    .explain = explain,
    .run = run,
};
