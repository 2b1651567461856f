/* conv.h - declares what the files of the convolution benchmark share. */
#ifndef BP_BENCH_CONV_H
#define BP_BENCH_CONV_H

#include "backplane.h"

/* A layer of a network: square images, square kernels, padding of half the kernel. */
typedef struct layer {
    const char *network;
    int count; /* layers of the network with these sizes */
    int in_channels, out_channels, size, kernel, stride, groups;
} layer;

extern const layer layers[];
extern const int layer_count;

static inline int layer_out(const layer *l) {
    return (l->size + 2 * (l->kernel / 2) - l->kernel) / l->stride + 1;
}

/* oneDNN, called directly with channels-last images and a weight in its own layout (direct.c). */
typedef struct direct direct;
int direct_open(const char *path, int threads); /* returns 0 if the library cannot be loaded */
direct *direct_new(const layer *l, int batch, const float *input, const float *weight, float *output);
void direct_run(void *made);
void direct_free(direct *made);

#endif
