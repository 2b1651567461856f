/* test_norm.c - tests matrix_norm and cond on every LAPACK library of this machine, and on the native provider. */
#include "providers/lapack/spectra.h" /* before <complex.h>, because its macro `complex` is a name in this header */

#include "lapack/support_spectra.h"
#include "support/arrays.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double sum_orders[] = {1, -1, INFINITY, -INFINITY};

static bp_status run(const test_case *c, bp_op op, test_operand *a, bp_linalg_mode mode, double order,
                     test_operand *out) {
    test_call call = {.op = op, .fields.mode = (uint8_t)mode, .fields.order = order, .operand = {a, out}};
    call.fields.fail_on_item_error = 1;
    return test_run(c->instance, &call, NULL);
}

static test_call sum_call(test_operand *a, int which, test_operand *out) {
    test_call call = {.op = BP_OP_MATRIX_NORM, .operand = {a, out}};
    call.fields.mode = (uint8_t)(which < 0 ? BP_NORM_FRO : BP_NORM_P);
    call.fields.order = which < 0 ? 0 : sum_orders[which];
    call.fields.fail_on_item_error = 1;
    return call;
}

/* Computes a sum norm by the library, or by the provider's code for condition numbers. */
static void run_sum(const test_case *c, test_operand *a, int which, bool by_library, test_operand *out) {
    const test_call call = sum_call(a, which, out);
    if (by_library) {
        bp_verdict verdict;
        assert_int_equal(test_run(c->instance, &call, &verdict), BP_OK);
        assert_string_equal(verdict.algorithm, "lange");
        return;
    }
    const bp_problem problem = test_problem(&call);
    double *sums = malloc((size_t)(a->rows + a->columns) * sizeof *sums);
    for (int64_t item = 0; item < a->items; item++) {
        const int64_t size = (int64_t)bp_dtype_size(a->dtype);
        const bp__lapack_matrix matrix = {a->dtype, a->rows,   a->columns,
                                          a->row,   a->column, a->base + item * a->step * size};
        test_set(out, item, 0, 0, bp__lapack_norm_of(&problem.of.linalg, &matrix, sums));
    }
    free(sums);
}

static test_operand numbers(const test_case *c) {
    return test_make(test_real_of(c->dtype), 1, 1, c->items, false, c->layout);
}

/* ---- matrix_norm ---- */

static long double range_end(const test_case *c, bool huge) {
    bool wide = test_real_of(c->dtype) == BP_F64;
    return huge ? (wide ? (long double)DBL_MAX : (long double)FLT_MAX)
                : (wide ? (long double)DBL_TRUE_MIN : (long double)FLT_TRUE_MIN);
}

/* The relative error of a sum of positive terms is at most the error of one addition per term. Below the normal numbers
 * the error is less than the smallest one. */
static void check_sums(const test_case *c, test_operand *a) {
    test_operand out = numbers(c);
    char text[128];
    for (int way = 0; way < 10; way++) {
        const int i = way / 2 - 1;
        const test_call call = sum_call(a, i, &out);
        reference_results made;
        test_linalg of;
        run_sum(c, a, i, way % 2 == 0, &out);
        test_values(&made, &of, &call, 2 * (double)(c->m + c->n + 4));
        made.of[0].values.tiny = (double)range_end(c, false);
        snprintf(text, sizeof text, "%s: norm %d of %d x %d %s", c->where, i, (int)c->m, (int)c->n,
                 bp_dtype_name(c->dtype));
        test_check_results(&made, text);
    }
    test_drop(&out);
}

static void check_norms(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout), out = numbers(c);
    test_fill(&a, TEST_RANDOM, 5);
    check_sums(c, &a);
    test_drop(&a), test_drop(&out);
}

static void check_values(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout), out = numbers(c);
    int64_t least = c->m < c->n ? c->m : c->n;
    test_fill_spectrum(&a, TEST_SPREAD, 1, 5);
    long double all = 0, bound = TEST_BOUND * (long double)(c->m + c->n) * test_epsilon(c->dtype);
    for (int64_t i = 0; i < least; i++) {
        all += test_spectrum_value(TEST_SPREAD, c->dtype, i, least);
    }
    const long double exact[] = {all, 1, least > 1 ? 0.1L : 1};
    for (int i = 0; i < 3; i++) {
        bp_linalg_mode mode = i == 0 ? BP_NORM_NUC : BP_NORM_P;
        assert_int_equal(run(c, BP_OP_MATRIX_NORM, &a, mode, i == 0 ? 0 : i == 1 ? 2 : -2, &out), BP_OK);
        for (int64_t item = 0; item < c->items; item++) {
            test_within(fabsl(creall(test_get(&out, item, 0, 0)) - exact[i]), bound * (i ? 1 : (long double)least),
                        "%s: norm of values %d", c->where, i);
        }
    }
    test_drop(&a), test_drop(&out);
}

/* Elements whose squares exceed the range of the type, and the largest and smallest elements. */
static void check_range(const test_case *c) {
    const long double huge = range_end(c, true) / 1024, tiny = range_end(c, false) * 4096;
    const long double values[] = {huge, tiny, tiny * 1e6L, sqrtl(huge), sqrtl(tiny), 1 / huge};
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        test_array_random = 3;
        for (int64_t j = 0; j < c->m * c->n; j++) {
            number value = test_random(test_is_complex(c->dtype));
            test_set(&a, 0, j / c->n, j % c->n, value * values[i]);
        }
        check_sums(c, &a);
    }
    test_drop(&a);
}

/* Magnitudes over the whole range: some libraries scale above a threshold, and are wrong near it. */
static void check_magnitudes(const test_case *c) {
    bool wide = test_real_of(c->dtype) == BP_F64;
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout);
    for (int exponent = wide ? -1000 : -120; exponent < (wide ? 1010 : 115); exponent += wide ? 9 : 3) {
        test_array_random = 3;
        for (int64_t j = 0; j < c->m * c->n; j++) {
            number value = test_random(test_is_complex(c->dtype));
            test_set(&a, 0, j / c->n, j % c->n, value * ldexpl(1, exponent));
        }
        check_sums(c, &a);
    }
    test_drop(&a);
}

/* The smallest numbers give exact results, and the largest one is in the range of the type. */
static void check_ends_by(const test_case *c, bool by_library) {
    test_operand a = test_make(c->dtype, 2, 2, 1, false, c->layout), out = numbers(c);
    long double least = range_end(c, false), most = range_end(c, true);
    for (int i = 0; i < 4; i++) {
        test_set(&a, 0, i / 2, i % 2, i == 1 ? 3 * least : i == 2 ? 4 * least : 0);
    }
    run_sum(c, &a, -1, by_library, &out);
    assert_true(creall(test_get(&out, 0, 0, 0)) == 5 * least);
    for (int i = 0; i < 4; i++) {
        test_set(&a, 0, i / 2, i % 2, i == 0 ? -most : 0);
    }
    for (int i = -1; i < 3; i += i < 0 ? 1 : 2) {
        run_sum(c, &a, i, by_library, &out);
        assert_true(creall(test_get(&out, 0, 0, 0)) == most);
    }
    for (int i = 0; i < 4; i++) {
        test_set(&a, 0, i / 2, i % 2, most);
    }
    run_sum(c, &a, -1, by_library, &out);
    assert_true(isinf(creall(test_get(&out, 0, 0, 0))));
    test_drop(&a), test_drop(&out);
}

static void check_ends(const test_case *c) {
    check_ends_by(c, false);
    check_ends_by(c, true);
}

/* NaN and infinity propagate through sums, whatever the other elements are, and cause no error status. */
static void check_through_by(const test_case *c, bool by_library) {
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout), out = numbers(c);
    for (int second = 0; second < 3; second++) {
        test_fill(&a, TEST_RANDOM, 5);
        test_set(&a, 0, c->m - 1, c->n - 1, INFINITY);
        if (second) {
            test_set(&a, 0, second - 1, second - 1, NAN); /* in the first line, then in another */
        }
        for (int i = -1; i < 4; i++) {
            double order = i < 0 ? 0 : sum_orders[i];
            run_sum(c, &a, i, by_library, &out);
            long double norm = creall(test_get(&out, 0, 0, 0));
            assert_true(second ? isnan(norm) : order < 0 ? isfinite(norm) : isinf(norm));
        }
    }
    test_drop(&a), test_drop(&out);
}

static void check_through(const test_case *c) {
    check_through_by(c, false);
    check_through_by(c, true);
}

/* ---- cond ---- */

static void check_conditions(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout), out = numbers(c);
    test_fill_spectrum(&a, TEST_SPREAD, 1, 5);
    for (int i = 0; i < 6 && c->m == c->n; i++) {
        test_call call = {.op = BP_OP_COND, .operand = {&a, &out}};
        call.fields.mode = i < 4 ? BP_NORM_P : i == 4 ? BP_NORM_FRO : BP_NORM_NUC;
        call.fields.order = i < 4 ? sum_orders[i] : 0;
        call.fields.fail_on_item_error = 1;
        reference_results made;
        test_linalg of;
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        test_values(&made, &of, &call, 0);
        test_check_results(&made, c->where);
    }
    test_drop(&a), test_drop(&out);
}

static void check_quotients(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout), out = numbers(c);
    long double condition = c->m > 1 && c->n > 1 ? 10 : 1;
    long double slack = TEST_BOUND * (long double)(c->m + c->n) * test_epsilon(c->dtype) * condition;
    test_fill_spectrum(&a, TEST_SPREAD, 1, 5);
    for (int sign = -1; sign < 2; sign += 2) {
        assert_int_equal(run(c, BP_OP_COND, &a, BP_NORM_P, 2 * sign, &out), BP_OK);
        long double exact = sign > 0 ? condition : 1 / condition;
        test_within(fabsl(creall(test_get(&out, 0, 0, 0)) - exact), slack * exact, "%s: cond %d", c->where, 2 * sign);
    }
    test_drop(&a), test_drop(&out);
}

/* Equal elements, for which elimination yields a zero; and a diagonal matrix whose inverse is out of range. */
static void check_singular(const test_case *c) {
    test_operand a = test_make(c->dtype, 3, 3, 1, false, c->layout), out = numbers(c);
    long double tiny = range_end(c, false);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 9; i++) {
            test_set(&a, 0, i / 3, i % 3, round == 0 ? 1 : i % 4 == 0 ? (i ? 1 : tiny) : 0);
        }
        for (int i = 0; i < 6; i++) {
            bp_linalg_mode mode = i < 4 ? BP_NORM_P : i == 4 ? BP_NORM_FRO : BP_NORM_NUC;
            assert_int_equal(run(c, BP_OP_COND, &a, mode, i < 4 ? sum_orders[i] : 0, &out), BP_OK);
            assert_true(isinf(creall(test_get(&out, 0, 0, 0))));
        }
    }
    test_drop(&a), test_drop(&out);
}

static void check_deficient(const test_case *c) {
    test_operand a = test_make(c->dtype, 3, 3, 1, false, c->layout), out = numbers(c);
    for (int i = 0; i < 9; i++) {
        test_set(&a, 0, i / 3, i % 3, i == 0 ? 2 : 0);
    }
    assert_int_equal(run(c, BP_OP_COND, &a, BP_NORM_P, 2, &out), BP_OK);
    assert_true(isinf(creall(test_get(&out, 0, 0, 0))));
    assert_int_equal(run(c, BP_OP_COND, &a, BP_NORM_P, -2, &out), BP_OK);
    assert_true(creall(test_get(&out, 0, 0, 0)) == 0);
    test_drop(&a), test_drop(&out);
}

/* A zero matrix has an infinite condition in every norm. */
static void check_zeros(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout), out = numbers(c);
    test_fill(&a, TEST_RANDOM, 5);
    for (int64_t i = 0; i < c->m * c->n; i++) {
        test_set(&a, 0, i / c->n, i % c->n, 0);
    }
    for (int i = 0; i < 8; i++) {
        bp_linalg_mode mode = i == 0 ? BP_NORM_FRO : i == 1 ? BP_NORM_NUC : BP_NORM_P;
        double order = i < 2 ? 0 : i < 4 ? (i == 2 ? 2 : -2) : sum_orders[i - 4];
        if (c->m == c->n || fabs(order) == 2) {
            assert_int_equal(run(c, BP_OP_COND, &a, mode, order, &out), BP_OK);
            assert_true(isinf(creall(test_get(&out, 0, 0, 0))));
        }
    }
    test_drop(&a), test_drop(&out);
}

/* The first three kinds use singular values only. */
static void check_non_finite_of(const test_case *c, int kinds) {
    test_case three = *c;
    three.items = 3;
    test_operand a = test_make(c->dtype, 4, 4, 3, false, c->layout), out = numbers(&three);
    test_fill(&a, TEST_RANDOM, 5);
    for (int i = 0; i < kinds; i++) {
        bp_linalg_mode mode = i == 4 ? BP_NORM_FRO : i == 0 || i == 3 ? BP_NORM_NUC : BP_NORM_P;
        test_call call = {.op = i < 2 ? BP_OP_MATRIX_NORM : BP_OP_COND, .operand = {&a, &out}};
        call.fields.mode = (uint8_t)mode;
        call.fields.order = i == 1 || i == 2 ? 2 : i > 4 ? sum_orders[i - 5] : 0;
        test_non_finite(&three, &call, 1, INFINITY);
        test_non_finite(&three, &call, 1, NAN);
    }
    test_drop(&a), test_drop(&out);
}

static void check_non_finite(const test_case *c) {
    check_non_finite_of(c, 8);
}

static void check_non_finite_values(const test_case *c) {
    check_non_finite_of(c, 3);
}

static void check_zero(const test_case *c) {
    test_operand a = test_make(c->dtype, c->m, c->n, 1, false, c->layout), out = numbers(c);
    for (int64_t i = 0; i < c->m * c->n; i++) {
        test_set(&a, 0, i / c->n, i % c->n, 0);
    }
    for (int sign = -1; sign < 2; sign += 2) {
        assert_int_equal(run(c, BP_OP_COND, &a, BP_NORM_P, 2 * sign, &out), BP_OK);
        assert_true(isinf(creall(test_get(&out, 0, 0, 0))));
        assert_int_equal(run(c, BP_OP_MATRIX_NORM, &a, BP_NORM_P, 2 * sign, &out), BP_OK);
        assert_true(creall(test_get(&out, 0, 0, 0)) == 0);
    }
    test_drop(&a), test_drop(&out);
}

static void check_library(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_norms);
    test_each_case(instance, row, false, check_values);
    test_each_case(instance, row, false, check_conditions);
    test_each_case(instance, row, false, check_quotients);
    test_each_type(instance, row, 6, 9, check_range);
    test_each_type(instance, row, 9, 6, check_range);
    test_each_type(instance, row, 13, 11, check_magnitudes);
    test_each_type(instance, row, 2, 2, check_ends);
    test_each_type(instance, row, 5, 5, check_through);
    test_each_type(instance, row, 3, 3, check_singular);
    test_each_type(instance, row, 3, 3, check_zeros);
    test_each_type(instance, row, 4, 2, check_zeros);
    test_each_type(instance, row, 3, 3, check_deficient);
    test_each_type(instance, row, 4, 4, check_non_finite);
}

/* Sum norms have separate tests. */
static void check_small(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_values);
    test_each_case(instance, row, false, check_quotients);
    test_each_type(instance, row, 3, 3, check_deficient);
    test_each_type(instance, row, 5, 4, check_zero);
    test_each_type(instance, row, 4, 4, check_non_finite_values);
}

static void test_native(void **state) {
    (void)state;
    test_each_native(check_small);
}

static void test_numbers(void **state) {
    (void)state;
    test_each_library(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
