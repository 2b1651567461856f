/* choose.h - declares what the provider decides about a matrix product from its problem alone. */
#ifndef BP_NATIVE_GEMM_CHOOSE_H
#define BP_NATIVE_GEMM_CHOOSE_H

#include "gemm.h"
#include "providers/least.h"
#include "providers/native/stop.h"

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
    bool shares_v, shares_s; /* all products of the batch use the same operand */
    bool packed_v;           /* the caller passes V in packed form */
    bool split_items;        /* threads take whole products or parts of them; otherwise all threads share each product
                              */
    int p_parts, q_parts;    /* parts of each product along p and q; 1 for the path PACKED */
    int threads;
    double cost_ns;
    bp__native_view view; /* sizes, strides and conjugation; pointers and factors are set in each call */
} bp__native_choice;

/* Fills `choices` with one choice for each path that can run the problem, and returns their number. The first one is
 * the best by measurements of the paths, and none of the others has a lower cost. Returns 0 for a type that the
 * provider does not offer. Has no side effects. */
int bp__native_choose(const bp_host *host, const bp_problem *problem, bp__native_choice choices[BP__NATIVE_PATHS]);

/* Makes the choice of the algorithm "bf16" with these kernels. Returns false if there is no product to compute. */
#define BP__NATIVE_BF16 "bf16"
bool bp__native_choose_bf16(const bp_host *host, const bp_problem *problem, const bp__native_kernels *kernels,
                            bp__native_choice *choice);

/* Returns whether the path SMALL packs V panel by panel. Otherwise it reads V in place. Integers are always packed. */
static inline bool bp__native_small_packs(const bp__native_choice *choice) {
    const bp__native_view *v = &choice->view;
    return choice->kernels->complex || choice->kernels->s_columns > 0 ||
           (v->v_p != 1 && (v->v_k != 1 || v->q > choice->kernels->rows_columns));
}

/* Returns which operands can be packed beforehand: bit 0 for A, bit 1 for B. */
uint32_t bp__native_packs(const bp__native_choice *choice);

/* Returns the estimated time on one thread, from the rate of the tile and measurements of each path (cost.c). */
double bp__native_cost(const bp_host *host, double rate, const bp__native_choice *choice, int64_t batch);
/* Return multiply-adds per nanosecond in the inner tile. `set` is the ISA index. */
double bp__native_rate(int set, bp_dtype dtype);
double bp__native_bf16_rate(void);
double bp__native_integer_rate(bp__native_integer_isa isa);
/* Returns the estimated time on `threads` threads. */
double bp__native_cost_threads(const bp__native_choice *choice, double alone_ns, int threads);
/* Returns how many threads are worth their start-up time, at most `most`. */
int bp__native_worth(double alone_ns, int most);

/* ---- blocked.c ---- */
/* Returns the bytes of scratch for one product on `threads` threads. */
size_t bp__native_blocked_scratch(const bp__native_kernels *kernels, const bp__native_view *view, int threads);
/* Operands that were packed beforehand: all panels, one block of k after another. NULL: the operand is packed during
 * the call. */
typedef struct bp__native_prepacked {
    const char *v, *s;
} bp__native_prepacked;

/* Computes one product from packed panels. With one thread it runs in the caller's thread. */
void bp__native_blocked(const bp__native_kernels *kernels, const bp__native_view *view,
                        const bp__native_prepacked *prepacked, int threads, void *scratch, bp__stop *stop);

/* Return the size of V (or S) in packed form, and pack all of it for runs on `threads` threads. */
size_t bp__native_prepack_bytes(const bp__native_kernels *kernels, const bp__native_view *view, bool v);
void bp__native_prepack(const bp__native_kernels *kernels, const bp__native_view *view, bool v, int threads, void *to,
                        bp__stop *stop);

/* ---- run.c ---- */
bp_status bp__native_prepare(const bp_host *host, const bp__native_choice *choice, const bp_gemm_problem *problem,
                             bp_prepared **prepared);

#endif
