/* support_dfti.h - a double of MKL's DFTI interface for the tests of the mkl provider: it keeps what a descriptor is
 * told and where each call computes, and can lack a function, fail, or grant fewer threads. */
#ifndef BP_TESTS_MKL_SUPPORT_DFTI_H
#define BP_TESTS_MKL_SUPPORT_DFTI_H

#include "mkl/support_mkl.h"

enum { TEST_DFTI_DESCRIPTORS = 4, TEST_DFTI_CALLS = 64 };

/* What one descriptor was told; -1 for numbers that it was not. */
typedef struct test_dfti_descriptor {
    int precision, domain;
    long rank, n[BP__MKL_MOST_NDIM];
    int placement, storage, destroys;
    long in[BP__MKL_MOST_NDIM + 1], out[BP__MKL_MOST_NDIM + 1];
    long many, in_distance, out_distance, threads;
    double forward_scale, backward_scale;
    bool committed;
} test_dfti_descriptor;

typedef struct test_dfti_call {
    int descriptor; /* its number, in the order of their making */
    bool forward;
    char *in, *out; /* out is NULL where the descriptor works in place: no such argument is passed then */
    int threads;    /* that were in force for the calling thread */
} test_dfti_call;

typedef struct test_dfti {
    /* What it is told by a test. */
    const char *lacks; /* a function that it does not have */
    long fails;        /* the error of commits and computations; 0: none */
    int fails_at;      /* a parameter that cannot be set */
    int most_threads;  /* that it grants */
    int layer;         /* the threading that it runs on: 0 survives fork, -1 is not known */
    /* What it keeps. */
    test_dfti_descriptor descriptor[TEST_DFTI_DESCRIPTORS];
    test_dfti_call call[TEST_DFTI_CALLS];
    int described, freed, calls;
    int threads; /* in force */
} test_dfti;
extern test_dfti dfti;

/* An instance of the provider on the double, which forgets all that it kept. */
void *test_open_dfti(void);
/* The same library after a probe that has found it wrong, see bp_library_info. */
void *test_open_faulty_dfti(uint64_t faulty, const char *faults);
/* The sentence that goes with an error. */
char *test_dfti_words(long error);
/* The name of function `number`; NULL past the last that the provider cannot do without. */
const char *test_dfti_name(int number);

#endif
