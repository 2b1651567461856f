/* gemm.h - declares the view of one matrix product and the kernel set of one instruction set.
 *
 * Each product is computed as C(p,q) = sum over k of V(p,k) * S(k,q). Vectors run along p; each element of S is
 * broadcast. The view is either the product itself (V is A, p is m) or its transpose (V is B, p is n). choose.c takes
 * the view in which vectors follow the contiguous direction of C, or the cheaper one if that direction is short.
 *
 * Results are bitwise reproducible for every thread count and every position in a batch. An element of C is one chain
 * of operations:
 *     acc = fma(V(p,k), S(k,q), acc), k ascending from acc = 0 within a block of k, then c = fma(alpha, acc, beta * c)
 * beta is 1 after the first block, and the block size is a constant of the type. Tiles, their order, threads, packing
 * and vector lanes only decide when and where a chain is computed. Lanes are never added to each other, and edges are
 * padded. Results of real types therefore do not depend on m, n or strides either: row i of A*B is the same whatever
 * the other rows are.
 *
 * There are two exceptions, both decided by the shape alone. A result of one element (a dot product) is summed in
 * several lanes. A complex element adds its two imaginary products in an order that depends on which operand is V.
 *
 * Products of bf16 numbers (the algorithm "bf16") are a chain too, of other operations: see kernel_bf16.h. Products of
 * integers are exact modulo 2^32 in any order: see kernel_integer.h.
 */
#ifndef BP_NATIVE_GEMM_H
#define BP_NATIVE_GEMM_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* One product. Strides are in elements. `v` and `s` may be packed panels (see bp__native_kernels). */
typedef struct bp__native_view {
    const void *v, *s;
    void *c;
    int64_t p, q, k;
    int64_t v_p, v_k, s_k, s_q, c_p, c_q;
    bool v_conjugate, s_conjugate;
    double alpha[2], beta[2];
    const void *bias; /* of `block` for real types with c_p = 1: p sums that are added to each column last; or NULL */
    bool relu;        /* with a bias: negative results then become 0 */
} bp__native_view;

typedef void (*bp__native_pack)(void *panels, const void *source, int64_t across, int64_t along, int64_t count,
                                int64_t k, bool conjugate);
typedef void (*bp__native_run)(const bp__native_view *view, void *scratch);

/* Kernels of one instruction set for one data type. Packed V consists of panels of `p_panel` rows, each stored as
 * [k][p_panel]; the last ones may have fewer vectors. Packed S consists of panels of `q_panel` columns, each stored as
 * [k][q_panel] and padded with zeros. Complex panels store real and imaginary parts apart. Panels of bf16 pairs store
 * two k of a row side by side, [k / 2][rows][2], padded with zeros if k is odd. Panels of integers do so, too.
 */
typedef struct bp__native_kernels {
    bool complex;
    int lanes;        /* elements of a vector */
    int p_panel;      /* rows of a full tile */
    int q_panel;      /* columns of a full tile */
    int k_block;      /* length of a block of k; results depend on it */
    int k_unit;       /* panels have a multiple of this many k: 2 if they store pairs, otherwise 1 */
    int rows_columns; /* columns of S up to which `small` (of integers: `gemv`) reads rows of V along k in place */
    int s_columns;    /* columns of S that `small` packs at once, besides V; 0: it reads S in place */
    size_t element;   /* bytes of an element of V and S in memory */
    size_t result;    /* bytes of an element of C */
    size_t packed;    /* bytes of an element in a panel */
    size_t sum;       /* bytes of a sum */
    bp__native_pack pack_v;
    bp__native_pack pack_s;
    /* Panels of pairs only, otherwise NULL: pack V and S as f32 into panels [k][width], and convert k rows of such a
     * panel to k / 2 rows of pairs. */
    bp__native_pack plain_v;
    bp__native_pack plain_s;
    void (*pair)(void *panel, const float *rows, int width, int64_t k);
    /* C = alpha * V*S + beta * C for packed panels, with k at most k_block. C has the type that sums are computed in.
     */
    void (*block)(const bp__native_view *view);
    /* Each function below computes a whole product; NULL: the type has no such function. `scratch` is the memory that
     * run.c reserves for one thread. */
    bp__native_run small; /* reads S in place, and V in place or packed panel by panel; see also s_columns */
    bp__native_run gemv;  /* q == 1, v_p == 1; of integers: q <= rows_columns, v_p == 1 or v_k == 1 */
    bp__native_run outer; /* k == 1 */
    bp__native_run dot;   /* p == q == 1 */
    bp__native_run tiny;  /* scalar loops */
    bp__native_run scale; /* C = beta * C */
    /* Types that are summed in f32: convert a block of C to f32 and back. NULL for other types. */
    void (*widen)(float *to, int64_t to_q, const void *from, const bp__native_view *shape);
    void (*narrow)(void *to, const float *from, int64_t from_q, const bp__native_view *shape);
} bp__native_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. */
#define BP__NATIVE_DTYPES 6
typedef struct bp__native_set {
    const char *name; /* as in algorithm names */
    bp__native_kernels of[BP__NATIVE_DTYPES];
} bp__native_set;

extern const bp__native_set bp__native_default;
extern const bp__native_set bp__native_avx2;
extern const bp__native_set bp__native_avx512;
/* Products of bf16 numbers with VDPBF16PS: only the types bf16 and f32, whose elements are rounded when they are
 * packed, and only what the path PACKED needs (kernel_bf16.h). */
extern const bp__native_set bp__native_avx512bf16;

/* Kernels for products of 8-bit integers, [V is u8][S is u8]. */
typedef struct bp__native_integer_set {
    bp__native_kernels of[2][2];
} bp__native_integer_set;

extern const bp__native_integer_set bp__native_integer_default;
extern const bp__native_integer_set bp__native_integer_avx2;
extern const bp__native_integer_set bp__native_integer_avx512;
extern const bp__native_integer_set bp__native_integer_avxvnni;
extern const bp__native_integer_set bp__native_integer_avx512vnni;

/* The first ones are ISA indexes (isa.h). */
typedef enum bp__native_integer_isa {
    BP__INTEGER_DEFAULT,
    BP__INTEGER_AVX2,
    BP__INTEGER_AVX512,
    BP__INTEGER_AVX_VNNI,
    BP__INTEGER_AVX512_VNNI
} bp__native_integer_isa;

/* Returns which of these bits CPUID reports. They say nothing about the registers that the operating system saves. */
#define BP__NATIVE_HAS_AVX_VNNI 1u
#define BP__NATIVE_HAS_AVX512_VNNI 2u
uint32_t bp__native_vnni(void);

/* Returns the instruction set for products of integers that this processor and the problem's policy permit, and its
 * kernels. AVX_VNNI needs the capability AVX2, AVX512_VNNI the capability AVX-512. */
bp__native_integer_isa bp__native_integer_isa_of(const bp_host *host, const bp_problem *problem);
const bp__native_integer_set *bp__native_integers(bp__native_integer_isa isa);

/* Returns the set for products of bf16 numbers that this processor and the problem's policy permit, or NULL and a
 * reason in *why. */
const bp__native_set *bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why);

#endif
