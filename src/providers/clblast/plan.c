/* plan.c - plans and runs products of CLBlast.
 *
 * The library compiles its kernels in the first call for an element type, which takes seconds. The plan makes that
 * call, for one element, so that runs do not wait, and a device for which it fails is not chosen. Calls on one context
 * take a lock: the library shares programs and kernels between them. */
#include "providers/clblast/clblast.h"

#include <string.h>

typedef struct plan {
    bp_prepared prepared;
    bp__clblast_instance *instance;
    bp__cl_device *device;
    bp__clblast_route route;
    int64_t shape[BP_MAX_BATCH_NDIM]; /* of the dimensions that are iterated */
    int64_t a[BP_MAX_BATCH_NDIM], b[BP_MAX_BATCH_NDIM], c[BP_MAX_BATCH_NDIM];
    size_t item; /* bytes of an element */
} plan;

/* ---- Locks: several contexts may share one ---- */

static pthread_mutex_t locks[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                  PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *lock_of(const bp__cl_device *device) {
    return &locks[((uintptr_t)device->context >> 6) % (sizeof locks / sizeof locks[0])];
}

static int run_call(const plan *p, const bp__clblast_call *call, cl_event *event) {
    pthread_mutex_t *lock = lock_of(p->device);
    pthread_mutex_lock(lock);
    int status = bp__clblast_run(&p->instance->api, call, event);
    pthread_mutex_unlock(lock);
    return status;
}

static bp_status fail(const plan *p, int status) {
    const bp__clblast_instance *instance = p->instance;
    const char *name = status > -1000 ? bp__cl_error_name(status, NULL) : "an error of CLBlast";
    bool memory = status == BP__CL_MEM_OBJECT_ALLOCATION_FAILURE || status == BP__CL_OUT_OF_RESOURCES ||
                  status == BP__CL_OUT_OF_HOST_MEMORY;
    return instance->host->fail(memory ? BP_E_NO_MEMORY : BP_E_DEVICE, "library '%s' on '%s': %s (%d)",
                                instance->library->id, p->device->facts.name, name, status);
}

/* ---- Runs ---- */

/* Sets the offsets of a call to the offsets of item `number` of the iterated dimensions. */
static void seek(const plan *p, size_t number, const size_t start[3], bp__clblast_call *call) {
    call->at_a = start[0];
    call->at_b = start[1];
    call->at_c = start[2];
    for (int d = p->route.outer_ndim - 1; d >= 0; d--) {
        size_t at = number % (size_t)p->shape[d];
        number /= (size_t)p->shape[d];
        call->at_a += at * (size_t)p->a[d];
        call->at_b += at * (size_t)p->b[d];
        call->at_c += at * (size_t)p->c[d];
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const plan *p = (const plan *)self;
    const bp_host *host = p->instance->host;
    const bp__cl_queue *queue = host->queue(exec->queue);
    size_t start[3];
    for (int i = 0; i < 3; i++) {
        start[i] = (size_t)(operands[i].offset / p->item);
        if (start[i] + p->route.extent > INT32_MAX) {
            return host->fail(BP_E_UNSUPPORTED,
                              "library '%s' reaches only the first 2^31 elements of a block of memory",
                              p->instance->library->id);
        }
    }
    const bool has_temp = exec->workspace.base && exec->workspace.offset == 0; /* it takes no offset */
    bp__clblast_call call = {.route = &p->route,
                             .a = operands[0].base,
                             .b = operands[1].base,
                             .c = operands[2].base,
                             .temp = has_temp ? exec->workspace.base : NULL,
                             .alpha = exec->scalars ? exec->scalars[0] : (bp_scalar){1, 0},
                             .beta = exec->scalars ? exec->scalars[1] : (bp_scalar){0, 0},
                             .queue = queue->native};
    int status = BP__CLBLAST_Success;
    cl_event event = NULL;
    for (size_t i = 0; i < p->route.outer && status == BP__CLBLAST_Success; i++) {
        seek(p, i, start, &call);
        status = run_call(p, &call, i == p->route.outer - 1 ? &event : NULL);
    }
    p->device->cl->Flush(queue->native);
    return status == BP__CLBLAST_Success ? host->enqueued(exec->queue, event) : fail(p, status);
}

static void destroy(bp_prepared *self) {
    ((plan *)self)->instance->host->release(self);
}

/* ---- Plans ---- */

/* Multiplies two numbers on a queue, as a batch of two if the plan is for one, and waits. */
static bp_status try_call(const plan *p, cl_command_queue queue) {
    const bp__cl_api *cl = p->device->cl;
    const bp__clblast_route one = {.layout = p->route.layout,
                                   .transpose_a = p->route.transpose_a,
                                   .transpose_b = p->route.transpose_b,
                                   .m = 1,
                                   .n = 1,
                                   .k = 1,
                                   .lda = 1,
                                   .ldb = 1,
                                   .ldc = 1,
                                   .stride_a = 1,
                                   .stride_b = 1,
                                   .stride_c = 1,
                                   .count = p->route.count > 1 ? 2 : 1,
                                   .dtype = p->route.dtype};
    cl_int code;
    cl_mem block = cl->CreateBuffer(p->device->context, BP__CL_MEM_READ_WRITE, 6 * p->item, NULL, &code);
    if (!block) {
        return bp__cl_fail(p->instance->host, code, "clCreateBuffer");
    }
    const bp__clblast_call call = {
        .route = &one, .a = block, .b = block, .c = block, .at_b = 2, .at_c = 4, .alpha = {0, 0}, .queue = queue};
    int status = run_call(p, &call, NULL);
    cl->Finish(queue);
    cl->ReleaseMemObject(block);
    return status == BP__CLBLAST_Success ? BP_OK : fail(p, status);
}

/* Compiles the kernels, and finds the size of the workspace. */
static bp_status prepare(plan *p) {
    const bp__cl_api *cl = p->device->cl;
    cl_int code;
    cl_command_queue queue = cl->CreateCommandQueue(p->device->context, p->device->id, 0, &code);
    if (!queue) {
        return bp__cl_fail(p->instance->host, code, "clCreateCommandQueue");
    }
    bp_status status = try_call(p, queue);
    if (status == BP_OK && p->route.count == 1) {
        size_t bytes = bp__clblast_temp_bytes(&p->instance->api, &p->route, queue);
        p->prepared.workspace = (bytes + 63) / 64 * 64;
    }
    cl->ReleaseCommandQueue(queue);
    return status;
}

bp_status bp__clblast_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared) {
    bp__clblast_instance *instance = opaque;
    const bp_gemm_problem *g = &problem->of.gemm;
    void *device;
    (void)verdict;
    bp_status status = instance->host->device_open(problem->place, &device);
    status = status == BP_OK ? bp__clblast_load(instance) : status;
    if (status != BP_OK) {
        return status;
    }
    plan *fresh = instance->host->allocate(sizeof *fresh);
    if (!fresh) {
        return instance->host->fail(BP_E_NO_MEMORY, "clblast: no memory for a plan");
    }
    *fresh = (plan){.prepared = {.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy},
                    .instance = instance,
                    .device = device};
    memcpy(&fresh->route, found, sizeof fresh->route);
    memcpy(fresh->shape, g->batch_shape, sizeof fresh->shape);
    memcpy(fresh->a, g->batch_a, sizeof fresh->a);
    memcpy(fresh->b, g->batch_b, sizeof fresh->b);
    memcpy(fresh->c, g->batch_c, sizeof fresh->c);
    fresh->item = (problem->dtype == BP_F64 || problem->dtype == BP_C64) ? 8 : problem->dtype == BP_C128 ? 16 : 4;
    status = prepare(fresh);
    if (status != BP_OK) {
        destroy(&fresh->prepared);
        return status;
    }
    *prepared = &fresh->prepared;
    return BP_OK;
}
