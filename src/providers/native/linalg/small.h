/* small.h - declares plans for batches of small matrices, and the group of items that the kernels process at once. */
#ifndef BP_NATIVE_SMALL_H
#define BP_NATIVE_SMALL_H

#include "interleaved.h"

#include <stdatomic.h>

typedef struct bp__small_plan {
    bp_prepared base; /* must be first, so that both structs have the same address */
    const bp_host *host;
    const bp__interleaved_kernels *kernels;
    int threads;
    int64_t chunk;             /* groups that a thread takes at a time */
    int width;                 /* columns of B that are loaded at a time */
    int factor_row, right_row; /* row strides of A and of B, in vector elements */
    int third_row;             /* row stride of the third matrix, if there is one */
    size_t factor;             /* bytes of A */
    size_t right;              /* bytes of B */
    size_t third;              /* bytes of the third matrix */
    size_t scratch;            /* bytes for each thread */
    int info;                  /* index of the operand info, or -1 */
    int tries;                 /* limit of iterations for one eigenvalue or singular value */
    bool single;               /* real and imaginary parts are f32 */
    bool stepped;              /* the batch has at most one dimension; step[i] is the stride of operand i in bytes */
    int64_t step[BP_LINALG_OPERANDS];
    bp_problem problem;
} bp__small_plan;

/* Computes the operation for one group. */
typedef struct bp__small_group bp__small_group;
typedef void (*bp__small_step)(bp__small_group *group);

/* One item of the batch for each lane. In the last group the last item is repeated in the remaining lanes. */
struct bp__small_group {
    const bp__small_plan *plan;
    const bp_linalg_problem *l;
    bp__small_step step;
    int items;
    char *at[BP_LINALG_OPERANDS][BP__MAX_LANES];
    char *a, *b, *c; /* scratch: the interleaved matrices A, B, and a third one */
    char *work;      /* scratch of the kernels eigh and svd */
    union {
        char *inverses; /* scratch: inverses of a diagonal ... */
        char *values;   /* ... or eigenvalues or singular values */
    };
    int16_t pivots[BP__SMALL_MOST * BP__MAX_LANES]; /* from 0 */
    int16_t order[BP__SMALL_MOST * BP__MAX_LANES];  /* source row of each row after the exchanges */
    int32_t info[BP__MAX_LANES];
    unsigned wrong;  /* lanes with NaN or infinity in an input */
};

/* ---- steps.c ---- Returns the step of an operation; NULL: the operation is not offered. */
bp__small_step bp__small_step_of(bp_op op);
int bp__small_inputs(bp_op op); /* number of operands that are inputs */
int bp__small_info(bp_op op);   /* index of the operand info, or -1 */
bool bp__small_fails(bp_op op); /* whether an item without a result is an error for a call that checks items */

/* Sizes of the interleaved matrices that a step needs: A is rows x columns, B is rows x width, and the third is square.
 */
typedef struct bp__small_sizes {
    int rows, columns, width, third;
} bp__small_sizes;
bp__small_sizes bp__small_sizes_of(const bp_problem *problem);

/* A matrix of each lane in memory. Strides are in bytes. */
typedef struct bp__small_view {
    char *const *memory;
    int64_t row, column;
} bp__small_view;

bp__small_view bp__small_view_of(const bp__small_group *group, int operand);
bp__small_view bp__small_transposed(bp__small_view view);
/* Describes the copy between a matrix in memory and an interleaved one, which must be g->a or g->b. */
bp__interleaved_copy bp__small_whole(const bp__small_group *group, bp__small_view view, char *elements, int rows,
                                     int columns);
/* Loads the matrix and records the lanes that contain NaN or infinity in the elements of `shape`. */
void bp__small_load(bp__small_group *group, const bp__interleaved_copy *copy, bp__interleaved_shape shape);
/* Loads one triangle as a lower one. An upper triangle is read as the lower triangle of the transposed matrix.
 * `natural`: its elements keep their positions; otherwise they are stored transposed. */
void bp__small_load_triangle(bp__small_group *group, int operand, bp__interleaved_shape shape, bool natural);

/* ---- spectra.c ---- Operations on eigenvalues and singular values. */
void bp__small_eigh(bp__small_group *group);
void bp__small_svd(bp__small_group *group);
void bp__small_matrix_rank(bp__small_group *group);
void bp__small_norm(bp__small_group *group);
void bp__small_cond(bp__small_group *group);
void bp__small_pinv(bp__small_group *group);
/* Returns whether a norm or condition number is of order 2 or -2, which needs singular values. */
bool bp__small_is_spectral(const bp_linalg_problem *problem);

/* ---- items.c ---- Sets at[i] to the address of operand i of one item; NULL: there is no such operand. */
void bp__item_locate(const bp_linalg_problem *l, void *const *operands, int64_t item, char **at);
/* Fills all elements of an operand, if there is one: `diagonal` if the row equals the column, otherwise `other`. */
void bp__item_fill(const bp_linalg_operand *operand, char *at, double diagonal, double other);
/* Fills an item's outputs with NaN, or 0 for integers; info becomes BP_INFO_NON_FINITE. */
void bp__item_fill_nan(const bp_problem *problem, int inputs, int info, char *const *at);

/* ---- batch.c ---- Makes a plan for a batch of small matrices. */
bp_status bp__small_prepare(const bp_host *host, const bp_problem *problem, const bp__interleaved_kernels *kernels,
                            int threads, bp_prepared **prepared);

/* ---- empty.c ---- Makes a plan for a problem in which nothing is computed; items run one after another. */
bp_status bp__empty_prepare(const bp_host *host, const bp_problem *problem, bp_prepared **prepared);

/* ---- det.c ---- Determinant of each lane's matrix from its LU factors, as one number or as sign and logarithm. */
void bp__small_det(bp__small_group *group);
void bp__small_slogdet(bp__small_group *group);

/* ---- cost.c ---- Returns the estimated time of the whole batch on one thread. */
double bp__small_cost(const bp_problem *problem, const bp__interleaved_kernels *kernels);

#endif
