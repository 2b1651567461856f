/* test_one_thread.c - tests that a candidate without memory for several threads is tried on one thread, before another
 * candidate runs in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"
#include "product.h"

#include <stdlib.h>
#include <string.h>

static double cost_of(const char *name) {
    return strcmp(name, "crowded") == 0 ? 0.5 : 0.25;
}

/* Runs a product, and returns the plan that ran. */
static bp_plan_info run(const char *preferred, const char *fallback) {
    bp_view v[3];
    bp_plan_info info = {.struct_size = sizeof info};
    fill();
    views(v);
    assert_int_equal(bp_set("blas.preferred", preferred), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", fallback), BP_OK);
    assert_int_equal(bp_matmul(&v[0].tensor, &v[1].tensor, &v[2].tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    return info;
}

/* It is the same library, so that a strict preference is satisfied. */
static void test_one_thread_is_tried(void **state) {
    static const char *const names[] = {"crowded", "crowded-plan"}, *const fallbacks[] = {"strict", "warn", "allow"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        const bp_plan_info info = run(names[i % 2], fallbacks[i / 2]);
        assert_string_equal(info.library, names[i % 2]);
        assert_int_equal(info.threads, 1);
        assert_non_null(strstr(info.reason, "has no memory on purpose; one thread was tried then"));
        assert_float_equal(c[0], cost_of(names[i % 2]), 0);
        assert_float_equal(c[ELEMENTS - 1], cost_of(names[i % 2]), 0);
    }
}

static uint64_t plans_made(void) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_cache_stats(&info), BP_OK);
    return info.misses;
}

/* Memory may have become free meanwhile. The plan is kept for a few runs at least, and not for ever. */
static void check_that_the_plan_is_made_again(const char *preferred) {
    enum { FEW = 3, MOST = 1000 * 1000 };
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    const uint64_t before = plans_made();
    for (int i = 0; i < FEW; i++) {
        run(preferred, "allow");
    }
    assert_int_equal(plans_made() - before, 1);
    for (int i = 0; i < MOST && plans_made() - before < FEW; i++) {
        run(preferred, "allow");
    }
    assert_int_equal(plans_made() - before, FEW);
}

static void test_a_plan_on_one_thread_is_made_again(void **state) {
    (void)state;
    check_that_the_plan_is_made_again("crowded-plan");
}

static void test_a_plan_of_another_candidate_is_made_again(void **state) {
    (void)state;
    assert_int_equal(bp_set("dispatch.exclude", "crowded-always"), BP_OK);
    check_that_the_plan_is_made_again("unplanned");
    assert_int_equal(bp_unset("dispatch.exclude"), BP_OK);
}

static void test_another_candidate_follows(void **state) {
    (void)state;
    const bp_plan_info info = run("crowded-always", "allow");
    assert_string_not_equal(info.library, "crowded-always");
    assert_float_equal(c[0], cost_of(info.library), 0);
}

static void test_a_strict_preference_fails(void **state) {
    bp_view v[3];
    (void)state;
    fill();
    views(v);
    assert_int_equal(bp_set("blas.preferred", "crowded-always"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "strict"), BP_OK);
    assert_int_equal(bp_matmul(&v[0].tensor, &v[1].tensor, &v[2].tensor), BP_E_NO_MEMORY);
    assert_non_null(strstr(bp_last_error(), "crowded-always has no memory on purpose"));
    assert_memory_equal(c, expected, sizeof c);
}

/* A plan keeps its candidate and its threads. */
static void test_a_held_plan_fails(void **state) {
    bp_view v[3];
    bp_plan *plan;
    const bp_operand operands[] = {{.base = a}, {.base = b}, {.base = c}};
    (void)state;
    fill();
    views(v);
    assert_int_equal(bp_set("blas.preferred", "crowded"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "allow"), BP_OK);
    assert_int_equal(
        bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &v[0].tensor, &v[1].tensor, NULL, &v[2].tensor), BP_OK);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_E_NO_MEMORY);
    assert_memory_equal(c, expected, sizeof c);
    bp_plan_release(plan);
}

static int set_up(void **state) {
    (void)state;
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-crowded", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    return bp_reset() == BP_OK && bp_set("num_threads", "2") == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_is_tried),
        cmocka_unit_test(test_a_plan_on_one_thread_is_made_again),
        cmocka_unit_test(test_a_plan_of_another_candidate_is_made_again),
        cmocka_unit_test(test_another_candidate_follows),
        cmocka_unit_test(test_a_strict_preference_fails),
        cmocka_unit_test(test_a_held_plan_fails),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
