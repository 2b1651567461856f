/* test_fourier_wide.c - compares convolutions by Fourier transforms on every kernel set with the definition: the set of
 * AVX-512 is compiled for AVX2, so that vectors of 16 lanes are tested on processors without AVX-512. */
#include "providers/native/conv/fourier.h"
#include "support/arrays.h"
#include "support/host.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const bp__fft_set bp__fft_wide;
extern const bp__native_set bp__native_wide;
extern const bp__fourier_kernels bp__fourier_wide[2];

/* Sizes of one group; two dimensions. */
typedef struct geometry {
    int64_t batch, groups, in_channels, out_channels, size[2], kernel[2], padding, dilation;
} geometry;

static const geometry geometries[] = {
    {1, 1, 1, 1, {1, 900}, {1, 40}, 20, 1},   {2, 1, 1, 3, {30, 31}, {7, 6}, 3, 1},
    {1, 37, 1, 1, {20, 17}, {9, 9}, 4, 1},    {1, 20, 1, 2, {12, 40}, {5, 11}, 0, 1},
    {1, 1, 5, 35, {21, 22}, {6, 5}, 2, 1},    {3, 1, 33, 17, {9, 9}, {4, 4}, 1, 2},
    {1, 2, 17, 49, {10, 33}, {3, 13}, 12, 1}, {1, 1, 400, 3, {8, 8}, {5, 5}, 2, 1},
    {5, 1, 2, 2, {25, 1}, {13, 1}, 6, 1},
};

typedef struct arrays {
    double *x, *w, *y; /* of either type */
    int64_t in, weight, out;
} arrays;

static double get(const void *at, bool f64, int64_t i) {
    return f64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static void fill(void *at, bool f64, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (f64) {
            ((double *)at)[i] = test_array_uniform();
        } else {
            ((float *)at)[i] = (float)test_array_uniform();
        }
    }
}

/* Sets the strides of an image; returns its elements. */
static int64_t layout(int64_t channels, const int64_t size[3], int64_t batch, bool last, int64_t *batch_stride,
                      int64_t *channel, int64_t *strides) {
    const int64_t positions = size[1] * size[2];
    *channel = last ? 1 : positions;
    strides[2] = last ? channels : 1;
    strides[1] = strides[2] * size[2];
    *batch_stride = channels * positions;
    return channels * positions * batch;
}

static arrays make(bp_problem *problem, const geometry *g, bool f64, bool last) {
    arrays a;
    *problem = (bp_problem){.struct_size = sizeof *problem, .op = BP_OP_CONV, .dtype = f64 ? BP_F64 : BP_F32};
    problem->policy.threads = 1;
    bp_conv_problem *c = &problem->of.conv;
    *c = (bp_conv_problem){.batch = g->batch,
                           .groups = g->groups,
                           .in_channels = g->in_channels,
                           .out_channels = g->out_channels,
                           .in = {1, g->size[0], g->size[1]},
                           .kernel = {1, g->kernel[0], g->kernel[1]},
                           .stride = {1, 1, 1},
                           .dilation = {1, g->dilation, g->dilation},
                           .out = {1}};
    for (int d = 1; d < 3; d++) {
        c->padding[d] = c->kernel[d] > 1 ? g->padding : 0;
        c->out[d] = c->in[d] + 2 * c->padding[d] - g->dilation * (c->kernel[d] - 1);
    }
    a.in = layout(g->groups * g->in_channels, c->in, g->batch, last, &c->x_batch, &c->x_channel, c->x);
    a.out = layout(g->groups * g->out_channels, c->out, g->batch, last, &c->y_batch, &c->y_channel, c->y);
    c->w[2] = 1;
    c->w[1] = c->kernel[2];
    c->w_in = c->kernel[1] * c->kernel[2];
    c->w_out = c->w_in * g->in_channels;
    a.weight = c->w_out * g->out_channels * g->groups;
    a.x = malloc((size_t)a.in * sizeof(double));
    a.w = malloc((size_t)a.weight * sizeof(double));
    a.y = malloc((size_t)a.out * sizeof(double));
    assert_true(a.x && a.w && a.y);
    return a;
}

/* Returns one result by the definition, and the sum of its weights' absolute values. */
static double result_of(const bp_conv_problem *c, const arrays *a, bool f64, const int64_t at[5], double *weights) {
    double sum = 0;
    *weights = 0;
    for (int64_t i = 0; i < c->in_channels * c->kernel[1] * c->kernel[2]; i++) {
        const int64_t channel = i / (c->kernel[1] * c->kernel[2]), row = i / c->kernel[2] % c->kernel[1],
                      column = i % c->kernel[2];
        const int64_t y = at[3] + row * c->dilation[1] - c->padding[1],
                      x = at[4] + column * c->dilation[2] - c->padding[2];
        const double weight = get(a->w, f64, (at[1] * c->out_channels + at[2]) * c->w_out + i);
        *weights += fabs(weight);
        if (y >= 0 && y < c->in[1] && x >= 0 && x < c->in[2]) {
            sum += weight * get(a->x, f64,
                                at[0] * c->x_batch + (at[1] * c->in_channels + channel) * c->x_channel + y * c->x[1] +
                                    x * c->x[2]);
        }
    }
    return sum;
}

static void compare(const bp_conv_problem *c, const arrays *a, bool f64, int geometry_index, int set) {
    const double bound = f64 ? 4e-15 : 2e-6;
    for (int64_t i = 0; i < a->out; i++) {
        const int64_t at[] = {i / (c->out[2] * c->out[1] * c->out_channels * c->groups),
                              i / (c->out[2] * c->out[1] * c->out_channels) % c->groups,
                              i / (c->out[2] * c->out[1]) % c->out_channels, i / c->out[2] % c->out[1], i % c->out[2]};
        const int64_t place =
            at[0] * c->y_batch + (at[1] * c->out_channels + at[2]) * c->y_channel + at[3] * c->y[1] + at[4] * c->y[2];
        double weights;
        const double expected = result_of(c, a, f64, at, &weights), got = get(a->y, f64, place);
        if (!(fabs(got - expected) <= bound * weights)) {
            fail_msg("geometry %d, set %d, %s: result %d is %.17g, not %.17g", geometry_index, set, f64 ? "f64" : "f32",
                     (int)i, got, expected);
        }
    }
}

static void run(const bp_problem *problem, const bp__fourier_set *set, const arrays *a) {
    const bp_host *host = test_plain_host();
    bp__fourier_cut cut;
    bp_prepared *prepared;
    assert_null(bp__fourier_refusal(problem));
    assert_true(bp__fourier_cut_for(problem, set, &cut));
    assert_int_equal(bp__fourier_plan(host, problem, set, &cut, 1, &prepared), BP_OK);
    void *workspace = host->allocate(prepared->workspace);
    const bp_operand operands[] = {{a->x, 0}, {a->w, 0}, {NULL, 0}, {a->y, 0}};
    const bp_exec exec = {.struct_size = sizeof exec, .workspace = {workspace, 0}};
    assert_non_null(workspace);
    assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
    host->release(workspace);
    prepared->destroy(prepared);
}

/* Kernel sets that run on this processor. */
static int sets_of(bool f64, bp__fourier_set sets[3]) {
    const int complex = (f64 ? BP_C128 : BP_C64) - BP_F16;
    int count = 0;
    sets[count++] =
        (bp__fourier_set){bp__fft_default.of[f64], &bp__native_default.of[complex], &bp__fourier_default[f64], 0};
#if defined(__x86_64__)
    if (test_plain_host()->hardware >= BP_CAPABILITY_AVX2) {
        sets[count++] =
            (bp__fourier_set){bp__fft_avx2.of[f64], &bp__native_avx2.of[complex], &bp__fourier_avx2[f64], 1};
        sets[count++] =
            (bp__fourier_set){bp__fft_wide.of[f64], &bp__native_wide.of[complex], &bp__fourier_wide[f64], 2};
    }
#endif
    return count;
}

static void results_are_right(void **state) {
    (void)state;
    test_array_random = 5;
    for (int i = 0; i < (int)(sizeof geometries / sizeof *geometries) * 4; i++) {
        const bool f64 = i % 2, last = i / 2 % 2;
        bp__fourier_set sets[3];
        bp_problem problem;
        const arrays a = make(&problem, &geometries[i / 4], f64, last);
        const int count = sets_of(f64, sets);
        fill(a.x, f64, a.in);
        fill(a.w, f64, a.weight);
        for (int s = 0; s < count; s++) {
            assert_int_equal(sets[s].transforms[0]->lanes, sets[s].products->lanes);
            memset(a.y, 0xff, (size_t)a.out * sizeof(double));
            run(&problem, &sets[s], &a);
            compare(&problem.of.conv, &a, f64, i / 4, s);
        }
        free(a.x);
        free(a.w);
        free(a.y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
