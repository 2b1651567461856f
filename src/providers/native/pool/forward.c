/* forward.c - plans and runs pooling. A unit of work is a row of outputs: of one channel, or of all channels if these
 * are contiguous. */
#include "forward.h"

#include <string.h>

static void compute_unit(const bp__pool_forward_call *w, int64_t unit) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t channels = plan->by_channels ? 1 : p->channels;
    bp__pool_outputs row;
    row.out[1] = unit % p->out[1];
    unit /= p->out[1];
    row.out[0] = unit % p->out[0];
    unit /= p->out[0];
    const int64_t channel = unit % channels, item = unit / channels;
    row.x = item * p->x_batch + channel * p->x_channel;
    row.y = item * p->y_batch + channel * p->y_channel + row.out[0] * p->y[0] + row.out[1] * p->y[1];
    row.i = item * p->i_batch + channel * p->i_channel + row.out[0] * p->i[0] + row.out[1] * p->i[1];
    if (plan->rows == BP__POOL_CHANNELS) {
        bp__pool_channels(w, &row);
    } else {
        bp__pool_any(w, &row, 0, p->out[LAST]);
    }
}

static void compute_units(void *context, int task) {
    bp__pool_forward_call *w = context;
    const bp__pool_forward *plan = w->plan;
    char *workspace = w->workspace + (size_t)task * plan->thread_bytes;
    for (;;) {
        const int64_t first = atomic_fetch_add_explicit(&w->next, plan->chunk, memory_order_relaxed);
        if (first >= plan->units || bp__stops(&w->stop)) {
            return;
        }
        for (int64_t unit = first; unit < bp__least(first + plan->chunk, plan->units); unit++) {
            if (plan->rows == BP__POOL_POSITIONS) {
                bp__pool_positions(w, unit, workspace);
            } else {
                compute_unit(w, unit);
            }
        }
    }
}

static bp_status run_pool_forward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { X, Y, INDICES };
    const bp__pool_forward *plan = (const bp__pool_forward *)self;
    bp__pool_forward_call w = {.plan = plan,
                               .x = bp_operand_address(&operands[X]),
                               .y = bp_operand_address(&operands[Y]),
                               .indices =
                                   plan->problem.of.pool.has_indices ? bp_operand_address(&operands[INDICES]) : NULL,
                               .workspace = bp_operand_address(&exec->workspace),
                               .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_units, &w);
    } else {
        compute_units(&w, 0);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((bp__pool_forward *)self)->host->release(self);
}

/* Whether a row of the image is read in order, each element once: a copy would take longer than it saves. */
static bool reads_once(const bp_pool_problem *p, const bp__pool_kernels *kernels) {
    return kernels->sum == kernels->element && p->x[LAST] == 1 && p->padding[LAST] == 0 && p->dilation[LAST] == 1 &&
           p->stride[LAST] > 1 && p->stride[LAST] >= p->kernel[LAST];
}

/* Kernels of runs count places in 31 bits. Short rows of one channel have sums of their own order in any.c, so the
 * choice between it and vectors of positions depends on the problem only. */
bp__pool_rows bp__pool_choose_rows(const bp_pool_problem *p, const bp__pool_kernels *kernels) {
    enum { SHORT = 4 };
    const bool reaches_out = !p->adaptive && p->kernel[LAST] > p->in[LAST] + 2 * p->padding[LAST];
    if (p->in[0] * p->in[1] * p->in[LAST] >= INT32_MAX || reaches_out) { /* the others need memory for each tap */
        return BP__POOL_ANY;
    }
    if (bp__pool_by_channels(p) && p->channels >= kernels->lanes) {
        return BP__POOL_CHANNELS;
    }
    return !p->adaptive && p->out[LAST] >= SHORT && !reads_once(p, kernels) ? BP__POOL_POSITIONS : BP__POOL_ANY;
}

static void set_taps(bp__pool_forward *plan) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    for (int64_t t = 0; plan->rows == BP__POOL_CHANNELS && t < plan->taps; t++) {
        plan->tap[plan->taps + t] = t * (p->adaptive ? 1 : p->dilation[LAST]);
        plan->tap[t] = plan->tap[plan->taps + t] * p->x[LAST];
    }
}

bp_status bp__pool_plan_forward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                int threads, bp_prepared **result) {
    bp__pool_forward head = {.host = host, .problem = *problem, .kernels = kernels, .threads = threads};
    const bp_pool_problem *p = &head.problem.of.pool;
    bp__pool_simplify(&head.problem.of.pool);
    head.taps = p->adaptive ? p->in[LAST] : p->kernel[LAST];
    head.rows = bp__pool_choose_rows(p, kernels);
    head.by_channels = head.rows != BP__POOL_POSITIONS && bp__pool_by_channels(p);
    const int64_t numbers = (head.rows == BP__POOL_ANY ? 0 : 2 * head.taps) +
                            (head.rows == BP__POOL_POSITIONS ? p->out[LAST] + kernels->lanes : 0);
    const size_t bytes = sizeof head + (size_t)numbers * sizeof(int64_t);
    bp__pool_forward *plan = host->allocate(bytes);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", bytes);
    }
    *plan = head;
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_pool_forward, .destroy = destroy};
    plan->average = problem->op == BP_OP_AVG_POOL;
    plan->units = p->batch * (plan->by_channels ? 1 : p->channels) * p->out[0] * p->out[1];
    set_taps(plan);
    bp__pool_inner(p, &plan->low, &plan->high);
    if (plan->rows == BP__POOL_POSITIONS) {
        bp__pool_plan_positions(plan);
    }
    const double results = (double)p->out[LAST] * (double)(plan->by_channels ? p->channels : 1);
    const double window =
        p->adaptive ? (double)p->in[LAST] : (double)p->kernel[0] * (double)p->kernel[1] * (double)p->kernel[2];
    const double rows = plan->rows == BP__POOL_POSITIONS ? (double)plan->block : 1;
    plan->chunk = bp__stop_chunk(results * window * rows, plan->units / (8 * threads) + 1);
    *result = &plan->base;
    return BP_OK;
}
