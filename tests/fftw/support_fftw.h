/* support_fftw.h - shared by the tests of the fftw provider: its instances on the libraries of this machine. */
#ifndef BP_TESTS_FFTW_SUPPORT_H
#define BP_TESTS_FFTW_SUPPORT_H

#include "fftw/support_transform.h"
#include "providers/fftw/fftw.h"

extern const bp_provider bp_provider_fftw;

/* A host like the library's, with memory that can be made to fail. */
extern int test_fail_allocation; /* the n-th allocation from now fails; 0: none */
extern bool test_fail_scratch;
extern int test_blocks; /* allocated and not freed */
const bp_host *test_host(void);

/* Instances of both precisions, and of their thread files; NULL if missing. */
typedef struct test_fftw {
    void *transforms[2]; /* f64, f32 */
    void *threads[2];
} test_fftw;

void test_open_all(test_fftw *f);
void test_close_all(test_fftw *f);

#endif
