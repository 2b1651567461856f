/* errors.c - names OpenCL's errors. */
#include "providers/opencl/objects.h"

#include <stdio.h>

enum { NVIDIA_ILLEGAL_ACCESS = -9999 }; /* NVIDIA's driver: a kernel read or wrote outside of its memory */

/* The calls that return these errors pass objects that were valid before. So the driver itself has given them up. */
static int is_lost(int64_t code) {
    return code == BP__CL_DEVICE_NOT_AVAILABLE || code == BP__CL_INVALID_DEVICE || code == BP__CL_INVALID_CONTEXT ||
           code == BP__CL_INVALID_COMMAND_QUEUE || code == NVIDIA_ILLEGAL_ACCESS;
}

const char *bp__cl_error_name(int64_t code, int *lost) {
    if (lost) {
        *lost = is_lost(code);
    }
    switch (code) {
#define X(name, number)                                                                                                \
    case number:                                                                                                       \
        return "CL_" #name;
        BP__CL_ERRORS(X)
        X(PLATFORM_NOT_FOUND_KHR, -1001)
#undef X
    case BP__CL_INDEX_OUT_OF_RANGE:
        return BP__KERNEL_INDEX_TEXT;
    case NVIDIA_ILLEGAL_ACCESS:
        return "illegal access to memory";
    default:
        return code == 0 ? "CL_SUCCESS" : "unknown error";
    }
}

bp_status bp__cl_fail(const bp_host *host, cl_int code, const char *what) {
    bp_status status = BP_E_DEVICE;
    if (code == BP__CL_MEM_OBJECT_ALLOCATION_FAILURE || code == BP__CL_OUT_OF_RESOURCES ||
        code == BP__CL_OUT_OF_HOST_MEMORY || code == BP__CL_INVALID_BUFFER_SIZE) {
        status = BP_E_NO_MEMORY;
    }
    return host->fail(status, "opencl: %s: %s (%d)", what, bp__cl_error_name(code, NULL), (int)code);
}
