/* test_limits.c - tests the thread limits of other software in the environment: a layer of num_threads above the
 * default and below all settings of this library. */
#include "settings/support_settings.h"

#include <stdio.h>
#include <unistd.h>

static void assert_limit(const char *variable, const char *value, const char *expected) {
    setenv(variable, value, 1);
    reset_settings();
    assert_setting("num_threads", expected, *expected == '0' ? BP_LAYER_DEFAULT : BP_LAYER_SHARED_ENVIRONMENT,
                   *expected == '0' ? "" : variable);
    assert_int_equal(bp_get_num_threads(), atoi(expected));
    assert_int_equal(problem_count(), 0);
    unsetenv(variable);
    reset_settings();
}

static void each_variable_limits(void **state) {
    (void)state;
    static const char *const variables[] = {"OMP_NUM_THREADS",  "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS",
                                            "GOTO_NUM_THREADS", "MKL_NUM_THREADS",  "BLIS_NUM_THREADS"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        assert_limit(variables[i], "3", "3");
        assert_limit(variables[i], "0", "0"); /* to these libraries, 0 means all cores */
        assert_limit(variables[i], "", "0");
    }
    assert_limit("OMP_NUM_THREADS", "4,2", "4"); /* 2 is for nested regions */
    assert_limit("OMP_NUM_THREADS", " +4 , 2", "4");
    assert_limit("OMP_NUM_THREADS", "1024", "1024");
    assert_limit("OMP_NUM_THREADS", "1025", "1024"); /* the largest value of num_threads */
    assert_limit("OMP_THREAD_LIMIT", "4294967295", "1024");
    assert_limit("OMP_NUM_THREADS", "99999999999999999999999", "1024");
    assert_limit("VECLIB_MAXIMUM_THREADS", "1", "0");
}

static void the_smallest_limit_is_used(void **state) {
    (void)state;
    setenv("OMP_NUM_THREADS", "4", 1);
    setenv("OPENBLAS_NUM_THREADS", "2", 1);
    setenv("MKL_NUM_THREADS", "3", 1);
    assert_setting("num_threads", "2", BP_LAYER_SHARED_ENVIRONMENT, "OPENBLAS_NUM_THREADS");
    setenv("OPENBLAS_NUM_THREADS", "8", 1);
    reset_settings();
    assert_setting("num_threads", "3", BP_LAYER_SHARED_ENVIRONMENT, "MKL_NUM_THREADS");
}

static void an_invalid_number_is_a_problem(void **state) {
    (void)state;
    static const char *const values[] = {"two", "-1", "4x", "1.5", "4;2", ",4", "0x4", " ", "\x01", "\xff"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        setenv("OMP_NUM_THREADS", values[i], 1);
        setenv("MKL_NUM_THREADS", "5", 1);
        reset_settings();
        assert_setting("num_threads", "5", BP_LAYER_SHARED_ENVIRONMENT, "MKL_NUM_THREADS");
        assert_int_equal(problem_count(), 1);
        assert_contains(bp_config_error_at(0), "OMP_NUM_THREADS:");
        assert_contains(bp_config_error_at(0), "is not a number of threads");
    }
}

static void own_settings_override_limits(void **state) {
    (void)state;
    const char *value, *where;
    setenv("OMP_NUM_THREADS", "2", 1);
    write_file(system_path, "num_threads = 3\n");
    char place[128];
    snprintf(place, sizeof place, "%s:1", system_path);
    assert_setting("num_threads", "3", BP_LAYER_SYSTEM_FILE, place);
    assert_int_equal(bp_get_layer("num_threads", BP_LAYER_SHARED_ENVIRONMENT, &value, &where), BP_OK);
    assert_string_equal(value, "2");
    assert_string_equal(where, "OMP_NUM_THREADS");
    unlink(system_path);
    setenv("BACKPLANE_NUM_THREADS", "0", 1); /* every core, set by the user */
    reset_settings();
    assert_setting("num_threads", "0", BP_LAYER_ENVIRONMENT, "BACKPLANE_NUM_THREADS");
    unsetenv("BACKPLANE_NUM_THREADS");
    reset_settings();
    assert_setting("num_threads", "2", BP_LAYER_SHARED_ENVIRONMENT, "OMP_NUM_THREADS");
    assert_int_equal(bp_set_num_threads(7), BP_OK);
    assert_setting("num_threads", "7", BP_LAYER_PROCESS, "");
    assert_int_equal(bp_unset("num_threads"), BP_OK);
    assert_setting("num_threads", "2", BP_LAYER_SHARED_ENVIRONMENT, "OMP_NUM_THREADS");
}

/* Setting a value can matter even if it equals the value in force: see bp__policy_resolve. */
static void setting_an_equal_value_changes_the_epoch(void **state) {
    (void)state;
    assert_int_equal(bp_get_num_threads(), 0);
    uint64_t before = bp__settings_epoch();
    assert_int_equal(bp_set_num_threads(0), BP_OK);
    uint64_t told = bp__settings_epoch();
    assert_true(told != before);
    assert_int_equal(bp_set_num_threads(0), BP_OK);
    assert_true(bp__settings_epoch() == told);
    assert_int_equal(bp_unset("num_threads"), BP_OK);
    assert_true(bp__settings_epoch() != told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_variable_limits, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(the_smallest_limit_is_used, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(an_invalid_number_is_a_problem, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(own_settings_override_limits, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(setting_an_equal_value_changes_the_epoch, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
