/* nvrtc.h - declares what the files of the nvrtc provider share.
 *
 * The provider runs the kernels of providers/kernels on CUDA devices. NVRTC compiles them for the device; the result is
 * kept between processes. */
#ifndef BP_PROVIDERS_NVRTC_H
#define BP_PROVIDERS_NVRTC_H

#include "providers/cuda/vendor.h"
#include "providers/kernels/kernels.h"
#include "providers/nvrtc/api.h"

typedef struct bp__nvrtc_instance {
    bp__cu_vendor vendor; /* must be first */
    bp__nvrtc_api api;    /* the functions, once a plan was made */
} bp__nvrtc_instance;

/* What a device has. */
typedef struct bp__nvrtc_device {
    bp__cu_part part; /* must be first */
    bp__nvrtc_instance *instance;
    char target[16]; /* "sm_90": machine code; "compute_90": PTX for the driver's compiler, which is newer than NVRTC */
    bp__kernel_device kernels;
    CUstream stream; /* these are under kernels.mutex; of copies of constants; NULL: not made */
    CUevent copied;
    void **captured; /* memory of constants that graphs may read */
    int captured_count, captured_capacity;
} bp__nvrtc_device;

extern const bp__kernel_backend bp__nvrtc_backend; /* plan.c */

static inline bp__nvrtc_device *bp__nvrtc_device_of(const bp__kernel_device *kernels) {
    return (bp__nvrtc_device *)((char *)(uintptr_t)kernels - offsetof(bp__nvrtc_device, kernels));
}

bp_status bp__nvrtc_open(const bp_host *host, const bp_library_info *library, void **opened);

/* Sets the target of a device of this capability: 900 is 9.0. Fails if NVRTC has none. */
bp_status bp__nvrtc_find_target(const bp__nvrtc_instance *instance, uint32_t capability, char *target, size_t size);

/* Parts of the backend. */
bp_status bp__nvrtc_build(bp__kernel_device *kernels, const char *source, const char *options, void **native);
void bp__nvrtc_drop(bp__kernel_device *kernels, void *native);
bp_status bp__nvrtc_report_flag(bp__kernel_device *kernels, bp_prepared *inner, bp_prepared **prepared);

/* The call of a run. */
typedef struct bp__nvrtc_run {
    const bp_operand *operands;
    const bp_exec *exec;
} bp__nvrtc_run;

/* Enqueues the steps of a plan on a stream, whose context is current. */
bp_status bp__nvrtc_enqueue_steps(const bp__kernel_plan *plan, const bp__nvrtc_run *run, CUstream stream);

#endif
