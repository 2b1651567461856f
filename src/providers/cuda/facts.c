/* facts.c - reads the facts of a device from the driver, without making a context on it. */
#include "providers/cuda/runtime.h"

#include <stdio.h>
#include <string.h>

/* Returns an attribute; 0 if the driver does not know it. */
static uint64_t attribute(CUdevice id, CUdevice_attribute what) {
    int value = 0;
    return bp__cu.DeviceGetAttribute(&value, what, id) == BP__CU_SUCCESS && value > 0 ? (uint64_t)value : 0;
}

static void write_uuid(CUdevice id, char text[37]) {
    CUuuid uuid;
    text[0] = '\0';
    if (bp__cu.DeviceGetUuid(&uuid, id) != BP__CU_SUCCESS) {
        return;
    }
    for (int i = 0, at = 0; i < (int)sizeof uuid.bytes; i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(text + at, (size_t)(37 - at), "%s%02x", dash ? "-" : "", (unsigned)(unsigned char)uuid.bytes[i]);
    }
}

static uint32_t abilities(CUdevice id, uint32_t capability) {
    const bool integrated = attribute(id, BP__CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    return BP_DEVICE_CAN_F64 | BP_DEVICE_CAN_TIME | BP_DEVICE_CAN_ATOMICS_64 |
           (capability >= 530 ? BP_DEVICE_CAN_F16 : 0) | (integrated ? BP_DEVICE_CAN_SHARE_HOST : 0);
}

/* Returns the bandwidth of the memory in 10^9 bytes per second: two transfers in a cycle of its clock. */
static uint32_t bandwidth(CUdevice id) {
    const uint64_t kilohertz = attribute(id, BP__CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    const uint64_t bits = attribute(id, BP__CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    return (uint32_t)(2 * kilohertz * (bits / 8) / 1000000);
}

static void read_numbers(CUdevice id, bp_device_info *info) {
    enum { PARAMETER_BYTES = 4096, ALIGNMENT = 256 }; /* what all devices have */
    size_t memory = 0;
    if (bp__cu.DeviceTotalMem(&memory, id) != BP__CU_SUCCESS) {
        memory = 0;
    }
    info->units = (uint32_t)attribute(id, BP__CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->clock_mhz = (uint32_t)(attribute(id, BP__CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000);
    info->vector_bytes = 4;
    info->group_items = (uint32_t)attribute(id, BP__CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->subgroup = (uint32_t)attribute(id, BP__CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    info->alignment = ALIGNMENT;
    info->bandwidth_gb_s = bandwidth(id);
    info->memory = info->largest = memory;
    info->local_memory = attribute(id, BP__CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    info->parameter_bytes = PARAMETER_BYTES;
    info->l2 = attribute(id, BP__CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info->shared_optin = attribute(id, BP__CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
}

bp_status bp__cu_describe(void *opaque, int index, bp_device_info *info) {
    bp__cu_state *state = opaque;
    struct bp__cu_texts *texts = &state->texts[index];
    CUdevice id;
    CUresult code = bp__cu.DeviceGet(&id, index);
    code = code ? code : bp__cu.DeviceGetName(texts->name, (int)sizeof texts->name, id);
    if (code != BP__CU_SUCCESS) {
        return bp__cu_fail(state->host, code, "the facts of a device");
    }
    texts->name[sizeof texts->name - 1] = '\0';
    write_uuid(id, texts->uuid);
    const unsigned major = (unsigned)attribute(id, BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const unsigned minor = (unsigned)attribute(id, BP__CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(texts->arch, sizeof texts->arch, "sm_%u%u", major, minor);
    snprintf(texts->version, sizeof texts->version, "capability %u.%u", major, minor);
    info->name = texts->name;
    info->vendor = "NVIDIA Corporation";
    info->driver = state->driver;
    info->version = texts->version;
    info->platform = "NVIDIA CUDA";
    info->uuid = texts->uuid;
    info->arch = texts->arch;
    info->capability = 100 * major + 10 * minor;
    info->driver_number = (uint32_t)state->version;
    info->can = abilities(id, info->capability);
    read_numbers(id, info);
    return BP_OK;
}
