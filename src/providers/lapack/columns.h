/* columns.h - declares vectorized passes over the columns of a matrix: the check for NaN and infinity, which copies at
 * the same time if wanted, and filling with zeros. Small factorizations spend most of their time outside the library in
 * these passes. */
#ifndef BP_LAPACK_COLUMNS_H
#define BP_LAPACK_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

/* Contiguous columns of 32- or 64-bit reals. In column j, counted from 0, the elements before edge + j * step are
 * selected, or those from there on. */
typedef struct bp__lapack_columns {
    int64_t size, columns; /* length of a column, and their number */
    int64_t edge, step;
    bool after_edge; /* select the elements from the edge on */
    const void *from;
    int64_t from_next; /* stride between columns */
    void *to;          /* for scan(); NULL: nothing is copied */
    int64_t to_next;
} bp__lapack_columns;

typedef struct bp__lapack_passes {
    /* Copies the selected elements, and possibly zeros next to them. Returns whether all selected elements are finite.
     */
    bool (*scan)(const bp__lapack_columns *columns);
    void (*clear)(const bp__lapack_columns *columns); /* writes zeros to the selected elements of `to` */
} bp__lapack_passes;

/* For one instruction set: 32-bit and 64-bit reals. */
extern const bp__lapack_passes bp__lapack_passes_default[2];
extern const bp__lapack_passes bp__lapack_passes_avx2[2];

#endif
