/* kernel_each_real.h - instantiates a template of kernels for f32 and f64. Parameters: TEMPLATE (its path from src/, in
 * quotes) and VECTOR_BYTES.
 *
 * The template finds TYPE (the suffix of its names, which NAME() adds), REAL, VECTOR and MASK (a vector of integers as
 * wide as REAL), MADD(a, b, c), SCALAR_MADD(a, b, c), GREATER(a, b), SPLAT(x), LOAD_PART(from, count),
 * STORE_PART(to, x, count), and what kernel_power.h needs: TERMS, MAGIC (1.5 times 2 to the number of mantissa bits),
 * MANTISSA, BIAS and LEAST (the least exponent of a normal number). */
#include "providers/native/kernel_vector.h"

#ifndef NAME
#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)
#endif

#define TYPE f32
#define REAL float
#define VECTOR vector_f32
#define MASK int32_t
#define MADD madd_f32
#define SCALAR_MADD scalar_madd_f32
#define GREATER maximum_f32
#define SPLAT splat_f32
#define LOAD_PART load_part_f32
#define STORE_PART store_part_f32
/* Coefficients of (2^r - 1) / r, by Chebyshev interpolation. */
#define TERMS                                                                                                          \
    0.693147188026228781f, 0.240226507605681269f, 0.0555035711421907782f, 0.00961808255727785149f,                     \
        0.00133908633646712344f, 0.000154531629451206902f
#define MAGIC 0x1.8p23f
#define MANTISSA 23
#define BIAS 127
#define LEAST -126.f
#include TEMPLATE
#undef TYPE
#undef REAL
#undef VECTOR
#undef MASK
#undef MADD
#undef SCALAR_MADD
#undef GREATER
#undef SPLAT
#undef LOAD_PART
#undef STORE_PART
#undef TERMS
#undef MAGIC
#undef MANTISSA
#undef BIAS
#undef LEAST

#define TYPE f64
#define REAL double
#define VECTOR vector_f64
#define MASK int64_t
#define MADD madd_f64
#define SCALAR_MADD scalar_madd_f64
#define GREATER maximum_f64
#define SPLAT splat_f64
#define LOAD_PART load_part_f64
#define STORE_PART store_part_f64
#define TERMS                                                                                                          \
    0.693147180559945309, 0.240226506959100982, 0.0555041086648215943, 0.00961812910760688853, 0.00133335581464169353, \
        0.000154035304417360502, 0.0000152527338298361184, 1.32154425879216897e-6, 1.01780624458457735e-7,             \
        7.0725859492692237e-9, 4.45496059818651839e-10
#define MAGIC 0x1.8p52
#define MANTISSA 52
#define BIAS 1023
#define LEAST -1022.
#include TEMPLATE
#undef TYPE
#undef REAL
#undef VECTOR
#undef MASK
#undef MADD
#undef SCALAR_MADD
#undef GREATER
#undef SPLAT
#undef LOAD_PART
#undef STORE_PART
#undef TERMS
#undef MAGIC
#undef MANTISSA
#undef BIAS
#undef LEAST
#undef TEMPLATE
