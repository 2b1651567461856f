/* test_cholesky.c - tests cholesky, cholesky_solve and cholesky_inverse on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

#include <math.h>
#include <stdlib.h>

#define BOUND 40

static const int64_t sizes[] = {1, 2, 9, 33, 70};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Returns a lower triangle as it is, and an upper one U as L = U^H. */
static number *lower_of(const test_operand *factor, int64_t item, bool upper) {
    number *as_is = test_item(factor, item);
    number *adjoint = upper ? test_adjoint(as_is, factor->rows, factor->rows, true) : NULL;
    if (adjoint) {
        free(as_is);
    }
    return adjoint ? adjoint : as_is;
}

static void hide_triangle(test_operand *x, bool upper) {
    for (int64_t item = 0; item < x->items; item++) {
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < i; j++) {
                test_set(x, item, upper ? i : j, upper ? j : i, NAN);
            }
        }
    }
}

/* Tests all operations. The triangle that must not be read is NaN in every input. */
static void whole_family(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t k, int64_t items,
                         test_layout in, test_layout out, bool upper) {
    test_operand a = test_make(dtype, n, n, items, false, in), l = test_make(dtype, n, n, items, false, out);
    test_operand b = test_make(dtype, n, k, items, true, in), x = test_make(dtype, n, k, items, false, out);
    test_operand inverse = test_make(dtype, n, n, items, false, out), info = test_make(BP_I32, 1, 1, items, false, 0);
    test_fill_definite(&a, 17);
    number *whole[4];
    for (int64_t item = 0; item < items; item++) {
        whole[item] = test_item(&a, item);
    }
    hide_triangle(&a, upper);
    test_fill(&b, TEST_RANDOM, 18);
    test_call call = {
        .op = BP_OP_CHOLESKY, .fields = {.upper = upper, .fail_on_item_error = 1}, .operand = {&a, &l, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < items; item++) {
        number *lower = lower_of(&l, item, upper), *adjoint = test_adjoint(lower, n, n, true);
        number *product = test_product(lower, adjoint, n, n, n);
        long double scale = (long double)n * test_epsilon(dtype) * test_norm(whole[item], n, n);
        test_within(test_distance(product, whole[item], n, n), BOUND * scale, "%s: potrf %d %s", where, (int)n,
                    bp_dtype_name(dtype));
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                assert_true(lower[i * n + j] == 0);
            }
        }
        free(lower), free(adjoint), free(product);
    }
    hide_triangle(&l, upper);
    call = (test_call){
        .op = BP_OP_CHOLESKY_SOLVE, .fields = {.upper = upper, .fail_on_item_error = 1}, .operand = {&b, &l, &x}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    call = (test_call){.op = BP_OP_CHOLESKY_INVERSE,
                       .fields = {.upper = upper, .fail_on_item_error = 1},
                       .operand = {&l, &inverse, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < items; item++) {
        number *xs = test_item(&x, item), *bs = test_item(&b, item), *is = test_item(&inverse, item);
        number *ax = test_product(whole[item], xs, n, n, k), *ai = test_product(whole[item], is, n, n, n);
        long double unit = BOUND * (long double)n * test_epsilon(dtype) * test_norm(whole[item], n, n);
        test_within(test_distance(ax, bs, n, k), unit * test_norm(xs, n, k), "%s: potrs %d %s", where, (int)n,
                    bp_dtype_name(dtype));
        for (int64_t i = 0; i < n; i++) {
            ai[i * n + i] -= 1;
            for (int64_t j = 0; j < n; j++) {
                assert_true(is[i * n + j] == conjl(is[j * n + i])); /* the mirrored triangle is equal bit for bit */
            }
        }
        test_within(test_norm(ai, n, n), unit * test_norm(is, n, n), "%s: potri %d %s", where, (int)n,
                    bp_dtype_name(dtype));
        free(xs), free(bs), free(is), free(ax), free(ai), free(whole[item]);
    }
    test_drop(&a), test_drop(&l), test_drop(&b), test_drop(&x), test_drop(&inverse), test_drop(&info);
}

static void check_family(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (test_layout layout = 0; layout < TEST_LAYOUTS; layout++) {
            for (int s = 0; s < SIZES; s++) {
                whole_family(instance, row->id, test_dtypes[d], sizes[s], 1 + s, 1 + s % 3, layout,
                             (layout + (unsigned)s) % TEST_LAYOUTS, s & 1);
                whole_family(instance, row->id, test_dtypes[d], sizes[s], 1 + s, 1, layout, layout, !(s & 1));
            }
        }
    }
}

static void test_cholesky_family(void **state) {
    (void)state;
    test_each_library(check_family);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cholesky_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
