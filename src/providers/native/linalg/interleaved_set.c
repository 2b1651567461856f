/* interleaved_set.c - instantiates all kernels for interleaved batches on one instruction set. CMake compiles this
 * file once for each (KERNEL_ISA, VECTOR_BYTES). Only the table is not static, so that several sets can be in one
 * program. */
#include "interleaved.h"
#include "providers/native/isa.h"

#include "interleaved_vector.h"

#include "providers/native/kernel_transpose.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)
#define OF_PART(x) JOIN_(x, PART)
#define VECTOR OF_PART(vector)
#define INTS OF_PART(ints)
#define VELEMENT NAME(velement)

#define ROWS 4
#define PANEL 4  /* columns of LU that are factored together */
#define CHAINS 4 /* independent chains in the search for a maximum */

#define PARTS 1
#define COLUMNS 2

#define TYPE f32
#define PART f32
#define REAL float
#define VL (VECTOR_BYTES / 4)
#define PART_LANES LANES_F32
#include "interleaved_real.h"

#include "interleaved_kernels.h"

#include "interleave.h"

#include "interleaved_reflect.h"

#include "interleaved_eigh.h"

#include "interleaved_svd.h"
#undef TYPE
#undef PART
#undef REAL
#undef VL
#undef PART_LANES

#define TYPE f64
#define PART f64
#define REAL double
#define VL (VECTOR_BYTES / 8)
#define PART_LANES LANES_F64
#include "interleaved_real.h"

#include "interleaved_kernels.h"

#include "interleave.h"

#include "interleaved_reflect.h"

#include "interleaved_eigh.h"

#include "interleaved_svd.h"
#undef TYPE
#undef PART
#undef REAL
#undef VL
#undef PART_LANES

#undef PARTS
#undef COLUMNS
#define PARTS 2
#define COLUMNS 1

#define TYPE c64
#define PART f32
#define REAL float
#define VL (VECTOR_BYTES / 4)
#define PART_LANES LANES_F32
#include "interleaved_complex.h"

#include "interleaved_kernels.h"

#include "interleave.h"

#include "interleaved_reflect.h"

#include "interleaved_eigh.h"

#include "interleaved_svd.h"
#undef TYPE
#undef PART
#undef REAL
#undef VL
#undef PART_LANES

#define TYPE c128
#define PART f64
#define REAL double
#define VL (VECTOR_BYTES / 8)
#define PART_LANES LANES_F64
#include "interleaved_complex.h"

#include "interleaved_kernels.h"

#include "interleave.h"

#include "interleaved_reflect.h"

#include "interleaved_eigh.h"

#include "interleaved_svd.h"

#define KERNELS(type, real, count)                                                                                     \
    {                                                                                                                  \
        .lanes = (int)(VECTOR_BYTES / sizeof(real)), .parts = count, .element = count * sizeof(real),                  \
        .velement = count * VECTOR_BYTES, .inverse = (count + 1) * VECTOR_BYTES,                                       \
        .eigh_work = sizeof(eigh_work_##type), .svd_work = sizeof(svd_work_##type), .load = load_##type,               \
        .examine = examine_##type, .trim = trim_##type, .store = store_##type, .lu = lu_##type,                        \
        .cholesky = cholesky_##type, .invert_diagonal = invert_diagonal_##type, .solve = solve_##type,                 \
        .identity = identity_##type, .conjugate = conjugate_##type, .combine = combine_##type, .eigh = eigh_##type,    \
        .svd = svd_##type                                                                                              \
    }
const bp__interleaved_kernels KERNEL_TABLE(bp__interleaved)[BP__INTERLEAVED_DTYPES] = {
    KERNELS(f32, float, 1), KERNELS(f64, double, 1), KERNELS(c64, float, 2), KERNELS(c128, double, 2)};
