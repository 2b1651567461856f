/* device.c - opens devices and queues, and allocates memory. */
#include "providers/opencl/runtime.h"

/* ---- Devices ---- */

/* Checks that a context of the program contains the device. */
static bp_status check_context(const bp__cl_state *state, cl_device_id id, cl_context context) {
    enum { MOST = 64 };
    cl_device_id devices[MOST];
    size_t length = 0;
    cl_int code = state->cl->GetContextInfo(context, BP__CL_CONTEXT_DEVICES, sizeof devices, devices, &length);
    if (code != BP__CL_SUCCESS) {
        return state->host->fail(BP_E_ARGUMENT, "opencl: the context cannot be used: %s (%d)",
                                 bp__cl_error_name(code, NULL), (int)code);
    }
    for (size_t i = 0; i < length / sizeof devices[0]; i++) {
        if (devices[i] == id) {
            return BP_OK;
        }
    }
    return state->host->fail(BP_E_ARGUMENT, "opencl: the context does not contain the device");
}

/* Makes a context for the device, or takes a reference to the program's context. */
static bp_status take_context(const bp__cl_state *state, cl_device_id id, cl_context given, cl_context *context) {
    cl_int code;
    if (given) {
        bp_status status = check_context(state, id, given);
        *context = given;
        return status == BP_OK && (code = state->cl->RetainContext(given)) != BP__CL_SUCCESS
                   ? bp__cl_fail(state->host, code, "clRetainContext")
                   : status;
    }
    *context = state->cl->CreateContext(NULL, 1, &id, NULL, NULL, &code);
    return *context ? BP_OK : bp__cl_fail(state->host, code, "clCreateContext");
}

bp_status bp__cl_device_open(void *opaque, int index, void *context, void **device) {
    bp__cl_state *state = opaque;
    const bp__cl_entry *entry;
    bp_status status = bp__cl_entry_at(state, index, &entry);
    if (status != BP_OK) {
        return status;
    }
    bp__cl_device *fresh = state->host->allocate(sizeof *fresh);
    if (!fresh) {
        return state->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a device");
    }
    *fresh = (bp__cl_device){.host = state->host,
                             .cl = state->cl,
                             .state = state,
                             .id = entry->id,
                             .facts = entry->facts,
                             .platform_version = entry->platform_version};
    status = take_context(state, entry->id, context, &fresh->context);
    if (status != BP_OK) {
        state->host->release(fresh);
        return status;
    }
    bp__kernel_device_begin(&fresh->kernels, &bp__cl_backend, fresh->host, &fresh->facts);
    *device = fresh;
    return BP_OK;
}

void bp__cl_device_close(void *opaque) {
    bp__cl_device *device = opaque;
    bp__kernel_device_end(&device->kernels);
    device->cl->ReleaseContext(device->context);
    device->host->release(device);
}

void *bp__cl_device_context(void *device) {
    return ((bp__cl_device *)device)->context;
}

/* ---- Memory ---- */

/* NVIDIA's driver makes a buffer of any size, since it takes the memory at the first use only. */
bp_status bp__cl_allocate(void *opaque, size_t size, void **base) {
    bp__cl_device *device = opaque;
    cl_int code;
    if (device->facts.memory && size > device->facts.memory) {
        return device->host->fail(BP_E_NO_MEMORY, "opencl: %zu bytes are more than the %llu bytes of the device", size,
                                  (unsigned long long)device->facts.memory);
    }
    *base = device->cl->CreateBuffer(device->context, BP__CL_MEM_READ_WRITE, size ? size : 1, NULL, &code);
    return *base ? BP_OK : bp__cl_fail(device->host, code, "clCreateBuffer");
}

void bp__cl_release(void *device, void *base) {
    ((bp__cl_device *)device)->cl->ReleaseMemObject(base);
}

bp_status bp__cl_size(void *opaque, void *base, size_t *size) {
    bp__cl_device *device = opaque;
    cl_context context = NULL;
    cl_int code = device->cl->GetMemObjectInfo(base, BP__CL_MEM_CONTEXT, sizeof context, &context, NULL);
    code = code ? code : device->cl->GetMemObjectInfo(base, BP__CL_MEM_SIZE, sizeof *size, size, NULL);
    if (code != BP__CL_SUCCESS) {
        return device->host->fail(BP_E_ARGUMENT, "opencl: the memory cannot be used: %s (%d)",
                                  bp__cl_error_name(code, NULL), (int)code);
    }
    return context == device->context
               ? BP_OK
               : device->host->fail(BP_E_ARGUMENT,
                                    "opencl: the memory belongs to another context than bp_device_context() gives");
}

/* ---- Queues ---- */

/* Checks a queue of the program, and takes a reference to it. */
static bp_status take_queue(const bp__cl_device *device, cl_command_queue given, cl_bitfield *properties) {
    const bp__cl_api *cl = device->cl;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_int code = cl->GetCommandQueueInfo(given, BP__CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    code = code ? code : cl->GetCommandQueueInfo(given, BP__CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    code = code ? code : cl->GetCommandQueueInfo(given, BP__CL_QUEUE_PROPERTIES, sizeof *properties, properties, NULL);
    if (code != BP__CL_SUCCESS) {
        return device->host->fail(BP_E_ARGUMENT, "opencl: the queue cannot be used: %s (%d)",
                                  bp__cl_error_name(code, NULL), (int)code);
    }
    if (context != device->context || id != device->id) {
        return device->host->fail(BP_E_ARGUMENT,
                                  "opencl: the queue belongs to another %s than bp_device_context() gives",
                                  id != device->id ? "device" : "context");
    }
    if (*properties & BP__CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        return device->host->fail(BP_E_UNSUPPORTED, "opencl: the queue may change the order of commands; create it "
                                                    "without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
    }
    code = cl->RetainCommandQueue(given);
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(device->host, code, "clRetainCommandQueue");
}

bp_status bp__cl_queue_open(void *opaque, uint32_t flags, void *native, void **queue) {
    bp__cl_device *device = opaque;
    cl_bitfield properties = flags & BP_QUEUE_TIMED ? BP__CL_QUEUE_PROFILING_ENABLE : 0;
    bp__cl_queue *fresh = device->host->allocate(sizeof *fresh);
    if (!fresh) {
        return device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a queue");
    }
    bp_status status = BP_OK;
    *fresh = (bp__cl_queue){.device = device, .native = native};
    if (native) {
        status = take_queue(device, native, &properties);
    } else {
        cl_int code;
        fresh->native = device->cl->CreateCommandQueue(device->context, device->id, properties, &code);
        status = fresh->native ? BP_OK : bp__cl_fail(device->host, code, "clCreateCommandQueue");
    }
    if (status != BP_OK) {
        device->host->release(fresh);
        return status;
    }
    fresh->timed = (properties & BP__CL_QUEUE_PROFILING_ENABLE) != 0;
    *queue = fresh;
    return BP_OK;
}

void bp__cl_queue_close(void *opaque) {
    bp__cl_queue *queue = opaque;
    queue->device->cl->ReleaseCommandQueue(queue->native);
    queue->device->host->release(queue);
}

void *bp__cl_queue_native(void *queue) {
    return ((bp__cl_queue *)queue)->native;
}
