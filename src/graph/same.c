/* same.c - finds equal nodes and views: one of them computes the values of all.
 *
 * Calls are functions of their fields and operands. A node that computes an output of the graph has the layout of the
 * caller's tensor, so that it is equal to no other node: its bits may be other ones. */
#include "graph/graph.h"

#include <string.h>

/* The nodes and views that were seen, by the bytes that describe them. */
typedef struct seen {
    size_t begin, size; /* of the bytes in `text` */
    bp_value value;     /* the first one; 0: empty */
} seen;

typedef struct comparison {
    bp__lowered *lowered;
    bp__text text;
    seen *table;
    size_t capacity; /* a power of two */
} comparison;

static void add_bytes(comparison *c, const void *bytes, size_t size) {
    bp__text_add_n(&c->text, bytes, size);
}

static void add_operand(comparison *c, bp_value value) {
    const bp_value same = c->lowered->same[value];
    add_bytes(c, &same, sizeof same);
}

static void describe_node(comparison *c, const bp__node *node) {
    add_bytes(c, &node->call, sizeof node->call);
    add_bytes(c, &node->pass, sizeof node->pass);
    for (int i = 0; i < node->pass->info.operand_count; i++) {
        if (i < node->pass->info.input_count) {
            add_operand(c, node->operand[i]);
        } else {
            add_bytes(c, &c->lowered->live[node->operand[i]], sizeof(bool));
        }
    }
    for (int i = 0; i < node->list_count; i++) {
        add_operand(c, node->list[i]);
    }
    bp__fields_write(node, &c->text);
}

static void describe_view(comparison *c, const bp__graph_value *value) {
    const int32_t kind = (int32_t)value->view;
    add_bytes(c, &kind, sizeof kind);
    add_operand(c, value->from);
    add_bytes(c, value->shape, (size_t)value->ndim * sizeof *value->shape);
    add_bytes(c, value->slice, sizeof value->slice);
    if (value->axes) {
        add_bytes(c, value->axes, (size_t)value->ndim * sizeof *value->axes);
    }
}

/* Returns the entry with the bytes from `begin` on, or an empty one. */
static seen *find_seen(const comparison *c, size_t begin) {
    const size_t size = c->text.length - begin;
    const char *bytes = c->text.bytes + begin;
    size_t at = (size_t)bp__hash(bytes, size) & (c->capacity - 1);
    while (c->table[at].value &&
           (c->table[at].size != size || memcmp(c->text.bytes + c->table[at].begin, bytes, size) != 0)) {
        at = (at + 1) & (c->capacity - 1);
    }
    return &c->table[at];
}

/* Makes an equal node compute the values of a node. */
static void join_nodes(bp__lowered *l, const bp__node *node, const bp__node *equal) {
    for (int i = node->pass->info.input_count; i < node->pass->info.operand_count; i++) {
        if (node->operand[i] && equal->operand[i]) {
            l->same[node->operand[i]] = equal->operand[i];
        }
    }
}

static void compare_value(comparison *c, bp_value v) {
    bp__lowered *l = c->lowered;
    const bp_graph *graph = l->graph;
    const bp__graph_value *value = &graph->values[v];
    const bp__node *node = value->kind == BP__VALUE_NODE ? &graph->nodes[value->from] : NULL;
    const size_t begin = c->text.length;
    if (node ? node->first != v || l->output_nodes[value->from] : value->kind != BP__VALUE_VIEW || !l->live[v]) {
        return;
    }
    node ? describe_node(c, node) : describe_view(c, value);
    if (c->text.failed) {
        return;
    }
    seen *entry = find_seen(c, begin);
    if (!entry->value) {
        *entry = (seen){begin, c->text.length - begin, v};
    } else if (node) {
        join_nodes(l, node, &graph->nodes[graph->values[entry->value].from]);
    } else {
        l->same[v] = entry->value;
    }
}

bp_status bp__lower_join(bp__lowered *l) {
    comparison c = {.lowered = l, .capacity = 64};
    while (c.capacity < 2 * (size_t)l->graph->value_count) {
        c.capacity *= 2;
    }
    c.table = bp__alloc_zero(c.capacity, sizeof *c.table);
    if (!c.table) {
        return bp__fail_memory(c.capacity * sizeof *c.table, "the plan of a graph");
    }
    for (bp_value v = 1; v <= l->graph->value_count; v++) {
        compare_value(&c, v);
    }
    const bool failed = c.text.failed;
    bp__free(c.table);
    bp__text_free(&c.text);
    return failed ? bp__fail_memory(c.text.length, "the plan of a graph") : BP_OK;
}
