/* opencl.h - declares how the kernels of providers/kernels are built and run on OpenCL devices.
 *
 * The runtime (runtime*.c) owns platforms, devices, queues and events. OpenCL's functions are called through a table
 * (api.h), because the library is opened at run time; no header of OpenCL is needed. */
#ifndef BP_PROVIDERS_OPENCL_H
#define BP_PROVIDERS_OPENCL_H

#include "providers/opencl/objects.h"

#include <stddef.h>

extern const bp__kernel_backend bp__cl_backend; /* plan.c */

static inline bp__cl_device *bp__cl_device_of(const bp__kernel_device *kernels) {
    return (bp__cl_device *)((char *)(uintptr_t)kernels - offsetof(bp__cl_device, kernels));
}

/* Parts of the backend. Binaries are kept between processes (bp_host.remember_bytes), by source, options, driver,
 * device and platform version. */
bp_status bp__cl_program_build(bp__kernel_device *kernels, const char *source, const char *options, void **native);
void bp__cl_program_drop(bp__kernel_device *kernels, void *native);
void bp__cl_program_options(const bp__kernel_device *kernels, bp__kernel_options *options);
bp_status bp__cl_report_flag(bp__kernel_device *kernels, bp_prepared *inner, bp_prepared **prepared);

#endif
