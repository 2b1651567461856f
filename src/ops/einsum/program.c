/* program.c - a contraction ready to run: its plans in order, and the location of each operand. */
#include "ops/einsum/einsum.h"

#include <string.h>

/* The state of one run. */
typedef struct run {
    const bp_operand *operands; /* the caller's; the output is last */
    int count;
    bp_queue *queue;       /* NULL: the host */
    bp_operand work;       /* intermediate results and copies */
    bp_operand part_space; /* after `work`: the workspace of the current part */
    double since;          /* estimated nanoseconds since the last interrupt check */
} run;

#define ASKED_EACH 1e5 /* nanoseconds */
#define LEAST_PART 100 /* nanoseconds; the smallest time that counts for a part */

/* Returns the location of a part's operand. Tensors without elements may have no address. */
static bp_operand operand_at(const run *r, const bp__place *place, int64_t turn) {
    bp_operand at = {NULL, (uint64_t)(turn * place->advance)};
    switch (place->home) {
    case BP__NOWHERE:
        return (bp_operand){NULL, 0};
    case BP__AT_OPERAND:
        at.base = r->operands[place->operand].base;
        at.offset += r->operands[place->operand].offset;
        break;
    case BP__AT_WORK:
        at.base = r->work.base;
        at.offset += r->work.offset + (uint64_t)place->offset;
        break;
    case BP__AT_OUT:
        at.base = r->operands[r->count].base;
        at.offset += r->operands[r->count].offset;
        break;
    }
    return at;
}

/* Returns whether the thread's interrupt check stops the run before this part. Uses time estimates, so that short runs
 * need no check. */
static bool stops(run *r, const bp__part *part) {
    if (BP__UNLIKELY(r->since > ASKED_EACH)) {
        r->since = 0;
        if (bp__operation_interrupted(BP_OP_EINSUM)) {
            return true;
        }
    }
    r->since += part->plan->verdict.cost_ns + LEAST_PART;
    return false;
}

static bp_status run_part(run *r, const bp__part *part, int64_t turn) {
    bp_operand operands[BP__OPERANDS];
    if (stops(r, part)) {
        return BP_E_CANCELLED;
    }
    for (int i = 0; i < BP__OPERANDS; i++) {
        operands[i] = operand_at(r, &part->place[i], turn);
    }
    bp_status status = bp__plan_run_part(part->plan, operands, r->queue, &r->part_space);
    return status == BP_E_CANCELLED ? bp__fail_cancelled(bp_op_name(BP_OP_EINSUM)) : status;
}

static bp_status run_loop(run *r, const bp__part *parts) {
    for (int64_t turn = 0; turn < parts->runs; turn++) {
        for (int i = 0; i < parts->loop; i++) {
            BP__TRY(run_part(r, &parts[i], turn));
        }
    }
    return BP_OK;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__program *program = (const bp__program *)self;
    run r = {.operands = operands, .count = program->operands, .queue = exec->queue, .work = exec->workspace};
    r.part_space = r.work;
    r.part_space.offset += (uint64_t)program->workspace;
    for (int i = 0; i < program->count;) {
        const bp__part *part = &program->parts[i];
        BP__TRY(part->loop ? run_loop(&r, part) : run_part(&r, part, 0));
        i += part->loop ? part->loop : 1;
    }
    return BP_OK;
}

static void release_parts(const bp__part *parts, int count) {
    for (int i = 0; i < count; i++) {
        bp__plan_release(parts[i].plan);
    }
}

static void destroy(bp_prepared *self) {
    bp__program *program = (bp__program *)self;
    release_parts(program->parts, program->count);
    bp__path_drop(program->path);
    bp__free(program);
}

bp_status bp__program_make(bp__program **program, bp_contraction_path *path, const bp__part *parts, int count,
                           int64_t workspace) {
    size_t size = sizeof **program + (size_t)count * sizeof *parts;
    *program = bp__alloc_zero(1, size);
    if (!*program) {
        release_parts(parts, count);
        bp__path_drop(path);
        return bp__fail_memory(size, "a contraction");
    }
    (*program)->base = (bp_prepared){.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy};
    (*program)->path = path;
    (*program)->operands = path->einsum.count;
    (*program)->count = count;
    size_t most = 0, alignment = 0;
    for (int i = 0; i < count; i++) {
        const bp_prepared *part = parts[i].plan->prepared;
        most = part->workspace > most ? part->workspace : most;
        alignment = part->workspace_alignment > alignment ? part->workspace_alignment : alignment;
    }
    const int64_t unit = alignment > 0 ? (int64_t)alignment : 1;
    (*program)->workspace = (workspace + unit - 1) / unit * unit;
    (*program)->base.workspace = (size_t)(*program)->workspace + most;
    (*program)->base.workspace_alignment = alignment;
    memcpy((*program)->parts, parts, (size_t)count * sizeof *parts);
    return BP_OK;
}

const bp__program *bp__program_of(const bp_plan *plan) {
    return plan && plan->problem.op == BP_OP_EINSUM ? (const bp__program *)bp__plan_inner(plan) : NULL;
}

const bp_contraction_path *bp_einsum_plan_path(const bp_plan *plan) {
    const bp__program *program = bp__program_of(plan);
    return program ? program->path : NULL;
}

int bp_einsum_part_at(const bp_plan *plan, int index, bp_einsum_part *part) {
    const bp__program *program = bp__program_of(plan);
    if (!program || !bp__struct_usable(part) || index < 0 || index >= program->count) {
        return 0;
    }
    const bp__part *p = &program->parts[index];
    bp_einsum_part own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.step = p->step;
    own.action = p->action;
    own.runs = p->runs;
    own.plan = p->plan;
    bp__struct_write(part, &own, sizeof own);
    return 1;
}
