/* layer_columns.c - runs layer and RMS normalization of rows that are columns in memory: neighbours are in different
 * rows.
 *
 * A block has as many rows as fit into the lanes of a few vectors, and its elements are read in the order of the
 * memory, so nothing is copied. The moments of CHUNK elements are computed in two passes over the cache, and are
 * merged. */
#include "layer_work.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 };

typedef struct block {
    const bp__layer_run *w;
    int64_t lanes, offset[2]; /* of X and Y */
    bp__layer_columns columns;
    bp__batch_norm_moments moments[BP__LAYER_LANES];
} block;

static bp__layer_vector elements_at(const block *b, int operand, int64_t segment, int64_t from) {
    const bp__layer_work *plan = b->w->plan;
    const int64_t offset = b->offset[operand] + bp__layer_element_offset(plan, operand, segment, from);
    return bp__layer_vector_at(b->w, operand, offset, bp__layer_element_stride(plan, operand));
}

/* Starts with the first element of each row, to whose differences the moments belong. */
static void begin_moments(block *b) {
    const bp__layer_work *plan = b->w->plan;
    const bp__layer_kernels *kernels = plan->set.images;
    memset(&b->columns, 0, sizeof b->columns);
    memset(b->moments, 0, sizeof b->moments);
    for (int64_t l = 0; plan->problem.of.layer_norm.subtract_mean && l < b->lanes; l++) {
        b->columns.first[l] = kernels->load(bp__layer_vector_at(b->w, X, b->offset[X] + l, 0).at);
    }
}

static void add_moments(block *b, int64_t n, bp__layer_vector x) {
    const bp__layer_work *plan = b->w->plan;
    double sums[BP__LAYER_LANES], squares[BP__LAYER_LANES];
    memset(b->columns.second, 0, sizeof b->columns.second);
    if (plan->problem.of.layer_norm.subtract_mean) {
        plan->set.images->column_sums(b->lanes, n, x, &b->columns, sums);
        for (int64_t l = 0; l < b->lanes; l++) {
            b->columns.second[l] = sums[l] / (double)n;
        }
    }
    plan->set.images->column_squares(b->lanes, n, x, &b->columns, squares);
    for (int64_t l = 0; l < b->lanes; l++) {
        bp__batch_norm_merge(&b->moments[l], (bp__batch_norm_moments){(double)n, b->columns.second[l], squares[l]});
    }
}

static void finish_moments(block *b, int64_t index) {
    const double eps = b->w->plan->problem.of.layer_norm.eps;
    for (int64_t l = 0; l < b->lanes; l++) {
        const bp__batch_norm_moments *m = &b->moments[l];
        b->columns.second[l] = m->mean;
        b->columns.inverse_std[l] = 1 / sqrt(m->squares / m->count + eps);
        bp__layer_store_statistics(b->w, index + l, b->columns.first[l] + m->mean, b->columns.inverse_std[l]);
    }
}

static void compute_block(block *b, int64_t index) {
    const bp__layer_work *plan = b->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    begin_moments(b);
    for (int64_t i = 0; i < plan->segments; i++) {
        for (int64_t from = 0; from < plan->segment; from += CHUNK) {
            add_moments(b, bp__least(CHUNK, plan->segment - from), elements_at(b, X, i, from));
        }
    }
    finish_moments(b, index);
    for (int64_t i = 0; i < plan->segments; i++) {
        const size_t weight = (size_t)bp__layer_offset(p, plan->weight, p->row_ndim, p->ndim - 1, i);
        const bp__layer_numbers numbers = {.weights = b->w->weights + weight * plan->set.images->number,
                                           .biases = b->w->biases + weight * plan->set.images->number,
                                           .step = plan->step};
        plan->set.images->column_apply(b->lanes, plan->segment, elements_at(b, Y, i, 0), elements_at(b, X, i, 0),
                                       &b->columns, &numbers);
    }
}

void bp__layer_columns_part(bp__layer_run *w, int64_t part) {
    const bp__layer_work *plan = w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    const int64_t end = bp__least((part + 1) * plan->part, plan->rows);
    const int64_t size = p->size[p->row_ndim - 1];
    block b = {.w = w};
    for (int64_t i = part * plan->part; i < end; i += b.lanes) {
        b.lanes = bp__least(bp__least(BP__LAYER_LANES, end - i), size - i % size);
        for (int k = 0; k < 2; k++) {
            b.offset[k] = bp__layer_offset(p, bp__layer_strides(plan, k), 0, p->row_ndim, i);
        }
        compute_block(&b, i);
    }
}
