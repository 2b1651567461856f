/* new.c - allocates tensors that own their memory (bp_tensor_new). */
#include "tensor/internal.h"

#include <string.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 64, /* as bp__alloc_aligned() has it */
    HUGE_PAGE = 2 << 20,
    HUGE_FROM = 2 * HUGE_PAGE /* smaller blocks rarely contain a whole huge page */
};

/* One aligned block holds the struct, both arrays and, at the next aligned address, the elements: a small result of a
 * call takes one allocation. */
typedef struct owned_tensor {
    DLManagedTensorVersioned managed;
    int64_t dims[]; /* shape, then strides */
} owned_tensor;

static void delete_tensor(DLManagedTensorVersioned *managed) {
    if (managed) {
        bp__free_aligned(managed->manager_ctx);
    }
}

/* Requests huge pages before the first access, so that the kernel uses them from the start. A refusal only costs speed.
 */
static void ask_for_huge_pages(char *data, size_t size) {
    if (size >= HUGE_FROM) {
        uintptr_t first = ((uintptr_t)data + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
        uintptr_t last = ((uintptr_t)data + size) & ~(uintptr_t)(HUGE_PAGE - 1);
        (void)madvise(data + (first - (uintptr_t)data), last - first, MADV_HUGEPAGE);
    }
}

/* Computes the size from the first element to the end of the last one. No index may address memory before the first
 * element, or another element. Row-major strides were checked with the view. */
static bp_status measure(const bp_view *view, bool row_major, size_t *size) {
    int64_t low, high;
    if (row_major) {
        *size = (size_t)bp__tensor_elements(&view->tensor) * (view->tensor.dtype.bits / 8);
        return BP_OK;
    }
    for (int i = 0; i < view->tensor.ndim; i++) {
        if (view->strides[i] < 0) {
            return bp__fail(BP_E_ARGUMENT, "stride %d of a fresh tensor is negative; it must be 0 or more", i);
        }
    }
    if (bp__tensor_self_overlaps(&view->tensor)) {
        return bp__fail(
            BP_E_OVERLAP,
            "the strides of a fresh tensor give two indices the same address; each element must have its own memory");
    }
    BP__TRY(bp__tensor_extent(&view->tensor, "tensor", &low, &high));
    *size = (size_t)high;
    return BP_OK;
}

/* Returns the bytes before the elements. */
static size_t head_size(int ndim) {
    const size_t used = sizeof(owned_tensor) + 2 * (size_t)ndim * sizeof(int64_t);
    return (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void bp__tensor_manage(DLManagedTensorVersioned *managed, const bp_view *view, int64_t *dims) {
    const int ndim = view->tensor.ndim;
    for (int i = 0; i < ndim; i++) {
        dims[i] = view->shape[i];
        dims[ndim + i] = view->strides[i];
    }
    *managed = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .manager_ctx = managed,
        .dl_tensor = view->tensor,
    };
    managed->dl_tensor.shape = dims;
    managed->dl_tensor.strides = dims + ndim;
}

bp_status bp_tensor_empty(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape,
                          const int64_t *strides) {
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "argument 'tensor' is NULL; it must be the address of a pointer");
    }
    *tensor = NULL;
    bp_view view;
    size_t size = 0, total;
    BP__TRY(bp_view_init(&view, NULL, dtype, ndim, shape, strides));
    BP__TRY(measure(&view, strides == NULL, &size));
    owned_tensor *owned = __builtin_add_overflow(head_size(ndim), size, &total) ? NULL : bp__alloc_aligned(total);
    if (!owned) {
        return bp__fail_memory(size, "a tensor");
    }
    bp__tensor_manage(&owned->managed, &view, owned->dims);
    owned->managed.deleter = delete_tensor;
    if (size > 0) {
        char *data = (char *)owned + head_size(ndim);
        owned->managed.dl_tensor.data = data;
        ask_for_huge_pages(data, size);
    }
    *tensor = &owned->managed;
    return BP_OK;
}

bp_status bp_tensor_new(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape) {
    BP__TRY(bp_tensor_empty(tensor, dtype, ndim, shape, NULL));
    DLTensor *made = &(*tensor)->dl_tensor;
    if (made->data) {
        memset(made->data, 0, (size_t)bp__tensor_elements(made) * bp_dtype_size(dtype));
    }
    return BP_OK;
}
