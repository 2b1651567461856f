/* test_reduce.c - reductions of random shapes, axes and layouts against the reference,
 * one element at a time; unusual values; refused calls; and that threads change no bit. */
#include "backplane.h"

#include "support/options.h"
#include "support/pool.h"
#include "rows.h"
#include "support/arrays.h"
#include "support/named.h"
#include "support/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int[]){__VA_ARGS__})

enum { CASES = 3000, KINDS = 9 };

static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* ---- Cases ---- */

typedef struct reduction {
    bp_reduce_kind kind;
    bp_dtype dtype;
    test_array input, output;
    int axes[BP_MAX_NDIM], axis_count;
    bool all, keep, reduced[BP_MAX_NDIM];
    char text[160];
} reduction;

static bool is_position(bp_reduce_kind kind) {
    return kind == BP_REDUCE_ARGMAX || kind == BP_REDUCE_ARGMIN;
}

static bool is_truth(bp_reduce_kind kind) {
    return kind == BP_REDUCE_ANY || kind == BP_REDUCE_ALL;
}

static bool is_extreme(bp_reduce_kind kind) {
    return kind >= BP_REDUCE_MAX && !is_truth(kind);
}

static bool floating(bp_dtype dtype) {
    return dtype <= BP_F64;
}

/* Mostly elements that decide nothing: 0, also with a sign, for ANY, and other numbers for ALL. The others are few, so
 * that both results occur: NaN and the least denormal number are not 0. */
static void fill_truths(reduction *c) {
    static const double zeros[] = {0, -0.0}, others[] = {1, -2, NAN, INFINITY, 0x1p-24};
    const int64_t rare = test_array_between(0, 1) ? 30 : 1000;
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        const bool other = (test_array_between(0, rare) == 0) == (c->kind == BP_REDUCE_ANY);
        if (floating(c->dtype)) {
            const double tiny = c->dtype == BP_F64 ? 0x1p-1074 : c->dtype == BP_F16 ? 0x1p-24 : 0x1p-133;
            const int64_t which = test_array_between(0, 5);
            test_array_set(&c->input, i, !other ? zeros[which % 2] : which == 5 ? tiny : others[which]);
        } else {
            const int64_t most = c->dtype == BP_I64 ? INT64_C(1) << 40 : 0x40000000;
            test_array_set_i64(&c->input, i, !other ? 0 : c->dtype == BP_BOOL || test_array_between(0, 1) ? 1 : most);
        }
    }
}

/* Numbers whose products are exact, or with equal ones among them, or any. */
static void fill(reduction *c) {
    if (is_truth(c->kind)) {
        fill_truths(c);
        return;
    }
    const int64_t nan = test_array_between(0, 3) == 0 ? test_array_between(0, 40) : -1;
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        if (!floating(c->dtype)) {
            const int64_t wide = test_array_between(0, 1) ? test_array_between(-5, 5) : (int64_t)test_array_random;
            test_array_set_i64(&c->input, i, c->dtype == BP_I32 ? (int32_t)wide : wide);
        } else if (c->kind == BP_REDUCE_PROD) {
            test_array_set(&c->input, i, ldexp(test_array_between(0, 1) ? 1 : -1, (int)test_array_between(-1, 1)));
        } else if (is_extreme(c->kind)) {
            test_array_set(&c->input, i, i == nan ? NAN : (double)test_array_between(-8, 8));
        } else {
            test_array_set(&c->input, i, 3 + 100 * test_array_uniform());
        }
    }
}

static void begin(reduction *c, bp_dtype dtype, bp_reduce_kind kind, int ndim, const int64_t *shape) {
    int64_t out_shape[BP_MAX_NDIM];
    int out_ndim;
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->dtype = dtype;
    c->all = test_array_between(0, 4) == 0;
    c->keep = test_array_between(0, 1);
    for (int d = ndim - 1; d >= 0; d--) {
        c->reduced[d] = c->all || test_array_between(0, 1);
        if (c->reduced[d] && !c->all) {
            c->axes[c->axis_count++] = test_array_between(0, 1) ? d : d - ndim;
        }
    }
    test_array_make(&c->input, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    assert_int_equal(
        bp_reduce_shape(&c->input.view.tensor, c->axis_count, c->all ? NULL : c->axes, c->keep, &out_ndim, out_shape),
        BP_OK);
    const bool wide = is_position(kind) || (kind <= BP_REDUCE_PROD && dtype == BP_I32 && test_array_between(0, 1));
    test_array_make(&c->output,
                    wide             ? BP_I64
                    : is_truth(kind) ? BP_BOOL
                                     : dtype,
                    out_ndim, out_shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    fill(c);
    int length = snprintf(c->text, sizeof c->text, "%s kind %d%s%s, sizes", bp_dtype_name(dtype), (int)kind,
                          c->keep ? ", keep" : "", wide ? " i64" : "");
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d%s", (int)shape[d],
                           c->reduced[d] ? "r" : "");
    }
}

static void end(reduction *c) {
    test_array_free(&c->input);
    test_array_free(&c->output);
}

static void run(reduction *c, const char *setting) {
    bp_options *options = test_options(setting);
    if (bp_reduce_run(options, c->kind, &c->input.view.tensor, c->axis_count, c->all ? NULL : c->axes, c->keep,
                      &c->output.view.tensor) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void compare(const reduction *c) {
    reference_results made;
    assert_int_equal(reference_of_reduce(&made, (int)c->kind, c->axis_count, c->all ? NULL : c->axes,
                                         &c->input.view.tensor, &c->output.view.tensor),
                     BP_OK);
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->output, c->text);
}

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64, BP_BOOL};

static void random_cases(void **state) {
    (void)state;
    test_array_random = 11;
    for (int i = 0; i < CASES; i++) {
        const bp_reduce_kind drawn = (bp_reduce_kind)(i / 7 % KINDS);
        const bp_dtype dtype = dtypes[is_truth(drawn) ? i % 7 : i % 6];
        bp_reduce_kind kind = drawn;
        kind = kind == BP_REDUCE_MEAN && !floating(dtype) ? BP_REDUCE_SUM : kind;
        int64_t shape[5];
        const int ndim = test_array_shape(shape, is_extreme(kind));
        reduction c;
        begin(&c, dtype, kind, ndim, shape);
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

static void long_rows(void **state) {
    (void)state;
    test_array_random = 12;
    for (int i = 0; i < LONG_SHAPES; i++) {
        int64_t shape[2];
        long_shape(i, shape);
        reduction c;
        begin(&c, dtypes[i % 4], (bp_reduce_kind)(i / 3 % KINDS), 2, shape); /* each kind with each of three shapes */
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

/* ---- Values ---- */

static double one(bp_reduce_kind kind, int64_t n, const double *x) {
    double y = -1;
    int64_t index = -1;
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, (void *)(uintptr_t)x, BP_F64, 1, &n, NULL), BP_OK);
    const bool position = is_position(kind);
    assert_int_equal(bp_view_init(&out, position ? (void *)&index : &y, position ? BP_I64 : BP_F64, 0, I64(0), NULL),
                     BP_OK);
    assert_int_equal(bp_reduce_run(NULL, kind, &in.tensor, 0, NULL, 0, &out.tensor), BP_OK);
    return position ? (double)index : y;
}

static void values(void **state) {
    (void)state;
    const double least[] = {-INFINITY, -INFINITY, -INFINITY}, nans[] = {1, NAN, INFINITY, NAN},
                 mixed[] = {INFINITY, 1, -INFINITY}, tiny[] = {0x1p-1074, 0x1p-1074, 0x1p-1073},
                 huge[] = {0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023}, cancel[] = {0x1p53, 1, -0x1p53};
    assert_true(one(BP_REDUCE_MAX, 3, least) == -INFINITY);
    assert_true(one(BP_REDUCE_ARGMAX, 3, least) == 0);
    assert_true(one(BP_REDUCE_ARGMIN, 3, least) == 0);
    assert_true(isnan(one(BP_REDUCE_MAX, 4, nans)));
    assert_true(isnan(one(BP_REDUCE_MIN, 4, nans)));
    assert_true(isnan(one(BP_REDUCE_SUM, 4, nans)));
    assert_true(one(BP_REDUCE_ARGMAX, 4, nans) == 1);
    assert_true(one(BP_REDUCE_ARGMIN, 4, nans) == 1);
    assert_true(isnan(one(BP_REDUCE_SUM, 3, mixed)));
    assert_true(one(BP_REDUCE_SUM, 3, tiny) == 0x1p-1072);
    assert_true(one(BP_REDUCE_SUM, 2, huge) == INFINITY);
    assert_true(fabs(one(BP_REDUCE_SUM, 3, cancel) - 1) <= 3 * 0x1p-53 * 0x1p54);
    assert_true(one(BP_REDUCE_SUM, 0, cancel) == 0);
    assert_true(one(BP_REDUCE_PROD, 0, cancel) == 1);
    assert_true(isnan(one(BP_REDUCE_MEAN, 0, cancel)));
}

/* Long rows, whose positions are found in two passes. */
static void first_positions(void **state) {
    (void)state;
    enum { MOST = 9000 };
    static double x[MOST];
    for (int i = 0; i < 60; i++) {
        const int n = i < 30 ? 8 + 11 * i : MOST - i, at = n / 3 + i % 7, second = n - 1 - i % 3;
        const bool least = i % 2;
        for (int j = 0; j < n; j++) {
            x[j] = least ? INFINITY : -INFINITY;
        }
        const bp_reduce_kind kind = least ? BP_REDUCE_ARGMIN : BP_REDUCE_ARGMAX;
        assert_true(one(kind, n, x) == 0);
        x[at] = x[second] = 1;
        assert_true(one(kind, n, x) == at);
        x[second] = NAN;
        assert_true(one(kind, n, x) == second);
        x[at] = NAN;
        assert_true(one(kind, n, x) == at);
    }
}

/* Sums of f16 and f32 do not overflow, and lose nothing, before they are rounded. */
static void wide_sums(void **state) {
    (void)state;
    enum { N = 3000 };
    static float x[N];
    float y;
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 1, I64(N), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, &y, BP_F32, 0, I64(0), NULL), BP_OK);
    for (int i = 0; i < N; i++) {
        x[i] = 0x1p24f + (float)(i % 2 * 2);
    }
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_MEAN, &in.tensor, 0, NULL, 0, &out.tensor), BP_OK);
    assert_true(y == 0x1p24f); /* 2^24 + 1 rounds to even */
    for (int i = 0; i < N; i++) {
        x[i] = 3e38f;
    }
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_MEAN, &in.tensor, 0, NULL, 0, &out.tensor), BP_OK);
    assert_true(y == 3e38f);
}

/* One element decides at each place of rows and columns. Bytes of bool other than 1 are true. */
static void one_truth(void **state) {
    (void)state;
    enum { ROWS = 130, COLUMNS = 70 };
    static uint8_t x[ROWS][COLUMNS];
    uint8_t y[ROWS + COLUMNS];
    for (int at = 0; at < ROWS * COLUMNS; at += 7) {
        for (int way = 0; way < 4; way++) {
            const bool any = way % 2, columns = way / 2;
            const int where = columns ? at % COLUMNS : at / COLUMNS, count = columns ? COLUMNS : ROWS;
            bp_view in, out;
            memset(x, any ? 0 : 0xfe, sizeof x);
            ((uint8_t *)x)[at] = any ? 2 : 0;
            assert_int_equal(bp_view_init(&in, x, BP_BOOL, 2, I64(ROWS, COLUMNS), NULL), BP_OK);
            assert_int_equal(bp_view_init(&out, y, BP_BOOL, 1, I64(count), NULL), BP_OK);
            assert_int_equal(bp_reduce_run(NULL, any ? BP_REDUCE_ANY : BP_REDUCE_ALL, &in.tensor, 1,
                                           AXES(columns ? 0 : 1), 0, &out.tensor),
                             BP_OK);
            for (int i = 0; i < count; i++) {
                assert_int_equal(y[i], (i == where) == any);
            }
        }
    }
}

/* A dimension of stride 0 is read as often as it says. */
static void broadcast(void **state) {
    (void)state;
    float x[3] = {1, 2, 4}, y[5];
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(5, 3), I64(0, 1)), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(5), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, &in.tensor, 1, AXES(1), 0, &out.tensor), BP_OK);
    assert_true(y[0] == 7 && y[4] == 7);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, &in.tensor, 1, AXES(0), 0, &out.tensor), BP_OK);
    assert_true(y[0] == 5 && y[2] == 20);
}

/* ---- Errors ---- */

static void refused(void **state) {
    (void)state;
    float x[12], y[12] = {7};
    int64_t index[12], shape[BP_MAX_NDIM];
    int ndim;
    bp_view in, out, at, bad, none;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&at, index, BP_I64, 1, I64(3), NULL), BP_OK);
    const DLTensor *i = &in.tensor;
    DLTensor *o = &out.tensor;
    assert_int_equal(bp_reduce_run(NULL, (bp_reduce_kind)KINDS, i, 1, AXES(1), 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, NULL, 1, AXES(1), 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(1), 0, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(2), 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(-3), 0, o), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "sum: axis -3 is not a dimension of a tensor with 2"));
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 2, AXES(1, -1), 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, -1, AXES(1), 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, NULL, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(0), 0, o), BP_E_SHAPE);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(1), 1, o), BP_E_SHAPE);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_ARGMAX, i, 1, AXES(1), 0, o), BP_E_DTYPE);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(1), 0, &at.tensor), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, index, BP_I64, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_MEAN, &bad.tensor, 1, AXES(1), 0, &at.tensor), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, x, BP_BOOL, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, &bad.tensor, 1, AXES(1), 0, o), BP_E_DTYPE);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_ANY, i, 1, AXES(1), 0, o), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, index, BP_U8, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_ALL, &bad.tensor, 1, AXES(1), 0, o), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, x + 2, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(1), 0, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 1, I64(3), I64(0)), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, i, 1, AXES(1), 0, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&none, x, BP_F32, 2, I64(3, 0), NULL), BP_OK);
    for (int kind = BP_REDUCE_MAX; kind <= BP_REDUCE_ARGMIN; kind++) {
        assert_int_equal(bp_reduce_run(NULL, (bp_reduce_kind)kind, &none.tensor, 1, AXES(1), 0,
                                       kind < BP_REDUCE_ARGMAX ? o : &at.tensor),
                         BP_E_SHAPE);
    }
    assert_int_equal(bp_reduce_shape(i, 1, AXES(4), 0, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_reduce_shape(i, 1, AXES(1), 0, NULL, shape), BP_E_ARGUMENT);
    assert_true(y[0] == 7); /* nothing was written */
    /* Extremes of no elements into no results are fine. */
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 1, I64(0), NULL), BP_OK);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_MAX, &none.tensor, 1, AXES(0), 0, &bad.tensor), BP_OK);
}

/* ---- Plans and threads ---- */

static void plans(void **state) {
    (void)state;
    float x[6] = {1, 2, 3, 4, 5, 6}, y[2] = {0, 0};
    bp_view in, out;
    bp_plan *plan;
    bp_explanation *explanation;
    assert_int_equal(bp_view_init(&in, NULL, BP_F32, 2, I64(2, 3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 1, I64(2), NULL), BP_OK);
    assert_int_equal(bp_reduce_plan(&plan, NULL, BP_REDUCE_SUM, &in.tensor, 1, AXES(1), 0, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    assert_true(y[0] == 6 && y[1] == 15);
    assert_int_equal(bp_reduce_explain(&explanation, NULL, BP_REDUCE_SUM, &in.tensor, 1, AXES(1), 0, &out.tensor),
                     BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 sum of 2 x 3 elements"));
    bp_explanation_release(explanation);
    /* A plan of an empty output. */
    assert_int_equal(bp_view_init(&in, NULL, BP_F32, 2, I64(0, 3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 1, I64(0), NULL), BP_OK);
    assert_int_equal(bp_reduce_plan(&plan, NULL, BP_REDUCE_SUM, &in.tensor, 1, AXES(1), 0, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{NULL, 0}, {NULL, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
}

/* Sizes and strides that no memory has: a broadcast input may be that large, and an empty dimension has any stride. */
static void extreme_sizes_and_strides(void **state) {
    (void)state;
    const int64_t wide[] = {4, INT64_C(1) << 56}, none[] = {2, 3, 0}, two = 2;
    const int64_t broadcast_rows[] = {0, 1}, any[] = {1, 1, INT64_MIN};
    bp_view input, output;
    bp_explanation *explanation;
    bp_view_init(&input, NULL, BP_F32, 2, wide, broadcast_rows);
    bp_view_init(&output, NULL, BP_F32, 1, wide, NULL);
    assert_int_equal(
        bp_reduce_explain(&explanation, NULL, BP_REDUCE_SUM, &input.tensor, 1, (int[]){1}, 0, &output.tensor), BP_OK);
    bp_explanation_release(explanation);
    float sums[2] = {1, 1};
    bp_view_init(&input, sums, BP_F32, 3, none, any);
    bp_view_init(&output, sums, BP_F32, 1, &two, NULL);
    assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, &input.tensor, 2, (int[]){1, 2}, 0, &output.tensor), BP_OK);
    assert_true(sums[0] == 0 && sums[1] == 0);
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{300000, 1, 1}, {3, 90000, 1}, {90000, 3, 1}, {400, 300, 5}, {7, 260, 200}};
    static const char *const more[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 13;
    for (int i = 0; i < 5 * KINDS * 4; i++) {
        reduction c;
        begin(&c, dtypes[i % 4], (bp_reduce_kind)(i / 5 % KINDS), 3, shapes[i % 5]);
        const size_t bytes = (size_t)c.output.all * bp_dtype_size(c.output.dtype);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        run(&c, "num_threads=1");
        memcpy(kept, c.output.memory, bytes);
        for (int j = 0; j < 3; j++) {
            run(&c, more[j]);
            if (memcmp(kept, c.output.memory, bytes) != 0) {
                fail_msg("%s: %s changes bits", c.text, more[j]);
            }
        }
        free(kept);
        end(&c);
    }
}

/* Sums of i32 are i64 as in Python, unless an output of i32 is given. */
static void types_of_sums(void **state) {
    static const struct {
        bp_reduce_kind kind;
        bp_dtype input, output; /* NONE: no output is given */
        bp_dtype result;
    } cases[] = {
        {BP_REDUCE_SUM, BP_I32, BP_DTYPE_NONE, BP_I64},    {BP_REDUCE_PROD, BP_I32, BP_I64, BP_I64},
        {BP_REDUCE_SUM, BP_I32, BP_I32, BP_I32},           {BP_REDUCE_MAX, BP_I32, BP_DTYPE_NONE, BP_I32},
        {BP_REDUCE_SUM, BP_F16, BP_DTYPE_NONE, BP_F16},    {BP_REDUCE_SUM, BP_I64, BP_DTYPE_NONE, BP_I64},
        {BP_REDUCE_ARGMIN, BP_F32, BP_DTYPE_NONE, BP_I64}, {BP_REDUCE_ANY, BP_I32, BP_DTYPE_NONE, BP_BOOL},
        {BP_REDUCE_ALL, BP_BOOL, BP_DTYPE_NONE, BP_BOOL},
    };
    int64_t memory[4] = {0};
    bp_view input, output;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        named_call n;
        named_begin(&n, "reduce");
        named_int(&n, "kind", (int)cases[i].kind);
        assert_int_equal(bp_view_init(&input, memory, cases[i].input, 1, I64(3), NULL), BP_OK);
        named_pointer(&n, "input", &input.tensor);
        if (cases[i].output) {
            assert_int_equal(bp_view_init(&output, memory + 3, cases[i].output, 0, NULL, NULL), BP_OK);
            named_pointer(&n, "output", &output.tensor);
        }
        assert_int_equal(bp_call_shape(n.call, &n.arguments, 1, &dtype, &ndim, shape), BP_OK);
        assert_int_equal(dtype, cases[i].result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(values),
        cmocka_unit_test(wide_sums),
        cmocka_unit_test(types_of_sums),
        cmocka_unit_test(one_truth),
        cmocka_unit_test(first_positions),
        cmocka_unit_test(broadcast),
        cmocka_unit_test(refused),
        cmocka_unit_test(plans),
        cmocka_unit_test(extreme_sizes_and_strides),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
