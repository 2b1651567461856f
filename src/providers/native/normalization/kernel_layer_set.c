/* kernel_layer_set.c - instantiates the kernels of layer, RMS and group normalization of one instruction set. CMake
 * compiles this file once for each (KERNEL_ISA, VECTOR_BYTES). */
#include "layer.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"
#include "providers/native/kernel_tiles.h"

/* The limits of one pass over the elements of a row: with these its error has the bound of norm.h. */
#define SHORT 64 /* elements, at least */
#define FAR 8    /* mean square of the differences to the center by the variance, at most */
#define TEMPLATE "providers/native/normalization/kernel_layer_type.h"
#include "providers/native/kernel_each_type.h"

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .moments = moments_##type, .apply = apply_##type, .sums = sums_##type, .gradient = gradient_##type,            \
        .column_sums = column_sums_##type, .column_squares = column_squares_##type,                                    \
        .column_apply = column_apply_##type, .weigh = weigh_##type, .widen = widen_numbers_##type,                     \
        .fill = fill_##type, .narrow = narrow_numbers_##type, .load = load_##type, .store = store_##type,              \
        .element = sizeof(element_##type), .number = sizeof(number_##type)                                             \
    }
const bp__layer_kernels KERNEL_TABLE(bp__layer)[BP__LAYER_DTYPES] = {KERNELS(f16), KERNELS(bf16), KERNELS(f32),
                                                                     KERNELS(f64)};
