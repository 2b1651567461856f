/* library.c - opens the OpenCL library and finds its functions. */
#include "providers/opencl/runtime.h"

bp__cl_api bp__cl_loaded;
const bp_host *bp__cl_host;

bp_status bp__cl_library_load(const bp_host *host) {
    static const char file[] = "libOpenCL.so.1";
    void *handle;
    bp__cl_api found;
    bp_status status = host->open_named(file, &handle);
    if (status != BP_OK) {
        return status;
    }
#define X(result, name, parameters)                                                                                    \
    found.name = (result(*) parameters)host->symbol(handle, "cl" #name);                                               \
    if (!found.name) {                                                                                                 \
        return host->fail(BP_E_BROKEN, "opencl: %s has no function cl" #name "; OpenCL 1.2 or later is needed", file); \
    }
    BP__CL_FUNCTIONS(X)
#undef X
    bp__cl_loaded = found;
    bp__cl_host = host;
    return BP_OK;
}
