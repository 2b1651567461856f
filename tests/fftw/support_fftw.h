/* support_fftw.h - what the tests of the fftw provider share: its instances on the libraries of this machine. */
#ifndef BP_TESTS_FFTW_SUPPORT_H
#define BP_TESTS_FFTW_SUPPORT_H

#include "fftw/support_transform.h"
#include "providers/fftw/fftw.h"

extern const bp_provider bp_provider_fftw;

/* A host like that of the library, with memory that can be made to fail. */
extern int test_fail_allocation; /* the n-th allocation from now fails; 0: none */
extern bool test_fail_scratch;
extern int test_blocks; /* allocated and not given back */
const bp_host *test_host(void);

/* Both precisions, and their threads where they are here; NULL for what is missing. */
typedef struct test_fftw {
    void *transforms[2]; /* f64, f32 */
    void *threads[2];
} test_fftw;

void test_open_all(test_fftw *f);
void test_close_all(test_fftw *f);

#endif
