/* winograd.h - declares the parts of Winograd's convolution F(4x4, 3x3): its points, kernels and plans.
 *
 * A tile of 4x4 results needs 6x6 elements of the image. With B, G and A of the interpolation points (A. Lavin, S.
 * Gray: Fast Algorithms for Convolutional Neural Networks, 2015),
 *
 *     tile = transpose(A) [ (G weight transpose(G)) * (transpose(B) image B) ] A
 *
 * where * multiplies the 36 elements of both. Summed over the channels, each of these elements is a product of
 * matrices: 36 multiply-adds replace 144. The points are 0, +-5/8, +-3/2 and infinity. Their errors are a sixth of
 * the errors of the points 0, +-1, +-2 and infinity, and a product with them costs the same.
 */
#ifndef BP_NATIVE_CONV_WINOGRAD_H
#define BP_NATIVE_CONV_WINOGRAD_H

#include "conv.h"

enum {
    BP__WINOGRAD_IN = 6,       /* elements of the image in one direction of a tile */
    BP__WINOGRAD_OUT = 4,      /* results */
    BP__WINOGRAD_TAPS = 3,     /* of the kernel */
    BP__WINOGRAD_PRODUCTS = 36 /* elements of a transformed tile */
};

/* Kernels of one instruction set. Lanes of vectors are tiles, or channels; the transforms are the same for all. */
typedef struct bp__winograd_kernels {
    /* Transforms n lanes of images: element e of lane i is from[e][i]. The result's element e is to[e * step + i]. */
    void (*image)(int64_t n, const float *const from[BP__WINOGRAD_PRODUCTS], float *to, int64_t step);
    /* Transforms n lanes of weights: tap t of lane i is from[t * from_step + i]. The result's element e of lane i is
     * to[e * step + i / width * panel + i % width]. n is a multiple of `width`, which is one of 4. */
    void (*weight)(int64_t n, const float *from, int64_t from_step, float *to, int64_t step, int64_t width,
                   int64_t panel);
    /* Transforms n lanes of products back, adds bias[i * bias_step] if `bias` is not NULL, and replaces negative
     * results by 0 if `relu`. Result r of lane i is to[r][i]; NULL: it is not needed. bias_step is 0 or 1. */
    void (*result)(int64_t n, const float *from, int64_t step, float *const to[BP__WINOGRAD_OUT * BP__WINOGRAD_OUT],
                   const float *bias, int64_t bias_step, bool relu);
    /* Reads n tiles of images with contiguous rows: row r of tile i begins at from[i] + r * row[i]. Element e of tile i
     * becomes to[e * step + i]. n is a multiple of 4. */
    void (*split)(int64_t n, const float *const *from, const int64_t *row, float *to, int64_t step);
    /* Writes n tiles of results with contiguous rows: result r of tile i is from[r * step + i], and its row begins at
     * to[i] + r / 4 * row. NULL: the tile is not written. n is a multiple of 4. */
    void (*join)(int64_t n, const float *from, int64_t step, float *const *to, int64_t row);
} bp__winograd_kernels;

extern const bp__winograd_kernels bp__winograd_default;
extern const bp__winograd_kernels bp__winograd_avx2;
extern const bp__winograd_kernels bp__winograd_avx512;

/* The kernels that a plan uses. */
typedef struct bp__winograd_set {
    const bp__native_kernels *products;
    const bp__winograd_kernels *own;
} bp__winograd_set;

/* How a convolution is cut into units; one thread computes one: a block of tiles and some rows, which are
 * channels of the result. */
typedef struct bp__winograd_cut {
    bool tiles_are_v;    /* vectors of the products follow the tiles; otherwise the rows */
    bool by_channel;     /* lanes of the image's transform are channels; otherwise tiles */
    int64_t across[2];   /* tiles of an image in both directions */
    int64_t tiles;       /* of all items */
    int64_t block, rows; /* tiles and rows of a unit */
    int64_t blocks, row_blocks, units;
} bp__winograd_cut;

/* Returns whether the algorithm can compute the problem. */
bool bp__winograd_runs(const bp_problem *problem);

/* Cuts the job for this many threads. */
void bp__winograd_cut_for(const bp_problem *problem, const bp__conv_job *job, const bp__native_kernels *products,
                          int threads, bp__winograd_cut *cut);

/* Returns the estimated time on one thread. `rate` is the multiply-adds per nanosecond of the products. */
double bp__winograd_cost(const bp_host *host, const bp_problem *problem, const bp__native_kernels *products,
                         double rate);

bp_status bp__winograd_plan(const bp_host *host, const bp_problem *problem, const bp__winograd_set *set, int threads,
                            bp_prepared **prepared);

/* ---- Image and result of one unit: winograd_tile.c ---- */

/* A tile: its element (0, 0) in the image, which may be outside, the part of its rows and columns that is inside, and
 * its first result with the number of rows and columns that exist. */
typedef struct bp__winograd_tile {
    int64_t from, to;
    int8_t low[2], high[2], exist[2];
} bp__winograd_tile;

/* Memory of one thread. */
typedef struct bp__winograd_memory {
    float *panels, *sums;     /* the transformed image in panels, and the products */
    float *lanes;             /* tiles before or after a transform */
    float *patches;           /* elements of tiles at the edges of the image */
    float *zeros, *bias;      /* zeros: elements outside the image */
    const float **from;       /* addresses of elements of the image */
    float **to;               /* addresses of tiles of the result */
    int64_t *row;             /* distances of their rows */
    bp__winograd_tile *tiles; /* of the unit */
} bp__winograd_memory;

/* One call's view of a unit. */
typedef struct bp__winograd_unit {
    const bp__conv_job *job;
    const bp__winograd_set *set;
    const bp__winograd_cut *cut;
    const bp__winograd_memory *memory;
    const float *image; /* of the group */
    float *result;      /* of the first row */
    const float *bias;  /* of the first row, contiguous; NULL: none */
    bool relu;
    int64_t tiles, rows;
} bp__winograd_unit;

/* Returns the bytes of a thread's memory, and sets the pointers into it. */
size_t bp__winograd_memory_bytes(const bp__winograd_cut *cut, const bp__native_kernels *products, int64_t channels);
void bp__winograd_memory_at(const bp__winograd_cut *cut, const bp__native_kernels *products, int64_t channels,
                            char *memory, bp__winograd_memory *parts);

/* Finds the unit's tiles; the first one is `start`. */
void bp__winograd_locate(const bp__winograd_unit *unit, int64_t start);

/* Returns the elements between the panels of one product and the panels of the next, for k channels. */
int64_t bp__winograd_panels(const bp__winograd_unit *unit, int64_t k);

/* Transforms the channels c0 to c0 + k of the unit's tiles into panels. */
void bp__winograd_image(const bp__winograd_unit *unit, int64_t c0, int64_t k);

/* Transforms the products back, and writes the results. */
void bp__winograd_result(const bp__winograd_unit *unit);

/* Returns the elements between matrices of this many elements: an odd number of cache lines, so that the same element
 * of all 36 matrices is not in the same set of a cache. */
static inline int64_t bp__winograd_apart(int64_t elements) {
    const int64_t line = 64 / (int64_t)sizeof(float);
    return ((elements + line - 1) / line | 1) * line;
}

/* Returns the elements between the sums of neighbouring rows, or of neighbouring tiles if rows are V. */
static inline int64_t bp__winograd_sums_step(const bp__winograd_unit *unit) {
    return bp__conv_round_up(unit->cut->tiles_are_v ? unit->tiles : unit->rows, unit->set->products->lanes);
}

/* Returns the elements between the sums of one product and the sums of the next. */
static inline int64_t bp__winograd_sums_product(const bp__winograd_unit *unit) {
    return bp__winograd_apart(bp__winograd_sums_step(unit) * (unit->cut->tiles_are_v ? unit->rows : unit->tiles));
}

#endif
