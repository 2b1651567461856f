/* program.c - builds programs once for a device, and keeps their binaries between processes.
 *
 * A binary is only a shortcut: if the driver refuses one, for instance because the file is of another machine or
 * damaged, the program is built from its source again and the binary replaced.
 *
 * PoCL's binaries are not kept. PoCL compiles a kernel before its first run, and keeps it between processes itself; if
 * asked for a binary, it compiles all kernels of the program first, which can take minutes. */
#include "providers/opencl/build_log.h"
#include "providers/opencl/opencl.h"
#include "providers/opencl/runtime.h"

#include <string.h>

#define KIND "opencl" /* of the kept binaries */

/* ---- Options ---- */

void bp__cl_program_options(const bp__kernel_device *kernels, bp__kernel_options *options) {
    enum { SINGLE_FP_CONFIG = 0x101B, CORRECTLY_ROUNDED_DIVIDE_SQRT = 128 };
    const bp__cl_device *device = bp__cl_device_of(kernels);
    cl_bitfield config = 0;
    bp__kernel_options_add(options, "-w -cl-std=CL1.2");
    if (device->cl->GetDeviceInfo(device->id, SINGLE_FP_CONFIG, sizeof config, &config, NULL) == BP__CL_SUCCESS &&
        config & CORRECTLY_ROUNDED_DIVIDE_SQRT) {
        bp__kernel_options_add(options, " -cl-fp32-correctly-rounded-divide-sqrt -DEXACT_DIVIDE");
    }
}

/* ---- Binaries ---- */

/* Returns a program that is ready to use, or NULL. */
static cl_program from_binary(const bp__cl_device *device, const char *options, const void *key, size_t key_size) {
    const bp__cl_api *cl = device->cl;
    size_t size = 0;
    cl_int loaded = 0, code = 0;
    unsigned char *binary = device->host->recall_bytes(KIND, key, key_size, &size);
    if (!binary) {
        return NULL;
    }
    const unsigned char *bytes = binary;
    cl_program program = cl->CreateProgramWithBinary(device->context, 1, &device->id, &size, &bytes, &loaded, &code);
    if (program && (code != BP__CL_SUCCESS || loaded != BP__CL_SUCCESS ||
                    cl->BuildProgram(program, 1, &device->id, options, NULL, NULL) != BP__CL_SUCCESS)) {
        cl->ReleaseProgram(program);
        program = NULL;
    }
    device->host->release(binary);
    return program;
}

/* A program of a context with several devices has a binary for each of them, though only ours was built. */
enum { DEVICES_MOST = 64 };

/* Returns the place of our device among the devices of the program, or -1; sets *count and the sizes of all binaries.
 */
static int find_binary(const bp__cl_device *device, cl_program program, cl_uint *count, size_t sizes[DEVICES_MOST]) {
    const bp__cl_api *cl = device->cl;
    cl_device_id ids[DEVICES_MOST];
    if (cl->GetProgramInfo(program, BP__CL_PROGRAM_NUM_DEVICES, sizeof *count, count, NULL) != 0 ||
        *count > DEVICES_MOST ||
        cl->GetProgramInfo(program, BP__CL_PROGRAM_DEVICES, *count * sizeof ids[0], ids, NULL) != 0 ||
        cl->GetProgramInfo(program, BP__CL_PROGRAM_BINARY_SIZES, *count * sizeof sizes[0], sizes, NULL) != 0) {
        return -1;
    }
    for (cl_uint i = 0; i < *count; i++) {
        if (ids[i] == device->id && sizes[i] > 0) {
            return (int)i;
        }
    }
    return -1;
}

static void keep_binary(const bp__cl_device *device, cl_program program, const void *key, size_t key_size) {
    size_t sizes[DEVICES_MOST];
    unsigned char *binaries[DEVICES_MOST] = {NULL}; /* the driver skips NULL */
    cl_uint count = 0;
    int ours = find_binary(device, program, &count, sizes);
    unsigned char *binary = ours >= 0 ? device->host->allocate(sizes[ours]) : NULL;
    if (!binary) {
        return;
    }
    binaries[ours] = binary;
    if (device->cl->GetProgramInfo(program, BP__CL_PROGRAM_BINARIES, count * sizeof binaries[0], binaries, NULL) == 0) {
        device->host->remember_bytes(KIND, key, key_size, binary, sizes[ours]);
    }
    device->host->release(binary);
}

/* ---- Sources ---- */

static bp_status fail_build(const bp__cl_device *device, cl_program program, cl_int code, const char *options) {
    enum { LOG_MOST = 1 << 16, TEXT_MOST = 1024 };
    char text[TEXT_MOST] = "";
    size_t size = 0;
    char *log = device->host->allocate(LOG_MOST + 1);
    if (log && device->cl->GetProgramBuildInfo(program, device->id, BP__CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == 0 &&
        size <= LOG_MOST &&
        device->cl->GetProgramBuildInfo(program, device->id, BP__CL_PROGRAM_BUILD_LOG, size, log, NULL) == 0) {
        log[size] = '\0';
        bp__cl_shorten_log(log, text, sizeof text);
    }
    device->host->release(log);
    return device->host->fail(BP_E_BROKEN, "opencl: '%s' cannot build a kernel (options '%s'): %s (%d)%s%s",
                              device->facts.name, options, bp__cl_error_name(code, NULL), (int)code, *text ? ": " : "",
                              text);
}

static bp_status from_source(const bp__cl_device *device, const char *source, const char *options,
                             cl_program *program) {
    const bp__cl_api *cl = device->cl;
    cl_int code;
    *program = cl->CreateProgramWithSource(device->context, 1, &source, NULL, &code);
    if (!*program) {
        return bp__cl_fail(device->host, code, "clCreateProgramWithSource");
    }
    code = cl->BuildProgram(*program, 1, &device->id, options, NULL, NULL);
    if (code != BP__CL_SUCCESS) {
        bp_status status = fail_build(device, *program, code, options);
        cl->ReleaseProgram(*program);
        return status;
    }
    return BP_OK;
}

bp_status bp__cl_program_build(bp__kernel_device *kernels, const char *source, const char *options, void **native) {
    const bp__cl_device *device = bp__cl_device_of(kernels);
    const char *const parts[] = {
        device->platform_version, device->facts.name, device->facts.driver, device->facts.version, options, source};
    cl_program program;
    size_t key_size;
    char *key = bp__kernel_program_key(device->host, parts, sizeof parts / sizeof parts[0], &key_size);
    if (!key) {
        return device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a program");
    }
    bp_status status = BP_OK;
    program = from_binary(device, options, key, key_size);
    if (!program) {
        status = from_source(device, source, options, &program);
        if (status == BP_OK && !bp__cl_is_pocl(device->platform_version)) {
            keep_binary(device, program, key, key_size);
        }
    }
    device->host->release(key);
    *native = program;
    return status;
}

void bp__cl_program_drop(bp__kernel_device *kernels, void *native) {
    bp__cl_device_of(kernels)->cl->ReleaseProgram(native);
}
