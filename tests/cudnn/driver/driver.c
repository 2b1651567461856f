/* driver.c - a libcuda.so.1 with which NVIDIA's cuDNN makes plans without a GPU, of kernels that it compiles itself: a
 * device exists, kernels load, and nothing runs. The build adds all other functions of the driver, which return 0. */
#include "backplane/version.h"

#include <stddef.h>

static long something[64]; /* what handles point to */

/* Functions that give a handle or a number through their first argument. */
#define GIVES_HANDLE(name)                                                                                             \
    BP_API int name(void **made);                                                                                      \
    int name(void **made) {                                                                                            \
        *made = something;                                                                                             \
        return 0;                                                                                                      \
    }
#define GIVES_NUMBER(name, number)                                                                                     \
    BP_API int name(int *value);                                                                                       \
    int name(int *value) {                                                                                             \
        *value = number;                                                                                               \
        return 0;                                                                                                      \
    }

/* clang-format off */
GIVES_HANDLE(cuCtxGetCurrent)
GIVES_HANDLE(cuDevicePrimaryCtxRetain)
GIVES_HANDLE(cuLibraryLoadData)
GIVES_HANDLE(cuLibraryGetKernel)
GIVES_HANDLE(cuKernelGetFunction)
GIVES_HANDLE(cuModuleLoadData)
GIVES_HANDLE(cuModuleLoadDataEx)
GIVES_HANDLE(cuModuleGetFunction)
GIVES_NUMBER(cuDriverGetVersion, 13000)
GIVES_NUMBER(cuDeviceGetCount, 1)
GIVES_NUMBER(cuDeviceGet, 0)
GIVES_NUMBER(cuCtxGetDevice, 0)
GIVES_NUMBER(cuLibraryGetKernelCount, 1)
GIVES_NUMBER(cuKernelGetAttribute, 0)
GIVES_NUMBER(cuFuncGetAttribute, 0)
GIVES_NUMBER(cuOccupancyMaxActiveBlocksPerMultiprocessor, 1)
GIVES_NUMBER(cuOccupancyMaxActiveClusters, 1)
/* clang-format on */

BP_API int cuDeviceGetAttribute(int *value, int attribute, int device);
BP_API int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library);
BP_API int cuGetErrorString(int code, const char **text);
BP_API int cuGetErrorName(int code, const char **text);
BP_API int cuGetExportTable(const void **table, const void *id);

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    enum { UNITS = 16, MAJOR = 75 };
    (void)device;
    *value = attribute == UNITS ? 132 : attribute == MAJOR ? 9 : 0;
    return 0;
}

int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library) {
    (void)library;
    for (unsigned i = 0; i < count; i++) {
        kernels[i] = something;
    }
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    (void)code;
    *text = "said the double";
    return 0;
}

int cuGetErrorName(int code, const char **text) {
    return cuGetErrorString(code, text);
}

int cuGetExportTable(const void **table, const void *id) {
    enum { NOT_FOUND = 500 };
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}
