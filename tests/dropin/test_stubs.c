/* test_stubs.c - tests that stubs reach the right routine with all arguments, in every spelling of the names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "support_launch.h"

#define FAKES BP_TEST_BUILD_DIR "/tests/dropin/"

static void expect_names(const char *library, const char *spelling) {
    const char *output;
    char command[1024];
    snprintf(command, sizeof command, FAKES "dropin_client_names " FAKES "lib%s.so %s stubs", library, spelling);
    assert_int_equal(launch("", command, &output), 0);
    /* With records every call passes through C code. */
    assert_int_equal(launch("BACKPLANE_LAUNCH_RECORD=/dev/null BACKPLANE_LAUNCH_OBSERVE=1", command, &output), 0);
}

static void every_name_reaches_its_routine(void **state) {
    (void)state;
    expect_names("names", "'' _ ''");
    expect_names("names_wheel", "scipy_ _ ''");
    expect_names("names_wheel_wide", "scipy_ _64_ 64_");
    expect_names("names_suffix", "'' _64 _64");
    expect_names("names_blas64", "'' _ ''");
}

/* Without the hooks library the audit object changes nothing. */
static void no_stubs_without_hooks(void **state) {
    (void)state;
    const char *output;
    assert_int_equal(launch("LD_PRELOAD=", FAKES "dropin_client_names " FAKES "libnames.so '' _ '' plain", &output), 0);
}

static const char *const modes[] = {"", "BACKPLANE_LAUNCH_RECORD=/dev/null BACKPLANE_LAUNCH_OBSERVE=1",
                                    "BACKPLANE_LAUNCH_OBSERVE=1", "BACKPLANE_LAUNCH_SMALL=0", "LD_BIND_NOW=1"};

static void expect_arguments(const char *client, const char *what) {
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        const char *output;
        char command[1024];
        snprintf(command, sizeof command, FAKES "dropin_%s %s", client, what);
        assert_int_equal(launch(modes[i], command, &output), 0);
    }
}

static void every_argument_is_passed(void **state) {
    (void)state;
    expect_arguments("client_arguments", "");
}

static void hidden_results_are_passed(void **state) {
    (void)state;
    expect_arguments("client_hidden", "");
}

static void threads_make_the_first_call(void **state) {
    (void)state;
    expect_arguments("client_arguments", "threads");
}

static void children_call(void **state) {
    (void)state;
    expect_arguments("client_arguments", "fork");
}

static void math_libraries_see_themselves(void **state) {
    (void)state;
    expect_arguments("client_openblas", "own");
}

int main(void) {
    if (!can_launch()) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_reaches_its_routine), cmocka_unit_test(no_stubs_without_hooks),
        cmocka_unit_test(every_argument_is_passed),       cmocka_unit_test(hidden_results_are_passed),
        cmocka_unit_test(threads_make_the_first_call),    cmocka_unit_test(children_call),
        cmocka_unit_test(math_libraries_see_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
