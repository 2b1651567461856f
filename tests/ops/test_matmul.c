/* test_matmul.c - bp_matmul through the public interface: numpy.matmul's shapes, all layouts and types, compared with
 * sums in long double; and refusals with unchanged outputs. Runs on the library that dispatch chooses. */
#include "ops/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

static unsigned seed = 1;

/* Checks one product with operands of rank >= 2 in the given orders. */
static void check(bp_dtype dtype, int a_rank, const int64_t *a_shape, test_order a_order, int b_rank,
                  const int64_t *b_shape, test_order b_order, test_order c_order) {
    test_tensor a, b, c;
    int rank;
    int64_t shape[BP_MAX_NDIM];
    test_tensor_new(&a, dtype, a_rank, a_shape, a_order, &seed);
    test_tensor_new(&b, dtype, b_rank, b_shape, b_order, &seed);
    assert_int_equal(bp_matmul_shape(&a.view.tensor, &b.view.tensor, &rank, shape), BP_OK);
    test_tensor_new(&c, dtype, rank, shape, c_order, &seed);
    for (int again = 0; again < 2; again++) { /* the second call takes the fast path */
        assert_int_equal(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor), BP_OK);
        double error = test_product_error(&a.view.tensor, false, &b.view.tensor, false, 1, 0, NULL, &c.view.tensor);
        if (!(error <= 1.0)) {
            fail_msg("%s %dx%d orders %d %d %d: error is %g of its bound", bp_dtype_name(dtype),
                     (int)a_shape[a_rank - 2], (int)b_shape[b_rank - 1], a_order, b_order, c_order, error);
        }
        test_tensor_check_guards(&c);
    }
    test_tensor_free(&a);
    test_tensor_free(&b);
    test_tensor_free(&c);
}

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

static void all_layouts_and_types(void **state) {
    (void)state;
    for (int t = 0; t < DTYPES; t++) {
        for (int orders = 0; orders < ORDERS * ORDERS * ORDERS; orders++) {
            check(dtypes[t], 2, I64(5, 7), (test_order)(orders % ORDERS), 2, I64(7, 6),
                  (test_order)(orders / ORDERS % ORDERS), (test_order)(orders / ORDERS / ORDERS));
        }
    }
}

static void odd_sizes(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{0, 3, 2},    {3, 0, 2},    {3, 2, 0},    {0, 0, 0},   {1, 1, 1},
                                       {1, 9, 1},    {9, 1, 9},    {1, 5, 17},   {17, 5, 1},  {2, 3, 2},
                                       {31, 33, 29}, {64, 64, 64}, {65, 63, 67}, {3, 301, 2}, {130, 2, 70}};
    for (int t = 0; t < DTYPES; t++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t *s = sizes[i];
            check(dtypes[t], 2, I64(s[0], s[1]), ROW_MAJOR, 2, I64(s[1], s[2]), ROW_MAJOR, ROW_MAJOR);
            check(dtypes[t], 2, I64(s[0], s[1]), COLUMN_MAJOR, 2, I64(s[1], s[2]), PADDED, COLUMN_MAJOR);
        }
    }
}

static void batches_broadcast(void **state) {
    (void)state;
    for (int t = 0; t < DTYPES; t++) {
        check(dtypes[t], 3, I64(4, 3, 5), ROW_MAJOR, 3, I64(4, 5, 2), ROW_MAJOR, ROW_MAJOR);
        check(dtypes[t], 4, I64(5, 1, 3, 4), ROW_MAJOR, 3, I64(3, 4, 2), COLUMN_MAJOR, PADDED);
        check(dtypes[t], 3, I64(6, 3, 4), ROW_MAJOR, 2, I64(4, 5), ROW_MAJOR, ROW_MAJOR); /* the batch merges into m */
        check(dtypes[t], 3, I64(6, 1, 4), ROW_MAJOR, 2, I64(4, 5), ROW_MAJOR, ROW_MAJOR);
        check(dtypes[t], 2, I64(3, 4), ROW_MAJOR, 3, I64(6, 4, 1), ROW_MAJOR, COLUMN_MAJOR); /* the batch merges into n
                                                                                              */
        check(dtypes[t], 2, I64(3, 4), ROW_MAJOR, 4, I64(2, 3, 4, 5), REVERSED, EVERY_OTHER);
        check(dtypes[t], 3, I64(1, 3, 4), PADDED, 3, I64(7, 4, 2), PADDED, PADDED);
        check(dtypes[t], 3, I64(0, 3, 4), ROW_MAJOR, 2, I64(4, 2), ROW_MAJOR, ROW_MAJOR);
        check(dtypes[t], 6, I64(2, 1, 3, 1, 2, 3), PADDED, 5, I64(4, 1, 2, 3, 2), REVERSED, PADDED);
    }
}

static void vectors(void **state) {
    (void)state;
    double a[6] = {1, 2, 3, 4, 5, 6};
    double v[3] = {1, 10, 100};
    double w[2] = {1, 10};
    double out[3];
    bp_view A, V, W, O;
    bp_view_matrix(&A, a, BP_F64, 2, 3);
    bp_view_init(&V, v, BP_F64, 1, I64(3), NULL);
    bp_view_init(&W, w, BP_F64, 1, I64(2), NULL);
    bp_view_init(&O, out, BP_F64, 1, I64(2), NULL);
    assert_int_equal(bp_matmul(&A.tensor, &V.tensor, &O.tensor), BP_OK);
    assert_true(out[0] == 321 && out[1] == 654);
    bp_view_init(&O, out, BP_F64, 1, I64(3), NULL);
    assert_int_equal(bp_matmul(&W.tensor, &A.tensor, &O.tensor), BP_OK);
    assert_true(out[0] == 41 && out[1] == 52 && out[2] == 63);
    bp_view_init(&O, out, BP_F64, 0, NULL, NULL);
    assert_int_equal(bp_matmul(&V.tensor, &V.tensor, &O.tensor), BP_OK);
    assert_true(out[0] == 10101);
    assert_int_equal(bp_matmul(&O.tensor, &V.tensor, &O.tensor), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "scalar"));
}

static void overlapping_views_of_one_array(void **state) {
    (void)state;
    double m[8 * 8];
    for (int i = 0; i < 64; i++) {
        m[i] = i;
    }
    bp_view left, right, target;
    bp_view_init(&left, m, BP_F64, 2, I64(4, 4), I64(8, 1));
    bp_view_init(&right, m + 4, BP_F64, 2, I64(4, 4), I64(8, 1));
    bp_view_init(&target, m + 32, BP_F64, 2, I64(4, 4), I64(8, 1));
    assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &target.tensor),
                     BP_OK); /* panels of one matrix do not overlap */
    bp_view_init(&left, m, BP_F64, 2, I64(4, 4), I64(16, 2));
    bp_view_init(&right, m, BP_F64, 2, I64(4, 4), I64(16, 2));
    bp_view_init(&target, m + 1, BP_F64, 2, I64(4, 4), I64(16, 2));
    /* Even and odd columns do not overlap. */
    assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &target.tensor), BP_OK);
    double before[64];
    memcpy(before, m, sizeof m);
    bp_view_init(&target, m + 2, BP_F64, 2, I64(4, 4), I64(16, 2));
    assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &target.tensor), BP_E_OVERLAP);
    bp_view_init(&target, m, BP_F64, 2, I64(4, 4), I64(16, 2));
    assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &target.tensor), BP_E_OVERLAP);
    assert_memory_equal(before, m, sizeof m);
}

/* The fast path must refuse what the slow path refuses: same layout, other addresses. */
static void fast_path_checks_addresses(void **state) {
    (void)state;
    double m[64] = {0};
    double out[16];
    bp_view a, b, c;
    bp_view_matrix(&a, m, BP_F64, 4, 4);
    bp_view_matrix(&b, m + 16, BP_F64, 4, 4);
    bp_view_matrix(&c, out, BP_F64, 4, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
    }
    c.tensor.data = m + 8;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_OVERLAP);
    c.tensor.data = NULL;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_ARGUMENT);
    c.tensor.data = (char *)out + 4;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_LAYOUT);
    c.tensor.data = out;
    a.tensor.dtype.lanes = 2;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_DTYPE);
    a.tensor.dtype.lanes = 1;
    a.tensor.device.device_type = kDLCUDA;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_DEVICE);
    a.tensor.device.device_type = kDLCPU;
    a.shape[1] = 3;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "3 columns"));
    a.shape[1] = 4;
    assert_int_equal(bp_matmul(&a.tensor, NULL, &c.tensor), BP_E_ARGUMENT);
    memcpy(&a.tensor.device.device_type, &(uint32_t){0x8000 + kDLCPU}, sizeof a.tensor.device.device_type);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_DEVICE);
    a.tensor.device.device_type = kDLCPU;
    a.tensor.ndim = 0x10002;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_ARGUMENT);
    a.tensor.ndim = 2;
    a.tensor.shape = NULL;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_ARGUMENT);
    a.tensor.shape = a.shape;
    a.tensor.strides = NULL;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
}

static void refusals_name_what_is_wrong(void **state) {
    (void)state;
    float x[64];
    double d[64];
    int32_t n[64];
    bp_view a, b, c;
    bp_view_matrix(&a, x, BP_F32, 2, 3);
    bp_view_matrix(&b, d, BP_F64, 3, 2);
    bp_view_matrix(&c, x + 32, BP_F32, 2, 2);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_DTYPE);
    assert_non_null(strstr(bp_last_error(), "b is f64"));
    bp_view_matrix(&a, n, BP_I32, 2, 3);
    assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &a.tensor), BP_E_DTYPE);
    bp_view_matrix(&a, x, BP_F32, 2, 3);
    bp_view_matrix(&b, x + 16, BP_F32, 3, 2);
    bp_view_matrix(&c, x + 32, BP_F32, 3, 2);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "(2, 2)"));
    bp_view_init(&c, x + 32, BP_F32, 2, I64(2, 2), I64(0, 1));
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_OVERLAP);
    bp_view_init(&a, x, BP_F32, 3, I64(2, 2, 3), NULL);
    bp_view_init(&b, x + 16, BP_F32, 3, I64(3, 3, 2), NULL);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "broadcast"));
    int64_t huge[2] = {INT64_MAX / 2, INT64_MAX / 2};
    a.tensor.ndim = 2;
    memcpy(a.shape, huge, sizeof huge);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_OVERFLOW);
    a.tensor.ndim = 65;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_ARGUMENT);
    a.tensor.ndim = 2;
    a.shape[0] = -1;
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_E_SHAPE);
}

static void non_finite_values_propagate(void **state) {
    (void)state;
    double inf = strtod("inf", NULL);
    double a[4] = {inf, 0, 0, 1};
    double b[4] = {0, 1, 1, 0};
    double c[4];
    bp_view A, B, C;
    bp_view_matrix(&A, a, BP_F64, 2, 2);
    bp_view_matrix(&B, b, BP_F64, 2, 2);
    bp_view_matrix(&C, c, BP_F64, 2, 2);
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native"), BP_OK);
    assert_int_equal(bp_matmul(&A.tensor, &B.tensor, &C.tensor), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_true(c[0] != c[0]); /* inf * 0 */
    assert_true(c[1] == inf);
}

static int reset(void **state) {
    (void)state;
    assert_int_equal(bp_reset(), BP_OK);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts_and_types),
        cmocka_unit_test(odd_sizes),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(vectors),
        cmocka_unit_test(overlapping_views_of_one_array),
        cmocka_unit_test(fast_path_checks_addresses),
        cmocka_unit_test(refusals_name_what_is_wrong),
        cmocka_unit_test(non_finite_values_propagate),
    };
    return cmocka_run_group_tests(tests, NULL, reset);
}
