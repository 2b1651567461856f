/* device.c - opens devices, makes their contexts current for a call, and allocates memory.
 *
 * The context is the device's primary one unless the program gives another, because PyTorch, CuPy and all libraries of
 * the toolkit use the primary context, so that memory, streams and events can be exchanged with them. */
#include "providers/cuda/runtime.h"

/* ---- The current context ---- */

CUresult bp__cu_enter(const bp__cu_device *device, bool relaxed, bp__cu_scope *scope) {
    CUcontext current = NULL;
    *scope = (bp__cu_scope){.mode = BP__CU_STREAM_CAPTURE_MODE_RELAXED};
    CUresult code = bp__cu.CtxGetCurrent(&current);
    if (code == BP__CU_SUCCESS && current != device->context) {
        code = bp__cu.CtxPushCurrent(device->context);
        scope->pushed = code == BP__CU_SUCCESS;
    }
    if (code == BP__CU_SUCCESS && relaxed) {
        scope->relaxed = bp__cu.ThreadExchangeStreamCaptureMode(&scope->mode) == BP__CU_SUCCESS;
    }
    return code;
}

void bp__cu_leave(const bp__cu_scope *scope) {
    CUcontext context;
    CUstreamCaptureMode mode = scope->mode;
    if (scope->relaxed) {
        bp__cu.ThreadExchangeStreamCaptureMode(&mode);
    }
    if (scope->pushed) {
        bp__cu.CtxPopCurrent(&context);
    }
}

/* ---- Devices ---- */

/* Checks that the program's context is one of the device. */
static bp_status check_context(const bp__cu_device *device) {
    bp__cu_scope scope;
    CUdevice id = -1;
    CUresult code = bp__cu_enter(device, false, &scope);
    code = code ? code : bp__cu.CtxGetDevice(&id);
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        return device->host->fail(BP_E_ARGUMENT, "cuda: the context cannot be used: %s (%d)",
                                  bp__cu_error_name((int64_t)code, NULL), (int)code);
    }
    return id == device->id ? BP_OK : device->host->fail(BP_E_ARGUMENT, "cuda: the context is of another device");
}

static bp_status take_context(bp__cu_device *device, CUcontext given) {
    if (given) {
        device->context = given;
        return check_context(device);
    }
    const CUresult code = bp__cu.DevicePrimaryCtxRetain(&device->context, device->id);
    device->primary = code == BP__CU_SUCCESS;
    return device->primary ? BP_OK : bp__cu_fail(device->host, code, "cuDevicePrimaryCtxRetain");
}

bp_status bp__cu_device_open(void *opaque, int index, void *context, void **device) {
    const bp__cu_state *state = opaque;
    int pools = 0;
    bp__cu_device *fresh = state->host->allocate(sizeof *fresh);
    if (!fresh) {
        return state->host->fail(BP_E_NO_MEMORY, "cuda: no memory for a device");
    }
    *fresh = (bp__cu_device){.host = state->host, .index = index, .facts = {.struct_size = sizeof fresh->facts}};
    CUresult code = bp__cu.DeviceGet(&fresh->id, index);
    bp_status status = code == BP__CU_SUCCESS ? bp__cu_describe(opaque, index, &fresh->facts)
                                              : bp__cu_fail(state->host, code, "cuDeviceGet");
    status = status == BP_OK ? take_context(fresh, context) : status;
    if (status != BP_OK) {
        state->host->release(fresh);
        return status;
    }
    code = bp__cu.DeviceGetAttribute(&pools, BP__CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, fresh->id);
    fresh->has_pools = code == BP__CU_SUCCESS && pools;
    pthread_mutex_init(&fresh->mutex, NULL);
    *device = fresh;
    return BP_OK;
}

void bp__cu_device_close(void *opaque) {
    bp__cu_device *device = opaque;
    bp__cu_scope scope;
    (void)bp__cu_enter(device, true, &scope); /* if the context is gone, what follows frees memory of the host only */
    bp__cu_graphs_free(device);
    bp__cu_events_free(device);
    bp__cu_words_free(device);
    if (device->copy_module) {
        bp__cu.ModuleUnload(device->copy_module);
    }
    bp__cu_leave(&scope);
    if (device->primary) {
        bp__cu.DevicePrimaryCtxRelease(device->id);
    }
    pthread_mutex_destroy(&device->mutex);
    device->host->release(device);
}

void *bp__cu_device_context(void *device) {
    return ((bp__cu_device *)device)->context;
}

/* ---- Memory ---- */

bp_status bp__cu_allocate(void *opaque, size_t size, void **base) {
    const bp__cu_device *device = opaque;
    bp__cu_scope scope;
    CUdeviceptr address = 0;
    CUresult code = bp__cu_enter(device, true, &scope);
    code = code ? code : bp__cu.MemAlloc(&address, size ? size : 1);
    bp__cu_leave(&scope);
    *base = (void *)(uintptr_t)address;
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(device->host, code, "cuMemAlloc");
}

/* cuMemFree() waits for all commands of the context. */
void bp__cu_release(void *device, void *base) {
    bp__cu_scope scope;
    if (bp__cu_enter(device, true, &scope) == BP__CU_SUCCESS) {
        bp__cu.MemFree((CUdeviceptr)(uintptr_t)base);
    }
    bp__cu_leave(&scope);
}

/* The address may be in the middle of a block. */
bp_status bp__cu_size(void *opaque, void *base, size_t *size) {
    const bp__cu_device *device = opaque;
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)base;
    bp__cu_scope scope;
    CUdeviceptr start = 0;
    size_t whole = 0;
    CUresult code = bp__cu_enter(device, true, &scope);
    code = code ? code : bp__cu.MemGetAddressRange(&start, &whole, address);
    bp__cu_leave(&scope);
    *size = whole - (size_t)(address - start);
    return code == BP__CU_SUCCESS ? BP_OK
                                  : device->host->fail(BP_E_ARGUMENT, "cuda: the memory cannot be used: %s (%d)",
                                                       bp__cu_error_name((int64_t)code, NULL), (int)code);
}

/* Pinned for all devices: a copy between the host and any of them may use it. */
bp_status bp__cu_host_allocate(void *opaque, size_t size, void **address) {
    const bp__cu_device *device = opaque;
    bp__cu_scope scope;
    CUresult code = bp__cu_enter(device, true, &scope);
    code = code ? code : bp__cu.MemHostAlloc(address, size, BP__CU_MEMHOSTALLOC_PORTABLE);
    bp__cu_leave(&scope);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(device->host, code, "cuMemHostAlloc");
}

void bp__cu_host_release(void *device, void *address) {
    bp__cu_scope scope;
    if (bp__cu_enter(device, true, &scope) == BP__CU_SUCCESS) {
        bp__cu.MemFreeHost(address);
    }
    bp__cu_leave(&scope);
}
