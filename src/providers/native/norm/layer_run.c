/* layer_run.c - plans and runs layer, RMS and group normalization.
 *
 * Threads take parts, each of which is several rows. Sums for the gradients by weight and bias are those of each part,
 * joined in their order. The parts depend on the problem only. */
#include "layer.h"

#include "norm.h"

#include "providers/native/stop.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 8192, /* elements whose moments are computed in two passes over the cache */
    MOST_PARTS = 64,
    UNIT = 32768,         /* elements of a part, at least */
    SUMS_BYTES = 1 << 25, /* memory for the sums of all parts, at most, if there are several */
    NONE = -1
};

/* The operands, by their place in the lists of both operations. */
enum { X, Y, WEIGHT, BIAS, MEAN, INVERSE_STD, G, WEIGHT_GRADIENT, BIAS_GRADIENT, OPERANDS };
static const int8_t forward_operands[OPERANDS] = {0, 3, 1, 2, 4, 5, NONE, NONE, NONE};
static const int8_t backward_operands[OPERANDS] = {1, 0, 2, NONE, 3, 4, 5, 6, 7};

typedef struct prepared {
    bp_prepared base;
    const bp_host *host;
    bp_problem problem;
    bp__layer_set set;
    const int8_t *operands;
    bool backward, weighs; /* weighs: there are gradients by weight or bias */
    int threads;
    int64_t rows, elements, segment, segments; /* elements of a row and of a segment, segments of a row */
    int64_t weights;                           /* number of weights */
    int64_t weight[BP_MAX_LAYER_NORM_NDIM];    /* their strides: compact */
    int step;
    int64_t part, parts;  /* rows of a part */
    size_t numbers, sums; /* bytes of the weights; offset of the sums */
} prepared;

typedef struct call {
    const prepared *plan;
    char *operand[OPERANDS]; /* NULL: absent */
    char *weights, *biases;
    double *sums; /* for each part: products and sums for each weight */
    bp__stop stop;
    _Atomic int64_t next;
} call;

static const int64_t *strides_of(const prepared *plan, int operand) {
    static const int64_t none[BP_MAX_LAYER_NORM_NDIM];
    const int at = plan->operands[operand];
    return at == NONE ? none : plan->problem.of.layer_norm.stride[at];
}

/* Returns the offset of an index in the dimensions from `first` to before `end`. */
static int64_t offset_of(const bp_layer_norm_problem *p, const int64_t *strides, int first, int end, int64_t index) {
    int64_t offset = 0;
    for (int d = end - 1; d >= first; d--) {
        offset += index % p->size[d] * strides[d];
        index /= p->size[d];
    }
    return offset;
}

/* ---- Rows ---- */

typedef struct row {
    const call *w;
    int64_t offset[3]; /* of X, Y and G */
    int64_t weight;    /* index of the first weight */
    bp__layer_numbers numbers;
} row;

/* Part of a row: vectors of X, Y and G, and the index of the first weight. */
typedef struct segment {
    bp__layer_vector x, y, g;
    int64_t weight;
} segment;

static bp__layer_vector vector_of(const row *r, int operand, int64_t offset, int64_t stride) {
    const char *base = r->w->operand[operand];
    const int64_t bytes = offset * (int64_t)r->w->plan->set.images->element;
    return (bp__layer_vector){base ? (char *)((uintptr_t)base + (uintptr_t)bytes) : NULL, stride};
}

/* The elements from `from` on of a segment. */
static segment segment_at(const row *r, int64_t index, int64_t from) {
    static const int operands[] = {X, Y, G};
    const prepared *plan = r->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    const int last = p->ndim - 1;
    const bool inner = p->ndim > p->row_ndim;
    bp__layer_vector v[3];
    for (int i = 0; i < 3; i++) {
        const int64_t *strides = strides_of(plan, operands[i]);
        const int64_t stride = inner ? strides[last] : 0;
        const int64_t offset = inner ? offset_of(p, strides, p->row_ndim, last, index) : 0;
        v[i] = vector_of(r, operands[i], r->offset[i] + offset + from * stride, stride);
    }
    const int64_t weight = inner ? offset_of(p, plan->weight, p->row_ndim, last, index) : 0;
    return (segment){v[0], v[1], v[2], r->weight + weight + from * plan->step};
}

static void point_at_weights(row *r, const segment *s) {
    const size_t at = (size_t)s->weight * r->w->plan->set.images->number;
    r->numbers.weights = r->w->weights + at;
    r->numbers.biases = r->w->biases + at;
}

/* Means are those of the differences to the first element, so that they lose nothing in a large mean. */
static void compute_statistics(row *r) {
    const prepared *plan = r->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    const bp__layer_kernels *kernels = plan->set.images;
    bp__batch_norm_moments all = {0};
    double center[2] = {p->subtract_mean ? kernels->load(segment_at(r, 0, 0).x.at) : 0, 0};
    for (int64_t i = 0; i < plan->segments; i++) {
        for (int64_t from = 0; from < plan->segment; from += BLOCK) {
            const segment s = segment_at(r, i, from);
            const int64_t n = bp__batch_norm_least(BLOCK, plan->segment - from);
            center[1] = p->subtract_mean ? kernels->sum(n, s.x, center) / (double)n : 0;
            bp__batch_norm_merge(&all,
                                 (bp__batch_norm_moments){(double)n, center[1], kernels->squares(n, s.x, center)});
        }
    }
    r->numbers.mean[0] = center[0];
    r->numbers.mean[1] = all.mean;
    r->numbers.inverse_std = 1 / sqrt(all.squares / all.count + p->eps);
}

static char *statistic(const row *r, int operand, int64_t index) {
    const prepared *plan = r->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    return r->w->operand[operand] +
           offset_of(p, strides_of(plan, operand), 0, p->row_ndim, index) * (int64_t)plan->set.parameters->element;
}

static void write_row(row *r, int64_t index) {
    const prepared *plan = r->w->plan;
    compute_statistics(r);
    if (r->w->operand[MEAN]) {
        plan->set.parameters->store(statistic(r, MEAN, index), r->numbers.mean[0] + r->numbers.mean[1]);
    }
    if (r->w->operand[INVERSE_STD]) {
        plan->set.parameters->store(statistic(r, INVERSE_STD, index), r->numbers.inverse_std);
    }
    for (int64_t i = 0; i < plan->segments; i++) {
        const segment s = segment_at(r, i, 0);
        point_at_weights(r, &s);
        plan->set.images->apply(plan->segment, s.y, s.x, &r->numbers);
    }
}

static void write_gradient(row *r) {
    const prepared *plan = r->w->plan;
    double sums[2] = {0, 0};
    for (int64_t i = 0; i < plan->segments; i++) {
        const segment s = segment_at(r, i, 0);
        point_at_weights(r, &s);
        plan->set.images->sums(plan->segment, s.y, s.x, &r->numbers, sums);
    }
    const double count = (double)plan->elements, inverse_std = r->numbers.inverse_std;
    r->numbers.share = plan->problem.of.layer_norm.subtract_mean ? sums[0] / count : 0;
    r->numbers.slope = sums[1] / count * inverse_std * inverse_std;
    for (int64_t i = 0; i < plan->segments; i++) {
        const segment s = segment_at(r, i, 0);
        point_at_weights(r, &s);
        plan->set.images->gradient(plan->segment, s.g, s.y, s.x, &r->numbers);
    }
}

static void weigh_row(row *r, double *products, double *sums) {
    static const double one = 1;
    static const float one_f32 = 1;
    const prepared *plan = r->w->plan;
    for (int64_t i = 0; i < plan->segments; i++) {
        const segment s = segment_at(r, i, 0);
        if (plan->step) {
            plan->set.images->weigh(plan->segment, s.y, s.x, &r->numbers, products + s.weight, sums + s.weight);
            continue;
        }
        bp__layer_numbers numbers = r->numbers;
        double all[2] = {0, 0};
        numbers.weights = plan->set.images->number == sizeof one ? (const void *)&one : &one_f32;
        plan->set.images->sums(plan->segment, s.y, s.x, &numbers, all);
        products[s.weight] += all[1] * numbers.inverse_std;
        sums[s.weight] += all[0];
    }
}

static void compute_part(call *w, int64_t part) {
    const prepared *plan = w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    double *products = plan->weighs ? w->sums + part * 2 * plan->weights : NULL;
    if (products) {
        memset(products, 0, (size_t)plan->weights * 2 * sizeof *products);
    }
    for (int64_t i = part * plan->part; i < bp__batch_norm_least((part + 1) * plan->part, plan->rows); i++) {
        row r = {.w = w,
                 .offset = {offset_of(p, strides_of(plan, X), 0, p->row_ndim, i),
                            offset_of(p, strides_of(plan, Y), 0, p->row_ndim, i),
                            offset_of(p, strides_of(plan, G), 0, p->row_ndim, i)},
                 .weight = offset_of(p, plan->weight, 0, p->row_ndim, i),
                 .numbers = {.step = plan->step}};
        if (!plan->backward) {
            write_row(&r, i);
            continue;
        }
        if (w->operand[INVERSE_STD]) {
            r.numbers.mean[0] = w->operand[MEAN] ? plan->set.parameters->load(statistic(&r, MEAN, i)) : 0;
            r.numbers.inverse_std = plan->set.parameters->load(statistic(&r, INVERSE_STD, i));
        } else {
            compute_statistics(&r);
        }
        if (w->operand[G]) {
            write_gradient(&r);
        }
        if (products) {
            weigh_row(&r, products, products + plan->weights);
        }
    }
}

/* ---- Weights ---- */

typedef struct weight_walk {
    const prepared *plan;
    void (*visit)(void *context, int64_t index, int64_t count, bp__layer_vector vector);
    void *context;
} weight_walk;

/* Visits all weights of an operand, in sequences along the innermost dimension that has weights. */
static void each_weight(const weight_walk *walk, char *base, const int64_t *strides) {
    const prepared *plan = walk->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    int inner = NONE;
    for (int d = 0; d < p->ndim; d++) {
        inner = plan->weight[d] == 1 ? d : inner;
    }
    const int64_t count = inner == NONE ? 1 : p->size[inner];
    for (int64_t index = 0; index < plan->weights; index += count) {
        int64_t offset = 0;
        for (int d = 0; d < p->ndim; d++) {
            if (plan->weight[d] > 1) {
                offset += index / plan->weight[d] % p->size[d] * strides[d];
            }
        }
        walk->visit(walk->context, index, count,
                    (bp__layer_vector){base + offset * (int64_t)plan->set.parameters->element,
                                       inner == NONE ? 0 : strides[inner]});
    }
}

typedef struct reading {
    const prepared *plan;
    char *to;
} reading;

static void read_some(void *context, int64_t index, int64_t count, bp__layer_vector vector) {
    const reading *r = context;
    r->plan->set.parameters->widen(count, vector, r->to + (size_t)index * r->plan->set.images->number);
}

static void read_weights(const call *w, int operand, double otherwise, char *to) {
    reading r = {w->plan, to};
    const weight_walk walk = {w->plan, read_some, &r};
    if (w->operand[operand]) {
        each_weight(&walk, w->operand[operand], strides_of(w->plan, operand));
    } else {
        w->plan->set.images->fill(w->plan->weights, otherwise, to);
    }
}

typedef struct writing {
    const prepared *plan;
    const double *from;
} writing;

static void write_some(void *context, int64_t index, int64_t count, bp__layer_vector vector) {
    const writing *out = context;
    out->plan->set.parameters->narrow(count, out->from + index, vector);
}

static void write_weight_gradients(const call *w) {
    const prepared *plan = w->plan;
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
            each_weight(&walk, w->operand[WEIGHT_GRADIENT + i], strides_of(plan, WEIGHT_GRADIENT + i));
        }
    }
}

/* ---- Calls ---- */

static void compute_parts(void *context, int task) {
    call *w = context;
    (void)task;
    for (;;) {
        const int64_t part = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (part >= w->plan->parts || bp__stops(&w->stop)) {
            return;
        }
        compute_part(w, part);
    }
}

static bp_status run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    char *workspace = bp_operand_address(&exec->workspace);
    call w = {.plan = plan, .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    for (int i = 0; i < OPERANDS; i++) {
        const int at = plan->operands[i];
        w.operand[i] = at != NONE && (p->present >> at & 1) ? bp_operand_address(&operands[at]) : NULL;
    }
    w.weights = workspace;
    w.biases = workspace + plan->numbers;
    w.sums = (double *)(void *)(workspace + plan->sums);
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
    ((prepared *)self)->host->release(self);
}

/* ---- Plans ---- */

/* Finds the dimensions of the weights, and gives them compact strides. */
static void lay_out_weights(prepared *plan) {
    static const int lists[] = {WEIGHT, BIAS, WEIGHT_GRADIENT, BIAS_GRADIENT};
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    plan->weights = 1;
    for (int d = p->ndim - 1; d >= 0; d--) {
        bool depends = false;
        for (int i = 0; i < 4; i++) {
            depends = depends || strides_of(plan, lists[i])[d] != 0;
        }
        plan->weight[d] = depends ? plan->weights : 0;
        plan->weights *= depends ? p->size[d] : 1;
    }
    plan->step = p->ndim > p->row_ndim && plan->weight[p->ndim - 1] != 0;
}

static void cut(prepared *plan) {
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
        most = most < 1 ? 1 : bp__batch_norm_least(most, MOST_PARTS);
    }
    const int64_t enough = UNIT / plan->elements + 1, wanted = (plan->rows + most - 1) / most;
    plan->part = enough > wanted ? enough : wanted;
    plan->parts = (plan->rows + plan->part - 1) / plan->part;
}

static size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

bp_status bp__layer_plan(const bp_host *host, const bp_problem *problem, const bp__layer_set *set, int threads,
                         bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->backward = problem->op == BP_OP_LAYER_NORM_BACKWARD;
    plan->operands = plan->backward ? backward_operands : forward_operands;
    plan->weighs = plan->backward && problem->of.layer_norm.present >> backward_operands[WEIGHT_GRADIENT] != 0;
    lay_out_weights(plan);
    cut(plan);
    plan->numbers = whole_lines((size_t)plan->weights * set->images->number);
    plan->sums = 2 * plan->numbers;
    plan->base.workspace = plan->sums;
    if (plan->weighs) {
        const int64_t parts = plan->parts > 1 ? plan->parts : 1;
        plan->base.workspace += (size_t)(parts * 2 * plan->weights) * sizeof(double);
    }
    *result = &plan->base;
    return BP_OK;
}
