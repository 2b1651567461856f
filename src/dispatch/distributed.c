/* distributed.c - plans with distributed operands: how their runs begin and end on all ranks together.
 *
 * A provider's plan runs with the lock of MPI, and compares with the other ranks what is about to run (bp_dist_place).
 * A call that fails before that on one rank tells the others, which wait for it there. */
#include "dispatch/internal.h"

#include "dist/internal.h"
#include "machine/internal.h"

#include <string.h>

typedef struct distributed {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    int32_t place;
    uint32_t process; /* number of forks when it was made */
    bp__dist_hashes hashes;
} distributed;

/* A run of a plan of the program, which compares nothing. */
static _Thread_local bool is_held __attribute__((tls_model("initial-exec")));

static void hash_problem(const bp_problem *problem, const bp__candidate *candidate, bp__dist_hashes *hashes) {
    const uint32_t call[2] = {problem->op, problem->dtype};
    const uint8_t options[3] = {problem->policy.deterministic, problem->policy.precision, problem->policy.constraints};
    const uint64_t sizes = bp__hash(&problem->of, bp__family_of(problem)->size);
    memset(hashes, 0, sizeof *hashes);
    hashes->part[BP__DIST_CALL] = (uint32_t)(bp__hash(call, sizeof call) ^ sizes);
    hashes->part[BP__DIST_OPTIONS] = (uint32_t)bp__hash(options, sizeof options);
    if (candidate) {
        const char *name = candidate->provider->name, *version = bp__candidate_version(candidate);
        hashes->part[BP__DIST_ENGINE] =
            (uint32_t)bp__hash(name, strlen(name)) ^ (uint32_t)bp__hash(version, strlen(version));
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const distributed *d = (const distributed *)self;
    bp__dist_hashes hashes = d->hashes;
    if (exec->queue || exec->done || exec->after_count > 0) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_execute: distributed operands have no queues: queue, done and after must "
                                          "be absent");
    }
    hashes.part[BP__DIST_CALL] ^= (uint32_t)bp__hash(exec->scalars, 2 * sizeof *exec->scalars);
    BP__TRY(bp__map_enter(d->place, &hashes, is_held));
    const bp_status status = d->inner->enqueue(d->inner, operands, exec);
    bp__map_leave(d->place);
    return status;
}

static void destroy(bp_prepared *self) {
    distributed *d = (distributed *)self;
    if (d->process == *bp__fork_count()) { /* a child leaves what belongs to the parent's MPI */
        d->inner->destroy(d->inner);
    }
    bp__free(d);
}

bp_status bp__prepare_distributed(const bp_problem *problem, const bp__candidate *candidate, bp_prepared *inner,
                                  bp_prepared **prepared) {
    distributed *d = bp__alloc_zero(1, sizeof *d);
    if (!d) {
        return bp__fail_memory(sizeof *d, "a plan");
    }
    d->base = (bp_prepared){.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy};
    d->inner = inner;
    d->place = problem->place;
    d->process = *bp__fork_count();
    hash_problem(problem, candidate, &d->hashes);
    *prepared = &d->base;
    return BP_OK;
}

const bp_prepared *bp__distributed_inner(const bp_prepared *prepared) {
    return ((const distributed *)prepared)->inner;
}

bool bp__distributed_hold(void) {
    const bool before = is_held;
    is_held = true;
    return before;
}

void bp__distributed_release(bool before) {
    is_held = before;
}

bp_status bp__distributed_conclude(const bp_problem *problem, const bp__candidate *candidate, bp_status status) {
    bp__dist_hashes hashes;
    if (!bp__place_is_map(problem->place)) {
        return status;
    }
    if (status == BP_OK) {
        hash_problem(problem, candidate, &hashes);
    }
    return bp__map_conclude(problem->place, status == BP_OK ? &hashes : NULL, status);
}
