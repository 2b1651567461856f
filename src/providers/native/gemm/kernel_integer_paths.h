/* kernel_integer_paths.h - template: products of 8-bit integers that need no packed V: with a few columns of S, dot
 * products, and tiny products in scalar loops; and small products, which pack both operands without passes. Included in
 * kernel_integer.h, with its parameters.
 */

/* Columns of S that `gemv` multiplies at once, and the k for which they are kept as pairs. */
#define FEW_COLUMNS 4
#define FEW_ROWS 4 /* that `gemv` computes at once if V is contiguous along k */
#define FEW_K 512
#define FEW_PAIRS (FEW_K / 2 + VL)
/* Sums of C that stay in the first-level cache while V is read. */
#define SLICE 1024
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
    *to = w->beta[0] == 0 ? sum : *to + sum;
}

/* Pairs of rows of k that are added at once. */
#define MOST_PAIRS 4
/* Columns whose pairs are made at once from two rows of 16-bit numbers. The numbers are interleaved within each 16
 * bytes: in the first vector the lower four of them, in the second the upper ones. ORDERED puts such vectors in order.
 */
#define UNIT (2 * VL)
typedef int16_t shorts_v __attribute__((vector_size(VECTOR_BYTES)));
#define UNPACKED(lane, first) ((lane) / 8 * 8 + (first) + (lane) % 8 / 2 + ((lane)&1) * UNIT)
#define UNPACK(a, b, first) __builtin_shufflevector(a, b, LANES_UNIT(UNPACKED, first))
#define SOURCE(column) ((column) / 8 * 4 + (column) % 4 + ((column) % 8 < 4 ? 0 : VL))
#define ORDERED_LANE(lane, first) SOURCE((lane) + (first))
#define ORDERED(low, high, first) __builtin_shufflevector(low, high, LANES_F32(ORDERED_LANE, first))

/* Adds sums in the order of UNPACK to `rows` elements of a column of C. */
INLINE void add_sums(const bp__native_view *w, int64_t p, int64_t q, uint32_t *sums, int rows) {
    const target_u32 target = target_of_u32(w, 0);
    for (int i = 0; i < rows; i += UNIT) {
        const VECTOR low = load_u32(sums + i), high = load_u32(sums + i + VL);
        store_u32(sums + i, ORDERED(low, high, 0));
        store_u32(sums + i + VL, ORDERED(low, high, VL));
    }
    for (int i = 0; i < rows && w->c_p != 1; i++) {
        add_to(w, p + i, q, sums[i]);
    }
    uint32_t *c = (uint32_t *)w->c + p + q * w->c_q;
    for (int i = 0; i < rows && w->c_p == 1; i += VL) {
        finish_vector_u32(load_u32(sums + i), &target, c + i, rows - i);
    }
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
                pack_v(v, (const uint8_t *)whole->v + k * whole->v_k + p * whole->v_p, whole->v_p, whole->v_k, rows,
                       t.k, false);
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

/* An outer product (k == 1): V becomes pairs with 0, and a column of C is written at once. */
INLINE void outer_of(bp__native_pack pack_v, bool is_signed, const bp__native_view *w, uint32_t *scratch) {
    const bool adds = w->beta[0] != 0;
    const int64_t rows = w->p, columns = w->q, s_q = w->s_q, c_p = w->c_p, c_q = w->c_q;
    const uint8_t *s = w->s;
    uint32_t *c = w->c;
    pack_v(scratch, w->v, w->v_p, w->v_k, rows, 1, false);
    for (int64_t q = 0; q < columns; q++, c += c_q) {
        const uint8_t byte = s[q * s_q];
        const uint32_t factor = is_signed ? (uint32_t)(int8_t)byte : byte;
        const VECTOR pair = splat_u32(factor & 0xffffu);
        int64_t p = 0;
        for (; c_p == 1 && p + VL <= rows; p += VL) {
            const VECTOR old = adds ? load_u32(c + p) : splat_u32(0);
            store_u32(c + p, DOT(old, load_u32(scratch + p), pair));
        }
        for (; p < rows; p++) {
            uint32_t *to = c + p * c_p;
            const uint32_t product = (uint32_t)(int16_t)scratch[p] * factor;
            *to = adds ? *to + product : product;
        }
    }
}

/* Copies elements of a row that are not side by side. */
INLINE void collect(uint8_t *to, const uint8_t *from, int64_t along, int64_t k) {
    for (int64_t l = 0; l < k; l++) {
        to[l] = from[l * along];
    }
}

#define ROW_OF(name, type) (VECTOR) JOIN(JOIN(name, V_LANES), type)
#define PATHS(of_v, of_s, V, S)                                                                                        \
    static void gemv_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                        \
        (void)scratch;                                                                                                 \
        few(few_pairs_##of_s, few_##of_v, w);                                                                          \
    }                                                                                                                  \
    static uint32_t dot_sum_##of_v##_##of_s(const uint8_t *v, const uint8_t *s, int64_t k) {                           \
        VECTOR sum[4] = {splat_u32(0), splat_u32(0), splat_u32(0), splat_u32(0)};                                      \
        int64_t l = 0;                                                                                                 \
        for (; l + 8 * VL <= k; l += 8 * VL) {                                                                         \
            UNROLL                                                                                                     \
            for (int i = 0; i < 4; i++) {                                                                              \
                sum[i] = DOT(sum[i], ROW_OF(row, of_v)(v + l + 2 * i * VL), ROW_OF(row, of_s)(s + l + 2 * i * VL));    \
            }                                                                                                          \
        }                                                                                                              \
        for (; l + 2 * VL <= k; l += 2 * VL) {                                                                         \
            sum[0] = DOT(sum[0], ROW_OF(row, of_v)(v + l), ROW_OF(row, of_s)(s + l));                                  \
        }                                                                                                              \
        if (l < k) {                                                                                                   \
            const int left = (int)(k - l);                                                                             \
            sum[1] = DOT(sum[1], ROW_OF(row_part, of_v)(v + l, left), ROW_OF(row_part, of_s)(s + l, left));            \
        }                                                                                                              \
        return sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));                                                    \
    }                                                                                                                  \
    static void dot_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                         \
        (void)scratch;                                                                                                 \
        uint8_t rows[2][FEW_K];                                                                                        \
        uint32_t sum = 0;                                                                                              \
        if (w->v_k == 1 && w->s_k == 1) {                                                                              \
            add_to(w, 0, 0, dot_sum_##of_v##_##of_s(w->v, w->s, w->k));                                                \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t k = 0; k < w->k; k += FEW_K) {                                                                    \
            const int64_t some = w->k - k < FEW_K ? w->k - k : FEW_K;                                                  \
            collect(rows[0], (const uint8_t *)w->v + k * w->v_k, w->v_k, some);                                        \
            collect(rows[1], (const uint8_t *)w->s + k * w->s_k, w->s_k, some);                                        \
            sum += dot_sum_##of_v##_##of_s(rows[0], rows[1], some);                                                    \
        }                                                                                                              \
        add_to(w, 0, 0, sum);                                                                                          \
    }                                                                                                                  \
    static void small_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                       \
        small_of(PACK_NAME(pack_v_##of_v), PACK_NAME(pack_s_##of_s), w, scratch);                                      \
    }                                                                                                                  \
    static void outer_##of_v##_##of_s(const bp__native_view *w, void *scratch) {                                       \
        outer_of(PACK_NAME(pack_v_##of_v), (S)-1 < 0, w, scratch);                                                     \
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
#undef ROW_OF
