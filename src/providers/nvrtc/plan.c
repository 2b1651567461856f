/* plan.c - enqueues the steps of plans on a stream, and describes the backend.
 *
 * A kernel's memory is an address and an offset in elements. The offset is always 0 here: an address may lie anywhere
 * in a block. */
#include "providers/nvrtc/nvrtc.h"

#include <stdio.h>
#include <string.h>

enum { PARAMETERS_MOST = 2 * BP__KERNEL_ARGUMENTS_MOST, GROUPS_ACROSS_MOST = 65535 };

typedef struct nvrtc_plan {
    bp__kernel_plan base; /* must be first */
    atomic_bool captured; /* graphs may read its constants */
} nvrtc_plan;

/* ---- Runs ---- */

/* The values of a launch, and where they are. */
typedef struct parameters {
    void *at[PARAMETERS_MOST];
    uint64_t memory[PARAMETERS_MOST];
    double scalars[2][2];
    int count;
} parameters;

static void add_memory(parameters *p, uint64_t address) {
    static uint64_t first; /* 0 */
    p->memory[p->count] = address;
    p->at[p->count] = &p->memory[p->count];
    p->at[p->count + 1] = &first;
    p->count += 2;
}

static uint64_t address_of(const bp__kernel_argument *argument, const bp__nvrtc_run *run) {
    switch (argument->kind) {
    case BP__KERNEL_OPERAND:
        return bp__cu_address(&run->operands[argument->index]);
    case BP__KERNEL_WORKSPACE:
        return bp__cu_address(&run->exec->workspace) + argument->offset;
    default:
        return (uint64_t)(uintptr_t)argument->memory;
    }
}

static uint32_t alignment_of(const bp__kernel_argument *argument) {
    return argument->alignment ? argument->alignment : argument->unit ? argument->unit : 1;
}

static bp_status fail_address(const bp__kernel_device *device, const bp__kernel_argument *argument) {
    return argument->kind == BP__KERNEL_OPERAND
               ? device->host->fail(BP_E_UNSUPPORTED,
                                    "nvrtc: the address of operand %d is no multiple of %u bytes, which kernels need",
                                    argument->index, alignment_of(argument))
               : device->host->fail(BP_E_INTERNAL, "nvrtc: a workspace is not aligned to %u bytes",
                                    alignment_of(argument));
}

static bp_status fill(const bp__kernel_plan *plan, const bp__kernel_step *step, const bp__nvrtc_run *run,
                      parameters *p) {
    int scalars = 0;
    p->count = 0;
    for (int i = 0; i < step->argument_count; i++) {
        const bp__kernel_argument *argument = &step->argument[i];
        if (bp__kernel_has_memory(argument->kind)) {
            const uint64_t address = address_of(argument, run);
            if (address % alignment_of(argument) != 0) {
                return fail_address(plan->device, argument);
            }
            add_memory(p, address);
        } else if (argument->kind == BP__KERNEL_SCALAR) {
            bp__kernel_scalar_bytes(argument, run->exec->scalars, p->scalars[scalars]);
            p->at[p->count++] = p->scalars[scalars++];
        } else {
            p->at[p->count++] = argument->kind == BP__KERNEL_HOST ? bp_operand_address(&run->operands[argument->index])
                                                                  : (void *)(uintptr_t)argument->value;
        }
    }
    return BP_OK;
}

/* Returns the groups of a dimension. */
static unsigned groups_of(const bp__kernel_step *step, unsigned dimension) {
    return dimension < step->dimensions ? (unsigned)(step->global[dimension] / step->local[dimension]) : 1;
}

static unsigned items_of(const bp__kernel_step *step, unsigned dimension) {
    return dimension < step->dimensions ? (unsigned)step->local[dimension] : 1;
}

static bp_status launch(const bp__kernel_plan *plan, const bp__kernel_step *step, const bp__nvrtc_run *run,
                        CUstream stream) {
    parameters p;
    const bp_status status = fill(plan, step, run, &p);
    if (status != BP_OK) {
        return status;
    }
    const CUresult code =
        bp__cu.LaunchKernel(step->native, groups_of(step, 0), groups_of(step, 1), groups_of(step, 2), items_of(step, 0),
                            items_of(step, 1), items_of(step, 2), 0, stream, p.at, NULL);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->device->host, code, step->kernel);
}

/* Notes that graphs have the plan's constants, if the stream is being captured. */
static void note_capture(nvrtc_plan *plan, CUstream stream) {
    if (plan->base.has_constants && !atomic_load_explicit(&plan->captured, memory_order_relaxed) &&
        bp__cu_may_be_captured(stream)) {
        atomic_store_explicit(&plan->captured, true, memory_order_release);
    }
}

bp_status bp__nvrtc_enqueue_steps(const bp__kernel_plan *base, const bp__nvrtc_run *run, CUstream stream) {
    bp_status status = BP_OK;
    note_capture((nvrtc_plan *)(uintptr_t)base, stream);
    for (int i = 0; i < base->step_count && status == BP_OK; i++) {
        status = launch(base, &base->steps[i], run, stream);
    }
    return status;
}

static bp_status run_steps(const void *plan, void *run, const bp__cu_queue *queue) {
    return bp__nvrtc_enqueue_steps(plan, run, queue->native);
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__kernel_plan *plan = (const bp__kernel_plan *)self;
    bp__nvrtc_run run = {operands, exec};
    return bp__cu_vendor_enqueue(plan->device->host, exec, run_steps, plan, &run);
}

/* ---- Making and freeing ---- */

/* Keeps memory until the device is closed. Without memory for the list, it is never freed. */
static void keep(bp__nvrtc_device *device, void *memory) {
    bp__kernel_device *kernels = &device->kernels;
    pthread_mutex_lock(&kernels->mutex);
    if (device->captured_count == device->captured_capacity) {
        const int capacity = 2 * device->captured_capacity + 8;
        void **larger = kernels->host->allocate((size_t)capacity * sizeof *larger);
        if (larger) {
            for (int i = 0; i < device->captured_count; i++) {
                larger[i] = device->captured[i];
            }
            kernels->host->release(device->captured);
            device->captured = larger;
            device->captured_capacity = capacity;
        }
    }
    if (device->captured_count < device->captured_capacity) {
        device->captured[device->captured_count++] = memory;
    }
    pthread_mutex_unlock(&kernels->mutex);
}

static void plan_end(bp__kernel_plan *base) {
    nvrtc_plan *plan = (nvrtc_plan *)base;
    for (int i = 0; i < base->step_count && atomic_load_explicit(&plan->captured, memory_order_acquire); i++) {
        bp__kernel_step *step = &base->steps[i];
        for (int a = 0; a < step->argument_count; a++) {
            if (step->argument[a].memory) {
                keep(bp__nvrtc_device_of(base->device), step->argument[a].memory);
                step->argument[a].memory = NULL;
            }
        }
    }
}

/* Makes the stream of copies of constants, and the event behind a copy. */
static CUresult need_stream(bp__nvrtc_device *device) {
    CUresult code = BP__CU_SUCCESS;
    if (!device->stream) {
        code = bp__cu.StreamCreate(&device->stream, BP__CU_STREAM_NON_BLOCKING);
    }
    if (code == BP__CU_SUCCESS && !device->copied) {
        code = bp__cu.EventCreate(&device->copied, BP__CU_EVENT_DISABLE_TIMING);
    }
    return code;
}

/* Copies and waits: the caller's bytes may end with the call, and runs use any stream. */
static CUresult copy_and_wait(bp__nvrtc_device *device, CUdeviceptr to, const void *from, size_t size) {
    pthread_mutex_lock(&device->kernels.mutex);
    CUresult code = need_stream(device);
    code = code ? code : bp__cu.MemcpyHtoDAsync(to, from, size, device->stream);
    code = code ? code : bp__cu.EventRecord(device->copied, device->stream);
    code = code ? code : bp__cu.EventSynchronize(device->copied);
    pthread_mutex_unlock(&device->kernels.mutex);
    return code;
}

static bp_status make_constant(bp__kernel_device *kernels, const void *value, size_t size, void **memory) {
    bp__nvrtc_device *device = bp__nvrtc_device_of(kernels);
    bp__cu_scope scope;
    CUdeviceptr made = 0;
    CUresult code = bp__cu_enter(device->part.device, true, &scope);
    code = code ? code : bp__cu.MemAlloc(&made, size);
    code = code ? code : copy_and_wait(device, made, value, size);
    if (code != BP__CU_SUCCESS && made) {
        bp__cu.MemFree(made);
        made = 0;
    }
    bp__cu_leave(&scope);
    *memory = (void *)(uintptr_t)made;
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(kernels->host, code, "a constant of a plan");
}

static void free_constant(bp__kernel_device *kernels, void *memory) {
    bp__cu_scope scope;
    if (bp__cu_enter(bp__nvrtc_device_of(kernels)->part.device, true, &scope) == BP__CU_SUCCESS) {
        bp__cu.MemFree((CUdeviceptr)(uintptr_t)memory);
    }
    bp__cu_leave(&scope);
}

/* Checks what a launch needs: whole groups, and no more of them than a device has. */
static bp_status check_groups(const bp__kernel_device *kernels, const bp__kernel_step *step, int most) {
    size_t items = 1;
    for (unsigned i = 0; i < step->dimensions; i++) {
        const size_t groups = step->local[i] ? step->global[i] / step->local[i] : 0;
        items *= step->local[i];
        if (groups == 0 || groups * step->local[i] != step->global[i]) {
            return kernels->host->fail(BP_E_INTERNAL, "nvrtc: kernel %s has no whole groups", step->kernel);
        }
        if (groups > (i == 0 ? (size_t)INT32_MAX : GROUPS_ACROSS_MOST)) {
            return kernels->host->fail(BP_E_UNSUPPORTED, "nvrtc: kernel %s needs %zu groups in dimension %u",
                                       step->kernel, groups, i);
        }
    }
    return items <= (size_t)most
               ? BP_OK
               : kernels->host->fail(BP_E_UNSUPPORTED, "nvrtc: kernel %s needs groups of %zu work items; it has %d",
                                     step->kernel, items, most);
}

static bp_status check(bp__kernel_device *kernels, bp__kernel_step *step) {
    const bp__nvrtc_device *device = bp__nvrtc_device_of(kernels);
    bp__cu_scope scope;
    CUfunction function = NULL;
    int most = 0;
    CUresult code = bp__cu_enter(device->part.device, true, &scope);
    code = code ? code : bp__cu.ModuleGetFunction(&function, step->program->native, step->kernel);
    code = code ? code : bp__cu.FuncGetAttribute(&most, BP__CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        return bp__cu_fail(kernels->host, code, step->kernel);
    }
    step->native = function;
    return check_groups(kernels, step, most);
}

/* ---- The backend ---- */

/* Quotients and roots are rounded correctly by default. */
static void options(const bp__kernel_device *kernels, bp__kernel_options *options) {
    (void)kernels;
    bp__kernel_options_add(options, "--std=c++17 --device-as-default-execution-space --fmad=false -w -DEXACT_DIVIDE");
}

const bp__kernel_backend bp__nvrtc_backend = {
    .provider = "nvrtc",
    .options = options,
    .build = bp__nvrtc_build,
    .drop = bp__nvrtc_drop,
    .constant = make_constant,
    .constant_free = free_constant,
    .check = check,
    .plan_size = sizeof(nvrtc_plan),
    .workspace_alignment = 256,
    .enqueue = enqueue,
    .plan_end = plan_end,
    .report_flag = bp__nvrtc_report_flag,
};
