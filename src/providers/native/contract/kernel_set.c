/* kernel_set.c - instantiates all contraction kernels of one instruction set from the templates. CMake compiles
 * this file once for each (KERNEL_ISA, VECTOR_BYTES). */
#include "contract.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"
#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)
#define OF_SUM(x) JOIN_(x, SUM) /* functions of the type that sums are computed in */
#define CHAINS 4                /* chains of additions that do not depend on each other */
#define FEW 4                   /* terms of a dot product up to which they are added one by one */

/* Shuffles in memory order: even lanes doubled, odd lanes doubled, neighbours exchanged; and the signs -1, 1, -1, ...
 */
#define TWIN_EVEN(lane, unused) ((lane) & ~1)
#define TWIN_ODD(lane, unused) ((lane) | 1)
#define EXCHANGED(lane, unused) ((lane) ^ 1)
#define SIGN(lane, unused) ((lane)&1 ? 1 : -1)

typedef float loose_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double loose_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef float one_f32 __attribute__((may_alias));
typedef double one_f64 __attribute__((may_alias));
typedef uint16_t one_half __attribute__((may_alias));

/* ---- Vector loads and stores: all lanes, and the first `count` lanes ---- */

INLINE vector_f32 load_f32(const char *from) {
    return *(const loose_f32 *)(const void *)from;
}
INLINE vector_f64 load_f64(const char *from) {
    return *(const loose_f64 *)(const void *)from;
}
INLINE vector_f32 load_some_f32(const char *from, int64_t count) {
    return load_part_f32((const float *)(const void *)from, (int)count);
}
INLINE vector_f64 load_some_f64(const char *from, int64_t count) {
    return load_part_f64((const double *)(const void *)from, (int)count);
}
INLINE void store_f32(char *to, vector_f32 x) {
    *(loose_f32 *)(void *)to = x;
}
INLINE void store_f64(char *to, vector_f64 x) {
    *(loose_f64 *)(void *)to = x;
}
INLINE float one_of_f32(const char *from) {
    return *(const one_f32 *)(const void *)from;
}
INLINE double one_of_f64(const char *from) {
    return *(const one_f64 *)(const void *)from;
}

INLINE vector_f32 load_bf16(const char *from) {
    return (vector_f32)BF16_LOAD_V(from);
}
INLINE void store_bf16(char *to, vector_f32 x) {
    store_vector_bf16(to, x);
}

#if defined(F16_LOAD_V)
INLINE vector_f32 load_f16(const char *from) {
    return (vector_f32)F16_LOAD_V(from);
}
#else
INLINE vector_f32 load_f16(const char *from) {
    vector_f32 x;
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        x[i] = widen_f16(((const one_half *)(const void *)from)[i]);
    }
    return x;
}
#endif
INLINE void store_f16(char *to, vector_f32 x) {
    store_vector_f16(to, x);
}

#define HALF(type)                                                                                                     \
    INLINE vector_f32 load_some_##type(const char *from, int64_t count) {                                              \
        uint16_t whole[VECTOR_BYTES / 4] = {0};                                                                        \
        memcpy(whole, from, (size_t)count * sizeof whole[0]);                                                          \
        return load_##type((const char *)whole);                                                                       \
    }                                                                                                                  \
    INLINE float one_of_##type(const char *from) {                                                                     \
        return widen_##type(*(const one_half *)(const void *)from);                                                    \
    }
HALF(f16)
HALF(bf16)

#define STORE_SOME(type, vector, bytes)                                                                                \
    INLINE void store_some_##type(char *to, vector x, int64_t count) {                                                 \
        char whole[VECTOR_BYTES];                                                                                      \
        store_##type(whole, x);                                                                                        \
        memcpy(to, whole, (size_t)count *(bytes));                                                                     \
    }
STORE_SOME(f16, vector_f32, 2)
STORE_SOME(bf16, vector_f32, 2)
STORE_SOME(f32, vector_f32, 4)
STORE_SOME(f64, vector_f64, 8)

/* Returns the sum of all lanes. Halves of the vector are added until one lane is left. */
INLINE float sum_lanes_f32(vector_f32 x) {
    float part[VECTOR_BYTES / 4];
    memcpy(part, &x, sizeof part);
    for (int half = VECTOR_BYTES / 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            part[i] += part[i + half];
        }
    }
    return part[0];
}
INLINE double sum_lanes_f64(vector_f64 x) {
    double part[VECTOR_BYTES / 8];
    memcpy(part, &x, sizeof part);
    for (int half = VECTOR_BYTES / 16; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            part[i] += part[i + half];
        }
    }
    return part[0];
}

/* totals += sums, then sums = 0, for one vector of doubles at a time. */
typedef float few_f32 __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
typedef loose_f64 few_f64;
#define WIDEN(type, real)                                                                                              \
    static void flush_sums_##type(int64_t n, double *totals, real *sums) {                                             \
        enum { AT_ONCE = VECTOR_BYTES / 8 };                                                                           \
        int64_t x = 0;                                                                                                 \
        for (; x + AT_ONCE <= n; x += AT_ONCE) {                                                                       \
            few_##type *from = (few_##type *)(void *)(sums + x);                                                       \
            char *to = (char *)(totals + x);                                                                           \
            store_f64(to, load_f64(to) + __builtin_convertvector(*from, vector_f64));                                  \
            *from = (few_##type){0};                                                                                   \
        }                                                                                                              \
        for (; x < n; x++) {                                                                                           \
            totals[x] += (double)sums[x];                                                                              \
            sums[x] = 0;                                                                                               \
        }                                                                                                              \
    }
WIDEN(f32, float)
WIDEN(f64, double)

/* ---- The types ---- */

#define SUM f32
#define REAL float
#define LANES (VECTOR_BYTES / 4)
#define EACH_LANE LANES_F32
#define TYPE f16
#define BYTES 2
#include "kernel_real.h"
#undef TYPE
#define TYPE bf16
#include "kernel_real.h"
#undef TYPE
#undef BYTES
#define TYPE f32
#define BYTES 4
#include "kernel_real.h"
#undef TYPE
#define TYPE c64
#include "kernel_complex.h"
#undef TYPE
#undef BYTES
#undef EACH_LANE
#undef LANES
#undef REAL
#undef SUM

#define SUM f64
#define REAL double
#define LANES (VECTOR_BYTES / 8)
#define EACH_LANE LANES_F64
#define BYTES 8
#define TYPE f64
#include "kernel_real.h"
#undef TYPE
#define TYPE c128
#include "kernel_complex.h"
#undef TYPE

#define KERNELS(type, bytes)                                                                                           \
    {                                                                                                                  \
        .sum = bytes, .rows = rows_##type, .dots = dots_##type, .products = products_##type, .flush = flush_##type,    \
        .store = store_sums_##type, .store_totals = store_totals_##type                                                \
    }
const bp__contract_kernels KERNEL_TABLE(bp__contract)[BP__CONTRACT_DTYPES] = {
    KERNELS(f16, 4), KERNELS(bf16, 4), KERNELS(f32, 4), KERNELS(f64, 8), KERNELS(c64, 8), KERNELS(c128, 16)};
