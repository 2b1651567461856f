/* layer.h - declares the kernels and plans of layer, RMS and group normalization.
 *
 * A segment is the elements of a row along its last dimension. Its weights are neighbours, or one for all. */
#ifndef BP_NATIVE_LAYER_H
#define BP_NATIVE_LAYER_H

#include "backplane/provider.h"

#include <stdbool.h>

/* A strided sequence. */
typedef struct bp__layer_vector {
    char *at;
    int64_t stride; /* in elements */
} bp__layer_vector;

/* What is applied to the elements of a segment. The arrays have numbers in the type of the computation, `step` apart:
 * 1, or 0 if all elements have the same. */
typedef struct bp__layer_numbers {
    const void *weights, *biases;
    int step;
    double mean[2], inverse_std; /* the mean is a sum, so that its rounding does not change deviations */
    double share, slope;         /* of the gradient: means of d, and of d x times inverse_std */
} bp__layer_numbers;

/* Rows that are computed in the lanes of vectors, for kernels that read whole vectors. */
#define BP__LAYER_LANES 64
typedef struct bp__layer_columns {
    double first[BP__LAYER_LANES], second[BP__LAYER_LANES]; /* the mean of each row is their sum */
    double inverse_std[BP__LAYER_LANES];
} bp__layer_columns;

/* Kernels of one instruction set for one type. */
typedef struct bp__layer_kernels {
    /* Writes the mean of x - center, and the sum of squared deviations from the mean; if not `centered`, 0 and the sum
     * of squares. */
    void (*moments)(int64_t n, bp__layer_vector x, double center, bool centered, double *mean, double *squares);
    /* Writes y = (x - mean) inverse_std weight + bias. */
    void (*apply)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers);
    /* Add the sums of d = y weight, and of d (x - mean). */
    void (*sums)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers, double sums[2]);
    /* Writes g = (y weight - share - (x - mean) slope) inverse_std. */
    void (*gradient)(int64_t n, bp__layer_vector g, bp__layer_vector y, bp__layer_vector x,
                     const bp__layer_numbers *numbers);
    /* Add y (x - mean) inverse_std and y to the sums of each element. */
    void (*weigh)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers, double *products,
                  double *sums);
    /* For up to BP__LAYER_LANES rows whose elements are neighbours: the sums of x - first, and of the squares of
     * (x - first) - second; and apply. Sums are written, and the stride of a vector is that between elements of a row.
     */
    void (*column_sums)(int64_t lanes, int64_t n, bp__layer_vector x, const bp__layer_columns *columns, double *sums);
    void (*column_squares)(int64_t lanes, int64_t n, bp__layer_vector x, const bp__layer_columns *columns,
                           double *sums);
    void (*column_apply)(int64_t lanes, int64_t n, bp__layer_vector y, bp__layer_vector x,
                         const bp__layer_columns *columns, const bp__layer_numbers *numbers);
    /* Converts n elements to numbers, and from f64. */
    void (*widen)(int64_t n, bp__layer_vector x, void *to);
    void (*fill)(int64_t n, double value, void *to);
    void (*narrow)(int64_t n, const double *from, bp__layer_vector to);
    double (*load)(const char *from);
    void (*store)(char *to, double value);
    size_t element, number; /* bytes */
} bp__layer_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. The numbers of weights have the type of the computation of the input,
 * which is also the computation's type for the weights. */
#define BP__LAYER_DTYPES 4
extern const bp__layer_kernels bp__layer_default[BP__LAYER_DTYPES];
extern const bp__layer_kernels bp__layer_avx2[BP__LAYER_DTYPES];
extern const bp__layer_kernels bp__layer_avx512[BP__LAYER_DTYPES];

typedef struct bp__layer_set {
    const bp__layer_kernels *images, *parameters;
    const struct bp__batch_norm_kernels *channels; /* of the images' type */
} bp__layer_set;

/* Returns whether the lanes of vectors are channels: the problem is group normalization of images whose channels are
 * the last ones in memory. */
bool bp__layer_by_channels(const bp_problem *problem);
/* Returns how many parts such a problem has, which threads share. */
int64_t bp__layer_channel_parts(const bp_problem *problem);

bp_status bp__layer_plan(const bp_host *host, const bp_problem *problem, const bp__layer_set *set, int threads,
                         bp_prepared **prepared);

#endif
