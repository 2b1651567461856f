/* xsmm.c - a library with libxsmm's dispatch functions, for the tests of its probe. The kernels compute the product of
 * the last request with loops.
 *
 * FAKE_INTEGER: the type of integers. FAKE_LACKS: only the symbol by which version 2 is recognised. FAKE_NONE: no
 * kernels. FAKE_WRONG: an expression added to each element of C, in terms of i, j and r, the request. FAKE_READS: beta
 * is taken as a factor even if it is 0. FAKE_SPILLS: kernels also write the element after each column. */
#include <stdint.h>
#include <stdio.h>

#ifndef FAKE_INTEGER
#define FAKE_INTEGER int32_t
#endif
#ifndef FAKE_WRONG
#define FAKE_WRONG 0
#endif

#define EXPORT __attribute__((visibility("default")))

typedef struct request {
    int64_t m, n, k, lda, ldb, ldc;
    double beta;
    int flags;
} request;

EXPORT const char *libxsmm_get_target_arch(void);
const char *libxsmm_get_target_arch(void) {
    return "hsw";
}

/* Names of a BLAS, as the wrappers of the real library. */
EXPORT void dgemm_(void);
void dgemm_(void) {
}

#ifdef FAKE_LACKS
EXPORT void libxsmm_dispatch_gemm(void);
void libxsmm_dispatch_gemm(void) {
}
#else
static request r;

#define DEFINE(T, LETTER)                                                                                              \
    static void kernel_##LETTER(const T *a, const T *b, T *c) {                                                        \
        for (int64_t j = 0; j < r.n; j++) {                                                                            \
            for (int64_t i = 0; i < r.m; i++) {                                                                        \
                double sum = (double)(FAKE_WRONG) + (FAKE_ADDS ? r.beta * (double)c[i + j * r.ldc] : 0);               \
                for (int64_t l = 0; l < r.k; l++) {                                                                    \
                    sum += (double)(a[i + l * r.lda] * (r.flags & 2 ? b[j + l * r.ldb] : b[l + j * r.ldb]));           \
                }                                                                                                      \
                c[i + j * r.ldc] = (T)sum;                                                                             \
            }                                                                                                          \
            if (FAKE_GAP && r.ldc > r.m) {                                                                             \
                c[r.m + j * r.ldc] = 0;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    EXPORT void *libxsmm_##LETTER##mmdispatch(FAKE_INTEGER m, FAKE_INTEGER n, FAKE_INTEGER k, const FAKE_INTEGER *lda, \
                                              const FAKE_INTEGER *ldb, const FAKE_INTEGER *ldc, const T *alpha,        \
                                              const T *beta, const int *flags, const int *prefetch);                   \
    void *libxsmm_##LETTER##mmdispatch(FAKE_INTEGER m, FAKE_INTEGER n, FAKE_INTEGER k, const FAKE_INTEGER *lda,        \
                                       const FAKE_INTEGER *ldb, const FAKE_INTEGER *ldc, const T *alpha,               \
                                       const T *beta, const int *flags, const int *prefetch) {                         \
        r = (request){m, n, k, *lda, *ldb, *ldc, (double)*beta, *flags};                                               \
        int plain = *alpha == 1 && *prefetch == 0 && r.lda <= UINT32_MAX;                                              \
        return FAKE_KERNELS && plain ? (void *)(uintptr_t)kernel_##LETTER : NULL;                                      \
    }

#ifdef FAKE_READS
#define FAKE_ADDS 1
#else
#define FAKE_ADDS (r.beta != 0)
#endif
#ifdef FAKE_SPILLS
#define FAKE_GAP 1
#else
#define FAKE_GAP 0
#endif
#ifdef FAKE_NONE
#define FAKE_KERNELS 0
#else
#define FAKE_KERNELS 1
#endif

DEFINE(float, s)
DEFINE(double, d)
#endif
