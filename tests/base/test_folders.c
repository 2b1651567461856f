/* test_folders.c - tests the search for paths that match a pattern, also without memory. */
#include "base/folders.h"

#include "backplane.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[4096];
static const char *const folders[] = {"lib",
                                      "lib/python3.11",
                                      "lib/python3.11/site-packages",
                                      "lib/python3.9",
                                      "lib/python3.9/site-packages",
                                      "lib/python2",
                                      ".hidden",
                                      "star*",
                                      "star*/x",
                                      "a.libs",
                                      "b.libs",
                                      "lib/python3.11/site-packages/.libs"};

static int make(void **state) {
    char path[4352];
    (void)state;
    snprintf(root, sizeof root, "%s/tests/folders-XXXXXX", BP_TEST_BUILD_DIR);
    assert_non_null(mkdtemp(root));
    for (int i = 0; i < BP__COUNT(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

static int forget(void **state) {
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool collect(void *user, const char *path) {
    bp__text_addf(user, "%s\n", path);
    return true;
}

static void test_the_paths_are_those_of_glob(void **state) {
    static const char *const patterns[] = {"*",
                                           "lib/*",
                                           "lib/python3*/site-packages",
                                           "lib/*/site-packages/.libs",
                                           "*.libs",
                                           "*b*",
                                           "l**b",
                                           "nothing*/x",
                                           "lib/pyt",
                                           ".hid*",
                                           "lib/python3.11",
                                           "*/*/*",
                                           "*/",
                                           "lib/*3.9",
                                           "*x*",
                                           "lib/python3.*1"};
    char pattern[4352];
    (void)state;
    for (int i = 0; i < BP__COUNT(patterns); i++) {
        bp__text found = {0}, expected = {0};
        glob_t all = {0};
        snprintf(pattern, sizeof pattern, "%s/%s", root, patterns[i]);
        assert_true(bp__match_paths(pattern, 0, collect, &found));
        if (glob(pattern, 0, NULL, &all) == 0) {
            for (size_t j = 0; j < all.gl_pathc; j++) {
                collect(&expected, all.gl_pathv[j]);
            }
            globfree(&all);
        }
        assert_string_equal(bp__text_get(&found), bp__text_get(&expected));
        bp__text_free(&found);
        bp__text_free(&expected);
    }
}

static void test_a_star_before_the_position_is_plain(void **state) {
    char pattern[4352];
    bp__text found = {0};
    (void)state;
    snprintf(pattern, sizeof pattern, "%s/star*/*", root);
    assert_true(bp__match_paths(pattern, strlen(root) + strlen("/star*"), collect, &found));
    snprintf(pattern, sizeof pattern, "%s/star*/x\n", root);
    assert_string_equal(bp__text_get(&found), pattern);
    bp__text_free(&found);
}

static bool stop(void *user, const char *path) {
    (void)path;
    ++*(int *)user;
    return false;
}

static void test_the_visitor_ends_the_search(void **state) {
    char pattern[4352];
    int visits = 0;
    (void)state;
    snprintf(pattern, sizeof pattern, "%s/*/*", root);
    assert_false(bp__match_paths(pattern, 0, stop, &visits));
    assert_int_equal(visits, 1);
}

/* ---- Without memory ---- */

static int allowed, live;

static void *allocate(void *user, size_t size) {
    (void)user;
    void *block = allowed-- > 0 ? malloc(size) : NULL;
    live += block != NULL;
    return block;
}

static void *reallocate(void *user, void *old, size_t size) {
    (void)user;
    return allowed-- > 0 ? realloc(old, size) : NULL;
}

static void release(void *user, void *block) {
    (void)user;
    live--;
    free(block);
}

static bool ignore(void *user, const char *path) {
    (void)path;
    ++*(int *)user;
    return true;
}

static void test_every_allocation_may_fail(void **state) {
    const bp_allocator failing = {allocate, reallocate, release, NULL};
    char pattern[4352];
    bool complete = false;
    (void)state;
    snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages", root);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&failing), BP_OK);
    for (int most = 0; !complete; most++) {
        int visits = 0;
        allowed = most;
        complete = bp__match_paths(pattern, 0, ignore, &visits);
        assert_int_equal(live, 0);
        assert_true(!complete || visits == 2);
        assert_true(most < 1000);
    }
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_paths_are_those_of_glob),
        cmocka_unit_test(test_a_star_before_the_position_is_plain),
        cmocka_unit_test(test_the_visitor_ends_the_search),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make, forget);
}
