/* classic.c - plans and runs products of classic cuBLAS.
 *
 * A handle has a stream, a workspace and a mode, which each call sets. So calls on one device take a lock. */
#include "providers/cublas/cublas.h"

enum { WORKSPACE_ALIGNMENT = 256 };

/* Sets what the handle keeps. The library drops its workspace when it gets a stream, so that the order matters. */
static cublasStatus_t set_up(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    const bp__cublas_api *api = &plan->instance->classic;
    const cublasHandle_t handle = plan->on->classic;
    const bool adds_short = plan->offer.numerics.schemes & BP__CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    cublasStatus_t status = api->SetStream(handle, call->stream);
    status = status ? status : api->SetWorkspace(handle, call->workspace, call->workspace_size);
    return status ? status
                  : api->SetMathMode(handle, adds_short ? BP__CUBLAS_DEFAULT_MATH
                                                        : BP__CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

static cublasStatus_t multiply(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    const bp__cublas_api *api = &plan->instance->classic;
    const bp__cublas_route *r = &plan->offer.route;
    const bp__cublas_numerics *x = &plan->offer.numerics;
    const void *a = (const void *)(uintptr_t)call->a, *b = (const void *)(uintptr_t)call->b;
    void *d = (void *)(uintptr_t)call->d;
    if (r->count > 1) {
        return api->GemmStrided(plan->on->classic, r->op_a, r->op_b, r->m, r->n, r->k, &call->alpha, a, x->ab, r->lda,
                                r->stride_a, b, x->ab, r->ldb, r->stride_b, &call->beta, d, x->d, r->ldd, r->stride_d,
                                r->count, x->compute, BP__CUBLAS_GEMM_DEFAULT);
    }
    return api->Gemm(plan->on->classic, r->op_a, r->op_b, r->m, r->n, r->k, &call->alpha, a, x->ab, r->lda, b, x->ab,
                     r->ldb, &call->beta, d, x->d, r->ldd, x->compute, BP__CUBLAS_GEMM_DEFAULT);
}

static bp_status run_classic(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    pthread_mutex_lock(&plan->on->mutex);
    cublasStatus_t status = set_up(plan, call);
    status = status ? status : multiply(plan, call);
    pthread_mutex_unlock(&plan->on->mutex);
    return status == BP__CUBLAS_STATUS_SUCCESS
               ? BP_OK
               : bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, status, "cublasGemmEx");
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    return bp__cublas_enqueue((const bp__cublas_prepared *)self, operands, exec, run_classic);
}

static void destroy(bp_prepared *self) {
    ((bp__cublas_prepared *)self)->instance->vendor.host->release(self);
}

bp_status bp__cublas_plan_classic(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                                  bp_prepared **prepared) {
    bp__cublas_prepared *fresh = bp__cu_vendor_plan(&instance->vendor, sizeof *fresh);
    if (!fresh) {
        return BP_E_NO_MEMORY;
    }
    bp__cublas_plan_begin(fresh, instance, on, offer);
    fresh->prepared.enqueue = enqueue;
    fresh->prepared.destroy = destroy;
    fresh->prepared.workspace = (size_t)offer->numerics.workspace;
    fresh->prepared.workspace_alignment = WORKSPACE_ALIGNMENT;
    *prepared = &fresh->prepared;
    return BP_OK;
}
