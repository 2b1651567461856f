/* check.c - checks the arguments of reductions and softmax. */
#include "ops/reduce/reduce.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <string.h>

static const char *const reduce_names[] = {"input", "output"};
static const char *const backward_names[] = {"output", "output_gradient", "input_gradient"};

static const char *title(const bp__reduce_request *r) {
    static const char *const kinds[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin"};
    return r->op == BP_OP_REDUCE ? kinds[r->kind] : r->kind == BP_SOFTMAX ? "softmax" : "log_softmax";
}

static bool is_position(const bp__reduce_request *r) {
    return r->op == BP_OP_REDUCE && (r->kind == BP_REDUCE_ARGMAX || r->kind == BP_REDUCE_ARGMIN);
}

/* ---- Axes ---- */

bp_status bp__reduce_axes(int ndim, const int32_t *axes, int32_t count, uint64_t *reduced) {
    *reduced = 0;
    if (count < 0 || count > BP_MAX_NDIM || (!axes && count > 0)) {
        return bp__fail(BP_E_ARGUMENT, "axis_count is %d%s; it must be 0 to %d, and 0 without axes", (int)count,
                        axes ? "" : ", and axes is NULL", BP_MAX_NDIM);
    }
    for (int i = 0; i < (axes ? count : ndim); i++) {
        const int64_t axis = !axes ? i : axes[i] < 0 ? (int64_t)axes[i] + ndim : axes[i];
        if (axis < 0 || axis >= ndim) {
            return bp__fail(BP_E_ARGUMENT, "axis %d is not a dimension of a tensor with %d", (int)axes[i], ndim);
        }
        if (*reduced >> axis & 1) {
            return bp__fail(BP_E_ARGUMENT, "axis %d is given twice", (int)axis);
        }
        *reduced |= UINT64_C(1) << axis;
    }
    return BP_OK;
}

int bp__reduce_output_shape(const DLTensor *input, uint64_t reduced, bool keep, int64_t *shape) {
    int ndim = 0;
    for (int d = 0; d < input->ndim; d++) {
        if (!(reduced >> d & 1)) {
            shape[ndim++] = input->shape[d];
        } else if (keep) {
            shape[ndim++] = 1;
        }
    }
    return ndim;
}

/* ---- Types and shapes ---- */

static bp_status check_kind(const bp__reduce_request *r) {
    const int most = r->op == BP_OP_REDUCE ? (int)BP_REDUCE_ARGMIN : (int)BP_LOG_SOFTMAX;
    return (unsigned)r->kind > (unsigned)most ? bp__fail(BP_E_ARGUMENT, "kind is no value of its enumeration") : BP_OK;
}

static bp_status check_input_type(const bp__reduce_request *r, bp_dtype dtype) {
    const bool floating = dtype >= BP_F16 && dtype <= BP_F64, integer = dtype == BP_I32 || dtype == BP_I64;
    const bool only_floating = r->op != BP_OP_REDUCE || r->kind == BP_REDUCE_MEAN;
    return floating || (integer && !only_floating)
               ? BP_OK
               : bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be f16, bf16, f32%s", title(r),
                          r->op == BP_OP_SOFTMAX_BACKWARD ? backward_names[0] : reduce_names[0], bp_dtype_name(dtype),
                          only_floating ? " or f64" : ", f64, i32 or i64");
}

static bp_status check_type(const bp__reduce_request *r, bp_dtype input, const char *name, bp_dtype dtype) {
    const bool sum = r->op == BP_OP_REDUCE && r->kind <= BP_REDUCE_PROD && input == BP_I32;
    const bp_dtype want = is_position(r) ? BP_I64 : input;
    return dtype == want || (sum && dtype == BP_I64)
               ? BP_OK
               : bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s%s, for an input of %s", title(r), name,
                          bp_dtype_name(dtype), bp_dtype_name(want), sum ? " or i64" : "", bp_dtype_name(input));
}

static bp_status check_shape(const bp__reduce_request *r, const char *name, const DLTensor *tensor, int ndim,
                             const int64_t *shape) {
    char want[256], got[256];
    if (tensor->ndim == ndim && (ndim == 0 || memcmp(tensor->shape, shape, (size_t)ndim * sizeof *shape) == 0)) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have shape %s", title(r), name,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(ndim, shape, want, sizeof want));
}

/* The extremes of no elements do not exist. */
static bp_status check_empty(const bp__reduce_request *r, uint64_t reduced) {
    const DLTensor *input = r->operand[0];
    bool empty = false, results = true;
    char shape[256];
    if (r->op != BP_OP_REDUCE || r->kind < BP_REDUCE_MAX) {
        return BP_OK;
    }
    for (int d = 0; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            *(reduced >> d & 1 ? &empty : &results) = reduced >> d & 1;
        }
    }
    return empty && results ? bp__fail(BP_E_SHAPE, "%s: input has shape %s, so that there are no elements to compare",
                                       title(r), bp__shape_text(input->ndim, input->shape, shape, sizeof shape))
                            : BP_OK;
}

/* ---- Memory ---- */

bool bp__reduce_in_place(const bp__reduce_request *r) {
    const DLTensor *in = r->operand[0], *out = r->operand[1];
    int64_t in_strides[BP_MAX_NDIM], out_strides[BP_MAX_NDIM];
    if (r->op != BP_OP_SOFTMAX || !in->data || !out->data || !bp__tensor_same_start(in, out)) {
        return false;
    }
    bp__tensor_strides(in, in_strides);
    bp__tensor_strides(out, out_strides);
    for (int d = 0; d < in->ndim; d++) {
        if (in->shape[d] > 1 && in_strides[d] != out_strides[d]) {
            return false;
        }
    }
    return true;
}

static bp_status check_memory(const bp__reduce_request *r, const char *const *names) {
    const int written = bp__reduce_inputs(r->op);
    const DLTensor *output = r->operand[written];
    if (bp__tensor_self_overlaps(output)) {
        return bp__fail_self_overlap(names[written], output);
    }
    for (int i = 0; i < written && output->data && !bp__reduce_in_place(r); i++) {
        if (r->operand[i]->data && bp__tensor_overlap(r->operand[i], output)) {
            return bp__fail(BP_E_OVERLAP, "%s: %s, which is written, overlaps %s; it must have its own memory%s",
                            title(r), names[written], names[i],
                            r->op == BP_OP_SOFTMAX ? ", or address and strides of the input" : "");
        }
    }
    return BP_OK;
}

bp_status bp__reduce_check(const bp__reduce_request *r, uint64_t *reduced) {
    const int inputs = bp__reduce_inputs(r->op);
    const char *const *names = inputs == 2 ? backward_names : reduce_names;
    const DLTensor *input = r->operand[0];
    int64_t shape[BP_MAX_NDIM];
    BP__TRY(check_kind(r));
    BP__TRY(bp__tensor_check(input, names[0], r->data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    BP__TRY(check_input_type(r, dtype));
    BP__TRY(bp__reduce_axes(input->ndim, r->axes, r->axis_count, reduced));
    const int ndim = bp__reduce_output_shape(input, r->op == BP_OP_REDUCE ? *reduced : 0, r->keep, shape);
    for (int i = 1; i <= inputs; i++) {
        BP__TRY(bp__tensor_check(r->operand[i], names[i], r->data_optional));
        BP__TRY(check_type(r, dtype, names[i], bp_dtype_from_dlpack(r->operand[i]->dtype)));
        BP__TRY(check_shape(r, names[i], r->operand[i], ndim, shape));
    }
    BP__TRY(check_empty(r, *reduced));
    return check_memory(r, names);
}
