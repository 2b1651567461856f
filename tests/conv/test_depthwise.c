/* test_depthwise.c - compares convolutions with few channels in a group, and their gradients, on native's algorithm
 * `direct` with the definition: geometries at which its loops have edges (vectors, rows, bands of rows, long rows, many
 * taps), for channels-first, channels-last and padded layouts. With small integers results are exact. With other
 * numbers they are equal for all numbers of threads, and the gradient by the weight also for all layouts. */
#include "conv/cases.h"

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
enum { GEOMETRIES = sizeof geometries / sizeof *geometries };

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* A tensor with values in the order of channels first, [n][channel][depth][height][width], and its layout. */
typedef struct tensor {
    int64_t shape[2 + NDIM], strides[2 + NDIM], elements;
    double *value;
    void *memory;
    bp_view view;
} tensor;

static void make(tensor *t, bp_dtype dtype, int layout, int64_t n, int64_t channels, const int64_t size[NDIM]) {
    const int64_t pixel = layout == PADDED ? channels + 3 : channels;
    static const int order[LAYOUTS][2 + NDIM] = {{4, 3, 2, 1, 0}, {1, 4, 3, 2, 0}, {1, 4, 3, 2, 0}};
    int64_t step = 1;
    t->shape[0] = n;
    t->shape[1] = channels;
    memcpy(t->shape + 2, size, NDIM * sizeof *size);
    for (int i = 0; i < 2 + NDIM; i++) {
        const int d = order[layout][i];
        t->strides[d] = step;
        step *= d == 1 && layout != FIRST ? pixel : t->shape[d];
    }
    t->elements = n * channels * size[0] * size[1] * size[2];
    t->value = calloc((size_t)t->elements, sizeof *t->value);
    t->memory = calloc((size_t)step, 8);
    assert_true(t->value && t->memory);
    bp_view_init(&t->view, t->memory, dtype, 2 + NDIM, t->shape, t->strides);
}

static int64_t offset_of(const tensor *t, int64_t index) {
    int64_t at = 0;
    for (int d = 1 + NDIM; d >= 0; d--) {
        at += index % t->shape[d] * t->strides[d];
        index /= t->shape[d];
    }
    return at;
}

/* Views of one element, by which the helpers for random cases convert it. */
static conv_tensor one(const tensor *t, int64_t index) {
    static const int64_t shape[] = {1};
    conv_tensor c;
    memset(&c, 0, sizeof c);
    const size_t bytes = (size_t)t->view.tensor.dtype.bits / 8;
    c.memory = (char *)t->memory + (size_t)offset_of(t, index) * bytes;
    bp_view_init(&c.view, c.memory, bp_dtype_from_dlpack(t->view.tensor.dtype), 1, shape, NULL);
    return c;
}

static void fill(tensor *t, uint64_t *random, bool integers) {
    for (int64_t i = 0; i < t->elements; i++) {
        const uint64_t number = conv_random(random);
        t->value[i] = integers ? (double)(number % 5) - 2 : (double)(number % 20001) / 1e4 - 1;
        conv_tensor element = one(t, i);
        conv_set(&element, 0, t->value[i]);
    }
}

static double get(const tensor *t, int64_t index) {
    const conv_tensor element = one(t, index);
    return conv_get(&element, 0);
}

static void release(tensor *t) {
    free(t->value);
    free(t->memory);
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
    for (int64_t i = 0; i < (int64_t)g->batch * g->groups * g->out * g->in; i++) {
        const int64_t c = i % g->in, k = i / g->in % (g->groups * g->out), item = i / g->in / (g->groups * g->out);
        const int64_t channel = k / g->out * g->in + c;
        for (int64_t p = 0; p < plane; p++) {
            for (int64_t t = 0; t < taps; t++) {
                const int64_t from = position_of(g, p, t);
                if (from < 0) {
                    continue;
                }
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
}

static tensor *written(operands *o, bp_conv_pass pass) {
    return pass == BP_CONV_FORWARD ? &o->y : pass == BP_CONV_INPUT ? &o->x : &o->w;
}

static void make_all(operands *o, const geometry *g, bp_dtype dtype, int layout, bp_conv_pass pass, bool integers) {
    uint64_t random = 577215;
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
            fill(all[i], &random, integers);
        }
    }
}

static void release_all(operands *o) {
    release(&o->x);
    release(&o->w);
    release(&o->y);
}

static void run(operands *o, const geometry *g, bp_conv_pass pass, int threads) {
    char settings[160];
    bp_options *options;
    snprintf(settings, sizeof settings,
             "conv.preferred=native:direct,dispatch.fallback=strict,deterministic=threads,num_threads=%d", threads);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .pass = pass,
                               .ndim = NDIM,
                               .groups = g->groups,
                               .stride = g->stride,
                               .dilation = g->dilation,
                               .padding = g->padding,
                               .input = &o->x.view.tensor,
                               .weight = &o->w.view.tensor,
                               .output = &o->y.view.tensor};
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, &call) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_options_release(options);
}

static void integers_are_exact(void **state) {
    (void)state;
    for (int i = 0; i < GEOMETRIES * DTYPES * LAYOUTS * 3; i++) {
        const geometry *g = &geometries[i % GEOMETRIES];
        const int layout = i / GEOMETRIES % LAYOUTS;
        const bp_dtype dtype = dtypes[i / GEOMETRIES / LAYOUTS % DTYPES];
        const bp_conv_pass pass = (bp_conv_pass)(i / GEOMETRIES / LAYOUTS / DTYPES);
        operands o;
        make_all(&o, g, dtype, layout, pass, true);
        refer(g, pass, &o);
        run(&o, g, pass, 1 + i % 3);
        const tensor *result = written(&o, pass);
        for (int64_t e = 0; e < result->elements; e++) {
            const double expected = conv_rounded(dtype, result->value[e]), got = get(result, e);
            if (got != expected) {
                fail_msg("geometry %d, %s, layout %d, pass %d: element %lld is %g, not %g", i % GEOMETRIES,
                         bp_dtype_name(dtype), layout, (int)pass, (long long)e, got, expected);
            }
        }
        release_all(&o);
    }
}

static void bits_are_equal(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 7};
    for (int i = 0; i < GEOMETRIES * DTYPES * LAYOUTS * 3; i++) {
        const geometry *g = &geometries[i % GEOMETRIES];
        const int layout = i / GEOMETRIES % LAYOUTS;
        const bp_dtype dtype = dtypes[i / GEOMETRIES / LAYOUTS % DTYPES];
        const bp_conv_pass pass = (bp_conv_pass)(i / GEOMETRIES / LAYOUTS / DTYPES);
        operands first, o;
        /* The layout with which the others are compared. */
        const int base = pass == BP_CONV_WEIGHT ? LAST : layout;
        make_all(&first, g, dtype, base, pass, false);
        make_all(&o, g, dtype, layout, pass, false);
        run(&first, g, pass, 1);
        for (int t = 0; t < 4; t++) {
            run(&o, g, pass, threads[t]);
            const tensor *result = written(&o, pass), *expected = written(&first, pass);
            for (int64_t e = 0; e < result->elements; e++) {
                if (get(result, e) != get(expected, e)) {
                    fail_msg("geometry %d, %s, layout %d, pass %d, %d threads: element %lld is %.17g, not %.17g",
                             i % GEOMETRIES, bp_dtype_name(dtype), layout, (int)pass, threads[t], (long long)e,
                             get(result, e), get(expected, e));
                }
            }
        }
        release_all(&first);
        release_all(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers_are_exact), cmocka_unit_test(bits_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
