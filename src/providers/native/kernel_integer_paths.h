/* kernel_integer_paths.h - template: products of 8-bit integers that need no packed V: with a few columns of S, dot
 * products, and tiny products in scalar loops; and small products, which pack both operands without passes. Included in
 * kernel_integer.h, with its parameters.
 */

/* Columns of S that `gemv` multiplies at once, and the k for which they are kept as pairs. */
#define FEW_COLUMNS 4
#define FEW_ROWS 4 /* that `gemv` computes at once if V is contiguous along k */
#define FEW_K 1024
#define FEW_PAIRS (FEW_K / 2 + VL)
/* Sums of C that stay in the first-level cache while V is read. */
#define SLICE 2048
/* Columns of S that a small product packs at once. */
#define SMALL_COLUMNS 128

/* Returns the sum of the lanes. */
INLINE uint32_t sum_of_lanes(VECTOR x) {
#define OTHER(lane, step) ((lane) ^ (step))
#if VECTOR_BYTES == 64
    x += __builtin_shufflevector(x, x, LANES_F32(OTHER, 8));
#endif
#if VECTOR_BYTES >= 32
    x += __builtin_shufflevector(x, x, LANES_F32(OTHER, 4));
#endif
    x += __builtin_shufflevector(x, x, LANES_F32(OTHER, 2));
    x += __builtin_shufflevector(x, x, LANES_F32(OTHER, 1));
#undef OTHER
    return x[0];
}

INLINE void add_to(const bp__native_view *w, int64_t p, int64_t q, uint32_t sum) {
    uint32_t *to = (uint32_t *)w->c + p * w->c_p + q * w->c_q;
    *to = w->beta[0] == 0 ? (uint32_t)w->alpha[0] * sum
                          : update_u32((uint32_t)w->alpha[0], sum, (uint32_t)w->beta[0], *to);
}

#define BYTES i8
#define IN int8_t
#include "kernel_few_bytes.h"
#define BYTES u8
#define IN uint8_t
#include "kernel_few_bytes.h"

/* ---- For the types of V and S ---- */

/* A product with at most FEW_COLUMNS columns, if V is contiguous along p or k. */
INLINE void few(void (*pairs)(uint32_t *, const void *, int64_t, int64_t),
                void (*multiply)(const bp__native_view *, uint32_t (*)[FEW_PAIRS]), const bp__native_view *whole) {
    uint32_t s[FEW_COLUMNS][FEW_PAIRS];
    bp__native_view t = *whole;
    for (int64_t k = 0; k < whole->k; k += FEW_K) {
        t.k = whole->k - k < FEW_K ? whole->k - k : FEW_K;
        t.v = (const uint8_t *)whole->v + k * whole->v_k;
        for (int j = 0; j < whole->q; j++) {
            pairs(s[j], (const uint8_t *)whole->s + k * whole->s_k + j * whole->s_q, whole->s_k, t.k);
        }
        multiply(&t, s);
        t.beta[0] = 1;
    }
}

/* A dot product: one row, whose elements are put side by side first if they are not. */
INLINE void dot_of(bp__native_run multiply, const bp__native_view *whole) {
    bp__native_view t = *whole;
    t.v_p = 0; /* the row is read along k */
    if (whole->v_k == 1) {
        multiply(&t, NULL);
        return;
    }
    uint8_t row[FEW_K];
    t.v = row;
    t.v_k = 1;
    for (int64_t k = 0; k < whole->k; k += FEW_K) {
        t.k = whole->k - k < FEW_K ? whole->k - k : FEW_K;
        t.s = (const uint8_t *)whole->s + k * whole->s_k;
        for (int l = 0; l < t.k; l++) {
            row[l] = ((const uint8_t *)whole->v)[(k + l) * whole->v_k];
        }
        multiply(&t, NULL);
        t.beta[0] = 1;
    }
}

/* A small product: packs some columns of S, and multiplies them with V, panel by panel. */
INLINE void small_of(bp__native_pack pack_v, bp__native_pack pack_s, const bp__native_view *whole, uint32_t *scratch) {
    bp__native_view t = *whole;
    for (int64_t k = 0; k < whole->k; k += K_BLOCK) {
        t.k = whole->k - k < K_BLOCK ? whole->k - k : K_BLOCK;
        const int64_t pairs = (t.k + 1) / 2;
        uint32_t *v = scratch, *s = scratch + MV * VL * pairs;
        for (int64_t q = 0; q < whole->q; q += SMALL_COLUMNS) {
            const int64_t columns = whole->q - q < SMALL_COLUMNS ? whole->q - q : SMALL_COLUMNS;
            const int64_t full = columns / NR, rest = columns % NR;
            pack_s(s, (const uint8_t *)whole->s + k * whole->s_k + q * whole->s_q, whole->s_q, whole->s_k, columns, t.k,
                   false);
            for (int64_t p = 0; p < whole->p;) {
                const int mv = vectors_u32(whole->p - p);
                const int rows = whole->p - p < mv * VL ? (int)(whole->p - p) : mv * VL;
                pack_v(v, (const uint8_t *)whole->v + k * whole->v_k + p * whole->v_p, whole->v_p, whole->v_k, rows, t.k,
                       false);
                uint32_t *c = (uint32_t *)whole->c + p * whole->c_p + q * whole->c_q;
                tiles[mv - 1][NR - 1](&t, v, s, c, rows, full);
                if (rest) {
                    tiles[mv - 1][rest - 1](&t, v, s + full * NR * pairs, c + full * NR * whole->c_q, rows, 1);
                }
                p += rows;
            }
        }
        t.beta[0] = 1;
    }
}

#define PATHS(of_v, of_s, V, S)                                                                                        \
    static void gemv_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                        \
        (void)scratch;                                                                                                 \
        few(few_pairs_##of_s, few_##of_v, w);                                                                          \
    }                                                                                                                  \
    static void dot_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                         \
        (void)scratch;                                                                                                 \
        dot_of(gemv_##of_v##_##of_s, w);                                                                               \
    }                                                                                                                  \
    static void small_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                       \
        small_of(pack_v_##of_v, pack_s_##of_s, w, scratch);                                                            \
    }                                                                                                                  \
    static void tiny_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                        \
        (void)scratch;                                                                                                 \
        for (int64_t q = 0; q < w->q; q++) {                                                                           \
            for (int64_t p = 0; p < w->p; p++) {                                                                       \
                const V *v = (const V *)w->v + p * w->v_p;                                                             \
                const S *s = (const S *)w->s + q * w->s_q;                                                             \
                uint32_t sum = 0;                                                                                      \
                for (int64_t k = 0; k < w->k; k++) {                                                                   \
                    sum += (uint32_t)((int32_t)v[k * w->v_k] * (int32_t)s[k * w->s_k]);                                \
                }                                                                                                      \
                add_to(w, p, q, sum);                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
PATHS(i8, i8, int8_t, int8_t)
PATHS(i8, u8, int8_t, uint8_t)
PATHS(u8, i8, uint8_t, int8_t)
PATHS(u8, u8, uint8_t, uint8_t)
#undef PATHS
