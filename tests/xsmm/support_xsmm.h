/* support_xsmm.h - shared by the tests of the xsmm provider: the libxsmm of this machine, and a fake one that records
 * how kernels are requested and called. The host and the products come from the blas provider's tests. */
#ifndef BP_TESTS_XSMM_SUPPORT_H
#define BP_TESTS_XSMM_SUPPORT_H

#include "blas/support_blas.h"
#include "providers/xsmm/xsmm.h"

extern const bp_provider bp_provider_xsmm;

/* Opens an instance on the libxsmm of this machine, and directs test_run_product() to the provider. Skips the test if
 * there is none. */
void *test_open_real(void);

/* ---- The fake library ---- */

enum { TEST_FAKE_CALLS = 4096 };

typedef struct test_fake_call {
    const void *a, *b;
    void *c;
} test_fake_call;

typedef struct test_fake_state {
    const char *lacks; /* a function that is missing */
    const char *sets;  /* an environment variable that a request sets unless it is set */
    bool generates_none;
    /* The last request. */
    bool single;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    int flags, prefetch;
    int requests;
    /* The calls of kernels, in any order if there are several threads. */
    atomic_int calls;
    test_fake_call call[TEST_FAKE_CALLS];
} test_fake_state;
extern test_fake_state fake;

/* Opens an instance on the fake library, and clears all records. */
void *test_open_fake(void);

#endif
