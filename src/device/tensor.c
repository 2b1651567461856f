/* tensor.c - allocates tensors on devices, and checks tensors that may be on one. */
#include "device/private.h"
#include "base/uncancelled.h"

#include "tensor/internal.h"

#include <inttypes.h>

/* ---- Allocation ---- */

/* A queue on which others use the memory of a tensor. */
typedef struct tensor_use {
    struct tensor_use *next;
    bp_queue *queue; /* held */
} tensor_use;

typedef struct owned_tensor {
    DLManagedTensorVersioned managed;
    bp__device *device;
    bp__block *block;     /* NULL: no elements */
    atomic_bool exported; /* others than this library use the memory, on unknown queues */
    tensor_use *uses;     /* under the device's mutex */
    int64_t dims[];       /* shape, then strides */
} owned_tensor;

/* Enqueues marks behind the work of others that uses the memory, so that the pool waits for it. Returns whether it is
 * certain that it will. */
static bool mark_uses(owned_tensor *owned) {
    bool marked = true;
    bp__held_error held;
    bp__error_hold(&held);
    for (tensor_use *each = owned->block ? owned->uses : NULL; each; each = each->next) {
        pthread_mutex_lock(&each->queue->run);
        marked = bp__command_mark(each->queue, "the use of memory by others", NULL) == BP_OK && marked;
        pthread_mutex_unlock(&each->queue->run);
    }
    bp__error_return(&held);
    return marked;
}

static void end_uses(owned_tensor *owned) {
    while (owned->uses) {
        tensor_use *next = owned->uses->next;
        bp__queue_drop(owned->uses->queue);
        bp__free(owned->uses);
        owned->uses = next;
    }
}

/* In a child of fork the block belongs to the parent's driver; what is freed is memory of this process. */
static void delete_tensor(DLManagedTensorVersioned *managed) {
    if (!managed) {
        return;
    }
    owned_tensor *owned = managed->manager_ctx;
    if (!bp__device_is(owned->device, BP_DEVICE_FORKED)) {
        const bool known = mark_uses(owned) && !atomic_load_explicit(&owned->exported, memory_order_acquire);
        if (owned->block && bp__graph_keep(owned->device, owned->block)) {
            owned->block = NULL;
        } else if (owned->block && known) {
            bp__pool_give(owned->device, owned->block, NULL);
        } else if (owned->block) {
            bp__pool_drop(owned->device, owned->block);
        }
        atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
    }
    end_uses(owned);
    bp__free(owned);
}

/* As for tensors of the host: no element before the first one, and none at the place of another one. */
static bp_status measure(const bp_view *view, uint64_t *size) {
    int64_t low, high;
    for (int i = 0; i < view->tensor.ndim; i++) {
        if (view->strides[i] < 0) {
            return bp__fail(BP_E_ARGUMENT, "stride %d of a fresh tensor is negative; it must be 0 or more", i);
        }
    }
    if (bp__tensor_self_overlaps(&view->tensor)) {
        return bp__fail(BP_E_OVERLAP,
                        "the strides of a fresh tensor give two indices the same place; each element must "
                        "have its own memory");
    }
    BP__TRY(bp__tensor_extent(&view->tensor, "tensor", &low, &high));
    *size = (uint64_t)high;
    return BP_OK;
}

bp_status bp_tensor_empty_on(DLManagedTensorVersioned **tensor, int32_t place, bp_dtype dtype, int ndim,
                             const int64_t *shape, const int64_t *strides) {
    if (!tensor || place == 0) {
        return bp_tensor_empty(tensor, dtype, ndim, shape, strides);
    }
    BP__UNCANCELLED;
    bp__device *device;
    bp_view view;
    uint64_t size = 0;
    *tensor = NULL;
    BP__TRY(bp_view_init(&view, NULL, dtype, ndim, shape, strides));
    BP__TRY(measure(&view, &size));
    BP__TRY(bp__device_ready(place, &device));
    owned_tensor *owned = bp__alloc_zero(1, sizeof *owned + 2 * (size_t)ndim * sizeof *owned->dims);
    if (!owned) {
        return bp__fail_memory(sizeof *owned, "a tensor");
    }
    bp_status status = size > 0 ? bp__pool_take(device, NULL, size, &owned->block) : BP_OK;
    if (status != BP_OK) {
        bp__free(owned);
        return status;
    }
    owned->device = device;
    bp__tensor_manage(&owned->managed, &view, owned->dims);
    owned->managed.deleter = delete_tensor;
    owned->managed.dl_tensor.data = owned->block ? owned->block->base : NULL;
    owned->managed.dl_tensor.device = (DLDevice){(DLDeviceType)device->info.type, device->info.index};
    atomic_fetch_add_explicit(&bp__device_objects, 1, memory_order_relaxed);
    *tensor = &owned->managed;
    return BP_OK;
}

bp_status bp_tensor_export(DLManagedTensorVersioned *tensor) {
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_export: argument 'tensor' is NULL");
    }
    if (tensor->deleter == delete_tensor) {
        atomic_store_explicit(&((owned_tensor *)tensor->manager_ctx)->exported, true, memory_order_release);
    }
    return BP_OK;
}

/* Adds a queue to the list unless it is there. Returns whether it was added. Under the device's mutex. */
static bool add_use(owned_tensor *owned, tensor_use *use) {
    for (const tensor_use *each = owned->uses; each; each = each->next) {
        if (each->queue == use->queue) {
            return false;
        }
    }
    bp__queue_hold(use->queue);
    use->next = owned->uses;
    owned->uses = use;
    return true;
}

bp_status bp_tensor_use(DLManagedTensorVersioned *tensor, bp_queue *queue) {
    BP__UNCANCELLED;
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_use: argument 'tensor' is NULL");
    }
    BP__TRY(bp__queue_usable(queue));
    if (tensor->deleter != delete_tensor) {
        return BP_OK;
    }
    owned_tensor *owned = tensor->manager_ctx;
    if (queue->device != owned->device) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_use: the queue is on device %s, the tensor on %s",
                        queue->device->info.id, owned->device->info.id);
    }
    tensor_use *use = bp__alloc_zero(1, sizeof *use);
    if (!use) {
        return bp__fail_memory(sizeof *use, "the use of a tensor");
    }
    use->queue = queue;
    pthread_mutex_lock(&owned->device->mutex);
    const bool added = add_use(owned, use);
    pthread_mutex_unlock(&owned->device->mutex);
    if (!added) {
        bp__free(use);
    }
    return BP_OK;
}

/* ---- Checks ---- */

static bool is_on_host(const DLTensor *tensor) {
    return bp_device_place(tensor->device) == 0;
}

/* Checks what does not depend on the kind of memory: the tensor as one of the host, without an address. */
static bp_status check_shape(const DLTensor *tensor, const char *name) {
    DLTensor shadow = *tensor;
    shadow.device = (DLDevice){kDLCPU, 0};
    shadow.data = NULL;
    shadow.byte_offset = 0;
    return bp__tensor_check(&shadow, name, true);
}

static bp_status check_place(const DLTensor *tensor, const char *name, bp_dtype dtype, int64_t low, int64_t high) {
    const size_t item = bp_dtype_size(dtype);
    const size_t alignment = dtype == BP_C64 || dtype == BP_C128 ? item / 2 : item;
    if (!tensor->data && high > low) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' has elements but its data pointer is NULL", name);
    }
    if (tensor->byte_offset > (uint64_t)BP__MAX_SPAN) {
        return bp__fail(BP_E_OVERFLOW, "tensor '%s' has byte_offset %" PRIu64 ", which is beyond any memory", name,
                        tensor->byte_offset);
    }
    if (!bp__tensor_has_address(tensor) && (int64_t)tensor->byte_offset < -low) {
        return bp__fail(BP_E_OVERFLOW, "tensor '%s' reaches %" PRId64 " bytes before the start of its memory", name,
                        -low - (int64_t)tensor->byte_offset);
    }
    if (bp__tensor_position(tensor) % alignment != 0) {
        return bp__fail(BP_E_LAYOUT, "tensor '%s' starts at a place that is not a multiple of %zu, as %s requires",
                        name, alignment, bp_dtype_name(dtype));
    }
    return BP_OK;
}

bp_status bp__device_tensor_check(const DLTensor *tensor, const char *name, bp__device **device, int64_t *low,
                                  int64_t *high) {
    *device = NULL;
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' is NULL", name);
    }
    if (is_on_host(tensor)) {
        BP__TRY(bp__tensor_check(tensor, name, false));
        return bp__tensor_extent(tensor, name, low, high);
    }
    BP__TRY(check_shape(tensor, name));
    BP__TRY(bp__tensor_extent(tensor, name, low, high));
    BP__TRY(check_place(tensor, name, bp_dtype_from_dlpack(tensor->dtype), *low, *high));
    const int32_t place = bp_device_place(tensor->device);
    if (place < 0) {
        return bp__fail(BP_E_DEVICE, "tensor '%s' is on DLPack's device %d:%d, which does not exist", name,
                        (int)tensor->device.device_type, (int)tensor->device.device_id);
    }
    return bp__device_ready(place, device);
}
