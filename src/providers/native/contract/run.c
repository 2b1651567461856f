/* run.c - plans of contractions: tables of offsets made once, and tiles of C computed one after the other.
 */
#include "contract.h"
#include "providers/native/stop.h"

#include <string.h>

/* Axes have no table beyond: their operands are contiguous or constant then. */
#define TABLE_MOST 512
#define ALIGNMENT 64

typedef struct contract_plan {
    bp_prepared base; /* first, so that both have one address */
    const bp_host *host;
    const bp__contract_kernels *kernels;
    int threads;
    int parts;                                                 /* numbers in an element: 2 for complex types */
    int64_t pitch;                                             /* bytes from row to row of what is moved to scratch */
    int64_t sums_pitch;                                        /* bytes of a row of sums */
    int64_t totals_row;                                        /* doubles of a row */
    size_t sums_at, totals_at, packed_at[2], tile_at, scratch; /* bytes, of each thread */
    size_t partial;                                            /* doubles of a tile's totals, in pieces */
    const int64_t *x[BP__OPERANDS], *y[BP__OPERANDS], *z[BP__OPERANDS];
    const int64_t *ladder; /* multiples of the pitch */
    const int64_t *line;   /* multiples of an element */
    int64_t tiles, steps;  /* between two questions whether to go on: tiles, and steps of the sums of one */
    bp__contract_tiling form;
} contract_plan;

/* ---- Places in a walk ---- */

typedef struct place {
    int64_t index[BP_MAX_CONTRACT_NDIM];
    int64_t at[BP__OPERANDS];
} place;

static void go_to(const bp__contract_walk *walk, int64_t n, place *p) {
    p->at[BP__A] = p->at[BP__B] = p->at[BP__C] = 0;
    for (int d = walk->ndim - 1; d >= 0; d--) {
        p->index[d] = n % walk->dim[d].size;
        n /= walk->dim[d].size;
        for (int side = 0; side < BP__OPERANDS; side++) {
            p->at[side] += p->index[d] * walk->dim[d].step[side];
        }
    }
}

static void step(const bp__contract_walk *walk, place *p) {
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

/* Elements of an axis in this place. */
static int64_t count_at(const bp__contract_axis *axis, const bp__contract_walk *walk, const place *p) {
    const bool last = axis->walked >= 0 && p->index[axis->walked] == walk->dim[axis->walked].size - 1;
    return last ? axis->rest : axis->count;
}

/* ---- Tiles ---- */

/* One tile on its way through a thread. */
typedef struct tile {
    const contract_plan *plan;
    char *at[BP__OPERANDS]; /* of the first element */
    int64_t nx, nz;
    char *sums, *packed[2], *result;
    double *totals;
    bp__stop *stop;
} tile;

/* Moves a part of an operand to scratch: rows along `down`, whose tables these are. */
static void pack(const tile *t, int side, const char *from, int64_t rows, int64_t columns, const int64_t *const *down,
                 const int64_t *const *across) {
    const contract_plan *plan = t->plan;
    const bp__contract_side to = {t->packed[side], plan->ladder, NULL};
    const bp__contract_side source = {(char *)(uintptr_t)from, down[side], across[side]};
    bp__contract_pack(plan->form.move[side], (size_t)plan->form.unit, rows, columns, &to, &source);
}

/* Where results of row z go. */
static char *result_row(const tile *t, int64_t z) {
    const contract_plan *plan = t->plan;
    return plan->form.packed[BP__C] ? t->result + z * plan->pitch : t->at[BP__C] + plan->z[BP__C][z];
}

static void deliver(const tile *t) {
    const contract_plan *plan = t->plan;
    if (plan->form.packed[BP__C]) {
        const bp__contract_side to = {t->at[BP__C], plan->z[BP__C], plan->x[BP__C]};
        const bp__contract_side from = {t->result, plan->ladder, plan->line};
        bp__contract_pack(plan->form.move[BP__C], (size_t)plan->form.unit, t->nz, t->nx, &to, &from);
    }
}

static void copy_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bp__contract_side to = {t->at[BP__C], plan->z[BP__C], plan->x[BP__C]};
    const bp__contract_side from = {t->at[BP__A], plan->z[BP__A], plan->x[BP__A]};
    bp__contract_pack(plan->form.move[BP__C], (size_t)plan->form.unit, t->nz, t->nx, &to, &from);
}

static void product_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *f = &plan->form;
    const char *at[2];
    const int64_t *rows[2] = {NULL, NULL};
    for (int side = BP__A; side <= BP__B; side++) {
        at[side] = f->packed[side] ? t->packed[side] : t->at[side];
        rows[side] = f->packed[side] ? plan->ladder : plan->z[side];
        if (f->packed[side]) {
            pack(t, side, t->at[side], t->nz, t->nx, plan->z, plan->x);
        }
    }
    char *c = f->packed[BP__C] ? t->result : t->at[BP__C];
    const int64_t *c_rows = f->packed[BP__C] ? plan->ladder : plan->z[BP__C];
    const int lead = f->lead, other = 1 - f->lead;
    plan->kernels->products(t->nz, t->nx, c, c_rows, at[lead], rows[lead], at[other], rows[other], f->constant);
    deliver(t);
}

/* ---- Sums ---- */

static char *sums_row(const tile *t, int64_t z) {
    return t->sums + z * t->plan->sums_pitch;
}

/* Adds the terms at `at` for some columns of row z. */
static void add_terms(const tile *t, int64_t z, int64_t columns, int64_t terms, const int64_t *at) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *f = &plan->form;
    const bool dots = f->mode == BP__CONTRACT_DOTS;
    const char *from[2] = {NULL, NULL};
    const int64_t *rows[2];
    for (int side = BP__A; side <= (f->second ? BP__B : BP__A); side++) {
        const char *source = t->at[side] + at[side] + plan->z[side][z];
        from[side] = f->packed[side] ? t->packed[side] : source;
        rows[side] = f->packed[side] ? plan->ladder : dots ? plan->x[side] : plan->y[side];
        if (!f->packed[side] || (z > 0 && plan->z[side][z] == plan->z[side][z - 1])) {
            continue; /* where it is, or there since the row before */
        }
        if (dots) {
            pack(t, side, source, columns, terms, plan->x, plan->y);
        } else {
            pack(t, side, source, terms, columns, plan->y, plan->x);
        }
    }
    const int lead = f->second ? f->lead : BP__A, other = 1 - lead;
    if (dots) {
        plan->kernels->dots(columns, terms, sums_row(t, z), from[BP__A], rows[BP__A], from[BP__B], rows[BP__B]);
    } else {
        plan->kernels->rows(columns, terms, sums_row(t, z), from[lead], rows[lead], from[other], rows[other],
                            f->constant);
    }
}

static void flush(const tile *t, bool first) {
    const contract_plan *plan = t->plan;
    if (first) {
        memset(t->totals, 0, (size_t)(t->nz * plan->totals_row) * sizeof(double));
    }
    const int64_t columns = plan->form.folds ? plan->form.x.count : t->nx;
    for (int64_t z = 0; z < t->nz; z++) {
        plan->kernels->flush(columns, t->totals + z * plan->totals_row, sums_row(t, z));
    }
}

/* Adds up the parts of a row that folds, halves of them at a time. */
static void fold(const tile *t) {
    const contract_plan *plan = t->plan;
    const int64_t width = plan->form.base * plan->parts;
    for (int64_t z = 0; z < t->nz; z++) {
        double *totals = t->totals + z * plan->totals_row;
        for (int64_t count = plan->form.x.count / plan->form.base; count > 1; count -= count / 2) {
            const double *upper = totals + (count - count / 2) * width;
            for (int64_t i = 0; i < count / 2 * width; i++) {
                totals[i] += upper[i];
            }
        }
    }
}

/* Steps `from` to `until` of the walk over terms. Returns whether the sums were flushed into totals. Where the call is
 * stopped, terms are missing. */
static bool sum_steps(const tile *t, int64_t from, int64_t until) {
    const contract_plan *plan = t->plan;
    const bp__contract_tiling *f = &plan->form;
    int64_t added = 0;
    bool flushed = false;
    place p;
    go_to(&f->terms, from, &p);
    memset(t->sums, 0, (size_t)(t->nz * plan->sums_pitch));
    int64_t next_question = from + plan->steps;
    for (int64_t n = from; n < until; n++) {
        if (n == next_question && bp__stops(t->stop)) {
            break;
        }
        next_question += n == next_question ? plan->steps : 0;
        const int64_t terms = count_at(&f->y, &f->terms, &p);
        if (added + terms > f->longest) {
            flush(t, !flushed);
            flushed = true;
            added = 0;
        }
        for (int64_t z = 0; z < t->nz; z++) {
            add_terms(t, z, f->folds ? count_at(&f->x, &f->terms, &p) : t->nx, terms, p.at);
        }
        added += terms;
        step(&f->terms, &p);
    }
    if (flushed || f->folds) {
        flush(t, !flushed);
        flushed = true;
    }
    if (f->folds) {
        fold(t);
    }
    return flushed;
}

static void sum_tile(const tile *t) {
    const contract_plan *plan = t->plan;
    const bool flushed = sum_steps(t, 0, plan->form.terms.count);
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
    double *partials; /* of all pieces of all tiles */
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

static void place_tile(const call *c, const place *p, tile *t) {
    const bp__contract_tiling *f = &c->plan->form;
    for (int side = 0; side < BP__OPERANDS; side++) {
        t->at[side] = c->at[side] + p->at[side];
    }
    t->nx = f->folds ? f->base : count_at(&f->x, &f->outer, p);
    t->nz = count_at(&f->z, &f->outer, p);
}

static void run_tile(const tile *t) {
    switch (t->plan->form.mode) {
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
    const bp__contract_walk *outer = &c->plan->form.outer;
    const int64_t from = outer->count * task / c->plan->threads;
    const int64_t until = outer->count * (task + 1) / c->plan->threads;
    tile t = tile_of(c, task);
    place p;
    go_to(outer, from, &p);
    for (int64_t n = from; n < until && !bp__stops(&c->stop);) {
        const int64_t end = n + (until - n < c->plan->tiles ? until - n : c->plan->tiles);
        for (; n < end; n++) {
            place_tile(c, &p, &t);
            run_tile(&t);
            step(outer, &p);
        }
    }
}

/* ---- Long sums in pieces ---- */

static double *partial(const call *c, int64_t n, int64_t piece) {
    return c->partials + (size_t)(n * c->plan->form.pieces + piece) * c->plan->partial;
}

static void run_pieces(void *context, int task) {
    call *c = context;
    const bp__contract_tiling *f = &c->plan->form;
    const int64_t all = f->outer.count * f->pieces;
    tile t = tile_of(c, task);
    for (int64_t at = all * task / c->plan->threads; at < all * (task + 1) / c->plan->threads && !bp__stops(&c->stop);
         at++) {
        const int64_t n = at / f->pieces, piece = at % f->pieces, first = piece * f->piece;
        const int64_t until = first + f->piece < f->terms.count ? first + f->piece : f->terms.count;
        place p;
        go_to(&f->outer, n, &p);
        place_tile(c, &p, &t);
        t.totals = partial(c, n, piece);
        if (!sum_steps(&t, first, until)) {
            flush(&t, true);
        }
    }
}

/* The pieces of each tile, in order. */
static void join_pieces(call *c) {
    const contract_plan *plan = c->plan;
    const bp__contract_tiling *f = &plan->form;
    tile t = tile_of(c, 0);
    place p;
    go_to(&f->outer, 0, &p);
    for (int64_t n = 0; n < f->outer.count && !bp__stops(&c->stop); n++) {
        place_tile(c, &p, &t);
        double *sum = partial(c, n, 0);
        const int64_t numbers = (t.nz - 1) * plan->totals_row + t.nx * plan->parts;
        for (int64_t piece = 1; piece < f->pieces; piece++) {
            const double *more = partial(c, n, piece);
            for (int64_t i = 0; i < numbers; i++) {
                sum[i] += more[i];
            }
        }
        for (int64_t z = 0; z < t.nz; z++) {
            plan->kernels->store_totals(t.nx, result_row(&t, z), sum + z * plan->totals_row);
        }
        deliver(&t);
        step(&f->outer, &p);
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
    const bp__contract_tiling *f = &plan->form;
    if (f->mode == BP__CONTRACT_NOTHING) {
        return BP_OK;
    }
    call c = {.plan = plan,
              .scratch = bp_operand_address(&exec->workspace),
              .stop = {.host = plan->host, .op = BP_OP_CONTRACT}};
    for (int side = 0; side < BP__OPERANDS; side++) {
        char *at = bp_operand_address(&operands[side]);
        c.at[side] = at ? at + f->first[side] : NULL;
    }
    if (f->pieces == 1) {
        share(&c, run_tiles);
        return bp__stop_status(&c.stop);
    }
    c.partials = (double *)(void *)(c.scratch + (size_t)plan->threads * plan->scratch);
    share(&c, run_pieces);
    join_pieces(&c);
    return bp__stop_status(&c.stop);
}

static size_t workspace_of(const contract_plan *plan) {
    const bp__contract_tiling *f = &plan->form;
    const size_t partials = f->pieces > 1 ? (size_t)(f->outer.count * f->pieces) * plan->partial : 0;
    const size_t bytes = (size_t)plan->threads * plan->scratch + partials * sizeof(double);
    return f->mode == BP__CONTRACT_NOTHING ? 0 : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void destroy(bp_prepared *self) {
    ((contract_plan *)self)->host->release(self);
}

/* ---- Plans ---- */

/* The offsets of an axis, after those that are there already. */
static int64_t *tabulate(const bp__contract_tiling *f, const bp__contract_axis *axis, const int64_t **tables,
                         int64_t *at) {
    for (int side = 0; side < BP__OPERANDS && axis->count <= TABLE_MOST; side++) {
        int64_t done = 1;
        at[0] = 0;
        for (int i = 0; i < axis->parts; i++) {
            const bool last = i == axis->parts - 1;
            const int64_t size = last ? axis->take : f->dim[axis->part[i]].size;
            for (int64_t k = done; k < done * size; k++) {
                at[k] = at[k - done] + f->dim[axis->part[i]].step[side];
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

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Rows of what is moved to scratch, at most. */
static int64_t steps_of(const bp__contract_tiling *f) {
    return larger(f->mode == BP__CONTRACT_DOTS   ? f->x.count
                  : f->mode == BP__CONTRACT_ROWS ? f->y.count
                                                 : 1,
                  f->z.count);
}

static int64_t line_of(const bp__contract_tiling *f) {
    return f->x.count <= TABLE_MOST ? f->x.count : 0;
}

static size_t table_entries(const bp__contract_tiling *f) {
    const bp__contract_axis *const axes[] = {&f->x, &f->y, &f->z};
    int64_t entries = steps_of(f) + line_of(f);
    for (int i = 0; i < 3; i++) {
        entries += axes[i]->count <= TABLE_MOST ? BP__OPERANDS * axes[i]->count : 0;
    }
    return (size_t)entries;
}

static void make_tables(contract_plan *plan, int64_t *at) {
    const bp__contract_tiling *f = &plan->form;
    at = tabulate(f, &f->x, plan->x, at);
    at = tabulate(f, &f->y, plan->y, at);
    at = tabulate(f, &f->z, plan->z, at);
    at = multiples(at, steps_of(f), plan->pitch, &plan->ladder);
    multiples(at, line_of(f), f->unit, &plan->line);
}

static size_t room_for(size_t *total, int64_t bytes) {
    const size_t at = *total;
    *total += ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static void lay_out_scratch(contract_plan *plan) {
    const bp__contract_tiling *f = &plan->form;
    const bool dots = f->mode == BP__CONTRACT_DOTS, sums = dots || f->mode == BP__CONTRACT_ROWS;
    const int64_t sum = (int64_t)plan->kernels->sum;
    plan->pitch = (dots ? f->y.count : f->x.count) * f->unit;
    plan->sums_pitch = (f->x.count + BP__CONTRACT_PAD - 1) / BP__CONTRACT_PAD * BP__CONTRACT_PAD * sum;
    plan->totals_row = f->x.count * plan->parts;
    plan->partial = (size_t)(f->z.count * plan->totals_row);
    const int64_t totals = sums ? f->z.count * plan->totals_row * (int64_t)sizeof(double) : 0;
    plan->sums_at = room_for(&plan->scratch, sums ? f->z.count * plan->sums_pitch : 0);
    plan->totals_at = room_for(&plan->scratch, f->pieces == 1 ? totals : 0);
    for (int side = BP__A; side <= BP__B; side++) {
        plan->packed_at[side] = room_for(&plan->scratch, f->packed[side] ? steps_of(f) * plan->pitch : 0);
    }
    const int64_t row = f->x.count * f->unit;
    plan->tile_at = room_for(&plan->scratch, f->packed[BP__C] && f->mode != BP__CONTRACT_COPY ? f->z.count * row : 0);
}

/* One step of a sum is at least a line of terms for each element of its tile. */
static void space_questions(contract_plan *plan) {
    const bp__contract_tiling *f = &plan->form;
    const double step = (double)f->x.count * (double)f->z.count * (double)f->y.count;
    plan->steps = bp__stop_handful(step, INT64_MAX);
    plan->tiles = bp__stop_handful(step * (double)f->terms.count, INT64_MAX);
}

bp_status bp__contract_prepare(const bp_host *host, const bp__contract_kernels *kernels,
                               const bp__contract_tiling *form, int threads, bp_prepared **prepared) {
    const size_t bytes = sizeof(contract_plan) + table_entries(form) * sizeof(int64_t);
    contract_plan *plan = host->allocate(bytes);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", bytes);
    }
    *plan = (contract_plan){.base = {.struct_size = sizeof(bp_prepared), .enqueue = enqueue, .destroy = destroy},
                            .host = host,
                            .kernels = kernels,
                            .threads = threads,
                            .parts = form->pairs ? 2 : 1,
                            .form = *form};
    lay_out_scratch(plan);
    space_questions(plan);
    plan->base.workspace = workspace_of(plan);
    make_tables(plan, (int64_t *)(void *)(plan + 1));
    *prepared = &plan->base;
    return BP_OK;
}
