/* choose.h - what the provider decides about a problem before any data is seen. */
#ifndef BP_NATIVE_CHOOSE_H
#define BP_NATIVE_CHOOSE_H

#include "native.h"
#include "stop.h"

typedef enum bp__native_path {
    BP__PATH_NONE,  /* nothing to write */
    BP__PATH_SCALE, /* C = beta * C */
    BP__PATH_TINY,
    BP__PATH_DOT,
    BP__PATH_OUTER,
    BP__PATH_GEMV,
    BP__PATH_SMALL,
    BP__PATH_PACKED,
    BP__NATIVE_PATHS
} bp__native_path;

typedef struct bp__native_choice {
    const bp__native_kernels *kernels;
    const char *algorithm;
    bp__native_path path;
    bool transposed;         /* V is B, S is A */
    bool shares_v, shares_s; /* the whole batch has one of them */
    bool packed_v;           /* V will be handed in packed */
    bool split_items;        /* threads take whole products of the batch, or parts of them */
    int p_parts, q_parts;    /* of each product, for paths other than PACKED */
    int threads;
    double cost_ns;
    bp__native_view view; /* sizes, strides and conjugation; pointers and factors come with the call */
} bp__native_choice;

/* Decides everything that follows from the problem, once for each path that can take it. The first one is what is best
 * by what was measured of the paths; no other one costs less. Pure. Returns how many there are, 0 for a type that is
 * not offered. */
int bp__native_choose(const bp_host *host, const bp_problem *problem, bp__native_choice choices[BP__NATIVE_PATHS]);

/* The operands that can be packed beforehand: a bit for A, a bit for B. */
uint32_t bp__native_packs(const bp__native_choice *choice);

/* Estimated time on one thread, from rates measured for each path (cost.c). `set` is 0 default, 1 AVX2, 2 AVX-512. */
double bp__native_cost(const bp_host *host, int set, bp_dtype dtype, const bp__native_choice *choice, int64_t batch);
/* What `threads` threads make of it. */
double bp__native_cost_threads(const bp__native_choice *choice, double alone_ns, int threads);
/* How many threads are worth their while. */
int bp__native_worth(double alone_ns, int most);

/* ---- gemm_blocked.c ---- */
/* Bytes of scratch for one product on `threads` threads. */
size_t bp__native_blocked_scratch(const bp__native_kernels *kernels, const bp__native_view *view, int threads);
/* Operands that were packed before: all their panels, summation block by summation block; NULL: packed on the way. */
typedef struct bp__native_prepacked {
    const char *v, *s;
} bp__native_prepacked;

/* One product through panels, in the caller's thread when `threads` is 1. */
void bp__native_blocked(const bp__native_kernels *kernels, const bp__native_view *view,
                        const bp__native_prepacked *prepacked, int threads, void *scratch, bp__stop *stop);

/* Packs V, or S, as a whole, for runs on so many threads. */
size_t bp__native_prepack_bytes(const bp__native_kernels *kernels, const bp__native_view *view, bool v);
void bp__native_prepack(const bp__native_kernels *kernels, const bp__native_view *view, bool v, int threads, void *to,
                        bp__stop *stop);

/* ---- run.c ---- */
bp_status bp__native_prepare(const bp_host *host, const bp__native_choice *choice, const bp_gemm_problem *problem,
                             bp_prepared **prepared);

#endif
