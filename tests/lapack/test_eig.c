/* test_eig.c - tests eigenvalues and right eigenvectors of square matrices on every LAPACK library of this machine. */
#include "lapack/support_spectra.h"

#include <math.h>

typedef struct factors {
    test_operand a, w, v;
} factors;

static factors make(const test_case *c) {
    bp_dtype out = test_real_of(c->dtype) == BP_F64 ? BP_C128 : BP_C64;
    return (factors){
        .a = test_make(c->dtype, c->n, c->n, c->items, false, c->layout),
        .w = test_make(out, c->n, 1, c->items, false, c->layout),
        .v = test_make(out, c->n, c->n, c->items, false, c->layout),
    };
}

static void drop(factors *f) {
    test_drop(&f->a), test_drop(&f->w), test_drop(&f->v);
}

/* Checks that each column has norm one, up to the error of a sum of n squares. */
static void check_columns(const factors *f, int64_t item, const test_case *c) {
    for (int64_t j = 0; j < c->n; j++) {
        long double sum = 0;
        for (int64_t i = 0; i < c->n; i++) {
            const number x = test_get(&f->v, item, i, j);
            sum += creall(x * conjl(x));
        }
        test_within(fabsl(sum - 1), TEST_BOUND * (long double)c->n * test_epsilon(c->dtype), "%s: length", c->where);
    }
}

/* Checks that eigenvalues of a real matrix are real, or pairs with the positive imaginary part first. */
static void check_pairs(const factors *f, int64_t item, const test_case *c) {
    for (int64_t j = 0; j < c->n && !test_is_complex(c->dtype); j++) {
        const number w = test_get(&f->w, item, j, 0);
        const bool paired = cimagl(w) != 0;
        for (int64_t i = 0; i < c->n; i++) {
            const number x = test_get(&f->v, item, i, j);
            assert_true(paired ? x == conjl(test_get(&f->v, item, i, j + 1)) : cimagl(x) == 0);
        }
        assert_true(!paired || (cimagl(w) > 0 && test_get(&f->w, item, j + 1, 0) == conjl(w)));
        j += paired;
    }
}

/* Also checks the sums of the values: of the call with vectors, and of one without. */
static void factor(const test_case *c, factors *f) {
    test_call call = {.op = BP_OP_EIG, .fields.fail_on_item_error = 1, .operand = {&f->a, &f->w, &f->v}};
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
    for (int64_t item = 0; item < c->items; item++) {
        check_columns(f, item, c);
        check_pairs(f, item, c);
    }
    call.operand[2] = NULL;
    test_equations(&call, c->where);
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    test_equations(&call, c->where);
}

static void check_random(const test_case *c) {
    factors f = make(c);
    test_fill(&f.a, TEST_RANDOM, 4);
    factor(c, &f);
    drop(&f);
}

/* Backward errors are relative to the norm of A after balancing, which may be larger for graded matrices. These are
 * omitted. */
static void check_kinds(const test_case *c) {
    factors f = make(c);
    for (test_kind kind = 0; kind < TEST_KINDS; kind++) {
        if (kind != TEST_GRADED) {
            test_fill(&f.a, kind, 4);
            factor(c, &f);
        }
    }
    drop(&f);
}

/* A Jordan block, whose eigenvalues are all equal and share one eigenvector; and a rotation. */
static void check_defective(const test_case *c) {
    factors f = make(c);
    for (int rotation = 0; rotation < 2; rotation++) {
        for (int64_t i = 0; i < c->n * c->n; i++) {
            int64_t row = i / c->n, column = i % c->n;
            int next = rotation ? column == (row + 1) % c->n : column == row + 1;
            test_set(&f.a, 0, row, column, next ? 1 : row == column && !rotation ? 0.5L : 0);
        }
        factor(c, &f);
    }
    drop(&f);
}

static void check_scales(const test_case *c) {
    bool wide = test_real_of(c->dtype) == BP_F64;
    const long double scales[] = {wide ? 1e300L : 1e36L, wide ? 1e-300L : 1e-36L};
    factors f = make(c);
    for (int i = 0; i < 2; i++) {
        test_fill_spectrum(&f.a, TEST_SPREAD, scales[i], 3);
        factor(c, &f);
    }
    drop(&f);
}

static void check_non_finite(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    factors f = make(&three);
    test_fill(&f.a, TEST_RANDOM, 3);
    test_call call = {.op = BP_OP_EIG, .operand = {&f.a, &f.w, &f.v}};
    test_non_finite(&three, &call, 2, NAN);
    test_non_finite(&three, &call, 2, INFINITY);
    drop(&f);
}

/* A library with wrong eigenvalues in the probe is refused for the types that were wrong. */
static void check_refused(void *instance, const bp_library_info *row) {
    for (int i = 0; i < 4; i++) {
        bool faulty = row->faulty & BP_CHECK_BIT(BP_CHECK_EIG, test_dtypes[i]);
        const test_case c = {
            .instance = instance, .dtype = test_dtypes[i], .n = 5, .items = 1, .layout = TEST_ROWS, .where = row->id};
        bp_verdict verdict;
        factors f = make(&c);
        test_fill(&f.a, TEST_RANDOM, 4);
        test_call call = {.op = BP_OP_EIG, .operand = {&f.a, &f.w, &f.v}};
        assert_int_equal(test_run(instance, &call, &verdict), faulty ? BP_E_UNSUPPORTED : BP_OK);
        assert_int_equal(verdict.reason, faulty ? BP_REASON_BROKEN : BP_REASON_ACCEPTED);
        drop(&f);
    }
}

static void check_library(void *instance, const bp_library_info *row) {
    check_refused(instance, row);
    if (row->faulty & UINT64_C(15) << 4 * BP_CHECK_EIG) {
        return;
    }
    test_each_case(instance, row, true, check_random);
    test_each_type(instance, row, 24, 24, check_kinds);
    test_each_type(instance, row, 9, 9, check_defective);
    test_each_type(instance, row, 12, 12, check_scales);
    test_each_type(instance, row, 5, 5, check_non_finite);
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
