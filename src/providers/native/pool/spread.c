/* spread.c - runs the gradient of averages whose channels are contiguous.
 *
 * A place of the input has the sum of the divided gradients of all outputs whose windows contain it, in the order of
 * the outputs. These outputs are a window themselves. Rows of gradients are divided once and kept until the last row of
 * places that needs them. */
#include "pool.h"

#include "providers/native/stop.h"

#include <string.h>

enum { LAST = BP_MAX_CONV_NDIM - 1, ROWS = 16 }; /* the last position; rows of places of a unit */

typedef struct range {
    int64_t first, count;
} range;

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__pool_kernels *kernels;
    int threads;
    bool same;             /* all outputs have the same divisor */
    bool direct;           /* the same, and each place has one output at most */
    double divisor;        /* if `same` */
    int64_t most[2];       /* rows of outputs that a row of places needs, in the first dimensions */
    int64_t chunks, units; /* of rows */
    size_t row_bytes, divided_bytes, thread_bytes; /* of divided gradients: a row, and all; with a list of taps */
    range outputs[];                               /* of each place of the last dimension */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *y;
    char *x, *workspace;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* ---- Outputs of a place ---- */

static int64_t divide_up(int64_t a, int64_t b) {
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static range outputs_of(const bp_pool_problem *p, int d, int64_t place) {
    const int64_t in = p->in[d], out = p->out[d];
    int64_t first, end;
    if (p->adaptive) {
        first = place * out / in;
        end = divide_up((place + 1) * out, in);
    } else {
        first = divide_up(place + p->padding[d] - p->kernel[d] + 1, p->stride[d]);
        first = first < 0 ? 0 : first;
        end = bp__least((place + p->padding[d]) / p->stride[d] + 1, out);
    }
    return (range){first, end > first ? end - first : 0};
}

/* Returns the most outputs of a place. */
static int64_t most_outputs(const bp_pool_problem *p, int d) {
    if (p->adaptive) {
        return p->out[d] / p->in[d] + 2;
    }
    return bp__least((p->kernel[d] + p->stride[d] - 1) / p->stride[d], p->out[d]);
}

static bool same_divisors(const bp_pool_problem *p) {
    for (int d = 0; d < BP_MAX_CONV_NDIM && p->divisor == 0; d++) {
        const bp__pool_window first = bp__pool_window_of(p, d, 0), last = bp__pool_window_of(p, d, p->out[d] - 1);
        const int64_t one = p->exclude_padding ? first.count : first.size,
                      other = p->exclude_padding ? last.count : last.size;
        if (p->adaptive ? p->in[d] % p->out[d] != 0 : one != p->kernel[d] || other != p->kernel[d]) {
            return false;
        }
    }
    return true;
}

/* ---- Divided gradients ---- */

static char *row_of(const prepared *plan, char *workspace, int64_t o0, int64_t o1) {
    return workspace + (size_t)(o0 % plan->most[0] * plan->most[1] + o1 % plan->most[1]) * plan->row_bytes;
}

static void divide_row(const call *w, char *to, int64_t item, int64_t o0, int64_t o1) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const char *from = w->y + (item * p->y_batch + o0 * p->y[0] + o1 * p->y[1]) * (int64_t)plan->kernels->element;
    if (plan->same && (p->y[LAST] == p->channels || p->out[LAST] == 1)) {
        plan->kernels->divide(p->out[LAST] * p->channels, to, from, 1, plan->divisor);
        return;
    }
    bp__pool_window window[BP_MAX_CONV_NDIM] = {bp__pool_window_of(p, 0, o0), bp__pool_window_of(p, 1, o1)};
    for (int64_t out = 0; out < p->out[LAST]; out++) {
        window[LAST] = bp__pool_window_of(p, LAST, out);
        plan->kernels->divide(p->channels, to + (size_t)(out * p->channels) * plan->kernels->sum,
                              from + out * p->y[LAST] * (int64_t)plan->kernels->element, 1,
                              bp__pool_divisor(p, window));
    }
}

/* ---- Rows of places ---- */

/* A row of places: its outputs in the first dimensions, and its first element. */
typedef struct places {
    range outputs[2];
    int64_t item;
    char *x, *workspace;
} places;

/* Sets the taps of a run: the outputs of a place, from the first one on. */
static void set_taps(const prepared *plan, const places *row, bp__pool_run *run, const range *last, int64_t *tap) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    int64_t count = 0;
    for (int64_t a = 0; a < row->outputs[0].count; a++) {
        for (int64_t b = 0; b < row->outputs[1].count; b++) {
            const int64_t o0 = row->outputs[0].first + a, o1 = row->outputs[1].first + b;
            const int64_t at =
                plan->direct ? o0 * p->y[0] + o1 * p->y[1]
                             : (row_of(plan, row->workspace, o0, o1) - row->workspace) / (int64_t)plan->kernels->sum;
            for (int64_t t = 0; t < last->count; t++) {
                tap[count++] = at + (last->first + t) * run->x_step;
            }
        }
    }
    run->rows[0] = run->rows[1] = 1;
    run->taps = count;
    run->tap = tap;
}

static void compute_run(const call *w, const places *row, int64_t place, int64_t windows, int64_t step) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    int64_t *tap = (int64_t *)(void *)(row->workspace + plan->divided_bytes);
    bp__pool_run run = {.x = plan->direct ? w->y + row->item * p->y_batch * (int64_t)plan->kernels->element
                                          : row->workspace,
                        .y = row->x + place * p->x[LAST] * (int64_t)plan->kernels->element,
                        .lanes = p->channels,
                        .windows = windows,
                        .x_step = plan->direct ? p->y[LAST] : p->channels,
                        .y_step = step * p->x[LAST],
                        .divisor = plan->direct ? plan->divisor : 1};
    run.exact = bp__pool_is_power(run.divisor);
    set_taps(plan, row, &run, &plan->outputs[place], tap);
    (plan->direct ? plan->kernels->average_run : plan->kernels->sum_run)(&run);
}

/* Computes the places that are `stride` apart together, as far as they have equally many outputs. */
static void compute_row(const call *w, const places *row) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t step = p->adaptive ? 1 : p->stride[LAST], in = p->in[LAST];
    const range *outputs = plan->outputs;
    for (int64_t phase = 0; phase < step && phase < in; phase++) {
        for (int64_t place = phase, next; place < in; place = next) {
            int64_t windows = 1;
            for (next = place + step; next < in && outputs[next].count == outputs[place].count &&
                                      outputs[next].first == outputs[place].first + windows;
                 next += step) {
                windows++;
            }
            compute_run(w, row, place, windows, step);
        }
    }
}

static void compute_unit(const call *w, int64_t unit, char *workspace) {
    const prepared *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t first = unit % plan->chunks * ROWS, i0 = unit / plan->chunks % p->in[0],
                  item = unit / plan->chunks / p->in[0];
    places row = {.outputs = {outputs_of(p, 0, i0)}, .item = item, .workspace = workspace};
    int64_t done = outputs_of(p, 1, first).first; /* rows of outputs that are divided */
    for (int64_t i1 = first; i1 < bp__least(first + ROWS, p->in[1]); i1++) {
        row.outputs[1] = outputs_of(p, 1, i1);
        const int64_t end = row.outputs[1].first + row.outputs[1].count;
        done = done < row.outputs[1].first ? row.outputs[1].first : done;
        for (; !plan->direct && done < end; done++) {
            for (int64_t a = 0; a < row.outputs[0].count; a++) {
                const int64_t o0 = row.outputs[0].first + a;
                divide_row(w, row_of(plan, workspace, o0, done), item, o0, done);
            }
        }
        row.x = w->x + (item * p->x_batch + i0 * p->x[0] + i1 * p->x[1]) * (int64_t)plan->kernels->element;
        compute_row(w, &row);
    }
}

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= plan->units || bp__stops(&w->stop)) {
            return;
        }
        compute_unit(w, unit, w->workspace + (size_t)task * plan->thread_bytes);
    }
}

static bp_status run_pool_spread(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call w = {.plan = plan,
              .y = bp_operand_address(&operands[0]),
              .x = bp_operand_address(&operands[1]),
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
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

static size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

bool bp__pool_spreads(const bp_pool_problem *p, const bp__pool_kernels *kernels) {
    return bp__pool_by_channels(p) && p->channels >= kernels->lanes && p->out[0] * p->out[1] * p->out[LAST] > 0;
}

bp_status bp__pool_plan_spread(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                               int threads, bp_prepared **result) {
    const bp_pool_problem *p = &problem->of.pool;
    const size_t bytes = sizeof(prepared) + (size_t)p->in[LAST] * sizeof(range);
    prepared *plan = host->allocate(bytes);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", bytes);
    }
    memset(plan, 0, bytes);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_pool_spread, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->kernels = kernels;
    plan->threads = threads;
    const int64_t most[] = {most_outputs(p, 0), most_outputs(p, 1), most_outputs(p, LAST)};
    const bp__pool_window window[] = {bp__pool_window_of(p, 0, 0), bp__pool_window_of(p, 1, 0),
                                      bp__pool_window_of(p, LAST, 0)};
    plan->same = same_divisors(p);
    plan->direct = plan->same && most[0] * most[1] * most[LAST] == 1;
    plan->divisor = bp__pool_divisor(p, window);
    plan->most[0] = most[0];
    plan->most[1] = most[1];
    plan->chunks = (p->in[1] + ROWS - 1) / ROWS;
    plan->units = p->batch * p->in[0] * plan->chunks;
    plan->row_bytes = whole_lines((size_t)(p->out[LAST] * p->channels) * kernels->sum);
    plan->divided_bytes = plan->direct ? 0 : (size_t)(most[0] * most[1]) * plan->row_bytes;
    plan->thread_bytes = plan->divided_bytes + whole_lines((size_t)(most[0] * most[1] * most[LAST]) * sizeof(int64_t));
    plan->base.workspace = (size_t)threads * plan->thread_bytes;
    for (int64_t i = 0; i < p->in[LAST]; i++) {
        plan->outputs[i] = outputs_of(p, LAST, i);
    }
    *result = &plan->base;
    return BP_OK;
}
