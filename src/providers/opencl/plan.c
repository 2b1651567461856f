/* plan.c - plans that enqueue kernels.
 *
 * A run takes a lease: a cl_kernel for each step, used by one thread at a time, because clSetKernelArg() changes the
 * kernel. What is constant is set once, when a lease is made. Unused leases wait in a few slots of the plan, which
 * threads empty and fill with one atomic exchange; a lease that finds no free slot is destroyed. */
#include "providers/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 8 };

typedef struct lease {
    int count;
    cl_kernel kernels[];
} lease;

typedef struct cl_plan {
    bp__kernel_plan base;
    _Atomic(lease *) slots[SLOTS];
} cl_plan;

static const bp__cl_device *device_of(const cl_plan *plan) {
    return bp__cl_device_of(plan->base.device);
}

/* ---- Kernels ---- */

static bp_status fail_kernel(const bp__cl_device *device, const bp__kernel_step *step, cl_int code,
                             const char *function) {
    char what[128];
    snprintf(what, sizeof what, "kernel %s: %s", step->kernel, function);
    return bp__cl_fail(device->host, code, what);
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
static bp_status set_constants(const bp__cl_device *device, const bp__kernel_step *step, cl_kernel kernel) {
    cl_uint at = 0;
    for (int i = 0; i < step->argument_count; i++) {
        const bp__kernel_argument *argument = &step->argument[i];
        cl_int code = BP__CL_SUCCESS;
        if (argument->kind == BP__KERNEL_VALUE) {
            code = device->cl->SetKernelArg(kernel, at, argument->size, argument->value);
        } else if (argument->kind == BP__KERNEL_CONSTANT) {
            code = set_memory(device->cl, kernel, at, argument->memory, 0, 1);
        }
        if (code != BP__CL_SUCCESS) {
            return fail_kernel(device, step, code, "clSetKernelArg");
        }
        at += bp__kernel_has_memory(argument->kind) ? 2 : 1;
    }
    return BP_OK;
}

static bp_status make_kernel(const bp__cl_device *device, const bp__kernel_step *step, cl_kernel *kernel) {
    cl_int code;
    *kernel = device->cl->CreateKernel(step->program->native, step->kernel, &code);
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

static void free_lease(const cl_plan *plan, lease *one) {
    for (int i = 0; one && i < one->count; i++) {
        device_of(plan)->cl->ReleaseKernel(one->kernels[i]);
    }
    device_of(plan)->host->release(one);
}

static bp_status make_lease(const cl_plan *plan, lease **made) {
    size_t size = sizeof(lease) + (size_t)plan->base.step_count * sizeof(cl_kernel);
    lease *fresh = device_of(plan)->host->allocate(size);
    if (!fresh) {
        return device_of(plan)->host->fail(BP_E_NO_MEMORY, "opencl: no memory for the kernels of a run");
    }
    bp_status status = BP_OK;
    for (fresh->count = 0; status == BP_OK && fresh->count < plan->base.step_count;) {
        status = make_kernel(device_of(plan), &plan->base.steps[fresh->count], &fresh->kernels[fresh->count]);
        fresh->count += status == BP_OK;
    }
    if (status != BP_OK) {
        free_lease(plan, fresh);
        return status;
    }
    *made = fresh;
    return BP_OK;
}

static bp_status take_lease(cl_plan *plan, lease **taken) {
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

static void give_lease(cl_plan *plan, lease *one) {
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

static cl_int set_scalar(const bp__cl_api *cl, cl_kernel kernel, cl_uint at, const bp__kernel_argument *argument,
                         const bp_scalar *scalars) {
    double bytes[2];
    const size_t size = bp__kernel_scalar_bytes(argument, scalars, bytes);
    return cl->SetKernelArg(kernel, at, size, bytes);
}

/* Sets the arguments that differ between runs. */
static cl_int set_arguments(const bp__cl_api *cl, const bp__kernel_step *step, cl_kernel kernel,
                            const bp_operand *operands, const bp_exec *exec) {
    cl_int code = BP__CL_SUCCESS;
    cl_uint at = 0;
    for (int i = 0; code == BP__CL_SUCCESS && i < step->argument_count; i++) {
        const bp__kernel_argument *argument = &step->argument[i];
        if (argument->kind == BP__KERNEL_OPERAND) {
            const bp_operand *operand = &operands[argument->index];
            code = set_memory(cl, kernel, at, operand->base, operand->offset, argument->unit);
            at += 2;
        } else if (argument->kind == BP__KERNEL_WORKSPACE) {
            uint64_t bytes = exec->workspace.offset + argument->offset;
            code = set_memory(cl, kernel, at, exec->workspace.base, bytes, argument->unit);
            at += 2;
        } else if (argument->kind == BP__KERNEL_HOST) {
            code = cl->SetKernelArg(kernel, at++, argument->size, bp_operand_address(&operands[argument->index]));
        } else {
            code = argument->kind == BP__KERNEL_SCALAR ? set_scalar(cl, kernel, at, argument, exec->scalars) : code;
            at += bp__kernel_has_memory(argument->kind) ? 2 : 1;
        }
    }
    return code;
}

static bp_status enqueue_step(const cl_plan *plan, const bp__kernel_step *step, cl_kernel kernel,
                              const bp_operand *operands, const bp_exec *exec, cl_command_queue queue,
                              cl_event *event) {
    const bp__cl_api *cl = device_of(plan)->cl;
    cl_int code = set_arguments(cl, step, kernel, operands, exec);
    if (code != BP__CL_SUCCESS) {
        return fail_kernel(device_of(plan), step, code, "clSetKernelArg");
    }
    code = cl->EnqueueNDRangeKernel(queue, kernel, step->dimensions, NULL, step->global, step->local, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : fail_kernel(device_of(plan), step, code, "clEnqueueNDRangeKernel");
}

static bp_status enqueue_steps(const cl_plan *plan, const lease *used, const bp_operand *operands, const bp_exec *exec,
                               cl_command_queue queue, cl_event *event) {
    bp_status status = BP_OK;
    for (int i = 0; status == BP_OK && i < plan->base.step_count; i++) {
        cl_event *last = i == plan->base.step_count - 1 ? event : NULL;
        status = enqueue_step(plan, &plan->base.steps[i], used->kernels[i], operands, exec, queue, last);
    }
    return status;
}

static bp_status enqueue_mark(const bp__cl_device *device, cl_command_queue queue, cl_event *event) {
    cl_int code = device->cl->EnqueueMarkerWithWaitList(queue, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(device->host, code, "clEnqueueMarkerWithWaitList");
}

/* A plan may have no steps, if nothing is to be computed. */
static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    cl_plan *plan = (cl_plan *)(uintptr_t)self; /* only its slots change */
    const bp_host *host = device_of(plan)->host;
    const bp__cl_queue *queue = host->queue(exec->queue);
    lease *used = NULL;
    cl_event event = NULL;
    bp_status status = plan->base.step_count ? take_lease(plan, &used) : BP_OK;
    if (status == BP_OK) {
        status = used ? enqueue_steps(plan, used, operands, exec, queue->native, &event)
                      : enqueue_mark(device_of(plan), queue->native, &event);
        give_lease(plan, used);
    }
    device_of(plan)->cl->Flush(queue->native); /* also if a later step failed: the earlier ones are enqueued */
    return status == BP_OK ? host->enqueued(exec->queue, event) : status;
}

/* ---- The backend ---- */

static void free_leases(bp__kernel_plan *base) {
    cl_plan *plan = (cl_plan *)base;
    for (int i = 0; i < SLOTS; i++) {
        free_lease(plan, atomic_load_explicit(&plan->slots[i], memory_order_acquire));
    }
}

static bp_status make_constant(bp__kernel_device *kernels, const void *value, size_t size, void **memory) {
    enum { READ_ONLY_COPY = 4 | 32 }; /* CL_MEM_READ_ONLY, CL_MEM_COPY_HOST_PTR */
    const bp__cl_device *device = bp__cl_device_of(kernels);
    cl_int code;
    *memory = device->cl->CreateBuffer(device->context, READ_ONLY_COPY, size, (void *)(uintptr_t)value, &code);
    return *memory ? BP_OK : bp__cl_fail(device->host, code, "clCreateBuffer");
}

static void free_constant(bp__kernel_device *kernels, void *memory) {
    bp__cl_device_of(kernels)->cl->ReleaseMemObject(memory);
}

/* Checks that the kernel can run in groups of this size on the device: registers and local memory limit them. */
static bp_status check_group(const bp__cl_device *device, const bp__kernel_step *step, cl_kernel kernel) {
    size_t most = 0, items = 1;
    cl_int code =
        device->cl->GetKernelWorkGroupInfo(kernel, device->id, BP__CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (code != BP__CL_SUCCESS) {
        return fail_kernel(device, step, code, "clGetKernelWorkGroupInfo");
    }
    for (cl_uint i = 0; i < step->dimensions; i++) {
        items *= step->local[i];
    }
    return items <= most ? BP_OK
                         : device->host->fail(BP_E_UNSUPPORTED,
                                              "opencl: kernel %s needs groups of %zu work items; '%s' runs at most %zu",
                                              step->kernel, items, device->facts.name, most);
}

/* Makes the kernel of a step once: its first lease needs all of them, so this one only proves that it can be made. */
static bp_status check(bp__kernel_device *kernels, bp__kernel_step *step) {
    const bp__cl_device *device = bp__cl_device_of(kernels);
    cl_kernel kernel;
    bp_status status = make_kernel(device, step, &kernel);
    if (status == BP_OK) {
        status = check_group(device, step, kernel);
        device->cl->ReleaseKernel(kernel);
    }
    return status;
}

const bp__kernel_backend bp__cl_backend = {
    .provider = "opencl",
    .options = bp__cl_program_options,
    .build = bp__cl_program_build,
    .drop = bp__cl_program_drop,
    .constant = make_constant,
    .constant_free = free_constant,
    .check = check,
    .plan_size = sizeof(cl_plan),
    .enqueue = enqueue,
    .plan_end = free_leases,
    .report_flag = bp__cl_report_flag,
};
