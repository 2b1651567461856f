/* kernel_set.c - instantiates the kernels of single elements of one instruction set. CMake compiles this file once
 * for each (KERNEL_ISA, VECTOR_BYTES). */
#include "elementwise.h"
#include "providers/native/isa.h"

#define TEMPLATE "providers/native/elementwise/kernel_load.h"
#include "providers/native/kernel_each_type.h"
#include "providers/native/kernel_math.h"

#include "kernel_convert.h"

#define TYPE f32
#define REAL float
#define VECTOR vector_f32
#include "kernel_number.h"
#undef TYPE
#undef REAL
#undef VECTOR

#define TYPE f64
#define REAL double
#define VECTOR vector_f64
#include "kernel_number.h"
#undef TYPE
#undef REAL
#undef VECTOR

#define TYPE i32
#define INTEGER int32_t
#define UNSIGNED uint32_t
#include "kernel_integer.h"
#undef TYPE
#undef INTEGER
#undef UNSIGNED

#define TYPE i64
#define INTEGER int64_t
#define UNSIGNED uint64_t
#include "kernel_integer.h"
#undef TYPE

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
        [BP_UNARY_HARDSWISH] = run_hardswish_##type                                                                    \
    }
#define INTEGER_UNARY(type)                                                                                            \
    { [BP_UNARY_NEGATIVE] = run_negative_##type, [BP_UNARY_ABS] = run_abs_##type, [BP_UNARY_RELU] = run_relu_##type }
#define INTEGER_BINARY(type)                                                                                           \
    [BP_BINARY_ADD] = run_add_##type, [BP_BINARY_SUBTRACT] = run_subtract_##type,                                      \
    [BP_BINARY_MULTIPLY] = run_multiply_##type, [BP_BINARY_MAXIMUM] = run_greater_##type,                              \
    [BP_BINARY_MINIMUM] = run_less_##type

const bp__element_kernels KERNEL_TABLE(bp__element_kernels) = {
    .read = {[BP__DOMAIN_I32] = {[BP_I32] = read_i32_i32},
             [BP__DOMAIN_I64] = {[BP_I8] = read_i64_i8,
                                 [BP_U8] = read_i64_u8,
                                 [BP_I32] = read_i64_i32,
                                 [BP_I64] = read_i64_i64,
                                 [BP_BOOL] = read_i64_bool},
             [BP__DOMAIN_F32] = {[BP_F16] = read_f32_f16, [BP_BF16] = read_f32_bf16, [BP_F32] = read_f32_f32},
             [BP__DOMAIN_F64] = {[BP_F64] = read_f64_f64}},
    .write = {[BP__DOMAIN_I32] = {[BP_I32] = write_i32_i32},
              [BP__DOMAIN_I64] = WRITES(i64),
              [BP__DOMAIN_F32] = WRITES(f32),
              [BP__DOMAIN_F64] = WRITES(f64)},
    .unary = {[BP__DOMAIN_I32] = INTEGER_UNARY(i32),
              [BP__DOMAIN_I64] = INTEGER_UNARY(i64),
              [BP__DOMAIN_F32] = REAL_UNARY(f32),
              [BP__DOMAIN_F64] = REAL_UNARY(f64)},
    .binary = {[BP__DOMAIN_I32] = {INTEGER_BINARY(i32)},
               [BP__DOMAIN_I64] = {INTEGER_BINARY(i64)},
               [BP__DOMAIN_F32] = {INTEGER_BINARY(f32), [BP_BINARY_DIVIDE] = run_divide_f32},
               [BP__DOMAIN_F64] = {INTEGER_BINARY(f64), [BP_BINARY_DIVIDE] = run_divide_f64}},
};
