/* kernel_set.c - instantiates the convolution kernels of one instruction set. CMake compiles this file once for
 * each (KERNEL_ISA, VECTOR_BYTES). */
#include "conv.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"

#define TEMPLATE "providers/native/conv/kernel_type.h"
#include "providers/native/kernel_each_type.h"

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .gather = gather_##type, .finish = finish_##type, .add = add_##type, .complete = complete_##type,              \
        .correlate = correlate_##type, .widen = widen_each_##type, .widen_rows = widen_rows_##type, .sum = sum_##type, \
        .store = store_##type                                                                                          \
    }
const bp__conv_kernels KERNEL_TABLE(bp__conv)[BP__CONV_DTYPES] = {KERNELS(f16), KERNELS(bf16), KERNELS(f32),
                                                                  KERNELS(f64)};
