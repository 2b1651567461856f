/* gemm.h - declares the algorithms of matrix products. */
#ifndef BP_PROVIDERS_KERNELS_GEMM_H
#define BP_PROVIDERS_KERNELS_GEMM_H

#include "providers/kernels/families.h"

/* The struct of the same name in sources/gemm.cl: the product, and the part of C that a step computes. */
typedef struct bp__kernel_product {
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, b_column, c_row, c_column;
    int64_t first_row, rows, first_column, columns, first_item;
    int32_t batch_ndim;
    int32_t conjugate_a, conjugate_b;
    int32_t alpha, beta;
    int32_t reserved;
    int64_t size[BP_MAX_BATCH_NDIM], a[BP_MAX_BATCH_NDIM], b[BP_MAX_BATCH_NDIM], c[BP_MAX_BATCH_NDIM];
} bp__kernel_product;

/* A product with its types; integers are computed modulo 2^32. */
typedef struct bp__kernel_gemm_job {
    bp__kernel_product product;
    uint32_t type[3]; /* of A, B and C */
    int64_t batch;
    bool complex, integer, is_double;
    int64_t number, real; /* bytes of a number of the computation, and of its real type */
    const char *number_name, *real_name;
    bool same_a, same_b; /* all items have the same A, or B */
} bp__kernel_gemm_job;

/* The tiles of the kernels, and the parts of C that one step computes. */
typedef struct bp__kernel_gemm_cut {
    int64_t rows, columns;   /* of a tile */
    int width, vectors;      /* panels: lanes of a vector, and vectors of a tile */
    int group, side;         /* tiles: work items of a group and elements of one, in each dimension */
    int deep;                /* tiles: columns of a piece of A in local memory */
    bool a_across, b_across; /* tiles: neighbouring work items read neighbouring rows of A, and columns of B */
    int64_t slab_rows, slab_columns, slab_items; /* multiples of the tile's */
    size_t a_bytes, b_bytes;                     /* panels: of a slab */
} bp__kernel_gemm_cut;

/* Panels (gemm_panels.c): A and B are copied to the workspace. For processors. False: the workspace would be too
 * large. */
bool bp__kernel_panels_cut(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut);
bp_status bp__kernel_panels_steps(bp__kernel_device *device, const bp__kernel_gemm_job *job, bp__kernel_plan *plan);

/* Tiles (gemm_tiles.c): pieces of A and B are copied to local memory. False: it is too small. */
bool bp__kernel_tiles_cut(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut);
bp_status bp__kernel_tiles_steps(bp__kernel_device *device, const bp__kernel_gemm_job *job, bp__kernel_plan *plan);

/* Parts of both, for other operations that multiply matrices. Set the tile; add the options; set a step that multiplies
 * `items` items of a slab, where C is operand `c`. Panels of A begin at byte 0 of the workspace, panels of B at
 * cut->a_bytes; for tiles, the caller has added A and B as the first arguments. `flags` must live until the step is
 * added. */
typedef struct bp__kernel_panels_flags {
    int32_t group, same_a, same_b;
} bp__kernel_panels_flags;
void bp__kernel_panels_tile(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut);
void bp__kernel_panels_options(bp__kernel_options *options, const bp__kernel_gemm_job *job,
                               const bp__kernel_gemm_cut *cut);
void bp__kernel_panels_multiply(bp__kernel_step *step, const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut,
                                const bp_device_info *facts, const bp__kernel_product *slab, int64_t items, int c,
                                bp__kernel_panels_flags *flags);
void bp__kernel_tiles_options(bp__kernel_options *options, const bp__kernel_gemm_job *job, const bp_device_info *facts,
                              const bp__kernel_gemm_cut *cut);
void bp__kernel_tiles_multiply(bp__kernel_step *step, const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut,
                               const bp__kernel_product *slab, int64_t items, int c);

/* Adds the options of a job's types. */
void bp__kernel_gemm_options(bp__kernel_options *options, const bp__kernel_gemm_job *job);

#endif
