/* kernel_extreme.h - template: the greatest and least elements of lanes, for one type. Parameters: NAME(x), REAL,
 * VECTOR and, from kernel_lanes.h or kernel_integer.h, element, number, WIDTH, get() and the conversions WIDEN and
 * NARROW; UNORDERED(x), whether x is NaN; LOWEST and HIGHEST. */
typedef __typeof__(_Generic((REAL)0, float : (int32_t)0, double : (int64_t)0, default : (REAL)0)) NAME(flag);
typedef NAME(flag) NAME(flags) __attribute__((vector_size(VECTOR_BYTES)));

/* Whether x is more extreme than y: NaN is more extreme than all numbers. */
INLINE bool NAME(exceeds)(REAL x, REAL y, bool least) {
    return !(least ? x >= y : x <= y) && !UNORDERED(y);
}

INLINE VECTOR NAME(choose)(NAME(flags) flags, VECTOR yes, VECTOR no) {
    return (VECTOR)((flags & (NAME(flags))yes) | (~flags & (NAME(flags))no));
}

INLINE NAME(flags) NAME(exceeding)(VECTOR x, VECTOR y, bool least) {
    return ~((NAME(flags))(least ? x >= y : x <= y) | (NAME(flags))UNORDERED(y));
}

/* Replaces a value by another one that is more extreme, or that is as extreme and has a smaller index. */
INLINE void NAME(join)(NAME(number) * value, int64_t *index, REAL other, int64_t other_index, bool least) {
    if (NAME(exceeds)(other, *value, least) || (!NAME(exceeds)(*value, other, least) && other_index < *index)) {
        *value = other;
        *index = other_index;
    }
}

INLINE void NAME(extreme_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                               NAME(number) * values, int64_t *indices, bool least, bool track) {
    VECTOR best[TILE];
    NAME(flags) at[TILE];
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        best[v] = NAME(get)(from + v * NAME(WIDTH), p->lane[0], whole, lanes);
        at[v] = (NAME(flags)){0};
    }
    NAME(flags) now = (NAME(flags)){0};
    for (int64_t i = 1; i < p->count; i++) {
        from += p->next[0];
        now += 1;
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const VECTOR x = NAME(get)(from + v * NAME(WIDTH), p->lane[0], whole, lanes);
            const NAME(flags) flags = NAME(exceeding)(x, best[v], least);
            best[v] = NAME(choose)(flags, x, best[v]);
            if (track) {
                at[v] = (flags & now) | (~flags & at[v]);
            }
        }
    }
    if (whole && !track) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            VECTOR old;
            memcpy(&old, values + lane + v * NAME(WIDTH), sizeof old);
            old = NAME(choose)(NAME(exceeding)(best[v], old, least), best[v], old);
            memcpy(values + lane + v * NAME(WIDTH), &old, sizeof old);
        }
        return;
    }
    for (int v = 0; v < vectors; v++) {
        for (int i = 0; i < (whole ? NAME(WIDTH) : lanes); i++) {
            const int64_t l = lane + v * NAME(WIDTH) + i;
            if (track) {
                NAME(join)
                (values + l, indices + l, best[v][i], p->index + l * p->index_lane + (int64_t)at[v][i] * p->index_next,
                 least);
            } else {
                values[l] = NAME(exceeds)(best[v][i], values[l], least) ? best[v][i] : values[l];
            }
        }
    }
}

/* Whether all lanes are as clear() left them. */
INLINE bool NAME(are_clear)(int64_t lanes, const int64_t *indices) {
    int64_t used = 0;
    for (int64_t l = 0; l < lanes; l++) {
        used |= indices[l] ^ INT64_MAX;
    }
    return used == 0;
}

/* Without indices, joins whole vectors. */
INLINE void NAME(merge_extreme)(int64_t lanes, NAME(number) * values, int64_t *indices, const NAME(number) * others,
                                const int64_t *other_indices, bool least, bool track) {
    int64_t l = track && NAME(are_clear)(lanes, other_indices) ? lanes : 0;
    for (; !track && l + NAME(WIDTH) <= lanes; l += NAME(WIDTH)) {
        VECTOR x, y;
        memcpy(&x, others + l, sizeof x);
        memcpy(&y, values + l, sizeof y);
        y = NAME(choose)(NAME(exceeding)(x, y, least), x, y);
        memcpy(values + l, &y, sizeof y);
    }
    for (; l < lanes; l++) {
        if (track) {
            NAME(join)(values + l, indices + l, others[l], other_indices[l], least);
        } else {
            values[l] = NAME(exceeds)(others[l], values[l], least) ? others[l] : values[l];
        }
    }
}

/* Whether any flag of vectors joined by "or" is set. */
INLINE bool NAME(any)(NAME(flags) flags) {
    uint64_t words[VECTOR_BYTES / 8], all = 0;
    memcpy(words, &flags, sizeof words);
    UNROLL
    for (int i = 0; i < VECTOR_BYTES / 8; i++) {
        all |= words[i];
    }
    return all != 0;
}

/* Returns the most extreme of n >= WIDTH elements; the last vector may repeat some. */
INLINE REAL NAME(extreme_of)(const NAME(element) * from, int64_t n, bool least) {
    VECTOR best[TILE];
    UNROLL
    for (int v = 0; v < TILE; v++) {
        best[v] = NAME(get)(from + n - NAME(WIDTH), 1, true, 0);
    }
    int64_t i = 0;
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH)) {
        UNROLL
        for (int v = 0; v < TILE; v++) {
            const VECTOR x = NAME(get)(from + i + v * NAME(WIDTH), 1, true, 0);
            best[v] = NAME(choose)(NAME(exceeding)(x, best[v], least), x, best[v]);
        }
    }
    for (; i + NAME(WIDTH) <= n; i += NAME(WIDTH)) {
        const VECTOR x = NAME(get)(from + i, 1, true, 0);
        best[0] = NAME(choose)(NAME(exceeding)(x, best[0], least), x, best[0]);
    }
    for (int v = 1; v < TILE; v++) {
        best[0] = NAME(choose)(NAME(exceeding)(best[v], best[0], least), best[v], best[0]);
    }
    REAL one = best[0][0];
    for (int l = 1; l < NAME(WIDTH); l++) {
        one = NAME(exceeds)(best[0][l], one, least) ? best[0][l] : one;
    }
    return one;
}

/* Returns the first of the elements that is `value`, which is one of them. */
INLINE int64_t NAME(first_of)(const NAME(element) * from, int64_t n, REAL value) {
    const bool unordered = UNORDERED(value);
    int64_t i = 0;
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH)) {
        NAME(flags) found = {0};
        UNROLL
        for (int v = 0; v < TILE; v++) {
            const VECTOR x = NAME(get)(from + i + v * NAME(WIDTH), 1, true, 0);
            found |= unordered ? (NAME(flags))UNORDERED(x) : (NAME(flags))(x == value);
        }
        if (NAME(any)(found)) {
            break;
        }
    }
    for (;; i++) {
        const REAL x = NAME(get)(from + i, 1, false, 1)[0];
        if (i >= n - 1 || (unordered ? UNORDERED(x) : x == value)) {
            return i;
        }
    }
}

/* Finds the position in a contiguous row in two passes: the value, and then the first element that has it, unless an
 * earlier piece of the row has an equal one. The first lane has the result, the others stay clear. */
INLINE void NAME(find_in_row)(const bp__reduce_piece *p, NAME(number) * values, int64_t *indices, bool least) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    const int64_t n = p->lanes * p->count;
    const REAL best = NAME(extreme_of)(from, n, least);
    if (indices[0] == INT64_MAX || NAME(exceeds)(best, values[0], least)) {
        values[0] = best;
        indices[0] = p->index + NAME(first_of)(from, n, best);
    }
}

#define EXTREME(kind, least, track, worst)                                                                             \
    static void NAME(add_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {                          \
        if (track && p->index_lane == 1 && p->lane[0] == 1 && p->lanes * p->count >= NAME(WIDTH)) {                    \
            NAME(find_in_row)(p, values, indices, least);                                                              \
            return;                                                                                                    \
        }                                                                                                              \
        EACH_TILE(p->lanes, p->lane[0] == 1, NAME(extreme_tile), p, values, indices, least, track);                    \
    }                                                                                                                  \
    static void NAME(clear_##kind)(int64_t lanes, void *values, int64_t *indices) {                                    \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            ((NAME(number) *)values)[l] = worst;                                                                       \
        }                                                                                                              \
        for (int64_t l = 0; track && l < lanes; l++) {                                                                 \
            indices[l] = INT64_MAX;                                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(merge_##kind)(int64_t lanes, void *values, int64_t *indices, const void *others,                  \
                                   const int64_t *other_indices) {                                                     \
        NAME(merge_extreme)(lanes, values, indices, others, other_indices, least, track);                              \
    }
EXTREME(max, false, false, LOWEST)
EXTREME(min, true, false, HIGHEST)
EXTREME(argmax, false, true, LOWEST)
EXTREME(argmin, true, true, HIGHEST)
#undef EXTREME

static void NAME(store_extreme)(int64_t lanes, const void *values, const int64_t *indices, char *to, int64_t stride,
                                bool i64, double divisor) {
    (void)indices, (void)i64, (void)divisor;
    for (int64_t l = 0; l < lanes; l++) {
        ((NAME(element) *)(void *)to)[l * stride] = (IN)NARROW(((const NAME(number) *)values)[l]);
    }
}
