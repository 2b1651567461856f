/* batch.c - plans and runs batches of small matrices: threads take groups of items and run the kernels on them. Failed
 * items are reported. */
#include "small.h"

#include "providers/batch/batch.h"
#include "providers/native/stop.h"

#include <string.h>

/* State of one call. */
typedef struct call {
    const bp__small_plan *plan;
    void *const *operands;
    char *scratch;
    int64_t groups;
    _Atomic int64_t next;
    _Atomic int64_t failing; /* the first item that failed, with its info: see code_of() */
    bp__stop stop;
} call;

static void keep_least(_Atomic int64_t *least, int64_t value) {
    int64_t current = atomic_load_explicit(least, memory_order_relaxed);
    while (value < current && !atomic_compare_exchange_weak(least, &current, value)) {
    }
}

/* Returns item and info as one number; the numbers sort by item. */
static int64_t code_of(int64_t item, int info) {
    return item * 2 * BP__SMALL_MOST + info - BP_INFO_NON_FINITE;
}

/* Handles an item with NaN or infinity, or a failure. */
static void finish_item(call *work, bp__small_group *g, int64_t item, int lane) {
    const bp__small_plan *plan = work->plan;
    const bp_op op = (bp_op)plan->problem.op;
    const bool wrong = g->wrong >> lane & 1;
    const int info = wrong ? BP_INFO_NON_FINITE : g->info[lane];
    /* An item that did not converge has no result. If there is an info operand, outputs keep what LAPACK leaves there.
     */
    if (wrong || (info > 0 && bp__small_fails(op) && bp__small_info(op) < 0)) {
        char *at[BP_LINALG_OPERANDS];
        bp__item_locate(g->l, work->operands, item, at);
        bp__item_fill_nan(&plan->problem, bp__small_inputs(op), plan->info, at);
    }
    /* Without an info operand a zero pivot is a valid result (lu, det). */
    if (g->l->fail_on_item_error && info != 0 && (wrong || bp__small_fails(op))) {
        keep_least(&work->failing, code_of(item, info));
    }
}

/* Sets the addresses of the items of a group. Lanes beyond the batch get the last item. */
static void locate_group(const call *work, bp__small_group *g, int64_t first) {
    const int lanes = work->plan->kernels->lanes;
    for (int lane = 0; lane < lanes; lane++) {
        char *at[BP_LINALG_OPERANDS];
        bp__item_locate(g->l, work->operands, first + (lane < g->items ? lane : g->items - 1), at);
        for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
            g->at[i][lane] = at[i];
        }
    }
}

/* Sets the addresses for a batch with at most one dimension: they are a fixed step apart. */
static void step_group(const call *work, bp__small_group *g, int64_t first) {
    const int lanes = work->plan->kernels->lanes;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const int64_t step = work->plan->step[i];
        if (!g->l->operand[i].dtype) {
            continue;
        }
        char *at = (char *)work->operands[i] + first * step;
        for (int lane = 0; lane < lanes; lane++) {
            g->at[i][lane] = at;
            at += lane + 1 < g->items ? step : 0;
        }
    }
}

static void run_group(call *work, bp__small_group *g, int64_t first) {
    const bp__small_plan *plan = work->plan;
    const int64_t left = g->l->batch - first;
    g->items = left < plan->kernels->lanes ? (int)left : plan->kernels->lanes;
    g->wrong = 0;
    memset(g->info, 0, sizeof g->info);
    if (plan->stepped) {
        step_group(work, g, first);
    } else {
        locate_group(work, g, first);
    }
    g->step(g);
    unsigned failed = g->wrong;
    for (int lane = 0; lane < g->items; lane++) {
        failed |= (unsigned)(g->info[lane] != 0) << lane;
        if (plan->info >= 0) {
            *(int32_t *)(void *)g->at[plan->info][lane] = g->info[lane];
        }
    }
    for (int lane = 0; failed && lane < g->items; lane++) {
        finish_item(work, g, first + lane, lane);
    }
}

/* Both kernels take the same bytes, a multiple of a cache line. */
static size_t work_of(const bp__interleaved_kernels *kernels) {
    const size_t most = kernels->svd_work > kernels->eigh_work ? kernels->svd_work : kernels->eigh_work;
    return (most + 63) / 64 * 64;
}

static void draw_groups(void *context, int task) {
    call *work = context;
    const bp__small_plan *plan = work->plan;
    bp__small_group g;
    g.plan = plan;
    g.l = &plan->problem.of.linalg;
    g.step = bp__small_step_of((bp_op)plan->problem.op);
    g.a = work->scratch + (size_t)task * plan->scratch;
    g.b = g.a + plan->factor;
    g.c = g.b + plan->right;
    g.inverses = g.c + plan->third;
    g.work = g.a + plan->scratch - work_of(plan->kernels);
    for (;;) {
        int64_t group = atomic_fetch_add_explicit(&work->next, plan->chunk, memory_order_relaxed);
        if (group >= work->groups || bp__stops(&work->stop)) {
            return;
        }
        const int64_t end = group + plan->chunk < work->groups ? group + plan->chunk : work->groups;
        for (; group < end; group++) {
            run_group(work, &g, group * plan->kernels->lanes);
        }
    }
}

static bp_status outcome(const call *work) {
    const bp__small_plan *plan = work->plan;
    if (bp__stopped(&work->stop)) {
        return BP_E_CANCELLED;
    }
    if (work->failing < INT64_MAX) {
        const int64_t code = work->failing, each = 2 * BP__SMALL_MOST;
        return plan->host->fail_numeric(&plan->problem, code / each, code % each + BP_INFO_NON_FINITE);
    }
    return BP_OK;
}

static int64_t groups_of(const bp__small_plan *plan) {
    return (plan->problem.of.linalg.batch + plan->kernels->lanes - 1) / plan->kernels->lanes;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__small_plan *plan = (const bp__small_plan *)self;
    void *at[BP_LINALG_OPERANDS];
    bp_linalg_addresses(&plan->problem.of.linalg, operands, at);
    call work = {.plan = plan,
                 .operands = at,
                 .scratch = bp_operand_address(&exec->workspace),
                 .groups = groups_of(plan),
                 .failing = INT64_MAX,
                 .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (plan->problem.op == BP_OP_LU_SOLVE) {
        bp_status status = bp__batch_check_pivots(plan->host, &plan->problem, at);
        if (status != BP_OK) {
            return status;
        }
    }
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, draw_groups, &work);
    } else {
        draw_groups(&work, 0);
    }
    return outcome(&work);
}

static void destroy(bp_prepared *self) {
    ((bp__small_plan *)self)->host->release(self);
}

/* Returns the row stride of an interleaved matrix. It is odd for long rows, because columns with a stride of a power of
 * two would use few sets of the cache. */
static int row_for(int columns) {
    return columns < 12 ? columns : columns | 1;
}

/* Returns the groups that a thread takes at a time: more than one because the counter is shared, and so few that all
 * threads end together. */
static int64_t chunk_for(const bp__small_plan *plan, const bp__small_sizes *sizes) {
    const double right = (double)plan->problem.of.linalg.k;
    const double work = (double)(sizes->rows + 1) * sizes->columns * (sizes->columns + right);
    const int64_t groups = groups_of(plan);
    return bp__stop_chunk(work, plan->threads == 1 ? groups + 1 : groups / (16 * (int64_t)plan->threads) + 1);
}

#define TRIES 60 /* two or three are usual; LAPACK stops after 30 */

bp_status bp__small_prepare(const bp_host *host, const bp_problem *problem, const bp__interleaved_kernels *kernels,
                            int threads, bp_prepared **prepared) {
    bp__small_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp__small_sizes sizes = bp__small_sizes_of(problem);
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = enqueue, .destroy = destroy};
    plan->host = host;
    plan->kernels = kernels;
    plan->threads = threads;
    plan->tries = TRIES;
    plan->single = problem->dtype == BP_F32 || problem->dtype == BP_C64;
    plan->width = sizes.width;
    plan->factor_row = row_for(sizes.columns);
    plan->right_row = row_for(sizes.width);
    plan->third_row = row_for(sizes.third);
    plan->factor = (size_t)(sizes.rows * plan->factor_row) * kernels->velement;
    plan->right = (size_t)(sizes.rows * plan->right_row) * kernels->velement;
    plan->third = (size_t)(sizes.third * plan->third_row) * kernels->velement;
    /* Threads must not share cache lines. */
    plan->scratch =
        (plan->factor + plan->right + plan->third + (size_t)sizes.columns * kernels->inverse + 63) / 64 * 64 +
        work_of(kernels);
    plan->base.workspace = plan->scratch * (size_t)threads;
    plan->problem = *problem;
    const int info = bp__small_info((bp_op)problem->op);
    plan->info = info >= 0 && l->operand[info].dtype ? info : -1;
    plan->stepped = l->batch_ndim <= 1;
    plan->chunk = chunk_for(plan, &sizes);
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *o = &l->operand[i];
        plan->step[i] = o->dtype && l->batch_ndim == 1 ? o->batch[0] * (int64_t)bp_dtype_size((bp_dtype)o->dtype) : 0;
    }
    *prepared = &plan->base;
    return BP_OK;
}
