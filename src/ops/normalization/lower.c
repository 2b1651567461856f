/* lower.c - converts a checked call of batch normalization to its problem. Items and positions are the same to it, so
 * neighbouring dimensions that can be merged in all tensors become one. */
#include "ops/normalization/batch_norm.h"

#include "tensor/internal.h"

/* Writes the strides of items and positions, right-aligned, and the stride of the channels; 0 for sizes of 1. */
static void image_strides(const DLTensor *tensor, int64_t *channel, int64_t stride[BP_MAX_NORM_NDIM]) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(tensor, strides);
    *channel = tensor->shape[1] == 1 ? 0 : strides[1];
    for (int d = 0; d < tensor->ndim - 1; d++) {
        const int from = d == 0 ? 0 : d + 1;
        stride[BP_MAX_NORM_NDIM - (tensor->ndim - 1) + d] = tensor->shape[from] == 1 ? 0 : strides[from];
    }
}

/* Removes dimensions of size 1 and merges neighbours. Leading dimensions of size 1 take their place. */
static void merge(bp_batch_norm_problem *p) {
    enum { LISTS = 4 };
    int64_t *const lists[LISTS] = {p->size, p->x, p->y, p->g};
    int to = BP_MAX_NORM_NDIM; /* the outermost one that is kept */
    for (int d = BP_MAX_NORM_NDIM - 1; d >= 0; d--) {
        bool follows = to < BP_MAX_NORM_NDIM;
        for (int i = 1; i < LISTS && follows; i++) {
            follows = lists[i][d] == lists[i][to] * p->size[to];
        }
        if (p->size[d] == 1) {
            continue;
        }
        if (follows) {
            p->size[to] *= p->size[d];
            continue;
        }
        to--;
        for (int i = 0; i < LISTS; i++) {
            lists[i][to] = lists[i][d];
        }
    }
    while (to > 0) {
        to--;
        for (int i = 0; i < LISTS; i++) {
            lists[i][to] = i == 0;
        }
    }
}

void bp__batch_norm_lower(bp_problem *problem, const bp_batch_norm_call *call) {
    bp_batch_norm_problem *p = &problem->of.batch_norm;
    const DLTensor *input = call->input;
    const bp__pass *pass = bp__batch_norm_pass(call);
    problem->op = (uint32_t)pass->info.op;
    problem->dtype = (uint32_t)bp_dtype_from_dlpack(input->dtype);
    p->channels = input->shape[1];
    for (int d = 0; d < BP_MAX_NORM_NDIM; d++) {
        const int from = d - (BP_MAX_NORM_NDIM - (input->ndim - 1));
        p->size[d] = from < 0 ? 1 : input->shape[from == 0 ? 0 : from + 1];
    }
    image_strides(input, &p->x_channel, p->x);
    const DLTensor *output = call->pass == BP_BATCH_NORM_BACKWARD ? call->output_gradient : call->output;
    image_strides(output, &p->y_channel, p->y);
    if (call->input_gradient) {
        image_strides(call->input_gradient, &p->g_channel, p->g);
    } else { /* as the output, so that dimensions merge */
        image_strides(output, &p->g_channel, p->g);
    }
    p->parameters = problem->dtype;
    for (int i = 0; i < pass->info.operand_count; i++) {
        const DLTensor *tensor = bp__call_tensor(call, &pass->operand[i]);
        if (!tensor) {
            continue;
        }
        p->present |= (uint8_t)(1u << i);
        if (pass->operand[i].shape == BP__NORM_CHANNELS) {
            int64_t stride;
            bp__tensor_strides(tensor, &stride);
            p->stride[i] = p->channels == 1 ? 0 : stride;
            p->parameters = (uint32_t)bp_dtype_from_dlpack(tensor->dtype);
        }
    }
    merge(p);
    p->eps = call->eps;
    p->momentum = call->momentum;
    p->relu = call->relu != 0;
    p->constant = call->pass == BP_BATCH_NORM_INFERENCE || (call->pass == BP_BATCH_NORM_BACKWARD && !call->mean);
}
