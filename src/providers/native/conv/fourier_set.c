/* fourier_set.c - instantiates the kernels of convolutions by Fourier transforms for one instruction set. CMake
 * compiles this file once for each (KERNEL_ISA, VECTOR_BYTES). */
#include "fourier.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)

#define TYPE f32
#define REAL float
#define VECTOR vector_f32
#define MADD madd_f32
#define MSUB msub_f32
#define SPLAT splat_f32
#include "fourier_type.h"
#undef TYPE
#undef REAL
#undef VECTOR
#undef MADD
#undef MSUB
#undef SPLAT

#define TYPE f64
#define REAL double
#define VECTOR vector_f64
#define MADD madd_f64
#define MSUB msub_f64
#define SPLAT splat_f64
#include "fourier_type.h"

#define KERNELS(type)                                                                                                  \
    { to_lane_##type, from_lane_##type, multiply_##type, multiply_pairs_##type, spread_##type, finish_##type }
const bp__fourier_kernels KERNEL_TABLE(bp__fourier)[2] = {KERNELS(f32), KERNELS(f64)};
