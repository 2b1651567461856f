/* contract.h - between the files of the native provider's contractions: how a problem is seen, what a kernel set
 * offers, and how blocks of elements are moved.
 *
 * C is cut into tiles of rows (axis z) and columns (axis x), both made of dimensions that C has; terms that are added
 * up at once are an axis too (y). An axis is a few dimensions, the last of them perhaps in part, with a table of
 * offsets for each operand, so that many small dimensions cost no more than one large one. Dimensions that are in no
 * axis, and the blocks of those that are in part, are walked around the tiles.
 *
 * Kernels take operands whose elements lie side by side along the axis that vectors follow (x, or y where each result
 * is one sum along contiguous terms), or which are constant along it. Any other operand is moved into scratch memory, a
 * tile at a time; so is a tile of C that does not lie so. All offsets are in bytes.
 *
 * Why the same bits come out for every number of threads: tiles, blocks and the order of terms follow from the sizes
 * and strides alone. A long sum for few results is cut into pieces that do, too; threads take tiles and pieces.
 */
#ifndef BP_NATIVE_CONTRACT_H
#define BP_NATIVE_CONTRACT_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Kernels ---- */

/* What one instruction set offers for one type. Sums are of f32 or f64, complex ones in pairs; counts are in elements.
 * Sums are padded to whole vectors, so that kernels may write beyond `n`. */
typedef struct bp__contract_kernels {
    size_t sum; /* bytes of an element's sum */
    /* sums[x] += the sum over y of a[ay[y] + x] * b[by[y] + x], for n neighbours x. b is constant along x on request;
     * without b, elements of a are added. */
    void (*rows)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ay, const char *b,
                 const int64_t *by, bool broadcast);
    /* sums[x] += the sum over y of a[ax[x] + y] * b[bx[x] + y], for `count` neighbours y. */
    void (*dots)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ax, const char *b,
                 const int64_t *bx);
    /* c[cz[z] + x] = a[az[z] + x] * b[bz[z] + x]; b is constant along x on request. c may be a. */
    void (*products)(int64_t rows, int64_t n, char *c, const int64_t *cz, const char *a, const int64_t *az,
                     const char *b, const int64_t *bz, bool broadcast);
    void (*flush)(int64_t n, double *totals, void *sums); /* totals += sums, which become zero */
    void (*store)(int64_t n, void *to, const void *sums);
    void (*store_totals)(int64_t n, void *to, const double *totals);
} bp__contract_kernels;

/* In the order of bp_dtype from BP_F16 on. */
#define BP__CONTRACT_DTYPES 6
extern const bp__contract_kernels bp__contract_default[BP__CONTRACT_DTYPES];
extern const bp__contract_kernels bp__contract_avx2[BP__CONTRACT_DTYPES];
extern const bp__contract_kernels bp__contract_avx512[BP__CONTRACT_DTYPES];

#define BP__CONTRACT_PAD 16 /* elements that sums are padded to: no vector has more */

/* ---- Moves (pack.c) ---- */

typedef enum bp__contract_pack_kind {
    BP__PACK_ROWS,        /* neighbours in a row are neighbours on both sides */
    BP__PACK_FILL,        /* a row is one element many times */
    BP__PACK_TRANSPOSE,   /* neighbours in a row of `to` and in a column of `from` */
    BP__PACK_UNTRANSPOSE, /* neighbours in a column of `to` and in a row of `from` */
    BP__PACK_GATHER,      /* neighbours in a row of `to`, anywhere in `from` */
    BP__PACK_SCATTER      /* by the tables alone */
} bp__contract_pack_kind;

/* Element (row, column) is at `at` + row[...] + column[...]; the tables of what is known to be contiguous are not read.
 */
typedef struct bp__contract_side {
    char *at;
    const int64_t *row, *column;
} bp__contract_side;

/* Elements of 2, 4, 8 or 16 bytes, at any address. */
void bp__contract_pack(bp__contract_pack_kind kind, size_t unit, int64_t rows, int64_t columns,
                       const bp__contract_side *to, const bp__contract_side *from);

/* ---- How a problem is seen (tiling.c) ---- */

enum { BP__A, BP__B, BP__C, BP__OPERANDS };

typedef enum bp__contract_mode {
    BP__CONTRACT_NOTHING,
    BP__CONTRACT_COPY,
    BP__CONTRACT_PRODUCT,
    BP__CONTRACT_ROWS, /* sums, vectors along x */
    BP__CONTRACT_DOTS  /* sums, vectors along y */
} bp__contract_mode;

/* How an operand lies along an axis. */
typedef enum bp__contract_kind { BP__DENSE, BP__BROADCAST, BP__SCATTERED } bp__contract_kind;

typedef struct bp__contract_dim {
    int64_t size;
    int64_t step[BP__OPERANDS]; /* 0 where an operand lacks it */
} bp__contract_dim;

typedef struct bp__contract_axis {
    int ndim;
    int8_t dim[BP_MAX_CONTRACT_NDIM]; /* dimensions, fastest first */
    bool partial;                     /* the last one is there in part */
    int64_t take;                     /* of the last one */
    int64_t count;                    /* elements */
    int64_t rest;                     /* elements in the last block */
    int walked;                       /* which dimension of the walk counts the blocks, or -1 */
    bp__contract_kind kind[BP__OPERANDS];
} bp__contract_axis;

/* What is walked around the tiles, the slowest first. */
typedef struct bp__contract_walk {
    int ndim;
    int64_t count;
    bp__contract_dim dim[BP_MAX_CONTRACT_NDIM];
} bp__contract_walk;

typedef struct bp__contract_tiling {
    bp__contract_mode mode;
    int64_t unit;      /* bytes of an element; of several in a copy of runs */
    bool has_b, pairs; /* of operands; of numbers in an element */
    int ndim, output_ndim;
    bp__contract_dim dim[BP_MAX_CONTRACT_NDIM];
    int64_t used[BP_MAX_CONTRACT_NDIM]; /* how much of each is in an axis */
    int64_t first[BP__OPERANDS];        /* from the operand's address to the first element in our order */
    bp__contract_axis x, y, z;
    bp__contract_walk outer, terms; /* over tiles, and over what is added up */
    bool packed[BP__OPERANDS];      /* moved through scratch */
    bp__contract_pack_kind pack_kind[BP__OPERANDS];
    int64_t base;                /* elements of C in a row of sums: less than x has where x folds */
    bool folds;                  /* x goes on into what is summed over, so that its parts are added up in the end */
    int vector_operand;          /* the operand that vectors are always loaded from */
    bool broadcast;              /* the other one has one value along x */
    int64_t longest;             /* terms that are added before a flush */
    int64_t splits, split_steps; /* of the walk over terms: how many, and steps of each; 1 where it is not cut */
    double elements, products;   /* of C, and to add up */
    double cost_ns;              /* on one thread */
} bp__contract_tiling;

void bp__contract_choose_tiling(const bp_host *host, const bp_problem *problem, int isa, bp__contract_tiling *tiling);

/* ---- Cost (cost.c) ---- */

/* Nanoseconds for each product, in the caches, if columns of tiles follow dimension x and terms y; -1: there is no such
 * dimension. A row has `row` elements. */
double bp__contract_price(const bp__contract_tiling *tiling, bp__contract_mode mode, int x, int y, double row);
/* Of the whole form on one thread. */
double bp__contract_cost(const bp_host *host, const bp_problem *problem, int isa, const bp__contract_tiling *tiling);

/* ---- Plans (run.c) ---- */

bp_status bp__contract_prepare(const bp_host *host, const bp__contract_kernels *kernels,
                               const bp__contract_tiling *tiling, int threads, bp_prepared **prepared);

#endif
