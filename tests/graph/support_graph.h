/* support_graph.h - random graphs over the whole table of calls, with tensors of random layouts. */
#ifndef BP_TESTS_GRAPH_SUPPORT_H
#define BP_TESTS_GRAPH_SUPPORT_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct random_source {
    uint64_t state;
} random_source;

uint32_t random_below(random_source *random, uint32_t limit);

/* Makes a finished graph of at most `nodes` nodes and views. Adds to `accepted`, by index of bp_call_at(), the nodes
 * that it has. */
bp_graph *random_graph(random_source *random, int nodes, int *accepted);

/* Tensors of the graph's inputs or outputs, with random strides if `strided`. */
typedef struct tensors {
    int count;
    bp_view *view;
    char **block;
    int64_t *size; /* of the blocks in bytes */
    DLTensor **list;
} tensors;

void make_tensors(tensors *t, const bp_graph *graph, bool outputs, bool strided, random_source *random);
void fill_tensors(const tensors *t, random_source *random); /* also with NaN, infinity and denormal numbers */
void poison_tensors(const tensors *out);                    /* writes other elements */
void free_tensors(tensors *t);

/* Inputs with random elements, and two sets of outputs with the same layouts. */
typedef struct compared_tensors {
    tensors in, want, got;
} compared_tensors;

void make_compared(compared_tensors *t, const bp_graph *graph, bool strided, random_source *random);
void free_compared(compared_tensors *t);

/* Runs a graph under settings into poisoned outputs. After a failure these may have any elements. */
bp_status run_graph(const bp_graph *graph, const char *settings, const tensors *in, const tensors *out);

#endif
