/* test_pad.c - padding, flips and rolls of random shapes and layouts of every type against the reference; bits, values
 * and sizes at their limits; refused calls; and calls that differ in one argument only. */
#include "backplane.h"

#include "support/arrays.h"
#include "support/modes.h"
#include "support/pool.h"
#include "support/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int[]){__VA_ARGS__})

enum { CASES = 2400, MODES = BP_PAD_CIRCULAR + 1, KINDS = MODES + 2, FLIP = MODES, ROLL };

static const char *const settings[] = {"", "num_threads=1", "num_threads=2", "num_threads=3"};
static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_C64, BP_C128,
                                  BP_I8,  BP_I32, BP_I64, BP_U8,   BP_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* ---- Cases ---- */

typedef struct movement {
    int kind; /* a bp_pad_mode, FLIP or ROLL */
    test_array input, output;
    int count, axes[BP_MAX_NDIM]; /* of amounts or axes */
    bool all;                     /* axes */
    int64_t before[BP_MAX_NDIM], after[BP_MAX_NDIM];
    double value;
    char text[160];
} movement;

static void draw_amounts(movement *c, int ndim, const int64_t *shape, int64_t *padded) {
    c->count = (int)test_array_between(0, ndim);
    for (int i = 0; i < c->count; i++) {
        const int d = ndim - c->count + i;
        const int64_t n = shape[d], most = c->kind == BP_PAD_CONSTANT || c->kind == BP_PAD_REPLICATE ? 9
                                           : c->kind == BP_PAD_REFLECT                               ? n - 1
                                                                                                     : n;
        const bool positive = n == 0 || c->kind == BP_PAD_CIRCULAR || test_array_between(0, 2) > 0;
        const int64_t least = positive ? 0 : -n / 2;
        c->before[i] = test_array_between(least, n == 0 && c->kind != BP_PAD_CONSTANT ? 0 : most);
        c->after[i] = test_array_between(least, n == 0 && c->kind != BP_PAD_CONSTANT ? 0 : most);
        padded[d] = n + c->before[i] + c->after[i];
    }
}

static void draw_axes(movement *c, int ndim) {
    c->all = c->kind == FLIP && test_array_between(0, 3) == 0;
    for (int d = ndim - 1; d >= 0 && !c->all; d--) {
        if (test_array_between(0, 1)) {
            c->before[c->count] = test_array_between(-20, 20);
            c->axes[c->count++] = test_array_between(0, 1) ? d : d - ndim;
        }
    }
}

static void begin(movement *c, int kind, bp_dtype dtype, int ndim, const int64_t *shape) {
    static const double values[] = {0, 1, 100};
    int64_t padded[BP_MAX_NDIM];
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->value = kind == BP_PAD_CONSTANT ? values[test_array_between(0, 2)] : 0;
    memcpy(padded, shape, (size_t)ndim * sizeof *shape);
    if (kind < FLIP) {
        draw_amounts(c, ndim, shape, padded);
    } else {
        draw_axes(c, ndim);
    }
    test_array_make(&c->input, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    test_array_make(&c->output, dtype, ndim, padded, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        if (dtype <= BP_C128) {
            test_array_set(&c->input, i, (double)test_array_between(-100, 100) / 4);
        } else {
            test_array_set_i64(&c->input, i, dtype == BP_BOOL ? i % 2 : test_array_between(0, 100));
        }
    }
    int length = snprintf(c->text, sizeof c->text, "%s kind %d, %d amounts %d %d %d %d, sizes", bp_dtype_name(dtype),
                          kind, c->count, (int)c->before[0], (int)c->after[0], (int)c->before[1], (int)c->after[1]);
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d", (int)shape[d]);
    }
}

static void end(movement *c) {
    test_array_free(&c->input);
    test_array_free(&c->output);
}

static bp_status move(movement *c, const bp_options *options) {
    const DLTensor *x = &c->input.view.tensor;
    DLTensor *y = &c->output.view.tensor;
    return c->kind == FLIP   ? bp_flip_run(options, x, c->count, c->all ? NULL : c->axes, y)
           : c->kind == ROLL ? bp_roll_run(options, x, c->count, c->axes, c->before, y)
                             : bp_pad_run(options, (bp_pad_mode)c->kind, x, c->count, c->before, c->after, c->value, y);
}

static void run(movement *c, const char *setting) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, setting), BP_OK);
    if (move(c, options) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void compare(const movement *c) {
    reference_results made;
    const DLTensor *x = &c->input.view.tensor, *y = &c->output.view.tensor;
    assert_int_equal(c->kind == FLIP ? reference_of_flip(&made, c->count, c->all ? NULL : c->axes, x, y)
                     : c->kind == ROLL
                         ? reference_of_roll(&made, c->count, c->axes, c->before, x, y)
                         : reference_of_pad(&made, c->kind, c->count, c->before, c->after, c->value, x, y),
                     BP_OK);
    assert_true(made.of[0].values.count > 0 || test_array_count(&c->output) == 0);
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->output, c->text);
}

static void random_cases(void **state) {
    (void)state;
    test_array_random = 31;
    for (int i = 0; i < (test_takes_all() ? CASES : CASES / 2); i++) {
        int64_t shape[5];
        const int ndim = test_array_shape(shape, false);
        movement c;
        begin(&c, i % KINDS, dtypes[i / KINDS % DTYPES], ndim, shape);
        run(&c, settings[i % 4]);
        compare(&c);
        end(&c);
    }
}

/* Rows of several pieces, and many short ones, which threads share. */
static void long_rows(void **state) {
    static const int64_t shapes[][2] = {{1, 200001}, {2, 131072}, {90000, 3}, {65537, 1}, {500, 300}};
    (void)state;
    test_array_random = 32;
    for (int i = 0; i < 5 * KINDS * 4; i++) {
        movement c;
        begin(&c, i / 5 % KINDS, i % 2 ? BP_F32 : BP_U8, 2, shapes[i % 5]);
        run(&c, settings[i % 4]);
        compare(&c);
        end(&c);
    }
}

/* ---- Values ---- */

/* Pads three elements, which have all bits that their type can have. */
static void all_bits_are_kept(void **state) {
    static const uint32_t x[] = {0x7f800001, 0x80000001, 0xffc12345};
    uint32_t y[7];
    bp_view in, out;
    (void)state;
    assert_int_equal(bp_view_init(&in, (void *)(uintptr_t)x, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(7), NULL), BP_OK);
    static const int from[][7] = {
        {-1, -1, 0, 1, 2, -1, -1}, {2, 1, 0, 1, 2, 1, 0}, {0, 0, 0, 1, 2, 2, 2}, {1, 2, 0, 1, 2, 0, 1}};
    for (int mode = 0; mode < MODES; mode++) {
        assert_int_equal(bp_pad_run(NULL, (bp_pad_mode)mode, &in.tensor, 1, I64(2), I64(2), -0.0, &out.tensor), BP_OK);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(y[i], from[mode][i] < 0 ? 0x80000000 : x[from[mode][i]]);
        }
    }
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_flip_run(NULL, &in.tensor, 0, NULL, &out.tensor), BP_OK);
    assert_true(y[0] == x[2] && y[1] == x[1] && y[2] == x[0]);
    assert_int_equal(bp_roll_run(NULL, &in.tensor, 1, AXES(0), I64(-4), &out.tensor), BP_OK);
    assert_true(y[0] == x[1] && y[1] == x[2] && y[2] == x[0]);
}

/* One element of each type that is made of the value. */
static void check_value(bp_dtype dtype, double value, const void *want) {
    uint8_t y[16] = {0};
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, NULL, dtype, 1, I64(0), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, dtype, 1, I64(1), NULL), BP_OK);
    const bp_status status = bp_pad_run(NULL, BP_PAD_CONSTANT, &in.tensor, 1, I64(1), NULL, value, &out.tensor);
    assert_int_equal(status, want ? BP_OK : BP_E_ARGUMENT);
    assert_memory_equal(y, want ? want : (const uint8_t[16]){0}, want ? bp_dtype_size(dtype) : 16);
}
#define CHECK_VALUE(dtype, value, type, ...) check_value(dtype, value, &(const type){__VA_ARGS__})

static void values_of_all_types(void **state) {
    (void)state;
    CHECK_VALUE(BP_F16, 1.5, uint16_t, 0x3e00);
    CHECK_VALUE(BP_F16, 1e9, uint16_t, 0x7c00);
    CHECK_VALUE(BP_BF16, -2, uint16_t, 0xc000);
    CHECK_VALUE(BP_F32, 0.1, float, 0.1F);
    CHECK_VALUE(BP_F64, 0.1, double, 0.1);
    CHECK_VALUE(BP_F64, -INFINITY, double, -INFINITY);
    check_value(BP_C64, 2, (const float[]){2, 0});
    check_value(BP_C128, 2.5, (const double[]){2.5, 0});
    CHECK_VALUE(BP_I8, -128, int8_t, -128);
    CHECK_VALUE(BP_U8, 255, uint8_t, 255);
    CHECK_VALUE(BP_I16, -3, int16_t, -3);
    CHECK_VALUE(BP_U16, 65535, uint16_t, 65535);
    CHECK_VALUE(BP_I32, INT32_MIN, int32_t, INT32_MIN);
    CHECK_VALUE(BP_U32, UINT32_MAX, uint32_t, UINT32_MAX);
    CHECK_VALUE(BP_I64, -0x1p63, int64_t, INT64_MIN);
    CHECK_VALUE(BP_U64, 0x1p63, uint64_t, UINT64_C(1) << 63);
    CHECK_VALUE(BP_BOOL, 0.5, uint8_t, 1);
    static const struct {
        bp_dtype dtype;
        double value;
    } refused[] = {{BP_I8, 128},     {BP_I8, -129},    {BP_U8, -1},   {BP_U8, 256},      {BP_I32, 0.5},
                   {BP_I64, 0x1p63}, {BP_U64, 0x1p64}, {BP_I32, NAN}, {BP_I64, INFINITY}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        check_value(refused[i].dtype, refused[i].value, NULL);
    }
}

/* A dimension of stride 0 is read as often as it says, and an output may be cropped to one element or none. */
static void unusual_sizes(void **state) {
    float x[4] = {1, 2, 3, 4}, y[8] = {0};
    bp_view in, out;
    (void)state;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(2, 2), I64(0, 1)), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(2, 4), NULL), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_REPLICATE, &in.tensor, 1, I64(1), I64(1), 0, &out.tensor), BP_OK);
    assert_memory_equal(y, ((const float[]){1, 1, 2, 2, 1, 1, 2, 2}), sizeof y);
    assert_int_equal(bp_view_init(&in, x, BP_F32, 1, I64(4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(1), NULL), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, &in.tensor, 1, I64(-2), I64(-1), 0, &out.tensor), BP_OK);
    assert_true(y[0] == 3);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 1, I64(0), NULL), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, &in.tensor, 1, I64(-2), I64(-2), 0, &out.tensor), BP_OK);
    assert_int_equal(bp_view_init(&in, x, BP_F32, 0, NULL, NULL), BP_OK); /* no dimension */
    assert_int_equal(bp_view_init(&out, y, BP_F32, 0, NULL, NULL), BP_OK);
    assert_int_equal(bp_flip_run(NULL, &in.tensor, 0, NULL, &out.tensor), BP_OK);
    assert_true(y[0] == 1);
}

/* Amounts whose sum is small, but no index of the input is near one of the output. */
static void amounts_beyond_all_sizes(void **state) {
    static const struct {
        int64_t before, after;
        float constant, replicate;
    } cases[] = {{INT64_MIN, INT64_MAX, 7, 4}, {-9, 8, 7, 4}, {8, -9, 7, 1}, {INT64_MAX - 4, 3 - INT64_MAX, 7, 1}};
    float x[4] = {1, 2, 3, 4}, y[3];
    bp_view in, out;
    (void)state;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 1, I64(4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL), BP_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int mode = BP_PAD_CONSTANT; mode <= BP_PAD_REPLICATE; mode += BP_PAD_REPLICATE) {
            reference_results made;
            const int64_t *before = &cases[i].before, *after = &cases[i].after;
            const double value = mode == BP_PAD_CONSTANT ? 7 : 0;
            const float want = mode == BP_PAD_CONSTANT ? cases[i].constant : cases[i].replicate;
            memset(y, 0, sizeof y);
            assert_int_equal(bp_pad_run(NULL, (bp_pad_mode)mode, &in.tensor, 1, before, after, value, &out.tensor),
                             BP_OK);
            assert_true(y[0] == want && y[1] == want && y[2] == want);
            assert_int_equal(reference_of_pad(&made, mode, 1, before, after, value, &in.tensor, &out.tensor), BP_OK);
            test_check_results(&made, "amounts beyond all sizes");
        }
    }
}

/* ---- Errors ---- */

static void refused(void **state) {
    float x[12], y[20] = {7};
    bp_view in, out, bad;
    (void)state;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(3, 5), NULL), BP_OK);
    const DLTensor *i = &in.tensor;
    DLTensor *o = &out.tensor;
    const int64_t one = 1, two = 2, four = 4, five = 5, less = -9, huge = INT64_MAX;
#define PAD(mode, ndim, before, after) bp_pad_run(NULL, mode, i, ndim, before, after, 0, o)
    assert_int_equal(PAD((bp_pad_mode)4, 1, &one, NULL), BP_E_ARGUMENT);
    assert_int_equal(PAD(BP_PAD_CONSTANT, 3, I64(1, 1, 1), NULL), BP_E_ARGUMENT);
    assert_int_equal(PAD(BP_PAD_CONSTANT, -1, &one, NULL), BP_E_ARGUMENT);
    assert_int_equal(PAD(BP_PAD_CONSTANT, 1, &less, &one), BP_E_ARGUMENT);
    assert_int_equal(PAD(BP_PAD_CONSTANT, 1, &huge, &one), BP_E_OVERFLOW);
    assert_int_equal(PAD(BP_PAD_CONSTANT, 1, &two, NULL), BP_E_SHAPE);
    assert_int_equal(PAD(BP_PAD_REFLECT, 1, &four, NULL), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "an amount is 4 in dimension 1, of size 4; reflect takes amounts below"));
    assert_int_equal(PAD(BP_PAD_CIRCULAR, 1, NULL, &five), BP_E_ARGUMENT);
    assert_int_equal(PAD(BP_PAD_CIRCULAR, 1, I64(-1), &two), BP_E_ARGUMENT);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_REFLECT, i, 1, &one, NULL, 3, o), BP_E_ARGUMENT);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, NULL, 1, &one, NULL, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&bad, x, BP_F32, 2, I64(3, 0), NULL), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_REPLICATE, &bad.tensor, 1, &five, NULL, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&bad, y, BP_I32, 2, I64(3, 5), NULL), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, i, 1, &one, NULL, 0, &bad.tensor), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 2, I64(3, 5), I64(0, 1)), BP_OK);
    assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, i, 1, &one, NULL, 0, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&bad, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_flip_run(NULL, i, 0, NULL, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_flip_run(NULL, i, 1, AXES(2), o), BP_E_ARGUMENT);
    assert_int_equal(bp_flip_run(NULL, i, 2, AXES(1, -1), o), BP_E_ARGUMENT);
    assert_int_equal(bp_flip_run(NULL, i, 1, NULL, o), BP_E_ARGUMENT);
    assert_int_equal(bp_roll_run(NULL, i, 1, AXES(-3), &one, o), BP_E_ARGUMENT);
    assert_int_equal(bp_roll_run(NULL, i, 2, AXES(0, 0), I64(1, 1), o), BP_E_ARGUMENT);
    assert_int_equal(bp_roll_run(NULL, i, 1, AXES(0), NULL, o), BP_E_ARGUMENT);
    assert_int_equal(bp_roll_run(NULL, i, 0, NULL, NULL, o), BP_E_ARGUMENT);
    assert_true(y[0] == 7); /* nothing was written */
#undef PAD
}

/* ---- Plans ---- */

static void plans(void **state) {
    float x[3] = {1, 2, 3}, y[5];
    bp_view in, out;
    bp_plan *plan;
    bp_explanation *explanation;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    (void)state;
    assert_int_equal(bp_view_init(&in, NULL, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 1, I64(5), NULL), BP_OK);
    assert_int_equal(bp_pad_plan(&plan, NULL, BP_PAD_REFLECT, &in.tensor, 1, I64(2), NULL, 0, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    assert_memory_equal(y, ((const float[]){3, 2, 1, 2, 3}), sizeof y);
    assert_int_equal(bp_pad_explain(&explanation, NULL, BP_PAD_CONSTANT, &in.tensor, 1, I64(2), NULL, 0, &out.tensor),
                     BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 constant padding of 3 to 5 elements"));
    bp_explanation_release(explanation);
    assert_int_equal(bp_roll_explain(&explanation, NULL, &in.tensor, 1, AXES(0), I64(2), &in.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 roll of 3 elements"));
    bp_explanation_release(explanation);
    assert_int_equal(bp_pad_shape(BP_PAD_CONSTANT, &in.tensor, 1, I64(-1), I64(4), &ndim, shape), BP_OK);
    assert_true(ndim == 1 && shape[0] == 6);
}

/* Calls that differ in one argument only, in turn, from the cache of the thread. */
static void calls_in_turn(void **state) {
    float x[4] = {1, 2, 3, 4}, y[4];
    bp_view in, out;
    (void)state;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(2, 2), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(2, 2), NULL), BP_OK);
    const DLTensor *i = &in.tensor;
    DLTensor *o = &out.tensor;
    for (int times = 0; times < 3; times++) {
        assert_int_equal(bp_flip_run(NULL, i, 1, AXES(0), o), BP_OK);
        assert_memory_equal(y, ((const float[]){3, 4, 1, 2}), sizeof y);
        assert_int_equal(bp_flip_run(NULL, i, 1, AXES(1), o), BP_OK);
        assert_memory_equal(y, ((const float[]){2, 1, 4, 3}), sizeof y);
        assert_int_equal(bp_roll_run(NULL, i, 2, AXES(0, 1), I64(1, 1), o), BP_OK);
        assert_memory_equal(y, ((const float[]){4, 3, 2, 1}), sizeof y);
        assert_int_equal(bp_roll_run(NULL, i, 2, AXES(0, 1), I64(2, 1), o), BP_OK);
        assert_memory_equal(y, ((const float[]){2, 1, 4, 3}), sizeof y);
        for (int value = 5; value < 8; value++) {
            const float added = (float)value;
            assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, i, 1, I64(1), I64(-1), value, o), BP_OK);
            assert_memory_equal(y, ((const float[]){added, 1, added, 3}), sizeof y);
            assert_int_equal(bp_pad_run(NULL, BP_PAD_CONSTANT, i, 1, I64(-1), I64(1), value, o), BP_OK);
            assert_memory_equal(y, ((const float[]){2, added, 4, added}), sizeof y);
        }
        assert_int_equal(bp_pad_run(NULL, BP_PAD_REFLECT, i, 1, I64(1), I64(-1), 0, o), BP_OK);
        assert_memory_equal(y, ((const float[]){2, 1, 4, 3}), sizeof y);
        assert_int_equal(bp_pad_run(NULL, BP_PAD_REPLICATE, i, 1, I64(1), I64(-1), 0, o), BP_OK);
        assert_memory_equal(y, ((const float[]){1, 1, 3, 3}), sizeof y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),      cmocka_unit_test(long_rows),
        cmocka_unit_test(all_bits_are_kept), cmocka_unit_test(values_of_all_types),
        cmocka_unit_test(unusual_sizes),     cmocka_unit_test(amounts_beyond_all_sizes),
        cmocka_unit_test(refused),           cmocka_unit_test(plans),
        cmocka_unit_test(calls_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
