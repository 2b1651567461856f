/* support_lapack.h - shared by the tests of the lapack provider: operands in every layout with guarded memory, calls of
 * the provider on the machine's libraries, difficult matrices, and checks against the reference. */
#ifndef BP_TESTS_LAPACK_SUPPORT_H
#define BP_TESTS_LAPACK_SUPPORT_H

#include "backplane/provider.h"
#include "providers/driver/driver.h"
#include "support/arrays.h"
#include "support/linalg.h"
#include "support/offers.h"
#include "support/results.h"

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const bp_provider bp_provider_lapack, bp_provider_native;

typedef long double complex number;

/* ---- Operands ---- */

typedef enum matrix_layout {
    TEST_ROWS,    /* row-major, compact */
    TEST_COLUMNS, /* column-major, compact */
    TEST_ROWS_APART,
    TEST_COLUMNS_APART,
    TEST_COLUMNS_REVERSED, /* the last column first */
    TEST_GENERAL,          /* no stride of one */
    TEST_BACKWARDS,        /* rows and columns in reverse order */
    MATRIX_LAYOUTS
} matrix_layout;

typedef struct test_operand {
    bp_dtype dtype;
    int64_t rows, columns, row, column;
    int64_t items, step;      /* stride in elements between items; 0: broadcast */
    test_array array, before; /* of all items; and a copy from before the last run */
    char *base;               /* element (0, 0) of item 0 */
} test_operand;

/* Makes `items` matrices. With `broadcast` all items share one matrix. */
test_operand test_make(bp_dtype dtype, int64_t rows, int64_t columns, int64_t items, bool broadcast,
                       matrix_layout layout);
void test_drop(test_operand *x);
number test_get(const test_operand *x, int64_t item, int64_t i, int64_t j);
void test_set(test_operand *x, int64_t item, int64_t i, int64_t j, number value);
bool test_is_complex(bp_dtype dtype);
bp_dtype test_real_of(bp_dtype dtype);
long double test_epsilon(bp_dtype dtype);

/* ---- Calls ---- */

typedef struct test_call {
    bp_op op;
    bp_linalg_problem fields;                  /* mode, upper, a_on_left, ...; sizes and operands are filled in */
    test_operand *operand[BP_LINALG_OPERANDS]; /* NULL: absent */
    int threads, deterministic;                /* 0 threads means all processors */
} test_call;

extern const bp_dtype test_dtypes[4];
/* Returns the LAPACK libraries of this machine. Skips the test if there are none. */
const bp_library_info **test_libraries(int *count);
void *test_open(const bp_library_info *library);
bp_problem test_problem(const test_call *call);
/* Accepts, plans and executes. Checks that the inputs, and the bytes around the outputs' elements, are unchanged.
 * `verdict` may be NULL. */
bp_status test_run(void *instance, const test_call *call, bp_verdict *verdict);
/* Fails the test unless the results of a call that has run satisfy the equations of the reference (support/linalg.h).
 */
void test_equations(const test_call *call, const char *where);
/* Makes the reference of det, slogdet, matrix_rank, cond or matrix_norm, as test_linalg_values(), before or after the
 * call; `made` points to tensors of `of`. */
void test_values(reference_results *made, test_linalg *of, const test_call *call, double most);
/* Runs check(instance, row) for each library. */
void test_each_library(void (*check)(void *instance, const bp_library_info *row));
/* Runs check(instance, row) on the native provider, for each instruction set of its kernels that this processor
 * supports. test_run() then uses that one, and test_each_case() skips sizes too large for it. The entry has only an id.
 */
void test_each_native(void (*check)(void *instance, const bp_library_info *row));
bool test_fits(int64_t m, int64_t n);

/* ---- Matrices (support_matrices.c): column-major arrays of n x n or m x n numbers ---- */

typedef enum test_kind {
    TEST_RANDOM,
    TEST_GRADED,    /* rows scaled from 1 down to the square root of the smallest normal number */
    TEST_HILBERT,   /* ill-conditioned */
    TEST_KAHAN,     /* upper triangular, with a small singular value that is hard to detect */
    TEST_WILKINSON, /* maximum growth in elimination */
    TEST_HUGE,      /* random, near the largest number whose square does not overflow */
    TEST_TINY,
    TEST_DEFICIENT, /* of rank about half */
    TEST_KINDS
} test_kind;

void test_fill(test_operand *x, test_kind kind, unsigned seed);
/* Fills with Hermitian positive definite matrices M M^H plus a diagonal, in both triangles. */
void test_fill_definite(test_operand *x, unsigned seed);
/* Returns a number of test_array_random (support/arrays.h), with one or two parts between -1 and 1. */
number test_random(bool two_parts);

/* Fails the test, with the given text, unless value <= bound. NaN fails. */
#define test_within(value, bound, ...) test_check_within(value, bound, __FILE__, __LINE__, __VA_ARGS__)
void test_check_within(long double value, long double bound, const char *file, int line, const char *format, ...)
    BP_PRINTF(5, 6);

#endif
