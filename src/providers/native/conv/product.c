/* product.c - runs the convolutions that gather an image: CONV and CONV_INPUT.
 *
 * The weight is packed once for a call, or beforehand, and shared by all threads. Threads take tiles of the result:
 * some positions and some rows, which are channels. For each tile a thread packs the positions, block of terms by block
 * of terms, and adds up the tile in its own memory. */
#include "conv.h"

#include "providers/native/elementwise/elementwise.h"

#include <stdatomic.h>
#include <string.h>

#define IMAGE_BYTES ((int64_t)96 << 10)        /* panels of one thread's positions: part of a second-level cache */
#define PANEL_IMAGE_BYTES ((int64_t)192 << 10) /* if results are computed panel by panel */
#define TERMS_BYTES ((int64_t)512 << 10)       /* then: of all their terms */
#define SUMS_BYTES ((int64_t)192 << 10)        /* of a tile: likewise */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem; /* policy and sizes */
    bp__conv_set set;
    int threads;
    bool positions_are_v;
    bool by_panels; /* all terms of a panel of rows, then the next panel; else all panels of a block of terms */
    bp__element_unary function; /* of the results, in place; NULL: none, or it is computed later */
    int64_t jobs, terms;        /* the most terms of a job */
    int64_t row_tile;           /* rows of a tile */
    size_t weight_bytes;        /* of all packed weights */
    size_t image_bytes, sums_bytes;
} prepared;

/* How a job is cut into tiles. */
typedef struct tiling {
    int64_t position_tile, position_tiles, row_tiles, units;
    int64_t row_bytes, group_bytes; /* of packed weights: a tile of rows, and a group */
} tiling;

typedef struct call {
    const prepared *plan;
    bp__conv_job job;
    tiling cut;
    const char *image, *weight, *bias;
    char *result, *packed, *scratch;
    _Atomic int64_t next;
    bp__stop stop;
} call;

static void job_of(const prepared *plan, int64_t index, bp__conv_job *job) {
    bp__conv_job_of(&plan->problem, index, job);
    bp__conv_join_axes(job);
}

static int64_t position_unit(const prepared *plan) {
    return plan->positions_are_v ? plan->set.products->p_panel : plan->set.products->q_panel;
}

static int64_t row_unit(const prepared *plan) {
    return plan->positions_are_v ? plan->set.products->q_panel : plan->set.products->p_panel;
}

static int64_t block_of(const prepared *plan, int64_t terms) {
    return bp__least(terms, plan->set.products->k_block);
}

/* Returns the most positions of a tile. */
static int64_t most_positions(const prepared *plan) {
    const bp__native_kernels *kernels = plan->set.products;
    const int64_t unit = position_unit(plan), row = kernels->k_block * (int64_t)kernels->packed;
    const int64_t bytes = plan->by_panels ? PANEL_IMAGE_BYTES : IMAGE_BYTES, fit = bytes / row / unit * unit;
    const int64_t all = plan->by_panels ? TERMS_BYTES / (plan->terms * (int64_t)kernels->packed) / unit * unit : fit;
    const int64_t most = fit < all ? fit : all;
    return most > unit ? most : unit;
}

/* Returns the bytes of k terms of a tile of rows. */
static int64_t panel_bytes(const prepared *plan, int64_t k) {
    return bp__conv_round_up(plan->row_tile, row_unit(plan)) * bp__conv_depth(plan->set.products, k) *
           (int64_t)plan->set.products->packed;
}

/* Returns the bytes of k terms of a tile of positions. */
static int64_t image_bytes(const prepared *plan, int64_t k) {
    return bp__conv_round_up(most_positions(plan), plan->set.products->lanes) * bp__conv_depth(plan->set.products, k) *
           (int64_t)plan->set.products->packed;
}

static tiling cut(const prepared *plan, const bp__conv_job *job) {
    const int64_t unit = position_unit(plan), most = most_positions(plan);
    tiling t;
    t.row_tiles = (job->rows + plan->row_tile - 1) / plan->row_tile;
    int64_t tiles = (job->positions + most - 1) / most;
    /* As many tiles as threads, as far as there are panels for them. */
    const int64_t panels = (job->positions + unit - 1) / unit, others = t.row_tiles * plan->problem.of.conv.groups;
    while (tiles * others < 2 * plan->threads && plan->threads > 1 && 2 * tiles <= panels) {
        tiles *= 2;
    }
    t.position_tile = tiles > 0 ? bp__conv_round_up((job->positions + tiles - 1) / tiles, unit) : unit;
    t.position_tiles = (job->positions + t.position_tile - 1) / t.position_tile;
    t.units = t.position_tiles * others;
    t.row_bytes = panel_bytes(plan, job->terms);
    t.group_bytes = t.row_bytes * t.row_tiles;
    return t;
}

/* ---- The weight ---- */

/* Packs tiles of rows of the weight until none is left. */
static void pack_rows(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const int64_t units = w->cut.row_tiles * plan->problem.of.conv.groups;
    const int64_t element = (int64_t)plan->set.products->element;
    (void)task;
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= units || bp__stops(&w->stop)) {
            return;
        }
        const int64_t group = unit / w->cut.row_tiles, start = unit % w->cut.row_tiles * plan->row_tile;
        const int64_t count = bp__least(plan->row_tile, job->rows - start);
        const char *from =
            w->weight + group * plan->problem.of.conv.out_channels * plan->problem.of.conv.w_out * element;
        char *to = w->packed + unit * w->cut.row_bytes;
        for (int64_t k0 = 0; k0 < job->terms; k0 += plan->set.products->k_block) {
            const int64_t k = block_of(plan, job->terms - k0);
            bp__conv_pack_weight(job, &plan->set, from, !plan->positions_are_v, start, count, k0, k, to);
            to += panel_bytes(plan, k);
        }
    }
}

/* ---- Tiles ---- */

/* A tile of the result, and the panels of both operands: `image_block` and `weight_block` bytes for each block of
 * terms but the last. */
typedef struct tile {
    int64_t start, positions, group, row, rows;
    const char *image, *weights;
    int64_t image_block, weight_block;
} tile;

/* Packs the terms k0 to k0 + k of a tile's positions. */
static void pack_image(const call *w, const tile *t, int64_t k0, int64_t k, char *panels) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t image_group =
        plan->problem.op == BP_OP_CONV ? c->in_channels * c->x_channel : c->out_channels * c->y_channel;
    const char *image = w->image + t->group * image_group * (int64_t)plan->set.products->element;
    bp__conv_gather(&w->job, &plan->set, image, plan->positions_are_v, t->start, t->positions, k0, k, panels);
}

/* Sets the view of all sums of a tile. */
static bp__native_view view_of(const prepared *plan, const tile *t, char *sums) {
    bp__native_view view = {.p = plan->positions_are_v ? t->positions : t->rows,
                            .q = plan->positions_are_v ? t->rows : t->positions,
                            .c = sums,
                            .c_p = 1,
                            .alpha = {1, 0}};
    view.c_q = bp__conv_round_up(view.p, plan->set.products->lanes);
    return view;
}

/* Returns how many positions from `index` on are in one row of the result, at most `most`. */
static int64_t run_length(const bp__conv_job *job, const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t most) {
    return bp__least(job->axis[BP_MAX_CONV_NDIM - 1].grid - index[BP_MAX_CONV_NDIM], most);
}

static int64_t result_at(const bp__conv_job *job, const int64_t index[1 + BP_MAX_CONV_NDIM]) {
    int64_t at = job->origin + index[0] * job->result_batch;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        at += index[1 + d] * job->axis[d].result;
    }
    return at;
}

/* Writes sums to the result: the sums of a tile's rows, or of its positions, whichever the vectors follow, from `first`
 * on. */
static void write_sums(const call *w, const tile *t, const bp__native_view *view, int64_t first) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const bool by_rows = plan->positions_are_v;
    const int64_t element = (int64_t)plan->set.products->element, sum = (int64_t)plan->set.products->sum;
    const int64_t start = t->start + (by_rows ? first : 0), positions = by_rows ? view->p : view->q;
    const int64_t row = t->row + (by_rows ? 0 : first), rows = by_rows ? view->q : view->p;
    const int64_t bias_step = plan->problem.of.conv.bias, channel = t->group * job->rows + row;
    const char *bias = w->bias ? w->bias + channel * bias_step * element : NULL;
    for (int64_t done = 0; done < positions;) {
        int64_t index[1 + BP_MAX_CONV_NDIM];
        bp__conv_position(job, start + done, index);
        const int64_t run = run_length(job, index, positions - done);
        const int64_t step = job->axis[BP_MAX_CONV_NDIM - 1].result;
        char *to = w->result + (result_at(job, index) + channel * job->result_channel) * element;
        plan->set.own->finish(&(bp__conv_results){
            .n = by_rows ? run : rows,
            .runs = by_rows ? rows : run,
            .to = to,
            .to_run = by_rows ? job->result_channel : step,
            .to_step = by_rows ? step : job->result_channel,
            .sums = (const char *)view->c + done * (by_rows ? 1 : view->c_q) * sum,
            .sums_run = view->c_q,
            .bias = bias,
            .bias_run = by_rows ? bias_step : 0,
            .bias_step = by_rows ? 0 : bias_step,
            .relu = plan->problem.of.conv.relu != 0,
        });
        done += run;
    }
}

/* Lets the kernels write the sums of a panel of rows to the result, if they have its type and its positions have equal
 * distances. Returns whether they do. */
static bool write_directly(const call *w, const tile *t, bp__native_view *view, int64_t first) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t element = (int64_t)plan->set.products->element, channel = t->group * job->rows + t->row + first;
    int64_t index[1 + BP_MAX_CONV_NDIM];
    bp__conv_position(job, t->start, index);
    if (plan->set.own != plan->set.plain || job->result_channel != 1 || (c->has_bias && c->bias != 1) ||
        (c->relu && !c->has_bias) || run_length(job, index, t->positions) < t->positions) {
        return false;
    }
    view->c = w->result + (result_at(job, index) + channel) * element;
    view->c_q = job->axis[BP_MAX_CONV_NDIM - 1].result;
    return true;
}

/* Computes the function of the results of a panel of rows, which are contiguous. */
static void activate(const call *w, const tile *t, int64_t first, int64_t rows) {
    const bp__conv_job *job = &w->job;
    const int64_t element = (int64_t)w->plan->set.products->element, channel = t->group * job->rows + t->row + first;
    const int64_t step = job->axis[BP_MAX_CONV_NDIM - 1].result * element;
    for (int64_t done = 0; done < t->positions;) {
        int64_t index[1 + BP_MAX_CONV_NDIM];
        bp__conv_position(job, t->start + done, index);
        const int64_t run = run_length(job, index, t->positions - done);
        char *to = w->result + (result_at(job, index) + channel) * element;
        for (int64_t i = 0; i < run; i++, to += step) {
            w->plan->function(rows, to, to, NULL);
        }
        done += run;
    }
}

/* Computes a tile panel by panel: the sums of one panel stay in the first-level cache until they are written. The
 * positions of all terms are packed before. */
static void compute_panels(const call *w, tile *t, char *panels, char *sums) {
    const prepared *plan = w->plan;
    const bp__native_kernels *kernels = plan->set.products;
    const int64_t terms = w->job.terms;
    for (int64_t k0 = 0; k0 < terms; k0 += kernels->k_block) {
        pack_image(w, t, k0, block_of(plan, terms - k0), panels + k0 / kernels->k_block * t->image_block);
    }
    const bp__native_view all = view_of(plan, t, sums);
    for (int64_t first = 0; first < all.p;) {
        const int width = bp__conv_v_width(kernels, all.p - first);
        bp__native_view view = all;
        view.p = bp__least(width, all.p - first);
        view.c_q = width;
        const bool directly = terms > 0 && write_directly(w, t, &view, first);
        for (int64_t k0 = 0; k0 < terms; k0 += kernels->k_block) {
            const char *image = panels + k0 / kernels->k_block * t->image_block;
            const char *weights = t->weights + k0 / kernels->k_block * t->weight_block;
            view.k = block_of(plan, terms - k0);
            view.v = (plan->positions_are_v ? image : weights) +
                     first * bp__conv_depth(kernels, view.k) * (int64_t)kernels->packed;
            view.s = plan->positions_are_v ? weights : image;
            if (directly && k0 + view.k == terms && w->bias) {
                view.bias = w->bias + (t->group * w->job.rows + t->row + first) * (int64_t)kernels->sum;
                view.relu = plan->problem.of.conv.relu != 0;
            }
            kernels->block(&view);
            view.beta[0] = 1;
        }
        if (terms == 0) {
            memset(sums, 0, (size_t)(view.c_q * view.q) * kernels->sum);
        }
        if (!directly) {
            write_sums(w, t, &view, first);
        }
        if (plan->function) {
            activate(w, t, first, view.p);
        }
        first += view.p;
    }
}

/* Computes a tile block of terms by block of terms, with all its sums in memory. */
static void compute_blocks(const call *w, tile *t, char *panels, char *sums) {
    const prepared *plan = w->plan;
    bp__native_view view = view_of(plan, t, sums);
    for (int64_t k0 = 0; k0 < w->job.terms; k0 += plan->set.products->k_block) {
        const char *weights = t->weights + k0 / plan->set.products->k_block * t->weight_block;
        view.k = block_of(plan, w->job.terms - k0);
        pack_image(w, t, k0, view.k, panels);
        view.v = plan->positions_are_v ? panels : weights;
        view.s = plan->positions_are_v ? weights : panels;
        plan->set.products->block(&view);
        view.beta[0] = 1;
    }
    if (w->job.terms == 0) {
        memset(sums, 0, (size_t)(view.c_q * view.q) * plan->set.products->sum);
    }
    write_sums(w, t, &view, 0);
}

static void compute_tile(const call *w, int64_t unit, char *panels, char *sums) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const int64_t start = unit % w->cut.position_tiles * w->cut.position_tile, full = block_of(plan, job->terms);
    unit /= w->cut.position_tiles;
    const int64_t index = unit % w->cut.row_tiles, group = unit / w->cut.row_tiles, row = index * plan->row_tile;
    tile t = {.start = start,
              .positions = bp__least(w->cut.position_tile, job->positions - start),
              .group = group,
              .row = row,
              .rows = bp__least(plan->row_tile, job->rows - row),
              .weights = w->packed + group * w->cut.group_bytes + index * w->cut.row_bytes,
              .image_block = image_bytes(plan, full),
              .weight_block = panel_bytes(plan, full)};
    (plan->by_panels ? compute_panels : compute_blocks)(w, &t, panels, sums);
}

static void compute_tiles(void *context, int task) {
    call *w = context;
    char *panels = w->scratch + (size_t)task * (w->plan->image_bytes + w->plan->sums_bytes);
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= w->cut.units || bp__stops(&w->stop)) {
            return;
        }
        compute_tile(w, unit, panels, panels + w->plan->image_bytes);
    }
}

static void share(call *w, bp_task task) {
    const prepared *plan = w->plan;
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, task, w);
    } else {
        task(w, 0);
    }
}

/* ---- Packed weights ---- */

/* Packs the weights of all jobs, one after another. */
static void pack_all(call *w) {
    char *const begin = w->packed;
    for (int64_t i = 0; i < w->plan->jobs && !bp__stopped(&w->stop); i++) {
        job_of(w->plan, i, &w->job);
        w->cut = cut(w->plan, &w->job);
        share(w, pack_rows);
        w->packed += w->cut.group_bytes * w->plan->problem.of.conv.groups;
    }
    w->packed = begin;
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    (void)operand; /* dispatch only passes operands in bp_verdict.packs */
    bp__conv_packed *packed = NULL;
    const bp_status status = bp__conv_packed_new(plan->host, plan->weight_bytes, &packed);
    if (status != BP_OK) {
        return status;
    }
    call w = {.plan = plan,
              .weight = bp_operand_address(source),
              .packed = packed->panels,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    pack_all(&w);
    *result = &packed->base;
    return bp__stop_status(&w.stop); /* the caller also destroys the result after a failure */
}

/* ---- Calls ---- */

static bp_status run_conv_product(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { IMAGE, WEIGHT, BIAS, RESULT };
    const prepared *plan = (const prepared *)self;
    const bp__conv_packed *given = exec->packed ? (const bp__conv_packed *)exec->packed[WEIGHT] : NULL;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.plan = plan,
              .image = bp_operand_address(&operands[IMAGE]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .bias = plan->problem.of.conv.has_bias ? bp_operand_address(&operands[BIAS]) : NULL,
              .result = bp_operand_address(&operands[RESULT]),
              .packed = workspace,
              .scratch = workspace + plan->weight_bytes,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (given) {
        w.packed = given->panels;
    } else {
        pack_all(&w);
    }
    for (int64_t i = 0; i < plan->jobs && !bp__stopped(&w.stop); i++) {
        job_of(plan, i, &w.job);
        w.cut = cut(plan, &w.job);
        share(&w, compute_tiles);
        w.packed += w.cut.group_bytes * plan->problem.of.conv.groups;
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Returns the rows of a tile: as many as the sums' memory allows, in tiles of similar size, and at least as many tiles
 * as threads if there are few positions. Where the weight is read for each tile of positions, rows are divided further
 * rather than positions. */
static int64_t rows_of_tile(const prepared *plan, const bp__conv_job *job) {
    const int64_t unit = row_unit(plan), panels = (job->rows + unit - 1) / unit;
    const int64_t fit = SUMS_BYTES / (most_positions(plan) * (int64_t)plan->set.products->sum) / unit;
    const int64_t position_tiles = (job->positions + most_positions(plan) - 1) / most_positions(plan);
    const int64_t others = position_tiles * plan->problem.of.conv.groups;
    int64_t tiles = plan->by_panels ? 1 : fit > 0 ? (panels + fit - 1) / fit : panels;
    const int64_t least = plan->by_panels && plan->threads > 1 ? 2 * plan->threads : plan->threads;
    while (tiles * others < least && 2 * tiles <= panels) {
        tiles *= 2;
    }
    return (panels + tiles - 1) / tiles * unit;
}

/* Adds up the packed weights of all jobs. Returns false if they exceed memory. */
static bool size_weights(prepared *plan) {
    int64_t bytes = 0, groups = plan->problem.of.conv.groups;
    for (int64_t i = 0; i < plan->jobs; i++) {
        bp__conv_job job;
        int64_t own;
        job_of(plan, i, &job);
        const int64_t rows = bp__conv_round_up(job.rows, plan->row_tile);
        if (__builtin_mul_overflow(rows * (int64_t)plan->set.products->packed,
                                   bp__conv_depth(plan->set.products, job.terms), &own) ||
            __builtin_mul_overflow(own, groups, &own) || __builtin_add_overflow(bytes, own, &bytes)) {
            return false;
        }
    }
    plan->weight_bytes = (size_t)bp__conv_round_up(bytes, 64);
    return bytes < INT64_MAX / 2;
}

static int64_t most_terms(const prepared *plan) {
    int64_t most = 0;
    for (int64_t i = 0; i < plan->jobs; i++) {
        bp__conv_job job;
        job_of(plan, i, &job);
        most = job.terms > most ? job.terms : most;
    }
    return most;
}

bp_status bp__conv_plan_product(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                                bp_prepared **result) {
    const bp_conv_problem *c = &problem->of.conv;
    bp__conv_job job;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base =
        (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_conv_product, .destroy = destroy, .pack = pack};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->jobs = bp__conv_jobs(problem);
    job_of(plan, 0, &job);
    const int64_t step = job.axis[BP_MAX_CONV_NDIM - 1].result;
    /* Vectors follow the direction in which the result is contiguous. */
    plan->positions_are_v = job.result_channel != 1 && (step == 1 || job.axis[BP_MAX_CONV_NDIM - 1].grid > 1);
    const int64_t most = most_terms(plan);
    plan->terms = most;
    plan->by_panels = !plan->positions_are_v && most > 0 && image_bytes(plan, most) <= TERMS_BYTES;
    plan->row_tile = rows_of_tile(plan, &job);
    if (!size_weights(plan)) {
        host->release(plan);
        return host->fail(BP_E_OVERFLOW, "the packed weight of %lld channels exceeds 64 bits",
                          (long long)(c->groups * c->out_channels));
    }
    const int64_t positions = bp__conv_round_up(most_positions(plan), set->products->lanes);
    const int64_t rows =
        plan->by_panels ? set->products->p_panel : bp__conv_round_up(plan->row_tile, set->products->lanes);
    plan->image_bytes = (size_t)bp__conv_round_up(image_bytes(plan, plan->by_panels ? most : block_of(plan, most)), 64);
    plan->sums_bytes = (size_t)bp__conv_round_up(positions * rows * (int64_t)set->products->sum, 64);
    plan->base.workspace = plan->weight_bytes + (size_t)threads * (plan->image_bytes + plan->sums_bytes);
    *result = &plan->base;
    if (c->activation && plan->by_panels && job.result_channel == 1 && set->own == set->plain) {
        plan->function = bp__element_function(host, problem, c->activation, (bp_dtype)problem->dtype);
    } else if (c->activation) {
        const bp_status status = bp__conv_plan_activation(host, problem, threads, &plan->base, result);
        if (status != BP_OK) {
            host->release(plan);
        }
        return status;
    }
    return BP_OK;
}
