/* support_spectra.h - shared by the tests of orthogonal factorizations: matrices with known singular values or
 * eigenvalues, and test cases. */
#ifndef BP_TESTS_LAPACK_SPECTRA_H
#define BP_TESTS_LAPACK_SPECTRA_H

#include "lapack/support_lapack.h"

/* Bound of a relative residual, in units of max(m,n) epsilon, as in LAPACK's own tests: constants of the error bounds
 * are low-degree polynomials of n, and actual errors are far below. */
#define TEST_BOUND 30

/* ---- Matrices of a known spectrum ---- */

typedef enum test_spectrum {
    TEST_SPREAD,    /* from 1 to 1/10 */
    TEST_CLUSTERED, /* all but one equal up to some epsilons */
    TEST_EQUAL,
    TEST_GEOMETRIC, /* from 1 down to a tenth of epsilon */
    TEST_HALF,      /* half of them zero */
    TEST_SPECTRA
} test_spectrum;

long double test_spectrum_value(test_spectrum spectrum, bp_dtype dtype, int64_t i, int64_t count);
/* Fills every item with U diag(values) V^H with random unitary U and V, times `scale`. */
void test_fill_spectrum(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed);
/* Fills with Hermitian V diag(values) V^H, every second value negative, in both triangles. */
void test_fill_hermitian(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed);
/* Returns a random unitary matrix, row-major, n x n. */
number *test_unitary(int64_t n, bool complex_type);

/* Returns re + i im, also for a non-finite component, which a sum with I would propagate to the other. */
number test_complex(long double re, long double im);

/* ---- Cases ---- */

typedef struct test_case {
    void *instance;
    const char *where;
    bp_dtype dtype;
    int64_t m, n, items;
    matrix_layout layout;
} test_case;

/* Calls `check` for all types, layouts and sizes, or only square sizes. */
void test_each_case(void *instance, const bp_library_info *row, bool square, void (*check)(const test_case *c));
/* Calls `check` for all types at one size. */
void test_each_type(void *instance, const bp_library_info *row, int64_t m, int64_t n,
                    void (*check)(const test_case *c));

/* Writes `value` to the middle item and runs the call twice. With fail_on_item_error it must fail with BP_E_NON_FINITE.
 * Without, the outputs of the middle item must be NaN, or 0 for integers, and the outputs of the other items must not.
 * A has three items. */
void test_non_finite(const test_case *c, test_call *call, int outputs, long double value);

#endif
