/* walk.c - cuts reductions and softmax into items, parts and pieces. */
#include "reduce.h"

#define PARTS 64       /* of all items together, if there are fewer items */
#define SHORT_ROW 48   /* rows of fewer elements are computed in columns */
#define TINY_ROW 13    /* rows of fewer floats are lanes, although their elements are neighbours */
#define FEW_ROWS 16    /* rows of a block of columns */
#define FOLD 16        /* rows of few columns that are lanes together */
#define FOLDED 12      /* columns, at most */
#define UNIT 16384     /* elements of a unit of work */
#define LONG 65536     /* elements of an item that has several parts */
#define STAGED 16384   /* elements of a row that is copied, at most */
#define TOGETHER 32    /* rows that are copied together, at least */
#define LINE 64        /* bytes of a cache line */
#define CACHED 1048576 /* bytes of an item's elements that softmax reads several times */

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

static int64_t product(const bp_reduce_problem *p, int from, int to) {
    int64_t all = 1;
    for (int d = from; d < to; d++) {
        all *= p->size[d];
    }
    return all;
}

/* Decides whether rows are reduced one after another, each as neighbours in memory. Rows of softmax are, if they are
 * not shared by threads; others are copied, unless all tensors are columns. */
static void choose_rows(bp__reduce_cut *cut, const bp_problem *problem, int64_t rows, int64_t columns) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const int kept = p->kept_ndim - 1, last = p->ndim - 1, tensors = problem->op == BP_OP_SOFTMAX_BACKWARD ? 3 : 2;
    const int64_t *const strides[] = {p->x, p->y, p->z};
    cut->rows = cut->staged = false;
    if (rows <= 1) {
        return;
    }
    if (bp__reduce_joins(problem)) {
        const bool tiny = rows < TINY_ROW && cut->columns && problem->dtype <= BP_F64 && problem->dtype >= BP_F16;
        cut->rows = p->x[last] == 1 && !tiny && !(p->kept_ndim > 0 && columns > 1 && p->x[kept] == 0);
        return;
    }
    bool side_by_side = columns > 1, neighbours = true;
    for (int i = 0; i < tensors; i++) {
        side_by_side = side_by_side && strides[i][kept] == 1;
        neighbours = neighbours && strides[i][last] == 1;
    }
    const bool single = p->ndim == p->kept_ndim + 1;
    cut->staged = single && !neighbours && !side_by_side && rows <= STAGED;
    cut->rows = single && ((neighbours && rows < LONG) || cut->staged);
    if (cut->staged) { /* an odd number of cache lines, so that rows are in different sets of a cache */
        const int64_t line = LINE / (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
        cut->leading = ((rows + line - 1) / line | 1) * line;
    }
}

void bp__reduce_cut_make(bp__reduce_cut *cut, const bp_problem *problem) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const int kept = p->kept_ndim - 1, last = p->ndim - 1;
    const int64_t columns = p->kept_ndim > 0 && p->size[kept] > 0 ? p->size[kept] : 1,
                  rows = p->ndim > p->kept_ndim ? p->size[last] : 1;
    cut->results = product(p, 0, p->kept_ndim);
    cut->reduced = product(p, p->kept_ndim, p->ndim);
    cut->columns = p->kept_ndim > 0 && columns > 1 &&
                   (rows == 1 || cut->reduced < SHORT_ROW || magnitude(p->x[kept]) < magnitude(p->x[last]));
    const bool positions = bp__reduce_is_position(problem), variance = problem->op == BP_OP_VARIANCE;
    cut->chunk = 1;
    choose_rows(cut, problem, rows, columns);
    if (cut->rows) {
        cut->columns = true;
        cut->chunk = cut->reduced < UNIT ? bp__least(UNIT / (cut->reduced + 1) + 1, BP__REDUCE_CHUNK) : 1;
        cut->chunk = cut->staged && cut->chunk < TOGETHER ? TOGETHER : cut->chunk;
        cut->chunk = variance ? bp__least(cut->chunk, BP__REDUCE_WIDE_MOMENTS) : cut->chunk;
    } else if (cut->columns) {
        const bool wide = cut->reduced < CACHED / 8 / BP__REDUCE_CHUNK;
        cut->chunk = positions                     ? BP__REDUCE_WIDE_POSITIONS
                     : problem->op == BP_OP_REDUCE ? BP__REDUCE_WIDE
                     : variance                    ? BP__REDUCE_WIDE_MOMENTS
                     : wide                        ? BP__REDUCE_CHUNK
                                                   : BP__REDUCE_LANES;
    }
    cut->fold = !cut->rows && cut->columns && bp__reduce_joins(problem) && !positions && columns <= FOLDED &&
                        p->x[kept] == 1 && rows >= 2 * FOLD && p->x[last] == columns
                    ? FOLD
                    : 1;
    cut->chunks = (columns + cut->chunk - 1) / cut->chunk;
    cut->items = p->kept_ndim > 0 ? cut->results / columns * cut->chunks : 1;
    /* Few rows of columns at once, so that whole stretches of each are read; positions and variances are joined one by
     * one at the end of a block. */
    cut->block = !cut->columns || cut->rows ? BP__REDUCE_COUNT * BP__REDUCE_LANES
                 : positions || variance    ? BP__REDUCE_COUNT
                                            : FEW_ROWS;
    cut->block *= cut->fold;
    cut->row_blocks = (rows + cut->block - 1) / cut->block;
    cut->blocks = rows > 0 ? cut->reduced / rows * cut->row_blocks : 0;
    const bool whole = cut->items == 0 || (cut->rows && !bp__reduce_joins(problem)) ||
                       cut->reduced < LONG / bp__least(cut->chunk, columns);
    const int64_t most = bp__least(cut->reduced / (LONG / bp__least(cut->chunk, columns) + 1) + 1, cut->blocks);
    const int64_t wanted = whole ? 1 : bp__least((PARTS + cut->items - 1) / cut->items, most);
    cut->part = wanted > 1 ? (cut->blocks + wanted - 1) / wanted : cut->blocks;
    cut->parts = cut->part > 0 ? (cut->blocks + cut->part - 1) / cut->part : 1;
    const int64_t elements = cut->chunk * bp__least(cut->reduced / cut->parts, UNIT) + 1;
    cut->grain = elements < UNIT ? UNIT / elements : 1;
    cut->element = bp_dtype_size((bp_dtype)problem->dtype);
    cut->output = bp_dtype_size((bp_dtype)p->output);
}

bp__reduce_item bp__reduce_item_at(const bp_reduce_problem *p, const bp__reduce_cut *cut, int64_t index) {
    bp__reduce_item item = {.lanes = 1};
    const int kept = p->kept_ndim - 1;
    if (kept < 0) {
        return item;
    }
    const int64_t from = index % cut->chunks * cut->chunk;
    item.lanes = bp__least(cut->chunk, p->size[kept] - from);
    item.result = index / cut->chunks * p->size[kept] + from;
    int64_t rest = item.result;
    for (int d = kept; d >= 0; d--) {
        item.offset[0] += rest % p->size[d] * p->x[d];
        item.offset[1] += rest % p->size[d] * p->y[d];
        item.offset[2] += rest % p->size[d] * p->z[d];
        rest /= p->size[d];
    }
    return item;
}

/* Calls `add` for the positions of a block: of all columns, or of a row, as lanes and the rest. */
static void visit_block(const bp_reduce_problem *p, const bp__reduce_cut *cut, const bp__reduce_item *item,
                        bp__reduce_piece *piece, int64_t positions, bp__reduce_visit add, void *context) {
    const int kept = p->kept_ndim - 1, last = p->ndim - 1;
    const bool row = p->ndim > p->kept_ndim;
    const int64_t kept_strides[] = {kept < 0 ? 0 : p->x[kept], kept < 0 ? 0 : p->y[kept], kept < 0 ? 0 : p->z[kept]};
    const int64_t strides[] = {row ? p->x[last] : 0, row ? p->y[last] : 0, row ? p->z[last] : 0};
    if (cut->columns) {
        const int64_t folded = cut->fold > 1 ? positions / cut->fold : 0, rest = positions - folded * cut->fold;
        piece->index_lane = 0;
        piece->index_next = 1;
        for (int i = 0; i < 3; i++) {
            piece->lane[i] = kept_strides[i];
            piece->next[i] = strides[i] * cut->fold;
        }
        if (folded > 0) {
            piece->lanes = item->lanes * cut->fold;
            piece->count = folded;
            add(context, piece);
            piece->at[0] += folded * piece->next[0] * (int64_t)cut->element; /* reductions read one operand */
        }
        if (rest > 0) {
            piece->lanes = item->lanes;
            piece->count = rest;
            for (int i = 0; i < 3; i++) {
                piece->next[i] = strides[i];
            }
            add(context, piece);
        }
        return;
    }
    const int64_t whole = positions / BP__REDUCE_LANES;
    piece->index_lane = 1;
    piece->index_next = BP__REDUCE_LANES;
    for (int i = 0; i < 3; i++) {
        piece->lane[i] = strides[i];
        piece->next[i] = strides[i] * BP__REDUCE_LANES;
    }
    if (whole > 0) {
        piece->lanes = BP__REDUCE_LANES;
        piece->count = whole;
        add(context, piece);
    }
    if (positions > whole * BP__REDUCE_LANES) {
        piece->lanes = positions - whole * BP__REDUCE_LANES;
        piece->count = 1;
        piece->index += whole * BP__REDUCE_LANES;
        for (int i = 0; i < 3; i++) {
            piece->at[i] =
                (char *)((uintptr_t)piece->at[i] + (uintptr_t)(whole * piece->next[i] * (int64_t)cut->element));
        }
        add(context, piece);
    }
}

void bp__reduce_walk(const bp_reduce_problem *p, const bp__reduce_cut *cut, const bp__reduce_item *item, int64_t part,
                     char *const base[3], bp__stop *stop, bp__reduce_visit add, void *context) {
    const int last = p->ndim - 1;
    const bool row = p->ndim > p->kept_ndim;
    const int64_t positions = row ? p->size[last] : 1;
    const int64_t first = part * cut->part, end = bp__least(first + cut->part, cut->blocks);
    const int64_t chunk = bp__stop_chunk((double)(cut->block * item->lanes), cut->part);
    for (int64_t block = first; block < end; block++) {
        if (block > first && (block - first) % chunk == 0 && bp__stops(stop)) {
            return;
        }
        bp__reduce_piece piece;
        const int64_t from = block % cut->row_blocks * cut->block, outer = block / cut->row_blocks;
        int64_t offset[3] = {item->offset[0], item->offset[1], item->offset[2]}, rest = outer;
        if (row) {
            offset[0] += from * p->x[last];
            offset[1] += from * p->y[last];
            offset[2] += from * p->z[last];
        }
        for (int d = last - 1; d >= p->kept_ndim; d--) {
            offset[0] += rest % p->size[d] * p->x[d];
            offset[1] += rest % p->size[d] * p->y[d];
            offset[2] += rest % p->size[d] * p->z[d];
            rest /= p->size[d];
        }
        for (int i = 0; i < 3; i++) {
            piece.at[i] = (char *)((uintptr_t)base[i] + (uintptr_t)(offset[i] * (int64_t)cut->element));
        }
        piece.index = outer * positions + from;
        visit_block(p, cut, item, &piece, bp__least(cut->block, positions - from), add, context);
    }
}
