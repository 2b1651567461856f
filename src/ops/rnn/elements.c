/* elements.c - describes the elements of the operands of recurrent layers. */
#include "ops/rnn/rnn.h"

bool bp__rnn_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_rnn_problem *p = &problem->of.rnn;
    int ndim;
    int64_t shape[BP_MAX_NDIM], count = 1;
    const bp_rnn_call call = {.pass = problem->op == BP_OP_RNN_BACKWARD ? BP_RNN_BACKWARD : BP_RNN_TRAINING};
    const bp_rnn_tensor which = (bp_rnn_tensor)bp__rnn_pass(&call)->operand[operand].shape;
    bp__rnn rnn = {.dtype = (bp_dtype)problem->dtype,
                   .directions = p->directions,
                   .steps = p->steps,
                   .batch = p->batch,
                   .input_size = p->input_size,
                   .hidden_size = p->hidden_size,
                   .output_size = p->output_size};
    bp__rnn_set_mode(&rnn, (bp_rnn_mode)p->mode);
    ndim = bp__rnn_shape(&rnn, which, shape);
    elements->dtype = (bp_dtype)p->tensor[which].dtype;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            return false;
        }
    }
    if (which == BP_RNN_RESERVE) {
        for (int d = 0; d < ndim; d++) {
            count *= shape[d];
        }
        bp__elements_add(elements, count, 1);
    } else {
        bp__elements_add_all(elements, ndim, shape, p->tensor[which].stride);
    }
    return p->tensor[which].dtype != 0;
}
