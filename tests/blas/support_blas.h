/* support_blas.h - shared by the tests of the blas provider: a test host that counts and can fail, the BLAS libraries
 * of the machine, and products in every layout, checked against long double arithmetic. */
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
extern char test_error[1024];   /* message of the last fail() in any thread */
extern char test_warning[1024]; /* message of the last warn() */
extern atomic_int test_warnings;
extern int64_t test_blocks;      /* allocated and not freed */
extern int test_fail_allocation; /* the n-th allocation from now fails; 0: none */
extern bool test_fail_scratch;
/* Looks up names in a fake library; NULL for an unknown name. The pointer itself is NULL to open the real library. */
extern void *(*test_fake)(const char *name);
enum { TEST_PROCESSORS = 8 }; /* of the machine that the host reports */
const bp_host *test_host(void);

/* ---- Libraries ---- */
/* Returns the BLAS libraries found on this machine. Never NULL; *count may be 0. */
const bp_library_info **test_libraries(int *count);
/* Opens the library, and sets its start cost of threads low, so that small products run on several threads. */
bp_status test_open(const bp_library_info *library, void **instance);
/* Returns a library entry with all texts set, to call accept() without a library. */
bp_library_info test_row(const char *family, const char *threading);

/* ---- Products ---- */
typedef enum matrix_layout {
    TEST_ROWS,       /* row-major, compact */
    TEST_COLUMNS,    /* column-major, compact */
    TEST_ROWS_APART, /* row-major with a gap between rows */
    TEST_COLUMNS_APART,
    TEST_GENERAL,   /* no stride of one */
    TEST_BACKWARDS, /* rows in reverse order */
    TEST_COLUMNS_BACKWARDS,
    TEST_REPEATED,    /* one row for all; not for C */
    TEST_OVERLAPPING, /* windows that overlap; not for C */
    MATRIX_LAYOUTS
} matrix_layout;

typedef struct test_product {
    bp_dtype dtype;
    int64_t m, n, k;
    matrix_layout a, b, c;
    bool conjugate_a, conjugate_b;
    double alpha, beta;            /* their imaginary parts are derived for complex types, except for 0 and 1 */
    int64_t batch[2];              /* 0: no such dimension */
    bool broadcast_a, broadcast_b; /* over the last batch dimension */
    int threads;
    int deterministic;
    size_t
        shift; /* bytes by which every operand's address differs from a multiple of 64; a multiple of a real's size */
} test_product;

/* The provider of the instances below; bp_provider_blas unless a test changes it. */
extern const bp_provider *test_provider;

/* Plans every accepted offer, runs it on random data, and checks that every element is within its error bound and that
 * nothing else was written. Fails the test with a description otherwise. Returns false if the library refused. The
 * verdict belongs to the first accepted offer, else to the first refusal. */
bool test_run_product(void *instance, const test_product *product, bp_verdict *verdict);

/* Runs the offer of one algorithm. Fails the test if there is none. */
void test_run_algorithm(void *instance, const test_product *product, const char *algorithm);

/* Returns the bytes of C of every accepted offer in `bits`, without a check: `size` bytes at most, divided evenly.
 * Returns the number of bytes used. The same seed gives the same data. */
size_t test_bits_of_product(void *instance, const test_product *product, unsigned seed, void *bits, size_t size);

bp_problem test_problem(const test_product *product);

#endif
