/* region.h - declares regions: functions of single elements that run together, block by block.
 *
 * regions.c finds them, and region_choose.c chooses what runs them: blocks (region.c makes the plans, tiles.c orders
 * the elements, region_run.c runs them), or a backend of the program (backends.c, region_own.c). */
#ifndef BP_GRAPH_REGION_H
#define BP_GRAPH_REGION_H

#include "backplane/graph_backend.h"
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
    bool single_row;                 /* the only dimension of more than one element is the last one */
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
/* Finds tile `index` of a single row whose first tile has `lead` elements, at most t->columns. */
void bp__tile_find_in_row(const bp__tiles *tiles, int64_t lead, int64_t index, bp__tile *tile);
/* Move to the tile behind, which has this index. */
void bp__tile_advance_in_row(const bp__tiles *tiles, int64_t lead, int64_t index, bp__tile *tile);
void bp__tile_advance(const bp__tiles *tiles, int64_t index, bp__tile *tile);

/* ---- Blocks (region.c) ---- */

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
    double cost_ns;
} bp__region_call;

/* Makes what runs a region in blocks, with references to the plans of its functions; and estimates its time. */
bp_status bp__region_blocks(bp__region_call **made, const bp__lowered *lowered, const bp__region *region,
                            bp_plan *const *plans, double *cost_ns);
void bp__region_blocks_free(bp__region_call *made); /* NULL is allowed */
/* Makes a plan of it. Takes ownership. */
bp_status bp__region_blocks_plan(bp_plan **plan, bp__region_call *made);
/* Returns what a plan runs in blocks; NULL if it is another plan. */
const bp__region_call *bp__region_of(const bp_plan *plan);
/* Writes the strides of a value that is broadcast to a result. */
void bp__region_strides(const bp__lowered *lowered, const bp__graph_value *result, bp_value value, int64_t *strides);

/* ---- Runs (region_run.c) ---- */

bp_status bp__region_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* ---- Backends of the program (backends.c) ---- */

enum {
    BP__BACKENDS_MOST = 32,
    BP__BACKEND_UNNAMED = 1000, /* a rank behind all names */
    BP__BACKEND_EXCLUDED = -1,
    BP__REGION_VALUES = BP__REGION_OPERANDS + BP__REGION_STEPS
};

typedef struct bp__backend {
    bp_graph_backend given;
    atomic_int references; /* the list, plans, and plans that are made */
    char texts[];
} bp__backend;

/* Returns a number that changes with the list. */
uint64_t bp__backends_epoch(void);
/* Lists the backends, each with a new reference. Returns their number. */
int bp__backends_take(bp__backend *list[BP__BACKENDS_MOST]);
/* Drops a reference; calls release() with the last one. NULL is allowed. */
void bp__backend_give(bp__backend *backend);
/* Returns the place of a backend in graph.backend; or BP__BACKEND_UNNAMED or _EXCLUDED. */
int bp__backend_rank(const char *name);
/* Refuses a value of graph.backend that names no backend. */
bp_status bp__backends_check(void);

/* ---- The choice (region_choose.c) ---- */

/* What a backend says about a region. */
typedef struct bp__region_offer {
    bp__backend *backend; /* with a reference, while a plan is made; NULL: blocks */
    char name[64];
    int rank;
    bool accepted, chosen;
    bp_region_offer offer;
    char reason[256]; /* why not */
} bp__region_offer;

/* Sets the plan of a region, NULL if no backend runs it, and the offers. */
bp_status bp__region_plan(const bp__lowered *lowered, bp__region *region, bp_plan *const *plans);

/* ---- Regions as data (region_own.c) ---- */

typedef struct bp__region_description bp__region_description;
/* Describes a region; bp__free() frees it. */
bp_status bp__region_describe(bp__region_description **made, const bp__lowered *lowered, const bp__region *region,
                              const bp_policy *policy);
/* Asks the backend of an offer. */
void bp__region_ask(bp__region_offer *offer, const bp__region_description *description);
/* Makes a plan that the backend runs. `first` is the plan of a function of the region. */
bp_status bp__region_plan_own(bp_plan **plan, const bp__region_offer *offer, const bp__region_description *description,
                              const bp_plan *first);

#endif
