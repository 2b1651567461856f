/* driver.c - implements driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *driver(void) {
    static void *handle;
    if (!handle) {
        handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    }
    return handle;
}

/* Finds a function of the driver, or its controls. */
static void *symbol(const char *name) {
    void *handle = driver();
    return handle ? dlsym(handle, name) : NULL;
}

CUcontext double_context(void) {
    CUcontext current = NULL;
    CUresult (*get)(CUcontext *) = (CUresult(*)(CUcontext *))symbol("cuCtxGetCurrent");
    return get && get(&current) == BP__CU_SUCCESS ? current : NULL;
}

uint8_t *double_bytes(uint64_t address, size_t size) {
    double_controls *controls = symbol("cuda_double");
    return controls ? controls->bytes_of(address, size) : NULL;
}

bool double_launch(CUstream stream, CUhostFn run, void *user) {
    CUresult (*launch)(CUstream, CUhostFn, void *) =
        (CUresult(*)(CUstream, CUhostFn, void *))symbol("cuLaunchHostFunc");
    return launch && launch(stream, run, user) == BP__CU_SUCCESS;
}

void double_spend(int64_t ns) {
    double_controls *controls = symbol("cuda_double");
    if (controls) {
        controls->spent_ns += ns;
    }
}

void double_synchronize(void) {
    CUresult (*synchronize)(void) = (CUresult(*)(void))symbol("cuCtxSynchronize");
    if (synchronize) {
        synchronize();
    }
}

long double_number(const char *variable, const char *name, long otherwise) {
    const char *all = getenv(variable), *found = all ? strstr(all, name) : NULL;
    return found ? atol(found + strlen(name)) : otherwise;
}
