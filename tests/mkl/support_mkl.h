/* support_mkl.h - what the tests of the mkl provider share: an instance on this machine's MKL. */
#ifndef BP_TESTS_MKL_SUPPORT_H
#define BP_TESTS_MKL_SUPPORT_H

#include "fftw/support_transform.h"
#include "providers/mkl/mkl.h"

extern const bp_provider bp_provider_mkl;

/* NULL where there is no MKL; the tests then skip. */
void *test_open_mkl(void);

/* MKL's threads made cheap to start, so that transforms which a test can afford run on several. */
void test_make_threads_cheap(void *instance);

#endif
