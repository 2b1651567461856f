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

bp_problem bp__plain_gemm(bp_dtype dtype, int64_t m, int64_t n, int64_t k) {
    return (bp_problem){
        .struct_size = sizeof(bp_problem),
        .op = BP_OP_GEMM,
        .dtype = (uint32_t)dtype,
        .policy = {.threads = 1},
        .of.gemm = {.m = m,
                    .n = n,
                    .k = k,
                    .a_row = m > 1 ? k : 0,
                    .a_column = k > 1,
                    .b_row = k > 1 ? n : 0,
                    .b_column = n > 1,
                    .c_row = m > 1 ? n : 0,
                    .c_column = n > 1,
                    .alpha = BP_FACTOR_ONE,
                    .beta = BP_FACTOR_ZERO,
                    .batch = 1},
    };
}

static void transpose_a(bp_gemm_problem *g) {
    g->a_row = g->m > 1;
    g->a_column = g->k > 1 ? g->m : 0;
}

static void transpose_b(bp_gemm_problem *g) {
    g->b_row = g->k > 1;
    g->b_column = g->n > 1 ? g->k : 0;
}

static int64_t interleaved_row(int64_t row) {
    enum { PADDING = 24 };
    return row ? row * BP__BATCH_ITEMS + PADDING : 0;
}

/* Puts rows of all items next to each other. The rows are padded, because sizes and items are powers of 2: without
 * padding the rows of an item would fall on the same lines of a cache, as they seldom do in programs. */
static void interleave(bp_gemm_problem *g) {
    g->batch_ndim = 1;
    g->batch = g->batch_shape[0] = BP__BATCH_ITEMS;
    g->batch_a[0] = g->k;
    g->batch_b[0] = g->batch_c[0] = g->n;
    g->a_row = interleaved_row(g->a_row);
    g->b_row = interleaved_row(g->b_row);
    g->c_row = interleaved_row(g->c_row);
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    bp_gemm_problem *g = &problem->of.gemm;
    *problem = bp__plain_gemm(class->dtype, m, n, k);
    switch (class->variant) {
    case BP__VARIANT_TRANSPOSED_A:
        transpose_a(g);
        break;
    case BP__VARIANT_TRANSPOSED_B:
        transpose_b(g);
        break;
    case BP__VARIANT_TRANSPOSED_BOTH:
        transpose_a(g);
        transpose_b(g);
        break;
    case BP__VARIANT_STRIDED:
        g->b_row *= 2;
        g->b_column *= 2;
        break;
    case BP__VARIANT_BATCHED:
        g->batch_ndim = 1;
        g->batch = g->batch_shape[0] = BP__BATCH_ITEMS;
        g->batch_a[0] = m * k;
        g->batch_b[0] = k * n;
        g->batch_c[0] = m * n;
        break;
    case BP__VARIANT_INTERLEAVED:
        interleave(g);
        break;
    default:
        break;
    }
    return BP_OK;
}

const bp__measuring bp__measuring_gemm = {
    .sample = sample,
    .predict = bp__gemm_predict,
    .forget_sizes = forget_sizes,
    .finish_trial = finish_trial,
};
