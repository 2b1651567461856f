/* library.c - opens CUDA's driver library, finds its functions and initializes it. */
#include "providers/cuda/runtime.h"

#include <string.h>

bp__cu_api bp__cu;
const bp_host *bp__cu_host;

static const char file[] = "libcuda.so.1";

static bp_status fail_missing(const bp_host *host, const char *name) {
    return host->fail(BP_E_BROKEN, "cuda: %s has no function %s; a driver for CUDA %d.%d or later is needed", file,
                      name, BP__CU_LEAST_VERSION / 1000, BP__CU_LEAST_VERSION % 1000 / 10);
}

#define FIND(member, symbol_name, parameters)                                                                          \
    found.member = (CUresult(*) parameters)host->symbol(handle, #symbol_name);                                         \
    if (!found.member) {                                                                                               \
        return fail_missing(host, #symbol_name);                                                                       \
    }

/* Fails with the reason why the driver does not start. */
static bp_status fail_start(const bp_host *host, CUresult code, const char *what) {
    switch (code) {
    case BP__CU_STUB_LIBRARY:
        return host->fail(
            BP_E_BROKEN,
            "cuda: %s is the stub of CUDA's toolkit, which serves to link programs only; install NVIDIA's "
            "driver, or take the stub's folder out of registry.library_path and LD_LIBRARY_PATH",
            file);
    case BP__CU_SYSTEM_DRIVER_MISMATCH:
        return host->fail(BP_E_BROKEN,
                          "cuda: %s and the driver in the kernel have different versions (803); restart the "
                          "machine after an update of the driver",
                          file);
    case BP__CU_SYSTEM_NOT_READY:
        return host->fail(
            BP_E_BROKEN,
            "cuda: the driver is not ready (802); machines with NVSwitch need the service nvidia-fabricmanager");
    default: {
        const bp_status status = bp__cu_fail(host, code, what);
        return status == BP_E_NO_MEMORY ? status : BP_E_BROKEN;
    }
    }
}

/* Finds the functions. Those that old drivers lack are asked for last, so that the version is the reason. */
static bp_status find_functions(const bp_host *host, void *handle, int *version) {
    bp__cu_api found;
    BP__CU_FIRST_FUNCTIONS(FIND)
    bp__cu.GetErrorName = found.GetErrorName;
    const CUresult code = found.DriverGetVersion(version);
    if (code != BP__CU_SUCCESS) {
        return fail_start(host, code, "cuDriverGetVersion");
    }
    if (*version < BP__CU_LEAST_VERSION) {
        return host->fail(BP_E_BROKEN, "cuda: the driver is for CUDA %d.%d; one for %d.%d or later is needed",
                          *version / 1000, *version % 1000 / 10, BP__CU_LEAST_VERSION / 1000,
                          BP__CU_LEAST_VERSION % 1000 / 10);
    }
    BP__CU_FUNCTIONS(FIND)
    bp__cu = found;
    return BP_OK;
}

bp_status bp__cu_library_load(const bp_host *host, int *version, int *count) {
    void *handle;
    *count = 0;
    bp_status status = host->open_named(file, &handle);
    status = status == BP_OK ? find_functions(host, handle, version) : status;
    if (status != BP_OK) {
        return status;
    }
    bp__cu_host = host;
    CUresult code = bp__cu.Init(0);
    if (code == BP__CU_NO_DEVICE) {
        return BP_OK;
    }
    if (code != BP__CU_SUCCESS) {
        return fail_start(host, code, "cuInit");
    }
    code = bp__cu.DeviceGetCount(count);
    return code == BP__CU_SUCCESS ? BP_OK : fail_start(host, code, "cuDeviceGetCount");
}
