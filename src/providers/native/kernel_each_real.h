/* kernel_each_real.h - instantiates a template of kernels for f32 and f64. Parameters: TEMPLATE (its path from src/, in
 * quotes) and VECTOR_BYTES.
 *
 * The template finds TYPE (the suffix of its names, which NAME() adds), REAL, VECTOR, MADD(a, b, c),
 * SCALAR_MADD(a, b, c), GREATER(a, b), SPLAT(x), LOAD_PART(from, count), STORE_PART(to, x, count), the functions of
 * kernel_math.h, and of each type number (an unaligned element), load() and store(). */
#include "providers/native/kernel_math.h"

#ifndef NAME
#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)
#endif

#ifndef LOOSE
#define LOOSE(type, real)                                                                                              \
    typedef real loose_##type __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));            \
    typedef real number_##type __attribute__((may_alias));                                                             \
    INLINE vector_##type load_##type(const number_##type *from) {                                                      \
        return *(const loose_##type *)from;                                                                            \
    }                                                                                                                  \
    INLINE void store_##type(number_##type *to, vector_##type x) {                                                     \
        *(loose_##type *)to = x;                                                                                       \
    }
LOOSE(f32, float)
LOOSE(f64, double)
#endif

#define TYPE f32
#define REAL float
#define VECTOR vector_f32
#define MADD madd_f32
#define SCALAR_MADD scalar_madd_f32
#define GREATER maximum_f32
#define SPLAT splat_f32
#define LOAD_PART load_part_f32
#define STORE_PART store_part_f32
#include TEMPLATE
#undef TYPE
#undef REAL
#undef VECTOR
#undef MADD
#undef SCALAR_MADD
#undef GREATER
#undef SPLAT
#undef LOAD_PART
#undef STORE_PART

#define TYPE f64
#define REAL double
#define VECTOR vector_f64
#define MADD madd_f64
#define SCALAR_MADD scalar_madd_f64
#define GREATER maximum_f64
#define SPLAT splat_f64
#define LOAD_PART load_part_f64
#define STORE_PART store_part_f64
#include TEMPLATE
#undef TYPE
#undef REAL
#undef VECTOR
#undef MADD
#undef SCALAR_MADD
#undef GREATER
#undef SPLAT
#undef LOAD_PART
#undef STORE_PART
#undef TEMPLATE
