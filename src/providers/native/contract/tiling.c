/* tiling.c - chooses the tiling of a contraction: tile axes, vectorised dimension, operands to pack. All choices follow
 * from the problem alone, not from the number of threads.
 */
#include "contract.h"

#include <string.h>

/* Limits of axes, in elements unless stated. Packed operands have smaller tiles, which stay in the first-level cache.
 */
enum {
    MAX_COPY_ROW = 32768,  /* row of a copy that is contiguous on both sides */
    TRANSPOSE_SIDE = 64,   /* each side of a tile that is transposed */
    ROW_BYTES = 8192,      /* bytes of a row of sums */
    ROW_TERMS = 512,       /* terms that are added in rows before a flush */
    DOT_TERMS = 4096,      /* terms that are added in dot products before a flush; each chain is shorter than in rows */
    DOT_ROW = 256,         /* dot products in a row */
    PACKED_TERMS = 32,     /* terms of an operand that is packed for rows */
    PACKED_DOT = 256,      /* terms of an operand that is packed for dot products */
    PACKED_ROW = 16,       /* dot products in a row with packed operands */
    MIN_ROW = 4,           /* shorter rows of products are extended, although operands must then be packed */
    MIN_ROW_PRODUCTS = 32, /* fewer products in a row of sums: the row is extended */
    MAX_FOLDED_ROW = 1024, /* elements of a folded row */
    FOLD_BELOW = 32,       /* elements; longer rows are not folded */
    MIN_FOLD_USES = 16,    /* additions per element of the row for folding to pay */
    TRANSPOSE_BYTES = 1024, /* bytes of each side of a copy's transposed tile; smaller tiles change pages more often */
    SPLIT_PRODUCTS = 65536, /* products in a split of a long sum, at least */
    FEW_TILES = 64,         /* tiles that are enough for all threads; more are not split */
    PARTIAL_BYTES = 2 << 20 /* bytes of the sums of all splits, at most */
};

static int64_t blocks_of(int64_t size, int64_t part) {
    return (size + part - 1) / part;
}

/* ---- Dimensions ---- */

/* Adds dimension d of the problem. Strides are made positive in C, or in the first operand that has the dimension if it
 * is summed. Contiguous memory that is read backwards then counts as contiguous. */
static void add_dim(bp__contract_tiling *t, const bp_contract_problem *p, int d) {
    bp__contract_dim *dim = &t->dim[t->ndim++];
    *dim = (bp__contract_dim){.size = p->size[d], .step = {p->a[d] * t->unit, p->b[d] * t->unit, p->c[d] * t->unit}};
    const int leader = d < p->output_ndim ? BP__C : p->a[d] ? BP__A : BP__B;
    if (dim->step[leader] < 0) {
        for (int side = 0; side < BP__OPERANDS; side++) {
            t->first[side] += (dim->size - 1) * dim->step[side];
            dim->step[side] = -dim->step[side];
        }
    }
}

/* Adds the dimensions of size 2 or more and counts elements and products. Returns whether there is anything to write.
 */
static bool read_dims(const bp_contract_problem *p, bp__contract_tiling *t) {
    bool zero = false;
    t->elements = t->products = 1;
    for (int d = 0; d < p->ndim; d++) {
        t->elements *= d < p->output_ndim ? (double)p->size[d] : 1;
        t->products *= (double)p->size[d];
        zero = zero || (d >= p->output_ndim && p->size[d] == 0);
    }
    for (int d = 0; d < p->ndim && t->elements > 0; d++) {
        if (p->size[d] != 1 && (d < p->output_ndim || !zero)) {
            add_dim(t, p, d);
            t->output_ndim += d < p->output_ndim;
        }
    }
    t->terms.count = zero ? 0 : 1;
    return t->elements > 0;
}

static bp__contract_kind kind_of(int64_t step, int64_t dense) {
    return step == 0 ? BP__BROADCAST : step == dense ? BP__DENSE : BP__SCATTERED;
}

static bool is_dense(const bp__contract_tiling *t, int d, int side) {
    return d >= 0 && t->dim[d].step[side] == t->unit;
}

/* Returns whether no input has dimension d. */
static bool is_broadcast(const bp__contract_tiling *t, int d) {
    return t->dim[d].step[BP__A] == 0 && t->dim[d].step[BP__B] == 0;
}

/* Returns the dimension in [from, until) that is contiguous in an operand and in no axis yet, or -1. */
static int dense_dim(const bp__contract_tiling *t, int from, int until, int side) {
    for (int d = until - 1; d >= from; d--) {
        if (t->used[d] == 0 && is_dense(t, d, side)) {
            return d;
        }
    }
    return -1;
}

/* ---- Axes ---- */

static bp__contract_kind kind_with(const bp__contract_tiling *t, const bp__contract_axis *axis, int d, int side) {
    const int64_t step = t->dim[d].step[side];
    if (axis->count == 1) {
        return kind_of(step, t->unit);
    }
    const bool stays = step == (axis->kind[side] == BP__BROADCAST ? 0 : axis->count * t->unit);
    return stays ? axis->kind[side] : BP__SCATTERED;
}

/* Returns a block size for a dimension: all blocks have about the same length, and whole vectors if `limit` allows it.
 */
static int64_t even_block(int64_t size, int64_t limit) {
    const int64_t part = blocks_of(size, blocks_of(size, limit));
    const int64_t whole = blocks_of(part, BP__CONTRACT_PAD) * BP__CONTRACT_PAD;
    return whole <= limit ? whole : part;
}

/* Adds dimension d, or a block of it, to the axis as its slowest dimension. The axis keeps at most `most` elements.
 * Returns whether anything was added. */
static bool add(bp__contract_tiling *t, bp__contract_axis *axis, int d, int64_t most) {
    const int64_t limit = most / axis->count;
    if (d < 0 || t->used[d] || axis->partial || limit < 2) {
        return false;
    }
    const int64_t size = t->dim[d].size;
    for (int side = 0; side < BP__OPERANDS; side++) {
        axis->kind[side] = kind_with(t, axis, d, side);
    }
    axis->take = size <= limit ? size : even_block(size, limit);
    axis->partial = axis->take < size;
    axis->dim[axis->ndim++] = (int8_t)d;
    axis->count *= axis->take;
    t->used[d] = axis->take;
    return true;
}

/* Adds dimensions that leave every operand's layout along the axis as it is. */
static void extend_freely(bp__contract_tiling *t, bp__contract_axis *axis, int from, int until, int64_t most) {
    for (int d = until - 1; d >= from; d--) {
        bool free = t->used[d] == 0;
        for (int side = 0; side < BP__OPERANDS; side++) {
            free = free && kind_with(t, axis, d, side) == axis->kind[side];
        }
        if (free) {
            add(t, axis, d, most);
        }
    }
}

/* Adds dimensions, fastest first, until the axis has `enough` elements. */
static void extend(bp__contract_tiling *t, bp__contract_axis *axis, int from, int until, int64_t enough, int64_t most) {
    for (int d = until - 1; d >= from && axis->count < enough; d--) {
        add(t, axis, d, most);
    }
}

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Adds dimensions of the operand in the order of its strides, until the axis has `enough` elements. */
static void extend_along(bp__contract_tiling *t, bp__contract_axis *axis, int side, int64_t enough, int64_t most) {
    while (axis->count < enough && !axis->partial) {
        int nearest = -1;
        for (int d = t->output_ndim - 1; d >= 0; d--) {
            const int64_t step = magnitude(t->dim[d].step[side]);
            if (!t->used[d] && step && (nearest < 0 || step < magnitude(t->dim[nearest].step[side]))) {
                nearest = d;
            }
        }
        if (!add(t, axis, nearest, most)) {
            return;
        }
    }
}

/* Adds dimensions that continue the axis contiguously in the operand. */
static void extend_densely(bp__contract_tiling *t, bp__contract_axis *axis, int side, int64_t enough, int64_t most) {
    for (int d = t->output_ndim - 1; d >= 0 && axis->count < enough; d--) {
        if (!t->used[d] && axis->count > 1 && kind_with(t, axis, d, side) == BP__DENSE && add(t, axis, d, most)) {
            d = t->output_ndim; /* dimensions that were skipped may continue it now */
        }
    }
}

/* ---- Packing ---- */

/* Returns how rows along `down` and columns along `across` are copied. -1 as `to` or `from` means scratch. */
static bp__contract_pack_kind pack_kind_for(const bp__contract_axis *across, const bp__contract_axis *down, int to,
                                            int from) {
    const bp__contract_kind across_to = to < 0 ? BP__DENSE : across->kind[to];
    const bp__contract_kind across_from = from < 0 ? BP__DENSE : across->kind[from];
    const bool square = across->count >= 4 && down->count >= 4;
    if (across_to == BP__DENSE) {
        return across_from == BP__DENSE                               ? BP__PACK_ROWS
               : across_from == BP__BROADCAST                         ? BP__PACK_FILL
               : square && from >= 0 && down->kind[from] == BP__DENSE ? BP__PACK_TRANSPOSE
                                                                      : BP__PACK_GATHER;
    }
    return square && across_from == BP__DENSE && to >= 0 && down->kind[to] == BP__DENSE ? BP__PACK_UNTRANSPOSE
                                                                                        : BP__PACK_SCATTER;
}

/* ---- Copies ---- */

/* Joins neighbouring elements that are contiguous on both sides to one longer element, at most 16 bytes. */
static void widen(bp__contract_tiling *t) {
    enum { LONG = 128, WIDEST = 16 };
    const int d = t->output_ndim - 1;
    while (d >= 0 && t->unit < WIDEST && is_dense(t, d, BP__A) && is_dense(t, d, BP__C) && t->dim[d].size % 2 == 0 &&
           t->dim[d].size * t->unit < LONG) {
        t->unit *= 2;
        t->dim[d].size /= 2;
        t->dim[d].step[BP__A] *= 2;
        t->dim[d].step[BP__C] *= 2;
        if (t->dim[d].size == 1) {
            t->output_ndim = --t->ndim;
            return;
        }
    }
}

/* Tiling of a copy. If both sides are contiguous in the same dimension, tiles are long rows. Otherwise x follows C and
 * z follows A, so that tiles can be transposed in registers. */
static void tile_copy(bp__contract_tiling *t) {
    enum { SHORT = 32, ROWS = 64, SQUARE = 8, ENOUGH = 64, MOST = 128 };
    widen(t);
    const int last = t->output_ndim - 1;
    const bool dense = is_dense(t, last, BP__A) && is_dense(t, last, BP__C);
    const bool lines = dense && (t->dim[last].size * t->unit >= SHORT || t->output_ndim == 1);
    const bool fills = is_dense(t, last, BP__C) && t->dim[last].step[BP__A] == 0;
    const int64_t side = TRANSPOSE_BYTES / t->unit, most = lines || fills ? MAX_COPY_ROW : side;
    add(t, &t->x, last, most);
    if (!lines) {
        add(t, &t->z, dense_dim(t, 0, t->output_ndim, BP__A), side);
    }
    extend_freely(t, &t->x, 0, t->output_ndim, most);
    if (!lines) {
        extend_densely(t, &t->x, BP__C, ENOUGH, MOST);
        extend_densely(t, &t->z, BP__A, ENOUGH, MOST);
        if (t->x.count < SQUARE || t->z.count < SQUARE) {
            extend(t, &t->x, 0, t->output_ndim, ENOUGH, MOST);
            extend_along(t, &t->z, BP__A, ENOUGH, MOST);
        }
    }
    extend(t, &t->z, 0, t->output_ndim, ROWS, bp__least(ROWS, MAX_COPY_ROW / t->x.count));
    t->pack_kind[BP__C] = pack_kind_for(&t->x, &t->z, BP__C, BP__A);
}

/* ---- Products ---- */

/* Decides which operand is loaded as vectors, which is broadcast, and which must be packed for that. */
static void assign(bp__contract_tiling *t) {
    t->packed[BP__A] = t->x.kind[BP__A] == BP__SCATTERED;
    t->packed[BP__B] = t->has_b && t->x.kind[BP__B] == BP__SCATTERED;
    const bool a = t->x.kind[BP__A] == BP__BROADCAST, b = t->has_b && t->x.kind[BP__B] == BP__BROADCAST;
    t->packed[BP__A] = t->packed[BP__A] || (a && (b || !t->has_b));
    t->vector_operand = a && !t->packed[BP__A] ? BP__B : BP__A;
    t->broadcast = t->has_b && (t->vector_operand == BP__B || b);
    t->packed[BP__C] = t->x.kind[BP__C] != BP__DENSE;
}

static bool packs_any(const bp__contract_tiling *t) {
    return t->packed[BP__A] || t->packed[BP__B] || t->packed[BP__C];
}

/* Returns the dimension with the lowest price for vectors: one in which an operand is contiguous, or the fastest of C.
 */
static int cheapest_dimension(const bp__contract_tiling *t) {
    int best = t->output_ndim - 1;
    double price = -1;
    for (int d = t->output_ndim - 1; d >= 0; d--) {
        if (d == t->output_ndim - 1 || is_dense(t, d, BP__A) || is_dense(t, d, BP__B) || is_dense(t, d, BP__C)) {
            const double other = bp__contract_price(t, BP__CONTRACT_PRODUCT, d, -1, (double)t->dim[d].size);
            best = price < 0 || other < price ? d : best;
            price = price < 0 || other < price ? other : price;
        }
    }
    return best;
}

/* Returns a second dimension for tiles whose packing transposes an operand, or -1. */
static int transpose_dim(const bp__contract_tiling *t) {
    for (int side = 0; side < BP__OPERANDS; side++) {
        const int d = t->packed[side] ? dense_dim(t, 0, t->output_ndim, side) : -1;
        if (d >= 0) {
            return d;
        }
    }
    return -1;
}

/* Tiling of an elementwise product: x follows the cheapest dimension. If an operand must be packed, z follows a
 * dimension in which it is contiguous. */
static void tile_product(bp__contract_tiling *t) {
    enum { ROWS = 64 };
    const int first = cheapest_dimension(t);
    bp__contract_axis probe = {.count = 1};
    for (int side = 0; side < BP__OPERANDS && first >= 0; side++) {
        probe.kind[side] = kind_with(t, &probe, first, side);
        t->packed[side] = probe.kind[side] == BP__SCATTERED;
    }
    const int64_t most = packs_any(t) || (first >= 0 && is_broadcast(t, first)) ? TRANSPOSE_SIDE : ROW_BYTES / t->unit;
    add(t, &t->x, first, most);
    extend_freely(t, &t->x, 0, t->output_ndim, most);
    extend(t, &t->x, 0, t->output_ndim, MIN_ROW, TRANSPOSE_SIDE);
    assign(t);
    if (packs_any(t)) {
        extend(t, &t->x, 0, t->output_ndim, TRANSPOSE_SIDE / 2, TRANSPOSE_SIDE);
        assign(t);
        add(t, &t->z, transpose_dim(t), TRANSPOSE_SIDE);
    }
    extend(t, &t->z, 0, t->output_ndim, ROWS, bp__least(ROWS, MAX_COPY_ROW / t->x.count));
    t->pack_kind[BP__A] = pack_kind_for(&t->x, &t->z, -1, BP__A);
    t->pack_kind[BP__B] = pack_kind_for(&t->x, &t->z, -1, BP__B);
    t->pack_kind[BP__C] = pack_kind_for(&t->x, &t->z, BP__C, -1);
}

/* ---- Sums ---- */

/* Returns a summed dimension that continues a short row of output elements in both inputs, so that vectors can span
 * both; or -1. */
static int folding_dim(const bp__contract_tiling *t, const bp__contract_axis *row) {
    for (int d = t->ndim - 1; d >= t->output_ndim && !row->partial && row->count < FOLD_BELOW; d--) {
        const bool a = kind_with(t, row, d, BP__A) == row->kind[BP__A];
        const bool b = kind_with(t, row, d, BP__B) == row->kind[BP__B];
        if (!t->used[d] && row->count > 1 && a && b && t->dim[d].size >= 2 * MIN_FOLD_USES) {
            return d;
        }
    }
    return -1;
}

/* Returns the length of a row of `base` elements that is folded over dimension d. It is limited, so that each element
 * of the row is added to many times. */
static int64_t folded_length(const bp__contract_tiling *t, int64_t base, int d) {
    const double times = t->products / t->elements / MIN_FOLD_USES;
    const int64_t folds = times < MAX_FOLDED_ROW / (double)base ? (int64_t)times : MAX_FOLDED_ROW / base;
    return base * bp__least(t->dim[d].size, folds < 1 ? 1 : folds);
}

/* Returns the length of rows along x. */
static double row_length(const bp__contract_tiling *t, int x) {
    bp__contract_axis row = {.count = 1};
    if (x < 0) {
        return 1;
    }
    if (x >= t->output_ndim) {
        return (double)folded_length(t, 1, x);
    }
    for (int side = 0; side < BP__OPERANDS; side++) {
        row.kind[side] = kind_with(t, &row, x, side);
    }
    row.count = t->dim[x].size;
    const int fold = folding_dim(t, &row);
    return (double)(fold < 0 ? row.count : folded_length(t, row.count, fold));
}

typedef struct way {
    bp__contract_mode mode;
    int x, y;
    double price;
} way;

static void consider(const bp__contract_tiling *t, bp__contract_mode mode, int x, int y, way *best) {
    const double price = bp__contract_price(t, mode, x, y, mode == BP__CONTRACT_ROWS ? row_length(t, x) : 1);
    if (best->price < 0 || price < best->price) {
        *best = (way){mode, x, y, price};
    }
}

/* Returns the cheapest mode with its first dimensions for columns and terms. It compares the fastest dimensions and
 * those in which an operand is contiguous. */
static way find_way(const bp__contract_tiling *t) {
    way best = {.price = -1};
    for (int y = t->ndim - 1; y >= t->output_ndim - 1; y--) {
        const int terms = y < t->output_ndim ? -1 : y;
        if (terms >= 0 && y < t->ndim - 1 && !is_dense(t, y, BP__A) && !is_dense(t, y, BP__B)) {
            continue;
        }
        for (int x = t->ndim - 1; x >= 0; x--) {
            const bool dense = is_dense(t, x, BP__A) || is_dense(t, x, BP__B) || is_dense(t, x, BP__C);
            if (x != y && (dense || x == t->output_ndim - 1 || (x == t->ndim - 1 && terms < 0))) {
                consider(t, BP__CONTRACT_ROWS, x, terms, &best);
            }
        }
        if (terms >= 0) {
            consider(t, BP__CONTRACT_DOTS, t->output_ndim - 1, y, &best);
        }
    }
    return best;
}

/* Returns the largest dimension of C that a packed operand does not have, so that one packed block serves many rows; or
 * -1. */
static int repeating_dim(const bp__contract_tiling *t) {
    int best = -1;
    for (int d = 0; d < t->output_ndim; d++) {
        const bool missing =
            (t->packed[BP__A] && t->dim[d].step[BP__A] == 0) || (t->packed[BP__B] && t->dim[d].step[BP__B] == 0);
        best = missing && !t->used[d] && (best < 0 || t->dim[d].size > t->dim[best].size) ? d : best;
    }
    return best;
}

/* Chooses axis x: dimensions of C, and, if rows are short, a summed dimension that continues them. */
static void choose_columns(bp__contract_tiling *t, int x) {
    enum { TILE_ROW = 256 };
    int64_t most = ROW_BYTES / (t->unit < 4 ? 4 : t->unit), terms = 1;
    for (int d = t->output_ndim; d < t->ndim; d++) {
        terms = bp__least(ROW_TERMS, terms * t->dim[d].size);
    }
    for (int side = 0; side < BP__OPERANDS && x >= 0; side++) {
        if (kind_of(t->dim[x].step[side], t->unit) == BP__SCATTERED) {
            most = bp__least(most, side == BP__C ? TILE_ROW : TRANSPOSE_SIDE);
        }
    }
    most = x >= 0 && is_broadcast(t, x) ? TRANSPOSE_SIDE : most;
    int fold = x;
    if (x < t->output_ndim) {
        add(t, &t->x, x, most);
        extend_freely(t, &t->x, 0, t->output_ndim, most);
        extend(t, &t->x, 0, t->output_ndim, MIN_ROW_PRODUCTS / terms, TRANSPOSE_SIDE);
        fold = folding_dim(t, &t->x);
    }
    t->base = t->x.count;
    const bool scattered = t->x.kind[BP__C] != BP__DENSE;
    if (fold >= 0) {
        t->folds = add(t, &t->x, fold, bp__least(most, folded_length(t, t->base, fold)));
    }
    assign(t);
    t->packed[BP__C] = scattered;
}

/* Tiling of sums with vectors along x. `x` and `y` are the first dimensions of the axes, or -1. */
static void tile_rows(bp__contract_tiling *t, int x, int y) {
    enum { TILE_ROWS = 16, REPEATED = 256 };
    choose_columns(t, x);
    const int64_t terms = t->packed[BP__A] || t->packed[BP__B] ? PACKED_TERMS : ROW_TERMS;
    t->longest = ROW_TERMS;
    add(t, &t->y, y, terms);
    extend(t, &t->y, t->output_ndim, t->ndim, terms, terms);
    if (t->packed[BP__C]) {
        add(t, &t->z, dense_dim(t, 0, t->output_ndim, BP__C), TILE_ROWS);
    }
    if (t->z.count == 1 && t->x.count <= REPEATED) {
        add(t, &t->z, repeating_dim(t), TILE_ROWS);
    }
    t->pack_kind[BP__A] = pack_kind_for(&t->x, &t->y, -1, BP__A);
    t->pack_kind[BP__B] = pack_kind_for(&t->x, &t->y, -1, BP__B);
    t->pack_kind[BP__C] = pack_kind_for(&t->x, &t->z, BP__C, -1);
}

/* Tiling of sums with vectors along y: each element of C is a dot product. */
static void tile_dots(bp__contract_tiling *t, int x, int y) {
    bool packs = false;
    for (int side = 0; side < (t->has_b ? 2 : 1); side++) {
        packs = packs || !is_dense(t, y, side);
    }
    const int64_t terms = packs ? PACKED_DOT : DOT_TERMS;
    t->longest = DOT_TERMS;
    add(t, &t->y, y, terms);
    if (packs) {
        extend(t, &t->y, t->output_ndim, t->ndim, terms, terms);
    } else {
        extend_freely(t, &t->y, t->output_ndim, t->ndim, terms);
    }
    add(t, &t->x, x, packs ? PACKED_ROW : DOT_ROW);
    extend(t, &t->x, 0, t->output_ndim, PACKED_ROW, packs ? PACKED_ROW : DOT_ROW);
    t->packed[BP__A] = t->y.kind[BP__A] != BP__DENSE;
    t->packed[BP__B] = t->has_b && t->y.kind[BP__B] != BP__DENSE;
    t->packed[BP__C] = t->x.kind[BP__C] != BP__DENSE;
    t->pack_kind[BP__A] = pack_kind_for(&t->y, &t->x, -1, BP__A);
    t->pack_kind[BP__B] = pack_kind_for(&t->y, &t->x, -1, BP__B);
    t->pack_kind[BP__C] = pack_kind_for(&t->x, &t->z, BP__C, -1);
}

/* Splits a long sum for few results, so that all threads have work. */
static void cut(bp__contract_tiling *t) {
    const int64_t tile = t->x.count * t->z.count, work = tile * t->y.count;
    t->splits = 1;
    t->split_steps = t->terms.count;
    if (t->outer.count >= FEW_TILES || t->products < 4.0 * SPLIT_PRODUCTS) {
        return;
    }
    const int64_t bytes = t->outer.count * tile * (t->pairs ? 2 : 1) * (int64_t)sizeof(double);
    const int64_t split = blocks_of(SPLIT_PRODUCTS, work), affordable = PARTIAL_BYTES / bytes;
    if (affordable < 2 || t->terms.count < 2) {
        return;
    }
    t->splits = bp__least(affordable, blocks_of(t->terms.count, split));
    t->split_steps = blocks_of(t->terms.count, t->splits);
    t->splits = blocks_of(t->terms.count, t->split_steps);
}

/* ---- Walks ---- */

static bool is_last_of(const bp__contract_axis *axis, int d) {
    return axis->ndim > 0 && axis->dim[axis->ndim - 1] == d;
}

/* Adds the dimensions in [from, until) that are not wholly in an axis to a walk. */
static void walk(bp__contract_tiling *t, bp__contract_walk *walk, int from, int until) {
    for (int d = from; d < until; d++) {
        const int64_t take = t->used[d] ? t->used[d] : 1, count = blocks_of(t->dim[d].size, take);
        if (count == 1) {
            continue;
        }
        bp__contract_axis *const axes[] = {&t->x, &t->y, &t->z};
        for (int i = 0; i < 3 && t->used[d]; i++) {
            if (is_last_of(axes[i], d)) {
                axes[i]->walked = walk->ndim;
                axes[i]->rest = axes[i]->count / take * (t->dim[d].size - (count - 1) * take);
            }
        }
        bp__contract_dim *dim = &walk->dim[walk->ndim++];
        dim->size = count;
        for (int side = 0; side < BP__OPERANDS; side++) {
            dim->step[side] = t->dim[d].step[side] * take;
        }
        walk->count *= count;
    }
}

void bp__contract_choose_tiling(const bp_host *host, const bp_problem *problem, int isa, bp__contract_tiling *t) {
    const bp_contract_problem *p = &problem->of.contract;
    memset(t, 0, sizeof *t);
    t->unit = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    t->has_b = p->has_b;
    t->pairs = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    t->x.count = t->y.count = t->z.count = t->outer.count = t->splits = 1;
    t->x.walked = t->y.walked = t->z.walked = -1;
    const bool something = read_dims(p, t), summed = p->ndim > p->output_ndim;
    if (!something || (p->in_place && !p->has_b)) {
        t->mode = BP__CONTRACT_NOTHING;
        t->cost_ns = 10;
        return;
    }
    way best = {summed     ? BP__CONTRACT_ROWS
                : p->has_b ? BP__CONTRACT_PRODUCT
                           : BP__CONTRACT_COPY,
                t->output_ndim - 1, -1, 0};
    if (t->ndim > t->output_ndim) {
        best = find_way(t);
    }
    t->mode = best.mode;
    switch (t->mode) {
    case BP__CONTRACT_COPY:
        tile_copy(t);
        break;
    case BP__CONTRACT_PRODUCT:
        tile_product(t);
        break;
    case BP__CONTRACT_ROWS:
        tile_rows(t, best.x, best.y);
        break;
    default:
        tile_dots(t, best.x, best.y);
        break;
    }
    walk(t, &t->outer, 0, t->output_ndim);
    walk(t, &t->terms, t->output_ndim, t->ndim);
    cut(t);
    t->cost_ns = bp__contract_cost(host, problem, isa, t);
}
