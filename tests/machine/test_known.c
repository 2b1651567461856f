/* test_known.c - tests which loaded objects are reported as math libraries and runtimes. */
#include "backplane/machine.h"
#include "backplane/settings.h"
#include "base/base.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool find(const char *path_part, bp_loaded_object *object) {
    *object = (bp_loaded_object){.struct_size = sizeof *object};
    for (int i = 0; bp_loaded_object_at(i, object); i++) {
        if (strstr(object->path, path_part)) {
            return true;
        }
    }
    return false;
}

static void test_fakes(void **state) {
    (void)state;
    bp_loaded_object object;
    assert_false(find("loaded-fakes", &object));
    const struct {
        const char *file, *kind, *family;
    } fakes[] = {
        {"/innocent-name.so", "openmp", "libgomp"},
        {"/libblas-in-name-only.so", NULL, NULL},
        {"/tbb-fake.so", "tbb", "tbb"},
        {"/blas-fake.so", "blas", "openblas"},
    };
    for (int i = 0; i < BP__COUNT(fakes); i++) {
        char path[512] = BP_TEST_BUILD_DIR "/tests/loaded-fakes";
        strcat(path, fakes[i].file);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(handle);
        assert_int_equal(find(fakes[i].file, &object), fakes[i].kind != NULL);
        if (fakes[i].kind) {
            assert_string_equal(object.kind, fakes[i].kind);
            assert_string_equal(object.family, fakes[i].family);
        }
        assert_int_equal(dlclose(handle), 0);
        assert_false(find(fakes[i].file, &object)); /* only objects that are loaded now are listed */
    }
}

static void test_arguments(void **state) {
    (void)state;
    bp_loaded_object object = {.struct_size = sizeof object};
    assert_int_equal(bp_loaded_object_at(-1, &object), 0);
    assert_int_equal(bp_loaded_object_at(100000, &object), 0);
    assert_int_equal(bp_loaded_object_at(0, NULL), 0);
    object.struct_size = 8;
    assert_int_equal(bp_loaded_object_at(0, &object), 0);
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

static void test_without_memory(void **state) {
    (void)state;
    void *handle = dlopen(BP_TEST_BUILD_DIR "/tests/loaded-fakes/tbb-fake.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    bool found = false;
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&(bp_allocator){few, few_again, release, NULL}), BP_OK);
    for (int n = 0; n < 200 && !found; n++) {
        bp_loaded_object object;
        allowed = n;
        find("tbb-fake", &object);
        allowed = 1 << 20; /* objects missed for lack of memory are found once there is some */
        assert_true(find("tbb-fake", &object));
        assert_int_equal(bp_reset(), BP_OK);
        assert_int_equal(bp__live_blocks(), 0);
        allowed = n;
        found = find("tbb-fake", &object);
        allowed = 1 << 20;
        assert_int_equal(bp_reset(), BP_OK);
    }
    assert_true(found);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
    dlclose(handle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fakes),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
