/* internal.h - declarations shared by the files of src/einsum: parsed expressions, networks, goals, trees and paths.
 *
 * Other modules use the functions for fork and bp_reset. */
#ifndef BP_EINSUM_INTERNAL_H
#define BP_EINSUM_INTERNAL_H

#include "backplane/einsum.h"
#include "base/base.h"

#include <math.h>

/* ---- For other modules ---- */
int bp__einsum_paths_alive(void); /* number of paths that callers hold */
void bp__einsum_reset(void);      /* clears the path cache */
void bp__einsum_fork_lock(void);
void bp__einsum_fork_unlock(void);

/* ---- The notation (parse.c, terms.c) ---- */

/* One label or ellipsis as written. `at` is its offset in the text, or its index in the sublist. */
typedef struct bp__token {
    int32_t label; /* BP_EINSUM_ELLIPSIS, or a number */
    int32_t at;
} bp__token;

/* A parsed expression, before it is compared with shapes. */
typedef struct bp__source {
    const char *text; /* NULL: the sublist form */
    int count;        /* number of operands */
    int32_t *first;   /* count + 1 entries: index of each operand's first token; the output's tokens are last */
    bp__token *tokens;
    int token_count;
    bool has_output;
    void *memory; /* holds first and tokens */
} bp__source;

/* An expression with matching shapes. Labels are numbered in the order of the implicit output. */
typedef struct bp__einsum {
    int count, labels, output_ndim;
    int32_t *start; /* count + 1 entries, indices into label and dim */
    int32_t *label; /* of each dimension, including repeated labels */
    int64_t *dim;   /* size of the dimension in this operand */
    int64_t *size;  /* of each label: the size after broadcasting */
    int32_t *name;  /* of each label: its number as written; below 0: dimension -1-k of the ellipsis */
    int32_t *output;
    void *memory;
} bp__einsum;

bp_status bp__einsum_parse(bp__einsum *einsum, const char *expression, int count, const bp_einsum_operand *operands);
bp_status bp__einsum_sublists(bp__einsum *einsum, int count, const bp_einsum_operand *operands, int output_count,
                              const int *output);
void bp__einsum_free(bp__einsum *einsum);

/* Fails with a message that points at a token. */
bp_status bp__token_fail(const bp__source *source, int token, bp_status status, const char *format, ...)
    BP_PRINTF(4, 5);
bp_status bp__einsum_resolve(bp__einsum *einsum, const bp__source *source, const bp_einsum_operand *operands);

/* ---- Numbers with an extended exponent: mantissa * 2^exponent; the mantissa is 0 or in [0.5, 1). Integers are as
 * exact as in a double. (bigfloat.c) ---- */
typedef struct bp__bigfloat {
    double mantissa;
    int64_t exponent;
} bp__bigfloat;
bp__bigfloat bp__bigfloat_of(double value);
bp__bigfloat bp__bigfloat_times(bp__bigfloat a, double b);
bp__bigfloat bp__bigfloat_plus(bp__bigfloat a, bp__bigfloat b);
bool bp__bigfloat_less(bp__bigfloat a, bp__bigfloat b);
double bp__bigfloat_double(bp__bigfloat a); /* infinite beyond the range of a double */
double bp__bigfloat_log10(bp__bigfloat a);  /* -infinity for 0 */

/* ---- The network (network.c) ---- */

/* Terms as sets of labels. A dimension of size 1 that broadcasts is not in its term's set. */
typedef struct bp__network {
    int terms, labels;
    int32_t *start; /* terms + 1 entries */
    int32_t *label; /* ascending in each term */
    int32_t *uses;  /* of each label: the number of terms with it, plus one if the output (or something outside) has it
                     */
    double *size;   /* of each label */
    double *log;    /* binary logarithm of the size */
    /* Per term: its elements; and the product of the sizes of labels that only this term has and that are summed, 0 if
     * there are none. A reduced network does not have those labels in `label`. */
    double *elements, *alone;
    bool any_alone;
    void *memory;
} bp__network;

/* Makes the network of an expression, with all labels and real sizes. */
bp_status bp__network_make(bp__network *net, const bp__einsum *einsum);
/* Makes the network for searches: without labels of only one term, sizes at least 1. */
bp_status bp__network_reduce(bp__network *reduced, const bp__network *net);
/* Allocates a network that the caller fills. */
bp_status bp__network_reserve(bp__network *net, int terms, int labels, int64_t entries);
/* Makes a network of the terms in `list`, a connected part. `number` has an entry per label; all are -1 before and
 * after. */
bp_status bp__network_part(bp__network *part, const bp__network *net, const int32_t *list, int count, int32_t *number);
/* Fills log, elements and any_alone from the other members. */
void bp__network_finish(bp__network *net);
void bp__network_free(bp__network *net);
/* Numbers the connected parts: part[term] = 0.. Returns how many; -1 if memory is short. */
int bp__network_parts(const bp__network *net, int32_t *part);

/* ---- Goals ---- */

typedef struct bp__goal {
    bp_path_objective objective;
    double factor;
    double limit; /* elements of one intermediate result; infinity: no limit */
} bp__goal;

/* Returns the cost of a step. */
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

/* Returns the cost of contracting a pair. `product` is the product of the sizes of all labels, without those that one
 * term has alone. `inner`: some labels are summed. A term may have labels alone; summing them first may be cheaper.
 * *first gets a bit for each of the two terms for which it is. */
typedef struct bp__side {
    double elements, alone; /* as in the network; alone is 0 for results */
} bp__side;
double bp__goal_pair(const bp__goal *goal, double product, double result, bool inner, bp__side a, bp__side b,
                     unsigned *first);

/* ---- Searches: each fills `pairs` (terms - 1 of them) with identities; the result of pair i is terms + i ---- */

typedef struct bp__pair {
    int32_t a, b;
} bp__pair;

/* The outcome of a search. */
typedef enum bp__outcome {
    BP__FOUND,
    BP__NONE,      /* nothing within the limits, or nothing better than the bound */
    BP__GAVE_UP,   /* the budget is used up */
    BP__CANCELLED, /* by the thread's interrupt check */
    BP__NO_MEMORY,
} bp__outcome;

/* The limits of a search. Work is counted, so that a search ends at the same point on every machine; time is not. A
 * work unit is one pair of sets that the exact search rejects, about 1 to 2 ns. Other work is counted in proportion.
 * (budget.c) */
typedef struct bp__budget {
    uint64_t work;     /* units left */
    uint64_t given;    /* units at the start of a share */
    int64_t deadline;  /* compared with bp__now_ns(); 0: none */
    uint64_t unlooked; /* units since the last check of clock and interrupt */
    bp__outcome end;   /* BP__FOUND until the budget ends */
} bp__budget;
static inline bool bp__late(const bp__budget *budget) {
    return budget->deadline != 0 && bp__now_ns() > budget->deadline;
}
/* Returns whether another part of the search may begin. */
static inline bool bp__lasts(const bp__budget *budget) {
    return budget->end == BP__FOUND && budget->work > 0 && !bp__late(budget);
}
/* Subtracts work. Returns false if the budget has ended; `end` has the reason. */
bool bp__spend(bp__budget *budget, uint64_t work);
/* Subtracts work that must be done even if none is left. Returns false if the search was cancelled. */
bool bp__spend_anyway(bp__budget *budget, uint64_t work);
/* Make a share of the remaining work for a part of a search, and subtract the used work from the whole afterwards. */
bp__budget bp__budget_share(const bp__budget *whole, uint64_t work);
void bp__budget_charge(bp__budget *whole, const bp__budget *share);

/* Searches all orders with a cost of at most `bound`. Without `outer` it skips outer products; the network must be
 * connected then. (exact.c) */
bp__outcome bp__exact(const bp__network *net, const bp__goal *goal, bool outer, double bound, bp__budget *budget,
                      bp__pair *pairs, double *cost);

/* Searches pairs that share a label depth first, the best `width` at each step (0: all). If the budget ends, returns
 * the best order so far. (branch.c) */
bp__outcome bp__branch(const bp__network *net, const bp__goal *goal, int width, bp__budget *budget, bp__pair *pairs,
                       double *cost);

/* Parameters of one greedy run. (greedy.c) */
typedef struct bp__greedy bp__greedy;
typedef struct bp__greedy_params {
    double weight;      /* of the operands' sizes relative to the result's; 1 is plain greedy */
    double temperature; /* of the random noise; 0: none */
    bool narrow;        /* only a result's best partner becomes a candidate, as in opt_einsum's greedy */
    uint64_t seed;
} bp__greedy_params;
bp_status bp__greedy_new(bp__greedy **greedy, const bp__network *net, const bp__goal *goal);
/* Returns BP__NONE if no order is within the memory limit, or if the cost exceeds `bound_log`. Costs are binary
 * logarithms. A run is completed even if no work is left, unless it is cancelled. */
bp__outcome bp__greedy_run(bp__greedy *greedy, const bp__greedy_params *params, double bound_log, bp__budget *budget,
                           bp__pair *pairs, double *cost_log);
void bp__greedy_free(bp__greedy *greedy);

/* Runs greedy trials with the numbers from `first` on; stores the best order in `pairs`. (random_greedy.c) */
bp__outcome bp__random_greedy(const bp__network *net, const bp__goal *goal, int64_t first, int64_t trials,
                              uint64_t seed, bp__budget *budget, bp__pair *pairs, double *cost_log);

/* Reorders parts of up to `leaves` (at most 12) operands exactly, as long as that improves the order. If the order
 * exceeds the goal's limit, reorders parts to meet it, which may cost more. (refine.c) */
bp__outcome bp__refine(const bp__network *net, const bp__goal *goal, int leaves, int sweeps, bp__budget *budget,
                       bp__pair *pairs);

/* Reorders large parts with randomized greedy until the budget ends. The order must be within the limit. (explore.c) */
bp__outcome bp__explore(const bp__network *net, const bp__goal *goal, uint64_t seed, bp__budget *budget,
                        bp__pair *pairs);

/* Computes the cost of a tree, including the sums of single operands. (tree.c) */
bp__outcome bp__tree_cost(const bp__network *net, const bp__goal *goal, const bp__pair *pairs, double *cost);

/* Returns whether all intermediate results have at most `limit` elements. Returns `unknown` if the network is too large
 * to check. (tree.c) */
bool bp__tree_fits(const bp__network *net, double limit, const bp__pair *pairs, bool unknown);

/* Runs the search of a strategy. (search.c) */
typedef struct bp__found {
    bp__pair *pairs;      /* free with bp__free */
    const char *strategy; /* name of the search that found the order */
    bool exact;
    bp__goal goal; /* goal for sums of single operands: least size is replaced by least operations within that size */
} bp__found;
bp_status bp__search(bp__found *found, const bp__network *net, const bp_einsum_search *search, const bp__goal *goal);

/* ---- Steps (steps.c), in the order of execution; b is -1 if one operand is summed alone. The result of step i has the
 * identity terms + i. ---- */

typedef struct bp__step {
    bp__pair id, position;
    int32_t scaling; /* number of labels */
    bool inner;      /* some labels are summed */
    const char *kind;
    bp__bigfloat product; /* product of the sizes of all labels */
    bp__bigfloat size;    /* elements of the result */
} bp__step;

typedef struct bp__steps {
    bp__step *step; /* free with bp__free */
    int count;
} bp__steps;

/* Makes steps of the tree's pairs, in an order that needs little memory. Adds the sums of single operands that reduce
 * the cost. */
bp_status bp__steps_of_tree(bp__steps *steps, const bp__network *net, const bp__network *reduced, const bp__goal *goal,
                            const bp__pair *pairs);
/* Makes steps of the caller's path, in its own order. */
bp_status bp__steps_given(bp__steps *steps, const bp__network *net, const bp_einsum_search *search);
/* Returns the peak number of elements of intermediate results alive at the same time. */
double bp__steps_peak(const bp__steps *steps, int terms);

/* The list of the remaining operands, by position. (operand_list.c) */
typedef struct bp__operand_list bp__operand_list;
bp__operand_list *bp__operand_list_new(int terms, int steps); /* NULL if memory is short; free with bp__free */
int32_t bp__operand_list_position(const bp__operand_list *list, int32_t id);
int32_t bp__operand_list_at(const bp__operand_list *list, int32_t position);
void bp__operand_list_take(bp__operand_list *list, int32_t id);
void bp__operand_list_append(bp__operand_list *list);
int32_t bp__operand_list_length(const bp__operand_list *list);

/* ---- Paths (path.c, expressions.c, report.c, cache.c) ---- */

typedef struct bp__expressions bp__expressions;

struct bp_contraction_path {
    atomic_int references; /* of callers and the cache */
    bp__einsum einsum;
    bp_einsum_search search; /* resolved; its pointers are not valid */
    bp_contraction_path_info info;
    bp__bigfloat naive;
    bp__steps steps;
    /* Made on first use. */
    _Atomic(char *) expression, text, json;
    _Atomic(bp__expressions *) expressions;
};

/* Takes ownership of the einsum, even on failure. The path has one reference. */
bp_status bp__path_make(bp_contraction_path **path, bp__einsum *einsum, const bp_einsum_search *search);
void bp__path_drop(bp_contraction_path *path);
double bp__step_flops(const bp__step *step);

/* The expression of each step, as opt_einsum writes it, and the remaining expression after it. */
struct bp__expressions {
    size_t *at;   /* offset of each step's expression */
    size_t *left; /* offset of the remaining expression; SIZE_MAX: too long to show */
    bp__text text;
};
const bp__expressions *bp__path_expressions(const bp_contraction_path *path); /* NULL if memory is short */
void bp__expressions_free(bp__expressions *expressions);
void bp__label_add(bp__text *text, const bp__einsum *einsum, int32_t label);

/* Copies the search, replaces zeros by the settings, and checks it. (names.c) */
bp_status bp__search_resolve(bp_einsum_search *search, const bp_einsum_search *given);

/* The path cache. A key contains everything that the path depends on. A path that was found has a new reference. */
bp_contraction_path *bp__path_cache_find(const void *key, size_t size);
void bp__path_cache_keep(const void *key, size_t size, bp_contraction_path *path);

#endif
