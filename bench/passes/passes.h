/* passes.h - declares what the files of the benchmark of passes share. */
#ifndef BP_BENCH_PASSES_H
#define BP_BENCH_PASSES_H

#include "backplane.h"

#include <stdbool.h>

typedef enum pass { CONVOLUTION, TRANSPOSED, INPUT_GRADIENT, WEIGHT_GRADIENT, AVERAGE, AVERAGE_GRADIENT, MAXIMUM } pass;

/* A layer of a network and what is computed of it, with cubes or squares for images and kernels. The channels and the
 * size are the size of the input of the forward pass. */
typedef struct layer {
    const char *name;
    pass pass;
    int ndim, in_channels, out_channels, size, kernel, stride, padding, groups;
} layer;

static inline bool is_pooling(const layer *l) {
    return l->pass >= AVERAGE;
}

static inline int layer_out(const layer *l) {
    return l->pass == TRANSPOSED ? (l->size - 1) * l->stride - 2 * l->padding + l->kernel
                                 : (l->size + 2 * l->padding - l->kernel) / l->stride + 1;
}

/* oneDNN, called directly with channels-last images, and weights in its own layout (direct.c). */
typedef struct direct direct;
int direct_open(const char *path, int threads); /* returns 0 if the library cannot be loaded */
/* Returns NULL if the library does not offer the pass. */
direct *direct_new(const layer *l, int batch, float *input, float *output);
void direct_run(void *made);
void direct_free(direct *made);

/* im2col and matrix products (columns.c), for all passes but pooling. */
typedef struct columns columns;
/* Returns NULL without memory. The options must outlive it. */
columns *columns_new(const layer *l, int batch, const bp_options *options, float *input, float *output);
void columns_run(void *made);
void columns_free(columns *made);

#endif
