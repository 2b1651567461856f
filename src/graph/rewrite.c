/* rewrite.c - copies a graph, and lets the rules of graph.rewrite replace nodes. The copy holds a reference to the
 * graph, because its constants are in the same memory. */
#include "graph/rewrite.h"

#include "base/number.h"
#include "settings/internal.h"

#include <string.h>

/* ---- For the rules ---- */

const bp__node *bp__rewrite_maker(const bp__rewriting *r, bp_value value, bp_op op) {
    const bp__graph_value *v = &r->from->values[value];
    const bp__node *node = v->kind == BP__VALUE_NODE && r->uses[value] == 1 ? &r->from->nodes[v->from] : NULL;
    return node && node->pass->info.op == op ? node : NULL;
}

bp_status bp__rewrite_call(bp__rewriting *r, const bp__node *node, const char *call, const char *fields, int count,
                           const bp_value *operands, bp_value *result) {
    bp__held_error held;
    *result = 0;
    bp__error_hold(&held);
    r->to->label = node->label;
    bp_status status = bp_graph_call(r->to, call, fields, count, operands, 1, &result);
    r->to->label = NULL;
    if (status == BP_OK) {
        r->to->nodes[r->to->node_count - 1].number = node->number;
    }
    const bool fails = status == BP_E_NO_MEMORY || status == BP_E_OVERFLOW;
    return bp__error_finish(&held, fails ? status : BP_OK);
}

/* Describes numbers in row-major order, with the shape of a value. */
static DLTensor row_major(double *numbers, const bp__graph_value *like) {
    return (DLTensor){.data = numbers,
                      .device = {kDLCPU, 0},
                      .ndim = like->ndim,
                      .dtype = bp_dtype_to_dlpack(BP_F64),
                      .shape = like->shape};
}

bp_status bp__rewrite_read(const bp__graph_value *constant, double **numbers) {
    const size_t size = (size_t)bp__value_elements(constant) * sizeof **numbers;
    *numbers = bp__alloc(size);
    if (!*numbers) {
        return bp__fail_memory(size, "a graph");
    }
    const DLTensor from = bp__constant_tensor(constant);
    DLTensor to = row_major(*numbers, constant);
    bp_status status = bp_tensor_copy(&to, &from);
    if (status != BP_OK) {
        bp__free(*numbers);
        *numbers = NULL;
    }
    return status;
}

/* Writes a name that no value of either graph has. */
static void make_name(const bp__rewriting *r, char *name, size_t size) {
    for (int number = r->to->value_count;; number++) {
        bp__format(name, size, "rewritten.%d", number);
        if (!bp__value_named(r->from, name, strlen(name)) && !bp__value_named(r->to, name, strlen(name))) {
            return;
        }
    }
}

bp_status bp__rewrite_constant(bp__rewriting *r, const bp__graph_value *like, const double *numbers, bp_value *value) {
    char name[48];
    make_name(r, name, sizeof name);
    BP__TRY(bp__graph_constant_add(r->to, name, like->dtype, like->ndim, like->shape, value));
    const bp__graph_value *made = bp__value_at(r->to, *value);
    const DLTensor from = row_major((double *)(uintptr_t)numbers, like);
    DLTensor to = bp__constant_tensor(made);
    return bp_tensor_copy(&to, &from);
}

/* ---- Copying ---- */

static bp_status copy_constant(bp__rewriting *r, bp_value v) {
    const bp__graph_value *value = &r->from->values[v];
    const DLTensor tensor = bp__constant_tensor(value);
    return bp__constant_hold(r->to, value->name, &tensor, &r->map[v]);
}

static bp_status copy_view(bp__rewriting *r, bp_value v) {
    const bp__graph_value *value = &r->from->values[v];
    const bp_value of = r->map[value->from];
    switch (value->view) {
    case BP__RESHAPE:
        return bp_graph_reshape(r->to, of, value->ndim, value->shape, &r->map[v]);
    case BP__PERMUTE:
        return bp_graph_permute(r->to, of, value->ndim, value->axes, &r->map[v]);
    case BP__EXPAND:
        return bp_graph_expand(r->to, of, value->ndim, value->shape, &r->map[v]);
    default: {
        const int64_t axis = value->slice[0];
        const int64_t numbers[4] = {axis, value->slice[1], value->shape[axis], value->slice[2]};
        return bp__slice_add(r->to, of, numbers, &r->map[v]);
    }
    }
}

/* Lets the rules replace a node, or copies it. */
static bp_status copy_node(bp__rewriting *r, const bp__node *node, bp__rewrite_mode mode) {
    BP__TRY(bp__rewrite_norm(r, node));
    if (mode == BP__REWRITE_FAST && !r->map[node->first]) {
        BP__TRY(bp__rewrite_attention(r, node));
    }
    return r->map[node->first] ? BP_OK : bp__node_copy(r->to, r->from, node, r->map);
}

static bp_status copy_value(bp__rewriting *r, bp_value v, bp__rewrite_mode mode) {
    const bp__graph_value *value = &r->from->values[v];
    switch (value->kind) {
    case BP__VALUE_INPUT:
        return bp_graph_input(r->to, value->name, value->dtype, value->ndim, value->shape, &r->map[v]);
    case BP__VALUE_CONSTANT:
        return copy_constant(r, v);
    case BP__VALUE_VIEW:
        return copy_view(r, v);
    default:
        return r->map[v] ? BP_OK : copy_node(r, &r->from->nodes[value->from], mode);
    }
}

static bp_status copy_all(bp__rewriting *r, bp__rewrite_mode mode) {
    for (bp_value v = 1; v <= r->from->value_count; v++) {
        BP__TRY(copy_value(r, v, mode));
    }
    for (int k = 0; k < r->from->output_count; k++) {
        BP__TRY(bp_graph_output(r->to, r->from->outputs[k].name, r->map[r->from->outputs[k].value]));
    }
    return bp_graph_finish(r->to);
}

/* ---- Rewriting ---- */

static void count_uses(const bp__rewriting *r) {
    const bp_graph *graph = r->from;
    for (int i = 0; i < graph->node_count; i++) {
        const bp__node *node = &graph->nodes[i];
        for (int k = 0; k < node->pass->info.input_count; k++) {
            r->uses[node->operand[k]]++;
        }
        for (int k = 0; k < node->list_count; k++) {
            r->uses[node->list[k]]++;
        }
    }
    for (bp_value v = 1; v <= graph->value_count; v++) {
        if (graph->values[v].kind == BP__VALUE_VIEW) {
            r->uses[graph->values[v].from]++;
        }
    }
    for (int k = 0; k < graph->output_count; k++) {
        r->uses[graph->outputs[k].value]++;
    }
}

/* The new graph holds the old one, whose memory its constants have. */
static bp_status make_copy(bp__rewriting *r, bp__rewrite_mode mode) {
    const size_t values = (size_t)r->from->value_count + 1;
    r->map = bp__alloc_zero(values, sizeof *r->map);
    r->uses = bp__alloc_zero(values, sizeof *r->uses);
    if (!r->map || !r->uses) {
        return bp__fail_memory(values * (sizeof *r->map + sizeof *r->uses), "a graph");
    }
    BP__TRY(bp__graph_create(&r->to));
    bp_graph *source = (bp_graph *)(uintptr_t)r->from; /* the count of references changes */
    atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    r->to->source = source;
    count_uses(r);
    return copy_all(r, mode);
}

static bp_status rewrite(bp_graph **rewritten, const bp_graph *graph, bp__rewrite_mode mode) {
    bp__rewriting r = {.from = graph};
    bp_status status = make_copy(&r, mode);
    bp__free(r.map);
    bp__free(r.uses);
    if (status != BP_OK) {
        bp__graph_release(r.to);
        return status;
    }
    r.to->norms_folded = r.made.norms;
    r.to->attentions_found = r.made.attentions;
    *rewritten = r.to;
    return BP_OK;
}

/* Threads that come at the same time may make the graph twice; the first one is kept. */
bp_status bp__graph_rewritten(const bp_graph **runs, const bp_graph *graph) {
    const bp__rewrite_mode mode = (bp__rewrite_mode)bp__setting_int(BP_SET_graph_rewrite);
    *runs = graph;
    if (mode == BP__REWRITE_EXACT) {
        return BP_OK;
    }
    _Atomic(bp_graph *) *kept = &((bp_graph *)(uintptr_t)graph)->rewritten[mode - 1];
    bp_graph *made, *before = atomic_load(kept);
    if (!before) {
        BP__TRY(rewrite(&made, graph, mode));
        if (!atomic_compare_exchange_strong(kept, &before, made)) {
            bp__graph_release(made);
        } else {
            before = made;
        }
    }
    *runs = before;
    return BP_OK;
}
