/* fake_arguments.c - a math library whose routines keep all their arguments, for tests of what stubs pass on. */
#define _GNU_SOURCE
#include "fake_arguments.h"

#include <dlfcn.h>
#include <string.h>

fake_call fake_last;

#define ARRAY_OF(...) ((uint64_t[]){__VA_ARGS__})
#define KEEP(...) keep(sizeof ARRAY_OF(__VA_ARGS__) / 8, ARRAY_OF(__VA_ARGS__))

static void keep(size_t count, const uint64_t *values) {
    fake_last.calls++;
    fake_last.count = (int)count;
    memcpy(fake_last.values, values, count * sizeof *values);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define P(address) (uint64_t)(uintptr_t)(address)

void dgemm_(FAKE_GEMM_ARGUMENTS) {
    KEEP(P(ta), P(tb), P(m), P(n), P(k), P(alpha), P(a), P(lda), P(b), P(ldb), P(beta), P(c), P(ldc), la, lb);
}

void scipy_dgemm_64_(FAKE_GEMM_ARGUMENTS) {
    KEEP(P(ta), P(tb), P(m), P(n), P(k), P(alpha), P(a), P(lda), P(b), P(ldb), P(beta), P(c), P(ldc), la, lb, 64);
}

void cblas_dgemm(FAKE_C_GEMM_ARGUMENTS(int)) {
    KEEP((uint64_t)order, (uint64_t)ta, (uint64_t)tb, (uint64_t)m, (uint64_t)n, (uint64_t)k, bits_of(alpha), P(a),
         (uint64_t)lda, P(b), (uint64_t)ldb, bits_of(beta), P(c), (uint64_t)ldc);
}

void cblas_dgemm64_(FAKE_C_GEMM_ARGUMENTS(int64_t)) {
    KEEP((uint64_t)order, (uint64_t)ta, (uint64_t)tb, (uint64_t)m, (uint64_t)n, (uint64_t)k, bits_of(alpha), P(a),
         (uint64_t)lda, P(b), (uint64_t)ldb, bits_of(beta), P(c), (uint64_t)ldc);
}

void dgesvx_(FAKE_GESVX_ARGUMENTS) {
    KEEP(P(fact), P(trans), P(n), P(nrhs), P(a), P(lda), P(af), P(ldaf), P(ipiv), P(equed), P(r), P(c), P(b), P(ldb),
         P(x), P(ldx), P(rcond), P(ferr), P(berr), P(work), P(iwork), P(info), l1, l2, l3);
}

float sdot_(const int *n, const float *x, const int *dx, const float *y, const int *dy) {
    KEEP(P(n), P(x), P(dx), P(y), P(dy));
    return 1.5f;
}

int idamax_(const int *n, const double *x, const int *dx) {
    KEEP(P(n), P(x), P(dx));
    return 7;
}

#ifdef FAKE_HIDDEN
void zdotc_(double complex *result, const int *n, const void *x, const int *dx, const void *y, const int *dy) {
    KEEP(P(n), P(x), P(dx), P(y), P(dy));
    *result = CMPLX(3, -4);
}

void cdotc_(float complex *result, const int *n, const void *x, const int *dx, const void *y, const int *dy) {
    KEEP(P(n), P(x), P(dx), P(y), P(dy));
    *result = CMPLXF(5, -6);
}
#else
double complex zdotc_(const int *n, const void *x, const int *dx, const void *y, const int *dy) {
    KEEP(P(n), P(x), P(dx), P(y), P(dy));
    return CMPLX(3, -4);
}

float complex cdotc_(const int *n, const void *x, const int *dx, const void *y, const int *dy) {
    KEEP(P(n), P(x), P(dx), P(y), P(dy));
    return CMPLXF(5, -6);
}
#endif

void *fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags) {
    KEEP((uint64_t)n, P(in), P(out), (uint64_t)sign, flags);
    return out;
}

/* Returns whether this library gets its own routine by name, rather than a stub. */
int fake_sees_itself(void) {
    static const int inside = 1; /* the program may have a copy of other data */
    Dl_info found, own;
    void *routine = dlsym(RTLD_DEFAULT, "dgemm_");
    return routine && dladdr(routine, &found) && dladdr(&inside, &own) && found.dli_fbase == own.dli_fbase;
}
