/* kernel_set.c - instantiates all transform kernels of one instruction set from the templates. CMake compiles this
 * file once for each (KERNEL_ISA, VECTOR_BYTES). Narrower vectors serve lines that are too short for the widest
 * ones. */
#include "kernels.h"
#include "providers/native/isa.h"
#include "providers/native/kernel_vector.h"

/* madd is a*b + c and nmadd is c - a*b. Both are fused at every width if and only if the instruction set has FMA. */
#if defined(__FMA__)
#define FUSED_PAIR(type, lanes, vector, madd, nmadd)                                                                   \
    INLINE vector madd_##type##_##lanes(vector a, vector b, vector c) {                                                \
        return madd(a, b, c);                                                                                          \
    }                                                                                                                  \
    INLINE vector nmadd_##type##_##lanes(vector a, vector b, vector c) {                                               \
        return nmadd(a, b, c);                                                                                         \
    }
FUSED_PAIR(f32, 4, __m128, _mm_fmadd_ps, _mm_fnmadd_ps)
FUSED_PAIR(f64, 2, __m128d, _mm_fmadd_pd, _mm_fnmadd_pd)
FUSED_PAIR(f32, 8, __m256, _mm256_fmadd_ps, _mm256_fnmadd_ps)
FUSED_PAIR(f64, 4, __m256d, _mm256_fmadd_pd, _mm256_fnmadd_pd)
#if VECTOR_BYTES == 64
/* kernel_vector.h defines these so that they also compile for narrower registers. */
FUSED_PAIR(f32, 16, vector_f32, madd_f32, msub_f32)
FUSED_PAIR(f64, 8, vector_f64, madd_f64, msub_f64)
#endif
#else
typedef float fused_f32_4 __attribute__((vector_size(16)));
typedef double fused_f64_2 __attribute__((vector_size(16)));
#if defined(__aarch64__)
#define MADD_f32 (fused_f32_4) vfmaq_f32
#define NMADD_f32 (fused_f32_4) vfmsq_f32
#define MADD_f64 (fused_f64_2) vfmaq_f64
#define NMADD_f64 (fused_f64_2) vfmsq_f64
#define FUSED_PAIR(type, lanes)                                                                                        \
    INLINE fused_##type##_##lanes madd_##type##_##lanes(fused_##type##_##lanes a, fused_##type##_##lanes b,            \
                                                        fused_##type##_##lanes c) {                                    \
        return MADD_##type(c, a, b);                                                                                   \
    }                                                                                                                  \
    INLINE fused_##type##_##lanes nmadd_##type##_##lanes(fused_##type##_##lanes a, fused_##type##_##lanes b,           \
                                                         fused_##type##_##lanes c) {                                   \
        return NMADD_##type(c, a, b);                                                                                  \
    }
#else
#define FUSED_PAIR(type, lanes)                                                                                        \
    INLINE fused_##type##_##lanes madd_##type##_##lanes(fused_##type##_##lanes a, fused_##type##_##lanes b,            \
                                                        fused_##type##_##lanes c) {                                    \
        return a * b + c;                                                                                              \
    }                                                                                                                  \
    INLINE fused_##type##_##lanes nmadd_##type##_##lanes(fused_##type##_##lanes a, fused_##type##_##lanes b,           \
                                                         fused_##type##_##lanes c) {                                   \
        return c - a * b;                                                                                              \
    }
#endif
FUSED_PAIR(f32, 4)
FUSED_PAIR(f64, 2)
#endif

#define FUSED_SCALAR(type, real)                                                                                       \
    INLINE real madd_##type##_1(real a, real b, real c) {                                                              \
        return scalar_madd_##type(a, b, c);                                                                            \
    }                                                                                                                  \
    INLINE real nmadd_##type##_1(real a, real b, real c) {                                                             \
        return scalar_madd_##type(-a, b, c);                                                                           \
    }
FUSED_SCALAR(f32, float)
FUSED_SCALAR(f64, double)

/* ---- f32 ---- */
#define REAL float
#define TYPE f32
#define PAIRED 2
#define LANES 1
#include "kernel_width.h"
#define LANES 4
#define EACH_LANE LANES_4
#include "kernel_width.h"
#if VECTOR_BYTES >= 32
#define LANES 8
#define EACH_LANE LANES_8
#include "kernel_width.h"
#endif
#if VECTOR_BYTES >= 64
#define LANES 16
#define EACH_LANE LANES_16
#include "kernel_width.h"
#endif
#undef REAL
#undef TYPE
#undef PAIRED

/* ---- f64 ---- */
#define REAL double
#define TYPE f64
#define PAIRED 1
#define LANES 1
#include "kernel_width.h"
#define LANES 2
#define EACH_LANE LANES_2
#include "kernel_width.h"
#if VECTOR_BYTES >= 32
#define LANES 4
#define EACH_LANE LANES_4
#include "kernel_width.h"
#endif
#if VECTOR_BYTES >= 64
#define LANES 8
#define EACH_LANE LANES_8
#include "kernel_width.h"
#endif
#undef REAL
#undef TYPE
#undef PAIRED

const bp__fft_set KERNEL_TABLE(bp__fft) = {
#if VECTOR_BYTES >= 64
    .of = {{&kernels_f32_16, &kernels_f32_8, &kernels_f32_4, &kernels_f32_1},
           {&kernels_f64_8, &kernels_f64_4, &kernels_f64_2, &kernels_f64_1}},
#elif VECTOR_BYTES >= 32
    .of = {{&kernels_f32_8, &kernels_f32_4, &kernels_f32_1}, {&kernels_f64_4, &kernels_f64_2, &kernels_f64_1}},
#else
    .of = {{&kernels_f32_4, &kernels_f32_1}, {&kernels_f64_2, &kernels_f64_1}},
#endif
};
