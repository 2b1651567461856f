/* test_algorithms.c - candidates with several algorithms.
 *
 * Each algorithm is chosen, named in settings, excluded and explained separately. A failure counts for the algorithm
 * that failed, at any position of the list. The providers are native and the ones in several_provider.c. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, z[9];
static bp_view a, c;

static bp_status multiply(const char *settings) {
    bp_scope *scope;
    memset(z, 0, sizeof z);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return status;
}

static bp_plan_info last(void) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    return info;
}

static void a_failing_algorithm_leaves_the_others(void **state) {
    (void)state;
    assert_int_equal(multiply("blas.preferred=several"), BP_OK);
    assert_true(z[8] == 101);
    assert_string_equal(last().library, "several");
    assert_string_equal(last().algorithm, "working second");
    assert_int_equal(multiply("blas.preferred=several, dispatch.fallback=strict"), BP_E_NO_MEMORY);
    assert_non_null(strstr(bp_last_error(), "number 100"));
}

/* The seventieth candidate is the cheapest and fails when it runs. The next cheapest must run, and no other candidate
 * may be skipped. */
static void candidates_beyond_sixty_four_fall_back(void **state) {
    (void)state;
    assert_int_equal(multiply("dispatch.exclude=\"several, native\""), BP_OK);
    assert_true(z[0] == 68);
    assert_string_equal(last().library, "p68");
    assert_int_equal(multiply("dispatch.exclude=\"several, native, p68\""), BP_OK);
    assert_true(z[0] == 67);
}

static void settings_name_algorithms(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        double number;
    } cases[] = {
        {"blas.preferred=several:slow", 102},
        {"blas.preferred=several:working", 101},
        {"blas.preferred=\"several:working second\"", 101},
        {"blas.preferred=:slow", 102},
        {"blas.preferred=several:several:slow", 102},
        {"blas.preferred=several, dispatch.exclude=several:starving", 101},
        {"blas.preferred=several, dispatch.exclude=\"several:starving, several:working\"", 102},
        {"blas.preferred=several, dispatch.exclude=\":starving, :working second\"", 102},
        {"dispatch.exclude=\":fake, :starving, native\"", 101},
        {"blas.preferred=several, deterministic=threads", 102}, /* the only one with the guarantee */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(multiply(cases[i].settings), BP_OK);
        assert_true(z[4] == cases[i].number);
    }
    assert_int_equal(multiply("blas.preferred=several:slow"), BP_OK);
    assert_non_null(strstr(last().reason, "blas.preferred=several:slow"));
    assert_int_equal(multiply("blas.preferred=native:packed"), BP_OK);
    assert_string_equal(last().library, "native");
    assert_int_equal(strncmp(last().algorithm, "packed ", 7), 0);
}

static void an_unknown_algorithm_is_reported(void **state) {
    (void)state;
    assert_int_equal(multiply("blas.preferred=several:sloww, dispatch.fallback=strict"), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "no such algorithm"));
    assert_non_null(strstr(bp_last_error(), "'working second'"));
    assert_int_equal(multiply("blas.preferred=absent:slow, dispatch.fallback=strict"), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "absent"));
    assert_int_equal(multiply("blas.preferred=several:slo, dispatch.fallback=allow"), BP_OK); /* not a whole word */
    assert_true(z[0] != 102);
}

static void explanations_show_each_algorithm(void **state) {
    (void)state;
    bp_options *options;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_options_new(&options, "dispatch.exclude=several:starving"), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    int seen = 0, devices = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, "several") == 0) {
            static const char *const algorithms[] = {"starving first", "working second", "slow"};
            assert_string_equal(info.algorithm, algorithms[seen]);
            assert_int_equal(info.accepted, seen > 0);
            assert_int_equal(info.chosen, seen == 1);
            assert_int_equal(info.reason, seen == 0 ? BP_REASON_EXCLUDED : BP_REASON_ACCEPTED);
            seen++;
        } else if (strcmp(info.library, "elsewhere") == 0) {
            assert_int_equal(info.reason, BP_REASON_OP); /* of no interest on the host */
            devices++;
        }
    }
    assert_int_equal(seen, 3);
    assert_int_equal(devices, 1); /* a provider for devices is listed; its cost of 0 must not matter */
    bp_explanation_release(e);
    bp_options_release(options);
}

/* An invalid offer is refused with a reason; the other offers stay valid. */
static void invalid_offers_are_refused(void **state) {
    (void)state;
    static double in[18], out[18];
    bp_view factor, product;
    bp_options *options;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_view_matrix(&factor, in, BP_C128, 3, 3);
    bp_view_matrix(&product, out, BP_C128, 3, 3);
    assert_int_equal(bp_options_new(&options, "blas.preferred=careless"), BP_OK);
    assert_int_equal(bp_matmul_run(options, &factor.tensor, &factor.tensor, &product.tensor), BP_OK);
    assert_true(out[0] == 301);
    assert_string_equal(last().library, "careless");
    assert_string_equal(last().algorithm, "");
    assert_int_equal(bp_matmul_explain(&e, options, &factor.tensor, &factor.tensor, &product.tensor), BP_OK);
    static const struct {
        const char *algorithm;
        bp_reason reason;
    } expected[] = {{"", BP_REASON_OTHER},
                    {"unknown", BP_REASON_OTHER},
                    {"starving", BP_REASON_ACCEPTED},
                    {"", BP_REASON_ACCEPTED}};
    size_t seen = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, "careless") == 0) {
            assert_true(seen < sizeof expected / sizeof *expected);
            assert_string_equal(info.algorithm, expected[seen].algorithm);
            assert_int_equal(info.reason, expected[seen].reason);
            assert_true(info.accepted || strstr(info.text, "violates the interface"));
            seen++;
        }
    }
    assert_int_equal(seen, sizeof expected / sizeof *expected);
    bp_explanation_release(e);
    bp_options_release(options);
    assert_int_equal(bp_options_new(&options, "dispatch.exclude=\":careless\""), BP_OK);
    assert_int_equal(bp_matmul_run(options, &factor.tensor, &factor.tensor, &product.tensor), BP_OK);
    assert_string_equal(last().library, "native");
    bp_options_release(options);
}

static void scratch_of_tasks_is_separate_from_the_workspace(void **state) {
    (void)state;
    static float in[18], out[18];
    bp_view factor, product;
    bp_scope *scope;
    bp_view_matrix(&factor, in, BP_C64, 3, 3);
    bp_view_matrix(&product, out, BP_C64, 3, 3);
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=sharing, num_threads=2"), BP_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_matmul(&factor.tensor, &factor.tensor, &product.tensor), BP_OK);
        assert_string_equal(last().library, "sharing");
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

/* Each attempt fails, and none repeats the algorithm that failed before. */
static void a_provider_that_always_fails_is_given_up(void **state) {
    (void)state;
    static uint16_t in[9], out[9];
    bp_view factor, product;
    bp_scope *scope;
    bp_view_matrix(&factor, in, BP_F16, 3, 3);
    bp_view_matrix(&product, out, BP_F16, 3, 3);
    assert_int_equal(bp_scope_enter(&scope, "dispatch.fallback=allow"), BP_OK);
    alarm(240); /* limits a search that would not end */
    assert_int_equal(bp_matmul(&factor.tensor, &factor.tensor, &product.tensor), BP_OK);
    alarm(0);
    assert_string_equal(last().library, "native");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void a_colon_is_followed_by_a_name(void **state) {
    (void)state;
    char warning[256] = "";
    static const char *const names[] = {"several:", ":", "several:several:"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char settings[80];
        assert_int_equal(bp_preferred_check("blas.preferred", names[i]), BP_E_NOT_FOUND);
        assert_non_null(strstr(bp_last_error(), names[i]));
        snprintf(settings, sizeof settings, "blas.preferred=%s, dispatch.fallback=strict", names[i]);
        assert_int_equal(multiply(settings), BP_E_NOT_FOUND);
        assert_non_null(strstr(bp_last_error(), names[i]));
    }
    assert_int_equal(multiply("dispatch.exclude=several:"), BP_OK);
    bool told = false;
    for (int i = 0; bp_warning_at(i, warning, sizeof warning); i++) {
        told |= strstr(warning, "dispatch.exclude names 'several:'") != NULL;
    }
    assert_true(told);
}

static int reset(void **state) {
    (void)state;
    if (bp_reset() != BP_OK) {
        return -1;
    }
    bp_view_matrix(&a, x, BP_F64, 3, 3);
    bp_view_matrix(&c, z, BP_F64, 3, 3);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_failing_algorithm_leaves_the_others, reset),
        cmocka_unit_test_setup(candidates_beyond_sixty_four_fall_back, reset),
        cmocka_unit_test_setup(settings_name_algorithms, reset),
        cmocka_unit_test_setup(an_unknown_algorithm_is_reported, reset),
        cmocka_unit_test_setup(explanations_show_each_algorithm, reset),
        cmocka_unit_test_setup(invalid_offers_are_refused, reset),
        cmocka_unit_test_setup(scratch_of_tasks_is_separate_from_the_workspace, reset),
        cmocka_unit_test_setup(a_colon_is_followed_by_a_name, reset),
        cmocka_unit_test_setup(a_provider_that_always_fails_is_given_up, reset),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-several", 1);
    return cmocka_run_group_tests(tests, NULL, reset);
}
