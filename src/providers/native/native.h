/* native.h - between the files of the native provider: what one product looks like to them, and what a kernel set
 * offers.
 *
 * Each product is seen as C(p,q) = sum over k of V(p,k) * S(k,q), where p runs along vectors and q across them. It is
 * the product itself (V is A, p is m) or its transpose (V is B, p is n), whichever puts vectors along the contiguous
 * direction of C.
 *
 * Why the same bits come out for every thread count and every place in a batch: an element of C is one chain
 *     acc = fma(V(p,k), S(k,q), acc), k ascending from acc = 0 within a block of k, then c = fma(alpha, acc, beta * c)
 * (beta being 1 after the first block), and the block size is a constant of the type. Tiles, their order, threads,
 * packing and vector lanes decide only *where and when* a chain is computed; lanes never mix, and edges are padded, not
 * summed otherwise. Real types therefore give bits that do not even depend on m, n or strides: row i of A*B is the same
 * whatever rows stand beside it. Two exceptions, both decided by the shape alone: a result of one element (a dot
 * product) sums in lanes, and a complex element takes its two imaginary products in an order that depends on which
 * operand is V.
 */
#ifndef BP_NATIVE_H
#define BP_NATIVE_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* Strides in elements. `v` and `s` may be packed panels, see bp__native_kernels. */
typedef struct bp__native_view {
    const void *v, *s;
    void *c;
    int64_t p, q, k;
    int64_t v_p, v_k, s_k, s_q, c_p, c_q;
    bool v_conjugate, s_conjugate;
    double alpha[2], beta[2];
} bp__native_view;

typedef void (*bp__native_pack)(void *panels, const void *source, int64_t across, int64_t along, int64_t count,
                                int64_t k, bool conjugate);
typedef void (*bp__native_run)(const bp__native_view *view, void *scratch);

/* What one instruction set offers for one data type. Packed V: panels of `p_panel` rows (fewer vectors at the end),
 * each [k][p_panel]; packed S: panels of `q_panel` columns, each [k][q_panel], padded. Complex panels hold split parts.
 */
typedef struct bp__native_kernels {
    bool complex;
    int lanes;      /* elements of a vector */
    int p_panel;    /* rows of a full tile */
    int q_panel;    /* columns of a full tile */
    int k_block;    /* the summation block: part of what the bits depend on */
    size_t element; /* bytes of an element in memory */
    size_t packed;  /* bytes of an element in a panel */
    bp__native_pack pack_v;
    bp__native_pack pack_s;
    /* C = alpha * V*S + beta * C for packed panels and k at most k_block. C is of the type summed in. */
    void (*block)(const bp__native_view *view);
    /* The paths below take the whole product, and NULL means that the type has no such path. `scratch` holds
     * scratch_elements() packed elements. */
    bp__native_run small; /* S in place, V in place or packed panel by panel */
    bp__native_run gemv;  /* q == 1, v_p == 1 */
    bp__native_run outer; /* k == 1 */
    bp__native_run dot;   /* p == q == 1 */
    bp__native_run tiny;  /* scalar loops */
    bp__native_run scale; /* C = beta * C */
    /* Types that are summed in f32: moves a block of C to and from it; NULL for others. */
    void (*widen)(float *to, int64_t to_q, const void *from, const bp__native_view *shape);
    void (*narrow)(void *to, const float *from, int64_t from_q, const bp__native_view *shape);
} bp__native_kernels;

/* In the order of bp_dtype from BP_F16 on. */
#define BP__NATIVE_DTYPES 6
typedef struct bp__native_set {
    const char *name; /* as algorithm texts call it */
    bp__native_kernels of[BP__NATIVE_DTYPES];
} bp__native_set;

extern const bp__native_set bp__native_default;
extern const bp__native_set bp__native_avx2;
extern const bp__native_set bp__native_avx512;

#endif
