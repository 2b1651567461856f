/* support_xsmm.c - see support_xsmm.h. */
#include "xsmm/support_xsmm.h"

#include <stdlib.h>
#include <string.h>

test_fake_state fake;

static void fake_kernel(const void *a, const void *b, void *c, ...) {
    int number = atomic_fetch_add(&fake.calls, 1);
    if (number < TEST_FAKE_CALLS) {
        fake.call[number] = (test_fake_call){a, b, c};
    }
}

static bp__xsmm_kernel *record(bool single, const int64_t sizes[3], const int64_t leading[3], double alpha, double beta,
                               int flags, int prefetch) {
    fake.single = single;
    fake.m = sizes[0];
    fake.n = sizes[1];
    fake.k = sizes[2];
    fake.lda = leading[0];
    fake.ldb = leading[1];
    fake.ldc = leading[2];
    fake.alpha = alpha;
    fake.beta = beta;
    fake.flags = flags;
    fake.prefetch = prefetch;
    fake.requests++;
    if (fake.sets) {
        assert_int_equal(setenv(fake.sets, "TRUE", 0), 0);
    }
    return fake.generates_none ? NULL : fake_kernel;
}

static BP__XSMM_DISPATCH(fake_f32, bp__xsmm_kernel *, int64_t, float) {
    return record(true, (int64_t[]){m, n, k}, (int64_t[]){*lda, *ldb, *ldc}, (double)*alpha, (double)*beta, *flags,
                  *prefetch);
}

static BP__XSMM_DISPATCH(fake_f64, bp__xsmm_kernel *, int64_t, double) {
    return record(false, (int64_t[]){m, n, k}, (int64_t[]){*lda, *ldb, *ldc}, *alpha, *beta, *flags, *prefetch);
}

static void *symbol(const char *name) {
    bool lacks = fake.lacks && strcmp(name, fake.lacks) == 0;
    return lacks                                      ? NULL
           : strcmp(name, "libxsmm_smmdispatch") == 0 ? (void *)(uintptr_t)fake_f32
           : strcmp(name, "libxsmm_dmmdispatch") == 0 ? (void *)(uintptr_t)fake_f64
                                                      : NULL;
}

void *test_open_fake(void) {
    static bp_library_info row;
    void *instance;
    memset(&fake, 0, sizeof fake);
    row = test_row("libxsmm", "serial");
    row.kinds = BP_LIB_SMM;
    row.kernels = "hsw";
    test_fake = symbol;
    test_provider = &bp_provider_xsmm;
    assert_int_equal(bp_provider_xsmm.open(test_host(), &row, &instance), BP_OK);
    return instance;
}

void *test_open_real(void) {
    static bp_library_info row = {.struct_size = sizeof row};
    void *instance;
    if (bp_library_find("libxsmm", &row) != BP_OK || row.state != BP_LIBRARY_OK) {
        print_message("skipped: no libxsmm is installed (`make bootstrap` installs one)\n");
        skip();
    }
    test_fake = NULL;
    test_provider = &bp_provider_xsmm;
    assert_int_equal(bp_provider_xsmm.open(test_host(), &row, &instance), BP_OK);
    return instance;
}
