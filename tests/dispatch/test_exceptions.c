/* test_exceptions.c - tests that choosing raises no floating-point exception that the program could see. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <backplane.h>
#include <fenv.h>

enum { SIDE = 40 };

/* Products of several shapes; each is chosen for the first time. */
static void multiply(bp_dtype dtype, int columns) {
    static double memory[3][2 * SIDE * SIDE];
    const int64_t square[] = {SIDE, SIDE}, narrow[] = {SIDE, columns};
    bp_view a, b, c;
    assert_int_equal(bp_view_init(&a, memory[0], dtype, 2, square, NULL), BP_OK);
    assert_int_equal(bp_view_init(&b, memory[1], dtype, 2, narrow, NULL), BP_OK);
    assert_int_equal(bp_view_init(&c, memory[2], dtype, 2, narrow, NULL), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
}

static void test_choosing_raises_nothing(void **state) {
    (void)state;
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128, BP_F16, BP_BF16};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int columns = 1; columns < 20; columns += 2) {
            feclearexcept(FE_ALL_EXCEPT);
            multiply(types[i], columns);
            assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), 0);
        }
    }
}

/* An explanation makes all estimates. The estimates of `native` divide by nothing that may be zero. */
static void test_estimates_raise_nothing(void **state) {
    (void)state;
    for (int rows = 1; rows < 20; rows += 3) {
        for (int columns = 1; columns < 20; columns += 2) {
            const int64_t a_shape[] = {rows, SIDE}, b_shape[] = {SIDE, columns}, c_shape[] = {rows, columns};
            const int64_t a_strides[] = {1, rows}, b_strides[] = {1, SIDE};
            bp_view a, b, c;
            bp_explanation *explanation;
            assert_int_equal(bp_view_init(&a, NULL, BP_F64, 2, a_shape, rows % 2 ? a_strides : NULL), BP_OK);
            assert_int_equal(bp_view_init(&b, NULL, BP_F64, 2, b_shape, columns % 3 ? b_strides : NULL), BP_OK);
            assert_int_equal(bp_view_init(&c, NULL, BP_F64, 2, c_shape, NULL), BP_OK);
            feclearexcept(FE_ALL_EXCEPT);
            assert_int_equal(
                bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor),
                BP_OK);
            assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), 0);
            bp_explanation_release(explanation);
        }
    }
}

/* The program's own flags stay. */
static void test_flags_of_the_program_stay(void **state) {
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
    multiply(BP_F64, SIDE - 1);
    assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_INVALID), FE_DIVBYZERO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choosing_raises_nothing),
        cmocka_unit_test(test_estimates_raise_nothing),
        cmocka_unit_test(test_flags_of_the_program_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
