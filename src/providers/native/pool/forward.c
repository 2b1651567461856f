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
    if (plan->runs) {
        bp__pool_channels(w, &row);
    } else {
        bp__pool_any(w, &row, 0, p->out[LAST]);
    }
}

static void compute_units(void *context, int task) {
    bp__pool_forward_call *w = context;
    const bp__pool_forward *plan = w->plan;
    (void)task;
    for (;;) {
        const int64_t first = atomic_fetch_add_explicit(&w->next, plan->chunk, memory_order_relaxed);
        if (first >= plan->units || bp__stops(&w->stop)) {
            return;
        }
        for (int64_t unit = first; unit < bp__pool_least(first + plan->chunk, plan->units); unit++) {
            compute_unit(w, unit);
        }
    }
}

static bp_status run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { X, Y, INDICES };
    const bp__pool_forward *plan = (const bp__pool_forward *)self;
    (void)exec;
    bp__pool_forward_call w = {.plan = plan,
                               .x = bp_operand_address(&operands[X]),
                               .y = bp_operand_address(&operands[Y]),
                               .indices =
                                   plan->problem.of.pool.has_indices ? bp_operand_address(&operands[INDICES]) : NULL,
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

/* Whether rows can be computed by the kernels of runs, which count places in 31 bits. */
static bool runs_of_channels(const bp_pool_problem *p, const bp__pool_kernels *kernels) {
    return p->channels >= kernels->lanes && p->in[0] * p->in[1] * p->in[LAST] < INT32_MAX;
}

bp_status bp__pool_plan_forward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                int threads, bp_prepared **result) {
    const bp_pool_problem *p = &problem->of.pool;
    const bool by_channels = bp__pool_by_channels(p), runs = by_channels && runs_of_channels(p, kernels);
    const int64_t taps = p->adaptive ? p->in[LAST] : p->kernel[LAST];
    const size_t bytes = sizeof(bp__pool_forward) + (runs ? 2 * (size_t)taps * sizeof(int64_t) : 0);
    bp__pool_forward *plan = host->allocate(bytes);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", bytes);
    }
    memset(plan, 0, bytes);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->kernels = kernels;
    plan->threads = threads;
    plan->average = problem->op == BP_OP_AVG_POOL;
    plan->by_channels = by_channels;
    plan->runs = runs;
    plan->taps = taps;
    for (int64_t t = 0; runs && t < taps; t++) {
        plan->tap[taps + t] = t * (p->adaptive ? 1 : p->dilation[LAST]);
        plan->tap[t] = plan->tap[taps + t] * p->x[LAST];
    }
    plan->units = p->batch * (plan->by_channels ? 1 : p->channels) * p->out[0] * p->out[1];
    const int64_t row = p->out[LAST] * (plan->by_channels ? p->channels : 1);
    const double window = p->adaptive ? (double)p->in[LAST] : (double)(p->kernel[0] * p->kernel[1] * p->kernel[2]);
    plan->chunk = bp__stop_chunk((double)row * window, plan->units / (8 * threads) + 1);
    bp__pool_inner(p, &plan->low, &plan->high);
    *result = &plan->base;
    return BP_OK;
}
