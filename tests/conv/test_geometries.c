/* test_geometries.c - compares convolutions with few channels in a group on native's algorithm `direct`, and gradients
 * by the weight also on `implicit`, with the definition: geometries at which loops have edges (vectors, panels, rows,
 * bands of rows, long rows, many taps, tiles), for channels-first, channels-last and padded layouts. With small
 * integers results are exact. With other numbers they are equal for all numbers of threads, and gradients by the weight
 * also for all layouts. */
#include "conv/cases.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDIM = 3, FIRST = 0, LAST, PADDED, LAYOUTS };

/* Depth, height and width of everything. */
typedef struct geometry {
    int batch, groups, in, out; /* channels of a group */
    int64_t size[NDIM], kernel[NDIM], stride[NDIM], dilation[NDIM], padding[NDIM];
} geometry;

static const geometry geometries[] = {
    {1, 32, 1, 1, {1, 9, 11}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {2, 16, 1, 1, {1, 7, 7}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {2, 64, 1, 1, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},   /* only one tap is inside */
    {1, 19, 1, 1, {1, 40, 37}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}}, /* an incomplete vector, and bands */
    {1, 8, 1, 1, {1, 90, 91}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {1, 8, 1, 1, {1, 2, 601}, {1, 1, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}}, /* rows of several parts */
    {1, 24, 1, 1, {1, 3, 700}, {1, 2, 7}, {1, 1, 2}, {1, 1, 3}, {0, 1, 9}},
    {2, 8, 1, 1, {1, 1, 150}, {1, 1, 131}, {1, 1, 1}, {1, 1, 1}, {0, 0, 65}}, /* more taps than are listed at once */
    {1, 12, 1, 1, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {2, 8, 1, 1, {6, 7, 9}, {3, 2, 4}, {2, 1, 2}, {1, 3, 2}, {1, 2, 3}},
    {2, 12, 1, 1, {8, 16, 20}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, /* threads share the kernel's rows */
    {1, 5, 2, 3, {1, 8, 9}, {1, 3, 3}, {1, 1, 2}, {1, 2, 1}, {0, 1, 1}},
    {2, 1, 3, 4, {1, 6, 20}, {1, 3, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}},
    {3, 100, 1, 1, {1, 5, 4}, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}}, /* steps beyond the kernel */
    {1, 48, 1, 1, {1, 4, 3}, {1, 3, 3}, {1, 1, 1}, {1, 4, 3}, {0, 4, 3}},  /* every tap is outside somewhere */
};
/* Further ones for `implicit`: few channels, whose taps share panels, and several tiles of columns and of channels. */
static const geometry dense[] = {
    {2, 1, 3, 20, {1, 21, 23}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}},
    {1, 2, 5, 7, {3, 9, 11}, {2, 3, 2}, {1, 1, 2}, {1, 1, 2}, {1, 2, 1}},
    {1, 1, 70, 30, {1, 9, 11}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}},
    {2, 1, 9, 210, {1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {1, 1, 40, 24, {1, 20, 30}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, /* several blocks of positions */
};
enum { DENSE = sizeof dense / sizeof *dense };

enum { GEOMETRIES = sizeof geometries / sizeof *geometries };

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* A tensor with values in the order of channels first, [n][channel][depth][height][width], and its layout. */
typedef struct tensor {
    int64_t elements;
    double *value;
    test_array stored;
} tensor;

static void make(tensor *t, bp_dtype dtype, int layout, int64_t n, int64_t channels, const int64_t size[NDIM]) {
    const int64_t pixel = layout == PADDED ? channels + 3 : channels;
    static const int order[LAYOUTS][2 + NDIM] = {{4, 3, 2, 1, 0}, {1, 4, 3, 2, 0}, {1, 4, 3, 2, 0}};
    const int64_t shape[2 + NDIM] = {n, channels, size[0], size[1], size[2]};
    int64_t step = 1, strides[2 + NDIM];
    for (int i = 0; i < 2 + NDIM; i++) {
        const int d = order[layout][i];
        strides[d] = step;
        step *= d == 1 && layout != FIRST ? pixel : shape[d];
    }
    t->elements = n * channels * size[0] * size[1] * size[2];
    t->value = calloc((size_t)t->elements, sizeof *t->value);
    assert_non_null(t->value);
    test_array_make_strided(&t->stored, dtype, 2 + NDIM, shape, strides, 0);
}

static void fill(tensor *t, bool integers) {
    for (int64_t i = 0; i < t->elements; i++) {
        t->value[i] = integers ? (double)test_array_between(-2, 2) : (double)test_array_between(-10000, 10000) / 1e4;
        test_array_set(&t->stored, i, t->value[i]);
    }
}

static void release(tensor *t) {
    free(t->value);
    test_array_free(&t->stored);
}

typedef struct operands {
    tensor x, w, y;
} operands;

static int64_t out_of(const geometry *g, int d) {
    return (g->size[d] + 2 * g->padding[d] - g->dilation[d] * (g->kernel[d] - 1) - 1) / g->stride[d] + 1;
}

/* Returns the position of X that position `o` of Y and tap `t` have, or -1. Both are indexes of their planes. */
static int64_t position_of(const geometry *g, int64_t o, int64_t t) {
    int64_t at[NDIM];
    for (int d = NDIM - 1; d >= 0; d--) {
        at[d] = o % out_of(g, d) * g->stride[d] + t % g->kernel[d] * g->dilation[d] - g->padding[d];
        o /= out_of(g, d);
        t /= g->kernel[d];
        if (at[d] < 0 || at[d] >= g->size[d]) {
            return -1;
        }
    }
    return (at[0] * g->size[1] + at[1]) * g->size[2] + at[2];
}

/* Adds all products to the values of the operand that the pass writes. */
static void refer(const geometry *g, bp_conv_pass pass, operands *o) {
    const int64_t image = g->size[0] * g->size[1] * g->size[2], taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    const int64_t plane = out_of(g, 0) * out_of(g, 1) * out_of(g, 2);
    for (int64_t i = 0; i < plane * taps; i++) {
        const int64_t p = i / taps, t = i % taps, from = position_of(g, p, t);
        for (int64_t j = 0; from >= 0 && j < (int64_t)g->batch * g->groups * g->out * g->in; j++) {
            const int64_t c = j % g->in, k = j / g->in % (g->groups * g->out), item = j / g->in / (g->groups * g->out);
            const int64_t channel = k / g->out * g->in + c;
            double *x = &o->x.value[(item * g->groups * g->in + channel) * image + from];
            double *w = &o->w.value[(k * g->in + c) * taps + t];
            double *y = &o->y.value[(item * g->groups * g->out + k) * plane + p];
            *(pass == BP_CONV_FORWARD ? y
              : pass == BP_CONV_INPUT ? x
                                      : w) += pass == BP_CONV_FORWARD ? *x * *w
                                              : pass == BP_CONV_INPUT ? *y * *w
                                                                      : *x * *y;
        }
    }
}

static tensor *written(operands *o, bp_conv_pass pass) {
    return pass == BP_CONV_FORWARD ? &o->y : pass == BP_CONV_INPUT ? &o->x : &o->w;
}

static void make_all(operands *o, const geometry *g, bp_dtype dtype, int layout, bp_conv_pass pass, bool integers) {
    test_array_random = 577215;
    int64_t out[NDIM];
    for (int d = 0; d < NDIM; d++) {
        out[d] = out_of(g, d);
    }
    make(&o->x, dtype, layout, g->batch, (int64_t)g->groups * g->in, g->size);
    make(&o->w, dtype, FIRST, (int64_t)g->groups * g->out, g->in, g->kernel);
    make(&o->y, dtype, layout, g->batch, (int64_t)g->groups * g->out, out);
    tensor *const all[] = {&o->x, &o->w, &o->y};
    for (int i = 0; i < 3; i++) {
        if (all[i] != written(o, pass)) {
            fill(all[i], integers);
        }
    }
}

static void release_all(operands *o) {
    release(&o->x);
    release(&o->w);
    release(&o->y);
}

static void run(operands *o, const geometry *g, const char *algorithm, bp_conv_pass pass, int threads) {
    char settings[160];
    bp_options *options;
    snprintf(settings, sizeof settings,
             "conv.preferred=native:%s,dispatch.fallback=strict,deterministic=threads,num_threads=%d", algorithm,
             threads);
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = NDIM,
                         .groups = g->groups,
                         .stride = g->stride,
                         .dilation = g->dilation,
                         .padding = g->padding,
                         .input = &o->x.stored.view.tensor,
                         .weight = &o->w.stored.view.tensor,
                         .output = &o->y.stored.view.tensor};
    test_call_to_pass("conv", &call, (int)pass);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, &call) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_options_release(options);
}

typedef void (*check)(const geometry *g, const char *algorithm, bp_dtype dtype, int layout, bp_conv_pass pass,
                      const char *text);

static void check_exact(const geometry *g, const char *algorithm, bp_dtype dtype, int layout, bp_conv_pass pass,
                        const char *text) {
    operands o;
    make_all(&o, g, dtype, layout, pass, true);
    refer(g, pass, &o);
    run(&o, g, algorithm, pass, 1 + layout);
    const tensor *result = written(&o, pass);
    for (int64_t e = 0; e < result->elements; e++) {
        const double expected = test_array_rounded(dtype, result->value[e]), got = test_array_get(&result->stored, e);
        if (got != expected) {
            fail_msg("%s: element %lld is %g, not %g", text, (long long)e, got, expected);
        }
    }
    test_array_check_gaps(&result->stored, text);
    release_all(&o);
}

/* Gradients by the weight are compared with gradients of channels-last images. */
static void check_bits(const geometry *g, const char *algorithm, bp_dtype dtype, int layout, bp_conv_pass pass,
                       const char *text) {
    static const int threads[] = {1, 2, 3, 7};
    operands first, o;
    if (dtype == BP_BF16 || dtype == BP_F64) {
        return; /* take the same paths as the other types */
    }
    make_all(&first, g, dtype, pass == BP_CONV_WEIGHT ? LAST : layout, pass, false);
    make_all(&o, g, dtype, layout, pass, false);
    run(&first, g, algorithm, pass, 1);
    for (int t = 0; t < 4; t++) {
        run(&o, g, algorithm, pass, threads[t]);
        const tensor *result = written(&o, pass), *expected = written(&first, pass);
        for (int64_t e = 0; e < result->elements; e++) {
            if (test_array_get(&result->stored, e) != test_array_get(&expected->stored, e)) {
                fail_msg("%s, %d threads: element %lld is %.17g, not %.17g", text, threads[t], (long long)e,
                         test_array_get(&result->stored, e), test_array_get(&expected->stored, e));
            }
        }
    }
    release_all(&first);
    release_all(&o);
}

/* Checks a geometry with all types and layouts. */
static void check_geometry(check one_check, const geometry *g, const char *algorithm, bp_conv_pass pass, int number) {
    for (int i = 0; i < DTYPES * LAYOUTS; i++) {
        char text[128];
        snprintf(text, sizeof text, "geometry %d, %s, %s, layout %d, pass %d", number, algorithm,
                 bp_dtype_name(dtypes[i % DTYPES]), i / DTYPES, (int)pass);
        one_check(g, algorithm, dtypes[i % DTYPES], i / DTYPES, pass, text);
    }
}

static void check_geometries(check one_check) {
    for (int i = 0; i < GEOMETRIES; i++) {
        for (int pass = BP_CONV_FORWARD; pass <= BP_CONV_WEIGHT; pass++) {
            check_geometry(one_check, &geometries[i], "direct", (bp_conv_pass)pass, i);
        }
        check_geometry(one_check, &geometries[i], "implicit", BP_CONV_WEIGHT, i);
    }
    for (int i = 0; i < DENSE; i++) {
        check_geometry(one_check, &dense[i], "implicit", BP_CONV_WEIGHT, GEOMETRIES + i);
    }
}

static void integers_are_exact(void **state) {
    (void)state;
    check_geometries(check_exact);
}

static void bits_are_equal(void **state) {
    (void)state;
    check_geometries(check_bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers_are_exact), cmocka_unit_test(bits_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
