/* lower.c - converts a checked call of attention to its problem. Heads that share a key and a value become a dimension
 * of their own, in which these have stride 0. Dimensions of size 1 are omitted, neighbours are merged. */
#include "ops/attention/attention.h"

#include "tensor/internal.h"

#include <math.h>
#include <string.h>

/* The batch before it is merged: the heads may become three dimensions. */
typedef struct batch {
    int ndim;
    int64_t shape[BP_MAX_NDIM + 2];
    int64_t stride[BP_ATTENTION_TENSORS][BP_MAX_NDIM + 2];
} batch;

/* Number of dimensions behind the batch. */
static int matrix_ndim(bp_attention_tensor which) {
    return which == BP_ATTENTION_LOGSUMEXP || which == BP_ATTENTION_PAGES ? 1
           : which == BP_ATTENTION_SEED || which == BP_ATTENTION_LENGTHS  ? 0
                                                                          : 2;
}

/* Cuts the heads into dimensions such that each tensor has one stride in each. */
static int cut_heads(const bp__attention *attention, int64_t heads, int64_t part[3]) {
    const int64_t key = attention->key_heads, value = attention->value_heads;
    const int64_t least = key < value ? key : value, most = key < value ? value : key;
    if (!attention->call->enable_gqa || heads == 0) {
        part[0] = heads;
        return 1;
    }
    part[0] = least;
    part[1] = most / least;
    part[2] = heads / most;
    return 3;
}

/* Returns a stride for the problem, where 0 means that all indices share an element: a tensor of size 0 has none. */
static int64_t stride_of(const DLTensor *tensor, const int64_t *strides, int d) {
    const int64_t size = tensor->shape[d];
    return size == 1 ? 0 : size == 0 && strides[d] == 0 ? 1 : strides[d];
}

/* Adds one dimension of the output's batch, cut into `parts`. */
static void add_dimension(batch *b, const bp__attention *attention, int d, int parts, const int64_t *part) {
    for (int i = 0; i < attention->pass->info.operand_count; i++) {
        const bp__call_operand *operand = &attention->pass->operand[i];
        const bp_attention_tensor which = (bp_attention_tensor)operand->shape;
        const DLTensor *tensor = bp__call_tensor(attention->call, operand);
        int64_t strides[BP_MAX_NDIM];
        const int own = tensor ? d - (attention->batch_ndim - (tensor->ndim - matrix_ndim(which))) : -1;
        if (own < 0 || which == BP_ATTENTION_SEED || tensor->shape[own] == 1) {
            continue;
        }
        bp__tensor_strides(tensor, strides);
        /* The innermost parts that this tensor's heads do not have keep stride 0. */
        int64_t missing = tensor->shape[own] > 0 ? attention->batch[d] / tensor->shape[own] : 1;
        int64_t step = stride_of(tensor, strides, own);
        for (int p = parts - 1; p >= 0; p--) {
            if (missing > 1) {
                missing /= part[p];
                continue;
            }
            b->stride[which][b->ndim + p] = part[p] == 1 ? 0 : step;
            step *= part[p];
        }
    }
    for (int p = 0; p < parts; p++) {
        b->shape[b->ndim + p] = part[p];
    }
    b->ndim += parts;
}

/* Removes dimensions of size 1 and merges neighbours. */
static void merge(batch *b) {
    int to = 0; /* dimensions that are kept */
    for (int d = 0; d < b->ndim; d++) {
        if (b->shape[d] == 1) {
            continue;
        }
        bool follows = to > 0;
        for (int i = 0; i < BP_ATTENTION_TENSORS && follows; i++) {
            follows = b->stride[i][to - 1] == b->stride[i][d] * b->shape[d];
        }
        to -= follows;
        b->shape[to] = follows ? b->shape[to] * b->shape[d] : b->shape[d];
        for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
            b->stride[i][to] = b->stride[i][d];
        }
        to++;
    }
    b->ndim = to;
}

static void lower_matrix(bp_attention_layout *layout, bp_attention_tensor which, const DLTensor *tensor) {
    int64_t strides[BP_MAX_NDIM];
    const int last = tensor->ndim - 1;
    bp__tensor_strides(tensor, strides);
    layout->dtype = (uint32_t)bp_dtype_from_dlpack(tensor->dtype);
    if (which == BP_ATTENTION_LOGSUMEXP) {
        layout->row = stride_of(tensor, strides, last);
        return;
    }
    if (which == BP_ATTENTION_LENGTHS) { /* a number for each item */
        return;
    }
    layout->column = last >= 0 ? stride_of(tensor, strides, last) : 0;
    layout->row = last >= 1 ? stride_of(tensor, strides, last - 1) : 0;
}

/* Refuses sizes whose products could exceed int64. Tensors may be that large if they have no elements, or strides of 0.
 */
static bp_status check_sizes(const bp__attention *attention) {
    double rows = (double)attention->queries;
    for (int d = 0; d < attention->batch_ndim; d++) {
        rows *= (double)attention->batch[d];
    }
    const double columns = (double)attention->size + (double)attention->value_size;
    if (rows > 0x1p50 || (double)attention->keys > 0x1p44 || columns > 0x1p44) {
        return bp__fail(
            BP_E_OVERFLOW,
            "attention: %g rows of queries, %g keys and %g columns; at most 2^50, 2^44 and 2^44 are possible", rows,
            (double)attention->keys, columns);
    }
    return BP_OK;
}

/* Collects the batch in `b`, which is zeroed, and stores it with the layouts of the tensors. */
static bp_status lower_batch(bp_attention_problem *p, const bp__attention *attention, batch *b) {
    for (int d = 0; d < attention->batch_ndim; d++) {
        int64_t part[3] = {attention->batch[d]};
        const int parts = d == attention->batch_ndim - 1 ? cut_heads(attention, attention->batch[d], part) : 1;
        add_dimension(b, attention, d, parts, part);
    }
    merge(b);
    if (b->ndim > BP_MAX_ATTENTION_NDIM) {
        return bp__fail(BP_E_SHAPE,
                        "attention: the batch has %d dimensions that cannot be merged; at most %d are possible",
                        b->ndim, BP_MAX_ATTENTION_NDIM);
    }
    p->batch = 1;
    p->batch_ndim = b->ndim;
    for (int d = 0; d < b->ndim; d++) {
        p->batch_shape[d] = b->shape[d];
        p->batch *= b->shape[d];
    }
    for (int i = 0; i < attention->pass->info.operand_count; i++) {
        const bp__call_operand *operand = &attention->pass->operand[i];
        const bp_attention_tensor which = (bp_attention_tensor)operand->shape;
        const DLTensor *tensor = bp__call_tensor(attention->call, operand);
        if (tensor) {
            bp_attention_layout *layout = &p->tensor[which];
            lower_matrix(layout, which, tensor);
            memcpy(layout->batch, b->stride[which], (size_t)b->ndim * sizeof *layout->batch);
        }
    }
    return BP_OK;
}

static bp_op op_of(const bp_attention_call *call) {
    const bool forward = call->pass == BP_ATTENTION_FORWARD;
    return call->pages     ? BP_OP_ATTENTION_PAGED
           : call->lengths ? (forward ? BP_OP_ATTENTION_LENGTHS : BP_OP_ATTENTION_LENGTHS_BACKWARD)
           : forward       ? BP_OP_ATTENTION
                           : BP_OP_ATTENTION_BACKWARD;
}

/* Returns a limit of a window; -1 if it excludes no key, since a key is never farther from a position than `farthest`.
 */
static int64_t limit_of(const bp_attention_call *call, int64_t side, int64_t farthest) {
    return call->has_window && side < farthest ? side : -1;
}

/* Writes which keys a query sees. Positions from the last key on are from KEYS - QUERIES to KEYS - 1, or lower if the
 * item has fewer keys. */
static void lower_window(bp_attention_problem *p, const bp_attention_call *call) {
    const bool lower = call->pages || (call->lower_right && (call->lengths || p->queries != p->keys));
    const int64_t left = limit_of(call, call->window_left, (lower ? p->keys : p->queries) - 1),
                  right = limit_of(call, call->window_right, (lower ? p->queries : p->keys) - 1);
    p->causal = call->is_causal || (right == 0 && !call->mask);
    p->window_left = left;
    p->window_right = p->causal ? -1 : right;
    p->lower_right = lower && (p->causal || p->window_left >= 0 || p->window_right >= 0);
}

bp_status bp__attention_lower(bp_problem *problem, const bp__attention *attention) {
    const bp_attention_call *call = attention->call;
    bp_attention_problem *p = &problem->of.attention;
    BP__TRY(check_sizes(attention));
    problem->op = op_of(call);
    p->page_size = attention->paged.page_size;
    p->pool = attention->paged.pool;
    p->key_page = attention->paged.key_page;
    p->value_page = attention->paged.value_page;
    problem->dtype = (uint32_t)attention->dtype;
    p->queries = attention->queries;
    p->keys = attention->keys;
    p->size = attention->size;
    p->value_size = attention->value_size;
    lower_window(p, call);
    p->softcap = call->softcap;
    p->dropout = call->dropout;
    p->scale = call->has_scale ? call->scale : attention->size > 0 ? 1 / sqrt((double)attention->size) : 1;
    batch *b = bp__alloc_zero(1, sizeof *b); /* large: not on the stack */
    const bp_status status = b ? lower_batch(p, attention, b) : bp__fail_memory(sizeof *b, "the batch of attention");
    bp__free(b);
    return status;
}
