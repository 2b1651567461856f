/* forward.c - runs pooling. A unit of work is a row of outputs: of one channel, or of all channels if vectors follow
 * them. */
#include "pool.h"

#include "providers/native/stop.h"

#include <string.h>

enum { RUN = 256, LAST = BP_MAX_CONV_NDIM - 1 }; /* results that are computed at once; the last position */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__pool_kernels *kernels;
    int threads;
    bool average, by_channels;
    int64_t units, chunk; /* rows, and how many a thread takes at once */
    int64_t low, high;    /* outputs of a row with complete windows */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *x;
    char *y;
    int64_t *indices;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* n results that are computed at once: those of n channels, or of n positions. */
typedef struct results {
    int64_t n, out[BP_MAX_CONV_NDIM];
    int64_t x, y, i;                /* elements before the first: of the image, and of both results */
    int64_t x_step, y_step, i_step; /* elements between results */
    int64_t shift;                  /* between the indices of equal taps */
} results;

/* Reads all rows of taps. Returns the index of the first tap, -1 if there is none. */
static int64_t read_taps(const call *w, const results *r, const bp__pool_window window[BP_MAX_CONV_NDIM], void *sums,
                         int64_t *which) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const bp__pool_window *last = &window[LAST];
    const bp__pool_row row = {r->n, r->x_step, last->count, last->step * p->x[LAST], last->step};
    const int64_t element = (int64_t)plan->kernels->element;
    const bool empty = window[0].count <= 0 || window[1].count <= 0 || last->count <= 0;
    const int64_t none = empty ? -1 : (window[0].first * p->in[1] + window[1].first) * p->in[LAST] + last->first;
    for (int64_t i = 0; which && i < r->n; i++) {
        which[i] = none;
    }
    for (int64_t a = 0; !empty && a < window[0].count; a++) {
        const int64_t i0 = window[0].first + a * window[0].step;
        for (int64_t b = 0; b < window[1].count; b++) {
            const int64_t i1 = window[1].first + b * window[1].step;
            const char *from = w->x + (r->x + i0 * p->x[0] + i1 * p->x[1] + last->first * p->x[LAST]) * element;
            if (plan->average) {
                plan->kernels->add(&row, sums, from);
            } else {
                plan->kernels->max(&row, sums, which, from, (i0 * p->in[1] + i1) * p->in[LAST] + last->first);
            }
        }
    }
    return none;
}

static void compute(const call *w, const results *r) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    bp__pool_window window[BP_MAX_CONV_NDIM];
    double sums[RUN]; /* of the type of sums */
    int64_t which[RUN];
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        window[d] = bp__pool_window_of(p, d, r->out[d]);
    }
    if (plan->average) {
        memset(sums, 0, (size_t)r->n * plan->kernels->sum);
    } else {
        plan->kernels->lowest(r->n, sums);
    }
    const int64_t first = read_taps(w, r, window, sums, w->indices ? which : NULL);
    plan->kernels->store(r->n, w->y + r->y * (int64_t)plan->kernels->element, r->y_step, sums,
                         plan->average ? bp__pool_divisor(p, window) : 1);
    const int64_t shift = first < 0 ? 0 : r->shift;
    for (int64_t i = 0; w->indices && i < r->n; i++) {
        w->indices[r->i + i * r->i_step] = which[i] + i * shift;
    }
}

/* Sets the outputs of a position in a row. */
static void move_to(const bp_pool_problem *p, const results *row, results *r, int64_t out) {
    r->out[LAST] = out;
    r->y = row->y + out * p->y[LAST];
    r->i = row->i + out * p->i[LAST];
}

static void compute_channels(const call *w, const results *row) {
    const bp_pool_problem *p = &w->plan->problem.of.pool;
    results r = *row;
    r.x_step = r.y_step = r.i_step = 1;
    for (int64_t out = 0; out < p->out[LAST]; out++) {
        for (int64_t channel = 0; channel < p->channels; channel += RUN) {
            move_to(p, row, &r, out);
            r.n = bp__pool_least(p->channels - channel, RUN);
            r.x = row->x + channel;
            r.y += channel;
            r.i += channel;
            compute(w, &r);
        }
    }
}

static void compute_positions(const call *w, const results *row) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    results r = *row;
    r.x_step = p->stride[LAST] * p->x[LAST];
    r.y_step = p->y[LAST];
    r.i_step = p->i[LAST];
    r.shift = p->stride[LAST];
    for (int64_t out = 0; out < p->out[LAST]; out += r.n) {
        r.n = out >= plan->low && out < plan->high ? bp__pool_least(plan->high - out, RUN) : 1;
        move_to(p, row, &r, out);
        compute(w, &r);
    }
}

static void compute_unit(const call *w, int64_t unit) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t channels = plan->by_channels ? 1 : p->channels;
    results row = {.n = 1};
    row.out[1] = unit % p->out[1];
    unit /= p->out[1];
    row.out[0] = unit % p->out[0];
    unit /= p->out[0];
    const int64_t channel = unit % channels, item = unit / channels;
    row.x = item * p->x_batch + channel * p->x_channel;
    row.y = item * p->y_batch + channel * p->y_channel + row.out[0] * p->y[0] + row.out[1] * p->y[1];
    row.i = item * p->i_batch + channel * p->i_channel + row.out[0] * p->i[0] + row.out[1] * p->i[1];
    if (plan->by_channels) {
        compute_channels(w, &row);
    } else {
        compute_positions(w, &row);
    }
}

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
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
    const prepared *plan = (const prepared *)self;
    (void)exec;
    call w = {.plan = plan,
              .x = bp_operand_address(&operands[X]),
              .y = bp_operand_address(&operands[Y]),
              .indices = plan->problem.of.pool.has_indices ? bp_operand_address(&operands[INDICES]) : NULL,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_units, &w);
    } else {
        compute_units(&w, 0);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

bp_status bp__pool_plan_forward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                int threads, bp_prepared **result) {
    const bp_pool_problem *p = &problem->of.pool;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->kernels = kernels;
    plan->threads = threads;
    plan->average = problem->op == BP_OP_AVG_POOL;
    plan->by_channels = bp__pool_by_channels(p);
    plan->units = p->batch * (plan->by_channels ? 1 : p->channels) * p->out[0] * p->out[1];
    const int64_t row = p->out[LAST] * (plan->by_channels ? p->channels : 1);
    const int64_t taps = p->adaptive ? p->in[LAST] : p->kernel[0] * p->kernel[1] * p->kernel[2];
    plan->chunk = bp__stop_chunk((double)row * (double)taps, plan->units / (8 * threads) + 1);
    bp__pool_inner(p, &plan->low, &plan->high);
    *result = &plan->base;
    return BP_OK;
}
