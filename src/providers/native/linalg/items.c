/* items.c - computes the operand addresses of single items, and fills whole operands. */
#include "small.h"

#include <math.h>

void bp__item_locate(const bp_linalg_problem *l, void *const *operands, int64_t item, char **at) {
    int64_t index[BP_MAX_BATCH_NDIM];
    for (int d = l->batch_ndim - 1; d >= 0; d--) {
        /* The outermost index is the remaining quotient, so that one dimension needs no division. */
        index[d] = d > 0 ? item % l->batch_shape[d] : item;
        item = d > 0 ? item / l->batch_shape[d] : 0;
    }
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *o = &l->operand[i];
        at[i] = o->dtype ? operands[i] : NULL;
        if (!at[i]) {
            continue;
        }
        int64_t offset = 0;
        for (int d = 0; d < l->batch_ndim; d++) {
            offset += index[d] * o->batch[d];
        }
        at[i] += offset * (int64_t)bp_dtype_size((bp_dtype)o->dtype);
    }
}

static void set_element(bp_dtype dtype, char *at, double value) {
    void *to = at;
    switch (dtype) {
    case BP_F32:
        *(float *)to = (float)value;
        return;
    case BP_F64:
        *(double *)to = value;
        return;
    case BP_C64:
        ((float *)to)[0] = (float)value;
        ((float *)to)[1] = isnan(value) ? (float)value : 0;
        return;
    case BP_C128:
        ((double *)to)[0] = value;
        ((double *)to)[1] = isnan(value) ? value : 0;
        return;
    case BP_I32:
        *(int32_t *)to = (int32_t)value;
        return;
    default:
        *(int64_t *)to = (int64_t)value;
        return;
    }
}

void bp__item_fill(const bp_linalg_operand *operand, char *at, double diagonal, double other) {
    const int64_t size = (int64_t)bp_dtype_size((bp_dtype)operand->dtype);
    for (int64_t i = 0; at && i < operand->rows; i++) {
        for (int64_t j = 0; j < operand->columns; j++) {
            set_element((bp_dtype)operand->dtype, at + (i * operand->row + j * operand->column) * size,
                        i == j ? diagonal : other);
        }
    }
}

void bp__item_fill_nan(const bp_problem *problem, int inputs, int info, char *const *at) {
    for (int i = inputs; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *o = &problem->of.linalg.operand[i];
        const bool whole = o->dtype == BP_I32 || o->dtype == BP_I64;
        const double value = i == info ? BP_INFO_NON_FINITE : whole ? 0 : (double)NAN;
        bp__item_fill(o, at[i], value, value);
    }
}
