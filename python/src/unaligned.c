/* unaligned.c - copies arrays with unaligned elements, which the library does not accept: fields of records, views of
 * bytes. NumPy copies such arrays silently, so calls with them work here too; see docs/reference/python.md.
 */
#include "core.h"

#include <string.h>

static size_t size_of(const operand *of) {
    return of->tensor.dtype.bits / 8;
}

static int64_t count_of(const operand *of) {
    int64_t count = 1;
    for (int i = 0; i < of->tensor.ndim; i++) {
        if (of->shape[i] <= 0) {
            return 0;
        }
    }
    for (int i = 0; i < of->tensor.ndim; i++) {
        if (__builtin_mul_overflow(count, of->shape[i], &count)) {
            return INT64_MAX;
        }
    }
    return count;
}

/* Runs in every call. The library requires addresses that are multiples of the element size, for complex types of the
 * size of one component. All its sizes are powers of two. Other types return true; the library refuses them later. */
bool core_is_aligned(const operand *of) {
    size_t size = size_of(of), steps = 0;
    for (int i = 0; i < of->tensor.ndim; i++) {
        steps |= of->shape[i] > 1 ? (size_t)of->steps[i] : 0;
    }
    size_t part = of->tensor.dtype.code == kDLComplex ? size / 2 : size;
    bool known = size > 0 && (size & (size - 1)) == 0;
    return !known || ((steps & (size - 1)) == 0 && ((uintptr_t)of->unaligned & (part - 1)) == 0);
}

/* Copies every element in row-major order, from the array to the copy or back. */
static void copy_elements(operand *of, bool back) {
    int64_t index[BP_MAX_NDIM] = {0};
    size_t size = size_of(of);
    char *array = of->unaligned, *copy = of->aligned->dl_tensor.data;
    for (int64_t left = count_of(of); left > 0; left--) {
        memcpy(back ? array : copy, back ? copy : array, size);
        copy += size;
        for (int d = of->tensor.ndim - 1; d >= 0; d--) {
            array += of->steps[d];
            if (++index[d] < of->shape[d]) {
                break;
            }
            array -= of->steps[d] * of->shape[d];
            index[d] = 0;
        }
    }
}

bool core_align(core_state *state, operand *to, unsigned access) {
    if ((access & CORE_DESCRIBES) != 0) {
        to->tensor.data = NULL;
    } else {
        bp_status status =
            bp_tensor_empty(&to->aligned, bp_dtype_from_dlpack(to->tensor.dtype), to->tensor.ndim, to->shape, NULL);
        if (status != BP_OK) {
            core_fail(state, status, NULL);
            return false;
        }
        copy_elements(to, false);
        to->tensor.data = to->aligned->dl_tensor.data;
        to->copied_back = (access & CORE_WRITES) != 0;
    }
    to->tensor.byte_offset = 0;
    core_compact_strides(to);
    return true;
}

void core_unalign(operand *held) {
    if (held->aligned) {
        if (held->copied_back) {
            copy_elements(held, true);
        }
        held->aligned->deleter(held->aligned);
        held->aligned = NULL;
    }
}
