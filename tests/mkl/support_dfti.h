/* support_dfti.h - a fake of MKL's DFTI interface for the tests of the mkl provider. It records the values set in
 * descriptors and the addresses of each call. It can omit a function, fail, or grant fewer threads. */
#ifndef BP_TESTS_MKL_SUPPORT_DFTI_H
#define BP_TESTS_MKL_SUPPORT_DFTI_H

#include "mkl/support_mkl.h"

enum { TEST_DFTI_DESCRIPTORS = 4, TEST_DFTI_CALLS = 64 };

/* Values set in one descriptor; -1 for those not set. */
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
    int descriptor; /* its number, in order of creation */
    bool forward;
    char *in, *out; /* out is NULL if the descriptor works in place; such calls have no such argument */
    int threads;    /* in force for the calling thread */
} test_dfti_call;

typedef struct test_dfti {
    /* Behaviour set by a test. */
    const char *lacks; /* a function that is missing */
    long fails;        /* error of commits and computations; 0: none */
    int fails_at;      /* a parameter that cannot be set */
    int most_threads;  /* the largest count that it grants */
    int layer;         /* its threading layer: 0 survives fork, -1 is unknown */
    /* Recorded calls. */
    test_dfti_descriptor descriptor[TEST_DFTI_DESCRIPTORS];
    test_dfti_call call[TEST_DFTI_CALLS];
    int described, freed, calls;
    int threads; /* in force */
} test_dfti;
extern test_dfti dfti;

/* Opens an instance of the provider on the fake library and clears all records. */
void *test_open_dfti(void);
/* Opens it as a library that the probe found wrong, see bp_library_info. */
void *test_open_faulty_dfti(uint64_t faulty, const char *faults);
/* Opens it as a library with large errors in double precision for larger multiples of these primes. */
void *test_open_inexact_dfti(const char *primes);
/* Returns the message of an error. */
char *test_dfti_message(long error);
/* Returns the name of function `number`; NULL after the last function that the provider needs. */
const char *test_dfti_name(int number);

#endif
