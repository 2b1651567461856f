/* kernel_truth.h - template: whether an element of a lane is 0, or is not, for words of one size. Parameters: TYPE (the
 * suffix of its names), WORD, an unsigned integer, and BITS, which are not all 0 in an element that is not 0.
 *
 * A floating number is 0 if no bit other than its sign is set, so integers can be compared in place of numbers: NaN is
 * not 0, nor is the least denormal number. */
typedef WORD NAME(word) __attribute__((may_alias));

/* Joins what was found of all elements: the bits of ANY, which are not 0, and for ALL whether there is a 0. */
#define KERNELS_OF(kind, found)                                                                                        \
    INLINE void NAME(join_##kind)(int64_t lanes, const NAME(word) * from, int64_t stride, NAME(word) * values) {       \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            const WORD x = from[l * stride] & BITS;                                                                    \
            values[l] |= (found);                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    VECTORIZED static void NAME(add_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {               \
        const NAME(word) *from = (const NAME(word) *)(const void *)p->at[0];                                           \
        (void)indices;                                                                                                 \
        for (int64_t i = 0; i < p->count; i++, from += p->next[0]) {                                                   \
            if (p->lane[0] == 1) {                                                                                     \
                NAME(join_##kind)(p->lanes, from, 1, values);                                                          \
            } else {                                                                                                   \
                NAME(join_##kind)(p->lanes, from, p->lane[0], values);                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    VECTORIZED static void NAME(rows_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {              \
        const NAME(word) *from = (const NAME(word) *)(const void *)p->at[0];                                           \
        NAME(word) *joined = values;                                                                                   \
        (void)indices;                                                                                                 \
        for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {                                                   \
            WORD all = joined[l];                                                                                      \
            for (int64_t i = 0; all == 0 && i < p->count; i += TOGETHER) {                                             \
                const int64_t end = i + TOGETHER < p->count ? i + TOGETHER : p->count;                                 \
                for (int64_t j = i; j < end; j++) {                                                                    \
                    const WORD x = from[j] & BITS;                                                                     \
                    all |= (found);                                                                                    \
                }                                                                                                      \
            }                                                                                                          \
            joined[l] = all;                                                                                           \
        }                                                                                                              \
    }
KERNELS_OF(any, x)
KERNELS_OF(all, (WORD)(x == 0))
#undef KERNELS_OF

static void NAME(clear_truth)(int64_t lanes, void *values, int64_t *indices) {
    (void)indices;
    memset(values, 0, (size_t)lanes * sizeof(WORD));
}

static void NAME(merge_truth)(int64_t lanes, void *values, int64_t *indices, const void *others,
                              const int64_t *other_indices) {
    (void)indices, (void)other_indices;
    for (int64_t l = 0; l < lanes; l++) {
        ((NAME(word) *)values)[l] |= ((const NAME(word) *)others)[l];
    }
}

#define STORE(kind, relation)                                                                                          \
    static void NAME(store_##kind)(int64_t lanes, const void *values, const int64_t *indices, char *to,                \
                                   int64_t stride, bool i64, double divisor) {                                         \
        (void)indices, (void)i64, (void)divisor;                                                                       \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            to[l * stride] = ((const NAME(word) *)values)[l] relation 0;                                               \
        }                                                                                                              \
    }
STORE(any, !=)
STORE(all, ==)
#undef STORE
#undef TYPE
#undef WORD
#undef BITS
