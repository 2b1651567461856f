/* stage_rows.c - copies rows with any strides to compact memory and back.
 *
 * If neighbours in memory belong to different rows, squares of 16 bytes are transposed in registers, so that each cache
 * line is read once. Other rows are copied element by element, with vectors for the distances 2 and -1. */
#include "stage_rows.h"

#include <stdbool.h>
#include <string.h>

#define AHEAD 8
#define INLINE static inline __attribute__((always_inline))

typedef uint16_t words_2 __attribute__((vector_size(16), may_alias, aligned(2)));
typedef uint32_t words_4 __attribute__((vector_size(16), may_alias, aligned(4)));
typedef uint64_t words_8 __attribute__((vector_size(16), may_alias, aligned(8)));
typedef uint16_t word_2 __attribute__((may_alias));
typedef uint32_t word_4 __attribute__((may_alias));
typedef uint64_t word_8 __attribute__((may_alias));

/* ---- Squares: lines of `side` elements; reads lines that are `from_line` elements apart ---- */

#define LOW_2(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(x, y) __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define HIGH_4(x, y) __builtin_shufflevector(x, y, 2, 6, 3, 7)
#define LOW_8(x, y) __builtin_shufflevector(x, y, 0, 2)
#define HIGH_8(x, y) __builtin_shufflevector(x, y, 1, 3)
#define EVEN_2(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define EVEN_4(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define EVEN_8(x, y) __builtin_shufflevector(x, y, 0, 2)
#define REVERSED_2(x) __builtin_shufflevector(x, x, 7, 6, 5, 4, 3, 2, 1, 0)
#define REVERSED_4(x) __builtin_shufflevector(x, x, 3, 2, 1, 0)
#define REVERSED_8(x) __builtin_shufflevector(x, x, 1, 0)

/* Lines i and i + side / 2 are interleaved until each line is a column. */
#define SQUARE(bytes, side)                                                                                            \
    INLINE void square_##bytes(const word_##bytes *from, int64_t from_line, word_##bytes *to, int64_t to_line) {       \
        words_##bytes x[side], y[side];                                                                                \
        for (int i = 0; i < (side); i++) {                                                                             \
            x[i] = *(const words_##bytes *)(const void *)(from + i * from_line);                                       \
        }                                                                                                              \
        for (int step = 1; step < (side); step *= 2) {                                                                 \
            for (int i = 0; i < (side) / 2; i++) {                                                                     \
                y[2 * i] = LOW_##bytes(x[i], x[i + (side) / 2]);                                                       \
                y[2 * i + 1] = HIGH_##bytes(x[i], x[i + (side) / 2]);                                                  \
            }                                                                                                          \
            memcpy(x, y, sizeof x);                                                                                    \
        }                                                                                                              \
        for (int i = 0; i < (side); i++) {                                                                             \
            *(words_##bytes *)(void *)(to + i * to_line) = x[i];                                                       \
        }                                                                                                              \
    }

/* Prefetches a line of neighbouring rows. */
INLINE void fetch(const char *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch(at + i);
    }
}

/* Copies a column of squares: `side` elements of all rows that fill squares. Returns how many rows these are. */
#define SQUARES(bytes, side)                                                                                           \
    SQUARE(bytes, side)                                                                                                \
    static int64_t transpose_##bytes(word_##bytes *strided, int64_t line, word_##bytes *compact, int64_t leading,      \
                                     int64_t rows, int64_t count, bool in) {                                           \
        const int64_t whole = rows / (side) * (side);                                                                  \
        for (int64_t j = 0; j + (side) <= count; j += (side)) {                                                        \
            for (int64_t l = j + AHEAD; l < j + AHEAD + (side) && l < count; l++) {                                    \
                fetch((const char *)(strided + l * line), rows *bytes);                                                \
            }                                                                                                          \
            for (int64_t i = 0; i < whole; i += (side)) {                                                              \
                word_##bytes *far = strided + j * line + i, *near = compact + i * leading + j;                         \
                if (in) {                                                                                              \
                    square_##bytes(far, line, near, leading);                                                          \
                } else {                                                                                               \
                    square_##bytes(near, leading, far, line);                                                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return whole;                                                                                                  \
    }

/* Copies elements of one row to compact memory or from it. */
#define ROW(bytes, side)                                                                                               \
    static void row_in_##bytes(const word_##bytes *from, int64_t stride, word_##bytes *to, int64_t count) {            \
        int64_t j = 0;                                                                                                 \
        for (; stride == 2 && j + 2 * (side) <= count; j += (side)) { /* without the element behind the last one */    \
            const words_##bytes *at = (const words_##bytes *)(const void *)(from + 2 * j);                             \
            *(words_##bytes *)(void *)(to + j) = EVEN_##bytes(at[0], at[1]);                                           \
        }                                                                                                              \
        for (; stride == -1 && j + (side) <= count; j += (side)) {                                                     \
            const words_##bytes x = *(const words_##bytes *)(const void *)(from - j - (side) + 1);                     \
            *(words_##bytes *)(void *)(to + j) = REVERSED_##bytes(x);                                                  \
        }                                                                                                              \
        for (; j < count; j++) {                                                                                       \
            to[j] = from[j * stride];                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void row_out_##bytes(word_##bytes *to, int64_t stride, const word_##bytes *from, int64_t count) {           \
        int64_t j = 0;                                                                                                 \
        for (; stride == -1 && j + (side) <= count; j += (side)) {                                                     \
            const words_##bytes x = *(const words_##bytes *)(const void *)(from + j);                                  \
            *(words_##bytes *)(void *)(to - j - (side) + 1) = REVERSED_##bytes(x);                                     \
        }                                                                                                              \
        for (; j < count; j++) {                                                                                       \
            to[j * stride] = from[j];                                                                                  \
        }                                                                                                              \
    }

#define COPY(bytes, side)                                                                                              \
    SQUARES(bytes, side)                                                                                               \
    ROW(bytes, side)                                                                                                   \
    static void copy_##bytes(const bp__staged_rows *r, char *scratch, int64_t leading, bool in) {                      \
        word_##bytes *strided = (word_##bytes *)(void *)r->at, *compact = (word_##bytes *)(void *)scratch;             \
        const int64_t done =                                                                                           \
            r->row == 1 ? transpose_##bytes(strided, r->element, compact, leading, r->rows, r->count, in) : 0;         \
        for (int64_t i = 0; i < r->rows; i++) {                                                                        \
            const int64_t first = i < done ? r->count / (side) * (side) : 0;                                           \
            word_##bytes *far = strided + i * r->row + first * r->element, *near = compact + i * leading + first;      \
            if (in) {                                                                                                  \
                row_in_##bytes(far, r->element, near, r->count - first);                                               \
            } else {                                                                                                   \
                row_out_##bytes(far, r->element, near, r->count - first);                                              \
            }                                                                                                          \
        }                                                                                                              \
    }

COPY(2, 8)
COPY(4, 4)
COPY(8, 2)

static void copy(const bp__staged_rows *rows, char *compact, int64_t leading, bool in) {
    (rows->size == 2 ? copy_2 : rows->size == 4 ? copy_4 : copy_8)(rows, compact, leading, in);
}

void bp__stage_rows_in(const bp__staged_rows *rows, char *compact, int64_t leading) {
    copy(rows, compact, leading, true);
}

void bp__stage_rows_out(const bp__staged_rows *rows, const char *compact, int64_t leading) {
    copy(rows, (char *)(uintptr_t)compact, leading, false);
}
