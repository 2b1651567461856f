/* kernel_bf16_model_avx2.c - compiles the kernels of attention for AVX512_BF16 for AVX2, with a model in place of the
 * instruction. This tests everything but the instruction itself on processors that do not have it.
 */
#include "native/wide/model_dot.h"
#include "providers/native/attention/attention.h"

extern const bp__attention_numbers bp__attention_numbers_wide[BP__ATTENTION_NUMBERS];

#define PAIRS bp__attention_pairs_model
#define NUMBERS bp__attention_numbers_wide
#include "providers/native/attention/kernel_bf16.h"
