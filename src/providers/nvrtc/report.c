/* report.c - reports a flag that a run of take or gather has set on the device.
 *
 * The flag is copied to pinned memory behind the kernels. The host looks at it when the copy has ended. */
#include "providers/nvrtc/nvrtc.h"

#include <string.h>

/* The flag of a run. */
typedef struct report {
    bp__cu_device *device;
    uint64_t *words; /* the first one gets the flag */
} report;

typedef struct reporting {
    bp_prepared base; /* must be first */
    bp__kernel_plan *inner;
    bp__nvrtc_device *device;
} reporting;

static bp_status check(void *user, int ended) {
    report *r = user;
    const bp_host *host = r->device->host;
    int32_t flag = 0;
    if (ended) {
        memcpy(&flag, r->words, sizeof flag);
        bp__cu_words_give(r->device, r->words);
    }
    host->release(r);
    return flag ? host->fail(BP_E_DEVICE, BP__KERNEL_INDEX_TEXT) : BP_OK;
}

typedef struct flagged_run {
    const bp__nvrtc_run *run;
    const report *report;
} flagged_run;

static bp_status run_and_read(const void *plan, void *given, const bp__cu_queue *queue) {
    const flagged_run *all = given;
    const bp__kernel_plan *inner = plan;
    const bp_host *host = inner->device->host;
    CUstreamCaptureStatus capture = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult code = bp__cu.StreamIsCapturing(queue->native, &capture);
    if (code != BP__CU_SUCCESS) {
        return bp__cu_fail(host, code, "cuStreamIsCapturing");
    }
    if (capture != BP__CU_STREAM_CAPTURE_STATUS_NONE) {
        return host->fail(BP_E_UNSUPPORTED, "nvrtc: elements at indices cannot be captured: the host examines the "
                                            "indices of each run");
    }
    const bp_status status = bp__nvrtc_enqueue_steps(inner, all->run, queue->native);
    if (status != BP_OK) {
        return status;
    }
    code = bp__cu.MemcpyDtoHAsync(all->report->words, bp__cu_address(&all->run->exec->workspace), sizeof(int32_t),
                                  queue->native);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(host, code, "cuMemcpyDtoHAsync");
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const reporting *plan = (const reporting *)self;
    const bp_host *host = plan->device->kernels.host;
    report *r = host->allocate(sizeof *r);
    if (!r) {
        return host->fail(BP_E_NO_MEMORY, "nvrtc: no memory for the report of a run");
    }
    *r = (report){.device = plan->device->part.device};
    const bp_status status = bp__cu_words_take(r->device, &r->words);
    if (status != BP_OK) {
        host->release(r);
        return status;
    }
    const bp__nvrtc_run run = {operands, exec};
    flagged_run all = {&run, r};
    return bp__cu_vendor_enqueue_checked(host, exec, run_and_read, plan->inner, &all, check, r);
}

static void destroy(bp_prepared *self) {
    reporting *plan = (reporting *)self;
    bp__kernel_plan_free(plan->inner);
    plan->device->kernels.host->release(plan);
}

bp_status bp__nvrtc_report_flag(bp__kernel_device *kernels, bp_prepared *inner, bp_prepared **prepared) {
    reporting *plan = kernels->host->allocate(sizeof *plan);
    if (!plan) {
        inner->destroy(inner);
        return kernels->host->fail(BP_E_NO_MEMORY, "nvrtc: no memory for a plan");
    }
    *plan = (reporting){.base = {.struct_size = sizeof plan->base,
                                 .enqueue = enqueue,
                                 .destroy = destroy,
                                 .workspace = inner->workspace,
                                 .workspace_alignment = inner->workspace_alignment},
                        .inner = (bp__kernel_plan *)inner,
                        .device = bp__nvrtc_device_of(kernels)};
    *prepared = &plan->base;
    return BP_OK;
}
