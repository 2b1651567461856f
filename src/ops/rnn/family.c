/* family.c - describes recurrent layers to dispatch. */
#include "ops/rnn/rnn.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_rnn_layout) == (1 + BP_MAX_RNN_NDIM) * 8, "bytes between the fields");
_Static_assert(sizeof(bp_rnn_problem) == 6 * 8 + BP_RNN_TENSORS * sizeof(bp_rnn_layout), "bytes between the fields");

/* Writes "f32 lstm, 64 steps of 32 items, 256 columns to 1024, projected to 512, 2 directions, lengths", or "f32 gru,
 * reset before the product, 64 steps ...". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    static const char *const modes[] = {"rnn_tanh", "rnn_relu", "lstm", "gru"};
    const bp_rnn_problem *p = &problem->of.rnn;
    const bool training = problem->op == BP_OP_RNN && p->tensor[BP_RNN_RESERVE].dtype;
    char projected[48] = "";
    if (p->tensor[BP_RNN_WEIGHT_HR].dtype) {
        snprintf(projected, sizeof projected, ", projected to %" PRId64, p->output_size);
    }
    snprintf(
        buffer, size, "%s %s%s, %" PRId64 " steps of %" PRId64 " items, %" PRId64 " columns to %" PRId64 "%s%s%s%s",
        bp_dtype_name((bp_dtype)problem->dtype), modes[p->mode], p->reset_before ? ", reset before the product" : "",
        p->steps, p->batch, p->input_size, p->hidden_size, projected,
        p->directions == 2 ? ", 2 directions"
        : p->reverse       ? ", reverse"
                           : "",
        p->tensor[BP_RNN_LENGTHS].dtype ? ", lengths" : "", training ? ", training" : "");
}

/* The inputs that can be packed are the weights, and for the interface's sake the input. */
static bool input_layout(const bp_problem *problem, int operand, bp__layout *layout) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const int64_t gates = p->mode == BP_RNN_LSTM ? 4 : p->mode == BP_RNN_GRU ? 3 : 1, rows = gates * p->hidden_size;
    const int64_t shapes[][BP_MAX_RNN_NDIM] = {{p->steps, p->batch, p->input_size},
                                               {p->directions, rows, p->input_size},
                                               {p->directions, rows, p->output_size},
                                               {p->directions, p->output_size, p->hidden_size}};
    if (problem->op != BP_OP_RNN || operand > BP_RNN_WEIGHT_HR || !p->tensor[operand].dtype) {
        return false;
    }
    *layout = (bp__layout){.dtype = (bp_dtype)problem->dtype, .ndim = BP_MAX_RNN_NDIM};
    for (int d = 0; d < BP_MAX_RNN_NDIM; d++) {
        layout->shape[d] = shapes[operand][d];
        layout->strides[d] = p->tensor[operand].stride[d];
    }
    return true;
}

/* Older providers would compute the other GRU: they do not know reset_before, which came with 5.6. */
static uint32_t least_minor(const bp_problem *problem) {
    return problem->of.rnn.reset_before ? 6 : 0;
}

const bp__family bp__family_rnn = {
    .size = sizeof(bp_rnn_problem),
    .preference = BP_SET_rnn_preferred,
    .preferred = &(const bp__preference){"recurrent layers are", "recurrent layers", BP_LIB_DNN},
    .enabled = BP_SET_rnn_enabled,
    .precision = BP__NO_SETTING,
    .cuda = {.precision = BP_SET_cudnn_rnn_fp32_precision},
    .benchmark = BP_SET_rnn_benchmark,
    .make = bp__rnn_make,
    .least_minor = least_minor,
    .describe = describe,
    .elements = bp__rnn_elements,
    .input_layout = input_layout,
    .measuring = &bp__measuring_rnn,
};
