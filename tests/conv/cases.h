/* cases.h - declares random convolutions with tensors of random layouts, and their results by
 * the reference. */
#ifndef BP_TESTS_CONV_CASES_H
#define BP_TESTS_CONV_CASES_H

#include "support/arrays.h"

/* A convolution with all tensors, and the arrays that its call points to. */
typedef struct conv_case {
    bp_conv_call call;
    bp_dtype dtype;
    int64_t stride[3], dilation[3], padding[3], padding_end[3], output_padding[3];
    test_array input, weight, bias, output;
    char text[256];
} conv_case;

/* What limits random cases. */
typedef struct conv_limits {
    bp_dtype dtype;
    bp_conv_pass pass;
    int most_channels; /* of a group */
    int most_size;
    bool plain;         /* compact tensors only */
    int kernel;         /* 0, or: two dimensions with square kernels of this size, and stride and dilation 1 */
    int most_padding;   /* 0: 3 */
    int input_channels; /* of a group; 0: random */
    int most_groups;    /* 0: 4 */
    int least_kernel;   /* 0: 1 */
    int most_kernel;    /* 0: 5, and 3 for three dimensions */
    bool unit_stride;
    int ndim; /* 0: random */
} conv_limits;

/* Makes a case whose parameters and layouts are random, with values that are small integers if `integers`, otherwise in
 * (-1, 1). The tensors are guarded. */
void conv_make(conv_case *c, const conv_limits *limits, bool integers);
void conv_free(conv_case *c);

/* Returns the results of the pass in f64, compact; `sizes` gets the sums of the products' absolute values if it is not
 * NULL. The bias gradient follows the weight gradient. The caller frees both. */
double *conv_reference(const conv_case *c, double **sizes);

/* Fails the test if a written tensor differs from `expected` by more than bound * sizes (0: at all), or if memory that
 * belongs to no tensor has changed. */
void conv_compare(const conv_case *c, const double *expected, const double *sizes, double bound);

/* Returns what the error bounds of winograd and fft are relative to, for each result: the largest |element| of the
 * image times the sum of the |weights| of the channel, plus |bias|. The pass is not BP_CONV_WEIGHT. The caller frees
 * it. */
double *conv_bounds(conv_case *c);

/* The tensors that the pass writes; NULL if there is no second one. */
void conv_written(conv_case *c, test_array *written[2]);

#endif
