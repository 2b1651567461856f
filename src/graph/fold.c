/* fold.c - computes the nodes whose operands are constants when a plan is made, by the same calls as in a run. Large
 * results stay nodes, since they would take memory as long as the plan. */
#include "graph/graph.h"

#include <string.h>

enum { MOST_BYTES = 64 * 1024 };

static bool is_known(const bp__lowered *l, bp_value value) {
    return value == 0 || l->at[l->same[value]].place.home == BP__AT_CONSTANT;
}

static bool operands_are_known(const bp__lowered *l, const bp__node *node) {
    bool known = true;
    for (int i = 0; i < node->pass->info.input_count; i++) {
        known &= is_known(l, node->operand[i]);
    }
    for (int i = 0; i < node->list_count; i++) {
        known &= is_known(l, node->list[i]);
    }
    return known;
}

static bool is_wanted(const bp__lowered *l, const bp__node *node, int operand) {
    return node->operand[operand] && (l->live[node->operand[operand]] || node->pass->operand[operand].info.required);
}

/* Whether something needs the node, and all that it writes is small. */
static bool is_small(const bp__lowered *l, const bp__node *node) {
    bool live = false, small = true;
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        live |= node->operand[i] && l->live[node->operand[i]];
        small &= !is_wanted(l, node, i) || bp__value_bytes(&l->graph->values[node->operand[i]]) <= MOST_BYTES;
    }
    return live && small;
}

static void locate_known(const void *context, bp_value value, DLTensor *tensor) {
    const bp__lowered *l = context;
    const bp_value v = l->same[value];
    *tensor = bp__located_tensor(l, v);
    tensor->data = l->at[v].place.home == BP__AT_CONSTANT
                       ? (void *)((uintptr_t)l->at[v].place.constant + (uintptr_t)l->at[v].place.offset)
                       : NULL;
}

static bp_status take_results(bp__lowered *l, const bp__node *node) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        if (is_wanted(l, node, i)) {
            const size_t bytes = (size_t)bp__value_bytes(&l->graph->values[v]);
            l->folded[v] = bp__alloc_aligned(bytes + 1);
            if (!l->folded[v]) {
                return bp__fail_memory(bytes, "a constant of a graph");
            }
            bp__lower_constant(l, v);
        }
    }
    return BP_OK;
}

static void give_results(bp__lowered *l, const bp__node *node) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        if (v && l->folded[v]) {
            bp__free_aligned(l->folded[v]);
            l->folded[v] = NULL;
            l->at[v].place.home = BP__NOWHERE;
        }
    }
}

static bp_status run_known(bp__lowered *l, const bp__node *node, bp__bound *bound) {
    BP__TRY(bp__bind(bound, node, locate_known, l));
    bp__bound_leave_out(bound, l, node);
    bp_status status = bp_call_run(NULL, node->call, bound->arguments.bytes);
    bp__unbind(bound);
    return status;
}

/* A node that fails is left to the run, which fails with its message. */
static bp_status fold_node(bp__lowered *l, const bp__node *node, bp__bound *bound) {
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = take_results(l, node);
    status = status == BP_OK ? run_known(l, node, bound) : status;
    if (status != BP_OK) {
        give_results(l, node);
    }
    const bool fails = status == BP_E_NO_MEMORY || status == BP_E_CANCELLED;
    return bp__error_finish(&held, fails ? status : BP_OK);
}

static bp_status fold_value(bp__lowered *l, bp_value v, bp__bound *bound) {
    const bp__graph_value *value = &l->graph->values[v];
    const bp__node *node = value->kind == BP__VALUE_NODE ? &l->graph->nodes[value->from] : NULL;
    if (value->kind == BP__VALUE_CONSTANT) {
        bp__lower_constant(l, v);
    } else if (value->kind == BP__VALUE_VIEW && l->live[v] && is_known(l, value->from)) {
        bp__lower_view(l, v);
    } else if (node && node->first == v && l->same[v] == v && !l->output_nodes[value->from] && is_small(l, node) &&
               operands_are_known(l, node)) {
        return fold_node(l, node, bound);
    }
    return BP_OK;
}

void bp__lower_unfold(const bp__lowered *l) {
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        bp__free_aligned(l->folded[v]);
    }
}

bp_status bp__lower_fold(bp__lowered *l) {
    bp__bound *bound = bp__alloc(sizeof *bound); /* large: not on the stack */
    if (!bound) {
        return bp__fail_memory(sizeof *bound, "the plan of a graph");
    }
    bp_status status = BP_OK;
    bp__lower_unplace(l);
    for (bp_value v = 1; v <= l->graph->value_count && status == BP_OK; v++) {
        status = fold_value(l, v, bound);
    }
    bp__free(bound);
    return status;
}
