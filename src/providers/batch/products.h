/* products.h - iterates over a batch of matrix products whose factors may be exchanged: first is then B, and second is
 * A.
 */
#ifndef BP_PROVIDERS_BATCH_PRODUCTS_H
#define BP_PROVIDERS_BATCH_PRODUCTS_H

#include "providers/batch/batch.h"

/* Indices of bp__batch_position.offset. */
enum { BP__BATCH_FIRST, BP__BATCH_SECOND, BP__BATCH_C, BP__BATCH_FACTORS };

typedef struct bp__batch_products {
    int ndim;
    int64_t count; /* of all products */
    int64_t shape[BP_MAX_BATCH_NDIM];
    int64_t step_first[BP_MAX_BATCH_NDIM], step_second[BP_MAX_BATCH_NDIM], step_c[BP_MAX_BATCH_NDIM]; /* elements */
} bp__batch_products;

static inline void bp__batch_take(bp__batch_products *batch, const bp_gemm_problem *g, bool swap) {
    batch->ndim = g->batch_ndim;
    batch->count = g->batch;
    for (int i = 0; i < g->batch_ndim; i++) {
        batch->shape[i] = g->batch_shape[i];
        batch->step_first[i] = swap ? g->batch_b[i] : g->batch_a[i];
        batch->step_second[i] = swap ? g->batch_a[i] : g->batch_b[i];
        batch->step_c[i] = g->batch_c[i];
    }
}

/* Moves the first position to product `item`. */
static inline void bp__batch_seek_product(bp__batch_position *at, const bp__batch_products *batch, int64_t item) {
    const int64_t *const steps[BP__BATCH_FACTORS] = {batch->step_first, batch->step_second, batch->step_c};
    bp__batch_seek(at, batch->ndim, batch->shape, BP__BATCH_FACTORS, steps, item);
}

/* Advances to the next product. */
static inline void bp__batch_next_product(bp__batch_position *at, const bp__batch_products *batch) {
    const int64_t *const steps[BP__BATCH_FACTORS] = {batch->step_first, batch->step_second, batch->step_c};
    bp__batch_next(at, batch->ndim, batch->shape, BP__BATCH_FACTORS, steps);
}

#endif
