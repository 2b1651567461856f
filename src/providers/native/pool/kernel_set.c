/* kernel_set.c - instantiates the pooling kernels of one instruction set. CMake compiles this file once for each
 * (KERNEL_ISA, VECTOR_BYTES). */
#include "pool.h"
#include "providers/native/isa.h"

#include "kernel_vector.h"

#define TEMPLATE "providers/native/pool/kernel_type.h"
#include "providers/native/kernel_each_type.h"

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .max = max_##type, .lowest = lowest_##type, .add = add_##type, .store = store_##type, .spread = spread_##type, \
        .scatter = scatter_##type, .max_run = max_run_##type, .average_run = average_run_##type,                       \
        .sum_run = sum_run_##type, .divide = divide_##type, .copy = copy_##type, .pad = pad_##type,                    \
        .divisors = divisors_##type, .lanes = lanes_##type, .element = sizeof(element_##type),                         \
        .sum = sizeof(number_##type)                                                                                   \
    }
const bp__pool_kernels KERNEL_TABLE(bp__pool)[BP__POOL_DTYPES] = {KERNELS(f16), KERNELS(bf16), KERNELS(f32),
                                                                  KERNELS(f64)};
