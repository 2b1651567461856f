/* plan.h - declares plans of graphs, and the list of plans that a graph keeps. */
#ifndef BP_GRAPH_PLAN_H
#define BP_GRAPH_PLAN_H

#include "base/number.h"
#include "dispatch/arena.h"
#include "dispatch/composition.h"
#include "graph/graph.h"

/* A call of a node that has no plan of its own. */
typedef struct bp__work {
    struct bp__work *next;
    const bp__node *node;
    const bp__lowered *lowered;
    /* During a run. */
    const bp_operand *operands;
    int *next_operand;
} bp__work;

/* What a part is called in messages and explanations. */
typedef struct bp__title {
    int node;                 /* -1: a copy, or a region */
    const bp__region *region; /* NULL: none */
    char text[96];
} bp__title;

/* What belongs to a plan; it is the owner of the plan's program. */
typedef struct bp__graph_plan {
    bp_graph *graph; /* a reference */
    bp__lowered lowered;
    bp__title *titles; /* of each part */
    bp__work *work;
    int64_t packed_bytes;
} bp__graph_plan;

/* Makes a plan under the settings in force. The tensors were checked; their data may be NULL. */
bp_status bp__graph_plan_make(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                              const DLTensor *const *outputs, const bp__plan_key *key);

/* ---- The plans that a graph keeps (plans.c) ---- */

struct bp__graph_plans;
bp_status bp__graph_plans_create(struct bp__graph_plans **plans);
void bp__graph_plans_release(struct bp__graph_plans *plans); /* NULL is allowed */

/* Sets *plan to the plan for tensors of these layouts, with a new reference. Makes it if there is none, after it has
 * checked the tensors. */
bp_status bp__graph_plans_get(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                              const DLTensor *const *outputs, bool data_optional, bool *fresh);
/* As above, but a plan that is not fresh has no new reference: it is valid until bp__graph_plans_leave(). */
bp_status bp__graph_plans_enter(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                                const DLTensor *const *outputs, bool data_optional, bool *fresh);
void bp__graph_plans_leave(const bp_graph *graph);
/* Forgets a plan, which is to be made again. */
void bp__graph_plans_forget(const bp_graph *graph, const bp_plan *plan);

#endif
