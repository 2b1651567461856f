/* routines.h - declares prototypes of the BLAS routines that the provider calls, for the thunks of calls.c.
 *
 * The provider includes no vendor header, because one implementation calls every library. A test compiles these
 * prototypes together with an installed cblas.h, so that a mismatch fails the build. In the Fortran interface every
 * argument is an address, and the lengths of character arguments follow at the end. They are always passed: a library
 * that does not read them is not harmed, but one that reads missing lengths is.
 */
#ifndef BP_BLAS_ROUTINES_H
#define BP_BLAS_ROUTINES_H

#include <stddef.h>
#include <stdint.h>

/* T: type of an element (void if complex). S: how C passes a scalar (by value, or by address if complex). INT: the
 * library's integer. C's order and transposition are enumerations without negative values, so they are unsigned int. */
#define BP__BLAS_FORTRAN_GEMM(NAME, T, INT)                                                                            \
    void NAME(const char *transform_a, const char *transform_b, const INT *m, const INT *n, const INT *k,              \
              const T *alpha, const T *a, const INT *lda, const T *b, const INT *ldb, const T *beta, T *c,             \
              const INT *ldc, size_t length_a, size_t length_b)
#define BP__BLAS_FORTRAN_GEMV(NAME, T, INT)                                                                            \
    void NAME(const char *transform, const INT *m, const INT *n, const T *alpha, const T *a, const INT *lda,           \
              const T *x, const INT *incx, const T *beta, T *y, const INT *incy, size_t length)
#define BP__BLAS_C_GEMM(NAME, S, T, INT)                                                                               \
    void NAME(unsigned order, unsigned transform_a, unsigned transform_b, INT m, INT n, INT k, S alpha, const T *a,    \
              INT lda, const T *b, INT ldb, S beta, T *c, INT ldc)
#define BP__BLAS_C_GEMV(NAME, S, T, INT)                                                                               \
    void NAME(unsigned order, unsigned transform, INT m, INT n, S alpha, const T *a, INT lda, const T *x, INT incx,    \
              S beta, T *y, INT incy)

/* First letter of the routines, their bp_dtype, S, T. */
#define BP__BLAS_TYPES(X)                                                                                              \
    X(s, BP_F32, float, float)                                                                                         \
    X(d, BP_F64, double, double)                                                                                       \
    X(c, BP_C64, const void *, void)                                                                                   \
    X(z, BP_C128, const void *, void)

/* Values of the C interface for column-major order and for transposition. */
enum {
    BP__BLAS_COLUMN_MAJOR = 102,
    BP__BLAS_AS_IS = 111,
    BP__BLAS_TRANSPOSE = 112,
    BP__BLAS_CONJUGATE_TRANSPOSE = 113
};

#endif
