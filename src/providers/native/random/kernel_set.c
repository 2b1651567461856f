/* kernel_set.c - instantiates the kernels of random numbers of one instruction set. CMake compiles this file once
 * for each (KERNEL_ISA, VECTOR_BYTES).
 *
 * Words are computed with one array for each place in a block, so that loops over blocks become vectors. No kernel
 * uses fused multiply-add: the numbers are the same with every instruction set, and on devices without it. */
#include "random.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_math.h"
#include "providers/native/philox.h"

#if defined(__clang__)
#define VECTORIZED
#else
#define VECTORIZED __attribute__((optimize("O3"))) /* -O2 makes vectors of few loops */
#endif

typedef struct words {
    _Alignas(64) uint32_t at[4][BP__RANDOM_BLOCKS];
} words;

VECTORIZED static void make(uint64_t seed, uint64_t block, int64_t count, words *w) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t number[4];
        bp__philox(seed, block + (uint64_t)i, 0, number);
        w->at[0][i] = number[0];
        w->at[1][i] = number[1];
        w->at[2][i] = number[2];
        w->at[3][i] = number[3];
    }
}

VECTORIZED static void words_of(uint64_t seed, uint64_t block, int64_t count, void *of_to) {
    uint32_t *to = of_to;
    words w;
    make(seed, block, count, &w);
    for (int64_t i = 0; i < count; i++, to += 4) {
        to[0] = w.at[0][i];
        to[1] = w.at[1][i];
        to[2] = w.at[2][i];
        to[3] = w.at[3][i];
    }
}

VECTORIZED static void pairs_of(uint64_t seed, uint64_t block, int64_t count, void *of_to) {
    uint64_t *to = of_to;
    words w;
    make(seed, block, count, &w);
    for (int64_t i = 0; i < count; i++, to += 2) {
        to[0] = (uint64_t)w.at[1][i] << 32 | w.at[0][i];
        to[1] = (uint64_t)w.at[3][i] << 32 | w.at[2][i];
    }
}

#define PUT(bytes, word, element)                                                                                      \
    VECTORIZED static void put_##bytes(int64_t rows, int64_t columns, const void *of_from, void *of_to, int64_t row,   \
                                       int64_t column) {                                                               \
        const word *from = of_from;                                                                                    \
        element *to = of_to;                                                                                           \
        (void)rows, (void)row; /* there is one */                                                                      \
        if (column == 1) {                                                                                             \
            for (int64_t i = 0; i < columns; i++) {                                                                    \
                to[i] = (element)from[i];                                                                              \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < columns; i++) {                                                                    \
                to[i * column] = (element)from[i];                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }
PUT(1, uint32_t, uint8_t)
PUT(2, uint32_t, uint16_t)
PUT(4, uint32_t, uint32_t)
PUT(8, uint64_t, uint64_t)

/* ---- Uniform numbers ---- */

/* The upper bits are below 2^24, so that their conversion is exact. */
#define UNIFORM(type, bits)                                                                                            \
    VECTORIZED static void uniform_##type(uint64_t seed, uint64_t block, int64_t count, void *of_to) {                 \
        float *to = of_to;                                                                                             \
        words w;                                                                                                       \
        make(seed, block, count, &w);                                                                                  \
        for (int64_t i = 0; i < count; i++, to += 4) {                                                                 \
            to[0] = (float)(int32_t)(w.at[0][i] >> (32 - (bits))) * (1.f / (1 << (bits)));                             \
            to[1] = (float)(int32_t)(w.at[1][i] >> (32 - (bits))) * (1.f / (1 << (bits)));                             \
            to[2] = (float)(int32_t)(w.at[2][i] >> (32 - (bits))) * (1.f / (1 << (bits)));                             \
            to[3] = (float)(int32_t)(w.at[3][i] >> (32 - (bits))) * (1.f / (1 << (bits)));                             \
        }                                                                                                              \
    }
UNIFORM(f16, 11)
UNIFORM(bf16, 8)
UNIFORM(f32, 24)

VECTORIZED static void uniform_f64(uint64_t seed, uint64_t block, int64_t count, void *of_to) {
    double *to = of_to;
    words w;
    make(seed, block, count, &w);
    for (int64_t i = 0; i < count; i++, to += 2) {
        to[0] = (double)(int64_t)(((uint64_t)w.at[1][i] << 32 | w.at[0][i]) >> 11) * 0x1p-53;
        to[1] = (double)(int64_t)(((uint64_t)w.at[3][i] << 32 | w.at[2][i]) >> 11) * 0x1p-53;
    }
}

/* ---- Normal numbers ---- */

#define TYPE f32
#define REAL float
#define BITS uint32_t
#define SIGNED int32_t
#define MANTISSA 23
#define BIAS 127
#define LN2_HIGH 0x1.62ep-1f
#define LN2_LOW 3.19461849453e-5f
#define LOG_TERMS 0.6666666655f, 0.4000012263f, 0.2855073084f, 0.233329128f
#define SIN_TERMS -0.1666666466231438f, 0.008332748270629749f, -0.00019587890880412386f
#define COS_TERMS 0.04166666465950221f, -0.0013888303035894866f, 2.4547942085071572e-05f
#define UNIT 0x1p-32f
#define TURN 1.46291807926715968e-9f /* 2 pi / 2^32 */
#include "kernel_normal.h"
#undef TYPE
#undef REAL
#undef BITS
#undef SIGNED
#undef MANTISSA
#undef BIAS
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG_TERMS
#undef SIN_TERMS
#undef COS_TERMS
#undef UNIT
#undef TURN

#define TYPE f64
#define REAL double
#define BITS uint64_t
#define SIGNED int64_t
#define MANTISSA 52
#define BIAS 1023
#define LN2_HIGH 0x1.62e42fefa2p-1
#define LN2_LOW 7.3710025651677989e-13
#define LOG_TERMS                                                                                                      \
    0.666666666666666973, 0.399999999998981919, 0.285714286265702036, 0.222222110378165877, 0.181828961834830866,      \
        0.153314872358657332, 0.146193434535126152
#define SIN_TERMS                                                                                                      \
    -0.16666666666666666, 0.008333333333330948, -0.00019841269836758574, 2.755731610255244e-06,                        \
        -2.5051131845003624e-08, 1.5918129294866608e-10
#define COS_TERMS                                                                                                      \
    0.041666666666666664, -0.0013888888888887398, 2.480158729876569e-05, -2.7557317271729793e-07,                      \
        2.08761462684032e-09, -1.1382632425521717e-11
#define UNIT 0x1p-53
#define TURN 3.40612158008655459e-19 /* 2 pi / 2^64 */
#include "kernel_normal.h"

VECTORIZED static void normal_f32(uint64_t seed, uint64_t block, int64_t count, void *of_to) {
    float *to = of_to;
    words w;
    _Alignas(64) float radius[BP__RANDOM_BLOCKS], even[BP__RANDOM_BLOCKS], odd[BP__RANDOM_BLOCKS];
    make(seed, block, count, &w);
    for (int pair = 0; pair < 4; pair += 2) {
        for (int64_t i = 0; i < count; i++) {
            const uint32_t word = w.at[pair][i];
            radius[i] = ((float)(int32_t)(word >> 16) * 65536.f + (float)(int32_t)(word & 0xffff)) + 0.5f;
        }
        normal_pairs_f32(count, radius, w.at[pair + 1], even, odd);
        for (int64_t i = 0; i < count; i++) {
            to[4 * i + pair] = even[i];
            to[4 * i + pair + 1] = odd[i];
        }
    }
}

/* The two steps of normal_f64 have frames of their own, so that the words and the results take the same stack. */
VECTORIZED __attribute__((noinline)) static void place_f64(uint64_t seed, uint64_t block, int64_t count, double *radius,
                                                           uint64_t *angle) {
    words w;
    make(seed, block, count, &w);
    for (int64_t i = 0; i < count; i++) {
        radius[i] = (double)(int64_t)(((uint64_t)w.at[1][i] << 32 | w.at[0][i]) >> 11) + 0.5;
        angle[i] = (uint64_t)w.at[3][i] << 32 | w.at[2][i];
    }
}

VECTORIZED __attribute__((noinline)) static void pairs_f64(int64_t count, double *radius, const uint64_t *angle,
                                                           double *to) {
    _Alignas(64) double even[BP__RANDOM_BLOCKS], odd[BP__RANDOM_BLOCKS];
    normal_pairs_f64(count, radius, angle, even, odd);
    for (int64_t i = 0; i < count; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

VECTORIZED static void normal_f64(uint64_t seed, uint64_t block, int64_t count, void *to) {
    _Alignas(64) double radius[BP__RANDOM_BLOCKS];
    _Alignas(64) uint64_t angle[BP__RANDOM_BLOCKS];
    place_f64(seed, block, count, radius, angle);
    pairs_f64(count, radius, angle, to);
}

const bp__random_kernels KERNEL_TABLE(bp__random_kernels) = {
    .words = words_of,
    .pairs = pairs_of,
    .uniform = {[BP_F16] = uniform_f16, [BP_BF16] = uniform_bf16, [BP_F32] = uniform_f32, [BP_F64] = uniform_f64},
    .normal_f32 = normal_f32,
    .normal_f64 = normal_f64,
    .put = {[1] = put_1, [2] = put_2, [4] = put_4, [8] = put_8},
};
