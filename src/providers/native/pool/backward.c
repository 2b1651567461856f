/* backward.c - runs the gradients of maxima, and of averages that spread.c does not compute.
 *
 * A unit of work is one channel of an item, or a block of contiguous channels. Its gradients are added up in the order
 * of the outputs: in the result, if that has the type of sums and its places are equally far apart, otherwise in a
 * plane of sums, which is then rounded once. */
#include "pool.h"

#include "providers/native/stop.h"

#include <string.h>

enum {
    LAST = BP_MAX_CONV_NDIM - 1,
    BLOCK = 16,
    LEAST_VECTOR = 16
}; /* the last position; most channels of a unit; bytes */
/* Bytes of the sums of a block. Maxima have few places in the cache at a time, whatever the block is. */
#define AVERAGE_BYTES ((int64_t)1 << 20)
#define MAXIMUM_BYTES ((int64_t)1 << 24)

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__pool_kernels *kernels;
    int threads;
    bool average;
    bool direct;                  /* sums are in the result */
    int64_t block, blocks, units; /* channels of a unit, units of an item, and units */
    int64_t step;                 /* numbers between the sums of places */
    int64_t places;               /* elements of a channel */
    size_t sums_bytes;            /* of one thread */
    int64_t low, high;            /* outputs of a row with complete windows */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *y;
    const int64_t *indices;
    char *x, *workspace;
    _Atomic int64_t next;
    atomic_bool bad_index;
    bp__stop stop;
} call;

/* The gradients that a unit reads, and the places that it writes. */
typedef struct unit {
    int64_t channels, x, y, i; /* elements before the first one */
    char *sums;
} unit;

/* ---- Averages ---- */

/* Adds the gradients of n outputs of a row; the first is `out`. */
static void spread(const call *w, const unit *u, const int64_t out[BP_MAX_CONV_NDIM], int64_t n) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element, sum = (int64_t)plan->kernels->sum;
    const bool block = plan->block > 1;
    int64_t at = u->y;
    bp__pool_window window[BP_MAX_CONV_NDIM];
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        window[d] = bp__pool_window_of(p, d, out[d]);
        at += out[d] * p->y[d];
    }
    const double divisor = bp__pool_divisor(p, window);
    const bp__pool_row row = {.n = block ? u->channels : n,
                              .step = block ? 1 : p->stride[LAST],
                              .taps = window[LAST].count,
                              .tap_step = window[LAST].step * plan->block};
    for (int64_t a = 0; a < window[0].count; a++) {
        for (int64_t b = 0; b < window[1].count; b++) {
            const int64_t place =
                ((window[0].first + a) * p->in[1] + window[1].first + b) * p->in[LAST] + window[LAST].first;
            plan->kernels->spread(&row, u->sums + place * plan->block * sum, w->y + at * element,
                                  block ? 1 : p->y[LAST], divisor);
        }
    }
}

static void spread_row(const call *w, const unit *u, int64_t out[BP_MAX_CONV_NDIM]) {
    const prepared *plan = w->plan;
    const int64_t outs = plan->problem.of.pool.out[LAST];
    for (out[LAST] = 0; out[LAST] < outs;) {
        const bool inner = plan->block == 1 && out[LAST] >= plan->low && out[LAST] < plan->high;
        const int64_t n = inner ? plan->high - out[LAST] : 1;
        spread(w, u, out, n);
        out[LAST] += n;
    }
}

/* ---- Maxima ---- */

static bool scatter_row(const call *w, const unit *u, int64_t out[BP_MAX_CONV_NDIM]) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t y = u->y + out[0] * p->y[0] + out[1] * p->y[1], i = u->i + out[0] * p->i[0] + out[1] * p->i[1];
    const int64_t element = (int64_t)plan->kernels->element;
    if (plan->block == 1) {
        return plan->kernels->scatter(p->out[LAST], u->sums, plan->step, 0, w->y + y * element, p->y[LAST],
                                      w->indices + i, p->i[LAST], plan->places);
    }
    for (int64_t o = 0; o < p->out[LAST]; o++) {
        if (!plan->kernels->scatter(u->channels, u->sums, plan->step, 1, w->y + (y + o * p->y[LAST]) * element, 1,
                                    w->indices + i + o * p->i[LAST], 1, plan->places)) {
            return false;
        }
    }
    return true;
}

/* ---- Units ---- */

/* Rounds the sums to the gradient. */
static void store(const call *w, const unit *u) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element, sum = (int64_t)plan->kernels->sum;
    const char *from = u->sums;
    for (int64_t a = 0; a < p->in[0]; a++) {
        for (int64_t b = 0; b < p->in[1]; b++) {
            const int64_t at = u->x + a * p->x[0] + b * p->x[1];
            if (plan->block == 1) {
                plan->kernels->store(p->in[LAST], w->x + at * element, p->x[LAST], from, 1);
                from += p->in[LAST] * sum;
                continue;
            }
            for (int64_t c = 0; c < p->in[LAST]; c++, from += plan->block * sum) {
                plan->kernels->store(u->channels, w->x + (at + c * p->x[LAST]) * element, 1, from, 1);
            }
        }
    }
}

/* Sets the sums to 0. Memory between the places of a result is not written. */
static void clear(const prepared *plan, const unit *u) {
    const size_t sum = plan->kernels->sum;
    const int64_t channels = plan->direct ? u->channels : plan->block;
    if (channels == plan->step) {
        memset(u->sums, 0, (size_t)(plan->places * plan->step) * sum);
        return;
    }
    for (int64_t i = 0; i < plan->places; i++) {
        memset(u->sums + i * plan->step * (int64_t)sum, 0, (size_t)channels * sum);
    }
}

static bool add_gradients(const call *w, const unit *u) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    int64_t out[BP_MAX_CONV_NDIM] = {0};
    clear(plan, u);
    for (out[0] = 0; out[0] < p->out[0]; out[0]++) {
        for (out[1] = 0; out[1] < p->out[1]; out[1]++) {
            if (plan->average) {
                spread_row(w, u, out);
            } else if (!scatter_row(w, u, out)) {
                return false;
            }
        }
    }
    return true;
}

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    for (;;) {
        const int64_t index = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (index >= plan->units || bp__stops(&w->stop)) {
            return;
        }
        const int64_t item = index / plan->blocks, channel = index % plan->blocks * plan->block;
        unit u = {.channels = bp__least(p->channels - channel, plan->block),
                  .x = item * p->x_batch + channel * p->x_channel,
                  .y = item * p->y_batch + channel * p->y_channel,
                  .i = item * p->i_batch + channel * p->i_channel,
                  .sums = w->workspace + (size_t)task * plan->sums_bytes};
        if (plan->direct) {
            u.sums = w->x + u.x * (int64_t)plan->kernels->element;
        }
        if (!add_gradients(w, &u)) {
            atomic_store_explicit(&w->bad_index, true, memory_order_relaxed);
            return;
        }
        if (!plan->direct) {
            store(w, &u);
        }
    }
}

static bp_status run_pool_backward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call w = {.plan = plan,
              .y = bp_operand_address(&operands[0]),
              .indices = plan->average ? NULL : bp_operand_address(&operands[1]),
              .x = bp_operand_address(&operands[plan->average ? 1 : 2]),
              .workspace = bp_operand_address(&exec->workspace),
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_units, &w);
    } else {
        compute_units(&w, 0);
    }
    if (atomic_load_explicit(&w.bad_index, memory_order_relaxed)) {
        return plan->host->fail(BP_E_ARGUMENT,
                                "max_pool_backward: an index is outside of its channel, which has %lld elements; "
                                "indices are those that the maximum gave",
                                (long long)plan->places);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* Whether the places of a channel are equally far apart in memory, in the order of their numbers. */
static bool in_line(const bp_pool_problem *p) {
    const int64_t row = p->in[LAST] * p->x[LAST];
    return (p->in[LAST] == 1 ? p->in[0] * p->in[1] == 1 : p->x[LAST] > 0) && (p->in[1] == 1 || p->x[1] == row) &&
           (p->in[0] == 1 || p->x[0] == p->in[1] * row);
}

/* Returns the channels of a block of sums: as many as fit, but more than one. */
static int64_t channels_of_block(const prepared *plan) {
    const int64_t most = plan->average ? AVERAGE_BYTES : MAXIMUM_BYTES, sum = (int64_t)plan->kernels->sum;
    int64_t block = bp__least(plan->problem.of.pool.channels, BLOCK);
    while (block > 2 && plan->places * block * sum > most) {
        block = (block + 1) / 2;
    }
    return block;
}

/* Chooses the channels of a unit. Each channel is computed in the same way, whatever unit it belongs to. Blocks add the
 * gradients of averages in the order of spread.c, which some instruction sets use for as many channels as the smallest
 * vectors have. */
static void cut(prepared *plan) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    const bool vectors = !plan->average || p->channels * (int64_t)plan->kernels->sum >= LEAST_VECTOR;
    plan->direct = !plan->average && plan->kernels->sum == plan->kernels->element && in_line(p);
    plan->block = bp__pool_by_channels(p) && vectors ? channels_of_block(plan) : 1;
    if (plan->direct && plan->block > 1) { /* whole rows of memory, as long as there are units for all threads */
        const int64_t share = (p->channels + plan->threads - 1) / plan->threads;
        plan->block = p->batch >= plan->threads ? p->channels : (share + BLOCK - 1) / BLOCK * BLOCK;
    }
    plan->step = plan->direct ? p->x[LAST] : plan->block;
    plan->blocks = (p->channels + plan->block - 1) / plan->block;
    plan->units = p->batch * plan->blocks;
    plan->sums_bytes = plan->direct ? 0 : ((size_t)(plan->places * plan->block) * plan->kernels->sum + 63) / 64 * 64;
    plan->base.workspace = (size_t)plan->threads * plan->sums_bytes;
}

bp_status bp__pool_plan_backward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                 int threads, bp_prepared **result) {
    const bp_pool_problem *p = &problem->of.pool;
    const int64_t places = p->in[0] * p->in[1] * p->in[LAST];
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_pool_backward, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->kernels = kernels;
    plan->threads = threads;
    plan->average = problem->op == BP_OP_AVG_POOL_BACKWARD;
    plan->places = places;
    cut(plan);
    bp__pool_inner(p, &plan->low, &plan->high);
    *result = &plan->base;
    return BP_OK;
}
