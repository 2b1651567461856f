/* support_mkl.h - shared by the tests of the mkl provider: an instance on this machine's MKL. */
#ifndef BP_TESTS_MKL_SUPPORT_H
#define BP_TESTS_MKL_SUPPORT_H

#include "fftw/support_transform.h"
#include "providers/mkl/mkl.h"

extern const bp_provider bp_provider_mkl;

/* Returns NULL if there is no MKL; the tests then skip. */
void *test_open_mkl(void);

/* Sets the start cost of MKL's threads low, so that small transforms run on several threads. */
void test_make_threads_cheap(void *instance);

#endif
