/* run.c - plans and runs reductions. */
#include "work.h"

#include <math.h>

typedef struct prepared {
    bp__reduce_work work;
    const bp__reduce_kernels *kernels;
    size_t indices; /* offset of the workspace's indices */
} prepared;

/* Values and indices of the lanes of an item; of one part if there are several. */
typedef struct state {
    const bp__reduce_kernels *kernels;
    int64_t *indices; /* behind the values; not used unless positions are asked for */
    _Alignas(64) char values[BP__REDUCE_WIDE * 8];
} state;

_Static_assert(BP__REDUCE_WIDE_POSITIONS *(8 + sizeof(int64_t)) <= BP__REDUCE_WIDE * 8, "no space for the indices");
_Static_assert(BP__REDUCE_WIDE_MOMENTS * sizeof(bp__reduce_moments) <= BP__REDUCE_WIDE * 8, "no space for moments");

typedef struct call {
    bp__reduce_call base;
    char *values;     /* of all parts: a value for each result */
    int64_t *indices; /* likewise */
} call;

static void add(void *context, const bp__reduce_piece *piece) {
    state *s = context;
    s->kernels->add(piece, s->values, s->indices);
}

static void add_rows(void *context, const bp__reduce_piece *piece) {
    state *s = context;
    s->kernels->add_rows(piece, s->values, s->indices);
}

/* Returns what the joined value of a result is divided by. */
static double divisor_of(const bp_problem *problem, const bp__reduce_cut *cut) {
    const bp_reduce_problem *p = &problem->of.reduce;
    if (problem->op == BP_OP_VARIANCE) {
        return fmax((double)cut->reduced - p->correction, 0);
    }
    return p->kind == BP_REDUCE_MEAN ? (double)cut->reduced : 1;
}

static void store(const prepared *plan, const call *w, const bp__reduce_item *item, const void *values,
                  const int64_t *indices) {
    const bp_reduce_problem *p = &plan->work.problem.of.reduce;
    const int64_t stride = p->kept_ndim > 0 ? p->y[p->kept_ndim - 1] : 0;
    plan->kernels->store(item->lanes, values, indices,
                         w->base.operand[1] + item->offset[1] * (int64_t)plan->work.cut.output, stride,
                         p->output == BP_I64, divisor_of(&plan->work.problem, &plan->work.cut));
}

static void compute(bp__reduce_call *base, int64_t index, int64_t part, int task) {
    const prepared *plan = (const prepared *)base->work;
    call *w = (call *)base;
    const bp__reduce_cut *cut = &plan->work.cut;
    const bp_reduce_problem *p = &plan->work.problem.of.reduce;
    const bp__reduce_item item = bp__reduce_item_at(p, cut, index);
    state s;
    (void)task;
    s.kernels = plan->kernels;
    s.indices = (int64_t *)(void *)(s.values + (size_t)BP__REDUCE_WIDE_POSITIONS * 8);
    s.kernels->clear(cut->columns ? item.lanes * cut->fold : BP__REDUCE_LANES, s.values, s.indices);
    bp__reduce_walk(p, cut, &item, part, base->operand, &base->stop, cut->rows ? add_rows : add, &s);
    /* The lanes of a result: LANES of a row, or `fold` rows of the columns. */
    for (int64_t half = (cut->columns ? cut->fold : BP__REDUCE_LANES) / 2; half > 0; half /= 2) {
        const int64_t lanes = half * (cut->columns ? item.lanes : 1);
        s.kernels->merge(lanes, s.values, s.indices, s.values + (size_t)lanes * s.kernels->value, s.indices + lanes);
    }
    if (cut->parts == 1) {
        store(plan, w, &item, s.values, s.indices);
        return;
    }
    const int64_t at = part * cut->results + item.result;
    memcpy(w->values + (size_t)at * s.kernels->value, s.values, (size_t)item.lanes * s.kernels->value);
    if (bp__reduce_is_position(&plan->work.problem)) {
        memcpy(w->indices + at, s.indices, (size_t)item.lanes * sizeof *s.indices);
    }
}

/* Joins the parts of all items, in their order. */
static void join(const prepared *plan, const call *w) {
    const bp__reduce_cut *cut = &plan->work.cut;
    const bp__reduce_kernels *kernels = plan->kernels;
    for (int64_t part = 1; part < cut->parts; part++) {
        kernels->merge(cut->results, w->values, w->indices, w->values + (size_t)(part * cut->results) * kernels->value,
                       w->indices + part * cut->results);
    }
    for (int64_t i = 0; i < cut->items; i++) {
        const bp__reduce_item item = bp__reduce_item_at(&plan->work.problem.of.reduce, cut, i);
        store(plan, w, &item, w->values + (size_t)item.result * kernels->value, w->indices + item.result);
    }
}

static bp_status run_reduction(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.values = workspace};
    bp__reduce_call_begin(&w.base, &plan->work, operands);
    if (workspace) {
        w.indices = (int64_t *)(void *)(workspace + plan->indices);
    }
    bp__reduce_stage(&w.base, compute);
    if (plan->work.cut.parts > 1 && !bp__stopped(&w.base.stop)) {
        join(plan, &w);
    }
    return bp__stop_status(&w.base.stop);
}

bp_status bp__reduce_plan(const bp_host *host, const bp_problem *problem, const bp__reduce_set *set, int threads,
                          bp_prepared **result) {
    prepared *plan = bp__reduce_work_new(host, problem, sizeof *plan, threads, run_reduction);
    if (!plan) {
        return BP_E_NO_MEMORY;
    }
    plan->kernels = bp__reduce_kernels_of(set, problem);
    const bp__reduce_cut *cut = &plan->work.cut;
    if (cut->parts > 1) {
        const size_t values = (size_t)(cut->parts * cut->results);
        plan->indices = (values * plan->kernels->value + 63) / 64 * 64;
        plan->work.base.workspace = plan->indices + values * sizeof(int64_t);
    }
    *result = &plan->work.base;
    return BP_OK;
}
