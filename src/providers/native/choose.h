/* choose.h - what the provider decides about a problem before any data is seen. */
#ifndef BP_NATIVE_CHOOSE_H
#define BP_NATIVE_CHOOSE_H

#include "native.h"

typedef enum bp__native_path {
    BP__PATH_NONE,  /* nothing to write */
    BP__PATH_SCALE, /* C = beta * C */
    BP__PATH_TINY,
    BP__PATH_DOT,
    BP__PATH_OUTER,
    BP__PATH_GEMV,
    BP__PATH_SMALL,
    BP__PATH_PACKED
} bp__native_path;

typedef struct bp__native_choice {
    const bp__native_kernels *kernels;
    const char *algorithm;
    bp__native_path path;
    bool transposed;      /* V is B, S is A */
    bool split_items;     /* threads take whole products of the batch, or parts of them */
    int p_parts, q_parts; /* of each product, for paths other than PACKED */
    int threads;
    double cost_ns;
    bp__native_view view; /* sizes, strides and conjugation; pointers and factors come with the call */
} bp__native_choice;

/* Decides everything that follows from the problem. Pure. Returns the reason of a refusal, or BP_REASON_ACCEPTED. */
bp_reason bp__native_choose(const bp_host *host, const bp_problem *problem, bp__native_choice *choice);

/* Estimated time on one thread, from rates measured for each path (cost.c). `set` is 0 default, 1 AVX2, 2 AVX-512. */
double bp__native_cost(const bp_host *host, int set, bp_dtype dtype, const bp__native_choice *choice, int64_t batch);
/* What `threads` threads make of it. */
double bp__native_cost_threads(const bp__native_choice *choice, double alone_ns, int threads);
/* How many threads are worth their while. */
int bp__native_worth(double alone_ns, int most);

/* ---- gemm_blocked.c ---- */
/* Bytes of scratch for one product on `threads` threads. */
size_t bp__native_blocked_scratch(const bp__native_kernels *kernels, const bp__native_view *view, int threads);
/* One product through panels, in the caller's thread when `parallel` is NULL. */
void bp__native_blocked(const bp__native_kernels *kernels, const bp__native_view *view, int threads, void *scratch,
                        void (*parallel)(int threads, int count, bp_task task, void *context));

/* ---- run.c ---- */
bp_status bp__native_prepare(const bp_host *host, const bp__native_choice *choice, const bp_gemm_problem *problem,
                             bp_prepared **prepared);

#endif
