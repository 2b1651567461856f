/* check.c - checks the arguments of reductions and softmax. */
#include "ops/reduce/reduce.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <math.h>
#include <string.h>

static const char *name_of(const bp__reduction *r, int operand) {
    return r->pass->operand[operand].info.name;
}

const char *bp__reduce_word(bp_op op, uint32_t kind) {
    static const char *const kinds[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all"};
    return op == BP_OP_REDUCE     ? kinds[kind]
           : op == BP_OP_VARIANCE ? (kind == BP_VAR ? "var" : "std")
           : kind == BP_SOFTMAX   ? "softmax"
                                  : "log_softmax";
}

static const char *title(const bp__reduction *r) {
    return bp__reduce_word(r->op, (uint32_t)r->kind);
}

static bool is_position(const bp__reduction *r) {
    return r->op == BP_OP_REDUCE && (r->kind == BP_REDUCE_ARGMAX || r->kind == BP_REDUCE_ARGMIN);
}

static bool is_truth(const bp__reduction *r) {
    return r->op == BP_OP_REDUCE && (r->kind == BP_REDUCE_ANY || r->kind == BP_REDUCE_ALL);
}

/* Returns the type of the output; sums and products of i32 may also be i64. */
static bp_dtype type_of_output(const bp__reduction *r, bp_dtype input) {
    return is_position(r) ? BP_I64 : is_truth(r) ? BP_BOOL : input;
}

/* ---- Axes ---- */

int bp__reduce_output_shape(const bp__reduction *r, uint64_t reduced, int64_t *shape) {
    const DLTensor *input = r->operand[0];
    int ndim = 0;
    for (int d = 0; d < input->ndim; d++) {
        if (!r->joins || !(reduced >> d & 1)) {
            shape[ndim++] = input->shape[d];
        } else if (r->keep) {
            shape[ndim++] = 1;
        }
    }
    return ndim;
}

/* ---- Types and shapes ---- */

static bp_status check_kind(const bp__reduction *r) {
    const int most = r->op == BP_OP_REDUCE     ? (int)BP_REDUCE_ALL
                     : r->op == BP_OP_VARIANCE ? (int)BP_STD
                                               : (int)BP_LOG_SOFTMAX;
    return (unsigned)r->kind > (unsigned)most ? bp__fail(BP_E_ARGUMENT, "kind is no value of its enumeration") : BP_OK;
}

static bp_status check_input_type(const bp__reduction *r, bp_dtype dtype) {
    const bool floating = dtype >= BP_F16 && dtype <= BP_F64, integer = dtype == BP_I32 || dtype == BP_I64;
    const bool only_floating = r->op != BP_OP_REDUCE || r->kind == BP_REDUCE_MEAN;
    return floating || (integer && !only_floating) || (is_truth(r) && dtype == BP_BOOL)
               ? BP_OK
               : bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be f16, bf16, f32%s", title(r), name_of(r, 0),
                          bp_dtype_name(dtype),
                          only_floating ? " or f64"
                          : is_truth(r) ? ", f64, i32, i64 or bool"
                                        : ", f64, i32 or i64");
}

static bp_status check_type(const bp__reduction *r, bp_dtype input, const char *name, bp_dtype dtype) {
    const bool sum = r->op == BP_OP_REDUCE && r->kind <= BP_REDUCE_PROD && input == BP_I32;
    const bp_dtype want = type_of_output(r, input);
    return dtype == want || (sum && dtype == BP_I64)
               ? BP_OK
               : bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s%s, for an input of %s", title(r), name,
                          bp_dtype_name(dtype), bp_dtype_name(want), sum ? " or i64" : "", bp_dtype_name(input));
}

static bp_status check_shape(const bp__reduction *r, const char *name, const DLTensor *tensor, int ndim,
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
static bp_status check_empty(const bp__reduction *r, uint64_t reduced) {
    const DLTensor *input = r->operand[0];
    bool empty = false, results = true;
    char shape[256];
    if (r->op != BP_OP_REDUCE || r->kind < BP_REDUCE_MAX || is_truth(r)) {
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

/* A sum or product of i32 has the type of its output, which is i64 where none is given, as for cumsum. */
bp_status bp__reduce_result(const bp__reduction *r, bp__call_result *result) {
    uint64_t reduced;
    BP__TRY(check_kind(r));
    for (int i = 0; i < r->inputs; i++) {
        BP__TRY(bp__tensor_check(r->operand[i], name_of(r, i), true));
    }
    BP__TRY(bp__find_axes(r->described->info.name, r->operand[0]->ndim, r->axis_count, r->axes, &reduced));
    const bp_dtype input = bp_dtype_from_dlpack(r->operand[0]->dtype);
    const DLTensor *output = r->operand[r->inputs];
    const bool wide = r->op == BP_OP_REDUCE && r->kind <= BP_REDUCE_PROD && input == BP_I32 &&
                      (!output || bp_dtype_from_dlpack(output->dtype) == BP_I64);
    result->dtype = wide ? BP_I64 : type_of_output(r, input);
    result->ndim = bp__reduce_output_shape(r, reduced, result->shape);
    for (int i = 1; i < r->inputs; i++) {
        BP__TRY(check_shape(r, name_of(r, i), r->operand[i], result->ndim, result->shape));
    }
    return check_empty(r, reduced);
}

bp_status bp__reduce_check(const bp__reduction *r, uint64_t *reduced) {
    const DLTensor *input = r->operand[0];
    int64_t shape[BP_MAX_NDIM];
    BP__TRY(check_kind(r));
    BP__TRY(bp__tensor_check(input, name_of(r, 0), r->data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    BP__TRY(check_input_type(r, dtype));
    if (!isfinite(r->correction)) {
        return bp__fail(BP_E_ARGUMENT, "%s: correction is %g; it must be finite", title(r), r->correction);
    }
    BP__TRY(bp__find_axes(title(r), input->ndim, r->axis_count, r->axes, reduced));
    const int ndim = bp__reduce_output_shape(r, *reduced, shape);
    for (int i = 1; i <= r->inputs; i++) {
        BP__TRY(bp__tensor_check(r->operand[i], name_of(r, i), r->data_optional));
        BP__TRY(check_type(r, dtype, name_of(r, i), bp_dtype_from_dlpack(r->operand[i]->dtype)));
        BP__TRY(check_shape(r, name_of(r, i), r->operand[i], ndim, shape));
    }
    BP__TRY(check_empty(r, *reduced));
    return bp__call_check_overlap(r->described, r->pass, r->call);
}
