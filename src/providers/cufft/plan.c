/* plan.c - makes and frees plans of transforms, with a plan of cuFFT for each step.
 *
 * cuFFT's plans allocate no workspace: its size is part of the workspace of a run. They have tables in the memory of
 * the device, which graphs read that have captured a run. So a plan that was captured is kept until its device closes.
 */
#include "providers/cufft/cufft.h"

#include <string.h>

enum { ALIGNMENT = 256 };

static uint64_t aligned(uint64_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- Freeing ---- */

void bp__cufft_plan_free(bp__cufft_prepared *plan) {
    for (int i = 0; i < plan->made; i++) {
        plan->instance->api.Destroy(plan->handles[i]);
    }
    pthread_mutex_destroy(&plan->mutex);
    plan->instance->vendor.host->release(plan);
}

static void keep(bp__cufft_prepared *plan) {
    pthread_mutex_lock(&plan->instance->vendor.mutex);
    plan->next = plan->on->captured;
    plan->on->captured = plan;
    pthread_mutex_unlock(&plan->instance->vendor.mutex);
}

static void destroy(bp_prepared *self) {
    bp__cufft_prepared *plan = (bp__cufft_prepared *)self;
    bp__cu_scope scope;
    if (atomic_load_explicit(&plan->captured, memory_order_acquire)) {
        keep(plan);
        return;
    }
    (void)bp__cu_enter(plan->on->part.device, true, &scope);
    bp__cufft_plan_free(plan);
    bp__cu_leave(&scope);
}

/* ---- Making ---- */

/* Returns the type of elements that one end of a step has. */
static cudaDataType type_of(const bp__cufft_prepared *plan, const bp__cufft_step *step, int end) {
    const bool single =
        plan->route.element[step->side[end]] == BP__CUFFT_F32 || plan->route.element[step->side[end]] == BP__CUFFT_C64;
    const bool real = step->kind == (end == 0 ? BP_FFT_R2C : BP_FFT_C2R);
    return real ? (single ? BP__CUDA_R_32F : BP__CUDA_R_64F) : single ? BP__CUDA_C_32F : BP__CUDA_C_64F;
}

/* Makes the plan of a step. The device was entered. */
static cufftResult make_handle(bp__cufft_prepared *plan, const bp__cufft_step *given, size_t *size) {
    const bp__cufft_api *api = &plan->instance->api;
    bp__cufft_step step = *given; /* the library takes arrays that are not constant */
    cufftHandle *handle = &plan->handles[plan->made];
    const cudaDataType in = type_of(plan, given, 0), out = type_of(plan, given, 1);
    cufftResult status = api->Create(handle);
    if (status != BP__CUFFT_SUCCESS) {
        return status;
    }
    plan->made++;
    status = api->SetAutoAllocation(*handle, 0);
    return status ? status
                  : api->MakePlanMany(*handle, step.rank, step.n, step.embed[0], step.stride[0], step.dist[0], in,
                                      step.embed[1], step.stride[1], step.dist[1], out, step.batch, size,
                                      given->kind == BP_FFT_R2C ? out : in);
}

/* Makes the plans of all steps, one at a time in a process, as they take the library's locks and the driver's. */
static cufftResult make_handles(bp__cufft_prepared *plan, size_t *most) {
    cufftResult status = BP__CUFFT_SUCCESS;
    *most = 0;
    pthread_mutex_lock(&plan->instance->vendor.mutex);
    for (int i = 0; i < plan->route.step_count && status == BP__CUFFT_SUCCESS; i++) {
        size_t size = 0;
        status = make_handle(plan, &plan->route.steps[i], &size);
        *most = size > *most ? size : *most;
    }
    pthread_mutex_unlock(&plan->instance->vendor.mutex);
    return status;
}

/* The workspace: copies of the operands, then the library's own part, which its steps use one after the other. */
static void lay_out(bp__cufft_prepared *plan, size_t own) {
    uint64_t used = 0;
    for (int side = 0; side < BP__CUFFT_SIDES; side++) {
        plan->at[side] = used;
        used += plan->route.buffered[side] ? aligned(plan->route.bytes[side]) : 0;
    }
    plan->work_at = used;
    plan->prepared.workspace = (size_t)(used + own);
    plan->prepared.workspace_alignment = ALIGNMENT;
}

static bool needs_kernels(const bp__cufft_route *r) {
    return r->buffered[BP__CUFFT_SOURCE] || (r->after_count > 0 && (r->changed || r->buffered[BP__CUFFT_TARGET]));
}

static bp_status make(bp__cufft_prepared *plan) {
    const bp__cufft_instance *instance = plan->instance;
    bp__cu_scope scope;
    size_t own = 0;
    if (needs_kernels(&plan->route) && !plan->on->kernels.module) {
        return instance->vendor.host->fail(BP_E_UNSUPPORTED,
                                           "cufft: the driver has not loaded the kernels that copy and scale");
    }
    const CUresult code = bp__cu_enter(plan->on->part.device, true, &scope);
    const cufftResult status = code == BP__CU_SUCCESS ? make_handles(plan, &own) : BP__CUFFT_SUCCESS;
    bp__cu_leave(&scope);
    lay_out(plan, own);
    return code     ? bp__cu_fail(instance->vendor.host, code, "cuCtxPushCurrent")
           : status ? bp__cu_vendor_fail(&instance->vendor, plan->on->part.device, status, "cufftXtMakePlanMany")
                    : BP_OK;
}

bp_status bp__cufft_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                         bp_prepared **prepared) {
    bp__cufft_instance *instance = opaque;
    bp__cu_part *on = NULL;
    void *device = NULL;
    (void)verdict;
    bp_status status = instance->vendor.host->device_open(problem->place, &device);
    status = status == BP_OK ? bp__cu_vendor_part(&instance->vendor, device, &on) : status;
    if (status != BP_OK) {
        return status;
    }
    bp__cufft_prepared *plan = bp__cu_vendor_plan(&instance->vendor, sizeof *plan);
    if (!plan) {
        return BP_E_NO_MEMORY;
    }
    plan->prepared =
        (bp_prepared){.struct_size = sizeof(bp_prepared), .enqueue = bp__cufft_enqueue, .destroy = destroy};
    plan->instance = instance;
    plan->on = (bp__cufft_device *)on;
    memcpy(&plan->route, found, sizeof plan->route);
    pthread_mutex_init(&plan->mutex, NULL);
    status = make(plan);
    if (status != BP_OK) {
        destroy(&plan->prepared);
        return status;
    }
    *prepared = &plan->prepared;
    return BP_OK;
}
