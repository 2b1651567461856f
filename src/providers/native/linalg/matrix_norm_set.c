/* matrix_norm_set.c - instantiates the sums of matrix norms for one instruction set. CMake compiles this file once for
 * each (KERNEL_ISA, VECTOR_BYTES). */
#include "matrix_norm.h"
#include "providers/native/isa.h"

#include "interleaved_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)
#define OF_PART(x) JOIN_(x, PART)
#define VL (VECTOR_BYTES / 8) /* all sums are in double precision */
#define CHAINS 4              /* chains of additions that do not depend on each other */

#define EVEN(lane, unused) (2 * (lane))
#define ODD(lane, unused) (2 * (lane) + 1)

INLINE double sum_of_lanes(vector_f64 sum) {
    double lanes = sum[0];
    UNROLL
    for (int lane = 1; lane < VL; lane++) {
        lanes += sum[lane];
    }
    return lanes;
}

#define REAL float
#define PART f32
#define PARTS 1
#define TYPE f32
#include "matrix_norm_kernels.h"
#undef TYPE
#undef PARTS
#define PARTS 2
#define TYPE c64
#include "matrix_norm_kernels.h"
#undef TYPE
#undef PARTS
#undef PART
#undef REAL

#define REAL double
#define PART f64
#define PARTS 1
#define TYPE f64
#include "matrix_norm_kernels.h"
#undef TYPE
#undef PARTS
#define PARTS 2
#define TYPE c128
#include "matrix_norm_kernels.h"

#define KERNELS(type)                                                                                                  \
    { .moduli = moduli_##type, .squares = squares_##type, .add_moduli = add_moduli_##type }
const bp__matrix_norm_kernels KERNEL_TABLE(bp__matrix_norm)[BP__MATRIX_NORM_DTYPES] = {KERNELS(f32), KERNELS(f64),
                                                                                       KERNELS(c64), KERNELS(c128)};
