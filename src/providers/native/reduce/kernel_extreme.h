/* kernel_extreme.h - template: the greatest and least elements of lanes, for one type. Parameters: NAME(x), REAL,
 * VECTOR and, from kernel_lanes.h or kernel_integer.h, element, number, WIDTH, get() and the conversions WIDEN and
 * NARROW; UNORDERED(x), whether x is NaN; LOWEST and HIGHEST; and for rows GREATEST(x, y), LEAST(x, y), NANS(x, y),
 * which lanes of either are NaN, of type nans, and ANY_NAN(nans). */
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

/* ---- Rows ---- */

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

INLINE REAL NAME(one)(const NAME(element) * from, int64_t i) {
    return WIDEN(from[i]);
}

/* Returns the most extreme lane; none is NaN. */
INLINE REAL NAME(most_of_lanes)(VECTOR x, bool least) {
    REAL lanes[NAME(WIDTH)];
    memcpy(lanes, &x, sizeof lanes);
    UNROLL
    for (int half = NAME(WIDTH) / 2; half > 0; half /= 2) {
        UNROLL
        for (int l = 0; l < half; l++) {
            const REAL other = lanes[l + half];
            lanes[l] = least ? (other < lanes[l] ? other : lanes[l]) : (other > lanes[l] ? other : lanes[l]);
        }
    }
    return lanes[0];
}

/* Finds the most extreme of a few elements, and the position of the first one. */
INLINE REAL NAME(short_position)(const NAME(element) * from, int64_t n, bool least, int64_t *position) {
    REAL value = NAME(one)(from, 0);
    *position = 0;
    for (int64_t i = 1; i < n; i++) {
        const REAL x = NAME(one)(from, i);
        if (NAME(exceeds)(x, value, least)) {
            value = x;
            *position = i;
        }
    }
    return value;
}

/* Returns the most extreme of n elements. Extremes of vectors are of their negatives for `least`. An element that is
 * NaN is noted apart, because the processor's maximum loses it. */
INLINE REAL NAME(extreme_of)(const NAME(element) * from, int64_t n, bool least) {
#define EXTREME_AT(v, i)                                                                                               \
    do {                                                                                                               \
        x[v] = NAME(get)(from + (i), 1, true, 0);                                                                      \
        best[v] = least ? LEAST(x[v], best[v]) : GREATEST(x[v], best[v]);                                              \
    } while (0)
    VECTOR best[TILE], x[TILE];
    NAME(nans) nan[2] = {0};
    int64_t i = 0;
    if (n < NAME(WIDTH)) {
        int64_t unused;
        return NAME(short_position)(from, n, least, &unused);
    }
    UNROLL
    for (int v = 0; v < TILE; v++) {
        best[v] = NAME(get)(from, 1, true, 0);
    }
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH)) {
        UNROLL
        for (int v = 0; v < TILE; v++) {
            EXTREME_AT(v, i + v * NAME(WIDTH));
        }
        nan[0] |= NANS(x[0], x[1]);
        nan[1] |= NANS(x[2], x[3]);
    }
    for (; i + NAME(WIDTH) <= n; i += NAME(WIDTH)) {
        EXTREME_AT(0, i);
        nan[0] |= NANS(x[0], x[0]);
    }
    if (i < n) {
        EXTREME_AT(1, n - NAME(WIDTH));
        nan[1] |= NANS(x[1], x[1]);
    }
#undef EXTREME_AT
    for (int v = 1; v < TILE; v++) {
        best[0] = least ? LEAST(best[v], best[0]) : GREATEST(best[v], best[0]);
    }
    if (ANY_NAN(nan[0] | nan[1])) {
        return (REAL)NAN;
    }
    return NAME(most_of_lanes)(best[0], least);
}

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
/* Finds the most extreme of n elements, and its position: of each lane with the position of its tile, and then the
 * first of those with the same value. Vector v of a tile is v vectors behind that position. NaN is searched for if
 * there is one. */
INLINE REAL NAME(extreme_position)(const NAME(element) * from, int64_t n, bool least, int64_t *position) {
    VECTOR best[TILE], x[TILE];
    NAME(flags) at[TILE], now = {0}, lane = {0}, first;
    NAME(nans) nan[2] = {0};
    int64_t i = 0;
    for (int l = 0; l < NAME(WIDTH); l++) {
        lane[l] = (NAME(flag))l;
    }
    UNROLL
    for (int v = 0; v < TILE; v++) {
        best[v] = NAME(get)(from, 1, true, 0);
        at[v] = (NAME(flags)){0} - (NAME(flag))(v * NAME(WIDTH));
    }
#define JOIN_AT(v, i, tile)                                                                                            \
    do {                                                                                                               \
        x[v] = NAME(get)(from + (i), 1, true, 0);                                                                      \
        const unsigned more = MORE_LANES(x[v], best[v], least);                                                        \
        best[v] = PICK(more, x[v], best[v]);                                                                           \
        at[v] = PICK_FLAGS(more, tile, at[v]);                                                                         \
    } while (0)
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH), now += TILE * NAME(WIDTH)) {
        UNROLL
        for (int v = 0; v < TILE; v++) {
            JOIN_AT(v, i + v * NAME(WIDTH), now);
        }
        nan[0] |= NANS(x[0], x[1]);
        nan[1] |= NANS(x[2], x[3]);
    }
    for (; i + NAME(WIDTH) <= n; i += NAME(WIDTH), now += NAME(WIDTH)) {
        JOIN_AT(0, i, now);
        nan[0] |= NANS(x[0], x[0]);
    }
    if (i < n) {
        JOIN_AT(0, n - NAME(WIDTH), now - (NAME(flag))(i + NAME(WIDTH) - n));
        nan[1] |= NANS(x[0], x[0]);
    }
#undef JOIN_AT
    VECTOR most = best[0];
    for (int v = 1; v < TILE; v++) {
        most = least ? LEAST(best[v], most) : GREATEST(best[v], most);
    }
    if (ANY_NAN(nan[0] | nan[1])) {
        for (*position = 0; !UNORDERED(NAME(one)(from, *position)); ++*position) {
        }
        return NAME(one)(from, *position);
    }
    const REAL value = NAME(most_of_lanes)(most, least);
    first = at[0] + lane;
    first = PICK_FLAGS(EQUAL_LANES(best[0], value), first, (NAME(flags)){0} + (NAME(flag))n);
    for (int v = 1; v < TILE; v++) {
        const NAME(flags) other = at[v] + lane + (NAME(flag))(v * NAME(WIDTH));
        first = PICK_FLAGS(EQUAL_LANES(best[v], value) & MORE_FLAGS(first, other), other, first);
    }
    *position = LEAST_FLAG(first);
    return value;
}
#else
/* Finds the most extreme of n elements, and then the first element that has its value. */
INLINE REAL NAME(extreme_position)(const NAME(element) * from, int64_t n, bool least, int64_t *position) {
    const REAL value = NAME(extreme_of)(from, n, least);
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
    for (; i < n - 1; i++) {
        const REAL x = NAME(one)(from, i);
        if (unordered ? UNORDERED(x) : x == value) {
            break;
        }
    }
    *position = i;
    return value;
}
#endif

/* Joins the extremes of rows to the extremes of earlier pieces; of equal ones the first stays. */
INLINE void NAME(extremes_of_rows)(const bp__reduce_piece *p, NAME(number) * values, int64_t *indices, bool least,
                                   bool track) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {
        if (!track) {
            const REAL best = NAME(extreme_of)(from, p->count, least);
            values[l] = NAME(exceeds)(best, values[l], least) ? best : values[l];
            continue;
        }
        int64_t position;
        const REAL best = p->count < NAME(WIDTH) ? NAME(short_position)(from, p->count, least, &position)
                                                 : NAME(extreme_position)(from, p->count, least, &position);
        if (indices[l] == INT64_MAX || NAME(exceeds)(best, values[l], least)) {
            values[l] = best;
            indices[l] = p->index + position;
        }
    }
}

#define EXTREME(kind, least, track, worst)                                                                             \
    static void NAME(add_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {                          \
        EACH_TILE(p->lanes, p->lane[0] == 1, NAME(extreme_tile), p, values, indices, least, track);                    \
    }                                                                                                                  \
    static void NAME(rows_##kind)(const bp__reduce_piece *p, void *values, int64_t *indices) {                         \
        NAME(extremes_of_rows)(p, values, indices, least, track);                                                      \
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
