/* contract.h - declares the tiling of a contraction, its kernels, and the packing of blocks.
 *
 * C is cut into tiles of rows (axis z) and columns (axis x), which both consist of dimensions of C. Terms that are
 * added together form a third axis (y). An axis consists of a few dimensions, and the last one may be cut into blocks.
 * Each axis has a table of offsets for each operand, so that many small dimensions cost no more than one large one. A
 * walk around the tiles covers the remaining dimensions and the blocks of those that are cut.
 *
 * Vectors follow x, or y if each result is one sum along contiguous terms. Kernels take operands that are contiguous or
 * constant along the vector axis. Any other operand is packed into scratch memory, one tile at a time; a tile of C with
 * any other layout is computed in scratch. All offsets are in bytes.
 *
 * Results are bitwise reproducible for every number of threads, because tiles, blocks and the order of terms follow
 * from the sizes and strides alone. A long sum for few results is cut into splits by the same rule; threads take tiles
 * and splits.
 */
#ifndef BP_NATIVE_CONTRACT_H
#define BP_NATIVE_CONTRACT_H

#include "backplane/provider.h"
#include "providers/least.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Kernels ---- */

/* Kernels of one instruction set for one type. Sums are f32 or f64, as pairs for complex types. Counts are in elements.
 * Arrays of sums are padded to whole vectors, because kernels may write beyond `n`. */
typedef struct bp__contract_kernels {
    size_t sum; /* bytes of an element's sum */
    /* sums[x] += the sum over y of a[ay[y] + x] * b[by[y] + x], for n consecutive x. `broadcast`: b is constant along
     * x. If b is NULL, elements of a are added. */
    void (*rows)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ay, const char *b,
                 const int64_t *by, bool broadcast);
    /* sums[x] += the sum over y of a[ax[x] + y] * b[bx[x] + y], for `count` consecutive y. If b is NULL, elements of a
     * are added. */
    void (*dots)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ax, const char *b,
                 const int64_t *bx);
    /* c[cz[z] + x] = a[az[z] + x] * b[bz[z] + x]. `broadcast`: b is constant along x. c may be a. */
    void (*products)(int64_t rows, int64_t n, char *c, const int64_t *cz, const char *a, const int64_t *az,
                     const char *b, const int64_t *bz, bool broadcast);
    void (*flush)(int64_t n, double *totals, void *sums); /* totals += sums, then sums = 0 */
    void (*store)(int64_t n, void *to, const void *sums);
    void (*store_totals)(int64_t n, void *to, const double *totals);
} bp__contract_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. */
#define BP__CONTRACT_DTYPES 6
extern const bp__contract_kernels bp__contract_default[BP__CONTRACT_DTYPES];
extern const bp__contract_kernels bp__contract_avx2[BP__CONTRACT_DTYPES];
extern const bp__contract_kernels bp__contract_avx512[BP__CONTRACT_DTYPES];

#define BP__CONTRACT_PAD 16 /* elements that arrays of sums are padded to: the widest vector */

/* ---- Packing (pack.c) ---- */

typedef enum bp__contract_pack_kind {
    BP__PACK_ROWS,        /* rows are contiguous on both sides */
    BP__PACK_FILL,        /* each row repeats one element */
    BP__PACK_TRANSPOSE,   /* rows of `to` and columns of `from` are contiguous */
    BP__PACK_UNTRANSPOSE, /* columns of `to` and rows of `from` are contiguous */
    BP__PACK_GATHER,      /* rows of `to` are contiguous; `from` has any layout */
    BP__PACK_SCATTER      /* both sides have any layout, given by the tables */
} bp__contract_pack_kind;

/* One side of a copy. Element (r, c) is at `at` + row[r] + column[c]. Tables of contiguous directions are not read. */
typedef struct bp__contract_side {
    char *at;
    const int64_t *row, *column;
} bp__contract_side;

/* Copies `rows` x `columns` elements of `unit` bytes (2, 4, 8 or 16) at any address. */
void bp__contract_pack(bp__contract_pack_kind kind, size_t unit, int64_t rows, int64_t columns,
                       const bp__contract_side *to, const bp__contract_side *from);

/* ---- Tiling (tiling.c) ---- */

enum { BP__A, BP__B, BP__C, BP__OPERANDS };

typedef enum bp__contract_mode {
    BP__CONTRACT_NOTHING,
    BP__CONTRACT_COPY,
    BP__CONTRACT_PRODUCT,
    BP__CONTRACT_ROWS, /* sums, vectors along x */
    BP__CONTRACT_DOTS  /* sums, vectors along y */
} bp__contract_mode;

/* Layout of an operand along an axis: contiguous, constant, or neither. */
typedef enum bp__contract_kind { BP__DENSE, BP__BROADCAST, BP__SCATTERED } bp__contract_kind;

typedef struct bp__contract_dim {
    int64_t size;
    int64_t step[BP__OPERANDS]; /* stride in bytes; 0 if the operand does not have the dimension */
} bp__contract_dim;

typedef struct bp__contract_axis {
    int ndim;
    int8_t dim[BP_MAX_CONTRACT_NDIM]; /* dimensions of the tiling, fastest first */
    bool partial;                     /* only a block of the last dimension is in the axis */
    int64_t take;                     /* elements of the last dimension in the axis */
    int64_t count;                    /* elements */
    int64_t rest;                     /* elements of the axis in the last block */
    int walked;                       /* dimension of the walk that counts the blocks, or -1 */
    bp__contract_kind kind[BP__OPERANDS];
} bp__contract_axis;

/* The loops around the tiles, slowest dimension first. */
typedef struct bp__contract_walk {
    int ndim;
    int64_t count;
    bp__contract_dim dim[BP_MAX_CONTRACT_NDIM];
} bp__contract_walk;

typedef struct bp__contract_tiling {
    bp__contract_mode mode;
    int64_t unit;      /* bytes of an element; a copy may join several elements to one */
    bool has_b, pairs; /* there is an operand b; elements are pairs (complex) */
    int ndim, output_ndim;
    bp__contract_dim dim[BP_MAX_CONTRACT_NDIM];
    int64_t used[BP_MAX_CONTRACT_NDIM]; /* elements of each dimension that are in an axis; 0: none */
    int64_t first[BP__OPERANDS];        /* bytes from the operand's address to the first element in tiling order */
    bp__contract_axis x, y, z;
    bp__contract_walk outer, terms; /* loops over tiles, and over terms */
    bool packed[BP__OPERANDS];      /* copied to scratch, or computed there */
    bp__contract_pack_kind pack_kind[BP__OPERANDS];
    int64_t base;                /* elements of C in a row of sums; less than x.count if `folds` */
    bool folds;                  /* the axis x also spans a summed dimension; its partial sums are reduced at the end */
    int vector_operand;          /* the operand that is always loaded as vectors */
    bool broadcast;              /* the other operand has one value along x */
    int64_t longest;             /* terms to add before a flush */
    int64_t splits, split_steps; /* splits of the sum (1: not split), and steps of the terms walk in each */
    double elements, products;   /* elements of C; products to add up */
    double cost_ns;              /* on one thread */
} bp__contract_tiling;

/* Fills in the tiling of a problem and its cost on one thread. `isa` is the ISA index. */
void bp__contract_choose_tiling(const bp_host *host, const bp_problem *problem, int isa, bp__contract_tiling *tiling);

/* ---- Cost (cost.c) ---- */

/* Returns the nanoseconds per product, with operands in cache, if columns of tiles follow dimension x and terms follow
 * y. -1: there is no such dimension. A row has `row` elements. */
double bp__contract_price(const bp__contract_tiling *tiling, bp__contract_mode mode, int x, int y, double row);
/* Returns the nanoseconds of the whole contraction on one thread. */
double bp__contract_cost(const bp_host *host, const bp_problem *problem, int isa, const bp__contract_tiling *tiling);

/* ---- Plans (run.c) ---- */

bp_status bp__contract_prepare(const bp_host *host, const bp__contract_kernels *kernels,
                               const bp__contract_tiling *tiling, int threads, bp_prepared **prepared);

#endif
