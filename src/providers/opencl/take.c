/* take.c - plans elements at given indices, and reports indices that are out of range.
 *
 * The indices are in the device's memory, so a call cannot refuse them. A first kernel checks all of them and sets a
 * flag; the next one writes nothing if it is set. The flag is then read without waiting, and an event of ours fails if
 * it is set, so that the error is reported as any other command's. */
#include "elementwise.h"

#include "bridge.h"
#include "runtime.h"

#include <string.h>

/* The struct `indices` in kernels/copies.cl. */
typedef struct indices {
    int64_t axis, axis_size;
    int32_t wide, reserved; /* wide: they are i64 */
} indices;

static void add_flag(bp__cl_step *step) {
    bp__cl_workspace(step, 0, sizeof(cl_int));
}

/* The layout of the indices alone. */
static void index_dims(bp__cl_dims *dims, const bp_elementwise_problem *p) {
    dims->ndim = p->index_ndim;
    dims->operands = 1;
    for (int d = 0; d < p->index_ndim; d++) {
        dims->size[d] = p->size[p->first_index + d];
        dims->stride[0][d] = p->stride[1][p->first_index + d];
    }
    bp__cl_dims_simplify(dims, 0);
}

bp_status bp__cl_take_steps(bp__cl_device *device, const bp_problem *problem, bp__cl_plan *plan,
                            const bp__cl_dims *dims) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const size_t index = bp__cl_bytes(p->type[1]), element = bp__cl_bytes(problem->dtype);
    const indices numbers = {p->axis, p->axis_size, p->type[1] == BP_I64, 0};
    bp__cl_dims of;
    bp__cl_element_walk walk;
    bp__cl_step clear = {.kernel = "clear_flag", .dimensions = 1, .global = {1}, .local = {1}};
    bp__cl_step check = {.kernel = "check_indices"}, take = {.kernel = "take_all"};
    index_dims(&of, p);
    bp_status status = bp__cl_copy_program(device, &of, element, &check.program);
    if (status == BP_OK) {
        status = bp__cl_copy_program(device, dims, element, &take.program);
    }
    if (status != BP_OK) {
        return status;
    }
    clear.program = check.program;
    add_flag(&clear);
    status = bp__cl_plan_add(plan, &clear);

    bp__cl_element_spread(&check, &device->facts, &of, element, 0.3, &walk);
    bp__cl_operand(&check, 1, index);
    add_flag(&check);
    bp__cl_value(&check, walk.bytes, walk.size);
    bp__cl_value(&check, &numbers, sizeof numbers);
    status = status == BP_OK ? bp__cl_plan_add(plan, &check) : status;

    bp__cl_element_spread(&take, &device->facts, dims, element, 0.5, &walk);
    bp__cl_operand(&take, 0, element);
    bp__cl_operand(&take, 1, index);
    bp__cl_operand(&take, 2, element);
    add_flag(&take);
    bp__cl_value(&take, walk.bytes, walk.size);
    bp__cl_value(&take, &numbers, sizeof numbers);
    return status == BP_OK ? bp__cl_plan_add(plan, &take) : status;
}

/* ---- The flag ---- */

typedef struct reporting {
    bp_prepared base; /* must be first */
    bp__cl_device *device;
    bp_prepared *inner;
} reporting;

/* The flag of a run, on the host. */
typedef struct report {
    cl_int flag;
} report;

static cl_int judge(void *context) {
    return ((const report *)context)->flag ? BP__CL_INDEX_OUT_OF_RANGE : BP__CL_COMPLETE;
}

/* Links the end of the read to an event that fails with the flag. The report is the link's from then on. */
static bp_status link_outcome(const bp__cl_device *device, cl_event read, report *r, cl_event *outcome) {
    cl_int code;
    *outcome = device->cl->CreateUserEvent(device->context, &code);
    if (code != BP__CL_SUCCESS) {
        return bp__cl_fail(device->host, code, "clCreateUserEvent");
    }
    const bp_status status = bp__cl_bridge_judge(device->state->bridge, read, *outcome, judge, r);
    if (status != BP_OK) {
        device->cl->SetUserEventStatus(*outcome, BP__CL_OUT_OF_RESOURCES);
        device->cl->ReleaseEvent(*outcome);
    }
    return status;
}

/* Enqueues the read of the flag. Takes the report, also if it fails: the read has ended then. */
static bp_status read_flag(const bp__cl_device *device, cl_command_queue queue, const bp_operand *workspace, report *r,
                           cl_event *outcome) {
    cl_event read;
    const cl_int code = device->cl->EnqueueReadBuffer(queue, workspace->base, 0, (size_t)workspace->offset,
                                                      sizeof r->flag, &r->flag, 0, NULL, &read);
    if (code != BP__CL_SUCCESS) {
        device->host->release(r);
        return bp__cl_fail(device->host, code, "clEnqueueReadBuffer");
    }
    device->cl->Flush(queue);
    const bp_status status = link_outcome(device, read, r, outcome);
    if (status != BP_OK) {
        device->cl->WaitForEvents(1, &read);
        device->host->release(r);
    }
    device->cl->ReleaseEvent(read);
    return status;
}

static bp_status run_take(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const reporting *plan = (const reporting *)self;
    const bp_host *host = plan->device->host;
    const bp__cl_queue *queue = host->queue(exec->queue);
    cl_event outcome = NULL;
    report *r = host->allocate(sizeof *r);
    if (!r) {
        return host->fail(BP_E_NO_MEMORY, "opencl: no memory for the %zu bytes of a report", sizeof *r);
    }
    r->flag = 0;
    bp_status status = plan->inner->enqueue(plan->inner, operands, exec);
    if (status != BP_OK) {
        host->release(r);
        return status;
    }
    status = read_flag(plan->device, queue->native, &exec->workspace, r, &outcome);
    return status == BP_OK ? host->enqueued(exec->queue, outcome) : status;
}

static void destroy(bp_prepared *self) {
    reporting *plan = (reporting *)self;
    plan->inner->destroy(plan->inner);
    plan->device->host->release(plan);
}

bp_status bp__cl_report_flag(bp__cl_device *device, bp_prepared *inner, bp_prepared **prepared) {
    reporting *plan = device->host->allocate(sizeof *plan);
    if (!plan) {
        inner->destroy(inner);
        return device->host->fail(BP_E_NO_MEMORY, "opencl: no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){
        .struct_size = sizeof plan->base, .enqueue = run_take, .destroy = destroy, .workspace = inner->workspace};
    plan->device = device;
    plan->inner = inner;
    *prepared = &plan->base;
    return BP_OK;
}
