/* small.h - between the files of native linear algebra: plans, and the group of items that one run of kernels takes. */
#ifndef BP_NATIVE_SMALL_H
#define BP_NATIVE_SMALL_H

#include "interleaved.h"

#include <stdatomic.h>

typedef struct bp__small_plan {
    bp_prepared base; /* first, so that both have one address */
    const bp_host *host;
    const bp__interleaved_kernels *kernels;
    int threads;
    int64_t chunk;             /* groups that are drawn at a time */
    int width;                 /* columns of B that are in cells at a time */
    int factor_row, right_row; /* cells from row to row of A, and of the cells beside it */
    int third_row;             /* of the third matrix, where there is one */
    size_t factor;             /* bytes of A's cells */
    size_t right;              /* bytes of the cells beside them */
    size_t third;              /* bytes of the third matrix */
    size_t scratch;            /* bytes of each thread */
    int info;                  /* which operand is info, or -1 where there is none */
    int tries;                 /* iterations that one eigenvalue or singular value may take */
    bool single;               /* parts of elements are f32 */
    bool stepped;              /* the batch has one dimension at most, with these bytes from item to item */
    int64_t step[BP_LINALG_OPERANDS];
    bp_problem problem;
} bp__small_plan;

/* What is done with one group. */
typedef struct bp__small_group bp__small_group;
typedef void (*bp__small_step)(bp__small_group *group);

/* As many items of the batch as there are lanes, or the rest of them: then the last item fills the other lanes. */
struct bp__small_group {
    const bp__small_plan *plan;
    const bp_linalg_problem *l;
    bp__small_step step;
    int items;
    char *at[BP_LINALG_OPERANDS][BP__MAX_LANES];
    char *a, *b, *c; /* scratch: A's cells, those beside them, and a third matrix */
    union {
        char *inverses; /* scratch: those of a diagonal ... */
        char *values;   /* ... or eigenvalues, singular values */
    };
    int32_t pivots[BP__SMALL_MOST * BP__MAX_LANES]; /* from 0 */
    int32_t order[BP__SMALL_MOST * BP__MAX_LANES];  /* where the exchanges take each row from */
    int32_t info[BP__MAX_LANES];
    unsigned wrong;  /* lanes with NaN or infinity in what was read */
    unsigned astray; /* lanes with a pivot outside the matrix */
};

/* steps.c. NULL: the operation is not offered. */
bp__small_step bp__small_step_of(bp_op op);
int bp__small_inputs(bp_op op); /* how many operands are inputs */
int bp__small_info(bp_op op);   /* which operand is info, or -1 */
bool bp__small_fails(bp_op op); /* whether an item that has no answer fails a checked call */

/* What cells a step needs: for A, for a matrix as high beside it, and for a square third one. */
typedef struct bp__small_sizes {
    int rows, columns, width, third;
} bp__small_sizes;
bp__small_sizes bp__small_sizes_of(const bp_problem *problem);

/* A matrix in memory: its lanes and strides in bytes. */
typedef struct bp__small_view {
    char *const *memory;
    int64_t row, column;
} bp__small_view;

bp__small_view bp__small_view_of(const bp__small_group *group, int operand);
bp__small_view bp__small_transposed(bp__small_view view);
/* A matrix in memory, and its cells: those of A, or those beside. */
bp__interleaved_copy bp__small_whole(const bp__small_group *group, bp__small_view view, char *elements, int rows,
                                     int columns);
/* Loads all, and looks for NaN and infinity in what counts. */
void bp__small_load(bp__small_group *group, const bp__interleaved_copy *copy, bp__interleaved_shape shape);
/* One triangle, as the lower one: an upper one is read as the lower one of the transposed matrix, into the place that
 * `natural` says: where it was, or where the transposed matrix has it. */
void bp__small_load_triangle(bp__small_group *group, int operand, bp__interleaved_shape shape, bool natural);

/* spectra.c: eigenvalues, singular values, and what is made of these. */
void bp__small_eigh(bp__small_group *group);
void bp__small_svd(bp__small_group *group);
void bp__small_matrix_rank(bp__small_group *group);
void bp__small_norm(bp__small_group *group);
void bp__small_cond(bp__small_group *group);
void bp__small_pinv(bp__small_group *group);
/* Whether a norm, or a condition number, is one of singular values by their order alone. */
bool bp__small_is_spectral(const bp_linalg_problem *problem);

/* items.c: addresses of an item's operands, and values for whole operands of an item. */
void bp__item_locate(const bp_linalg_problem *l, void *const *operands, int64_t item, char **at);
/* Every element of an operand that is there: `diagonal` where the row is the column, elsewhere `other`. */
void bp__item_fill(const bp_linalg_operand *operand, char *at, double diagonal, double other);
/* What the rule of non-finite input says of an item's outputs. */
void bp__item_fill_nan(const bp_problem *problem, int inputs, int info, char *const *at);

/* A plan for a batch of small matrices (batch.c). */
bp_status bp__small_prepare(const bp_host *host, const bp_problem *problem, const bp__interleaved_kernels *kernels,
                            int threads, bp_prepared **prepared);

/* One item after the other, without lanes: what has nothing to compute (empty.c). */
bp_status bp__empty_prepare(const bp_host *host, const bp_problem *problem, bp_prepared **prepared);

/* det.c: the determinant of each lane's matrix from its LU, as one number or as sign and logarithm. */
void bp__small_det(bp__small_group *group);
void bp__small_slogdet(bp__small_group *group);

/* Estimated time of the whole batch on one thread (cost.c). */
double bp__small_cost(const bp_problem *problem, const bp__interleaved_kernels *kernels);

#endif
