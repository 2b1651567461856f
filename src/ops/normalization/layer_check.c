/* layer_check.c - checks the parameters and operands of layer, RMS and group normalization. */
#include "ops/normalization/layer.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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
    if (call->eps != 0 && call->pass == BP_LAYER_NORM_BACKWARD && call->inverse_std) {
        return bp__fail(BP_E_ARGUMENT, "eps is %g; it must be 0 in BACKWARD with inverse_std, which has eps already",
                        call->eps);
    }
    if (group ? call->row_ndim != 0 : call->groups != 0) {
        return bp__fail(BP_E_ARGUMENT, "%s must be 0 for this kind", group ? "row_ndim" : "groups");
    }
    if (group ? call->groups < 1 : call->row_ndim < 1) {
        return bp__fail(BP_E_ARGUMENT, "%s is %" PRId64 "; it must be at least 1", group ? "groups" : "row_ndim",
                        group ? call->groups : (int64_t)call->row_ndim);
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
               {"output", call->output, !forward},
               {"mean", call->mean, rms},
               {"output_gradient", call->output_gradient, forward},
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
    if (input->ndim > BP_MAX_LAYER_NORM_NDIM - 1 || input->ndim < (group ? 2 : call->row_ndim)) {
        return bp__fail(BP_E_SHAPE, "layer_norm: input has shape %s; it must have %d to %d dimensions",
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape), group ? 2 : (int)call->row_ndim,
                        BP_MAX_LAYER_NORM_NDIM - 1);
    }
    if (group && input->shape[1] % call->groups != 0) {
        return bp__fail(BP_E_SHAPE,
                        "layer_norm: input has shape %s; its channels are no multiple of %" PRId64 " groups",
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape), call->groups);
    }
    for (int d = group ? 1 : input->ndim - call->row_ndim; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "layer_norm: input has shape %s; rows must have elements",
                            bp__shape_text(input->ndim, input->shape, shape, sizeof shape));
        }
    }
    return BP_OK;
}

static bp_status check_type(const bp__call_operand *operand, const DLTensor *tensor, bp_dtype input,
                            bp_dtype *parameters) {
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    const bool image = operand->shape == BP__LAYER_IMAGE;
    if (dtype != input && (image || !(dtype == BP_F32 && input < BP_F32))) {
        return bp__fail(BP_E_DTYPE, "layer_norm: %s is %s; it must be %s%s, for an input of %s", operand->info.name,
                        bp_dtype_name(dtype), bp_dtype_name(input), !image && input < BP_F32 ? " or f32" : "",
                        bp_dtype_name(input));
    }
    if (!image && *parameters != BP_DTYPE_NONE && *parameters != dtype) {
        return bp__fail(BP_E_DTYPE, "layer_norm: %s is %s, and another tensor of weights or rows is %s",
                        operand->info.name, bp_dtype_name(dtype), bp_dtype_name(*parameters));
    }
    if (!image) {
        *parameters = dtype;
    }
    return BP_OK;
}

/* Writes the shape that a tensor must have. Returns its rank. */
static int wanted_shape(const bp_layer_norm_call *call, const bp__call_operand *operand, int64_t *shape) {
    const DLTensor *input = call->input;
    const bool group = call->kind == BP_GROUP_NORM;
    const int rows = group ? 2 : input->ndim - call->row_ndim;
    const int64_t group_rows[] = {input->shape[0], call->groups};
    const int64_t *from = input->shape;
    int rank = input->ndim;
    if (operand->shape == BP__LAYER_WEIGHT) {
        from = group ? &input->shape[1] : &input->shape[rows];
        rank = group ? 1 : call->row_ndim;
    } else if (operand->shape == BP__LAYER_ROWS) {
        from = group ? group_rows : input->shape;
        rank = rows;
    }
    memcpy(shape, from, (size_t)rank * sizeof *shape);
    return rank;
}

static bp_status check_shape(const bp_layer_norm_call *call, const bp__call_operand *operand, const DLTensor *tensor) {
    int64_t shape[BP_MAX_NDIM];
    const int rank = wanted_shape(call, operand, shape);
    char want[256], got[256];
    if (tensor->ndim == rank && (rank == 0 || memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0)) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "layer_norm: %s has shape %s; it must have shape %s", operand->info.name,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

/* A gradient needs both statistics, or none. */
static bool is_required(const bp_layer_norm_call *call, const bp__call_operand *operand) {
    return operand->info.required ||
           (call->pass == BP_LAYER_NORM_BACKWARD && !operand->info.output &&
            ((operand->info.offset == offsetof(bp_layer_norm_call, mean) && call->inverse_std &&
              call->kind != BP_RMS_NORM) ||
             (operand->info.offset == offsetof(bp_layer_norm_call, inverse_std) && call->mean)));
}

bp_status bp__layer_check(const bp_layer_norm_call *call, bool data_optional) {
    bp_dtype parameters = BP_DTYPE_NONE;
    BP__TRY(check_parameters(call));
    BP__TRY(check_surplus(call));
    BP__TRY(check_input(call, data_optional));
    const bp__pass *pass = bp__layer_pass(call);
    for (int i = 0; i < pass->info.operand_count; i++) {
        const bp__call_operand *operand = &pass->operand[i];
        const DLTensor *tensor = bp__call_tensor(call, operand);
        if (!tensor && !is_required(call, operand)) {
            continue;
        }
        BP__TRY(bp__tensor_check(tensor, operand->info.name, data_optional));
        BP__TRY(check_type(operand, tensor, bp_dtype_from_dlpack(call->input->dtype), &parameters));
        BP__TRY(check_shape(call, operand, tensor));
    }
    return bp__call_check_overlap(&bp__layer_norm_call, pass, call);
}

bp_status bp__layer_result(const void *given, bp__call_result *result) {
    const bp_layer_norm_call *call = given;
    const bp__call_operand *operand = &result->pass->operand[result->operand];
    const DLTensor *const parameters[] = {call->weight, call->bias, call->mean, call->inverse_std};
    BP__TRY(check_parameters(call));
    BP__TRY(check_input(call, true));
    result->ndim = wanted_shape(call, operand, result->shape);
    result->dtype = bp_dtype_from_dlpack(call->input->dtype);
    if (operand->shape != BP__LAYER_IMAGE) {
        result->dtype = bp__call_parameter_type(result->dtype, parameters, BP__COUNT(parameters));
    }
    return BP_OK;
}
