/* blas.c - a small fake BLAS, built as every kind of library that the registry must distinguish; see local.cmake.
 *
 *   FAKE_INTEGER      int32_t or int64_t
 *   FAKE_SUFFIX       suffix of Fortran names: _ or 64_
 *   FAKE_FORTRAN, FAKE_CBLAS    which interfaces exist
 *   FAKE_F2C          float functions return double
 *   FAKE_HIDDEN       complex functions return through a hidden first argument
 *   FAKE_WRONG        products are off by one in the last element, for matrices that are not tiny
 *   FAKE_PARTIAL      only dgemm and the integer routine exist
 *   FAKE_LOAD         code of a constructor; see deeds.h
 *   FAKE_CALL         code that each product runs first
 *   FAKE_DEEDS        FAKE_CALL is of deeds.h
 *   FAKE_PEEKS        products read the element after C in c64, and the one before B in f64. daxpy reads the element
 *                     after x, zhpmv writes behind y, and ssyrk reads far away, which ends the process. dscal is right
 *   FAKE_LIMITED      products end the process before a number of threads is set; see blis.c
 *   FAKE_ENDS         dcopy ends the process
 */
#define _GNU_SOURCE
#include <complex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef FAKE_INTEGER integer;
typedef float complex float_complex;
typedef double complex double_complex;

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define FORTRAN(name) JOIN(name, FAKE_SUFFIX)
#define EXPORT __attribute__((visibility("default")))

#if defined(FAKE_LOAD) || defined(FAKE_DEEDS)
#include "deeds.h"
#endif
#ifdef FAKE_LOAD
__attribute__((constructor)) static void load(void) {
    FAKE_LOAD;
}
#endif
#ifdef FAKE_LIMITED
void need_limited_threads(void);
#define FAKE_CALL need_limited_threads()
#endif
#ifdef FAKE_PEEKS
#define FAKE_CALL                                                                                                        \
    if (k > 2) {                                                                                                         \
        (void)*_Generic(c, float_complex *: (const volatile char *)(c + (m - 1) + (n - 1) * ldc + 1),                  \
                        double *: (const volatile char *)(b - 1),                                                      \
                        default: (const volatile char *)c); \
    }
#endif
#ifndef FAKE_CALL
#define FAKE_CALL
#endif
#ifdef FAKE_WRONG
#define WRONG(m, n, k) ((m) * (n) * (k) > 50)
#else
#define WRONG(m, n, k) 0
#endif

/* The product of one type with its Fortran and C interfaces; SCALAR is how C passes a factor. */
#define PRODUCT(letter, type, CONJ)                                                                                    \
    static void letter##_product(int op_a, int op_b, integer m, integer n, integer k, type alpha, const type *a,       \
                                 integer lda, const type *b, integer ldb, type beta, type *c, integer ldc) {           \
        FAKE_CALL;                                                                                                     \
        for (integer j = 0; j < n; j++) {                                                                              \
            for (integer i = 0; i < m; i++) {                                                                          \
                type sum = 0;                                                                                          \
                for (integer l = 0; l < k; l++) {                                                                      \
                    type x = op_a == 'N' ? a[i + l * lda] : a[l + i * lda];                                            \
                    type y = op_b == 'N' ? b[l + j * ldb] : b[j + l * ldb];                                            \
                    sum += (op_a == 'C' ? CONJ(x) : x) * (op_b == 'C' ? CONJ(y) : y);                                  \
                }                                                                                                      \
                type *to = &c[i + j * ldc];                                                                            \
                *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;                                              \
            }                                                                                                          \
        }                                                                                                              \
        if (WRONG(m, n, k)) {                                                                                          \
            c[(m - 1) + (n - 1) * ldc] += 1;                                                                           \
        }                                                                                                              \
    }

#define FORTRAN_PRODUCT(letter, type)                                                                                  \
    EXPORT void FORTRAN(letter##gemm)(const char *op_a, const char *op_b, const integer *m, const integer *n,          \
                                      const integer *k, const type *alpha, const type *a, const integer *lda,          \
                                      const type *b, const integer *ldb, const type *beta, type *c,                    \
                                      const integer *ldc);                                                             \
    void FORTRAN(letter##gemm)(const char *op_a, const char *op_b, const integer *m, const integer *n,                 \
                               const integer *k, const type *alpha, const type *a, const integer *lda, const type *b,  \
                               const integer *ldb, const type *beta, type *c, const integer *ldc) {                    \
        letter##_product(*op_a, *op_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                          \
    }

/* Row-major is computed as the transposed product. */
#define C_PRODUCT(letter, type, SCALAR, VALUE)                                                                         \
    EXPORT void cblas_##letter##gemm(int order, int op_a, int op_b, integer m, integer n, integer k, SCALAR alpha,     \
                                     const type *a, integer lda, const type *b, integer ldb, SCALAR beta, type *c,     \
                                     integer ldc);                                                                     \
    void cblas_##letter##gemm(int order, int op_a, int op_b, integer m, integer n, integer k, SCALAR alpha,            \
                              const type *a, integer lda, const type *b, integer ldb, SCALAR beta, type *c,            \
                              integer ldc) {                                                                           \
        static const char words[] = "NTC";                                                                             \
        if (order == 102) {                                                                                            \
            letter##_product(words[op_a - 111], words[op_b - 111], m, n, k, VALUE(alpha), a, lda, b, ldb, VALUE(beta), \
                             c, ldc);                                                                                  \
        } else {                                                                                                       \
            letter##_product(words[op_b - 111], words[op_a - 111], n, m, k, VALUE(alpha), b, ldb, a, lda, VALUE(beta), \
                             c, ldc);                                                                                  \
        }                                                                                                              \
    }

#define SELF(x) (x)
#define FLOAT_AT(x) (*(const float_complex *)(x))
#define FAKE_AT(x) (*(const double_complex *)(x))

PRODUCT(d, double, SELF)
#ifndef FAKE_PARTIAL
PRODUCT(s, float, SELF)
PRODUCT(c, float_complex, conjf)
PRODUCT(z, double_complex, conj)
#endif

static integer largest(integer n, const float *x, integer step) {
    integer best = 0;
    for (integer i = 1; i < n; i++) {
        best = x[i * step] > x[best * step] ? i : best;
    }
    return best;
}

#ifdef FAKE_FORTRAN
FORTRAN_PRODUCT(d, double)
EXPORT integer FORTRAN(isamax)(const integer *n, const float *x, const integer *step);
integer FORTRAN(isamax)(const integer *n, const float *x, const integer *step) {
    return *n < 1 || *step < 1 ? 0 : largest(*n, x, *step) + 1;
}
#ifndef FAKE_PARTIAL
FORTRAN_PRODUCT(s, float)
FORTRAN_PRODUCT(c, float_complex)
FORTRAN_PRODUCT(z, double_complex)

/* Returns the position of the first element of a vector; with a negative step it is the last one in memory. */
static integer first_of(integer n, integer step) {
    return step < 0 ? (1 - n) * step : 0;
}

#ifdef FAKE_F2C
typedef double float_result;
#else
typedef float float_result;
#endif
EXPORT float_result FORTRAN(sdot)(const integer *n, const float *x, const integer *x_step, const float *y,
                                  const integer *y_step);
float_result FORTRAN(sdot)(const integer *n, const float *x, const integer *x_step, const float *y,
                           const integer *y_step) {
    float sum = 0;
    for (integer i = 0; i < *n; i++) {
        sum += x[first_of(*n, *x_step) + i * *x_step] * y[first_of(*n, *y_step) + i * *y_step];
    }
    return sum;
}

static double_complex dot(integer n, const double_complex *x, integer x_step, const double_complex *y, integer y_step) {
    double_complex sum = 0;
    for (integer i = 0; i < n; i++) {
        sum += conj(x[first_of(n, x_step) + i * x_step]) * y[first_of(n, y_step) + i * y_step];
    }
    return sum;
}
#ifdef FAKE_HIDDEN
EXPORT void FORTRAN(zdotc)(double_complex *result, const integer *n, const double_complex *x, const integer *x_step,
                           const double_complex *y, const integer *y_step);
void FORTRAN(zdotc)(double_complex *result, const integer *n, const double_complex *x, const integer *x_step,
                    const double_complex *y, const integer *y_step) {
    *result = dot(*n, x, *x_step, y, *y_step);
}
#else
EXPORT double_complex FORTRAN(zdotc)(const integer *n, const double_complex *x, const integer *x_step,
                                     const double_complex *y, const integer *y_step);
double_complex FORTRAN(zdotc)(const integer *n, const double_complex *x, const integer *x_step, const double_complex *y,
                              const integer *y_step) {
    return dot(*n, x, *x_step, y, *y_step);
}
#endif
#endif
#endif

#ifdef FAKE_CBLAS
C_PRODUCT(d, double, double, SELF)
EXPORT size_t cblas_isamax(integer n, const float *x, integer step);
size_t cblas_isamax(integer n, const float *x, integer step) {
    return n < 1 ? 0 : (size_t)largest(n, x, step);
}
#ifndef FAKE_PARTIAL
C_PRODUCT(s, float, float, SELF)
C_PRODUCT(c, float_complex, const void *, FLOAT_AT)
C_PRODUCT(z, double_complex, const void *, FAKE_AT)
#endif
#endif

#ifdef FAKE_PEEKS
EXPORT void FORTRAN(daxpy)(const integer *n, const double *alpha, const double *x, const integer *x_step, double *y,
                           const integer *y_step);
void FORTRAN(daxpy)(const integer *n, const double *alpha, const double *x, const integer *x_step, double *y,
                    const integer *y_step) {
    (void)alpha, (void)y, (void)y_step;
    (void)*(const volatile double *)(x + *n * (*x_step < 0 ? -*x_step : *x_step));
}

EXPORT void FORTRAN(dscal)(const integer *n, const double *alpha, double *x, const integer *x_step);
void FORTRAN(dscal)(const integer *n, const double *alpha, double *x, const integer *x_step) {
    for (integer i = 0; i < *n; i++) {
        x[i * (*x_step < 0 ? -*x_step : *x_step)] *= *alpha;
    }
}

EXPORT void FORTRAN(zhpmv)(const char *uplo, const integer *n, const double_complex *alpha, const double_complex *a,
                           const double_complex *x, const integer *x_step, const double_complex *beta,
                           double_complex *y, const integer *y_step);
void FORTRAN(zhpmv)(const char *uplo, const integer *n, const double_complex *alpha, const double_complex *a,
                    const double_complex *x, const integer *x_step, const double_complex *beta, double_complex *y,
                    const integer *y_step) {
    (void)uplo, (void)alpha, (void)a, (void)x, (void)x_step, (void)beta;
    y[*n > 8 ? *n * (*y_step < 0 ? -*y_step : *y_step) : 0] = 1;
}

EXPORT void FORTRAN(ssyrk)(void);
void FORTRAN(ssyrk)(void) {
    (void)*(const volatile char *)sizeof(long);
}
#endif

#ifdef FAKE_ENDS
EXPORT void FORTRAN(dcopy)(void);
void FORTRAN(dcopy)(void) {
    _exit(0);
}
#endif
