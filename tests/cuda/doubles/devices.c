/* devices.c - devices, contexts and error names of the double of libcuda.so.1. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_MOST = 16 };

static pid_t owner; /* the process that has called cuInit; 0: none */
static int device_count;
static int shown[DEVICES_MOST]; /* the devices that CUDA_VISIBLE_DEVICES shows */
static context primary[DEVICES_MOST];
static _Thread_local context *stack[STACK_MOST];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode thread_mode;

void double_violate(const char *what) {
    if (atomic_fetch_add(&cuda_double.violations, 1) == 0) {
        snprintf(cuda_double.violation, sizeof cuda_double.violation, "%s", what);
    }
}

bool double_has(double_fault fault) {
    return cuda_double.fault == (int)fault;
}

/* Returns the number behind a word of CUDA_DOUBLE. */
static int configured(const char *word, int otherwise) {
    const char *text = getenv("CUDA_DOUBLE");
    const char *at = text ? strstr(text, word) : NULL;
    return at ? (int)strtol(at + strlen(word), NULL, 10) : otherwise;
}

/* ---- Initialization ---- */

static void show_devices(int count) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        for (device_count = 0; device_count < count; device_count++) {
            shown[device_count] = device_count;
        }
        return;
    }
    device_count = 0;
    while (*visible && device_count < count) { /* what follows a wrong number is not shown */
        char *end;
        const long number = strtol(visible, &end, 10);
        if (end == visible || number < 0 || number >= count) {
            return;
        }
        shown[device_count++] = (int)number;
        visible = *end == ',' ? end + 1 : end;
    }
}

CUresult cuInit(unsigned flags) {
    const int answer = configured("init=", 0);
    if (flags) {
        return BP__CU_INVALID_VALUE;
    }
    if (owner && owner != getpid()) {
        return BP__CU_NOT_INITIALIZED;
    }
    if (answer) {
        return (CUresult)answer;
    }
    const int wanted = configured("devices=", 2);
    show_devices(wanted < DEVICES_MOST ? wanted : DEVICES_MOST);
    if (device_count == 0) {
        return BP__CU_NO_DEVICE;
    }
    for (int i = 0; i < DEVICES_MOST; i++) {
        primary[i].device = i;
    }
    if (configured("fault=", 0)) {
        cuda_double.fault = configured("fault=", 0);
    }
    owner = getpid();
    return BP__CU_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = configured("driver=", 13000);
    return (CUresult)configured("query=", 0);
}

CUresult double_ready(void) {
    if (owner && owner != getpid()) {
        double_violate("a call in a child of fork");
        return BP__CU_NOT_INITIALIZED;
    }
    return owner ? BP__CU_SUCCESS : BP__CU_NOT_INITIALIZED;
}

CUresult double_enter(context **current) {
    const CUresult code = double_ready();
    *current = depth > 0 ? stack[depth - 1] : NULL;
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    if (!*current || (*current)->retained == 0) {
        return BP__CU_INVALID_CONTEXT;
    }
    return double_has(FAULT_STICKY) ? BP__CU_SUCCESS : (*current)->error;
}

/* ---- Errors ---- */

CUresult cuGetErrorName(CUresult error, const char **text) {
    switch (error) {
#define X(name, number)                                                                                                \
    case number:                                                                                                       \
        *text = "CUDA_ERROR_" #name;                                                                                   \
        return BP__CU_SUCCESS;
        BP__CU_ERRORS(X)
#undef X
    case 0:
        *text = "CUDA_SUCCESS";
        return BP__CU_SUCCESS;
    default:
        *text = NULL;
        return BP__CU_INVALID_VALUE;
    }
}

/* ---- Devices ---- */

CUresult cuDeviceGetCount(int *count) {
    const CUresult code = double_ready();
    *count = code == BP__CU_SUCCESS ? device_count : *count;
    return code;
}

CUresult cuDeviceGet(CUdevice *device, int index) {
    const CUresult code = double_ready();
    if (code == BP__CU_SUCCESS && (index < 0 || index >= device_count)) {
        return 101; /* INVALID_DEVICE */
    }
    *device = code == BP__CU_SUCCESS ? shown[index] : *device;
    return code;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    snprintf(name, (size_t)size, "Double of a GPU, number %d", device);
    return double_ready();
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    memset(uuid, 0xA0 + device, sizeof *uuid);
    return double_ready();
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = cuda_double.memory ? (size_t)cuda_double.memory : (size_t)64 << 20;
    return double_ready();
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
    static const struct {
        CUdevice_attribute what;
        int values[2];
    } facts[] = {
        {BP__CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, {1024, 1024}},
        {BP__CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, {49152, 49152}},
        {BP__CU_DEVICE_ATTRIBUTE_WARP_SIZE, {32, 32}},
        {BP__CU_DEVICE_ATTRIBUTE_CLOCK_RATE, {1980000, 1410000}},
        {BP__CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, {132, 108}},
        {BP__CU_DEVICE_ATTRIBUTE_INTEGRATED, {0, 0}},
        {BP__CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, {2619000, 1215000}},
        {BP__CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, {5120, 5120}},
        {BP__CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, {52428800, 41943040}},
        {BP__CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, {232448, 166912}},
        {BP__CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, {1, 0}},
    };
    const CUresult code = double_ready();
    const int capability = device > 0 ? 80 : configured("capability=", 90);
    if (code == BP__CU_SUCCESS && what == BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
        *value = capability / 10;
        return BP__CU_SUCCESS;
    }
    if (code == BP__CU_SUCCESS && what == BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
        *value = capability % 10;
        return BP__CU_SUCCESS;
    }
    for (size_t i = 0; code == BP__CU_SUCCESS && i < sizeof facts / sizeof facts[0]; i++) {
        if (facts[i].what == what) {
            *value = facts[i].values[device > 0];
            return BP__CU_SUCCESS;
        }
    }
    return code ? code : BP__CU_INVALID_VALUE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    *can = device != peer;
    return double_ready();
}

/* ---- Contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *made, CUdevice device) {
    const CUresult code = double_ready();
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    context *own = &primary[device];
    own->retained++;
    cuda_double.contexts++;
    if (!own->legacy) {
        own->legacy = double_new_stream(own, true);
    }
    *made = own;
    pthread_mutex_unlock(&double_mutex);
    return BP__CU_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    const CUresult code = double_ready();
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    if (primary[device].retained == 0) {
        double_violate("a context is released that no caller holds");
    } else {
        primary[device].retained--;
        cuda_double.contexts--;
    }
    pthread_mutex_unlock(&double_mutex);
    return BP__CU_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *current) {
    *current = depth > 0 ? stack[depth - 1] : NULL;
    return double_ready();
}

CUresult cuCtxSetCurrent(CUcontext wanted) {
    depth = depth > 0 ? depth : 1;
    stack[depth - 1] = wanted;
    return double_ready();
}

CUresult cuCtxPushCurrent_v2(CUcontext wanted) {
    const CUresult code = double_ready();
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    if (!wanted || wanted->retained == 0 || depth == STACK_MOST) {
        return BP__CU_INVALID_CONTEXT;
    }
    cuda_double.context_switches++;
    stack[depth++] = wanted;
    return BP__CU_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *taken) {
    if (depth == 0) {
        return BP__CU_INVALID_CONTEXT;
    }
    *taken = stack[depth - 1];
    depth -= !double_has(FAULT_POP);
    return double_ready();
}

CUresult cuCtxGetDevice(CUdevice *device) {
    context *current;
    const CUresult code = double_enter(&current);
    *device = code == BP__CU_SUCCESS ? current->device : *device;
    return code;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    context *current;
    const CUresult code = double_enter(&current);
    return code ? code : flags || peer == current ? BP__CU_INVALID_VALUE : BP__CU_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    code = double_unsafe();
    if (code == BP__CU_SUCCESS) {
        double_drain(current);
        code = current->error;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

/* ---- The mode of a thread ---- */

unsigned double_thread_mode(void) {
    return double_has(FAULT_RELAXED) ? BP__CU_STREAM_CAPTURE_MODE_GLOBAL : thread_mode;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    const CUstreamCaptureMode before = thread_mode;
    if (*mode > BP__CU_STREAM_CAPTURE_MODE_RELAXED) {
        return BP__CU_INVALID_VALUE;
    }
    thread_mode = *mode;
    *mode = before;
    return double_ready();
}
