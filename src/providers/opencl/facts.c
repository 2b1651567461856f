/* facts.c - reads the facts of a device from its driver. */
#include "providers/opencl/runtime.h"

#include <stdio.h>
#include <string.h>

/* ---- Answers of the driver ---- */

static cl_int ask_device(const void *id, const bp__cl_api *cl, cl_uint what, size_t size, void *value, size_t *length) {
    return cl->GetDeviceInfo((cl_device_id)(uintptr_t)id, what, size, value, length);
}

static cl_int ask_platform(const void *id, const bp__cl_api *cl, cl_uint what, size_t size, void *value,
                           size_t *length) {
    return cl->GetPlatformInfo((cl_platform_id)(uintptr_t)id, what, size, value, length);
}

typedef cl_int (*question)(const void *id, const bp__cl_api *cl, cl_uint what, size_t size, void *value,
                           size_t *length);

/* Sets *text to a copy of an answer without spaces at its ends. */
static bp_status get_text(const bp__cl_state *state, question ask, const void *id, cl_uint what, const char **text) {
    size_t size = 0;
    cl_int code = ask(id, state->cl, what, 0, NULL, &size);
    if (code != BP__CL_SUCCESS) {
        return bp__cl_fail(state->host, code, "clGetDeviceInfo");
    }
    char *copy = state->host->allocate(size + 1);
    if (!copy) {
        return state->host->fail(BP_E_NO_MEMORY, "opencl: no memory for the facts of a device");
    }
    code = size > 0 ? ask(id, state->cl, what, size, copy, NULL) : BP__CL_SUCCESS;
    if (code != BP__CL_SUCCESS) {
        state->host->release(copy);
        return bp__cl_fail(state->host, code, "clGetDeviceInfo");
    }
    copy[size] = '\0';
    size_t skip = strspn(copy, " "), length = strlen(copy + skip);
    while (length > 0 && copy[skip + length - 1] == ' ') {
        length--;
    }
    memmove(copy, copy + skip, length);
    copy[length] = '\0';
    *text = copy;
    return BP_OK;
}

/* Returns an answer of 4 or 8 bytes; 0 if the driver does not know the question. */
static uint64_t get_number(const bp__cl_state *state, cl_device_id id, cl_uint what) {
    union {
        uint32_t narrow;
        uint64_t wide;
    } answer = {.wide = 0};
    size_t length = 0;
    if (state->cl->GetDeviceInfo(id, what, sizeof answer, &answer, &length) != BP__CL_SUCCESS) {
        return 0;
    }
    return length == sizeof answer.narrow ? answer.narrow : length == sizeof answer.wide ? answer.wide : 0;
}

/* ---- Single facts ---- */

/* Returns 12 for "OpenCL 1.2 ..."; 0 for another text. */
static int version_of(const char *text) {
    int major, minor;
    return sscanf(text, "OpenCL %d.%d", &major, &minor) == 2 ? 10 * major + minor : 0;
}

static bool has_extension(const char *extensions, const char *name) {
    size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)) != NULL; at += length) {
        bool starts = at == extensions || at[-1] == ' ';
        if (starts && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static uint32_t abilities(const bp__cl_state *state, cl_device_id id, const char *extensions) {
    uint32_t can = BP_DEVICE_CAN_MAP | BP_DEVICE_CAN_TIME;
    can |= get_number(state, id, BP__CL_DEVICE_DOUBLE_FP_CONFIG) ? BP_DEVICE_CAN_F64 : 0;
    can |= has_extension(extensions, "cl_khr_fp16") ? BP_DEVICE_CAN_F16 : 0;
    can |= has_extension(extensions, "cl_khr_int64_base_atomics") ? BP_DEVICE_CAN_ATOMICS_64 : 0;
    can |= get_number(state, id, BP__CL_DEVICE_HOST_UNIFIED_MEMORY) ? BP_DEVICE_CAN_SHARE_HOST : 0;
    can |= get_number(state, id, BP__CL_DEVICE_COMPILER_AVAILABLE) ? BP_DEVICE_CAN_COMPILE : 0;
    uint64_t queues = get_number(state, id, BP__CL_DEVICE_QUEUE_PROPERTIES);
    can |= queues & BP__CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? BP_DEVICE_CAN_OUT_OF_ORDER : 0;
    can |= get_number(state, id, BP__CL_DEVICE_TYPE) & BP__CL_DEVICE_TYPE_CPU ? BP_DEVICE_IS_CPU : 0;
    return can;
}

/* Returns the work items that run in step, from the extensions of the vendors; 0 if unknown. */
static uint32_t subgroup(const bp__cl_state *state, cl_device_id id) {
    size_t sizes[16], length = 0, widest = 0;
    uint64_t width = get_number(state, id, BP__CL_DEVICE_WARP_SIZE_NV);
    width = width ? width : get_number(state, id, BP__CL_DEVICE_WAVEFRONT_WIDTH_AMD);
    if (width || state->cl->GetDeviceInfo(id, BP__CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &length) != 0) {
        return (uint32_t)width;
    }
    for (size_t i = 0; i < length / sizeof sizes[0]; i++) {
        widest = sizes[i] > widest ? sizes[i] : widest;
    }
    return (uint32_t)widest;
}

static void write_uuid(const bp__cl_state *state, cl_device_id id, char text[37]) {
    unsigned char bytes[16];
    size_t length = 0;
    text[0] = '\0';
    if (state->cl->GetDeviceInfo(id, BP__CL_DEVICE_UUID_KHR, sizeof bytes, bytes, &length) != BP__CL_SUCCESS ||
        length != sizeof bytes) {
        return;
    }
    for (int i = 0, at = 0; i < (int)sizeof bytes; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(text + at, (size_t)(37 - at), "%s%02x", dash ? "-" : "", bytes[i]);
    }
}

/* ---- The whole ---- */

static bp_status read_texts(const bp__cl_state *state, bp__cl_entry *entry) {
    bp_device_info *facts = &entry->facts;
    const char *version = NULL;
    const struct {
        question ask;
        const void *id;
        cl_uint what;
        const char **text;
    } wanted[] = {
        {ask_platform, entry->platform, BP__CL_PLATFORM_NAME, &facts->platform},
        {ask_platform, entry->platform, BP__CL_PLATFORM_VERSION, &version},
        {ask_device, entry->id, BP__CL_DEVICE_NAME, &facts->name},
        {ask_device, entry->id, BP__CL_DEVICE_VENDOR, &facts->vendor},
        {ask_device, entry->id, BP__CL_DRIVER_VERSION, &facts->driver},
        {ask_device, entry->id, BP__CL_DEVICE_VERSION, &facts->version},
        {ask_device, entry->id, BP__CL_DEVICE_EXTENSIONS, &facts->extensions},
    };
    bp_status status = BP_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && status == BP_OK; i++) {
        status = get_text(state, wanted[i].ask, wanted[i].id, wanted[i].what, wanted[i].text);
    }
    entry->platform_version = (char *)(uintptr_t)version;
    return status;
}

static bp_status check_usable(const bp__cl_state *state, const bp__cl_entry *entry) {
    const bp_device_info *facts = &entry->facts;
    if (version_of(entry->platform_version) < 12 || version_of(facts->version) < 12) {
        return state->host->fail(BP_E_DEVICE, "opencl: '%s' of '%s' has version '%s'; OpenCL 1.2 or later is needed",
                                 facts->name, facts->platform, facts->version);
    }
    if (!get_number(state, entry->id, BP__CL_DEVICE_AVAILABLE)) {
        return state->host->fail(BP_E_DEVICE, "opencl: the driver says that '%s' is not available now", facts->name);
    }
    return BP_OK;
}

static void read_numbers(const bp__cl_state *state, bp__cl_entry *entry) {
    cl_device_id id = entry->id;
    bp_device_info *facts = &entry->facts;
    write_uuid(state, id, entry->uuid);
    facts->struct_size = sizeof *facts;
    facts->type = kDLOpenCL;
    facts->id = facts->runtime = facts->reason = facts->arch = "";
    facts->uuid = entry->uuid;
    facts->can = abilities(state, id, facts->extensions);
    facts->units = (uint32_t)get_number(state, id, BP__CL_DEVICE_MAX_COMPUTE_UNITS);
    facts->clock_mhz = (uint32_t)get_number(state, id, BP__CL_DEVICE_MAX_CLOCK_FREQUENCY);
    facts->vector_bytes = 4 * (uint32_t)get_number(state, id, BP__CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
    facts->group_items = (uint32_t)get_number(state, id, BP__CL_DEVICE_MAX_WORK_GROUP_SIZE);
    facts->subgroup = subgroup(state, id);
    facts->alignment = (uint32_t)(get_number(state, id, BP__CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
    facts->memory = get_number(state, id, BP__CL_DEVICE_GLOBAL_MEM_SIZE);
    facts->largest = get_number(state, id, BP__CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    facts->local_memory = get_number(state, id, BP__CL_DEVICE_LOCAL_MEM_SIZE);
    facts->l2 = get_number(state, id, BP__CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    facts->parameter_bytes = get_number(state, id, BP__CL_DEVICE_MAX_PARAMETER_SIZE);
}

/* Describes an entry at its first use. One that fails is described again at the next use. */
static bp_status describe(const bp__cl_state *state, bp__cl_entry *entry) {
    if (entry->described) {
        return BP_OK;
    }
    bp_status status = read_texts(state, entry);
    status = status == BP_OK ? check_usable(state, entry) : status;
    if (status != BP_OK) {
        bp__cl_forget_entry(state->host, entry);
        return status;
    }
    read_numbers(state, entry);
    entry->described = true;
    return BP_OK;
}

bp_status bp__cl_entry_at(bp__cl_state *state, int index, const bp__cl_entry **entry) {
    if (index < 0 || index >= state->count) {
        return state->host->fail(BP_E_ARGUMENT, "opencl: there is no device %d; there are %d", index, state->count);
    }
    *entry = &state->entries[index];
    pthread_mutex_lock(&state->mutex);
    bp_status status = describe(state, &state->entries[index]);
    pthread_mutex_unlock(&state->mutex);
    return status;
}

void bp__cl_forget_entry(const bp_host *host, bp__cl_entry *entry) {
    const char *texts[] = {entry->facts.platform, entry->facts.name,    entry->facts.vendor,
                           entry->facts.driver,   entry->facts.version, entry->facts.extensions};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        host->release((void *)(uintptr_t)texts[i]);
    }
    host->release(entry->platform_version);
    *entry = (bp__cl_entry){.platform = entry->platform, .id = entry->id};
}
