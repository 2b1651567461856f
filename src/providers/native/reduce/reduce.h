/* reduce.h - declares the parts of reductions and softmax: pieces of elements, kernels, walks and plans.
 *
 * The lanes of a piece are columns, if the elements to be joined are further apart than elements of different results;
 * otherwise they are LANES neighbours of one row, whose results are joined at the end. Pieces, and the order in which
 * their results are joined, depend on the problem only. */
#ifndef BP_NATIVE_REDUCE_H
#define BP_NATIVE_REDUCE_H

#include "providers/least.h"
#include "providers/native/stop.h"

enum {
    BP__REDUCE_LANES = 64,           /* of a piece of one row */
    BP__REDUCE_WIDE = 1024,          /* columns of a piece of a reduction, at most */
    BP__REDUCE_WIDE_POSITIONS = 512, /* of one that gives positions */
    BP__REDUCE_WIDE_MOMENTS = 192,   /* of one that gives variances */
    BP__REDUCE_CHUNK = 256,          /* columns of a piece of softmax, at most */
    BP__REDUCE_COUNT = 128           /* elements of a lane in one piece, at most */
};

/* lanes x count elements of up to three operands: element (l, i) is l * lane + i * next elements behind the first. */
typedef struct bp__reduce_piece {
    int64_t lanes, count;
    char *at[3];
    int64_t lane[3], next[3];
    int64_t index, index_lane, index_next; /* of the elements, for positions */
} bp__reduce_piece;

/* What is known of some elements for their variance: how many they are, their mean as a difference to the first of
 * them, in two numbers, and the sum of the squared deviations from it. */
typedef struct bp__reduce_moments {
    double count, shift, mean, low, square;
} bp__reduce_moments;

/* Kernels of one kind of reduction for one type. Each lane has a value, of `value` bytes, and an index. */
typedef struct bp__reduce_kernels {
    void (*clear)(int64_t lanes, void *values, int64_t *indices);
    void (*add)(const bp__reduce_piece *piece, void *values, int64_t *indices);
    /* The same where lanes are rows, and the elements of each are neighbours (next[0] is 1). */
    void (*add_rows)(const bp__reduce_piece *piece, void *values, int64_t *indices);
    /* Joins other values to the values of the lanes. */
    void (*merge)(int64_t lanes, void *values, int64_t *indices, const void *others, const int64_t *other_indices);
    /* Writes the results: `divisor` of means and variances. */
    void (*store)(int64_t lanes, const void *values, const int64_t *indices, char *to, int64_t stride, bool i64,
                  double divisor);
    size_t value, element;
} bp__reduce_kernels;

/* Kernels of softmax for one type. `centers` and `scales` have the type of the computation, whose greatest elements
 * MAX gives; sums are f64. */
typedef struct bp__softmax_kernels {
    /* Adds exp(x - center). With `keep`, writes the exponentials to y, which has the type of the computation. */
    void (*exps)(const bp__reduce_piece *piece, const void *centers, double *sums, bool keep);
    /* Writes y = y * scale. */
    void (*scale)(const bp__reduce_piece *piece, const void *centers, const void *scales);
    void (*softmax)(const bp__reduce_piece *piece, const void *centers, const void *scales);
    void (*log_softmax)(const bp__reduce_piece *piece, const void *centers, const void *scales);
    /* Add y * d, or d, where x of the piece is y, and y is d. */
    void (*products)(const bp__reduce_piece *piece, double *sums);
    void (*sums)(const bp__reduce_piece *piece, double *sums);
    void (*gradient)(const bp__reduce_piece *piece, const void *centers, const void *scales);
    void (*log_gradient)(const bp__reduce_piece *piece, const void *centers, const void *scales);
    /* Softmax and its gradients of whole rows of neighbours: lanes are rows, and `next` is 1. */
    void (*rows)(const bp__reduce_piece *piece, bool logarithm);
    void (*gradient_rows)(const bp__reduce_piece *piece, bool logarithm);
    void (*set)(void *numbers, int64_t index, double value); /* rounds to the type of the computation */
    size_t number, element;
} bp__softmax_kernels;

#define BP__REDUCE_VARIANCE (BP_REDUCE_ALL + 1) /* the kinds of variances follow the reductions */
#define BP__REDUCE_KINDS (BP__REDUCE_VARIANCE + 2)
#define BP__REDUCE_DTYPES 7 /* f16, bf16, f32, f64, i32, i64, bool */
#define BP__SOFTMAX_DTYPES 4
typedef struct bp__reduce_set {
    bp__reduce_kernels reduce[BP__REDUCE_DTYPES][BP__REDUCE_KINDS];
    bp__softmax_kernels softmax[BP__SOFTMAX_DTYPES];
} bp__reduce_set;
extern const bp__reduce_set bp__reduce_default, bp__reduce_avx2, bp__reduce_avx512;

/* Returns the index of a type in the table; -1: there is none. */
static inline int bp__reduce_type(uint32_t dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64 ? (int)dtype - BP_F16
           : dtype == BP_I32                  ? 4
           : dtype == BP_I64                  ? 5
           : dtype == BP_BOOL                 ? 6
                                              : -1;
}

/* Whether the problem is a reduction, not softmax. */
static inline bool bp__reduce_joins(const bp_problem *problem) {
    return problem->op == BP_OP_REDUCE || problem->op == BP_OP_VARIANCE;
}

static inline bool bp__reduce_is_position(const bp_problem *problem) {
    const uint32_t kind = problem->of.reduce.kind;
    return problem->op == BP_OP_REDUCE && (kind == BP_REDUCE_ARGMAX || kind == BP_REDUCE_ARGMIN);
}

/* Returns the kernels of a reduction; NULL: there are none for its type. */
static inline const bp__reduce_kernels *bp__reduce_kernels_of(const bp__reduce_set *set, const bp_problem *problem) {
    const int type = bp__reduce_type(problem->dtype);
    const uint32_t kind = problem->of.reduce.kind + (problem->op == BP_OP_VARIANCE ? BP__REDUCE_VARIANCE : 0);
    return type >= 0 && set->reduce[type][kind].add ? &set->reduce[type][kind] : NULL;
}

/* ---- walk.c: how a problem is cut ----
 *
 * An item is a chunk of columns, or one result of a row. Its reduced elements are blocks: up to `block` positions of
 * the last reduced dimension. Parts of `part` blocks are units of work for threads. */
typedef struct bp__reduce_cut {
    bool columns;          /* lanes are columns of an item */
    bool rows;             /* columns; each is a row of neighbours in memory, or in a copy */
    int64_t fold;          /* rows of few neighbouring columns, which lie without gaps, that are lanes together; 1 */
    int64_t chunk, chunks; /* columns of an item; items of the last kept dimension */
    int64_t items, blocks, row_blocks, block;
    int64_t part, parts;
    int64_t reduced; /* number of elements that are joined to one */
    int64_t results; /* number of results */
    int64_t grain;   /* items of a unit */
    bool staged;     /* rows of softmax are copied to compact memory, whose rows are `leading` elements apart */
    int64_t leading;
    size_t element, output; /* bytes */
} bp__reduce_cut;

void bp__reduce_cut_make(bp__reduce_cut *cut, const bp_problem *problem);

typedef struct bp__reduce_item {
    int64_t lanes;     /* columns of the item; 1 */
    int64_t result;    /* number of the first result */
    int64_t offset[3]; /* of the first element of each operand, in elements */
} bp__reduce_item;

bp__reduce_item bp__reduce_item_at(const bp_reduce_problem *p, const bp__reduce_cut *cut, int64_t index);

/* Calls `add` for each piece of a part of an item. Returns early if the call is stopped. */
typedef void (*bp__reduce_visit)(void *context, const bp__reduce_piece *piece);
void bp__reduce_walk(const bp_reduce_problem *p, const bp__reduce_cut *cut, const bp__reduce_item *item, int64_t part,
                     char *const base[3], bp__stop *stop, bp__reduce_visit add, void *context);

/* ---- run.c, softmax.c ---- */
bp_status bp__reduce_plan(const bp_host *host, const bp_problem *problem, const bp__reduce_set *set, int threads,
                          bp_prepared **prepared);
bp_status bp__softmax_plan(const bp_host *host, const bp_problem *problem, const bp__reduce_set *set, int threads,
                           bp_prepared **prepared);

#endif
