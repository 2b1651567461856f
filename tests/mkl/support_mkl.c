/* support_mkl.c - see support_mkl.h. */
#include "mkl/support_mkl.h"

#include "dispatch/internal.h"

void *test_open_mkl(void) {
    const bp_library_info *row = test_library("mkl");
    void *instance = NULL;
    if (row) {
        assert_int_equal(bp_provider_mkl.open(bp__host(), row, &instance), BP_OK);
    }
    return instance;
}

void test_make_threads_cheap(void *instance) {
    static bp__driver_family row;
    bp__driver *driver = instance;
    row = *driver->family;
    row.speed.start = 100;
    driver->family = &row;
}
