/* opencl.h - declares the objects of the OpenCL runtime, and the plans of its provider.
 *
 * The runtime (runtime*.c) owns platforms, devices, queues and events. The provider's files make plans from steps: a
 * step is one kernel with its arguments. OpenCL's functions are called through a table (api.h), because the library is
 * opened at run time; no header of OpenCL is needed. */
#ifndef BP_PROVIDERS_OPENCL_H
#define BP_PROVIDERS_OPENCL_H

#include "providers/opencl/objects.h"

/* ---- Programs (program.c) ----
 *
 * Returns the program built from `source` with `options`, for instance "-DT=float -DWIDTH=4". It is built once for a
 * device: later calls return the same one. Binaries are kept between processes (bp_host.remember_bytes), by source,
 * options, driver, device and platform version. A failed build returns BP_E_BROKEN with the start of the compiler's
 * log. Never called by accept(). */
typedef struct bp__cl_program bp__cl_program;
bp_status bp__cl_program_get(bp__cl_device *device, const char *source, const char *options, bp__cl_program **program);

/* Declares the source of kernels that CMake embeds from src/providers/opencl/kernels/NAME.cl. A line `#include "x.cl"`
 * in such a file is replaced with that file of the same folder. */
#define BP__CL_SOURCE(NAME) extern const char bp__cl_source_##NAME[]

/* ---- Plans (plan.c) ---- */

typedef enum bp__cl_argument_kind {
    BP__CL_OPERAND,   /* two kernel arguments: `__global T *base, ulong first`; first is the offset in units of `unit`
                       * bytes,   as number `index` of the call's operands has it. An absent operand has base NULL and
                       * first
                       * 0 */
    BP__CL_WORKSPACE, /* the same for the plan's workspace, from byte `offset` on */
    BP__CL_VALUE,     /* one kernel argument: `size` bytes that the plan has copied. A struct is passed by value */
    BP__CL_SCALAR, /* one kernel argument: alpha (index 0) or beta (1) of a gemm, as the scalar type `dtype`: float for
                    * F16, F32; double; float2 and double2 for complex types */
    BP__CL_CONSTANT, /* two kernel arguments: `__global const T *base, ulong first`: `size` bytes that the plan has
                      * copied to the device; first is 0 */
    BP__CL_LOCAL,    /* one kernel argument: `size` bytes of local memory */
    BP__CL_HOST /* one kernel argument: `size` bytes at operand `index`, which is in host memory, read in each run */
} bp__cl_argument_kind;

typedef struct bp__cl_argument {
    bp__cl_argument_kind kind;
    int index;
    uint32_t unit;
    bp_dtype dtype;
    size_t offset, size;
    const void *value; /* of BP__CL_VALUE, BP__CL_CONSTANT: read by bp__cl_plan_add() only */
    cl_mem memory;     /* of BP__CL_CONSTANT: set by bp__cl_plan_add() */
} bp__cl_argument;

#define BP__CL_ARGUMENTS_MOST 24

/* One kernel of a plan. */
typedef struct bp__cl_step {
    bp__cl_program *program;
    const char *kernel; /* static text */
    cl_uint dimensions;
    size_t global[3], local[3]; /* local[0] 0: the driver chooses the size of groups. PoCL then compiles the kernel
                                 * again for each size that it chooses, which takes 0.1 s and more */
    int argument_count;
    bp__cl_argument argument[BP__CL_ARGUMENTS_MOST];
} bp__cl_step;

/* A plan that enqueues its steps in order. Several threads may run it at once: each run leases a cl_kernel of each
 * step, because clSetKernelArg() is not thread-safe on a shared kernel. */
typedef struct bp__cl_plan bp__cl_plan;
bp_status bp__cl_plan_new(bp__cl_device *device, size_t workspace, bp__cl_plan **plan);
/* Copies the step and its values, and creates its first kernel. */
bp_status bp__cl_plan_add(bp__cl_plan *plan, const bp__cl_step *step);
bp_prepared *bp__cl_plan_prepared(bp__cl_plan *plan); /* the result of the provider's plan() */
void bp__cl_plan_free(bp__cl_plan *plan);

/* Helpers for steps. */
static inline void bp__cl_operand(bp__cl_step *step, int index, size_t unit) {
    step->argument[step->argument_count++] =
        (bp__cl_argument){.kind = BP__CL_OPERAND, .index = index, .unit = (uint32_t)unit};
}
static inline void bp__cl_workspace(bp__cl_step *step, size_t offset, size_t unit) {
    step->argument[step->argument_count++] =
        (bp__cl_argument){.kind = BP__CL_WORKSPACE, .offset = offset, .unit = (uint32_t)unit};
}
static inline void bp__cl_value(bp__cl_step *step, const void *value, size_t size) {
    step->argument[step->argument_count++] = (bp__cl_argument){.kind = BP__CL_VALUE, .value = value, .size = size};
}
static inline void bp__cl_scalar(bp__cl_step *step, int index, bp_dtype dtype) {
    step->argument[step->argument_count++] = (bp__cl_argument){.kind = BP__CL_SCALAR, .index = index, .dtype = dtype};
}
static inline void bp__cl_host_bytes(bp__cl_step *step, int index, size_t size) {
    step->argument[step->argument_count++] = (bp__cl_argument){.kind = BP__CL_HOST, .index = index, .size = size};
}
static inline void bp__cl_constant(bp__cl_step *step, const void *value, size_t size) {
    step->argument[step->argument_count++] = (bp__cl_argument){.kind = BP__CL_CONSTANT, .value = value, .size = size};
}
static inline void bp__cl_local(bp__cl_step *step, size_t size) {
    step->argument[step->argument_count++] = (bp__cl_argument){.kind = BP__CL_LOCAL, .size = size};
}

/* ---- The provider (provider.c) ----
 *
 * One entry for each family of operations. accept() looks at the problem and at the facts of the device
 * (host->device(problem->place)), which may be a recorded one; plan() opens the device. */
typedef struct bp__cl_family {
    void (*accept)(const bp_host *host, const bp_device_info *device, const bp_problem *problem, bp_offers *offers);
    bp_status (*plan)(bp__cl_device *device, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **prepared);
} bp__cl_family;

extern const bp__cl_family bp__cl_gemm, bp__cl_contract, bp__cl_elementwise, bp__cl_pad, bp__cl_reduce, bp__cl_layer_norm,
    bp__cl_norm, bp__cl_pool, bp__cl_conv, bp__cl_attention, bp__cl_fft, bp__cl_random;

#endif
