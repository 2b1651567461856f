/* test_eigh.c - tests eigenvalues and eigenvectors of Hermitian matrices on every LAPACK library of this machine, and
 * on the native provider. */
#include "lapack/support_spectra.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct factors {
    test_operand a, w, v;
} factors;

/* Writes NaN to everything that must not be read: the other triangle, and the imaginary part of the diagonal. */
static void hide(factors *f, bool upper, int64_t items) {
    for (int64_t item = 0; item < items; item++) {
        for (int64_t i = 0; i < f->a.rows; i++) {
            if (test_is_complex(f->a.dtype)) {
                test_set(&f->a, item, i, i, test_get(&f->a, item, i, i) + 7 * I);
            }
            for (int64_t j = 0; j < i; j++) {
                test_set(&f->a, item, upper ? i : j, upper ? j : i, NAN);
            }
        }
    }
}

static factors make_operands(const test_case *c) {
    return (factors){
        .a = test_make(c->dtype, c->n, c->n, c->items, false, c->layout),
        .w = test_make(test_real_of(c->dtype), c->n, 1, c->items, false, c->layout),
        .v = test_make(c->dtype, c->n, c->n, c->items, false, c->layout),
    };
}

static factors make(const test_case *c, test_spectrum spectrum, long double scale, bool upper) {
    factors f = make_operands(c);
    test_fill_hermitian(&f.a, spectrum, scale, 9);
    hide(&f, upper, c->items);
    return f;
}

static void drop(factors *f) {
    test_drop(&f->a), test_drop(&f->w), test_drop(&f->v);
}

static void check_results(factors *f, const test_case *c, const test_call *call) {
    test_equations(call, c->where);
    for (int64_t i = 0; i < c->items * c->n; i++) {
        const int64_t item = i / c->n, at = i % c->n;
        assert_true(at == 0 || creall(test_get(&f->w, item, at, 0)) >= creall(test_get(&f->w, item, at - 1, 0)));
    }
}

/* By Weyl's theorem, two results differ by at most the sum of their errors. */
static void check_values_alone(factors *f, const test_case *c, bool upper) {
    test_operand w = test_make(f->w.dtype, c->n, 1, c->items, false, c->layout);
    const test_call call = {
        .op = BP_OP_EIGH, .fields = {.upper = upper, .fail_on_item_error = 1}, .operand = {&f->a, &w}};
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
    for (int64_t item = 0; item < c->items; item++) {
        const long double norm = fmaxl(cabsl(test_get(&f->w, item, 0, 0)), cabsl(test_get(&f->w, item, c->n - 1, 0)));
        const long double bound = 2 * TEST_BOUND * test_epsilon(c->dtype) * (long double)c->n * norm;
        for (int64_t i = 0; i < c->n; i++) {
            test_within(cabsl(test_get(&w, item, i, 0) - test_get(&f->w, item, i, 0)), bound, "%s: values", c->where);
        }
    }
    test_drop(&w);
}

static int descending(const void *a, const void *b) {
    long double x = *(const long double *)a, y = *(const long double *)b;
    return (x < y) - (x > y);
}

/* Checks against the eigenvalues that the matrix was made from; every second one is negative. */
static void check_known(const factors *f, const test_case *c, test_spectrum spectrum, long double scale) {
    long double *exact = malloc((size_t)c->n * sizeof *exact);
    for (int64_t i = 0; i < c->n; i++) {
        exact[i] = test_spectrum_value(spectrum, c->dtype, i, c->n) * (i % 2 ? -scale : scale);
    }
    qsort(exact, (size_t)c->n, sizeof *exact, descending);
    for (int64_t i = 0; i < c->n; i++) {
        test_within(fabsl(creall(test_get(&f->w, 0, c->n - 1 - i, 0)) - exact[i]),
                    TEST_BOUND * test_epsilon(c->dtype) * (long double)c->n * scale, "%s: spectrum %d", c->where,
                    (int)spectrum);
    }
    free(exact);
}

static void factor(const test_case *c, test_spectrum spectrum, long double scale, bool upper) {
    factors f = make(c, spectrum, scale, upper);
    test_call call = {
        .op = BP_OP_EIGH, .fields.upper = upper, .fields.fail_on_item_error = 1, .operand = {&f.a, &f.w, &f.v}};
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    check_results(&f, c, &call);
    check_known(&f, c, spectrum, scale);
    check_values_alone(&f, c, upper);
    drop(&f);
}

static void check_layouts(const test_case *c) {
    factor(c, TEST_SPREAD, 1, false);
    factor(c, TEST_SPREAD, 1, true);
}

static void check_spectra(const test_case *c) {
    long double smallest = test_real_of(c->dtype) == BP_F64 ? DBL_MIN : FLT_MIN;
    const long double scales[] = {1, smallest * 1e4L, 1e-4L / smallest};
    for (int i = 0; i < 3 * TEST_SPECTRA; i++) {
        factor(c, (test_spectrum)(i % TEST_SPECTRA), scales[i / TEST_SPECTRA], i % 2);
    }
}

/* Wilkinson's tridiagonal matrix. Its larger eigenvalues are pairs closer than epsilon. */
static void check_pairs(const test_case *c) {
    factors f = make_operands(c);
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            int64_t middle = (c->n - 1) / 2, away = i < middle ? middle - i : i - middle;
            test_set(&f.a, 0, i, j, i == j ? (number)away : i == j + 1 || j == i + 1 ? 1 : 0);
        }
    }
    hide(&f, true, 1);
    test_call call = {
        .op = BP_OP_EIGH, .fields.upper = 1, .fields.fail_on_item_error = 1, .operand = {&f.a, &f.w, &f.v}};
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    check_results(&f, c, &call);
    check_values_alone(&f, c, true);
    drop(&f);
}

static void check_non_finite(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    factors f = make(&three, TEST_SPREAD, 1, false);
    test_call call = {.op = BP_OP_EIGH, .operand = {&f.a, &f.w, &f.v}};
    test_non_finite(&three, &call, 2, NAN);
    test_non_finite(&three, &call, 2, INFINITY);
    drop(&f);
}

static void check_library(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, true, check_layouts);
    test_each_type(instance, row, 30, 30, check_spectra);
    test_each_type(instance, row, 21, 21, check_pairs);
    test_each_type(instance, row, 5, 5, check_non_finite);
}

static void test_factors(void **state) {
    (void)state;
    test_each_library(check_library);
}

static void test_native(void **state) {
    (void)state;
    test_each_native(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
