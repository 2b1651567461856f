/* refine.c - makes a good order better: parts of the tree with a few operands are ordered anew, exactly, while that
 * helps. A part with a result that is larger than the memory limit is ordered so that it keeps the limit, at the least
 * cost that allows, or comes closer to it. */
#include "einsum/tree.h"

#define MOST_LEAVES 12
#define WORK_PER_PART 1000 /* to cut it out, beside the search */

/* The order of the part at the least cost within the limit; where it is to come within it first, at any cost, or else
 * with a smaller largest result. */
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

/* True when it got better. */
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
