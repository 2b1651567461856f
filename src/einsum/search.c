/* search.c - what each strategy does: which searches it asks, on which parts of the network, with how much work. */
#include "einsum/internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAVES 8 /* of parts that are ordered anew */
#define SWEEPS 8
#define ROUND 16             /* trials before an order is made anew */
#define WORK_AUTO 400000     /* pairs of sets looked at: about a millisecond */
#define WORK_HQ 100000000    /* a quarter of a second and more */
#define WORK_RESCUE 20000000 /* where a memory limit leaves greedy nothing */
#define WORK_REFINE 20000000
#define TRIED_DP 512 /* operands up to which automatic strategies try exact search at all */
#define MOST_EXACT_WORDS ((size_t)1 << 22)
#define MOST_BRANCH 2000
#define ALL_ORDERS 6 /* operands up to which automatic strategies look at outer products too */

typedef struct seeker {
    const bp__net *net;
    const bp_einsum_search *search;
    bp__goal goal;
    bp__budget budget;
    bp__found *found;
} seeker;

/* ---- Pieces ---- */

/* How often greedy may run for the price that a strategy should have. */
static int64_t trials_for(const seeker *s, const bp__net *net, int64_t most) {
    if (s->search->trials > 0) {
        return s->search->trials;
    }
    int64_t afforded = most * 1500 / (net->terms + 1);
    return afforded < 1 ? 1 : afforded < most ? afforded : most;
}

/* Some trials, the best of which has parts of its order made anew. Where the goal is size, the operations come second.
 */
static bp__outcome round_of(seeker *s, const bp__net *net, const bp__goal *goal, int64_t first, int64_t trials,
                            bp__pair *pairs) {
    double cost_log;
    bp__outcome outcome = bp__trials(net, goal, first, trials, s->search->seed, &s->budget, pairs, &cost_log);
    if (outcome != BP__FOUND || net->terms < 4) {
        return outcome;
    }
    bp__goal refined = *goal;
    if (goal->objective == BP_MINIMIZE_SIZE) {
        refined.objective = BP_MINIMIZE_FLOPS;
        refined.limit = fmin(goal->limit, exp2(cost_log) * (1 + 1e-9));
    }
    bp__budget budget = {WORK_REFINE, s->budget.deadline};
    return bp__refine(net, &refined, LEAVES, SWEEPS, &budget, pairs) == BP__NO_MEMORY ? BP__NO_MEMORY : BP__FOUND;
}

/* Greedy in many ways, in rounds: orders that begin worse may end better once parts of them are made anew. */
static bp__outcome heuristic(seeker *s, const bp__net *net, const bp__goal *goal, int64_t trials, bp__pair *pairs) {
    size_t size = (size_t)(net->terms - 1) * sizeof *pairs;
    int64_t each = trials > ROUND ? ROUND : trials;
    bp__outcome best = round_of(s, net, goal, 0, each, pairs);
    bp__pair *tried = best == BP__NO_MEMORY || trials <= each ? NULL : bp__alloc(size);
    double least = HUGE_VAL, cost;
    if (best == BP__NO_MEMORY || trials <= each) {
        return best;
    }
    if (!tried || (best == BP__FOUND && bp__tree_cost(net, goal, pairs, &least) != BP__FOUND)) {
        bp__free(tried);
        return best; /* too large for more than one */
    }
    for (int64_t first = each; first < trials && !bp__late(&s->budget); first += each) {
        int64_t left = trials - first;
        bp__outcome outcome = round_of(s, net, goal, first, left < each ? left : each, tried);
        outcome = outcome == BP__FOUND ? bp__tree_cost(net, goal, tried, &cost) : outcome;
        if (outcome == BP__FOUND && (best != BP__FOUND || cost < least)) {
            memcpy(pairs, tried, size);
            least = cost;
            best = BP__FOUND;
        }
    }
    bp__free(tried);
    return best;
}

static bool too_large(const bp__net *net) {
    size_t words = ((size_t)net->terms + 63) / 64 + ((size_t)net->labels + 63) / 64;
    return (size_t)net->terms * words > MOST_EXACT_WORDS || (size_t)net->labels * words > 8 * MOST_EXACT_WORDS;
}

/* The best order for a goal, `pairs` being a good one to start from (`known`), or nothing. */
static bp__outcome best_of(const bp__net *net, const bp__goal *goal, bool outer, bool known, bp__budget *budget,
                           bp__pair *pairs) {
    double bound = HUGE_VAL, cost;
    bp__outcome outcome = known ? bp__tree_cost(net, goal, pairs, &bound) : BP__FOUND;
    outcome = outcome == BP__FOUND ? bp__exact(net, goal, outer, bound, budget, pairs, &cost) : outcome;
    /* Nothing as cheap as the bound: the order that gave it is better than all that were looked at. */
    return outcome == BP__NONE && known ? BP__FOUND : outcome;
}

/* An order that is proven to be the best. When it gives up, pairs may hold a good one all the same: *good. */
static bp__outcome exact(seeker *s, const bp__net *net, bool outer, bp__budget *budget, bp__pair *pairs, bool *good) {
    double cost_log;
    int64_t trials = net->terms < 7 ? 1 : net->terms < 9 ? 2 : 4;
    bp__outcome outcome = net->terms < 14
                              ? bp__trials(net, &s->goal, 0, trials, s->search->seed, &s->budget, pairs, &cost_log)
                              : round_of(s, net, &s->goal, 0, ROUND, pairs);
    *good = outcome == BP__FOUND;
    if (outcome == BP__NO_MEMORY || too_large(net)) {
        return outcome == BP__NO_MEMORY ? outcome : BP__GAVE_UP;
    }
    outcome = best_of(net, &s->goal, outer, *good, budget, pairs);
    if (outcome == BP__FOUND && s->goal.objective == BP_MINIMIZE_SIZE) {
        bp__goal second = {.objective = BP_MINIMIZE_FLOPS, .limit = s->goal.limit};
        double largest;
        outcome = bp__tree_cost(net, &s->goal, pairs, &largest);
        second.limit = fmin(second.limit, largest * (1 + 1e-9));
        outcome = outcome == BP__FOUND ? best_of(net, &second, outer, true, budget, pairs) : outcome;
    }
    return outcome;
}

/* ---- Connected parts ---- */

/* The automatic strategies on one part: exact while that is affordable. */
static bp__outcome automatic(seeker *s, const bp__net *net, bp__pair *pairs, bool *proven) {
    bool hq = s->search->strategy == BP_PATH_AUTO_HQ, good = false;
    if (net->terms <= TRIED_DP) {
        bp__budget budget = {hq ? WORK_HQ : WORK_AUTO, s->budget.deadline};
        bp__outcome outcome = exact(s, net, net->terms <= ALL_ORDERS, &budget, pairs, &good);
        if (outcome != BP__GAVE_UP) {
            return outcome;
        }
    }
    *proven = false;
    return heuristic(s, net, &s->goal, trials_for(s, net, hq ? 256 : 32), pairs);
}

static bp__outcome search_part(seeker *s, const bp__net *net, bp__pair *pairs, bool *proven) {
    bool good;
    return s->search->strategy == BP_PATH_DP ? exact(s, net, false, &s->budget, pairs, &good)
                                             : automatic(s, net, pairs, proven);
}

/* The network's parts, and what each became. */
typedef struct piece {
    double size; /* elements of its result */
    int32_t id;
} piece;

typedef struct parts {
    int count;
    int32_t *of;     /* of each term */
    int32_t *start;  /* count + 1, into list */
    int32_t *list;   /* terms, part by part */
    int32_t *number; /* scratch for labels, -1 everywhere */
    piece *pieces;
    bp__pair *pairs; /* of one part */
    void *memory;
} parts;

static bool parts_new(parts *p, const bp__net *net) {
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
    p->count = bp__net_parts(net, p->of);
    return p->count >= 0;
}

static void list_parts(parts *p, const bp__net *net) {
    memset(p->start, 0, ((size_t)p->count + 1) * sizeof *p->start);
    for (int t = 0; t < net->terms; t++) {
        p->start[p->of[t] + 1]++;
    }
    for (int i = 0; i < p->count; i++) {
        p->start[i + 1] += p->start[i];
        p->pieces[i] = (piece){1, p->start[i]}; /* the id is the place to fill, for a moment */
    }
    for (int t = 0; t < net->terms; t++) {
        p->list[p->pieces[p->of[t]].id++] = t;
    }
}

/* A part's result has the labels that the output has: those used more often than terms have them. */
static void size_parts(parts *p, const bp__net *net) {
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

/* One part; the pairs found are added to those of the whole, in its identities. */
static bp__outcome solve_part(seeker *s, parts *p, int part, int32_t *made, bool *proven) {
    int32_t count = p->start[part + 1] - p->start[part], terms = s->net->terms;
    const int32_t *list = p->list + p->start[part];
    bp__outcome outcome = BP__FOUND;
    if (count == 2) {
        p->pairs[0] = (bp__pair){0, 1};
    } else if (count > 2) {
        bp__net net;
        if (bp__net_part(&net, s->net, list, count, p->number) != BP_OK) {
            return BP__NO_MEMORY;
        }
        outcome = search_part(s, &net, p->pairs, proven);
        bp__net_free(&net);
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

/* The parts' results, the smallest two at a time: a result is no smaller than those before it, so results queue up in
 * order behind the sorted pieces. */
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
        *proven &= s->search->strategy == BP_PATH_DP; /* with outer products it might be better */
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

static void left_to_right(const bp__net *net, bp__pair *pairs) {
    for (int i = 0; i < net->terms - 1; i++) {
        pairs[i] = (bp__pair){i == 0 ? 0 : net->terms + i - 1, i + 1};
    }
}

static bp__outcome branching(seeker *s, int width) {
    double cost;
    if (s->net->terms > MOST_BRANCH) {
        return BP__GAVE_UP;
    }
    return bp__branch(s->net, &s->goal, width, &s->budget, s->found->pairs, &cost);
}

static bp__outcome ask(seeker *s, bool *proven) {
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
        return bp__trials(s->net, &s->goal, 0, 1, 0, &s->budget, s->found->pairs, &cost_log);
    case BP_PATH_RANDOM_GREEDY:
        return heuristic(s, s->net, &s->goal, s->search->trials > 0 ? s->search->trials : 32, s->found->pairs);
    case BP_PATH_LEFT_TO_RIGHT:
    case BP_PATH_SETTINGS:
    case BP_PATH_GIVEN: /* which no search is asked for */
        break;
    }
    left_to_right(s->net, s->found->pairs);
    return BP__FOUND;
}

/* Where a memory limit left the strategy nothing: many trials, then every order there is. */
static bp__outcome rescue(seeker *s, bool *proven) {
    double cost_log;
    bp__budget budget = {WORK_RESCUE, s->budget.deadline};
    bp__outcome outcome = bp__trials(s->net, &s->goal, 0, 256, s->search->seed, &s->budget, s->found->pairs, &cost_log);
    if (outcome == BP__NONE && !too_large(s->net)) {
        outcome = best_of(s->net, &s->goal, true, false, &budget, s->found->pairs);
        *proven = outcome == BP__NONE;
    }
    return outcome;
}

static bp_status failed(const seeker *s, bp__outcome outcome, bool proven) {
    const char *name = bp_path_strategy_name(s->search->strategy);
    switch (outcome) {
    case BP__GAVE_UP:
        return bp__fail(BP_E_TIMEOUT,
                        "einsum: strategy %s does not come to an end for %d operands within its limits; "
                        "auto, auto-hq and random-greedy always do",
                        name, s->net->terms);
    case BP__NONE:
        return bp__fail(BP_E_CONSTRAINT, "einsum: %s order keeps every intermediate result within %.0f elements",
                        proven ? "no" : "strategy found no", s->goal.limit);
    case BP__FOUND:
    case BP__NO_MEMORY:
        break;
    }
    return bp__fail(BP_E_NO_MEMORY, "einsum: not enough memory for strategy %s with %d operands", name, s->net->terms);
}

/* Where the size of the largest result is the goal, operations count among what is no larger. */
static void second_goal(const seeker *s, bp__goal *goal) {
    double largest;
    *goal = s->goal;
    if (goal->objective != BP_MINIMIZE_SIZE || s->net->terms < 2 ||
        bp__tree_cost(s->net, &s->goal, s->found->pairs, &largest) != BP__FOUND) {
        return;
    }
    *goal = (bp__goal){.objective = BP_MINIMIZE_FLOPS, .limit = fmin(goal->limit, largest * (1 + 1e-9))};
}

bp_status bp__search(bp__found *found, const bp__net *net, const bp_einsum_search *search, const bp__goal *goal) {
    seeker s = {.net = net, .search = search, .goal = *goal, .found = found};
    size_t size = (size_t)net->terms * sizeof *found->pairs;
    *found = (bp__found){.pairs = bp__alloc(size), .strategy = bp_path_strategy_name(search->strategy), .exact = true};
    if (!found->pairs) {
        return bp__fail_memory(size, "a contraction path");
    }
    s.budget.work = UINT64_MAX;
    s.budget.deadline = search->seconds > 0 ? bp__now_ns() + (int64_t)(search->seconds * 1e9) : 0;
    bp__outcome outcome = BP__FOUND;
    if (net->terms < 3) {
        left_to_right(net, found->pairs);
    } else {
        outcome = ask(&s, &found->exact);
    }
    bool chosen = search->strategy == BP_PATH_LEFT_TO_RIGHT; /* then it stays as it is */
    if (outcome == BP__FOUND && !chosen && !bp__tree_fits(net, goal->limit, found->pairs)) {
        outcome = BP__NONE; /* parts that share nothing were joined in another order than the limit allows */
    }
    if (outcome == BP__NONE) {
        bool proven = false;
        found->exact = false;
        outcome = rescue(&s, &proven);
        if (outcome == BP__NONE) {
            return failed(&s, outcome, proven);
        }
    }
    if (outcome == BP__FOUND) {
        second_goal(&s, &found->goal);
    }
    return outcome == BP__FOUND ? BP_OK : failed(&s, outcome, false);
}
