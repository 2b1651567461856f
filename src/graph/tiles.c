/* tiles.c - orders the elements of tensors of one shape in tiles that the first cache holds. */
#include "graph/region.h"

#include <stdlib.h>

enum { SQUARE = 32 /* columns of a tile in which an operand has no contiguous columns */ };

/* ---- Dimensions ---- */

static void move_dimension(bp__tiles *t, int from, int to) {
    const int step = from < to ? 1 : -1;
    for (int d = from; d != to; d += step) {
        const int64_t size = t->size[d];
        t->size[d] = t->size[d + step];
        t->size[d + step] = size;
        for (int i = 0; i < t->operands; i++) {
            int64_t *stride = t->operand[i].stride;
            const int64_t kept = stride[d];
            stride[d] = stride[d + step];
            stride[d + step] = kept;
        }
    }
}

/* Returns whether dimension `inner` continues dimension `outer` in all operands. */
static bool continues(const bp__tiles *t, int outer, int inner) {
    bool all = true;
    for (int i = 0; i < t->operands && all; i++) {
        all = t->operand[i].stride[outer] == t->operand[i].stride[inner] * t->size[inner];
    }
    return all;
}

static void remove_dimension(bp__tiles *t, int d) {
    move_dimension(t, d, t->ndim - 1);
    t->ndim--;
}

/* Adds a dimension of 1 in front. */
static void add_dimension(bp__tiles *t) {
    t->size[t->ndim] = 1;
    for (int i = 0; i < t->operands; i++) {
        t->operand[i].stride[t->ndim] = 0;
    }
    move_dimension(t, t->ndim++, 0);
}

/* Orders by insertion; equal strides keep their order. */
static void sort(bp__tiles *t) {
    const int64_t *key = t->operand[t->operands - 1].stride;
    for (int d = 1; d < t->ndim; d++) {
        int to = d;
        while (to > 0 && llabs(key[to - 1]) < llabs(key[d])) {
            to--;
        }
        move_dimension(t, d, to);
    }
}

/* Makes the dimension in which an operand without contiguous columns has the smallest stride the dimension of the rows.
 */
static void choose_rows(bp__tiles *t) {
    const int last = t->ndim - 1;
    int strided = -1, least = last - 1;
    for (int i = 0; i < t->operands; i++) {
        const int64_t stride = llabs(t->operand[i].stride[last]);
        strided = stride > 1 && (strided < 0 || stride > llabs(t->operand[strided].stride[last])) ? i : strided;
    }
    for (int d = last - 2; d >= 0 && strided >= 0; d--) {
        const int64_t stride = llabs(t->operand[strided].stride[d]);
        least = stride > 0 && stride < llabs(t->operand[strided].stride[least]) ? d : least;
    }
    move_dimension(t, least, last - 1);
}

void bp__tiles_order(bp__tiles *t, int ndim, const int64_t *shape) {
    t->ndim = 0;
    for (int d = 0; d < ndim; d++) {
        t->size[d] = shape[d];
    }
    t->ndim = ndim;
    for (int d = ndim - 1; d >= 0; d--) {
        if (t->size[d] == 1) {
            remove_dimension(t, d);
        }
    }
    sort(t);
    for (int d = t->ndim - 2; d >= 0; d--) {
        if (continues(t, d, d + 1)) {
            t->size[d + 1] *= t->size[d];
            remove_dimension(t, d);
        }
    }
    while (t->ndim < 2) {
        add_dimension(t);
    }
    choose_rows(t);
}

/* ---- Tiles ---- */

static bool has_strided_operand(const bp__tiles *t) {
    bool any = false;
    for (int i = 0; i < t->operands; i++) {
        const int64_t *stride = t->operand[i].stride + t->ndim - 2;
        any |= llabs(stride[1]) > 1 && llabs(stride[0]) > 0 && llabs(stride[0]) < llabs(stride[1]);
    }
    return any;
}

/* Whether the operand has the same elements in all tiles, one after another as in a whole one. */
static bool is_constant(const bp__tiles *t, const bp__tile_operand *o) {
    const int last = t->ndim - 1;
    bool outside = true;
    for (int d = 0; d < last - 1; d++) {
        outside &= o->stride[d] == 0;
    }
    const bool rows_equal = t->row_tiles == 1 || o->stride[last - 1] == 0;
    return outside && rows_equal && (t->column_tiles == 1 || (o->stride[last] == 0 && o->stride[last - 1] == 0));
}

void bp__tiles_cut(bp__tiles *t, int64_t elements) {
    const int last = t->ndim - 1;
    const int64_t most = elements > 1 ? elements : 1, rows = t->size[last - 1], columns = t->size[last];
    const int64_t wide = has_strided_operand(t) && most > SQUARE ? SQUARE : most;
    t->columns = columns < wide ? columns : wide;
    t->rows = rows < most / t->columns ? rows : most / t->columns;
    t->column_tiles = (columns + t->columns - 1) / t->columns;
    t->row_tiles = (rows + t->rows - 1) / t->rows;
    t->count = t->row_tiles * t->column_tiles;
    t->single_row = rows == 1;
    for (int d = 0; d < last - 1; d++) {
        t->count *= t->size[d];
        t->single_row &= t->size[d] == 1;
    }
    for (int i = 0; i < t->operands; i++) {
        bp__tile_operand *o = &t->operand[i];
        const bool in_rows = columns == 1 || o->stride[last] == 1;
        o->direct = in_rows && (t->rows == 1 || (o->stride[last - 1] == columns && t->column_tiles == 1));
        o->constant = is_constant(t, o);
        o->advance = t->columns * o->stride[last] * o->item;
    }
}

void bp__tile_find(const bp__tiles *t, int64_t index, bp__tile *tile) {
    const int last = t->ndim - 1;
    int64_t start[BP_MAX_NDIM];
    if (index == 0) { /* the only tile of a small tensor */
        *tile = (bp__tile){.rows = t->rows, .columns = t->columns, .following = t->column_tiles - 1};
        return;
    }
    const int64_t column = index % t->column_tiles;
    start[last] = column * t->columns;
    tile->following = t->column_tiles - 1 - column;
    index /= t->column_tiles;
    start[last - 1] = index % t->row_tiles * t->rows;
    index /= t->row_tiles;
    for (int d = last - 2; d >= 0; d--) {
        start[d] = index % t->size[d];
        index /= t->size[d];
    }
    const int64_t rows = t->size[last - 1] - start[last - 1], columns = t->size[last] - start[last];
    tile->rows = rows < t->rows ? rows : t->rows;
    tile->columns = columns < t->columns ? columns : t->columns;
    for (int i = 0; i < t->operands; i++) {
        int64_t offset = 0;
        for (int d = 0; d <= last; d++) {
            offset += start[d] * t->operand[i].stride[d];
        }
        tile->offset[i] = offset * t->operand[i].item;
    }
}

void bp__tile_find_in_row(const bp__tiles *t, int64_t lead, int64_t index, bp__tile *tile) {
    const int last = t->ndim - 1;
    const int64_t start = index > 0 ? lead + (index - 1) * t->columns : 0, left = t->size[last] - start;
    const int64_t most = index > 0 ? t->columns : lead;
    tile->rows = 1;
    tile->columns = left < most ? left : most;
    for (int i = 0; i < t->operands; i++) {
        tile->offset[i] = start * t->operand[i].stride[last] * t->operand[i].item;
    }
}

static void add_steps(const bp__tiles *t, bp__tile *tile) {
    for (int i = 0; i < t->operands; i++) {
        tile->offset[i] += t->operand[i].advance;
    }
}

void bp__tile_advance_in_row(const bp__tiles *t, int64_t lead, int64_t index, bp__tile *tile) {
    if (index == 1) { /* the first tile is smaller */
        bp__tile_find_in_row(t, lead, index, tile);
        return;
    }
    const int64_t left = t->size[t->ndim - 1] - lead - (index - 1) * t->columns;
    tile->columns = left < t->columns ? left : t->columns;
    add_steps(t, tile);
}

/* The divisions of bp__tile_find() take longer than to add small numbers. */
void bp__tile_advance(const bp__tiles *t, int64_t index, bp__tile *tile) {
    if (tile->following <= 1) {
        bp__tile_find(t, index, tile);
        return;
    }
    tile->following--;
    add_steps(t, tile);
}
