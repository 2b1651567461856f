/* cumsum.h - declares the kernels and plans of cumulative sums.
 *
 * Elements are read into compact memory, added up there, and written, with the functions of elementwise/. The additions
 * form one tree in all layouts, see cumsum.h of the public interface: `eights` in three levels; within a block,
 * the sums of eights in their order; the sums of blocks in their order. So a block needs only the sum of those before
 * it, and threads can share a row. */
#ifndef BP_NATIVE_CUMSUM_H
#define BP_NATIVE_CUMSUM_H

#include "providers/native/elementwise/elementwise.h"

enum {
    BP__CUMSUM_EIGHT = 8,
    BP__CUMSUM_CHUNK = 512,  /* elements of a row that a kernel adds up at once */
    BP__CUMSUM_COLUMNS = 64, /* most rows that a kernel adds up side by side, by eights */
    BP__CUMSUM_BLOCK = 4096, /* least elements of a block */
    BP__CUMSUM_BLOCKS = 512  /* most blocks of a row */
};

/* Adds up `count` elements of a row in place. `*carry` is the sum of the elements before them in the block, and then of
 * these too; `*base` the sum of the blocks before. Both are f64, or i64 of integers. */
typedef void (*bp__cumsum_row)(int64_t count, bool exclusive, void *elements, const void *base, void *carry);

/* Adds up eight elements of each of `columns` rows in place: element i of row j is at i columns + j. Each row has its
 * base and carry. */
typedef void (*bp__cumsum_columns)(int64_t columns, bool exclusive, void *elements, const void *base, void *carry);

/* Kernels of one domain (elementwise.h) and instruction set. */
typedef struct bp__cumsum_kernels {
    bp__cumsum_row row;
    bp__cumsum_columns columns;
} bp__cumsum_kernels;

typedef struct bp__cumsum_set {
    bp__cumsum_kernels of[BP__DOMAINS]; /* without I32 */
} bp__cumsum_set;

extern const bp__cumsum_set bp__cumsum_default;
extern const bp__cumsum_set bp__cumsum_avx2;
extern const bp__cumsum_set bp__cumsum_avx512;

/* What a plan runs. */
typedef struct bp__cumsum_found {
    bp__cumsum_kernels kernels;
    bp__element_read read;
    bp__element_write write;
    size_t number; /* bytes of an element of the domain */
    bool integers;
    int threads;
} bp__cumsum_found;

/* Returns whether the kernel adds up rows side by side: rows along the last dimension, if its elements are closer to
 * each other than the elements of a row, or rows that are short. */
static inline bool bp__cumsum_side_by_side(const bp_cumsum_problem *p) {
    enum { FEW = 8, SHORT = 32 };
    if (p->ndim == 0 || p->size[p->ndim - 1] < FEW) {
        return false;
    }
    const int64_t between = p->y[p->ndim - 1], along = p->y_axis;
    return p->length < SHORT || (between < 0 ? -between : between) < (along < 0 ? -along : along);
}

bp_status bp__cumsum_plan(const bp_host *host, const bp_problem *problem, const bp__cumsum_found *found,
                          bp_prepared **prepared);

#endif
