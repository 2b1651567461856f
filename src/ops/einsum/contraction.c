/* contraction.c - keeps what describes a program of einsum: its path, and what each part does. */
#include "ops/einsum/einsum.h"

#include <string.h>

static void drop_contraction(void *owner) {
    bp__contraction *c = owner;
    bp__path_drop(c->path);
    bp__free(c);
}

static void release_pieces(const bp__piece *pieces, int count) {
    for (int i = 0; i < count; i++) {
        bp__plan_release(pieces[i].plan);
    }
}

bp_status bp__contraction_make(bp__program **program, bp__contraction **contraction, bp_contraction_path *path,
                               const bp__piece *pieces, int count, int64_t workspace) {
    const size_t size = sizeof **contraction + (size_t)count * sizeof(bp__action);
    bp__contraction *c = bp__alloc_zero(1, size);
    bp__part *parts = bp__alloc_zero((size_t)count + 1, sizeof *parts);
    if (!c || !parts) {
        bp__free(c);
        bp__free(parts);
        release_pieces(pieces, count);
        bp__path_drop(path);
        return bp__fail_memory(size, "a contraction");
    }
    c->path = path;
    for (int i = 0; i < count; i++) {
        const bp__piece *piece = &pieces[i];
        c->actions[i] = piece->action;
        parts[i] = (bp__part){.plan = piece->plan,
                              .place = piece->place,
                              .places = BP__OPERANDS,
                              .loop = piece->loop,
                              .runs = piece->runs};
    }
    const bp__program_source source = {.op = BP_OP_EINSUM,
                                       .parts = parts,
                                       .count = count,
                                       .workspace = workspace,
                                       .owner = c,
                                       .drop = drop_contraction};
    bp_status status = bp__program_make(program, &source);
    bp__free(parts);
    *contraction = status == BP_OK ? c : NULL;
    return status;
}

const bp__program *bp__einsum_program(const bp_plan *plan) {
    return plan && plan->problem.op == BP_OP_EINSUM ? bp__program_of(plan) : NULL;
}

const bp_contraction_path *bp_einsum_plan_path(const bp_plan *plan) {
    const bp__program *program = bp__einsum_program(plan);
    return program ? bp__contraction_of(program)->path : NULL;
}

int bp_einsum_part_at(const bp_plan *plan, int index, bp_einsum_part *part) {
    const bp__program *program = bp__einsum_program(plan);
    if (!program || !bp__struct_usable(part) || index < 0 || index >= program->count) {
        return 0;
    }
    const bp__part *p = &program->parts[index];
    const bp__action *action = &bp__contraction_of(program)->actions[index];
    bp_einsum_part own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.step = action->step;
    own.action = action->text;
    own.runs = p->runs;
    own.plan = p->plan;
    bp__struct_write(part, &own, sizeof own);
    return 1;
}
