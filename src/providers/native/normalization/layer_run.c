/* layer_run.c - runs layer, RMS and group normalization of rows, one after another.
 *
 * Tensors whose elements of a row are no neighbours are copied to compact rows, the rows of cache lines at a time, so
 * that all kernels run on vectors. Long rows are copied in windows, once for each pass. */
#include "layer_work.h"

#include "providers/native/stage_rows.h"

#include <math.h>
#include <string.h>

/* ---- Rows ---- */

/* The elements from `from` to before `end` of the segments from `first` to before `last`. */
typedef struct window {
    int64_t first, last, from, end;
} window;

typedef struct row {
    const bp__layer_run *w;
    const window *window;
    bp__layer_vector first[BP__LAYER_IMAGES]; /* the first segments of X, Y and G */
    char *copy[BP__LAYER_IMAGES];             /* of the elements of the window; NULL: there is none */
    int64_t weight;                           /* index of the first weight */
    bp__batch_norm_moments moments;
    bp__layer_numbers numbers;
} row;

/* Rows that are computed together. */
typedef struct block {
    row rows[BP__LAYER_MOST_ROWS];
    int64_t count;
} block;

/* Part of a row: vectors of X, Y and G, and the index of the first weight. */
typedef struct segment {
    bp__layer_vector x, y, g;
    int64_t weight;
} segment;

/* Returns the index in a copy of an element of the window. */
static int64_t copied_index(const bp__layer_work *plan, const window *at, int64_t index, int64_t from) {
    return (index - at->first) * plan->segment + from - at->from;
}

/* Returns the elements of a tensor from `from` on of a segment. */
static bp__layer_vector elements_at(const row *r, int image, int64_t index, int64_t from) {
    const bp__layer_work *plan = r->w->plan;
    const bp__layer_vector first = r->first[image];
    int64_t offset = from * first.stride;
    if (plan->segments > 1) {
        offset += bp__layer_element_offset(plan, bp__layer_images[image], index, 0);
    }
    const uintptr_t bytes = (uintptr_t)(offset * (int64_t)plan->set.images->element);
    return (bp__layer_vector){first.at ? (char *)((uintptr_t)first.at + bytes) : NULL, first.stride};
}

/* The elements from `from` on of a segment. */
static segment segment_at(const row *r, int64_t index, int64_t from) {
    const bp__layer_work *plan = r->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    bp__layer_vector v[BP__LAYER_IMAGES];
    for (int i = 0; i < BP__LAYER_IMAGES; i++) {
        if (r->copy[i]) {
            const int64_t at = copied_index(plan, r->window, index, from);
            v[i] = (bp__layer_vector){r->copy[i] + at * (int64_t)plan->set.images->element, 1};
        } else {
            v[i] = elements_at(r, i, index, from);
        }
    }
    const int64_t weight = plan->segments > 1 ? bp__layer_offset(p, plan->weight, p->row_ndim, p->ndim - 1, index) : 0;
    return (segment){v[0], v[1], v[2], r->weight + weight + from * plan->step};
}

static void point_at_weights(row *r, const segment *s) {
    const size_t at = (size_t)s->weight * r->w->plan->set.images->number;
    r->numbers.weights = r->w->weights + at;
    r->numbers.biases = r->w->biases + at;
}

/* Adds the moments of the elements of the window. Means are means of the differences to the first element, so that
 * they lose nothing in a large mean. */
static void add_moments(row *r) {
    const bp__layer_work *plan = r->w->plan;
    const bool centered = plan->problem.of.layer_norm.subtract_mean;
    const bp__layer_kernels *kernels = plan->set.images;
    const window *at = r->window;
    double center = 0;
    if (centered) {
        center = kernels->load(r->first[0].at);
    }
    for (int64_t i = at->first; i < at->last; i++) {
        for (int64_t from = at->from; from < at->end; from += BP__LAYER_BLOCK) {
            const segment s = segment_at(r, i, from);
            const int64_t n = bp__least(BP__LAYER_BLOCK, at->end - from);
            bp__batch_norm_moments moments = {.count = (double)n};
            kernels->moments(n, s.x, center, centered, &moments.mean, &moments.squares);
            bp__batch_norm_merge(&r->moments, moments);
        }
    }
    r->numbers.mean[0] = center;
}

static void finish_statistics(row *r) {
    const double eps = r->w->plan->problem.of.layer_norm.eps;
    r->numbers.mean[1] = r->moments.mean;
    r->numbers.inverse_std = 1 / sqrt(r->moments.squares / r->moments.count + eps);
}

static void load_statistics(row *r, int64_t index) {
    const bp__layer_kernels *kernels = r->w->plan->set.parameters;
    r->numbers.mean[0] = r->w->operand[MEAN] ? kernels->load(bp__layer_statistic(r->w, MEAN, index)) : 0;
    r->numbers.inverse_std = kernels->load(bp__layer_statistic(r->w, INVERSE_STD, index));
}

static void write_elements(row *r) {
    const window *at = r->window;
    for (int64_t i = at->first; i < at->last; i++) {
        const segment s = segment_at(r, i, at->from);
        point_at_weights(r, &s);
        r->w->plan->set.images->apply(at->end - at->from, s.y, s.x, &r->numbers);
    }
}

/* Adds the sums of d and of d x of the window to share and slope. */
static void add_sums(row *r) {
    const window *at = r->window;
    double sums[2] = {r->numbers.share, r->numbers.slope};
    for (int64_t i = at->first; i < at->last; i++) {
        const segment s = segment_at(r, i, at->from);
        point_at_weights(r, &s);
        r->w->plan->set.images->sums(at->end - at->from, s.y, s.x, &r->numbers, sums);
    }
    r->numbers.share = sums[0];
    r->numbers.slope = sums[1];
}

static void finish_sums(row *r) {
    const bp__layer_work *plan = r->w->plan;
    const double count = (double)plan->elements, inverse_std = r->numbers.inverse_std;
    r->numbers.share = plan->problem.of.layer_norm.subtract_mean ? r->numbers.share / count : 0;
    r->numbers.slope = r->numbers.slope / count * inverse_std * inverse_std;
}

static void write_gradient(row *r) {
    const window *at = r->window;
    for (int64_t i = at->first; i < at->last; i++) {
        const segment s = segment_at(r, i, at->from);
        point_at_weights(r, &s);
        r->w->plan->set.images->gradient(at->end - at->from, s.g, s.y, s.x, &r->numbers);
    }
}

/* Adds to the sums of the part. The sums of products come first. */
static void weigh_elements(row *r, double *products) {
    static const double one = 1;
    static const float one_f32 = 1;
    const bp__layer_work *plan = r->w->plan;
    const window *at = r->window;
    const int64_t n = at->end - at->from;
    double *sums = products + plan->weights;
    for (int64_t i = at->first; i < at->last; i++) {
        const segment s = segment_at(r, i, at->from);
        if (plan->step) {
            plan->set.images->weigh(n, s.y, s.x, &r->numbers, products + s.weight, sums + s.weight);
            continue;
        }
        bp__layer_numbers numbers = r->numbers;
        double all[2] = {0, 0};
        numbers.weights = plan->set.images->number == sizeof one ? (const void *)&one : &one_f32;
        plan->set.images->sums(n, s.y, s.x, &numbers, all);
        products[s.weight] += all[1] * numbers.inverse_std;
        sums[s.weight] += all[0];
    }
}

/* ---- Windows of blocks of rows ---- */

static window first_window(const bp__layer_work *plan) {
    return bp__layer_has_whole_rows(plan) ? (window){0, plan->segments, 0, plan->segment}
                                          : (window){0, 1, 0, bp__least(BP__LAYER_BLOCK, plan->segment)};
}

/* Moves to the next window. Returns false if there is none. */
static bool next_window(const bp__layer_work *plan, window *at) {
    if (bp__layer_has_whole_rows(plan) || (at->end == plan->segment && at->last == plan->segments)) {
        return false;
    }
    if (at->end == plan->segment) {
        *at = (window){at->last, at->last + 1, 0, 0};
    }
    at->from = at->end;
    at->end = bp__least(at->from + BP__LAYER_BLOCK, plan->segment);
    return true;
}

/* Copies the window of all rows to compact memory, or from it. */
static void stage(const block *b, int image, const window *at, bool in) {
    const row *first = &b->rows[0];
    const bp__layer_work *plan = first->w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    if (!first->copy[image]) {
        return;
    }
    const int operand = bp__layer_images[image];
    bp__staged_rows rows = {.row = p->row_ndim > 0 ? bp__layer_strides(plan, operand)[p->row_ndim - 1] : 0,
                            .element = bp__layer_element_stride(plan, operand),
                            .rows = b->count,
                            .count = at->end - at->from,
                            .size = plan->set.images->element};
    for (int64_t i = at->first; i < at->last; i++) {
        char *compact = first->copy[image] + copied_index(plan, at, i, at->from) * (int64_t)rows.size;
        rows.at = elements_at(first, image, i, at->from).at;
        if (in) {
            bp__stage_rows_in(&rows, compact, plan->leading);
        } else {
            bp__stage_rows_out(&rows, compact, plan->leading);
        }
    }
}

typedef void (*row_function)(row *r);

/* Calls a function for each row, on all windows in turn. The inputs up to `last_input` are copied before, unless the
 * copies of whole rows are there; an output, unless it is BP__LAYER_NONE, afterwards. */
static void each_window(block *b, int last_input, bool copied, row_function visit, double *sums, int output) {
    const bp__layer_work *plan = b->rows[0].w->plan;
    window at = first_window(plan);
    do {
        for (int i = 0; i <= last_input && !(copied && bp__layer_has_whole_rows(plan)); i++) {
            stage(b, i, &at, true);
        }
        for (int64_t i = 0; i < b->count; i++) {
            b->rows[i].window = &at;
            if (sums) {
                weigh_elements(&b->rows[i], sums);
            } else {
                visit(&b->rows[i]);
            }
        }
        if (output != BP__LAYER_NONE) {
            stage(b, output, &at, false);
        }
    } while (next_window(plan, &at));
}

static void each_row(block *b, row_function visit) {
    for (int64_t i = 0; i < b->count; i++) {
        visit(&b->rows[i]);
    }
}

static void compute_statistics(block *b) {
    each_window(b, 0, false, add_moments, NULL, BP__LAYER_NONE);
    each_row(b, finish_statistics);
}

static void compute_forward(block *b, int64_t index) {
    compute_statistics(b);
    for (int64_t i = 0; i < b->count; i++) {
        const bp__layer_numbers *n = &b->rows[i].numbers;
        bp__layer_store_statistics(b->rows[i].w, index + i, n->mean[0] + n->mean[1], n->inverse_std);
    }
    each_window(b, 0, true, write_elements, NULL, 1);
}

static void compute_backward(block *b, int64_t index, double *sums) {
    const bp__layer_run *w = b->rows[0].w;
    bool copied = false;
    if (w->operand[INVERSE_STD]) {
        for (int64_t i = 0; i < b->count; i++) {
            load_statistics(&b->rows[i], index + i);
        }
    } else {
        compute_statistics(b);
    }
    if (w->operand[G]) {
        each_window(b, 1, false, add_sums, NULL, BP__LAYER_NONE);
        each_row(b, finish_sums);
        each_window(b, 1, true, write_gradient, NULL, 2);
        copied = true;
    }
    if (sums) {
        each_window(b, 1, copied, NULL, sums, BP__LAYER_NONE);
    }
}

/* Makes the rows from `index` on, at most `most`, which are neighbours in the last dimension of rows. */
static void begin_block(block *b, const bp__layer_run *w, int task, int64_t index, int64_t most) {
    const bp__layer_work *plan = w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    const int64_t size = p->row_ndim > 0 ? p->size[p->row_ndim - 1] : 1;
    b->count = bp__least(bp__least(plan->block, most), size - index % size);
    for (int64_t i = 0; i < b->count; i++) {
        row *r = &b->rows[i]; /* without an initializer, which would clear it by an instruction that is slow */
        r->w = w;
        r->weight = bp__layer_offset(p, plan->weight, 0, p->row_ndim, index + i);
        r->moments.count = r->moments.mean = r->moments.squares = 0;
        r->numbers.step = plan->step;
        r->numbers.mean[0] = r->numbers.mean[1] = r->numbers.share = r->numbers.slope = 0;
        char *copy = w->copies + (size_t)task * plan->copy * BP__LAYER_IMAGES;
        for (int k = 0; k < BP__LAYER_IMAGES; k++) {
            const int operand = bp__layer_images[k];
            const int64_t offset = bp__layer_offset(p, bp__layer_strides(plan, operand), 0, p->row_ndim, index + i);
            r->copy[k] = NULL;
            r->first[k] = bp__layer_vector_at(w, operand, offset, bp__layer_element_stride(plan, operand));
            if (plan->staged[k] && w->operand[operand]) {
                r->copy[k] = copy + (size_t)(i * plan->leading) * plan->set.images->element;
            }
            copy += plan->shared ? 0 : plan->copy;
        }
    }
}

void bp__layer_rows_part(bp__layer_run *w, int64_t part, int task) {
    const bp__layer_work *plan = w->plan;
    double *sums = plan->weighs ? w->sums + part * 2 * plan->weights : NULL;
    if (sums) {
        memset(sums, 0, (size_t)plan->weights * 2 * sizeof *sums);
    }
    const int64_t end = bp__least((part + 1) * plan->part, plan->rows);
    block b;
    for (int64_t i = part * plan->part; i < end; i += b.count) {
        begin_block(&b, w, task, i, end - i);
        if (plan->backward) {
            compute_backward(&b, i, sums);
        } else {
            compute_forward(&b, i);
        }
    }
}
