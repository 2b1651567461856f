/* tensors.c - has the shapes and types of the tensors of recurrent layers. */
#include "ops/rnn/rnn.h"

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
