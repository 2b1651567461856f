/* test_example.c - tests the example of examples/provider/, built out of tree, through the public API: listed, chosen
 * if preferred, exact. */
#include "backplane.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define EXAMPLE BP_TEST_BUILD_DIR "/tests/modules-example/build"

static int start(void **state) {
    (void)state;
    if (access(EXAMPLE "/example.so", F_OK) != 0) {
        fprintf(stderr, "the test modules_example_build makes %s first\n", EXAMPLE "/example.so");
        return -1;
    }
    setenv("BACKPLANE_PROVIDER_PATH", EXAMPLE, 1);
    setenv("BACKPLANE_BLAS_PREFERRED", "kahan", 1);
    setenv("BACKPLANE_DISPATCH_FALLBACK", "strict", 1);
    return bp_reset() == BP_OK ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

static void test_is_listed(void **state) {
    (void)state;
    bp_provider_info info = {.struct_size = sizeof info};
    int index = 0;
    while (bp_provider_at(index, &info) && strcmp(info.name, "kahan") != 0) {
        index++;
    }
    assert_string_equal(info.name, "kahan");
    assert_int_equal(info.status, BP_OK);
    assert_string_equal(info.path, EXAMPLE "/example.so");
}

static void multiply(double *a, double *b, double *c, int64_t m, int64_t k, int64_t n) {
    bp_view x, y, z;
    bp_plan_info plan = {.struct_size = sizeof plan};
    assert_int_equal(bp_view_matrix(&x, a, BP_F64, m, k), BP_OK);
    assert_int_equal(bp_view_matrix(&y, b, BP_F64, k, n), BP_OK);
    assert_int_equal(bp_view_matrix(&z, c, BP_F64, m, n), BP_OK);
    assert_int_equal(bp_matmul(&x.tensor, &y.tensor, &z.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&plan), BP_OK);
    assert_string_equal(plan.provider, "kahan");
}

/* A plain sum loses the ones; the compensated sum keeps them. */
static void test_is_exact(void **state) {
    (void)state;
    double a[] = {1e16, 1, 1, -1e16, 3, 1e-20};
    double b[] = {1, 1, 1, 1, 0.5, 1e20};
    double c[1];
    multiply(a, b, c, 1, 6, 1);
    assert_true(c[0] == 4.5);
}

/* More than twice the digits of a double: on 64-bit ARM long double is such a type. */
#if __LDBL_MANT_DIG__ >= 113
typedef long double quad;
#else
typedef __float128 quad;
#endif

static double exact_value(const double *a, const double *b, int64_t k, int64_t n) {
    quad sum = 0;
    for (int64_t p = 0; p < k; p++) {
        sum += (quad)a[p] * (quad)b[p * n];
    }
    return (double)sum;
}

static void test_results_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { M = 37, K = 53, N = 11 };
    static double a[M * K], b[K * N], one[M * N], many[M * N];
    srand(3);
    for (int i = 0; i < M * K; i++) {
        a[i] = ldexp((double)rand() / RAND_MAX - 0.5, rand() % 40);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = ldexp((double)rand() / RAND_MAX - 0.5, rand() % 40);
    }
    assert_int_equal(bp_set_num_threads(1), BP_OK);
    multiply(a, b, one, M, K, N);
    for (int64_t threads = 2; threads < 8; threads += 2) {
        assert_int_equal(bp_set_num_threads(threads), BP_OK);
        memset(many, 0xff, sizeof many);
        multiply(a, b, many, M, K, N);
        assert_memory_equal(one, many, sizeof one);
    }
    assert_int_equal(bp_unset("num_threads"), BP_OK);
    for (int i = 0; i < M * N; i++) {
        double expected = exact_value(a + i / N * K, b + i % N, K, N);
        assert_true(fabs(one[i] - expected) <= ldexp(fabs(expected), -52));
    }
}

static void test_not_finite(void **state) {
    (void)state;
    double a[] = {1, (double)INFINITY, 2, (double)NAN, -1, 2, 0, 0, 0};
    double b[] = {1, 1, 1};
    double c[3];
    multiply(a, b, c, 3, 3, 1);
    assert_true(isinf(c[0]) && c[0] > 0);
    assert_true(isnan(c[1]));
    assert_true(c[2] == 0);
}

/* Transposed, reversed, batched with broadcasting, accumulated: against the definition. */
static void test_strides_and_batches(void **state) {
    (void)state;
    double a[2 * 3 * 4], b[4 * 5], c[2 * 3 * 5], old[2 * 3 * 5];
    for (int i = 0; i < 24; i++) {
        a[i] = i - 7;
    }
    for (int i = 0; i < 20; i++) {
        b[i] = 3 * i + 1;
    }
    for (int i = 0; i < 30; i++) {
        c[i] = old[i] = i;
    }
    bp_view x, y, z;
    /* A is stored with its rows last and backwards; B has one batch item for both. */
    assert_int_equal(bp_view_init(&x, a + 2, BP_F64, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, -1, 3}), BP_OK);
    assert_int_equal(bp_view_init(&y, b, BP_F64, 3, (int64_t[]){1, 4, 5}, NULL), BP_OK);
    assert_int_equal(bp_view_init(&z, c, BP_F64, 3, (int64_t[]){2, 3, 5}, NULL), BP_OK);
    bp_scalar alpha = {2, 0}, beta = {-1, 0};
    assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &alpha, &x.tensor, &y.tensor, &beta, &z.tensor), BP_OK);
    for (int i = 0; i < 30; i++) {
        double sum = 0;
        for (int p = 0; p < 4; p++) {
            sum += a[2 + i / 15 * 12 - i / 5 % 3 + p * 3] * b[p * 5 + i % 5];
        }
        assert_true(c[i] == 2 * sum - old[i]);
    }
}

static void test_refuses_other_types(void **state) {
    (void)state;
    float data[3] = {1, 2, 3};
    bp_view x, y, z;
    bp_view_matrix(&x, data, BP_F32, 1, 1);
    bp_view_matrix(&y, data + 1, BP_F32, 1, 1);
    bp_view_matrix(&z, data + 2, BP_F32, 1, 1);
    bp_status status = bp_matmul(&x.tensor, &y.tensor, &z.tensor);
    assert_true(status == BP_E_FALLBACK || status == BP_E_NO_CANDIDATE);
    assert_non_null(strstr(bp_last_error(), "kahan"));
    assert_true(data[2] == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_listed),
        cmocka_unit_test(test_is_exact),
        cmocka_unit_test(test_results_do_not_depend_on_threads),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_strides_and_batches),
        cmocka_unit_test(test_refuses_other_types),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
