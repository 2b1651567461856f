/* report.c - reports a flag that a run of take or gather has set on the device.
 *
 * The flag is copied to pinned memory behind the kernels. The host looks at it when the copy has ended. Pages of flags
 * are kept until the device is closed. */
#include "providers/nvrtc/nvrtc.h"

#include <string.h>

enum { FLAGS_OF_PAGE = 512 };

/* A page of flags. An unused one has the number of the next unused one, -1 at the end. */
struct bp__nvrtc_flags {
    bp__nvrtc_flags *next;
    int *pinned;
    int unused;
    int link[FLAGS_OF_PAGE];
};

/* The flag of a run. */
typedef struct report {
    bp__nvrtc_device *device;
    bp__nvrtc_flags *page;
    int number;
} report;

typedef struct reporting {
    bp_prepared base; /* must be first */
    bp__kernel_plan *inner;
    bp__nvrtc_device *device;
} reporting;

/* ---- Flags ---- */

static bp_status new_page(bp__nvrtc_device *device, bp__nvrtc_flags **made) {
    const bp_host *host = device->kernels.host;
    bp__nvrtc_flags *page = host->allocate(sizeof *page);
    void *pinned = NULL;
    if (!page) {
        return host->fail(BP_E_NO_MEMORY, "nvrtc: no memory for flags");
    }
    bp__cu_scope scope;
    CUresult code = bp__cu_enter(device->part.device, true, &scope);
    code = code ? code
                : bp__cu.MemHostAlloc(&pinned, FLAGS_OF_PAGE * sizeof page->pinned[0], BP__CU_MEMHOSTALLOC_PORTABLE);
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        host->release(page);
        return bp__cu_fail(host, code, "cuMemHostAlloc");
    }
    *page = (bp__nvrtc_flags){.next = device->flags, .pinned = pinned};
    for (int i = 0; i < FLAGS_OF_PAGE; i++) {
        page->link[i] = i + 1 < FLAGS_OF_PAGE ? i + 1 : -1;
    }
    device->flags = page;
    *made = page;
    return BP_OK;
}

static bp_status take_flag(bp__nvrtc_device *device, report *r) {
    pthread_mutex_lock(&device->kernels.mutex);
    bp__nvrtc_flags *page = device->flags;
    while (page && page->unused < 0) {
        page = page->next;
    }
    const bp_status status = page ? BP_OK : new_page(device, &page);
    if (status == BP_OK) {
        *r = (report){device, page, page->unused};
        page->unused = page->link[r->number];
    }
    pthread_mutex_unlock(&device->kernels.mutex);
    return status;
}

static void give_flag(const report *r) {
    pthread_mutex_lock(&r->device->kernels.mutex);
    r->page->link[r->number] = r->page->unused;
    r->page->unused = r->number;
    pthread_mutex_unlock(&r->device->kernels.mutex);
}

void bp__nvrtc_flags_free(bp__nvrtc_device *device) {
    while (device->flags) {
        bp__nvrtc_flags *page = device->flags;
        device->flags = page->next;
        bp__cu.MemFreeHost(page->pinned);
        device->kernels.host->release(page);
    }
}

/* ---- Runs ---- */

static bp_status check(void *user, int ended) {
    report *r = user;
    const bp_host *host = r->device->kernels.host;
    const bool out_of_range = ended && r->page->pinned[r->number] != 0;
    give_flag(r);
    host->release(r);
    return out_of_range ? host->fail(BP_E_DEVICE, "an index is below 0, or not below the size of its axis") : BP_OK;
}

typedef struct run_of {
    const bp_operand *operands;
    const bp_exec *exec;
    report *report;
} run_of;

static bp_status run_and_read(const void *plan, void *given, const bp__cu_queue *queue) {
    const run_of *run = given;
    const bp__kernel_plan *inner = plan;
    const report *r = run->report;
    CUstreamCaptureStatus capture = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult code = bp__cu.StreamIsCapturing(queue->native, &capture);
    if (code == BP__CU_SUCCESS && capture != BP__CU_STREAM_CAPTURE_STATUS_NONE) {
        return inner->device->host->fail(
            BP_E_UNSUPPORTED,
            "nvrtc: elements at indices cannot be captured: the host examines the indices of each run");
    }
    const bp_status status = bp__nvrtc_enqueue_steps(inner, run->operands, run->exec, queue->native);
    if (status != BP_OK) {
        return status;
    }
    code = code ? code
                : bp__cu.MemcpyDtoHAsync(&r->page->pinned[r->number], bp__cu_address(&run->exec->workspace),
                                         sizeof r->page->pinned[0], queue->native);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(inner->device->host, code, "cuMemcpyDtoHAsync");
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const reporting *plan = (const reporting *)self;
    const bp_host *host = plan->device->kernels.host;
    report *r = host->allocate(sizeof *r);
    if (!r) {
        return host->fail(BP_E_NO_MEMORY, "nvrtc: no memory for the report of a run");
    }
    bp_status status = take_flag(plan->device, r);
    if (status != BP_OK) {
        host->release(r);
        return status;
    }
    run_of run = {operands, exec, r};
    return bp__cu_vendor_enqueue_checked(host, exec, run_and_read, plan->inner, &run, check, r);
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
