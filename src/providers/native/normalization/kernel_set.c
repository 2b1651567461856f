/* kernel_set.c - instantiates the kernels of batch normalization of one instruction set. CMake compiles this file
 * once for each (KERNEL_ISA, VECTOR_BYTES). */
#include "batch_norm.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"
#include "providers/native/kernel_tiles.h"

#include <math.h>

#define TEMPLATE "providers/native/normalization/kernel_type.h"
#include "providers/native/kernel_each_type.h"

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .moments = moments_##type, .sums = sums_##type, .apply = apply_##type, .gradient = gradient_##type,            \
        .load = load_##type, .store = store_##type, .set = set_##type, .element = sizeof(element_##type),              \
        .number = sizeof(number_##type)                                                                                \
    }
const bp__batch_norm_kernels KERNEL_TABLE(bp__batch_norm)[BP__BATCH_NORM_DTYPES] = {KERNELS(f16), KERNELS(bf16),
                                                                                    KERNELS(f32), KERNELS(f64)};
