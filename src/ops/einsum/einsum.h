/* einsum.h - converts a path to a program of matrix products and contractions: declarations shared by the files of
 * einsum.
 *
 * einsum.c checks calls and finds their plans. build.c follows the path. step.c selects how to compute a step,
 * problems.c makes its problems, and contraction.c keeps what describes the program. */
#ifndef BP_OPS_EINSUM_H
#define BP_OPS_EINSUM_H

#include "backplane/einsum.h"
#include "dispatch/arena.h"
#include "dispatch/program.h"
#include "einsum/internal.h"

/* ---- Programs (contraction.c) ---- */

/* Whose threads the parts of a call run on, if there are several. */
typedef enum bp__threads {
    BP__THREADS_OF_ANY,
    BP__THREADS_OF_PRODUCTS, /* contractions run on one thread */
    BP__THREADS_OF_NATIVE    /* other libraries run on one thread */
} bp__threads;

/* What a part does. */
typedef struct bp__action {
    int32_t step;
    const char *text;
} bp__action;

/* What describes a program; it is the program's owner. */
typedef struct bp__contraction {
    bp_contraction_path *path;
    bp__threads threads;
    int64_t strides[BP_MAX_NDIM]; /* of the output */
    bp__action actions[];         /* of each part */
} bp__contraction;

/* A part while a program is built; the first one of a loop has the number of its parts. */
typedef struct bp__piece {
    bp_plan *plan;
    bp__action action;
    int32_t loop;
    int64_t runs;
    bp__place place[BP__OPERANDS]; /* A, B, C */
} bp__piece;

/* Makes a program, and sets *contraction to its description, whose strides the caller fills. Takes ownership of the
 * pieces' plans and of a path reference, also on failure. */
bp_status bp__contraction_make(bp__program **program, bp__contraction **contraction, bp_contraction_path *path,
                               const bp__piece *pieces, int count, int64_t workspace);

/* Returns what describes a program of einsum. */
static inline const bp__contraction *bp__contraction_of(const bp__program *program) {
    return program->owner;
}

/* Returns the program of a plan; NULL for plans of other operations. */
const bp__program *bp__einsum_program(const bp_plan *plan);

/* ---- Building (build.c) ---- */

/* A tensor during the construction: its labels with their strides in elements. */
typedef struct bp__term {
    int count;
    int32_t *label;
    int64_t *stride;
    bp__place place;
} bp__term;

/* The settings in force for the two kinds of parts. They are resolved once, so that the plan matches the settings in
 * its key. */
typedef struct bp__part_policies {
    bp_policy products, contractions;
} bp__part_policies;

typedef struct bp__builder {
    const bp__einsum *einsum;
    bp_dtype dtype;
    size_t element;
    int32_t device_place;
    const bp__part_policies *policies;
    bp__threads threads;
    int32_t *uses;   /* of each label: the number of remaining terms with it, plus the output */
    bp__term *terms; /* operands, then the results of steps */
    bp__term out;
    bool free;       /* the layout of the output may be chosen */
    bool drops_kept; /* the output has a dimension of size 1, which no term has */
    bp__piece *parts;
    int part_count, part_capacity;
    bp__arena arena;
    int step;            /* the step in progress */
    bp_problem *refused; /* NULL, or receives the problem that no candidate accepts */
} bp__builder;

/* Builds the program for tensors of these layouts. If `out` is NULL, the output gets the cheapest layout. Takes
 * ownership of `path`, even on failure. If no candidate accepts a part (BP_E_NO_CANDIDATE), its problem is stored in
 * `refused`, which may be NULL. */
bp_status bp__program_build(bp__program **program, bp_contraction_path *path, const DLTensor *const *operands,
                            const DLTensor *out, const bp__part_policies *policies, bp_problem *refused);

/* What parts take. Times that were measured are compared with each other, and estimates with estimates, because a
 * constant of an estimate may be wrong on a machine by a factor. */
typedef struct bp__cost {
    double predicted_ns; /* from measured times; less than 0 if one of the parts has none */
    double order_ns;     /* on the scale of estimates. Under deterministic=threads it does not depend on num_threads, so
                          * that the parts do not either: other parts would give different bits */
} bp__cost;

void bp__cost_add(bp__cost *sum, const bp_plan *plan, double runs);
bp__cost bp__cost_since(const bp__builder *builder, int first); /* of the parts from `first` on */
bool bp__cost_is_less(const bp__cost *x, const bp__cost *y);

/* Allocates memory for `count` labels of a term. */
bp_status bp__term_reserve(bp__term *term, int count);

/* ---- One step (step.c, problems.c) ---- */

enum { BP__A, BP__B, BP__C };

bool bp__contract_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

/* One label of a step. Its stride is 0 in a tensor without the label; `in` marks the inputs that have it. */
typedef struct bp__axis {
    int32_t label;
    bool in[2], kept;
    int64_t size;
    int64_t stride[BP__OPERANDS];
} bp__axis;

/* Builds the step of `a` and `b` (NULL: `a` alone) to `result`, which is the output if `last`. */
bp_status bp__step_build(bp__builder *builder, bp__term *a, bp__term *b, bp__term *result, bool last);

/* A list of axes, as indices into the array of a step. The functions below make plans from such groups. */
typedef struct bp__group {
    int count;
    int *at; /* indices of axes, outermost first */
} bp__group;

typedef struct bp__product {
    bp__group batch, left, right, summed;
} bp__product;

bp_status bp__contraction_plan(bp_plan **plan, const bp__builder *builder, const bp__axis *axes, int count, bool second,
                               bool in_place);
bp_status bp__product_plan(bp_plan **plan, const bp__builder *builder, const bp__axis *axes,
                           const bp__product *product);

/* Returns whether the axes, in this order, form one dimension of the operand. Sets its stride. */
bool bp__group_merges(const bp__axis *axes, const bp__group *group, int operand, int64_t *stride);

/* Adds a part. Takes ownership of the plan, even on failure. */
bp_status bp__part_add(bp__builder *builder, bp_plan *plan, const char *action, bp__place a, bp__place b, bp__place c);

/* ---- Explaining (explain.c) ---- */
bp_status bp__program_explain(bp_explanation **explanation, const bp_plan *plan);

#endif
