/* tree.h - orders as trees, for the searches that reorder parts of them.
 *
 * tree.c implements it. refine.c reorders small parts exactly; explore.c reorders large parts with randomized greedy.
 */
#ifndef BP_EINSUM_TREE_H
#define BP_EINSUM_TREE_H

#include "einsum/internal.h"

#define BP__PART_LEAVES 48  /* most operands of a part */
#define BP__PART_LABELS 512 /* most labels of a part; larger parts are not reordered */

typedef struct bp__tree {
    const bp__network *net;
    const bp__goal *goal;
    bp__budget *budget;
    int words;
    int32_t nodes;
    bp__pair *child;     /* -1 for operands */
    uint64_t *sets;      /* label sets */
    int32_t *parent;     /* filled by the functions that need it */
    double *size, *cost; /* elements of the node; cost of the step that makes it */
    int32_t *number;     /* scratch: labels of a part */
    int32_t *order;      /* scratch */
    void *memory;
} bp__tree;

/* A part of a tree: a node, the expanded results below it, and the leaves. */
typedef struct bp__part_tree {
    int32_t leaf[BP__PART_LEAVES];
    int32_t inside[BP__PART_LEAVES]; /* the nodes of the part, root first */
    int leaves, insides;
    double cost;
    double largest; /* elements; maximum over the inner nodes except the root */
} bp__part_tree;

bool bp__tree_too_large(const bp__network *net);
/* Makes a tree. The caller has set net, goal and budget, and frees it with bp__free(memory). Returns false if memory is
 * short. */
bool bp__tree_new(bp__tree *tree, const bp__pair *pairs);
/* Lists the results from the root down, parents before children, in tree->order. Returns how many. */
int32_t bp__tree_order(bp__tree *tree);
/* Writes the tree as pairs; overwrites `parent`. */
void bp__tree_pairs(bp__tree *tree, bp__pair *pairs);

/* Selects the part below a result with up to `most` leaves. Expands the largest result next or, with `random`,
 * sometimes another one. */
void bp__tree_part(const bp__tree *tree, int32_t root, int most, uint64_t *random, bp__part_tree *part);
/* Makes a network of the part's leaves; labels that the root keeps count as used outside. Returns false if memory is
 * short or there are too many labels. */
bool bp__tree_part_network(bp__tree *tree, const bp__part_tree *part, bp__network *net);
/* Rebuilds the part from `pairs`. The root keeps its number; the other nodes reuse the old numbers. */
void bp__tree_rebuild(bp__tree *tree, const bp__part_tree *part, const bp__pair *pairs);

uint64_t bp__next_random(uint64_t *state);

#endif
