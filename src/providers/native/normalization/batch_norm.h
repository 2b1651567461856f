/* batch_norm.h - declares the parts of batch normalization: grids of elements, kernels and plans.
 *
 * The lanes of a grid are contiguous channels (channels-last), or positions of one channel. Statistics are computed in
 * f64 from the differences to the first value of the channel: of each block of values mean and squared deviations in
 * two passes over the cache, and the results of blocks are merged (Chan, Golub and LeVeque, 1979). Blocks, and the
 * order in which they are merged, depend on the problem only. */
#ifndef BP_NATIVE_BATCH_NORM_H
#define BP_NATIVE_BATCH_NORM_H

#include "providers/native/gemm/choose.h"

#include <float.h>
#include <math.h>

/* count x lanes elements of a tensor: element (i, l) is i * next + l * lane elements behind the first. */
typedef struct bp__batch_norm_grid {
    const char *at;
    int64_t lane, next;
} bp__batch_norm_grid;

/* What is applied to the elements of a channel, in the type of the computation: REAL arrays with one number for each
 * channel. */
typedef enum bp__batch_norm_number {
    BP__BATCH_NORM_CENTER,
    BP__BATCH_NORM_REST, /* what CENTER lost when it was rounded; NULL: nothing */
    BP__BATCH_NORM_SCALE,
    BP__BATCH_NORM_SHIFT,
    BP__BATCH_NORM_FACTOR, /* the inverse deviation, where SCALE has the weight alone; then REST is given. NULL: none */
    BP__BATCH_NORM_SLOPE,  /* of gradients */
    BP__BATCH_NORM_NUMBERS
} bp__batch_norm_number;

/* Kernels of one instruction set for one type. Lanes follow channels if `step` is 1, otherwise (0) all have the same
 * channel. */
typedef struct bp__batch_norm_kernels {
    /* Writes the mean of x - center, and the sum of squared deviations, of the `count` elements of each lane; count is
     * above 0. */
    void (*moments)(int64_t lanes, int64_t count, const bp__batch_norm_grid *x, const double *center, int64_t step,
                    double *mean, double *squares);
    /* Adds y, and y * (x - center), to the sums of each lane. */
    void (*sums)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y, const bp__batch_norm_grid *x,
                 const double *center, int64_t step, double *sum, double *product);
    /* Writes y = (x - center - rest) * factor * scale + shift, or 0 where this is negative if `relu`. */
    void (*apply)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y, const bp__batch_norm_grid *x,
                  const void *const numbers[BP__BATCH_NORM_NUMBERS], int64_t step, bool relu);
    /* Writes g = (y - shift - (x - center) * slope) * scale * factor. */
    void (*gradient)(int64_t lanes, int64_t count, const bp__batch_norm_grid *g, const bp__batch_norm_grid *y,
                     const bp__batch_norm_grid *x, const void *const numbers[BP__BATCH_NORM_NUMBERS], int64_t step);
    double (*load)(const char *from);
    void (*store)(char *to, double value);
    void (*set)(void *numbers, int64_t index, double value); /* rounds to the type of the computation */
    size_t element, number;                                  /* bytes */
} bp__batch_norm_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. */
#define BP__BATCH_NORM_DTYPES 4
extern const bp__batch_norm_kernels bp__batch_norm_default[BP__BATCH_NORM_DTYPES];
extern const bp__batch_norm_kernels bp__batch_norm_avx2[BP__BATCH_NORM_DTYPES];
extern const bp__batch_norm_kernels bp__batch_norm_avx512[BP__BATCH_NORM_DTYPES];

/* Kernels of the tensors, and of those with one element for each channel. */
typedef struct bp__batch_norm_set {
    const bp__batch_norm_kernels *images, *parameters;
} bp__batch_norm_set;

/* Mean and sum of squared deviations of `count` values. */
typedef struct bp__batch_norm_moments {
    double count, mean, squares;
} bp__batch_norm_moments;

static inline void bp__batch_norm_merge(bp__batch_norm_moments *all, bp__batch_norm_moments more) {
    const double count = all->count + more.count, distance = more.mean - all->mean;
    if (more.count > 0) {
        all->mean += distance * (more.count / count);
        all->squares += more.squares + distance * distance * (all->count / count) * more.count;
        all->count = count;
    }
}

/* Returns what the type of the computation loses of a mean, which is the sum of center and rest. */
static inline double bp__batch_norm_rest(const bp__batch_norm_kernels *kernels, double center, double rest) {
    const double mean = center + rest, high = kernels->number == sizeof(float) ? (double)(float)mean : mean;
    const double lost = (center - high) + rest;
    return isfinite(lost) ? lost : 0;
}

/* Returns whether the type of the computation has a scale as a normal number. If not, its two factors are applied one
 * after the other. */
static inline bool bp__batch_norm_has_scale(const bp__batch_norm_kernels *kernels, double scale) {
    const bool single = kernels->number == sizeof(float);
    const double size = fabs(scale);
    return scale == 0 || isnan(scale) ||
           (size >= (single ? (double)FLT_MIN : DBL_MIN) && size <= (single ? (double)FLT_MAX : DBL_MAX));
}

/* Whether lanes follow the channels, which are several and contiguous in all tensors. */
bool bp__batch_norm_by_channels(const bp_problem *problem);

bp_status bp__batch_norm_plan(const bp_host *host, const bp_problem *problem, const bp__batch_norm_set *set,
                              int threads, bp_prepared **prepared);

#endif
