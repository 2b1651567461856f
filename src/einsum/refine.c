/* refine.c - improves an order: reorders small parts of the tree exactly, as long as that helps.
 *
 * A part with a result above the memory limit is reordered to meet the limit at the least possible cost, or at least to
 * come closer to it. */
#include "einsum/tree.h"

#define MOST_LEAVES 12
#define WORK_PER_PART 1000 /* work units to extract a part, in addition to the search */

/* Finds the cheapest order of the part within the limit. A part above the limit may become more expensive. If no order
 * is within the limit, finds one with a smaller largest result. */
static bp__outcome order_part(bp__tree *t, const bp__part_tree *p, const bp__network *net, bp__pair *pairs) {
    const double less = 1 - 1e-6;
    double cost;
    if (p->largest <= t->goal->limit) {
        bp__outcome outcome = bp__exact(net, t->goal, true, p->cost * less, t->budget, pairs, &cost);
        return outcome == BP__FOUND && !(cost < p->cost) ? BP__NONE : outcome;
    }
    bp__outcome outcome = bp__exact(net, t->goal, true, HUGE_VAL, t->budget, pairs, &cost);
    if (outcome == BP__NONE) {
        bp__goal smaller = {.objective = BP_MINIMIZE_WRITE, .limit = p->largest * less};
        outcome = bp__exact(net, &smaller, true, HUGE_VAL, t->budget, pairs, &cost);
    }
    return outcome;
}

/* Returns whether the part was improved. */
static bool improve_part(bp__tree *t, int32_t root, int most) {
    bp__pair pairs[MOST_LEAVES];
    bp__part_tree p;
    bp__network net;
    bp__tree_part(t, root, most, NULL, &p);
    if (p.leaves < 3 || !bp__spend(t->budget, WORK_PER_PART) || !bp__tree_part_network(t, &p, &net)) {
        return false;
    }
    bp__outcome outcome = order_part(t, &p, &net, pairs);
    bp__network_free(&net);
    if (outcome == BP__FOUND) {
        bp__tree_rebuild(t, &p, pairs);
    }
    return outcome == BP__FOUND;
}

static bool sweep(bp__tree *t, int leaves) {
    int32_t count = bp__tree_order(t);
    bool better = false;
    for (int32_t i = 0; i < count && bp__lasts(t->budget); i++) {
        better |= improve_part(t, t->order[i], leaves);
    }
    return better;
}

bp__outcome bp__refine(const bp__network *net, const bp__goal *goal, int leaves, int sweeps, bp__budget *budget,
                       bp__pair *pairs) {
    bp__tree t = {.net = net, .goal = goal, .budget = budget};
    if (net->terms < 3 || bp__tree_too_large(net)) {
        return BP__NONE;
    }
    if (!bp__tree_new(&t, pairs)) {
        return BP__NO_MEMORY;
    }
    bool any = false;
    for (int i = 0; i < sweeps && sweep(&t, leaves < MOST_LEAVES ? leaves : MOST_LEAVES); i++) {
        any = true;
    }
    if (any) {
        bp__tree_pairs(&t, pairs);
    }
    bp__free(t.memory);
    return budget->end == BP__CANCELLED ? BP__CANCELLED : any ? BP__FOUND : BP__NONE;
}
