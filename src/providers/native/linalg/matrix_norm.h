/* matrix_norm.h - between the files of matrix norms: what a set of kernels offers, and what linalg.c calls. */
#ifndef BP_NATIVE_MATRIX_NORM_H
#define BP_NATIVE_MATRIX_NORM_H

#include "backplane/provider.h"

#include <stdbool.h>

/* Sums in double precision with one term for each element. Strides are in elements; stride 1 is the fast path. The
 * order of additions follows from the counts alone. */
typedef struct bp__matrix_norm_kernels {
    /* sums[j] = the sum of the moduli of line j. Elements of a line are `step` apart, lines are `next` apart. */
    void (*moduli)(const void *at, int64_t step, int64_t length, int64_t next, int64_t count, double *sums);
    /* Returns the sum of the squared moduli of a line, each element multiplied by `scale` first. */
    double (*squares)(const void *at, int64_t step, int64_t length, double scale);
    /* sums[j] += the sum of the moduli of line j, with all lines advancing together. */
    void (*add_moduli)(const void *at, int64_t step, int64_t length, int64_t next, int64_t count, double *sums);
} bp__matrix_norm_kernels;

/* Types from BP_F32 on, in the order of bp_dtype. */
#define BP__MATRIX_NORM_DTYPES 4
extern const bp__matrix_norm_kernels bp__matrix_norm_default[BP__MATRIX_NORM_DTYPES];
extern const bp__matrix_norm_kernels bp__matrix_norm_avx2[BP__MATRIX_NORM_DTYPES];
extern const bp__matrix_norm_kernels bp__matrix_norm_avx512[BP__MATRIX_NORM_DTYPES];

/* How elements are reduced: the largest or smallest sum of a line, or one number for all of them. */
typedef enum bp__matrix_norm_kind {
    BP__NORM_LINES,
    BP__NORM_SQUARES,
    BP__NORM_MODULI,
    BP__NORM_LARGEST,
    BP__NORM_SMALLEST,
    BP__NORM_NONZERO, /* how many differ from 0 */
    BP__NORM_POWERS   /* the sum of (modulus / unit) ^ order */
} bp__matrix_norm_kind;

typedef struct bp__matrix_norm_line {
    const void *at;
    int64_t step, length; /* elements */
    double order, unit;
} bp__matrix_norm_line;

/* Reduces a line by one of the last four kinds (matrix_norm_reduce.c). NaN among the moduli gives NaN, but for NONZERO,
 * which counts it. */
double bp__matrix_norm_reduce(bp__matrix_norm_kind kind, bp_dtype dtype, const bp__matrix_norm_line *line);

/* Adds one element of each of `count` vectors, which are `next` apart, to what they have so far: SQUARES or one of the
 * kinds of bp__matrix_norm_reduce() but POWERS. */
void bp__matrix_norm_join(bp__matrix_norm_kind kind, bp_dtype dtype, const void *at, int64_t next, int64_t count,
                          double *so_far);

/* Whether sums of elements give this norm, and no singular values. */
bool bp__matrix_norm_is_sum(const bp_problem *problem);
/* Returns how many threads can work at the same time. */
int64_t bp__matrix_norm_shares(const bp_problem *problem);
/* Returns the estimated time on one thread. */
double bp__matrix_norm_cost(const bp_host *host, const bp_problem *problem);
bp_status bp__matrix_norm_prepare(const bp_host *host, const bp_problem *problem,
                                  const bp__matrix_norm_kernels *kernels, int threads, bp_prepared **prepared);

#endif
