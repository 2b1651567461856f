/* test_det.c - determinants on a CUDA device, compared with the host's: signs of exchanges, numbers whose products
 * overflow or vanish on the way, and singular matrices. */
#include "cusolver/support_cusolver.h"

#include <math.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static double eps_of(bp_dtype dtype) {
    return dtype == BP_F32 || dtype == BP_C64 ? 1e-6 : 1e-14;
}

/* Runs the case on the device, and on the host into `expected`. */
static void run_both(linalg_case *c, test_array *expected) {
    put_case(c, TEST_COMPACT, 0);
    if (run_case(c) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    test_array_copy(expected, &c->out[0]);
    assert_ok(bp_det(&c->in[0].view.tensor, &expected->view.tensor));
}

/* `scale` is the size of the terms that are added. */
static void expect_equal(linalg_case *c, const test_array *expected, double scale) {
    for (int64_t i = 0; i < test_array_count(expected); i++) {
        const bp_scalar x = test_array_get_complex(&c->out[0], i), y = test_array_get_complex(expected, i);
        const double bound = 50 * eps_of(c->dtype) * (scale + hypot(y.re, y.im));
        const bool same = x.re == y.re && x.im == y.im; /* infinity too */
        if (!same && !(isfinite(bound) && hypot(x.re - y.re, x.im - y.im) <= bound)) {
            fail_msg("%s: %g%+gi in place of %g%+gi", bp_dtype_name(c->dtype), x.re, x.im, y.re, y.im);
        }
    }
}

static void random_matrices(void **state) {
    (void)state;
    for (int i = 0; i < 64; i++) {
        const int64_t n = 1 + i / 4 % 8;
        linalg_case c = new_case(BP_OP_DET, types[i % 4]);
        test_array expected;
        add_input(&c, 4, I64(2, 3, n, n), (test_layout)(i % TEST_ALL_LAYOUTS));
        run_both(&c, &expected);
        expect_equal(&c, &expected, pow(2, (double)n));
        test_array_free(&expected);
        free_case(&c);
    }
}

/* Sets a matrix of 6 x 6 to a diagonal, whose rows are in reverse order. */
static void set_diagonal(test_array *a, const double *values, double re, double im) {
    for (int i = 0; i < 36; i++) {
        const bool other = i / 6 + i % 6 == 5;
        test_array_set_complex(a, i, (bp_scalar){other ? re * values[i % 6] : 0, other ? im * values[i % 6] : 0});
    }
}

static void products_that_overflow_on_the_way(void **state) {
    static const double cases[][6] = {
        {1e200, 1e200, 1e-200, 1e-200, 3, -5},         /* only products of two */
        {1e-200, 1e-200, 1e200, 1e200, 3, -5},         /* likewise */
        {1e300, 1e300, 1e300, 1e300, 1e300, 1e300},    /* all of it */
        {1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1},   /* vanishes */
        {5e-324, 3e-320, 1e300, 1e300, 2, 1},          /* below the normal numbers */
        {1.7e308, 1.7e308, 1e-308, 1e-308, 0.5, 0.25}, /* the largest */
        {1e-160, 1e-155, 1, 1, 1, 1},                  /* the result is below the normal numbers */
        {1e300, 1e300, 0, 1, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int parts = 0; parts < 3; parts++) { /* real, complex, imaginary numbers */
            linalg_case c = new_case(BP_OP_DET, parts > 0 ? BP_C128 : BP_F64);
            test_array expected;
            add_input(&c, 2, I64(6, 6), TEST_COMPACT);
            set_diagonal(&c.in[0], cases[i], parts < 2, parts * 0.5);
            run_both(&c, &expected);
            expect_equal(&c, &expected, 0);
            test_array_free(&expected);
            free_case(&c);
        }
    }
}

/* The product is in double precision, and rounded once. */
static void products_of_single_precision(void **state) {
    static const double cases[][6] = {
        {1e30, 1e30, 1e-30, 1e-30, 3, -5}, {1e30, 1e30, 1, 1, 1, 1}, {1e-30, 1e-30, 1, 1, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        linalg_case c = new_case(BP_OP_DET, BP_F32);
        test_array expected;
        add_input(&c, 2, I64(6, 6), TEST_COMPACT);
        set_diagonal(&c.in[0], cases[i], 1, 0);
        run_both(&c, &expected);
        expect_equal(&c, &expected, 0);
        test_array_free(&expected);
        free_case(&c);
    }
}

/* ---- Signs and logarithms ---- */

/* Compares signs and logarithms with the host's. */
static void check_logarithms(linalg_case *c) {
    test_array sign, logarithm;
    put_case(c, TEST_COMPACT, 0);
    if (run_case(c) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    test_array_copy(&sign, &c->out[0]);
    test_array_copy(&logarithm, &c->out[1]);
    assert_ok(bp_slogdet(&c->in[0].view.tensor, &sign.view.tensor, &logarithm.view.tensor));
    expect_equal(c, &sign, 1);
    for (int64_t i = 0; i < test_array_count(&logarithm); i++) {
        const double x = test_array_get(&c->out[1], i), y = test_array_get(&logarithm, i);
        if (!(x == y || (isfinite(y) && fabs(x - y) <= 50 * eps_of(c->dtype) * (1 + fabs(y))))) {
            fail_msg("%s: the logarithm %.17g in place of %.17g", bp_dtype_name(c->dtype), x, y);
        }
    }
    test_array_free(&sign);
    test_array_free(&logarithm);
    free_case(c);
}

static void logarithms_of_random_matrices(void **state) {
    (void)state;
    for (int i = 0; i < 64; i++) {
        const int64_t n = 1 + i / 4 % 8;
        linalg_case c = new_case(BP_OP_SLOGDET, types[i % 4]);
        make_dominant(add_input(&c, 4, I64(2, 3, n, n), (test_layout)(i % TEST_ALL_LAYOUTS)));
        check_logarithms(&c);
    }
}

/* Powers of two, numbers next to 1 and to the middle of two powers, large and small ones, and 0. */
static void logarithms_of_numbers(void **state) {
    static const double numbers[] = {
        1, 2,     0.5,     -4,     1 + 1e-10, 1 - 1e-10, 1.41421356, 1.41421357,        0.70710678,
        3, 1e300, -1e-300, 5e-324, 1.7e308,   0,         0.99999,    2.7182818284590451};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (int complex = 0; complex < 2; complex++) {
            linalg_case c = new_case(BP_OP_SLOGDET, complex ? BP_C128 : BP_F64);
            test_array *a = add_input(&c, 2, I64(1, 1), TEST_COMPACT);
            test_array_set_complex(a, 0, (bp_scalar){complex ? 0.25 * numbers[i] : numbers[i], numbers[i] / 2});
            check_logarithms(&c);
        }
    }
    linalg_case c = new_case(BP_OP_SLOGDET, BP_F64);
    test_array *a = add_input(&c, 2, I64(6, 6), TEST_COMPACT);
    set_diagonal(a, (const double[]){1e300, 1e300, 1e300, -1e300, 1e300, 1e300}, 1, 0);
    check_logarithms(&c);
}

/* Items that are not finite, and empty matrices. */
static void special_logarithms(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_SLOGDET, BP_F32);
    test_array *a = add_input(&c, 3, I64(3, 2, 2), TEST_COMPACT);
    test_array_set(a, 5, -(double)INFINITY);
    put_case(&c, TEST_COMPACT, 0);
    assert_fails(run_case(&c), BP_E_NON_FINITE, "linalg.slogdet: (Batch element 1)");
    for (int o = 0; o < 2; o++) {
        get(&c.device_out[o]);
        for (int i = 0; i < 3; i++) {
            const bool is_nan = isnan(test_array_get(&c.out[o], i));
            assert_int_equal(is_nan, i == 1);
        }
    }
    free_case(&c);
    c = new_case(BP_OP_SLOGDET, BP_C64);
    add_input(&c, 3, I64(2, 0, 0), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    assert_ok(run_case(&c));
    assert_true(test_array_get(&c.out[0], 1) == 1 && test_array_get(&c.out[1], 1) == 0);
    free_case(&c);
}

/* A singular matrix has the determinant 0, an empty one 1; NaN is a failure. */
static void special_matrices(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_DET, BP_C64);
    test_array *a = add_input(&c, 3, I64(3, 2, 2), TEST_COMPACT);
    for (int i = 0; i < 4; i++) {
        test_array_set(a, i, 1);
    }
    put_case(&c, TEST_COMPACT, 0);
    assert_ok(run_case(&c));
    assert_true(test_array_get(&c.out[0], 0) == 0 && test_array_get(&c.out[0], 1) != 0);
    drop(&c.device_in[0]);
    test_array_set_complex(a, 5, (bp_scalar){0, (double)NAN});
    put(&c.device_in[0], a, 0, 0);
    assert_fails(run_case(&c), BP_E_NON_FINITE, "linalg.det: (Batch element 1)");
    get(&c.device_out[0]);
    const bool is_nan = isnan(test_array_get(&c.out[0], 1)), is_other = isnan(test_array_get(&c.out[0], 2));
    assert_true(is_nan && !is_other);
    free_case(&c);
    c = new_case(BP_OP_DET, BP_F64);
    add_input(&c, 3, I64(4, 0, 0), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    assert_ok(run_case(&c));
    for (int i = 0; i < 4; i++) {
        assert_true(test_array_get(&c.out[0], i) == 1);
    }
    free_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_matrices, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(products_that_overflow_on_the_way, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(products_of_single_precision, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(logarithms_of_random_matrices, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(logarithms_of_numbers, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(special_logarithms, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(special_matrices, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("det", tests, start_cusolver, stop_cusolver);
}
