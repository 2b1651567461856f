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
WRITE(i64, f16, int64_t, uint16_t, narrow_f16(odd_i64(x)))
WRITE(i64, bf16, int64_t, uint16_t, narrow_bf16(odd_i64(x)))
WRITE(i64, f32, int64_t, float, x)
WRITE(i64, f64, int64_t, double, x)

READ(f32, f32, float, float, x)
WRITE(f32, bool, float, uint8_t, x != 0)
WRITE(f32, i8, float, int8_t, i8_of_f32(x))
WRITE(f32, u8, float, uint8_t, u8_of_f32(x))
WRITE(f32, i32, float, int32_t, i32_of_f32(x))
WRITE(f32, i64, float, int64_t, i64_of((double)x))
WRITE(f32, f32, float, float, x)
WRITE(f32, f64, float, double, x)

READ(f64, f64, double, double, x)
WRITE(f64, bool, double, uint8_t, x != 0)
WRITE(f64, i8, double, int8_t, i8_of_f64(x))
WRITE(f64, u8, double, uint8_t, u8_of_f64(x))
WRITE(f64, i32, double, int32_t, i32_of_f64(x))
WRITE(f64, i64, double, int64_t, i64_of(x))
WRITE(f64, f16, double, uint16_t, narrow_f16(odd_f64(x)))
WRITE(f64, bf16, double, uint16_t, narrow_bf16(odd_f64(x)))
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
