/* kernel_exp.h - exponentials of vectors: power_f32() and power_f64() to base 2, exp_f32() and exp_f64() to base e.
 * Include it after kernel_vector.h. */
#ifndef BP_NATIVE_KERNEL_EXP_H
#define BP_NATIVE_KERNEL_EXP_H

#define EXP_TYPE f32
#define EXP_REAL float
#define EXP_VECTOR vector_f32
#define EXP_BITS int32_t
/* Coefficients of (2^r - 1) / r, by Chebyshev interpolation. */
#define EXP_TERMS                                                                                                      \
    0.693147188026228781f, 0.240226507605681269f, 0.0555035711421907782f, 0.00961808255727785149f,                     \
        0.00133908633646712344f, 0.000154531629451206902f
#define EXP_MAGIC 0x1.8p23f
#define EXP_MANTISSA 23
#define EXP_BIAS 127
#define EXP_LEAST -126.f
#define EXP_LN_2 0x1.62ep-1f, 0x1.0bfbe8p-15f
#include "providers/native/kernel_exp_type.h"

#define EXP_TYPE f64
#define EXP_REAL double
#define EXP_VECTOR vector_f64
#define EXP_BITS int64_t
#define EXP_TERMS                                                                                                      \
    0.693147180559945309, 0.240226506959100982, 0.0555041086648215943, 0.00961812910760688853, 0.00133335581464169353, \
        0.000154035304417360502, 0.0000152527338298361184, 1.32154425879216897e-6, 1.01780624458457735e-7,             \
        7.0725859492692237e-9, 4.45496059818651839e-10
#define EXP_MAGIC 0x1.8p52
#define EXP_MANTISSA 52
#define EXP_BIAS 1023
#define EXP_LEAST -1022.
#define EXP_LN_2 0x1.62e42fefap-1, 0x1.cf79abc9e3b3ap-40
#include "providers/native/kernel_exp_type.h"

#endif
