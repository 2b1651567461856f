/* kernel_bf16.h - template: the kernels of attention that multiply bf16 numbers in pairs, as VDPBF16PS does.
 * Parameters: PAIRS (name of the table), NUMBERS (the name of the f32 kernels with the same lanes), VECTOR_BYTES, and
 * DOT(sum, a, b), the instruction: for each lane of f32
 *     sum = a[odd] * b[odd] + sum, then sum = a[even] * b[even] + sum
 * with one rounding each, denormal numbers counting as 0. JOIN_ROUNDED(even, odd) may be defined: pairs of two vectors
 * of f32, rounded to bf16 (to nearest even).
 *
 * A tile has two vectors of queries in each row, as in kernel_number.h. */
#include "attention.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"

enum { LANES = VECTOR_BYTES / 4, WIDTH = 2 * LANES, ROWS = 12 };

typedef float number __attribute__((may_alias));
typedef uint16_t half __attribute__((may_alias));
typedef uint32_t pair __attribute__((may_alias));
typedef float loose_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t vector_pairs __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t loose_pairs __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint16_t loose_halves __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));

/* ---- Products ---- */

/* One tile: c = c * factor + a * b, or a * b * scale without a factor. Strides are in elements of bf16; pairs of A need
 * not be aligned. */
INLINE void tile(int rows, int64_t pairs, const half *a, int64_t a_row, int64_t a_pair, const pair *b, number *c,
                 const number *factor, float scale) {
    vector_f32 sum[ROWS][2];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            const int at = v * LANES;
            sum[i][v] = splat_f32(0);
            if (factor) {
                sum[i][v] = *(const loose_f32 *)(c + i * WIDTH + at) * *(const loose_f32 *)(factor + at);
            }
        }
    }
    for (int64_t k = 0; k < pairs; k++) {
        const vector_pairs first = *(const loose_pairs *)(b + k * WIDTH),
                           second = *(const loose_pairs *)(b + k * WIDTH + LANES);
        UNROLL
        for (int i = 0; i < rows; i++) {
            uint32_t one;
            memcpy(&one, a + i * a_row + k * a_pair, sizeof one);
            const vector_pairs same = (vector_pairs){0} + one;
            sum[i][0] = DOT(sum[i][0], first, same);
            sum[i][1] = DOT(sum[i][1], second, same);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            *(loose_f32 *)(c + i * WIDTH + v * LANES) = factor ? sum[i][v] : sum[i][v] * splat_f32(scale);
        }
    }
}

/* Calls tile() for all rows; the arguments that are constants are so in each tile. */
#define TILES(rows, a_row, a_pair, factor, scale)                                                                      \
    int64_t i = 0;                                                                                                     \
    for (; (rows)-i >= ROWS; i += ROWS) {                                                                              \
        tile(ROWS, pairs, a + i * (a_row), a_row, a_pair, b, c + i * WIDTH, factor, scale);                            \
    }                                                                                                                  \
    for (; (rows)-i >= 4; i += 4) {                                                                                    \
        tile(4, pairs, a + i * (a_row), a_row, a_pair, b, c + i * WIDTH, factor, scale);                               \
    }                                                                                                                  \
    for (; i < (rows); i++) {                                                                                          \
        tile(1, pairs, a + i * (a_row), a_row, a_pair, b, c + i * WIDTH, factor, scale);                               \
    }

static void multiply_keys(int64_t keys, int64_t pairs, const void *key, int64_t key_row, const void *queries,
                          void *scores, double scale) {
    const half *a = key;
    const pair *b = queries;
    number *c = scores;
    TILES(keys, key_row, 2, NULL, (float)scale)
}

static void multiply_values(int64_t columns, int64_t pairs, const void *values, const void *weights, void *sums,
                            const void *factor) {
    const half *a = values;
    const pair *b = weights;
    number *c = sums;
    TILES(columns, 2, 2 * columns, factor, 1)
}

/* ---- Pairs ---- */

/* Returns the bits of floats rounded to bf16 in their upper halves. NaN becomes quiet. */
INLINE vector_pairs round_halves(vector_f32 x) {
    const vector_pairs bits = (vector_pairs)x, is_nan = (vector_pairs)((bits & 0x7fffffffu) > 0x7f800000u);
    const vector_pairs nearest = bits + 0x7fffu + (bits >> 16 & 1u);
    return ((bits | 0x400000u) & is_nan) | (nearest & ~is_nan);
}

/* Pairs of rounded numbers. The instruction of that name makes denormal numbers 0; this does not, so all processors
 * round inputs alike. */
INLINE vector_pairs join_halves(vector_f32 even, vector_f32 odd) {
    return round_halves(even) >> 16 | (round_halves(odd) & 0xffff0000u);
}

#ifndef JOIN_ROUNDED
#define JOIN_ROUNDED(even, odd) join_halves(even, odd)
#endif

static void round_weights(int64_t keys, void *of_weights) {
    number *weights = of_weights;
    pair *to = of_weights; /* behind what has been read */
    int64_t k = 0;
    for (; k + 2 <= keys; k += 2, to += WIDTH) {
        const number *at = weights + k * WIDTH;
        const vector_f32 even[2] = {*(const loose_f32 *)at, *(const loose_f32 *)(at + LANES)};
        const vector_f32 odd[2] = {*(const loose_f32 *)(at + WIDTH), *(const loose_f32 *)(at + WIDTH + LANES)};
        *(loose_pairs *)to = (vector_pairs)JOIN_ROUNDED(even[0], odd[0]);
        *(loose_pairs *)(to + LANES) = (vector_pairs)JOIN_ROUNDED(even[1], odd[1]);
    }
    for (int v = 0; v < WIDTH && k < keys; v += LANES) {
        const vector_f32 even = *(const loose_f32 *)(weights + k * WIDTH + v);
        *(loose_pairs *)(to + v) = (vector_pairs)JOIN_ROUNDED(even, splat_f32(0));
    }
}

static void interleave(int64_t rows, int64_t columns, const void *of_from, int64_t row, int64_t column, void *of_to) {
    pair *to = of_to;
    for (int64_t k = 0; k < rows; k += 2, to += columns) {
        const half *even = (const half *)of_from + k * row, *odd = even + row;
        int64_t e = 0;
        for (; column == 1 && k + 1 < rows && e + LANES <= columns; e += LANES) {
            const vector_pairs low = __builtin_convertvector(*(const loose_halves *)(even + e), vector_pairs);
            const vector_pairs high = __builtin_convertvector(*(const loose_halves *)(odd + e), vector_pairs);
            *(loose_pairs *)(to + e) = low | high << 16;
        }
        for (; e < columns; e++) {
            to[e] = even[e * column] | (k + 1 < rows ? (uint32_t)odd[e * column] << 16 : 0);
        }
    }
}

static void interleave_f32(int64_t rows, int64_t columns, const void *of_from, int64_t row, int64_t column,
                           void *of_to) {
    pair *to = of_to;
    for (int64_t k = 0; k < rows; k += 2, to += columns) {
        const number *even = (const number *)of_from + k * row, *odd = even + row;
        int64_t e = 0;
        for (; column == 1 && k + 1 < rows && e + LANES <= columns; e += LANES) {
            *(loose_pairs *)(to + e) = join_halves(*(const loose_f32 *)(even + e), *(const loose_f32 *)(odd + e));
        }
        for (; e < columns; e++) {
            to[e] = narrow_bf16(even[e * column]) | (k + 1 < rows ? (uint32_t)narrow_bf16(odd[e * column]) << 16 : 0);
        }
    }
}

static void round_row(int64_t columns, const void *of_from, int64_t column, void *of_to) {
    const number *from = of_from;
    half *to = of_to;
    int64_t e = 0;
    for (; column == 1 && e + LANES <= columns; e += LANES) {
        *(loose_halves *)(to + e) =
            __builtin_convertvector(round_halves(*(const loose_f32 *)(from + e)) >> 16, loose_halves);
    }
    for (; e < columns; e++) {
        to[e] = narrow_bf16(from[e * column]);
    }
    if (columns % 2) {
        to[columns] = 0;
    }
}

const bp__attention_pairs PAIRS = {.numbers = NUMBERS,
                                   .multiply_keys = multiply_keys,
                                   .multiply_values = multiply_values,
                                   .round = round_weights,
                                   .interleave = interleave,
                                   .interleave_f32 = interleave_f32,
                                   .round_row = round_row};
