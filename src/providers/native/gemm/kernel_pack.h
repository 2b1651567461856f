/* kernel_pack.h - template: packs a strip of rows (V) or columns (S) into panels [k][width], padded with zeros.
 *
 * Parameters: REAL (type in the panel), TYPE (its suffix), IN (type in memory), PACK (name of the function), LANES
 * (LANES_4 for 4 lanes), PACK_LANES (their number, a divisor of every width), PACK_WIDTH(left) (width of the next panel
 * if `left` rows remain), PACK_ONE(x) (converts IN to REAL), and optionally PACK_LOAD(pointer) (loads PACK_LANES
 * converted elements).
 */
#define PNAME(x) JOIN(x, PACK)
#define PVECTOR PNAME(vector)

typedef REAL PVECTOR __attribute__((vector_size(PACK_LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

#ifdef PACK_LOAD
INLINE PVECTOR PNAME(load)(const IN *from) {
    return (PVECTOR)PACK_LOAD(from);
}
#else
INLINE PVECTOR PNAME(load)(const IN *from) {
    PVECTOR to = {0};
    UNROLL
    for (int i = 0; i < PACK_LANES; i++) {
        to[i] = PACK_ONE(from[i]);
    }
    return to;
}
#endif

/* Exchanges the off-diagonal squares of side `step` in a square of vectors. After steps 1, 2, 4, ... the square is
 * transposed. */
#define LOW(lane, step) (((lane) & (step)) ? PACK_LANES + (lane) - (step) : (lane))
#define HIGH(lane, step) (((lane) & (step)) ? PACK_LANES + (lane) : (lane) + (step))
#define EXCHANGE(row, step)                                                                                            \
    UNROLL                                                                                                             \
    for (int i_ = 0; i_ < PACK_LANES; i_++) {                                                                          \
        if (!(i_ & (step))) {                                                                                          \
            PVECTOR low_ = (row)[i_], high_ = (row)[i_ + (step)];                                                      \
            (row)[i_] = __builtin_shufflevector(low_, high_, LANES(LOW, step));                                        \
            (row)[i_ + (step)] = __builtin_shufflevector(low_, high_, LANES(HIGH, step));                              \
        }                                                                                                              \
    }

/* Packs PACK_LANES rows with contiguous k by transposing squares in registers. Only `rows` of them exist; the others
 * become zeros. Returns how many k were packed: the largest multiple of PACK_LANES. */
INLINE int64_t PNAME(transpose)(REAL *panel, int width, const IN *source, int64_t across, int rows, int64_t k) {
    int64_t l = 0;
    for (; l + PACK_LANES <= k; l += PACK_LANES) {
        PVECTOR row[PACK_LANES];
        UNROLL
        for (int i = 0; i < PACK_LANES; i++) {
            row[i] = i < rows ? PNAME(load)(source + i * across + l) : (PVECTOR){0};
        }
        EXCHANGE(row, 1)
#if PACK_LANES > 2
        EXCHANGE(row, 2)
#endif
#if PACK_LANES > 4
        EXCHANGE(row, 4)
#endif
#if PACK_LANES > 8
        EXCHANGE(row, 8)
#endif
        UNROLL
        for (int i = 0; i < PACK_LANES; i++) {
            *(PVECTOR *)(panel + (l + i) * width) = row[i];
        }
    }
    return l;
}

INLINE void PNAME(any)(REAL *panel, int width, const IN *source, int64_t across, int64_t along, int rows, int64_t from,
                       int64_t k) {
    for (int64_t l = from; l < k; l++) {
        for (int i = 0; i < rows; i++) {
            panel[l * width + i] = PACK_ONE(source[i * across + l * along]);
        }
        for (int i = rows; i < PACK_LANES; i++) {
            panel[l * width + i] = 0;
        }
    }
}

/* Packs one panel: contiguous rows as vectors, rows with contiguous k transposed, others element by element. */
INLINE void PNAME(panel)(REAL *panel, int width, const IN *source, int64_t across, int64_t along, int rows, int64_t k) {
    if (across == 1 && rows == width) {
        for (int64_t l = 0; l < k; l++) {
            for (int i = 0; i < width; i += PACK_LANES) {
                *(PVECTOR *)(panel + l * width + i) = PNAME(load)(source + l * along + i);
            }
        }
        return;
    }
    for (int i = 0; i < width; i += PACK_LANES) {
        int left = rows - i < 0 ? 0 : rows - i < PACK_LANES ? rows - i : PACK_LANES;
        const IN *first = left > 0 ? source + i * across : source;
        int64_t done = 0;
        if (along == 1 && left > 0) {
            done = left == PACK_LANES ? PNAME(transpose)(panel + i, width, first, across, PACK_LANES, k)
                                      : PNAME(transpose)(panel + i, width, first, across, left, k);
        }
        PNAME(any)(panel + i, width, first, across, along, left, done, k);
    }
}

/* Packs `count` rows of k elements. `across` is the stride between rows and `along` the stride in k, in elements. */
static void PACK(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,
                 bool conjugate) {
    (void)conjugate;
    REAL *to = panels;
    const IN *from = source;
    for (int64_t done = 0; done < count;) {
        int width = PACK_WIDTH(count - done);
        int rows = count - done < width ? (int)(count - done) : width;
        PNAME(panel)(to, width, from + done * across, across, along, rows, k);
        to += width * k;
        done += rows;
    }
}

#undef PNAME
#undef PVECTOR
#undef LOW
#undef HIGH
#undef EXCHANGE
#undef PACK
#undef LANES
#undef PACK_LANES
#undef PACK_WIDTH
#undef PACK_ONE
#undef PACK_LOAD
#undef IN
