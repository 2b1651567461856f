/* explore.c - improves an order with all remaining work.
 *
 * It selects large parts of the tree at random and reorders each with several randomized runs of greedy. Small parts of
 * the best run are then reordered exactly. If the new part is cheaper, it replaces the old one. A part costs a fraction
 * of a whole order, and every improvement is kept, so that the work is used better than for more whole orders. */
#include "einsum/tree.h"

#define LEAST_LEAVES 8
#define TRIALS 6           /* greedy runs per part */
#define REFINED_LEAVES 6   /* operands of the small parts within a part */
#define WORK_PER_PART 4000 /* work units to extract a part, in addition to the search */

static void find_parents(bp__tree *t) {
    t->parent[t->nodes - 1] = -1;
    for (int32_t i = t->net->terms; i < t->nodes; i++) {
        t->parent[t->child[i].a] = t->parent[t->child[i].b] = i;
    }
}

static void adopt(bp__tree *t, const bp__part_tree *p) {
    for (int i = 0; i < p->insides; i++) {
        bp__pair c = t->child[p->inside[i]];
        t->parent[c.a] = t->parent[c.b] = p->inside[i];
    }
}

/* Selects a root: the costliest of some results, or an ancestor of it. A costly step becomes cheaper if the steps
 * before and after it change. */
static int32_t choose_root(const bp__tree *t, uint64_t *random) {
    uint64_t results = (uint64_t)(t->nodes - t->net->terms);
    int32_t root = -1;
    int looks = 1 << bp__next_random(random) % 8;
    for (int i = 0; i < looks; i++) {
        int32_t other = t->net->terms + (int32_t)(bp__next_random(random) % results);
        root = root < 0 || t->cost[other] > t->cost[root] ? other : root;
    }
    for (int up = (int)(bp__next_random(random) % 6); up > 0 && t->parent[root] >= 0; up--) {
        root = t->parent[root];
    }
    return root;
}

/* Finds a cheaper order of the part, in *pairs. Returns BP__NONE if there is none. */
static bp__outcome order_part(const bp__network *net, const bp__goal *goal, double bound, uint64_t *random,
                              bp__budget *budget, bp__pair *pairs) {
    double cost_log, cost;
    int64_t first = (int64_t)(bp__next_random(random) >> 2) | 1024; /* the number of a trial with noise */
    bp__outcome outcome = bp__random_greedy(net, goal, first, TRIALS, *random, budget, pairs, &cost_log);
    if (outcome != BP__FOUND) {
        return outcome;
    }
    outcome = bp__refine(net, goal, REFINED_LEAVES, 2, budget, pairs);
    if (outcome == BP__CANCELLED || outcome == BP__NO_MEMORY) {
        return outcome;
    }
    outcome = bp__tree_cost(net, goal, pairs, &cost);
    return outcome == BP__FOUND && !(cost < bound) ? BP__NONE : outcome;
}

/* Reorders one part if a cheaper order is found. */
static bp__outcome try_part(bp__tree *t, uint64_t *random) {
    bp__pair pairs[BP__PART_LEAVES];
    bp__part_tree p;
    bp__network net;
    int leaves = LEAST_LEAVES + (int)(bp__next_random(random) % (BP__PART_LEAVES - LEAST_LEAVES + 1));
    bp__tree_part(t, choose_root(t, random), leaves, random, &p);
    if (!bp__spend(t->budget, WORK_PER_PART)) {
        return t->budget->end;
    }
    if (p.leaves < LEAST_LEAVES || !bp__tree_part_network(t, &p, &net)) {
        return BP__NONE;
    }
    bp__outcome outcome = order_part(&net, t->goal, p.cost * (1 - 1e-9), random, t->budget, pairs);
    bp__network_free(&net);
    if (outcome == BP__FOUND) {
        bp__tree_rebuild(t, &p, pairs);
        adopt(t, &p);
    }
    return outcome;
}

bp__outcome bp__explore(const bp__network *net, const bp__goal *goal, uint64_t seed, bp__budget *budget,
                        bp__pair *pairs) {
    bp__tree t = {.net = net, .goal = goal, .budget = budget};
    uint64_t random = seed;
    bp__outcome outcome = BP__FOUND;
    if (net->terms < LEAST_LEAVES || bp__tree_too_large(net)) {
        return BP__NONE;
    }
    if (!bp__tree_new(&t, pairs)) {
        return BP__NO_MEMORY;
    }
    find_parents(&t);
    while (bp__lasts(budget) && outcome != BP__NO_MEMORY) {
        outcome = try_part(&t, &random);
    }
    bp__tree_pairs(&t, pairs);
    bp__free(t.memory);
    return budget->end == BP__CANCELLED ? BP__CANCELLED : outcome == BP__NO_MEMORY ? outcome : BP__FOUND;
}
