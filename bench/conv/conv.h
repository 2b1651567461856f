/* conv.h - declares what the files of the convolution benchmark share. */
#ifndef BP_BENCH_CONV_H
#define BP_BENCH_CONV_H

#include "backplane.h"

#include <stdbool.h>

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

/* oneDNN 2, called directly, with images and a weight of any values in its own layouts (older.c). */
typedef struct older older;
bool older_open(const char *path, int threads); /* returns false if the library cannot be loaded */
older *older_new(const layer *l, int batch);    /* Winograd if the library offers it, otherwise direct; or NULL */
bool older_is_winograd(const older *made);
void older_run(void *made);
void older_free(older *made);

#endif
