/* support_spectra.h - what the tests of factorizations with orthogonal matrices share: matrices whose singular values
 * or eigenvalues are known by construction, the residuals of their factors, and the cases to go through. */
#ifndef BP_TESTS_LAPACK_SPECTRA_H
#define BP_TESTS_LAPACK_SPECTRA_H

#include "lapack/support_lapack.h"

/* Units of max(m,n) epsilon that a relative residual may have: LAPACK's own tests take this, since constants of the
 * error bounds are low polynomials of n, and practice is far below. */
#define TEST_BOUND 30

/* ---- Matrices of a known spectrum ---- */

typedef enum test_spectrum {
    TEST_SPREAD,    /* from 1 to 1/10 */
    TEST_CLUSTERED, /* all but one the same to some epsilons */
    TEST_EQUAL,
    TEST_GEOMETRIC, /* from 1 down to a tenth of epsilon */
    TEST_HALF,      /* half of them zero */
    TEST_SPECTRA
} test_spectrum;

long double test_spectrum_value(test_spectrum spectrum, bp_dtype dtype, int64_t i, int64_t count);
/* Every item: U diag(values) V^H with random unitary U and V, times `scale`. */
void test_fill_spectrum(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed);
/* Hermitian: V diag(values) V^H, every second value negative. Both triangles. */
void test_fill_hermitian(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed);
/* Row-major, n x n. */
number *test_unitary(int64_t n, bool complex_type, unsigned *seed);

/* re + i im, also where a part is not finite, which a sum with I would spread to the other. */
number test_complex(long double re, long double im);

/* ---- Residuals ---- */

/* Fails unless the columns of q (m x n, row-major) are orthonormal. */
void test_orthonormal(const number *q, int64_t m, int64_t n, bp_dtype dtype, const char *where);
/* Fails unless the distance of a from b is small against `size`, the norm of what was factored. */
void test_near(const number *a, const number *b, int64_t m, int64_t n, long double size, bp_dtype dtype,
               const char *where);

/* ---- Cases ---- */

typedef struct test_case {
    void *instance;
    const char *where;
    bp_dtype dtype;
    int64_t m, n, items;
    test_layout layout;
} test_case;

/* Calls check for all types, layouts and sizes; only square ones on request. */
void test_each_case(void *instance, const bp_library_info *row, bool square, void (*check)(const test_case *c));
/* Calls check for all types at one size. */
void test_each_type(void *instance, const bp_library_info *row, int64_t m, int64_t n,
                    void (*check)(const test_case *c));

/* Puts `value` into the middle item and runs the call twice: with `check` it must fail with BP_E_NON_FINITE; without,
 * the middle item's outputs must be NaN, or 0 in integers, and those of the other items must not. A has three items. */
void test_non_finite(const test_case *c, test_call *call, int outputs, long double value);

#endif
