/* linalg_results.h - checks results of linear algebra against the reference, by their equations (A = P L U, A = Q R, A
 * X = B, the four identities of a pseudoinverse, ...) or values.
 *
 * It covers every operation, type and layout, and difficult matrices, on the default choice and on every library.
 * Operations that a library does not offer are skipped. */
#ifndef BP_TESTS_LINALG_RESULTS_H
#define BP_TESTS_LINALG_RESULTS_H

#include "ops/linalg_support.h"

typedef enum test_kind {
    TEST_RANDOM,
    TEST_GRADED,
    TEST_DEFICIENT, /* rank 2 */
    TEST_HILBERT,
    TEST_HUGE,
    TEST_TINY,
    TEST_DEFECTIVE, /* one Jordan block */
    TEST_CLUSTERED, /* near the identity */
    TEST_ZERO,
    TEST_KINDS
} test_kind;

bool test_single(bp_dtype dtype);
bool test_regular(test_kind k); /* Returns whether the kind has full rank and is not close to a lower one. */
test_order test_next_order(void);

/* Returns an element of an item; its matrix is the last `core` dimensions (0 to 2). A batch of one is used for all
 * items.
 */
long double complex test_element(test_call *c, int operand, int core, int64_t item, int64_t i, int64_t j);

/* Starts a call with a batch of two A of the kind, and one B for both if there are right-hand sides (negative: none).
 */
void test_start(test_call *c, bp_op op, bp_dtype dtype, test_kind k, int64_t m, int64_t n, int64_t sides);

/* Makes a square input M + M^H, or M M^H + I. */
void test_make_hermitian(test_call *c, int index, bool definite);

/* Runs a call, and checks that its results satisfy their equations, or have their values, within the bound of the
 * reference; det and slogdet of a kind that is not regular have none. Returns false if the library under test does not
 * offer it. Later failures name this call. */
bool test_run_call(test_call *c, test_kind k);
void test_current(const test_call *c); /* later failures name this call */

/* Fails unless the error is at most the error of a backward-stable algorithm: epsilon times the size of the numbers
 * times n, times a factor. */
void test_at_most(const char *what, long double error, long double size, int n, bp_dtype dtype, double factor);
/* Fails unless the elements of an operand on the other side of the diagonal are 0. */
void test_triangular(test_call *c, int operand, bool upper);

/* Runs the operations on each choice, each as a separate test, for all types and several sizes. Returns the exit status
 * of main(). */
int test_every_library(void (*all_operations)(bp_dtype dtype, int64_t n));

#endif
