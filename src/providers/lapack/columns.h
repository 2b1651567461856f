/* columns.h - between matrix.c and the passes over the columns of a matrix that are written for vectors: the search for
 * NaN and infinity, which copies on the way where a copy is wanted, and zeros. What small factorizations spend outside
 * the library is this. */
#ifndef BP_LAPACK_COLUMNS_H
#define BP_LAPACK_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

/* Columns that are contiguous each, told in reals of 32 or 64 bits. In column j, from 0, those before edge + j * step
 * count, or those from there on. */
typedef struct bp__lapack_columns {
    int64_t size, columns; /* of a column, and how many */
    int64_t edge, step;
    bool after_edge; /* those from the edge on */
    const void *from;
    int64_t from_next; /* from column to column */
    void *to;          /* for take(), NULL: nothing is copied */
    int64_t to_next;
} bp__lapack_columns;

typedef struct bp__lapack_passes {
    /* Copies what counts, and maybe zeros next to it; whether all that counts is finite. */
    bool (*scan)(const bp__lapack_columns *columns);
    void (*clear)(const bp__lapack_columns *columns); /* writes zeros to what counts of `to` */
} bp__lapack_passes;

/* For one instruction set: reals of 32 bits, and of 64. */
extern const bp__lapack_passes bp__lapack_passes_default[2];
extern const bp__lapack_passes bp__lapack_passes_avx2[2];

#endif
