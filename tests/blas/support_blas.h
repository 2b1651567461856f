/* support_blas.h - what the tests of the blas provider share: a host of their own that counts and can fail, the BLAS
 * libraries of the machine, and products in every layout that are checked against long double arithmetic. */
#ifndef BP_TESTS_BLAS_SUPPORT_H
#define BP_TESTS_BLAS_SUPPORT_H

#include "providers/blas/blas.h"
#include "support/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const bp_provider bp_provider_blas;

/* ---- The host ---- */
extern char test_error[1024];   /* of the last fail() in any thread */
extern char test_warning[1024]; /* of the last warn() */
extern atomic_int test_warnings;
extern int64_t test_blocks;      /* allocated and not given back */
extern int test_fail_allocation; /* the n-th allocation from now fails; 0: none */
extern bool test_fail_scratch;
/* Where a test double stands in for a library: gives the address of a name, or NULL. NULL: the real library is opened.
 */
extern void *(*test_fake)(const char *name);
enum { TEST_PROCESSORS = 8 }; /* of the machine that the host tells of */
const bp_host *test_host(void);

/* ---- Libraries ---- */
/* The BLAS libraries found on this machine; never NULL, count may be 0. */
const bp_library_info **test_libraries(int *count);
/* Opens the library, and makes its threads cheap to start, so that products which a test can afford run on several. */
bp_status test_open(const bp_library_info *library, void **instance);
/* A row with every text set, for judging without any library. */
bp_library_info test_row(const char *family, const char *threading);

/* ---- Products ---- */
typedef enum test_layout {
    TEST_ROWS,       /* row-major, compact */
    TEST_COLUMNS,    /* column-major, compact */
    TEST_ROWS_APART, /* row-major with a gap between rows */
    TEST_COLUMNS_APART,
    TEST_GENERAL,   /* no stride of one */
    TEST_BACKWARDS, /* rows in reverse order */
    TEST_COLUMNS_BACKWARDS,
    TEST_REPEATED,    /* one row for all; not for C */
    TEST_OVERLAPPING, /* windows that overlap; not for C */
    TEST_LAYOUTS
} test_layout;

typedef struct test_product {
    bp_dtype dtype;
    int64_t m, n, k;
    test_layout a, b, c;
    bool conjugate_a, conjugate_b;
    double alpha, beta;            /* imaginary parts are made from them for complex types, except for 0 and 1 */
    int64_t batch[2];              /* 0: no such dimension */
    bool broadcast_a, broadcast_b; /* over the last batch dimension */
    int threads;
    int deterministic;
    size_t shift; /* bytes that every operand's address is off 64; a multiple of the element's real part */
} test_product;

/* Plans every accepted offer, runs it on random data, checks every element within its error bound and that nothing else
 * was written; fails the test with a description otherwise. Returns false where the library refused. The verdict is
 * that of the first accepted offer, else of the first refusal. */
bool test_run_product(void *instance, const test_product *product, bp_verdict *verdict);

/* The same for the offer of one algorithm; fails the test where there is none. */
void test_run_algorithm(void *instance, const test_product *product, const char *algorithm);

/* Gives the bits of C instead of checking them, of every accepted offer: the same room for each, `size` bytes at most.
 * Returns how many of `bits` are used. The same seed gives the same data. */
size_t test_bits_of_product(void *instance, const test_product *product, unsigned seed, void *bits, size_t size);

bp_problem test_problem(const test_product *product);

#endif
