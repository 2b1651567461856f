/* runtime.c - defines the CUDA runtime: lists the devices that the driver shows.
 *
 * A device has the driver's number, because DLPack's device_id is this number. So the order is the driver's, which
 * CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER select. */
#include "providers/cuda/runtime.h"

#include <stdio.h>

static bp_status open_runtime(const bp_host *host, void **state) {
    int version = 0, count = 0;
    const bp_status status = bp__cu_library_load(host, &version, &count);
    if (status != BP_OK) {
        return status;
    }
    bp__cu_state *fresh = host->allocate(sizeof *fresh);
    if (!fresh) {
        return host->fail(BP_E_NO_MEMORY, "cuda: no memory for the list of devices");
    }
    fresh->host = host;
    fresh->version = version;
    fresh->count = count < BP__CU_DEVICES_MOST ? count : BP__CU_DEVICES_MOST;
    snprintf(fresh->driver, sizeof fresh->driver, "%d.%d", version / 1000, version % 1000 / 10);
    *state = fresh;
    return BP_OK;
}

static void close_runtime(void *opaque, int forked) {
    bp__cu_state *state = opaque;
    (void)forked; /* nothing is the driver's */
    state->host->release(state);
}

static int count_devices(void *state) {
    return ((bp__cu_state *)state)->count;
}

/* What selects the library, and the devices that it shows. */
#define DEPENDS                                                                                                        \
    "BACKPLANE_LIBRARY_PATH LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER "          \
    "CUDA_MPS_PIPE_DIRECTORY CUDA_DISABLE_PTX_JIT /dev/nvidiactl /proc/driver/nvidia/version"

extern const bp_runtime bp_runtime_cuda;
const bp_runtime bp_runtime_cuda = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_runtime),
    .name = "cuda",
    .version = BP_VERSION_STRING,
    .description = "NVIDIA's GPUs, by CUDA's driver interface",
    .device_type = kDLCUDA,
    .open = open_runtime,
    .close = close_runtime,
    .count = count_devices,
    .describe = bp__cu_describe,
    .device_open = bp__cu_device_open,
    .device_close = bp__cu_device_close,
    .device_context = bp__cu_device_context,
    .allocate = bp__cu_allocate,
    .release = bp__cu_release,
    .size = bp__cu_size,
    .queue_open = bp__cu_queue_open,
    .queue_close = bp__cu_queue_close,
    .queue_native = bp__cu_queue_native,
    .copy = bp__cu_copy,
    .wait = bp__cu_wait,
    .event_state = bp__cu_event_state,
    .event_sync = bp__cu_event_sync,
    .event_wrap = bp__cu_event_wrap,
    .event_release = bp__cu_event_release,
    .error_name = bp__cu_error_name,
    .depends = DEPENDS,
    .queue_flags = BP_QUEUE_NATIVE_ZERO,
    .event_elapsed = bp__cu_event_elapsed,
    .host_allocate = bp__cu_host_allocate,
    .host_release = bp__cu_host_release,
    .copy_peer = bp__cu_copy_peer,
    .queue_state = bp__cu_queue_state,
    .capture_begin = bp__cu_capture_begin,
    .capture_end = bp__cu_capture_end,
    .graph_launch = bp__cu_graph_launch,
    .graph_release = bp__cu_graph_release,
    .queue_of_thread = bp__cu_queue_of_thread,
    .device_error = bp__cu_device_error,
};
