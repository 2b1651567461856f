/* tiling.c - how a contraction is seen: which dimensions become the axes of tiles, what vectors follow, and which
 * operands are moved into scratch first. All of it follows from the problem alone; the number of threads has no part in
 * it.
 */
#include "contract.h"

#include <string.h>

/* Elements of axes. What is moved through scratch has smaller tiles, which stay in the first cache. */
enum {
    LINE = 32768,      /* of a copy whose lines are contiguous on both sides */
    TURNED = 64,       /* along each side of a tile that is turned */
    ROW_BYTES = 8192,  /* of the sums of a row */
    ROW_TERMS = 512,   /* that are added up in rows before a flush */
    DOT_TERMS = 4096,  /* the same in dot products, whose many chains are each shorter */
    DOT_ROW = 256,     /* dot products side by side */
    PACKED_TERMS = 32, /* of an operand moved for rows */
    PACKED_DOT = 256,  /* and for dot products */
    PACKED_ROW = 16,
    LEAST_ROW = 4,     /* below which a row of products is extended, though operands must then be moved */
    LEAST_WORK = 32,   /* the same for products that are added up */
    FOLDED = 1024,     /* of a row that folds, */
    SHORT_ROW = 32,    /* where it is shorter without, */
    UNFOLDED = 16,     /* and how many times it must be added to, to be worth folding */
    TURN_BYTES = 1024, /* along each side of a copy's tile that is turned: pages are left less often than with less */
    PIECE = 65536,     /* products of a piece of a long sum, at least */
    FEW_TILES = 64,    /* with as many, tiles are enough for all threads */
    PARTIAL = 2 << 20  /* bytes of sums of all pieces, at most */
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t blocks_of(int64_t size, int64_t part) {
    return (size + part - 1) / part;
}

/* ---- Dimensions ---- */

/* Steps are made positive in C, or in A where it is summed over, so that contiguous memory that is read backwards looks
 * like contiguous memory. */
static void add_dim(bp__contract_tiling *f, const bp_contract_problem *p, int d) {
    bp__contract_dim *dim = &f->dim[f->ndim++];
    *dim = (bp__contract_dim){.size = p->size[d], .step = {p->a[d] * f->unit, p->b[d] * f->unit, p->c[d] * f->unit}};
    const int leader = d < p->output_ndim ? BP__C : p->a[d] ? BP__A : BP__B;
    if (dim->step[leader] < 0) {
        for (int side = 0; side < BP__OPERANDS; side++) {
            f->first[side] += (dim->size - 1) * dim->step[side];
            dim->step[side] = -dim->step[side];
        }
    }
}

/* Whether there is anything to write. */
static bool read_dims(const bp_contract_problem *p, bp__contract_tiling *f) {
    bool zero = false;
    f->elements = f->products = 1;
    for (int d = 0; d < p->ndim; d++) {
        f->elements *= d < p->output_ndim ? (double)p->size[d] : 1;
        f->products *= (double)p->size[d];
        zero = zero || (d >= p->output_ndim && p->size[d] == 0);
    }
    for (int d = 0; d < p->ndim && f->elements > 0; d++) {
        if (p->size[d] != 1 && (d < p->output_ndim || !zero)) {
            add_dim(f, p, d);
            f->kept += d < p->output_ndim;
        }
    }
    f->terms.count = zero ? 0 : 1;
    return f->elements > 0;
}

static bp__contract_kind kind_of(int64_t step, int64_t dense) {
    return step == 0 ? BP__CONSTANT : step == dense ? BP__DENSE : BP__SCATTERED;
}

static bool is_dense(const bp__contract_tiling *f, int d, int side) {
    return d >= 0 && f->dim[d].step[side] == f->unit;
}

/* Whether no input has dimension d. */
static bool is_constant(const bp__contract_tiling *f, int d) {
    return f->dim[d].step[BP__A] == 0 && f->dim[d].step[BP__B] == 0;
}

/* The dimension from `from` up to `until` in which an operand is contiguous, of those that no axis has; or -1. */
static int dense_dim(const bp__contract_tiling *f, int from, int until, int side) {
    for (int d = until - 1; d >= from; d--) {
        if (f->used[d] == 0 && is_dense(f, d, side)) {
            return d;
        }
    }
    return -1;
}

/* ---- Axes ---- */

static bp__contract_kind kind_with(const bp__contract_tiling *f, const bp__contract_axis *axis, int d, int side) {
    const int64_t step = f->dim[d].step[side];
    if (axis->count == 1) {
        return kind_of(step, f->unit);
    }
    const bool stays = step == (axis->kind[side] == BP__CONSTANT ? 0 : axis->count * f->unit);
    return stays ? axis->kind[side] : BP__SCATTERED;
}

/* A part of a dimension such that all its blocks are about as long, in whole vectors where there is room. */
static int64_t even_part(int64_t size, int64_t room) {
    const int64_t part = blocks_of(size, blocks_of(size, room));
    const int64_t whole = blocks_of(part, BP__CONTRACT_PAD) * BP__CONTRACT_PAD;
    return whole <= room ? whole : part;
}

/* Makes dimension d, or a part of it, the slowest one of an axis of at most so many elements. */
static bool add(bp__contract_tiling *f, bp__contract_axis *axis, int d, int64_t most) {
    const int64_t room = most / axis->count;
    if (d < 0 || f->used[d] || axis->split || room < 2) {
        return false;
    }
    const int64_t size = f->dim[d].size;
    for (int side = 0; side < BP__OPERANDS; side++) {
        axis->kind[side] = kind_with(f, axis, d, side);
    }
    axis->take = size <= room ? size : even_part(size, room);
    axis->split = axis->take < size;
    axis->part[axis->parts++] = (int8_t)d;
    axis->count *= axis->take;
    f->used[d] = axis->take;
    return true;
}

/* Adds what changes nothing in how operands lie along the axis. */
static void extend_freely(bp__contract_tiling *f, bp__contract_axis *axis, int from, int until, int64_t most) {
    for (int d = until - 1; d >= from; d--) {
        bool free = f->used[d] == 0;
        for (int side = 0; side < BP__OPERANDS; side++) {
            free = free && kind_with(f, axis, d, side) == axis->kind[side];
        }
        if (free) {
            add(f, axis, d, most);
        }
    }
}

/* Adds dimensions, the fastest first, until there are `enough` elements. */
static void extend(bp__contract_tiling *f, bp__contract_axis *axis, int from, int until, int64_t enough, int64_t most) {
    for (int d = until - 1; d >= from && axis->count < enough; d--) {
        add(f, axis, d, most);
    }
}

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* The same in the order in which an operand has them, where it has them. */
static void extend_along(bp__contract_tiling *f, bp__contract_axis *axis, int side, int64_t enough, int64_t most) {
    while (axis->count < enough && !axis->split) {
        int nearest = -1;
        for (int d = f->kept - 1; d >= 0; d--) {
            const int64_t step = magnitude(f->dim[d].step[side]);
            if (!f->used[d] && step && (nearest < 0 || step < magnitude(f->dim[nearest].step[side]))) {
                nearest = d;
            }
        }
        if (!add(f, axis, nearest, most)) {
            return;
        }
    }
}

/* Adds what an operand has contiguously after the axis. */
static void extend_densely(bp__contract_tiling *f, bp__contract_axis *axis, int side, int64_t enough, int64_t most) {
    for (int d = f->kept - 1; d >= 0 && axis->count < enough; d--) {
        if (!f->used[d] && axis->count > 1 && kind_with(f, axis, d, side) == BP__DENSE && add(f, axis, d, most)) {
            d = f->kept; /* what was skipped may follow now */
        }
    }
}

/* ---- Moves ---- */

/* Of rows along `down` and columns along `across`; the other side is scratch, or C for a copy of A. */
static bp__contract_pack_kind move_kind(const bp__contract_axis *across, const bp__contract_axis *down, int to,
                                        int from) {
    const bp__contract_kind across_to = to < 0 ? BP__DENSE : across->kind[to];
    const bp__contract_kind across_from = from < 0 ? BP__DENSE : across->kind[from];
    const bool square = across->count >= 4 && down->count >= 4;
    if (across_to == BP__DENSE) {
        return across_from == BP__DENSE                               ? BP__MOVE_ROWS
               : across_from == BP__CONSTANT                          ? BP__MOVE_FILL
               : square && from >= 0 && down->kind[from] == BP__DENSE ? BP__MOVE_TURN
                                                                      : BP__MOVE_GATHER;
    }
    return square && across_from == BP__DENSE && to >= 0 && down->kind[to] == BP__DENSE ? BP__MOVE_UNTURN
                                                                                        : BP__MOVE_SCATTER;
}

/* ---- Copies ---- */

/* Runs that are contiguous on both sides become longer elements, as far as registers have them. */
static void widen(bp__contract_tiling *f) {
    enum { LONG = 128, WIDEST = 16 };
    const int d = f->kept - 1;
    while (d >= 0 && f->unit < WIDEST && is_dense(f, d, BP__A) && is_dense(f, d, BP__C) && f->dim[d].size % 2 == 0 &&
           f->dim[d].size * f->unit < LONG) {
        f->unit *= 2;
        f->dim[d].size /= 2;
        f->dim[d].step[BP__A] *= 2;
        f->dim[d].step[BP__C] *= 2;
        if (f->dim[d].size == 1) {
            f->kept = --f->ndim;
            return;
        }
    }
}

static void see_copy(bp__contract_tiling *f) {
    enum { SHORT = 32, ROWS = 64, SQUARE = 8, ENOUGH = 64, MOST = 128 };
    widen(f);
    const int last = f->kept - 1;
    const bool dense = is_dense(f, last, BP__A) && is_dense(f, last, BP__C);
    const bool lines = dense && (f->dim[last].size * f->unit >= SHORT || f->kept == 1);
    const bool fills = is_dense(f, last, BP__C) && f->dim[last].step[BP__A] == 0;
    const int64_t side = TURN_BYTES / f->unit, most = lines || fills ? LINE : side;
    add(f, &f->x, last, most);
    if (!lines) {
        add(f, &f->z, dense_dim(f, 0, f->kept, BP__A), side);
    }
    extend_freely(f, &f->x, 0, f->kept, most);
    if (!lines) {
        extend_densely(f, &f->x, BP__C, ENOUGH, MOST);
        extend_densely(f, &f->z, BP__A, ENOUGH, MOST);
        if (f->x.count < SQUARE || f->z.count < SQUARE) {
            extend(f, &f->x, 0, f->kept, ENOUGH, MOST);
            extend_along(f, &f->z, BP__A, ENOUGH, MOST);
        }
    }
    extend(f, &f->z, 0, f->kept, ROWS, least(ROWS, LINE / f->x.count));
    f->move[BP__C] = move_kind(&f->x, &f->z, BP__C, BP__A);
}

/* ---- Products ---- */

/* Which operand vectors are loaded from and which is constant, and who is moved to make that so. */
static void assign(bp__contract_tiling *f) {
    f->packed[BP__A] = f->x.kind[BP__A] == BP__SCATTERED;
    f->packed[BP__B] = f->second && f->x.kind[BP__B] == BP__SCATTERED;
    const bool a = f->x.kind[BP__A] == BP__CONSTANT, b = f->second && f->x.kind[BP__B] == BP__CONSTANT;
    f->packed[BP__A] = f->packed[BP__A] || (a && (b || !f->second));
    f->lead = a && !f->packed[BP__A] ? BP__B : BP__A;
    f->constant = f->second && (f->lead == BP__B || b);
    f->packed[BP__C] = f->x.kind[BP__C] != BP__DENSE;
}

static bool moves_any(const bp__contract_tiling *f) {
    return f->packed[BP__A] || f->packed[BP__B] || f->packed[BP__C];
}

/* The dimension that vectors should follow: one in which something is contiguous, or C's fastest. */
static int cheapest(const bp__contract_tiling *f) {
    int best = f->kept - 1;
    double price = -1;
    for (int d = f->kept - 1; d >= 0; d--) {
        if (d == f->kept - 1 || is_dense(f, d, BP__A) || is_dense(f, d, BP__B) || is_dense(f, d, BP__C)) {
            const double other = bp__contract_price(f, BP__CONTRACT_PRODUCT, d, -1, (double)f->dim[d].size);
            best = price < 0 || other < price ? d : best;
            price = price < 0 || other < price ? other : price;
        }
    }
    return best;
}

/* A dimension for the other side of tiles that turn what is moved. */
static int turning_dim(const bp__contract_tiling *f) {
    for (int side = 0; side < BP__OPERANDS; side++) {
        const int d = f->packed[side] ? dense_dim(f, 0, f->kept, side) : -1;
        if (d >= 0) {
            return d;
        }
    }
    return -1;
}

static void see_product(bp__contract_tiling *f) {
    enum { ROWS = 64 };
    const int first = cheapest(f);
    bp__contract_axis probe = {.count = 1};
    for (int side = 0; side < BP__OPERANDS && first >= 0; side++) {
        probe.kind[side] = kind_with(f, &probe, first, side);
        f->packed[side] = probe.kind[side] == BP__SCATTERED;
    }
    const int64_t most = moves_any(f) || (first >= 0 && is_constant(f, first)) ? TURNED : ROW_BYTES / f->unit;
    add(f, &f->x, first, most);
    extend_freely(f, &f->x, 0, f->kept, most);
    extend(f, &f->x, 0, f->kept, LEAST_ROW, TURNED);
    assign(f);
    if (moves_any(f)) {
        extend(f, &f->x, 0, f->kept, TURNED / 2, TURNED);
        assign(f);
        add(f, &f->z, turning_dim(f), TURNED);
    }
    extend(f, &f->z, 0, f->kept, ROWS, least(ROWS, LINE / f->x.count));
    f->move[BP__A] = move_kind(&f->x, &f->z, -1, BP__A);
    f->move[BP__B] = move_kind(&f->x, &f->z, -1, BP__B);
    f->move[BP__C] = move_kind(&f->x, &f->z, BP__C, -1);
}

/* ---- Sums ---- */

/* A dimension that is summed over and continues a short row of kept elements in the inputs, so that vectors may run
 * across both; or -1. */
static int folding_dim(const bp__contract_tiling *f, const bp__contract_axis *row) {
    for (int d = f->ndim - 1; d >= f->kept && !row->split && row->count < SHORT_ROW; d--) {
        const bool a = kind_with(f, row, d, BP__A) == row->kind[BP__A];
        const bool b = kind_with(f, row, d, BP__B) == row->kind[BP__B];
        if (!f->used[d] && row->count > 1 && a && b && f->dim[d].size >= 2 * UNFOLDED) {
            return d;
        }
    }
    return -1;
}

/* Elements of a row that goes on into dimension d, from so many: few enough to be added to many times. */
static int64_t folded_length(const bp__contract_tiling *f, int64_t base, int d) {
    const double times = f->products / f->elements / UNFOLDED;
    const int64_t folds = times < FOLDED / (double)base ? (int64_t)times : FOLDED / base;
    return base * least(f->dim[d].size, folds < 1 ? 1 : folds);
}

/* How long rows along x would be. */
static double row_length(const bp__contract_tiling *f, int x) {
    bp__contract_axis row = {.count = 1};
    if (x < 0) {
        return 1;
    }
    if (x >= f->kept) {
        return (double)folded_length(f, 1, x);
    }
    for (int side = 0; side < BP__OPERANDS; side++) {
        row.kind[side] = kind_with(f, &row, x, side);
    }
    row.count = f->dim[x].size;
    const int fold = folding_dim(f, &row);
    return (double)(fold < 0 ? row.count : folded_length(f, row.count, fold));
}

typedef struct way {
    bp__contract_mode mode;
    int x, y;
    double price;
} way;

static void consider(const bp__contract_tiling *f, bp__contract_mode mode, int x, int y, way *best) {
    const double price = bp__contract_price(f, mode, x, y, mode == BP__CONTRACT_ROWS ? row_length(f, x) : 1);
    if (best->price < 0 || price < best->price) {
        *best = (way){mode, x, y, price};
    }
}

/* The best mode, with the dimensions that its columns and terms follow first. Columns of C's fastest dimension, and any
 * in which something is contiguous, are looked at; so are terms. */
static way find_way(const bp__contract_tiling *f) {
    way best = {.price = -1};
    for (int y = f->ndim - 1; y >= f->kept - 1; y--) {
        const int terms = y < f->kept ? -1 : y;
        if (terms >= 0 && y < f->ndim - 1 && !is_dense(f, y, BP__A) && !is_dense(f, y, BP__B)) {
            continue;
        }
        for (int x = f->ndim - 1; x >= 0; x--) {
            const bool dense = is_dense(f, x, BP__A) || is_dense(f, x, BP__B) || is_dense(f, x, BP__C);
            if (x != y && (dense || x == f->kept - 1 || (x == f->ndim - 1 && terms < 0))) {
                consider(f, BP__CONTRACT_ROWS, x, terms, &best);
            }
        }
        if (terms >= 0) {
            consider(f, BP__CONTRACT_DOTS, f->kept - 1, y, &best);
        }
    }
    return best;
}

/* The largest dimension of C that a moved operand lacks, so that it is moved once for many rows. */
static int repeating_dim(const bp__contract_tiling *f) {
    int best = -1;
    for (int d = 0; d < f->kept; d++) {
        const bool lacks =
            (f->packed[BP__A] && f->dim[d].step[BP__A] == 0) || (f->packed[BP__B] && f->dim[d].step[BP__B] == 0);
        best = lacks && !f->used[d] && (best < 0 || f->dim[d].size > f->dim[best].size) ? d : best;
    }
    return best;
}

/* Columns: kept dimensions, and where those are few or none, what is summed over and continues them. */
static void make_columns(bp__contract_tiling *f, int x) {
    enum { TILE_ROW = 256 };
    int64_t most = ROW_BYTES / (f->unit < 4 ? 4 : f->unit), terms = 1;
    for (int d = f->kept; d < f->ndim; d++) {
        terms = least(ROW_TERMS, terms * f->dim[d].size);
    }
    for (int side = 0; side < BP__OPERANDS && x >= 0; side++) {
        if (kind_of(f->dim[x].step[side], f->unit) == BP__SCATTERED) {
            most = least(most, side == BP__C ? TILE_ROW : TURNED);
        }
    }
    most = x >= 0 && is_constant(f, x) ? TURNED : most;
    int fold = x;
    if (x < f->kept) {
        add(f, &f->x, x, most);
        extend_freely(f, &f->x, 0, f->kept, most);
        extend(f, &f->x, 0, f->kept, LEAST_WORK / terms, TURNED);
        fold = folding_dim(f, &f->x);
    }
    f->base = f->x.count;
    const bool scattered = f->x.kind[BP__C] != BP__DENSE;
    if (fold >= 0) {
        f->folds = add(f, &f->x, fold, least(most, folded_length(f, f->base, fold)));
    }
    assign(f);
    f->packed[BP__C] = scattered;
}

static void make_rows(bp__contract_tiling *f, int x, int y) {
    enum { TILE_ROWS = 16, REPEATED = 256 };
    make_columns(f, x);
    const int64_t terms = f->packed[BP__A] || f->packed[BP__B] ? PACKED_TERMS : ROW_TERMS;
    f->longest = ROW_TERMS;
    add(f, &f->y, y, terms);
    extend(f, &f->y, f->kept, f->ndim, terms, terms);
    if (f->packed[BP__C]) {
        add(f, &f->z, dense_dim(f, 0, f->kept, BP__C), TILE_ROWS);
    }
    if (f->z.count == 1 && f->x.count <= REPEATED) {
        add(f, &f->z, repeating_dim(f), TILE_ROWS);
    }
    f->move[BP__A] = move_kind(&f->x, &f->y, -1, BP__A);
    f->move[BP__B] = move_kind(&f->x, &f->y, -1, BP__B);
    f->move[BP__C] = move_kind(&f->x, &f->z, BP__C, -1);
}

static void make_dots(bp__contract_tiling *f, int x, int y) {
    bool packs = false;
    for (int side = 0; side < (f->second ? 2 : 1); side++) {
        packs = packs || !is_dense(f, y, side);
    }
    const int64_t terms = packs ? PACKED_DOT : DOT_TERMS;
    f->longest = DOT_TERMS;
    add(f, &f->y, y, terms);
    if (packs) {
        extend(f, &f->y, f->kept, f->ndim, terms, terms);
    } else {
        extend_freely(f, &f->y, f->kept, f->ndim, terms);
    }
    add(f, &f->x, x, packs ? PACKED_ROW : DOT_ROW);
    extend(f, &f->x, 0, f->kept, PACKED_ROW, packs ? PACKED_ROW : DOT_ROW);
    f->packed[BP__A] = f->y.kind[BP__A] != BP__DENSE;
    f->packed[BP__B] = f->second && f->y.kind[BP__B] != BP__DENSE;
    f->packed[BP__C] = f->x.kind[BP__C] != BP__DENSE;
    f->move[BP__A] = move_kind(&f->y, &f->x, -1, BP__A);
    f->move[BP__B] = move_kind(&f->y, &f->x, -1, BP__B);
    f->move[BP__C] = move_kind(&f->x, &f->z, BP__C, -1);
}

/* A long sum for few results is made in pieces. */
static void cut(bp__contract_tiling *f) {
    const int64_t tile = f->x.count * f->z.count, work = tile * f->y.count;
    f->pieces = 1;
    f->piece = f->terms.count;
    if (f->outer.count >= FEW_TILES || f->products < 4.0 * PIECE) {
        return;
    }
    const int64_t bytes = f->outer.count * tile * (f->pairs ? 2 : 1) * (int64_t)sizeof(double);
    const int64_t piece = blocks_of(PIECE, work), affordable = PARTIAL / bytes;
    if (affordable < 2 || f->terms.count < 2) {
        return;
    }
    f->pieces = least(affordable, blocks_of(f->terms.count, piece));
    f->piece = blocks_of(f->terms.count, f->pieces);
    f->pieces = blocks_of(f->terms.count, f->piece);
}

/* ---- Walks ---- */

static bool is_last_of(const bp__contract_axis *axis, int d) {
    return axis->parts > 0 && axis->part[axis->parts - 1] == d;
}

static void walk(bp__contract_tiling *f, bp__contract_walk *walk, int from, int until) {
    for (int d = from; d < until; d++) {
        const int64_t take = f->used[d] ? f->used[d] : 1, count = blocks_of(f->dim[d].size, take);
        if (count == 1) {
            continue;
        }
        bp__contract_axis *const axes[] = {&f->x, &f->y, &f->z};
        for (int i = 0; i < 3 && f->used[d]; i++) {
            if (is_last_of(axes[i], d)) {
                axes[i]->walked = walk->ndim;
                axes[i]->rest = axes[i]->count / take * (f->dim[d].size - (count - 1) * take);
            }
        }
        bp__contract_dim *dim = &walk->dim[walk->ndim++];
        dim->size = count;
        for (int side = 0; side < BP__OPERANDS; side++) {
            dim->step[side] = f->dim[d].step[side] * take;
        }
        walk->count *= count;
    }
}

void bp__contract_choose_tiling(const bp_host *host, const bp_problem *problem, int level, bp__contract_tiling *f) {
    const bp_contract_problem *p = &problem->of.contract;
    memset(f, 0, sizeof *f);
    f->unit = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    f->second = p->has_b;
    f->pairs = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    f->x.count = f->y.count = f->z.count = f->outer.count = f->pieces = 1;
    f->x.walked = f->y.walked = f->z.walked = -1;
    const bool something = read_dims(p, f), summed = p->ndim > p->output_ndim;
    if (!something || (p->in_place && !p->has_b)) {
        f->mode = BP__CONTRACT_NOTHING;
        f->cost_ns = 10;
        return;
    }
    way best = {summed ? BP__CONTRACT_ROWS : p->has_b ? BP__CONTRACT_PRODUCT : BP__CONTRACT_COPY, f->kept - 1, -1, 0};
    if (f->ndim > f->kept) {
        best = find_way(f);
    }
    f->mode = best.mode;
    switch (f->mode) {
    case BP__CONTRACT_COPY:
        see_copy(f);
        break;
    case BP__CONTRACT_PRODUCT:
        see_product(f);
        break;
    case BP__CONTRACT_ROWS:
        make_rows(f, best.x, best.y);
        break;
    default:
        make_dots(f, best.x, best.y);
        break;
    }
    walk(f, &f->outer, 0, f->kept);
    walk(f, &f->terms, f->kept, f->ndim);
    cut(f);
    f->cost_ns = bp__contract_cost(host, problem, level, f);
}
