/* calls.c - makes plans, and enqueues the calls of a run: for each item of the outer dimensions of the batch, and the
 * event behind them. Also writes zeros where a product has nothing to sum. */
#include "providers/cublas/cublas.h"

/* Moves a call from its first item to item `number` of the outer dimensions. */
static void seek(const bp__cublas_prepared *plan, int64_t number, const bp__cublas_call *first, bp__cublas_call *call) {
    const bp__cublas_route *r = &plan->offer.route;
    int64_t a = 0, b = 0, d = 0;
    for (int i = r->outer_ndim - 1; i >= 0; i--) {
        const int64_t at = number % r->outer_size[i];
        number /= r->outer_size[i];
        a += at * r->outer_a[i];
        b += at * r->outer_b[i];
        d += at * r->outer_d[i];
    }
    call->a = first->a + (uint64_t)(a * (int64_t)plan->offer.numerics.item);
    call->b = first->b + (uint64_t)(b * (int64_t)plan->offer.numerics.item);
    call->d = first->d + (uint64_t)(d * (int64_t)plan->offer.numerics.item_d);
}

static bp_status run_all(const bp__cublas_prepared *plan, bp__cublas_call *call, bp__cublas_run run) {
    const bp__cublas_route *r = &plan->offer.route;
    if (r->outer_ndim == 0) {
        return run(plan, call);
    }
    const bp__cublas_call first = *call;
    bp_status status = BP_OK;
    for (int64_t i = 0; i < r->outer && status == BP_OK; i++) {
        seek(plan, i, &first, call);
        status = run(plan, call);
    }
    return status;
}

typedef struct run_of {
    bp__cublas_call call;
    bp__cublas_run run;
} run_of;

static bp_status run_calls(const void *plan, void *opaque, const bp__cu_queue *queue) {
    run_of *r = opaque;
    r->call.stream = queue->native;
    return run_all(plan, &r->call, r->run);
}

bp_status bp__cublas_enqueue(const bp__cublas_prepared *plan, const bp_operand *operands, const bp_exec *exec,
                             bp__cublas_run run) {
    const bp__cublas_offer *offer = &plan->offer;
    run_of r = {.call = {.a = bp__cu_address(&operands[offer->route.a]),
                         .b = bp__cu_address(&operands[offer->route.b]),
                         .d = bp__cu_address(&operands[offer->route.d]),
                         .bias = offer->route.has_bias ? bp__cu_address(&operands[offer->route.bias]) : 0,
                         .workspace = bp_operand_address(&exec->workspace),
                         .workspace_size = plan->prepared.workspace},
                .run = run};
    bp__cublas_scalar_of(&r.call.alpha, offer->numerics.scale, exec->scalars ? exec->scalars[0] : (bp_scalar){1, 0});
    bp__cublas_scalar_of(&r.call.beta, offer->numerics.scale, exec->scalars ? exec->scalars[1] : (bp_scalar){0, 0});
    return bp__cu_vendor_enqueue(plan->instance->vendor.host, exec, run_calls, plan, &r);
}

/* ---- Plans ---- */

void bp__cublas_plan_begin(bp__cublas_prepared *plan, bp__cublas_instance *instance, bp__cublas_device *on,
                           const bp__cublas_offer *offer) {
    *plan = (bp__cublas_prepared){
        .prepared = {.struct_size = sizeof(bp_prepared)}, .instance = instance, .on = on, .offer = *offer};
}

bp_status bp__cublas_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                          bp_prepared **prepared) {
    bp__cublas_instance *instance = opaque;
    const bp__cublas_offer *offer = found;
    bp__cu_part *part = NULL;
    void *device = NULL;
    (void)verdict;
    bp_status status = instance->vendor.host->device_open(problem->place, &device);
    if (status == BP_OK && offer->route.work != BP__CUBLAS_PRODUCT) {
        return bp__cublas_plan_zeros(instance, offer, prepared);
    }
    status = status == BP_OK ? bp__cu_vendor_part(&instance->vendor, device, &part) : status;
    bp__cublas_device *on = (bp__cublas_device *)part;
    return status != BP_OK   ? status
           : instance->is_lt ? bp__cublas_plan_lt(instance, on, offer, prepared)
                             : bp__cublas_plan_classic(instance, on, offer, prepared);
}

/* ---- Zeros ---- */

/* Writes zeros to the columns of D. */
static bp_status fill(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    const bp__cublas_route *r = &plan->offer.route;
    const uint64_t item = plan->offer.numerics.item_d;
    const size_t width = (size_t)r->m * item, pitch = (size_t)r->ldd * item;
    CUresult code = BP__CU_SUCCESS;
    for (int64_t i = 0; i < r->count && code == BP__CU_SUCCESS; i++) {
        const CUdeviceptr start = call->d + (uint64_t)(i * r->stride_d) * item;
        code = pitch == width
                   ? bp__cu.MemsetD8Async(start, 0, width * (size_t)r->n, call->stream)
                   : bp__cu.MemsetD2D8Async(start, r->n > 1 ? pitch : width, 0, width, (size_t)r->n, call->stream);
    }
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->instance->vendor.host, code, "cuMemsetD2D8Async");
}

static bp_status do_nothing(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    (void)plan, (void)call;
    return BP_OK;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__cublas_prepared *plan = (const bp__cublas_prepared *)self;
    return bp__cublas_enqueue(plan, operands, exec, plan->offer.route.work == BP__CUBLAS_ZEROS ? fill : do_nothing);
}

static void destroy(bp_prepared *self) {
    ((bp__cublas_prepared *)self)->instance->vendor.host->release(self);
}

bp_status bp__cublas_plan_zeros(bp__cublas_instance *instance, const bp__cublas_offer *offer, bp_prepared **prepared) {
    bp__cublas_prepared *fresh = bp__cu_vendor_plan(&instance->vendor, sizeof *fresh);
    if (!fresh) {
        return BP_E_NO_MEMORY;
    }
    bp__cublas_plan_begin(fresh, instance, NULL, offer);
    fresh->prepared.enqueue = enqueue;
    fresh->prepared.destroy = destroy;
    *prepared = &fresh->prepared;
    return BP_OK;
}
