/* test_pairs.c - powers, remainders, floored quotients, angles and bits of two elements: errors over the whole range of
 * each type, special values, and integers at their limits. */
#include "cases.h"
#include "support/options.h"

#include "reference/elementwise.h"

#include <math.h>
#include <string.h>

enum { COUNT = 40000, MOST_BYTES = 8 };

static _Alignas(64) char left[COUNT * MOST_BYTES], right[COUNT * MOST_BYTES], output[COUNT * MOST_BYTES];
static const bp_dtype floats[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
static const bp_binary_kind of_floats[] = {BP_BINARY_POW, BP_BINARY_REMAINDER, BP_BINARY_FMOD, BP_BINARY_FLOOR_DIVIDE,
                                           BP_BINARY_ATAN2};

static void run(const char *settings, bp_binary_kind kind, bp_dtype dtype, int64_t count) {
    bp_view a, b, y;
    bp_options *options = test_options(settings);
    assert_status(bp_view_init(&a, left, dtype, 1, &count, NULL), BP_OK);
    assert_status(bp_view_init(&b, right, dtype, 1, &count, NULL), BP_OK);
    assert_status(bp_view_init(&y, output, dtype, 1, &count, NULL), BP_OK);
    assert_status(bp_binary_run(options, kind, &a.tensor, &b.tensor, &y.tensor), BP_OK);
    bp_options_release(options);
}

/* ---- Floating numbers ---- */

static const double specials[] = {0.,
                                  -0.,
                                  1.,
                                  -1.,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  2.,
                                  -2.,
                                  3.,
                                  -3.,
                                  0.5,
                                  -0.5,
                                  1.5,
                                  -2.5,
                                  1e-40,
                                  -1e-40,
                                  0x1p-149,
                                  -0x1p-1074,
                                  0x1p-1022,
                                  1e30,
                                  -1e30,
                                  0x1.fffffep127,
                                  1e300,
                                  0x1.fffffffffffffp1023,
                                  0x1p53,
                                  0x1p24,
                                  16777217.,
                                  1e-300,
                                  0.1,
                                  0x1.fffffep-1,
                                  0x1.000002p0,
                                  0x1.0000000000001p0,
                                  0x1.fffffffffffffp-1,
                                  7.,
                                  -7.,
                                  1000.5};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* Every pair of special values, then random bits, numbers of all sizes that are near each other, and small numbers. */
static void fill(bp_dtype dtype) {
    static const double scales[] = {1, 20, 700, 1e-3};
    const size_t size = bp_dtype_size(dtype);
    for (int i = 0; i < COUNT; i++) {
        char *a = left + (size_t)i * size, *b = right + (size_t)i * size;
        const uint64_t bits[] = {test_array_next(), test_array_next()};
        memcpy(a, &bits[0], size);
        memcpy(b, &bits[1], size);
        if (i < SPECIALS * SPECIALS) {
            set_number(dtype, a, (long double)specials[i / SPECIALS]);
            set_number(dtype, b, (long double)specials[i % SPECIALS]);
        } else if (i % 3 == 0) {
            set_number(dtype, a, (long double)(fabs(test_array_uniform()) * scales[i / 3 % 4]));
            set_number(dtype, b, (long double)(test_array_uniform() * scales[i / 12 % 4]));
        } else if (i % 3 == 1) {
            set_number(dtype, b, get_number(dtype, a) * (long double)test_array_uniform() * (i % 2 ? 0.01L : 3));
        }
    }
}

static bool is_near(bp_binary_kind kind, bp_dtype dtype, long double y, long double want) {
    const bp_dtype number = dtype == BP_F64 ? BP_F64 : BP_F32;
    const long double distances = kind == BP_BINARY_FMOD        ? 0
                                  : kind == BP_BINARY_REMAINDER ? 0.5L
                                  : kind == BP_BINARY_ATAN2     ? 3
                                                                : 2;
    char most[MOST_BYTES];
    if (isnan(want)) {
        return isnan(y);
    }
    const long double bound = distances * spacing(number, want) + (dtype < BP_F32 ? spacing(dtype, want) / 2 : 0);
    set_number(dtype, most,
               dtype == BP_F16   ? 65504
               : dtype == BP_F64 ? 0x1.fffffffffffffp1023L
               : dtype == BP_F32 ? 0x1.fffffep127L
                                 : 0x1.fep127L);
    const long double greatest = get_number(dtype, most);
    if (fabsl(want) + bound >= greatest) {
        return signbit(y) == signbit(want) && (isinf(y) || fabsl(y) + bound >= greatest) &&
               (!isinf(want) || fabsl(y) >= greatest);
    }
    return fabsl(y - want) <= bound && (want != 0 || signbit(y) == signbit(want));
}

static void errors_are_within_the_bounds(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof floats / sizeof *floats; t++) {
        const size_t size = bp_dtype_size(floats[t]);
        fill(floats[t]);
        for (int s = 0; s < INSTRUCTION_SETS; s++) {
            for (size_t k = 0; k < sizeof of_floats / sizeof *of_floats; k++) {
                const bp_binary_kind kind = of_floats[k];
                run(all_settings[s], kind, floats[t], COUNT);
                for (size_t i = 0; i < COUNT; i++) {
                    const long double a = get_number(floats[t], left + i * size),
                                      b = get_number(floats[t], right + i * size),
                                      y = get_number(floats[t], output + i * size), want = reference_binary(kind, a, b);
                    if (!is_near(kind, floats[t], y, want)) {
                        fail_msg("%s, kind %d of %s: %La and %La give %La instead of %La", all_settings[s], (int)kind,
                                 bp_dtype_name(floats[t]), a, b, y, want);
                    }
                }
            }
        }
    }
}

/* Results that no rounding reaches, with the signs of zeros: the special values of C, and of Python's operators. */
static void special_values(void **state) {
    static const struct {
        bp_binary_kind kind;
        float a, b, y;
    } cases[] = {{BP_BINARY_POW, NAN, 0, 1},
                 {BP_BINARY_POW, 1, NAN, 1},
                 {BP_BINARY_POW, -1, INFINITY, 1},
                 {BP_BINARY_POW, -0.f, -3, -INFINITY},
                 {BP_BINARY_POW, -0.f, -2, INFINITY},
                 {BP_BINARY_POW, -0.f, 3, -0.f},
                 {BP_BINARY_POW, -0.f, 0.5f, 0},
                 {BP_BINARY_POW, -INFINITY, 3, -INFINITY},
                 {BP_BINARY_POW, -INFINITY, 0.5f, INFINITY},
                 {BP_BINARY_POW, -INFINITY, -3, -0.f},
                 {BP_BINARY_POW, 0.5f, -INFINITY, INFINITY},
                 {BP_BINARY_POW, -2, 3, -8},
                 {BP_BINARY_POW, -2, 16777216, INFINITY},
                 {BP_BINARY_POW, 2, -149, 0x1p-149f},
                 {BP_BINARY_POW, 3, 4, 81},
                 {BP_BINARY_REMAINDER, -7, 3, 2},
                 {BP_BINARY_REMAINDER, 7, -3, -2},
                 {BP_BINARY_REMAINDER, -6, 3, -0.f},
                 {BP_BINARY_REMAINDER, 1, -INFINITY, -INFINITY},
                 {BP_BINARY_REMAINDER, 1, INFINITY, 1},
                 {BP_BINARY_FMOD, -7, 3, -1},
                 {BP_BINARY_FMOD, 1e30f, 7, 1},
                 {BP_BINARY_FMOD, -0.f, 3, -0.f},
                 {BP_BINARY_FMOD, 0x1p127f, 0x1.8p-149f, 0},
                 {BP_BINARY_FLOOR_DIVIDE, -7, 2, -4},
                 {BP_BINARY_FLOOR_DIVIDE, 7, 0, INFINITY},
                 {BP_BINARY_FLOOR_DIVIDE, -0.f, 2, -0.f},
                 {BP_BINARY_FLOOR_DIVIDE, 1, -INFINITY, -1},
                 {BP_BINARY_ATAN2, 0, -0.f, 0x1.921fb6p1f},
                 {BP_BINARY_ATAN2, -0.f, 1, -0.f},
                 {BP_BINARY_ATAN2, INFINITY, INFINITY, 0x1.921fb6p-1f},
                 {BP_BINARY_ATAN2, 1, -INFINITY, 0x1.921fb6p1f}};
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            memcpy(left, &cases[i].a, sizeof(float));
            memcpy(right, &cases[i].b, sizeof(float));
            run(all_settings[s], cases[i].kind, BP_F32, 1);
            float y;
            memcpy(&y, output, sizeof y);
            if (memcmp(&y, &cases[i].y, sizeof y) != 0) {
                fail_msg("%s, kind %d: %a and %a give %a instead of %a", all_settings[s], (int)cases[i].kind,
                         (double)cases[i].a, (double)cases[i].b, (double)y, (double)cases[i].y);
            }
        }
    }
}

static void bits_do_not_depend_on_the_place(void **state) {
    enum { FEW = 300 };
    static char whole[FEW * MOST_BYTES], of_a[FEW * MOST_BYTES], of_b[FEW * MOST_BYTES];
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        const size_t size = bp_dtype_size(floats[t]);
        for (size_t k = 0; k < sizeof of_floats / sizeof *of_floats; k++) {
            fill(floats[t]);
            memcpy(of_a, left + (size_t)SPECIALS * SPECIALS * size, FEW * size);
            memcpy(of_b, right + (size_t)SPECIALS * SPECIALS * size, FEW * size);
            memcpy(left, of_a, FEW * size);
            memcpy(right, of_b, FEW * size);
            run("", of_floats[k], floats[t], FEW);
            memcpy(whole, output, FEW * size);
            for (int first = 0; first < 40; first++) {
                memcpy(left, of_a + (size_t)first * size, (size_t)(first + 1) * size);
                memcpy(right, of_b + (size_t)first * size, (size_t)(first + 1) * size);
                run("", of_floats[k], floats[t], first + 1);
                for (size_t i = 0; i < (size_t)first + 1; i++) {
                    if (get_number(floats[t], output + i * size) == get_number(floats[t], output + i * size)) {
                        assert_memory_equal(output + i * size, whole + ((size_t)first + i) * size, size);
                    }
                }
            }
        }
    }
}

/* ---- Integers ---- */

static void integers_at_their_limits(void **state) {
    static const struct {
        bp_binary_kind kind;
        int64_t a, b, y; /* INT64_MIN is the least integer of the type */
    } cases[] = {{BP_BINARY_FLOOR_DIVIDE, 7, 0, 0},
                 {BP_BINARY_FLOOR_DIVIDE, INT64_MIN, -1, INT64_MIN},
                 {BP_BINARY_FLOOR_DIVIDE, -7, 2, -4},
                 {BP_BINARY_FLOOR_DIVIDE, 7, -2, -4},
                 {BP_BINARY_FLOOR_DIVIDE, 6, -2, -3},
                 {BP_BINARY_REMAINDER, 7, 0, 0},
                 {BP_BINARY_REMAINDER, INT64_MIN, -1, 0},
                 {BP_BINARY_REMAINDER, -7, 3, 2},
                 {BP_BINARY_REMAINDER, 7, -3, -2},
                 {BP_BINARY_FMOD, INT64_MIN, -1, 0},
                 {BP_BINARY_FMOD, -7, 0, 0},
                 {BP_BINARY_FMOD, -7, 3, -1},
                 {BP_BINARY_POW, 3, 4, 81},
                 {BP_BINARY_POW, 0, 0, 1},
                 {BP_BINARY_POW, 0, -1, 0},
                 {BP_BINARY_POW, -1, -3, -1},
                 {BP_BINARY_POW, 1, INT64_MIN, 1},
                 {BP_BINARY_POW, 2, 100, 0},
                 {BP_BINARY_POW, 5, -1, 0},
                 {BP_BINARY_BITWISE_AND, -2, 7, 6},
                 {BP_BINARY_BITWISE_OR, -2, 1, -1},
                 {BP_BINARY_BITWISE_XOR, -1, 5, -6},
                 {BP_BINARY_BITWISE_LEFT_SHIFT, -3, 2, -12},
                 {BP_BINARY_BITWISE_LEFT_SHIFT, 1, 64, 0},
                 {BP_BINARY_BITWISE_LEFT_SHIFT, 1, -1, 0},
                 {BP_BINARY_BITWISE_RIGHT_SHIFT, -5, 1, -3},
                 {BP_BINARY_BITWISE_RIGHT_SHIFT, -5, 64, -1},
                 {BP_BINARY_BITWISE_RIGHT_SHIFT, 5, -1, 0}};
    static const bp_dtype types[] = {BP_I32, BP_I64};
    (void)state;
    for (int s = 0; s < INSTRUCTION_SETS; s++) {
        for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
            const bool wide = i % 2;
            const int64_t given[] = {cases[i / 2].a, cases[i / 2].b, cases[i / 2].y};
            int64_t y = 0;
            int32_t narrow[3], result;
            for (int k = 0; k < 3; k++) {
                narrow[k] = given[k] == INT64_MIN ? INT32_MIN : (int32_t)given[k];
            }
            memcpy(left, wide ? (const void *)&given[0] : &narrow[0], 8 >> !wide);
            memcpy(right, wide ? (const void *)&given[1] : &narrow[1], 8 >> !wide);
            run(all_settings[s], cases[i / 2].kind, types[wide], 1);
            memcpy(&y, output, sizeof y);
            memcpy(&result, output, sizeof result);
            if (wide ? y != given[2] : result != narrow[2]) {
                fail_msg("%s, kind %d of %s: case %d", all_settings[s], (int)cases[i / 2].kind,
                         bp_dtype_name(types[wide]), (int)i / 2);
            }
        }
    }
}

static void bits_of_one(void **state) {
    int32_t x[] = {0, -1, INT32_MIN, 5}, y[4];
    uint8_t truths[] = {0, 1, 7}, inverted[3];
    const int64_t count = 4, three = 3;
    bp_view from, to;
    (void)state;
    assert_status(bp_view_init(&from, x, BP_I32, 1, &count, NULL), BP_OK);
    assert_status(bp_view_init(&to, y, BP_I32, 1, &count, NULL), BP_OK);
    assert_status(bp_unary_run(NULL, BP_UNARY_BITWISE_INVERT, &from.tensor, &to.tensor), BP_OK);
    assert_memory_equal(y, ((const int32_t[]){-1, 0, INT32_MAX, -6}), sizeof y);
    assert_status(bp_view_init(&from, truths, BP_BOOL, 1, &three, NULL), BP_OK);
    assert_status(bp_view_init(&to, inverted, BP_BOOL, 1, &three, NULL), BP_OK);
    assert_status(bp_unary_run(NULL, BP_UNARY_BITWISE_INVERT, &from.tensor, &to.tensor), BP_OK);
    assert_memory_equal(inverted, ((const uint8_t[]){1, 0, 0}), sizeof inverted);
    assert_status(bp_binary_run(NULL, BP_BINARY_BITWISE_XOR, &from.tensor, &to.tensor, &to.tensor), BP_OK);
    assert_memory_equal(inverted, ((const uint8_t[]){1, 1, 1}), sizeof inverted);
    assert_status(bp_binary_run(NULL, BP_BINARY_BITWISE_LEFT_SHIFT, &from.tensor, &to.tensor, &to.tensor), BP_E_DTYPE);
    assert_status(bp_view_init(&from, left, BP_F32, 1, &three, NULL), BP_OK);
    assert_status(bp_unary_run(NULL, BP_UNARY_BITWISE_INVERT, &from.tensor, &from.tensor), BP_E_DTYPE);
    assert_non_null(strstr(bp_last_error(), "input is f32; it must be i32, i64 or bool"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_the_bounds),
        cmocka_unit_test(special_values),
        cmocka_unit_test(bits_do_not_depend_on_the_place),
        cmocka_unit_test(integers_at_their_limits),
        cmocka_unit_test(bits_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
