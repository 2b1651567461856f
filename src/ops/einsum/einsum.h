/* einsum.h - between the files of einsum: how a path becomes a program of matrix products and contractions.
 *
 * einsum.c takes calls and finds their plans, build.c follows the path, step.c decides how a step is
 * done, problems.c makes problems of it, workspace.c says where results lie, and program.c runs it all.
 */
#ifndef BP_OPS_EINSUM_H
#define BP_OPS_EINSUM_H

#include "backplane/einsum.h"
#include "dispatch/internal.h"
#include "einsum/internal.h"

/* ---- Where tensors lie ---- */

typedef enum bp__home { BP__NOWHERE, BP__AT_OPERAND, BP__AT_WORK, BP__AT_OUT } bp__home;

typedef struct bp__place {
    bp__home home;
    int32_t operand;
    int64_t offset;  /* bytes into the workspace */
    int64_t advance; /* bytes from one run of the part to the next */
} bp__place;

/* Offsets of blocks in the workspace, given out and taken back while the program is made, so that a run allocates once:
 * blocks that are never needed at the same time share memory. (workspace.c) */
typedef struct bp__block {
    int64_t offset, size;
} bp__block;

typedef struct bp__arena {
    bp__block *taken; /* by offset */
    int count, capacity;
    int64_t peak;
} bp__arena;

bp_status bp__arena_take(bp__arena *room, double bytes, int64_t *offset);
void bp__arena_give(bp__arena *room, int64_t offset);
void bp__arena_free(bp__arena *room);

/* ---- Programs (program.c) ---- */

/* One plan of a program. The first part of a loop says how many parts belong to it; they are run `runs` times. */
typedef struct bp__part {
    bp_plan *plan;
    const char *action;
    int32_t step;
    int32_t loop; /* parts from here on, 0: no loop begins here */
    int64_t runs;
    bp__place place[BP__OPERANDS]; /* A, B, C */
} bp__part;

typedef struct bp__program {
    bp_prepared base; /* first, so that both have one address */
    bp_contraction_path *path;
    int operands, count;
    int64_t workspace;
    int64_t strides[BP_MAX_NDIM]; /* of the output */
    bp__part parts[];
} bp__program;

/* Takes over the plans of the parts and a reference to the path, also when it fails. The strides are left to fill. */
bp_status bp__program_make(bp__program **program, bp_contraction_path *path, const bp__part *parts, int count,
                           int64_t workspace);
const bp__program *bp__program_of(const bp_plan *plan); /* NULL for plans of other operations */

/* ---- Building (build.c) ---- */

/* A tensor on its way: the strides, in elements, of the labels that it steps along. */
typedef struct bp__term {
    int count;
    int32_t *label;
    int64_t *stride;
    bp__place place;
} bp__term;

/* The settings in force, as they are for the two kinds of parts. Resolved once, so that a plan has the settings that it
 * is found by. */
typedef struct bp__part_policies {
    bp_policy products, contractions;
} bp__part_policies;

typedef struct bp__builder {
    const bp__einsum *einsum;
    bp_dtype dtype;
    size_t element;
    const bp__part_policies *policies;
    int32_t *uses;   /* of each label: terms that are left and have it, and the output */
    bp__term *terms; /* operands, then the results of steps */
    bp__term out;
    bool free; /* the layout of the output */
    bp__part *parts;
    int part_count, part_capacity;
    bp__arena room;
    int step;            /* the one that is being built */
    bp_problem *refused; /* NULL, or where to put what no candidate takes */
} bp__builder;

/* The program for tensors of these layouts; without `out` the output has the layout that costs least. `path` is taken
 * over, also when it fails; where no candidate takes a part (BP_E_NO_CANDIDATE), its problem goes to `refused`, which
 * may be NULL. */
bp_status bp__program_build(bp__program **program, bp_contraction_path *path, const DLTensor *const *operands,
                            const DLTensor *out, const bp__part_policies *policies, bp_problem *refused);

/* Room for the labels of a term. */
bp_status bp__term_reserve(bp__term *term, int count);

/* ---- One step (step.c, problems.c) ---- */

enum { BP__A, BP__B, BP__C };

/* One label of a step. A stride is 0 where the tensor lacks the label; `in` tells which inputs have it. */
typedef struct bp__axis {
    int32_t label;
    bool in[2], kept;
    int64_t size;
    int64_t stride[BP__OPERANDS];
} bp__axis;

/* The step of `a` and `b` (NULL: `a` alone) to `result`, which is the output if `last`. */
bp_status bp__step_build(bp__builder *builder, bp__term *a, bp__term *b, bp__term *result, bool last);

/* A plan for the axes, all of them or those of `count` places in a list, with the classes that a product has. */
typedef struct bp__group {
    int count;
    int *at; /* axes, the outermost first */
} bp__group;

typedef struct bp__product {
    bp__group batch, left, right, summed;
} bp__product;

bp_status bp__contraction_plan(bp_plan **plan, const bp__builder *builder, const bp__axis *axes, int count, bool second,
                               bool in_place);
bp_status bp__product_plan(bp_plan **plan, const bp__builder *builder, const bp__axis *axes,
                           const bp__product *product);

/* Whether the axes, in this order, are one dimension of that operand; its stride then. */
bool bp__group_merges(const bp__axis *axes, const bp__group *group, int operand, int64_t *stride);

/* Takes the plan over, also when it fails. */
bp_status bp__part_add(bp__builder *builder, bp_plan *plan, const char *action, bp__place a, bp__place b, bp__place c);

/* ---- Explaining (explain.c) ---- */
bp_status bp__program_explain(bp_explanation **explanation, const bp_plan *plan);

#endif
