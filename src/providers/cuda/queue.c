/* queue.c - opens streams, and takes streams of the program. */
#include "providers/cuda/runtime.h"

/* Returns a number of the calling thread that no other thread of the process ever has. */
static uint64_t number_of_thread(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t own;
    if (own == 0) {
        own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    }
    return own;
}

/* Checks that a stream of the program is one of the device's context. The default streams are of any context. */
static bp_status check_stream(const bp__cu_device *device, CUstream stream) {
    bp__cu_scope scope;
    CUcontext context = device->context;
    if (!stream || stream == BP__CU_STREAM_LEGACY || stream == BP__CU_STREAM_PER_THREAD) {
        return BP_OK;
    }
    CUresult code = bp__cu_enter(device, false, &scope);
    code = code ? code : bp__cu.StreamGetCtx(stream, &context);
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        return device->host->fail(BP_E_ARGUMENT, "cuda: the stream cannot be used: %s (%d)",
                                  bp__cu_error_name((int64_t)code, NULL), (int)code);
    }
    return context == device->context
               ? BP_OK
               : device->host->fail(BP_E_ARGUMENT,
                                    "cuda: the stream belongs to another context than bp_device_context() gives");
}

static bp_status new_stream(bp__cu_queue *queue) {
    bp__cu_scope scope;
    CUresult code = bp__cu_enter(queue->device, true, &scope);
    code = code ? code : bp__cu.StreamCreate(&queue->native, BP__CU_STREAM_NON_BLOCKING);
    bp__cu_leave(&scope);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(queue->device->host, code, "cuStreamCreate");
}

bp_status bp__cu_queue_open(void *opaque, uint32_t flags, void *native, void **queue) {
    bp__cu_device *device = opaque;
    bp__cu_queue *fresh = device->host->allocate(sizeof *fresh);
    if (!fresh) {
        return device->host->fail(BP_E_NO_MEMORY, "cuda: no memory for a queue");
    }
    *fresh = (bp__cu_queue){.device = device, .native = native, .timed = (flags & BP_QUEUE_TIMED) != 0};
    fresh->owned = !native && !(flags & BP_QUEUE_NATIVE_ZERO);
    fresh->thread = fresh->native == BP__CU_STREAM_PER_THREAD ? number_of_thread() : 0;
    const bp_status status = fresh->owned ? new_stream(fresh) : check_stream(device, native);
    if (status != BP_OK) {
        device->host->release(fresh);
        return status;
    }
    *queue = fresh;
    return BP_OK;
}

/* Commands of the stream that still run do not need it. */
void bp__cu_queue_close(void *opaque) {
    bp__cu_queue *queue = opaque;
    bp__cu_scope scope;
    if (queue->owned && bp__cu_enter(queue->device, true, &scope) == BP__CU_SUCCESS) {
        bp__cu.StreamDestroy(queue->native);
        bp__cu_leave(&scope);
    }
    queue->device->host->release(queue);
}

void *bp__cu_queue_native(void *queue) {
    return ((bp__cu_queue *)queue)->native;
}

int bp__cu_queue_of_thread(void *opaque) {
    const bp__cu_queue *queue = opaque;
    return queue->thread == 0 || queue->thread == number_of_thread();
}

bp_status bp__cu_queue_check(const bp__cu_queue *queue) {
    return bp__cu_queue_of_thread((void *)(uintptr_t)queue)
               ? BP_OK
               : queue->device->host->fail(BP_E_ARGUMENT,
                                           "cuda: the handle CU_STREAM_PER_THREAD names another stream in each thread; "
                                           "use the queue in the thread that has wrapped it, or wrap it again here");
}
