/* device_plans.c - plans on devices: which problems are on one, and how their plans run on a queue.
 *
 * A provider's plan enqueues commands. Around it, a queue is found and locked for the calling thread, events that the
 * caller names are waited for on the device, and the workspace comes from the pool of the device. If no provider
 * accepts a problem on its device, and dispatch.transfer permits it, a plan of the host runs on copies of the operands
 * (transfer.c).
 */
#include "dispatch/times/tune.h"
#include "base/uncancelled.h"

#include "device/internal.h"
#include "dist/internal.h"
#include "machine/internal.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Problems ---- */

/* Bytes of the operands of the problem that this thread made last, for the cost of copies. */
static _Thread_local double noted_bytes __attribute__((tls_model("initial-exec")));

void bp__policy_on_device(bp_policy *policy, const bp__family *family, int32_t place) {
    bp__precision_resolve(policy, family, place);
    if (bp__place_is_cuda(place)) {
        bp__policy_on_cuda(policy, family);
    }
    if (bp__place_is_map(place) && !family->kernels) {
        bp__policy_on_map(policy);
    }
    policy->benchmark = BP__BENCHMARK_OFF; /* private operands are in host memory */
    policy->tuning = BP__TUNING_OFF;
    policy->measured = 0;
    policy->packed = 0;
    policy->constraints |= !bp__place_is_map(place) && bp__setting_int(BP_SET_dispatch_transfer) ? BP__TRANSFERS : 0;
}

bp_status bp__problem_put_on_device(bp_problem *problem, const bp__family *family, const bp__devices_noted *noted) {
    char text[48];
    problem->place = noted->place;
    noted_bytes = noted->bytes;
    bp__policy_on_device(&problem->policy, family, noted->place);
    if (problem->policy.simulate) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "tensor '%s' is on %s; simulate.tf32 and simulate.bf16 round operands in host memory only",
                        noted->name, bp__tensor_device_text(noted->device, text, sizeof text));
    }
    if (bp__device_facts(noted->place)) {
        return BP_OK;
    }
    char why[512];
    const bp_status status = bp__device_check(noted->place);
    bp__copy_text(why, sizeof why, bp_last_error());
    return bp__fail(status == BP_OK ? BP_E_DEVICE : status, "tensor '%s' is on %s: %s", noted->name,
                    bp__tensor_device_text(noted->device, text, sizeof text), why);
}

/* ---- Runs on a queue ---- */

typedef struct on_device {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    size_t slack; /* bytes by which a block of the pool is larger, because it may be aligned to less */
    int32_t place;
    uint32_t process; /* number of forks when it was made */
    bp_op op;
    char text[128]; /* the problem, for messages */
} on_device;

static bp_status enqueue_locked(const on_device *o, bp_queue *queue, const bp_operand *operands, const bp_exec *exec) {
    bp_exec whole = *exec;
    bp_operand block = {0};
    whole.queue = queue;
    BP__TRY(bp__queue_after(queue, exec->after, exec->after_count));
    if (o->inner->workspace > 0 && !exec->workspace.base) {
        BP__TRY(bp__queue_take(queue, o->inner->workspace + o->slack, &block));
        whole.workspace = block;
        whole.workspace.offset = bp__workspace_start(&block, o->place, o->base.workspace_alignment);
        whole.workspace_size = o->inner->workspace;
    }
    bp_status status = o->inner->enqueue(o->inner, operands, &whole);
    if (block.base) {
        bp__queue_give(queue, &block);
    }
    return status == BP_OK && exec->done ? bp_event_record(exec->done, queue) : status;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    BP__UNCANCELLED;
    const on_device *o = (const on_device *)self;
    bp_queue *queue;
    BP__TRY(bp__queue_for(o->place, exec->queue, &queue));
    bp__queue_begin(queue, o->op, o->text);
    bp_status status = enqueue_locked(o, queue, operands, exec);
    bp__queue_end(queue);
    return status;
}

static void destroy(bp_prepared *self) {
    on_device *o = (on_device *)self;
    if (o->process == *bp__fork_count()) { /* a child leaves what belongs to the parent's driver */
        o->inner->destroy(o->inner);
    }
    bp__free(o);
}

/* Blocks of the pool have the alignment that the runtime tells, where the base is an address. */
static size_t slack_of(int32_t place, size_t alignment) {
    const bp_device_info *device = bp__device_facts(place);
    const size_t given = device && device->alignment > 0 ? device->alignment : 1;
    return bp__place_has_addresses(place) && alignment > given ? alignment - 1 : 0;
}

bp_status bp__prepare_on_device(const bp_problem *problem, const char *text, bp_prepared *inner,
                                bp_prepared **prepared) {
    on_device *o = bp__alloc_zero(1, sizeof *o);
    if (!o) {
        return bp__fail_memory(sizeof *o, "a plan");
    }
    o->base = (bp_prepared){.struct_size = sizeof(bp_prepared),
                            .enqueue = enqueue,
                            .destroy = destroy,
                            .workspace = inner->workspace,
                            .workspace_alignment = bp__workspace_alignment(inner, problem->place)};
    o->slack = slack_of(problem->place, o->base.workspace_alignment);
    o->inner = inner;
    o->place = problem->place;
    o->process = *bp__fork_count();
    o->op = (bp_op)problem->op;
    bp__copy_text(o->text, sizeof o->text, text);
    *prepared = &o->base;
    return BP_OK;
}

const bp_prepared *bp__plan_inner(const bp_plan *plan) {
    return bp__place_is_map(plan->problem.place) ? bp__distributed_inner(plan->prepared)
           : plan->problem.place != 0            ? ((const on_device *)plan->prepared)->inner
                                                 : plan->prepared;
}

/* ---- Runs on the host, on copies ---- */

#define NS_PER_BYTE 0.1 /* of a copy, if the device's bandwidth is unknown */
#define COPY_NS 20e3    /* of starting the copies of a call */

double bp__transfer_cost_ns(const bp_problem *problem) {
    const bp_device_info *device = bp__device_facts(problem->place);
    const double each = device && device->bandwidth_gb_s > 0 ? 1.0 / device->bandwidth_gb_s : NS_PER_BYTE;
    return COPY_NS + 2 * noted_bytes * each;
}

void bp__transfer_describe(bp__choice *choice, int32_t place, double copies_ns, const char *why) {
    char text[320], time[32];
    for (int i = 0; i < choice->count; i++) {
        bp_verdict *v = &choice->offers[i].verdict;
        if (v->reason == BP_REASON_ACCEPTED) {
            v->cost_ns += copies_ns;
            snprintf(text, sizeof text, "%s%son the host; copies of the operands take about %s", v->text,
                     *v->text ? "; " : "", bp__duration(copies_ns, time, sizeof time));
            bp__copy_text(v->text, sizeof v->text, text);
        }
    }
    bp__text_addf(&choice->decision, "; the host runs it on copies (dispatch.transfer=allow), because on %s %s",
                  bp__device_facts(place)->id, why);
}
