/* test_qr.c - tests qr in its three modes on every LAPACK library of this machine. */
#include "lapack/support_spectra.h"

#include <math.h>

static const bp_linalg_mode modes[] = {BP_QR_REDUCED, BP_QR_COMPLETE, BP_QR_R};

static void check_zeros(const test_operand *r) {
    for (int64_t i = 0; i < r->items * r->rows * r->columns; i++) {
        const int64_t row = i / r->columns % r->rows, column = i % r->columns;
        assert_true(column >= row || test_get(r, i / r->columns / r->rows, row, column) == 0);
    }
}

static void factor(const test_case *c, void (*fill)(test_operand *x)) {
    int64_t k = c->m < c->n ? c->m : c->n;
    test_operand a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout);
    fill(&a);
    for (int i = 0; i < 3; i++) {
        bool complete = modes[i] == BP_QR_COMPLETE, only_r = modes[i] == BP_QR_R;
        test_operand q = test_make(c->dtype, c->m, complete ? c->m : k, c->items, false, c->layout);
        test_operand r = test_make(c->dtype, complete ? c->m : k, c->n, c->items, false, c->layout);
        test_call call = {.op = BP_OP_QR, .fields.mode = (uint8_t)modes[i], .fields.fail_on_item_error = 1};
        call.operand[0] = &a;
        call.operand[1] = only_r ? NULL : &q;
        call.operand[2] = &r;
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        test_equations(&call, c->where);
        check_zeros(&r);
        test_drop(&q), test_drop(&r);
    }
    test_drop(&a);
}

static test_kind kind;

static void fill_kind(test_operand *x) {
    test_fill(x, kind, 11);
}

static void check_random(const test_case *c) {
    kind = TEST_RANDOM;
    factor(c, fill_kind);
}

static void check_kinds(const test_case *c) {
    for (kind = 0; kind < TEST_KINDS; kind++) {
        factor(c, fill_kind);
    }
}

static void fill_zero(test_operand *x) {
    for (int64_t i = 0; i < x->rows * x->columns; i++) {
        test_set(x, 0, i / x->columns, i % x->columns, 0);
    }
}

static void check_zero(const test_case *c) {
    factor(c, fill_zero);
}

static void check_non_finite(const test_case *c) {
    test_operand a = test_make(c->dtype, 6, 4, 3, false, c->layout), q = test_make(c->dtype, 6, 4, 3, false, c->layout);
    test_operand r = test_make(c->dtype, 4, 4, 3, false, c->layout);
    test_fill(&a, TEST_RANDOM, 3);
    test_call call = {.op = BP_OP_QR, .fields.mode = BP_QR_REDUCED, .operand = {&a, &q, &r}};
    test_non_finite(c, &call, 2, NAN);
    test_non_finite(c, &call, 2, -INFINITY);
    test_drop(&a), test_drop(&q), test_drop(&r);
}

static void check_library(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_random);
    test_each_type(instance, row, 24, 24, check_kinds);
    test_each_type(instance, row, 20, 13, check_kinds);
    test_each_type(instance, row, 5, 4, check_zero);
    test_each_type(instance, row, 6, 4, check_non_finite);
}

static void test_factors(void **state) {
    (void)state;
    test_each_library(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
