/* conv.c - runs, plans and explains convolutions. */
#include "ops/conv/call.h"

#include "tensor/internal.h"

const bp__pass *bp__conv_pass(const void *given) {
    const bp_conv_call *call = given;
    return (unsigned)call->pass <= BP_CONV_WEIGHT ? &bp__conv_passes[call->pass] : NULL;
}

/* Returns whether the padding of a transposed convolution removes its whole output. No algorithm runs then. */
static bool is_cut_away(const bp__conv *conv) {
    for (int d = 0; d < conv->ndim; d++) {
        if (conv->out[d] == 0) {
            return true;
        }
    }
    return false;
}

static bp_status write_zeros(const DLTensor *tensor) {
    static const int64_t none[BP_MAX_NDIM] = {0};
    double zero[2] = {0, 0};
    bp_view view;
    DLTensor to = *tensor;
    BP__TRY(bp_view_init(&view, zero, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape, none));
    return bp_copy(&to, &view.tensor, NULL);
}

/* Runs a transposed convolution whose padding removes the whole output: gradients of such a one are zeros. */
static bp_status run_cut_away(const void *given, bool *done) {
    const bp_conv_call *call = given;
    bp__conv conv;
    if (!call->transposed) {
        return BP_OK;
    }
    BP__TRY(bp__conv_resolve(&conv, call, false));
    if (!is_cut_away(&conv)) {
        return BP_OK;
    }
    BP__TRY(bp__conv_check(&conv, false));
    *done = true;
    const bp__pass *pass = bp__conv_pass(call);
    for (int i = pass->info.input_count; i < pass->info.operand_count; i++) {
        const DLTensor *written = bp__call_tensor(call, &pass->operand[i]);
        if (written && bp__tensor_elements(written) > 0 && call->pass != BP_CONV_FORWARD) {
            BP__TRY(write_zeros(written));
        }
    }
    return BP_OK;
}

static bp_status bp__conv_output(const bp_conv_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, true));
    *dtype = conv.dtype;
    *ndim = bp__conv_output_shape(&conv, shape);
    return BP_OK;
}

/* The gradient by the bias has an element for each channel of the output. */
static bp_status bias_shape(const bp_conv_call *call, bp__call_result *result) {
    const DLTensor *output = call->output_gradient;
    BP__TRY(bp__tensor_check(output, "output_gradient", true));
    const int channel = output->ndim - call->ndim - 1;
    if (call->ndim < 1 || channel < 0) {
        return bp__fail(BP_E_SHAPE, "conv: output_gradient has %d dimensions, and ndim is %d; it must have 1 or 2 more",
                        output->ndim, call->ndim);
    }
    result->dtype = bp_dtype_from_dlpack(output->dtype);
    result->ndim = 1;
    result->shape[0] = output->shape[channel];
    return BP_OK;
}

/* Gradients by the input and the weight need the caller's shapes, because several shapes of the input give one shape of
 * output. */
static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_conv_call *call = given;
    if (call->pass == BP_CONV_FORWARD) {
        return bp__conv_output(call, &result->dtype, &result->ndim, result->shape);
    }
    return result->pass->operand[result->operand].info.offset == offsetof(bp_conv_call, bias_gradient)
               ? bias_shape(call, result)
               : bp__call_fail_unknown_shape(result);
}

const bp_call bp__conv_call = {
    .info = {"conv", "convolutions", sizeof(bp_conv_call), BP__COUNT(bp__conv_fields),
             sizeof(bp__conv_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_CONV,
    .ndim_offset = offsetof(bp_conv_call, ndim),
    .ndim_most = BP_CONV_NDIM,
    .images = true,
    .fields = bp__conv_fields,
    .family = &bp__family_conv,
    .passes = bp__conv_passes,
    .pass = bp__conv_pass,
    .shape = result_shape,
    .run_without_plan = run_cut_away,
};

static bp_status bp__conv_problem(bp_problem *problem, const bp_conv_call *call, bool data_optional) {
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, data_optional));
    BP__TRY(bp__conv_check(&conv, data_optional));
    if (is_cut_away(&conv)) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "conv: the padding removes all elements of the output, so that there is nothing to plan");
    }
    bp__conv_lower(problem, &conv);
    return BP_OK;
}

BP__DEFINE_RUN(conv, bp_conv_call)
BP__DEFINE_PLAN(conv, bp_conv_call)
BP__DEFINE_SHAPE(conv, bp_conv_call)

bp_status bp_conv(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const int64_t *stride,
                  const int64_t *padding, DLTensor *output) {
    if (!weight) {
        return bp__tensor_check(weight, "weight", false);
    }
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = weight->ndim - 2,
                               .stride = stride,
                               .padding = padding,
                               .input = input,
                               .weight = weight,
                               .bias = bias,
                               .output = output};
    return bp_conv_run(NULL, &call);
}
