/* test_reset.c - lifetimes of plans, explanations and the texts from bp_last_plan, across threads and resets.
 *
 * The candidates are the fakes of local.cmake. Sanitizers detect what the assertions cannot. */
#include "backplane.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double x[16], y[16], z[16];

static bp_status multiply(int64_t n) {
    bp_view a, b, c;
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&b, y, BP_F64, n, n);
    bp_view_matrix(&c, z, BP_F64, n, n);
    return bp_matmul(&a.tensor, &b.tensor, &c.tensor);
}

static bp_plan *plan_of(int64_t n, const bp_scalar *alpha) {
    bp_view a, b, c;
    bp_plan *plan;
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&b, y, BP_F64, n, n);
    bp_view_matrix(&c, z, BP_F64, n, n);
    assert_int_equal(bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, alpha, &a.tensor, &b.tensor, NULL, &c.tensor),
                     BP_OK);
    return plan;
}

/* ---- The last plan of a thread, while another thread drops it ---- */

enum { ROUNDS = 300 };
static _Atomic(bp_plan *) passed;
static atomic_bool dropped;

static void *drop_plans(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        bp_plan *plan;
        while (!(plan = atomic_exchange(&passed, NULL))) {
        }
        bp_plan_release(plan);
        atomic_store(&dropped, true);
    }
    return unused;
}

/* The list of plans is searched from the newest one, so that many newer plans leave time for the drop. */
static void last_plan_while_it_is_dropped(void **state) {
    (void)state;
    enum { NEWER = 3000 };
    pthread_t thread;
    static double own[3][4];
    static bp_plan *plans[ROUNDS + NEWER];
    assert_int_equal(bp_set_plan_cache_max_size(0), BP_OK);
    assert_int_equal(bp_set_blas_preferred("native"), BP_OK);
    for (int i = 0; i < ROUNDS + NEWER; i++) {
        plans[i] = plan_of(2, NULL);
    }
    assert_int_equal(pthread_create(&thread, NULL, drop_plans, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_execute(plans[i], (bp_operand[]){{own[0], 0}, {own[1], 0}, {own[2], 0}}, NULL), BP_OK);
        atomic_store(&dropped, false);
        atomic_store(&passed, plans[i]);
        while (!atomic_load(&dropped)) {
            bp_status status = bp_last_plan(&info);
            assert_true(status == BP_OK || status == BP_E_NOT_FOUND);
            assert_true(status != BP_OK || info.reason[0]);
        }
    }
    pthread_join(thread, NULL);
    for (int i = ROUNDS; i < ROUNDS + NEWER; i++) {
        bp_plan_release(plans[i]);
    }
}

/* ---- A reset while other threads exist ---- */

static pthread_barrier_t barrier;

static void *multiply_twice(void *unused) {
    bp_status first = multiply(2);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the reset */
    bp_status second = multiply(2);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* another reset */
    return first == BP_OK && second == BP_OK ? unused : &barrier;
}

static void resets_free_the_caches_of_living_threads(void **state) {
    (void)state;
    pthread_t thread;
    void *wrong;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, multiply_twice, NULL), 0);
    for (int i = 0; i < 2; i++) {
        pthread_barrier_wait(&barrier);
        assert_int_equal(bp_reset(), BP_OK);
        assert_int_equal(bp_set_allocator(NULL), BP_OK); /* no memory of the library may outlive it */
        pthread_barrier_wait(&barrier);
    }
    pthread_join(thread, &wrong);
    assert_null(wrong);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(bp_reset(), BP_OK);
}

static void explanations_prevent_a_reset(void **state) {
    (void)state;
    bp_view a;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_view_matrix(&a, x, BP_F64, 2, 2);
    bp_view c;
    bp_view_matrix(&c, z, BP_F64, 2, 2);
    assert_int_equal(bp_matmul_explain(&e, NULL, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "1 explanation"));
    assert_true(bp_explanation_at(e, 0, &info) && info.library[0]);
    bp_explanation_release(e);
    assert_int_equal(bp_reset(), BP_OK);
}

/* The texts from bp_last_plan stay valid until its next call, even if other plans fail and are replaced. */
static void descriptions_outlive_a_fallback(void **state) {
    (void)state;
    bp_plan_info first = {.struct_size = sizeof first}, second = {.struct_size = sizeof second};
    assert_int_equal(bp_set_dispatch_exclude("unplannable"), BP_OK);
    assert_int_equal(multiply(2), BP_OK); /* 'starving' is the cheapest, and fails */
    assert_int_equal(bp_last_plan(&first), BP_OK);
    assert_string_equal(first.library, "cheap");
    char reason[512];
    snprintf(reason, sizeof reason, "%s", first.reason);
    for (int n = 3; n < 5; n++) {
        assert_int_equal(multiply(n), BP_OK);
    }
    assert_string_equal(first.reason, reason);
    assert_int_equal(bp_last_plan(&second), BP_OK);
    assert_string_equal(second.library, "cheap");
}

/* ---- Plans ---- */

static void plans_for_other_factors_require_scalars(void **state) {
    (void)state;
    bp_scalar factors[2] = {{2, 0}, {0, 0}};
    assert_int_equal(bp_set_blas_preferred("native"), BP_OK);
    bp_plan *plan = plan_of(2, factors);
    x[0] = y[0] = 3;
    z[0] = -1;
    const bp_operand operands[] = {{x, 0}, {y, 0}, {z, 0}};
    bp_exec exec = {.struct_size = sizeof exec};
    assert_int_equal(bp_execute(plan, operands, NULL), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "scalars"));
    assert_int_equal(bp_execute(plan, operands, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "scalars"));
    assert_true(z[0] == -1);
    exec.scalars = factors;
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    assert_true(z[0] == 18);
    bp_plan_release(plan);
}

static void plans_report_their_alignment(void **state) {
    (void)state;
    static const struct {
        bp_dtype dtype;
        int alignment;
    } rows[] = {{BP_F16, 2}, {BP_F32, 4}, {BP_F64, 8}, {BP_C64, 4}, {BP_C128, 8}};
    assert_int_equal(bp_set_blas_preferred("native"), BP_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bp_view a, b, c;
        bp_plan *plan;
        bp_plan_info info = {.struct_size = sizeof info};
        bp_view_matrix(&a, NULL, rows[i].dtype, 2, 2);
        bp_view_matrix(&b, NULL, rows[i].dtype, 2, 2);
        bp_view_matrix(&c, NULL, rows[i].dtype, 2, 2);
        assert_int_equal(bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor), BP_OK);
        assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
        assert_int_equal(info.alignment, rows[i].alignment);
        bp_plan_release(plan);
    }
}

static void property_texts_need_a_buffer(void **state) {
    (void)state;
    char text[64];
    assert_string_equal(bp_properties_text(BP_PROPERTY_PACKS_A, text, sizeof text), "copies A first");
    assert_string_equal(bp_properties_text(BP_PROPERTY_PACKS_A, NULL, sizeof text), "");
    assert_string_equal(bp_properties_text(BP_PROPERTY_PACKS_A, text, 0), "");
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(last_plan_while_it_is_dropped, reset),
        cmocka_unit_test_setup(resets_free_the_caches_of_living_threads, reset),
        cmocka_unit_test_setup(explanations_prevent_a_reset, reset),
        cmocka_unit_test_setup(descriptions_outlive_a_fallback, reset),
        cmocka_unit_test_setup(plans_for_other_factors_require_scalars, reset),
        cmocka_unit_test_setup(plans_report_their_alignment, reset),
        cmocka_unit_test(property_texts_need_a_buffer),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-fakes", 1);
    setenv("BACKPLANE_DISPATCH_FALLBACK", "allow", 1);
    return cmocka_run_group_tests(tests, NULL, reset);
}
