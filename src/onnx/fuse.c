/* fuse.c - finds nodes that a call computes together with the node before them: a function of single elements behind a
 * convolution or a product, and the sum of a product and a row.
 *
 * A node can be left out if it alone reads the result of the node before it. So the uses of each name in a graph are
 * counted before its nodes are added. */
#include "onnx/read.h"

#include <string.h>

/* ---- Uses ---- */

static bp_status add_use(bp__onnx_uses *uses, bp__bytes name, int node) {
    const size_t length = bp__bytes_size(name);
    int number = bp__names_find(&uses->names, (const char *)name.at, length);
    if (bp__bytes_empty(name)) {
        return BP_OK;
    }
    if (number == 0) {
        BP__TRY(bp__names_reserve(&uses->names));
        BP__TRY(bp__graph_grow((void **)&uses->list, uses->count, &uses->capacity, sizeof *uses->list));
        number = ++uses->count;
        uses->list[number - 1] = (bp__onnx_use){0};
        bp__names_add(&uses->names, (const char *)name.at, length, number);
    }
    uses->list[number - 1].count++;
    uses->list[number - 1].node = node;
    return BP_OK;
}

/* Graphs in attributes may read any name around them: what they read is used by no node that could be left out. */
static bp_status add_inner_uses(bp__onnx_uses *uses, const bp__onnx_graph *graph) {
    for (int i = 0; i < graph->output_count; i++) {
        BP__TRY(add_use(uses, graph->outputs[i].name, -1));
    }
    for (int i = 0; i < graph->node_count; i++) {
        const bp__onnx_node *node = &graph->nodes[i];
        for (int k = 0; k < node->input_count; k++) {
            BP__TRY(add_use(uses, node->inputs[k], -1));
        }
        for (int k = 0; k < node->attribute_count; k++) {
            BP__TRY(node->attributes[k].graph ? add_inner_uses(uses, node->attributes[k].graph) : BP_OK);
        }
    }
    return BP_OK;
}

bp_status bp__onnx_uses_count(bp__onnx *r, bp__onnx_uses *uses, const bp__onnx_graph *graph) {
    uses->graph = graph;
    uses->through = bp__onnx_new(r->memory, (size_t)graph->node_count, sizeof *uses->through);
    if (!uses->through) {
        return BP_E_NO_MEMORY;
    }
    for (int i = 0; i < graph->node_count; i++) {
        const bp__onnx_node *node = &graph->nodes[i];
        for (int k = 0; k < node->input_count; k++) {
            BP__TRY(add_use(uses, node->inputs[k], i));
        }
        for (int k = 0; k < node->attribute_count; k++) {
            BP__TRY(node->attributes[k].graph ? add_inner_uses(uses, node->attributes[k].graph) : BP_OK);
        }
    }
    for (int i = 0; i < graph->output_count; i++) {
        BP__TRY(add_use(uses, graph->outputs[i].name, -1));
    }
    return BP_OK;
}

void bp__onnx_uses_free(const bp__onnx_uses *uses) {
    bp__free(uses->names.list);
    bp__free(uses->list);
}

/* ---- The next node ---- */

void bp__onnx_chain_begin(const bp__onnx *r, bp__onnx_chain *chain) {
    const bool none = r->folds || r->node->output_count == 0;
    *chain = (bp__onnx_chain){.last = none ? (bp__bytes){0} : r->node->outputs[0]};
}

/* Returns the number of the only node that reads the last result; -1 if there is none. *node is that node. */
static int only_reader(const bp__onnx *r, const bp__onnx_chain *chain, const bp__onnx_node **node) {
    const bp__onnx_uses *uses = &r->scope->uses;
    const int number = bp__names_find(&uses->names, (const char *)chain->last.at, bp__bytes_size(chain->last));
    const bp__onnx_use use = number > 0 ? uses->list[number - 1] : (bp__onnx_use){0};
    if (use.count != 1 || use.node < 0) {
        return -1;
    }
    *node = &uses->graph->nodes[use.node];
    const bool standard = bp__bytes_empty((*node)->domain) || bp__bytes_are((*node)->domain, "ai.onnx");
    return standard && (*node)->output_count == 1 ? use.node : -1;
}

/* Leaves a node out, whose result is its input with a number. */
static void pass_through(const bp__onnx *r, bp__onnx_chain *chain, int number, const bp__onnx_node *node, int input) {
    r->scope->uses.through[number] = input + 1;
    chain->last = node->outputs[0];
}

bool bp__onnx_chain_is(const bp__onnx *r, const bp__onnx_chain *chain, const char *operation) {
    const bp__onnx_node *node;
    return only_reader(r, chain, &node) >= 0 && bp__bytes_are(node->operation, operation);
}

const char *bp__onnx_chain_activation(const bp__onnx *r, bp__onnx_chain *chain) {
    const bp__onnx_node *node;
    const bp__onnx_row *other;
    const int number = only_reader(r, chain, &node);
    const bp__onnx_row *row = number < 0 ? NULL : bp__onnx_row_of(node->operation, r->model->opset, &other);
    /* Attributes are refused later. Gelu has one. */
    const bool plain = row && node->input_count == 1 && node->attribute_count == 0;
    const bool fits = plain && (row->convert == bp__onnx_convert_unary || row->convert == bp__onnx_convert_gelu);
    const char *kind = !fits ? NULL : row->convert == bp__onnx_convert_gelu ? "gelu" : row->call;
    if (!kind || strcmp(kind, "isnan") == 0 || strcmp(kind, "logical_not") == 0 ||
        strcmp(kind, "bitwise_invert") == 0) {
        return NULL;
    }
    pass_through(r, chain, number, node, 0);
    return kind;
}

bp__onnx_value *bp__onnx_chain_row(const bp__onnx *r, bp__onnx_chain *chain, int64_t size) {
    const bp__onnx_node *node;
    const int number = only_reader(r, chain, &node);
    if (number < 0 || !bp__bytes_are(node->operation, "Add") || node->input_count != 2 || node->attribute_count != 0) {
        return NULL;
    }
    const int input = bp__bytes_size(node->inputs[0]) == bp__bytes_size(chain->last) &&
                              memcmp(node->inputs[0].at, chain->last.at, bp__bytes_size(chain->last)) == 0
                          ? 0
                          : 1;
    bp__onnx_value *row = bp__onnx_find(r, node->inputs[1 - input]);
    if (!row || row->ndim != 1 || row->shape[0] != size || !(row->tensor || row->data)) {
        return NULL;
    }
    pass_through(r, chain, number, node, input);
    return row;
}
