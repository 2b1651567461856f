/* run.c - runs batch normalization: statistics or sums of each channel, then the elements.
 *
 * The values of a channel are cut into blocks. A unit of work is a part of the blocks (statistics) or one block
 * (elements), of one channel or of a chunk of contiguous ones. */
#include "batch_norm.h"

#include "providers/native/stop.h"

#include <math.h>
#include <string.h>

enum {
    LANES = 16,   /* positions of one channel that are added up side by side */
    CHUNK = 256,  /* most channels of a unit */
    FEW = 64,     /* positions of a block of a chunk */
    MANY = 1024,  /* positions of a block of one channel */
    LONG = 16384, /* the same without statistics, whose order of additions depends on the blocks */
    MOST_PARTS = 64,
    SHARES = 4,       /* a thread takes units at least so often, so that all end together */
    FEW_CHANNELS = 8, /* fewer leave most lanes of a vector without work; of 16-bit types twice as many */
    LAST = BP_MAX_NORM_NDIM - 1
};

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__batch_norm_set set;
    int threads;
    bool by_channels;
    int64_t values;                       /* of a channel */
    int64_t chunk, chunks;                /* channels of a unit, and units side by side */
    int64_t block, row_blocks, blocks;    /* positions of a block, blocks of a row, and all blocks of a channel */
    int64_t parts, part;                  /* parts, and blocks of one */
    size_t numbers_bytes;                 /* of one array of numbers */
    size_t counts_offset, partial_offset; /* of the counts and the partial results in the workspace */
} prepared;

/* One half of a partial result, for each part and channel. */
enum { MEAN_OR_SUM, SQUARES_OR_PRODUCT, HALVES };

typedef struct call {
    const prepared *plan;
    char *operand[BP_NORM_OPERANDS]; /* NULL: absent */
    const char *x, *y, *g;
    void *numbers[BP__BATCH_NORM_NUMBERS];
    bool has_rest;   /* some center lost something when it was rounded */
    bool twice;      /* inverse deviation and weight are applied one after the other: FACTOR and SCALE */
    double *center;  /* the means of BATCH_NORM_BACKWARD; the first values of BATCH_NORM_TRAINING */
    double *counts;  /* BATCH_NORM_TRAINING: the values of each part */
    double *partial; /* HALVES rows for each part */
    _Atomic int64_t next;
    bp__stop stop;
} call;

bool bp__batch_norm_by_channels(const bp_problem *problem) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    const int64_t few = problem->dtype < BP_F32 ? 2 * FEW_CHANNELS : FEW_CHANNELS;
    return p->channels >= few && p->x_channel == 1 && p->y_channel == 1 && p->g_channel == 1;
}

/* ---- Parameters and numbers ---- */

static double parameter(const call *w, int operand, int64_t channel, double absent) {
    const bp__batch_norm_kernels *kernels = w->plan->set.parameters;
    const int64_t at = channel * w->plan->problem.of.batch_norm.stride[operand] * (int64_t)kernels->element;
    return w->operand[operand] ? kernels->load(w->operand[operand] + at) : absent;
}

static void write_parameter(const call *w, int operand, int64_t channel, double value) {
    const bp__batch_norm_kernels *kernels = w->plan->set.parameters;
    const int64_t at = channel * w->plan->problem.of.batch_norm.stride[operand] * (int64_t)kernels->element;
    if (w->operand[operand]) {
        kernels->store(w->operand[operand] + at, value);
    }
}

static double inverse_root(const call *w, double variance) {
    return 1 / sqrt(variance + w->plan->problem.of.batch_norm.eps);
}

/* Sets the numbers of a channel, whose mean is the sum of two. */
static void set_numbers(call *w, int64_t channel, const double mean[2], double inverse_std, double weight, double shift,
                        double slope) {
    const bp__batch_norm_kernels *kernels = w->plan->set.images;
    const double rest = bp__batch_norm_rest(kernels, mean[0], mean[1]), scale = inverse_std * weight;
    const double values[BP__BATCH_NORM_NUMBERS] = {[BP__BATCH_NORM_CENTER] = mean[0] + mean[1],
                                                   [BP__BATCH_NORM_REST] = rest,
                                                   [BP__BATCH_NORM_SCALE] = scale,
                                                   [BP__BATCH_NORM_SHIFT] = shift,
                                                   [BP__BATCH_NORM_FACTOR] = inverse_std,
                                                   [BP__BATCH_NORM_SLOPE] = slope};
    for (int i = 0; i < BP__BATCH_NORM_NUMBERS; i++) {
        kernels->set(w->numbers[i], channel, values[i]);
    }
    w->has_rest |= rest != 0;
    w->twice |= !bp__batch_norm_has_scale(kernels, scale);
}

/* If the scale of some channel is no normal number, all have its factors. */
static void split_scales(const call *w, int weight) {
    for (int64_t c = 0; w->twice && c < w->plan->problem.of.batch_norm.channels; c++) {
        w->plan->set.images->set(w->numbers[BP__BATCH_NORM_SCALE], c, parameter(w, weight, c, 1));
    }
}

/* ---- Blocks ---- */

/* One block of a unit: its channels, and where its elements are. */
typedef struct block {
    int64_t channel, channels, positions;
    int64_t x, y, g; /* elements before the first one */
} block;

static block block_of(const prepared *plan, int64_t chunk, int64_t index) {
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    const int64_t from = index % plan->row_blocks * plan->block, channel = chunk * plan->chunk;
    block b = {.channel = channel,
               .channels = bp__least(plan->chunk, p->channels - channel),
               .positions = bp__least(plan->block, p->size[LAST] - from),
               .x = channel * p->x_channel + from * p->x[LAST],
               .y = channel * p->y_channel + from * p->y[LAST],
               .g = channel * p->g_channel + from * p->g[LAST]};
    index /= plan->row_blocks;
    for (int d = LAST - 1; d >= 0; d--) {
        if (p->size[d] == 1) {
            continue; /* divisions take long */
        }
        b.x += index % p->size[d] * p->x[d];
        b.y += index % p->size[d] * p->y[d];
        b.g += index % p->size[d] * p->g[d];
        index /= p->size[d];
    }
    return b;
}

/* A grid whose lanes are `lanes` positions of one channel, or the channels. */
static bp__batch_norm_grid grid_of(const prepared *plan, const char *base, int64_t at, int64_t stride, int64_t lanes) {
    const char *first = base + at * (int64_t)plan->set.images->element;
    return plan->by_channels ? (bp__batch_norm_grid){first, 1, stride}
                             : (bp__batch_norm_grid){first, stride, lanes * stride};
}

/* ---- Statistics ---- */

static void merge_channels(const call *w, const block *b, bp__batch_norm_moments *all) {
    double mean[CHUNK], squares[CHUNK];
    const bp__batch_norm_grid x = grid_of(w->plan, w->x, b->x, w->plan->problem.of.batch_norm.x[LAST], 0);
    w->plan->set.images->moments(b->channels, b->positions, &x, w->center + b->channel, 1, mean, squares);
    for (int64_t c = 0; c < b->channels; c++) {
        bp__batch_norm_merge(&all[c], (bp__batch_norm_moments){(double)b->positions, mean[c], squares[c]});
    }
}

/* Adds the positions of a block to the moments of one channel, in lanes; the rest is a lane of its own. */
static void merge_positions(const call *w, const block *b, bp__batch_norm_moments *all) {
    double mean[LANES], squares[LANES];
    const double *center = w->center + b->channel;
    const int64_t stride = w->plan->problem.of.batch_norm.x[LAST], count = b->positions / LANES;
    const int64_t rest = b->positions - count * LANES;
    if (count > 0) {
        const bp__batch_norm_grid x = grid_of(w->plan, w->x, b->x, stride, LANES);
        w->plan->set.images->moments(LANES, count, &x, center, 0, mean, squares);
        for (int l = 0; l < LANES; l++) {
            bp__batch_norm_merge(all, (bp__batch_norm_moments){(double)count, mean[l], squares[l]});
        }
    }
    if (rest > 0) {
        const bp__batch_norm_grid x = grid_of(w->plan, w->x, b->x + count * LANES * stride, stride, 1);
        w->plan->set.images->moments(1, rest, &x, center, 0, mean, squares);
        bp__batch_norm_merge(all, (bp__batch_norm_moments){(double)rest, mean[0], squares[0]});
    }
}

static double *partial_of(const call *w, int64_t part, int half) {
    return w->partial + (part * HALVES + half) * w->plan->problem.of.batch_norm.channels;
}

/* Returns how many values of a channel a part has. */
static int64_t values_of(const prepared *plan, int64_t part) {
    int64_t values = 0;
    for (int64_t i = part * plan->part; i < bp__least((part + 1) * plan->part, plan->blocks); i++) {
        values += block_of(plan, 0, i).positions;
    }
    return values;
}

static void compute_statistics(call *w, int64_t chunk, int64_t part) {
    const prepared *plan = w->plan;
    bp__batch_norm_moments all[CHUNK];
    memset(all, 0, sizeof all);
    const int64_t end = bp__least((part + 1) * plan->part, plan->blocks);
    for (int64_t i = part * plan->part; i < end; i++) {
        const block b = block_of(plan, chunk, i);
        (plan->by_channels ? merge_channels : merge_positions)(w, &b, all);
    }
    const block b = block_of(plan, chunk, 0);
    for (int64_t c = 0; c < b.channels; c++) {
        partial_of(w, part, MEAN_OR_SUM)[b.channel + c] = all[c].mean;
        partial_of(w, part, SQUARES_OR_PRODUCT)[b.channel + c] = all[c].squares;
    }
}

/* ---- Sums of gradients ---- */

static void compute_sums(call *w, int64_t chunk, int64_t part) {
    const prepared *plan = w->plan;
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    double sum[CHUNK] = {0}, product[CHUNK] = {0};
    const int64_t end = bp__least((part + 1) * plan->part, plan->blocks);
    for (int64_t i = part * plan->part; i < end; i++) {
        const block b = block_of(plan, chunk, i);
        const double *center = w->center + b.channel;
        const int64_t lanes = plan->by_channels ? b.channels : LANES,
                      count = plan->by_channels ? b.positions : b.positions / LANES;
        const int64_t done = plan->by_channels ? b.positions : count * LANES;
        const bp__batch_norm_grid x = grid_of(plan, w->x, b.x, p->x[LAST], LANES),
                                  y = grid_of(plan, w->y, b.y, p->y[LAST], LANES);
        plan->set.images->sums(lanes, count, &y, &x, center, plan->by_channels, sum, product);
        if (done < b.positions) {
            const bp__batch_norm_grid rest_x = grid_of(plan, w->x, b.x + done * p->x[LAST], p->x[LAST], 1),
                                      rest_y = grid_of(plan, w->y, b.y + done * p->y[LAST], p->y[LAST], 1);
            plan->set.images->sums(1, b.positions - done, &rest_y, &rest_x, center, 0, sum, product);
        }
    }
    for (int l = 1; l < LANES && !plan->by_channels; l++) {
        sum[0] += sum[l];
        product[0] += product[l];
    }
    const block b = block_of(plan, chunk, 0);
    memcpy(partial_of(w, part, MEAN_OR_SUM) + b.channel, sum, (size_t)b.channels * sizeof *sum);
    memcpy(partial_of(w, part, SQUARES_OR_PRODUCT) + b.channel, product, (size_t)b.channels * sizeof *product);
}

/* ---- Elements ---- */

static void compute_elements(call *w, int64_t chunk, int64_t index) {
    const prepared *plan = w->plan;
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    const block b = block_of(plan, chunk, index);
    const int64_t lanes = plan->by_channels ? b.channels : b.positions, count = plan->by_channels ? b.positions : 1;
    const bp__batch_norm_grid x = grid_of(plan, w->x, b.x, p->x[LAST], 0), y = grid_of(plan, w->y, b.y, p->y[LAST], 0);
    const void *numbers[BP__BATCH_NORM_NUMBERS];
    for (int i = 0; i < BP__BATCH_NORM_NUMBERS; i++) {
        const bool absent = !w->twice && (i == BP__BATCH_NORM_FACTOR || (i == BP__BATCH_NORM_REST && !w->has_rest));
        numbers[i] = absent ? NULL : (const char *)w->numbers[i] + b.channel * (int64_t)plan->set.images->number;
    }
    if (plan->problem.op == BP_OP_BATCH_NORM_BACKWARD) {
        const bp__batch_norm_grid g = grid_of(plan, w->g, b.g, p->g[LAST], 0);
        plan->set.images->gradient(lanes, count, &g, &y, &x, numbers, plan->by_channels);
    } else {
        plan->set.images->apply(lanes, count, &y, &x, numbers, plan->by_channels, p->relu != 0);
    }
}

/* ---- Units and threads ---- */

typedef struct stage {
    call *w;
    void (*compute)(call *w, int64_t chunk, int64_t index);
    int64_t indexes, units, grain; /* of each chunk; of all; units that a thread takes at once */
} stage;

static void compute_units(void *context, int task) {
    const stage *s = context;
    call *w = s->w;
    (void)task;
    for (;;) {
        const int64_t first = atomic_fetch_add_explicit(&w->next, s->grain, memory_order_relaxed);
        if (first >= s->units || bp__stops(&w->stop)) {
            return;
        }
        for (int64_t unit = first; unit < bp__least(first + s->grain, s->units); unit++) {
            s->compute(w, unit / s->indexes, unit % s->indexes);
        }
    }
}

/* Runs the units of a stage: of all chunks, so many indexes. */
static void run_stage(call *w, void (*compute)(call *w, int64_t chunk, int64_t index), int64_t indexes) {
    const prepared *plan = w->plan;
    const int64_t units = plan->chunks * indexes, share = units / (SHARES * plan->threads) + 1;
    const double values = (double)plan->values / (double)(indexes + 1) * (double)plan->chunk;
    stage s = {w, compute, indexes, units, bp__stop_chunk(values, share)};
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    if (bp__stopped(&w->stop)) {
        return;
    }
    if (w->plan->threads > 1) {
        w->plan->host->parallel(w->plan->threads, w->plan->threads, compute_units, &s);
    } else {
        compute_units(&s, 0);
    }
}

/* ---- Passes ---- */

static void run_inference(call *w) {
    enum { X, WEIGHT, BIAS, MEAN, VARIANCE };
    for (int64_t c = 0; c < w->plan->problem.of.batch_norm.channels; c++) {
        set_numbers(w, c, (const double[]){parameter(w, MEAN, c, 0), 0}, inverse_root(w, parameter(w, VARIANCE, c, 1)),
                    parameter(w, WEIGHT, c, 1), parameter(w, BIAS, c, 0), 0);
    }
    split_scales(w, WEIGHT);
    run_stage(w, compute_elements, w->plan->blocks);
}

static void finish_statistics(call *w) {
    enum { X, WEIGHT, BIAS, Y, MEAN, INVERSE_STD, RUNNING_MEAN, RUNNING_VAR };
    const prepared *plan = w->plan;
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    for (int64_t c = 0; c < p->channels; c++) {
        bp__batch_norm_moments all = {0};
        for (int64_t part = 0; part < plan->parts; part++) {
            bp__batch_norm_merge(&all, (bp__batch_norm_moments){w->counts[part], partial_of(w, part, MEAN_OR_SUM)[c],
                                                                partial_of(w, part, SQUARES_OR_PRODUCT)[c]});
        }
        const double variance = all.squares / all.count, inverse_std = inverse_root(w, variance), m = p->momentum;
        const double mean = w->center[c] + all.mean;
        write_parameter(w, MEAN, c, mean);
        write_parameter(w, INVERSE_STD, c, inverse_std);
        write_parameter(w, RUNNING_MEAN, c, (1 - m) * parameter(w, RUNNING_MEAN, c, 0) + m * mean);
        write_parameter(w, RUNNING_VAR, c,
                        (1 - m) * parameter(w, RUNNING_VAR, c, 0) + m * (all.squares / (all.count - 1)));
        set_numbers(w, c, (const double[]){w->center[c], all.mean}, inverse_std, parameter(w, WEIGHT, c, 1),
                    parameter(w, BIAS, c, 0), 0);
    }
    split_scales(w, WEIGHT);
}

/* The means of values near to each other are computed from the differences to one of them, so that they lose nothing.
 */
static void load_centers(const call *w) {
    const bp__batch_norm_kernels *kernels = w->plan->set.images;
    const bp_batch_norm_problem *p = &w->plan->problem.of.batch_norm;
    for (int64_t c = 0; c < p->channels; c++) {
        w->center[c] = kernels->load(w->x + c * p->x_channel * (int64_t)kernels->element);
    }
}

static void run_training(call *w) {
    load_centers(w);
    run_stage(w, compute_statistics, w->plan->parts);
    if (!bp__stopped(&w->stop)) {
        for (int64_t part = 0; part < w->plan->parts; part++) {
            w->counts[part] = (double)values_of(w->plan, part);
        }
        finish_statistics(w);
    }
    run_stage(w, compute_elements, w->plan->blocks);
}

static void run_backward(call *w) {
    enum { Y, X, WEIGHT, MEAN, SPREAD, G, WEIGHT_GRADIENT, BIAS_GRADIENT };
    const prepared *plan = w->plan;
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    for (int64_t c = 0; c < p->channels; c++) {
        w->center[c] = parameter(w, MEAN, c, 0);
    }
    run_stage(w, compute_sums, plan->parts);
    for (int64_t c = 0; c < p->channels && !bp__stopped(&w->stop); c++) {
        double sum = 0, product = 0;
        for (int64_t part = 0; part < plan->parts; part++) {
            sum += partial_of(w, part, MEAN_OR_SUM)[c];
            product += partial_of(w, part, SQUARES_OR_PRODUCT)[c];
        }
        const double spread = parameter(w, SPREAD, c, 1), inverse_std = p->constant ? inverse_root(w, spread) : spread;
        const double share = p->constant ? 0 : 1 / (double)plan->values;
        write_parameter(w, WEIGHT_GRADIENT, c, product * inverse_std);
        write_parameter(w, BIAS_GRADIENT, c, sum);
        const double slope = p->constant ? 0 : product * share * inverse_std * inverse_std;
        set_numbers(w, c, (const double[]){w->center[c], 0}, inverse_std, parameter(w, WEIGHT, c, 1),
                    p->constant ? 0 : sum * share, slope);
    }
    split_scales(w, WEIGHT);
    if (w->g) {
        run_stage(w, compute_elements, plan->blocks);
    }
}

static bp_status run_batch_norm(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { INFERENCE_Y = 5, TRAINING_Y = 3, BACKWARD_Y = 0, G = 5 };
    const prepared *plan = (const prepared *)self;
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    const bool backward = plan->problem.op == BP_OP_BATCH_NORM_BACKWARD;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.plan = plan, .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    for (int i = 0; i < BP_NORM_OPERANDS; i++) {
        w.operand[i] = p->present >> i & 1 ? bp_operand_address(&operands[i]) : NULL;
    }
    w.x = w.operand[backward];
    w.y = w.operand[plan->problem.op == BP_OP_BATCH_NORM ? INFERENCE_Y : backward ? BACKWARD_Y : TRAINING_Y];
    w.g = backward ? w.operand[G] : NULL;
    for (int i = 0; i < BP__BATCH_NORM_NUMBERS; i++) {
        w.numbers[i] = workspace + (size_t)i * plan->numbers_bytes;
    }
    w.center = (double *)(void *)(workspace + BP__BATCH_NORM_NUMBERS * plan->numbers_bytes);
    w.counts = (double *)(void *)(workspace + plan->counts_offset);
    w.partial = (double *)(void *)(workspace + plan->partial_offset);
    (plan->problem.op == BP_OP_BATCH_NORM ? run_inference : backward ? run_backward : run_training)(&w);
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

static size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static void cut(prepared *plan) {
    const bp_batch_norm_problem *p = &plan->problem.of.batch_norm;
    const int64_t rows = p->size[0] * p->size[1] * p->size[2];
    plan->by_channels = bp__batch_norm_by_channels(&plan->problem);
    plan->values = rows * p->size[LAST];
    plan->chunk = plan->by_channels ? CHUNK : 1;
    plan->chunks = (p->channels + plan->chunk - 1) / plan->chunk;
    plan->block = plan->by_channels ? FEW : plan->problem.op == BP_OP_BATCH_NORM ? LONG : MANY;
    plan->row_blocks = (p->size[LAST] + plan->block - 1) / plan->block;
    plan->blocks = rows * plan->row_blocks;
    const int64_t wanted = bp__least((MOST_PARTS + plan->chunks - 1) / plan->chunks, plan->blocks);
    plan->part = wanted > 0 ? (plan->blocks + wanted - 1) / wanted : 1;
    plan->parts = (plan->blocks + plan->part - 1) / plan->part;
}

bp_status bp__batch_norm_plan(const bp_host *host, const bp_problem *problem, const bp__batch_norm_set *set,
                              int threads, bp_prepared **result) {
    const size_t channels = (size_t)problem->of.batch_norm.channels;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_batch_norm, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    cut(plan);
    plan->numbers_bytes = whole_lines(channels * set->images->number);
    /* The centers of channels and the counts of parts are between the numbers and the partial results. */
    plan->counts_offset = BP__BATCH_NORM_NUMBERS * plan->numbers_bytes + whole_lines(channels * sizeof(double));
    plan->partial_offset = plan->counts_offset + whole_lines(MOST_PARTS * sizeof(double));
    plan->base.workspace = plan->partial_offset + (size_t)plan->parts * HALVES * channels * sizeof(double);
    *result = &plan->base;
    return BP_OK;
}
