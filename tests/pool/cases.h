/* cases.h - declares random pooling calls with tensors of random layouts, and comparisons with the
 * reference. */
#ifndef BP_TESTS_POOL_CASES_H
#define BP_TESTS_POOL_CASES_H

#include "support/arrays.h"

typedef struct pool_case {
    bp_pool_call call;
    bp_dtype dtype;
    int64_t kernel[3], stride[3], dilation[3], padding[3], output_size[3];
    test_array input, output, indices;
    char text[256];
} pool_case;

/* Makes the tensors of a forward call whose parameters are set, with an input of whole numbers. Returns false if there
 * is no such call. */
bool pool_fill(pool_case *c, int ndim, const int64_t *shape, test_layout layout, bool indices);
/* Makes a forward call with an input of whole numbers, and some NaN and infinities if `wild`. */
void pool_begin(pool_case *c, bp_dtype dtype, bp_pool_kind kind, bool wild);
/* Turns a forward call into one for the gradient, of random whole numbers. */
void pool_turn(pool_case *c);
void pool_end(pool_case *c);

/* Compare the written tensors with the reference; the test fails if they differ, or if the memory between their
 * elements was written. */
void pool_compare_output(const pool_case *c);
void pool_compare_gradient(const pool_case *c);

#endif
