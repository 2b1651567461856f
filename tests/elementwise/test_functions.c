/* test_functions.c - functions of one element against long double: errors over the whole range of each type, on all
 * instruction sets, and special values. */
#include "cases.h"
#include "support/options.h"
#include "reference/elementwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 40000 };

static char input[COUNT * 8], output[COUNT * 8];

static void run_all(const char *settings, bp_unary_kind kind, bp_dtype dtype, int64_t count) {
    bp_view x, y;
    bp_options *options = test_options(settings);
    assert_status(bp_view_init(&x, input, dtype, 1, &count, NULL), BP_OK);
    assert_status(bp_view_init(&y, output, bp_unary_dtype(kind, dtype), 1, &count, NULL), BP_OK);
    assert_status(bp_unary_run(options, kind, &x.tensor, &y.tensor), BP_OK);
    bp_options_release(options);
}

/* Compares a result with the reference. Halves are computed in f32 and rounded once more. */
static void compare(const char *settings, bp_unary_kind kind, bp_dtype dtype, int64_t i) {
    const int64_t size = (int64_t)bp_dtype_size(dtype);
    const bp_dtype result = bp_unary_dtype(kind, dtype);
    const long double x = get_number(dtype, input + i * size),
                      y = get_number(result, output + i * (int64_t)bp_dtype_size(result));
    const long double want =
        isinf(x) && x < 0 && undefined_at_minus_infinity(kind) ? (long double)NAN : reference_unary(kind, x);
    const bp_dtype number = dtype == BP_F64 ? BP_F64 : BP_F32;
    const long double error = reference_unary_error(kind, number == BP_F64, x) * spacing(number, want);
    const long double bound = dtype < BP_F32 && result == dtype ? error + spacing(dtype, want) / 2 : error;
    bool good;
    if (isnan(want)) {
        good = isnan(y);
    } else if (isinf(want) || fabsl(want) + bound >= greatest(dtype)) {
        good = y == want || (isinf(y) && (y > 0) == (want > 0)) || fabsl(y - want) <= bound;
        good = good && (!isinf(want) || y == want || fabsl(y) == greatest(dtype) || isinf(y));
    } else {
        good = fabsl(y - want) <= bound;
    }
    good = good && (x != 0 || isnan(want) || kind == BP_UNARY_EXP || kind == BP_UNARY_LOG || kind == BP_UNARY_SIGMOID ||
                    signbit(y) == signbit(want));
    if (!good) {
        fail_msg("%s, kind %d of %s: %La gives %La instead of %La, bound %Lg", settings, (int)kind,
                 bp_dtype_name(dtype), x, y, want, bound);
    }
}

static void fill(bp_dtype dtype) {
    for (int i = 0; i < COUNT; i++) {
        set_awkward(dtype, input + (size_t)i * bp_dtype_size(dtype), i);
    }
}

static void errors_are_within_the_bounds(void **state) {
    static const bp_dtype dtypes[] = {BP_F32, BP_F64};
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (int t = 0; t < 2; t++) {
            for (int kind = 1; kind < BP_UNARY_BITWISE_INVERT; kind++) {
                fill(dtypes[t]);
                run_all(all_settings[s], (bp_unary_kind)kind, dtypes[t], COUNT);
                for (int64_t i = 0; i < COUNT; i++) {
                    compare(all_settings[s], (bp_unary_kind)kind, dtypes[t], i);
                }
            }
        }
    }
}

/* All numbers of the 16-bit types. */
static void halves_are_rounded_once(void **state) {
    enum { PART = 1 << 14 };
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (int kind = 1; kind < BP_UNARY_BITWISE_INVERT; kind++) {
            for (int part = 0; part < 8; part++) {
                const bp_dtype dtype = part < 4 ? BP_F16 : BP_BF16;
                for (int i = 0; i < PART; i++) {
                    const uint16_t bits = (uint16_t)(part % 4 * PART + i);
                    memcpy(input + 2 * i, &bits, sizeof bits);
                }
                run_all(all_settings[s], (bp_unary_kind)kind, dtype, PART);
                for (int64_t i = 0; i < PART; i++) {
                    compare(all_settings[s], (bp_unary_kind)kind, dtype, i);
                }
            }
        }
    }
}

/* An element's bits depend neither on its place in a vector nor on the number of elements. */
static void bits_do_not_depend_on_the_place(void **state) {
    (void)state;
    for (int kind = 1; kind < BP_UNARY_BITWISE_INVERT; kind++) {
        static char whole[COUNT * 8];
        if (bp_unary_dtype((bp_unary_kind)kind, BP_F32) != BP_F32) {
            continue;
        }
        fill(BP_F32);
        run_all("", (bp_unary_kind)kind, BP_F32, 999);
        memcpy(whole, output, (size_t)999 * 4);
        for (int64_t count = 1; count < 40; count += 2) {
            memmove(input, input + 4, (size_t)998 * 4);
            memmove(whole, whole + 4, (size_t)998 * 4);
            run_all("", (bp_unary_kind)kind, BP_F32, count);
            for (int64_t i = 0; i < count; i++) {
                float a, b;
                memcpy(&a, whole + i * 4, sizeof a);
                memcpy(&b, output + i * 4, sizeof b);
                assert_true(memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)));
            }
        }
    }
}

/* Nor on how many elements a tile has: tensors of several of the largest tiles, on one and more threads. */
static void bits_do_not_depend_on_the_size(void **state) {
    enum { MANY = 400001 };
    static const bp_unary_kind kinds[] = {BP_UNARY_GELU, BP_UNARY_RELU};
    static const char *const threads[] = {"num_threads=1", "num_threads=3"};
    static char from[MANY * 4], to[MANY * 4];
    (void)state;
    for (int i = 0; i < 16; i++) {
        const bp_dtype dtype = i % 2 ? BP_F16 : BP_F32;
        const size_t size = bp_dtype_size(dtype);
        const int64_t many = i / 4 % 2 ? MANY : MANY - 1, half = many / 2;
        const int64_t *const shape = i / 8 ? (const int64_t[]){2, half} : &many, rows[] = {half + 1, 1};
        bp_view x, y;
        bp_options *options;
        fill(dtype);
        for (int64_t k = 0; k < MANY; k++) {
            memcpy(from + (size_t)k * size, input + (size_t)(k % 999) * size, size);
        }
        assert_status(bp_view_init(&x, from, dtype, i / 8 ? 2 : 1, shape, i / 8 && many % 2 ? rows : NULL), BP_OK);
        assert_status(bp_view_init(&y, to, dtype, i / 8 ? 2 : 1, shape, i / 8 && many % 2 ? rows : NULL), BP_OK);
        assert_status(bp_options_new(&options, threads[i / 2 % 2]), BP_OK);
        memset(to, 0, sizeof to);
        assert_status(bp_unary_run(options, kinds[i / 4 % 2], &x.tensor, &y.tensor), BP_OK);
        bp_options_release(options);
        run_all("", kinds[i / 4 % 2], dtype, 999);
        for (int64_t k = 0; k < many; k++) {
            if (i / 8 == 0 || many % 2 == 0 || k != half) { /* the element between the rows */
                assert_memory_equal(to + (size_t)k * size, output + (size_t)(k % 999) * size, size);
            }
        }
    }
}

/* Sine, cosine and tangent of angles that are near a multiple of pi / 2, at both sides of the limit from which on
 * angles are reduced one by one, and of every power of 2 to the greatest number. */
static void angles_are_reduced(void **state) {
    static const double hard[] = {0x1.6ac5b262ca1ffp849,
                                  0x1.f9cbe2p95,
                                  0x1.a2c6cp71,
                                  0x1.921fb6p0,
                                  0x1.921fb54442d18p0,
                                  0x1.921fb54442d18p1,
                                  0x1.2d97c7f3321d2p2,
                                  2999.9,
                                  3000,
                                  3000.5,
                                  1599999.5,
                                  1.6e6,
                                  1600000.5,
                                  0x1.fffffep127,
                                  0x1.fffffffffffffp1023,
                                  0x1.f4p22};
    enum { HARD = sizeof hard / sizeof *hard };
    static const bp_dtype dtypes[] = {BP_F32, BP_F64};
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (int t = 0; t < 2; t++) {
            const int64_t powers = t ? 1024 : 128, multiples = 4000, count = HARD + powers + 2 * multiples;
            const size_t size = bp_dtype_size(dtypes[t]);
            for (int64_t i = 0; i < count; i++) {
                const int64_t k = i - HARD - powers;
                const long double x = i < HARD     ? (t ? (long double)hard[i] : (long double)(float)hard[i])
                                      : k < 0      ? ldexpl(1, (int)(i - HARD))
                                      : t && k % 2 ? k * 500 * 1.57079632679489661923132L
                                                   : k * 1.57079632679489661923132L;
                set_number(dtypes[t], input + (size_t)i * size, i % 3 ? x : -x);
            }
            for (int kind = BP_UNARY_SIN; kind <= BP_UNARY_TAN; kind++) {
                run_all(all_settings[s], (bp_unary_kind)kind, dtypes[t], count);
                for (int64_t i = 0; i < count; i++) {
                    compare(all_settings[s], (bp_unary_kind)kind, dtypes[t], i);
                }
            }
        }
    }
}

/* Zeros that rounding makes have the sign of the number; powers of 2 and 10 have whole logarithms, and whole numbers
 * powers of 2 without an error. Functions whose parts overflow or cancel do not. */
static void exact_results(void **state) {
    static const struct {
        bp_unary_kind kind;
        float x, y;
    } cases[] = {{BP_UNARY_CEIL, -0.75f, -0.f},
                 {BP_UNARY_TRUNC, -0.75f, -0.f},
                 {BP_UNARY_ROUND, -0.25f, -0.f},
                 {BP_UNARY_ROUND, 0.5f, 0},
                 {BP_UNARY_ROUND, -1.5f, -2},
                 {BP_UNARY_ROUND, 8388607.5f, 8388608},
                 {BP_UNARY_FLOOR, -0x1p-149f, -1},
                 {BP_UNARY_SIGN, -0.f, 0},
                 {BP_UNARY_LOG2, 0x1p-149f, -149},
                 {BP_UNARY_LOG2, 0x1p127f, 127},
                 {BP_UNARY_LOG2, 8, 3},
                 {BP_UNARY_RSQRT, -0.f, -INFINITY},
                 {BP_UNARY_LOG10, 1e10f, 10},
                 {BP_UNARY_LOG10, 1000, 3},
                 {BP_UNARY_LOG10, 1, 0},
                 {BP_UNARY_EXP2, -149, 0x1p-149f},
                 {BP_UNARY_EXP2, 127, 0x1p127f},
                 {BP_UNARY_EXP2, 128, INFINITY},
                 {BP_UNARY_EXP2, -151, 0},
                 {BP_UNARY_ASINH, -0x1p-149f, -0x1p-149f},
                 {BP_UNARY_ASINH, -0.f, -0.f},
                 {BP_UNARY_SINH, 0x1p-149f, 0x1p-149f},
                 {BP_UNARY_ATANH, 0x1p-149f, 0x1p-149f},
                 {BP_UNARY_ATANH, -1, -INFINITY},
                 {BP_UNARY_ACOSH, 1, 0},
                 {BP_UNARY_ACOS, 1, 0},
                 {BP_UNARY_COSH, 0, 1},
                 {BP_UNARY_ERFC, 0, 1},
                 {BP_UNARY_ERFC, -20, 2},
                 {BP_UNARY_SOFTSIGN, -0x1.fffffep127f, -1},
                 {BP_UNARY_LOGSIGMOID, -0x1.fffffep127f, -0x1.fffffep127f},
                 {BP_UNARY_HARDSIGMOID, -3, 0},
                 {BP_UNARY_HARDSIGMOID, 3, 1},
                 {BP_UNARY_TANHSHRINK, -0.f, -0.f},
                 {BP_UNARY_MISH, 100, 100},
                 {BP_UNARY_SELU, -0.f, -0.f},
                 {BP_UNARY_GELU, -0.f, -0.f},
                 {BP_UNARY_GELU, -200, -0.f},
                 {BP_UNARY_GELU, 0x1.fffffep127f, 0x1.fffffep127f},
                 {BP_UNARY_GELU, INFINITY, INFINITY},
                 {BP_UNARY_GELU_TANH, -200, -0.f},
                 {BP_UNARY_GELU_TANH, INFINITY, INFINITY},
                 {BP_UNARY_SILU, -0.f, -0.f},
                 {BP_UNARY_SILU, -0x1.fffffep127f, -0.f},
                 {BP_UNARY_SILU, 0x1.fffffep127f, 0x1.fffffep127f},
                 {BP_UNARY_SILU, INFINITY, INFINITY}};
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            memcpy(input, &cases[i].x, sizeof cases[i].x);
            run_all(all_settings[s], cases[i].kind, BP_F32, 1);
            assert_memory_equal(output, &cases[i].y, sizeof cases[i].y);
        }
    }
}

static void integers_wrap(void **state) {
    static const int32_t from[] = {0, 1, -1, INT32_MAX, INT32_MIN, 5, -7};
    static const int32_t want[][7] = {{0, -1, 1, -INT32_MAX, INT32_MIN, -5, 7},
                                      {0, 1, 1, INT32_MAX, INT32_MIN, 5, 7},
                                      {0, 1, 0, INT32_MAX, 0, 5, 0},
                                      {0, 1, -1, 1, -1, 1, -1},
                                      {0, 1, -1, INT32_MAX, INT32_MIN, 5, -7},
                                      {0, 1, -1, INT32_MAX, INT32_MIN, 5, -7},
                                      {0, 1, -1, INT32_MAX, INT32_MIN, 5, -7},
                                      {0, 1, -1, INT32_MAX, INT32_MIN, 5, -7}};
    static const bp_unary_kind kinds[] = {BP_UNARY_NEGATIVE, BP_UNARY_ABS,  BP_UNARY_RELU,  BP_UNARY_SIGN,
                                          BP_UNARY_FLOOR,    BP_UNARY_CEIL, BP_UNARY_ROUND, BP_UNARY_TRUNC};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        memcpy(input, from, sizeof from);
        run_all("", kinds[k], BP_I32, 7);
        assert_memory_equal(output, want[k], sizeof from);
        for (int i = 0; i < 7; i++) {
            const int64_t wide = from[i] == INT32_MIN ? INT64_MIN : from[i];
            memcpy(input + 8 * i, &wide, sizeof wide);
        }
        run_all("", kinds[k], BP_I64, 7);
        for (int i = 0; i < 7; i++) {
            int64_t got;
            memcpy(&got, output + 8 * i, sizeof got);
            assert_int_equal(got, want[k][i] == INT32_MIN ? INT64_MIN : want[k][i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_the_bounds),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(bits_do_not_depend_on_the_place),
        cmocka_unit_test(bits_do_not_depend_on_the_size),
        cmocka_unit_test(angles_are_reduced),
        cmocka_unit_test(exact_results),
        cmocka_unit_test(integers_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
