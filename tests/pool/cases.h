/* cases.h - declares random pooling calls with tensors of random layouts, and comparisons with the
 * reference. */
#ifndef BP_TESTS_POOL_CASES_H
#define BP_TESTS_POOL_CASES_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

/* A tensor, with memory between its elements. */
typedef struct pool_tensor {
    bp_view view;
    bp_dtype dtype;
    char *memory;
    int64_t all; /* elements of the memory */
    unsigned char *used;
} pool_tensor;

typedef struct pool_case {
    bp_pool_call call;
    bp_dtype dtype;
    int64_t kernel[3], stride[3], dilation[3], padding[3], output_size[3];
    pool_tensor input, output, indices;
    char text[256];
} pool_case;

extern uint64_t pool_random_state;
int64_t pool_between(int64_t low, int64_t high);

/* Makes a tensor of a random layout: compact, channels-last, with gaps, or with dimensions in another order. */
void pool_make(pool_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape);
/* The same with a certain layout. */
typedef enum pool_layout { POOL_COMPACT, POOL_CHANNELS_LAST, POOL_GAPS, POOL_REVERSED, POOL_LAYOUTS } pool_layout;
void pool_make_layout(pool_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, pool_layout layout);
/* Gives all of its memory the value that comparisons look for between the elements. */
void pool_mark(pool_tensor *t);
void pool_put(bp_dtype dtype, char *to, double value);
/* Element `index` of the compact order. */
char *pool_element(const pool_tensor *t, int64_t index);
double pool_get(const pool_tensor *t, int64_t index);
int64_t pool_elements(const pool_tensor *t);

/* Makes the tensors of a forward call whose parameters are set, with an input of whole numbers. Returns false if there
 * is no such call. */
bool pool_fill(pool_case *c, int ndim, const int64_t *shape, pool_layout layout, bool indices);
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
