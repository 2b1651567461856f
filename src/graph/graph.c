/* graph.c - creates, describes and releases graphs: their values, inputs, constants and outputs. */
#include "graph/plan.h"

#include "base/uncancelled.h"
#include "ops/shape.h"
#include "tensor/internal.h"

#include <string.h>

enum { MOST_VALUES = 1 << 20 };

/* ---- Checks ---- */

bp_status bp__graph_check_open(const bp_graph *graph) {
    return !graph            ? bp__fail(BP_E_ARGUMENT, "graph must not be NULL")
           : graph->finished ? bp__fail(BP_E_ARGUMENT, "the graph is finished, and cannot be changed")
                             : BP_OK;
}

bp_status bp__graph_check_finished(const bp_graph *graph, const char *function) {
    return !graph ? bp__fail(BP_E_ARGUMENT, "%s: graph must not be NULL", function)
           : !graph->finished
               ? bp__fail(BP_E_ARGUMENT, "%s: the graph is not finished: call bp_graph_finish() first", function)
               : BP_OK;
}

bp_status bp__graph_check_value(const bp_graph *graph, bp_value value) {
    return bp__graph_has(graph, value)
               ? BP_OK
               : bp__fail(BP_E_ARGUMENT, "value %d is not of this graph, whose values are 1 to %d", value,
                          graph->value_count);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool bp__graph_name_good(const char *name) {
    bool good = name && is_letter(*name);
    for (const char *at = name; good && *at; at++) {
        good = is_letter(*at) || (*at >= '0' && *at <= '9') || *at == '.';
    }
    return good;
}

bp_value bp__value_named(const bp_graph *graph, const char *name, size_t length) {
    return bp__names_find(&graph->names, name, length);
}

static bp_status check_name(const bp_graph *graph, const char *name) {
    if (!bp__graph_name_good(name)) {
        return bp__fail(BP_E_ARGUMENT,
                        "name is \"%s\"; it must have letters, digits, '_' and '.', and begin with a letter or '_'",
                        name ? name : "");
    }
    return bp__value_named(graph, name, strlen(name)) == 0
               ? BP_OK
               : bp__fail(BP_E_ARGUMENT, "the graph has an input or constant \"%s\" already", name);
}

bp_status bp__graph_fail_in(const char *call, int node, bp_status status) {
    return bp__fail(status, "node %d (%s): %s", node, call, bp_last_error());
}

bp_status bp__graph_fail_at(const bp_graph *graph, int node, bp_status status) {
    const bp__node *of = &graph->nodes[node];
    return of->label
               ? bp__fail(status, "node %d (%s, %s): %s", of->number, of->call->info.name, of->label, bp_last_error())
               : bp__graph_fail_in(of->call->info.name, of->number, status);
}

/* ---- Values ---- */

int64_t bp__value_elements(const bp__graph_value *value) {
    int64_t elements = 1;
    for (int d = 0; d < value->ndim; d++) {
        elements *= value->shape[d];
    }
    return elements;
}

static bp_status fail_graph(size_t size) {
    return bp__fail_memory(size, "a graph");
}

static bp_status check_shape(bp_dtype dtype, int ndim, const int64_t *shape) {
    int64_t low, high;
    if (ndim < 0 || ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "ndim is %d; it must be from 0 to %d", ndim, BP_MAX_NDIM);
    }
    if (!shape && ndim > 0) {
        return bp__fail(BP_E_ARGUMENT, "shape must not be NULL");
    }
    if (bp_dtype_size(dtype) == 0) {
        return bp__fail(BP_E_DTYPE, "dtype %d is no element type", (int)dtype);
    }
    const DLTensor tensor = {
        .device = {kDLCPU, 0}, .ndim = ndim, .dtype = bp_dtype_to_dlpack(dtype), .shape = (int64_t *)(uintptr_t)shape};
    return bp__tensor_extent(&tensor, "the value", &low, &high);
}

bp_status bp__graph_grow(void **list, int count, int *capacity, size_t each) {
    if (count < *capacity) {
        return BP_OK;
    }
    const int larger = *capacity * 2 + 16;
    void *grown = bp__realloc(*list, (size_t)larger * each);
    if (!grown) {
        return fail_graph((size_t)larger * each);
    }
    *list = grown;
    *capacity = larger;
    return BP_OK;
}

/* Value 0 is none, so the array has one more. */
static bp_status grow_values(bp_graph *graph) {
    if (graph->value_count >= MOST_VALUES) {
        return bp__fail(BP_E_OVERFLOW, "a graph has at most %d values", MOST_VALUES);
    }
    return bp__graph_grow((void **)&graph->values, graph->value_count + 1, &graph->value_capacity,
                          sizeof *graph->values);
}

bp_status bp__value_add(bp_graph *graph, bp__value_kind kind, bp_dtype dtype, int ndim, const int64_t *shape,
                        bp_value *value) {
    BP__TRY(check_shape(dtype, ndim, shape));
    BP__TRY(grow_values(graph));
    const size_t size = (size_t)ndim * sizeof *shape;
    bp__graph_value made = {.kind = kind, .dtype = dtype, .ndim = ndim, .shape = bp__alloc(size)};
    if (!made.shape) {
        return fail_graph(size);
    }
    memcpy(made.shape, size ? shape : made.shape, size);
    *value = ++graph->value_count;
    graph->values[*value] = made;
    return BP_OK;
}

static void free_value(const bp__graph_value *value) {
    bp__free(value->shape);
    bp__free(value->name);
    bp__free(value->strides);
    bp__free(value->axes);
    bp__free_aligned(value->block);
}

void bp__values_drop(bp_graph *graph, bp_value first) {
    while (graph->value_count >= first) {
        free_value(&graph->values[graph->value_count--]);
    }
}

/* ---- Graphs ---- */

bp_status bp__graph_create(bp_graph **graph) {
    *graph = bp__alloc_zero(1, sizeof **graph);
    if (!*graph) {
        return fail_graph(sizeof **graph);
    }
    atomic_init(&(*graph)->references, 1);
    return BP_OK;
}

bp_status bp_graph_create(bp_graph **graph) {
    BP__UNCANCELLED;
    if (!graph) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_create: graph must not be NULL");
    }
    BP__TRY(bp__graph_create(graph));
    bp__graph_handed_out(1);
    return BP_OK;
}

void bp__graph_unref(bp_graph *graph) {
    if (atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    bp__values_drop(graph, 1);
    for (int i = 0; i < graph->node_count; i++) {
        bp__node_free(&graph->nodes[i]);
    }
    for (int i = 0; i < graph->output_count; i++) {
        bp__free(graph->outputs[i].name);
    }
    bp__weights_drop(graph);
    bp__free(graph->values);
    bp__free(graph->nodes);
    bp__free(graph->inputs);
    bp__free(graph->outputs);
    bp__free(graph->names.list);
    bp__free(graph->output_names.list);
    if (graph->source) {
        bp__graph_unref(graph->source);
    }
    bp__free(graph);
}

void bp__graph_release(bp_graph *graph) {
    if (graph) {
        bp__graph_plans_release(graph->plans); /* each of them holds a reference */
        graph->plans = NULL;
        for (int i = 0; i < 2; i++) {
            bp__graph_release(atomic_load(&graph->rewritten[i])); /* it holds a reference */
        }
        bp__graph_unref(graph);
    }
}

void bp_graph_release(bp_graph *graph) {
    BP__UNCANCELLED;
    if (graph) {
        bp__graph_release(graph);
        bp__graph_handed_out(-1);
    }
}

bp_status bp_graph_finish(bp_graph *graph) {
    BP__UNCANCELLED;
    BP__TRY(bp__graph_check_open(graph));
    if (graph->output_count == 0) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_finish: the graph has no output");
    }
    BP__TRY(bp__graph_plans_create(&graph->plans));
    graph->finished = true;
    return BP_OK;
}

/* ---- Inputs, constants and outputs ---- */

/* Names the last value, or drops it. */
static bp_status name_value(bp_graph *graph, bp_value value, const char *name) {
    const size_t length = strlen(name);
    char *own = bp__strdup(name);
    graph->values[value].name = own;
    const bp_status status = own ? bp__names_reserve(&graph->names) : fail_graph(length);
    if (status != BP_OK) {
        bp__values_drop(graph, value);
        return status;
    }
    bp__names_add(&graph->names, own, length, value);
    return BP_OK;
}

static bp_status check_new(const bp_graph *graph, const char *name, const bp_value *value) {
    BP__TRY(bp__graph_check_open(graph));
    BP__TRY(check_name(graph, name));
    return value ? BP_OK : bp__fail(BP_E_ARGUMENT, "value must not be NULL");
}

bp_status bp_graph_input(bp_graph *graph, const char *name, bp_dtype dtype, int ndim, const int64_t *shape,
                         bp_value *value) {
    BP__UNCANCELLED;
    bp_value made;
    BP__TRY(check_new(graph, name, value));
    BP__TRY(bp__graph_grow((void **)&graph->inputs, graph->input_count, &graph->input_capacity, sizeof *graph->inputs));
    BP__TRY(bp__value_add(graph, BP__VALUE_INPUT, dtype, ndim, shape, &made));
    BP__TRY(name_value(graph, made, name));
    graph->values[made].from = graph->input_count;
    graph->inputs[graph->input_count++] = made;
    *value = made;
    return BP_OK;
}

/* Describes the elements of a constant in memory of the graph. */
static DLTensor own_tensor(const bp__graph_value *value) {
    return (DLTensor){.data = value->block,
                      .device = {kDLCPU, 0},
                      .ndim = value->ndim,
                      .dtype = bp_dtype_to_dlpack(value->dtype),
                      .shape = value->shape};
}

/* Makes memory of the graph for the elements of a constant, row-major. */
static bp_status allocate_elements(bp__graph_value *value) {
    const size_t size = (size_t)value->ndim * sizeof *value->strides, bytes = (size_t)bp__value_bytes(value);
    value->strides = bp__alloc(size);
    value->block = bp__alloc_aligned(bytes ? bytes : 1);
    if (!value->strides || !value->block) {
        return fail_graph(bytes);
    }
    const DLTensor own = own_tensor(value);
    bp__tensor_strides(&own, value->strides);
    value->data = value->block;
    return BP_OK;
}

/* Makes memory of the graph for the elements of a constant, and copies them. */
static bp_status copy_elements(bp__graph_value *value, const DLTensor *tensor) {
    BP__TRY(allocate_elements(value));
    DLTensor copy = own_tensor(value);
    return bp_tensor_copy(&copy, tensor);
}

/* Lets a constant have the memory of a tensor. */
static bp_status hold_elements(bp__graph_value *value, const DLTensor *tensor) {
    const size_t size = (size_t)value->ndim * sizeof *value->strides;
    value->strides = bp__alloc(size);
    if (!value->strides) {
        return fail_graph(size);
    }
    bp__tensor_strides(tensor, value->strides);
    value->data = bp__tensor_data(tensor);
    return BP_OK;
}

bp_status bp__graph_constant_add(bp_graph *graph, const char *name, bp_dtype dtype, int ndim, const int64_t *shape,
                                 bp_value *value) {
    bp_value made;
    BP__TRY(check_new(graph, name, value));
    BP__TRY(bp__value_add(graph, BP__VALUE_CONSTANT, dtype, ndim, shape, &made));
    bp_status status = allocate_elements(&graph->values[made]);
    if (status != BP_OK) {
        bp__values_drop(graph, made);
        return status;
    }
    BP__TRY(name_value(graph, made, name));
    *value = made;
    return BP_OK;
}

/* Adds a constant with the memory of a tensor, or with a copy of it. */
static bp_status add_constant(bp_graph *graph, const char *name, const DLTensor *tensor, bool copies, bp_value *value) {
    bp_value made;
    BP__TRY(bp__value_add(graph, BP__VALUE_CONSTANT, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape,
                          &made));
    bp__graph_value *v = &graph->values[made];
    const bp_status status = copies ? copy_elements(v, tensor) : hold_elements(v, tensor);
    if (status != BP_OK) {
        bp__values_drop(graph, made);
        return status;
    }
    BP__TRY(name_value(graph, made, name));
    *value = made;
    return BP_OK;
}

bp_status bp__constant_hold(bp_graph *graph, const char *name, const DLTensor *tensor, bp_value *value) {
    BP__TRY(check_new(graph, name, value));
    return add_constant(graph, name, tensor, false, value);
}

bp_status bp_graph_constant(bp_graph *graph, const char *name, const DLTensor *tensor, unsigned flags,
                            bp_value *value) {
    BP__UNCANCELLED;
    BP__TRY(check_new(graph, name, value));
    if (flags > BP_GRAPH_BORROW) {
        return bp__fail(BP_E_ARGUMENT, "flags is %u; it must be 0 or BP_GRAPH_BORROW", flags);
    }
    BP__TRY(bp__tensor_check(tensor, name, false));
    BP__TRY(bp__tensor_check_host(tensor, name));
    const bool copies = !(flags & BP_GRAPH_BORROW);
    BP__TRY(add_constant(graph, name, tensor, copies, value));
    graph->borrows = graph->borrows || !copies;
    return BP_OK;
}

bp_status bp_graph_output(bp_graph *graph, const char *name, bp_value value) {
    BP__UNCANCELLED;
    BP__TRY(bp__graph_check_open(graph));
    BP__TRY(bp__graph_check_value(graph, value));
    if (graph->output_count >= MOST_VALUES) {
        return bp__fail(BP_E_OVERFLOW, "a graph has at most %d outputs", MOST_VALUES);
    }
    if (!bp__graph_name_good(name)) {
        return bp__fail(BP_E_ARGUMENT, "the name of output %d is no name", graph->output_count);
    }
    const size_t length = strlen(name);
    if (bp__names_find(&graph->output_names, name, length) != 0) {
        return bp__fail(BP_E_ARGUMENT, "the graph has an output \"%s\" already", name);
    }
    BP__TRY(bp__names_reserve(&graph->output_names));
    BP__TRY(
        bp__graph_grow((void **)&graph->outputs, graph->output_count, &graph->output_capacity, sizeof *graph->outputs));
    char *own = bp__strdup(name);
    if (!own) {
        return fail_graph(length);
    }
    graph->outputs[graph->output_count++] = (bp__output){own, value};
    bp__names_add(&graph->output_names, own, length, graph->output_count);
    return BP_OK;
}

/* ---- Descriptions ---- */

bp_status bp_graph_shape(const bp_graph *graph, bp_value value, bp_dtype *dtype, int *ndim, int64_t *shape) {
    if (!graph || !dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_shape: graph, dtype, ndim and shape must not be NULL");
    }
    BP__TRY(bp__graph_check_value(graph, value));
    const bp__graph_value *v = bp__value_at(graph, value);
    *dtype = v->dtype;
    *ndim = v->ndim;
    memcpy(shape, v->shape, (size_t)v->ndim * sizeof *shape);
    return BP_OK;
}

static int describe_port(const bp_graph *graph, bp_value value, const char *name, bp_graph_port *port) {
    if (!bp__struct_usable(port)) {
        return 0;
    }
    const bp__graph_value *v = bp__value_at(graph, value);
    bp_graph_port own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.name = name;
    own.value = value;
    own.dtype = v->dtype;
    own.ndim = v->ndim;
    own.shape = v->shape;
    bp__struct_write(port, &own, sizeof own);
    return 1;
}

int bp_graph_input_at(const bp_graph *graph, int index, bp_graph_port *port) {
    if (!graph || index < 0 || index >= graph->input_count) {
        return 0;
    }
    const bp_value value = graph->inputs[index];
    return describe_port(graph, value, graph->values[value].name, port);
}

int bp_graph_output_at(const bp_graph *graph, int index, bp_graph_port *port) {
    if (!graph || index < 0 || index >= graph->output_count) {
        return 0;
    }
    return describe_port(graph, graph->outputs[index].value, graph->outputs[index].name, port);
}
