/* test_last_plan.c - bp_last_plan after calls of every family with an empty result: it must not return the plan of the
 * call before. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double memory[64];

/* Initializes a view in place, because it contains pointers to itself. */
static void view(bp_view *made, bp_dtype dtype, int ndim, const int64_t *shape) {
    assert_int_equal(bp_view_init(made, memory, dtype, ndim, shape, NULL), BP_OK);
}
#define VIEW(name, dtype, ...)                                                                                         \
    bp_view name;                                                                                                      \
    view(&name, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})

static void empty_matmul(void) {
    VIEW(a, BP_F64, 0, 4);
    VIEW(b, BP_F64, 4, 5);
    VIEW(c, BP_F64, 0, 5);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
}

static void empty_gemm(void) {
    VIEW(a, BP_F32, 3, 4);
    VIEW(b, BP_F32, 4, 0);
    VIEW(c, BP_F32, 3, 0);
    const bp_scalar two = {2, 0};
    assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &two, &a.tensor, &b.tensor, &two, &c.tensor), BP_OK);
}

static void empty_fft(void) {
    VIEW(x, BP_C128, 0, 8);
    VIEW(y, BP_C128, 0, 8);
    assert_int_equal(bp_fft(&x.tensor, 8, 1, BP_FFT_BACKWARD, &y.tensor), BP_OK);
}

static void empty_rfft(void) {
    VIEW(x, BP_F64, 2, 0, 8);
    VIEW(y, BP_C128, 2, 0, 5);
    assert_int_equal(bp_rfft(&x.tensor, 8, 2, BP_FFT_ORTHO, &y.tensor), BP_OK);
}

static void empty_inverse(void) {
    VIEW(a, BP_F64, 0, 0);
    VIEW(x, BP_F64, 0, 0);
    assert_int_equal(bp_inv(&a.tensor, &x.tensor), BP_OK);
}

static void empty_batch(void) {
    VIEW(a, BP_F32, 0, 3, 3);
    VIEW(w, BP_F32, 0, 3);
    assert_int_equal(bp_eigvalsh(&a.tensor, 0, &w.tensor), BP_OK);
}

static void empty_least_squares(void) {
    VIEW(a, BP_F64, 3, 2);
    VIEW(b, BP_F64, 3, 0);
    VIEW(x, BP_F64, 2, 0);
    assert_int_equal(bp_lstsq(&a.tensor, &b.tensor, NULL, BP_LSTSQ_GELS, &x.tensor, NULL, NULL, NULL), BP_OK);
}

static void (*const empty_calls[])(void) = {empty_matmul,  empty_gemm,  empty_fft,          empty_rfft,
                                            empty_inverse, empty_batch, empty_least_squares};

static void multiply(void) {
    static double out[4];
    VIEW(a, BP_F64, 2, 2);
    bp_view c;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_view_matrix(&c, out, BP_F64, 2, 2), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_non_null(strstr(info.problem, "f64 2x2 @ 2x2"));
}

static void an_empty_result_has_no_plan(void **state) {
    (void)state;
    bp_plan_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < sizeof empty_calls / sizeof *empty_calls; i++) {
        multiply();
        for (int again = 0; again < 2; again++) {
            empty_calls[i]();
            assert_int_equal(bp_last_plan(&info), BP_E_NOT_FOUND);
            assert_non_null(strstr(bp_last_error(), "had an empty result"));
        }
    }
    multiply();
}

/* A plan writes a non-empty result of empty input; einsum always has a plan. */
static void nonempty_results_have_a_plan(void **state) {
    (void)state;
    bp_plan_info info = {.struct_size = sizeof info};
    VIEW(a, BP_F64, 0, 0);
    VIEW(b, BP_F64, 0, 4);
    VIEW(c, BP_F64, 4, 5);
    VIEW(none, BP_F64, 0, 5);
    bp_view det;
    double value = 7;
    assert_int_equal(bp_view_init(&det, &value, BP_F64, 0, NULL, NULL), BP_OK);
    multiply();
    assert_int_equal(bp_det(&a.tensor, &det.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.operation, "det");
    assert_string_equal(info.algorithm, "nothing to do");
    assert_true(value == 1);
    multiply();
    assert_int_equal(bp_einsum("ij,jk->ik", 2, (const DLTensor *[]){&b.tensor, &c.tensor}, &none.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.operation, "einsum");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_result_has_no_plan),
        cmocka_unit_test(nonempty_results_have_a_plan),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
