/* weight.c - runs the gradient of a convolution by its weight and bias.
 *
 * For each tap it is a product of matrices: W[k,c] = sum over the positions of Y[k,position] X[c,position + tap]. The
 * positions of all items are cut into blocks. A thread takes some channels k and c and some taps; for each block it
 * packs Y once, X for each tap, and adds the products to sums in its own memory. Each element is one chain over all
 * positions, so tiles and threads do not change it. */
#include "conv.h"

#include <stdatomic.h>
#include <string.h>

#define SUMS_BYTES ((int64_t)256 << 10) /* of one thread: half of a second-level cache */
enum { MOST_PANELS = 4 };               /* panels of a tile in each direction */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__conv_set set;
    bp__conv_job job; /* of the forward convolution: its positions and taps */
    int threads;
    int64_t k_tile, c_tile, tap_tile;    /* channels of Y and of X, and taps, of a tile */
    int64_t k_tiles, c_tiles, tap_tiles; /* of one group */
    size_t y_bytes, x_bytes, sums_bytes; /* of one thread */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *x, *y;
    char *weight, *scratch;
    int64_t units;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* One tile: the first channel and number of channels, and the same of taps. */
typedef struct tile {
    int64_t group, k, k_count, c, c_count, tap, taps;
} tile;

/* ---- Packing: columns of a panel are channels, rows are positions ---- */

/* Packs `count` channels for one run of positions into each of their panels. `l` is the first row of a panel of `block`
 * rows. With from == NULL the rows are 0. */
static void pack_run(const prepared *plan, bool as_v, const char *from, int64_t channel, int64_t step, int64_t count,
                     int64_t l, int64_t run, int64_t block, char *panels) {
    const bp__native_kernels *kernels = plan->set.products;
    for (int64_t done = 0; done < count;) {
        const int width = as_v ? bp__conv_v_width(kernels, count - done) : kernels->q_panel;
        const int64_t some = bp__conv_least(count - done, width);
        char *rows = panels + l * width * (int64_t)kernels->packed;
        if (from) {
            (as_v ? kernels->pack_v : kernels->pack_s)(rows, from + done * channel * (int64_t)kernels->element, channel,
                                                       step, some, run, false);
        } else {
            memset(rows, 0, (size_t)width * (size_t)run * kernels->packed);
        }
        panels += width * block * (int64_t)kernels->packed;
        done += some;
    }
}

static void pack_y(const call *w, const tile *t, int64_t start, int64_t block, char *panels) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const bp__conv_axis *last = &plan->job.axis[BP_MAX_CONV_NDIM - 1];
    for (int64_t l = 0; l < block;) {
        int64_t index[1 + BP_MAX_CONV_NDIM], at = (t->group * c->out_channels + t->k) * c->y_channel;
        bp__conv_position(&plan->job, start + l, index);
        const int64_t run = bp__conv_least(last->grid - index[BP_MAX_CONV_NDIM], block - l);
        at += index[0] * c->y_batch;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at += index[1 + d] * c->y[d];
        }
        pack_run(plan, true, w->y + at * (int64_t)plan->set.products->element, c->y_channel, last->result, t->k_count,
                 l, run, block, panels);
        l += run;
    }
}

/* Returns how many of the `run` positions from index `at` on, each `step` further, are before `limit`. */
static int64_t count_before(int64_t at, int64_t step, int64_t limit, int64_t run) {
    return at >= limit ? 0 : bp__conv_least((limit - at + step - 1) / step, run);
}

/* Packs X for one run of positions in a row, for one tap: 0 before, the elements of the image, 0 behind it. */
static void pack_x_run(const call *w, const tile *t, const int64_t index[1 + BP_MAX_CONV_NDIM],
                       const int64_t tap[BP_MAX_CONV_NDIM], int64_t l, int64_t run, int64_t block, char *panels) {
    enum { LAST = BP_MAX_CONV_NDIM - 1 };
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const bp__conv_axis *last = &plan->job.axis[LAST];
    int64_t at = index[0] * c->x_batch + (t->group * c->in_channels + t->c) * c->x_channel;
    bool inside = true;
    for (int d = 0; d < LAST; d++) {
        const bp__conv_axis *axis = &plan->job.axis[d];
        const int64_t i = index[1 + d] * axis->step + axis->first + tap[d] * axis->change;
        inside = inside && i >= 0 && i < axis->size;
        at += i * axis->stride;
    }
    const int64_t i = index[1 + LAST] * last->step + last->first + tap[LAST] * last->change;
    const int64_t before = inside ? count_before(i, last->step, 0, run) : run;
    const int64_t end = inside ? count_before(i, last->step, last->size, run) : run;
    const int64_t channel = c->x_channel, step = last->step * last->stride;
    if (before > 0) {
        pack_run(plan, false, NULL, 0, 0, t->c_count, l, before, block, panels);
    }
    if (end > before) {
        const int64_t first = at + (i + before * last->step) * last->stride;
        pack_run(plan, false, w->x + first * (int64_t)plan->set.products->element, channel, step, t->c_count,
                 l + before, end - before, block, panels);
    }
    if (run > end) {
        pack_run(plan, false, NULL, 0, 0, t->c_count, l + end, run - end, block, panels);
    }
}

static void pack_x(const call *w, const tile *t, const int64_t tap[BP_MAX_CONV_NDIM], int64_t start, int64_t block,
                   char *panels) {
    const bp__conv_job *job = &w->plan->job;
    for (int64_t l = 0; l < block;) {
        int64_t index[1 + BP_MAX_CONV_NDIM];
        bp__conv_position(job, start + l, index);
        const int64_t run = bp__conv_least(job->axis[BP_MAX_CONV_NDIM - 1].grid - index[BP_MAX_CONV_NDIM], block - l);
        pack_x_run(w, t, index, tap, l, run, block, panels);
        l += run;
    }
}

/* ---- Tiles ---- */

static void write_tile(const call *w, const tile *t, const char *sums, int64_t column, int64_t tap_sums) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t element = (int64_t)plan->set.products->element, packed = (int64_t)plan->set.products->packed;
    for (int64_t i = 0; i < t->taps; i++) {
        int64_t tap[BP_MAX_CONV_NDIM];
        bp__conv_tap(&plan->job, t->tap + i, tap);
        int64_t at = (t->group * c->out_channels + t->k) * c->w_out + t->c * c->w_in;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at += tap[d] * c->w[d];
        }
        plan->set.own->finish(&(bp__conv_results){.n = t->k_count,
                                                  .runs = t->c_count,
                                                  .to = w->weight + at * element,
                                                  .to_run = c->w_in,
                                                  .to_step = c->w_out,
                                                  .sums = sums + i * tap_sums * packed,
                                                  .sums_run = column});
    }
}

static void compute_tile(call *w, const tile *t, char *y_panels, char *x_panels, char *sums) {
    const prepared *plan = w->plan;
    const bp__native_kernels *kernels = plan->set.products;
    const int64_t column = bp__conv_round_up(t->k_count, kernels->lanes), tap_sums = column * t->c_count;
    if (plan->job.positions == 0) {
        memset(sums, 0, (size_t)(tap_sums * t->taps) * kernels->packed);
    }
    for (int64_t start = 0; start < plan->job.positions && !bp__stops(&w->stop); start += kernels->k_block) {
        const int64_t block = bp__conv_least(plan->job.positions - start, kernels->k_block);
        pack_y(w, t, start, block, y_panels);
        for (int64_t i = 0; i < t->taps; i++) {
            int64_t tap[BP_MAX_CONV_NDIM];
            bp__conv_tap(&plan->job, t->tap + i, tap);
            pack_x(w, t, tap, start, block, x_panels);
            const bp__native_view view = {.v = y_panels,
                                          .s = x_panels,
                                          .c = sums + i * tap_sums * (int64_t)kernels->packed,
                                          .p = t->k_count,
                                          .q = t->c_count,
                                          .k = block,
                                          .c_p = 1,
                                          .c_q = column,
                                          .alpha = {1, 0},
                                          .beta = {start > 0, 0}};
            kernels->block(&view);
        }
    }
    write_tile(w, t, sums, column, tap_sums);
}

static tile tile_of(const prepared *plan, int64_t unit) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    tile t;
    t.tap = unit % plan->tap_tiles * plan->tap_tile;
    unit /= plan->tap_tiles;
    t.c = unit % plan->c_tiles * plan->c_tile;
    unit /= plan->c_tiles;
    t.k = unit % plan->k_tiles * plan->k_tile;
    t.group = unit / plan->k_tiles;
    t.taps = bp__conv_least(plan->tap_tile, plan->job.taps - t.tap);
    t.c_count = bp__conv_least(plan->c_tile, c->in_channels - t.c);
    t.k_count = bp__conv_least(plan->k_tile, c->out_channels - t.k);
    return t;
}

static void compute_tiles(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    char *y_panels = w->scratch + (size_t)task * (plan->y_bytes + plan->x_bytes + plan->sums_bytes);
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= w->units || bp__stops(&w->stop)) {
            return;
        }
        const tile t = tile_of(plan, unit);
        compute_tile(w, &t, y_panels, y_panels + plan->y_bytes, y_panels + plan->y_bytes + plan->x_bytes);
    }
}

/* ---- Calls ---- */

static void share(call *w, bp_task task) {
    const prepared *plan = w->plan;
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, task, w);
    } else {
        task(w, 0);
    }
}

static bp_status run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { FIRST, SECOND, WEIGHT, BIAS };
    const prepared *plan = (const prepared *)self;
    const bp_conv_problem *c = &plan->problem.of.conv;
    call w = {.plan = plan,
              .x = bp_operand_address(&operands[c->transposed ? SECOND : FIRST]),
              .y = bp_operand_address(&operands[c->transposed ? FIRST : SECOND]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .scratch = bp_operand_address(&exec->workspace),
              .units = c->groups * plan->k_tiles * plan->c_tiles * plan->tap_tiles,
              .stop = {.host = plan->host, .op = BP_OP_CONV_WEIGHT}};
    share(&w, compute_tiles);
    if (c->has_bias && !bp__stopped(&w.stop)) {
        bp__conv_sum_bias(plan->host, &plan->problem, &plan->set, plan->threads, bp_operand_address(&operands[SECOND]),
                          bp_operand_address(&operands[BIAS]), &w.stop);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Returns the channels of a tile: whole panels, in tiles of similar size. */
static int64_t tile_size(int64_t channels, int64_t unit) {
    const int64_t panels = (channels + unit - 1) / unit, tiles = (panels + MOST_PANELS - 1) / MOST_PANELS;
    return (panels + tiles - 1) / tiles * unit;
}

/* Cuts the weight into tiles whose sums fit the cache, and into enough of them for the threads. */
static void cut(prepared *plan) {
    const bp__native_kernels *kernels = plan->set.products;
    const bp_conv_problem *c = &plan->problem.of.conv;
    plan->k_tile = tile_size(c->out_channels, kernels->p_panel);
    plan->c_tile = tile_size(c->in_channels, kernels->q_panel);
    plan->k_tiles = (c->out_channels + plan->k_tile - 1) / plan->k_tile;
    plan->c_tiles = (c->in_channels + plan->c_tile - 1) / plan->c_tile;
    const int64_t fit = SUMS_BYTES / (plan->k_tile * plan->c_tile * (int64_t)kernels->packed);
    const int64_t units = c->groups * plan->k_tiles * plan->c_tiles, taps = plan->job.taps;
    int64_t tiles = fit > 0 ? (taps + fit - 1) / fit : taps;
    while (units * tiles < 2 * plan->threads && plan->threads > 1 && 2 * tiles <= taps) {
        tiles *= 2;
    }
    plan->tap_tile = (taps + tiles - 1) / tiles;
    plan->tap_tiles = (taps + plan->tap_tile - 1) / plan->tap_tile;
}

bp_status bp__conv_plan_weight(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                               bp_prepared **result) {
    bp_problem forward = *problem;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    forward.op = BP_OP_CONV;
    bp__conv_job_of(&forward, 0, &plan->job);
    cut(plan);
    const int64_t packed = (int64_t)set->products->packed, block = set->products->k_block;
    const int64_t column = bp__conv_round_up(plan->k_tile, set->products->lanes);
    plan->y_bytes = (size_t)bp__conv_round_up(plan->k_tile * block * packed, 64);
    plan->x_bytes = (size_t)bp__conv_round_up(plan->c_tile * block * packed, 64);
    plan->sums_bytes = (size_t)bp__conv_round_up(column * plan->c_tile * plan->tap_tile * packed, 64);
    plan->base.workspace = (size_t)threads * (plan->y_bytes + plan->x_bytes + plan->sums_bytes);
    *result = &plan->base;
    return BP_OK;
}
