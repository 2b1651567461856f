/* kernel_half.h - defines the kernels of 16-bit types that are not products: HALF(f16), HALF(bf16). C stays in f32
 * until all of k is summed, and each element is rounded once, to nearest even.
 */
#include "providers/native/half.h"

/* widen_block and narrow_block convert a block of C to f32 and back; scale computes C = beta * C. */
#define HALF(type)                                                                                                     \
    static void widen_block_##type(float *to, int64_t to_q, const void *from, const bp__native_view *shape) {          \
        for (int64_t q = 0; q < shape->q; q++) {                                                                       \
            const uint16_t *c = (const uint16_t *)from + q * shape->c_q;                                               \
            for (int64_t p = 0; p < shape->p; p++) {                                                                   \
                to[q * to_q + p] = widen_##type(c[p * shape->c_p]);                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void narrow_block_##type(void *to, const float *from, int64_t from_q, const bp__native_view *shape) {       \
        for (int64_t q = 0; q < shape->q; q++) {                                                                       \
            uint16_t *c = (uint16_t *)to + q * shape->c_q;                                                             \
            for (int64_t p = 0; p < shape->p; p++) {                                                                   \
                c[p * shape->c_p] = narrow_##type(from[q * from_q + p]);                                               \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void scale_##type(const bp__native_view *w, void *scratch) {                                                \
        (void)scratch;                                                                                                 \
        const float beta = (float)w->beta[0];                                                                          \
        for (int64_t q = 0; q < w->q; q++) {                                                                           \
            uint16_t *c = (uint16_t *)w->c + q * w->c_q;                                                               \
            for (int64_t p = 0; p < w->p; p++) {                                                                       \
                c[p * w->c_p] = beta == 0 ? 0 : narrow_##type(beta * widen_##type(c[p * w->c_p]));                     \
            }                                                                                                          \
        }                                                                                                              \
    }
