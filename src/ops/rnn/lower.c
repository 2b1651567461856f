/* lower.c - converts a checked call of a recurrent layer to its problem. */
#include "ops/rnn/rnn.h"

#include "tensor/internal.h"

static void lower_tensor(bp_rnn_layout *layout, bp_rnn_tensor which, const bp__rnn *rnn, const DLTensor *tensor) {
    int64_t strides[BP_MAX_NDIM], shape[BP_MAX_NDIM];
    layout->dtype = (uint32_t)bp__rnn_dtype(rnn, which);
    if (which == BP_RNN_RESERVE) {
        return;
    }
    const int ndim = bp__rnn_shape(rnn, which, shape), omitted = ndim - tensor->ndim;
    bp__tensor_strides(tensor, strides);
    for (int d = omitted; d < ndim; d++) {
        layout->stride[d] = shape[d] == 1 ? 0 : strides[d - omitted];
    }
}

void bp__rnn_lower(bp_problem *problem, const bp__rnn *rnn) {
    const bp_rnn_call *call = rnn->call;
    bp_rnn_problem *p = &problem->of.rnn;
    const bp__pass *pass = bp__rnn_pass(call);
    problem->op = (uint32_t)pass->info.op;
    problem->dtype = (uint32_t)rnn->dtype;
    p->steps = rnn->steps;
    p->batch = rnn->batch;
    p->input_size = rnn->input_size;
    p->hidden_size = rnn->hidden_size;
    p->output_size = rnn->output_size;
    p->mode = (uint8_t)call->mode;
    p->directions = (uint8_t)rnn->directions;
    p->reverse = call->reverse != 0;
    p->reset_before = call->reset_before != 0;
    for (int i = 0; i < pass->info.operand_count; i++) {
        const bp_rnn_tensor which = (bp_rnn_tensor)pass->operand[i].shape;
        const DLTensor *tensor = bp__call_tensor(call, &pass->operand[i]);
        if (tensor) {
            lower_tensor(&p->tensor[which], which, rnn, tensor);
        }
    }
}
