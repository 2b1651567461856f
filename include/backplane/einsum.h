/* einsum.h - computes products of many tensors in Einstein notation, and searches for a good contraction order.
 *
 * bp_einsum() contracts two operands at a time; each step runs on the library that dispatch chooses for it.
 * bp_einsum_path() returns the order only.
 *
 * An expression is as in numpy.einsum and torch.einsum: "ij,jk->ik". Commas separate operands; each dimension has a
 * label (A-Z, a-z); spaces are ignored. Labels that are absent from the output are summed over. A label used twice in
 * one operand selects its diagonal. "..." means dimensions without labels, which align from the right and broadcast.
 * Without
 * "->" the output is the ellipsis, then each label that occurs once, A to Z, then a to z. A dimension of size 1
 * broadcasts to that label's size in other operands. In the sublist form, labels are numbers >= 0; in texts 0-25 are
 * shown as A-Z and 26-51 as a-z.
 *
 * A path is a list of steps. A step contracts two operands to one, or sums over labels of one operand. It identifies
 * its operands in two ways. A position is an index in the list of remaining operands, to which each result is appended
 * (as in opt_einsum and numpy.einsum_path). An identity never changes: operands are 0 to n-1, the result of step i is
 * n+i.
 *
 * All functions are thread-safe. Errors of all functions with an expression: BP_E_ARGUMENT (notation, with the offset
 * of the character; fields of the search), BP_E_SHAPE, BP_E_OVERFLOW (more than 2^28 dimensions in total),
 * BP_E_CONSTRAINT (no path satisfies the memory limit), BP_E_TIMEOUT (optimal or dp reached its limit of work or time),
 * BP_E_CANCELLED (interrupt.h), BP_E_NO_MEMORY.
 */
#ifndef BACKPLANE_EINSUM_H
#define BACKPLANE_EINSUM_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of strategies: number, NAME, text, help. */
#define BP_PATH_STRATEGY_MAP(X)                                                                                        \
    X(0, SETTINGS, "settings", "the settings opt_einsum.enabled and opt_einsum.strategy")                              \
    X(1, AUTO, "auto", "exact if that takes about a millisecond, otherwise several greedy searches")                   \
    X(2, AUTO_HQ, "auto-hq", "exact if that takes about a second, otherwise greedy, then subtrees optimised")          \
    X(3, OPTIMAL, "optimal", "least cost of all orders, including outer products")                                     \
    X(4, DP, "dp", "least cost of all orders without outer products of connected operands")                            \
    X(5, BRANCH_ALL, "branch-all", "depth-first over all pairs that share a label, pruned by the best cost")           \
    X(6, BRANCH_2, "branch-2", "depth-first over the two best pairs of each step")                                     \
    X(7, BRANCH_1, "branch-1", "the best pair of each step")                                                           \
    X(8, GREEDY, "greedy", "in each step the pair that frees the most memory")                                         \
    X(9, RANDOM_GREEDY, "random-greedy", "many randomised greedy searches; random-greedy-N: N trials")                 \
    X(10, LEFT_TO_RIGHT, "left-to-right", "the first two operands, then each result with the next operand")            \
    X(11, GIVEN, "given", "the caller's path")

typedef enum bp_path_strategy {
#define BP__ENTRY(number, name, text, help) BP_PATH_##name = number,
    BP_PATH_STRATEGY_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_path_strategy;

/* The list of cost functions of a path: number, NAME, text, help. Costs are summed over the steps; size is a maximum.
 */
#define BP_PATH_OBJECTIVE_MAP(X)                                                                                       \
    X(0, FLOPS, "flops", "operations")                                                                                 \
    X(1, SIZE, "size", "elements of the largest result; then operations")                                              \
    X(2, WRITE, "write", "elements written")                                                                           \
    X(3, COMBO, "combo", "operations + factor * elements written")                                                     \
    X(4, LIMIT, "limit", "the larger of operations and factor * elements written")

typedef enum bp_path_objective {
#define BP__ENTRY(number, name, text, help) BP_MINIMIZE_##name = number,
    BP_PATH_OBJECTIVE_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_path_objective;

#define BP_PATH_LARGEST_OPERAND (-1) /* memory_limit: the number of elements of the largest operand or the output */

/* Parameters of a search. A field that is 0 takes its value from the settings or the default. BP_PATH_GIVEN searches
 * nothing: trials, seconds, seed and work must be 0. */
typedef struct bp_einsum_search {
    size_t struct_size; /* sizeof(bp_einsum_search) */
    bp_path_strategy strategy;
    bp_path_objective objective;
    double factor;        /* of combo and limit; 0: 64. Of the others 0 */
    int64_t memory_limit; /* largest allowed intermediate result in elements (the output is exempt); 0: none */
    int64_t trials;       /* trials of random-greedy and the automatic strategies; 0: chosen by the library */
    double seconds;       /* time limit: no trial begins, and exact strategies stop, after it; 0: none. Replaces the
                             default limit `work` of exact and branching strategies. Results then depend on the speed
                             of the machine; without a time limit they depend on the arguments and `seed` only */
    uint64_t seed;
    bp_dtype dtype;         /* element type, for sizes in bytes; 0: BP_F64 */
    const int *path;        /* for BP_PATH_GIVEN, as the next two: the positions of all steps, concatenated */
    const int *path_counts; /* number of positions of each step; NULL: two, or one for a single operand. A step with
                                   more than two operands is contracted in pairs, from the left */
    int path_steps;
    int64_t work; /* limit for auto-hq, optimal, dp and branch-*, in units of some nanoseconds; 0: 500 million. Units
                     are counted, not timed, so that a search ends at the same point on every machine */
} bp_einsum_search;

/* Convert names. "random-greedy-128" gives BP_PATH_RANDOM_GREEDY and 128 trials (0 without a number); the other names
 * of opt_einsum ("eager", "opportunistic", "dynamic-programming") are accepted. "combo-256" gives BP_MINIMIZE_COMBO and
 * 256. Errors: BP_E_BAD_VALUE; the message lists the names. */
BP_API bp_status bp_path_strategy_from_name(const char *name, bp_path_strategy *strategy, int64_t *trials);
BP_API bp_status bp_path_objective_from_name(const char *name, bp_path_objective *objective, double *factor);
BP_API const char *bp_path_strategy_name(bp_path_strategy strategy);    /* "?" for an invalid number */
BP_API const char *bp_path_objective_name(bp_path_objective objective); /* "?" for an invalid number */

/* One operand: its shape and, in the sublist form, its labels. */
typedef struct bp_einsum_operand {
    int ndim;
    const int64_t *shape;
    const int *labels; /* sublist form: `label_count` numbers >= 0; one of them may be BP_EINSUM_ELLIPSIS */
    int label_count;
} bp_einsum_operand;

#define BP_EINSUM_ELLIPSIS (-1)
#define BP_EINSUM_IMPLICIT (-1) /* output_count: the output is implicit, as without "->" */

/* An order of contractions with its costs. Immutable; reference-counted. */
typedef struct bp_contraction_path bp_contraction_path;

/* Search the path for operands of these shapes; `search` may be NULL. Release the result with
 * bp_contraction_path_release(). Paths are cached (einsum.path_cache.max_size); a repeated search is a cache lookup. */
BP_API bp_status bp_einsum_path(bp_contraction_path **path, const bp_einsum_search *search, const char *expression,
                                int count, const bp_einsum_operand *operands);
BP_API bp_status bp_einsum_path_sublists(bp_contraction_path **path, const bp_einsum_search *search, int count,
                                         const bp_einsum_operand *operands, int output_count, const int *output);

BP_API void bp_contraction_path_release(bp_contraction_path *path); /* NULL is allowed */

/* Costs of a path. Operations are counted as in opt_einsum: the product of the sizes of all labels of a step, times 2
 * if the step sums. Values beyond the range of double are infinite; their logarithms are finite. */
typedef struct bp_contraction_path_info {
    size_t struct_size; /* set by the caller: sizeof(bp_contraction_path_info) */
    int operands;
    int steps;
    int labels;
    const char *strategy; /* the strategy that found it: "dp", "greedy", ... */
    int exact;            /* 1: known to be optimal among orders without outer products (dp), or all orders (optimal) */
    int naive_scaling;    /* number of labels in the whole expression */
    int scaling;          /* number of labels in the step that has the most */
    double naive_flops, naive_flops_log10; /* operations without intermediate results */
    double flops, flops_log10;             /* operations of all steps */
    double speedup;                        /* naive_flops / flops */
    double cost, cost_log10;               /* of the objective */
    double largest, largest_log10;         /* elements of the largest result, including the output */
    double written;                        /* elements of all results together */
    double peak_bytes;                     /* largest total of intermediate results alive at one time, if the steps run
                                              in this order; operands and output are not included */
    int output_ndim;
    const int64_t *output_shape; /* valid as long as the path */
} bp_contraction_path_info;

/* Fills *info. Errors: BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API bp_status bp_contraction_path_describe(const bp_contraction_path *path, bp_contraction_path_info *info);

typedef struct bp_contraction_step {
    size_t struct_size;     /* set by the caller: sizeof(bp_contraction_step) */
    int count;              /* number of operands: 2 or 1 */
    int position[2];        /* positions in the list of remaining operands, the lower one first */
    int operand[2];         /* identities, in the order of `position` */
    int result;             /* identity of the result */
    const char *expression; /* "jk,ij->ik": the later position first, as in opt_einsum; "" if memory is exhausted */
    const char *kind;       /* "gemm", "batched gemm", "gemv", "dot", "outer", "elementwise", "sum", "view", ... */
    int scaling;            /* number of labels */
    double flops;           /* operations */
    double size;            /* elements of the result */
} bp_contraction_step;

/* Fills *step with step `index` (0, 1, ...) and returns 1. Returns 0 past the end. Strings are valid as long as the
 * path. */
BP_API int bp_contraction_path_at(const bp_contraction_path *path, int index, bp_contraction_step *step);

/* Return the expression with letters for the ellipsis, a readable report, and the report as JSON. Made on the first
 * call; valid as long as the path; "" if memory is exhausted. */
BP_API const char *bp_contraction_path_expression(const bp_contraction_path *path);
BP_API const char *bp_contraction_path_text(const bp_contraction_path *path);
BP_API const char *bp_contraction_path_json(const bp_contraction_path *path);

/* ---- Contractions ---- */

/* One call. All operands and the output have the same element type: f16, bf16, f32, f64, c64 or c128. f16 and bf16 are
 * summed in f32, and the result of each step is rounded to the type. Any strides. */
typedef struct bp_einsum_call {
    size_t struct_size;     /* sizeof(bp_einsum_call) */
    const char *expression; /* NULL: sublist form */
    int count;              /* number of operands */
    const DLTensor *const *operands;
    const int *const *labels; /* sublist form, as all of the next four: labels of each operand, as in
                               * bp_einsum_operand. With an expression they are NULL and 0 */
    const int *label_counts;
    int output_count; /* number of labels in `output`, or BP_EINSUM_IMPLICIT */
    const int *output;
    const bp_einsum_search *search; /* NULL: as in the settings; its dtype is ignored */
} bp_einsum_call;

/* Computes the product of the operands, summed over the labels that are absent from the output:
 * bp_einsum("ij,jk->ik", 2, ab, c). The caller provides the output, with the shape of bp_einsum_shape(). It must not
 * overlap an operand or itself (BP_E_OVERLAP). A step that is a matrix product runs on the library that dispatch
 * chooses for it; the settings of products apply. All other steps, and copies of operands whose layout no product
 * accepts, run on the native provider. So dispatch.exclude = native makes expressions that need them fail. Plans are
 * kept in the plan cache. The calling thread keeps up to 64 MiB of memory for intermediate results; larger memory is
 * freed after the call. After BP_E_NO_MEMORY `output` may be partly written.
 *
 * Errors of bp_einsum, _run, _plan and _explain: those at the top, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address
 * that is not aligned for its type; a step with more than BP_MAX_CONTRACT_NDIM dimensions after merging), BP_E_OVERLAP,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND. */
BP_API bp_status bp_einsum(const char *expression, int count, const DLTensor *const *operands, DLTensor *output);

/* General form of bp_einsum(): any call, with settings for this call. `options` may be NULL, here and below. */
BP_API bp_status bp_einsum_run(const bp_options *options, const bp_einsum_call *call, DLTensor *output);

/* Returns the element type and shape of the output. `shape` is an array of BP_MAX_NDIM elements. Data pointers may be
 * NULL. */
BP_API bp_status bp_einsum_shape(const bp_einsum_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

/* Create a plan for bp_execute() with the operands, then the output; or explain it: each sub-plan with all its
 * candidates (bp_explanation_part). Data pointers may be NULL. `output` may be NULL: the output then has the layout
 * that costs least; bp_einsum_plan_output() returns it, bp_tensor_empty() allocates it. If a sub-problem has no
 * candidate, the explanation is about this sub-problem. bp_plan_describe() gives the workspace of the whole plan, and
 * otherwise the sub-plan that takes longest. Release with bp_plan_release() or bp_explanation_release(). */
BP_API bp_status bp_einsum_plan(bp_plan **plan, const bp_options *options, const bp_einsum_call *call,
                                const DLTensor *output);
BP_API bp_status bp_einsum_explain(bp_explanation **explanation, const bp_options *options, const bp_einsum_call *call,
                                   const DLTensor *output);

/* Returns type, shape and strides (in elements) of a plan's output. `shape` and `strides` are arrays of BP_MAX_NDIM
 * elements. Errors: BP_E_ARGUMENT if the plan is not for einsum. */
BP_API bp_status bp_einsum_plan_output(const bp_plan *plan, bp_dtype *dtype, int *ndim, int64_t *shape,
                                       int64_t *strides);

/* A sub-plan of an einsum plan. Sub-plans run in order. A step of the path has one, or several if operands or the
 * result are copied. */
typedef struct bp_einsum_part {
    size_t struct_size;  /* set by the caller: sizeof(bp_einsum_part) */
    int step;            /* index in the path */
    const char *action;  /* "product", "contraction", "sum", "copy of the first operand", ... */
    int64_t runs;        /* number of runs: a large copy is run slice by slice, alternating with its product */
    const bp_plan *plan; /* valid as long as the whole plan */
} bp_einsum_part;

/* Fills *part with sub-plan `index` (0, 1, ...) and returns 1. Returns 0 past the end, and if the plan is not for
 * einsum. */
BP_API int bp_einsum_part_at(const bp_plan *plan, int index, bp_einsum_part *part);

/* Returns the path of an einsum plan, valid as long as the plan. Returns NULL if the plan is not for einsum. */
BP_API const bp_contraction_path *bp_einsum_plan_path(const bp_plan *plan);

/* As bp_plan_cache_stats() and bp_plan_cache_clear(), for the cache of contraction paths. */
BP_API bp_status bp_einsum_path_cache_stats(bp_plan_cache_info *info);
BP_API bp_status bp_einsum_path_cache_clear(void);

#ifdef __cplusplus
}
#endif
#endif
