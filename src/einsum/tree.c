/* tree.c - represents an order of contractions as a tree with labels, sizes and costs, and extracts parts of it.
 *
 * A part is a node with some results below it. It becomes a small network that can be reordered. */
#include "einsum/tree.h"

#include <string.h>

#define BITS 64
#define MOST_WORDS ((size_t)1 << 24) /* words of the label sets of all nodes: 128 MiB */

static uint64_t *set_of(const bp__tree *t, int32_t node) {
    return t->sets + (size_t)node * (size_t)t->words;
}

static double product_of(const bp__tree *t, const uint64_t *a, const uint64_t *b) {
    double product = 1;
    for (int w = 0; w < t->words; w++) {
        for (uint64_t left = a[w] | b[w]; left; left &= left - 1) {
            product *= t->net->size[w * BITS + __builtin_ctzll(left)];
        }
    }
    return product;
}

static bp__side side_of(const bp__tree *t, int32_t node) {
    return (bp__side){t->size[node], node < t->net->terms ? t->net->alone[node] : 0};
}

/* Computes the cost of the node from its children. The node's label set is known. */
static void price(bp__tree *t, int32_t node) {
    bp__pair c = t->child[node];
    const uint64_t *a = set_of(t, c.a), *b = set_of(t, c.b), *result = set_of(t, node);
    bool inner = false;
    unsigned first;
    for (int w = 0; w < t->words; w++) {
        inner |= ((a[w] | b[w]) & ~result[w]) != 0;
    }
    t->size[node] = product_of(t, result, result);
    t->cost[node] =
        bp__goal_pair(t->goal, product_of(t, a, b), t->size[node], inner, side_of(t, c.a), side_of(t, c.b), &first);
}

/* Fills the label sets of all results. Counts down how many nodes still have each label. */
static void fill_sets(bp__tree *t, const bp__pair *pairs, int32_t *uses) {
    const bp__network *net = t->net;
    memset(t->sets, 0, (size_t)t->nodes * (size_t)t->words * sizeof *t->sets);
    memcpy(uses, net->uses, (size_t)net->labels * sizeof *uses);
    for (int32_t i = 0; i < net->terms; i++) {
        for (int32_t e = net->start[i]; e < net->start[i + 1]; e++) {
            set_of(t, i)[net->label[e] / BITS] |= (uint64_t)1 << net->label[e] % BITS;
        }
        t->size[i] = net->elements[i];
        t->cost[i] = 0;
        t->child[i] = (bp__pair){-1, -1};
    }
    for (int32_t i = net->terms; i < t->nodes; i++) {
        t->child[i] = pairs[i - net->terms];
        for (int w = 0; w < t->words; w++) {
            uint64_t a = set_of(t, t->child[i].a)[w], b = set_of(t, t->child[i].b)[w], result = a | b;
            for (uint64_t left = a & b; left; left &= left - 1) {
                if (--uses[w * BITS + __builtin_ctzll(left)] == 1) {
                    result &= ~(left & (0 - left));
                }
            }
            set_of(t, i)[w] = result;
        }
        price(t, i);
    }
}

bool bp__tree_new(bp__tree *t, const bp__pair *pairs) {
    const bp__network *net = t->net;
    t->words = net->labels < 1 ? 1 : (net->labels + BITS - 1) / BITS;
    t->nodes = 2 * net->terms - 1;
    size_t nodes = (size_t)t->nodes, words = nodes * (size_t)t->words, labels = (size_t)net->labels;
    char *at = bp__alloc(words * 8 + nodes * (2 * sizeof(double) + sizeof(bp__pair) + 2 * sizeof(int32_t)) +
                         labels * sizeof(int32_t));
    if (!at) {
        return false;
    }
    t->memory = at;
    t->sets = (uint64_t *)at;
    t->size = (double *)(t->sets + words);
    t->cost = t->size + nodes;
    t->child = (bp__pair *)(t->cost + nodes);
    t->parent = (int32_t *)(t->child + nodes);
    t->order = t->parent + nodes;
    t->number = t->order + nodes;
    fill_sets(t, pairs, t->number);
    memset(t->number, 0xff, labels * sizeof(int32_t));
    return true;
}

bool bp__tree_too_large(const bp__network *net) {
    size_t words = ((size_t)net->labels + BITS - 1) / BITS;
    return words * 2 * (size_t)net->terms > MOST_WORDS;
}

/* ---- A part ---- */

uint64_t bp__next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns the leaf to expand next: the largest result, or at random another one; -1 if all leaves are operands. */
static int next_apart(const bp__tree *t, const bp__part_tree *p, uint64_t *random) {
    int chosen = -1, results = 0;
    bool any = random && bp__next_random(random) % 2 == 0;
    for (int i = 0; i < p->leaves; i++) {
        if (p->leaf[i] < t->net->terms) {
            continue;
        }
        results++;
        bool better = any ? bp__next_random(random) % (uint64_t)results == 0
                          : chosen < 0 || t->size[p->leaf[i]] > t->size[p->leaf[chosen]];
        chosen = better ? i : chosen;
    }
    return chosen;
}

void bp__tree_part(const bp__tree *t, int32_t root, int most, uint64_t *random, bp__part_tree *p) {
    p->leaf[0] = t->child[root].a;
    p->leaf[1] = t->child[root].b;
    p->inside[0] = root;
    p->leaves = 2;
    p->insides = 1;
    p->cost = t->cost[root];
    p->largest = 0;
    while (p->leaves < most) {
        int apart = next_apart(t, p, random);
        if (apart < 0) {
            return;
        }
        int32_t node = p->leaf[apart];
        p->inside[p->insides++] = node;
        p->cost = bp__goal_join(t->goal, p->cost, t->cost[node]);
        p->largest = t->size[node] > p->largest ? t->size[node] : p->largest;
        p->leaf[apart] = t->child[node].a;
        p->leaf[p->leaves++] = t->child[node].b;
    }
}

bool bp__tree_part_network(bp__tree *t, const bp__part_tree *p, bp__network *net) {
    int32_t labels[BP__PART_LABELS];
    int count = 0;
    int64_t entries = 0;
    bool fits = true;
    for (int i = 0; i < p->leaves; i++) {
        for (int w = 0; w < t->words; w++) {
            for (uint64_t left = set_of(t, p->leaf[i])[w]; left; left &= left - 1) {
                int32_t label = w * BITS + __builtin_ctzll(left);
                entries++;
                if (t->number[label] < 0 && count < BP__PART_LABELS) {
                    t->number[label] = count;
                    labels[count++] = label;
                }
                fits = fits && t->number[label] >= 0;
            }
        }
    }
    if (fits && bp__network_reserve(net, p->leaves, count, entries) != BP_OK) {
        fits = false;
    }
    for (int i = 0; i < count; i++) {
        if (fits) {
            net->size[i] = t->net->size[labels[i]];
            net->uses[i] = (int32_t)(set_of(t, p->inside[0])[labels[i] / BITS] >> labels[i] % BITS & 1);
        }
    }
    int32_t at = 0;
    for (int i = 0; i < p->leaves && fits; i++) {
        for (int w = 0; w < t->words; w++) {
            for (uint64_t left = set_of(t, p->leaf[i])[w]; left; left &= left - 1) {
                int32_t number = t->number[w * BITS + __builtin_ctzll(left)];
                net->label[at++] = number;
                net->uses[number]++;
            }
        }
        net->start[i + 1] = at;
        net->alone[i] = side_of(t, p->leaf[i]).alone;
    }
    for (int i = 0; i < count; i++) {
        t->number[labels[i]] = -1;
    }
    if (fits) {
        bp__network_finish(net);
    }
    return fits;
}

void bp__tree_rebuild(bp__tree *t, const bp__part_tree *p, const bp__pair *pairs) {
    int32_t id[2 * BP__PART_LEAVES];
    int made = p->leaves - 1;
    for (int i = 0; i < p->leaves; i++) {
        id[i] = p->leaf[i];
    }
    for (int i = 0; i < made; i++) {
        id[p->leaves + i] = p->inside[made - 1 - i];
    }
    uint64_t *root = set_of(t, p->inside[0]);
    for (int i = 0; i < made; i++) {
        int32_t node = id[p->leaves + i];
        t->child[node] = (bp__pair){id[pairs[i].a], id[pairs[i].b]};
        for (int w = 0; i < made - 1 && w < t->words; w++) {
            /* The result keeps labels that the root has, or another operand of the part that is not contracted yet. */
            set_of(t, node)[w] = set_of(t, t->child[node].a)[w] | set_of(t, t->child[node].b)[w];
        }
    }
    for (int i = 0; i < made - 1; i++) {
        uint64_t in = 0; /* the operands in the result */
        int32_t stack[2 * BP__PART_LEAVES], depth = 0;
        stack[depth++] = p->leaves + i;
        while (depth > 0) {
            int32_t at = stack[--depth];
            if (at < p->leaves) {
                in |= (uint64_t)1 << at;
            } else {
                stack[depth++] = pairs[at - p->leaves].a;
                stack[depth++] = pairs[at - p->leaves].b;
            }
        }
        for (int w = 0; w < t->words; w++) {
            uint64_t outside = root[w];
            for (int j = 0; j < p->leaves; j++) {
                outside |= in >> j & 1 ? 0 : set_of(t, p->leaf[j])[w];
            }
            set_of(t, id[p->leaves + i])[w] &= outside;
        }
    }
    for (int i = 0; i < made; i++) {
        price(t, id[p->leaves + i]);
    }
}

/* ---- The whole tree ---- */

int32_t bp__tree_order(bp__tree *t) {
    int32_t count = 0;
    t->order[count++] = t->nodes - 1;
    for (int32_t i = 0; i < count; i++) {
        bp__pair c = t->child[t->order[i]];
        if (c.a >= t->net->terms) {
            t->order[count++] = c.a;
        }
        if (c.b >= t->net->terms) {
            t->order[count++] = c.b;
        }
    }
    return count;
}

/* Identities must grow along the tree, so they follow `order` backwards. */
void bp__tree_pairs(bp__tree *t, bp__pair *pairs) {
    int32_t count = bp__tree_order(t), terms = t->net->terms;
    for (int32_t i = 0; i < count; i++) {
        t->parent[t->order[i]] = terms + count - 1 - i; /* the new identity */
    }
    for (int32_t i = 0; i < count; i++) {
        bp__pair c = t->child[t->order[i]];
        pairs[count - 1 - i] = (bp__pair){c.a < terms ? c.a : t->parent[c.a], c.b < terms ? c.b : t->parent[c.b]};
    }
}

bp__outcome bp__tree_cost(const bp__network *net, const bp__goal *goal, const bp__pair *pairs, double *cost) {
    bp__tree t = {.net = net, .goal = goal};
    if (bp__tree_too_large(net) || !bp__tree_new(&t, pairs)) {
        return BP__NO_MEMORY;
    }
    *cost = 0;
    for (int32_t i = net->terms; i < t.nodes; i++) {
        *cost = bp__goal_join(goal, *cost, t.cost[i]);
    }
    bp__free(t.memory);
    return BP__FOUND;
}

bool bp__tree_fits(const bp__network *net, double limit, const bp__pair *pairs, bool unknown) {
    bp__tree t = {.net = net, .goal = &(bp__goal){.objective = BP_MINIMIZE_SIZE, .limit = limit}};
    bool fits = true;
    if (limit == HUGE_VAL) {
        return true;
    }
    if (bp__tree_too_large(net) || !bp__tree_new(&t, pairs)) {
        return unknown;
    }
    for (int32_t i = net->terms; i < t.nodes - 1; i++) {
        fits = fits && t.size[i] <= limit;
    }
    bp__free(t.memory);
    return fits;
}
