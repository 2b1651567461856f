/* kernel_select.h - chooses between elements of one size by a condition. Elements are bits here, because they are not
 * changed. */
typedef struct wide_bits {
    uint64_t half[2];
} wide_bits;

/* One row. Called with constants as strides, so that each frequent layout has a loop of its own. */
#define SELECT_ROW(bits)                                                                                               \
    INLINE void select_row_##bits(int64_t n, const uint8_t *c, int64_t step_c, const bits *a, int64_t step_a,          \
                                  const bits *b, int64_t step_b, bits *y, int64_t step_y) {                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const bits of_a = a[i * step_a], of_b = b[i * step_b];                                                     \
            y[i * step_y] = c[i * step_c] ? of_a : of_b;                                                               \
        }                                                                                                              \
    }

#define SELECT(bits)                                                                                                   \
    SELECT_ROW(bits)                                                                                                   \
    VECTORIZED static void select_##bits(int64_t rows, int64_t columns, char *const at[4], const int64_t row[4],       \
                                         const int64_t column[4]) {                                                    \
        const bool plain = column[0] == 1 && column[3] == 1;                                                           \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const uint8_t *c = (const uint8_t *)at[0] + r * row[0];                                                    \
            const bits *a = (const bits *)(const void *)at[1] + r * row[1];                                            \
            const bits *b = (const bits *)(const void *)at[2] + r * row[2];                                            \
            bits *y = (bits *)(void *)at[3] + r * row[3];                                                              \
            if (plain && column[1] == 1 && column[2] == 1) {                                                           \
                select_row_##bits(columns, c, 1, a, 1, b, 1, y, 1);                                                    \
            } else if (plain && column[1] == 0 && column[2] == 1) {                                                    \
                select_row_##bits(columns, c, 1, a, 0, b, 1, y, 1);                                                    \
            } else if (plain && column[1] == 1 && column[2] == 0) {                                                    \
                select_row_##bits(columns, c, 1, a, 1, b, 0, y, 1);                                                    \
            } else {                                                                                                   \
                select_row_##bits(columns, c, column[0], a, column[1], b, column[2], y, column[3]);                    \
            }                                                                                                          \
        }                                                                                                              \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
SELECT(wide_bits)
#undef SELECT
#undef SELECT_ROW
