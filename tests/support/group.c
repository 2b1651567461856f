/* group.c - lets a test program fail if the end of its group fails. Linked into every test program.
 *
 * cmocka prints the failure of a group's teardown, and does not count it: the program returns 0. The linker replaces
 * the function behind cmocka_run_group_tests() by this one (tests/CMakeLists.txt), which counts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

static CMFixtureFunction own_end;
static bool ended;

/* Does not come back from an assertion that fails. */
static int end_group(void **state) {
    const int result = own_end(state);
    ended = result == 0;
    return result;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown) {
    own_end = teardown;
    ended = false;
    const int failed = __real__cmocka_run_group_tests(name, tests, count, setup, teardown ? end_group : NULL);
    return failed + (teardown && !ended);
}
