/* layer_plan.c - plans layer, RMS and group normalization, and runs their parts.
 *
 * Threads take parts, and a part is several rows. Sums for the gradients by weight and bias are computed for
 * each part, and joined in the order of the parts. The parts depend on the problem only. */
#include "layer_work.h"

#include <string.h>

enum {
    MOST_PARTS = 64,
    UNIT = 32768,          /* elements of a part, at least */
    FIRST_CACHE = 1 << 13, /* bytes of rows whose statistics are computed before their elements, about */
    SUMS_BYTES = 1 << 25   /* memory for the sums of all parts, at most, if there are several */
};

static const int8_t forward_operands[OPERANDS] = {0, 3, 1, 2, 4, 5, BP__LAYER_NONE, BP__LAYER_NONE, BP__LAYER_NONE};
static const int8_t backward_operands[OPERANDS] = {1, 0, 2, BP__LAYER_NONE, 3, 4, 5, 6, 7};

/* ---- Weights ---- */

typedef struct weight_walk {
    const bp__layer_work *plan;
    void (*visit)(void *context, int64_t index, int64_t count, bp__layer_vector vector);
    void *context;
} weight_walk;

/* Visits all weights of an operand, in sequences along the innermost dimension that has weights. */
static void each_weight(const weight_walk *walk, char *base, const int64_t *strides) {
    const bp__layer_work *plan = walk->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    int inner = BP__LAYER_NONE;
    for (int d = 0; d < p->ndim; d++) {
        inner = plan->weight[d] == 1 ? d : inner;
    }
    const int64_t count = inner == BP__LAYER_NONE ? 1 : p->size[inner];
    for (int64_t index = 0; index < plan->weights; index += count) {
        int64_t offset = 0;
        for (int d = 0; d < p->ndim; d++) {
            if (plan->weight[d] > 1) {
                offset += index / plan->weight[d] % p->size[d] * strides[d];
            }
        }
        walk->visit(walk->context, index, count,
                    (bp__layer_vector){base + offset * (int64_t)plan->set.parameters->element,
                                       inner == BP__LAYER_NONE ? 0 : strides[inner]});
    }
}

typedef struct reading {
    const bp__layer_work *plan;
    char *to;
} reading;

static void read_some(void *context, int64_t index, int64_t count, bp__layer_vector vector) {
    const reading *r = context;
    r->plan->set.parameters->widen(count, vector, r->to + (size_t)index * r->plan->set.images->number);
}

static void read_weights(const bp__layer_run *w, int operand, double otherwise, char *to) {
    reading r = {w->plan, to};
    const weight_walk walk = {w->plan, read_some, &r};
    if (w->operand[operand]) {
        each_weight(&walk, w->operand[operand], bp__layer_strides(w->plan, operand));
    } else {
        w->plan->set.images->fill(w->plan->weights, otherwise, to);
    }
}

typedef struct writing {
    const bp__layer_work *plan;
    const double *from;
} writing;

static void write_some(void *context, int64_t index, int64_t count, bp__layer_vector vector) {
    const writing *out = context;
    out->plan->set.parameters->narrow(count, out->from + index, vector);
}

static void write_weight_gradients(const bp__layer_run *w) {
    const bp__layer_work *plan = w->plan;
    for (int64_t part = 1; part < plan->parts; part++) {
        const double *more = w->sums + part * 2 * plan->weights;
        for (int64_t i = 0; i < 2 * plan->weights; i++) {
            w->sums[i] += more[i];
        }
    }
    for (int i = 0; i < 2; i++) {
        writing out = {plan, w->sums + i * plan->weights};
        const weight_walk walk = {plan, write_some, &out};
        if (w->operand[WEIGHT_GRADIENT + i]) {
            each_weight(&walk, w->operand[WEIGHT_GRADIENT + i], bp__layer_strides(plan, WEIGHT_GRADIENT + i));
        }
    }
}

/* ---- Calls ---- */

static void compute_parts(void *context, int task) {
    bp__layer_run *w = context;
    for (;;) {
        const int64_t part = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (part >= w->plan->parts || bp__stops(&w->stop)) {
            return;
        }
        if (w->plan->by_channels) {
            bp__layer_channels_part(w, part);
        } else if (w->plan->columns) {
            bp__layer_columns_part(w, part);
        } else {
            bp__layer_rows_part(w, part, task);
        }
    }
}

static bp_status run_layer_norm(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__layer_work *plan = (const bp__layer_work *)self;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    char *workspace = bp_operand_address(&exec->workspace);
    bp__layer_run w = {.plan = plan, .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    for (int i = 0; i < OPERANDS; i++) {
        const int at = plan->operands[i];
        w.operand[i] = at != BP__LAYER_NONE && (p->present >> at & 1) ? bp_operand_address(&operands[at]) : NULL;
    }
    w.weights = workspace;
    w.biases = workspace + plan->numbers;
    w.sums = (double *)(void *)(workspace + plan->sums);
    w.copies = workspace + plan->copies;
    read_weights(&w, WEIGHT, 1, w.weights);
    read_weights(&w, BIAS, 0, w.biases);
    if (plan->weighs && plan->parts == 0) {
        memset(w.sums, 0, (size_t)plan->weights * 2 * sizeof *w.sums);
    }
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, compute_parts, &w);
    } else {
        compute_parts(&w, 0);
    }
    if (plan->weighs && !bp__stopped(&w.stop)) {
        write_weight_gradients(&w);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((bp__layer_work *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Finds the dimensions of the weights, and gives them compact strides. */
static void lay_out_weights(bp__layer_work *plan) {
    static const int lists[] = {WEIGHT, BIAS, WEIGHT_GRADIENT, BIAS_GRADIENT};
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    plan->weights = 1;
    for (int d = p->ndim - 1; d >= 0; d--) {
        bool depends = false;
        for (int i = 0; i < 4; i++) {
            depends = depends || bp__layer_strides(plan, lists[i])[d] != 0;
        }
        plan->weight[d] = depends ? plan->weights : 0;
        plan->weights *= depends ? p->size[d] : 1;
    }
    plan->step = p->ndim > p->row_ndim && plan->weight[p->ndim - 1] != 0;
}

static void cut(bp__layer_work *plan) {
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    plan->rows = plan->elements = 1;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &plan->rows : &plan->elements) *= p->size[d];
    }
    plan->segment = p->ndim > p->row_ndim ? p->size[p->ndim - 1] : 1;
    plan->segments = plan->elements / plan->segment;
    int64_t most = MOST_PARTS;
    if (plan->weighs) {
        most = SUMS_BYTES / 16 / plan->weights;
        most = most < 1 ? 1 : bp__least(most, MOST_PARTS);
    }
    const int64_t enough = UNIT / plan->elements + 1, wanted = (plan->rows + most - 1) / most;
    plan->part = enough > wanted ? enough : wanted;
    plan->part = (plan->part + plan->block - 1) / plan->block * plan->block;
    plan->parts = (plan->rows + plan->part - 1) / plan->part;
}

static size_t whole_lines(size_t bytes) {
    return (bytes + BP__LAYER_LINE - 1) / BP__LAYER_LINE * BP__LAYER_LINE;
}

static uint64_t magnitude(int64_t x) {
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static bool weights_follow_rows(const bp__layer_work *plan) {
    bool follow = false;
    for (int d = 0; d < plan->problem.of.layer_norm.row_ndim; d++) {
        follow |= plan->weight[d] != 0;
    }
    return follow;
}

/* Decides which tensors are copied, and how many rows at once: the rows of whole cache lines, if rows are nearer to
 * each other than elements. No copy is necessary if that is so for all tensors, rows are neighbours, and all rows have
 * the same weights. */
static void choose_copies(bp__layer_work *plan) {
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    plan->block = 1;
    plan->columns = !plan->backward && p->row_ndim > 0 && p->ndim > p->row_ndim && !weights_follow_rows(plan);
    for (int i = 0; i < BP__LAYER_IMAGES; i++) {
        const int64_t element = bp__layer_element_stride(plan, bp__layer_images[i]);
        const int64_t next = p->row_ndim > 0 ? bp__layer_strides(plan, bp__layer_images[i])[p->row_ndim - 1] : 0;
        const bool there = plan->operands[bp__layer_images[i]] != BP__LAYER_NONE;
        plan->staged[i] = p->ndim > p->row_ndim && element != 1 && there;
        plan->columns = plan->columns && (!there || (plan->staged[i] && next == 1));
        if (plan->staged[i] && next != 0 && magnitude(next) < magnitude(element)) {
            plan->block = BP__LAYER_TOGETHER / (int64_t)plan->set.images->element;
        }
    }
    if (plan->columns) {
        plan->block = BP__LAYER_LANES;
        memset(plan->staged, 0, sizeof plan->staged);
    } else if (!plan->backward && !bp__layer_is_staged(plan)) {
        const int64_t bytes = plan->elements * (int64_t)plan->set.images->element + 1;
        plan->block = bp__least(FIRST_CACHE / bytes + 1, BP__LAYER_MOST_ROWS);
    }
}

/* Rows of copies are an odd number of cache lines apart, so that they are in different sets of a cache. */
static void lay_out_copies(bp__layer_work *plan) {
    const int64_t longest = bp__layer_has_whole_rows(plan) ? plan->elements : BP__LAYER_BLOCK;
    const int64_t line = BP__LAYER_LINE / (int64_t)plan->set.images->element;
    plan->copies = plan->base.workspace = whole_lines(plan->base.workspace);
    if (bp__layer_is_staged(plan)) {
        plan->leading = ((longest + line - 1) / line | 1) * line;
        plan->copy = (size_t)(plan->block * plan->leading) * plan->set.images->element;
        plan->shared = !plan->backward;
        plan->base.workspace += (size_t)plan->threads * BP__LAYER_IMAGES * plan->copy;
    }
}

bp_status bp__layer_plan(const bp_host *host, const bp_problem *problem, const bp__layer_set *set, int threads,
                         bp_prepared **result) {
    bp__layer_work *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_layer_norm, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->backward = problem->op == BP_OP_LAYER_NORM_BACKWARD;
    plan->operands = plan->backward ? backward_operands : forward_operands;
    plan->weighs = plan->backward && problem->of.layer_norm.present >> backward_operands[WEIGHT_GRADIENT] != 0;
    lay_out_weights(plan);
    choose_copies(plan);
    cut(plan);
    plan->by_channels = bp__layer_by_channels(problem);
    if (plan->by_channels) {
        bp__layer_cut_channels(plan);
    }
    plan->numbers = whole_lines((size_t)plan->weights * set->images->number);
    plan->sums = 2 * plan->numbers;
    plan->base.workspace = plan->sums;
    if (plan->weighs) {
        const int64_t parts = plan->parts > 1 ? plan->parts : 1;
        plan->base.workspace += (size_t)(parts * 2 * plan->weights) * sizeof(double);
    }
    lay_out_copies(plan);
    *result = &plan->base;
    return BP_OK;
}
