/* rewrite.h - declares the rules that rewrite a graph into one whose results are equal up to rounding (graph.rewrite).
 *
 * rewrite.c copies the graph, and asks the rules at each node: rewrite_norm.c folds batch normalization into the
 * weights in front of it, rewrite_attention.c finds attention in products and a softmax. Unlike the other files of this
 * folder, these two name operations. */
#ifndef BP_GRAPH_REWRITE_H
#define BP_GRAPH_REWRITE_H

#include "graph/graph.h"

/* The values of graph.rewrite; each one includes those before it. */
typedef enum bp__rewrite_mode {
    BP__REWRITE_EXACT,
    BP__REWRITE_FOLD,
    BP__REWRITE_FAST,
    BP__REWRITE_MODES
} bp__rewrite_mode;

/* What was rewritten in a graph. */
typedef struct bp__rewrites {
    int norms, attentions;
} bp__rewrites;

/* A graph while it is rewritten. */
typedef struct bp__rewriting {
    const bp_graph *from;
    bp_graph *to;
    bp_value *map; /* of each value of `from`: the value of `to`; 0: not added yet */
    int *uses;     /* of each value of `from`: how often nodes, views and outputs read it */
    bp__rewrites made;
} bp__rewriting;

/* Each rule looks at a node. If it finds what it replaces, it adds the new nodes and sets the values in `map`;
 * otherwise it leaves `map` as it is. The nodes that nothing reads any more stay, and are not computed. */
bp_status bp__rewrite_norm(bp__rewriting *r, const bp__node *node);
bp_status bp__rewrite_attention(bp__rewriting *r, const bp__node *node);

/* Returns the node that computes a value, if it has the operation, and nothing else reads the value; else NULL. */
const bp__node *bp__rewrite_maker(const bp__rewriting *r, bp_value value, bp_op op);

/* Adds a call in place of a node, with its number and label. Returns its only result; 0 if the call refuses. Errors:
 * BP_E_NO_MEMORY, BP_E_OVERFLOW. */
bp_status bp__rewrite_call(bp__rewriting *r, const bp__node *node, const char *call, const char *fields, int count,
                           const bp_value *operands, bp_value *result);

/* Copies the elements of a constant, in row-major order, as numbers; bp__free() frees them. */
bp_status bp__rewrite_read(const bp__graph_value *constant, double **numbers);
/* Adds a constant of these numbers, which are rounded to the type. */
bp_status bp__rewrite_constant(bp__rewriting *r, const bp__graph_value *like, const double *numbers, bp_value *value);

/* Returns the graph that runs in place of a finished graph under the settings in force: itself, or the rewritten one,
 * which is made at its first use and kept with the graph. */
bp_status bp__graph_rewritten(const bp_graph **runs, const bp_graph *graph);

#endif
