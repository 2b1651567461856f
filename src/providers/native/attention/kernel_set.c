/* kernel_set.c - instantiates the kernels of attention of one instruction set. CMake compiles this file once for
 * each (KERNEL_ISA, VECTOR_BYTES). */
#include "attention.h"
#include "providers/native/isa.h"
#include "providers/native/philox.h"

#include <math.h>

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"
#include "providers/native/kernel_transpose.h"

#define TRANSPOSE(v) _Generic((v), vector_f32 * : transpose_f32, vector_f64 * : transpose_f64)(v)
#define TEMPLATE "providers/native/attention/kernel_element.h"
#include "providers/native/kernel_each_type.h"

/* A tile has two vectors in each row. Its sums, one row of B and one element of A fit into the registers. */
#if VECTOR_BYTES == 64
#define ROWS 12
#else
#define ROWS 6
#endif
#define DOTS 4 /* keys that are multiplied at a time */

#define TEMPLATE "providers/native/attention/kernel_number.h"
#include "providers/native/kernel_each_real.h"

#define NUMBER_KERNELS(type)                                                                                           \
    {                                                                                                                  \
        .lanes = WIDTH_##type, .number = sizeof(number_##type), .product = product_##type, .softmax = softmax_##type,  \
        .dots = dots_##type, .softmax_row = softmax_row_##type, .combine = combine_##type, .permit = permit_##type,    \
        .bias = bias_##type, .spread = spread_##type, .drop = drop_##type, .weigh = weigh_##type,                      \
        .slope = slope_##type, .merge = merge_##type, .scale = scale_##type, .slope_row = slope_row_##type,            \
        .load = read_##type, .set = set_##type, .copy = copy_##type, .cap = cap_##type, .multiply = multiply_##type    \
    }
const bp__attention_numbers KERNEL_TABLE(bp__attention_numbers)[BP__ATTENTION_NUMBERS] = {NUMBER_KERNELS(f32),
                                                                                          NUMBER_KERNELS(f64)};

#define ELEMENT_KERNELS(type)                                                                                          \
    {                                                                                                                  \
        .element = sizeof(element_##type), .widen = widen_block_##type, .narrow = narrow_block_##type,                 \
        .pack = pack_##type, .unpack = unpack_##type                                                                   \
    }
const bp__attention_elements KERNEL_TABLE(bp__attention_elements)[BP__ATTENTION_DTYPES] = {
    ELEMENT_KERNELS(f16), ELEMENT_KERNELS(bf16), ELEMENT_KERNELS(f32), ELEMENT_KERNELS(f64)};
