/* plan.c - makes plans: lays out the workspace, with what cuSOLVER's routines need of it. */
#include "providers/cusolver/cusolver.h"

#include <string.h>

enum { ALIGNMENT = 256 };

/* Reserves bytes of the workspace; returns their offset. */
static uint64_t reserve(bp__cusolver_prepared *plan, uint64_t bytes) {
    const uint64_t at = plan->prepared.workspace;
    plan->prepared.workspace = (size_t)(at + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return at;
}

/* The matrices, the infos and flags of the items, which are cleared together, the report, and the library's part. */
static void lay_out(bp__cusolver_prepared *plan) {
    const uint64_t items = (uint64_t)plan->problem.of.linalg.batch;
    for (int i = 0; i < plan->route.buffer_count; i++) {
        plan->route.buffers[i].at = reserve(plan, plan->route.buffers[i].item * items);
    }
    plan->info_at = reserve(plan, items * sizeof(int32_t));
    plan->flags_at = reserve(plan, items * sizeof(int32_t));
    plan->zeroed = plan->flags_at + items * sizeof(int32_t) - plan->info_at;
    plan->other_info_at = reserve(plan, sizeof(int32_t));
    plan->report_at = reserve(plan, BP__CUSOLVER_REPORT_BYTES);
    plan->work_at = reserve(plan, plan->work_size);
}

static void destroy(bp_prepared *self) {
    bp__cusolver_prepared *plan = (bp__cusolver_prepared *)self;
    const bp_host *host = plan->instance->vendor.host;
    if (plan->host_work) {
        host->release(plan->host_work);
    }
    host->release(plan);
}

/* Asks for the largest workspaces of all steps, which use them one after the other. The device was entered. */
static cusolverStatus_t ask_sizes(bp__cusolver_prepared *plan) {
    cusolverStatus_t status = BP__CUSOLVER_STATUS_SUCCESS;
    pthread_mutex_lock(&plan->on->mutex);
    for (int i = 0; i < plan->route.step_count && status == BP__CUSOLVER_STATUS_SUCCESS; i++) {
        size_t device = 0, host = 0;
        if (plan->route.steps[i].is_call) {
            status = bp__cusolver_sizes(plan, &plan->route.steps[i], &device, &host);
        }
        plan->work_size = device > plan->work_size ? device : plan->work_size;
        plan->host_work_size = host > plan->host_work_size ? host : plan->host_work_size;
    }
    pthread_mutex_unlock(&plan->on->mutex);
    return status;
}

static bp_status make(bp__cusolver_prepared *plan) {
    const bp_host *host = plan->instance->vendor.host;
    bp__cu_scope scope;
    const CUresult code = bp__cu_enter(plan->on->part.device, true, &scope);
    const cusolverStatus_t status = code == BP__CU_SUCCESS ? ask_sizes(plan) : BP__CUSOLVER_STATUS_SUCCESS;
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        return bp__cu_fail(host, code, "cuCtxPushCurrent");
    }
    if (status == BP__CUSOLVER_STATUS_INVALID_VALUE) { /* as for eigenvalues of matrices that are too large for it */
        return host->fail(BP_E_UNSUPPORTED, "cusolver: the library has no workspace for matrices of this size");
    }
    if (status != BP__CUSOLVER_STATUS_SUCCESS) {
        return bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, status, "the size of a workspace");
    }
    if (plan->host_work_size > 0) {
        plan->host_work = host->allocate(plan->host_work_size);
        if (!plan->host_work) {
            return host->fail(BP_E_NO_MEMORY, "cusolver: no memory for the %zu bytes of a workspace",
                              plan->host_work_size);
        }
    }
    lay_out(plan);
    return BP_OK;
}

static cudaDataType type_of(uint32_t dtype) {
    return dtype == BP_F32   ? BP__CUDA_R_32F
           : dtype == BP_F64 ? BP__CUDA_R_64F
           : dtype == BP_C64 ? BP__CUDA_C_32F
                             : BP__CUDA_C_64F;
}

bp_status bp__cusolver_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **prepared) {
    bp__cusolver_instance *instance = opaque;
    bp__cu_part *on = NULL;
    void *device = NULL;
    (void)verdict, (void)found;
    if (bp_policy_linalg_library(&problem->policy) == BP_LINALG_BY_MAGMA) {
        instance->vendor.host->warn("cuda.preferred_linalg_library: " BP__CUSOLVER_NO_MAGMA);
    }
    bp_status status = instance->vendor.host->device_open(problem->place, &device);
    status = status == BP_OK ? bp__cu_vendor_part(&instance->vendor, device, &on) : status;
    if (status != BP_OK) {
        return status;
    }
    bp__cusolver_prepared *plan = bp__cu_vendor_plan(&instance->vendor, sizeof *plan);
    if (!plan) {
        return BP_E_NO_MEMORY;
    }
    plan->prepared = (bp_prepared){.struct_size = sizeof(bp_prepared),
                                   .enqueue = bp__cusolver_enqueue,
                                   .destroy = destroy,
                                   .workspace_alignment = ALIGNMENT};
    plan->instance = instance;
    plan->on = (bp__cusolver_device *)on;
    plan->problem = *problem;
    plan->type = type_of(problem->dtype);
    plan->real_type = problem->dtype == BP_F32 || problem->dtype == BP_C64 ? BP__CUDA_R_32F : BP__CUDA_R_64F;
    (void)bp__cusolver_route_of(problem, &plan->route); /* accept() has found that there is one */
    status = make(plan);
    if (status != BP_OK) {
        destroy(&plan->prepared);
        return status;
    }
    *prepared = &plan->prepared;
    return BP_OK;
}
