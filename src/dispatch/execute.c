/* execute.c - runs plans that the program holds, and the parts of composed plans. */
#include "dispatch/addresses.h"
#include "dispatch/needs.h"
#include "base/uncancelled.h"
#include "device/internal.h"
#include "dist/internal.h"

#include "machine/internal.h"
#include "tensor/internal.h"

#include <string.h>

const bp_scalar bp__plain_scalars[2] = {{1.0, 0.0}, {0.0, 0.0}};
static const bp_exec plain = {.struct_size = sizeof plain, .scalars = bp__plain_scalars};

/* A composed plan may need more memory than the thread's scratch keeps. */
bp_status bp__plan_run_uncancelled(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    const bp_prepared *prepared = plan->prepared;
    bp_exec whole = *exec;
    /* A plan on a device takes its workspace from the device's pool. */
    if (prepared->workspace == 0 || whole.workspace.base || plan->problem.place != 0) {
        return prepared->enqueue(prepared, operands, exec);
    }
    whole.workspace_size = prepared->workspace;
    whole.workspace.offset = 0;
    whole.workspace.base = plan->composed ? bp__workspace_take(prepared->workspace) : bp__scratch(prepared->workspace);
    if (!whole.workspace.base) {
        return bp__fail_memory(prepared->workspace, "the workspace of a plan");
    }
    bp_status status = prepared->enqueue(prepared, operands, &whole);
    if (plan->composed) {
        bp__workspace_give(whole.workspace.base);
    }
    return status;
}

__attribute__((noinline)) static bp_status run_guarded(const bp_plan *plan, const bp_operand *operands,
                                                       const bp_exec *exec) {
    BP__UNCANCELLED;
    return bp__plan_run_uncancelled(plan, operands, exec);
}

bp_status bp__plan_run_with_care(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    return (plan->guarded ? run_guarded : bp__plan_run_uncancelled)(plan, operands, exec);
}

/* ---- Plans of the program ---- */

static bp_status check_count(const bp_plan *plan, size_t count) {
    if (count == 0 || count == (size_t)plan->operands) {
        return BP_OK;
    }
    const bp_op op = (bp_op)plan->problem.op;
    return bp__fail(BP_E_ARGUMENT, "bp_execute: got %zu operands; this plan of %s has %d: %s, then %s", count,
                    bp_op_name(op), plan->operands, bp_op_inputs(op), bp_op_outputs(op));
}

static bp_status check_workspace(const bp_plan *plan, const bp_exec *exec) {
    const int32_t place = plan->problem.place;
    const bool handle = !bp__place_has_addresses(place);
    const void *address = handle ? (void *)(uintptr_t)exec->workspace.offset : bp_operand_address(&exec->workspace);
    const size_t needed = plan->prepared->workspace, alignment = bp__workspace_alignment(plan->prepared, place);
    if (exec->workspace_size < needed) {
        return bp__fail(BP_E_ARGUMENT, "bp_execute: the workspace has %zu bytes; this plan needs %zu",
                        exec->workspace_size, needed);
    }
    if ((uintptr_t)address % alignment != 0) {
        return bp__fail(BP_E_ARGUMENT, "bp_execute: the workspace at %s%p is not aligned to %zu bytes",
                        handle ? "offset " : "", address, alignment);
    }
    return BP_OK;
}

/* A plan of the host runs in the calling thread, after the events that it waits for. */
static bp_status check_queue(const bp_plan *plan, const bp_exec *exec) {
    if (plan->problem.place != 0) {
        return BP_OK;
    }
    if (exec->queue || exec->done) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_execute: the plan runs on the host, which has no queues: %s must be NULL",
                        exec->queue ? "queue" : "done");
    }
    for (size_t i = 0; i < exec->after_count; i++) {
        BP__TRY(bp_event_sync(exec->after[i], -1));
    }
    return BP_OK;
}

static bool is_plain(const bp_scalar *scalars) {
    return scalars[0].re == 1.0 && scalars[0].im == 0.0 && scalars[1].re == 0.0 && scalars[1].im == 0.0;
}

/* Kernels are chosen by the class of alpha and beta, so that another class would give a wrong result. */
static bp_status check_scalars(const bp_plan *plan, const bp_scalar **scalars) {
    const bp__family *family = bp__family_of(&plan->problem);
    if (!*scalars && plan->needs_scalars) {
        return bp__fail(BP_E_ARGUMENT, "bp_execute: scalars are missing, which means alpha 1 and beta 0, but the plan "
                                       "was made for another alpha or beta");
    }
    *scalars = *scalars ? *scalars : bp__plain_scalars;
    if (family->check_scalars) {
        return family->check_scalars(&plan->problem, *scalars);
    }
    return is_plain(*scalars) ? BP_OK
                              : bp__fail(BP_E_ARGUMENT, "bp_execute: %s has no alpha and beta; scalars must be NULL",
                                         bp_op_name((bp_op)plan->problem.op));
}

/* Completes the caller's exec, which may be of an earlier version or lack members. */
static bp_status complete(bp_exec *whole, const bp_plan *plan, const bp_exec *exec) {
    const bp_exec *given = exec ? bp__struct_read(whole, sizeof *whole, exec, "exec") : &plain;
    if (!given) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(exec ? BP__STRUCT_MEMBER(exec, bp_exec, workspace) : BP_OK);
    *whole = *given;
    BP__TRY(check_count(plan, whole->operand_count));
    if (whole->after_count > 0 && !whole->after) {
        return bp__fail(BP_E_ARGUMENT, "bp_execute: after is NULL, but after_count is %zu", whole->after_count);
    }
    BP__TRY(check_queue(plan, whole));
    whole->scalars = exec ? whole->scalars : NULL;
    BP__TRY(check_scalars(plan, &whole->scalars));
    if (whole->packed) {
        BP__TRY(bp__packed_check(plan, whole->packed));
    }
    return whole->workspace.base ? check_workspace(plan, whole) : BP_OK;
}

static bp_status check_addresses(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    return BP__LIKELY(bp__addresses_good(plan->addresses, operands))
               ? BP_OK
               : bp__addresses_check(plan, operands, exec->packed);
}

__attribute__((noinline)) static bp_status execute(const bp_plan *plan, const bp_operand *operands,
                                                   const bp_exec *exec) {
    bp_exec whole;
    BP__TRY(complete(&whole, plan, exec));
    BP__TRY(check_addresses(plan, operands, &whole));
    const bool observed = bp__thread.observed; /* calls in interrupt checks may change it */
    int64_t start = observed ? bp__now_ns() : 0;
    const bool map = bp__place_is_map(plan->problem.place), before = map && bp__distributed_hold();
    bp_status status = whole.packed ? bp__packed_run(plan, operands, &whole) : bp__plan_run(plan, operands, &whole);
    if (map) {
        bp__distributed_release(before);
    }
    if (observed) {
        bp__trace_call(plan, false, start, bp__now_ns(), status);
    }
    return status;
}

/* Whether a run needs no preparation. With limits of memory this holds for each thread that has run the plan. */
static inline bool is_warm(const bp_plan *plan) {
    return (atomic_load_explicit(&plan->warm, memory_order_relaxed) ||
            bp__thread.ran[plan->serial % BP__PLANS_RAN] == plan->serial) &&
           !bp__thread.small_stack;
}

static void note_run(const bp_plan *plan, bp_status status) {
    if (!bp__needs_memory(plan) || !bp__memory_is_limited()) {
        atomic_store_explicit(&((bp_plan *)(uintptr_t)plan)->warm, true, memory_order_relaxed);
    } else if (status == BP_OK) {
        bp__thread.ran[plan->serial % BP__PLANS_RAN] = plan->serial;
    }
}

/* In the first call of a plan the library may take memory, open files or start threads, where a thread could be
 * cancelled. */
__attribute__((noinline)) static bp_status execute_first(const bp_plan *plan, const bp_operand *operands,
                                                         const bp_exec *exec) {
    BP__UNCANCELLED;
    bp__memory kept;
    BP__TRY(bp__needs_enter(plan, &kept));
    bp_status status = execute(plan, operands, exec);
    bp__needs_leave(plan, &kept, status);
    note_run(plan, status);
    return status;
}

bp_status bp_execute(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    if (BP__UNLIKELY(!plan || !operands)) {
        return bp__fail(BP_E_ARGUMENT, "bp_execute: %s must not be NULL", plan ? "operands" : "plan");
    }
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch)) {
        bp__thread_refresh(epoch);
    }
    bp__thread.last_serial = plan->serial;
    if (BP__UNLIKELY(!is_warm(plan))) {
        return execute_first(plan, operands, exec);
    }
    if (BP__LIKELY(!exec && plan->plain && !bp__thread.observed && bp__addresses_good(plan->addresses, operands))) {
        return plan->prepared->enqueue(plan->prepared, operands, &plain);
    }
    return execute(plan, operands, exec);
}

/* ---- Parts of composed plans ---- */

__attribute__((noinline)) static bp_status run_first(const bp_plan *part, const bp_operand *operands,
                                                     const bp_exec *exec) {
    bp__memory kept;
    BP__TRY(bp__needs_enter(part, &kept));
    bp_status status = part->prepared->enqueue(part->prepared, operands, exec);
    bp__needs_leave(part, &kept, status);
    note_run(part, status);
    return status;
}

static bp_status run_part(const bp_plan *part, const bp_operand *operands, const bp_exec *exec) {
    return BP__LIKELY(is_warm(part)) ? part->prepared->enqueue(part->prepared, operands, exec)
                                     : run_first(part, operands, exec);
}

bp_status bp__plan_run_part(const bp_plan *part, const bp_operand *operands, const bp_packed *const *packed,
                            bp_queue *queue, const bp_operand *workspace) {
    bp_exec exec = plain;
    exec.queue = queue;
    exec.packed = packed;
    exec.workspace = *workspace;
    exec.workspace_size = part->prepared->workspace;
    bool due = bp__run_counted(part);
    if (BP__LIKELY(!(due | bp__thread.observed))) {
        return run_part(part, operands, &exec);
    }
    int64_t start = bp__now_ns();
    bp_status status = run_part(part, operands, &exec);
    int64_t end = bp__now_ns();
    if (bp__thread.observed) {
        bp__trace_part(part, start, end, status);
    }
    if (due && status == BP_OK) {
        bp__thread.due_part = part;
        bp__thread.due_whole = bp__thread.last_serial;
        bp__thread.due_ns = end - start;
    }
    return status;
}
