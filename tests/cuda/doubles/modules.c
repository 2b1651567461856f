/* modules.c - modules and kernels of the double of libcuda.so.1: texts of PTX, or machine code of the host. */
#include "parts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MOST = 96 };

struct CUmod_st {
    void *object; /* machine code; NULL: PTX */
    int count;
    function functions[FUNCTIONS_MOST];
};

static void free_module(CUmodule module) {
    for (int i = 0; i < module->count; i++) {
        free(module->functions[i].lines);
    }
    if (module->object) {
        dlclose(module->object);
    }
    free(module);
}

static CUresult load(CUmodule module, const void *image) {
    if (double_is_compiled(image)) {
        module->object = double_open_compiled(image);
        return module->object ? BP__CU_SUCCESS : 209; /* NO_BINARY_FOR_GPU */
    }
    module->count = double_read_ptx(image, module->functions, FUNCTIONS_MOST);
    return module->count >= 0 ? BP__CU_SUCCESS : 218; /* INVALID_PTX */
}

CUresult cuModuleLoadData(CUmodule *made, const void *image) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    if (cuda_double.refuse_modules) {
        return 222; /* UNSUPPORTED_PTX_VERSION */
    }
    pthread_mutex_lock(&double_mutex);
    code = double_unsafe();
    pthread_mutex_unlock(&double_mutex);
    CUmodule module = code ? NULL : calloc(1, sizeof *module);
    if (!module) {
        return code ? code : BP__CU_OUT_OF_MEMORY;
    }
    code = load(module, image);
    if (code != BP__CU_SUCCESS) {
        free_module(module);
        return code;
    }
    cuda_double.modules++;
    *made = module;
    return BP__CU_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    free_module(module);
    cuda_double.modules--;
    return double_ready();
}

CUresult cuModuleGetFunction(CUfunction *found, CUmodule module, const char *name) {
    for (int i = 0; i < module->count; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            *found = &module->functions[i];
            return BP__CU_SUCCESS;
        }
    }
    function *next = &module->functions[module->count];
    if (!module->object || module->count == FUNCTIONS_MOST || strlen(name) >= sizeof next->name ||
        !double_find_compiled(module->object, name, next)) {
        return 500; /* NOT_FOUND */
    }
    strcpy(next->name, name);
    module->count++;
    *found = next;
    return BP__CU_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction kernel) {
    if (!kernel || what != BP__CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        return BP__CU_INVALID_VALUE;
    }
    *value = 1024;
    return BP__CU_SUCCESS;
}

CUresult double_launch(const function *kernel, const unsigned shape[6], const uint8_t *parameters) {
    if (double_has(FAULT_KERNELS)) {
        return BP__CU_SUCCESS;
    }
    return kernel->run ? double_run_compiled(kernel, shape, parameters)
                       : double_run_ptx(kernel, shape[0], shape[3], parameters);
}
