/* product.c - describes matrix products to oneDNN, and estimates their time.
 *
 * oneDNN writes row-major results. A column-major one is computed as its transpose, with the factors exchanged. Both
 * factors may be transposed, with any leading dimension. The second factor of integers must be i8: for u8 there are
 * only loops that round the sums to f32. A sum with the integers that were there is computed in f32 too. */
#include "providers/onednn/onednn.h"

enum { MOST_BATCH_NDIM = BP__ONEDNN_NDIM - 2 };

/* Sets the last two dimensions to a matrix. Returns false if it is neither row-major nor column-major. */
static bool set_matrix(bp__onednn_tensor *t, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    const bool by_rows = (columns == 1 || column == 1) && (rows == 1 || row >= columns);
    const bool by_columns = (rows == 1 || row == 1) && (columns == 1 || column >= rows);
    const int d = t->ndim;
    t->size[d] = rows;
    t->size[d + 1] = columns;
    t->stride[d] = by_rows ? (rows == 1 ? columns : row) : 1;
    t->stride[d + 1] = by_rows ? 1 : columns == 1 ? rows : column;
    t->ndim = d + 2;
    return by_rows || by_columns;
}

/* Adds the dimensions of the batch; the library broadcasts dimensions of size 1. */
static void set_batch(bp__onednn_tensor *t, const bp_gemm_problem *g, const int64_t *stride) {
    for (int i = 0; i < g->batch_ndim; i++) {
        t->size[i] = stride[i] == 0 ? 1 : g->batch_shape[i];
        t->stride[i] = stride[i];
    }
    t->ndim = g->batch_ndim;
}

/* Returns whether the library accepts the strides. Dimensions of size 1 of the batch get one beyond the others. */
static bool takes_strides(bp__onednn_tensor *t) {
    bp__onednn_tensor tried = *t;
    if (!bp__onednn_is_nested(&tried)) {
        return false;
    }
    for (int i = 0; i < t->ndim - 2; i++) {
        t->stride[i] = tried.stride[i];
    }
    return true;
}

/* Returns whether both factors are the same for all items of some dimension. */
static bool repeats(const bp_gemm_problem *g) {
    bool both = false;
    for (int i = 0; i < g->batch_ndim; i++) {
        both = both || (g->batch_a[i] == 0 && g->batch_b[i] == 0 && g->batch_shape[i] > 1);
    }
    return both;
}

static bool is_integer(const bp_problem *problem) {
    return problem->dtype == BP_I8 || problem->dtype == BP_U8;
}

static const char *why_not(const bp_problem *problem) {
    const bp_gemm_problem *g = &problem->of.gemm;
    return is_integer(problem) && g->beta != BP_FACTOR_ZERO
               ? "it rounds to f32 where it adds a product of integers to C"
           : g->m == 0 || g->n == 0 || g->k == 0 || g->batch == 0  ? "it has no product of empty operands"
           : g->alpha != BP_FACTOR_ONE || g->beta == BP_FACTOR_ANY ? "its products have alpha 1, and beta 0 or 1"
           : g->batch_ndim > MOST_BATCH_NDIM                       ? "it is used for at most 4 dimensions of a batch"
           : repeats(g)                                            ? "it has no batch that repeats both factors"
                                                                   : NULL;
}

const char *bp__onednn_describe_product(bp__onednn_call *call, const bp_problem *problem) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const int type_a = bp__onednn_type(problem->dtype), type_b = bp__onednn_type(bp_gemm_type(problem, g->b_type)),
              type_c = bp__onednn_type(bp_gemm_type(problem, g->c_type));
    const char *why = why_not(problem);
    if (why) {
        return why;
    }
    const bool swap = !(g->n == 1 || g->c_column == 1);
    bp__onednn_tensor a = {0}, b = {0}, c = {0};
    set_batch(&a, g, g->batch_a);
    set_batch(&b, g, g->batch_b);
    set_batch(&c, g, g->batch_c);
    const bool has_a =
        swap ? set_matrix(&a, g->k, g->m, g->a_column, g->a_row) : set_matrix(&a, g->m, g->k, g->a_row, g->a_column);
    const bool has_b =
        swap ? set_matrix(&b, g->n, g->k, g->b_column, g->b_row) : set_matrix(&b, g->k, g->n, g->b_row, g->b_column);
    const bool has_c =
        swap ? set_matrix(&c, g->n, g->m, g->c_column, g->c_row) : set_matrix(&c, g->m, g->n, g->c_row, g->c_column);
    if (!has_a || !has_b || !has_c || c.stride[c.ndim - 1] != 1) {
        return "it takes row-major and column-major matrices only";
    }
    if ((swap ? type_a : type_b) == BP__ONEDNN_U8) {
        return swap ? "its first factor of a column-major result must be i8"
                    : "its second factor of integers must be i8";
    }
    if (!takes_strides(&a) || !takes_strides(&b) || !takes_strides(&c)) {
        return "the distance of two matrices of a batch must be positive, and span all rows or columns of one";
    }
    call->kind = BP__ONEDNN_MULTIPLY;
    call->operand[BP__ONEDNN_SOURCE] =
        (bp__onednn_operand){BP__ONEDNN_ARG_SRC, swap, swap ? type_b : type_a, swap ? b : a};
    call->operand[BP__ONEDNN_WEIGHT] =
        (bp__onednn_operand){BP__ONEDNN_ARG_WEIGHTS, !swap, swap ? type_a : type_b, swap ? a : b};
    call->operand[BP__ONEDNN_RESULT] = (bp__onednn_operand){BP__ONEDNN_ARG_DST, 2, type_c, c};
    call->adds = g->beta == BP_FACTOR_ONE;
    const uint32_t second = swap ? 1u : 2u; /* bit of the factor that can be packed */
    call->packs = problem->policy.packed & second;
    call->own = call->packs ? 1u << BP__ONEDNN_WEIGHT : 0;
    return NULL;
}

/* One instruction of VNNI multiplies and adds four times as many 8-bit integers as one of FMA does numbers in f32.
 * Libraries without it hardly give right results. Factors in f16 are converted, and multiplied in f32. */
#define INTEGER_GAIN 4
/* A product of a batch without a kernel packs both factors, and has a call of its own. */
#define ITEM_WORK 3.0
#define ITEM_NS 1500

double bp__onednn_product_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                             int threads) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const double work = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const double factors = bp__onednn_elements(&call->operand[BP__ONEDNN_SOURCE].tensor) +
                           (call->packs ? 0 : bp__onednn_elements(&call->operand[BP__ONEDNN_WEIGHT].tensor));
    const bool by_items = call->way == BP__ONEDNN_BY_ITEMS;
    const double alone =
        1.1 * (by_items ? ITEM_WORK : 1) * work / (bp__onednn_rate(driver) * (is_integer(problem) ? INTEGER_GAIN : 1)) +
        0.3 * factors + 0.1 * bp__onednn_elements(&call->operand[BP__ONEDNN_RESULT].tensor) +
        (by_items ? ITEM_NS : 100) * (double)(g->batch - 1);
    return 1500 + alone / threads + (threads > 1 ? 5000 : 0);
}
