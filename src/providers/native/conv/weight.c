/* weight.c - runs the gradient of a convolution by its weight and bias.
 *
 * It is a product of matrices: W[k,j] = sum over the positions of Y[k,position] X[j,position], where a column j of the
 * weight is a tap and a channel of X, with the channel varying fastest. With many channels, each tap has whole panels
 * of columns. The positions of all items are cut into blocks. A thread takes some channels k and some columns; for each
 * block it packs Y once, X for some columns at a time, and adds the products to sums in its own memory. Each element is
 * one chain over all positions, so tiles and threads do not change it. */
#include "conv.h"

#include <stdatomic.h>
#include <string.h>

/* Positions whose channels stay in a first-level cache while their panels are packed one by one, even if they are at
 * addresses that share few places of the cache. */
#define RUN ((int64_t)32)
#define SUMS_BYTES ((int64_t)256 << 10) /* of one thread: half of a second-level cache */
enum {
    MOST_PANELS = 4,
    MOST_WIDTH = 64
}; /* panels of Y in a tile, and of X that are packed at a time; columns of a panel */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__conv_set set;
    bp__conv_job job; /* of the forward convolution: its positions and taps */
    int threads;
    int64_t tap_columns, columns;        /* of a tap, and of a group */
    int64_t k_tile, column_tile;         /* of a tile */
    int64_t k_tiles, column_tiles;       /* of one group */
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

/* One tile: the first channel of Y and their number, and the same of columns. */
typedef struct tile {
    int64_t group, k, k_count, column, columns;
} tile;

/* ---- Packing: columns of a panel are channels, rows are positions ---- */

/* Packs `count` channels for one run of positions into each of their panels. `l` is the first row of a panel of `block`
 * rows. With from == NULL the rows are 0. */
static void pack_run(const prepared *plan, bool as_v, const char *from, int64_t channel, int64_t step, int64_t count,
                     int64_t l, int64_t run, int64_t block, char *panels) {
    const bp__native_kernels *kernels = plan->set.products;
    for (int64_t done = 0; done < count;) {
        const int width = as_v ? bp__conv_v_width(kernels, count - done) : kernels->q_panel;
        const int64_t some = bp__least(count - done, width);
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
        const int64_t run = bp__least(last->grid - index[BP_MAX_CONV_NDIM], block - l);
        at += index[0] * c->y_batch;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at += index[1 + d] * plan->job.axis[d].result;
        }
        pack_run(plan, true, w->y + at * (int64_t)plan->set.products->element, c->y_channel, last->result, t->k_count,
                 l, run, block, panels);
        l += run;
    }
}

/* Some positions in a row of Y: the item, and the index of X for the first one and the first tap. */
typedef struct run_of_positions {
    int64_t length, image[BP_MAX_CONV_NDIM];
    int64_t at; /* elements of X */
} run_of_positions;

static run_of_positions run_at(const prepared *plan, int64_t position, int64_t most) {
    const bp__conv_job *job = &plan->job;
    int64_t index[1 + BP_MAX_CONV_NDIM];
    bp__conv_position(job, position, index);
    run_of_positions run = {
        .length = bp__least(job->axis[BP_MAX_CONV_NDIM - 1].grid - index[BP_MAX_CONV_NDIM], most),
        .at = index[0] * job->image_batch,
    };
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        run.image[d] = index[1 + d] * job->axis[d].step + job->axis[d].first;
        run.at += run.image[d] * job->axis[d].stride;
    }
    return run;
}

/* Returns how many of the `run` positions from index `at` on, each `step` further, are before `limit`. */
static int64_t count_before(int64_t at, int64_t step, int64_t limit, int64_t run) {
    return at >= limit ? 0 : step == 1 ? bp__least(limit - at, run) : bp__least((limit - at + step - 1) / step, run);
}

/* Finds which positions have a tap: those from *begin to *end. */
static void find_range(const bp__conv_job *job, const run_of_positions *run, const int64_t shift[BP_MAX_CONV_NDIM],
                       int64_t *begin, int64_t *end) {
    enum { LAST = BP_MAX_CONV_NDIM - 1 };
    const bp__conv_axis *last = &job->axis[LAST];
    bool inside = true;
    for (int d = 0; d < LAST; d++) {
        inside = inside && (uint64_t)(run->image[d] + shift[d]) < (uint64_t)job->axis[d].size;
    }
    const int64_t at = run->image[LAST] + shift[LAST];
    *begin = inside ? count_before(at, last->step, 0, run->length) : run->length;
    *end = inside ? count_before(at, last->step, last->size, run->length) : run->length;
}

/* Packs some channels of X for one tap: 0 before the image, its elements, 0 behind it. */
static void pack_tap(const call *w, const tile *t, int64_t tap, int64_t channel, int64_t count, int64_t start,
                     int64_t block, char *panels) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &plan->job;
    const bp__conv_axis *last = &job->axis[BP_MAX_CONV_NDIM - 1];
    const int64_t element = (int64_t)plan->set.products->element, step = last->step * last->stride;
    int64_t shift[BP_MAX_CONV_NDIM], at = (t->group * job->channels + channel) * job->image_channel;
    bp__conv_tap(job, tap, shift);
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        shift[d] *= job->axis[d].change;
        at += shift[d] * job->axis[d].stride;
    }
    for (int64_t l = 0; l < block;) {
        const run_of_positions run = run_at(plan, start + l, bp__least(block - l, RUN));
        int64_t begin, end;
        find_range(job, &run, shift, &begin, &end);
        if (begin > 0) {
            pack_run(plan, false, NULL, 0, 0, count, l, begin, block, panels);
        }
        if (end > begin) {
            pack_run(plan, false, w->x + (run.at + at + begin * step) * element, job->image_channel, step, count,
                     l + begin, end - begin, block, panels);
        }
        if (run.length > end) {
            pack_run(plan, false, NULL, 0, 0, count, l + end, run.length - end, block, panels);
        }
        l += run.length;
    }
}

/* ---- Panels of X with several taps, if there are few channels ---- */

/* The columns of one panel of X. */
typedef struct columns {
    int count;
    int64_t at[MOST_WIDTH];                      /* elements from the image's element for the first tap */
    int64_t shift[BP_MAX_CONV_NDIM][MOST_WIDTH]; /* of the image index */
    bool even;                                   /* the elements have equal distances */
} columns;

static void describe_columns(const prepared *plan, const tile *t, int64_t first, int count, columns *of) {
    const bp__conv_job *job = &plan->job;
    of->count = count;
    of->even = true;
    for (int i = 0; i < count; i++) {
        const int64_t column = t->column + first + i;
        int64_t tap[BP_MAX_CONV_NDIM];
        bp__conv_tap(job, column / job->channels, tap);
        of->at[i] = column % job->channels * job->image_channel;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            of->shift[d][i] = tap[d] * job->axis[d].change;
            of->at[i] += of->shift[d][i] * job->axis[d].stride;
        }
        of->even = of->even && (i < 2 || of->at[i] - of->at[i - 1] == of->at[1] - of->at[0]);
    }
}

/* Which of the positions of a run each column has: those from `begin` to `end`. */
typedef struct ranges {
    int64_t begin[MOST_WIDTH], end[MOST_WIDTH];
} ranges;

static void find_ranges(const bp__conv_job *job, const columns *of, const run_of_positions *run, ranges *r) {
    for (int i = 0; i < of->count; i++) {
        int64_t shift[BP_MAX_CONV_NDIM];
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            shift[d] = of->shift[d][i];
        }
        find_range(job, run, shift, &r->begin[i], &r->end[i]);
    }
}

/* Packs the columns for one run. Parts of it in which the same columns are inside the image are packed together. */
static void pack_columns(const prepared *plan, const columns *of, const char *x, const run_of_positions *run,
                         char *panel) {
    const bp__conv_job *job = &plan->job;
    const bp__conv_axis *last = &job->axis[BP_MAX_CONV_NDIM - 1];
    const bp__native_kernels *kernels = plan->set.products;
    const int64_t step = last->step * last->stride, row = kernels->q_panel * (int64_t)kernels->packed;
    ranges r;
    find_ranges(job, of, run, &r);
    for (int64_t l = 0, next; l < run->length; panel += (next - l) * row, l = next) {
        const char *from[MOST_WIDTH] = {NULL};
        int inside = 0;
        next = run->length;
        for (int i = 0; i < of->count; i++) {
            const bool has = l >= r.begin[i] && l < r.end[i];
            const int64_t until = has ? r.end[i] : l < r.begin[i] ? r.begin[i] : run->length;
            next = bp__least(next, until);
            from[i] = has ? x + (run->at + of->at[i] + l * step) * (int64_t)kernels->element : NULL;
            inside += has;
        }
        if (inside == of->count && of->even) {
            kernels->pack_s(panel, from[0], of->count > 1 ? of->at[1] - of->at[0] : 0, step, of->count, next - l,
                            false);
        } else {
            plan->set.own->gather(panel, kernels->q_panel, from, step, next - l);
        }
    }
}

/* Packs `count` columns of a tile from `first` on, for some positions. */
static void pack_x(const call *w, const tile *t, int64_t first, int64_t count, int64_t start, int64_t block,
                   char *panels) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &plan->job;
    const int64_t packed = (int64_t)plan->set.products->packed, width = plan->set.products->q_panel;
    for (int64_t done = 0, some; done < count;
         done += some, panels += bp__conv_round_up(some, width) * block * packed) {
        const int64_t column = t->column + first + done, channel = column % plan->tap_columns;
        if (plan->tap_columns % width == 0) {
            some = bp__least(count - done, plan->tap_columns - channel);
            pack_tap(w, t, column / plan->tap_columns, channel, bp__least(some, job->channels - channel), start, block,
                     panels);
            continue;
        }
        columns of;
        some = bp__least(count - done, width);
        describe_columns(plan, t, first + done, (int)some, &of);
        const char *x = w->x + t->group * job->channels * job->image_channel * (int64_t)plan->set.products->element;
        for (int64_t l = 0; l < block;) {
            const run_of_positions run = run_at(plan, start + l, block - l);
            pack_columns(plan, &of, x, &run, panels + l * width * packed);
            l += run.length;
        }
    }
}

/* ---- Tiles ---- */

static void write_tile(const call *w, const tile *t, const char *sums, int64_t height) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t element = (int64_t)plan->set.products->element, packed = (int64_t)plan->set.products->packed;
    for (int64_t done = 0, some; done < t->columns; done += some) {
        const int64_t channel = (t->column + done) % plan->tap_columns;
        int64_t tap[BP_MAX_CONV_NDIM];
        some = bp__least(t->columns - done, plan->tap_columns - channel);
        bp__conv_tap(&plan->job, (t->column + done) / plan->tap_columns, tap);
        int64_t at = (t->group * c->out_channels + t->k) * c->w_out + channel * c->w_in;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at += tap[d] * c->w[d];
        }
        plan->set.own->finish(&(bp__conv_results){.n = t->k_count,
                                                  .runs = bp__least(some, c->in_channels - channel),
                                                  .to = w->weight + at * element,
                                                  .to_run = c->w_in,
                                                  .to_step = c->w_out,
                                                  .sums = sums + done * height * packed,
                                                  .sums_run = height});
    }
}

/* Returns the columns of X that are packed at a time. */
static int64_t columns_at_a_time(const prepared *plan) {
    return MOST_PANELS * (int64_t)plan->set.products->q_panel;
}

static void compute_tile(call *w, const tile *t, char *y_panels, char *x_panels, char *sums) {
    const prepared *plan = w->plan;
    const bp__native_kernels *kernels = plan->set.products;
    const int64_t height = bp__conv_round_up(t->k_count, kernels->lanes), some = columns_at_a_time(plan);
    if (plan->job.positions == 0) {
        memset(sums, 0, (size_t)(height * t->columns) * kernels->packed);
    }
    for (int64_t start = 0; start < plan->job.positions && !bp__stops(&w->stop); start += kernels->k_block) {
        const int64_t block = bp__least(plan->job.positions - start, kernels->k_block);
        pack_y(w, t, start, block, y_panels);
        for (int64_t done = 0; done < t->columns; done += some) {
            const int64_t count = bp__least(t->columns - done, some);
            pack_x(w, t, done, count, start, block, x_panels);
            const bp__native_view view = {.v = y_panels,
                                          .s = x_panels,
                                          .c = sums + done * height * (int64_t)kernels->packed,
                                          .p = t->k_count,
                                          .q = count,
                                          .k = block,
                                          .c_p = 1,
                                          .c_q = height,
                                          .alpha = {1, 0},
                                          .beta = {start > 0, 0}};
            kernels->block(&view);
        }
    }
    write_tile(w, t, sums, height);
}

static tile tile_of(const prepared *plan, int64_t unit) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    tile t;
    t.column = unit % plan->column_tiles * plan->column_tile;
    unit /= plan->column_tiles;
    t.k = unit % plan->k_tiles * plan->k_tile;
    t.group = unit / plan->k_tiles;
    t.columns = bp__least(plan->column_tile, plan->columns - t.column);
    t.k_count = bp__least(plan->k_tile, c->out_channels - t.k);
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

static bp_status run_conv_weight(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { FIRST, SECOND, WEIGHT, BIAS };
    const prepared *plan = (const prepared *)self;
    const bp_conv_problem *c = &plan->problem.of.conv;
    call w = {.plan = plan,
              .x = bp_operand_address(&operands[c->transposed ? SECOND : FIRST]),
              .y = bp_operand_address(&operands[c->transposed ? FIRST : SECOND]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .scratch = bp_operand_address(&exec->workspace),
              .units = c->groups * plan->k_tiles * plan->column_tiles,
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

/* Returns the size of a tile: whole panels, at most `most` of them, in tiles of similar size. */
static int64_t tile_size(int64_t size, int64_t unit, int64_t most) {
    const int64_t panels = (size + unit - 1) / unit, tiles = (panels + most - 1) / most;
    return (panels + tiles - 1) / tiles * unit;
}

/* Cuts the weight into tiles whose sums fit the cache, and into enough of them for the threads. */
static void cut(prepared *plan) {
    const bp__native_kernels *kernels = plan->set.products;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t width = kernels->q_panel;
    /* Panels of one tap are packed faster, but would consist of zeros for the most part if there are few channels. */
    plan->tap_columns = c->in_channels > 2 * width ? bp__conv_round_up(c->in_channels, width) : c->in_channels;
    plan->columns = plan->job.taps * plan->tap_columns;
    plan->k_tile = tile_size(c->out_channels, kernels->p_panel, MOST_PANELS);
    plan->k_tiles = (c->out_channels + plan->k_tile - 1) / plan->k_tile;
    const int64_t unit = columns_at_a_time(plan), fit = SUMS_BYTES / (plan->k_tile * (int64_t)kernels->packed);
    const int64_t units = c->groups * plan->k_tiles, panels = (plan->columns + unit - 1) / unit;
    int64_t most = fit < unit ? 1 : fit / unit;
    while (plan->threads > 1 && most > 1 && units * ((panels + most - 1) / most) < 2 * plan->threads) {
        most = (most + 1) / 2;
    }
    plan->column_tile = tile_size(plan->columns, unit, most);
    plan->column_tiles = (plan->columns + plan->column_tile - 1) / plan->column_tile;
}

bp_status bp__conv_plan_weight(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                               bp_prepared **result) {
    bp_problem forward = *problem;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_conv_weight, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    forward.op = BP_OP_CONV;
    bp__conv_job_of(&forward, 0, &plan->job);
    bp__conv_join_axes(&plan->job);
    cut(plan);
    const int64_t packed = (int64_t)set->products->packed, block = set->products->k_block;
    const int64_t height = bp__conv_round_up(plan->k_tile, set->products->lanes);
    plan->y_bytes = (size_t)bp__conv_round_up(plan->k_tile * block * packed, 64);
    plan->x_bytes = (size_t)bp__conv_round_up(columns_at_a_time(plan) * block * packed, 64);
    plan->sums_bytes = (size_t)bp__conv_round_up(height * plan->column_tile * packed, 64);
    plan->base.workspace = (size_t)threads * (plan->y_bytes + plan->x_bytes + plan->sums_bytes);
    *result = &plan->base;
    return BP_OK;
}
