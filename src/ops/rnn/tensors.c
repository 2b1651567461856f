/* tensors.c - lists the tensors of recurrent layers: names, shapes, types, and which of them a pass has. */
#include "ops/rnn/rnn.h"

#include <string.h>

static const char *const names[BP_RNN_TENSORS] = {"input",
                                                  "weight_ih",
                                                  "weight_hh",
                                                  "weight_hr",
                                                  "bias_ih",
                                                  "bias_hh",
                                                  "initial_hidden",
                                                  "initial_cell",
                                                  "lengths",
                                                  "output",
                                                  "final_hidden",
                                                  "final_cell",
                                                  "reserve",
                                                  "output_gradient",
                                                  "final_hidden_gradient",
                                                  "final_cell_gradient",
                                                  "input_gradient",
                                                  "initial_hidden_gradient",
                                                  "initial_cell_gradient",
                                                  "weight_ih_gradient",
                                                  "weight_hh_gradient",
                                                  "weight_hr_gradient",
                                                  "bias_ih_gradient",
                                                  "bias_hh_gradient"};

_Static_assert(offsetof(bp_rnn_call, input) + BP_RNN_TENSORS * sizeof(const DLTensor *) == sizeof(bp_rnn_call),
               "the tensors of a call are not those of the list");

const DLTensor *bp__rnn_tensor(const bp_rnn_call *call, bp_rnn_tensor which) {
    const DLTensor *tensor;
    memcpy(&tensor, (const char *)call + offsetof(bp_rnn_call, input) + (size_t)which * sizeof tensor, sizeof tensor);
    return tensor;
}

const char *bp__rnn_name(bp_rnn_tensor which) {
    return names[which];
}

const bp_rnn_tensor *bp__rnn_operands(bp_rnn_pass pass, int *inputs) {
    static const bp_rnn_tensor forward[] = {
        BP_RNN_INPUT,        BP_RNN_WEIGHT_IH,      BP_RNN_WEIGHT_HH,    BP_RNN_WEIGHT_HR, BP_RNN_BIAS_IH,
        BP_RNN_BIAS_HH,      BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_CELL, BP_RNN_LENGTHS,   BP_RNN_OUTPUT,
        BP_RNN_FINAL_HIDDEN, BP_RNN_FINAL_CELL,     BP_RNN_RESERVE,      BP_RNN_TENSORS};
    static const bp_rnn_tensor backward[] = {BP_RNN_OUTPUT_GRADIENT,
                                             BP_RNN_FINAL_HIDDEN_GRADIENT,
                                             BP_RNN_FINAL_CELL_GRADIENT,
                                             BP_RNN_INPUT,
                                             BP_RNN_WEIGHT_IH,
                                             BP_RNN_WEIGHT_HH,
                                             BP_RNN_WEIGHT_HR,
                                             BP_RNN_INITIAL_HIDDEN,
                                             BP_RNN_INITIAL_CELL,
                                             BP_RNN_LENGTHS,
                                             BP_RNN_OUTPUT,
                                             BP_RNN_RESERVE,
                                             BP_RNN_INPUT_GRADIENT,
                                             BP_RNN_INITIAL_HIDDEN_GRADIENT,
                                             BP_RNN_INITIAL_CELL_GRADIENT,
                                             BP_RNN_WEIGHT_IH_GRADIENT,
                                             BP_RNN_WEIGHT_HH_GRADIENT,
                                             BP_RNN_WEIGHT_HR_GRADIENT,
                                             BP_RNN_BIAS_IH_GRADIENT,
                                             BP_RNN_BIAS_HH_GRADIENT,
                                             BP_RNN_TENSORS};
    *inputs = pass == BP_RNN_BACKWARD ? 12 : 9;
    return pass == BP_RNN_BACKWARD ? backward : forward;
}

uint32_t bp__rnn_surplus(const bp_rnn_call *call) {
    uint32_t surplus = 0;
    int inputs;
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        surplus |= (uint32_t)(bp__rnn_tensor(call, (bp_rnn_tensor)i) != NULL) << i;
    }
    for (const bp_rnn_tensor *own = bp__rnn_operands(call->pass, &inputs); *own != BP_RNN_TENSORS; own++) {
        if (*own != BP_RNN_RESERVE || call->pass != BP_RNN_INFERENCE) {
            surplus &= ~(1u << *own);
        }
    }
    return surplus;
}

bool bp__rnn_has_directions(bp_rnn_tensor which) {
    return which != BP_RNN_INPUT && which != BP_RNN_INPUT_GRADIENT && which != BP_RNN_OUTPUT &&
           which != BP_RNN_OUTPUT_GRADIENT && which != BP_RNN_LENGTHS;
}

bp_dtype bp__rnn_dtype(const bp__rnn *rnn, bp_rnn_tensor which) {
    const bool half = rnn->dtype == BP_F16 || rnn->dtype == BP_BF16;
    return which == BP_RNN_LENGTHS ? BP_I64 : which == BP_RNN_RESERVE && half ? BP_F32 : rnn->dtype;
}

void bp__rnn_set_mode(bp__rnn *rnn, bp_rnn_mode mode) {
    static const int64_t gates[] = {1, 1, 4, 3}, reserves[] = {0, 0, 5, 4};
    rnn->gates = gates[mode];
    rnn->reserve_size = reserves[mode];
}

int bp__rnn_shape(const bp__rnn *rnn, bp_rnn_tensor which, int64_t *shape) {
    const int64_t rows = rnn->gates * rnn->hidden_size;
    int ndim = 0;
    if (bp__rnn_has_directions(which)) {
        shape[ndim++] = rnn->directions;
    }
    switch (which) {
    case BP_RNN_INPUT:
    case BP_RNN_INPUT_GRADIENT:
    case BP_RNN_OUTPUT:
    case BP_RNN_OUTPUT_GRADIENT:
        shape[ndim++] = rnn->steps;
        shape[ndim++] = rnn->batch;
        shape[ndim++] = which == BP_RNN_INPUT || which == BP_RNN_INPUT_GRADIENT ? rnn->input_size
                                                                                : rnn->directions * rnn->output_size;
        break;
    case BP_RNN_WEIGHT_IH:
    case BP_RNN_WEIGHT_IH_GRADIENT:
        shape[ndim++] = rows;
        shape[ndim++] = rnn->input_size;
        break;
    case BP_RNN_WEIGHT_HH:
    case BP_RNN_WEIGHT_HH_GRADIENT:
        shape[ndim++] = rows;
        shape[ndim++] = rnn->output_size;
        break;
    case BP_RNN_WEIGHT_HR:
    case BP_RNN_WEIGHT_HR_GRADIENT:
        shape[ndim++] = rnn->output_size;
        shape[ndim++] = rnn->hidden_size;
        break;
    case BP_RNN_BIAS_IH:
    case BP_RNN_BIAS_HH:
    case BP_RNN_BIAS_IH_GRADIENT:
    case BP_RNN_BIAS_HH_GRADIENT:
        shape[ndim++] = rows;
        break;
    case BP_RNN_LENGTHS:
        shape[ndim++] = rnn->batch;
        break;
    case BP_RNN_RESERVE:
        shape[ndim++] = rnn->steps;
        shape[ndim++] = rnn->batch;
        shape[ndim++] = rnn->reserve_size * rnn->hidden_size;
        break;
    case BP_RNN_INITIAL_CELL:
    case BP_RNN_FINAL_CELL:
    case BP_RNN_FINAL_CELL_GRADIENT:
    case BP_RNN_INITIAL_CELL_GRADIENT:
        shape[ndim++] = rnn->batch;
        shape[ndim++] = rnn->hidden_size;
        break;
    case BP_RNN_INITIAL_HIDDEN:
    case BP_RNN_FINAL_HIDDEN:
    case BP_RNN_FINAL_HIDDEN_GRADIENT:
    case BP_RNN_INITIAL_HIDDEN_GRADIENT:
    case BP_RNN_TENSORS:
        shape[ndim++] = rnn->batch;
        shape[ndim++] = rnn->output_size;
        break;
    }
    return ndim;
}
