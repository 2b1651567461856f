/* new.c - allocates tensors that own their memory (bp_tensor_new). */
#include "tensor/internal.h"

#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    HUGE_FROM = 2 * HUGE_PAGE /* smaller blocks rarely contain a whole huge page */
};

/* One block holds the struct and both arrays; the elements have their own block because of their alignment. */
typedef struct owned_tensor {
    DLManagedTensorVersioned managed;
    int64_t dims[]; /* shape, then strides */
} owned_tensor;

static void delete_tensor(DLManagedTensorVersioned *managed) {
    if (managed) {
        bp__free_aligned(managed->dl_tensor.data);
        bp__free(managed->manager_ctx);
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

static bp_status allocate(size_t size, void **data) {
    if (size == 0) {
        return BP_OK;
    }
    char *bytes = bp__alloc_aligned(size);
    if (!bytes) {
        return bp__fail_memory(size, "a tensor");
    }
    ask_for_huge_pages(bytes, size);
    *data = bytes;
    return BP_OK;
}

/* Computes the size from the first element to the end of the last one. No index may address memory before the first
 * element, or another element. */
static bp_status measure(const bp_view *view, size_t *size) {
    int64_t low, high;
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

static DLManagedTensorVersioned *manage(owned_tensor *owned, const bp_view *view) {
    size_t dims = (size_t)view->tensor.ndim;
    memcpy(owned->dims, view->shape, dims * sizeof *owned->dims);
    memcpy(owned->dims + dims, view->strides, dims * sizeof *owned->dims);
    owned->managed = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .manager_ctx = owned,
        .deleter = delete_tensor,
        .dl_tensor = view->tensor,
    };
    owned->managed.dl_tensor.shape = owned->dims;
    owned->managed.dl_tensor.strides = owned->dims + dims;
    return &owned->managed;
}

bp_status bp_tensor_empty(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape,
                          const int64_t *strides) {
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "argument 'tensor' is NULL; it must be the address of a pointer");
    }
    *tensor = NULL;
    bp_view view;
    size_t size = 0;
    BP__TRY(bp_view_init(&view, NULL, dtype, ndim, shape, strides));
    BP__TRY(measure(&view, &size));
    owned_tensor *owned = bp__alloc_zero(1, sizeof *owned + 2 * (size_t)ndim * sizeof *owned->dims);
    if (!owned) {
        return bp__fail_memory(sizeof *owned, "a tensor");
    }
    bp_status status = allocate(size, &view.tensor.data);
    if (status != BP_OK) {
        bp__free(owned);
        return status;
    }
    *tensor = manage(owned, &view);
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
