/* test_svd.c - tests singular values and vectors on every LAPACK library of this machine, and on the native provider.
 */
#include "lapack/support_spectra.h"

#include <float.h>
#include <math.h>

typedef struct factors {
    test_operand a, u, s, vh;
} factors;

static factors make(const test_case *c, bool full) {
    int64_t k = c->m < c->n ? c->m : c->n;
    return (factors){
        .a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout),
        .u = test_make(c->dtype, c->m, full ? c->m : k, c->items, false, c->layout),
        .s = test_make(test_real_of(c->dtype), k, 1, c->items, false, c->layout),
        .vh = test_make(c->dtype, full ? c->n : k, c->n, c->items, false, c->layout),
    };
}

static void drop(factors *f) {
    test_drop(&f->a), test_drop(&f->u), test_drop(&f->s), test_drop(&f->vh);
}

static test_call call_of(factors *f, bool full) {
    return (test_call){.op = BP_OP_SVD,
                       .fields = {.mode = full ? BP_SVD_FULL : BP_SVD_REDUCED, .fail_on_item_error = 1},
                       .operand = {&f->a, &f->u, &f->s, &f->vh}};
}

/* By Weyl's theorem, two backward stable results differ by at most the sum of their errors. */
static void check_values_alone(factors *f, const test_case *c) {
    test_operand s = test_make(f->s.dtype, f->s.rows, 1, c->items, false, c->layout);
    test_call call = call_of(f, false);
    call.operand[1] = call.operand[3] = NULL;
    call.operand[2] = &s;
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
    for (int64_t item = 0; item < c->items; item++) {
        for (int64_t i = 0; i < s.rows; i++) {
            long double largest = creall(test_get(&f->s, item, 0, 0));
            long double bound = 2 * TEST_BOUND * test_epsilon(c->dtype) * (long double)(c->m + c->n) * largest;
            test_within(cabsl(test_get(&s, item, i, 0) - test_get(&f->s, item, i, 0)), bound, "%s: values", c->where);
        }
    }
    test_drop(&s);
}

static void check_factors(factors *f, const test_case *c, bool full) {
    const test_call call = call_of(f, full);
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
    for (int64_t i = 0; i < c->items * f->s.rows; i++) {
        const int64_t item = i / f->s.rows, at = i % f->s.rows;
        const long double value = creall(test_get(&f->s, item, at, 0));
        assert_true(value >= 0 && (at == 0 || value <= creall(test_get(&f->s, item, at - 1, 0))));
    }
    check_values_alone(f, c);
}

static void check_random(const test_case *c) {
    for (int full = 0; full < 2; full++) {
        factors f = make(c, full);
        test_fill(&f.a, TEST_RANDOM, 7);
        check_factors(&f, c, full);
        drop(&f);
    }
}

static void check_kinds(const test_case *c) {
    factors f = make(c, false);
    for (test_kind kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(&f.a, kind, 7);
        check_factors(&f, c, false);
    }
    drop(&f);
}

/* Checks the singular values that the matrix was made from. Rounding of its elements changes them by epsilon times its
 * norm. */
static void check_spectra(const test_case *c) {
    long double smallest = test_real_of(c->dtype) == BP_F64 ? DBL_MIN : FLT_MIN;
    const long double scales[] = {1, smallest * 1e4L, 1e-4L / smallest};
    factors f = make(c, false);
    for (int i = 0; i < 3 * TEST_SPECTRA; i++) {
        test_spectrum spectrum = (test_spectrum)(i % TEST_SPECTRA);
        long double scale = scales[i / TEST_SPECTRA];
        test_fill_spectrum(&f.a, spectrum, scale, 5);
        check_factors(&f, c, false);
        for (int64_t j = 0; j < f.s.rows; j++) {
            long double exact = test_spectrum_value(spectrum, c->dtype, j, f.s.rows) * scale;
            long double bound = TEST_BOUND * test_epsilon(c->dtype) * (long double)(c->m + c->n) * scale;
            test_within(fabsl(creall(test_get(&f.s, 0, j, 0)) - exact), bound, "%s: spectrum %d", c->where, i);
        }
    }
    drop(&f);
}

/* U and Vh with different storage orders. */
static void check_mixed(const test_case *c) {
    factors f = make(c, true);
    test_drop(&f.vh);
    f.vh = test_make(c->dtype, c->n, c->n, c->items, false, c->layout == TEST_ROWS ? TEST_COLUMNS : TEST_ROWS);
    test_fill(&f.a, TEST_RANDOM, 7);
    check_factors(&f, c, true);
    drop(&f);
}

static void check_non_finite(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    factors f = make(&three, true);
    test_fill(&f.a, TEST_RANDOM, 3);
    test_call call = {.op = BP_OP_SVD, .fields.mode = BP_SVD_FULL, .operand = {&f.a, &f.u, &f.s, &f.vh}};
    test_non_finite(&three, &call, 3, INFINITY);
    test_non_finite(&three, &call, 3, NAN);
    drop(&f);
}

/* Elements at the limit of the range. The values may be out of range and are not checked, but gesdd must return. */
static void check_edge(const test_case *c) {
    long double most = test_real_of(c->dtype) == BP_F64 ? (long double)DBL_MAX : (long double)FLT_MAX;
    factors f = make(c, true);
    for (int64_t i = 0; i < c->m * c->n; i++) {
        test_set(&f.a, 0, i / c->n, i % c->n, test_is_complex(c->dtype) ? test_complex(most, -most) : most);
    }
    const test_call call = call_of(&f, true);
    bp_status status = test_run(c->instance, &call, NULL);
    assert_true(status == BP_OK || status == BP_E_NOT_CONVERGED || status == BP_E_INTERNAL);
    drop(&f);
}

/* A workspace of 4 n^2 elements exceeds 32 bits from n = 23170 on. No memory is accessed here. */
static void check_sizes(void *instance, const bp_library_info *row) {
    for (int64_t n = 23000; n <= 24000; n += 1000) {
        test_operand x = {.dtype = BP_F64, .rows = n, .columns = n, .row = 1, .column = n, .items = 1};
        test_operand s = {.dtype = BP_F64, .rows = n, .columns = 1, .row = 1, .items = 1};
        test_call call = {.op = BP_OP_SVD, .fields.mode = BP_SVD_REDUCED, .operand = {&x, &x, &s, &x}};
        bp_problem problem = test_problem(&call);
        bp_verdict verdict = test_verdict(&bp_provider_lapack, instance, &problem);
        bool fits = n == 23000 || row->int_bits == 64;
        assert_int_equal(verdict.reason, fits ? BP_REASON_ACCEPTED : BP_REASON_SIZE);
        call.operand[1] = call.operand[3] = NULL; /* values only need little workspace */
        problem = test_problem(&call);
        verdict = test_verdict(&bp_provider_lapack, instance, &problem);
        assert_int_equal(verdict.reason, BP_REASON_ACCEPTED);
    }
}

static void check_all(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_random);
    test_each_type(instance, row, 24, 24, check_kinds);
    test_each_type(instance, row, 30, 30, check_spectra);
    test_each_type(instance, row, 31, 12, check_spectra);
    test_each_type(instance, row, 6, 9, check_mixed);
    test_each_type(instance, row, 4, 4, check_non_finite);
    test_each_type(instance, row, 4, 4, check_edge);
}

static void check_library(void *instance, const bp_library_info *row) {
    check_all(instance, row);
    check_sizes(instance, row);
}

static void test_native(void **state) {
    (void)state;
    test_each_native(check_all);
}

static void test_factors(void **state) {
    (void)state;
    test_each_library(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
