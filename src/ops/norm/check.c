/* check.c - lists and checks the operands of batch normalization. */
#include "ops/norm/norm.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool has_constants(const bp_batch_norm_call *call) {
    return call->pass == BP_BATCH_NORM_BACKWARD && !call->mean && !call->inverse_std;
}

int bp__norm_operands(const bp_batch_norm_call *call, bp__norm_operand operands[BP__NORM_OPERANDS]) {
    const bool constants = has_constants(call);
    const bp__norm_operand inference[] = {
        {"input", call->input, BP__NORM_IMAGE, true, false},
        {"weight", call->weight, BP__NORM_CHANNELS, false, false},
        {"bias", call->bias, BP__NORM_CHANNELS, false, false},
        {"running_mean", call->running_mean, BP__NORM_CHANNELS, true, false},
        {"running_var", call->running_var, BP__NORM_CHANNELS, true, false},
        {"output", call->output, BP__NORM_IMAGE, true, true},
    };
    const bp__norm_operand training[] = {
        {"input", call->input, BP__NORM_IMAGE, true, false},
        {"weight", call->weight, BP__NORM_CHANNELS, false, false},
        {"bias", call->bias, BP__NORM_CHANNELS, false, false},
        {"output", call->output, BP__NORM_IMAGE, true, true},
        {"mean", call->mean, BP__NORM_CHANNELS, false, true},
        {"inverse_std", call->inverse_std, BP__NORM_CHANNELS, false, true},
        {"running_mean", call->running_mean, BP__NORM_CHANNELS, false, true},
        {"running_var", call->running_var, BP__NORM_CHANNELS, false, true},
    };
    const bp__norm_operand backward[] = {
        {"output", call->output, BP__NORM_IMAGE, true, false},
        {"input", call->input, BP__NORM_IMAGE, true, false},
        {"weight", call->weight, BP__NORM_CHANNELS, false, false},
        {constants ? "running_mean" : "mean", constants ? call->running_mean : call->mean, BP__NORM_CHANNELS, true,
         false},
        {constants ? "running_var" : "inverse_std", constants ? call->running_var : call->inverse_std,
         BP__NORM_CHANNELS, true, false},
        {"input_gradient", call->input_gradient, BP__NORM_IMAGE, false, true},
        {"weight_gradient", call->weight_gradient, BP__NORM_CHANNELS, false, true},
        {"bias_gradient", call->bias_gradient, BP__NORM_CHANNELS, false, true},
    };
    const bp__norm_operand *from = call->pass == BP_BATCH_NORM_INFERENCE  ? inference
                                   : call->pass == BP_BATCH_NORM_TRAINING ? training
                                                                          : backward;
    const int count = call->pass == BP_BATCH_NORM_INFERENCE ? 6 : 8;
    memcpy(operands, from, (size_t)count * sizeof *from);
    return count;
}

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
    if (call->relu && call->pass != BP_BATCH_NORM_INFERENCE) {
        return bp__fail(BP_E_ARGUMENT, "relu is for inference only");
    }
    return BP_OK;
}

/* Refuses tensors that are not among the operands. */
static bp_status check_surplus(const bp_batch_norm_call *call, const bp__norm_operand *operands, int count) {
    const DLTensor *const all[] = {call->input,          call->weight,          call->bias,         call->output,
                                   call->running_mean,   call->running_var,     call->mean,         call->inverse_std,
                                   call->input_gradient, call->weight_gradient, call->bias_gradient};
    static const char *const names[] = {"input",          "weight",          "bias",         "output",
                                        "running_mean",   "running_var",     "mean",         "inverse_std",
                                        "input_gradient", "weight_gradient", "bias_gradient"};
    for (int i = 0; i < BP__COUNT(all); i++) {
        bool used = !all[i];
        for (int j = 0; j < count && !used; j++) {
            used = strcmp(names[i], operands[j].name) == 0;
        }
        if (!used) {
            return bp__fail(BP_E_ARGUMENT, "batch_norm: this pass has no %s, which must be NULL", names[i]);
        }
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
    bp__shape_text(input->ndim, input->shape, shape, sizeof shape);
    if (input->ndim < 2 || input->ndim > 5) {
        return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; it must have 2 to 5 dimensions", shape);
    }
    for (int d = 1; d < input->ndim; d++) {
        if (input->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; only the number of items may be 0", shape);
        }
    }
    if (call->pass == BP_BATCH_NORM_TRAINING && bp__tensor_elements(input) / input->shape[1] < 2) {
        return bp__fail(BP_E_SHAPE, "batch_norm: input has shape %s; training needs more than one value per channel",
                        shape);
    }
    return BP_OK;
}

static bp_status check_type(const bp__norm_operand *operand, bp_dtype input, bp_dtype *parameters) {
    const bp_dtype dtype = bp_dtype_from_dlpack(operand->tensor->dtype);
    if (operand->kind == BP__NORM_IMAGE) {
        return dtype == input ? BP_OK
                              : bp__fail(BP_E_DTYPE, "batch_norm: %s is %s; it must be %s, as the input is",
                                         operand->name, bp_dtype_name(dtype), bp_dtype_name(input));
    }
    if (dtype != input && !(dtype == BP_F32 && input < BP_F32)) {
        return bp__fail(BP_E_DTYPE, "batch_norm: %s is %s; it must be %s%s, for an input of %s", operand->name,
                        bp_dtype_name(dtype), bp_dtype_name(input), input < BP_F32 ? " or f32" : "",
                        bp_dtype_name(input));
    }
    if (*parameters != BP_DTYPE_NONE && *parameters != dtype) {
        return bp__fail(BP_E_DTYPE, "batch_norm: %s is %s, and another tensor of one element per channel is %s",
                        operand->name, bp_dtype_name(dtype), bp_dtype_name(*parameters));
    }
    *parameters = dtype;
    return BP_OK;
}

static bp_status check_shape(const bp__norm_operand *operand, const DLTensor *input) {
    const DLTensor *tensor = operand->tensor;
    const bool image = operand->kind == BP__NORM_IMAGE;
    const int rank = image ? input->ndim : 1;
    const int64_t *shape = image ? input->shape : &input->shape[1];
    char want[256], got[256];
    if (tensor->ndim == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "batch_norm: %s has shape %s; it must have shape %s", operand->name,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

static bp_status check_memory(const bp__norm_operand *operands, int count) {
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

bp_status bp__norm_check(const bp_batch_norm_call *call, bool data_optional) {
    bp__norm_operand operands[BP__NORM_OPERANDS];
    bp_dtype parameters = BP_DTYPE_NONE;
    BP__TRY(check_parameters(call));
    BP__TRY(check_input(call, data_optional));
    const int count = bp__norm_operands(call, operands);
    BP__TRY(check_surplus(call, operands, count));
    for (int i = 0; i < count; i++) {
        if (!operands[i].tensor && !operands[i].required) {
            continue;
        }
        BP__TRY(bp__tensor_check(operands[i].tensor, operands[i].name, data_optional));
        BP__TRY(check_type(&operands[i], bp_dtype_from_dlpack(call->input->dtype), &parameters));
        BP__TRY(check_shape(&operands[i], call->input));
    }
    return check_memory(operands, count);
}
