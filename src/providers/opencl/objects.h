/* objects.h - declares a device and a queue of the OpenCL runtime, for the providers that work on it. */
#ifndef BP_PROVIDERS_OPENCL_OBJECTS_H
#define BP_PROVIDERS_OPENCL_OBJECTS_H

#include "providers/opencl/api.h"

#include "providers/kernels/kernels.h"

#include <stdatomic.h>

typedef struct bp__cl_state bp__cl_state; /* the loaded library with its platforms and devices */

typedef struct bp__cl_device {
    const bp_host *host;
    const bp__cl_api *cl;
    bp__cl_state *state;
    cl_device_id id;
    cl_context context;
    bp_device_info facts;
    const char *platform_version;
    bp__kernel_device kernels; /* with pointers to the facts above */
} bp__cl_device;

typedef struct bp__cl_queue {
    bp__cl_device *device;
    cl_command_queue native;
    bool timed;
} bp__cl_queue;

/* Fails with BP_E_DEVICE, or BP_E_NO_MEMORY, and a message: "opencl: <what>: CL_INVALID_VALUE (-30)". */
bp_status bp__cl_fail(const bp_host *host, cl_int code, const char *what);
const char *bp__cl_error_name(int64_t code, int *lost); /* bp_runtime.error_name */

/* Whether a platform or a device with this version, CL_PLATFORM_VERSION or CL_DEVICE_VERSION, belongs to PoCL. */
bool bp__cl_is_pocl(const char *version);

/* The error of an event of ours: a run of take or gather found an index out of range. No number of OpenCL's. */
enum { BP__CL_INDEX_OUT_OF_RANGE = -40001 };

#endif
