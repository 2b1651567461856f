/* product.c - computes matrix products with pdgemm and its like.
 *
 * The strides of a problem tell which operands are transposes of distributed matrices. If the result is one, its
 * transpose is computed, as the product of the other transposes in the other order. */
#include "providers/scalapack/scalapack.h"

/* An operand of the routine. */
typedef struct factor {
    int operand;
    bool transposed, conjugated;
} factor;

/* Returns whether a matrix of the problem is the transpose of a distributed one, whose columns have stride 2 or more
 * (bp_dist_view_init). */
static bool is_transposed(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    return rows > 1 ? row != 1 : columns > 1 && column == 1;
}

/* Returns whether a whole distributed matrix, or its transpose, has these strides. */
static bool is_whole(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    const bool turned = is_transposed(rows, columns, row, column);
    const int64_t length = turned ? columns : rows, width = turned ? rows : columns;
    const int64_t along = turned ? column : row, across = turned ? row : column;
    return (length <= 1 || along == 1) && (width <= 1 || across == bp__most(length, 2));
}

static bool result_is_transposed(const bp_gemm_problem *g) {
    return is_transposed(g->m, g->n, g->c_row, g->c_column);
}

/* One element is its own transpose, and conjugated elements must be transposed. */
static bool is_transposed_factor(int64_t rows, int64_t columns, int64_t row, int64_t column, bool turned,
                                 bool conjugated) {
    return is_transposed(rows, columns, row, column) != turned || (conjugated && rows == 1 && columns == 1);
}

/* Sets the factors of the routine: the left one, then the right one. */
static void find_factors(const bp_gemm_problem *g, factor factors[2]) {
    const bool turned = result_is_transposed(g);
    const factor a = {0, is_transposed_factor(g->m, g->k, g->a_row, g->a_column, turned, g->conjugate_a),
                      g->conjugate_a};
    const factor b = {1, is_transposed_factor(g->k, g->n, g->b_row, g->b_column, turned, g->conjugate_b),
                      g->conjugate_b};
    factors[0] = turned ? b : a;
    factors[1] = turned ? a : b;
}

bp__scalapack_product bp__scalapack_product_of(const bp_gemm_problem *g) {
    const bool turned = result_is_transposed(g);
    factor factors[2];
    find_factors(g, factors);
    return (bp__scalapack_product){
        turned ? g->n : g->m, turned ? g->m : g->n, g->k, {factors[0].transposed, factors[1].transposed}};
}

static const char *refuse_product(const bp_problem *problem, const bp_dist_place *place) {
    (void)place;
    const bp_gemm_problem *g = &problem->of.gemm;
    factor factors[2];
    if (g->batch_ndim > 0 || g->batch != 1) {
        return "batches of distributed matrices";
    }
    if (g->b_type || g->c_type) {
        return "operands of different types";
    }
    if (!is_whole(g->m, g->k, g->a_row, g->a_column) || !is_whole(g->k, g->n, g->b_row, g->b_column) ||
        !is_whole(g->m, g->n, g->c_row, g->c_column)) {
        return "parts of distributed matrices";
    }
    find_factors(g, factors);
    return (factors[0].conjugated && !factors[0].transposed) || (factors[1].conjugated && !factors[1].transposed)
               ? "a conjugate without a transpose"
               : NULL;
}

static const char *letter_of(const factor *f) {
    return !f->transposed ? "N" : f->conjugated ? "C" : "T";
}

typedef union value {
    float f[2];
    double d[2];
} value;

static value value_of(const bp_scalar *scalar, uint32_t dtype) {
    value v = {.d = {scalar->re, scalar->im}};
    if (dtype == BP_F32 || dtype == BP_C64) {
        v = (value){.f = {(float)scalar->re, (float)scalar->im}};
    }
    return v;
}

static bp_status run_product(bp__scalapack_call *call, int *info) {
    const bp_problem *problem = &call->plan->problem;
    const bp_gemm_problem *g = &problem->of.gemm;
    const bp__scalapack_product p = bp__scalapack_product_of(g);
    const int m = (int)p.m, n = (int)p.n, k = (int)p.k;
    factor factors[2];
    find_factors(g, factors);
    const value alpha = value_of(&call->scalars[0], problem->dtype), beta = value_of(&call->scalars[1], problem->dtype);
    const bp__scalapack_matrix a = bp__scalapack_operand(call, factors[0].operand);
    const bp__scalapack_matrix b = bp__scalapack_operand(call, factors[1].operand);
    const bp__scalapack_matrix c = bp__scalapack_operand(call, 2);
    BP__SCALAPACK_ROUTINE(call, 0, const char *, const char *, const int *, const int *, const int *, const void *,
                          BP__SCALAPACK_MATRIX, BP__SCALAPACK_MATRIX, const void *, BP__SCALAPACK_MATRIX)
    (letter_of(&factors[0]), letter_of(&factors[1]), &m, &n, &k, &alpha, BP__SCALAPACK_PASS(a), BP__SCALAPACK_PASS(b),
     &beta, BP__SCALAPACK_PASS(c));
    *info = 0;
    return BP_OK;
}

const bp__scalapack_operation bp__scalapack_gemm = {
    .op = BP_OP_GEMM,
    .algorithm = "gemm",
    .real = {"gemm"},
    .inputs = 2,
    .any_blocks = true,
    .refuse = refuse_product,
    .is_bounded = true,
    .run = run_product,
    .model = bp__scalapack_model_gemm,
};
