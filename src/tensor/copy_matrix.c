/* copy_matrix.c - copies one matrix to another with any strides: the packing step of operations and providers.
 *
 * If source and destination are contiguous in different directions, one of them must be accessed with a stride. Square
 * tiles keep the fetched cache lines in the L1 cache until all of their elements have been used.
 */
#include "tensor/internal.h"

#include <string.h>

/* Elements are copied by size; they may have been written as any type. */
typedef uint8_t __attribute__((may_alias)) unit8;
typedef uint16_t __attribute__((may_alias)) unit16;
typedef uint32_t __attribute__((may_alias)) unit32;
typedef uint64_t __attribute__((may_alias, aligned(4))) unit64; /* also for c64, whose components are aligned to 4 */
typedef struct __attribute__((may_alias)) unit128 {
    uint64_t half[2];
} unit128;
typedef struct __attribute__((may_alias)) complex64 {
    float re, im;
} complex64;
typedef struct __attribute__((may_alias)) complex128 {
    double re, im;
} complex128;

typedef struct matrix_pair {
    int64_t rows, columns;
    char *dst;
    int64_t dst_row, dst_column;
    const char *src;
    int64_t src_row, src_column;
} matrix_pair;

typedef void (*copy_block)(const matrix_pair *pair);

#define AS_IS(x) (x)
#define CONJUGATE64(x) ((complex64){(x).re, -(x).im})
#define CONJUGATE128(x) ((complex128){(x).re, -(x).im})

/* Defines the copy of a block for one element type. The contiguous row is a separate loop, so that compilers vectorise
 * it. */
#define DEFINE_BLOCK(name, type, transform)                                                                            \
    static void name(const matrix_pair *pair) {                                                                        \
        for (int64_t i = 0; i < pair->rows; i++) {                                                                     \
            type *restrict dst = (type *)(void *)pair->dst + i * pair->dst_row;                                        \
            const type *restrict src = (const type *)(const void *)pair->src + i * pair->src_row;                      \
            if (pair->dst_column == 1 && pair->src_column == 1) {                                                      \
                for (int64_t j = 0; j < pair->columns; j++) {                                                          \
                    dst[j] = transform(src[j]);                                                                        \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int64_t j = 0; j < pair->columns; j++) {                                                          \
                    dst[j * pair->dst_column] = transform(src[j * pair->src_column]);                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_BLOCK(copy8, unit8, AS_IS)
DEFINE_BLOCK(copy16, unit16, AS_IS)
DEFINE_BLOCK(copy32, unit32, AS_IS)
DEFINE_BLOCK(copy64, unit64, AS_IS)
DEFINE_BLOCK(copy128, unit128, AS_IS)
DEFINE_BLOCK(conjugate64, complex64, CONJUGATE64)
DEFINE_BLOCK(conjugate128, complex128, CONJUGATE128)

enum { TILE_BYTES = 64 }; /* bytes along each side of a tile: one cache line */

static copy_block block_for(bp_dtype dtype, bool conjugate) {
    if (conjugate && dtype == BP_C64) {
        return conjugate64;
    }
    if (conjugate && dtype == BP_C128) {
        return conjugate128;
    }
    switch (bp_dtype_size(dtype)) {
    case 1:
        return copy8;
    case 2:
        return copy16;
    case 4:
        return copy32;
    case 8:
        return copy64;
    default:
        return copy128;
    }
}

static void copy_tiled(copy_block block, const matrix_pair *pair, int64_t item) {
    int64_t tile = TILE_BYTES / item;
    matrix_pair part = *pair;
    for (int64_t i = 0; i < pair->rows; i += tile) {
        part.rows = pair->rows - i < tile ? pair->rows - i : tile;
        for (int64_t j = 0; j < pair->columns; j += tile) {
            part.columns = pair->columns - j < tile ? pair->columns - j : tile;
            part.dst = pair->dst + (i * pair->dst_row + j * pair->dst_column) * item;
            part.src = pair->src + (i * pair->src_row + j * pair->src_column) * item;
            block(&part);
        }
    }
}

static void copy_rows(const matrix_pair *pair, size_t item) {
    int64_t row_bytes = pair->columns * (int64_t)item;
    if (pair->dst_row == pair->columns && pair->src_row == pair->columns) {
        memcpy(pair->dst, pair->src, (size_t)(pair->rows * row_bytes));
        return;
    }
    for (int64_t i = 0; i < pair->rows; i++) {
        memcpy(pair->dst + i * pair->dst_row * (int64_t)item, pair->src + i * pair->src_row * (int64_t)item,
               (size_t)row_bytes);
    }
}

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

void bp__copy_matrix(bp_dtype dtype, int64_t rows, int64_t columns, void *dst, int64_t dst_row, int64_t dst_column,
                     const void *src, int64_t src_row, int64_t src_column, int conjugate) {
    if (rows <= 0 || columns <= 0) {
        return;
    }
    matrix_pair pair = {rows, columns, dst, dst_row, dst_column, src, src_row, src_column};
    bool upright = columns > 1 && (rows == 1 || magnitude(dst_column) <= magnitude(dst_row));
    if (!upright) { /* the inner loop follows the destination */
        pair = (matrix_pair){columns, rows, dst, dst_column, dst_row, src, src_column, src_row};
    }
    size_t item = bp_dtype_size(dtype);
    copy_block block = block_for(dtype, conjugate != 0);
    bool plain = block != conjugate64 && block != conjugate128;
    if (plain && pair.dst_column == 1 && pair.src_column == 1) {
        copy_rows(&pair, item);
    } else if (magnitude(pair.src_column) <= magnitude(pair.src_row) || pair.rows == 1) {
        block(&pair);
    } else if (pair.dst_column == 1 && pair.src_row == 1 &&
               bp__transposes_fast(item, pair.rows, pair.columns, pair.dst_row, pair.src_column)) {
        bp__copy_transposed(item, pair.rows, pair.columns, pair.dst, pair.dst_row, pair.src, pair.src_column, !plain);
    } else {
        copy_tiled(block, &pair, (int64_t)item);
    }
}
