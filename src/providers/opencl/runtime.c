/* runtime.c - defines the OpenCL runtime: lists the devices of all platforms.
 *
 * The list is made once, when the runtime is opened, so that an index means the same device until the runtime is
 * closed. GPUs and accelerators come before processors, because "opencl" is the first device. Otherwise the order is
 * the order of the loader and of the drivers. */
#include "providers/opencl/bridge.h"
#include "providers/opencl/runtime.h"

#include <string.h>

enum { PLATFORMS_MOST = 32, DEVICES_MOST = 256 };

/* Adds the devices of a platform that have one of these types. A platform that fails here has none. */
static void add_devices(bp__cl_state *state, cl_platform_id platform, cl_bitfield types) {
    cl_device_id found[DEVICES_MOST];
    cl_uint count = 0;
    cl_uint left = (cl_uint)(DEVICES_MOST - state->count);
    if (left == 0 || state->cl->GetDeviceIDs(platform, types, left, found, &count) != BP__CL_SUCCESS) {
        return;
    }
    for (cl_uint i = 0; i < count && i < left; i++) {
        state->entries[state->count++] = (bp__cl_entry){.platform = platform, .id = found[i]};
    }
}

/* A platform may be listed twice, if two files of the loader name one driver. */
static bool is_listed(const cl_platform_id *platforms, cl_uint count, cl_platform_id platform) {
    for (cl_uint i = 0; i < count; i++) {
        if (platforms[i] == platform) {
            return true;
        }
    }
    return false;
}

static bp_status find_devices(bp__cl_state *state) {
    cl_platform_id platforms[PLATFORMS_MOST];
    cl_uint count = 0;
    cl_int code = state->cl->GetPlatformIDs(PLATFORMS_MOST, platforms, &count);
    if (code == BP__CL_PLATFORM_NOT_FOUND_KHR) {
        return BP_OK;
    }
    if (code != BP__CL_SUCCESS) {
        return state->host->fail(BP_E_BROKEN, "opencl: clGetPlatformIDs: %s (%d)", bp__cl_error_name(code, NULL),
                                 (int)code);
    }
    const cl_bitfield types[] = {BP__CL_DEVICE_TYPE_GPU | BP__CL_DEVICE_TYPE_ACCELERATOR, BP__CL_DEVICE_TYPE_CPU};
    for (int t = 0; t < 2; t++) {
        for (cl_uint i = 0; i < count && i < PLATFORMS_MOST; i++) {
            if (!is_listed(platforms, i, platforms[i])) {
                add_devices(state, platforms[i], types[t]);
            }
        }
    }
    return BP_OK;
}

static void free_state(bp__cl_state *state) {
    for (int i = 0; i < state->count; i++) {
        bp__cl_forget_entry(state->host, &state->entries[i]);
    }
    state->host->release(state->entries);
    pthread_mutex_destroy(&state->mutex);
    state->host->release(state);
}

static bp_status open_runtime(const bp_host *host, void **state) {
    bp_status status = bp__cl_library_load(host);
    if (status != BP_OK) {
        return status;
    }
    bp__cl_state *fresh = host->allocate(sizeof *fresh);
    bp__cl_entry *entries = host->allocate(DEVICES_MOST * sizeof *entries);
    if (!fresh || !entries) {
        host->release(fresh);
        host->release(entries);
        return host->fail(BP_E_NO_MEMORY, "opencl: no memory for the list of devices");
    }
    *fresh = (bp__cl_state){.host = host, .cl = &bp__cl_loaded, .entries = entries};
    pthread_mutex_init(&fresh->mutex, NULL);
    status = find_devices(fresh);
    status = status == BP_OK ? bp__cl_bridge_new(host, fresh->cl, &fresh->bridge) : status;
    if (status != BP_OK) {
        free_state(fresh);
        return status;
    }
    *state = fresh;
    return BP_OK;
}

static void close_runtime(void *opaque, int forked) {
    bp__cl_state *state = opaque;
    if (forked) {
        bp__cl_bridge_forget(state->bridge);
    } else {
        bp__cl_bridge_free(state->bridge);
    }
    free_state(state);
}

static int count_devices(void *state) {
    return ((bp__cl_state *)state)->count;
}

static bp_status describe(void *opaque, int index, bp_device_info *info) {
    const bp__cl_entry *entry;
    bp_status status = bp__cl_entry_at(opaque, index, &entry);
    if (status != BP_OK) {
        return status;
    }
    size_t given = info->struct_size;
    memcpy(info, &entry->facts, given < sizeof entry->facts ? given : sizeof entry->facts);
    info->struct_size = given;
    return BP_OK;
}

/* What selects the loader, the drivers, and the devices that they show. */
#define DEPENDS                                                                                                        \
    "BACKPLANE_LIBRARY_PATH LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX OCL_ICD_VENDORS OCL_ICD_FILENAMES "               \
    "OPENCL_VENDOR_PATH POCL_DEVICES POCL_MAX_PTHREAD_COUNT POCL_CPU_MAX_CU_COUNT CUDA_VISIBLE_DEVICES "               \
    "ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK /etc/OpenCL/vendors /dev/dri "       \
    "/dev/kfd /dev/nvidiactl /proc/driver/nvidia/version"

extern const bp_runtime bp_runtime_opencl;
const bp_runtime bp_runtime_opencl = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_runtime),
    .name = "opencl",
    .version = BP_VERSION_STRING,
    .description = "Devices of all OpenCL platforms",
    .device_type = kDLOpenCL,
    .open = open_runtime,
    .close = close_runtime,
    .count = count_devices,
    .describe = describe,
    .device_open = bp__cl_device_open,
    .device_close = bp__cl_device_close,
    .device_context = bp__cl_device_context,
    .allocate = bp__cl_allocate,
    .release = bp__cl_release,
    .size = bp__cl_size,
    .queue_open = bp__cl_queue_open,
    .queue_close = bp__cl_queue_close,
    .queue_native = bp__cl_queue_native,
    .copy = bp__cl_copy,
    .wait = bp__cl_wait,
    .map = bp__cl_map,
    .unmap = bp__cl_unmap,
    .event_state = bp__cl_event_state,
    .event_sync = bp__cl_event_sync,
    .event_times = bp__cl_event_times,
    .event_wrap = bp__cl_event_wrap,
    .event_release = bp__cl_event_release,
    .error_name = bp__cl_error_name,
    .depends = DEPENDS,
};
