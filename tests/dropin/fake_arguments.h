/* fake_arguments.h - declares the routines of a library that keeps all arguments of its last call. */
#ifndef FAKE_ARGUMENTS_H
#define FAKE_ARGUMENTS_H

#include <complex.h>

#ifndef CMPLX /* glibc defines these for gcc only */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))
#endif

#include <stddef.h>
#include <stdint.h>

typedef struct fake_call {
    int calls, count;
    uint64_t values[32];
} fake_call;
extern fake_call fake_last;

#define FAKE_GEMM_ARGUMENTS                                                                                            \
    const char *ta, const char *tb, const void *m, const void *n, const void *k, const double *alpha, const double *a, \
        const void *lda, const double *b, const void *ldb, const double *beta, double *c, const void *ldc, size_t la,  \
        size_t lb
#define FAKE_C_GEMM_ARGUMENTS(integer)                                                                                 \
    int order, int ta, int tb, integer m, integer n, integer k, double alpha, const double *a, integer lda,            \
        const double *b, integer ldb, double beta, double *c, integer ldc
#define FAKE_GESVX_ARGUMENTS                                                                                           \
    const char *fact, const char *trans, const int *n, const int *nrhs, double *a, const int *lda, double *af,         \
        const int *ldaf, int *ipiv, char *equed, double *r, double *c, double *b, const int *ldb, double *x,           \
        const int *ldx, double *rcond, double *ferr, double *berr, double *work, int *iwork, int *info, size_t l1,     \
        size_t l2, size_t l3

void dgemm_(FAKE_GEMM_ARGUMENTS);
void scipy_dgemm_64_(FAKE_GEMM_ARGUMENTS);
void cblas_dgemm(FAKE_C_GEMM_ARGUMENTS(int));
void cblas_dgemm64_(FAKE_C_GEMM_ARGUMENTS(int64_t));
void dgesvx_(FAKE_GESVX_ARGUMENTS);
float sdot_(const int *n, const float *x, const int *dx, const float *y, const int *dy);
int idamax_(const int *n, const double *x, const int *dx);
#ifdef FAKE_HIDDEN
void zdotc_(double complex *result, const int *n, const void *x, const int *dx, const void *y, const int *dy);
void cdotc_(float complex *result, const int *n, const void *x, const int *dx, const void *y, const int *dy);
#else
double complex zdotc_(const int *n, const void *x, const int *dx, const void *y, const int *dy);
float complex cdotc_(const int *n, const void *x, const int *dx, const void *y, const int *dy);
#endif
void *fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags);
int fake_sees_itself(void);

#endif
