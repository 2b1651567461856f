/* walk.h - iterates over strided memory in as few dimensions as possible. It serves the passes that FFTW does not make
 * itself: copies to and from scratch memory, and scaling. */
#ifndef BP_FFTW_WALK_H
#define BP_FFTW_WALK_H

#include "backplane/provider.h"

#include <stdbool.h>

#define BP__FFTW_WALK_NDIM (BP_MAX_FFT_NDIM + BP_MAX_BATCH_NDIM)

/* Dimensions that two operands have in common, with the strides of each. */
typedef struct bp__fftw_walk {
    int ndim;
    int64_t n[BP__FFTW_WALK_NDIM], from[BP__FFTW_WALK_NDIM], to[BP__FFTW_WALK_NDIM];
} bp__fftw_walk;

void bp__fftw_walk_add(bp__fftw_walk *walk, int64_t n, int64_t from, int64_t to);
/* Sorts dimensions by stride, largest first, and merges those that are contiguous on both sides. */
void bp__fftw_walk_merge(bp__fftw_walk *walk);

/* Computes to[...] = from[...], both in elements of `dtype`. They must not overlap. */
void bp__fftw_walk_copy(const bp_host *host, const bp__fftw_walk *walk, bp_dtype dtype, const void *from, void *to);
/* Computes to[...] *= factor. */
void bp__fftw_walk_scale(const bp__fftw_walk *walk, bp_dtype dtype, void *to, double factor);

/* Returns the number of elements from the lowest address to the highest one with these strides; *below of them precede
 * the first element. */
int64_t bp__fftw_walk_span(const bp__fftw_walk *walk, const int64_t *strides, int64_t *below);

#endif
