/* test_shortage.c - tests that limits of a cgroup and of the system's memory are seen, in folders like Linux's.
 */
#define _GNU_SOURCE
#include "registry/support_registry.h"

#include "probe/shortage.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *root;

/* Writes a file below the root, and makes its folders. */
static void put(const char *name, const char *text) {
    char path[8192];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state) {
    (void)state;
    root = make_folder();
    put("/proc/sys/vm/overcommit_memory", "0\n");
    put("/proc/meminfo", "MemTotal: 9000000 kB\nCommitLimit:    4000000 kB\nCommitted_AS:   3900000 kB\n");
    return 0;
}

static int remove_root(void **state) {
    (void)state;
    forget_folder(root);
    return 0;
}

static bool few_threads(void) {
    const char *what = system_shortage(root, 50);
    return what && strstr(what, "pids.max");
}

static void test_nothing_is_limited(void **state) {
    (void)state;
    assert_null(system_shortage(root, 1000000));
    put("/proc/self/cgroup", "0::/\n");
    assert_null(system_shortage(root, 1000000));
}

static void test_version_2(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/user.slice/app.scope\n");
    put("/sys/fs/cgroup/user.slice/app.scope/pids.max", "max\n");
    put("/sys/fs/cgroup/user.slice/app.scope/pids.current", "7\n");
    assert_false(few_threads());
    put("/sys/fs/cgroup/user.slice/app.scope/pids.max", "600\n");
    assert_false(few_threads());
    put("/sys/fs/cgroup/user.slice/app.scope/pids.current", "580\n");
    assert_true(few_threads());
}

static void test_a_cgroup_above(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/user.slice/app.scope\n");
    put("/sys/fs/cgroup/user.slice/app.scope/pids.max", "max\n");
    put("/sys/fs/cgroup/user.slice/pids.max", "20\n");
    put("/sys/fs/cgroup/user.slice/pids.current", "3\n");
    assert_true(few_threads());
}

/* In a container the path is the host's, and the mount shows its own cgroup. */
static void test_a_container(void **state) {
    (void)state;
    put("/proc/self/cgroup", "12:cpu,cpuacct:/docker/1234\n7:pids:/docker/1234\n0::/\n");
    put("/sys/fs/cgroup/pids/pids.max", "100\n");
    put("/sys/fs/cgroup/pids/pids.current", "4\n");
    assert_true(few_threads());
    put("/sys/fs/cgroup/pids/pids.max", "max\n");
    assert_false(few_threads());
}

static void test_version_1(void **state) {
    (void)state;
    put("/proc/self/cgroup", "5:devices:/a\n4:pids,misc:/a/b\n");
    put("/sys/fs/cgroup/pids/a/b/pids.max", "513\n");
    put("/sys/fs/cgroup/pids/a/b/pids.current", "1\n");
    assert_false(few_threads());
    put("/sys/fs/cgroup/pids/a/b/pids.current", "2\n");
    assert_true(few_threads());
    put("/proc/self/cgroup", "5:rapids:/a\n4:pids2:/a/b\n"); /* not this controller */
    assert_false(few_threads());
}

static void test_strict_overcommit(void **state) {
    (void)state;
    put("/proc/sys/vm/overcommit_memory", "2\n");
    assert_null(system_shortage(root, 90));
    assert_non_null(strstr(system_shortage(root, 100), "overcommit"));
    put("/proc/sys/vm/overcommit_memory", "1\n");
    assert_null(system_shortage(root, 100));
}

static void test_damaged_files(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "\n", ":", "::", "0:", "0::", "1:pids", "1:pids:", "x\n\n::::\n", "0::/../../.."};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("/proc/self/cgroup", texts[i]);
        assert_null(system_shortage(root, 1));
    }
    char *longest = malloc(20000);
    memset(longest, '/', 19999);
    memcpy(longest, "0::", 3);
    longest[19999] = 0;
    put("/proc/self/cgroup", longest);
    assert_null(system_shortage(root, 1));
    free(longest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_limited, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version_2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_a_cgroup_above, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version_1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_strict_overcommit, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_damaged_files, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
