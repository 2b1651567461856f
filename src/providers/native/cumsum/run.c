/* run.c - runs cumulative sums.
 *
 * Threads take panels: one row, or rows side by side. If panels are few and rows long, threads first add up the blocks
 * of all panels, and then each block can be written, from the sum of those before it. Both ways have the same
 * additions. */
#include "cumsum.h"

#include "providers/native/stop.h"

#include <string.h>

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_cumsum_problem problem; /* along a row in the order of the additions, from `x_first` and `y_first` on */
    bp__cumsum_found found;
    int64_t x_element, y_element; /* bytes */
    int64_t x_first, y_first;     /* elements */
    bool side_by_side;
    int outer;             /* dimensions of the panels, without the dimension of the rows side by side */
    int64_t width;         /* rows of a panel, at most BP__CUMSUM_COLUMNS */
    int64_t panels, along; /* panels; those along the dimension of rows side by side */
    int64_t block, blocks; /* elements of a block; blocks of a row */
    bool split;            /* threads share rows */
} prepared;

/* One number for each row of a panel. */
typedef union row_sums {
    double real[BP__CUMSUM_COLUMNS];
    uint64_t whole[BP__CUMSUM_COLUMNS];
} row_sums;

typedef struct call {
    const prepared *plan;
    const char *x;
    char *y;
    row_sums *sums; /* of split rows: the sums of each block of each panel, and then of the blocks before it */
    bool writes;    /* the second stage of split rows */
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* A panel: where its first elements are, and its rows. */
typedef struct panel {
    const char *x;
    char *y;
    int64_t rows, x_row, y_row; /* strides between rows, in elements */
} panel;

static panel panel_at(const call *c, int64_t index) {
    const prepared *plan = c->plan;
    const bp_cumsum_problem *p = &plan->problem;
    int64_t x = plan->x_first, y = plan->y_first, rest = index / plan->along;
    panel made = {.rows = 1};
    for (int d = plan->outer - 1; d >= 0; d--) {
        x += rest % p->size[d] * p->x[d];
        y += rest % p->size[d] * p->y[d];
        rest /= p->size[d];
    }
    if (plan->side_by_side) {
        const int last = p->ndim - 1;
        const int64_t first = index % plan->along * plan->width;
        made.rows = bp__least(plan->width, p->size[last] - first);
        made.x_row = p->x[last];
        made.y_row = p->y[last];
        x += first * made.x_row;
        y += first * made.y_row;
    }
    made.x = c->x + x * plan->x_element;
    made.y = c->y + y * plan->y_element;
    return made;
}

/* Adds up elements of a panel, from index `from` to before `to`: at most a chunk of a row, or eight of each row. */
static void add_chunk(const prepared *plan, const panel *at, int64_t from, int64_t to, const row_sums *base,
                      row_sums *carry, bool writes) {
    _Alignas(64) char numbers[BP__CUMSUM_CHUNK * sizeof(double)];
    const bp_cumsum_problem *p = &plan->problem;
    const bp__cumsum_found *f = &plan->found;
    const int64_t count = to - from;
    const char *x = at->x + from * p->x_axis * plan->x_element;
    char *y = at->y + from * p->y_axis * plan->y_element;
    if (!plan->side_by_side) {
        f->read(1, count, x, 0, p->x_axis, numbers);
        f->kernels.row(count, p->exclusive, numbers, base, carry);
        if (writes) {
            f->write(1, count, numbers, y, 0, p->y_axis);
        }
        return;
    }
    const size_t read = (size_t)(count * at->rows) * f->number;
    f->read(count, at->rows, x, p->x_axis, at->x_row, numbers);
    memset(numbers + read, 0, (size_t)(BP__CUMSUM_EIGHT * at->rows) * f->number - read);
    f->kernels.columns(at->rows, p->exclusive, numbers, base, carry);
    if (writes) {
        f->write(count, at->rows, numbers, y, p->y_axis, at->y_row);
    }
}

_Static_assert(BP__CUMSUM_CHUNK >= BP__CUMSUM_EIGHT * BP__CUMSUM_COLUMNS, "eights of columns do not fit into a chunk");

static void clear_sums(const prepared *plan, row_sums *sums) {
    memset(sums, 0, (size_t)plan->width * sizeof(double));
}

/* Adds up a block of a panel. `carry` becomes its sums. */
static void add_block(call *c, const panel *at, int64_t block, const row_sums *base, row_sums *carry, bool writes) {
    enum { BETWEEN_CHECKS = 64 }; /* chunks */
    const prepared *plan = c->plan;
    const int64_t chunk = plan->side_by_side ? BP__CUMSUM_EIGHT : BP__CUMSUM_CHUNK;
    const int64_t end = bp__least((block + 1) * plan->block, plan->problem.length);
    int64_t chunks = 0;
    clear_sums(plan, carry);
    for (int64_t from = block * plan->block; from < end; from += chunk) {
        if (++chunks % BETWEEN_CHECKS == 0 && bp__stops(&c->stop)) {
            return;
        }
        add_chunk(plan, at, from, bp__least(from + chunk, end), base, carry, writes);
    }
}

/* Adds the sums of a block to the sums of the blocks before it. */
static void add_sums(const prepared *plan, row_sums *base, const row_sums *carry) {
    for (int i = 0; i < plan->width; i++) {
        if (plan->found.integers) {
            base->whole[i] += carry->whole[i];
        } else {
            base->real[i] += carry->real[i];
        }
    }
}

static void run_panel(call *c, int64_t index) {
    const panel at = panel_at(c, index);
    row_sums base, carry;
    clear_sums(c->plan, &base);
    for (int64_t block = 0; block < c->plan->blocks && !bp__stopped(&c->stop); block++) {
        add_block(c, &at, block, &base, &carry, true);
        add_sums(c->plan, &base, &carry);
    }
}

/* The sums of the last block are not needed. */
static void run_part(call *c, int64_t index) {
    const int64_t block = index % c->plan->blocks;
    const panel at = panel_at(c, index / c->plan->blocks);
    row_sums carry;
    if (c->writes) {
        add_block(c, &at, block, &c->sums[index], &carry, true);
    } else if (block + 1 < c->plan->blocks) {
        clear_sums(c->plan, &carry);
        add_block(c, &at, block, &carry, &c->sums[index], false);
    }
}

static void run_units(void *context, int task) {
    call *c = context;
    const prepared *plan = c->plan;
    const int64_t all = plan->panels * (plan->split ? plan->blocks : 1);
    const double rows = plan->side_by_side ? (double)plan->width : 1;
    const int64_t grain = plan->split ? 1 : bp__stop_chunk(rows * (double)plan->problem.length, all);
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&c->next, grain, memory_order_relaxed);
        if (from >= all || bp__stops(&c->stop)) {
            return;
        }
        for (int64_t i = from; i < from + grain && i < all; i++) {
            (plan->split ? run_part : run_panel)(c, i);
        }
    }
}

/* Replaces the sums of blocks by the sums of all blocks before them. */
static void add_blocks(const call *c) {
    const prepared *plan = c->plan;
    for (int64_t index = 0; index < plan->panels; index++) {
        row_sums *sums = &c->sums[index * plan->blocks], base, own;
        clear_sums(plan, &base);
        for (int64_t block = 0; block + 1 < plan->blocks; block++) {
            memcpy(&own, &sums[block], (size_t)plan->width * sizeof(double));
            memcpy(&sums[block], &base, (size_t)plan->width * sizeof(double));
            add_sums(plan, &base, &own);
        }
        memcpy(&sums[plan->blocks - 1], &base, (size_t)plan->width * sizeof(double));
    }
}

static void run_stage(call *c) {
    const prepared *plan = c->plan;
    atomic_store_explicit(&c->next, 0, memory_order_relaxed);
    if (plan->found.threads > 1) {
        plan->host->parallel(plan->found.threads, plan->found.threads, run_units, c);
    } else {
        run_units(c, 0);
    }
}

static bp_status run_cumsum(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call c = {.plan = plan,
              .x = bp_operand_address(&operands[0]),
              .y = bp_operand_address(&operands[1]),
              .sums = bp_operand_address(&exec->workspace),
              .stop = {.host = plan->host, .op = BP_OP_CUMSUM}};
    run_stage(&c);
    if (plan->split && !bp__stopped(&c.stop)) {
        add_blocks(&c);
        c.writes = true;
        run_stage(&c);
    }
    return bp__stop_status(&c.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* Lets the additions begin at the first element in their order. */
static void turn_around(prepared *plan) {
    bp_cumsum_problem *p = &plan->problem;
    plan->x_first = (p->length - 1) * p->x_axis;
    plan->y_first = (p->length - 1) * p->y_axis;
    p->x_axis = -p->x_axis;
    p->y_axis = -p->y_axis;
}

/* Cuts the rows into panels, at least two for each thread where there are enough rows, and into blocks. */
static void cut(prepared *plan) {
    enum { NARROW = 8, FEW = 4 };
    const bp_cumsum_problem *p = &plan->problem;
    const int64_t threads = plan->found.threads;
    int64_t outer = 1;
    plan->outer = p->ndim - plan->side_by_side;
    plan->width = plan->along = 1;
    for (int d = 0; d < plan->outer; d++) {
        outer *= p->size[d];
    }
    if (plan->side_by_side) {
        const int64_t rows = p->size[p->ndim - 1], share = rows / (2 * threads) * outer;
        plan->width =
            threads == 1 || share >= BP__CUMSUM_COLUMNS ? BP__CUMSUM_COLUMNS : (share + NARROW) / NARROW * NARROW;
        plan->along = (rows + plan->width - 1) / plan->width;
    }
    const int64_t most = (int64_t)BP__CUMSUM_BLOCK * BP__CUMSUM_BLOCKS;
    plan->panels = outer * plan->along;
    plan->block = p->length > most ? (p->length + most - 1) / most * BP__CUMSUM_BLOCK : BP__CUMSUM_BLOCK;
    plan->blocks = (p->length + plan->block - 1) / plan->block;
    plan->split = threads > 1 && plan->blocks > 1 && plan->panels < FEW * threads;
}

bp_status bp__cumsum_plan(const bp_host *host, const bp_problem *problem, const bp__cumsum_found *found,
                          bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_cumsum, .destroy = destroy};
    plan->host = host;
    plan->problem = problem->of.cumsum;
    plan->found = *found;
    plan->x_element = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    plan->y_element = (int64_t)bp_dtype_size((bp_dtype)problem->of.cumsum.output);
    plan->side_by_side = bp__cumsum_side_by_side(&plan->problem);
    if (plan->problem.reverse) {
        turn_around(plan);
    }
    cut(plan);
    if (plan->split) {
        plan->base.workspace = (size_t)(plan->panels * plan->blocks) * sizeof(row_sums);
    }
    *result = &plan->base;
    return BP_OK;
}
