/* nodes.c - adds the nodes of a model to the graph, each by its row of the table of operators. */
#include "onnx/read.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Names ---- */

void bp__onnx_scope_begin(bp__onnx *r, bp__onnx_scope *scope) {
    *scope = (bp__onnx_scope){.outer = r->scope};
    r->scope = scope;
}

void bp__onnx_scope_end(bp__onnx *r, bp__onnx_scope *scope) {
    r->scope = scope->outer;
    bp__free(scope->names.list);
    bp__free(scope->values);
    bp__onnx_uses_free(&scope->uses);
}

static bp__onnx_value *find_in(const bp__onnx_scope *scope, bp__bytes name) {
    const int number = bp__names_find(&scope->names, (const char *)name.at, bp__bytes_size(name));
    return number > 0 ? scope->values[number - 1] : NULL;
}

bp__onnx_value *bp__onnx_find(const bp__onnx *r, bp__bytes name) {
    bp__onnx_value *found = NULL;
    for (const bp__onnx_scope *scope = r->scope; scope && !found; scope = scope->outer) {
        found = find_in(scope, name);
    }
    return found;
}

bp_status bp__onnx_define(bp__onnx *r, bp__bytes name, bp__onnx_value *value) {
    bp__onnx_scope *scope = r->scope;
    bp__shown_text shown;
    if (bp__bytes_empty(name)) {
        return bp__fail(BP_E_FORMAT, "a value has no name");
    }
    if (find_in(scope, name)) {
        return bp__fail(BP_E_FORMAT, "there are two values with the name '%s'", bp__bytes_show(name, &shown));
    }
    BP__TRY(bp__names_reserve(&scope->names));
    BP__TRY(bp__graph_grow((void **)&scope->values, scope->count, &scope->capacity, sizeof(bp__onnx_value *)));
    scope->values[scope->count++] = value;
    bp__names_add(&scope->names, (const char *)name.at, bp__bytes_size(name), scope->count);
    return BP_OK;
}

/* ---- Nodes ---- */

static bp_status find_inputs(bp__onnx *r) {
    bp__shown_text shown;
    r->input_count = r->node->input_count;
    while (r->input_count > 0 && bp__bytes_empty(r->node->inputs[r->input_count - 1])) {
        r->input_count--; /* absent ones at the end */
    }
    r->inputs = bp__onnx_new(r->memory, (size_t)r->input_count, sizeof(bp__onnx_value *));
    r->results = bp__onnx_new(r->memory, (size_t)r->node->output_count, sizeof(bp__onnx_value *));
    if (!r->inputs || !r->results) {
        return BP_E_NO_MEMORY;
    }
    for (int i = 0; i < r->input_count; i++) {
        const bp__bytes name = r->node->inputs[i];
        r->inputs[i] = bp__bytes_empty(name) ? NULL : bp__onnx_find(r, name);
        if (!r->inputs[i] && !bp__bytes_empty(name)) {
            return bp__fail(BP_E_FORMAT, "input '%s' is no input, initializer or output of a node before it",
                            bp__bytes_show(name, &shown));
        }
    }
    return BP_OK;
}

static bp_status check_inputs(const bp__onnx *r, const bp__onnx_row *row) {
    if (r->input_count < row->least || (row->most >= 0 && r->input_count > row->most)) {
        return bp__fail(BP_E_FORMAT, "it has %d inputs; it must have %d%s", r->input_count,
                        r->input_count < row->least ? row->least : row->most,
                        row->least == row->most       ? ""
                        : r->input_count < row->least ? " or more"
                                                      : " or fewer");
    }
    for (int i = 0; i < r->input_count; i++) {
        if (!r->inputs[i] && (i < row->least || row->most < 0)) {
            return bp__fail(BP_E_FORMAT, "input %d is absent", i);
        }
    }
    return BP_OK;
}

static bp_status find_row(const bp__onnx *r, const bp__onnx_row **row) {
    const bp__onnx_row *other;
    bp__shown_text shown;
    const bp__bytes domain = r->node->domain;
    if (!bp__bytes_empty(domain) && !bp__bytes_are(domain, "ai.onnx")) {
        return bp__fail(BP_E_UNSUPPORTED, "operators of the domain '%s' are not supported",
                        bp__bytes_show(domain, &shown));
    }
    if (r->model->opset == 0) {
        return bp__fail(BP_E_FORMAT, "the model does not say which opset its operators are of");
    }
    *row = bp__onnx_row_of(r->node->operation, r->model->opset, &other);
    return *row    ? BP_OK
           : other ? bp__fail(BP_E_UNSUPPORTED, "this operator is supported from opset %d on", other->since)
                   : bp__fail(BP_E_UNSUPPORTED, "this operator is not supported");
}

static bp_status check_results(const bp__onnx *r) {
    bp__shown_text shown;
    for (int i = 0; i < r->node->output_count; i++) {
        if (bp__onnx_is_wanted(r, i) && !r->results[i]) {
            return bp__fail(BP_E_UNSUPPORTED, "output %d, '%s', is not supported", i,
                            bp__bytes_show(r->node->outputs[i], &shown));
        }
    }
    return BP_OK;
}

static bp_status define_results(bp__onnx *r) {
    for (int i = 0; i < r->node->output_count; i++) {
        if (bp__onnx_is_wanted(r, i)) {
            BP__TRY(bp__onnx_define(r, r->node->outputs[i], r->results[i]));
        }
    }
    return BP_OK;
}

/* `through` is the number of the input, from 1 on, that is the result of a node that was computed before; or 0. */
static bp_status convert_node(bp__onnx *r, int through) {
    const bp__onnx_row *row;
    bool done = false;
    BP__TRY(find_row(r, &row));
    BP__TRY(find_inputs(r));
    if (through > 0) {
        r->results[0] = r->inputs[through - 1];
        return define_results(r);
    }
    BP__TRY(check_inputs(r, row));
    if (row->convert != bp__onnx_convert_if) { /* its graphs read values that are not its inputs */
        BP__TRY(bp__onnx_fold(r, row, &done));
    }
    if (!done) {
        BP__TRY(row->convert(r, row));
    }
    BP__TRY(bp__onnx_attributes_check(r));
    BP__TRY(check_results(r));
    return define_results(r);
}

/* Writes what explanations call a node: its operator, and its name or the name of its first output. Returns the buffer.
 */
typedef struct bp__onnx_label {
    char text[2 * BP__SHOWN_SIZE + 8];
} bp__onnx_label;
static const char *label_of(const bp__onnx_node *node, bp__onnx_label *label) {
    bp__shown_text operation, name;
    const bool named = !bp__bytes_empty(node->name) || node->output_count == 0;
    snprintf(label->text, sizeof label->text, "%s %s", bp__bytes_show(node->operation, &operation),
             bp__bytes_show(named ? node->name : node->outputs[0], &name));
    return label->text;
}

/* Adds a node. Graphs in attributes are added by the node that has them, so what is about the node is kept. */
static bp_status add_node(bp__onnx *r, bp__onnx_node *node, int through) {
    const bp__onnx outer = *r;
    const int number = r->nodes++;
    bp__onnx_label label;
    r->node = node;
    r->graph->label = label_of(node, &label);
    bp_status status = bp__interrupted() ? bp__fail_cancelled("reading an ONNX model") : convert_node(r, through);
    if (status != BP_OK) {
        bp__shown_text name, operation;
        bp__fail(status, "node %d%s%s%s (%s of opset %" PRId64 "): %s", number, bp__bytes_empty(node->name) ? "" : " '",
                 bp__bytes_show(node->name, &name), bp__bytes_empty(node->name) ? "" : "'",
                 bp__bytes_show(node->operation, &operation), r->model->opset, bp_last_error());
    }
    r->node = outer.node;
    r->graph->label = NULL; /* If adds no nodes behind its branch */
    r->inputs = outer.inputs;
    r->input_count = outer.input_count;
    r->results = outer.results;
    return status;
}

/* ---- Graphs ---- */

static bp_status add_initializers(bp__onnx *r, const bp__onnx_graph *graph) {
    bp__shown_text shown;
    if (graph->has_sparse) {
        return bp__fail(BP_E_UNSUPPORTED, "the model has sparse initializers, which are not supported");
    }
    for (int i = 0; i < graph->tensor_count; i++) {
        const bp__onnx_tensor *tensor = &graph->tensors[i];
        bp__onnx_value *value = bp__onnx_new_value(r, bp__onnx_dtype(tensor->type), tensor->ndim, tensor->shape);
        if (!value) {
            return BP_E_NO_MEMORY;
        }
        if (value->dtype == BP_DTYPE_NONE) {
            return bp__fail(BP_E_UNSUPPORTED,
                            "initializer '%s' has elements of type %" PRId64 " of TensorProto, which no call has",
                            bp__bytes_show(tensor->name, &shown), tensor->type);
        }
        value->tensor = tensor;
        value->name = tensor->name;
        BP__TRY(bp__onnx_define(r, tensor->name, value));
    }
    return BP_OK;
}

/* A graph in an attribute of If sees the values around it. */
static bp_status check_no_inputs(const bp__onnx_graph *graph) {
    return graph->input_count == 0 ? BP_OK : bp__fail(BP_E_FORMAT, "a graph in an attribute has inputs");
}

bp_status bp__onnx_add_graph(bp__onnx *r, const bp__onnx_graph *graph, bp__onnx_value **outputs) {
    bp__shown_text shown;
    BP__TRY(add_initializers(r, graph));
    BP__TRY(r->scope->outer ? check_no_inputs(graph) : bp__onnx_add_inputs(r, graph));
    bp__onnx_uses *uses = &r->scope->uses;
    BP__TRY(bp__onnx_uses_count(r, uses, graph));
    for (int i = 0; i < graph->node_count; i++) {
        BP__TRY(add_node(r, &graph->nodes[i], uses->through[i]));
    }
    for (int i = 0; i < graph->output_count; i++) {
        outputs[i] = bp__onnx_find(r, graph->outputs[i].name);
        if (!outputs[i]) {
            return bp__fail(BP_E_FORMAT, "output '%s' is computed by no node",
                            bp__bytes_show(graph->outputs[i].name, &shown));
        }
    }
    return BP_OK;
}
