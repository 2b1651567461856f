/* layer_lower.c - converts a checked call of layer, RMS or group normalization to its problem. The channels of group
 * normalization become two dimensions, of the groups and of the channels of a group. */
#include "ops/normalization/layer.h"

#include "tensor/internal.h"

#include <stdlib.h>

/* The dimensions of a call, before any are merged: sizes, and a stride of each operand. */
typedef struct dimensions {
    int ndim, row_ndim;
    int64_t size[BP_MAX_LAYER_NORM_NDIM];
    int64_t stride[BP_LAYER_NORM_OPERANDS][BP_MAX_LAYER_NORM_NDIM];
} dimensions;

static void set_strides(dimensions *all, int i, const bp_layer_norm_call *call, const bp__call_operand *operand) {
    const DLTensor *tensor = bp__call_tensor(call, operand);
    int64_t strides[BP_MAX_NDIM];
    const bool group = call->kind == BP_GROUP_NORM;
    const int64_t channels = group ? call->input->shape[1] / call->groups : 0;
    const int rank = tensor->ndim;
    bp__tensor_strides(tensor, strides);
    for (int d = 0; d < all->ndim; d++) {
        int from = d; /* dimension of the operand; -1: it has none */
        int64_t times = 1;
        if (operand->shape == BP__LAYER_ROWS) {
            from = d < rank ? d : -1;
        } else if (operand->shape == BP__LAYER_WEIGHT) {
            from = group ? (d == 1 || d == 2 ? 0 : -1) : d - all->row_ndim;
            times = group && d == 1 ? channels : 1;
        } else if (group && d > 0) {
            from = d - 1 < 1 ? 1 : d - 1;
            times = d == 1 ? channels : 1;
        }
        all->stride[i][d] = from < 0 || all->size[d] == 1 ? 0 : (int64_t)((uint64_t)strides[from] * (uint64_t)times);
    }
}

static bool follows(const bp_layer_norm_problem *p, int to, int d) {
    for (int i = 0; i < BP_LAYER_NORM_OPERANDS; i++) {
        if ((uint64_t)p->stride[i][to] != (uint64_t)p->stride[i][d] * (uint64_t)p->size[d]) {
            return false;
        }
    }
    return true;
}

/* Appends the dimension `from` behind `first` and those with larger strides of the operand `sort` (-1: at the end), or
 * merges it with the last one. */
static void append(bp_layer_norm_problem *p, const dimensions *all, int from, int first, int sort) {
    int at = p->ndim++;
    for (; sort >= 0 && at > first && llabs(p->stride[sort][at - 1]) < llabs(all->stride[sort][from]); at--) {
        p->size[at] = p->size[at - 1];
        for (int i = 0; i < BP_LAYER_NORM_OPERANDS; i++) {
            p->stride[i][at] = p->stride[i][at - 1];
        }
    }
    p->size[at] = all->size[from];
    for (int i = 0; i < BP_LAYER_NORM_OPERANDS; i++) {
        p->stride[i][at] = all->stride[i][from];
    }
}

static void merge(bp_layer_norm_problem *p, int first) {
    int to = first;
    for (int d = first + 1; d < p->ndim; d++) {
        if (follows(p, to, d)) {
            p->size[d] *= p->size[to];
        } else {
            to++;
        }
        p->size[to] = p->size[d];
        for (int i = 0; i < BP_LAYER_NORM_OPERANDS; i++) {
            p->stride[i][to] = p->stride[i][d];
        }
    }
    const int end = p->ndim > first ? to + 1 : first;
    for (int d = end; d < p->ndim; d++) {
        p->size[d] = 0;
        for (int i = 0; i < BP_LAYER_NORM_OPERANDS; i++) {
            p->stride[i][d] = 0;
        }
    }
    p->ndim = end;
}

void bp__layer_lower(bp_problem *problem, const bp_layer_norm_call *call) {
    bp_layer_norm_problem *p = &problem->of.layer_norm;
    const DLTensor *input = call->input;
    const bool group = call->kind == BP_GROUP_NORM, backward = call->pass == BP_LAYER_NORM_BACKWARD;
    dimensions all = {.ndim = input->ndim + group, .row_ndim = group ? 2 : input->ndim - call->row_ndim};
    for (int d = 0; d < all.ndim; d++) {
        all.size[d] = !group ? input->shape[d] : d == 0 ? input->shape[0] : d == 1 ? call->groups : input->shape[d - 1];
        all.size[d] /= group && d == 2 ? call->groups : 1;
    }
    problem->op = (uint32_t)(backward ? BP_OP_LAYER_NORM_BACKWARD : BP_OP_LAYER_NORM);
    problem->dtype = (uint32_t)bp_dtype_from_dlpack(input->dtype);
    p->parameters = problem->dtype;
    p->eps = call->eps;
    p->subtract_mean = call->kind != BP_RMS_NORM;
    const bp__pass *pass = bp__layer_pass(call);
    for (int i = 0; i < pass->info.operand_count; i++) {
        const DLTensor *tensor = bp__call_tensor(call, &pass->operand[i]);
        if (tensor) {
            p->present |= (uint8_t)(1u << i);
            set_strides(&all, i, call, &pass->operand[i]);
            if (pass->operand[i].shape != BP__LAYER_IMAGE) {
                p->parameters = (uint32_t)bp_dtype_from_dlpack(tensor->dtype);
            }
        }
    }
    for (int d = 0; d < all.ndim; d++) {
        if (d == all.row_ndim) {
            merge(p, 0);
            p->row_ndim = p->ndim;
        }
        if (all.size[d] != 1) {
            append(p, &all, d, p->row_ndim, d < all.row_ndim ? -1 : backward);
        }
    }
    merge(p, p->row_ndim);
}
