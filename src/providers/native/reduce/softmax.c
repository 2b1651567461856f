/* softmax.c - plans and runs softmax and its gradients.
 *
 * Softmax has three steps: the greatest element of each row, the sum of the exponentials, and the results. Gradients
 * have two, a sum and the results. If an item has several parts, each step is shared among threads; otherwise an item
 * takes all steps at once, so that its elements stay in the cache. */
#include "work.h"

#include "providers/native/stage_rows.h"

#include <math.h>

#define NUMBER sizeof(double) /* bytes of the largest number of a computation */

typedef struct prepared {
    bp__reduce_work work;
    const bp__reduce_kernels *greatest;
    const bp__softmax_kernels *kernels;
    bool keep; /* exponentials are written to the output, and scaled there */
    bool backward;
    bool logarithm;
    bool columns;
    size_t copy; /* bytes of the copies of the rows of an item */
} prepared;

/* The lanes of an item. */
typedef struct lanes {
    const prepared *plan;
    _Alignas(64) char centers[BP__REDUCE_CHUNK * NUMBER];
    _Alignas(64) char scales[BP__REDUCE_CHUNK * NUMBER];
    _Alignas(64) double sums[BP__REDUCE_CHUNK];
    int64_t indices[BP__REDUCE_CHUNK];
} lanes;

/* With several parts: a center, a sum and a scale for each result, after the numbers of the parts. */
typedef struct call {
    bp__reduce_call base;
    char *centers; /* of all results, then of the parts */
    double *sums;  /* likewise */
    char *copies;  /* of all threads */
} call;

static int64_t lanes_of(const prepared *plan, const bp__reduce_item *item) {
    return plan->columns ? item->lanes : BP__REDUCE_LANES;
}

/* ---- Steps of one part of an item ---- */

static void add_greatest(void *context, const bp__reduce_piece *piece) {
    lanes *l = context;
    l->plan->greatest->add(piece, l->centers, l->indices);
}

static void add_exps(void *context, const bp__reduce_piece *piece) {
    lanes *l = context;
    l->plan->kernels->exps(piece, l->centers, l->sums, l->plan->keep);
}

static void add_products(void *context, const bp__reduce_piece *piece) {
    lanes *l = context;
    (l->plan->logarithm ? l->plan->kernels->sums : l->plan->kernels->products)(piece, l->sums);
}

static void write_piece(void *context, const bp__reduce_piece *piece) {
    const lanes *l = context;
    const bp__softmax_kernels *k = l->plan->kernels;
    if (l->plan->backward) {
        (l->plan->logarithm ? k->log_gradient : k->gradient)(piece, l->centers, l->scales);
    } else {
        (l->plan->logarithm ? k->log_softmax : l->plan->keep ? k->scale : k->softmax)(piece, l->centers, l->scales);
    }
}

static void walk(bp__reduce_call *w, const bp__reduce_item *item, int64_t part, bp__reduce_visit visit, lanes *l) {
    bp__reduce_walk(&w->work->problem.of.reduce, &w->work->cut, item, part, w->operand, &w->stop, visit, l);
}

/* Leaves the greatest element of each row in the centers; one row's in the first. */
static void compute_greatest(bp__reduce_call *w, const bp__reduce_item *item, int64_t part, lanes *l) {
    const bp__reduce_kernels *greatest = l->plan->greatest;
    greatest->clear(lanes_of(l->plan, item), l->centers, l->indices);
    walk(w, item, part, add_greatest, l);
    for (int half = BP__REDUCE_LANES / 2; half > 0 && !l->plan->columns; half /= 2) {
        greatest->merge(half, l->centers, l->indices, l->centers + (size_t)half * greatest->value, l->indices + half);
    }
}

/* Likewise the sums of exponentials, or of the products of gradients. */
static void compute_sums(bp__reduce_call *w, const bp__reduce_item *item, int64_t part, lanes *l) {
    memset(l->sums, 0, (size_t)lanes_of(l->plan, item) * sizeof *l->sums);
    walk(w, item, part, l->plan->backward ? add_products : add_exps, l);
    for (int half = BP__REDUCE_LANES / 2; half > 0 && !l->plan->columns; half /= 2) {
        for (int i = 0; i < half; i++) {
            l->sums[i] += l->sums[i + half];
        }
    }
}

/* Gives all lanes of a row the number of the first. */
static void spread(const prepared *plan, char *numbers) {
    const size_t size = plan->kernels->number;
    for (size_t i = 1; i < BP__REDUCE_LANES && !plan->columns; i++) {
        memcpy(numbers + i * size, numbers, size);
    }
}

static void set_scales(const prepared *plan, int64_t count, const double *sums, char *scales) {
    for (int64_t i = 0; i < count; i++) {
        plan->kernels->set(scales, i, plan->backward ? sums[i] : plan->logarithm ? log(sums[i]) : 1 / sums[i]);
    }
}

static void compute_whole(bp__reduce_call *w, int64_t index, int64_t part, int task) {
    (void)task;
    lanes l;
    const prepared *plan = l.plan = (const prepared *)w->work;
    const bp__reduce_item item = bp__reduce_item_at(&plan->work.problem.of.reduce, &plan->work.cut, index);
    if (!plan->backward) {
        compute_greatest(w, &item, part, &l);
        spread(plan, l.centers);
    }
    compute_sums(w, &item, part, &l);
    set_scales(plan, item.lanes, l.sums, l.scales);
    spread(plan, l.scales);
    walk(w, &item, part, write_piece, &l);
}

/* ---- Rows ---- */

/* Points at compact copies of the rows, one for each tensor that is read. The result takes the place of the last. */
static void stage_rows(const prepared *plan, bp__reduce_piece *piece, char *copies) {
    const bp__reduce_cut *cut = &plan->work.cut;
    const int inputs = plan->backward ? 2 : 1;
    for (int i = 0; i < inputs; i++, copies += plan->copy) {
        const bp__staged_rows rows = {piece->at[i], piece->lane[i], piece->next[i],
                                      piece->lanes, piece->count,   cut->element};
        bp__stage_rows_in(&rows, copies, cut->leading);
        piece->at[i] = piece->at[inputs] = copies;
        piece->lane[i] = piece->lane[inputs] = cut->leading;
        piece->next[i] = piece->next[inputs] = 1;
    }
}

static void compute_rows(bp__reduce_call *w, int64_t index, int64_t part, int task) {
    const prepared *plan = (const prepared *)w->work;
    const bp__reduce_cut *cut = &plan->work.cut;
    const bp_reduce_problem *p = &plan->work.problem.of.reduce;
    const bp__reduce_item item = bp__reduce_item_at(p, cut, index);
    const int kept = p->kept_ndim - 1, result = plan->backward ? 2 : 1;
    const int64_t *const strides[] = {p->x, p->y, p->z};
    bp__reduce_piece piece = {.lanes = item.lanes, .count = cut->reduced};
    (void)part;
    for (int i = 0; i <= result; i++) {
        piece.at[i] = (char *)((uintptr_t)w->operand[i] + (uintptr_t)(item.offset[i] * (int64_t)cut->element));
        piece.lane[i] = kept < 0 ? 0 : strides[i][kept];
        piece.next[i] = strides[i][p->ndim - 1];
    }
    const bp__staged_rows to = {piece.at[result], piece.lane[result], piece.next[result],
                                piece.lanes,      piece.count,        cut->element};
    if (cut->staged) {
        stage_rows(plan, &piece, ((const call *)w)->copies + (size_t)task * 2 * plan->copy);
    }
    (plan->backward ? plan->kernels->gradient_rows : plan->kernels->rows)(&piece, plan->logarithm);
    if (cut->staged) {
        bp__stage_rows_out(&to, piece.at[result], cut->leading);
    }
}

/* ---- Steps of all items that have parts ---- */

static char *centers_of(const call *w, int64_t part, int64_t result) {
    const prepared *plan = (const prepared *)w->base.work;
    return w->centers + (size_t)((part + 1) * plan->work.cut.results + result) * plan->kernels->number;
}

static double *sums_of(const call *w, int64_t part, int64_t result) {
    return w->sums + (part + 1) * w->base.work->cut.results + result;
}

enum { WHOLE = -1 }; /* the number of the part that stands for all */

static bp__reduce_item begin_part(const call *w, int64_t index, lanes *l) {
    const prepared *plan = l->plan = (const prepared *)w->base.work;
    return bp__reduce_item_at(&plan->work.problem.of.reduce, &plan->work.cut, index);
}

static void read_centers(const call *w, const bp__reduce_item *item, lanes *l) {
    if (!l->plan->backward) {
        memcpy(l->centers, centers_of(w, WHOLE, item->result), (size_t)item->lanes * l->plan->kernels->number);
        spread(l->plan, l->centers);
    }
}

static void greatest_of_part(bp__reduce_call *base, int64_t index, int64_t part, int task) {
    (void)task;
    const call *w = (const call *)base;
    lanes l;
    const bp__reduce_item item = begin_part(w, index, &l);
    compute_greatest(base, &item, part, &l);
    memcpy(centers_of(w, part, item.result), l.centers, (size_t)item.lanes * l.plan->kernels->number);
}

static void sums_of_part(bp__reduce_call *base, int64_t index, int64_t part, int task) {
    (void)task;
    const call *w = (const call *)base;
    lanes l;
    const bp__reduce_item item = begin_part(w, index, &l);
    read_centers(w, &item, &l);
    compute_sums(base, &item, part, &l);
    memcpy(sums_of(w, part, item.result), l.sums, (size_t)item.lanes * sizeof *l.sums);
}

static void write_part(bp__reduce_call *base, int64_t index, int64_t part, int task) {
    (void)task;
    const call *w = (const call *)base;
    lanes l;
    const bp__reduce_item item = begin_part(w, index, &l);
    read_centers(w, &item, &l);
    set_scales(l.plan, item.lanes, sums_of(w, WHOLE, item.result), l.scales);
    spread(l.plan, l.scales);
    walk(base, &item, part, write_piece, &l);
}

static void join_greatest(const call *w) {
    const prepared *plan = (const prepared *)w->base.work;
    const bp__reduce_cut *cut = &plan->work.cut;
    for (int64_t i = 0; i < cut->results; i++) {
        int64_t unused[2];
        plan->greatest->clear(1, centers_of(w, WHOLE, i), &unused[0]);
        for (int64_t part = 0; part < cut->parts; part++) {
            unused[0] = unused[1] = 0;
            plan->greatest->merge(1, centers_of(w, WHOLE, i), &unused[0], centers_of(w, part, i), &unused[1]);
        }
    }
}

static void join_sums(const call *w) {
    const bp__reduce_cut *cut = &w->base.work->cut;
    for (int64_t i = 0; i < cut->results; i++) {
        double sum = 0;
        for (int64_t part = 0; part < cut->parts; part++) {
            sum += *sums_of(w, part, i);
        }
        *sums_of(w, WHOLE, i) = sum;
    }
}

static void run_parts(call *w) {
    const prepared *plan = (const prepared *)w->base.work;
    if (!plan->backward) {
        bp__reduce_stage(&w->base, greatest_of_part);
        if (!bp__stopped(&w->base.stop)) {
            join_greatest(w);
        }
    }
    bp__reduce_stage(&w->base, sums_of_part);
    if (!bp__stopped(&w->base.stop)) {
        join_sums(w);
    }
    bp__reduce_stage(&w->base, write_part);
}

/* ---- Plans ---- */

static bp_status run_softmax(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.centers = workspace, .copies = workspace};
    bp__reduce_call_begin(&w.base, &plan->work, operands);
    if (plan->work.cut.rows) {
        bp__reduce_stage(&w.base, compute_rows);
    } else if (plan->work.cut.parts > 1) {
        w.sums = (double *)(void *)(workspace + plan->work.base.workspace / 2);
        run_parts(&w);
    } else {
        bp__reduce_stage(&w.base, compute_whole);
    }
    return bp__stop_status(&w.base.stop);
}

bp_status bp__softmax_plan(const bp_host *host, const bp_problem *problem, const bp__reduce_set *set, int threads,
                           bp_prepared **result) {
    prepared *plan = bp__reduce_work_new(host, problem, sizeof *plan, threads, run_softmax);
    if (!plan) {
        return BP_E_NO_MEMORY;
    }
    const bp_reduce_problem *p = &problem->of.reduce;
    const bp__reduce_cut *cut = &plan->work.cut;
    plan->greatest = &set->reduce[bp__reduce_type(problem->dtype)][BP_REDUCE_MAX];
    plan->kernels = &set->softmax[problem->dtype - BP_F16];
    plan->backward = problem->op == BP_OP_SOFTMAX_BACKWARD;
    plan->logarithm = p->kind == BP_LOG_SOFTMAX;
    plan->columns = cut->columns;
    const int along = cut->columns ? p->kept_ndim - 1 : p->ndim - 1;
    plan->keep = !plan->backward && !plan->logarithm && problem->dtype >= BP_F32 &&
                 (along < 0 || p->y[along] == 1 || p->x[along] != 1);
    if (cut->staged) {
        plan->copy = (size_t)(cut->chunk * cut->leading) * cut->element;
        plan->work.base.workspace = (size_t)threads * 2 * plan->copy;
    } else if (cut->parts > 1) {
        plan->work.base.workspace = 2 * (size_t)((cut->parts + 1) * cut->results) * NUMBER;
    }
    *result = &plan->work.base;
    return BP_OK;
}
