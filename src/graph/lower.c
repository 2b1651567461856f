/* lower.c - decides where each value of a graph is in a run, and which steps the run has.
 *
 * A value that a node writes is in a block of the workspace, as layouts.c decides, or in the tensor of the output that
 * it is. Views are strides; a reshaped value without strides is a copy. The decisions depend on nothing but the graph
 * and the layouts of the tensors, so that each way to run a graph makes the same calls. */
#include "graph/graph.h"

#include "tensor/internal.h"

#include <string.h>

/* ---- Memory ---- */

static bp_status fail_lowering(size_t size) {
    return bp__fail_memory(size, "the plan of a graph");
}

/* Returns the number of strides that the values have together. */
static size_t count_strides(const bp_graph *graph) {
    size_t count = 0;
    for (bp_value v = 1; v <= graph->value_count; v++) {
        count += (size_t)graph->values[v].ndim;
    }
    return count;
}

/* One block for all arrays, the ones with the largest elements first. */
bp_status bp__lower_begin(bp__lowered *l, const bp_graph *graph) {
    const size_t values = (size_t)graph->value_count + 1, strides = count_strides(graph);
    const size_t steps = (size_t)graph->node_count + values + (size_t)graph->output_count;
    const size_t size = values * (sizeof *l->at + sizeof *l->folded + sizeof *l->same + sizeof *l->direct +
                                  sizeof *l->waiting + sizeof *l->live + sizeof *l->output_nodes + sizeof *l->placed) +
                        values * sizeof *l->uses + strides * sizeof *l->strides + steps * sizeof *l->steps;
    *l = (bp__lowered){.graph = graph, .memory = bp__alloc_zero(1, size)};
    if (!l->memory) {
        return fail_lowering(size);
    }
    l->at = l->memory;
    l->uses = (bp__use *)(l->at + values);
    l->folded = (char **)(l->uses + values);
    l->strides = (int64_t *)(void *)(l->folded + values);
    l->steps = (bp__step *)(void *)(l->strides + strides);
    l->same = (bp_value *)(void *)(l->steps + steps);
    l->direct = l->same + values;
    l->waiting = (bp__waiting *)(l->direct + values);
    l->live = (bool *)(l->waiting + values);
    l->output_nodes = l->live + values;
    l->placed = l->output_nodes + values;
    for (bp_value v = 0; v <= graph->value_count; v++) {
        l->same[v] = v;
    }
    for (int k = 0; k < graph->output_count; k++) {
        const bp__graph_value *value = &graph->values[graph->outputs[k].value];
        if (value->kind == BP__VALUE_NODE) {
            l->output_nodes[value->from] = true;
        }
    }
    return BP_OK;
}

void bp__lower_free(const bp__lowered *l) {
    bp__free(l->layouts.memory);
    for (int i = 0; i < l->region_count; i++) {
        bp__free(l->regions[i].offers);
    }
    bp__free(l->regions);
    bp__free(l->memory);
}

/* ---- What is needed ---- */

static void need_value(bp__lowered *l, bp_value value) {
    l->live[l->same[value]] = value != 0;
}

static void need_operands(bp__lowered *l, const bp__node *node) {
    for (int i = 0; i < node->pass->info.input_count; i++) {
        need_value(l, node->operand[i]);
    }
    for (int i = 0; i < node->list_count; i++) {
        need_value(l, node->list[i]);
    }
}

/* A value comes after all that it is made of. */
void bp__lower_mark(bp__lowered *l) {
    const bp_graph *graph = l->graph;
    memset(l->live, 0, (size_t)graph->value_count + 1);
    for (int k = 0; k < graph->output_count; k++) {
        need_value(l, graph->outputs[k].value);
    }
    for (bp_value v = graph->value_count; v > 0; v--) {
        const bp__graph_value *value = &graph->values[v];
        if (!l->live[v] || l->folded[v]) {
            continue;
        }
        if (value->kind == BP__VALUE_VIEW) {
            need_value(l, value->from);
        } else if (value->kind == BP__VALUE_NODE) {
            need_operands(l, &graph->nodes[value->from]);
        }
    }
}

/* ---- Blocks ---- */

static void use_block(bp__lowered *l, const bp__located *at) {
    if (at->block >= 0) {
        l->uses[at->block].last = l->step_count;
    }
}

static void take_block(bp__lowered *l, bp__located *at, int64_t bytes) {
    at->block = l->use_count;
    at->place = (bp__place){.home = BP__AT_WORK};
    l->uses[l->use_count++] = (bp__use){.bytes = bytes, .first = l->step_count, .last = l->step_count};
}

static void set_compact(const bp__graph_value *value, int64_t *strides) {
    int64_t step = 1;
    for (int d = value->ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= value->shape[d] > 0 ? value->shape[d] : 1;
    }
}

/* ---- Values ---- */

static void locate_input(const bp__graph_value *value, bp__located *at, const DLTensor *tensor) {
    at->place = (bp__place){.home = BP__AT_OPERAND, .operand = value->from};
    bp__tensor_strides(tensor, at->strides);
}

/* Folded values are compact. */
void bp__lower_constant(bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    bp__located *at = &l->at[v];
    at->place = (bp__place){.home = BP__AT_CONSTANT, .constant = l->folded[v] ? l->folded[v] : value->data};
    if (l->folded[v]) {
        set_compact(value, at->strides);
    } else {
        memcpy(at->strides, value->strides, (size_t)value->ndim * sizeof *at->strides);
    }
}

/* Finds strides for the elements of `from` in another shape. A dimension of the new shape takes its elements from a
 * group of old ones that lie one after another. Returns false if there are none. */
static bool view_reshaped(const bp__graph_value *from, const int64_t *strides, const bp__graph_value *to,
                          int64_t *result) {
    int64_t size[BP_MAX_NDIM], stride[BP_MAX_NDIM];
    int count = 0, of = 0;
    if (bp__value_elements(to) == 0) {
        set_compact(to, result);
        return true;
    }
    for (int d = 0; d < from->ndim; d++) {
        if (from->shape[d] == 1) {
            continue;
        }
        if (count > 0 && stride[count - 1] == strides[d] * from->shape[d]) {
            size[count - 1] *= from->shape[d];
            stride[count - 1] = strides[d];
        } else {
            size[count] = from->shape[d];
            stride[count++] = strides[d];
        }
    }
    int64_t left = count > 0 ? size[0] : 1;
    for (int d = 0; d < to->ndim; d++) {
        result[d] = 1;
        if (to->shape[d] == 1) {
            continue;
        }
        if (left == 1 && of + 1 < count) {
            left = size[++of];
        }
        if (left % to->shape[d] != 0) {
            return false;
        }
        left /= to->shape[d];
        result[d] = left * stride[of];
    }
    return true;
}

static void add_step(bp__lowered *l, int node, bp_value value, int output) {
    l->steps[l->step_count++] = (bp__step){node, value, output, -1};
}

/* Places a reshaped value by a copy, which runs in the old shape. The value is row-major if its layout has no strides
 * in the old shape. */
static void copy_reshaped(bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    const bp_value of = l->same[value->from];
    bp__located *at = &l->at[v];
    int64_t old[BP_MAX_NDIM];
    take_block(l, at, bp__value_bytes(value));
    use_block(l, &l->at[of]);
    bp__layouts_strides(l, v, at->strides);
    if (!view_reshaped(value, at->strides, &l->graph->values[of], old)) {
        set_compact(value, at->strides);
    }
    add_step(l, -1, v, -1);
}

bool bp__lower_view(bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    const bp_value of = l->same[value->from];
    const bp__graph_value *from = &l->graph->values[of];
    bp__located *at = &l->at[v];
    const bp__located *source = &l->at[of];
    if (value->view == BP__RESHAPE && !view_reshaped(from, source->strides, value, at->strides)) {
        return false;
    }
    at->place = source->place;
    at->block = source->block;
    const int added = value->view == BP__EXPAND ? value->ndim - from->ndim : 0;
    for (int d = 0; d < value->ndim && value->view != BP__RESHAPE; d++) {
        const int old = value->view == BP__PERMUTE ? value->axes[d] : d - added;
        const bool repeats = value->view == BP__EXPAND && (old < 0 || from->shape[old] != value->shape[d]);
        at->strides[d] = repeats ? 0 : source->strides[old];
    }
    if (value->view == BP__SLICE) {
        const int64_t axis = value->slice[0], step = source->strides[axis];
        at->place.offset += value->slice[1] * step * (int64_t)bp_dtype_size(value->dtype);
        at->strides[axis] = value->slice[2] * step;
    }
    return true;
}

/* ---- Nodes ---- */

static bool writes_nothing(const bp__lowered *l, const bp__node *node) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        if (node->operand[i] && bp__value_bytes(&l->graph->values[node->operand[i]]) > 0) {
            return false;
        }
    }
    return true;
}

static void use_operands(bp__lowered *l, const bp__node *node) {
    for (int i = 0; i < node->pass->info.input_count; i++) {
        if (node->operand[i]) {
            use_block(l, &l->at[l->same[node->operand[i]]]);
        }
    }
    for (int i = 0; i < node->list_count; i++) {
        use_block(l, &l->at[l->same[node->list[i]]]);
    }
}

/* Places a value with memory of its own, unless a part of it had it placed before. */
static void locate_whole(bp__lowered *l, bp_value v, const DLTensor *const *outputs) {
    bp__located *at = &l->at[v];
    if (at->place.home != BP__NOWHERE) {
        return;
    }
    if (l->direct[v] >= 0) {
        at->place = (bp__place){.home = BP__AT_OPERAND, .operand = l->graph->input_count + l->direct[v]};
        bp__tensor_strides(outputs[l->direct[v]], at->strides);
    } else {
        take_block(l, at, bp__value_bytes(&l->graph->values[v]));
        bp__layouts_strides(l, v, at->strides);
    }
}

/* Places a value that a node writes, which may be a part of another one. */
static void locate_result(bp__lowered *l, bp_value v, const DLTensor *const *outputs) {
    const bp_value root = bp__layouts_root(l, v);
    const bp__graph_value *value = &l->graph->values[v];
    bp__located *at = &l->at[v];
    locate_whole(l, root, outputs);
    if (root != v) {
        const bp__located *whole = &l->at[root];
        memcpy(at->strides, whole->strides, (size_t)value->ndim * sizeof *at->strides);
        at->place = whole->place;
        at->place.offset += bp__layouts_ahead(l, v, at->strides) * (int64_t)bp_dtype_size(value->dtype);
        at->block = whole->block;
        use_block(l, at);
    }
}

/* Places what the node writes; the optional outputs that nothing needs have no place. */
static void locate_results(bp__lowered *l, const bp__node *node, const DLTensor *const *outputs) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        if (v && (l->live[v] || node->pass->operand[i].info.required)) {
            locate_result(l, v, outputs);
        }
    }
}

static bool node_is_live(const bp__lowered *l, const bp__node *node) {
    bool live = false;
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        live |= node->operand[i] && l->live[node->operand[i]] && !l->folded[node->operand[i]];
    }
    return live;
}

static void lower_node(bp__lowered *l, int number, const DLTensor *const *outputs) {
    const bp__node *node = &l->graph->nodes[number];
    if (!node_is_live(l, node)) {
        return;
    }
    locate_results(l, node, outputs);
    if (!writes_nothing(l, node) && !bp__layouts_is_joined(l, node)) {
        use_operands(l, node);
        add_step(l, number, node->first, -1);
    }
}

static void lower_value(bp__lowered *l, bp_value v, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    const bp__graph_value *value = &l->graph->values[v];
    if (l->folded[v] || value->kind == BP__VALUE_CONSTANT) {
        bp__lower_constant(l, v);
    } else if (value->kind == BP__VALUE_NODE && l->graph->nodes[value->from].first == v) {
        lower_node(l, value->from, outputs);
    } else if (value->kind == BP__VALUE_INPUT) {
        locate_input(value, &l->at[v], inputs[value->from]);
    } else if (value->kind == BP__VALUE_VIEW && l->live[v] && !bp__lower_view(l, v)) {
        copy_reshaped(l, v);
    }
}

/* ---- The order ----
 *
 * Steps are in the order in which their nodes were added. But functions of single elements, and views, wait until
 * something needs them, so that neighbours in a chain follow each other (regions.c). */

static bool can_wait(const bp__lowered *l, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    if (!l->live[v] || l->folded[v]) {
        return false;
    }
    return value->kind == BP__VALUE_VIEW ||
           (value->kind == BP__VALUE_NODE && l->graph->nodes[value->from].call->pointwise);
}

static bool is_missing(const bp__lowered *l, bp_value v) {
    return v != 0 && !l->placed[l->same[v]] && can_wait(l, l->same[v]);
}

/* Returns an operand that must be placed before the value; 0: none. Operands before `next` are placed. */
static bp_value missing_for(const bp__lowered *l, bp__waiting *w) {
    const bp__graph_value *value = &l->graph->values[w->value];
    if (value->kind == BP__VALUE_VIEW) {
        return is_missing(l, value->from) ? l->same[value->from] : 0;
    }
    if (value->kind != BP__VALUE_NODE || l->folded[w->value]) {
        return 0;
    }
    const bp__node *node = &l->graph->nodes[value->from];
    const int inputs = node->pass->info.input_count;
    for (; w->next < inputs + node->list_count; w->next++) {
        const bp_value v = w->next < inputs ? node->operand[w->next] : node->list[w->next - inputs];
        if (is_missing(l, v)) {
            return l->same[v];
        }
    }
    return 0;
}

/* Places a value after all that it needs. No value waits twice, so that the list has space. */
static void place_value(bp__lowered *l, bp_value v, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    int count = 0;
    l->waiting[count++] = (bp__waiting){v, 0};
    while (count > 0) {
        const bp_value missing = missing_for(l, &l->waiting[count - 1]);
        if (missing) {
            l->waiting[count++] = (bp__waiting){missing, 0};
            continue;
        }
        const bp_value last = l->waiting[--count].value;
        l->placed[last] = true;
        lower_value(l, last, inputs, outputs);
    }
}

static void place_all(bp__lowered *l, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    memset(l->placed, 0, (size_t)l->graph->value_count + 1);
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        if (!can_wait(l, v)) {
            place_value(l, v, inputs, outputs);
        }
    }
    for (int k = 0; k < l->graph->output_count; k++) {
        const bp_value v = l->same[l->graph->outputs[k].value];
        if (!l->placed[v]) {
            place_value(l, v, inputs, outputs);
        }
    }
}

/* Chooses the values that are computed into the tensors of outputs: the first output of each value that a node writes.
 */
static void choose_direct(bp__lowered *l) {
    const bp_graph *graph = l->graph;
    for (bp_value v = 0; v <= graph->value_count; v++) {
        l->direct[v] = -1;
    }
    for (int k = 0; k < graph->output_count; k++) {
        const bp_value v = l->same[graph->outputs[k].value];
        if (graph->values[v].kind == BP__VALUE_NODE && !l->folded[v] && l->direct[v] < 0) {
            l->direct[v] = k;
        }
    }
}

static void copy_outputs(bp__lowered *l) {
    for (int k = 0; k < l->graph->output_count; k++) {
        const bp_value v = l->same[l->graph->outputs[k].value];
        if (l->direct[v] != k && bp__value_bytes(&l->graph->values[v]) > 0) {
            use_block(l, &l->at[v]);
            add_step(l, -1, v, k);
        }
    }
}

/* A block that no step writes is never used. */
void bp__lower_chain(bp__lowered *l) {
    for (int i = 0; i < l->step_count; i++) {
        l->steps[i].ends = -1;
    }
    for (int i = 0; i < l->use_count; i++) {
        bp__use *use = &l->uses[i];
        use->next = use->last < l->step_count ? l->steps[use->last].ends : -1;
        if (use->last < l->step_count) {
            l->steps[use->last].ends = i;
        }
    }
}

void bp__lower_unplace(bp__lowered *l) {
    int64_t *strides = l->strides;
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        l->at[v] = (bp__located){.strides = strides, .block = -1};
        strides += l->graph->values[v].ndim;
    }
}

void bp__lower(bp__lowered *l, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    l->step_count = l->use_count = 0;
    bp__lower_mark(l);
    choose_direct(l);
    bp__lower_unplace(l);
    place_all(l, inputs, outputs);
    copy_outputs(l);
    bp__lower_chain(l);
}

/* ---- Tensors of steps ---- */

DLTensor bp__located_tensor(const bp__lowered *l, bp_value value) {
    const bp__graph_value *v = &l->graph->values[value];
    return (DLTensor){.device = {kDLCPU, 0},
                      .ndim = v->ndim,
                      .dtype = bp_dtype_to_dlpack(v->dtype),
                      .shape = v->shape,
                      .strides = l->at[value].strides};
}

static void locate_tensor(const void *context, bp_value value, DLTensor *tensor) {
    const bp__lowered *l = context;
    *tensor = bp__located_tensor(l, l->same[value]);
}

bp_status bp__lower_plan(bp_plan **plan, const bp__lowered *l, const bp__node *node, bp__bound *bound) {
    bp_status status = bp__bind(bound, node, locate_tensor, l);
    if (status == BP_OK) {
        bp__bound_leave_out(bound, l, node);
        status = bp_call_plan(plan, NULL, node->call, bound->arguments.bytes);
    }
    bp__unbind(bound);
    return status;
}

void bp__step_copy(const bp__lowered *l, const bp__step *step, const DLTensor *const *outputs, bp__copy *copy) {
    const bp__located *at = &l->at[step->value];
    if (step->output >= 0) {
        copy->from = copy->to = bp__located_tensor(l, step->value);
        bp__tensor_strides(outputs[step->output], copy->strides);
        copy->to.strides = copy->strides;
        copy->from_place = at->place;
        copy->to_place = (bp__place){.home = BP__AT_OPERAND, .operand = l->graph->input_count + step->output};
        return;
    }
    const bp__graph_value *value = &l->graph->values[step->value];
    const bp_value of = l->same[value->from];
    copy->from = copy->to = bp__located_tensor(l, of);
    view_reshaped(value, at->strides, &l->graph->values[of], copy->strides);
    copy->to.strides = copy->strides;
    copy->from_place = l->at[of].place;
    copy->to_place = at->place;
}
