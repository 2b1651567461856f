/* region.h - declares regions: functions of single elements that run together, block by block.
 *
 * regions.c finds them, region.c makes their plans, tiles.c orders their elements, region_run.c runs them. */
#ifndef BP_GRAPH_REGION_H
#define BP_GRAPH_REGION_H

#include "graph/graph.h"

enum {
    BP__REGION_ARGUMENTS = 4, /* of a function, with the output */
    BP__REGION_STEPS = 64,    /* each is compared with all others */
    BP__REGION_OPERANDS = BP__MOST_OPERANDS
};

/* Returns whether a step is a function of single elements; and the value that it computes. */
bool bp__step_is_pointwise(const bp__lowered *lowered, int step);
bp_value bp__step_result(const bp__lowered *lowered, int step);

/* Lists the values that a region reads and does not write, and then its results that others read: its operands.
 * Returns their number; 0 if there are more than BP__REGION_OPERANDS. */
int bp__region_operands(const bp__lowered *lowered, const bp__region *region, bp_value *list, int *inputs);

/* ---- The order of elements (tiles.c) ---- */

/* An operand in the loop over tiles. */
typedef struct bp__tile_operand {
    bp_dtype dtype;
    int64_t item;                /* bytes of an element */
    int64_t stride[BP_MAX_NDIM]; /* in elements; 0 where it is repeated */
    int64_t advance;             /* bytes, to the next tile in the columns */
    bool direct;                 /* the elements of each tile are one after another */
    bool constant;               /* all tiles have the same elements */
} bp__tile_operand;

/* Dimensions in the order of the strides of the last operand, at least two. A tile is a rectangle of the last two. */
typedef struct bp__tiles {
    int ndim, operands;
    int64_t size[BP_MAX_NDIM];
    int64_t rows, columns;           /* of a tile */
    int64_t row_tiles, column_tiles; /* of a rectangle */
    int64_t count;                   /* all */
    bp__tile_operand operand[BP__REGION_OPERANDS];
} bp__tiles;

/* One tile: its sizes, the tiles that follow in the columns, and the offset in bytes of each operand's first element.
 */
typedef struct bp__tile {
    int64_t rows, columns, following;
    int64_t offset[BP__REGION_OPERANDS];
} bp__tile;

/* Orders and joins the dimensions, of the operands' strides in the order of the shape. */
void bp__tiles_order(bp__tiles *tiles, int ndim, const int64_t *shape);
/* Cuts the elements into tiles of at most so many. */
void bp__tiles_cut(bp__tiles *tiles, int64_t elements);
void bp__tile_find(const bp__tiles *tiles, int64_t index, bp__tile *tile);
/* Moves to the tile behind, which has this index. */
void bp__tile_advance(const bp__tiles *tiles, int64_t index, bp__tile *tile);

/* ---- Plans (region.c) ---- */

/* A function of a region. */
typedef struct bp__region_step {
    const bp_prepared *call;
    int values;                          /* arguments, then the result */
    int16_t value[BP__REGION_ARGUMENTS]; /* an operand, or BP__REGION_OPERANDS and more: a slot */
} bp__region_step;

enum { BP__REGION_SLOTS = BP__REGION_STEPS + BP__REGION_OPERANDS };

typedef struct bp__region_call {
    bp_prepared base; /* must be first */
    bp__tiles tiles;
    int inputs, threads;
    int step_count, plan_count, joined_count, slot_count;
    bp__region_step step[BP__REGION_STEPS];
    bp_plan *plan[BP__REGION_STEPS];       /* of each function, in the order of the steps of the graph */
    bp_prepared *joined[BP__REGION_STEPS]; /* calls of two functions */
    int16_t slot_of[BP__REGION_OPERANDS];  /* of an operand that is not direct; -1: none */
    int64_t slot_at[BP__REGION_SLOTS];     /* bytes from the begin of the thread's memory */
    int64_t thread_bytes;
} bp__region_call;

/* Makes the plan of a region, whose parts hold references to the plans of its functions. */
bp_status bp__region_plan(bp_plan **plan, const bp__lowered *lowered, const bp__region *region, bp_plan *const *plans);
/* Returns the region that a plan runs; NULL if it runs none. */
const bp__region_call *bp__region_of(const bp_plan *plan);

/* ---- Runs (region_run.c) ---- */

bp_status bp__region_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
