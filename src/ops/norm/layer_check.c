/* layer_check.c - lists and checks the operands of layer, RMS and group normalization. */
#include "ops/norm/layer.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int bp__layer_operands(const bp_layer_norm_call *call, bp__layer_operand operands[BP_LAYER_NORM_OPERANDS]) {
    const bool given = call->mean || call->inverse_std;
    const bp__layer_operand forward[] = {
        {"input", call->input, BP__LAYER_IMAGE, true, false},
        {"weight", call->weight, BP__LAYER_WEIGHT, false, false},
        {"bias", call->bias, BP__LAYER_WEIGHT, false, false},
        {"output", call->output, BP__LAYER_IMAGE, true, true},
        {"mean", call->mean, BP__LAYER_ROWS, false, true},
        {"inverse_std", call->inverse_std, BP__LAYER_ROWS, false, true},
    };
    const bp__layer_operand backward[] = {
        {"output", call->output, BP__LAYER_IMAGE, true, false},
        {"input", call->input, BP__LAYER_IMAGE, true, false},
        {"weight", call->weight, BP__LAYER_WEIGHT, false, false},
        {"mean", call->mean, BP__LAYER_ROWS, given && call->kind != BP_RMS_NORM, false},
        {"inverse_std", call->inverse_std, BP__LAYER_ROWS, given, false},
        {"input_gradient", call->input_gradient, BP__LAYER_IMAGE, false, true},
        {"weight_gradient", call->weight_gradient, BP__LAYER_WEIGHT, false, true},
        {"bias_gradient", call->bias_gradient, BP__LAYER_WEIGHT, false, true},
    };
    const bool is_backward = call->pass == BP_LAYER_NORM_BACKWARD;
    const int count = is_backward ? BP__COUNT(backward) : BP__COUNT(forward);
    memcpy(operands, is_backward ? backward : forward, (size_t)count * sizeof *operands);
    return count;
}

/* ---- Parameters ---- */

static bp_status check_parameters(const bp_layer_norm_call *call) {
    const bool group = call->kind == BP_GROUP_NORM;
    if ((unsigned)call->pass > BP_LAYER_NORM_BACKWARD || (unsigned)call->kind > BP_GROUP_NORM) {
        return bp__fail(BP_E_ARGUMENT, "%s is no value of its enumeration",
                        (unsigned)call->pass > BP_LAYER_NORM_BACKWARD ? "pass" : "kind");
    }
    if (!(call->eps >= 0) || !isfinite(call->eps)) {
        return bp__fail(BP_E_ARGUMENT, "eps is %g; it must be finite and not negative", call->eps);
    }
    if (group ? call->dims != 0 : call->groups != 0) {
        return bp__fail(BP_E_ARGUMENT, "%s must be 0 for this kind", group ? "dims" : "groups");
    }
    if (group ? call->groups < 1 : call->dims < 1) {
        return bp__fail(BP_E_ARGUMENT, "%s is %" PRId64 "; it must be at least 1", group ? "groups" : "dims",
                        group ? call->groups : (int64_t)call->dims);
    }
    return BP_OK;
}

/* Refuses tensors that this pass or kind does not have. */
static bp_status check_surplus(const bp_layer_norm_call *call) {
    const bool forward = call->pass == BP_LAYER_NORM_FORWARD, rms = call->kind == BP_RMS_NORM;
    const struct {
        const char *name;
        const DLTensor *tensor;
        bool surplus;
    } all[] = {{"bias", call->bias, !forward || rms},
               {"mean", call->mean, rms},
               {"input_gradient", call->input_gradient, forward},
               {"weight_gradient", call->weight_gradient, forward},
               {"bias_gradient", call->bias_gradient, forward || rms}};
    for (int i = 0; i < BP__COUNT(all); i++) {
        if (all[i].tensor && all[i].surplus) {
            return bp__fail(BP_E_ARGUMENT, "layer_norm: this pass of this kind has no %s, which must be NULL",
                            all[i].name);
        }
    }
    return BP_OK;
}

/* ---- Tensors ---- */

static bp_status check_input(const bp_layer_norm_call *call, bool data_optional) {
    const DLTensor *input = call->input;
    const bool group = call->kind == BP_GROUP_NORM;
    char shape[256];
    BP__TRY(bp__tensor_check(input, "input", data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    if (dtype < BP_F16 || dtype > BP_F64) {
        return bp__fail(BP_E_DTYPE, "layer_norm: input is %s; it must be f16, bf16, f32 or f64", bp_dtype_name(dtype));
    }
    bp__shape_text(input->ndim, input->shape, shape, sizeof shape);
    if (input->ndim > BP_MAX_LAYER_NORM_NDIM - 1 || input->ndim < (group ? 2 : call->dims)) {
        return bp__fail(BP_E_SHAPE, "layer_norm: input has shape %s; it must have %d to %d dimensions", shape,
                        group ? 2 : (int)call->dims, BP_MAX_LAYER_NORM_NDIM - 1);
    }
    if (group && input->shape[1] % call->groups != 0) {
        return bp__fail(BP_E_SHAPE,
                        "layer_norm: input has shape %s; its channels are no multiple of %" PRId64 " groups", shape,
                        call->groups);
    }
    for (int d = group ? 1 : input->ndim - call->dims; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "layer_norm: input has shape %s; rows must have elements", shape);
        }
    }
    return BP_OK;
}

static bp_status check_type(const bp__layer_operand *operand, bp_dtype input, bp_dtype *parameters) {
    const bp_dtype dtype = bp_dtype_from_dlpack(operand->tensor->dtype);
    const bool image = operand->kind == BP__LAYER_IMAGE;
    if (dtype != input && (image || !(dtype == BP_F32 && input < BP_F32))) {
        return bp__fail(BP_E_DTYPE, "layer_norm: %s is %s; it must be %s%s, for an input of %s", operand->name,
                        bp_dtype_name(dtype), bp_dtype_name(input), !image && input < BP_F32 ? " or f32" : "",
                        bp_dtype_name(input));
    }
    if (!image && *parameters != BP_DTYPE_NONE && *parameters != dtype) {
        return bp__fail(BP_E_DTYPE, "layer_norm: %s is %s, and another tensor of weights or rows is %s", operand->name,
                        bp_dtype_name(dtype), bp_dtype_name(*parameters));
    }
    if (!image) {
        *parameters = dtype;
    }
    return BP_OK;
}

static bp_status check_shape(const bp_layer_norm_call *call, const bp__layer_operand *operand) {
    const DLTensor *input = call->input, *tensor = operand->tensor;
    const bool group = call->kind == BP_GROUP_NORM;
    const int rows = group ? 2 : input->ndim - call->dims;
    const int64_t group_rows[] = {input->shape[0], call->groups};
    const int64_t *shape = input->shape;
    int rank = input->ndim;
    if (operand->kind == BP__LAYER_WEIGHT) {
        shape = group ? &input->shape[1] : &input->shape[rows];
        rank = group ? 1 : call->dims;
    } else if (operand->kind == BP__LAYER_ROWS) {
        shape = group ? group_rows : input->shape;
        rank = rows;
    }
    char want[256], got[256];
    if (tensor->ndim == rank && (rank == 0 || memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0)) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "layer_norm: %s has shape %s; it must have shape %s", operand->name,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

static bp_status check_memory(const bp__layer_operand *operands, int count) {
    for (int w = 0; w < count; w++) {
        const DLTensor *written = operands[w].tensor;
        if (!written || !operands[w].output) {
            continue;
        }
        if (bp__tensor_self_overlaps(written)) {
            return bp__fail_self_overlap(operands[w].name, written);
        }
        for (int i = 0; i < w && written->data; i++) {
            const DLTensor *other = operands[i].tensor;
            if (other && other->data && bp__tensor_overlap(other, written)) {
                return bp__fail(BP_E_OVERLAP, "%s, which is written, overlaps %s; it must have its own memory",
                                operands[w].name, operands[i].name);
            }
        }
    }
    return BP_OK;
}

bp_status bp__layer_check(const bp_layer_norm_call *call, bool data_optional) {
    bp__layer_operand operands[BP_LAYER_NORM_OPERANDS];
    bp_dtype parameters = BP_DTYPE_NONE;
    BP__TRY(check_parameters(call));
    BP__TRY(check_surplus(call));
    BP__TRY(check_input(call, data_optional));
    const int count = bp__layer_operands(call, operands);
    for (int i = 0; i < count; i++) {
        if (!operands[i].tensor && !operands[i].required) {
            continue;
        }
        BP__TRY(bp__tensor_check(operands[i].tensor, operands[i].name, data_optional));
        BP__TRY(check_type(&operands[i], bp_dtype_from_dlpack(call->input->dtype), &parameters));
        BP__TRY(check_shape(call, &operands[i]));
    }
    return check_memory(operands, count);
}
