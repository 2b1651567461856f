/* stage_rows.h - declares copies between rows with any strides and compact rows of scratch memory. */
#ifndef BP_NATIVE_STAGE_ROWS_H
#define BP_NATIVE_STAGE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* `rows` rows of `count` elements, each of 2, 4 or 8 bytes. Element j of row i is at[(i row + j element) size]. */
typedef struct bp__staged_rows {
    char *at;
    int64_t row, element; /* strides, in elements */
    int64_t rows, count;
    size_t size;
} bp__staged_rows;

/* Copies the rows to `compact`, or from it, where elements are neighbours and rows are `leading` elements apart. */
void bp__stage_rows_in(const bp__staged_rows *rows, char *compact, int64_t leading);
void bp__stage_rows_out(const bp__staged_rows *rows, const char *compact, int64_t leading);

#endif
