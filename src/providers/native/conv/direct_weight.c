/* direct_weight.c - runs the gradient by the weight of convolutions with few channels in a group, such as depthwise
 * ones: panels of the product kernels would consist of zeros for the most part.
 *
 * Vectors follow the groups. For each row of Y and row of the kernel, the products of the row's positions are chains in
 * registers, one for each tap, and are added to sums in memory. Rows are cut after RUN positions. Where groups are not
 * contiguous, and for types that are summed in another type, a thread first packs some rows of X and Y as panels. Each
 * element is a sum over rows in ascending order, whatever the layout is and whichever thread computes it. */
#include "conv.h"

#include <stdatomic.h>
#include <string.h>

#define PANEL_BYTES ((int64_t)128 << 10) /* packed rows of one thread: part of a second-level cache */
enum { RUN = 256, MOST_VECTORS = 4, PACKED_VECTORS = 2, LAST = BP_MAX_CONV_NDIM - 1 };

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__conv_set set;
    bp__conv_job job; /* of the forward convolution: its positions and taps */
    int threads;
    bool in_place;
    int64_t block, blocks;                 /* groups that are computed together */
    int64_t tap_rows, row_tile, row_tiles; /* rows of the kernel, and rows of a unit */
    int64_t run, band;                     /* positions and rows of Y that are packed together */
    size_t y_bytes, x_bytes, sums_bytes;   /* of one thread */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *x, *y;
    char *weight, *scratch;
    int64_t units;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* What a thread computes at a time: some groups and rows of the kernel, for one channel of Y and of X in a group. */
typedef struct unit {
    int64_t group, count; /* of groups */
    int64_t k, c;
    int64_t tap_row, tap_rows;
    char *y_panel, *x_panel, *sums;
} unit;

/* Part of a plane of X or Y, as the kernel reads it. */
typedef struct rows {
    const char *from;
    int64_t row, step; /* elements between rows and between positions */
    int64_t low[2];    /* row and position at `from` */
} rows;

static const char *element_of(const prepared *plan, const char *from, int64_t at) {
    return from + at * (int64_t)plan->set.products->element;
}

bool bp__conv_weight_in_place(const bp_problem *problem, const bp__native_kernels *kernels) {
    const bp_conv_problem *c = &problem->of.conv;
    return c->in_channels * c->x_channel == 1 && c->out_channels * c->y_channel == 1 &&
           kernels->element == kernels->packed;
}

/* ---- Rows of X and Y ---- */

/* Describes `height` rows of `width` positions of an image in place, or packs them. `from` is the first element. */
static rows take_rows(const prepared *plan, const unit *u, const char *from, int64_t channel, const int64_t stride[2],
                      int64_t height, int64_t width, char *panel) {
    const bp__native_kernels *kernels = plan->set.products;
    if (!panel) {
        return (rows){.from = from, .row = stride[0], .step = stride[1]};
    }
    const int64_t columns = bp__conv_round_up(u->count, kernels->lanes);
    for (int64_t i = 0; i < height; i++) {
        kernels->pack_v(panel + i * width * columns * (int64_t)kernels->packed, element_of(plan, from, i * stride[0]),
                        channel, stride[1], u->count, width, false);
    }
    return (rows){.from = panel, .row = width * columns, .step = columns};
}

/* Takes the part of X that some positions and rows of Y need and that is in the image. */
static rows take_x(const prepared *plan, const unit *u, const char *from, const int64_t start[2],
                   const int64_t count[2]) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    int64_t low[2], size[2];
    for (int d = 0; d < 2; d++) {
        const bp__conv_axis *axis = &plan->job.axis[1 + d];
        const int64_t first = start[d] * axis->step + axis->first;
        const int64_t end = first + (count[d] - 1) * axis->step + (axis->taps - 1) * axis->change + 1;
        low[d] = first < 0 ? 0 : bp__least(first, axis->size);
        size[d] = end < low[d] ? 0 : bp__least(end, axis->size) - low[d];
    }
    rows x = take_rows(plan, u, element_of(plan, from, low[0] * c->x[1] + low[1] * c->x[2]),
                       c->in_channels * c->x_channel, c->x + 1, size[0], size[1], u->x_panel);
    memcpy(x.low, low, sizeof low);
    return x;
}

/* ---- Products ---- */

/* Finds which of `count` positions each tap of a row has, and which ones all taps have: later taps have earlier ones.
 */
static void find_ranges(const bp__conv_axis *axis, int64_t start, bp__conv_correlation *c, int64_t *first,
                        int64_t *end) {
    for (int64_t t = 0; t < c->taps; t++) {
        const int64_t at = start * axis->step + axis->first + t * axis->change;
        const int64_t before = at < 0 ? (-at + axis->step - 1) / axis->step : 0;
        const int64_t until = at < axis->size ? (axis->size - at + axis->step - 1) / axis->step : 0;
        first[t] = bp__least(before, c->count);
        end[t] = bp__least(until, c->count);
    }
    c->low = first[0];
    c->high = end[c->taps - 1] < c->low ? c->low : end[c->taps - 1];
}

/* Adds the products of some rows of Y, from start[0] on, with all rows of the kernel. */
static void correlate(const prepared *plan, const unit *u, const rows *y, const rows *x, int64_t plane_rows,
                      const int64_t start[2], const int64_t count[2]) {
    enum { TAPS = 64 };
    const bp__conv_axis *column = &plan->job.axis[LAST], *row = &plan->job.axis[1];
    const int64_t packed = (int64_t)plan->set.products->packed;
    int64_t first[TAPS], end[TAPS];
    for (int64_t t = 0; t < column->taps; t += TAPS) {
        bp__conv_correlation c = {.n = bp__conv_round_up(u->count, plan->set.products->lanes),
                                  .count = count[1],
                                  .taps = bp__least(column->taps - t, TAPS),
                                  .y_step = y->step,
                                  .x_step = column->step * x->step,
                                  .x_tap = column->change * x->step,
                                  .first = first,
                                  .end = end,
                                  .sums_tap = plan->block};
        bp__conv_axis shifted = *column;
        shifted.first += t * column->change;
        find_ranges(&shifted, start[1], &c, first, end);
        c.x_first = (start[1] * column->step + shifted.first - x->low[1]) * x->step;
        for (int64_t i = 0; i < count[0]; i++) {
            c.y = y->from + i * y->row * packed;
            for (int64_t r = 0; r < u->tap_rows; r++) {
                const int64_t tap_row = u->tap_row + r - plane_rows;
                const int64_t at = (start[0] + i) * row->step + row->first + tap_row * row->change;
                if (tap_row < 0 || tap_row >= row->taps || at < 0 || at >= row->size) {
                    continue;
                }
                c.x = x->from + (at - x->low[0]) * x->row * packed;
                c.sums = u->sums + (r * column->taps + t) * plan->block * packed;
                plan->set.own->correlate(&c);
            }
        }
    }
}

/* Adds the products of one plane of Y and one of the kernel, whose first row is `plane_rows`. */
static void add_plane(const prepared *plan, const unit *u, const char *x, const char *y, int64_t plane_rows) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    const bp__conv_job *job = &plan->job;
    int64_t start[2], count[2];
    for (start[0] = 0; start[0] < job->axis[1].grid; start[0] += count[0]) {
        count[0] = bp__least(job->axis[1].grid - start[0], plan->band);
        for (start[1] = 0; start[1] < job->axis[LAST].grid; start[1] += count[1]) {
            count[1] = bp__least(job->axis[LAST].grid - start[1], plan->run);
            const rows own = take_rows(plan, u, element_of(plan, y, start[0] * c->y[1] + start[1] * c->y[2]),
                                       c->out_channels * c->y_channel, c->y + 1, count[0], count[1], u->y_panel);
            const rows image = take_x(plan, u, x, start, count);
            correlate(plan, u, &own, &image, plane_rows, start, count);
        }
    }
}

/* Adds the products of one item. */
static void add_item(const call *w, const unit *u, int64_t item) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const bp__conv_axis *depth = &plan->job.axis[0], *row = &plan->job.axis[1];
    const int64_t x = item * c->x_batch + (u->group * c->in_channels + u->c) * c->x_channel;
    const int64_t y = item * c->y_batch + (u->group * c->out_channels + u->k) * c->y_channel;
    for (int64_t o = 0; o < depth->grid; o++) {
        for (int64_t t = u->tap_row / row->taps; t * row->taps < u->tap_row + u->tap_rows; t++) {
            const int64_t at = o * depth->step + depth->first + t * depth->change;
            if (at >= 0 && at < depth->size) {
                add_plane(plan, u, element_of(plan, w->x, x + at * c->x[0]), element_of(plan, w->y, y + o * c->y[0]),
                          t * row->taps);
            }
        }
    }
}

/* ---- Units ---- */

static void write_sums(const call *w, const unit *u) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t height = plan->job.axis[1].taps, width = plan->job.axis[LAST].taps;
    for (int64_t r = 0; r < u->tap_rows; r++) {
        const int64_t row = u->tap_row + r;
        const int64_t at = (u->group * c->out_channels + u->k) * c->w_out + u->c * c->w_in + row / height * c->w[0] +
                           row % height * c->w[1];
        plan->set.own->finish(&(bp__conv_results){
            .n = u->count,
            .runs = width,
            .to = w->weight + at * (int64_t)plan->set.products->element,
            .to_run = c->w[2],
            .to_step = c->out_channels * c->w_out,
            .sums = u->sums + r * width * plan->block * (int64_t)plan->set.products->packed,
            .sums_run = plan->block,
        });
    }
}

static unit unit_of(const prepared *plan, int64_t index, char *scratch) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    unit u;
    u.tap_row = index % plan->row_tiles * plan->row_tile;
    u.tap_rows = bp__least(plan->tap_rows - u.tap_row, plan->row_tile);
    index /= plan->row_tiles;
    u.group = index % plan->blocks * plan->block;
    u.count = bp__least(c->groups - u.group, plan->block);
    index /= plan->blocks;
    u.c = index % c->in_channels;
    u.k = index / c->in_channels;
    u.sums = scratch;
    /* Vectors of an incomplete block would read beyond the groups. */
    const bool packs = !plan->in_place || u.count % plan->set.products->lanes != 0;
    u.y_panel = packs ? scratch + plan->sums_bytes : NULL;
    u.x_panel = packs ? scratch + plan->sums_bytes + plan->y_bytes : NULL;
    return u;
}

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    char *scratch = w->scratch + (size_t)task * (plan->sums_bytes + plan->y_bytes + plan->x_bytes);
    for (;;) {
        const int64_t index = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (index >= w->units || bp__stops(&w->stop)) {
            return;
        }
        const unit u = unit_of(plan, index, scratch);
        memset(u.sums, 0, plan->sums_bytes);
        for (int64_t item = 0; item < plan->job.batch && !bp__stops(&w->stop); item++) {
            add_item(w, &u, item);
        }
        write_sums(w, &u);
    }
}

/* ---- Calls ---- */

static bp_status run_direct_weight(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { FIRST, SECOND, WEIGHT, BIAS };
    const prepared *plan = (const prepared *)self;
    const bp_conv_problem *c = &plan->problem.of.conv;
    call w = {.plan = plan,
              .x = bp_operand_address(&operands[c->transposed ? SECOND : FIRST]),
              .y = bp_operand_address(&operands[c->transposed ? FIRST : SECOND]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .scratch = bp_operand_address(&exec->workspace),
              .units = plan->blocks * plan->row_tiles * c->in_channels * c->out_channels,
              .stop = {.host = plan->host, .op = BP_OP_CONV_WEIGHT}};
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_units, &w);
    } else {
        compute_units(&w, 0);
    }
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

/* Returns how many rows or positions of X some rows or positions of Y need. */
static int64_t reach(const bp__conv_axis *axis, int64_t count) {
    return bp__least((count - 1) * axis->step + (axis->taps - 1) * axis->change + 1, axis->size);
}

/* Cuts the weight into units, enough for the threads. */
static void cut(prepared *plan) {
    const bp__native_kernels *kernels = plan->set.products;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t channels = c->in_channels * c->out_channels,
                  vectors = (c->groups + kernels->lanes - 1) / kernels->lanes;
    const bool all_in_place = plan->in_place && c->groups % kernels->lanes == 0;
    int64_t most = bp__least(all_in_place ? MOST_VECTORS : PACKED_VECTORS, vectors);
    while (plan->threads > 1 && most > 1 && (vectors + most - 1) / most * channels < 2 * plan->threads) {
        most--;
    }
    plan->block = most * kernels->lanes;
    plan->blocks = (c->groups + plan->block - 1) / plan->block;
    plan->tap_rows = plan->job.axis[0].taps * plan->job.axis[1].taps;
    int64_t tiles = 1;
    while (plan->threads > 1 && plan->blocks * channels * tiles < 2 * plan->threads && 2 * tiles <= plan->tap_rows) {
        tiles *= 2;
    }
    plan->row_tile = (plan->tap_rows + tiles - 1) / tiles;
    plan->row_tiles = (plan->tap_rows + plan->row_tile - 1) / plan->row_tile;
}

/* Cuts the planes into parts that are packed at a time. Sums have the same order for all heights: rows with more than
 * one part are packed one by one. */
static void cut_planes(prepared *plan) {
    const bp__conv_axis *row = &plan->job.axis[1], *column = &plan->job.axis[LAST];
    const int64_t position = plan->block * (int64_t)plan->set.products->packed;
    plan->run = bp__least(column->grid, RUN);
    plan->band = 1;
    const int64_t width = plan->run + reach(column, plan->run);
    while (plan->run == column->grid && plan->band < row->grid &&
           width * (plan->band + reach(row, plan->band)) * position < PANEL_BYTES) {
        plan->band++;
    }
    plan->y_bytes = (size_t)bp__conv_round_up(plan->run * plan->band * position, 64);
    plan->x_bytes = (size_t)bp__conv_round_up(reach(column, plan->run) * reach(row, plan->band) * position, 64);
}

bp_status bp__conv_plan_direct_weight(const bp_host *host, const bp_problem *problem, const bp__conv_set *set,
                                      int threads, bp_prepared **result) {
    bp_problem forward = *problem;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_direct_weight, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->in_place = bp__conv_weight_in_place(problem, set->products);
    forward.op = BP_OP_CONV;
    bp__conv_job_of(&forward, 0, &plan->job);
    cut(plan);
    cut_planes(plan);
    const int64_t sums = plan->row_tile * plan->job.axis[LAST].taps * plan->block * (int64_t)set->products->packed;
    plan->sums_bytes = (size_t)bp__conv_round_up(sums, 64);
    plan->base.workspace = (size_t)threads * (plan->sums_bytes + plan->y_bytes + plan->x_bytes);
    *result = &plan->base;
    return BP_OK;
}
