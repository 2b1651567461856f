/* test_environment.c - tests the reading and removal of environment variables, also in a program with another user's
 * rights. */
#include "base/support_base.h"
#include "support/conditions.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool collect(void *user, const char *name, const char *value) {
    bp__text_addf(user, "%s=%s;", name, value);
    return true;
}

static bool stop(void *user, const char *name, const char *value) {
    (void)name;
    (void)value;
    ++*(int *)user;
    return false;
}

static void variables_are_read(void **state) {
    (void)state;
    setenv("BPT_ONE", "1=1", 1);
    setenv("BPT_EMPTY", "", 1);
    setenv("BP", "x", 1);
    unsetenv("BPT_NONE");
    assert_string_equal(bp__env("BPT_ONE"), "1=1");
    assert_null(bp__env("BPT_EMPTY"));
    assert_null(bp__env("BPT_NONE"));
    bp__text seen = {0};
    bp__env_walk("BPT_", collect, &seen);
    assert_contains(bp__text_get(&seen), "BPT_ONE=1=1;");
    assert_contains(bp__text_get(&seen), "BPT_EMPTY=;");
    assert_int_equal(seen.length, strlen("BPT_ONE=1=1;BPT_EMPTY=;"));
    bp__text_free(&seen);
    int visits = 0;
    bp__env_walk("BPT_", stop, &visits);
    assert_int_equal(visits, 1);
}

static void long_names_are_cut(void **state) {
    (void)state;
    char name[400];
    memset(name, 'N', sizeof name - 1);
    memcpy(name, "BPT_", 4);
    name[399] = '\0';
    setenv(name, "v", 1);
    bp__text seen = {0};
    bp__env_walk("BPT_N", collect, &seen);
    assert_int_equal(seen.length, 255 + strlen("=v;"));
    bp__text_free(&seen);
    unsetenv(name);
}

static void change_variables(void *user) {
    ++*(int *)user;
    setenv("BPT_PRESENT", "changed", 1);
    setenv("BPT_ADDED", "x", 1);
    setenv("BPT_EMPTY_ADDED", "", 1);
    setenv("BPT_OTHER", "x", 1);
}

static void added_variables_are_removed(void **state) {
    (void)state;
    static const char *const names[] = {"BPT_PRESENT", "BPT_ADDED", "BPT_EMPTY_ADDED", "BPT_ABSENT", NULL};
    int calls = 0;
    setenv("BPT_PRESENT", "", 1);
    bp__env_keep_unset(names, change_variables, &calls);
    assert_int_equal(calls, 1);
    assert_string_equal(getenv("BPT_PRESENT"), "changed");
    assert_null(getenv("BPT_ADDED"));
    assert_null(getenv("BPT_EMPTY_ADDED"));
    assert_null(getenv("BPT_ABSENT"));
    assert_string_equal(getenv("BPT_OTHER"), "x");
    unsetenv("BPT_PRESENT");
    unsetenv("BPT_OTHER");
}

/* Exit status of the copy of this program that another user owns: what it can read. */
static int what_is_read(void) {
    int visits = 0;
    bp__env_walk("BPT_", stop, &visits);
    return (bp__env("BPT_ONE") ? 1 : 0) + (visits > 0 ? 2 : 0);
}

static void set_uid_programs_ignore_the_environment(void **state) {
    (void)state;
    char folder[64], command[512], program[128];
    if (test_emulated()) {
        print_message("skipped: an emulated program has no set-uid\n");
        skip();
    }
    if (geteuid() != 0) {
        print_message("skipped: only root can make a set-uid program of another user\n");
        skip();
    }
    make_folder(folder);
    chmod(folder, 0755);
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chown 65534 %s && chmod 4755 %s", (int)getpid(), program,
             program, program);
    assert_int_equal(system(command), 0);
    setenv("BPT_ONE", "1", 1);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "--what-is-read", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    remove_folder(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 98) {
        print_message("skipped: set-uid does not work in the folder for temporary files\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--what-is-read") == 0) {
        _exit(geteuid() == getuid() ? 98 : what_is_read());
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_read),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(added_variables_are_removed),
        cmocka_unit_test(set_uid_programs_ignore_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
