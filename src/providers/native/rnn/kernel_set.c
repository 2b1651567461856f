/* kernel_set.c - instantiates the kernels of recurrent layers of one instruction set. CMake compiles this file once
 * for each (KERNEL_ISA, VECTOR_BYTES). */
#include "rnn.h"
#include "providers/native/isa.h"

/* Vectors of sums of a tile: with a row of the panel and one element they fit into the registers. */
#if VECTOR_BYTES == 64
#define TILE 24
#else
#define TILE 12
#endif

#define TEMPLATE "providers/native/rnn/kernel_type.h"
#include "providers/native/kernel_each_real.h"

#include "providers/native/half.h"

/* f16 has loads of vectors on some processors only. */
#ifdef F16_LOAD_V
#define WIDEN_VECTORS_F16(count, to, from, i)                                                                          \
    for (; i + LANES_f32 <= (count); i += LANES_f32) {                                                                 \
        store_f32((number_f32 *)(to) + i, (vector_f32)F16_LOAD_V((from) + i));                                         \
    }
#else
#define WIDEN_VECTORS_F16(count, to, from, i)
#endif
#define WIDEN_VECTORS_BF16(count, to, from, i) /* the compiler has vectors for it */

#define CONVERSIONS(type, VECTORS)                                                                                     \
    static void widen_numbers_##type(int64_t count, float *to, const void *of_from, int64_t stride) {                  \
        const uint16_t *from = of_from;                                                                                \
        int64_t i = 0;                                                                                                 \
        if (stride == 1) {                                                                                             \
            VECTORS(count, to, from, i)                                                                                \
            for (; i < count; i++) {                                                                                   \
                to[i] = widen_##type(from[i]);                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            to[i] = widen_##type(from[i * stride]);                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void narrow_numbers_##type(int64_t count, void *of_to, int64_t stride, const float *from) {                 \
        uint16_t *to = of_to;                                                                                          \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            to[i * stride] = narrow_##type(from[i]);                                                                   \
        }                                                                                                              \
    }
CONVERSIONS(f16, WIDEN_VECTORS_F16)
CONVERSIONS(bf16, WIDEN_VECTORS_BF16)

/* Processors with AVX2 have PREFETCHW, or take it for NOP. The compiler knows the first case only. */
#if defined(__AVX2__)
__attribute__((target("prfchw")))
#endif
static void
claim(int64_t rows, int64_t row, int64_t bytes, void *first) {
    enum { LINE = 64 };
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t at = 0; at < bytes; at += LINE) {
            __builtin_prefetch((char *)first + i * row + at, 1);
        }
    }
}

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .lanes = LANES_##type, .number = sizeof(number_##type), .product = product_##type,                             \
        .forward = {forward_tanh_##type, forward_relu_##type, forward_lstm_##type, forward_gru_##type},                \
        .backward = {backward_tanh_##type, backward_relu_##type, backward_lstm_##type, backward_gru_##type},           \
        .forward_parts = {forward_gru_reset_##type, forward_gru_candidate_##type},                                     \
        .backward_parts = {backward_gru_candidate_##type, backward_gru_reset_##type}, .hidden = hidden_##type,         \
        .add = add_##type, .claim = claim, .widen = {widen_numbers_f16, widen_numbers_bf16}, .narrow = {               \
            narrow_numbers_f16,                                                                                        \
            narrow_numbers_bf16                                                                                        \
        }                                                                                                              \
    }
const bp__rnn_kernels KERNEL_TABLE(bp__rnn)[BP__RNN_DTYPES] = {KERNELS(f32), KERNELS(f64)};
