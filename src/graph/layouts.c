/* layouts.c - decides how the values that nodes write lie in memory: whether the channels of images are last, and which
 * values are parts of a result that joins them, so that nothing has to be copied there.
 *
 * The decisions are made before any plan, for the graph as a whole. A run node by node makes the same ones, so that
 * each node has the same call in both. */
#include "graph/graph.h"

#include "backplane/elementwise.h"

#include <string.h>

enum { AUTO, ROW_MAJOR, CHANNELS_LAST }; /* graph.layout */

static bool has_images(const bp_graph *graph) {
    bool found = false;
    for (int i = 0; i < graph->node_count; i++) {
        found |= graph->nodes[i].call->images;
    }
    return found;
}

static bool has_joins(const bp_graph *graph) {
    bool found = false;
    for (int i = 0; i < graph->node_count; i++) {
        found |= graph->nodes[i].call->joins_axis > 0;
    }
    return found;
}

/* ---- Parts of joined results ---- */

/* Finds the values that cannot be parts: outputs, and equal values, since a run node by node computes them all. */
static void find_apart(const bp__lowered *l, bool *apart) {
    memset(apart, 0, (size_t)l->graph->value_count + 1);
    for (int k = 0; k < l->graph->output_count; k++) {
        apart[l->same[l->graph->outputs[k].value]] = true;
    }
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        if (l->same[v] != v) {
            apart[v] = apart[l->same[v]] = true;
        }
    }
}

/* A node writes a part to the workspace, in one place. */
static bool may_be_part(const bp__lowered *l, const bool *apart, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    return value->kind == BP__VALUE_NODE && !l->folded[v] && l->layouts.whole[v] == 0 && bp__value_bytes(value) > 0 &&
           !apart[v];
}

static void forget_parts(const bp__lowered *l, const bp__node *node, int count) {
    for (int k = 0; k < count; k++) {
        l->layouts.whole[node->list[k]] = 0;
    }
}

/* Makes the operands of a node parts of its result, all or none. */
static void join_node(const bp__lowered *l, const bool *apart, const bp__node *node) {
    const bp__graph_value *result = &l->graph->values[node->first];
    int32_t axis;
    int64_t from = 0;
    memcpy(&axis, (const char *)node->arguments + node->call->joins_axis, sizeof axis);
    axis += axis < 0 ? result->ndim : 0;
    for (int k = 0; k < node->list_count; k++) {
        const bp_value v = node->list[k];
        if (!may_be_part(l, apart, v)) {
            forget_parts(l, node, k);
            return;
        }
        l->layouts.whole[v] = node->first;
        l->layouts.axis[v] = axis;
        l->layouts.from[v] = from;
        from += l->graph->values[v].shape[axis];
    }
}

static void join_all(const bp__lowered *l) {
    find_apart(l, l->placed); /* not in use yet */
    for (int i = 0; i < l->graph->node_count; i++) {
        const bp__node *node = &l->graph->nodes[i];
        if (node->call->joins_axis > 0 && l->live[node->first] && !l->folded[node->first] &&
            l->same[node->first] == node->first) {
            join_node(l, l->placed, node);
        }
    }
}

bool bp__layouts_is_joined(const bp__lowered *l, const bp__node *node) {
    return node->call->joins_axis > 0 && l->layouts.whole && l->layouts.whole[node->list[0]] == node->first;
}

bp_value bp__layouts_root(const bp__lowered *l, bp_value v) {
    while (l->layouts.whole && l->layouts.whole[v]) {
        v = l->layouts.whole[v];
    }
    return v;
}

bool bp__layouts_contains(const bp__lowered *l, bp_value whole, bp_value part) {
    while (part < whole && l->layouts.whole && l->layouts.whole[part]) { /* a whole has the larger number */
        part = l->layouts.whole[part];
    }
    return part == whole;
}

int64_t bp__layouts_ahead(const bp__lowered *l, bp_value v, const int64_t *strides) {
    int64_t ahead = 0;
    for (; l->layouts.whole && l->layouts.whole[v]; v = l->layouts.whole[v]) {
        ahead += l->layouts.from[v] * strides[l->layouts.axis[v]];
    }
    return ahead;
}

/* ---- Images ---- */

/* Returns whether an operand of the same rank has its channels last. */
static bool follows(const bp__lowered *l, const bp__node *node, int ndim) {
    bool found = false;
    for (int i = 0; i < node->pass->info.input_count; i++) {
        const bp_value v = l->same[node->operand[i]];
        found |= v && l->layouts.last[v] && l->graph->values[v].ndim == ndim;
    }
    for (int i = 0; i < node->list_count; i++) {
        found |= l->layouts.last[l->same[node->list[i]]];
    }
    return found;
}

static void note_value(const bp__lowered *l, bp_value v, int ndim) {
    l->layouts.image[l->same[v]] |= v && l->graph->values[v].ndim == ndim;
}

/* Notes the operands of a node that have this rank as read by calls on images. */
static void note_operands(const bp__lowered *l, const bp__node *node, int ndim) {
    for (int i = 0; i < node->pass->info.input_count; i++) {
        note_value(l, node->operand[i], ndim);
    }
    for (int i = 0; i < node->list_count; i++) {
        note_value(l, node->list[i], ndim);
    }
}

/* Finds the values that calls on images read, also through slices and repetitions of the same rank, and through calls
 * that keep the order of dimensions in memory. Values are made before they are read, so that one pass from the last to
 * the first one finds all. */
static void find_read_images(const bp__lowered *l) {
    for (bp_value v = l->graph->value_count; v > 0; v--) {
        const bp__graph_value *value = &l->graph->values[v];
        const bool image = l->layouts.image[l->same[v]];
        if (value->ndim < 3 || !l->live[v]) {
            continue;
        }
        if (value->kind == BP__VALUE_VIEW && (value->view == BP__SLICE || value->view == BP__EXPAND) && image) {
            note_value(l, value->from, value->ndim);
        } else if (value->kind == BP__VALUE_NODE) {
            const bp__node *node = &l->graph->nodes[value->from];
            const bool keeps_order = node->call->pointwise || node->call->moves;
            if (node->call->images || (keeps_order && image)) {
                note_operands(l, node, value->ndim);
            }
        }
    }
}

/* Returns whether a reshaped value is an image again, such as channels that were exchanged: it comes from one with its
 * channels last, and is read as one. */
static bool is_reshaped_image(const bp__lowered *l, bp_value v) {
    bp_value from = l->same[l->graph->values[v].from];
    while (l->graph->values[from].kind == BP__VALUE_VIEW && !l->folded[from]) {
        from = l->same[l->graph->values[from].from];
    }
    return l->layouts.image[l->same[v]] && l->layouts.last[from];
}

static bool is_last(const bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    if (value->ndim < 3 || l->folded[l->same[v]]) {
        return false;
    }
    if (value->kind == BP__VALUE_VIEW && value->view == BP__RESHAPE) {
        return is_reshaped_image(l, v);
    }
    if (value->kind == BP__VALUE_VIEW) {
        const bp_value from = l->same[value->from];
        return (value->view == BP__SLICE || value->view == BP__EXPAND) && l->layouts.last[from] &&
               l->graph->values[from].ndim == value->ndim;
    }
    if (value->kind != BP__VALUE_NODE) {
        return false;
    }
    const bp__node *node = &l->graph->nodes[value->from];
    return node->call->images || ((node->call->pointwise || node->call->moves) && follows(l, node, value->ndim));
}

/* Decides for each value whether its channels, dimension 1, are last in memory. */
static void set_images(bp__lowered *l, bool channels_last) {
    l->layouts.channels_last = channels_last;
    if (channels_last) {
        find_read_images(l);
    }
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        l->layouts.last[v] = channels_last && is_last(l, v);
    }
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        l->layouts.last[v] = l->layouts.last[bp__layouts_root(l, v)];
    }
}

void bp__layouts_strides(const bp__lowered *l, bp_value v, int64_t *strides) {
    const bp__graph_value *value = &l->graph->values[v];
    const bool last = l->layouts.last && l->layouts.last[v];
    int64_t step = 1;
    if (last) {
        strides[1] = 1;
        step = value->shape[1] > 0 ? value->shape[1] : 1;
    }
    for (int d = value->ndim - 1; d >= 0; d--) {
        if (!last || d != 1) {
            strides[d] = step;
            step *= value->shape[d] > 0 ? value->shape[d] : 1;
        }
    }
}

/* ---- Costs ---- */

typedef struct costing {
    bp__lowered *lowered;
    const DLTensor *const *inputs, *const *outputs;
    bp__bound bound;
    bp__copy copy;
} costing;

static bp_status plan_step(costing *c, const bp__step *step, bp_plan **plan) {
    if (step->node < 0) {
        bp__step_copy(c->lowered, step, c->outputs, &c->copy);
        return bp_unary_plan(plan, NULL, BP_UNARY_COPY, &c->copy.from, &c->copy.to);
    }
    return bp__lower_plan(plan, c->lowered, &c->lowered->graph->nodes[step->node], &c->bound);
}

/* Adds the time of a step. A step without a plan counts as nothing if its call never has one, else as much. */
static bp_status add_cost(costing *c, const bp__step *step, double *ns) {
    const double refused = 1e15;
    bp__held_error held;
    bp_plan *plan = NULL;
    if (step->node >= 0 && c->lowered->graph->nodes[step->node].call->info.unplanned) {
        return BP_OK;
    }
    bp__error_hold(&held);
    const bp_status status = plan_step(c, step, &plan);
    *ns += status == BP_OK ? plan->order_ns : refused;
    bp_plan_release(plan);
    return bp__error_finish(&held, status == BP_E_NO_MEMORY || status == BP_E_CANCELLED ? status : BP_OK);
}

/* Adds up the times of the steps of a layout. */
static bp_status sum_up(costing *c, bool channels_last, double *ns) {
    *ns = 0;
    set_images(c->lowered, channels_last);
    bp__lower(c->lowered, c->inputs, c->outputs);
    for (int i = 0; i < c->lowered->step_count; i++) {
        BP__TRY(add_cost(c, &c->lowered->steps[i], ns));
    }
    return BP_OK;
}

static bp_status compare(bp__lowered *l, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    costing *c = bp__alloc(sizeof *c); /* large: not on the stack */
    if (!c) {
        return bp__fail_memory(sizeof *c, "the plan of a graph");
    }
    c->lowered = l;
    c->inputs = inputs;
    c->outputs = outputs;
    double *ns = l->layouts.cost_ns;
    bp_status status = sum_up(c, false, &ns[false]);
    status = status == BP_OK ? sum_up(c, true, &ns[true]) : status;
    bp__free(c);
    return status;
}

/* ---- Decisions ---- */

static bp_status begin(bp__layouts *layouts, const bp_graph *graph) {
    const size_t values = (size_t)graph->value_count + 1;
    const size_t size = values * (sizeof *layouts->from + sizeof *layouts->whole + sizeof *layouts->axis +
                                  sizeof *layouts->last + sizeof *layouts->image);
    layouts->memory = bp__alloc_zero(1, size);
    if (!layouts->memory) {
        return bp__fail_memory(size, "the plan of a graph");
    }
    layouts->from = layouts->memory;
    layouts->whole = (bp_value *)(void *)(layouts->from + values);
    layouts->axis = (int *)(layouts->whole + values);
    layouts->last = (bool *)(layouts->axis + values);
    layouts->image = layouts->last + values;
    return BP_OK;
}

bp_status bp__layouts_choose(bp__lowered *l, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    const bool images = has_images(l->graph);
    if (!images && !has_joins(l->graph)) {
        return BP_OK;
    }
    BP__TRY(begin(&l->layouts, l->graph));
    bp__lower_mark(l);
    join_all(l);
    const int64_t wanted = bp__setting_int(BP_SET_graph_layout);
    if (images && wanted == AUTO) {
        BP__TRY(compare(l, inputs, outputs));
    }
    const double *ns = l->layouts.cost_ns;
    set_images(l, images && (wanted == CHANNELS_LAST || (wanted == AUTO && ns[true] < ns[false])));
    return BP_OK;
}

bp_status bp__layouts_of(bp__layouts *layouts, const bp_graph *graph, const DLTensor *const *inputs,
                         const DLTensor *const *outputs) {
    bp__lowered l;
    *layouts = (bp__layouts){0};
    if (!has_images(graph) && !has_joins(graph)) {
        return BP_OK;
    }
    BP__TRY(bp__lower_begin(&l, graph));
    bp__lower_mark(&l);
    bp_status status = bp__lower_join(&l);
    status = status == BP_OK ? bp__lower_fold(&l) : status;
    status = status == BP_OK ? bp__layouts_choose(&l, inputs, outputs) : status;
    if (status == BP_OK) {
        *layouts = l.layouts;
        l.layouts.memory = NULL;
    }
    bp__lower_unfold(&l);
    bp__lower_free(&l);
    return status;
}
