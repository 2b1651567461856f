/* text.c - writes a graph as text, and computes its hash.
 *
 * The text has each value in the order in which it was added, so that a graph which is read from it has the same
 * numbers. The hash is made of what the outputs depend on: all inputs, and of the other values those that an output
 * needs, numbered in their order. Names are left out. */
#include "graph/graph.h"

#include "base/number.h"
#include "base/sha256.h"
#include "base/uncancelled.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How values are called: by name, or by the numbers of a hash. */
typedef struct naming {
    const bp_graph *graph;
    int underscores;   /* of generated names */
    const int *number; /* of each value; NULL: names */
} naming;

/* ---- Names ---- */

/* A value without a name is v, underscores and its number. */
static void write_name(bp__text *text, const naming *names, bp_value value) {
    const char *own = value > 0 ? names->graph->values[value].name : "-";
    if (names->number) {
        bp__text_addf(text, "%d", value > 0 ? names->number[value] : 0);
    } else if (own) {
        bp__text_add(text, own);
    } else {
        bp__text_add(text, "v");
        for (int i = 0; i < names->underscores; i++) {
            bp__text_add(text, "_");
        }
        bp__text_addf(text, "%d", value);
    }
}

/* Returns how many underscores make generated names different from all names of the graph. */
static int count_underscores(const bp_graph *graph) {
    int most = -1;
    for (bp_value v = 1; v <= graph->value_count; v++) {
        const char *name = graph->values[v].name;
        if (name && name[0] == 'v') {
            const int many = (int)strspn(name + 1, "_");
            most = many > most && name[1 + many] >= '0' && name[1 + many] <= '9' ? many : most;
        }
    }
    return most + 1;
}

static void write_shape(bp__text *text, const bp__graph_value *value) {
    bp__text_addf(text, "%s [", bp_dtype_name(value->dtype));
    for (int d = 0; d < value->ndim; d++) {
        bp__text_addf(text, "%s%" PRId64, d ? ", " : "", value->shape[d]);
    }
    bp__text_add(text, "]");
}

/* ---- Constants ---- */

/* Copies the elements in row-major order; bp__free_aligned() frees them. */
static bp_status copy_elements(const bp__graph_value *value, char **elements) {
    const size_t bytes = (size_t)bp__value_bytes(value);
    *elements = bp__alloc_aligned(bytes + 1);
    if (!*elements) {
        return bp__fail_memory(bytes, "a constant of a graph");
    }
    DLTensor from = bp__constant_tensor(value), to = from;
    to.data = *elements;
    to.strides = NULL;
    bp_status status = bp_tensor_copy(&to, &from);
    if (status != BP_OK) {
        bp__free_aligned(*elements);
    }
    return status;
}

/* An element as a number; `wide` for whole numbers. */
typedef struct element {
    double real;
    int64_t wide;
    bool whole;
} element;

static element read_element(bp_dtype dtype, const char *at) {
    element e = {.whole = dtype == BP_I32 || dtype == BP_I64};
    float narrow;
    int32_t number;
    switch (dtype) {
    case BP_F32:
        memcpy(&narrow, at, sizeof narrow);
        e.real = (double)narrow;
        break;
    case BP_F64:
        memcpy(&e.real, at, sizeof e.real);
        break;
    case BP_I32:
        memcpy(&number, at, sizeof number);
        e.wide = number;
        break;
    default:
        memcpy(&e.wide, at, bp_dtype_size(dtype) < sizeof e.wide ? bp_dtype_size(dtype) : sizeof e.wide);
    }
    return e;
}

/* Whether a number tells all bits of each element. */
static bool are_numbers(const bp__graph_value *value, const char *elements) {
    const int64_t count = bp__value_elements(value), size = (int64_t)bp_dtype_size(value->dtype);
    bool good = value->dtype == BP_F32 || value->dtype == BP_F64 || value->dtype == BP_I32 || value->dtype == BP_I64;
    for (int64_t i = 0; i < count && good; i++) {
        good = isfinite(read_element(value->dtype, elements + i * size).real);
    }
    return good;
}

static void write_numbers(bp__text *text, const bp__graph_value *value, const char *elements) {
    const int64_t count = bp__value_elements(value), size = (int64_t)bp_dtype_size(value->dtype);
    char number[48];
    for (int64_t i = 0; i < count; i++) {
        const element e = read_element(value->dtype, elements + i * size);
        if (e.whole) {
            snprintf(number, sizeof number, "%" PRId64, e.wide);
        } else {
            bp__format(number, sizeof number, "%a", e.real);
        }
        bp__text_add(text, i ? ", " : "");
        bp__text_add(text, number);
    }
}

static void write_bytes(bp__text *text, const void *bytes, int64_t count) {
    static const char digits[] = "0123456789abcdef";
    for (int64_t i = 0; i < count; i++) {
        const unsigned char byte = ((const unsigned char *)bytes)[i];
        const char pair[] = {digits[byte >> 4], digits[byte & 15]};
        bp__text_add_n(text, pair, sizeof pair);
    }
}

static bp_status write_constant(bp__text *text, const bp__graph_value *value) {
    char *elements;
    BP__TRY(copy_elements(value, &elements));
    bp__text_addf(text, "constant %s ", value->name);
    write_shape(text, value);
    const bool numbers = are_numbers(value, elements);
    bp__text_add(text, numbers ? " = [" : " = bytes ");
    if (numbers) {
        write_numbers(text, value, elements);
    } else {
        write_bytes(text, elements, bp__value_bytes(value));
    }
    bp__text_add(text, numbers ? "]\n" : "\n");
    bp__free_aligned(elements);
    return BP_OK;
}

/* ---- Nodes and views ---- */

static void write_view(bp__text *text, const naming *names, bp_value v) {
    const bp__graph_value *value = &names->graph->values[v];
    bp__text_addf(text, "%s(", bp__view_names[value->view]);
    write_name(text, names, value->from);
    bp__text_add(text, ", [");
    if (value->view == BP__SLICE) {
        const int64_t *s = value->slice;
        bp__text_addf(text, "%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64, s[0], s[1], value->shape[s[0]], s[2]);
    }
    for (int d = 0; d < value->ndim && value->view != BP__SLICE; d++) {
        bp__text_addf(text, "%s%" PRId64, d ? ", " : "", value->view == BP__PERMUTE ? value->axes[d] : value->shape[d]);
    }
    bp__text_add(text, "])\n");
}

/* Operands have their names, since these tell the pass; in a list they have none. */
static void write_node(bp__text *text, const naming *names, const bp__node *node) {
    const char *between = "";
    bp__text fields = {0};
    bp__text_addf(text, "%s(", node->call->info.name);
    for (int i = 0; i < node->list_count; i++, between = ", ") {
        bp__text_add(text, between);
        write_name(text, names, node->list[i]);
    }
    for (int i = 0; i < node->pass->info.input_count; i++) {
        if (node->operand[i]) {
            bp__text_addf(text, "%s%s=", between, node->pass->operand[i].info.name);
            write_name(text, names, node->operand[i]);
            between = ", ";
        }
    }
    bp__fields_write(node, &fields);
    bp__text_add(text, bp__text_get(&fields) + (*between || !fields.length ? 0 : 2));
    bp__text_add(text, ")\n");
    text->failed |= fields.failed;
    bp__text_free(&fields);
}

/* Writes "a, -, b = " for the outputs of a pass, up to the last one that is there; for a hash, that is needed. */
static void write_results(bp__text *text, const naming *names, const bp__node *node) {
    const int first = node->pass->info.input_count;
    int last = first;
    for (int i = first; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        last = v && (!names->number || names->number[v]) ? i : last;
    }
    for (int i = first; i <= last; i++) {
        bp__text_add(text, i > first ? ", " : "");
        write_name(text, names, node->operand[i]);
    }
    bp__text_add(text, " = ");
}

static void write_computed(bp__text *text, const naming *names, bp_value v) {
    const bp__graph_value *value = &names->graph->values[v];
    if (value->kind == BP__VALUE_VIEW) {
        write_name(text, names, v);
        bp__text_add(text, " = ");
        write_view(text, names, v);
    } else if (value->kind == BP__VALUE_NODE && names->graph->nodes[value->from].first == v) {
        write_results(text, names, &names->graph->nodes[value->from]);
        write_node(text, names, &names->graph->nodes[value->from]);
    }
}

static void write_input(bp__text *text, const bp__graph_value *value, const char *name) {
    bp__text_addf(text, "input %s ", name);
    write_shape(text, value);
    bp__text_add(text, "\n");
}

/* ---- The whole ---- */

static bp_status write_graph(bp__text *text, const bp_graph *graph) {
    const naming names = {.graph = graph, .underscores = count_underscores(graph)};
    bp__text_add(text, "graph 1\n");
    for (bp_value v = 1; v <= graph->value_count; v++) {
        const bp__graph_value *value = &graph->values[v];
        if (value->kind == BP__VALUE_INPUT) {
            write_input(text, value, value->name);
        } else if (value->kind == BP__VALUE_CONSTANT) {
            BP__TRY(write_constant(text, value));
        } else {
            write_computed(text, &names, v);
        }
    }
    for (int k = 0; k < graph->output_count; k++) {
        bp__text_addf(text, "output %s = ", graph->outputs[k].name);
        write_name(text, &names, graph->outputs[k].value);
        bp__text_add(text, "\n");
    }
    return text->failed ? bp__fail_memory(text->length, "the text of a graph") : BP_OK;
}

bp_status bp_graph_text(const bp_graph *graph, char **text) {
    BP__UNCANCELLED;
    if (!text) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_text: text must not be NULL");
    }
    *text = NULL;
    BP__TRY(bp__graph_check_finished(graph, "bp_graph_text"));
    bp__text made = {0};
    bp_status status = write_graph(&made, graph);
    if (status != BP_OK) {
        bp__text_free(&made);
        return status;
    }
    *text = made.bytes;
    return BP_OK;
}

void bp_graph_text_release(char *text) {
    BP__UNCANCELLED;
    bp__free(text);
}

/* ---- Hash ---- */

/* A constant by its type, its shape and the hash of its elements. */
static bp_status add_constant(bp__text *text, const bp__graph_value *value) {
    bp__sha256 hash;
    unsigned char digest[32];
    char *elements;
    BP__TRY(copy_elements(value, &elements));
    bp__sha256_begin(&hash);
    bp__sha256_add(&hash, elements, (size_t)bp__value_bytes(value));
    bp__sha256_end(&hash, digest);
    bp__free_aligned(elements);
    bp__text_add(text, "constant ");
    write_shape(text, value);
    write_bytes(text, digest, sizeof digest);
    bp__text_add(text, "\n");
    return BP_OK;
}

static void number_node(const bp__lowered *l, const bp__node *node, int *number, int *next) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        const bp_value v = node->operand[i];
        number[v] = v && l->live[v] && number[v] == 0 ? ++*next : number[v];
    }
}

static bp_status add_value(bp__text *text, const bp__lowered *l, naming *names, int *number, int *next, bp_value v) {
    const bp__graph_value *value = &l->graph->values[v];
    if (value->kind == BP__VALUE_INPUT) {
        number[v] = ++*next;
        write_input(text, value, "");
        return BP_OK;
    }
    if (!l->live[v] || number[v] != 0) {
        return BP_OK;
    }
    if (value->kind == BP__VALUE_CONSTANT) {
        number[v] = ++*next;
        return add_constant(text, value);
    }
    if (value->kind == BP__VALUE_VIEW) {
        number[v] = ++*next;
        write_view(text, names, v);
        return BP_OK;
    }
    const bp__node *node = &l->graph->nodes[value->from];
    number_node(l, node, number, next);
    write_results(text, names, node);
    write_node(text, names, node);
    return BP_OK;
}

static bp_status add_values(bp__text *text, const bp__lowered *l) {
    const bp_graph *graph = l->graph;
    int next = 0, *number = bp__alloc_zero((size_t)graph->value_count + 1, sizeof *number);
    naming names = {.graph = graph, .number = number};
    if (!number) {
        return bp__fail_memory((size_t)graph->value_count * sizeof *number, "the hash of a graph");
    }
    bp_status status = BP_OK;
    bp__text_add(text, "graph 1\n");
    for (bp_value v = 1; v <= graph->value_count && status == BP_OK; v++) {
        status = add_value(text, l, &names, number, &next, v);
    }
    for (int k = 0; k < graph->output_count; k++) {
        bp__text_addf(text, "output %d\n", number[graph->outputs[k].value]);
    }
    bp__free(number);
    return status != BP_OK ? status : text->failed ? bp__fail_memory(text->length, "the hash of a graph") : BP_OK;
}

bp_status bp_graph_hash(const bp_graph *graph, unsigned char *hash) {
    BP__UNCANCELLED;
    bp__lowered l;
    bp__sha256 made;
    bp__text text = {0};
    if (!hash) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_hash: hash must not be NULL");
    }
    BP__TRY(bp__graph_check_finished(graph, "bp_graph_hash"));
    BP__TRY(bp__lower_begin(&l, graph));
    bp__lower_mark(&l);
    bp_status status = add_values(&text, &l);
    bp__lower_free(&l);
    if (status == BP_OK) {
        bp__sha256_begin(&made);
        bp__sha256_add(&made, bp__text_get(&text), text.length);
        bp__sha256_end(&made, hash);
    }
    bp__text_free(&text);
    return status;
}
