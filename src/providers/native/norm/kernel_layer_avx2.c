/* kernel_layer_avx2.c - compiles the kernels of layer, RMS and group normalization for AVX2 and FMA3. */
#include "layer.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__layer_avx2
#define VECTOR_BYTES 32
#include "kernel_layer_set.h"
#endif
