/* plan.c - makes plans from steps. */
#include "providers/kernels/kernels.h"

#include <string.h>

static bp_status fail_memory(const bp__kernel_device *device) {
    return device->host->fail(BP_E_NO_MEMORY, "%s: no memory for a plan", device->backend->provider);
}

/* ---- Scalars ---- */

size_t bp__kernel_scalar_bytes(const bp__kernel_argument *argument, const bp_scalar *scalars, void *bytes) {
    const bp_scalar value = scalars ? scalars[argument->index] : (bp_scalar){.re = argument->index == 0 ? 1 : 0};
    const double wide[2] = {value.re, value.im};
    const float narrow[2] = {(float)value.re, (float)value.im};
    const bool is_wide = argument->dtype == BP_F64 || argument->dtype == BP_C128;
    const bool is_complex = argument->dtype == BP_C64 || argument->dtype == BP_C128;
    const size_t size = (is_wide ? sizeof wide[0] : sizeof narrow[0]) * (is_complex ? 2 : 1);
    memcpy(bytes, is_wide ? (const void *)wide : narrow, size);
    return size;
}

/* ---- Making and freeing ---- */

static void free_values(bp__kernel_device *device, const bp__kernel_step *step) {
    for (int i = 0; i < step->argument_count; i++) {
        device->host->release((void *)(uintptr_t)step->argument[i].value);
        if (step->argument[i].memory) {
            device->backend->constant_free(device, step->argument[i].memory);
        }
    }
}

void bp__kernel_plan_free(bp__kernel_plan *plan) {
    const bp_host *host = plan->device->host;
    plan->device->backend->plan_end(plan);
    for (int i = 0; i < plan->step_count; i++) {
        free_values(plan->device, &plan->steps[i]);
    }
    host->release(plan->steps);
    host->release(plan);
}

static void destroy(bp_prepared *self) {
    bp__kernel_plan_free((bp__kernel_plan *)self);
}

bp_status bp__kernel_plan_new(bp__kernel_device *device, size_t workspace, bp__kernel_plan **plan) {
    const bp__kernel_backend *backend = device->backend;
    bp__kernel_plan *fresh = device->host->allocate(backend->plan_size);
    if (!fresh) {
        return fail_memory(device);
    }
    memset(fresh, 0, backend->plan_size);
    fresh->prepared = (bp_prepared){.struct_size = sizeof(bp_prepared),
                                    .enqueue = backend->enqueue,
                                    .destroy = destroy,
                                    .workspace = workspace,
                                    .workspace_alignment = backend->workspace_alignment};
    fresh->device = device;
    *plan = fresh;
    return BP_OK;
}

/* Makes space for one more step. */
static bool grow(bp__kernel_plan *plan) {
    enum { STEPS_AT_FIRST = 4 };
    if (plan->step_count < plan->capacity) {
        return true;
    }
    const bp_host *host = plan->device->host;
    const int capacity = plan->capacity ? 2 * plan->capacity : STEPS_AT_FIRST;
    bp__kernel_step *larger = host->allocate((size_t)capacity * sizeof *larger);
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
static bp_status copy_value(bp__kernel_device *device, bp__kernel_argument *argument) {
    const void *const value = argument->value;
    argument->value = NULL;
    argument->memory = NULL;
    if (argument->kind == BP__KERNEL_CONSTANT) {
        return device->backend->constant(device, value, argument->size, &argument->memory);
    }
    if (value) {
        void *copy = device->host->allocate(argument->size);
        if (!copy) {
            return fail_memory(device);
        }
        memcpy(copy, value, argument->size);
        argument->value = copy;
    }
    return BP_OK;
}

static bp_status copy_values(bp__kernel_device *device, bp__kernel_step *step) {
    bp_status status = BP_OK;
    for (int i = 0; i < step->argument_count; i++) {
        status = copy_value(device, &step->argument[i]);
        if (status != BP_OK) {
            step->argument_count = i; /* the rest still has the caller's values */
        }
    }
    return status;
}

bp_status bp__kernel_plan_add(bp__kernel_plan *plan, const bp__kernel_step *step) {
    bp__kernel_step own = *step;
    bp_status status = copy_values(plan->device, &own);
    if (status == BP_OK) {
        status = grow(plan) ? plan->device->backend->check(plan->device, &own) : fail_memory(plan->device);
    }
    if (status != BP_OK) {
        free_values(plan->device, &own);
        return status;
    }
    for (int i = 0; i < own.argument_count; i++) {
        plan->has_constants |= own.argument[i].memory != NULL;
    }
    plan->steps[plan->step_count++] = own;
    return BP_OK;
}
