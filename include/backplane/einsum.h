/* einsum.h - products of many tensors in Einstein's notation: bp_einsum computes one, pair by pair, each pair on the
 * library that suits it; bp_einsum_path tells the order in which that is best done.
 *
 * An expression is what numpy.einsum and torch.einsum take: "ij,jk->ik". Operands are separated by commas, each
 * dimension has a label (A-Z, a-z), spaces mean nothing. Labels that the output lacks are summed over. A label twice in
 * one operand is its diagonal. "..." stands for dimensions without labels, which align from the right and broadcast.
 * Without "->" the output is the ellipsis, then each label that occurs once, A to Z, then a to z. A dimension of size 1
 * broadcasts against that label's size in other operands. In the sublist form labels are numbers, as many as are
 * needed: 0-25 stand for A-Z and 26-51 for a-z where they are shown.
 *
 * A path is a list of steps, each of which contracts two operands to one, or sums one operand alone. Steps name
 * operands in two ways: by position in the list of what is left, where a result comes last (as opt_einsum and
 * numpy.einsum_path count), and by identity, where operands are 0 to n-1 and the result of step i is n+i.
 *
 * All functions are thread-safe. Errors of all that look at an expression: BP_E_ARGUMENT (notation, with the offset of
 * the character; fields of the search), BP_E_SHAPE, BP_E_OVERFLOW (more than 2^28 dimensions in all), BP_E_CONSTRAINT
 * (the memory limit cannot be kept), BP_E_TIMEOUT (optimal or dp did not finish within its work or time),
 * BP_E_CANCELLED (the thread's interrupt check asked to stop, see interrupt.h), BP_E_NO_MEMORY.
 */
#ifndef BACKPLANE_EINSUM_H
#define BACKPLANE_EINSUM_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of strategies: number, NAME, text, what it does. */
#define BP_PATH_STRATEGY_MAP(X)                                                                                        \
    X(0, SETTINGS, "settings", "as opt_einsum.enabled and opt_einsum.strategy say")                                    \
    X(1, AUTO, "auto", "exact where that takes about a millisecond, else greedy in several ways")                      \
    X(2, AUTO_HQ, "auto-hq", "exact where that takes about a second, else parts ordered anew")                         \
    X(3, OPTIMAL, "optimal", "the least cost of all orders, outer products among them")                                \
    X(4, DP, "dp", "the least cost of all orders without outer products of what is connected")                         \
    X(5, BRANCH_ALL, "branch-all", "all pairs that share a label, as deep as they may still win")                      \
    X(6, BRANCH_2, "branch-2", "the two best pairs at each step")                                                      \
    X(7, BRANCH_1, "branch-1", "the best pair at each step")                                                           \
    X(8, GREEDY, "greedy", "the pair that frees the most memory, again and again")                                     \
    X(9, RANDOM_GREEDY, "random-greedy", "greedy in many ways, with chance; random-greedy-N: N trials")                \
    X(10, LEFT_TO_RIGHT, "left-to-right", "the first two operands, then the result and the next")                      \
    X(11, GIVEN, "given", "the caller's own path")

typedef enum bp_path_strategy {
#define X(number, name, text, help) BP_PATH_##name = number,
    BP_PATH_STRATEGY_MAP(X)
#undef X
} bp_path_strategy;

/* What a path costs: number, NAME, text, what is summed over the steps (or of what the largest counts). */
#define BP_PATH_OBJECTIVE_MAP(X)                                                                                       \
    X(0, FLOPS, "flops", "operations")                                                                                 \
    X(1, SIZE, "size", "elements of the largest result; then operations")                                              \
    X(2, WRITE, "write", "elements written")                                                                           \
    X(3, COMBO, "combo", "operations + factor * elements written")                                                     \
    X(4, LIMIT, "limit", "the larger of operations and factor * elements written")

typedef enum bp_path_objective {
#define X(number, name, text, help) BP_MINIMIZE_##name = number,
    BP_PATH_OBJECTIVE_MAP(X)
#undef X
} bp_path_objective;

#define BP_PATH_LARGEST_OPERAND (-1) /* a memory limit: as many elements as the largest operand or the output has */

/* How to search. All zero but struct_size is what the settings say. */
typedef struct bp_einsum_search {
    size_t struct_size;
    bp_path_strategy strategy;
    bp_path_objective objective;
    double factor;        /* of combo and limit; 0: 64 */
    int64_t memory_limit; /* most elements of one intermediate result (not of the output); 0: none */
    int64_t trials;       /* of random-greedy and the automatic strategies; 0: as many as suit */
    double seconds;       /* time after which no trial begins, and exact strategies give up; 0: none. Results depend on
                             the machine's speed then; without it they depend on the arguments and `seed` alone. The
                             usual work of exact and branching strategies is no limit then */
    uint64_t seed;
    bp_dtype dtype;             /* of the elements, for bytes; 0: BP_F64 */
    const int32_t *path;        /* BP_PATH_GIVEN: positions, step after step */
    const int32_t *path_counts; /* how many positions each step has; NULL: two, or one for a single operand. A step of
                                 more is done in pairs, from the left */
    int path_steps;
    int64_t work; /* most units of work of auto-hq, optimal, dp and branch-*; 0: 500 million. A unit takes some
                     nanoseconds. It is counted, so that a search ends at the same place on every machine */
} bp_einsum_search;

/* "random-greedy-128" gives BP_PATH_RANDOM_GREEDY and 128 trials (0 without a number); opt_einsum's other names
 * ("eager", "opportunistic", "dynamic-programming") are understood. "combo-256" gives BP_MINIMIZE_COMBO and 256.
 * Errors: BP_E_BAD_VALUE, which lists the words. */
BP_API bp_status bp_path_strategy_from_name(const char *name, bp_path_strategy *strategy, int64_t *trials);
BP_API bp_status bp_path_objective_from_name(const char *name, bp_path_objective *objective, double *factor);
BP_API const char *bp_path_strategy_name(bp_path_strategy strategy);    /* "?" for a number that is none */
BP_API const char *bp_path_objective_name(bp_path_objective objective); /* "?" for a number that is none */

/* One operand: its shape and, in the sublist form, its labels. */
typedef struct bp_einsum_operand {
    int ndim;
    const int64_t *shape;
    const int32_t *labels; /* sublist form: `label_count` numbers >= 0, or BP_EINSUM_ELLIPSIS once */
    int label_count;
} bp_einsum_operand;

#define BP_EINSUM_ELLIPSIS (-1)
#define BP_EINSUM_IMPLICIT (-1) /* output_count: no output was given */

/* An order of contractions with its costs. Immutable, counted. */
typedef struct bp_contraction_path bp_contraction_path;

/* The path for operands of these shapes; `search` may be NULL. Paths are kept (einsum.path_cache.max_size), so that the
 * same question is answered from memory. */
BP_API bp_status bp_einsum_path(bp_contraction_path **path, const bp_einsum_search *search, const char *expression,
                                int count, const bp_einsum_operand *operands);
BP_API bp_status bp_einsum_path_sublists(bp_contraction_path **path, const bp_einsum_search *search, int count,
                                         const bp_einsum_operand *operands, int output_count, const int32_t *output);

BP_API void bp_contraction_path_release(bp_contraction_path *path); /* NULL is fine */

/* Operations are counted as opt_einsum does: the sizes of all labels of a step multiplied, twice where it also sums.
 * Numbers beyond double's range are infinite; their logarithms are not. */
typedef struct bp_contraction_path_info {
    size_t struct_size;
    int operands;
    int steps;
    int labels;
    const char *strategy; /* what found it: "dp", "greedy", ... */
    int exact;            /* it is known to be the best: without outer products (dp), or of all (optimal) */
    int naive_scaling;    /* labels in all, and in the step that has the most */
    int scaling;
    double naive_flops, naive_flops_log10;
    double flops, flops_log10;
    double speedup;                /* naive / flops */
    double cost, cost_log10;       /* of the objective */
    double largest, largest_log10; /* elements of the largest result, the output among them */
    double written;                /* elements of all results together */
    double peak_bytes; /* most bytes of intermediate results alive at a time, when steps run in this order; operands
                          and output, which are the caller's, are not counted */
    int output_ndim;
    const int64_t *output_shape; /* lives as long as the path */
} bp_contraction_path_info;
BP_API bp_status bp_contraction_path_describe(const bp_contraction_path *path, bp_contraction_path_info *info);

typedef struct bp_contraction_step {
    size_t struct_size;
    int count;              /* operands: 2, or 1 */
    int32_t position[2];    /* in the list of what is left, the lower one first */
    int32_t operand[2];     /* identities, in the order of `position` */
    int32_t result;         /* identity */
    const char *expression; /* "jk,ij->ik": the later position first, as opt_einsum writes it; "" without memory */
    const char *kind;       /* "gemm", "batched gemm", "gemv", "dot", "outer", "elementwise", "sum", "view", ... */
    int scaling;            /* labels */
    double flops;
    double size; /* elements of the result */
} bp_contraction_step;

/* Walks the steps: 1 and *step, or 0 past the end. Texts live as long as the path. */
BP_API int bp_contraction_path_at(const bp_contraction_path *path, int index, bp_contraction_step *step);

/* The expression with letters for the ellipsis; the report; the same as JSON. Made when first asked for, live as long
 * as the path; "" when there is no memory for them. */
BP_API const char *bp_contraction_path_expression(const bp_contraction_path *path);
BP_API const char *bp_contraction_path_text(const bp_contraction_path *path);
BP_API const char *bp_contraction_path_json(const bp_contraction_path *path);

/* ---- Contractions ---- */

/* What is to be computed. All operands and the output have one element type: f16, bf16, f32, f64, c64 or c128 (f16 and
 * bf16 are summed in f32; every result of a step is rounded to the type). Any strides. */
typedef struct bp_einsum_call {
    size_t struct_size;
    const char *expression; /* NULL: the sublist form */
    int count;
    const DLTensor *const *operands;
    const int32_t *const *labels; /* sublist form: of each operand, as bp_einsum_operand has them */
    const int *label_counts;
    int output_count; /* BP_EINSUM_IMPLICIT, or how many labels `output` has */
    const int32_t *output;
    const bp_einsum_search *search; /* NULL: as the settings say; its dtype is not read */
} bp_einsum_call;

/* out = the product of the operands, summed over the labels that the output lacks: bp_einsum("ij,jk->ik", 2, ab, c).
 * The output is the caller's memory, with the shape that bp_einsum_shape() tells; it must not overlap an operand or
 * itself (BP_E_OVERLAP). Steps that are matrix products run on the library that is chosen for each (blas.preferred and
 * the other settings of products hold for them); all other steps, and copies of operands whose layout no product takes,
 * run on our own kernels, so that dispatch.exclude = native refuses expressions that need these. Plans are kept in the
 * plan cache. Memory for intermediate results is kept by the calling thread up to 64 MiB, and given back after the call
 * beyond that. Where it runs short (BP_E_NO_MEMORY), `out` may be partly written.
 *
 * Errors of all four: those of a path (above), BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for
 * its type; a step with more than BP_MAX_CONTRACT_NDIM dimensions that do not merge), BP_E_OVERLAP, BP_E_NO_CANDIDATE,
 * BP_E_FALLBACK, BP_E_NOT_FOUND. */
BP_API bp_status bp_einsum(const char *expression, int count, const DLTensor *const *operands, DLTensor *out);

/* The same for any call, with settings for this call only. `options` may be NULL, here and below. */
BP_API bp_status bp_einsum_run(const bp_options *options, const bp_einsum_call *call, DLTensor *out);

/* The element type and shape that the output needs; `shape` has room for BP_MAX_NDIM. Operands may lack data. */
BP_API bp_status bp_einsum_shape(const bp_einsum_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

/* A plan for bp_execute() with the operands, then the output; and what it does, part for part, with every
 * candidate for each (bp_explanation_part). Data pointers may be NULL for both, and so may `out`: then the output has
 * the layout that costs least, which bp_einsum_plan_output() tells and bp_tensor_empty() makes. Where no
 * candidate takes a part, the explanation is that of this part. A plan describes itself
 * (bp_plan_describe) by the part that takes longest, and by its workspace. */
BP_API bp_status bp_einsum_plan(bp_plan **plan, const bp_options *options, const bp_einsum_call *call,
                                const DLTensor *out);
BP_API bp_status bp_einsum_explain(bp_explanation **explanation, const bp_options *options, const bp_einsum_call *call,
                                   const DLTensor *out);

/* The output that a plan is for; `shape` and `strides` have room for BP_MAX_NDIM. BP_E_ARGUMENT for other plans. */
BP_API bp_status bp_einsum_plan_output(const bp_plan *plan, bp_dtype *dtype, int *ndim, int64_t *shape,
                                       int64_t *strides);

/* What a plan of einsum runs, one after the other: a step of its path is one part, or several where operands or the
 * result are copied. */
typedef struct bp_einsum_part {
    size_t struct_size;
    int step;            /* of the path */
    const char *action;  /* "product", "contraction", "sum", "copy of the first operand", ... */
    int64_t runs;        /* how often: a large copy goes slice by slice, together with the product that it is for */
    const bp_plan *plan; /* lives as long as the whole plan */
} bp_einsum_part;

/* 1 and *part, or 0 past the end, and for plans of other operations. */
BP_API int bp_einsum_part_at(const bp_plan *plan, int index, bp_einsum_part *part);

/* The path of a plan of einsum, which lives as long as the plan; NULL for plans of other operations. */
BP_API const bp_contraction_path *bp_einsum_plan_path(const bp_plan *plan);

/* The paths kept. */
BP_API bp_status bp_einsum_path_cache_stats(bp_plan_cache_info *info);
BP_API bp_status bp_einsum_path_cache_clear(void);

#ifdef __cplusplus
}
#endif
#endif
