/* kernel_set.c - instantiates the kernels of single elements of one instruction set. CMake compiles this file once
 * for each (KERNEL_ISA, VECTOR_BYTES). */
#include "elementwise.h"
#include "far_angle.h"
#include "providers/native/isa.h"

#define TEMPLATE "providers/native/elementwise/kernel_load.h"
#include "providers/native/kernel_each_type.h"
#include "providers/native/kernel_convert.h"
#include "providers/native/kernel_math.h"

#include "kernel_commute.h"
#include "kernel_convert.h"
#include "kernel_round.h"
#include "kernel_select.h"

#define TYPE f32
#define REAL float
#define VECTOR vector_f32
#define WORD uint32_t
#define MANTISSA 23
#define BIAS 127
#define FINITE 0x1.fffffep127f
#define NEAR 3000.f
#define EXP_OVERFLOWS 89.f
#define EXPM1_IS_LESS_1 -20.f
#define ERF_IS_1 4.f
#define SIN_TERMS -0.1666666466f, 0.008332748154f, -0.000195878657f
#define COS_TERMS 0.04166666466f, -0.001388830292f, 2.454791685e-05f
#define ERF_TERMS                                                                                                      \
    0.1283791658f, -0.3761262667f, 0.1128359472f, -0.02685421201f, 0.005189087423f, -0.0008016864287f, 7.875875063e-05f
#define HALF_BITS 12
#define LN2_HIGH 0x1.62ep-1f
#define LN2_LOW 3.19461849453e-5f
#define LOWEST -120.f
#define HIGHEST 89.f
#define ARTANH_TERMS 1.f / 5, 1.f / 7, 1.f / 9, 1.f / 11, 1.f / 13
#define THIRD_LOW -9.93410776862e-09
#define ATAN_TERMS -0.3333333176f, 0.1999954022f, -0.1426394636f, 0.1074363163f, -0.06451597259f
#define PI_HIGH 0x1.921fb6p1
#define PI_LOW -8.74227800037e-08
#define EXP2_LOWEST -160.f
#define EXP2_HIGHEST 129.f
#define SINH_OVERFLOWS 90.f
#define ERFC_IS_0 10.3f
#define SINH_TERMS 0.166666667f, 0.00833333333f, 0.000198412698f, 2.75573192e-06f, 2.50521084e-08f
#define SHRINK_ABOVE 0.333333333f, 0.0205128205f, 0.0001998002f
#define SHRINK_BELOW 1.f, 0.461538462f, 0.0233100233f, 0.00020720721f
#define LOG10_E_HIGH 0x1.bcb7b2p-2f
#define LOG10_E_LOW -1.010305005223e-08
#define QUARTER 0x1.921p0f, 0x1.f6ap-13f, 0x1.11p-26f, 0x1.68cp-39f, 0x1.1a6264p-54f
#include "kernel_function.h"

#include "kernel_pair.h"

#include "kernel_curve.h"
#include "kernel_numbers.h"

#include "kernel_number.h"

#include "kernel_joined.h"

#define TYPE f64
#define REAL double
#define VECTOR vector_f64
#define WORD uint64_t
#define MANTISSA 52
#define BIAS 1023
#define FINITE 0x1.fffffffffffffp1023
#define NEAR 1.6e6
#define EXP_OVERFLOWS 710.
#define EXPM1_IS_LESS_1 -40.
#define ERF_IS_1 6.
#define SIN_TERMS                                                                                                      \
    -0.166666666666666646, 0.00833333333333094729, -0.000198412698367567725, 0.00000275573161016178744,                \
        -2.50511316502351815e-8, 1.59181152632659752e-10
#define COS_TERMS                                                                                                      \
    0.0416666666666666654, -0.00138888888888873965, 0.0000248015872987645608, -2.75573172711451460e-7,                 \
        2.08761461465586116e-9, -1.13826236474746046e-11
#define ERF_TERMS                                                                                                      \
    0.128379167095512574, -0.376126389031837481, 0.112837916709548787, -0.0268661706450767932, 0.00522397762481801447, \
        -0.000854832698083378991, 0.000120553311116427109, -0.0000149255952668311816, 0.00000164610004841213680,       \
        -1.63503127010546950e-7, 1.46597752740474358e-8, -1.13728488567916736e-9, 5.95717614774891122e-11
#define HALF_BITS 27
#define LN2_HIGH 0x1.62e42fefa2p-1
#define LN2_LOW 7.3710025651677989e-13
#define LOWEST -760.
#define HIGHEST 710.
#define ARTANH_TERMS                                                                                                   \
    1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23, 1. / 25, 1. / 27
#define THIRD_LOW 1.85037170770859413e-17
#define ATAN_TERMS                                                                                                     \
    -0.333333333333333315, 0.19999999999995513, -0.142857142846651797, 0.111111110151467143, -0.0909090457366906052,   \
        0.0769218308734202633, -0.066645099898180446, 0.0585813625190614584, -0.0508538348884283106,                   \
        0.0392297445366122238, -0.0191745435720213284
#define PI_HIGH 0x1.921fb54442d18p1
#define PI_LOW 1.22464679914735321e-16
#define EXP2_LOWEST -1080.
#define EXP2_HIGHEST 1025.
#define SINH_OVERFLOWS 711.
#define ERFC_IS_0 27.4
#define SINH_TERMS                                                                                                     \
    0.166666666666666667, 0.00833333333333333333, 0.000198412698412698413, 2.7557319223985891e-6,                      \
        2.50521083854417188e-8, 1.60590438368216146e-10, 7.64716373181981648e-13, 2.81145725434552076e-15,             \
        8.2206352466243297e-18
#define SHRINK_ABOVE                                                                                                   \
    0.333333333333333333, 0.0260869565217391304, 0.000552104899930986887, 4.03585453165926082e-6,                      \
        9.24947562641541943e-9, 3.16221388937279262e-12
#define SHRINK_BELOW                                                                                                   \
    1., 0.478260869565217391, 0.0310559006211180124, 0.000610221205186880244, 4.27325773940392286e-6,                  \
        9.49612830978649705e-9, 3.16221388937279262e-12
#define LOG10_E_HIGH 0x1.bcb7b1526e50ep-2
#define LOG10_E_LOW 1.09831965021676507e-17
#define QUARTER 0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104
#include "kernel_function.h"

#include "kernel_pair.h"

#include "kernel_curve.h"
#include "kernel_numbers.h"

#include "kernel_number.h"

#include "kernel_joined.h"

#define TYPE i32
#define INTEGER int32_t
#define UNSIGNED uint32_t
#include "kernel_integer.h"

#define TYPE i64
#define INTEGER int64_t
#define UNSIGNED uint64_t
#include "kernel_integer.h"

#define WRITES(domain)                                                                                                 \
    {                                                                                                                  \
        [BP_F16] = write_##domain##_f16, [BP_BF16] = write_##domain##_bf16, [BP_F32] = write_##domain##_f32,           \
        [BP_F64] = write_##domain##_f64, [BP_I8] = write_##domain##_i8, [BP_U8] = write_##domain##_u8,                 \
        [BP_I32] = write_##domain##_i32, [BP_I64] = write_##domain##_i64, [BP_BOOL] = write_##domain##_bool            \
    }
#define REAL_UNARY(type)                                                                                               \
    {                                                                                                                  \
        [BP_UNARY_NEGATIVE] = run_negative_##type, [BP_UNARY_ABS] = run_abs_##type, [BP_UNARY_EXP] = run_exp_##type,   \
        [BP_UNARY_LOG] = run_log_##type, [BP_UNARY_SQRT] = run_sqrt_##type, [BP_UNARY_TANH] = run_tanh_##type,         \
        [BP_UNARY_SIGMOID] = run_sigmoid_##type, [BP_UNARY_RELU] = run_relu_##type, [BP_UNARY_GELU] = run_gelu_##type, \
        [BP_UNARY_GELU_TANH] = run_gelu_tanh_##type, [BP_UNARY_SILU] = run_silu_##type,                                \
        [BP_UNARY_HARDSWISH] = run_hardswish_##type, [BP_UNARY_FLOOR] = run_floor_##type,                              \
        [BP_UNARY_CEIL] = run_ceil_##type, [BP_UNARY_ROUND] = run_round_##type, [BP_UNARY_TRUNC] = run_trunc_##type,   \
        [BP_UNARY_SIGN] = run_sign_##type, [BP_UNARY_RECIPROCAL] = run_reciprocal_##type,                              \
        [BP_UNARY_RSQRT] = run_rsqrt_##type, [BP_UNARY_SIN] = run_sin_##type, [BP_UNARY_COS] = run_cos_##type,         \
        [BP_UNARY_TAN] = run_tan_##type, [BP_UNARY_ERF] = run_erf_##type, [BP_UNARY_EXPM1] = run_expm1_##type,         \
        [BP_UNARY_LOG1P] = run_log1p_##type, [BP_UNARY_LOG2] = run_log2_##type, [BP_UNARY_ASIN] = run_asin_##type,     \
        [BP_UNARY_ACOS] = run_acos_##type, [BP_UNARY_ATAN] = run_atan_##type, [BP_UNARY_SINH] = run_sinh_##type,       \
        [BP_UNARY_COSH] = run_cosh_##type, [BP_UNARY_ASINH] = run_asinh_##type, [BP_UNARY_ACOSH] = run_acosh_##type,   \
        [BP_UNARY_ATANH] = run_atanh_##type, [BP_UNARY_LOG10] = run_log10_##type, [BP_UNARY_EXP2] = run_exp2_##type,   \
        [BP_UNARY_ERFC] = run_erfc_##type, [BP_UNARY_HARDSIGMOID] = run_hardsigmoid_##type,                            \
        [BP_UNARY_MISH] = run_mish_##type, [BP_UNARY_SOFTSIGN] = run_softsign_##type,                                  \
        [BP_UNARY_LOGSIGMOID] = run_logsigmoid_##type, [BP_UNARY_SELU] = run_selu_##type,                              \
        [BP_UNARY_TANHSHRINK] = run_tanhshrink_##type, [BP_UNARY_LEAKY_RELU] = run_leaky_relu_##type,                  \
        [BP_UNARY_ELU] = run_elu_##type, [BP_UNARY_CELU] = run_celu_##type, [BP_UNARY_CLIP] = run_clip_##type,         \
        [BP_UNARY_SOFTPLUS] = run_softplus_##type, [BP_UNARY_THRESHOLD] = run_threshold_##type,                        \
        [BP_UNARY_HARDSHRINK] = run_hardshrink_##type, [BP_UNARY_SOFTSHRINK] = run_softshrink_##type,                  \
        [BP_UNARY_ISNAN] = run_isnan_##type, [BP_UNARY_ISINF] = run_isinf_##type,                                      \
        [BP_UNARY_ISFINITE] = run_isfinite_##type, [BP_UNARY_LOGICAL_NOT] = run_logical_not_##type                     \
    }
#define INTEGER_UNARY(type)                                                                                            \
    {                                                                                                                  \
        [BP_UNARY_NEGATIVE] = run_negative_##type, [BP_UNARY_ABS] = run_abs_##type, [BP_UNARY_RELU] = run_relu_##type, \
        [BP_UNARY_FLOOR] = run_same_##type, [BP_UNARY_CEIL] = run_same_##type, [BP_UNARY_ROUND] = run_same_##type,     \
        [BP_UNARY_TRUNC] = run_same_##type, [BP_UNARY_SIGN] = run_sign_##type,                                         \
        [BP_UNARY_LOGICAL_NOT] = run_logical_not_##type, [BP_UNARY_BITWISE_INVERT] = run_bitwise_invert_##type,        \
        [BP_UNARY_CLIP] = run_clip_##type                                                                              \
    }
#define NUMBER_BINARY(type)                                                                                            \
    [BP_BINARY_ADD] = run_add_##type, [BP_BINARY_SUBTRACT] = run_subtract_##type,                                      \
    [BP_BINARY_MULTIPLY] = run_multiply_##type, [BP_BINARY_MAXIMUM] = run_greater_##type,                              \
    [BP_BINARY_MINIMUM] = run_less_##type, [BP_BINARY_EQUAL] = run_is_equal_##type,                                    \
    [BP_BINARY_NOT_EQUAL] = run_is_not_equal_##type, [BP_BINARY_LESS] = run_is_less_##type,                            \
    [BP_BINARY_LESS_EQUAL] = run_is_less_equal_##type, [BP_BINARY_GREATER] = run_is_greater_##type,                    \
    [BP_BINARY_GREATER_EQUAL] = run_is_greater_equal_##type, [BP_BINARY_LOGICAL_AND] = run_logical_and_##type,         \
    [BP_BINARY_LOGICAL_OR] = run_logical_or_##type, [BP_BINARY_LOGICAL_XOR] = run_logical_xor_##type,                  \
    [BP_BINARY_POW] = run_pow_##type, [BP_BINARY_REMAINDER] = run_remainder_##type,                                    \
    [BP_BINARY_FMOD] = run_fmod_##type, [BP_BINARY_FLOOR_DIVIDE] = run_floor_divide_##type
#define INTEGER_BINARY(type)                                                                                           \
    {                                                                                                                  \
        NUMBER_BINARY(type), [BP_BINARY_BITWISE_AND] = run_bitwise_and_##type,                                         \
                             [BP_BINARY_BITWISE_OR] = run_bitwise_or_##type,                                           \
                             [BP_BINARY_BITWISE_XOR] = run_bitwise_xor_##type,                                         \
                             [BP_BINARY_BITWISE_LEFT_SHIFT] = run_bitwise_left_shift_##type,                           \
                             [BP_BINARY_BITWISE_RIGHT_SHIFT] = run_bitwise_right_shift_##type                          \
    }
#define REAL_BINARY(type)                                                                                              \
    { NUMBER_BINARY(type), [BP_BINARY_DIVIDE] = run_divide_##type, [BP_BINARY_ATAN2] = run_atan2_##type }

/* The kernels of pairs: f, then g. */
#define PAIR(type, f, KIND, g) [BP__JOINED_##KIND] = {f##_then_##g##_##type, f##_into_##g##_##type}
#define PAIRS_OF(type, f)                                                                                              \
    {                                                                                                                  \
        PAIR(type, f, ADD, add), PAIR(type, f, SUBTRACT, subtract), PAIR(type, f, MULTIPLY, multiply),                 \
            PAIR(type, f, MAXIMUM, greater), PAIR(type, f, MINIMUM, less)                                              \
    }
#define PAIRS(type)                                                                                                    \
    {                                                                                                                  \
        [BP__JOINED_ADD] = PAIRS_OF(type, add), [BP__JOINED_SUBTRACT] = PAIRS_OF(type, subtract),                      \
        [BP__JOINED_MULTIPLY] = PAIRS_OF(type, multiply), [BP__JOINED_MAXIMUM] = PAIRS_OF(type, greater),              \
        [BP__JOINED_MINIMUM] = PAIRS_OF(type, less)                                                                    \
    }
#define THEN_OF(type, f)                                                                                               \
    {                                                                                                                  \
        [BP__JOINED_RELU] = f##_before_relu_##type, [BP__JOINED_ABS] = f##_before_size_of_##type,                      \
        [BP__JOINED_NEGATIVE] = f##_before_negative_##type, [BP__JOINED_CLIP] = f##_before_clip_##type                 \
    }
#define THEN(type)                                                                                                     \
    {                                                                                                                  \
        [BP__JOINED_ADD] = THEN_OF(type, add), [BP__JOINED_SUBTRACT] = THEN_OF(type, subtract),                        \
        [BP__JOINED_MULTIPLY] = THEN_OF(type, multiply), [BP__JOINED_MAXIMUM] = THEN_OF(type, greater),                \
        [BP__JOINED_MINIMUM] = THEN_OF(type, less)                                                                     \
    }

const bp__element_kernels KERNEL_TABLE(bp__element_kernels) = {
    .read = {[BP__DOMAIN_I32] = {[BP_I32] = read_i32_i32},
             [BP__DOMAIN_I64] = {[BP_I8] = read_i64_i8,
                                 [BP_U8] = read_i64_u8,
                                 [BP_I32] = read_i64_i32,
                                 [BP_I64] = read_i64_i64,
                                 [BP_BOOL] = read_i64_bool},
             [BP__DOMAIN_F32] = {[BP_I8] = read_f32_i8,
                                 [BP_U8] = read_f32_u8,
                                 [BP_BOOL] = read_f32_bool,
                                 [BP_F16] = read_f32_f16,
                                 [BP_BF16] = read_f32_bf16,
                                 [BP_F32] = read_f32_f32},
             [BP__DOMAIN_F64] = {[BP_I32] = read_f64_i32, [BP_F64] = read_f64_f64}},
    .write = {[BP__DOMAIN_I32] = {[BP_I32] = write_i32_i32, [BP_BOOL] = write_i32_bool},
              [BP__DOMAIN_I64] = WRITES(i64),
              [BP__DOMAIN_F32] = WRITES(f32),
              [BP__DOMAIN_F64] = WRITES(f64)},
    .unary = {[BP__DOMAIN_I32] = INTEGER_UNARY(i32),
              [BP__DOMAIN_I64] = INTEGER_UNARY(i64),
              [BP__DOMAIN_F32] = REAL_UNARY(f32),
              [BP__DOMAIN_F64] = REAL_UNARY(f64)},
    .binary = {[BP__DOMAIN_I32] = INTEGER_BINARY(i32),
               [BP__DOMAIN_I64] = INTEGER_BINARY(i64),
               [BP__DOMAIN_F32] = REAL_BINARY(f32),
               [BP__DOMAIN_F64] = REAL_BINARY(f64)},
    .select = {[1] = select_uint8_t,
               [2] = select_uint16_t,
               [4] = select_uint32_t,
               [8] = select_uint64_t,
               [16] = select_wide_bits},
    .pair = {[BP__DOMAIN_F32] = PAIRS(f32), [BP__DOMAIN_F64] = PAIRS(f64)},
    .then = {[BP__DOMAIN_F32] = THEN(f32), [BP__DOMAIN_F64] = THEN(f64)},
};
