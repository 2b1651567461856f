/* test_signal_names.c - the probe helper names signals as the C library does. */
#include "registry/support_registry.h"

#include "probe/probe.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void test_names(void **state) {
    (void)state;
    for (int number = 1; number < SIGSYS + 1; number++) {
        char expected[32];
        snprintf(expected, sizeof expected, "SIG%s", sigabbrev_np(number));
        assert_string_equal(signal_name(number), expected);
    }
}

static void test_others(void **state) {
    (void)state;
    const int numbers[] = {-1, 0, SIGSYS + 1, SIGRTMIN, SIGRTMAX, 1 << 30};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_string_equal(signal_name(numbers[i]), "SIG?");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
