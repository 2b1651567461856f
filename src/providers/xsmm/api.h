/* api.h - declares the functions of libxsmm (version 1) that the provider calls, also for the probe, and for the test
 * that compares them with an installed libxsmm.h.
 */
#ifndef BP_XSMM_API_H
#define BP_XSMM_API_H

/* A dispatch function: libxsmm_smmdispatch for float, libxsmm_dmmdispatch for double. Returns a kernel that computes
 * c = a * b + beta * c, column-major, with alpha 1 and beta 0 or 1; NULL if the library cannot generate it. The same
 * arguments return the same kernel. INT is the library's integer. The provider passes int64_t, which is right for both
 * widths: sizes are positive and below 2^31, so by reference a 32-bit library reads the same number from the first
 * half, and by value it takes the low half of the register. */
#define BP__XSMM_DISPATCH(NAME, KERNEL, INT, T)                                                                        \
    KERNEL NAME(INT m, INT n, INT k, const INT *lda, const INT *ldb, const INT *ldc, const T *alpha, const T *beta,    \
                const int *flags, const int *prefetch)

/* A kernel. Further arguments are addresses to prefetch, which kernels without prefetching do not read. */
#define BP__XSMM_KERNEL(NAME, T) void NAME(const T *a, const T *b, T *c, ...)

/* X(name, number): constants without their prefix, LIBXSMM_GEMM_. */
#define BP__XSMM_NUMBERS(X) X(FLAG_NONE, 0) X(FLAG_TRANS_B, 2) X(PREFETCH_NONE, 0)

enum {
#define X(name, number) BP__XSMM_##name = number,
    BP__XSMM_NUMBERS(X)
#undef X
};

#endif
