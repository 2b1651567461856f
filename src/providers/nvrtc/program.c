/* program.c - compiles programs with NVRTC, and keeps their machine code between processes.
 *
 * NVRTC compiles for the devices that it knows. For a device that is newer, it makes PTX, which the driver compiles. */
#include "providers/nvrtc/nvrtc.h"

#include <stdio.h>
#include <string.h>

BP__KERNEL_SOURCE(cuda);

#define KIND "nvrtc" /* of the kept code */
enum { OPTIONS_MOST = 64, TARGETS_MOST = 64, LOG_MOST = 1024 };

static const bp_host *host_of(const bp__nvrtc_device *device) {
    return device->instance->vendor.host;
}

static bp_status fail(const bp__nvrtc_device *device, nvrtcResult code, const char *what) {
    return bp__cu_vendor_fail(&device->instance->vendor, NULL, code, what);
}

/* ---- Targets ---- */

bp_status bp__nvrtc_find_target(const bp__nvrtc_instance *instance, uint32_t capability, char *target, size_t size) {
    int count = 0, known[TARGETS_MOST], best = 0;
    const int wanted = (int)(capability / 10);
    nvrtcResult code = instance->api.GetNumSupportedArchs(&count);
    if (code == BP__NVRTC_SUCCESS && count > TARGETS_MOST) {
        return instance->vendor.host->fail(BP_E_UNSUPPORTED, "nvrtc: the library names %d targets", count);
    }
    code = code ? code : instance->api.GetSupportedArchs(known);
    if (code != BP__NVRTC_SUCCESS) {
        return bp__cu_vendor_fail(&instance->vendor, NULL, code, "nvrtcGetSupportedArchs");
    }
    for (int i = 0; i < count; i++) {
        best = known[i] <= wanted && known[i] > best ? known[i] : best;
    }
    if (best == 0) {
        return instance->vendor.host->fail(
            BP_E_UNSUPPORTED, "library '%s' %s compiles for no device of capability %d.%d",
            instance->vendor.library->id, instance->vendor.library->version, wanted / 10, wanted % 10);
    }
    snprintf(target, size, "%s_%d", best == wanted ? "sm" : "compute", best);
    return BP_OK;
}

/* ---- Compiling ---- */

/* Makes the list of options from the text: words that are separated by spaces. Changes the text. */
static int list_options(const bp__nvrtc_device *device, char *text, char arch[40], const char *list[OPTIONS_MOST]) {
    int count = 0;
    snprintf(arch, 40, "--gpu-architecture=%s", device->target);
    list[count++] = arch;
    for (char *rest = text, *word; count < OPTIONS_MOST && (word = strtok_r(rest, " ", &rest));) {
        list[count++] = word;
    }
    return count;
}

static bp_status fail_build(const bp__nvrtc_device *device, nvrtcProgram program, nvrtcResult code,
                            const char *options) {
    if (code != BP__NVRTC_ERROR_COMPILATION) {
        return fail(device, code, "nvrtcCompileProgram");
    }
    const bp__nvrtc_api *api = &device->instance->api;
    const bp_host *host = host_of(device);
    size_t size = 0;
    char *log = api->GetProgramLogSize(program, &size) == BP__NVRTC_SUCCESS && size > 0 ? host->allocate(size) : NULL;
    const bool read = log && api->GetProgramLog(program, log) == BP__NVRTC_SUCCESS;
    if (read) {
        log[size - 1] = '\0';
        for (char *c = log; *c; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
    }
    const bp_status status = host->fail(BP_E_BROKEN, "nvrtc: '%s' cannot compile a kernel for %s (options '%s')%s%.*s",
                                        device->instance->vendor.library->id, device->target, options, read ? ": " : "",
                                        LOG_MOST, read ? log : "");
    host->release(log);
    return status;
}

/* Sets *code to the machine code or the PTX of a compiled program, for release(). */
static bp_status take_code(const bp__nvrtc_device *device, nvrtcProgram program, char **code, size_t *size) {
    const bp__nvrtc_api *api = &device->instance->api;
    const bool machine_code = strncmp(device->target, "sm_", 3) == 0;
    nvrtcResult result = machine_code ? api->GetCUBINSize(program, size) : api->GetPTXSize(program, size);
    if (result != BP__NVRTC_SUCCESS) {
        return fail(device, result, "the size of compiled code");
    }
    *code = host_of(device)->allocate(*size);
    if (!*code) {
        return host_of(device)->fail(BP_E_NO_MEMORY, "nvrtc: no memory for %zu bytes of code", *size);
    }
    result = machine_code ? api->GetCUBIN(program, *code) : api->GetPTX(program, *code);
    if (result != BP__NVRTC_SUCCESS) {
        host_of(device)->release(*code);
        return fail(device, result, "compiled code");
    }
    return BP_OK;
}

/* Compiles the source behind the one that makes CUDA C++ take it. */
static bp_status compile(const bp__nvrtc_device *device, const char *source, const char *options, char **code,
                         size_t *size) {
    const bp__nvrtc_api *api = &device->instance->api;
    const char *const headers[] = {source}, *const names[] = {"source"};
    const char *list[OPTIONS_MOST];
    char arch[40], text[sizeof(bp__kernel_options)];
    nvrtcProgram program;
    snprintf(text, sizeof text, "%s", options);
    const int count = list_options(device, text, arch, list);
    nvrtcResult result = api->CreateProgram(&program, bp__kernel_source_cuda, "kernels.cu", 1, headers, names);
    if (result != BP__NVRTC_SUCCESS) {
        return fail(device, result, "nvrtcCreateProgram");
    }
    result = api->CompileProgram(program, count, list);
    const bp_status status = result == BP__NVRTC_SUCCESS ? take_code(device, program, code, size)
                                                         : fail_build(device, program, result, options);
    api->DestroyProgram(&program);
    return status;
}

/* ---- Modules ---- */

static CUresult load(const bp__nvrtc_device *device, const void *code, CUmodule *module) {
    bp__cu_scope scope;
    CUresult result = bp__cu_enter(device->part.device, true, &scope);
    result = result ? result : bp__cu.ModuleLoadData(module, code);
    bp__cu_leave(&scope);
    return result;
}

/* Loads kept code; false: there is none, or the driver refuses it. */
static bool load_kept(const bp__nvrtc_device *device, const void *key, size_t key_size, CUmodule *module) {
    size_t size = 0;
    void *kept = host_of(device)->recall_bytes(KIND, key, key_size, &size);
    const bool loaded = kept && load(device, kept, module) == BP__CU_SUCCESS;
    host_of(device)->release(kept);
    return loaded;
}

/* A driver may be too old for the code. Another candidate is chosen then. */
static bp_status fail_load(const bp__nvrtc_device *device, CUresult code) {
    return bp__cu_ends_use(code) || code == BP__CU_OUT_OF_MEMORY
               ? bp__cu_fail(host_of(device), code, "cuModuleLoadData")
               : host_of(device)->fail(BP_E_UNSUPPORTED, "nvrtc: driver %s does not load code for %s: %s (%d)",
                                       device->kernels.facts->driver, device->target,
                                       bp__cu_error_name((int64_t)code, NULL), (int)code);
}

static bp_status load_fresh(const bp__nvrtc_device *device, const char *source, const char *options, const void *key,
                            size_t key_size, CUmodule *module) {
    char *code = NULL;
    size_t size = 0;
    bp_status status = compile(device, source, options, &code, &size);
    if (status != BP_OK) {
        return status;
    }
    const CUresult result = load(device, code, module);
    if (result == BP__CU_SUCCESS) {
        host_of(device)->remember_bytes(KIND, key, key_size, code, size);
    } else {
        status = fail_load(device, result);
    }
    host_of(device)->release(code);
    return status;
}

bp_status bp__nvrtc_build(bp__kernel_device *kernels, const char *source, const char *options, void **native) {
    const bp__nvrtc_device *device = bp__nvrtc_device_of(kernels);
    const char *const parts[] = {device->instance->vendor.library->version,
                                 device->target,
                                 device->kernels.facts->driver,
                                 options,
                                 bp__kernel_source_cuda,
                                 source};
    CUmodule module = NULL;
    size_t key_size;
    char *key = bp__kernel_program_key(host_of(device), parts, sizeof parts / sizeof parts[0], &key_size);
    if (!key) {
        return host_of(device)->fail(BP_E_NO_MEMORY, "nvrtc: no memory for a program");
    }
    const bp_status status =
        load_kept(device, key, key_size, &module) ? BP_OK : load_fresh(device, source, options, key, key_size, &module);
    host_of(device)->release(key);
    *native = module;
    return status;
}

/* The context of the device is current. */
void bp__nvrtc_drop(bp__kernel_device *kernels, void *native) {
    (void)kernels;
    bp__cu.ModuleUnload(native);
}
