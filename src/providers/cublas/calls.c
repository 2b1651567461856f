/* calls.c - makes plans, and enqueues the calls of a run: for each item of the outer dimensions of the batch, and the
 * event behind them. Also writes zeros where a product has nothing to sum. */
#include "providers/cublas/cublas.h"

static uint64_t address_of(const bp_operand *operand) {
    return (uint64_t)(uintptr_t)bp_operand_address(operand);
}

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

bp_status bp__cublas_enqueue(const bp__cublas_prepared *plan, const bp_operand *operands, const bp_exec *exec,
                             bp__cublas_run run) {
    const bp_host *host = plan->instance->host;
    const bp__cublas_offer *offer = &plan->offer;
    const bp__cu_queue *queue = host->queue(exec->queue);
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    bp__cublas_call call = {.a = address_of(&operands[offer->route.a]),
                            .b = address_of(&operands[offer->route.b]),
                            .d = address_of(&operands[offer->route.d]),
                            .bias = offer->route.has_bias ? address_of(&operands[offer->route.bias]) : 0,
                            .workspace = bp_operand_address(&exec->workspace),
                            .workspace_size = plan->prepared.workspace,
                            .stream = queue->native};
    bp__cublas_scalar_of(&call.alpha, offer->numerics.scale, exec->scalars ? exec->scalars[0] : (bp_scalar){1, 0});
    bp__cublas_scalar_of(&call.beta, offer->numerics.scale, exec->scalars ? exec->scalars[1] : (bp_scalar){0, 0});
    bp__cu_scope scope;
    void *event = NULL;
    const CUresult code = bp__cu_enter(queue->device, false, &scope);
    status = code == BP__CU_SUCCESS ? run_all(plan, &call, run) : bp__cu_fail(host, code, "cuCtxPushCurrent");
    status = status == BP_OK ? bp__cu_mark(queue, &event) : status;
    bp__cu_leave(&scope);
    return status == BP_OK ? host->enqueued(exec->queue, event) : status;
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
    bp__cublas_device *on = NULL;
    void *device = NULL;
    (void)verdict;
    bp_status status = instance->host->device_open(problem->place, &device);
    if (status == BP_OK && offer->route.work != BP__CUBLAS_PRODUCT) {
        return bp__cublas_plan_zeros(instance, offer, prepared);
    }
    status = status == BP_OK ? bp__cublas_device_of(instance, device, &on) : status;
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
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->instance->host, code, "cuMemsetD2D8Async");
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
    ((bp__cublas_prepared *)self)->instance->host->release(self);
}

bp_status bp__cublas_plan_zeros(bp__cublas_instance *instance, const bp__cublas_offer *offer, bp_prepared **prepared) {
    bp__cublas_prepared *fresh = instance->host->allocate(sizeof *fresh);
    if (!fresh) {
        return instance->host->fail(BP_E_NO_MEMORY, "cublas: no memory for a plan");
    }
    bp__cublas_plan_begin(fresh, instance, NULL, offer);
    fresh->prepared.enqueue = enqueue;
    fresh->prepared.destroy = destroy;
    *prepared = &fresh->prepared;
    return BP_OK;
}
