/* program.c - runs lists of plans as one plan. */
#include "dispatch/program.h"

#include "base/number.h"
#include "dispatch/composition.h"

#include <string.h>

/* The state of one run. */
typedef struct run {
    bp_op op;
    const bp_operand *operands; /* the caller's */
    bp_queue *queue;            /* NULL: the host */
    bp_operand work;            /* intermediate results and copies */
    bp_operand part_space;      /* after `work`: the workspace of the current part */
    double since;               /* estimated nanoseconds since the last interrupt check */
} run;

#define ASKED_EACH 1e5 /* nanoseconds */
#define LEAST_PART 100 /* nanoseconds; the smallest time that counts for a part */

/* Returns the location of a part's operand. Tensors without elements may have no address. */
static bp_operand operand_at(const run *r, const bp__place *place, int64_t turn) {
    const uint64_t offset = (uint64_t)(place->offset + turn * place->advance);
    switch (place->home) {
    case BP__AT_OPERAND:
        return (bp_operand){r->operands[place->operand].base, r->operands[place->operand].offset + offset};
    case BP__AT_WORK:
        return (bp_operand){r->work.base, r->work.offset + offset};
    case BP__AT_CONSTANT:
        return (bp_operand){place->constant, offset};
    default:
        return (bp_operand){NULL, 0};
    }
}

/* Returns whether the thread's interrupt check stops the run before this part. Uses time estimates, so that short runs
 * need no check. */
static bool stops(run *r, const bp__part *part) {
    if (BP__UNLIKELY(r->since > ASKED_EACH)) {
        r->since = 0;
        if (bp__operation_interrupted(r->op)) {
            return true;
        }
    }
    r->since += (part->plan ? part->plan->verdict.cost_ns : 0) + LEAST_PART;
    return false;
}

static int operands_of(const bp__part *part) {
    return part->plan && part->plan->operands > part->places ? part->plan->operands : part->places;
}

/* The thread's last plan is the whole one, whatever the work ran. */
static bp_status run_work(const bp__part *part, const bp_operand *operands) {
    const uint64_t last = bp__thread.last_serial;
    const bp_status status = part->work(part->context, operands);
    bp__thread.last_serial = last;
    return status;
}

static bp_status run_on(run *r, const bp__part *part, int64_t turn, bp_operand *operands) {
    for (int i = 0; i < part->places; i++) {
        operands[i] = operand_at(r, &part->place[i], turn);
    }
    if (BP__UNLIKELY(!part->plan)) {
        return run_work(part, operands);
    }
    for (int i = part->places; i < part->plan->operands; i++) {
        operands[i] = (bp_operand){NULL, 0};
    }
    bp_status status = bp__plan_run_part(part->plan, operands, part->packed, r->queue, &r->part_space);
    return status == BP_E_CANCELLED ? bp__fail_cancelled(bp_op_name(r->op)) : status;
}

/* A part that is a composed plan itself may have more operands than fit on the stack. */
__attribute__((noinline)) static bp_status run_wide(run *r, const bp__part *part, int64_t turn) {
    const size_t size = (size_t)operands_of(part) * sizeof(bp_operand);
    bp_operand *operands = bp__alloc(size);
    if (!operands) {
        return bp__fail_memory(size, "the operands of a part");
    }
    bp_status status = run_on(r, part, turn, operands);
    bp__free(operands);
    return status;
}

static bp_status run_part(run *r, const bp__part *part, int64_t turn) {
    bp_operand operands[BP__MOST_OPERANDS];
    if (stops(r, part)) {
        return BP_E_CANCELLED;
    }
    return BP__LIKELY(operands_of(part) <= BP__MOST_OPERANDS) ? run_on(r, part, turn, operands)
                                                              : run_wide(r, part, turn);
}

static bp_status run_loop(run *r, const bp__part *parts) {
    for (int64_t turn = 0; turn < parts->runs; turn++) {
        for (int i = 0; i < parts->loop; i++) {
            BP__TRY(run_part(r, &parts[i], turn));
        }
    }
    return BP_OK;
}

/* Puts the title of a part before the message of its failure. */
__attribute__((noinline)) static bp_status fail_part(const bp__program *program, int part, bp_status status) {
    return program->title ? bp__fail(status, "%s: %s", program->title(program->owner, part), bp_last_error()) : status;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__program *program = (const bp__program *)self;
    run r = {.op = program->op, .operands = operands, .queue = exec->queue, .work = exec->workspace};
    r.part_space = r.work;
    r.part_space.offset += (uint64_t)program->workspace;
    for (int i = 0; i < program->count;) {
        const bp__part *part = &program->parts[i];
        const bp_status status = part->loop ? run_loop(&r, part) : run_part(&r, part, 0);
        if (BP__UNLIKELY(status != BP_OK)) {
            return fail_part(program, i, status);
        }
        i += part->loop ? part->loop : 1;
    }
    return BP_OK;
}

void bp__parts_release(const bp__part *parts, int count) {
    for (int i = 0; i < count; i++) {
        for (int k = 0; parts[i].packed && k < parts[i].plan->operands; k++) {
            bp__part_unpack(parts[i].packed[k]);
        }
        bp__free((void *)(uintptr_t)parts[i].packed);
        bp__plan_release(parts[i].plan);
    }
}

static void destroy(bp_prepared *self) {
    bp__program *program = (bp__program *)self;
    bp__parts_release(program->parts, program->count);
    if (program->drop) {
        program->drop(program->owner);
    }
    bp__free(program);
}

/* Copies the places behind the parts. */
static void copy_parts(bp__program *program, const bp__program_source *source) {
    bp__place *place = (bp__place *)(void *)(program->parts + source->count);
    for (int i = 0; i < source->count; i++) {
        bp__part *part = &program->parts[i];
        *part = source->parts[i];
        part->place = memcpy(place, source->parts[i].place, (size_t)part->places * sizeof *place);
        place += part->places;
    }
}

bp_status bp__program_make(bp__program **program, const bp__program_source *source) {
    size_t places = 0, most = 0, alignment = 1;
    for (int i = 0; i < source->count; i++) {
        const bp_prepared *part = source->parts[i].plan ? source->parts[i].plan->prepared : NULL;
        places += (size_t)source->parts[i].places;
        if (!part) {
            continue;
        }
        most = part->workspace > most ? part->workspace : most;
        alignment = part->workspace_alignment > alignment ? part->workspace_alignment : alignment;
    }
    const size_t size = sizeof **program + (size_t)source->count * sizeof(bp__part) + places * sizeof(bp__place);
    *program = bp__alloc_zero(1, size);
    if (!*program) {
        bp__parts_release(source->parts, source->count);
        if (source->drop) {
            source->drop(source->owner);
        }
        return bp__fail_memory(size, "a plan of several parts");
    }
    (*program)->base = (bp_prepared){.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy};
    (*program)->op = source->op;
    (*program)->count = source->count;
    (*program)->owner = source->owner;
    (*program)->drop = source->drop;
    (*program)->title = source->title;
    const int64_t unit = (int64_t)alignment;
    (*program)->workspace = (source->workspace + unit - 1) / unit * unit;
    (*program)->base.workspace = (size_t)(*program)->workspace + most;
    (*program)->base.workspace_alignment = alignment > 1 ? alignment : 0;
    copy_parts(*program, source);
    return BP_OK;
}

/* Sets the candidate of a program whose parts have no plans. */
static bp_status use_native(bp__composition *c) {
    bp__candidate **list;
    int count;
    BP__TRY(bp__candidates(NULL, -1, &list, &count));
    for (int i = 0; i < count; i++) {
        c->candidate = bp__candidate_is_native(list[i]) ? list[i] : c->candidate;
    }
    c->reason = "the parts have no plans of their own";
    return c->candidate ? BP_OK : bp__fail(BP_E_NO_CANDIDATE, "native is not there");
}

bp_status bp__program_sum_up(const bp__program *program, bp__composition *c) {
    const uint32_t packs = BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C;
    const uint32_t lossy =
        BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32; /* if one part rounds, the whole plan does */
    uint32_t loses = 0;
    double longest = -1;
    c->properties = ~packs;
    for (int i = 0; i < program->count; i++) {
        const bp__part *part = &program->parts[i];
        if (!part->plan) {
            continue;
        }
        const bp_verdict *v = &part->plan->verdict;
        const double cost = bp__plan_expected_ns(part->plan) * (double)part->runs;
        c->cost_ns += cost;
        c->properties &= v->properties;
        loses |= v->properties & lossy;
        c->threads = v->threads > c->threads ? v->threads : c->threads;
        if (cost > longest) {
            longest = cost;
            c->candidate = part->plan->candidate;
            c->reason = part->plan->reason;
        }
    }
    c->properties |= loses;
    return c->candidate ? BP_OK : use_native(c);
}

const bp__program *bp__program_of(const bp_plan *plan) {
    const bp_prepared *inner = plan && plan->composed ? bp__plan_inner(plan) : NULL;
    return inner && inner->enqueue == enqueue ? (const bp__program *)inner : NULL;
}
