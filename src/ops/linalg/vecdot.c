/* vecdot.c - makes sums of products of vectors from gemm: a row, conjugated, times a column, for each item of a batch.
 * Only the tensors are seen in another way, so that plans and explanations are gemm's. */
#include "ops/linalg/product_calls.h"

#include "backplane/matmul.h"
#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* A tensor (*,k) as a batch (*,k,1); the sum () as (1,1). */
typedef struct matrix {
    DLTensor tensor;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
} matrix;

typedef struct product {
    matrix a, b, out;
} product;

/* The dimension that is summed over, counted from the back: 1 is the last one. */
static bp_status from_back(const DLTensor *a, const DLTensor *b, int dim, int *back) {
    const int rank = a->ndim > b->ndim ? a->ndim : b->ndim, least = a->ndim < b->ndim ? a->ndim : b->ndim;
    *back = dim < 0 ? (dim < -rank ? 0 : -dim) : rank - dim;
    if (least == 0) {
        return bp__fail(BP_E_SHAPE, "linalg.vecdot: %s is a scalar; it must have a dimension", a->ndim ? "b" : "a");
    }
    if (*back < 1 || *back > least) {
        return bp__fail(
            BP_E_ARGUMENT,
            "linalg.vecdot: axis is %d, out of range: both tensors must have it, and they have %d and %d dimensions",
            dim, (int)a->ndim, (int)b->ndim);
    }
    return BP_OK;
}

static bp_status result_shape(const DLTensor *a, const DLTensor *b, int dim, int *ndim, int64_t *shape) {
    int back, used = 0;
    BP__TRY(from_back(a, b, dim, &back));
    const int rank = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = rank; i >= 1; i--) { /* from the back */
        const int64_t x = i <= a->ndim ? a->shape[a->ndim - i] : 1, y = i <= b->ndim ? b->shape[b->ndim - i] : 1;
        if (x != y && (i == back || (x != 1 && y != 1))) {
            char left[256], right[256];
            return bp__fail(BP_E_SHAPE, "linalg.vecdot: a has shape %s and b %s; dimension %d must %s",
                            bp__shape_text(a->ndim, a->shape, left, sizeof left),
                            bp__shape_text(b->ndim, b->shape, right, sizeof right), -i,
                            i == back ? "have the same size in both" : "be of one size, or 1");
        }
        if (i != back) {
            shape[used++] = x == 1 ? y : x;
        }
    }
    *ndim = used;
    return BP_OK;
}

static bp_status check_rank(const DLTensor *t, const char *name, int more) {
    return t->ndim + more <= BP_MAX_NDIM
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "linalg.vecdot: %s has %d dimensions; it may have up to %d", name, (int)t->ndim,
                          BP_MAX_NDIM - more);
}

/* Without dimension `skip`, which comes last with `last` more of size 1 behind it. */
static void make_matrix(matrix *m, const DLTensor *t, int skip, int last) {
    int64_t strides[BP_MAX_NDIM];
    int ndim = 0;
    bp__tensor_strides(t, strides);
    for (int d = 0; d <= t->ndim; d++) {
        const int from = d < t->ndim ? d : skip;
        if (from >= 0 && (d != skip || d == t->ndim)) {
            m->shape[ndim] = t->shape[from];
            m->strides[ndim++] = strides[from];
        }
    }
    for (int i = 0; i < last; i++) {
        m->shape[ndim] = 1;
        m->strides[ndim++] = 1;
    }
    m->tensor = *t;
    m->tensor.ndim = ndim;
    m->tensor.shape = m->shape;
    m->tensor.strides = m->strides;
}

static bp_status make_product(product *p, const DLTensor *a, const DLTensor *b, int dim, const DLTensor *out,
                              bool data_optional) {
    int64_t shape[BP_MAX_NDIM];
    int ndim, back;
    BP__TRY(bp__tensor_check(a, "a", data_optional));
    BP__TRY(bp__tensor_check(b, "b", data_optional));
    BP__TRY(bp__tensor_check(out, "output", data_optional));
    BP__TRY(check_rank(a, "a", 1));
    BP__TRY(check_rank(b, "b", 1));
    BP__TRY(result_shape(a, b, dim, &ndim, shape));
    if (out->ndim != ndim || (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof *shape) != 0)) {
        char got[256], want[256];
        return bp__fail(BP_E_SHAPE, "linalg.vecdot: output has shape %s; it must have shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got),
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    BP__TRY(from_back(a, b, dim, &back));
    make_matrix(&p->a, a, a->ndim - back, 1);
    make_matrix(&p->b, b, b->ndim - back, 1);
    make_matrix(&p->out, out, -1, 2);
    return BP_OK;
}

static bp_status shape_of_call(const void *given, bp__call_result *result) {
    const bp__vecdot_arguments *call = given;
    BP__TRY(bp__tensor_check(call->a, "a", true));
    BP__TRY(bp__tensor_check(call->b, "b", true));
    result->dtype = bp_dtype_from_dlpack(call->a->dtype);
    return result_shape(call->a, call->b, call->axis, &result->ndim, result->shape);
}

bp_status bp_vecdot_shape(const DLTensor *a, const DLTensor *b, int dim, int *ndim, int64_t *shape) {
    const bp__vecdot_arguments call = {sizeof call, dim, a, b, NULL};
    return bp__call_output_shape(&bp__vecdot_call, &call, ndim, shape);
}

bp_status bp_vecdot_run(const bp_options *options, const DLTensor *a, const DLTensor *b, int dim, DLTensor *out) {
    product p;
    BP__TRY(make_product(&p, a, b, dim, out, false));
    return bp_gemm_run(options, BP_CONJUGATE_TRANSPOSE, BP_AS_IS, NULL, &p.a.tensor, &p.b.tensor, NULL, &p.out.tensor);
}

bp_status bp_vecdot(const DLTensor *a, const DLTensor *b, int dim, DLTensor *out) {
    return bp_vecdot_run(NULL, a, b, dim, out);
}

bp_status bp_vecdot_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b, int dim,
                         const DLTensor *out) {
    product p;
    if (plan) {
        *plan = NULL;
    }
    BP__TRY(make_product(&p, a, b, dim, out, true));
    return bp_gemm_plan(plan, options, BP_CONJUGATE_TRANSPOSE, BP_AS_IS, NULL, &p.a.tensor, &p.b.tensor, NULL,
                        &p.out.tensor);
}

bp_status bp_vecdot_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                            const DLTensor *b, int dim, const DLTensor *out) {
    product p;
    if (explanation) {
        *explanation = NULL;
    }
    BP__TRY(make_product(&p, a, b, dim, out, true));
    return bp_gemm_explain(explanation, options, BP_CONJUGATE_TRANSPOSE, BP_AS_IS, NULL, &p.a.tensor, &p.b.tensor, NULL,
                           &p.out.tensor);
}

/* ---- The description ---- */

static bp_status run_described(const bp_call *described, const bp_options *options, const void *given) {
    const bp__vecdot_arguments *call = given;
    (void)described;
    return bp_vecdot_run(options, call->a, call->b, call->axis, (DLTensor *)(uintptr_t)call->output);
}

static bp_status plan_described(const bp_call *described, bp_plan **plan, const bp_options *options,
                                const void *given) {
    const bp__vecdot_arguments *call = given;
    (void)described;
    return bp_vecdot_plan(plan, options, call->a, call->b, call->axis, call->output);
}

static bp_status explain_described(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                                   const void *given) {
    const bp__vecdot_arguments *call = given;
    (void)described;
    return bp_vecdot_explain(explanation, options, call->a, call->b, call->axis, call->output);
}

static const bp__call_functions functions = {run_described, plan_described, explain_described};

const bp_call bp__vecdot_call = {
    .info = {"vecdot", "sums of products along a dimension", sizeof(bp__vecdot_arguments), BP__COUNT(bp__vecdot_fields),
             1, 0, false},
    .op = BP_OP_GEMM,
    .ndim_offset = -1,
    .fields = bp__vecdot_fields,
    .family = &bp__family_gemm,
    .passes = bp__vecdot_passes,
    .shape = shape_of_call,
    .functions = &functions,
};
