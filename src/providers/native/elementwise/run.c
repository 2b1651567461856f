/* run.c - runs functions of single elements, conversions and copies.
 *
 * The two last dimensions of the loop are cut into tiles of rows and columns. Threads take ranges of tiles. Each
 * element is computed alone, so that neither tiles nor threads change bits. */
#include "elementwise.h"

#include "providers/native/stop.h"

#include <stdlib.h>
#include <string.h>

enum {
    TILE = 1024,            /* elements of a tile; the tiles of three operands fit into the first cache */
    MOST_AT_ONCE = 1 << 17, /* elements that a thread computes between two looks at the interrupt */
    SHARES = 4,             /* a thread takes at least so many, so that all end together */
    SQUARE = 32,            /* columns of a tile in which an input has no contiguous columns */
    COPY_SIDE = 256,        /* rows and columns of a tile of a copy */
    COPY_ROW = 1 << 16      /* columns, if they are contiguous */
};

typedef struct prepared {
    bp__element_call of; /* must be first */
    bp_problem problem;
    bp__element_loop loop;
    int threads;
    int64_t rows, columns;                  /* of a tile */
    int64_t last_columns;                   /* of the last tile of a row */
    int64_t step[BP_ELEMENTWISE_OPERANDS];  /* bytes from a tile to the next one of a row */
    int64_t row_tiles, column_tiles, tiles; /* of a matrix; all tiles */
    int64_t chunk;                          /* tiles that a thread takes at once */
    bool single;                            /* all elements are one direct tile, whose addresses are the operands' */
} prepared;

typedef struct call {
    const prepared *plan;
    char *operand[BP_ELEMENTWISE_OPERANDS];
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* One tile: its sizes, the tiles that follow in the row of tiles, and the addresses of its first elements. */
typedef struct tile {
    int64_t rows, columns, following;
    char *at[BP_ELEMENTWISE_OPERANDS];
} tile;

static tile tile_of(const call *w, int64_t index) {
    const prepared *plan = w->plan;
    const bp__element_loop *loop = &plan->loop;
    const int last = loop->ndim - 1;
    int64_t start[BP_MAX_ELEMENTWISE_NDIM];
    const int64_t column = index % plan->column_tiles;
    start[last] = column * plan->columns;
    index /= plan->column_tiles;
    start[last - 1] = index % plan->row_tiles * plan->rows;
    index /= plan->row_tiles;
    for (int d = last - 2; d >= 0; d--) {
        start[d] = index % loop->size[d];
        index /= loop->size[d];
    }
    tile t = {.rows = bp__least(plan->rows, loop->size[last - 1] - start[last - 1]),
              .columns = bp__least(plan->columns, loop->size[last] - start[last]),
              .following = plan->column_tiles - 1 - column};
    for (int i = 0; i <= plan->of.inputs; i++) {
        int64_t offset = 0;
        for (int d = 0; d <= last; d++) {
            offset += start[d] * loop->stride[i][d];
        }
        t.at[i] = w->operand[i] + offset * plan->of.element[i];
    }
    return t;
}

/* Moves to the next tile. The divisions of tile_of() take longer than to add small numbers. */
static void next_tile(const call *w, int64_t index, tile *t) {
    const prepared *plan = w->plan;
    if (t->following == 0) {
        *t = tile_of(w, index);
        return;
    }
    t->following--;
    t->columns = t->following > 0 ? plan->columns : plan->last_columns;
    for (int i = 0; i <= plan->of.inputs; i++) {
        t->at[i] = (char *)((uintptr_t)t->at[i] + (uintptr_t)plan->step[i]);
    }
}

/* Returns the strides of an operand in a tile. */
static bp__element_layout layout_of(const prepared *plan, int operand) {
    const int64_t *stride = plan->loop.stride[operand] + plan->loop.ndim - 2;
    return (bp__element_layout){stride[0], stride[1]};
}

static void compute_tile(const prepared *plan, const tile *t) {
    bp__element_layout layout[BP_ELEMENTWISE_OPERANDS];
    for (int i = 0; i <= plan->of.inputs; i++) {
        layout[i] = layout_of(plan, i);
    }
    bp__element_tile(&plan->of, t->rows, t->columns, t->at, layout);
}

static void copy_tile(const prepared *plan, const tile *t) {
    const int last = plan->loop.ndim - 1;
    const int64_t *from = plan->loop.stride[0], *to = plan->loop.stride[1];
    if (t->at[0] == t->at[1]) {
        return; /* the same tensor: otherwise the operands do not overlap */
    }
    if (from[last] == 1 && to[last] == 1) {
        for (int64_t r = 0; r < t->rows; r++) {
            memcpy(t->at[1] + r * to[last - 1] * plan->of.element[1],
                   t->at[0] + r * from[last - 1] * plan->of.element[0], (size_t)(t->columns * plan->of.element[0]));
        }
        return;
    }
    plan->of.host->copy_matrix((bp_dtype)plan->problem.dtype, t->rows, t->columns, t->at[1], to[last - 1], to[last],
                               t->at[0], from[last - 1], from[last], 0);
}

static void select_tile(const prepared *plan, const tile *t) {
    const int last = plan->loop.ndim - 1;
    int64_t row[BP_ELEMENTWISE_OPERANDS], column[BP_ELEMENTWISE_OPERANDS];
    for (int i = 0; i < BP_ELEMENTWISE_OPERANDS; i++) {
        row[i] = plan->loop.stride[i][last - 1];
        column[i] = plan->loop.stride[i][last];
    }
    plan->of.set.select(t->rows, t->columns, t->at, row, column);
}

static bool is_copy(const prepared *plan) {
    return !plan->of.set.write && !plan->of.set.select;
}

static void run_tiles(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&w->next, plan->chunk, memory_order_relaxed);
        if (from >= plan->tiles || bp__stops(&w->stop)) {
            return;
        }
        const int64_t end = bp__least(from + plan->chunk, plan->tiles);
        tile t = {0};
        for (int64_t i = from; i < end; i++) {
            next_tile(w, i, &t);
            (is_copy(plan) ? copy_tile : plan->of.set.select ? select_tile : compute_tile)(plan, &t);
        }
    }
}

/* Runs a plan of a single direct tile, which takes less time than to find the tile. */
static bp_status run_single(const prepared *plan, const bp_operand *operands) {
    const int64_t count = plan->rows * plan->columns;
    if (plan->of.set.binary) {
        plan->of.set.binary(count, bp_operand_address(&operands[0]), bp_operand_address(&operands[1]),
                            bp_operand_address(&operands[2]));
    } else {
        plan->of.set.unary(count, bp_operand_address(&operands[0]), bp_operand_address(&operands[1]), plan->of.number);
    }
    return BP_OK;
}

static bp_status run_elementwise(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    if (plan->single) {
        return run_single(plan, operands);
    }
    call w = {.plan = plan, .stop = {.host = plan->of.host, .op = (bp_op)plan->problem.op}};
    (void)exec;
    for (int i = 0; i <= plan->of.inputs; i++) {
        w.operand[i] = bp_operand_address(&operands[i]);
    }
    if (plan->threads > 1) {
        plan->of.host->parallel(plan->threads, plan->threads, run_tiles, &w);
    } else {
        run_tiles(&w, 0);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->of.host->release(self);
}

/* ---- Plans ---- */

/* Makes the dimension in which an input without contiguous columns has the smallest stride the dimension of the rows.
 * Returns whether there is such an input. */
static bool choose_rows(bp__element_loop *loop, int inputs) {
    const int last = loop->ndim - 1;
    int strided = -1, least = last - 1;
    for (int i = 0; i < inputs; i++) {
        const int64_t stride = llabs(loop->stride[i][last]);
        if (stride > 1 && (strided < 0 || stride > llabs(loop->stride[strided][last]))) {
            strided = i;
        }
    }
    for (int d = last - 2; d >= 0 && strided >= 0; d--) {
        const int64_t stride = llabs(loop->stride[strided][d]);
        least = stride > 0 && stride < llabs(loop->stride[strided][least]) ? d : least;
    }
    int64_t *const lists[] = {loop->size, loop->stride[0], loop->stride[1], loop->stride[2], loop->stride[3]};
    for (int i = 0; i < inputs + 2; i++) {
        const int64_t rows = lists[i][least];
        memmove(lists[i] + least, lists[i] + least + 1, (size_t)(last - 1 - least) * sizeof rows);
        lists[i][last - 1] = rows;
    }
    return strided >= 0 && llabs(loop->stride[strided][last - 1]) < llabs(loop->stride[strided][last]);
}

/* Sets the tiles: at most so many columns, and so many elements. */
static void cut_into(prepared *plan, int64_t columns, int64_t elements) {
    const bp__element_loop *loop = &plan->loop;
    const int last = loop->ndim - 1;
    plan->columns = bp__least(loop->size[last], columns);
    plan->rows = bp__least(loop->size[last - 1], plan->columns > 0 ? elements / plan->columns : 1);
}

/* Whether some operand's elements of a tile are not where its functions need them. */
static bool has_buffers(const prepared *plan) {
    bool direct = true;
    for (int i = 0; i <= plan->of.inputs; i++) {
        const bp__element_layout layout = layout_of(plan, i);
        direct &= bp__element_is_direct(&plan->of, i, plan->rows, plan->columns, &layout);
    }
    return !direct;
}

/* Makes tiles as large as the work of a thread between two looks at the interrupt, if no operand needs a buffer then.
 */
static void enlarge(prepared *plan, int64_t elements) {
    const int64_t rows = plan->rows, columns = plan->columns;
    const int64_t share = plan->threads > 1 ? elements / (SHARES * plan->threads) : elements;
    const int64_t most = bp__least(share, MOST_AT_ONCE) / TILE * TILE;
    if (most > TILE) {
        cut_into(plan, most, most);
        if (has_buffers(plan)) {
            plan->rows = rows;
            plan->columns = columns;
        }
    }
}

static void cut(prepared *plan) {
    bp__element_loop *loop = &plan->loop;
    bp__element_loop_make(loop, &plan->problem.of.elementwise, plan->of.inputs + 1);
    const bool transposed = choose_rows(loop, plan->of.inputs);
    const int last = loop->ndim - 1;
    if (is_copy(plan)) {
        const bool rows = loop->stride[0][last] == 1 && loop->stride[1][last] == 1;
        plan->columns = bp__least(loop->size[last], rows ? COPY_ROW : COPY_SIDE);
        plan->rows = plan->columns > 0 ? COPY_ROW / plan->columns : 1;
        plan->rows = bp__least(loop->size[last - 1], plan->rows);
    } else {
        cut_into(plan, transposed ? SQUARE : TILE, TILE);
        if (!plan->of.set.select && has_buffers(plan)) {
            const int64_t most = BP__ELEMENT_BUFFER / (int64_t)plan->of.set.number;
            cut_into(plan, transposed ? SQUARE : most, most);
        } else if (!plan->of.set.select) {
            enlarge(plan, loop->size[last - 1] * loop->size[last]);
        }
    }
    plan->tiles = 1;
    for (int d = 0; d < loop->ndim; d++) {
        plan->tiles *= d < last - 1 || loop->size[d] == 0 ? loop->size[d] : 1;
    }
    if (plan->tiles > 0) {
        plan->column_tiles = (loop->size[last] + plan->columns - 1) / plan->columns;
        plan->row_tiles = (loop->size[last - 1] + plan->rows - 1) / plan->rows;
        plan->tiles *= plan->row_tiles * plan->column_tiles;
        plan->last_columns = loop->size[last] - (plan->column_tiles - 1) * plan->columns;
    }
    for (int i = 0; i <= plan->of.inputs; i++) {
        plan->step[i] = plan->columns * loop->stride[i][last] * plan->of.element[i];
    }
    plan->single =
        plan->tiles == 1 && plan->threads == 1 && (plan->of.set.binary || plan->of.set.unary) && !has_buffers(plan);
    /* A few chunks for each thread, and the interrupt check between them. */
    const int64_t most = (is_copy(plan) ? 2 * MOST_AT_ONCE : MOST_AT_ONCE) / (plan->rows * plan->columns + 1) + 1;
    plan->chunk = bp__least(plan->tiles / (SHARES * plan->threads) + 1, most);
}

bp_status bp__element_plan(const bp_host *host, const bp_problem *problem, const bp__element_set *set, int threads,
                           bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->of.base = (bp_prepared){.struct_size = sizeof plan->of.base, .enqueue = run_elementwise, .destroy = destroy};
    plan->problem = *problem;
    plan->threads = threads;
    bp__element_call_make(&plan->of, host, problem, set);
    cut(plan);
    *result = &plan->of.base;
    return BP_OK;
}
