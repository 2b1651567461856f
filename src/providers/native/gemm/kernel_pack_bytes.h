/* kernel_pack_bytes.h - template: packs rows (V) or columns (S) of 8-bit integers into panels of pairs [k / 2][width],
 * padded with zeros. Parameters: BYTES (i8 or u8), IN (its C type), PACK (name of the function), PACK_LANES (4, 8 or
 * 16, a divisor of every width), LANES (LANES_4 for 4 lanes), PACK_WIDTH(left) (width of the next panel if `left` rows
 * remain).
 */
#define PNAME(x) JOIN(x, PACK)
#define OF_LANES(name) JOIN(JOIN(name, PACK_LANES), BYTES)
#define PAIRS JOIN(pairs, PACK_LANES)
#define LOAD_ACROSS JOIN(load_bytes, PACK_LANES)

typedef uint32_t PNAME(loose) __attribute__((vector_size(4 * PACK_LANES), aligned(4), may_alias));

#define LOW(lane, step) (((lane) & (step)) ? PACK_LANES + (lane) - (step) : (lane))
#define HIGH(lane, step) (((lane) & (step)) ? PACK_LANES + (lane) : (lane) + (step))
#define EXCHANGE(row, step)                                                                                            \
    UNROLL                                                                                                             \
    for (int i_ = 0; i_ < PACK_LANES; i_++) {                                                                          \
        if (!(i_ & (step))) {                                                                                          \
            const PAIRS low_ = (row)[i_], high_ = (row)[i_ + (step)];                                                  \
            (row)[i_] = __builtin_shufflevector(low_, high_, LANES(LOW, step));                                        \
            (row)[i_ + (step)] = __builtin_shufflevector(low_, high_, LANES(HIGH, step));                              \
        }                                                                                                              \
    }

/* Packs `bytes` elements (at most two for each lane) of PACK_LANES rows (the first `rows` exist) with contiguous k: a
 * square of pairs, transposed in registers. */
INLINE void PNAME(square)(uint32_t *panel, int width, const IN *source, int64_t across, int rows, int bytes) {
    PAIRS row[PACK_LANES];
    UNROLL
    for (int i = 0; i < PACK_LANES; i++) {
        row[i] = i >= rows                 ? (PAIRS){0}
                 : bytes == 2 * PACK_LANES ? OF_LANES(row)(source + i * across)
                                           : OF_LANES(row_part)(source + i * across, bytes);
    }
    EXCHANGE(row, 1)
    EXCHANGE(row, 2)
#if PACK_LANES > 4
    EXCHANGE(row, 4)
#endif
#if PACK_LANES > 8
    EXCHANGE(row, 8)
#endif
    UNROLL
    for (int i = 0; i < PACK_LANES; i++) {
        if (2 * i < bytes) {
            *(PNAME(loose) *)(void *)(panel + i * width) = row[i];
        }
    }
}

/* Packs PACK_LANES rows with contiguous k. */
INLINE void PNAME(along)(uint32_t *panel, int width, const IN *source, int64_t across, int rows, int64_t k) {
    int64_t l = 0;
    for (; l + 2 * PACK_LANES <= k; l += 2 * PACK_LANES) {
        PNAME(square)(panel + l / 2 * width, width, source + l, across, rows, 2 * PACK_LANES);
    }
    if (l < k) {
        PNAME(square)(panel + l / 2 * width, width, source + l, across, rows, (int)(k - l));
    }
}

/* Packs PACK_LANES contiguous rows; if `part`, only `rows` of them exist. */
INLINE void PNAME(across)(uint32_t *panel, int width, const IN *source, int64_t along, bool part, int rows, int64_t k) {
    for (int64_t l = 0; l < k; l += 2, panel += width) {
        const IN *even = source + l * along;
        const bytes_16 low = part ? load_bytes_part(even, rows) : LOAD_ACROSS(even);
        bytes_16 high = {0};
        if (l + 1 < k) {
            high = part ? load_bytes_part(even + along, rows) : LOAD_ACROSS(even + along);
        }
        *(PNAME(loose) *)(void *)panel = OF_LANES(columns)(low, high);
    }
}

INLINE void PNAME(any)(uint32_t *panel, int width, const IN *source, int64_t across, int64_t along, int rows,
                       int64_t k) {
    for (int64_t l = 0; l < k; l += 2, panel += width) {
        for (int i = 0; i < PACK_LANES; i++) {
            const IN *x = source + i * across + l * along;
            panel[i] = i >= rows ? 0 : pair_of(x[0], l + 1 < k ? x[along] : 0);
        }
    }
}

/* Packs PACK_LANES rows of a panel; the first `rows` exist. */
INLINE void PNAME(strip)(uint32_t *panel, int width, const IN *source, int64_t across, int64_t along, int rows,
                         int64_t k) {
    if (across == 1 && rows == PACK_LANES) {
        PNAME(across)(panel, width, source, along, false, PACK_LANES, k);
    } else if (along == 1 && rows == PACK_LANES) {
        PNAME(along)(panel, width, source, across, PACK_LANES, k);
    } else if (across == 1) {
        PNAME(across)(panel, width, source, along, true, rows, k);
    } else if (along == 1) {
        PNAME(along)(panel, width, source, across, rows, k);
    } else {
        PNAME(any)(panel, width, source, across, along, rows, k);
    }
}

/* Packs `count` rows of k elements. `across` is the stride between rows and `along` the stride in k, in elements. */
void PACK(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,
                 bool conjugate) {
    (void)conjugate;
    uint32_t *to = panels;
    for (int64_t done = 0; done < count;) {
        const int width = PACK_WIDTH(count - done), some = count - done < width ? (int)(count - done) : width;
        for (int i = 0; i < width; i += PACK_LANES) {
            const int rows = some - i < 0 ? 0 : some - i < PACK_LANES ? some - i : PACK_LANES;
            const IN *first = (const IN *)source + (rows > 0 ? (done + i) * across : 0);
            PNAME(strip)(to + i, width, first, across, along, rows, k);
        }
        to += (k + 1) / 2 * width;
        done += some;
    }
}

#undef PNAME
#undef OF_LANES
#undef PAIRS
#undef LOAD_ACROSS
#undef LOW
#undef HIGH
#undef EXCHANGE
#undef PACK
#undef LANES
#undef PACK_LANES
#undef PACK_WIDTH
#undef BYTES
#undef IN
