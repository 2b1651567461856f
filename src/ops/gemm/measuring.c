/* measuring.c - what measuring matrix products needs. */
#include "ops/gemm/gemm.h"
#include "tuning/trial.h"

#include <math.h>

static double factor(uint8_t class, double any) {
    return class == BP_FACTOR_ANY ? any : class == BP_FACTOR_ONE;
}

static void finish_trial(bp__trial *trial) {
    const bp_gemm_problem *g = &trial->problem->of.gemm;
    trial->operand[2].reads = g->beta != BP_FACTOR_ZERO;
    trial->scalars[0].re = factor(g->alpha, 1.5);
    trial->scalars[1].re = factor(g->beta, 0.5);
    trial->roundings = sqrt((double)g->k);
    trial->scale = sqrt((double)g->k) / 3 + 1; /* of a sum of k products of numbers in [-1, 1] */
}

/* Returns the kind of a stride; `compact` is the one without gaps. */
static int64_t kind_of_stride(int64_t stride, int64_t compact) {
    enum { COMPACT = 2, OTHER };
    return stride == 0 || stride == 1 ? stride : stride == compact ? COMPACT : OTHER;
}

static void forget_sizes(bp_problem *problem) {
    bp_gemm_problem *g = &problem->of.gemm;
    g->a_row = kind_of_stride(g->a_row, g->k);
    g->a_column = kind_of_stride(g->a_column, g->m);
    g->b_row = kind_of_stride(g->b_row, g->n);
    g->b_column = kind_of_stride(g->b_column, g->k);
    g->c_row = kind_of_stride(g->c_row, g->n);
    g->c_column = kind_of_stride(g->c_column, g->m);
    g->m = g->n = g->k = g->batch = 0;
    for (int i = 0; i < g->batch_ndim; i++) {
        g->batch_shape[i] = 0;
        g->batch_a[i] = g->batch_a[i] != 0;
        g->batch_b[i] = g->batch_b[i] != 0;
        g->batch_c[i] = g->batch_c[i] != 0;
    }
}

const bp__measuring bp__measuring_gemm = {
    .forget_sizes = forget_sizes,
    .finish_trial = finish_trial,
};
