/* winograd.c - runs convolutions with kernels of 3x3 by Winograd's algorithm.
 *
 * The weight is transformed once for a call, or beforehand, and shared by all threads. Threads take units: a block of
 * tiles and some rows. For each unit a thread transforms the image into panels, multiplies 36 pairs of matrices, and
 * transforms the products back, all in its own memory. Each result is the same whatever the other tiles of its unit
 * are, so units and threads do not change it, nor does the position in the batch. */
#include "winograd.h"

#include <stdatomic.h>
#include <string.h>

enum {
    CHANNELS = 32, /* channels of a weight that one thread transforms at once */
    ROWS = 64      /* most rows */
};

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__winograd_set set;
    bp__conv_job job;
    bp__winograd_cut cut;
    int threads;
    int64_t unit_floats, group_floats; /* of packed weights: the rows of a unit, and a group */
    size_t weight_bytes, thread_bytes;
} prepared;

typedef struct call {
    const prepared *plan;
    const float *image, *weight, *bias;
    float *result, *packed;
    char *scratch;
    _Atomic int64_t next;
    bp__stop stop;
} call;

static int64_t row_panel(const prepared *plan) {
    return plan->cut.tiles_are_v ? plan->set.products->q_panel : plan->set.products->p_panel;
}

/* Returns the elements between packed matrices of the weight, for k channels. */
static int64_t weight_matrix(const prepared *plan, int64_t k) {
    return bp__winograd_apart(bp__conv_round_up(plan->cut.rows, row_panel(plan)) * k);
}

/* Returns the elements before the matrices of channel k0, which is the first of a block. */
static int64_t weights_before(const prepared *plan, int64_t k0) {
    const int64_t block = plan->set.products->k_block;
    return k0 / block * weight_matrix(plan, block) * BP__WINOGRAD_PRODUCTS;
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

/* ---- The weight ---- */

/* Transforms `count` rows of one channel, and zeros up to `lanes`, into columns of panels of all products. */
static void pack_column(const prepared *plan, const float *from, int64_t count, int64_t lanes, float *to, int64_t width,
                        int64_t k) {
    enum { TAPS = BP__WINOGRAD_TAPS };
    const bp__conv_axis *down = &plan->job.axis[1], *right = &plan->job.axis[2];
    float taps[TAPS * TAPS * ROWS];
    for (int t = 0; t < TAPS * TAPS; t++) {
        /* Taps of CONV_INPUT go backwards through the image, so the kernel is mirrored. */
        const int64_t r = down->change < 0 ? TAPS - 1 - t / TAPS : t / TAPS;
        const int64_t c = right->change < 0 ? TAPS - 1 - t % TAPS : t % TAPS;
        const float *tap = from + down->weight_first + right->weight_first + r * down->weight + c * right->weight;
        for (int64_t i = 0; i < lanes; i++) {
            taps[t * lanes + i] = i < count ? tap[i * plan->job.weight_row] : 0;
        }
    }
    plan->set.own->weight(lanes, taps, lanes, to, weight_matrix(plan, k), width, width * k);
}

/* Transforms some channels, from c of the block of k channels, for the rows of a unit. */
static void pack_channels(const prepared *plan, const float *from, int64_t rows, int64_t c, int64_t some, int64_t k,
                          float *to) {
    const bp__native_kernels *products = plan->set.products;
    for (int64_t row = 0; row < rows;) {
        const int64_t width = plan->cut.tiles_are_v ? products->q_panel : bp__conv_v_width(products, rows - row);
        const int64_t most = plan->cut.tiles_are_v ? ROWS / 2 / width * width : width; /* several panels of S at once */
        const int64_t count = bp__least(rows - row, most), lanes = bp__conv_round_up(count, width);
        for (int64_t i = c; i < c + some; i++) {
            pack_column(plan, from + row * plan->job.weight_row + i * plan->job.weight_channel, count, lanes,
                        to + row * k + i * width, width, k);
        }
        row += count;
    }
}

/* Transforms channels until none are left. A unit of work is some channels of one block, for the rows of a unit. */
static void pack_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t block = plan->set.products->k_block, parts = (block + CHANNELS - 1) / CHANNELS;
    const int64_t blocks = (plan->job.channels + block - 1) / block;
    const int64_t units = c->groups * plan->cut.row_blocks * blocks * parts;
    (void)task;
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= units || bp__stops(&w->stop)) {
            return;
        }
        const int64_t part = unit % parts * CHANNELS, k0 = unit / parts % blocks * block;
        const int64_t row = unit / parts / blocks % plan->cut.row_blocks * plan->cut.rows;
        const int64_t group = unit / parts / blocks / plan->cut.row_blocks;
        const int64_t k = bp__least(block, plan->job.channels - k0);
        if (part < k) {
            const float *from = w->weight + group * c->out_channels * c->w_out + row * plan->job.weight_row +
                                k0 * plan->job.weight_channel;
            float *to = w->packed + group * plan->group_floats + row / plan->cut.rows * plan->unit_floats +
                        weights_before(plan, k0);
            pack_channels(plan, from, bp__least(plan->cut.rows, plan->job.rows - row), part,
                          bp__least(CHANNELS, k - part), k, to);
        }
    }
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    bp__conv_packed *packed = NULL;
    (void)operand; /* dispatch only passes operands in bp_verdict.packs */
    const bp_status status = bp__conv_packed_new(plan->host, plan->weight_bytes, &packed);
    if (status != BP_OK) {
        return status;
    }
    call w = {.plan = plan,
              .weight = bp_operand_address(source),
              .packed = (float *)(void *)packed->panels,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    share(&w, pack_units);
    *result = &packed->base;
    return bp__stop_status(&w.stop); /* the caller also destroys the result after a failure */
}

/* ---- Units ---- */

/* Multiplies the 36 pairs of matrices of one block of channels, and adds them to the sums unless it is the first. */
static void multiply(const prepared *plan, const bp__winograd_unit *unit, const float *weights, int64_t k, bool first) {
    const bool tiles_are_v = plan->cut.tiles_are_v;
    const int64_t matrix = bp__winograd_panels(unit, k), product = bp__winograd_sums_product(unit);
    bp__native_view view = {.p = tiles_are_v ? unit->tiles : unit->rows,
                            .q = tiles_are_v ? unit->rows : unit->tiles,
                            .k = k,
                            .c_p = 1,
                            .c_q = bp__winograd_sums_step(unit),
                            .alpha = {1, 0},
                            .beta = {!first, 0}};
    for (int e = 0; e < BP__WINOGRAD_PRODUCTS; e++) {
        const float *image = unit->memory->panels + e * matrix, *weight = weights + e * weight_matrix(plan, k);
        view.v = tiles_are_v ? image : weight;
        view.s = tiles_are_v ? weight : image;
        view.c = unit->memory->sums + e * product;
        plan->set.products->block(&view);
    }
}

static void compute_unit(call *w, int64_t index, const bp__winograd_memory *memory) {
    const prepared *plan = w->plan;
    const bp__conv_job *job = &plan->job;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t block = index % plan->cut.blocks, row_block = index / plan->cut.blocks % plan->cut.row_blocks;
    const int64_t group = index / plan->cut.blocks / plan->cut.row_blocks, row = row_block * plan->cut.rows;
    const int64_t start = block * plan->cut.block, channel = group * job->rows + row;
    const float *weights = w->packed + group * plan->group_floats + row_block * plan->unit_floats;
    const bp__winograd_unit unit = {.job = job,
                                    .set = &plan->set,
                                    .cut = &plan->cut,
                                    .memory = memory,
                                    .image = w->image + group * job->channels * job->image_channel,
                                    .result = w->result + channel * job->result_channel,
                                    .bias = w->bias ? memory->bias : NULL,
                                    .relu = c->relu != 0,
                                    .tiles = bp__least(plan->cut.block, plan->cut.tiles - start),
                                    .rows = bp__least(plan->cut.rows, job->rows - row)};
    for (int64_t i = 0; w->bias && i < unit.rows; i++) {
        memory->bias[i] = w->bias[(channel + i) * c->bias];
    }
    bp__winograd_locate(&unit, start);
    for (int64_t k0 = 0; k0 < job->channels; k0 += plan->set.products->k_block) {
        const int64_t k = bp__least(plan->set.products->k_block, job->channels - k0);
        bp__winograd_image(&unit, k0, k);
        multiply(plan, &unit, weights + weights_before(plan, k0), k, k0 == 0);
    }
    bp__winograd_result(&unit);
}

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    bp__winograd_memory memory;
    bp__winograd_memory_at(&plan->cut, plan->set.products, plan->job.channels,
                           w->scratch + (size_t)task * plan->thread_bytes, &memory);
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= plan->cut.units || bp__stops(&w->stop)) {
            return;
        }
        compute_unit(w, unit, &memory);
    }
}

/* ---- Calls ---- */

static bp_status run_winograd(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { IMAGE, WEIGHT, BIAS, RESULT };
    const prepared *plan = (const prepared *)self;
    const bp__conv_packed *given = exec->packed ? (const bp__conv_packed *)exec->packed[WEIGHT] : NULL;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.plan = plan,
              .image = bp_operand_address(&operands[IMAGE]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .bias = plan->problem.of.conv.has_bias ? bp_operand_address(&operands[BIAS]) : NULL,
              .result = bp_operand_address(&operands[RESULT]),
              .packed = (float *)(void *)(given ? given->panels : workspace),
              .scratch = workspace + plan->weight_bytes,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (!given) {
        share(&w, pack_units);
    }
    if (!bp__stopped(&w.stop)) {
        share(&w, compute_units);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Computes the sizes of packed weights. Returns false if they exceed memory. */
static bool size_weights(prepared *plan) {
    const int64_t block = plan->set.products->k_block, groups = plan->problem.of.conv.groups;
    const int64_t whole = plan->job.channels / block * block;
    int64_t floats;
    /* A matrix of one row and one channel is the one that grows most: 36 lines. */
    if (__builtin_mul_overflow(bp__conv_round_up(plan->job.rows, row_panel(plan)) + 16, plan->job.channels, &floats) ||
        __builtin_mul_overflow(floats, 32 * BP__WINOGRAD_PRODUCTS * (int64_t)sizeof(float), &floats) ||
        __builtin_mul_overflow(floats, groups, &floats)) {
        return false;
    }
    plan->unit_floats =
        weights_before(plan, whole) + weight_matrix(plan, plan->job.channels - whole) * BP__WINOGRAD_PRODUCTS;
    plan->group_floats = plan->unit_floats * plan->cut.row_blocks;
    plan->weight_bytes = (size_t)bp__conv_round_up(plan->group_floats * groups * (int64_t)sizeof(float), 64);
    return true;
}

bp_status bp__winograd_plan(const bp_host *host, const bp_problem *problem, const bp__winograd_set *set, int threads,
                            bp_prepared **result) {
    const bp_conv_problem *c = &problem->of.conv;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base =
        (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_winograd, .destroy = destroy, .pack = pack};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    bp__conv_job_of(problem, 0, &plan->job);
    bp__winograd_cut_for(problem, &plan->job, set->products, threads, &plan->cut);
    if (!size_weights(plan)) {
        host->release(plan);
        return host->fail(BP_E_OVERFLOW, "the packed weight of %lld channels exceeds 64 bits",
                          (long long)(c->groups * c->out_channels));
    }
    plan->thread_bytes = bp__winograd_memory_bytes(&plan->cut, set->products, plan->job.channels);
    plan->base.workspace = plan->weight_bytes + (size_t)threads * plan->thread_bytes;
    *result = &plan->base;
    return BP_OK;
}
