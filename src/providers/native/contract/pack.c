/* pack.c - copies blocks of elements between any two layouts: copies, permutations, and packing of operands for the
 * kernels.
 *
 * Elements are bytes of a size that registers have. If the two sides are contiguous in different directions, small
 * squares are transposed in registers, so that both sides are accessed by vectors.
 */
#include "contract.h"

#include <string.h>

/* Types for unaligned access. Addresses are multiples of 2, the size of the smallest element. */
typedef uint16_t __attribute__((may_alias)) unit2;
typedef uint32_t __attribute__((may_alias, aligned(2))) unit4;
typedef uint64_t __attribute__((may_alias, aligned(2))) unit8;
typedef uint16_t __attribute__((vector_size(16), may_alias, aligned(2))) unit16;

/* ---- Copies by tables ---- */

#define TO(type, r) ((type *)(void *)(to->at + to->row[r]))
#define FROM(type, at) (*(const type *)(const void *)(at))

#define DEFINE_COPIES(type)                                                                                            \
    static void scatter_##type(int64_t rows, int64_t columns, const bp__contract_side *to,                             \
                               const bp__contract_side *from) {                                                        \
        const int64_t *puts = to->column, *gets = from->column;                                                        \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            char *line = to->at + to->row[r];                                                                          \
            const char *source = from->at + from->row[r];                                                              \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                *(type *)(void *)(line + puts[c]) = FROM(type, source + gets[c]);                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void gather_##type(int64_t rows, int64_t columns, const bp__contract_side *to,                              \
                              const bp__contract_side *from) {                                                         \
        const int64_t *gets = from->column;                                                                            \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            type *line = TO(type, r);                                                                                  \
            const char *source = from->at + from->row[r];                                                              \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                line[c] = FROM(type, source + gets[c]);                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_COPIES(unit2)
DEFINE_COPIES(unit4)
DEFINE_COPIES(unit8)
DEFINE_COPIES(unit16)

/* ---- Repeated elements ---- */

/* Fills each row with one element. Rows are written in 16-byte vectors; the last vector overlaps the one before. The
 * vector repeats the element, so the overlap is right for every size. */
static void fill(size_t unit, int64_t rows, int64_t columns, const bp__contract_side *to,
                 const bp__contract_side *from) {
    const int64_t bytes = columns * (int64_t)unit;
    for (int64_t r = 0; r < rows; r++) {
        char *line = to->at + to->row[r], whole[16];
        for (size_t i = 0; i < sizeof whole; i += unit) {
            memcpy(whole + i, from->at + from->row[r], unit);
        }
        const unit16 values = FROM(unit16, whole);
        for (int64_t i = 0; i + 16 <= bytes; i += 16) {
            *(unit16 *)(void *)(line + i) = values;
        }
        if (bytes >= 16) {
            *(unit16 *)(void *)(line + bytes - 16) = values;
        } else {
            memcpy(line, whole, (size_t)bytes);
        }
    }
}

/* ---- Contiguous rows ---- */

/* Copies a row that is too short for memcpy to pay. The last vector overlaps the one before if the size is not a
 * multiple. */
static inline void copy_short(char *to, const char *from, int64_t bytes) {
#define ENDS(type)                                                                                                     \
    do {                                                                                                               \
        const type head = FROM(type, from), tail = FROM(type, from + bytes - (int64_t)sizeof(type));                   \
        *(type *)(void *)to = head;                                                                                    \
        *(type *)(void *)(to + bytes - (int64_t)sizeof(type)) = tail;                                                  \
    } while (0)
    if (bytes >= 16) {
        for (int64_t i = 0; i < bytes - 16; i += 16) {
            *(unit16 *)(void *)(to + i) = FROM(unit16, from + i);
        }
        *(unit16 *)(void *)(to + bytes - 16) = FROM(unit16, from + bytes - 16);
    } else if (bytes >= 8) {
        ENDS(unit8);
    } else if (bytes >= 4) {
        ENDS(unit4);
    } else {
        *(unit2 *)(void *)to = FROM(unit2, from);
    }
#undef ENDS
}

static void copy_rows(size_t unit, int64_t rows, int64_t columns, const bp__contract_side *to,
                      const bp__contract_side *from) {
    enum { SHORT = 256 };
    const int64_t bytes = columns * (int64_t)unit;
    for (int64_t r = 0; r < rows; r++) {
        if (bytes <= SHORT) {
            copy_short(to->at + to->row[r], from->at + from->row[r], bytes);
        } else {
            memcpy(to->at + to->row[r], from->at + from->row[r], (size_t)bytes);
        }
    }
}

/* ---- Transposed blocks ---- */

/* The functions below transpose one square in registers. They load vectors along columns of `from` and store vectors
 * along rows of `to`. `from` points to the first row and needs a column's offset; `to` points to the first column and
 * needs a row's offset. */

typedef uint32_t __attribute__((vector_size(16))) ints4;
typedef uint64_t __attribute__((vector_size(16))) ints8;

static inline void transpose_unit2(char *to, const int64_t *row, const char *from, const int64_t *column) {
    unit16 in[8], pair[8];
    ints4 four[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) {
        in[i] = FROM(unit16, from + column[i]);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 2) {
        pair[i] = __builtin_shufflevector(in[i], in[i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        pair[i + 1] = __builtin_shufflevector(in[i], in[i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 4) {
        _Pragma("GCC unroll 8") for (int half = 0; half < 2; half++) {
            const ints4 a = (ints4)pair[i + half], b = (ints4)pair[i + 2 + half];
            four[i + 2 * half] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            four[i + 2 * half + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        }
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 4; i++) {
        const ints8 a = (ints8)four[i], b = (ints8)four[i + 4];
        *(unit16 *)(void *)(to + row[2 * i]) = (unit16)__builtin_shufflevector(a, b, 0, 2);
        *(unit16 *)(void *)(to + row[2 * i + 1]) = (unit16)__builtin_shufflevector(a, b, 1, 3);
    }
}

static inline void transpose_unit4(char *to, const int64_t *row, const char *from, const int64_t *column) {
    const ints4 a = (ints4)FROM(unit16, from + column[0]), b = (ints4)FROM(unit16, from + column[1]);
    const ints4 c = (ints4)FROM(unit16, from + column[2]), d = (ints4)FROM(unit16, from + column[3]);
    const ints8 ab01 = (ints8)__builtin_shufflevector(a, b, 0, 4, 1, 5);
    const ints8 ab23 = (ints8)__builtin_shufflevector(a, b, 2, 6, 3, 7);
    const ints8 cd01 = (ints8)__builtin_shufflevector(c, d, 0, 4, 1, 5);
    const ints8 cd23 = (ints8)__builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(unit16 *)(void *)(to + row[0]) = (unit16)__builtin_shufflevector(ab01, cd01, 0, 2);
    *(unit16 *)(void *)(to + row[1]) = (unit16)__builtin_shufflevector(ab01, cd01, 1, 3);
    *(unit16 *)(void *)(to + row[2]) = (unit16)__builtin_shufflevector(ab23, cd23, 0, 2);
    *(unit16 *)(void *)(to + row[3]) = (unit16)__builtin_shufflevector(ab23, cd23, 1, 3);
}

static inline void transpose_unit8(char *to, const int64_t *row, const char *from, const int64_t *column) {
    const ints8 a = (ints8)FROM(unit16, from + column[0]), b = (ints8)FROM(unit16, from + column[1]);
    *(unit16 *)(void *)(to + row[0]) = (unit16)__builtin_shufflevector(a, b, 0, 2);
    *(unit16 *)(void *)(to + row[1]) = (unit16)__builtin_shufflevector(a, b, 1, 3);
}

static inline void transpose_unit16(char *to, const int64_t *row, const char *from, const int64_t *column) {
    *(unit16 *)(void *)(to + row[0]) = FROM(unit16, from + column[0]);
}

/* rows and columns of a patch: whole cache lines are used before they leave the cache */
enum { PATCH = 16, STRIP_BYTES = 256 };

/* Whether rows at these offsets fall on few lines of a cache, and to write a long piece of each row at once gains more
 * than the additional copy takes. It does not if a patch has long pieces itself, and if a block of long elements fits
 * the first-level cache. */
static bool takes_strips(size_t unit, const int64_t *row, int64_t rows, int64_t columns) {
    enum { COLLIDING = 2048, CACHE = 32 << 10 };
    return rows >= PATCH && (row[1] - row[0]) % COLLIDING == 0 && unit * PATCH < STRIP_BYTES &&
           (unit <= 4 || rows * columns * (int64_t)unit > CACHE);
}

#define DEFINE_TRANSPOSE(type, square)                                                                                 \
    static void transpose_patch_##type(char *to, const int64_t *row, const char *from, const int64_t *column) {        \
        const int64_t unit = (int64_t)sizeof(type);                                                                    \
        for (int i = 0; i < PATCH; i++) {                                                                              \
            __builtin_prefetch(from + column[i] + PATCH * unit);                                                       \
        }                                                                                                              \
        _Pragma("GCC unroll 16") for (int r = 0; r < PATCH; r += square) {                                             \
            _Pragma("GCC unroll 16") for (int c = 0; c < PATCH; c += square) {                                         \
                transpose_##type(to + c * unit, row + r, from + r * unit, column + c);                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* Transposes what patches do not cover: whole squares first, then single elements. */                             \
    static void transpose_edge_##type(int64_t rows, int64_t columns, char *to, const int64_t *row, const char *from,   \
                                      const int64_t *column) {                                                         \
        const int64_t unit = (int64_t)sizeof(type);                                                                    \
        for (int64_t r = 0; r < rows; r += square) {                                                                   \
            for (int64_t c = 0; c < columns; c += square) {                                                            \
                if (rows - r >= square && columns - c >= square) {                                                     \
                    transpose_##type(to + c * unit, row + r, from + r * unit, column + c);                             \
                    continue;                                                                                          \
                }                                                                                                      \
                for (int64_t i = r; i < rows && i < r + square; i++) {                                                 \
                    for (int64_t j = c; j < columns && j < c + square; j++) {                                          \
                        *(type *)(void *)(to + row[i] + j * unit) = FROM(type, from + i * unit + column[j]);           \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* Transposes PATCH rows, as far as whole strips reach, by way of a strip of each. Returns the columns. */         \
    static int64_t transpose_strips_##type(int64_t columns, char *to, const int64_t *row, const char *from,            \
                                           const int64_t *column) {                                                    \
        const int64_t unit = (int64_t)sizeof(type), wide = STRIP_BYTES / unit;                                         \
        _Alignas(64) char strips[PATCH * STRIP_BYTES];                                                                 \
        int64_t strip[PATCH], c = 0;                                                                                   \
        for (int i = 0; i < PATCH; i++) {                                                                              \
            strip[i] = i * STRIP_BYTES;                                                                                \
        }                                                                                                              \
        for (; c + wide <= columns; c += wide) {                                                                       \
            for (int64_t j = 0; j < wide; j += PATCH) {                                                                \
                transpose_patch_##type(strips + j * unit, strip, from, column + c + j);                                \
            }                                                                                                          \
            for (int i = 0; i < PATCH; i++) {                                                                          \
                memcpy(to + row[i] + c * unit, strips + strip[i], STRIP_BYTES);                                        \
            }                                                                                                          \
        }                                                                                                              \
        return c;                                                                                                      \
    }                                                                                                                  \
    static void transpose_block_##type(int64_t rows, int64_t columns, char *to, const int64_t *row, const char *from,  \
                                       const int64_t *column) {                                                        \
        const int64_t unit = (int64_t)sizeof(type);                                                                    \
        if (takes_strips(sizeof(type), row, rows, columns)) {                                                          \
            int64_t done = 0, r = 0;                                                                                   \
            for (; r + PATCH <= rows; r += PATCH) {                                                                    \
                done = transpose_strips_##type(columns, to, row + r, from + r * unit, column);                         \
            }                                                                                                          \
            transpose_edge_##type(rows - r, columns, to, row + r, from + r * unit, column);                            \
            transpose_edge_##type(r, columns - done, to + done * unit, row, from, column + done);                      \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t c = 0; c < columns; c += PATCH) {                                                                 \
            const int64_t wide = columns - c < PATCH ? columns - c : PATCH;                                            \
            for (int64_t r = 0; r < rows; r += PATCH) {                                                                \
                const int64_t high = rows - r < PATCH ? rows - r : PATCH;                                              \
                if (wide == PATCH && high == PATCH) {                                                                  \
                    transpose_patch_##type(to + c * unit, row + r, from + r * unit, column + c);                       \
                } else {                                                                                               \
                    transpose_edge_##type(high, wide, to + c * unit, row + r, from + r * unit, column + c);            \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_TRANSPOSE(unit2, 8)
DEFINE_TRANSPOSE(unit4, 4)
DEFINE_TRANSPOSE(unit8, 2)
DEFINE_TRANSPOSE(unit16, 1)

/* ---- Selection by kind and element size ---- */

#define BY_UNIT(unit, function, ...)                                                                                   \
    do {                                                                                                               \
        if ((unit) == 4) {                                                                                             \
            function##_unit4(__VA_ARGS__);                                                                             \
        } else if ((unit) == 8) {                                                                                      \
            function##_unit8(__VA_ARGS__);                                                                             \
        } else if ((unit) == 2) {                                                                                      \
            function##_unit2(__VA_ARGS__);                                                                             \
        } else {                                                                                                       \
            function##_unit16(__VA_ARGS__);                                                                            \
        }                                                                                                              \
    } while (0)

void bp__contract_pack(bp__contract_pack_kind kind, size_t unit, int64_t rows, int64_t columns,
                       const bp__contract_side *to, const bp__contract_side *from) {
    switch (kind) {
    case BP__PACK_ROWS:
        copy_rows(unit, rows, columns, to, from);
        return;
    case BP__PACK_FILL:
        fill(unit, rows, columns, to, from);
        return;
    case BP__PACK_TRANSPOSE:
        BY_UNIT(unit, transpose_block, rows, columns, to->at, to->row, from->at, from->column);
        return;
    case BP__PACK_UNTRANSPOSE:
        BY_UNIT(unit, transpose_block, columns, rows, to->at, to->column, from->at, from->row);
        return;
    case BP__PACK_GATHER:
        BY_UNIT(unit, gather, rows, columns, to, from);
        return;
    case BP__PACK_SCATTER:
        BY_UNIT(unit, scatter, rows, columns, to, from);
        return;
    }
}
