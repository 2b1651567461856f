/* kernel_element.h - template: the kernels of attention that convert, for one type. Parameters: those of
 * kernel_each_type.h. */
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
