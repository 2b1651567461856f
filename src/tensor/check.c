/* check.c - validates tensors of the caller, and checks whether a tensor overlaps itself.
 *
 * A DLTensor may come from any program, so no member is trusted. Each size is checked before it is multiplied, and each
 * offset before it is added to an address.
 */
#include "tensor/internal.h"

#include <inttypes.h>

static bp_status check_count(const DLTensor *tensor, const char *name, size_t item, bool *empty) {
    int64_t bytes = (int64_t)item;
    *empty = false;
    for (int i = 0; i < tensor->ndim; i++) {
        int64_t size = tensor->shape[i];
        if (size < 0) {
            return bp__fail(BP_E_SHAPE, "tensor '%s' has size %" PRId64 " in dimension %d; sizes are 0 or more", name,
                            size, i);
        }
        *empty |= size == 0;
        /* A zero counts as one, so that compact strides can be computed for every accepted tensor. */
        if (size > 1 && (__builtin_mul_overflow(bytes, size, &bytes) || bytes > BP__MAX_SPAN)) {
            char text[256];
            return bp__fail(BP_E_OVERFLOW, "tensor '%s' (%s) has more elements than memory can hold", name,
                            bp__tensor_text(tensor, text, sizeof text));
        }
    }
    return BP_OK;
}

/* Adds the range of one dimension to the extent. Returns false if the extent becomes too wide. */
static bool extend(int64_t size, int64_t stride, int64_t item, int64_t *low, int64_t *high) {
    int64_t reach;
    if (__builtin_mul_overflow(size - 1, stride, &reach) || __builtin_mul_overflow(reach, item, &reach)) {
        return false;
    }
    int64_t *end = reach < 0 ? low : high;
    return !__builtin_add_overflow(*end, reach, end) && *low >= -BP__MAX_SPAN && *high <= BP__MAX_SPAN + *low;
}

bp_status bp__tensor_extent(const DLTensor *tensor, const char *name, int64_t *low, int64_t *high) {
    size_t item = bp_dtype_size(bp_dtype_from_dlpack(tensor->dtype));
    bool empty;
    *low = 0;
    *high = 0;
    BP__TRY(check_count(tensor, name, item, &empty));
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(tensor, strides);
    *high = (int64_t)item;
    bool fits = true;
    for (int i = 0; i < tensor->ndim && fits; i++) {
        fits = tensor->shape[i] <= 1 || extend(tensor->shape[i], strides[i], (int64_t)item, low, high);
    }
    if (!fits) {
        char text[256];
        return bp__fail(BP_E_OVERFLOW, "tensor '%s' (%s) spans more bytes than an address space has", name,
                        bp__tensor_text(tensor, text, sizeof text));
    }
    if (empty) { /* spans nothing, but its strides must still be safe to compute with */
        *low = *high = 0;
    }
    return BP_OK;
}

/* Returns the alignment of an element. Complex numbers have the alignment of their components. */
static size_t alignment_of(bp_dtype dtype) {
    size_t size = bp_dtype_size(dtype);
    return dtype == BP_C64 || dtype == BP_C128 ? size / 2 : size;
}

static bp_status check_address(const DLTensor *tensor, const char *name, bp_dtype dtype, int64_t low, int64_t high) {
    const uintptr_t base = bp__tensor_has_address(tensor) ? (uintptr_t)tensor->data : 0;
    uintptr_t address;
    uintptr_t end;
    if (tensor->byte_offset > UINTPTR_MAX || __builtin_add_overflow(base, (uintptr_t)tensor->byte_offset, &address) ||
        address < (uintptr_t)-low || __builtin_add_overflow(address, (uintptr_t)high, &end)) {
        return bp__fail(BP_E_OVERFLOW, "tensor '%s' reaches outside %s (byte_offset %" PRIu64 ")", name,
                        bp__tensor_has_address(tensor) ? "the address space" : "its block of memory",
                        tensor->byte_offset);
    }
    if (address % alignment_of(dtype) != 0) {
        return bp__fail(BP_E_LAYOUT, "tensor '%s' starts at an address that is not a multiple of %zu, as %s requires",
                        name, alignment_of(dtype), bp_dtype_name(dtype));
    }
    return BP_OK;
}

#undef bp__tensor_check /* the analyzer defines it as a macro */
bp_status bp__tensor_check(const DLTensor *tensor, const char *name, bool data_optional) {
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' is NULL", name);
    }
    if (tensor->ndim < 0 || tensor->ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' has rank %d; it must be 0 to %d", name, (int)tensor->ndim,
                        BP_MAX_NDIM);
    }
    if (tensor->ndim > 0 && !tensor->shape) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' has rank %d but no shape", name, (int)tensor->ndim);
    }
    bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    if (dtype == BP_DTYPE_NONE) {
        return bp__fail(BP_E_DTYPE,
                        "tensor '%s' has DLPack type code %d with %d bits and %d lanes, which is not supported", name,
                        tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    }
    int64_t low;
    int64_t high;
    BP__TRY(bp__tensor_extent(tensor, name, &low, &high));
    BP__TRY(bp__tensor_note_device(tensor, name, high - low));
    if (tensor->data) {
        return check_address(tensor, name, dtype, low, high);
    }
    if (high > 0 && !data_optional) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' has elements but its data pointer is NULL", name);
    }
    return BP_OK;
}

void bp__tensor_span(const DLTensor *tensor, uintptr_t *low, uintptr_t *high) {
    int64_t below;
    int64_t above;
    uintptr_t address = bp__tensor_position(tensor);
    if (bp__tensor_extent(tensor, "", &below, &above) != BP_OK) {
        below = above = 0; /* only for a tensor that was never checked */
    }
    *low = address - (uintptr_t)-below;
    *high = address + (uintptr_t)above;
}

bool bp__tensor_self_overlaps(const DLTensor *tensor) {
    if (bp__tensor_elements(tensor) <= 1) {
        return false;
    }
    int64_t strides[BP_MAX_NDIM];
    int64_t steps[BP_MAX_NDIM];
    int64_t sizes[BP_MAX_NDIM];
    int count = 0;
    bp__tensor_strides(tensor, strides);
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] > 1) {
            steps[count] = strides[i] < 0 ? -strides[i] : strides[i]; /* a negative stride reaches the same memory */
            sizes[count++] = tensor->shape[i];
        }
    }
    int64_t reach = 1; /* number of elements that the dimensions taken so far span */
    while (count > 0) {
        int least = 0;
        for (int i = 1; i < count; i++) {
            least = steps[i] < steps[least] ? i : least;
        }
        if (steps[least] < reach) {
            return true;
        }
        reach += steps[least] * (sizes[least] - 1);
        count--;
        steps[least] = steps[count];
        sizes[least] = sizes[count];
    }
    return false;
}
