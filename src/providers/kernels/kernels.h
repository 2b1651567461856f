/* kernels.h - declares plans of kernels, which the providers of OpenCL and of CUDA share.
 *
 * The files of this folder make plans from steps: a step is one kernel with its arguments. They know a device by its
 * facts only. The kernels (sources/) are in OpenCL C; sources/portable.cl has words for what CUDA writes otherwise. How
 * programs are built and steps enqueued is described by the provider, in a bp__kernel_backend. */
#ifndef BP_PROVIDERS_KERNELS_KERNELS_H
#define BP_PROVIDERS_KERNELS_KERNELS_H

#include "backplane/runtime.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct bp__kernel_backend bp__kernel_backend;

/* ---- Programs (program.c) ---- */

/* A built program. The texts are in the same block of memory. */
typedef struct bp__kernel_program {
    struct bp__kernel_program *next;
    void *native; /* cl_program, CUmodule */
    const char *source, *options;
} bp__kernel_program;

/* A device that runs the kernels. */
typedef struct bp__kernel_device {
    const bp_host *host;
    const bp_device_info *facts;
    const bp__kernel_backend *backend;
    pthread_mutex_t mutex;        /* guards `programs`, and what a provider keeps with the device */
    pthread_mutex_t building;     /* held while a program is built, so that none is built twice */
    bp__kernel_program *programs; /* built ones, kept until the device is closed */
} bp__kernel_device;

void bp__kernel_device_begin(bp__kernel_device *device, const bp__kernel_backend *backend, const bp_host *host,
                             const bp_device_info *facts);
/* Frees the programs. */
void bp__kernel_device_end(bp__kernel_device *device);

/* Options of a program, for instance "-DT=float -DWIDTH=4". Begin with those that the device requires. */
typedef struct bp__kernel_options {
    char text[512];
} bp__kernel_options;
void bp__kernel_options_begin(bp__kernel_options *options, const bp__kernel_device *device);
void bp__kernel_options_add(bp__kernel_options *options, const char *format, ...) BP_PRINTF(2, 3);

/* Returns the program built from `source` with `options`. It is built once for a device: later calls return the same
 * one. A failed build returns BP_E_BROKEN with the start of the compiler's log. Never called by accept(). */
bp_status bp__kernel_program_get(bp__kernel_device *device, const char *source, const char *options,
                                 bp__kernel_program **program);

/* Makes the key of a kept binary from texts, each with its final zero, in memory of the host; NULL: there is none. */
char *bp__kernel_program_key(const bp_host *host, const char *const *parts, int count, size_t *size);

/* Declares the source of kernels that CMake embeds from sources/NAME.cl. A line `#include "x.cl"` in such a file is
 * replaced with that file of the same folder. */
#define BP__KERNEL_SOURCE(NAME) extern const char bp__kernel_source_##NAME[]

/* ---- Plans (plan.c) ---- */

typedef enum bp__kernel_argument_kind {
    BP__KERNEL_OPERAND,   /* two kernel arguments: `__global T *base, ulong first`; first is the offset in units of
                           * `unit` bytes, as number `index` of the call's operands has it. An absent operand has base
                           * NULL and first 0 */
    BP__KERNEL_WORKSPACE, /* the same for the plan's workspace, from byte `offset` on */
    BP__KERNEL_VALUE,     /* one kernel argument: `size` bytes that the plan has copied. A struct is passed by value */
    BP__KERNEL_SCALAR,    /* one kernel argument: alpha (index 0) or beta (1) of a gemm, as the scalar type `dtype`:
                           * float for F16, F32; double; float2 and double2 for complex types */
    BP__KERNEL_CONSTANT,  /* two kernel arguments: `__global const T *base, ulong first`: `size` bytes that the plan has
                           * copied to the device; first is 0 */
    BP__KERNEL_HOST /* one kernel argument: `size` bytes at operand `index`, which is in host memory, read in each run
                     */
} bp__kernel_argument_kind;

typedef struct bp__kernel_argument {
    bp__kernel_argument_kind kind;
    int index;
    uint32_t unit, alignment; /* alignment: of the address; 0: the unit */
    bp_dtype dtype;
    size_t offset, size;
    const void *value; /* of BP__KERNEL_VALUE, BP__KERNEL_CONSTANT: read by bp__kernel_plan_add() only */
    void *memory;      /* of BP__KERNEL_CONSTANT: on the device, set by bp__kernel_plan_add() */
} bp__kernel_argument;

#define BP__KERNEL_ARGUMENTS_MOST 24

/* One kernel of a plan. */
typedef struct bp__kernel_step {
    bp__kernel_program *program;
    const char *kernel; /* static text */
    uint32_t dimensions;
    size_t global[3], local[3]; /* work items of all groups, and of a group, which divides them */
    int argument_count;
    bp__kernel_argument argument[BP__KERNEL_ARGUMENTS_MOST];
    void *native; /* what the provider keeps for the kernel */
} bp__kernel_step;

/* A plan that enqueues its steps in order. Several threads may run it at once. A provider's own struct begins with it.
 */
typedef struct bp__kernel_plan {
    bp_prepared prepared;
    bp__kernel_device *device;
    bool has_constants;
    int step_count, capacity;
    bp__kernel_step *steps; /* values are copies that the plan owns */
} bp__kernel_plan;

bp_status bp__kernel_plan_new(bp__kernel_device *device, size_t workspace, bp__kernel_plan **plan);
/* Copies the step and its values, and checks that its kernel can be made. */
bp_status bp__kernel_plan_add(bp__kernel_plan *plan, const bp__kernel_step *step);
void bp__kernel_plan_free(bp__kernel_plan *plan);

/* Whether it is two arguments of the kernel: memory and an offset. */
static inline bool bp__kernel_has_memory(bp__kernel_argument_kind kind) {
    return kind == BP__KERNEL_OPERAND || kind == BP__KERNEL_WORKSPACE || kind == BP__KERNEL_CONSTANT;
}

/* Writes a scalar of a run as the kernel takes it, and returns its bytes, at most 16. */
size_t bp__kernel_scalar_bytes(const bp__kernel_argument *argument, const bp_scalar *scalars, void *bytes);

/* Helpers for steps. */
static inline void bp__kernel_operand(bp__kernel_step *step, int index, size_t unit) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_OPERAND, .index = index, .unit = (uint32_t)unit};
}
static inline void bp__kernel_workspace(bp__kernel_step *step, size_t offset, size_t unit) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_WORKSPACE, .offset = offset, .unit = (uint32_t)unit};
}
static inline void bp__kernel_value(bp__kernel_step *step, const void *value, size_t size) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_VALUE, .value = value, .size = size};
}
static inline void bp__kernel_scalar(bp__kernel_step *step, int index, bp_dtype dtype) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_SCALAR, .index = index, .dtype = dtype};
}
static inline void bp__kernel_host_bytes(bp__kernel_step *step, int index, size_t size) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_HOST, .index = index, .size = size};
}
static inline void bp__kernel_constant(bp__kernel_step *step, const void *value, size_t size) {
    step->argument[step->argument_count++] =
        (bp__kernel_argument){.kind = BP__KERNEL_CONSTANT, .value = value, .size = size};
}

/* ---- What a provider describes ---- */

/* What a run of take or gather fails with that found an index out of range. */
#define BP__KERNEL_INDEX_TEXT "an index is below 0, or not below the size of its axis"

struct bp__kernel_backend {
    const char *provider; /* its name, for messages */
    /* Adds the options that the device requires. */
    void (*options)(const bp__kernel_device *device, bp__kernel_options *options);
    /* Builds a program, or takes its binary of an earlier process. */
    bp_status (*build)(bp__kernel_device *device, const char *source, const char *options, void **native);
    void (*drop)(bp__kernel_device *device, void *native);
    /* Makes memory on the device with these bytes, for BP__KERNEL_CONSTANT. */
    bp_status (*constant)(bp__kernel_device *device, const void *value, size_t size, void **memory);
    void (*constant_free)(bp__kernel_device *device, void *memory);
    /* Checks that the step's kernel can be made, and run in groups of that size. May set step->native. */
    bp_status (*check)(bp__kernel_device *device, bp__kernel_step *step);
    /* Of a plan: the bytes of its struct, the alignment of its workspace (0: the device's), what runs it, and what
     * frees all that runs have kept. */
    size_t plan_size, workspace_alignment;
    bp_status (*enqueue)(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
    void (*plan_end)(bp__kernel_plan *plan);
    /* Makes a prepared call, which the new one owns, report the int at the beginning of its workspace: if it is not 0,
     * the run counts as failed with BP_E_DEVICE and BP__KERNEL_INDEX_TEXT. `inner` is destroyed if that fails. */
    bp_status (*report_flag)(bp__kernel_device *device, bp_prepared *inner, bp_prepared **prepared);
};

/* ---- Operations (operations.c) ----
 *
 * One entry for each family of operations. accept() looks at the problem and at the facts of the device, which may be a
 * recorded one; plan() needs an open one. */
typedef struct bp__kernel_family {
    void (*accept)(const bp_host *host, const bp_device_info *device, const bp_problem *problem, bp_offers *offers);
    bp_status (*plan)(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared);
} bp__kernel_family;

extern const bp__kernel_family bp__kernel_gemm, bp__kernel_contract, bp__kernel_elementwise, bp__kernel_pad,
    bp__kernel_reduce, bp__kernel_layer_norm, bp__kernel_norm, bp__kernel_pool, bp__kernel_conv, bp__kernel_attention,
    bp__kernel_fft, bp__kernel_random;

/* accept() and plan() of a provider. */
void bp__kernel_accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers);
bp_status bp__kernel_plan_problem(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                                  const void *found, bp_prepared **prepared);

/* Adds a refusal. */
void bp__kernel_refuse(bp_offers *offers, bp_reason reason, const char *text);

#endif
