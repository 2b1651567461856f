/* kernel_layer_default.c - compiles the kernels of layer, RMS and group normalization for the baseline instruction set.
 */
#define SET bp__layer_default
#define VECTOR_BYTES 16
#include "kernel_layer_set.h"
