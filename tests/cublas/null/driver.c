/* driver.c - the functions of the null driver that answer something: one device, a context, and memory of the host. */
#include "cuda/program_api.h"

#include "backplane/version.h"

#include <stdlib.h>
#include <string.h>

#define X(name, symbol, parameters) BP_API CUresult symbol parameters;
BP__CU_FIRST_FUNCTIONS(X)
BP__CU_FUNCTIONS(X)
#undef X

enum { DEPTH = 8, BLOCK_ALIGNMENT = 512 };

static int the_context;
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode thread_mode;

/* Sets a result, and succeeds. */
#define ANSWER(pointer, value) return *(pointer) = (value), BP__CU_SUCCESS

CUresult cuDriverGetVersion(int *version) {
    ANSWER(version, 13000);
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    (void)code;
    ANSWER(name, "CUDA_ERROR");
}

/* ---- The device ---- */

CUresult cuDeviceGetCount(int *count) {
    ANSWER(count, 1);
}

CUresult cuDeviceGet(CUdevice *device, int index) {
    ANSWER(device, index);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    (void)device;
    strncpy(name, "Null device", (size_t)size);
    return BP__CU_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    (void)device;
    memset(uuid, 1, sizeof *uuid);
    return BP__CU_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void)device;
    ANSWER(bytes, (size_t)1 << 30);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
    (void)device;
    ANSWER(value, what == BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
                  : what == BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                                                                             : 32);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    ANSWER(context, (CUcontext)(void *)&the_context);
}

/* ---- The current context ---- */

CUresult cuCtxGetCurrent(CUcontext *current) {
    ANSWER(current, depth > 0 ? stack[depth - 1] : NULL);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    ANSWER(&stack[depth++ % DEPTH], context);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    ANSWER(context, stack[--depth % DEPTH]);
}

CUresult cuCtxGetDevice(CUdevice *device) {
    ANSWER(device, 0);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    const CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    ANSWER(mode, before);
}

/* ---- Memory, streams and events ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    const size_t whole = (size + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    ANSWER(address, (CUdeviceptr)(uintptr_t)aligned_alloc(BLOCK_ALIGNMENT, whole));
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    free((void *)(uintptr_t)address);
    return BP__CU_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
    (void)flags;
    ANSWER(address, malloc(size));
}

CUresult cuMemFreeHost(void *address) {
    free(address);
    return BP__CU_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    static char streams[64];
    static int count;
    (void)flags;
    ANSWER(stream, (CUstream)(void *)&streams[4 + count++ % 60]);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    (void)stream;
    ANSWER(context, (CUcontext)(void *)&the_context);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    (void)stream;
    ANSWER(status, BP__CU_STREAM_CAPTURE_STATUS_NONE);
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    static char one;
    (void)flags;
    ANSWER(event, (CUevent)(void *)&one);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction kernel) {
    (void)what, (void)kernel;
    ANSWER(value, 1024);
}
