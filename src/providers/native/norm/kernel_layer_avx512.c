/* kernel_layer_avx512.c - compiles the kernels of layer, RMS and group normalization for AVX-512 (F, VL, BW, DQ). */
#include "layer.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__layer_avx512
#define VECTOR_BYTES 64
#include "kernel_layer_set.h"
#endif
