/* copy_transposed.c - copies a row-major matrix to column-major memory, or the reverse, for copy_matrix.c. Every
 * operation on row-major memory needs it if its library expects columns.
 *
 * Tiles are transposed in registers, so that both sides use vector loads and stores. They are walked in blocks whose
 * lines and pages fit into the nearest caches. This also holds for leading dimensions that are powers of two, which map
 * to few cache sets. The next tile is prefetched, because hardware prefetchers do not follow so many short runs.
 *
 * Matrices with a side shorter than a tile, such as the channels of an image, are transposed square by square. Runs of
 * two or three elements of 4 bytes, which are shorter than a square, are exchanged with two or three vectors.
 */
#include "tensor/internal.h"

typedef uint32_t __attribute__((vector_size(16))) words32;
typedef uint64_t __attribute__((vector_size(16))) words64;
/* Vectors in memory; aligned as the components of c64, which are also copied as 64 bits. */
typedef uint32_t __attribute__((vector_size(16), may_alias, aligned(4))) words32_at;
typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(4))) words64_at;

/* The sign bits of imaginary parts, for conjugation. */
static const words32 as_is = {0}, signs64 = {0, 0x80000000u, 0, 0x80000000u};
static const words64 signs128 = {0, 0x8000000000000000u};

/* The smallest squares: load vectors along src's rows, store vectors along dst's columns. Strides are in bytes. */

static inline words32 load32(const char *src) {
    return *(const words32_at *)(const void *)src;
}

static inline void store32(char *dst, words32 x) {
    *(words32_at *)(void *)dst = x;
}

static inline words64 load64(const char *src, words32 flip) {
    return *(const words64_at *)(const void *)src ^ (words64)flip;
}

static inline void store64(char *dst, words64 x) {
    *(words64_at *)(void *)dst = x;
}

static inline void transpose32(char *dst, int64_t dst_row, const char *src, int64_t src_column, words32 flip) {
    (void)flip; /* real elements have no sign to flip */
    words32 a = load32(src), b = load32(src + src_column);
    words32 c = load32(src + 2 * src_column), d = load32(src + 3 * src_column);
    words32 ab01 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab23 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    words32 cd01 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd23 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store32(dst, __builtin_shufflevector(ab01, cd01, 0, 1, 4, 5));
    store32(dst + dst_row, __builtin_shufflevector(ab01, cd01, 2, 3, 6, 7));
    store32(dst + 2 * dst_row, __builtin_shufflevector(ab23, cd23, 0, 1, 4, 5));
    store32(dst + 3 * dst_row, __builtin_shufflevector(ab23, cd23, 2, 3, 6, 7));
}

static inline void transpose64(char *dst, int64_t dst_row, const char *src, int64_t src_column, words32 flip) {
    words64 a = load64(src, flip), b = load64(src + src_column, flip);
    store64(dst, __builtin_shufflevector(a, b, 0, 2));
    store64(dst + dst_row, __builtin_shufflevector(a, b, 1, 3));
}

static inline void transpose128(char *dst, int64_t dst_row, const char *src, int64_t src_column, words32 flip) {
    (void)dst_row, (void)src_column; /* the square is a single element */
    store64(dst, load64(src, flip));
}

typedef void transpose_tile(char *dst, int64_t dst_row, const char *src, int64_t src_column);

/* Transposes a tile of BP__TRANSPOSED_TILE elements of SIZE bytes along each side, in squares of SQUARE. */
#define DEFINE_TILE(NAME, TURN, SIZE, SQUARE, FLIP)                                                                    \
    static void NAME(char *dst, int64_t dst_row, const char *src, int64_t src_column) {                                \
        dst_row *= SIZE;                                                                                               \
        src_column *= SIZE;                                                                                            \
        for (int64_t j = 0; j < BP__TRANSPOSED_TILE; j++) {                                                            \
            __builtin_prefetch(src + j * src_column + BP__TRANSPOSED_TILE * SIZE);                                     \
        }                                                                                                              \
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < BP__TRANSPOSED_TILE; i += SQUARE) {                            \
            _Pragma("GCC unroll 8") for (int64_t j = 0; j < BP__TRANSPOSED_TILE; j += SQUARE) {                        \
                TURN(dst + i * dst_row + j * SIZE, dst_row, src + i * SIZE + j * src_column, src_column, FLIP);        \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_TILE(tile32, transpose32, 4, 4, as_is)
DEFINE_TILE(tile64, transpose64, 8, 2, as_is)
DEFINE_TILE(tile128, transpose128, 16, 1, as_is)
DEFINE_TILE(conjugated64, transpose64, 8, 2, signs64)
DEFINE_TILE(conjugated128, transpose128, 16, 1, (words32)signs128)

static transpose_tile *tile_for(size_t item, bool conjugate) {
    switch (item) {
    case 4:
        return tile32;
    case 8:
        return conjugate ? conjugated64 : tile64;
    default:
        return conjugate ? conjugated128 : tile128;
    }
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

enum { BLOCK = 4 * BP__TRANSPOSED_TILE };

/* Returns the start of a tile or block. The last one is at least a whole tile. It may overlap the previous one and then
 * writes the same values again. */
static int64_t start_of(int64_t at, int64_t size) {
    return smaller(at, size - BP__TRANSPOSED_TILE);
}

static void copy_block(transpose_tile *tile, int64_t item, int64_t rows, int64_t columns, char *dst, int64_t dst_row,
                       const char *src, int64_t src_column) {
    for (int64_t i = 0; i < rows; i += BP__TRANSPOSED_TILE) {
        int64_t row = start_of(i, rows);
        for (int64_t j = 0; j < columns; j += BP__TRANSPOSED_TILE) {
            int64_t column = start_of(j, columns);
            tile(dst + (row * dst_row + column) * item, dst_row, src + (row + column * src_column) * item, src_column);
        }
    }
}

/* ---- Sides shorter than a tile ---- */

/* Transposes square by square, along the longer side: so that each line of memory is used once. The last square of a
 * side may overlap the previous one. */
#define DEFINE_NARROW(NAME, TURN, SIZE, SQUARE, FLIP)                                                                  \
    static inline void NAME##_square(int64_t row, int64_t column, char *dst, int64_t dst_row, const char *src,         \
                                     int64_t src_column) {                                                             \
        TURN(dst + (row * dst_row + column) * SIZE, dst_row * SIZE, src + (row + column * src_column) * SIZE,          \
             src_column * SIZE, FLIP);                                                                                 \
    }                                                                                                                  \
    static void NAME(int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src, int64_t src_column) { \
        if (columns > rows) {                                                                                          \
            for (int64_t j = 0; j < columns; j += SQUARE) {                                                            \
                for (int64_t i = 0; i < rows; i += SQUARE) {                                                           \
                    NAME##_square(smaller(i, rows - SQUARE), smaller(j, columns - SQUARE), dst, dst_row, src,          \
                                  src_column);                                                                         \
                }                                                                                                      \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < rows; i += SQUARE) {                                                                   \
            for (int64_t j = 0; j < columns; j += SQUARE) {                                                            \
                NAME##_square(smaller(i, rows - SQUARE), smaller(j, columns - SQUARE), dst, dst_row, src, src_column); \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_NARROW(narrow32, transpose32, 4, 4, as_is)
DEFINE_NARROW(narrow64, transpose64, 8, 2, as_is)
DEFINE_NARROW(narrow_conjugated64, transpose64, 8, 2, signs64)

/* Writes the elements of `length` runs of 2 or 3 (`width`), which follow each other in memory, to 2 or 3 rows. */
static void separate32(int64_t width, int64_t length, char *dst, int64_t dst_row, const char *src) {
    for (int64_t i = 0; i < length; i += 4) {
        const int64_t at = smaller(i, length - 4);
        const char *from = src + at * width * 4;
        char *to = dst + at * 4;
        const words32 a = load32(from), b = load32(from + 16);
        if (width == 2) {
            store32(to, __builtin_shufflevector(a, b, 0, 2, 4, 6));
            store32(to + dst_row * 4, __builtin_shufflevector(a, b, 1, 3, 5, 7));
            continue;
        }
        const words32 c = load32(from + 32);
        const words32 first = __builtin_shufflevector(a, b, 0, 3, 6, 6);
        const words32 second = __builtin_shufflevector(a, b, 1, 4, 7, 7);
        const words32 third = __builtin_shufflevector(a, b, 2, 5, 5, 5);
        store32(to, __builtin_shufflevector(first, c, 0, 1, 2, 5));
        store32(to + dst_row * 4, __builtin_shufflevector(second, c, 0, 1, 2, 6));
        store32(to + 2 * dst_row * 4, __builtin_shufflevector(third, c, 0, 1, 4, 7));
    }
}

/* The reverse of separate32(). */
static void interleave32(int64_t width, int64_t length, char *dst, const char *src, int64_t src_column) {
    for (int64_t i = 0; i < length; i += 4) {
        const int64_t at = smaller(i, length - 4);
        const char *from = src + at * 4;
        char *to = dst + at * width * 4;
        const words32 a = load32(from), b = load32(from + src_column * 4);
        const words32 low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        if (width == 2) {
            store32(to, low);
            store32(to + 16, high);
            continue;
        }
        const words32 c = load32(from + 2 * src_column * 4);
        const words32 middle = __builtin_shufflevector(low, high, 3, 3, 4, 5); /* b[1], b[1], a[2], b[2] */
        store32(to, __builtin_shufflevector(low, c, 0, 1, 4, 2));
        store32(to + 16, __builtin_shufflevector(middle, c, 0, 5, 2, 3));
        store32(to + 32, __builtin_shufflevector(high, c, 6, 2, 3, 7));
    }
}

/* Whole vectors are read and written: runs of 2 or 3 elements must have no gaps between them. */
bool bp__transposes_fast(size_t item, int64_t rows, int64_t columns, int64_t dst_row, int64_t src_column) {
    const int64_t least = item == 4 ? 4 : item == 8 ? 2 : BP__TRANSPOSED_TILE;
    const bool interleaves = columns > 1 && columns < 4 && rows >= 4 && dst_row == columns;
    const bool separates = rows > 1 && rows < 4 && columns >= 4 && src_column == rows;
    return item >= 4 && ((rows >= least && columns >= least) || (item == 4 && (interleaves || separates)));
}

static void copy_narrow(size_t item, int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src,
                        int64_t src_column, bool conjugate) {
    if (item == 4 && columns <= 3) {
        interleave32(columns, rows, dst, src, src_column);
    } else if (item == 4 && rows <= 3) {
        separate32(rows, columns, dst, dst_row, src);
    } else if (item == 4) {
        narrow32(rows, columns, dst, dst_row, src, src_column);
    } else {
        (conjugate ? narrow_conjugated64 : narrow64)(rows, columns, dst, dst_row, src, src_column);
    }
}

void bp__copy_transposed(size_t item, int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src,
                         int64_t src_column, bool conjugate) {
    transpose_tile *tile = tile_for(item, conjugate);
    int64_t size = (int64_t)item;
    if (rows < BP__TRANSPOSED_TILE || columns < BP__TRANSPOSED_TILE) {
        copy_narrow(item, rows, columns, dst, dst_row, src, src_column, conjugate);
        return;
    }
    for (int64_t j = 0; j < columns; j += BLOCK) {
        int64_t column = start_of(j, columns), wide = smaller(columns - column, BLOCK);
        for (int64_t i = 0; i < rows; i += BLOCK) {
            int64_t row = start_of(i, rows), high = smaller(rows - row, BLOCK);
            copy_block(tile, size, high, wide, dst + (row * dst_row + column) * size, dst_row,
                       src + (row + column * src_column) * size, src_column);
        }
    }
}
