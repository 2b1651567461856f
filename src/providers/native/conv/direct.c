/* direct.c - runs convolutions with few channels in a group, such as depthwise ones, term by term.
 *
 * Panels of the product kernels would consist of zeros for the most part. Vectors follow the groups where these are
 * contiguous (channels-last), and a row of positions otherwise (direct_rows.c). By groups, a unit of work is one row of
 * positions. Each result is a chain in the order of its terms. */
#include "direct.h"

#include <string.h>

enum { RUN = BP__DIRECT_RUN, RUNS = 4, TERMS = BP__DIRECT_TERMS };

typedef bp__direct_term term;
typedef bp__direct_plan prepared;
typedef bp__direct_call call;

bool bp__conv_follows_groups(const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    return c->groups > 1 && c->in_channels == 1 && c->out_channels == 1 && c->x_channel == 1 && c->y_channel == 1;
}

bool bp__conv_direct_packs(const bp_problem *problem) {
    return bp__conv_follows_groups(problem) && bp__conv_jobs(problem) == 1;
}

/* ---- Terms ---- */

/* Image indexes of one position for the first tap, and the element there. */
typedef struct place {
    int64_t index[BP_MAX_CONV_NDIM], at;
} place;

static place place_of(const bp__conv_job *job, const int64_t index[1 + BP_MAX_CONV_NDIM]) {
    place p = {.at = index[0] * job->image_batch};
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        p.index[d] = index[1 + d] * job->axis[d].step + job->axis[d].first;
        p.at += p.index[d] * job->axis[d].stride;
    }
    return p;
}

/* Returns the elements from a channel's first weight to the weight of a term. */
static int64_t weight_at(const bp__conv_job *job, int64_t t) {
    int64_t tap[BP_MAX_CONV_NDIM], at = t % job->channels * job->weight_channel;
    bp__conv_tap(job, t / job->channels, tap);
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        at += job->axis[d].weight_first + tap[d] * job->axis[d].weight;
    }
    return at;
}

static void list_terms(const bp__conv_job *job, term *terms) {
    for (int64_t t = 0; t < job->terms; t++) {
        int64_t tap[BP_MAX_CONV_NDIM];
        bp__conv_tap(job, t / job->channels, tap);
        terms[t].at = t % job->channels * job->image_channel;
        terms[t].weight = weight_at(job, t);
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            terms[t].shift[d] = tap[d] * job->axis[d].change;
            terms[t].at += terms[t].shift[d] * job->axis[d].stride;
        }
    }
}

static bool is_inside(const bp__conv_job *job, const place *p, const int64_t shift[BP_MAX_CONV_NDIM]) {
    bool inside = true;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        inside = inside && (uint64_t)(p->index[d] + shift[d]) < (uint64_t)job->axis[d].size;
    }
    return inside;
}

/* Adds up the results of one or more positions. `sums` has the results, runs, steps and weights. */
static void add_terms(const call *w, const place *p, const char *image, bp__conv_sums sums) {
    const int64_t packed = (int64_t)w->plan->set.products->packed, element = (int64_t)w->plan->set.products->element;
    const char *weights = sums.weights, *from[TERMS];
    memset(sums.sums, 0, (size_t)(sums.runs * sums.n * packed));
    sums.from = from;
    for (int64_t first = 0; first < w->job.terms; first += TERMS) {
        sums.terms = bp__least(w->job.terms - first, TERMS);
        for (int64_t t = 0; t < sums.terms; t++) {
            const term *one = &w->terms[first + t];
            from[t] = is_inside(&w->job, p, one->shift) ? image + (p->at + one->at) * element : NULL;
        }
        sums.weights = weights + first * sums.weight_term * packed;
        w->plan->set.own->add(&sums);
    }
}

static int64_t divide_up(int64_t a, int64_t b) {
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* Finds the part of a row in which all taps are inside the image in the last dimension: [*low, *high). */
static void find_inner(const bp__conv_job *job, int64_t *low, int64_t *high) {
    const bp__conv_axis *axis = &job->axis[BP_MAX_CONV_NDIM - 1];
    const int64_t reach = (axis->taps - 1) * axis->change;
    const int64_t first = axis->first + bp__least(reach, 0), last = axis->first + (reach > 0 ? reach : 0);
    const int64_t from = divide_up(-first, axis->step), to = divide_up(axis->size - last, axis->step);
    *low = from < 0 ? 0 : bp__least(from, axis->grid);
    *high = to < *low ? *low : bp__least(to, axis->grid);
}

/* Converts the weights to [tap][group]. */
static void pack_groups(const call *w) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t element = (int64_t)plan->set.products->element, packed = (int64_t)plan->set.products->packed;
    for (int64_t t = 0; t < w->job.terms; t++) {
        plan->set.own->widen(c->groups, w->weights + t * c->groups * packed,
                             w->weight + weight_at(&w->job, t) * element, c->w_out);
    }
}

/* Describes the results of some groups at `runs` neighbouring positions of a row. */
static void describe_groups(const call *w, const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t runs, int64_t group,
                            int64_t most, bp__conv_sums *sums, bp__conv_results *results) {
    const prepared *plan = w->plan;
    const bp__conv_axis *axis = &w->job.axis[BP_MAX_CONV_NDIM - 1];
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t n = bp__least(c->groups - group, most);
    *sums = (bp__conv_sums){.n = n,
                            .runs = runs,
                            .terms = w->job.terms,
                            .run = axis->step * axis->stride,
                            .step = 1,
                            .weights = w->weights + group * (int64_t)plan->set.products->packed,
                            .weight_term = c->groups,
                            .weight_step = 1};
    *results = (bp__conv_results){.n = n,
                                  .runs = runs,
                                  .to = w->result + (bp__direct_result_at(&w->job, index) + group) *
                                                        (int64_t)plan->set.products->element,
                                  .to_run = axis->result,
                                  .to_step = 1,
                                  .sums_run = n,
                                  .bias = bp__direct_bias(w, group),
                                  .bias_step = c->bias,
                                  .relu = c->relu != 0};
}

/* What the positions of a row have in common. */
typedef struct row_of_terms {
    bool has[TERMS]; /* the terms whose image index is inside in all dimensions but the last one */
    int64_t low, high;
} row_of_terms;

static void find_row(const call *w, const place *p, row_of_terms *r) {
    for (int64_t t = 0; t < w->job.terms; t++) {
        r->has[t] = true;
        for (int d = 0; d < BP_MAX_CONV_NDIM - 1; d++) {
            const int64_t index = p->index[d] + w->terms[t].shift[d];
            r->has[t] = r->has[t] && (uint64_t)index < (uint64_t)w->job.axis[d].size;
        }
    }
}

/* Finds which of some positions have each term: the image index must be inside in the last dimension, whose taps vary
 * fastest. */
static void find_edges(const call *w, const place *p, int64_t runs, uint8_t *inside) {
    enum { LAST = BP_MAX_CONV_NDIM - 1 };
    const bp__conv_axis *axis = &w->job.axis[LAST];
    for (int64_t t = 0; t < w->job.terms; t++) {
        inside[t] = t < axis->taps ? 0 : inside[t - axis->taps];
        for (int64_t r = 0; t < axis->taps && r < runs; r++) {
            const int64_t index = p->index[LAST] + r * axis->step + w->terms[t].shift[LAST];
            inside[t] |= (uint8_t)(((uint64_t)index < (uint64_t)axis->size) << r);
        }
    }
}

/* Completes `runs` neighbouring positions of a row for all groups. Unless `edge`, all have the same taps inside the
 * image. */
static void complete_positions(const call *w, const int64_t index[1 + BP_MAX_CONV_NDIM], const row_of_terms *row,
                               int64_t runs, bool edge) {
    const int64_t element = (int64_t)w->plan->set.products->element;
    const place p = place_of(&w->job, index);
    const char *from[TERMS];
    uint8_t inside[TERMS];
    bp__conv_sums sums;
    bp__conv_results results;
    describe_groups(w, index, runs, 0, w->plan->problem.of.conv.groups, &sums, &results);
    for (int64_t t = 0; t < w->job.terms; t++) {
        from[t] = row->has[t] ? w->image + (p.at + w->terms[t].at) * element : NULL;
    }
    if (edge) {
        find_edges(w, &p, runs, inside);
    }
    sums.from = from;
    sums.inside = edge ? inside : NULL;
    w->plan->set.own->complete(&sums, &results);
}

/* Adds up `runs` neighbouring positions of a row, which have the same taps inside the image. Not inlined, so that its
 * sums are not part of the frame of other rows. */
__attribute__((noinline)) static void add_positions(const call *w, const int64_t index[1 + BP_MAX_CONV_NDIM],
                                                    int64_t runs) {
    const int64_t element = (int64_t)w->plan->set.products->element, groups = w->plan->problem.of.conv.groups;
    double memory[RUN * RUNS];
    const place p = place_of(&w->job, index);
    for (int64_t group = 0; group < groups; group += RUN) {
        bp__conv_sums sums;
        bp__conv_results results;
        describe_groups(w, index, runs, group, RUN, &sums, &results);
        sums.sums = memory;
        results.sums = memory;
        add_terms(w, &p, w->image + group * element, sums);
        w->plan->set.own->finish(&results);
    }
}

/* Computes a row by add_positions(), for many terms and for a bias with any stride. */
static void add_row(const call *w, int64_t index[1 + BP_MAX_CONV_NDIM], const row_of_terms *row, int64_t most) {
    const int64_t size = w->job.axis[BP_MAX_CONV_NDIM - 1].grid;
    for (int64_t o = 0, runs; o < size; o += runs) {
        runs = o >= row->low && o < row->high ? bp__least(row->high - o, most) : 1;
        index[BP_MAX_CONV_NDIM] = o;
        add_positions(w, index, runs);
    }
}

/* Computes a row by complete_positions(). */
static void complete_row(const call *w, int64_t index[1 + BP_MAX_CONV_NDIM], row_of_terms *row) {
    const int64_t size = w->job.axis[BP_MAX_CONV_NDIM - 1].grid;
    const place first = place_of(&w->job, index);
    find_row(w, &first, row);
    for (int64_t o = 0, runs; o < size; o += runs) {
        const int64_t inner = (row->high - o) / BP__CONV_EDGE * BP__CONV_EDGE;
        const bool edge = o < row->low || inner <= 0;
        runs = edge ? bp__least(size - o, BP__CONV_EDGE) : inner;
        index[BP_MAX_CONV_NDIM] = o;
        complete_positions(w, index, row, runs, edge);
    }
}

static void compute_groups(const call *w, int64_t unit) {
    int64_t index[1 + BP_MAX_CONV_NDIM];
    const bp_conv_problem *c = &w->plan->problem.of.conv;
    const int64_t most = RUN * RUNS / bp__least(c->groups, RUN);
    row_of_terms row;
    find_inner(&w->job, &row.low, &row.high);
    bp__conv_position(&w->job, unit * w->job.axis[BP_MAX_CONV_NDIM - 1].grid, index);
    if (w->job.terms <= TERMS && (!w->bias || c->bias == 0 || c->bias == 1)) {
        complete_row(w, index, &row);
    } else {
        add_row(w, index, &row, most);
    }
}

/* ---- Calls ---- */

static void compute_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (unit >= w->units || bp__stops(&w->stop)) {
            return;
        }
        if (plan->by_groups) {
            compute_groups(w, unit);
        } else {
            bp__direct_channel(w, unit, w->workspace + (size_t)task * (plan->weight_bytes + plan->row_bytes));
        }
    }
}

static void compute_job(call *w) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    w->units = plan->by_groups ? w->job.positions / w->job.axis[BP_MAX_CONV_NDIM - 1].grid
                               : c->batch * c->groups * w->job.rows;
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    list_terms(&w->job, w->terms);
    if (!plan->by_groups) {
        bp__direct_cut_job(w);
    } else if (w->weight) {
        pack_groups(w);
    }
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_units, w);
    } else {
        compute_units(w, 0);
    }
}

static bp_status run_direct(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { IMAGE, WEIGHT, BIAS, RESULT };
    const prepared *plan = (const prepared *)self;
    const bp__conv_packed *given = exec->packed ? (const bp__conv_packed *)exec->packed[WEIGHT] : NULL;
    call w = {.plan = plan,
              .image = bp_operand_address(&operands[IMAGE]),
              .weight = given ? NULL : bp_operand_address(&operands[WEIGHT]),
              .bias = plan->problem.of.conv.has_bias ? bp_operand_address(&operands[BIAS]) : NULL,
              .result = bp_operand_address(&operands[RESULT]),
              .workspace = (char *)bp_operand_address(&exec->workspace) + plan->term_bytes,
              .terms = bp_operand_address(&exec->workspace),
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    w.weights = given ? given->panels : w.workspace;
    for (int64_t i = 0; i < plan->jobs && !bp__stopped(&w.stop); i++) {
        bp__conv_job_of(&plan->problem, i, &w.job);
        compute_job(&w);
    }
    return bp__stop_status(&w.stop);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    (void)operand; /* dispatch only passes operands in bp_verdict.packs */
    bp__conv_packed *packed = NULL;
    const bp_status status = bp__conv_packed_new(plan->host, plan->weight_bytes, &packed);
    if (status == BP_OK) {
        call w = {.plan = plan, .weight = bp_operand_address(source), .weights = packed->panels};
        bp__conv_job_of(&plan->problem, 0, &w.job);
        pack_groups(&w);
        *result = &packed->base;
    }
    return status;
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

bp_status bp__conv_plan_direct(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                               bp_prepared **result) {
    const bp_conv_problem *c = &problem->of.conv;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_direct, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->by_groups = bp__conv_follows_groups(problem);
    plan->jobs = bp__conv_jobs(problem);
    if (bp__conv_direct_packs(problem)) {
        plan->base.pack = pack;
    }
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t terms = taps * (problem->op == BP_OP_CONV ? c->in_channels : c->out_channels);
    const int64_t columns = plan->by_groups ? c->groups : 1;
    if (terms > INT64_MAX / 1024 / columns) {
        host->release(plan);
        return host->fail(BP_E_OVERFLOW, "the weight of %lld channels exceeds 64 bits", (long long)c->groups);
    }
    plan->weight_bytes = (size_t)bp__conv_round_up(terms * columns * (int64_t)set->products->packed, 64);
    plan->term_bytes = (size_t)bp__conv_round_up(terms * (int64_t)sizeof(term), 64);
    plan->row_bytes = plan->by_groups ? 0 : bp__direct_row_bytes(set);
    plan->base.workspace =
        plan->term_bytes + (plan->weight_bytes + plan->row_bytes) * (size_t)(plan->by_groups ? 1 : threads);
    *result = &plan->base;
    return BP_OK;
}
