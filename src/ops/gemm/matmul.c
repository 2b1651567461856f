/* matmul.c - bp_matmul: a matrix product with the shapes of numpy.matmul. */
#include "ops/gemm/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* Converts a vector to a matrix with one row (a) or one column (b). */
static void matrix_of(bp__matrix *matrix, const DLTensor *tensor, bool vector_is_row) {
    if (tensor->ndim >= 2) {
        bp__matrix_from(matrix, tensor);
        return;
    }
    int64_t stride;
    bp__tensor_strides(tensor, &stride);
    matrix->rows = vector_is_row ? 1 : tensor->shape[0];
    matrix->columns = vector_is_row ? tensor->shape[0] : 1;
    matrix->row = vector_is_row ? 0 : stride;
    matrix->column = vector_is_row ? stride : 0;
    matrix->batch_ndim = 0;
}

/* Converts the output to a matrix: adds the dimensions of size 1 that vector operands remove. */
static void output_matrix(bp__matrix *matrix, const DLTensor *out, bool a_vector, bool b_vector) {
    int64_t strides[BP_MAX_NDIM];
    int at = out->ndim;
    bp__tensor_strides(out, strides);
    matrix->columns = b_vector ? 1 : out->shape[at - 1];
    matrix->column = b_vector ? 0 : strides[at - 1];
    at -= !b_vector;
    matrix->rows = a_vector ? 1 : out->shape[at - 1];
    matrix->row = a_vector ? 0 : strides[at - 1];
    at -= !a_vector;
    matrix->batch_ndim = at;
    for (int i = 0; i < at; i++) { /* the shape of a scalar may be NULL */
        matrix->batch_shape[i] = out->shape[i];
        matrix->batch_stride[i] = strides[i];
    }
}

bp_status bp__matrix_batch(const bp__matrix *a, const bp__matrix *b, int *ndim, int64_t *shape) {
    int rank = a->batch_ndim > b->batch_ndim ? a->batch_ndim : b->batch_ndim;
    for (int i = 1; i <= rank; i++) {
        int64_t x = i <= a->batch_ndim ? a->batch_shape[a->batch_ndim - i] : 1;
        int64_t y = i <= b->batch_ndim ? b->batch_shape[b->batch_ndim - i] : 1;
        if (x != y && x != 1 && y != 1) {
            return bp__fail(BP_E_SHAPE,
                            "batch dimensions do not broadcast: a has %" PRId64 " where b has %" PRId64
                            " (counted from the end: %d)",
                            x, y, i + 2);
        }
        shape[rank - i] = x == 1 ? y : x;
    }
    *ndim = rank;
    return BP_OK;
}

/* Computes the shape of the result by numpy.matmul's rule, from two checked tensors. */
static bp_status result_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape) {
    if (a->ndim < 1 || b->ndim < 1) {
        return bp__fail(BP_E_SHAPE, "%s is a scalar; matmul needs at least one dimension", a->ndim < 1 ? "a" : "b");
    }
    bp__matrix left, right;
    matrix_of(&left, a, true);
    matrix_of(&right, b, false);
    if (left.columns != right.rows) {
        return bp__fail(BP_E_SHAPE, "the inner sizes differ: a has %" PRId64 " columns, b has %" PRId64 " rows",
                        left.columns, right.rows);
    }
    BP__TRY(bp__matrix_batch(&left, &right, ndim, shape));
    if (*ndim + 2 > BP_MAX_NDIM) {
        return bp__fail(BP_E_SHAPE, "the result would have more than %d dimensions", BP_MAX_NDIM);
    }
    if (a->ndim > 1) {
        shape[(*ndim)++] = left.rows;
    }
    if (b->ndim > 1) {
        shape[(*ndim)++] = right.columns;
    }
    return BP_OK;
}

static bp_status shape_of_call(const void *given, bp__call_result *result) {
    const bp__matmul_arguments *call = given;
    BP__TRY(bp__tensor_check(call->a, "a", true));
    BP__TRY(bp__tensor_check(call->b, "b", true));
    result->dtype = bp_matmul_dtype(call->a, call->b);
    return result_shape(call->a, call->b, &result->ndim, result->shape);
}

bp_status bp_matmul_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape) {
    const bp__matmul_arguments call = {sizeof call, a, b, NULL};
    return bp__call_output_shape(&bp__matmul_call, &call, ndim, shape);
}

static bp_status check_output_shape(const DLTensor *a, const DLTensor *b, const DLTensor *out) {
    int64_t shape[BP_MAX_NDIM];
    int ndim = 0;
    BP__TRY(result_shape(a, b, &ndim, shape));
    if (out->ndim != ndim || (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof shape[0]) != 0)) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "output has shape %s; it must have shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got),
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    return BP_OK;
}

bp_status bp__matmul_fill(bp_problem *problem, const bp__matmul_arguments *call, bool data_optional) {
    const DLTensor *a = call->a, *b = call->b, *out = call->output;
    BP__TRY(bp__gemm_check(a, b, out, "output", data_optional));
    BP__TRY(check_output_shape(a, b, out));
    BP__TRY(bp__call_check_overlap(&bp__matmul_call, bp__matmul_passes, call));
    bp__matrix left, right, result;
    matrix_of(&left, a, true);
    matrix_of(&right, b, false);
    output_matrix(&result, out, a->ndim == 1, b->ndim == 1);
    problem->of.gemm.alpha = BP_FACTOR_ONE;
    problem->of.gemm.beta = BP_FACTOR_ZERO;
    return bp__gemm_lower(problem, &left, &right, &result);
}

static bp_status run_long(bp__call *call) {
    const bp__matmul_arguments arguments = {sizeof arguments, call->tensors[0], call->tensors[1], call->tensors[2]};
    const bp__call_request request = {.call = &arguments, .described = &bp__matmul_call};
    return bp__gemm_run(&request, call, bp__plain_scalars);
}

bp_status bp_matmul(const DLTensor *a, const DLTensor *b, DLTensor *out) {
    bp__call call;
    call.tensors[0] = a;
    call.tensors[1] = b;
    call.tensors[2] = out;
    const bp_plan *plan = bp__call_find(&call, bp__tag(BP_OP_GEMM, 0));
    return BP__LIKELY(plan != NULL) ? bp__call_run(&call, plan, bp__plain_scalars) : run_long(&call);
}

bp_status bp_matmul_run(const bp_options *options, const DLTensor *a, const DLTensor *b, DLTensor *out) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = bp_matmul(a, b, out);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_matmul_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b,
                         const DLTensor *out) {
    const bp__matmul_arguments call = {sizeof call, a, b, out};
    return bp__call_plan_described(&bp__matmul_call, plan, options, &call);
}

bp_status bp_matmul_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                            const DLTensor *b, const DLTensor *out) {
    const bp__matmul_arguments call = {sizeof call, a, b, out};
    return bp__call_explain_described(&bp__matmul_call, explanation, options, &call);
}

/* ---- The description ---- */

static bp_status run_described(const bp_call *described, const bp_options *options, const void *given) {
    const bp__matmul_arguments *call = given;
    (void)described;
    return bp_matmul_run(options, call->a, call->b, (DLTensor *)(uintptr_t)call->output);
}

static const bp__call_functions functions = {run_described, bp__call_plan_described, bp__call_explain_described};

const bp_call bp__matmul_call = {
    .info = {"matmul", "products of matrices and vectors", sizeof(bp__matmul_arguments), BP__COUNT(bp__matmul_fields),
             1, 0, false},
    .op = BP_OP_GEMM,
    .ndim_offset = -1,
    .fields = bp__matmul_fields,
    .family = &bp__family_gemm,
    .passes = bp__matmul_passes,
    .shape = shape_of_call,
    .functions = &functions,
};
