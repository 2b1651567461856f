/* test_pinv.c - tests pinv and matrix_rank on every LAPACK library of this machine, and on the native provider. */
#include "lapack/support_spectra.h"

#include <math.h>

static double standard_rtol(const test_case *c) {
    return (double)test_epsilon(c->dtype) * (double)(c->m > c->n ? c->m : c->n);
}

/* ---- pinv ---- */

/* Penrose's equations hold for the whole matrix, because the dropped values are not above its errors. */
static void invert(const test_case *c, test_operand *a, bool hermitian, bool upper, double rtol, double atol) {
    test_operand x = test_make(c->dtype, c->n, c->m, c->items, false, c->layout);
    test_call call = {.op = BP_OP_PINV, .operand = {a, &x}};
    call.fields = (bp_linalg_problem){
        .hermitian = hermitian, .upper = upper, .fail_on_item_error = 1, .rtol = rtol, .atol = atol};
    for (int64_t at = 0; hermitian && at < c->items * c->n * c->n; at++) { /* one triangle must not be read */
        const int64_t i = at / c->n % c->n, j = at % c->n;
        if (upper ? i > j : i < j) {
            test_set(a, at / c->n / c->n, i, j, NAN);
        }
    }
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
    test_drop(&x);
}

static void check_layouts(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout);
    test_fill_spectrum(&a, TEST_SPREAD, 1, 6);
    invert(c, &a, false, false, standard_rtol(c), 0);
    for (int upper = 0; upper < 2 && c->m == c->n; upper++) {
        test_fill_hermitian(&a, TEST_SPREAD, 1, 6);
        invert(c, &a, true, upper, standard_rtol(c), 0);
    }
    test_drop(&a);
}

/* Half of the values are zero up to rounding, and must not be inverted. */
static void check_spectra(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout);
    for (test_spectrum spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
        if (spectrum != TEST_GEOMETRIC) {
            test_fill_spectrum(&a, spectrum, 1000, 6);
            invert(c, &a, false, false, standard_rtol(c), 0);
        }
        if (spectrum != TEST_GEOMETRIC && c->m == c->n) {
            test_fill_hermitian(&a, spectrum, 0.001L, 6);
            invert(c, &a, true, spectrum % 2, standard_rtol(c), 0);
        }
    }
    test_drop(&a);
}

static number value_at(const test_operand *x, int64_t i) {
    return test_get(x, 0, i, i);
}

/* diag(4, -2, 1, 0...): values up to max(atol, 4 rtol) become zero. */
static void check_thresholds(const test_case *c) {
    static const double cases[][3] = {{0, 0, 3}, {0.25, 0, 2}, {0, 1.5, 2}, {0.25, 2, 1}, {0.3, 1.5, 2}, {0, 8, 0}};
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout);
    test_operand x = test_make(c->dtype, c->n, c->m, 1, false, c->layout), rank = test_make(BP_I64, 1, 1, 1, false, 0);
    for (int64_t i = 0; i < c->m * c->n; i++) {
        int64_t row = i / c->n;
        test_set(&a, 0, row, i % c->n, row != i % c->n || row > 2 ? 0 : row == 1 ? -2 : row ? 1 : 4);
    }
    for (int hermitian = 0; hermitian < 1 + (c->m == c->n); hermitian++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            test_call call = {.op = BP_OP_PINV, .operand = {&a, &x}};
            call.fields.fail_on_item_error = 1;
            call.fields.hermitian = (uint8_t)hermitian;
            call.fields.rtol = cases[i][0];
            call.fields.atol = cases[i][1];
            assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
            for (int j = 0; j < 3; j++) {
                long double exact = j >= cases[i][2] ? 0 : j == 1 ? -0.5L : j ? 1 : 0.25L;
                test_within(cabsl(value_at(&x, j) - exact), TEST_BOUND * test_epsilon(c->dtype), "%s: %d", c->where, j);
            }
            call.op = BP_OP_MATRIX_RANK;
            call.operand[1] = &rank;
            assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
            assert_true(creall(value_at(&rank, 0)) == cases[i][2]);
        }
    }
    test_drop(&a), test_drop(&x), test_drop(&rank);
}

/* ---- matrix_rank ---- */

/* After rounding, zero values are epsilon times the norm, which is less than n epsilon. */
static void check_ranks(const test_case *c) {
    static const test_spectrum spectra[] = {TEST_SPREAD, TEST_HALF, TEST_EQUAL};
    int64_t least = c->m < c->n ? c->m : c->n;
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout);
    test_operand rank = test_make(BP_I64, 1, 1, c->items, false, c->layout);
    for (int i = 0; i < 6; i++) {
        bool hermitian = i >= 3;
        test_call call = {.op = BP_OP_MATRIX_RANK, .operand = {&a, &rank}};
        call.fields.fail_on_item_error = 1;
        call.fields.hermitian = hermitian;
        call.fields.upper = (uint8_t)(i % 2);
        call.fields.rtol = standard_rtol(c);
        if (least < 5 || (hermitian && c->m != c->n)) {
            continue;
        }
        (hermitian ? test_fill_hermitian : test_fill_spectrum)(&a, spectra[i % 3], 1, 3);
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        for (int64_t item = 0; item < c->items; item++) {
            int64_t expected = spectra[i % 3] == TEST_HALF ? (least + 1) / 2 : least;
            assert_true(creall(test_get(&rank, item, 0, 0)) == expected);
        }
    }
    test_drop(&a), test_drop(&rank);
}

static void check_non_finite(const test_case *c) {
    test_operand a = test_make(c->dtype, 4, 4, 3, false, c->layout), x = test_make(c->dtype, 4, 4, 3, false, c->layout);
    test_operand rank = test_make(BP_I64, 1, 1, 3, false, 0);
    test_fill_hermitian(&a, TEST_SPREAD, 1, 3);
    for (int hermitian = 0; hermitian < 2; hermitian++) {
        test_call call = {.op = BP_OP_PINV, .operand = {&a, &x}};
        call.fields.hermitian = (uint8_t)hermitian;
        test_non_finite(c, &call, 1, INFINITY);
        test_non_finite(c, &call, 1, NAN);
        call.op = BP_OP_MATRIX_RANK;
        call.operand[1] = &rank;
        test_non_finite(c, &call, 1, INFINITY);
        test_non_finite(c, &call, 1, NAN);
    }
    test_drop(&a), test_drop(&x), test_drop(&rank);
}

static void check_library(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_layouts);
    test_each_case(instance, row, false, check_ranks);
    test_each_type(instance, row, 30, 30, check_spectra);
    test_each_type(instance, row, 30, 14, check_spectra);
    test_each_type(instance, row, 14, 30, check_spectra);
    test_each_type(instance, row, 5, 5, check_thresholds);
    test_each_type(instance, row, 4, 7, check_thresholds);
    test_each_type(instance, row, 4, 4, check_non_finite);
}

static void test_inverses(void **state) {
    (void)state;
    test_each_library(check_library);
}

static void test_native(void **state) {
    (void)state;
    test_each_native(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
