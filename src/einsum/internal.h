/* internal.h - what the files of the einsum room share: a parsed expression, the network that searches work on, goals,
 * trees and paths. Also what other rooms need of this one: its mutex while the process forks, and bp_reset.
 */
#ifndef BP_EINSUM_INTERNAL_H
#define BP_EINSUM_INTERNAL_H

#include "backplane/einsum.h"
#include "base/base.h"

#include <math.h>

/* ---- For other rooms ---- */
int bp__einsum_paths_alive(void); /* held by callers */
void bp__einsum_reset(void);      /* forgets the paths kept */
void bp__einsum_fork_lock(void);
void bp__einsum_fork_unlock(void);

/* ---- The notation (parse.c, terms.c) ---- */

/* One label or ellipsis as it was written; `at` is its offset in the text, or its place in the sublist. */
typedef struct bp__token {
    int32_t label; /* BP_EINSUM_ELLIPSIS, or a number */
    int32_t at;
} bp__token;

/* An expression taken apart, before it is compared with shapes. */
typedef struct bp__source {
    const char *text; /* NULL: sublists */
    int count;        /* operands */
    int32_t *first;   /* count + 1: where the tokens of each operand begin; those of the output come last */
    bp__token *tokens;
    int token_count;
    bool has_output;
    void *memory; /* of first and tokens */
} bp__source;

/* An expression and shapes that fit. Labels are numbered in the order of the implicit output. */
typedef struct bp__einsum {
    int count, labels, output_ndim;
    int32_t *start; /* count + 1, into label and dim */
    int32_t *label; /* of each dimension, repeats included */
    int64_t *dim;   /* its size in this operand */
    int64_t *size;  /* of each label: the broadcast one */
    int32_t *name;  /* of each label: its number as written; below 0: dimension -1-k of the ellipsis */
    int32_t *output;
    void *memory;
} bp__einsum;

bp_status bp__einsum_parse(bp__einsum *einsum, const char *expression, int count, const bp_einsum_operand *operands);
bp_status bp__einsum_sublists(bp__einsum *einsum, int count, const bp_einsum_operand *operands, int output_count,
                              const int32_t *output);
void bp__einsum_free(bp__einsum *einsum);

/* Failures that point at a token. */
bp_status bp__token_fail(const bp__source *source, int token, bp_status status, const char *format, ...)
    BP_PRINTF(4, 5);
bp_status bp__einsum_resolve(bp__einsum *einsum, const bp__source *source, const bp_einsum_operand *operands);

/* ---- Numbers without an upper end: mantissa * 2^exponent, mantissa 0 or in [0.5, 1). Whole numbers are exact as far
 * as double's are. (bigfloat.c) ---- */
typedef struct bp__bigfloat {
    double mantissa;
    int64_t exponent;
} bp__bigfloat;
bp__bigfloat bp__bigfloat_of(double value);
bp__bigfloat bp__bigfloat_times(bp__bigfloat a, double b);
bp__bigfloat bp__bigfloat_plus(bp__bigfloat a, bp__bigfloat b);
bool bp__bigfloat_less(bp__bigfloat a, bp__bigfloat b);
double bp__bigfloat_double(bp__bigfloat a); /* infinite beyond double's range */
double bp__bigfloat_log10(bp__bigfloat a);  /* -infinity for 0 */

/* ---- The network (network.c) ---- */

/* Terms as sets of labels. A dimension of size 1 that broadcasts is no part of its term's set. */
typedef struct bp__network {
    int terms, labels;
    int32_t *start; /* terms + 1 */
    int32_t *label; /* ascending in each term */
    int32_t *uses; /* of each label: the terms that have it, and one more if the output (or something outside) has it */
    double *size;  /* of each label */
    double *log;   /* its binary logarithm */
    /* Of each term: its elements, and the product of the labels that it alone has and that are to be summed, 0 where
     * there are none. Those labels are not in `label` where the net was reduced. */
    double *elements, *alone;
    bool any_alone;
    void *memory;
} bp__network;

/* Everything as it stands, real sizes. */
bp_status bp__network_make(bp__network *net, const bp__einsum *einsum);
/* For searches: no labels that only one term has, sizes at least 1. */
bp_status bp__network_reduce(bp__network *reduced, const bp__network *net);
/* Room for a net that the caller fills. */
bp_status bp__network_reserve(bp__network *net, int terms, int labels, int64_t entries);
/* The terms of `list`, a connected part, as a net of their own. `number` has room for all labels and is -1 everywhere,
 * before and after. */
bp_status bp__network_part(bp__network *part, const bp__network *net, const int32_t *list, int count, int32_t *number);
/* Fills log, elements, any_alone from the rest. */
void bp__network_finish(bp__network *net);
void bp__network_free(bp__network *net);
/* Numbers the connected parts: part[term] = 0..; returns how many, -1 without memory. */
int bp__network_parts(const bp__network *net, int32_t *part);

/* ---- Goals ---- */

typedef struct bp__goal {
    bp_path_objective objective;
    double factor;
    double limit; /* elements of one intermediate result; infinite: none */
} bp__goal;

/* The cost of a step. */
static inline double bp__goal_step(const bp__goal *goal, double flops, double elements) {
    switch (goal->objective) {
    case BP_MINIMIZE_SIZE:
    case BP_MINIMIZE_WRITE:
        return elements;
    case BP_MINIMIZE_COMBO:
        return flops + goal->factor * elements;
    case BP_MINIMIZE_LIMIT:
        return flops > goal->factor * elements ? flops : goal->factor * elements;
    case BP_MINIMIZE_FLOPS:
        break;
    }
    return flops;
}

static inline double bp__goal_join(const bp__goal *goal, double a, double b) {
    return goal->objective == BP_MINIMIZE_SIZE ? (a > b ? a : b) : a + b;
}

/* A pair whose `product` is the product of the sizes of all its labels (without those that one term has alone), summing
 * some of them if `inner`. Where a term has labels alone, they may be summed first: *first gets a bit for each of the
 * two for which that is cheaper. Gives the cost of it all. */
typedef struct bp__side {
    double elements, alone; /* as in the net; alone is 0 for what is no operand */
} bp__side;
double bp__goal_pair(const bp__goal *goal, double product, double result, bool inner, bp__side a, bp__side b,
                     unsigned *first);

/* ---- Searches: each fills `pairs` (terms - 1 of them) with identities, where the result of pair i is terms + i ----
 */

typedef struct bp__pair {
    int32_t a, b;
} bp__pair;

/* How a search ended. */
typedef enum bp__outcome {
    BP__FOUND,
    BP__NONE,      /* nothing within the limits, or nothing better than the bound */
    BP__GAVE_UP,   /* the budget is used up */
    BP__CANCELLED, /* by the thread's interrupt check */
    BP__NO_MEMORY,
} bp__outcome;

/* What limits a search. Work is counted, so that it ends at the same place everywhere; time is not. A unit is a pair of
 * sets that the exact search looks at and drops, a nanosecond or two; other work is counted by what it takes beside
 * that. (budget.c) */
typedef struct bp__budget {
    uint64_t work;     /* units left */
    uint64_t given;    /* what a share began with */
    int64_t deadline;  /* bp__now_ns(), 0: none */
    uint64_t unlooked; /* units since the clock and the interrupt check were asked */
    bp__outcome end;   /* BP__FOUND until it ends */
} bp__budget;
static inline bool bp__late(const bp__budget *budget) {
    return budget->deadline != 0 && bp__now_ns() > budget->deadline;
}
/* Whether another part of the search may begin. */
static inline bool bp__lasts(const bp__budget *budget) {
    return budget->end == BP__FOUND && budget->work > 0 && !bp__late(budget);
}
/* Takes work off; false once the budget has ended, as `end` tells. */
bool bp__spend(bp__budget *budget, uint64_t work);
/* The same for work that must be done whatever is left; false where it was cancelled. */
bool bp__spend_anyway(bp__budget *budget, uint64_t work);
/* A part of a search gets so much of the work that is left, and afterwards what it has used is taken off the whole. */
bp__budget bp__budget_share(const bp__budget *whole, uint64_t work);
void bp__budget_settle(bp__budget *whole, const bp__budget *share);

/* All orders whose cost is at most `bound`; without outer products unless `outer` (the net must be connected then).
 * (exact.c) */
bp__outcome bp__exact(const bp__network *net, const bp__goal *goal, bool outer, double bound, bp__budget *budget,
                      bp__pair *pairs, double *cost);

/* Pairs that share a label, the `width` best at each step (0: all), depth first. Where the budget ends, the best that
 * was found before stands. (branch.c) */
bp__outcome bp__branch(const bp__network *net, const bp__goal *goal, int width, bp__budget *budget, bp__pair *pairs,
                       double *cost);

/* One run of greedy in one of its ways. (greedy.c) */
typedef struct bp__greedy bp__greedy;
typedef struct bp__taste {
    double weight;      /* of the operands' sizes against the result's: 1 is the plain way */
    double temperature; /* 0: no chance */
    bool narrow;        /* a result is a candidate with its best partner only, as opt_einsum's greedy has it */
    uint64_t seed;
} bp__taste;
bp_status bp__greedy_new(bp__greedy **greedy, const bp__network *net, const bp__goal *goal);
/* BP__NONE where the memory limit left nothing, or the cost went over `bound`. Costs are binary logarithms. The run
 * comes to its end whatever work is left, unless it is cancelled. */
bp__outcome bp__greedy_run(bp__greedy *greedy, const bp__taste *taste, double bound_log, bp__budget *budget,
                           bp__pair *pairs, double *cost_log);
void bp__greedy_free(bp__greedy *greedy);

/* Greedy in many ways, those with the numbers `first` and up; pairs get the best. (random_greedy.c) */
bp__outcome bp__random_greedy(const bp__network *net, const bp__goal *goal, int64_t first, int64_t trials,
                              uint64_t seed, bp__budget *budget, bp__pair *pairs, double *cost_log);

/* Orders parts of up to `leaves` (at most 12) operands anew, exactly, while that helps. An order that breaks the goal's
 * limit is brought within it where parts can be, which may cost more. (refine.c) */
bp__outcome bp__refine(const bp__network *net, const bp__goal *goal, int leaves, int sweeps, bp__budget *budget,
                       bp__pair *pairs);

/* Orders large parts of an order that keeps the limit anew, by greedy with chance, as long as the budget lasts.
 * (explore.c) */
bp__outcome bp__explore(const bp__network *net, const bp__goal *goal, uint64_t seed, bp__budget *budget,
                        bp__pair *pairs);

/* What a tree costs under a goal; sums of single operands are in it. (tree.c) */
bp__outcome bp__tree_cost(const bp__network *net, const bp__goal *goal, const bp__pair *pairs, double *cost);

/* Whether all results but the last have at most `limit` elements; `unknown` where the network is too large to tell.
 * (tree.c) */
bool bp__tree_fits(const bp__network *net, double limit, const bp__pair *pairs, bool unknown);

/* The strategy's search. (search.c) */
typedef struct bp__found {
    bp__pair *pairs;      /* bp__free */
    const char *strategy; /* what found it */
    bool exact;
    bp__goal goal; /* that sums of single operands are for: least size has become least operations within it */
} bp__found;
bp_status bp__search(bp__found *found, const bp__network *net, const bp_einsum_search *search, const bp__goal *goal);

/* ---- Steps (steps.c): what is done one after the other; b is -1 where one operand is summed alone. The result of step
 * i has the identity terms + i. ---- */

typedef struct bp__step {
    bp__pair id, position;
    int32_t scaling; /* labels */
    bool inner;      /* some are summed */
    const char *kind;
    bp__bigfloat product; /* of the sizes of all labels */
    bp__bigfloat size;    /* elements of the result */
} bp__step;

typedef struct bp__steps {
    bp__step *step; /* bp__free */
    int count;
} bp__steps;

/* The tree's pairs, in an order that holds little memory, with the sums of single operands that pay. */
bp_status bp__steps_of_tree(bp__steps *steps, const bp__network *net, const bp__network *reduced, const bp__goal *goal,
                            const bp__pair *pairs);
/* The caller's path, in its own order. */
bp_status bp__steps_given(bp__steps *steps, const bp__network *net, const bp_einsum_search *search);
/* Most elements of intermediate results alive at a time. */
double bp__steps_peak(const bp__steps *steps, int terms);

/* The list of what is left, by position. (operand_list.c) */
typedef struct bp__operand_list bp__operand_list;
bp__operand_list *bp__operand_list_new(int terms, int steps); /* NULL without memory; bp__free gives it back */
int32_t bp__operand_list_position(const bp__operand_list *list, int32_t id);
int32_t bp__operand_list_at(const bp__operand_list *list, int32_t position);
void bp__operand_list_take(bp__operand_list *list, int32_t id);
void bp__operand_list_append(bp__operand_list *list);
int32_t bp__operand_list_length(const bp__operand_list *list);

/* ---- Paths (path.c, expressions.c, report.c, cache.c) ---- */

typedef struct bp__expressions bp__expressions;

struct bp_contraction_path {
    atomic_int references; /* callers' and the cache's */
    bp__einsum einsum;
    bp_einsum_search search; /* resolved; its pointers are not kept */
    bp_contraction_path_info info;
    bp__bigfloat naive;
    bp__steps steps;
    /* Made when first asked for. */
    _Atomic(char *) expression, text, json;
    _Atomic(bp__expressions *) expressions;
};

/* Takes the einsum over, also when it fails. The path has one reference. */
bp_status bp__path_make(bp_contraction_path **path, bp__einsum *einsum, const bp_einsum_search *search);
void bp__path_drop(bp_contraction_path *path);
double bp__step_flops(const bp__step *step);

/* Each step's expression, as opt_einsum writes it, and what is left after it. */
struct bp__expressions {
    size_t *at;   /* where each step's begins */
    size_t *left; /* where what is left after it begins; SIZE_MAX: too much to be shown */
    bp__text text;
};
const bp__expressions *bp__path_expressions(const bp_contraction_path *path); /* NULL without memory */
void bp__expressions_free(bp__expressions *expressions);
void bp__label_add(bp__text *text, const bp__einsum *einsum, int32_t label);

/* The search with what is 0 filled in from the settings, checked. (names.c) */
bp_status bp__search_resolve(bp_einsum_search *search, const bp_einsum_search *given);

/* The cache. A key is bytes that say everything that the path depends on. What is found has one more reference. */
bp_contraction_path *bp__path_cache_find(const void *key, size_t size);
void bp__path_cache_keep(const void *key, size_t size, bp_contraction_path *path);

#endif
