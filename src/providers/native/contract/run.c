/* run.c - plans and runs contractions: makes the offset tables once, and computes one tile of C after another. */
#include "contract.h"
#include "providers/native/stop.h"

#include <string.h>

/* Longer axes have no table, because their operands are contiguous or constant along them. */
#define TABLE_MOST 512
#define ALIGNMENT 64

typedef struct contract_plan {
    bp_prepared base; /* must be first, so that both structs have the same address */
    const bp_host *host;
    const bp__contract_kernels *kernels;
    int threads;
    int components;                                            /* numbers in an element: 2 for complex types */
    int64_t pitch;                                             /* bytes between rows of a packed operand */
    int64_t sums_pitch;                                        /* bytes of a row of sums */
    int64_t totals_row;                                        /* doubles of a row of totals */
    size_t sums_at, totals_at, packed_at[2], tile_at, scratch; /* bytes; offsets in each thread's scratch, and its size
                                                                */
    size_t partial;                                            /* doubles of a tile's totals in one split */
    const int64_t *x[BP__OPERANDS], *y[BP__OPERANDS], *z[BP__OPERANDS];
    const int64_t *ladder; /* multiples of the pitch */
    const int64_t *line;   /* multiples of the element size */
    int64_t tiles, steps;  /* between two interrupt checks: tiles, and steps of one tile's sums */
    bp__contract_tiling tiling;
} contract_plan;

/* ---- Positions in a walk ---- */

typedef struct position {
    int64_t index[BP_MAX_CONTRACT_NDIM];
    int64_t at[BP__OPERANDS];
} position;

static void go_to(const bp__contract_walk *walk, int64_t n, position *p) {
    p->at[BP__A] = p->at[BP__B] = p->at[BP__C] = 0;
    for (int d = walk->ndim - 1; d >= 0; d--) {
        p->index[d] = n % walk->dim[d].size;
        n /= walk->dim[d].size;
        for (int side = 0; side < BP__OPERANDS; side++) {
            p->at[side] += p->index[d] * walk->dim[d].step[side];
        }
    }
}

static void step(const bp__contract_walk *walk, position *p) {
    for (int d = walk->ndim - 1; d >= 0; d--) {
        const bp__contract_dim *dim = &walk->dim[d];
        const bool wraps = ++p->index[d] == dim->size;
        const int64_t by = wraps ? 1 - dim->size : 1;
        for (int side = 0; side < BP__OPERANDS; side++) {
            p->at[side] += by * dim->step[side];
        }
        if (!wraps) {
            return;
        }
        p->index[d] = 0;
    }
}

/* Returns the number of elements of an axis at this position: fewer in the last block. */
static int64_t count_at(const bp__contract_axis *axis, const bp__contract_walk *walk, const position *p) {
    const bool last = axis->walked >= 0 && p->index[axis->walked] == walk->dim[axis->walked].size - 1;
    return last ? axis->rest : axis->count;
}

/* ---- Tiles ---- */

/* The tile that a thread is computing. */
typedef struct tile {
    const contract_plan *plan;
    char *at[BP__OPERANDS]; /* address of the first element */
    int64_t nx, nz;
    char *sums, *packed[2], *result;
    double *totals;
    bp__stop *stop;
} tile;

/* Packs a block of an operand into scratch: rows along `down`, columns along `across`. */
static void pack(const tile *t, int side, const char *from, int64_t rows, int64_t columns, const int64_t *const *down,
                 const int64_t *const *across) {
    const contract_plan *plan = t->plan;
    const bp__contract_side to = {t->packed[side], plan->ladder, NULL};
    const bp__contract_side source = {(char *)(uintptr_t)from, down[side], across[side]};
    bp__contract_pack(plan->tiling.pack_kind[side], (size_t)plan->tiling.unit, rows, columns, &to, &source);
}

/* Returns the address of row z of results: in C, or in scratch if C is packed. */
static char *result_row(const tile *t, int64_t z) {
    const contract_plan *plan = t->plan;
    return plan->tiling.packed[BP__C] ? t->result + z * plan->pitch : t->at[BP__C] + plan->z[BP__C][z];
}

/* Copies the tile's results from scratch to C if C is packed. */
static void deliver(const tile *t) {
    const contract_plan *plan = t->plan;
    if (plan->tiling.packed[BP__C]) {
        const bp__contract_side to = {t->at[BP__C], plan->z[BP__C], plan->x[BP__C]};
        const bp__contract_side from = {t->result, plan->ladder, plan->line};
        bp__contract_pack(plan->tiling.pack_kind[BP__C], (size_t)plan->tiling.unit, t->nz, t->nx, &to, &from);
    }
}

static void copy_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bp__contract_side to = {t->at[BP__C], plan->z[BP__C], plan->x[BP__C]};
    const bp__contract_side from = {t->at[BP__A], plan->z[BP__A], plan->x[BP__A]};
    bp__contract_pack(plan->tiling.pack_kind[BP__C], (size_t)plan->tiling.unit, t->nz, t->nx, &to, &from);
}

static void product_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *tiling = &plan->tiling;
    const char *at[2];
    const int64_t *rows[2] = {NULL, NULL};
    for (int side = BP__A; side <= BP__B; side++) {
        at[side] = tiling->packed[side] ? t->packed[side] : t->at[side];
        rows[side] = tiling->packed[side] ? plan->ladder : plan->z[side];
        if (tiling->packed[side]) {
            pack(t, side, t->at[side], t->nz, t->nx, plan->z, plan->x);
        }
    }
    char *c = tiling->packed[BP__C] ? t->result : t->at[BP__C];
    const int64_t *c_rows = tiling->packed[BP__C] ? plan->ladder : plan->z[BP__C];
    const int vector_operand = tiling->vector_operand, other = 1 - tiling->vector_operand;
    plan->kernels->products(t->nz, t->nx, c, c_rows, at[vector_operand], rows[vector_operand], at[other], rows[other],
                            tiling->broadcast);
    deliver(t);
}

/* ---- Sums ---- */

static char *sums_row(const tile *t, int64_t z) {
    return t->sums + z * t->plan->sums_pitch;
}

/* Adds the terms at offsets `at` to row z of the sums. Packs operands first if necessary. */
static void add_terms(const tile *t, int64_t z, int64_t columns, int64_t terms, const int64_t *at) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *tiling = &plan->tiling;
    const bool dots = tiling->mode == BP__CONTRACT_DOTS;
    const char *from[2] = {NULL, NULL};
    const int64_t *rows[2];
    for (int side = BP__A; side <= (tiling->has_b ? BP__B : BP__A); side++) {
        const char *source = t->at[side] + at[side] + plan->z[side][z];
        from[side] = tiling->packed[side] ? t->packed[side] : source;
        rows[side] = tiling->packed[side] ? plan->ladder : dots ? plan->x[side] : plan->y[side];
        if (!tiling->packed[side] || (z > 0 && plan->z[side][z] == plan->z[side][z - 1])) {
            continue; /* not packed, or packed for the previous row already */
        }
        if (dots) {
            pack(t, side, source, columns, terms, plan->x, plan->y);
        } else {
            pack(t, side, source, terms, columns, plan->y, plan->x);
        }
    }
    const int vector_operand = tiling->has_b ? tiling->vector_operand : BP__A, other = 1 - vector_operand;
    if (dots) {
        plan->kernels->dots(columns, terms, sums_row(t, z), from[BP__A], rows[BP__A], from[BP__B], rows[BP__B]);
    } else {
        plan->kernels->rows(columns, terms, sums_row(t, z), from[vector_operand], rows[vector_operand], from[other],
                            rows[other], tiling->broadcast);
    }
}

/* Adds the sums to the totals in double precision and clears them. `first`: clears the totals before. */
static void flush(const tile *t, bool first) {
    const contract_plan *plan = t->plan;
    if (first) {
        memset(t->totals, 0, (size_t)(t->nz * plan->totals_row) * sizeof(double));
    }
    const int64_t columns = plan->tiling.folds ? plan->tiling.x.count : t->nx;
    for (int64_t z = 0; z < t->nz; z++) {
        plan->kernels->flush(columns, t->totals + z * plan->totals_row, sums_row(t, z));
    }
}

/* Reduces a folded row: adds its upper half to the lower one until `base` elements are left. */
static void fold(const tile *t) {
    const contract_plan *plan = t->plan;
    const int64_t width = plan->tiling.base * plan->components;
    for (int64_t z = 0; z < t->nz; z++) {
        double *totals = t->totals + z * plan->totals_row;
        for (int64_t count = plan->tiling.x.count / plan->tiling.base; count > 1; count -= count / 2) {
            const double *upper = totals + (count - count / 2) * width;
            for (int64_t i = 0; i < count / 2 * width; i++) {
                totals[i] += upper[i];
            }
        }
    }
}

/* Adds steps [from, until) of the terms walk. Returns whether sums were flushed into totals. If the call is stopped,
 * terms are missing. */
static bool sum_steps(const tile *t, int64_t from, int64_t until) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *tiling = &plan->tiling;
    int64_t added = 0;
    bool flushed = false;
    position p;
    go_to(&tiling->terms, from, &p);
    memset(t->sums, 0, (size_t)(t->nz * plan->sums_pitch));
    int64_t next_check = from + plan->steps;
    for (int64_t n = from; n < until; n++) {
        if (n == next_check && bp__stops(t->stop)) {
            break;
        }
        next_check += n == next_check ? plan->steps : 0;
        const int64_t terms = count_at(&tiling->y, &tiling->terms, &p);
        if (added + terms > tiling->longest) {
            flush(t, !flushed);
            flushed = true;
            added = 0;
        }
        for (int64_t z = 0; z < t->nz; z++) {
            add_terms(t, z, tiling->folds ? count_at(&tiling->x, &tiling->terms, &p) : t->nx, terms, p.at);
        }
        added += terms;
        step(&tiling->terms, &p);
    }
    if (flushed || tiling->folds) {
        flush(t, !flushed);
        flushed = true;
    }
    if (tiling->folds) {
        fold(t);
    }
    return flushed;
}

static void sum_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bool flushed = sum_steps(t, 0, plan->tiling.terms.count);
    for (int64_t z = 0; z < t->nz; z++) {
        if (flushed) {
            plan->kernels->store_totals(t->nx, result_row(t, z), t->totals + z * plan->totals_row);
        } else {
            plan->kernels->store(t->nx, result_row(t, z), sums_row(t, z));
        }
    }
    deliver(t);
}

/* ---- Calls ---- */

typedef struct call {
    const contract_plan *plan;
    char *at[BP__OPERANDS];
    char *scratch;
    double *partials; /* totals of all splits of all tiles */
    bp__stop stop;
} call;

static tile tile_of(call *c, int task) {
    const contract_plan *plan = c->plan;
    char *scratch = c->scratch + (size_t)task * plan->scratch;
    return (tile){.plan = plan,
                  .sums = scratch + plan->sums_at,
                  .packed = {scratch + plan->packed_at[BP__A], scratch + plan->packed_at[BP__B]},
                  .result = scratch + plan->tile_at,
                  .totals = (double *)(void *)(scratch + plan->totals_at),
                  .stop = &c->stop};
}

static void locate_tile(const call *c, const position *p, tile *t) {
    const bp__contract_tiling *tiling = &c->plan->tiling;
    for (int side = 0; side < BP__OPERANDS; side++) {
        t->at[side] = c->at[side] + p->at[side];
    }
    t->nx = tiling->folds ? tiling->base : count_at(&tiling->x, &tiling->outer, p);
    t->nz = count_at(&tiling->z, &tiling->outer, p);
}

static void run_tile(const tile *t) {
    switch (t->plan->tiling.mode) {
    case BP__CONTRACT_COPY:
        copy_tile(t);
        return;
    case BP__CONTRACT_PRODUCT:
        product_tile(t);
        return;
    default:
        sum_tile(t);
        return;
    }
}

static void run_tiles(void *context, int task) {
    call *c = context;
    const bp__contract_walk *outer = &c->plan->tiling.outer;
    const int64_t from = outer->count * task / c->plan->threads;
    const int64_t until = outer->count * (task + 1) / c->plan->threads;
    tile t = tile_of(c, task);
    position p;
    go_to(outer, from, &p);
    for (int64_t n = from; n < until && !bp__stops(&c->stop);) {
        const int64_t end = n + (until - n < c->plan->tiles ? until - n : c->plan->tiles);
        for (; n < end; n++) {
            locate_tile(c, &p, &t);
            run_tile(&t);
            step(outer, &p);
        }
    }
}

/* ---- Split sums ---- */

static double *partial(const call *c, int64_t n, int64_t split) {
    return c->partials + (size_t)(n * c->plan->tiling.splits + split) * c->plan->partial;
}

static void run_splits(void *context, int task) {
    call *c = context;
    const bp__contract_tiling *tiling = &c->plan->tiling;
    const int64_t all = tiling->outer.count * tiling->splits;
    tile t = tile_of(c, task);
    for (int64_t at = all * task / c->plan->threads; at < all * (task + 1) / c->plan->threads && !bp__stops(&c->stop);
         at++) {
        const int64_t n = at / tiling->splits, split = at % tiling->splits, first = split * tiling->split_steps;
        const int64_t until =
            first + tiling->split_steps < tiling->terms.count ? first + tiling->split_steps : tiling->terms.count;
        position p;
        go_to(&tiling->outer, n, &p);
        locate_tile(c, &p, &t);
        t.totals = partial(c, n, split);
        if (!sum_steps(&t, first, until)) {
            flush(&t, true);
        }
    }
}

/* Adds the splits of each tile in order and stores the results. */
static void join_splits(call *c) {
    const contract_plan *plan = c->plan;
    const bp__contract_tiling *tiling = &plan->tiling;
    tile t = tile_of(c, 0);
    position p;
    go_to(&tiling->outer, 0, &p);
    for (int64_t n = 0; n < tiling->outer.count && !bp__stops(&c->stop); n++) {
        locate_tile(c, &p, &t);
        double *sum = partial(c, n, 0);
        const int64_t numbers = (t.nz - 1) * plan->totals_row + t.nx * plan->components;
        for (int64_t split = 1; split < tiling->splits; split++) {
            const double *more = partial(c, n, split);
            for (int64_t i = 0; i < numbers; i++) {
                sum[i] += more[i];
            }
        }
        for (int64_t z = 0; z < t.nz; z++) {
            plan->kernels->store_totals(t.nx, result_row(&t, z), sum + z * plan->totals_row);
        }
        deliver(&t);
        step(&tiling->outer, &p);
    }
}

static void share(call *c, bp_task task) {
    if (c->plan->threads == 1) {
        task(c, 0);
    } else {
        c->plan->host->parallel(c->plan->threads, c->plan->threads, task, c);
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const contract_plan *plan = (const contract_plan *)self;
    const bp__contract_tiling *tiling = &plan->tiling;
    if (tiling->mode == BP__CONTRACT_NOTHING) {
        return BP_OK;
    }
    call c = {.plan = plan,
              .scratch = bp_operand_address(&exec->workspace),
              .stop = {.host = plan->host, .op = BP_OP_CONTRACT}};
    for (int side = 0; side < BP__OPERANDS; side++) {
        char *at = bp_operand_address(&operands[side]);
        c.at[side] = at ? at + tiling->first[side] : NULL;
    }
    if (tiling->splits == 1) {
        share(&c, run_tiles);
        return bp__stop_status(&c.stop);
    }
    c.partials = (double *)(void *)(c.scratch + (size_t)plan->threads * plan->scratch);
    share(&c, run_splits);
    join_splits(&c);
    return bp__stop_status(&c.stop);
}

static size_t workspace_of(const contract_plan *plan) {
    const bp__contract_tiling *tiling = &plan->tiling;
    const size_t partials = tiling->splits > 1 ? (size_t)(tiling->outer.count * tiling->splits) * plan->partial : 0;
    const size_t bytes = (size_t)plan->threads * plan->scratch + partials * sizeof(double);
    return tiling->mode == BP__CONTRACT_NOTHING ? 0 : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void destroy(bp_prepared *self) {
    ((contract_plan *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Appends the offset tables of an axis. Returns the end of the tables. */
static int64_t *tabulate(const bp__contract_tiling *tiling, const bp__contract_axis *axis, const int64_t **tables,
                         int64_t *at) {
    for (int side = 0; side < BP__OPERANDS && axis->count <= TABLE_MOST; side++) {
        int64_t done = 1;
        at[0] = 0;
        for (int i = 0; i < axis->ndim; i++) {
            const bool last = i == axis->ndim - 1;
            const int64_t size = last ? axis->take : tiling->dim[axis->dim[i]].size;
            for (int64_t k = done; k < done * size; k++) {
                at[k] = at[k - done] + tiling->dim[axis->dim[i]].step[side];
            }
            done *= size;
        }
        tables[side] = at;
        at += axis->count;
    }
    return at;
}

static int64_t *multiples(int64_t *at, int64_t count, int64_t unit, const int64_t **table) {
    for (int64_t i = 0; i < count; i++) {
        at[i] = i * unit;
    }
    *table = at;
    return at + count;
}

/* Returns the largest number of rows that are packed at once. */
static int64_t steps_of(const bp__contract_tiling *tiling) {
    return bp__most(tiling->mode == BP__CONTRACT_DOTS   ? tiling->x.count
                    : tiling->mode == BP__CONTRACT_ROWS ? tiling->y.count
                                                        : 1,
                    tiling->z.count);
}

static int64_t line_of(const bp__contract_tiling *tiling) {
    return tiling->x.count <= TABLE_MOST ? tiling->x.count : 0;
}

static size_t table_entries(const bp__contract_tiling *tiling) {
    const bp__contract_axis *const axes[] = {&tiling->x, &tiling->y, &tiling->z};
    int64_t entries = steps_of(tiling) + line_of(tiling);
    for (int i = 0; i < 3; i++) {
        entries += axes[i]->count <= TABLE_MOST ? BP__OPERANDS * axes[i]->count : 0;
    }
    return (size_t)entries;
}

static void make_tables(contract_plan *plan, int64_t *at) {
    const bp__contract_tiling *tiling = &plan->tiling;
    at = tabulate(tiling, &tiling->x, plan->x, at);
    at = tabulate(tiling, &tiling->y, plan->y, at);
    at = tabulate(tiling, &tiling->z, plan->z, at);
    at = multiples(at, steps_of(tiling), plan->pitch, &plan->ladder);
    multiples(at, line_of(tiling), tiling->unit, &plan->line);
}

static size_t reserve(size_t *total, int64_t bytes) {
    const size_t at = *total;
    *total += ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static void lay_out_scratch(contract_plan *plan) {
    const bp__contract_tiling *tiling = &plan->tiling;
    const bool dots = tiling->mode == BP__CONTRACT_DOTS, sums = dots || tiling->mode == BP__CONTRACT_ROWS;
    const int64_t sum = (int64_t)plan->kernels->sum;
    plan->pitch = (dots ? tiling->y.count : tiling->x.count) * tiling->unit;
    plan->sums_pitch = (tiling->x.count + BP__CONTRACT_PAD - 1) / BP__CONTRACT_PAD * BP__CONTRACT_PAD * sum;
    plan->totals_row = tiling->x.count * plan->components;
    plan->partial = (size_t)(tiling->z.count * plan->totals_row);
    const int64_t totals = sums ? tiling->z.count * plan->totals_row * (int64_t)sizeof(double) : 0;
    plan->sums_at = reserve(&plan->scratch, sums ? tiling->z.count * plan->sums_pitch : 0);
    plan->totals_at = reserve(&plan->scratch, tiling->splits == 1 ? totals : 0);
    for (int side = BP__A; side <= BP__B; side++) {
        plan->packed_at[side] = reserve(&plan->scratch, tiling->packed[side] ? steps_of(tiling) * plan->pitch : 0);
    }
    const int64_t row = tiling->x.count * tiling->unit;
    plan->tile_at =
        reserve(&plan->scratch, tiling->packed[BP__C] && tiling->mode != BP__CONTRACT_COPY ? tiling->z.count * row : 0);
}

/* Sets how many tiles, or steps of a sum, run between two interrupt checks. */
static void set_check_intervals(contract_plan *plan) {
    const bp__contract_tiling *tiling = &plan->tiling;
    const double step = (double)tiling->x.count * (double)tiling->z.count * (double)tiling->y.count;
    plan->steps = bp__stop_chunk(step, INT64_MAX);
    plan->tiles = bp__stop_chunk(step * (double)tiling->terms.count, INT64_MAX);
}

bp_status bp__contract_prepare(const bp_host *host, const bp__contract_kernels *kernels,
                               const bp__contract_tiling *tiling, int threads, bp_prepared **prepared) {
    const size_t bytes = sizeof(contract_plan) + table_entries(tiling) * sizeof(int64_t);
    contract_plan *plan = host->allocate(bytes);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", bytes);
    }
    *plan = (contract_plan){.base = {.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy},
                            .host = host,
                            .kernels = kernels,
                            .threads = threads,
                            .components = tiling->pairs ? 2 : 1,
                            .tiling = *tiling};
    lay_out_scratch(plan);
    set_check_intervals(plan);
    plan->base.workspace = workspace_of(plan);
    make_tables(plan, (int64_t *)(void *)(plan + 1));
    *prepared = &plan->base;
    return BP_OK;
}
