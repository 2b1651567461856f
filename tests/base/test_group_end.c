/* test_group_end.c - a test program fails if the end of its group fails (support/group.c): otherwise no check of leaks
 * that is made there could fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static void nothing(void **state) {
    (void)state;
}

static int end_well(void **state) {
    (void)state;
    return 0;
}

static int end_badly(void **state) {
    (void)state;
    return -1;
}

static int end_with_an_assertion(void **state) {
    (void)state;
    assert_int_equal(1, 2);
    return 0;
}

static const struct {
    const char *word;
    CMFixtureFunction end;
    int fails;
} groups[] = {
    {"none", NULL, 0}, {"well", end_well, 0}, {"badly", end_badly, 1}, {"assertion", end_with_an_assertion, 1}};
enum { GROUPS = sizeof groups / sizeof *groups };

static int run_group(const char *word) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
    for (int i = 0; i < GROUPS; i++) {
        if (strcmp(groups[i].word, word) == 0) {
            return cmocka_run_group_tests(tests, NULL, groups[i].end);
        }
    }
    return 99;
}

static void a_group_that_ends_badly_fails(void **state) {
    for (int i = 0; i < GROUPS; i++) {
        char command[4200];
        snprintf(command, sizeof command, "'%s' %s >/dev/null 2>&1", (const char *)*state, groups[i].word);
        const int status = system(command);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != groups[i].fails) {
            fail_msg("%s: the program returns %d", groups[i].word, WEXITSTATUS(status));
        }
    }
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(a_group_that_ends_badly_fails, words[0])};
    return count > 1 ? run_group(words[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
