/* batch.h - iterates over the items of a batch and keeps each operand's offset, the last dimension fastest. Shared by
 * the providers that call a library once per item. The functions are inline, because the number of operands is a
 * constant at each call and an item may take less time than a function call. */
#ifndef BP_PROVIDERS_BATCH_H
#define BP_PROVIDERS_BATCH_H

#include "backplane/provider.h"

#include <stdbool.h>

enum { BP__BATCH_MOST_NDIM = 2 * BP_MAX_BATCH_NDIM, BP__BATCH_MOST_OPERANDS = BP_LINALG_OPERANDS };

/* All zero is the first item. */
typedef struct bp__batch_position {
    int64_t index[BP__BATCH_MOST_NDIM];
    int64_t offset[BP__BATCH_MOST_OPERANDS]; /* in the unit of the strides */
} bp__batch_position;

/* Advances to the next item. `strides[i]` are operand i's strides, one for each dimension. */
static inline void bp__batch_next(bp__batch_position *at, int ndim, const int64_t *shape, int operands,
                                  const int64_t *const *strides) {
    for (int d = ndim - 1; d >= 0; d--) {
        const bool inside = ++at->index[d] < shape[d];
        at->index[d] = inside ? at->index[d] : 0;
        for (int i = 0; i < operands; i++) {
            at->offset[i] += strides[i][d] * (inside ? 1 : 1 - shape[d]);
        }
        if (inside) {
            return;
        }
    }
}

/* Moves the first position to item `item`. */
static inline void bp__batch_seek(bp__batch_position *at, int ndim, const int64_t *shape, int operands,
                                  const int64_t *const *strides, int64_t item) {
    for (int d = ndim - 1; d >= 0; d--) {
        at->index[d] = item % shape[d];
        item /= shape[d];
        for (int i = 0; i < operands; i++) {
            at->offset[i] += strides[i][d] * at->index[d];
        }
    }
}

/* Returns the first of n pivots that is not one, or n. In LDL_SOLVE, pairs of equal negative numbers are pivots too. */
static inline int64_t bp__batch_wrong_pivot(const int32_t *pivots, int64_t stride, int64_t n, bool pairs) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t pivot = pivots[i * stride];
        if (pivot >= 1 && pivot <= n) {
            continue;
        }
        if (!pairs || pivot >= 0 || pivot < -n || i + 1 == n || pivots[(i + 1) * stride] != pivot) {
            return i;
        }
        i++;
    }
    return n;
}

/* Refuses wrong pivots of LU_SOLVE and LDL_SOLVE before any item is computed: a library would write outside of the
 * matrix. `operands` are the addresses of the call. */
static inline bp_status bp__batch_check_pivots(const bp_host *host, const bp_problem *problem, void *const *operands) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp_linalg_operand *o = &l->operand[1];
    const int64_t *const strides[] = {o->batch};
    const bool pairs = problem->op == BP_OP_LDL_SOLVE;
    bp__batch_position at = {0};
    for (int64_t item = 0; item < l->batch; item++) {
        const int32_t *pivots = (const int32_t *)operands[1] + at.offset[0];
        const int64_t i = bp__batch_wrong_pivot(pivots, o->row, l->n, pairs);
        if (i < l->n) {
            return host->fail(
                BP_E_ARGUMENT,
                "linalg.%s: pivots: element %lld of batch element %lld is %d; it must be a row number from "
                "1 to %lld%s",
                pairs ? "ldl_solve" : "lu_solve", (long long)i, (long long)item, (int)pivots[i * o->row],
                (long long)l->n, pairs ? ", or the first of two equal negative ones" : "");
        }
        bp__batch_next(&at, l->batch_ndim, l->batch_shape, 1, strides);
    }
    return BP_OK;
}

#endif
