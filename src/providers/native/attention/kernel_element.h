/* kernel_element.h - template: the kernels of attention that convert, for one type. Parameters: as in
 * kernel_each_type.h. A panel has `lanes` numbers in each row, a multiple of the lanes of a vector. */
typedef IN NAME(element) __attribute__((may_alias));
typedef REAL NAME(converted) __attribute__((may_alias));

INLINE void NAME(widen_row)(int64_t n, NAME(converted) *restrict to, const NAME(element) *restrict from, int64_t column,
                            REAL factor) {
    const int64_t lanes = (int64_t)(VECTOR_BYTES / sizeof(REAL));
    int64_t i = 0;
    for (; column == 1 && i + lanes <= n; i += lanes) {
        const VECTOR x = LOAD(from + i) * SPLAT(factor);
        memcpy(to + i, &x, sizeof x);
    }
    for (; i < n; i++) {
        to[i] = WIDEN(from[i * column]) * factor;
    }
}

VECTORIZED static void NAME(widen_block)(int64_t rows, int64_t columns, const void *of_from, int64_t row,
                                         int64_t column, double factor, void *of_to, int64_t to_row) {
    const NAME(element) *from = of_from;
    NAME(converted) *to = of_to;
    for (int64_t i = 0; i < rows; i++) {
        if (column == 1) {
            NAME(widen_row)(columns, to + i * to_row, from + i * row, 1, (REAL)factor);
        } else {
            NAME(widen_row)(columns, to + i * to_row, from + i * row, column, (REAL)factor);
        }
    }
}

VECTORIZED static void NAME(narrow_block)(int64_t rows, int64_t columns, const void *of_from, int64_t from_row,
                                          int64_t from_column, double factor, void *of_to, int64_t row,
                                          int64_t column) {
    const NAME(converted) *from = of_from;
    NAME(element) *to = of_to;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            to[i * row + j * column] = NARROW(from[i * from_row + j * from_column] * (REAL)factor);
        }
    }
}

/* ---- Panels ---- */

/* Packs `count` rows, at most a vector of them, by squares that are transposed. Returns the columns that are packed. */
INLINE int64_t NAME(pack_squares)(int64_t lanes, int count, int64_t columns, const void *const *from, REAL factor,
                                  NAME(converted) * to) {
    enum { side = VECTOR_BYTES / sizeof(REAL) };
    int64_t j = 0;
    for (; j + side <= columns; j += side) {
        VECTOR square[side];
        UNROLL
        for (int i = 0; i < side; i++) {
            square[i] = i < count ? LOAD((const NAME(element) *)from[i] + j) * SPLAT(factor) : SPLAT(0);
        }
        TRANSPOSE(square);
        UNROLL
        for (int i = 0; i < side; i++) {
            memcpy(to + (j + i) * lanes, &square[i], sizeof square[i]);
        }
    }
    return j;
}

static void NAME(pack)(int64_t lanes, int64_t rows, int64_t columns, const void *const *from, int64_t column,
                       double factor, void *of_to) {
    enum { side = VECTOR_BYTES / sizeof(REAL) };
    for (int64_t first = 0; first < lanes; first += side) {
        NAME(converted) *to = (NAME(converted) *)of_to + first;
        const int64_t left = rows - first, count = left < 0 ? 0 : left < side ? left : side;
        int64_t j = 0;
        if (column == 1 && count == side) {
            j = NAME(pack_squares)(lanes, side, columns, from + first, (REAL)factor, to);
        } else if (column == 1) {
            j = NAME(pack_squares)(lanes, (int)count, columns, from + first, (REAL)factor, to);
        }
        for (; j < columns; j++) {
            for (int64_t i = 0; i < side; i++) {
                to[j * lanes + i] =
                    i < count ? WIDEN(((const NAME(element) *)from[first + i])[j * column]) * (REAL)factor : 0;
            }
        }
    }
}

/* Unpacks as pack_squares() packs; `factor` has one number for each row. */
INLINE int64_t NAME(unpack_squares)(int64_t lanes, int count, int64_t columns, const NAME(converted) * from,
                                    VECTOR factor, void *const *to) {
    enum { side = VECTOR_BYTES / sizeof(REAL) };
    int64_t j = 0;
    for (; j + side <= columns; j += side) {
        VECTOR square[side];
        UNROLL
        for (int i = 0; i < side; i++) {
            memcpy(&square[i], from + (j + i) * lanes, sizeof square[i]);
            square[i] *= factor;
        }
        TRANSPOSE(square);
        UNROLL
        for (int i = 0; i < side; i++) {
            if (i < count) {
                NAME(store_vector)((NAME(element) *)to[i] + j, square[i]);
            }
        }
    }
    return j;
}

static void NAME(unpack)(int64_t lanes, int64_t rows, int64_t columns, const void *of_from, const void *of_sum,
                         void *const *to, int64_t column) {
    enum { side = VECTOR_BYTES / sizeof(REAL) };
    for (int64_t first = 0; first < rows; first += side) {
        const NAME(converted) *from = (const NAME(converted) *)of_from + first;
        const NAME(converted) *sum = (const NAME(converted) *)of_sum + first;
        const int64_t count = rows - first < side ? rows - first : side;
        VECTOR factor = SPLAT(1);
        for (int64_t i = 0; i < count; i++) {
            factor[i] = sum[i] == 0 ? 1 : 1 / sum[i];
        }
        int64_t j = 0;
        if (column == 1 && count == side) {
            j = NAME(unpack_squares)(lanes, side, columns, from, factor, to + first);
        } else if (column == 1) {
            j = NAME(unpack_squares)(lanes, (int)count, columns, from, factor, to + first);
        }
        for (; j < columns; j++) {
            for (int64_t i = 0; i < count; i++) {
                ((NAME(element) *)to[first + i])[j * column] = NARROW(from[j * lanes + i] * factor[i]);
            }
        }
    }
}
