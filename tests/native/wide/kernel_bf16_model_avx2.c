/* kernel_bf16_model_avx2.c - compiles the tiles for AVX512_BF16 for AVX2, with a model in place of the instruction.
 * This tests everything but the instruction itself on processors that do not have it.
 */
#include "model_dot.h"

#define SET bp__native_bf16_model
#define SET_NAME "bf16 model"
#define REAL_VECTORS 3
#define REAL_COLUMNS 8

#include "providers/native/gemm/kernel_bf16.h"
