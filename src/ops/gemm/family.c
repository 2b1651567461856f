/* family.c - describes matrix products to dispatch. */
#include "ops/gemm/gemm.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_gemm_problem) == (9 + 2 + 1 + 4 * BP_MAX_BATCH_NDIM) * 8, "bytes between the fields");

/* Writes the layout of an operand: "" if it is row-major, "^T" if it is column-major, with the leading dimension if
 * there are gaps: " ld 600". Other layouts are " strided". */
static const char *order(char *text, size_t size, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    const bool by_rows = columns <= 1 || column == 1, by_columns = !by_rows && (rows <= 1 || row == 1);
    const int64_t compact = by_rows ? columns : rows;
    const int64_t leading = rows * columns == 0 || (by_rows && rows == 1) ? compact : by_rows ? row : column;
    if ((!by_rows && !by_columns) || leading < compact) {
        return " strided";
    }
    snprintf(text, size, leading == compact ? "%s" : "%s ld %" PRId64, by_columns ? "^T" : "", leading);
    return text;
}

static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_gemm_problem *g = &problem->of.gemm;
    char types[24], batch[32] = "", a[40], b[40], c[40];
    if (g->batch_ndim > 0) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", g->batch);
    }
    static const char *const betas[] = {"", " + C", " + beta C"};
    snprintf(types, sizeof types, g->c_type ? "%s,%s->%s" : "%s", bp_dtype_name((bp_dtype)problem->dtype),
             bp_dtype_name(bp_gemm_type(problem, problem->of.gemm.b_type)),
             bp_dtype_name(bp_gemm_type(problem, problem->of.gemm.c_type)));
    snprintf(buffer, size,
             "%s %s%s%" PRId64 "x%" PRId64 "%s%s @ %" PRId64 "x%" PRId64 "%s%s -> %" PRId64 "x%" PRId64 "%s%s", types,
             batch, g->alpha == BP_FACTOR_ONE ? "" : "alpha ", g->m, g->k,
             order(a, sizeof a, g->m, g->k, g->a_row, g->a_column), g->conjugate_a ? "*" : "", g->k, g->n,
             order(b, sizeof b, g->k, g->n, g->b_row, g->b_column), g->conjugate_b ? "*" : "", g->m, g->n,
             order(c, sizeof c, g->m, g->n, g->c_row, g->c_column), betas[g->beta <= BP_FACTOR_ANY ? g->beta : 0]);
}

static bool needs_scalars(const bp_problem *problem) {
    return problem->of.gemm.alpha != BP_FACTOR_ONE || problem->of.gemm.beta != BP_FACTOR_ZERO;
}

static bp_status check_scalar(const bp_problem *problem, const char *name, uint8_t class, const bp_scalar *scalar) {
    static const char *const classes[] = {"0", "1", "other than 0 and 1"};
    const bool complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    if (!complex && scalar->im != 0.0) {
        return bp__fail(BP_E_ARGUMENT,
                        "bp_execute: %s is %g%+gi, but the plan's matrices are real: the imaginary part must be 0",
                        name, scalar->re, scalar->im);
    }
    if ((uint8_t)bp__factor(scalar, 1.0, complex) != class) {
        return bp__fail(BP_E_ARGUMENT,
                        "bp_execute: %s is %g%+gi, but the plan was made for %s %s; make another plan for this %s",
                        name, scalar->re, scalar->im, name, classes[class], name);
    }
    return BP_OK;
}

static bp_status check_scalars(const bp_problem *problem, const bp_scalar *scalars) {
    BP__TRY(check_scalar(problem, "alpha", problem->of.gemm.alpha, &scalars[0]));
    return check_scalar(problem, "beta", problem->of.gemm.beta, &scalars[1]);
}

static bool input_layout(const bp_problem *problem, int operand, bp__layout *layout) {
    const bp_gemm_problem *g = &problem->of.gemm;
    if (operand > 1) {
        return false;
    }
    const bool a = operand == 0;
    const int n = g->batch_ndim;
    *layout = (bp__layout){.dtype = a ? (bp_dtype)problem->dtype : bp_gemm_type(problem, problem->of.gemm.b_type),
                           .ndim = n + 2};
    for (int i = 0; i < n; i++) {
        layout->shape[i] = g->batch_shape[i];
        layout->strides[i] = a ? g->batch_a[i] : g->batch_b[i];
    }
    layout->shape[n] = a ? g->m : g->k;
    layout->shape[n + 1] = a ? g->k : g->n;
    layout->strides[n] = a ? g->a_row : g->b_row;
    layout->strides[n + 1] = a ? g->a_column : g->b_column;
    for (int i = 0; i < n + 2; i++) { /* an operand that is broadcast has one item */
        layout->shape[i] = layout->strides[i] == 0 && layout->shape[i] > 1 ? 1 : layout->shape[i];
    }
    return true;
}

static bool has_items_as_rows(const bp_problem *problem) {
    return problem->of.gemm.folded;
}

static bool runs_with_native(const bp_problem *problem) {
    return problem->of.gemm.with_native;
}

const bp__family bp__family_gemm = {
    .size = sizeof(bp_gemm_problem),
    .preference = BP_SET_blas_preferred,
    .preferred = &(const bp__preference){"matrix products are", "matrix products",
                                         BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_SMM | BP_LIB_DNN},
    .enabled = BP_SET_blas_enabled,
    .precision = BP_SET_mkldnn_matmul_fp32_precision,
    .cuda = {.precision = BP_SET_cuda_matmul_fp32_precision},
    .benchmark = BP_SET_matmul_benchmark,
    .products = true,
    .make = bp__gemm_make,
    .describe = describe,
    .elements = bp__gemm_elements,
    .has_items_as_rows = has_items_as_rows,
    .runs_with_native = runs_with_native,
    .needs_scalars = needs_scalars,
    .check_scalars = check_scalars,
    .input_layout = input_layout,
    .adapter = &bp__gemm_simulate,
    .measuring = &bp__measuring_gemm,
};
