/* whole.c - reads tensors of integers and bool without loss, for references of exact results. */
#include "reference/reference.h"

#include <string.h>

bool wholes_can(const DLTensor *tensor) {
    const uint8_t code = tensor->dtype.code;
    return code == kDLInt || code == kDLUInt || code == kDLBool;
}

int64_t wholes_convert(int64_t whole, bp_dtype dtype) {
    switch (dtype) {
    case BP_BOOL:
        return whole != 0;
    case BP_I8:
        return (int8_t)(uint8_t)whole;
    case BP_U8:
        return (uint8_t)whole;
    case BP_I16:
        return (int16_t)(uint16_t)whole;
    case BP_U16:
        return (uint16_t)whole;
    case BP_I32:
        return (int32_t)(uint32_t)whole;
    case BP_U32:
        return (uint32_t)whole;
    default:
        return whole;
    }
}

/* Copies the elements of the dimensions from `dim` on. Elements of bool are not changed to 0 or 1, so that a result
 * that was not written is seen. */
static void read_elements(const DLTensor *from, int dim, const char *at, int64_t **to) {
    const int64_t size = from->dtype.bits / 8;
    if (dim < from->ndim) {
        int64_t step = size;
        for (int i = from->ndim - 1; i > dim && !from->strides; i--) {
            step *= from->shape[i];
        }
        step = from->strides ? from->strides[dim] * size : step;
        for (int64_t i = 0; i < from->shape[dim]; i++) {
            read_elements(from, dim + 1, at + i * step, to);
        }
        return;
    }
    uint64_t bits = 0;
    switch (size) {
    case 1:
        bits = *(const uint8_t *)at;
        break;
    case 2:
        bits = *(const uint16_t *)(const void *)at;
        break;
    case 4:
        bits = *(const uint32_t *)(const void *)at;
        break;
    default:
        bits = *(const uint64_t *)(const void *)at;
    }
    const bp_dtype dtype = bp_dtype_from_dlpack(from->dtype);
    **to = dtype == BP_BOOL ? (int64_t)bits : wholes_convert((int64_t)bits, dtype);
    ++*to;
}

bp_status wholes_make(wholes *made, const DLTensor *tensor) {
    memset(made, 0, sizeof *made);
    const bp_status status = bp_tensor_new(&made->owner, BP_I64, tensor->ndim, tensor->shape);
    if (status != BP_OK) {
        return status;
    }
    int64_t *to = made->owner->dl_tensor.data;
    made->data = to;
    made->count = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        made->count *= tensor->shape[i];
    }
    if (made->count > 0) {
        read_elements(tensor, 0, (const char *)tensor->data + tensor->byte_offset, &to);
    }
    return BP_OK;
}

void wholes_free(wholes *made) {
    if (made->owner) {
        made->owner->deleter(made->owner);
    }
    memset(made, 0, sizeof *made);
}
