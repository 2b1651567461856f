/* check.c - checks the parameters and operands of batch normalization. */
#include "ops/normalization/batch_norm.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Parameters ---- */

static bp_status check_parameters(const bp_batch_norm_call *call) {
    if ((unsigned)call->pass > BP_BATCH_NORM_BACKWARD) {
        return bp__fail(BP_E_ARGUMENT, "pass is no value of its enumeration");
    }
    if (!(call->eps >= 0) || !isfinite(call->eps)) {
        return bp__fail(BP_E_ARGUMENT, "eps is %g; it must be finite and not negative", call->eps);
    }
    if (!isfinite(call->momentum) || (call->momentum != 0 && call->pass != BP_BATCH_NORM_TRAINING)) {
        return bp__fail(BP_E_ARGUMENT, "momentum is %g; it must be finite, and is for training only", call->momentum);
    }
    if (call->momentum != 0 && !call->running_mean && !call->running_var) {
        return bp__fail(BP_E_ARGUMENT, "momentum is %g, and running_mean and running_var are NULL; it must be 0",
                        call->momentum);
    }
    if (call->eps != 0 && call->pass == BP_BATCH_NORM_BACKWARD && call->mean && call->inverse_std) {
        return bp__fail(BP_E_ARGUMENT,
                        "eps is %g; it must be 0 in BACKWARD with mean and inverse_std, which has eps already",
                        call->eps);
    }
    if (call->relu && call->pass != BP_BATCH_NORM_INFERENCE) {
        return bp__fail(BP_E_ARGUMENT, "relu is for inference only");
    }
    return BP_OK;
}

/* ---- Tensors ---- */

static bp_status check_input(const bp_batch_norm_call *call, bool data_optional) {
    const DLTensor *input = call->input;
    char shape[256];
    BP__TRY(bp__tensor_check(input, "input", data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    if (dtype < BP_F16 || dtype > BP_F64) {
        return bp__fail(BP_E_DTYPE, "batch_norm: input is %s; it must be f16, bf16, f32 or f64", bp_dtype_name(dtype));
    }
    if (input->ndim < 2 || input->ndim > 5) {
        return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; it must have 2 to 5 dimensions",
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape));
    }
    for (int d = 1; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; only the number of items may be 0",
                            bp__shape_text(input->ndim, input->shape, shape, sizeof shape));
        }
    }
    if (call->pass == BP_BATCH_NORM_TRAINING && bp__tensor_elements(input) / input->shape[1] < 2) {
        return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; training needs more than one value per channel",
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape));
    }
    return BP_OK;
}

static bp_status check_type(const bp__call_operand *operand, const DLTensor *tensor, bp_dtype input,
                            bp_dtype *parameters) {
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    if (operand->shape == BP__NORM_IMAGE) {
        return dtype == input ? BP_OK
                              : bp__fail(BP_E_DTYPE, "batch_norm: %s is %s; it must be %s, as the input is",
                                         operand->info.name, bp_dtype_name(dtype), bp_dtype_name(input));
    }
    if (dtype != input && !(dtype == BP_F32 && input < BP_F32)) {
        return bp__fail(BP_E_DTYPE, "batch_norm: %s is %s; it must be %s%s, for an input of %s", operand->info.name,
                        bp_dtype_name(dtype), bp_dtype_name(input), input < BP_F32 ? " or f32" : "",
                        bp_dtype_name(input));
    }
    if (*parameters != BP_DTYPE_NONE && *parameters != dtype) {
        return bp__fail(BP_E_DTYPE, "batch_norm: %s is %s, and another tensor of one element per channel is %s",
                        operand->info.name, bp_dtype_name(dtype), bp_dtype_name(*parameters));
    }
    *parameters = dtype;
    return BP_OK;
}

/* Returns the shape that a tensor must have, and its rank. */
static const int64_t *wanted_shape(const bp__call_operand *operand, const DLTensor *input, int *rank) {
    const bool image = operand->shape == BP__NORM_IMAGE;
    *rank = image ? input->ndim : 1;
    return image ? input->shape : &input->shape[1];
}

static bp_status check_shape(const bp__call_operand *operand, const DLTensor *tensor, const DLTensor *input) {
    int rank;
    const int64_t *shape = wanted_shape(operand, input, &rank);
    char want[256], got[256];
    if (tensor->ndim == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "batch_norm: %s has shape %s; it must have shape %s", operand->info.name,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

bp_status bp__batch_norm_check(const bp_batch_norm_call *call, bool data_optional) {
    bp_dtype parameters = BP_DTYPE_NONE;
    BP__TRY(check_parameters(call));
    BP__TRY(check_input(call, data_optional));
    const bp__pass *pass = bp__batch_norm_pass(call);
    BP__TRY(bp__call_check_surplus(&bp__batch_norm_call, pass, call));
    for (int i = 0; i < pass->info.operand_count; i++) {
        const bp__call_operand *operand = &pass->operand[i];
        const DLTensor *tensor = bp__call_tensor(call, operand);
        if (!tensor && !operand->info.required) {
            continue;
        }
        BP__TRY(bp__tensor_check(tensor, operand->info.name, data_optional));
        BP__TRY(check_type(operand, tensor, bp_dtype_from_dlpack(call->input->dtype), &parameters));
        BP__TRY(check_shape(operand, tensor, call->input));
    }
    return bp__call_check_overlap(&bp__batch_norm_call, pass, call);
}

bp_status bp__batch_norm_result(const void *given, bp__call_result *result) {
    const bp_batch_norm_call *call = given;
    const bp__call_operand *operand = &result->pass->operand[result->operand];
    const DLTensor *const parameters[] = {call->weight, call->bias, call->running_mean, call->running_var, call->mean};
    BP__TRY(check_parameters(call));
    BP__TRY(check_input(call, true));
    const int64_t *shape = wanted_shape(operand, call->input, &result->ndim);
    memcpy(result->shape, shape, (size_t)result->ndim * sizeof *shape);
    result->dtype = bp_dtype_from_dlpack(call->input->dtype);
    if (operand->shape != BP__NORM_IMAGE) {
        result->dtype = bp__call_parameter_type(result->dtype, parameters, BP__COUNT(parameters));
    }
    return BP_OK;
}
