/* kernel_convert.h - reads elements of each type into domains, and writes them. Include it after the file of this name
 * of all families. */

/* Returns a number of 13 bits of mantissa that rounds to f16 and bf16 as x does, in a type in which x has too many
 * bits: the bits that are lost set the last one. */
INLINE float odd_f64(double x) {
    const uint64_t rest = (UINT64_C(1) << 39) - 1;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & ~rest) | (bits & rest ? rest + 1 : 0);
    memcpy(&x, &bits, sizeof x);
    return (float)x;
}

/* As above, of an integer. */
INLINE float odd_i64(int64_t x) {
    const int64_t rest = (1 << 11) - 1, most = INT64_C(1) << 53;
    const int64_t odd = (x & ~rest) | (-(int64_t)((x & rest) != 0) & (rest + 1));
    const int64_t exact =
        -(int64_t)((x < most) & (x > -most)); /* a mask, because the compiler has no vectors of branches */
    return odd_f64((double)((x & exact) | (odd & ~exact)));
}

/* Truncate to an integer from least to most, which the type of x has; NaN becomes 0. Without branches, so that the
 * compiler can use vectors. */
#define TRUNCATED(name, real, type, least, most)                                                                       \
    INLINE type name(real x) {                                                                                         \
        const real below = x < (most) ? x : (most), fits = below > (least) ? below : (least);                          \
        return (type)(int32_t)(x == x ? fits : 0);                                                                     \
    }
TRUNCATED(i8_of_f32, float, int8_t, INT8_MIN, INT8_MAX)
TRUNCATED(u8_of_f32, float, uint8_t, 0, UINT8_MAX)
TRUNCATED(i8_of_f64, double, int8_t, INT8_MIN, INT8_MAX)
TRUNCATED(u8_of_f64, double, uint8_t, 0, UINT8_MAX)
TRUNCATED(i32_of_f64, double, int32_t, INT32_MIN, INT32_MAX)
#undef TRUNCATED

/* As above; f32 does not have the largest i32. */
INLINE int32_t i32_of_f32(float x) {
    const float below = x < 0x1p31f ? x : 0, fits = below > -0x1p31f ? below : -0x1p31f;
    const int32_t number = (int32_t)(x == x ? fits : 0);
    return x >= 0x1p31f ? INT32_MAX : number;
}

/* As above; f64 does not have the largest i64. */
INLINE int64_t i64_of(double x) {
    return x != x ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

/* ---- Single elements ---- */

#define READ(domain, type, number, element, value)                                                                     \
    VECTORIZED static void read_##domain##_##type(int64_t rows, int64_t columns, const void *of_from, int64_t row,     \
                                                  int64_t column, void *of_to) {                                       \
        number *to = of_to;                                                                                            \
        for (int64_t r = 0; r < rows; r++, to += columns) {                                                            \
            const element *from = (const element *)of_from + r * row;                                                  \
            if (column == 1) {                                                                                         \
                for (int64_t i = 0; i < columns; i++) {                                                                \
                    const element x = from[i];                                                                         \
                    to[i] = (number)(value);                                                                           \
                }                                                                                                      \
            } else if (column == 0) {                                                                                  \
                const element x = from[0];                                                                             \
                const number same = (number)(value);                                                                   \
                for (int64_t i = 0; i < columns; i++) {                                                                \
                    to[i] = same;                                                                                      \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int64_t i = 0; i < columns; i++) {                                                                \
                    const element x = from[i * column];                                                                \
                    to[i] = (number)(value);                                                                           \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define WRITE(domain, type, number, element, value)                                                                    \
    VECTORIZED static void write_##domain##_##type(int64_t rows, int64_t columns, const void *of_from, void *of_to,    \
                                                   int64_t row, int64_t column) {                                      \
        const number *from = of_from;                                                                                  \
        for (int64_t r = 0; r < rows; r++, from += columns) {                                                          \
            element *to = (element *)of_to + r * row;                                                                  \
            if (column == 1) {                                                                                         \
                for (int64_t i = 0; i < columns; i++) {                                                                \
                    const number x = from[i];                                                                          \
                    to[i] = (element)(value);                                                                          \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int64_t i = 0; i < columns; i++) {                                                                \
                    const number x = from[i];                                                                          \
                    to[i * column] = (element)(value);                                                                 \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

READ(i32, i32, int32_t, int32_t, x)
WRITE(i32, i32, int32_t, int32_t, x)
WRITE(i32, bool, int32_t, uint8_t, x != 0)

READ(i64, bool, int64_t, uint8_t, x != 0)
READ(i64, i8, int64_t, int8_t, x)
READ(i64, u8, int64_t, uint8_t, x)
READ(i64, i32, int64_t, int32_t, x)
READ(i64, i64, int64_t, int64_t, x)
WRITE(i64, bool, int64_t, uint8_t, x != 0)
WRITE(i64, i8, int64_t, int8_t, x)
WRITE(i64, u8, int64_t, uint8_t, x)
WRITE(i64, i32, int64_t, int32_t, x)
WRITE(i64, i64, int64_t, int64_t, x)
WRITE(i64, f32, int64_t, float, x)
WRITE(i64, f64, int64_t, double, x)

/* f32 has all numbers of 8 bits, and f64 all of 32. */
READ(f32, bool, float, uint8_t, x != 0)
READ(f32, i8, float, int8_t, x)
READ(f32, u8, float, uint8_t, x)
READ(f32, f32, float, float, x)
WRITE(f32, bool, float, uint8_t, x != 0)
WRITE(f32, i8, float, int8_t, i8_of_f32(x))
WRITE(f32, u8, float, uint8_t, u8_of_f32(x))
WRITE(f32, i32, float, int32_t, i32_of_f32(x))
WRITE(f32, f32, float, float, x)
WRITE(f32, f64, float, double, x)

READ(f64, i32, double, int32_t, x)
READ(f64, f64, double, double, x)
WRITE(f64, bool, double, uint8_t, x != 0)
WRITE(f64, i8, double, int8_t, i8_of_f64(x))
WRITE(f64, u8, double, uint8_t, u8_of_f64(x))
WRITE(f64, i32, double, int32_t, i32_of_f64(x))
WRITE(f64, f32, double, float, x)
WRITE(f64, f64, double, double, x)
#undef READ
#undef WRITE

/* ---- f16 and bf16, in vectors ---- */

enum { HALF_LANES = VECTOR_BYTES / 4 };

typedef float floats __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

#define HALF(type)                                                                                                     \
    static void read_f32_##type(int64_t rows, int64_t columns, const void *of_from, int64_t row, int64_t column,       \
                                void *of_to) {                                                                         \
        float *to = of_to;                                                                                             \
        for (int64_t r = 0; r < rows; r++, to += columns) {                                                            \
            const uint16_t *from = (const uint16_t *)of_from + r * row;                                                \
            int64_t i = 0;                                                                                             \
            for (; column == 1 && i + HALF_LANES <= columns; i += HALF_LANES) {                                        \
                *(floats *)(to + i) = load_##type(from + i);                                                           \
            }                                                                                                          \
            for (; i < columns; i++) {                                                                                 \
                to[i] = widen_##type(from[i * column]);                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void write_f32_##type(int64_t rows, int64_t columns, const void *of_from, void *of_to, int64_t row,         \
                                 int64_t column) {                                                                     \
        const float *from = of_from;                                                                                   \
        for (int64_t r = 0; r < rows; r++, from += columns) {                                                          \
            uint16_t *to = (uint16_t *)of_to + r * row;                                                                \
            int64_t i = 0;                                                                                             \
            for (; column == 1 && i + HALF_LANES <= columns; i += HALF_LANES) {                                        \
                store_vector_##type(to + i, *(const floats *)(from + i));                                              \
            }                                                                                                          \
            for (; i < columns; i++) {                                                                                 \
                to[i * column] = narrow_##type(from[i]);                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
HALF(f16)
HALF(bf16)
#undef HALF

/* ---- Numbers of 64 bits, in blocks ----
 *
 * Few processors convert vectors of i64. An integer below 2^51 in size is in the last bits of its sum with 1.5 x 2^52.
 */

enum { WIDE_BLOCK = 64 };
#define BEHIND_POINT 0x1.8p52

INLINE int64_t word_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double number_of(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns the truncated number, below 2^51 in size. The signs are moved as bits, and the comparison is a mask, because
 * the compiler has no vectors of branches. */
INLINE int64_t small_of(double x) {
    const int64_t sign = word_of(x) & INT64_MIN;
    const double size = number_of(word_of(x) ^ sign), near = size + BEHIND_POINT - BEHIND_POINT;
    const double whole = near - number_of(word_of(1.) & -(int64_t)(near > size));
    return word_of(number_of(word_of(whole) | sign) + BEHIND_POINT) - word_of(BEHIND_POINT);
}

VECTORIZED static void i64_of_block(const double *from, int64_t *to) {
    int64_t below = -1; /* a negative number, if all are below 2^51 in size */
    for (int j = 0; j < WIDE_BLOCK; j++) {
        below &= (word_of(from[j]) & INT64_MAX) - word_of(0x1p51);
    }
    for (int j = 0; below < 0 && j < WIDE_BLOCK; j++) {
        to[j] = small_of(from[j]);
    }
    for (int j = 0; below >= 0 && j < WIDE_BLOCK; j++) {
        to[j] = i64_of(from[j]);
    }
}

#define TO_I64(domain, number)                                                                                         \
    VECTORIZED static void write_##domain##_i64(int64_t rows, int64_t columns, const void *of_from, void *of_to,       \
                                                int64_t row, int64_t column) {                                         \
        const number *from = of_from;                                                                                  \
        for (int64_t r = 0; r < rows; r++, from += columns) {                                                          \
            int64_t *to = (int64_t *)of_to + r * row, i = 0;                                                           \
            for (; column == 1 && i + WIDE_BLOCK <= columns; i += WIDE_BLOCK) {                                        \
                double wide[WIDE_BLOCK];                                                                               \
                for (int j = 0; j < WIDE_BLOCK; j++) {                                                                 \
                    wide[j] = (double)from[i + j];                                                                     \
                }                                                                                                      \
                i64_of_block(wide, to + i);                                                                            \
            }                                                                                                          \
            for (; i < columns; i++) {                                                                                 \
                to[i * column] = i64_of((double)from[i]);                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
TO_I64(f32, float)
TO_I64(f64, double)
#undef TO_I64

/* f16 and bf16 are made of an f32 that rounds to them as the number does. Whole blocks of them, because a load that
 * spans two stores waits for both. */
VECTORIZED static void odd_block_f64(const double *from, float *to) {
    for (int j = 0; j < WIDE_BLOCK; j++) {
        to[j] = odd_f64(from[j]);
    }
}

VECTORIZED static void odd_block_i64(const int64_t *from, float *to) {
    uint64_t above = 0; /* bits that a number from -2^51 to 2^51 - 1 does not have */
    for (int j = 0; j < WIDE_BLOCK; j++) {
        above |= ((uint64_t)from[j] + (UINT64_C(1) << 51)) >> 52;
    }
    for (int j = 0; !above && j < WIDE_BLOCK; j++) {
        to[j] = odd_f64(number_of(from[j] + word_of(BEHIND_POINT)) - BEHIND_POINT);
    }
    for (int j = 0; above && j < WIDE_BLOCK; j++) {
        to[j] = odd_i64(from[j]);
    }
}

#define WIDE_HALF(domain, number, type)                                                                                \
    VECTORIZED static void write_##domain##_##type(int64_t rows, int64_t columns, const void *of_from, void *of_to,    \
                                                   int64_t row, int64_t column) {                                      \
        const number *from = of_from;                                                                                  \
        for (int64_t r = 0; r < rows; r++, from += columns) {                                                          \
            uint16_t *to = (uint16_t *)of_to + r * row;                                                                \
            int64_t i = 0;                                                                                             \
            for (; column == 1 && i + WIDE_BLOCK <= columns; i += WIDE_BLOCK) {                                        \
                float odd[WIDE_BLOCK];                                                                                 \
                odd_block_##domain(from + i, odd);                                                                     \
                for (int j = 0; j < WIDE_BLOCK; j += HALF_LANES) {                                                     \
                    store_vector_##type(to + i + j, *(const floats *)(odd + j));                                       \
                }                                                                                                      \
            }                                                                                                          \
            for (; i < columns; i++) {                                                                                 \
                to[i * column] = narrow_##type(odd_##domain(from[i]));                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
WIDE_HALF(i64, int64_t, f16)
WIDE_HALF(i64, int64_t, bf16)
WIDE_HALF(f64, double, f16)
WIDE_HALF(f64, double, bf16)
#undef WIDE_HALF
#undef BEHIND_POINT
