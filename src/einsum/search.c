/* search.c - implements the strategies: which searches run on which parts of the network, with how much work. */
#include "einsum/tree.h"

#include <stdlib.h>
#include <string.h>

#define LEAVES 8 /* operands of the parts that are reordered */
#define SWEEPS 8
#define ROUND 16         /* trials before the parts of an order are reordered */
#define REPAIR_LEAVES 10 /* operands of the parts that are brought within a memory limit */
#define REPAIR_SWEEPS 16
#define RESCUES 4 /* rounds with small results, if greedy finds nothing within a memory limit */
/* Work units. */
#define WORK_USUAL 500000000 /* for a strategy without an end of its own, and for auto-hq: some seconds */
#define WORK_AUTO 1000000    /* for an exact search within the automatic strategies: about a millisecond */
#define WORK_RESCUE 100000000
#define WORK_REFINE 200000000
#define TRIED_DP 512   /* operands; automatic strategies try exact search up to this number */
#define TRIED_LONG 100 /* operands; auto-hq tries exact search with much work up to this number */
#define MOST_EXACT_WORDS ((size_t)1 << 22)
#define MOST_BRANCH 2000
#define ALL_ORDERS 6 /* operands; automatic strategies include outer products up to this number */

typedef struct seeker {
    const bp__network *net;
    const bp_einsum_search *search;
    bp__goal goal;
    bp__budget budget;
    bp__found *found;
} seeker;

static bool ended_early(bp__outcome outcome) {
    return outcome == BP__CANCELLED || outcome == BP__NO_MEMORY;
}

/* ---- Orders from greedy ---- */

/* Returns how many greedy trials match the price of the strategy. */
static int64_t trials_for(const seeker *s, const bp__network *net, int64_t most) {
    if (s->search->trials > 0) {
        return s->search->trials;
    }
    int64_t afforded = most * 1500 / (net->terms + 1);
    return afforded < 1 ? 1 : afforded < most ? afforded : most;
}

/* Returns the second goal after size: least operations among orders whose largest result is not larger. */
static bp__goal second_of(const bp__goal *goal, double largest) {
    if (goal->objective != BP_MINIMIZE_SIZE) {
        return *goal;
    }
    return (bp__goal){.objective = BP_MINIMIZE_FLOPS, .limit = fmin(goal->limit, largest * (1 + 1e-9))};
}

/* Reorders small parts of an order exactly. If the order exceeds the goal's limit, tries to meet it. */
static bp__outcome refine(seeker *s, const bp__network *net, const bp__goal *goal, int leaves, int sweeps,
                          bp__pair *pairs) {
    bp__budget share = bp__budget_share(&s->budget, WORK_REFINE);
    bp__outcome outcome = bp__refine(net, goal, leaves, sweeps, &share, pairs);
    bp__budget_charge(&s->budget, &share);
    return ended_early(outcome) ? outcome : BP__FOUND;
}

/* Runs some trials and refines the best one. */
static bp__outcome refined_trials(seeker *s, const bp__network *net, const bp__goal *goal, int64_t first,
                                  int64_t trials, bp__pair *pairs) {
    double cost_log;
    bp__outcome outcome = bp__random_greedy(net, goal, first, trials, s->search->seed, &s->budget, pairs, &cost_log);
    if (outcome != BP__FOUND || net->terms < 4) {
        return outcome;
    }
    bp__goal refined = second_of(goal, exp2(cost_log));
    return refine(s, net, &refined, LEAVES, SWEEPS, pairs);
}

/* Returns BP__FOUND if the order is within the goal's limit, after reordering parts if necessary. Returns BP__NONE
 * otherwise. */
static bp__outcome repair(seeker *s, const bp__network *net, const bp__goal *goal, bp__pair *pairs) {
    bp__goal within = second_of(goal, goal->limit);
    bp__outcome outcome = refine(s, net, &within, REPAIR_LEAVES, REPAIR_SWEEPS, pairs);
    if (outcome != BP__FOUND) {
        return outcome;
    }
    return bp__tree_fits(net, goal->limit, pairs, false) ? BP__FOUND : BP__NONE;
}

/* Compares two orders within the limit. Copies `tried` to `pairs` if it is cheaper, or the only one. */
static bp__outcome keep_better(const bp__network *net, const bp__goal *goal, bp__outcome known, bp__pair *pairs,
                               bp__outcome outcome, const bp__pair *tried) {
    double cost, least = HUGE_VAL;
    if (outcome != BP__FOUND) {
        return ended_early(outcome) ? outcome : known;
    }
    if (known == BP__FOUND && (bp__tree_cost(net, goal, pairs, &least) != BP__FOUND ||
                               bp__tree_cost(net, goal, tried, &cost) != BP__FOUND || cost >= least)) {
        return known;
    }
    memcpy(pairs, tried, (size_t)(net->terms - 1) * sizeof *pairs);
    return BP__FOUND;
}

/* Runs trials within the limit, and the same trials without it, which are then repaired. Trials that skip large results
 * may end far from an order that a few changes would bring within the limit. */
static bp__outcome round_of(seeker *s, const bp__network *net, const bp__goal *goal, int64_t first, int64_t trials,
                            bp__pair *pairs) {
    bp__outcome best = refined_trials(s, net, goal, first, trials, pairs);
    if (goal->limit == HUGE_VAL || ended_early(best)) {
        return best;
    }
    bp__goal free = *goal;
    free.limit = HUGE_VAL;
    bp__pair *tried = bp__alloc((size_t)(net->terms - 1) * sizeof *tried);
    bp__outcome outcome = tried ? refined_trials(s, net, &free, first, trials, tried) : BP__NO_MEMORY;
    outcome = outcome == BP__FOUND ? repair(s, net, goal, tried) : outcome;
    best = keep_better(net, goal, best, pairs, outcome, tried);
    bp__free(tried);
    return best;
}

/* Runs greedy with many parameters, in rounds. An order that is worse at first may be better after its parts are
 * reordered. */
static bp__outcome heuristic(seeker *s, const bp__network *net, const bp__goal *goal, int64_t trials, bp__pair *pairs) {
    int64_t each = trials > ROUND ? ROUND : trials;
    bp__outcome best = round_of(s, net, goal, 0, each, pairs);
    if (ended_early(best) || trials <= each || bp__tree_too_large(net)) {
        return best;
    }
    bp__pair *tried = bp__alloc((size_t)(net->terms - 1) * sizeof *pairs);
    if (!tried) {
        return BP__NO_MEMORY;
    }
    for (int64_t first = each; first < trials && bp__lasts(&s->budget) && !ended_early(best); first += each) {
        int64_t left = trials - first;
        bp__outcome outcome = round_of(s, net, goal, first, left < each ? left : each, tried);
        best = keep_better(net, goal, best, pairs, outcome, tried);
    }
    bp__free(tried);
    return best;
}

/* ---- Exact orders ---- */

static bool too_large(const bp__network *net) {
    size_t words = ((size_t)net->terms + 63) / 64 + ((size_t)net->labels + 63) / 64;
    return (size_t)net->terms * words > MOST_EXACT_WORDS || (size_t)net->labels * words > 8 * MOST_EXACT_WORDS;
}

/* Finds the best order for a goal. If `known`, `pairs` has a good order as the starting point. */
static bp__outcome best_of(const bp__network *net, const bp__goal *goal, bool outer, bool known, bp__budget *budget,
                           bp__pair *pairs) {
    double bound = HUGE_VAL, cost;
    bp__outcome outcome = known ? bp__tree_cost(net, goal, pairs, &bound) : BP__FOUND;
    outcome = outcome == BP__FOUND ? bp__exact(net, goal, outer, bound, budget, pairs, &cost) : outcome;
    /* BP__NONE with a known order means that no order is cheaper, so the known one is the best. */
    return outcome == BP__NONE && known ? BP__FOUND : outcome;
}

/* Finds an order to start from. */
static bp__outcome first_order(seeker *s, const bp__network *net, bp__pair *pairs) {
    int64_t trials = net->terms < 7 ? 1 : net->terms < 9 ? 2 : 4;
    double cost_log;
    if (net->terms >= 14) {
        return round_of(s, net, &s->goal, 0, ROUND, pairs);
    }
    return bp__random_greedy(net, &s->goal, 0, trials, s->search->seed, &s->budget, pairs, &cost_log);
}

/* Finds an order that is proven to be the best. If it gives up, pairs may still have a good order: *good. */
static bp__outcome exact(seeker *s, const bp__network *net, bool outer, bp__budget *budget, bp__pair *pairs,
                         bool *good) {
    bp__outcome outcome = first_order(s, net, pairs);
    *good = outcome == BP__FOUND;
    if (ended_early(outcome) || too_large(net)) {
        return ended_early(outcome) ? outcome : BP__GAVE_UP;
    }
    outcome = best_of(net, &s->goal, outer, *good, budget, pairs);
    if (outcome == BP__FOUND && s->goal.objective == BP_MINIMIZE_SIZE) {
        double largest;
        outcome = bp__tree_cost(net, &s->goal, pairs, &largest);
        bp__goal second = second_of(&s->goal, largest);
        outcome = outcome == BP__FOUND ? best_of(net, &second, outer, true, budget, pairs) : outcome;
    }
    return outcome;
}

/* Tries the exact search with a share of the remaining work, for the automatic strategies. */
static bp__outcome exact_try(seeker *s, const bp__network *net, uint64_t work, bp__pair *pairs) {
    bool good;
    bp__budget share = bp__budget_share(&s->budget, work);
    bp__outcome outcome = exact(s, net, net->terms <= ALL_ORDERS, &share, pairs, &good);
    bp__budget_charge(&s->budget, &share);
    return outcome;
}

/* ---- Connected parts ---- */

/* Reorders large parts of an order within the goal's limit, then small ones. */
static bp__outcome explore(seeker *s, const bp__network *net, const bp__goal *goal, bp__pair *pairs) {
    bp__budget share = bp__budget_share(&s->budget, s->budget.work - s->budget.work / 10);
    bp__outcome outcome = bp__explore(net, goal, s->search->seed, &share, pairs);
    bp__budget_charge(&s->budget, &share);
    return ended_early(outcome) ? outcome : refine(s, net, goal, REPAIR_LEAVES, SWEEPS, pairs);
}

/* Runs some trials, then reorders large parts of the best one with the remaining work. */
static bp__outcome high_quality(seeker *s, const bp__network *net, bp__pair *pairs) {
    const bp__budget whole = s->budget;
    double largest = 0;
    s->budget = bp__budget_share(&whole, whole.work / 5);
    bp__outcome outcome = heuristic(s, net, &s->goal, trials_for(s, net, 64), pairs);
    const bp__budget share = s->budget;
    s->budget = whole;
    bp__budget_charge(&s->budget, &share);
    if (outcome != BP__FOUND || bp__tree_too_large(net)) {
        return outcome;
    }
    outcome = bp__tree_cost(net, &s->goal, pairs, &largest);
    bp__goal goal = second_of(&s->goal, largest);
    return outcome == BP__FOUND ? explore(s, net, &goal, pairs) : outcome;
}

/* Runs the automatic strategies on one part: exact search if it is affordable. */
static bp__outcome automatic(seeker *s, const bp__network *net, bp__pair *pairs, bool *proven) {
    bool hq = s->search->strategy == BP_PATH_AUTO_HQ;
    if (net->terms <= TRIED_DP) {
        bp__outcome outcome = exact_try(s, net, hq && net->terms <= TRIED_LONG ? s->budget.work / 5 : WORK_AUTO, pairs);
        if (outcome != BP__GAVE_UP) {
            return outcome;
        }
    }
    *proven = false;
    return hq ? high_quality(s, net, pairs) : heuristic(s, net, &s->goal, trials_for(s, net, 32), pairs);
}

static bp__outcome search_part(seeker *s, const bp__network *net, bp__pair *pairs, bool *proven) {
    bool good;
    return s->search->strategy == BP_PATH_DP ? exact(s, net, false, &s->budget, pairs, &good)
                                             : automatic(s, net, pairs, proven);
}

/* A connected part of the network, with its result. */
typedef struct piece {
    double size; /* elements of the part's result */
    int32_t id;
} piece;

typedef struct parts {
    int count;
    int32_t *of;     /* part of each term */
    int32_t *start;  /* count + 1 entries, indices into list */
    int32_t *list;   /* terms, part by part */
    int32_t *number; /* scratch for labels, -1 everywhere */
    piece *pieces;
    bp__pair *pairs; /* order of one part */
    void *memory;
} parts;

static bool parts_new(parts *p, const bp__network *net) {
    size_t terms = (size_t)net->terms, labels = (size_t)net->labels;
    char *at =
        bp__alloc(2 * terms * sizeof(piece) + terms * sizeof(bp__pair) + (3 * terms + 1 + labels) * sizeof(int32_t));
    if (!at) {
        return false;
    }
    p->memory = at;
    p->pieces = (piece *)at;
    p->pairs = (bp__pair *)(p->pieces + 2 * terms);
    p->of = (int32_t *)(p->pairs + terms);
    p->start = p->of + terms;
    p->list = p->start + terms + 1;
    p->number = p->list + terms;
    p->count = bp__network_parts(net, p->of);
    return p->count >= 0;
}

static void list_parts(parts *p, const bp__network *net) {
    memset(p->start, 0, ((size_t)p->count + 1) * sizeof *p->start);
    for (int t = 0; t < net->terms; t++) {
        p->start[p->of[t] + 1]++;
    }
    for (int i = 0; i < p->count; i++) {
        p->start[i + 1] += p->start[i];
        p->pieces[i] = (piece){1, p->start[i]}; /* the id temporarily holds the index to fill */
    }
    for (int t = 0; t < net->terms; t++) {
        p->list[p->pieces[p->of[t]].id++] = t;
    }
}

/* Computes the size of each part's result. Its labels are labels of the output: labels with more uses than terms. */
static void size_parts(parts *p, const bp__network *net) {
    int32_t *left = p->number;
    memcpy(left, net->uses, (size_t)net->labels * sizeof *left);
    for (int e = 0; e < net->start[net->terms]; e++) {
        left[net->label[e]]--;
    }
    for (int t = 0; t < net->terms; t++) {
        for (int e = net->start[t]; e < net->start[t + 1]; e++) {
            int32_t label = net->label[e];
            p->pieces[p->of[t]].size *= left[label] > 0 ? net->size[label] : 1;
            left[label] = 0;
        }
    }
    memset(p->number, 0xff, (size_t)net->labels * sizeof *p->number);
}

/* Solves one part. Adds its pairs to the pairs of the whole network, converted to its identities. */
static bp__outcome solve_part(seeker *s, parts *p, int part, int32_t *made, bool *proven) {
    int32_t count = p->start[part + 1] - p->start[part], terms = s->net->terms;
    const int32_t *list = p->list + p->start[part];
    bp__outcome outcome = BP__FOUND;
    if (count == 2) {
        p->pairs[0] = (bp__pair){0, 1};
    } else if (count > 2) {
        bp__network net;
        if (bp__network_part(&net, s->net, list, count, p->number) != BP_OK) {
            return BP__NO_MEMORY;
        }
        outcome = search_part(s, &net, p->pairs, proven);
        bp__network_free(&net);
    }
    int32_t first = terms + *made;
    for (int32_t i = 0; outcome == BP__FOUND && i < count - 1; i++) {
        bp__pair pair = p->pairs[i];
        s->found->pairs[(*made)++] = (bp__pair){pair.a < count ? list[pair.a] : first + pair.a - count,
                                                pair.b < count ? list[pair.b] : first + pair.b - count};
    }
    p->pieces[part].id = count == 1 ? list[0] : terms + *made - 1;
    return outcome;
}

static int order_pieces(const void *x, const void *y) {
    const piece *a = x, *b = y;
    return a->size != b->size ? (a->size > b->size) - (a->size < b->size) : (a->id > b->id) - (a->id < b->id);
}

/* Joins the parts' results, always the smallest two. Every result is at least as large as those before it, so that
 * results form a sorted queue after the sorted parts. */
static void join_pieces(parts *p, int32_t terms, int32_t *made, bp__pair *pairs) {
    qsort(p->pieces, (size_t)p->count, sizeof *p->pieces, order_pieces);
    piece *results = p->pieces + p->count;
    int next = 0, next_result = 0, count = 0;
    for (; count < p->count - 1; count++) {
        piece taken[2];
        for (int k = 0; k < 2; k++) {
            bool from_results =
                next == p->count || (next_result < count && results[next_result].size < p->pieces[next].size);
            taken[k] = from_results ? results[next_result++] : p->pieces[next++];
        }
        pairs[*made] = (bp__pair){taken[0].id, taken[1].id};
        results[count] = (piece){taken[0].size * taken[1].size, terms + (*made)++};
    }
}

static bp__outcome by_parts(seeker *s, bool *proven) {
    parts p = {.count = 0};
    int32_t made = 0;
    if (!parts_new(&p, s->net)) {
        bp__free(p.memory);
        return BP__NO_MEMORY;
    }
    bp__outcome outcome = BP__FOUND;
    if (p.count == 1) {
        outcome = search_part(s, s->net, s->found->pairs, proven);
    } else {
        *proven &= s->search->strategy == BP_PATH_DP; /* outer products might give a better order */
        list_parts(&p, s->net);
        size_parts(&p, s->net);
        for (int i = 0; i < p.count && outcome == BP__FOUND; i++) {
            outcome = solve_part(s, &p, i, &made, proven);
        }
        if (outcome == BP__FOUND) {
            join_pieces(&p, s->net->terms, &made, s->found->pairs);
        }
    }
    bp__free(p.memory);
    return outcome;
}

/* ---- Strategies ---- */

static void left_to_right(const bp__network *net, bp__pair *pairs) {
    for (int i = 0; i < net->terms - 1; i++) {
        pairs[i] = (bp__pair){i == 0 ? 0 : net->terms + i - 1, i + 1};
    }
}

/* Runs the branch search. If the work ends, uses the best order so far, or greedy's if there is none. */
static bp__outcome branching(seeker *s, int width) {
    double cost;
    bp__outcome outcome = BP__GAVE_UP;
    if (s->net->terms <= MOST_BRANCH) {
        outcome = bp__branch(s->net, &s->goal, width, &s->budget, s->found->pairs, &cost);
    }
    if (outcome == BP__GAVE_UP) {
        s->found->strategy = bp_path_strategy_name(BP_PATH_GREEDY);
        outcome = bp__random_greedy(s->net, &s->goal, 0, 1, 0, &s->budget, s->found->pairs, &cost);
    }
    return outcome;
}

static bp__outcome run_strategy(seeker *s, bool *proven) {
    double cost_log;
    bool good;
    *proven = false;
    switch (s->search->strategy) {
    case BP_PATH_OPTIMAL:
        *proven = true;
        return exact(s, s->net, true, &s->budget, s->found->pairs, &good);
    case BP_PATH_DP:
    case BP_PATH_AUTO:
    case BP_PATH_AUTO_HQ:
        *proven = true;
        return by_parts(s, proven);
    case BP_PATH_BRANCH_ALL:
        return branching(s, 0);
    case BP_PATH_BRANCH_2:
        return branching(s, 2);
    case BP_PATH_BRANCH_1:
        return branching(s, 1);
    case BP_PATH_GREEDY:
        return bp__random_greedy(s->net, &s->goal, 0, 1, 0, &s->budget, s->found->pairs, &cost_log);
    case BP_PATH_RANDOM_GREEDY:
        return heuristic(s, s->net, &s->goal, s->search->trials > 0 ? s->search->trials : 32, s->found->pairs);
    case BP_PATH_LEFT_TO_RIGHT:
    case BP_PATH_SETTINGS:
    case BP_PATH_GIVEN: /* no search runs for this one */
        break;
    }
    left_to_right(s->net, s->found->pairs);
    return BP__FOUND;
}

/* ---- Memory limits ---- */

/* Searches if the strategy found nothing within the memory limit: first many trials, then orders with small results
 * that are repaired, then all orders as long as there is work left. */
static bp__outcome rescue(seeker *s, bool *proven) {
    double cost_log;
    bp__pair *pairs = s->found->pairs;
    bp__goal small = {.objective = BP_MINIMIZE_SIZE, .limit = HUGE_VAL};
    bp__outcome outcome = bp__random_greedy(s->net, &s->goal, 0, 256, s->search->seed, &s->budget, pairs, &cost_log);
    for (int i = 0; i < RESCUES && outcome == BP__NONE; i++) {
        outcome = bp__random_greedy(s->net, &small, i * ROUND, ROUND, s->search->seed, &s->budget, pairs, &cost_log);
        outcome = outcome == BP__FOUND ? repair(s, s->net, &s->goal, pairs) : outcome;
    }
    if (outcome == BP__NONE && !too_large(s->net)) {
        bp__budget share = bp__budget_share(&s->budget, WORK_RESCUE);
        outcome = best_of(s->net, &s->goal, true, false, &share, pairs);
        bp__budget_charge(&s->budget, &share);
        *proven = outcome == BP__NONE;
    }
    return outcome == BP__GAVE_UP ? BP__NONE : outcome;
}

/* Runs the strategy within the limit. Also repairs its order without the limit (`known`, or none). */
static bp__outcome within_limit(seeker *s, bp__outcome known, bool *proven) {
    size_t size = (size_t)s->net->terms * sizeof *s->found->pairs;
    bp__pair *repaired = bp__alloc(size);
    if (!repaired) {
        return BP__NO_MEMORY;
    }
    memcpy(repaired, s->found->pairs, size);
    bp__outcome outcome = run_strategy(s, proven);
    if (outcome == BP__FOUND && !bp__tree_fits(s->net, s->goal.limit, s->found->pairs, true)) {
        outcome = BP__NONE; /* joining the separate parts exceeded the limit */
    }
    if ((outcome == BP__FOUND && !*proven) || outcome == BP__NONE) {
        known = known == BP__FOUND ? repair(s, s->net, &s->goal, repaired) : known;
        outcome = keep_better(s->net, &s->goal, outcome, s->found->pairs, known, repaired);
        *proven = false;
    }
    bp__free(repaired);
    return outcome;
}

/* Searches without the limit first. If that order is within the limit, it is the result. A limit therefore costs
 * nothing if it is met anyway. */
static bp__outcome search_within_limit(seeker *s, bool *proven) {
    const double limit = s->goal.limit;
    const bp__budget whole = s->budget;
    if (limit == HUGE_VAL || s->search->strategy == BP_PATH_LEFT_TO_RIGHT) {
        return run_strategy(s, proven);
    }
    s->goal.limit = HUGE_VAL;
    bp__outcome outcome = run_strategy(s, proven);
    s->goal.limit = limit;
    if (ended_early(outcome) || (outcome == BP__FOUND && bp__tree_fits(s->net, limit, s->found->pairs, false))) {
        return outcome;
    }
    s->budget = whole;
    outcome = within_limit(s, outcome, proven);
    if (outcome == BP__NONE) {
        *proven = false;
        s->budget = whole;
        outcome = rescue(s, proven);
        *proven = outcome == BP__NONE && *proven;
    }
    return outcome;
}

static bp_status report_outcome(const seeker *s, bp__outcome outcome, bool proven) {
    const char *name = bp_path_strategy_name(s->search->strategy);
    switch (outcome) {
    case BP__GAVE_UP:
        return bp__fail(BP_E_TIMEOUT,
                        "einsum: strategy %s does not finish for %d operands within its %s; "
                        "auto, auto-hq and random-greedy always do",
                        name, s->net->terms, s->search->seconds > 0 ? "work and time" : "work");
    case BP__NONE:
        return bp__fail(BP_E_CONSTRAINT, "einsum: %s order keeps every intermediate result within %.0f elements",
                        proven ? "no" : "strategy found no", s->goal.limit);
    case BP__CANCELLED:
        return bp__fail_cancelled("einsum: the search for a path");
    case BP__FOUND:
    case BP__NO_MEMORY:
        break;
    }
    return bp__fail(BP_E_NO_MEMORY, "einsum: not enough memory for strategy %s with %d operands", name, s->net->terms);
}

/* Returns the goal for sums of single operands. */
static bp__goal goal_of_sums(const seeker *s) {
    double largest;
    bool second = s->goal.objective == BP_MINIMIZE_SIZE && s->net->terms > 1 &&
                  bp__tree_cost(s->net, &s->goal, s->found->pairs, &largest) == BP__FOUND;
    return second ? second_of(&s->goal, largest) : s->goal;
}

/* Returns the budget: what the strategy needs if it has an end, the usual work otherwise. A time limit of the caller
 * replaces the usual work. */
static bp__budget budget_of(const bp_einsum_search *search) {
    bp__budget budget = {.work = UINT64_MAX};
    bool bounded = search->strategy >= BP_PATH_AUTO_HQ && search->strategy <= BP_PATH_BRANCH_1;
    if (search->seconds > 0) {
        budget.deadline = bp__now_ns() + (int64_t)(search->seconds * 1e9);
    }
    if (bounded && search->work > 0) {
        budget.work = (uint64_t)search->work;
    } else if (search->strategy == BP_PATH_AUTO_HQ || (bounded && search->seconds == 0)) {
        budget.work = WORK_USUAL;
    }
    return budget;
}

bp_status bp__search(bp__found *found, const bp__network *net, const bp_einsum_search *search, const bp__goal *goal) {
    seeker s = {.net = net, .search = search, .goal = *goal, .budget = budget_of(search), .found = found};
    size_t size = (size_t)net->terms * sizeof *found->pairs;
    *found = (bp__found){.pairs = bp__alloc(size), .strategy = bp_path_strategy_name(search->strategy), .exact = true};
    if (!found->pairs) {
        return bp__fail_memory(size, "a contraction path");
    }
    bp__outcome outcome = BP__FOUND;
    if (net->terms < 3) {
        left_to_right(net, found->pairs);
    } else {
        outcome = search_within_limit(&s, &found->exact);
    }
    if (outcome != BP__FOUND) {
        bool proven = found->exact;
        found->exact = false;
        return report_outcome(&s, outcome, proven);
    }
    found->goal = goal_of_sums(&s);
    return BP_OK;
}
