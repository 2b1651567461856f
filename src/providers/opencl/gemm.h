/* gemm.h - declares the algorithms of matrix products. */
#ifndef BP_PROVIDERS_OPENCL_GEMM_H
#define BP_PROVIDERS_OPENCL_GEMM_H

#include "families.h"

/* The struct of the same name in kernels/gemm.cl: the product, and the part of C that a step computes. */
typedef struct bp__cl_product {
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, b_column, c_row, c_column;
    int64_t first_row, rows, first_column, columns, first_item;
    int32_t batch_ndim;
    int32_t conjugate_a, conjugate_b;
    int32_t alpha, beta;
    int32_t reserved;
    int64_t size[BP_MAX_BATCH_NDIM], a[BP_MAX_BATCH_NDIM], b[BP_MAX_BATCH_NDIM], c[BP_MAX_BATCH_NDIM];
} bp__cl_product;

/* A product with its types; integers are computed modulo 2^32. */
typedef struct bp__cl_gemm_job {
    bp__cl_product product;
    uint32_t type[3]; /* of A, B and C */
    int64_t batch;
    bool complex, integer, is_double;
    int64_t number, real; /* bytes of a number of the computation, and of its real type */
    const char *number_name, *real_name;
    bool same_a, same_b; /* all items have the same A, or B */
} bp__cl_gemm_job;

/* The tiles of the kernels, and the parts of C that one step computes. */
typedef struct bp__cl_gemm_cut {
    int64_t rows, columns;   /* of a tile */
    int width, vectors;      /* panels: lanes of a vector, and vectors of a tile */
    int group, side;         /* tiles: work items of a group and elements of one, in each dimension */
    int deep;                /* tiles: columns of a piece of A in local memory */
    bool a_across, b_across; /* tiles: neighbouring work items read neighbouring rows of A, and columns of B */
    int64_t slab_rows, slab_columns, slab_items; /* multiples of the tile's */
    size_t a_bytes, b_bytes;                     /* panels: of a slab */
} bp__cl_gemm_cut;

/* Panels (gemm_panels.c): A and B are copied to the workspace. For processors. False: the workspace would be too
 * large. */
bool bp__cl_panels_cut(const bp__cl_gemm_job *job, const bp_device_info *facts, bp__cl_gemm_cut *cut);
bp_status bp__cl_panels_steps(bp__cl_device *device, const bp__cl_gemm_job *job, bp__cl_plan *plan);

/* Tiles (gemm_tiles.c): pieces of A and B are copied to local memory. False: it is too small. */
bool bp__cl_tiles_cut(const bp__cl_gemm_job *job, const bp_device_info *facts, bp__cl_gemm_cut *cut);
bp_status bp__cl_tiles_steps(bp__cl_device *device, const bp__cl_gemm_job *job, bp__cl_plan *plan);

/* Parts of both, for other operations that multiply matrices. Set the tile; add the options; set a step that multiplies
 * `items` items of a slab, where C is operand `c`. Panels of A begin at byte 0 of the workspace, panels of B at
 * cut->a_bytes; for tiles, the caller has added A and B as the first arguments. `flags` must live until the step is
 * added. */
typedef struct bp__cl_panels_flags {
    cl_int group, same_a, same_b;
} bp__cl_panels_flags;
void bp__cl_panels_tile(const bp__cl_gemm_job *job, const bp_device_info *facts, bp__cl_gemm_cut *cut);
void bp__cl_panels_options(bp__cl_options *options, const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut);
void bp__cl_panels_multiply(bp__cl_step *step, const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut,
                            const bp_device_info *facts, const bp__cl_product *slab, int64_t items, int c,
                            bp__cl_panels_flags *flags);
void bp__cl_tiles_options(bp__cl_options *options, const bp__cl_gemm_job *job, const bp_device_info *facts,
                          const bp__cl_gemm_cut *cut);
void bp__cl_tiles_multiply(bp__cl_step *step, const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut,
                           const bp__cl_product *slab, int64_t items, int c);

/* Adds the options of a job's types. */
void bp__cl_gemm_options(bp__cl_options *options, const bp__cl_gemm_job *job);

#endif
