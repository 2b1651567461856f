/* test_loaded.c - tests the list of loaded objects. */
#include "machine/internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct seen {
    int count;
    int most;
    bool program, library, relative;
    char self[PATH_MAX];
} seen;

/* Checks the path and address of cmocka, found with another function of the loader. */
static bool is_cmocka(const char *path, uintptr_t base) {
    Dl_info info;
    char real[PATH_MAX];
    void *symbol = dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    return symbol && dladdr(symbol, &info) && (uintptr_t)info.dli_fbase == base && realpath(info.dli_fname, real) &&
           strcmp(real, path) == 0;
}

static bool look(void *user, const char *path, uintptr_t base) {
    seen *what = user;
    what->count++;
    what->relative |= path[0] != '/';
    what->program |= strcmp(path, what->self) == 0;
    what->library |= is_cmocka(path, base);
    return what->count < what->most;
}

static void test_walk(void **state) {
    (void)state;
    seen what = {.most = 1000};
    assert_non_null(realpath("/proc/self/exe", what.self));
    int64_t before = bp__live_blocks();
    bp__loaded_visit(look, &what);
    assert_int_equal(bp__live_blocks(), before);
    assert_true(what.program);
    assert_true(what.library);
    assert_false(what.relative);
    assert_true(what.count >= 3);
}

static void test_walk_stops(void **state) {
    (void)state;
    seen what = {.most = 2};
    bp__loaded_visit(look, &what);
    assert_int_equal(what.count, 2);
}

static int allowed;

static void *few(void *user, size_t size) {
    (void)user;
    return allowed-- > 0 ? malloc(size) : NULL;
}

static void *few_again(void *user, void *old, size_t size) {
    (void)user;
    return allowed-- > 0 ? realloc(old, size) : NULL;
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

static void test_walk_without_memory(void **state) {
    (void)state;
    bp__error_reset();
    assert_int_equal(bp_set_allocator(&(bp_allocator){few, few_again, release, NULL}), BP_OK);
    for (int n = 0; n < 6; n++) {
        seen what = {.most = 1000};
        assert_non_null(realpath("/proc/self/exe", what.self));
        allowed = n;
        bp_status status = bp__loaded_visit(look, &what);
        assert_true(status == BP_OK ? what.program : status == BP_E_NO_MEMORY && what.count == 0);
        bp__error_reset();
        assert_int_equal(bp__live_blocks(), 0);
    }
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_walk_stops),
        cmocka_unit_test(test_walk_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
