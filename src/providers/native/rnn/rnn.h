/* rnn.h - declares the parts of recurrent layers: kernels and plans.
 *
 * The input's part of the gates is computed first, for all steps. In each step, threads take blocks of hidden units: a
 * block's weights are a panel, [columns][gates][units], so that the products of all gates of a unit are in the lanes of
 * one vector each, and its states follow without another pass over memory. The input's part has the same panels, and
 * the gates of a block are together in memory. An element of a sum is one chain of
 * operations in the order of the columns. It depends on no other item, block or thread. For a few steps, weights are
 * not copied to panels: the sums are products of matrices then, which are the same chains.
 *
 * In a GRU whose reset gate comes before the product, a step has two such stages: the panels of the first one have the
 * gates r and z, the panels of the second one have n.
 *
 * Items are ordered by their lengths, the longest first, so that the items of a step are the first rows of the states.
 */
#ifndef BP_NATIVE_RNN_H
#define BP_NATIVE_RNN_H

#include "providers/native/gemm/choose.h"

/* One item of a step, forwards: some units of it. Distances are in numbers. */
typedef struct bp__rnn_row {
    int64_t units;
    int64_t gate;       /* from gate to gate in saved */
    int64_t input;      /* from gate to gate in x */
    int64_t width;      /* from gate to gate in bias */
    int64_t sum;        /* from gate to gate in sums */
    const void *x;      /* the input's part of the gates */
    const void *sums;   /* the hidden state's part */
    const void *bias;   /* of each gate; of GRU a fourth one, which is added to the sums of n */
    const void *before; /* hidden state */
    void *after;        /* hidden state after the step, before a projection */
    void *output;       /* the same, for the caller; NULL: not wanted */
    void *cell;         /* LSTM: read and written. GRU in two parts: z, written by the first one */
    void *saved; /* LSTM i, f, g, o, c'; GRU r, z, n and the hidden state's part of n, or in two parts the product
                  * of r and the hidden state; NULL: not wanted */
} bp__rnn_row;

/* One item of a step, backwards. */
typedef struct bp__rnn_slope {
    int64_t units, gate;
    const void *saved;
    const void *before; /* GRU: hidden state before the step; RNN: after it */
    const void *cell_before;
    void *hidden;    /* gradient by the hidden state after the step; GRU replaces it by the part that z passes on */
    void *cell;      /* LSTM: gradient by the cell after the step, replaced by that by the cell before it */
    void *gates;     /* gradients by the gates, before their functions */
    void *recurrent; /* GRU: those by the hidden state's part */
    const void *by_reset; /* GRU in two parts: gradient by the product of r and the hidden state */
} bp__rnn_slope;

/* Kernels for one type. Memory behind `units` is read and written up to whole vectors in before, after, cell, hidden
 * and bias, which are the provider's, except in bp__rnn_slope.before and cell_before. */
typedef struct bp__rnn_kernels {
    int lanes;
    size_t number; /* bytes */
    /* sums[i] = sum over k of a[row i][k] * panel[k], rows of `vectors` vectors (3, 4 or 6); row i
     * of A is item[i], or i without items (NULL). Sums of `block` terms are added up, as in products of matrices, so
     * that these have equal bits. */
    void (*product)(int64_t rows, int vectors, int64_t inner, int64_t block, const void *a, int64_t a_row,
                    const int64_t *item, const void *panel, void *sums);
    void (*forward[4])(const bp__rnn_row *row); /* of each bp_rnn_mode */
    void (*backward[4])(const bp__rnn_slope *slope);
    /* A GRU whose reset gate comes before the product has two parts: r and z, with the product of r and the hidden
     * state in `after`; then n and the state. Backwards, z and n come first, then r. */
    void (*forward_parts[2])(const bp__rnn_row *row);
    void (*backward_parts[2])(const bp__rnn_slope *slope);
    /* LSTM: the hidden state before a projection, from what a step saved. */
    void (*hidden)(int64_t units, int64_t gate, const void *saved, void *to);
    /* to[i] += from[i], of numbers in the provider's memory */
    void (*add)(int64_t count, void *to, const void *from);
    /* Requests memory that will be written: `bytes` in each of `rows` rows that are `row` bytes apart. Without it, a
     * store to memory that other threads have read waits for their caches. */
    void (*claim)(int64_t rows, int64_t row, int64_t bytes, void *first);
    /* Convert elements of f16 (0) and bf16 (1), `stride` apart, to f32, and f32 to them, rounded to nearest even. */
    void (*widen[2])(int64_t count, float *to, const void *from, int64_t stride);
    void (*narrow[2])(int64_t count, void *to, int64_t stride, const float *from);
} bp__rnn_kernels;

#define BP__RNN_VECTORS 4     /* of a panel's row, for 1 and 4 gates */
#define BP__RNN_VECTORS_GRU 3 /* for 3 gates: tiles of more rows read a panel less often */
#define BP__RNN_VECTORS_FEW 6 /* the same, for a few items: each sum is a chain, and few chains take longer */

#define BP__RNN_DTYPES 2 /* f32, f64 */
extern const bp__rnn_kernels bp__rnn_default[BP__RNN_DTYPES];
extern const bp__rnn_kernels bp__rnn_avx2[BP__RNN_DTYPES];
extern const bp__rnn_kernels bp__rnn_avx512[BP__RNN_DTYPES];

bp_status bp__rnn_plan_forward(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                               int threads, bp_prepared **prepared);
bp_status bp__rnn_plan_backward(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                                int threads, bp_prepared **prepared);
/* The same for f16 and bf16, with kernels of f32; and the number of elements that it converts. */
bp_status bp__rnn_plan_half(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels, int threads,
                            bp_prepared **prepared);
double bp__rnn_half_elements(const bp_rnn_problem *problem);

static inline int64_t bp__rnn_gates(const bp_rnn_problem *p) {
    return p->mode == BP_RNN_LSTM ? 4 : p->mode == BP_RNN_GRU ? 3 : 1;
}

/* Returns the blocks of the reserve's rows. */
static inline int64_t bp__rnn_saved(const bp_rnn_problem *p) {
    return p->mode == BP_RNN_LSTM ? 5 : p->mode == BP_RNN_GRU ? 4 : 0;
}

#endif
