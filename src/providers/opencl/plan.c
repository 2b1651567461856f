/* plan.c - plans that enqueue kernels.
 *
 * A run takes a lease: a cl_kernel for each step, used by one thread at a time, because clSetKernelArg() changes the
 * kernel. What is constant is set once, when a lease is made. Unused leases wait in a few slots of the plan, which
 * threads empty and fill with one atomic exchange; a lease that finds no free slot is destroyed. */
#include "providers/opencl/program.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 8, STEPS_AT_FIRST = 4 };

typedef struct lease {
    int count;
    cl_kernel kernels[];
} lease;

struct bp__cl_plan {
    bp_prepared prepared;
    bp__cl_device *device;
    int step_count, capacity;
    bp__cl_step *steps; /* values are copies that the plan owns */
    _Atomic(lease *) slots[SLOTS];
};

/* ---- Kernels ---- */

static bp_status fail_kernel(const bp__cl_device *device, const bp__cl_step *step, cl_int code, const char *function) {
    char what[128];
    snprintf(what, sizeof what, "kernel %s: %s", step->kernel, function);
    return bp__cl_fail(device->host, code, what);
}

/* Whether it is two arguments of the kernel: memory and an offset. */
static bool has_memory(bp__cl_argument_kind kind) {
    return kind == BP__CL_OPERAND || kind == BP__CL_WORKSPACE || kind == BP__CL_CONSTANT;
}

/* The offset is a multiple of the unit, because operands are aligned to their elements. */
static cl_int set_memory(const bp__cl_api *cl, cl_kernel kernel, cl_uint at, void *base, uint64_t bytes,
                         uint32_t unit) {
    cl_mem memory = base;
    cl_ulong first = base ? bytes / unit : 0;
    cl_int code = cl->SetKernelArg(kernel, at, sizeof memory, base ? &memory : NULL);
    return code ? code : cl->SetKernelArg(kernel, at + 1, sizeof first, &first);
}

/* Sets the arguments that are the same in each run. */
static bp_status set_constants(const bp__cl_device *device, const bp__cl_step *step, cl_kernel kernel) {
    cl_uint at = 0;
    for (int i = 0; i < step->argument_count; i++) {
        const bp__cl_argument *argument = &step->argument[i];
        cl_int code = BP__CL_SUCCESS;
        if (argument->kind == BP__CL_VALUE || argument->kind == BP__CL_LOCAL) {
            const void *value = argument->kind == BP__CL_VALUE ? argument->value : NULL;
            code = device->cl->SetKernelArg(kernel, at, argument->size, value);
        } else if (argument->kind == BP__CL_CONSTANT) {
            code = set_memory(device->cl, kernel, at, argument->memory, 0, 1);
        }
        if (code != BP__CL_SUCCESS) {
            return fail_kernel(device, step, code, "clSetKernelArg");
        }
        at += has_memory(argument->kind) ? 2 : 1;
    }
    return BP_OK;
}

static bp_status make_kernel(const bp__cl_device *device, const bp__cl_step *step, cl_kernel *kernel) {
    cl_int code;
    *kernel = device->cl->CreateKernel(bp__cl_program_native(step->program), step->kernel, &code);
    if (!*kernel) {
        return fail_kernel(device, step, code, "clCreateKernel");
    }
    bp_status status = set_constants(device, step, *kernel);
    if (status != BP_OK) {
        device->cl->ReleaseKernel(*kernel);
    }
    return status;
}

/* ---- Leases ---- */

static void free_lease(const bp__cl_plan *plan, lease *one) {
    for (int i = 0; one && i < one->count; i++) {
        plan->device->cl->ReleaseKernel(one->kernels[i]);
    }
    plan->device->host->release(one);
}

static bp_status make_lease(const bp__cl_plan *plan, lease **made) {
    size_t size = sizeof(lease) + (size_t)plan->step_count * sizeof(cl_kernel);
    lease *fresh = plan->device->host->allocate(size);
    if (!fresh) {
        return plan->device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for the kernels of a run");
    }
    bp_status status = BP_OK;
    for (fresh->count = 0; status == BP_OK && fresh->count < plan->step_count;) {
        status = make_kernel(plan->device, &plan->steps[fresh->count], &fresh->kernels[fresh->count]);
        fresh->count += status == BP_OK;
    }
    if (status != BP_OK) {
        free_lease(plan, fresh);
        return status;
    }
    *made = fresh;
    return BP_OK;
}

static bp_status take_lease(bp__cl_plan *plan, lease **taken) {
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_load_explicit(&plan->slots[i], memory_order_relaxed)) {
            *taken = atomic_exchange_explicit(&plan->slots[i], NULL, memory_order_acquire);
            if (*taken) {
                return BP_OK;
            }
        }
    }
    return make_lease(plan, taken);
}

static void give_lease(bp__cl_plan *plan, lease *one) {
    for (int i = 0; one && i < SLOTS; i++) {
        if (!atomic_load_explicit(&plan->slots[i], memory_order_relaxed)) {
            one = atomic_exchange_explicit(&plan->slots[i], one, memory_order_acq_rel);
        }
    }
    if (one) {
        free_lease(plan, one);
    }
}

/* ---- Runs ---- */

static cl_int set_scalar(const bp__cl_api *cl, cl_kernel kernel, cl_uint at, const bp__cl_argument *argument,
                         const bp_scalar *scalars) {
    const bp_scalar value = scalars ? scalars[argument->index] : (bp_scalar){.re = argument->index == 0 ? 1 : 0};
    const double wide[2] = {value.re, value.im};
    const float narrow[2] = {(float)value.re, (float)value.im};
    switch (argument->dtype) {
    case BP_F64:
        return cl->SetKernelArg(kernel, at, sizeof wide[0], wide);
    case BP_C128:
        return cl->SetKernelArg(kernel, at, sizeof wide, wide);
    case BP_C64:
        return cl->SetKernelArg(kernel, at, sizeof narrow, narrow);
    default:
        return cl->SetKernelArg(kernel, at, sizeof narrow[0], narrow);
    }
}

/* Sets the arguments that differ between runs. */
static cl_int set_arguments(const bp__cl_api *cl, const bp__cl_step *step, cl_kernel kernel, const bp_operand *operands,
                            const bp_exec *exec) {
    cl_int code = BP__CL_SUCCESS;
    cl_uint at = 0;
    for (int i = 0; code == BP__CL_SUCCESS && i < step->argument_count; i++) {
        const bp__cl_argument *argument = &step->argument[i];
        if (argument->kind == BP__CL_OPERAND) {
            const bp_operand *operand = &operands[argument->index];
            code = set_memory(cl, kernel, at, operand->base, operand->offset, argument->unit);
            at += 2;
        } else if (argument->kind == BP__CL_WORKSPACE) {
            uint64_t bytes = exec->workspace.offset + argument->offset;
            code = set_memory(cl, kernel, at, exec->workspace.base, bytes, argument->unit);
            at += 2;
        } else if (argument->kind == BP__CL_HOST) {
            code = cl->SetKernelArg(kernel, at++, argument->size, bp_operand_address(&operands[argument->index]));
        } else {
            code = argument->kind == BP__CL_SCALAR ? set_scalar(cl, kernel, at, argument, exec->scalars) : code;
            at += has_memory(argument->kind) ? 2 : 1;
        }
    }
    return code;
}

static bp_status enqueue_step(const bp__cl_plan *plan, const bp__cl_step *step, cl_kernel kernel,
                              const bp_operand *operands, const bp_exec *exec, cl_command_queue queue,
                              cl_event *event) {
    const bp__cl_api *cl = plan->device->cl;
    cl_int code = set_arguments(cl, step, kernel, operands, exec);
    if (code != BP__CL_SUCCESS) {
        return fail_kernel(plan->device, step, code, "clSetKernelArg");
    }
    const size_t *local = step->local[0] ? step->local : NULL;
    code = cl->EnqueueNDRangeKernel(queue, kernel, step->dimensions, NULL, step->global, local, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : fail_kernel(plan->device, step, code, "clEnqueueNDRangeKernel");
}

static bp_status enqueue_steps(const bp__cl_plan *plan, const lease *used, const bp_operand *operands,
                               const bp_exec *exec, cl_command_queue queue, cl_event *event) {
    bp_status status = BP_OK;
    for (int i = 0; status == BP_OK && i < plan->step_count; i++) {
        cl_event *last = i == plan->step_count - 1 ? event : NULL;
        status = enqueue_step(plan, &plan->steps[i], used->kernels[i], operands, exec, queue, last);
    }
    return status;
}

static bp_status enqueue_mark(const bp__cl_device *device, cl_command_queue queue, cl_event *event) {
    cl_int code = device->cl->EnqueueMarkerWithWaitList(queue, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(device->host, code, "clEnqueueMarkerWithWaitList");
}

/* A plan may have no steps, if nothing is to be computed. */
static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    bp__cl_plan *plan = (bp__cl_plan *)(uintptr_t)self; /* only its slots change */
    const bp_host *host = plan->device->host;
    const bp__cl_queue *queue = host->queue(exec->queue);
    lease *used = NULL;
    cl_event event = NULL;
    bp_status status = plan->step_count ? take_lease(plan, &used) : BP_OK;
    if (status == BP_OK) {
        status = used ? enqueue_steps(plan, used, operands, exec, queue->native, &event)
                      : enqueue_mark(plan->device, queue->native, &event);
        give_lease(plan, used);
    }
    plan->device->cl->Flush(queue->native); /* also if a later step failed: the earlier ones are enqueued */
    return status == BP_OK ? host->enqueued(exec->queue, event) : status;
}

/* ---- Making and freeing ---- */

static void free_values(const bp__cl_device *device, const bp__cl_step *step) {
    for (int i = 0; i < step->argument_count; i++) {
        device->host->release((void *)(uintptr_t)step->argument[i].value);
        if (step->argument[i].memory) {
            device->cl->ReleaseMemObject(step->argument[i].memory);
        }
    }
}

void bp__cl_plan_free(bp__cl_plan *plan) {
    const bp_host *host = plan->device->host;
    for (int i = 0; i < SLOTS; i++) {
        free_lease(plan, atomic_load_explicit(&plan->slots[i], memory_order_acquire));
    }
    for (int i = 0; i < plan->step_count; i++) {
        free_values(plan->device, &plan->steps[i]);
    }
    host->release(plan->steps);
    host->release(plan);
}

static void destroy(bp_prepared *self) {
    bp__cl_plan_free((bp__cl_plan *)self);
}

bp_status bp__cl_plan_new(bp__cl_device *device, size_t workspace, bp__cl_plan **plan) {
    bp__cl_plan *fresh = device->host->allocate(sizeof *fresh);
    if (!fresh) {
        return device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a plan");
    }
    memset(fresh, 0, sizeof *fresh);
    fresh->prepared = (bp_prepared){
        .struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy, .workspace = workspace};
    fresh->device = device;
    *plan = fresh;
    return BP_OK;
}

bp_prepared *bp__cl_plan_prepared(bp__cl_plan *plan) {
    return &plan->prepared;
}

/* Makes space for one more step. */
static bool grow(bp__cl_plan *plan) {
    if (plan->step_count < plan->capacity) {
        return true;
    }
    const bp_host *host = plan->device->host;
    int capacity = plan->capacity ? 2 * plan->capacity : STEPS_AT_FIRST;
    bp__cl_step *larger = host->allocate((size_t)capacity * sizeof *larger);
    if (!larger) {
        return false;
    }
    for (int i = 0; i < plan->step_count; i++) {
        larger[i] = plan->steps[i];
    }
    host->release(plan->steps);
    plan->steps = larger;
    plan->capacity = capacity;
    return true;
}

/* Replaces a value with a copy: on the host, or of a constant on the device. */
static bp_status copy_value(const bp__cl_device *device, bp__cl_argument *argument) {
    enum { READ_ONLY_COPY = 4 | 32 }; /* CL_MEM_READ_ONLY, CL_MEM_COPY_HOST_PTR */
    void *const value = (void *)(uintptr_t)argument->value;
    cl_int code;
    argument->value = NULL;
    argument->memory = NULL;
    if (argument->kind == BP__CL_CONSTANT) {
        argument->memory = device->cl->CreateBuffer(device->context, READ_ONLY_COPY, argument->size, value, &code);
        return argument->memory ? BP_OK : bp__cl_fail(device->host, code, "clCreateBuffer");
    }
    if (value) {
        void *copy = device->host->allocate(argument->size);
        if (!copy) {
            return device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a plan");
        }
        memcpy(copy, value, argument->size);
        argument->value = copy;
    }
    return BP_OK;
}

static bp_status copy_values(const bp__cl_device *device, bp__cl_step *step) {
    bp_status status = BP_OK;
    for (int i = 0; i < step->argument_count; i++) {
        status = copy_value(device, &step->argument[i]);
        if (status != BP_OK) {
            step->argument_count = i; /* the rest still has the caller's values */
        }
    }
    return status;
}

/* Checks that the kernel can run in groups of this size on the device: registers and local memory limit them. */
static bp_status check_group(const bp__cl_device *device, const bp__cl_step *step, cl_kernel kernel) {
    size_t most = 0, items = 1;
    cl_int code =
        device->cl->GetKernelWorkGroupInfo(kernel, device->id, BP__CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (code != BP__CL_SUCCESS) {
        return fail_kernel(device, step, code, "clGetKernelWorkGroupInfo");
    }
    for (cl_uint i = 0; i < step->dimensions && step->local[0]; i++) {
        items *= step->local[i];
    }
    return items <= most ? BP_OK
                         : device->host->fail(BP_E_UNSUPPORTED,
                                              "opencl: kernel %s needs groups of %zu work items; '%s' runs at most %zu",
                                              step->kernel, items, device->facts.name, most);
}

/* Makes the kernel of a step once: its first lease needs all of them, so this one only proves that it can be made. */
static bp_status try_kernel(const bp__cl_device *device, const bp__cl_step *step) {
    cl_kernel kernel;
    bp_status status = make_kernel(device, step, &kernel);
    if (status == BP_OK) {
        status = check_group(device, step, kernel);
        device->cl->ReleaseKernel(kernel);
    }
    return status;
}

bp_status bp__cl_plan_add(bp__cl_plan *plan, const bp__cl_step *step) {
    bp__cl_step own = *step;
    bp_status status = copy_values(plan->device, &own);
    if (status == BP_OK) {
        status = grow(plan) ? try_kernel(plan->device, &own)
                            : plan->device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for a plan");
    }
    if (status != BP_OK) {
        free_values(plan->device, &own);
        return status;
    }
    plan->steps[plan->step_count++] = own;
    return BP_OK;
}
