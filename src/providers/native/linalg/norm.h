/* norm.h - declares the kernels of matrix norms, and what linalg.c uses of norm.c. */
#ifndef BP_NATIVE_NORM_H
#define BP_NATIVE_NORM_H

#include "backplane/provider.h"

#include <stdbool.h>

/* Sums in double precision with one term for each element. Strides are in elements; stride 1 is the fast path. The
 * order of additions follows from the counts alone. */
typedef struct bp__norm_kernels {
    /* sums[j] = the sum of the moduli of line j. Elements of a line are `step` apart, lines are `next` apart. */
    void (*moduli)(const void *at, int64_t step, int64_t length, int64_t next, int64_t count, double *sums);
    /* Returns the sum of the squared moduli of a line, each element multiplied by `scale` first. */
    double (*squares)(const void *at, int64_t step, int64_t length, double scale);
    /* sums[j] += the sum of the moduli of line j, with all lines advancing together. */
    void (*add_moduli)(const void *at, int64_t step, int64_t length, int64_t next, int64_t count, double *sums);
} bp__norm_kernels;

/* Types from BP_F32 on, in the order of bp_dtype. */
#define BP__NORM_DTYPES 4
extern const bp__norm_kernels bp__norm_default[BP__NORM_DTYPES];
extern const bp__norm_kernels bp__norm_avx2[BP__NORM_DTYPES];
extern const bp__norm_kernels bp__norm_avx512[BP__NORM_DTYPES];

/* Returns whether this norm is a sum of elements, without singular values. */
bool bp__norm_is_sum(const bp_problem *problem);
/* Returns how many threads can work at the same time. */
int64_t bp__norm_shares(const bp_problem *problem);
/* Returns the estimated time on one thread. */
double bp__norm_cost(const bp_host *host, const bp_problem *problem);
bp_status bp__norm_prepare(const bp_host *host, const bp_problem *problem, const bp__norm_kernels *kernels, int threads,
                           bp_prepared **prepared);

#endif
