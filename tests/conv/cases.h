/* cases.h - declares random convolutions with tensors of random layouts, and their results by
 * the reference. */
#ifndef BP_TESTS_CONV_CASES_H
#define BP_TESTS_CONV_CASES_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

/* The memory of a tensor, which has elements that the tensor does not. */
typedef struct conv_tensor {
    bp_view view;
    char *memory;
    size_t bytes;
    unsigned char *used; /* for each element of the memory: whether it belongs to the tensor */
} conv_tensor;

/* A convolution with all tensors, and the arrays that its call points to. */
typedef struct conv_case {
    bp_conv_call call;
    bp_dtype dtype;
    int64_t stride[3], dilation[3], padding[3], padding_end[3], output_padding[3];
    conv_tensor input, weight, bias, output;
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

uint64_t conv_random(uint64_t *state);

/* Makes a case whose parameters and layouts are random, with values that are small integers if `integers`, otherwise in
 * (-1, 1). Written tensors have the value 77 everywhere. */
void conv_make(conv_case *c, uint64_t *state, const conv_limits *limits, bool integers);
void conv_free(conv_case *c);

/* Makes a tensor with the same view and contents. */
void conv_copy(conv_tensor *to, const conv_tensor *from);
void conv_free_tensor(conv_tensor *t);

/* Element `index` of the compact order. */
double conv_get(const conv_tensor *t, int64_t index);
void conv_set(conv_tensor *t, int64_t index, double value);
int64_t conv_elements(const conv_tensor *t);

/* Rounds a value to a type. */
double conv_rounded(bp_dtype dtype, double value);

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
void conv_written(conv_case *c, conv_tensor *written[2]);

#endif
