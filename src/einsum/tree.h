/* tree.h - between tree.c, which holds an order as a tree, and the searches that order parts of it anew: refine.c,
 * where small parts are ordered exactly, and explore.c, where large ones are ordered by greedy with chance. */
#ifndef BP_EINSUM_TREE_H
#define BP_EINSUM_TREE_H

#include "einsum/internal.h"

#define BP__PART_LEAVES 48  /* most operands of a part */
#define BP__PART_LABELS 512 /* most labels of a part; larger ones are left alone */

typedef struct bp__tree {
    const bp__network *net;
    const bp__goal *goal;
    bp__budget *budget;
    int words;
    int32_t nodes;
    bp__pair *child;     /* -1 for operands */
    uint64_t *sets;      /* of labels */
    int32_t *parent;     /* filled by whoever needs it */
    double *size, *cost; /* elements; of the step that makes the node */
    int32_t *number;     /* scratch: labels of a part */
    int32_t *order;      /* scratch */
    void *memory;
} bp__tree;

/* Part of a tree: a node, the results below it that are taken apart, and what those are made of. */
typedef struct bp__part_tree {
    int32_t leaf[BP__PART_LEAVES];
    int32_t inside[BP__PART_LEAVES]; /* nodes that the part is made of, the root first */
    int leaves, insides;
    double cost;
    double largest; /* elements, of the inner nodes but the root */
} bp__part_tree;

bool bp__tree_too_large(const bp__network *net);
/* net, goal and budget are set; bp__free(memory) afterwards. False without memory. */
bool bp__tree_new(bp__tree *tree, const bp__pair *pairs);
/* Results from the root down, parents before children, in tree->order; returns how many. */
int32_t bp__tree_order(bp__tree *tree);
/* The tree as pairs; spoils `parent`. */
void bp__tree_pairs(bp__tree *tree, bp__pair *pairs);

/* The part below a result, down to `most` leaves: the largest result is taken apart next or, with `random`, sometimes
 * another one. */
void bp__tree_part(const bp__tree *tree, int32_t root, int most, uint64_t *random, bp__part_tree *part);
/* Its leaves as a network, in which labels that the root keeps are used outside. False without memory, or with too many
 * labels. */
bool bp__tree_part_network(bp__tree *tree, const bp__part_tree *part, bp__network *net);
/* Puts the part together as `pairs` say. The root keeps its number, the others take those of the old ones. */
void bp__tree_rebuild(bp__tree *tree, const bp__part_tree *part, const bp__pair *pairs);

uint64_t bp__next_random(uint64_t *state);

#endif
