/* pinned.c - allocates tensors in memory of the host that a device copies directly.
 *
 * Drivers copy other memory of the host through buffers of their own, with the processor. */
#include "device/private.h"
#include "base/uncancelled.h"

#include "tensor/internal.h"

typedef struct pinned_tensor {
    DLManagedTensorVersioned managed;
    bp__device *device;
    void *memory;   /* NULL: no elements */
    int64_t dims[]; /* shape, then strides */
} pinned_tensor;

static void *handle_of(const bp__device *device) {
    return atomic_load_explicit(&device->handle, memory_order_acquire);
}

/* In a child of fork the driver's memory stays with the parent's driver. */
static void delete_pinned(DLManagedTensorVersioned *managed) {
    if (!managed) {
        return;
    }
    pinned_tensor *owned = managed->manager_ctx;
    if (!bp__device_is(owned->device, BP_DEVICE_FORKED)) {
        if (owned->memory) {
            owned->device->runtime->host_release(handle_of(owned->device), owned->memory);
        }
        atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
    }
    bp__free(owned);
}

/* Returns DLPack's device of such memory. */
static DLDevice device_of(const bp__device *device) {
    const DLDeviceType type = device->info.type == kDLCUDA   ? kDLCUDAHost
                              : device->info.type == kDLROCM ? kDLROCMHost
                                                             : kDLCPU;
    return (DLDevice){type, 0};
}

static bp_status allocate(const bp__device *device, uint64_t size, void **memory) {
    *memory = NULL;
    if (size == 0) {
        return BP_OK;
    }
    const bp_status status = device->runtime->host_allocate(handle_of(device), (size_t)size, memory);
    return status == BP_OK ? BP_OK
                           : bp__fail(status, "bp_tensor_pinned: device %s has no pinned memory for %llu bytes: %s",
                                      device->info.id, (unsigned long long)size, bp_last_error());
}

bp_status bp_tensor_pinned(DLManagedTensorVersioned **tensor, int32_t place, bp_dtype dtype, int ndim,
                           const int64_t *shape) {
    BP__UNCANCELLED;
    bp__device *device;
    bp_view view;
    int64_t low, high;
    if (!tensor) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_pinned: argument 'tensor' is NULL");
    }
    *tensor = NULL;
    BP__TRY(bp_view_init(&view, NULL, dtype, ndim, shape, NULL));
    BP__TRY(bp__tensor_extent(&view.tensor, "tensor", &low, &high));
    BP__TRY(bp__device_ready(place, &device));
    if (!BP__RUNTIME_HAS(device->runtime, host_allocate) || !BP__RUNTIME_HAS(device->runtime, host_release)) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_tensor_pinned: runtime %s has no pinned memory; use bp_tensor_empty()",
                        device->runtime->name);
    }
    pinned_tensor *owned = bp__alloc_zero(1, sizeof *owned + 2 * (size_t)ndim * sizeof *owned->dims);
    if (!owned) {
        return bp__fail_memory(sizeof *owned, "a tensor");
    }
    const bp_status status = allocate(device, (uint64_t)high, &owned->memory);
    if (status != BP_OK) {
        bp__free(owned);
        return status;
    }
    owned->device = device;
    bp__tensor_manage(&owned->managed, &view, owned->dims);
    owned->managed.deleter = delete_pinned;
    owned->managed.dl_tensor.data = owned->memory;
    owned->managed.dl_tensor.device = device_of(device);
    atomic_fetch_add_explicit(&bp__device_objects, 1, memory_order_relaxed);
    *tensor = &owned->managed;
    return BP_OK;
}
