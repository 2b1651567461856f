/* kernel_integer.h - template: the kernels of reductions for one integer type. Parameters: TYPE (its suffix), IN,
 * VECTOR (of IN), LOWEST and HIGHEST. Sums wrap around, so they are computed without signs. */
#define REAL IN
typedef IN NAME(element) __attribute__((may_alias));
typedef IN NAME(number) __attribute__((may_alias));

enum { NAME(WIDTH) = VECTOR_BYTES / sizeof(IN) };

INLINE VECTOR NAME(get)(const NAME(element) * from, int64_t stride, bool whole, int lanes) {
    VECTOR x = {0};
    if (whole) {
        memcpy(&x, from, sizeof x);
        return x;
    }
    for (int i = 0; i < lanes; i++) {
        x[i] = from[i * stride];
    }
    return x;
}

#define UNORDERED(x) ((x) ^ (x))
#define GREATEST(x, y) NAME(choose)((NAME(flags))((x) > (y)), x, y)
#define LEAST(x, y) NAME(choose)((NAME(flags))((x) < (y)), x, y)
typedef int NAME(nans);
#define NANS(x, y) 0
#define ANY_NAN(nans) ((nans) != 0)
#include "kernel_extreme.h"
#undef UNORDERED
#undef GREATEST
#undef LEAST
#undef NANS
#undef ANY_NAN

INLINE void NAME(sum_row)(int64_t lanes, const NAME(element) * from, int64_t stride, uint64_t *values, bool product) {
    for (int64_t l = 0; l < lanes; l++) {
        const uint64_t x = (uint64_t)(int64_t)from[l * stride];
        values[l] = product ? values[l] * x : values[l] + x;
    }
}

#define ADD(kind, product)                                                                                             \
    VECTORIZED static void NAME(add_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {               \
        const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];                                     \
        (void)indices;                                                                                                 \
        for (int64_t i = 0; i < p->count; i++, from += p->next[0]) {                                                   \
            if (p->lane[0] == 1) {                                                                                     \
                NAME(sum_row)(p->lanes, from, 1, values, product);                                                     \
            } else {                                                                                                   \
                NAME(sum_row)(p->lanes, from, p->lane[0], values, product);                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
ADD(sum, false)
ADD(prod, true)
#undef ADD

#define ROWS(kind, operator, neutral)                                                                                  \
    VECTORIZED static void NAME(rows_##kind)(const bp__reduce_piece *p, void *of_values, int64_t *indices) {           \
        const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];                                     \
        uint64_t *values = of_values;                                                                                  \
        (void)indices;                                                                                                 \
        for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {                                                   \
            uint64_t all = neutral;                                                                                    \
            for (int64_t i = 0; i < p->count; i++) {                                                                   \
                all operator(uint64_t)(int64_t) from[i];                                                               \
            }                                                                                                          \
            values[l] operator all;                                                                                    \
        }                                                                                                              \
    }
ROWS(sum, +=, 0)
ROWS(prod, *=, 1)
#undef ROWS

static void NAME(store_sum)(int64_t lanes, const void *values, const int64_t *indices, char *to, int64_t stride,
                            bool i64, double divisor) {
    (void)indices, (void)divisor;
    for (int64_t l = 0; l < lanes; l++) {
        const int64_t x = (int64_t)((const uint64_t *)values)[l];
        if (i64) {
            ((int64_t *)(void *)to)[l * stride] = x;
        } else {
            ((NAME(element) *)(void *)to)[l * stride] = (IN)x;
        }
    }
}
#undef REAL
