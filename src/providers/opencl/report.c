/* report.c - reports a flag that a run of take or gather has set on the device.
 *
 * The flag is read without waiting. An event of ours fails if it is set, so that the error is reported as any other
 * command's. */
#include "providers/opencl/bridge.h"
#include "providers/opencl/opencl.h"
#include "providers/opencl/runtime.h"

#include <string.h>

typedef struct reporting {
    bp_prepared base; /* must be first */
    const bp__cl_device *device;
    bp_prepared *inner;
} reporting;

/* The flag of a run, on the host. */
typedef struct report {
    int32_t flag;
} report;

static int32_t judge(void *context) {
    return ((const report *)context)->flag ? BP__CL_INDEX_OUT_OF_RANGE : BP__CL_COMPLETE;
}

/* Links the end of the read to an event that fails with the flag. The report is the link's from then on. */
static bp_status link_outcome(const bp__cl_device *device, cl_event read, report *r, cl_event *outcome) {
    int32_t code;
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
    const int32_t code = device->cl->EnqueueReadBuffer(queue, workspace->base, 0, (size_t)workspace->offset,
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

bp_status bp__cl_report_flag(bp__kernel_device *kernels, bp_prepared *inner, bp_prepared **prepared) {
    const bp__cl_device *device = bp__cl_device_of(kernels);
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
