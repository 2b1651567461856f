/* columns_kernels.h - template of the passes over the columns of a matrix, for one width of reals and one instruction
 * set (columns_set.h). Parameters: BITS of a real, VECTOR_BYTES.
 *
 * A column of a small matrix takes less time than a function call or a mispredicted loop end. So a column is processed
 * in tiles, whose counts are the same for many adjacent columns. The tile that contains the edge of a triangle is
 * masked.
 */
#define WORD JOIN(word, BITS)
#define WORDS JOIN(words, BITS)
#define NAME(x) JOIN(x##_, BITS)
#define TILE (512 / BITS) /* elements of a cache line */
#define EACH_VECTOR(i) _Pragma("GCC unroll 4") for (int i = 0; i < TILE; i += 8 * VECTOR_BYTES / BITS)

typedef JOIN(JOIN(uint, BITS), _t) __attribute__((may_alias)) WORD;
typedef JOIN(JOIN(uint, BITS), _t) __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias)) WORDS;

INLINE WORDS NAME(get)(const WORD *from) {
    return *(const WORDS *)(const void *)from;
}

INLINE void NAME(put)(WORD *to, WORDS x) {
    *(WORDS *)(void *)to = x;
}

/* Returns a word whose top bit is set if x is NaN or infinite: all exponent bits are set then, and adding one carries.
 */
INLINE WORDS NAME(exponent_carry)(WORDS x) {
    return (x & ((WORD)-1 >> 1)) + ((WORD)1 << (BITS == 64 ? 52 : 23));
}

/* Selected elements of a column, and of the columns up to `until`, whose edges are in the same tile. */
typedef struct NAME(extent) {
    int64_t edge;
    int64_t cut;        /* number of the tile with the edge; the number of tiles if there is none */
    int64_t first, end; /* fully selected tiles */
    int64_t until;
} NAME(extent);

INLINE NAME(extent) NAME(extent_of)(const bp__lapack_columns *c, int64_t j) {
    const int64_t tiles = c->size / TILE, edge = c->edge + j * c->step;
    NAME(extent) e = {.edge = edge < c->size ? edge : c->size, .until = c->columns};
    e.cut = e.edge / TILE;
    e.first = !c->after_edge ? 0 : e.cut < tiles ? e.cut + 1 : tiles;
    e.end = c->after_edge ? tiles : e.cut;
    if (c->step > 0 && edge < c->size) {
        const int64_t next = j + ((e.cut + 1) * TILE - edge + c->step - 1) / c->step;
        e.until = next < c->columns ? next : c->columns;
    }
    return e;
}

/* Returns the mask of the selected elements of the tile with the edge. `after_edge` is all ones to select the elements
 * from the edge on. */
INLINE WORDS NAME(mask)(int64_t edge, int64_t at, WORDS after_edge) {
    static const uint64_t masks[16] = {ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES};
    return NAME(get)((const WORD *)masks + TILE - edge + at) ^ after_edge;
}

INLINE WORDS NAME(scan_vector)(WORD *to, const WORD *from, int64_t i, WORDS mask, bool copies) {
    const WORDS x = NAME(get)(from + i) & mask;
    if (copies) {
        NAME(put)(to + i, x);
    }
    return NAME(exponent_carry)(x);
}

INLINE bool NAME(scan_columns)(const bp__lapack_columns *c, bool copies) {
    const int64_t size = c->size, whole = size & -TILE, step = c->step;
    const bool after_edge = c->after_edge;
    const WORDS all = ~(WORDS){0}, side = after_edge ? all : ~all;
    const WORD *from = c->from;
    WORD *to = c->to, rest = 0;
    WORDS flags = {0};
    for (int64_t j = 0; j < c->columns;) {
        NAME(extent) e = NAME(extent_of)(c, j);
        const int64_t cut = e.cut * TILE, first = e.first * TILE, end = e.end * TILE;
        for (; j < e.until; j++, e.edge += step, from += c->from_next, to += copies ? c->to_next : 0) {
            for (int64_t t = first; t < end; t += TILE) {
                EACH_VECTOR(i) {
                    flags |= NAME(scan_vector)(to, from, t + i, all, copies);
                }
            }
            if (cut < whole) {
                EACH_VECTOR(i) {
                    flags |= NAME(scan_vector)(to, from, cut + i, NAME(mask)(e.edge - cut, i, side), copies);
                }
            }
            for (int64_t i = whole; i < size; i++) {
                const WORD x = (i < e.edge) != after_edge ? from[i] : 0;
                if (copies) {
                    to[i] = x;
                }
                rest |= NAME(exponent_carry)((WORDS){x})[0];
            }
        }
    }
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORD); i++) {
        rest |= flags[i];
    }
    return !(rest >> (BITS - 1));
}

static bool NAME(scan)(const bp__lapack_columns *c) {
    return c->to ? NAME(scan_columns)(c, true) : NAME(scan_columns)(c, false);
}

static void NAME(clear)(const bp__lapack_columns *c) {
    static const volatile WORD zero; /* with a constant, compilers would call memset for each column */
    const int64_t size = c->size, whole = size & -TILE, step = c->step, next = c->to_next;
    const bool after_edge = c->after_edge;
    const WORDS zeros = (WORDS){0} + zero, side = after_edge ? ~zeros : zeros;
    WORD *to = c->to;
    for (int64_t j = 0; j < c->columns;) {
        NAME(extent) e = NAME(extent_of)(c, j);
        const int64_t cut = e.cut * TILE, first = e.first * TILE, end = e.end * TILE;
        for (; j < e.until; j++, e.edge += step, to += next) {
            for (int64_t t = first; t < end; t += TILE) {
                EACH_VECTOR(i) {
                    NAME(put)(to + t + i, zeros);
                }
            }
            if (cut < whole) {
                EACH_VECTOR(i) {
                    NAME(put)(to + cut + i, NAME(get)(to + cut + i) & ~NAME(mask)(e.edge - cut, i, side));
                }
            }
            for (int64_t i = whole; i < size; i++) {
                to[i] = (i < e.edge) != after_edge ? 0 : to[i];
            }
        }
    }
}

#undef WORD
#undef WORDS
#undef NAME
#undef TILE
#undef EACH_VECTOR
