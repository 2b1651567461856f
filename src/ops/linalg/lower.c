/* lower.c - converts checked tensors to the problem of linear algebra: sizes, canonical strides, merged batches.
 *
 * Equal calls become equal problems for any spelling of their tensors, because plans are cached by problem. */
#include "ops/linalg/linalg.h"

#include "tensor/internal.h"

#include <string.h>

/* One batch dimension of all operands. */
typedef struct dim {
    int64_t size, stride[BP_LINALG_OPERANDS];
} dim;

static int item_rank(const bp__linalg_facts *facts, int index) {
    char letters[3];
    return (int)strlen(bp__linalg_dims(facts, index, letters));
}

static void lower_operand(bp_linalg_operand *operand, const bp__linalg_facts *facts, int index) {
    const DLTensor *t = bp__linalg_tensor(facts, index);
    int64_t strides[BP_MAX_NDIM];
    int rank = item_rank(facts, index);
    bp__tensor_strides(t, strides);
    operand->dtype = (uint32_t)bp_dtype_from_dlpack(t->dtype);
    operand->rows = rank > 0 ? t->shape[t->ndim - rank] : 1;
    operand->columns = rank > 1 ? t->shape[t->ndim - 1] : 1;
    operand->row = operand->rows == 1 ? 0 : strides[t->ndim - rank];
    operand->column = operand->columns == 1 ? 0 : strides[t->ndim - 1];
}

static int64_t batch_stride(const bp__linalg_facts *facts, int index, int from_end) {
    const DLTensor *t = bp__linalg_tensor(facts, index);
    if (!t) {
        return 0;
    }
    int64_t strides[BP_MAX_NDIM];
    int at = t->ndim - item_rank(facts, index) - from_end;
    bp__tensor_strides(t, strides);
    return at < 0 || t->shape[at] == 1 ? 0 : strides[at];
}

static bool continues(const dim *outer, const dim *inner) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        if (outer->stride[i] != inner->stride[i] * inner->size) {
            return false;
        }
    }
    return true;
}

/* Batch dimensions, outermost first. Drops dimensions of size 1. Merges neighbours whose strides match in all operands.
 * The order is kept, because items are numbered along the batch. */
static int merge_batch(dim *dims, const bp__linalg_facts *facts) {
    int count = 0;
    for (int from_end = facts->batch_ndim; from_end >= 1; from_end--) {
        dim d = {.size = facts->batch[facts->batch_ndim - from_end]};
        if (d.size == 1) {
            continue;
        }
        for (int i = 0; i < facts->entry->count; i++) {
            d.stride[i] = batch_stride(facts, i, from_end);
        }
        if (count > 0 && continues(&dims[count - 1], &d)) {
            d.size *= dims[count - 1].size;
            dims[count - 1] = d;
        } else {
            dims[count++] = d;
        }
    }
    return count;
}

/* Counts the items. Returns false if the number exceeds 64 bits. */
static bool count_items(int64_t *items, const dim *dims, int count) {
    *items = 1;
    for (int i = 0; i < count; i++) {
        if (dims[i].size == 0) {
            *items = 0;
            return true;
        }
    }
    for (int i = 0; i < count; i++) {
        if (__builtin_mul_overflow(*items, dims[i].size, items)) {
            return false;
        }
    }
    return true;
}

BP__OWN_FRAME static bp_status lower_batch(bp_linalg_problem *l, const bp__linalg_facts *facts) {
    dim dims[BP_MAX_NDIM];
    int count = merge_batch(dims, facts);
    if (count > BP_MAX_BATCH_NDIM) {
        return bp__linalg_fail(facts->entry, BP_E_LAYOUT,
                               "%d batch dimensions remain after merging; at most %d can be handled", count,
                               BP_MAX_BATCH_NDIM);
    }
    if (!count_items(&l->batch, dims, count)) {
        return bp__linalg_fail(facts->entry, BP_E_OVERFLOW, "the number of items in the batch exceeds 64 bits");
    }
    l->batch_ndim = count;
    for (int d = 0; d < count; d++) {
        l->batch_shape[d] = dims[d].size;
        for (int i = 0; i < facts->entry->count; i++) {
            l->operand[i].batch[d] = dims[d].stride[i];
        }
    }
    return BP_OK;
}

/* Returns whether there is nothing to compute. The rank and singular values from LSTSQ depend on A alone, so they are
 * computed even without right-hand sides. */
static bool is_empty(const bp_linalg_problem *l, const bp__linalg_facts *facts, bool sides) {
    DLTensor *const *output = facts->call->output;
    bool of_a_alone = facts->entry->op == BP_OP_LSTSQ && (output[BP__LSTSQ_RANK] || output[BP__LSTSQ_VALUES]);
    return l->m == 0 || l->n == 0 || l->batch == 0 || (sides && l->k == 0 && !of_a_alone);
}

bp_status bp__linalg_lower(bp_problem *problem, const bp__linalg_facts *facts) {
    const bp__linalg_entry *row = facts->entry;
    const bp_linalg_call *call = facts->call;
    bp_linalg_problem *l = &problem->of.linalg;
    problem->op = (uint32_t)row->op;
    problem->dtype = (uint32_t)facts->dtype;
    l->m = facts->m;
    l->n = facts->n;
    l->k = facts->r;
    l->mode = (uint8_t)facts->mode;
    l->upper = call->upper != 0;
    l->a_on_left = (row->takes & BP__TAKES_RIGHT) && !call->right;
    l->adjoint = call->adjoint != 0;
    l->unit_diagonal = call->unitriangular != 0;
    l->hermitian = call->hermitian != 0;
    l->order = facts->mode == BP_NORM_P ? facts->order : 0.0;
    bp__linalg_tolerances(facts, &l->rtol, &l->atol);
    bool sides = false;
    for (int i = 0; i < row->count; i++) {
        sides |= strchr(row->operand[i].dims, 'r') != NULL;
        if (bp__linalg_tensor(facts, i)) {
            lower_operand(&l->operand[i], facts, i);
        }
    }
    BP__TRY(lower_batch(l, facts));
    l->empty = is_empty(l, facts, sides);
    return BP_OK;
}
