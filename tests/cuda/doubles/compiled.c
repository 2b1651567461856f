/* compiled.c - modules of the double of libcuda.so.1 whose machine code is a shared object of the host (tests/nvrtc).
 *
 * The object has two functions for each kernel: shim_sizes_NAME tells the bytes of its parameters, and shim_run_NAME
 * runs all threads. Addresses of a device become addresses of the host when a kernel runs. */
#include "parts.h"

#include "nvrtc/doubles/double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *symbol(void *object, const char *prefix, const char *name) {
    char text[160];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return dlsym(object, text);
}

bool double_is_compiled(const void *image) {
    uint64_t magic;
    memcpy(&magic, image, sizeof magic);
    return magic == NVRTC_CODE_MAGIC;
}

/* Each object needs a path of its own, by which the loader tells them apart. */
void *double_open_compiled(const void *image) {
    const nvrtc_code *code = image;
    char path[] = "/tmp/backplane-kernels-XXXXXX";
    const int file = mkstemp(path);
    void *object = NULL;
    if (file < 0) {
        return NULL;
    }
    if (write(file, code->object, code->size) == (ssize_t)code->size) {
        object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    close(file);
    unlink(path);
    return object;
}

bool double_find_compiled(void *object, const char *name, function *found) {
    void (*sizes)(size_t *) = (void (*)(size_t *))symbol(object, "shim_sizes_", name);
    compiled_kernel run = (compiled_kernel)symbol(object, "shim_run_", name);
    size_t all = 0;
    if (!sizes || !run) {
        return false;
    }
    found->run = run;
    sizes(found->sizes);
    for (int i = 0; found->sizes[i]; i++) {
        all += found->sizes[i];
        found->count = i + 1;
    }
    found->parameter_bytes = all;
    return all <= PARAMETER_BYTES;
}

/* An address that is no device's stays as it is, so that a kernel that uses it crashes. */
static uint64_t translated(uint64_t address) {
    uint8_t *bytes = double_bytes(address, 1);
    return bytes ? (uint64_t)(uintptr_t)bytes : address;
}

CUresult double_run_compiled(const function *kernel, const unsigned shape[6], const uint8_t *parameters) {
    void *at[PARAMETERS_MOST];
    for (int i = 0; i < kernel->count; i++) {
        at[i] = (void *)(uintptr_t)parameters;
        parameters += kernel->sizes[i];
    }
    kernel->run(at, shape, translated);
    return BP__CU_SUCCESS;
}
