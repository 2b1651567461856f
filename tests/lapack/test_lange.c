/* test_lange.c - tests on a fake library when the result of lange is used for a sum norm, when it is replaced, and
 * when lange is not called. */
#include "lapack/support_fake.h"

#include <float.h>
#include <math.h>

static const double orders[] = {0, 1, -1, INFINITY, -INFINITY}; /* 0: fro */

/* Returns the norm of a 3 x 2 matrix whose elements are all `value`, if the library returns `answer`. */
static double norm_of(void *instance, bp_dtype dtype, double order, double value, double answer) {
    test_operand a = test_make(dtype, 3, 2, 1, false, TEST_ROWS), norm;
    norm = test_make(test_real_of(dtype), 1, 1, 1, false, TEST_ROWS);
    for (int64_t i = 0; i < 6; i++) {
        test_set(&a, 0, i / 2, i % 2, value);
    }
    test_call call = {.op = BP_OP_MATRIX_NORM, .operand = {&a, &norm}};
    call.fields.mode = order == 0 ? BP_NORM_FRO : BP_NORM_P;
    call.fields.order = order;
    call.fields.fail_on_item_error = 1;
    library.known_count = 2;
    library.known[1] = (test_area){"a", a.array.block, a.array.block + a.array.bytes};
    library.complaint[0] = 0;
    library.calls = 0;
    library.norm = answer;
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    assert_string_equal(library.complaint, "");
    double got = (double)creall(test_get(&norm, 0, 0, 0));
    test_drop(&a), test_drop(&norm);
    return got;
}

/* Returns the exact norm: lines have 3 elements in columns, 2 in rows. */
static double exact(double order, double value) {
    return fabs(value) * (order == 0 ? sqrt(6) : fabs(order) == 1 ? 3 : 2);
}

static void check_answers(void *instance, bp_dtype dtype) {
    bool wide = test_real_of(dtype) == BP_F64;
    const double lost[] = {0, NAN, INFINITY, wide ? DBL_MIN / 4 : (double)FLT_MIN / 4};
    for (int o = 0; o < 5; o++) {
        assert_true(norm_of(instance, dtype, orders[o], -2, 5) == 5); /* the library's result */
        assert_int_equal(library.calls, 1 + (orders[o] == -1          ? 2
                                             : orders[o] == -INFINITY ? 3
                                                                      : 1)); /* and the plan's call */
        for (int i = 0; i < 4; i++) {
            double got = norm_of(instance, dtype, orders[o], -2, lost[i]), want = exact(orders[o], 2);
            assert_true(fabs(got - want) <= (double)test_epsilon(dtype) * want);
        }
    }
}

/* Only the plan calls lange; the library never sees these elements. */
static void check_not_finite(void *instance, bp_dtype dtype) {
    for (int o = 0; o < 5; o++) {
        assert_true(isnan(norm_of(instance, dtype, orders[o], NAN, 5)));
        assert_int_equal(library.calls, 1);
        assert_true(isinf(norm_of(instance, dtype, orders[o], -INFINITY, 5)));
        assert_int_equal(library.calls, 1);
    }
}

static void results_of_lange_are_checked(void **state) {
    (void)state;
    for (int bits = 32; bits <= 64; bits += 32) {
        void *instance = test_open_fake(bits);
        for (int i = 0; i < 4; i++) {
            check_answers(instance, test_dtypes[i]);
            check_not_finite(instance, test_dtypes[i]);
        }
        bp_provider_lapack.close(instance);
    }
}

/* A library translated by f2c, and one that is wrong with both return types. */
static void return_type_of_lange_is_detected(void **state) {
    (void)state;
    void *instance = test_open_fake(32);
    library.by_f2c = true;
    for (int i = 0; i < 4; i++) {
        test_operand a = test_make(test_dtypes[i], 3, 2, 1, false, TEST_ROWS), norm;
        norm = test_make(test_real_of(test_dtypes[i]), 1, 1, 1, false, TEST_ROWS);
        test_fill(&a, TEST_RANDOM, 5);
        test_call call = {.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_FRO, .operand = {&a, &norm}};
        library.known_count = 2;
        library.known[1] = (test_area){"a", a.array.block, a.array.block + a.array.bytes};
        library.norm = 5;
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_true(creall(test_get(&norm, 0, 0, 0)) == 5);
        library.wrong = true;
        assert_int_equal(test_run(instance, &call, NULL), BP_E_UNSUPPORTED);
        library.wrong = false;
        test_drop(&a), test_drop(&norm);
    }
    library.by_f2c = false;
    bp_provider_lapack.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_lange_are_checked),
        cmocka_unit_test(return_type_of_lange_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
