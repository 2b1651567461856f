/* test_named.c - tests that a library outside of the list is found by the name of its file, and opened under the rules.
 */
#define _GNU_SOURCE
#include "registry/support_registry.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another one for each test, because what is loaded stays loaded and is found. */
static char name[64];
static char folder[4096], library[4200];

/* Copies some library to the folder below that name. */
static int make(void **state) {
    (void)state;
    Dl_info some;
    snprintf(folder, sizeof folder, "%s", make_folder());
    static int tests;
    snprintf(name, sizeof name, "libbackplane-named.so.%d", ++tests);
    snprintf(library, sizeof library, "%s/%s", folder, name);
    assert_true(dladdr((void *)(uintptr_t)&print_message, &some) != 0);
    copy_file(some.dli_fname, library);
    return 0;
}

static int forget(void **state) {
    (void)state;
    forget_folder(folder);
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("BACKPLANE_PYTHON_PATH");
    restart(NULL, NULL);
    return 0;
}

static void use_system(void) {
    restart(NULL, NULL);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "true", 1);
    assert_int_equal(bp_reset(), BP_OK);
}

static void assert_opens(const char *file) {
    void *handle, *again;
    assert_int_equal(bp__library_open_named(file, &handle), BP_OK);
    assert_non_null(handle);
    assert_int_equal(bp__library_open_named(file, &again), BP_OK);
    assert_ptr_equal(handle, again);
}

/* Fails the test unless the handle is of a file in the folder. */
static void assert_is_ours(void) {
    void *handle;
    Dl_info where;
    char real[4096];
    assert_int_equal(bp__library_open_named(name, &handle), BP_OK);
    assert_true(dladdr(dlsym(handle, "print_message"), &where) != 0);
    assert_non_null(realpath(where.dli_fname, real));
    assert_true(strncmp(real, folder, strlen(folder)) == 0);
}

static void assert_absent(const char *file) {
    void *handle = &handle;
    assert_int_equal(bp__library_open_named(file, &handle), BP_E_NOT_FOUND);
    assert_null(handle);
    assert_non_null(strstr(bp_last_error(), file));
}

static void test_library_path(void **state) {
    (void)state;
    char list[9000];
    restart(folder, NULL);
    assert_opens(name);
    assert_is_ours();
    snprintf(list, sizeof list, "/nonexistent:%s", library); /* the file itself */
    restart(list, NULL);
    assert_opens(name);
    assert_absent("libm.so.6"); /* nothing of the system */
    assert_absent("named.so.1");
    restart(NULL, NULL);
    assert_absent(name);
    restart(strrchr(folder, '/') + 1, NULL); /* relative paths are not used */
    assert_absent(name);
}

static void test_search_path(void **state) {
    (void)state;
    use_system();
    assert_absent(name);
    setenv("LD_LIBRARY_PATH", folder, 1);
    assert_opens(name);
    assert_is_ours();
    unsetenv("LD_LIBRARY_PATH");
    assert_opens(name); /* it is loaded */
}

/* Tells of the environment by one of the variables. */
static void in_environment(const char *variable, const char *value) {
    char lib[4200];
    use_system();
    setenv(variable, value, 1);
    assert_absent(name); /* it has a folder lib */
    snprintf(lib, sizeof lib, "%s/lib", folder);
    assert_int_equal(mkdir(lib, 0700), 0);
    snprintf(lib, sizeof lib, "%s/lib/%s", folder, name);
    assert_int_equal(rename(library, lib), 0);
    assert_opens(name);
    assert_is_ours();
    unsetenv(variable);
}

static void test_environment(void **state) {
    (void)state;
    in_environment("VIRTUAL_ENV", folder);
}

static void test_conda(void **state) {
    (void)state;
    in_environment("CONDA_PREFIX", folder);
}

/* The package for Python names the roots of the running one. */
static void test_running_python(void **state) {
    (void)state;
    char roots[4400];
    snprintf(roots, sizeof roots, "/absent:relative:%s", folder);
    in_environment("BACKPLANE_PYTHON_PATH", roots);
}

static void test_system(void **state) {
    (void)state;
    use_system();
    assert_opens("libm.so.6"); /* loaded, or in the loader's cache */
}

static void test_refused(void **state) {
    (void)state;
    void *handle;
    restart(folder, NULL);
    assert_int_equal(chmod(library, 0666), 0);
    assert_int_equal(bp__library_open_named(name, &handle), BP_E_UNTRUSTED);
    assert_null(handle);
    assert_int_equal(chmod(library, 0644), 0);
    FILE *file = fopen(library, "w");
    fputs("no library", file);
    fclose(file);
    assert_int_equal(bp__library_open_named(name, &handle), BP_E_LOAD);
    assert_null(handle);
    assert_non_null(strstr(bp_last_error(), library));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_library_path, make, forget),
        cmocka_unit_test_setup_teardown(test_search_path, make, forget),
        cmocka_unit_test_setup_teardown(test_environment, make, forget),
        cmocka_unit_test_setup_teardown(test_conda, make, forget),
        cmocka_unit_test_setup_teardown(test_running_python, make, forget),
        cmocka_unit_test_setup_teardown(test_system, make, forget),
        cmocka_unit_test_setup_teardown(test_refused, make, forget),
    };
    return cmocka_run_group_tests_name("named", tests, NULL, NULL);
}
