/* reduce.c - computes reductions, softmax and its gradients, with the errors that reduce.h states. */
#include "reference/results.h"
#include "reference/walk.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define SUM_UNIT 0x1p-53L /* of sums in f64 */

/* ---- Reductions ---- */

/* Walks over the results and over the elements of one. */
typedef struct reduction {
    int kind;
    bool whole; /* of integers */
    walk outer, inner;
    int64_t terms;
    double correction; /* of a variance */
    wide_tensor reals;
    wholes integers;
} reduction;

static bool is_reduced(int count, const int32_t *axes, int ndim, int dim) {
    for (int i = 0; axes && i < count; i++) {
        if (axes[i] == dim || axes[i] + ndim == dim) {
            return true;
        }
    }
    return !axes;
}

static bool takes_greatest(int kind) {
    return kind == BP_REDUCE_MAX || kind == BP_REDUCE_ARGMAX;
}

static bool is_position(int kind) {
    return kind == BP_REDUCE_ARGMAX || kind == BP_REDUCE_ARGMIN;
}

/* Returns the place of the first extreme of floating numbers, where NaN is the most extreme one. */
static int64_t place_of(const reduction *r, int64_t start) {
    int64_t place = 0;
    double best = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const double x = r->reals.data[start + walk_offset(&r->inner, i)];
        if (i == 0 || (takes_greatest(r->kind) ? x > best : x < best) || (isnan(x) && !isnan(best))) {
            best = x;
            place = i;
        }
    }
    return place;
}

static bool is_truth(int kind) {
    return kind == BP_REDUCE_ANY || kind == BP_REDUCE_ALL;
}

/* Returns whether an element is not 0, or whether each one is. */
static bool truth_of(const reduction *r, int64_t start) {
    int64_t count = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const int64_t at = start + walk_offset(&r->inner, i);
        count += r->whole ? r->integers.data[at] != 0 : r->reals.data[at] != 0;
    }
    return r->kind == BP_REDUCE_ANY ? count > 0 : count == r->terms;
}

static int64_t whole_result(void *user, int64_t index) {
    const reduction *r = user;
    const int64_t start = walk_offset(&r->outer, index);
    if (is_truth(r->kind)) {
        return truth_of(r, start);
    }
    uint64_t sum = 0, product = 1;
    int64_t best = 0, place = 0;
    if (!r->whole) {
        return place_of(r, start);
    }
    for (int64_t i = 0; i < r->terms; i++) {
        const int64_t x = r->integers.data[start + walk_offset(&r->inner, i)];
        sum += (uint64_t)x;
        product *= (uint64_t)x;
        if (i == 0 || (takes_greatest(r->kind) ? x > best : x < best)) {
            best = x;
            place = i;
        }
    }
    return r->kind == BP_REDUCE_SUM    ? (int64_t)sum
           : r->kind == BP_REDUCE_PROD ? (int64_t)product
           : is_position(r->kind)      ? place
                                       : best;
}

/* An order of the additions may overflow in f64 although the sum does not. */
static reference_number sum_of(const reduction *r, int64_t start) {
    long double sum = 0, size = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const long double x = (long double)r->reals.data[start + walk_offset(&r->inner, i)];
        sum += x;
        size += isfinite(x) ? fabsl(x) : 0;
    }
    const long double divisor = r->kind == BP_REDUCE_MEAN ? (long double)r->terms : 1;
    const long double error = size < (long double)DBL_MAX ? (long double)r->terms * SUM_UNIT * size : HUGE_VALL;
    return (reference_number){sum / divisor, r->terms > 0 ? error / divisor : 0};
}

/* An order of the multiplications may leave the range of f64. */
static reference_number product_of(const reduction *r, int64_t start) {
    long double product = 1, up = 0, down = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const double x = r->reals.data[start + walk_offset(&r->inner, i)];
        const long double power = x != 0 && isfinite(x) ? log2l(fabsl((long double)x)) : 0;
        product *= (long double)x;
        up += power > 0 ? power : 0;
        down += power < 0 ? power : 0;
    }
    const bool within = up < 1020 && down > -1020;
    return (reference_number){product, within ? (long double)r->terms * SUM_UNIT * fabsl(product) : HUGE_VALL};
}

static reference_number real_result(void *user, int64_t index) {
    const reduction *r = user;
    const int64_t start = walk_offset(&r->outer, index);
    if (r->kind == BP_REDUCE_PROD) {
        return product_of(r, start);
    }
    if (r->kind == BP_REDUCE_SUM || r->kind == BP_REDUCE_MEAN) {
        return sum_of(r, start);
    }
    return (reference_number){(long double)r->reals.data[start + walk_offset(&r->inner, place_of(r, start))], -1};
}

static reduction open_reduction(int kind, int axis_count, const int32_t *axes, const DLTensor *input) {
    reduction r = {.kind = kind, .whole = wholes_can(input)};
    int64_t strides[BP_MAX_NDIM];
    walk_compact_strides(input, strides);
    for (int i = 0; i < input->ndim; i++) {
        walk_add(is_reduced(axis_count, axes, input->ndim, i) ? &r.inner : &r.outer, input->shape[i], strides[i]);
    }
    r.terms = walk_count(&r.inner);
    return r;
}

bp_status reference_of_reduce(reference_results *made, int kind, int axis_count, const int32_t *axes,
                              const DLTensor *input, const DLTensor *output) {
    reduction r = open_reduction(kind, axis_count, axes, input);
    *made = (reference_results){.count = 0};
    bp_status status = r.whole ? wholes_make(&r.integers, input) : wide_make(&r.reals, input, false);
    if (status == BP_OK) {
        const int64_t work = 2 * r.terms + 1;
        status = wholes_can(output) ? reference_add_wholes(made, "output", output, work, whole_result, &r)
                                    : reference_add_result(made, "output", output, work, real_result, &r);
    }
    wholes_free(&r.integers);
    wide_free(&r.reals);
    return status;
}

/* ---- Variances ---- */

/* The bound of reduce.h. Squares of deviations that leave the range of f64 have none. */
static reference_number variance_of(void *user, int64_t index) {
    const reduction *r = user;
    const int64_t start = walk_offset(&r->outer, index);
    long double mean = 0, square = 0, most = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const long double x = (long double)r->reals.data[start + walk_offset(&r->inner, i)];
        mean += (x - (long double)r->reals.data[start]) / (long double)r->terms;
    }
    for (int64_t i = 0; i < r->terms; i++) {
        const long double x = (long double)r->reals.data[start + walk_offset(&r->inner, i)];
        const long double distance = (x - (long double)r->reals.data[start]) - mean;
        square += distance * distance;
        most = fabsl(distance) > most ? fabsl(distance) : most;
    }
    const long double divisor = fmaxl((long double)r->terms - (long double)r->correction, 0);
    const long double variance = square / divisor, unit = (2 * (long double)r->terms + 32) * SUM_UNIT;
    const bool outside = square > 0x1p1020L || (most > 0 && most < 0x1p-500L);
    const long double value = r->kind == BP_STD ? sqrtl(variance) : variance;
    const long double error = (r->kind == BP_STD ? unit / 2 : unit) * value;
    return (reference_number){value, outside ? HUGE_VALL : isfinite(error) ? error : 0};
}

bp_status reference_of_variance(reference_results *made, int kind, int axis_count, const int32_t *axes,
                                double correction, const DLTensor *input, const DLTensor *output) {
    reduction r = open_reduction(kind, axis_count, axes, input);
    r.correction = correction;
    *made = (reference_results){.count = 0};
    bp_status status = wide_make(&r.reals, input, false);
    status = status == BP_OK ? reference_add_result(made, "output", output, 4 * r.terms + 1, variance_of, &r) : status;
    wide_free(&r.reals);
    return status;
}

/* ---- Softmax ---- */

/* What is known of a row. */
typedef struct row {
    int64_t start;                              /* its first element; -1: nothing is known */
    long double most, sum, logarithm, distance; /* distance: the mean of most - x, with the weights of softmax */
    long double product, terms;                 /* of the gradient and its factor; terms: their magnitudes */
} row;

/* Neighbours in memory may be in different rows, so many rows are kept. */
enum { ROWS = 4096 };

/* Sizes of the axis and of the dimensions behind it, and the rows that were computed last. */
typedef struct softmax {
    bool logarithm;
    int64_t size, inner;
    long double unit, least; /* of the type of the computation: its unit, and its least normal number */
    wide_tensor x, gradient; /* x: the input, or the output whose gradient is given */
    row *rows;
} softmax;

static bp_status open_softmax(softmax *s, int kind, int axis, const DLTensor *in, const DLTensor *gradient) {
    const int positive = axis + (axis < 0 ? in->ndim : 0);
    const bool f64 = bp_dtype_from_dlpack(in->dtype) == BP_F64;
    *s = (softmax){.logarithm = kind == BP_LOG_SOFTMAX,
                   .size = in->shape[positive],
                   .inner = 1,
                   .rows = malloc(ROWS * sizeof(row)),
                   .unit = (long double)reference_unit(f64 ? BP_F64 : BP_F32),
                   .least = f64 ? (long double)DBL_MIN : (long double)FLT_MIN};
    for (int i = positive + 1; i < in->ndim; i++) {
        s->inner *= in->shape[i];
    }
    for (int i = 0; i < ROWS && s->rows; i++) {
        s->rows[i].start = -1;
    }
    const bp_status status = s->rows ? wide_make(&s->x, in, false) : BP_E_NO_MEMORY;
    return status == BP_OK && gradient ? wide_make(&s->gradient, gradient, false) : status;
}

static void close_softmax(softmax *s) {
    wide_free(&s->x);
    wide_free(&s->gradient);
    free(s->rows);
}

/* Returns the index of the first element of a row, whose others are `inner` apart. */
static int64_t row_start(const softmax *s, int64_t index) {
    return index / s->inner / s->size * s->size * s->inner + index % s->inner;
}

static void set_row(const softmax *s, row *r) {
    r->most = -(long double)HUGE_VAL;
    r->sum = r->distance = 0;
    for (int64_t i = 0; i < s->size; i++) {
        const long double x = (long double)s->x.data[r->start + i * s->inner];
        r->most = x > r->most || isnan(x) ? x : r->most;
    }
    for (int64_t i = 0; i < s->size; i++) {
        const long double distance = r->most - (long double)s->x.data[r->start + i * s->inner], e = expl(-distance);
        r->sum += e;
        r->distance += e > 0 ? e * distance : 0;
    }
    r->distance /= r->sum;
    r->logarithm = logl(r->sum);
}

/* Returns the row of an element. */
static const row *row_of(softmax *s, int64_t index, void (*set)(const softmax *s, row *r)) {
    const int64_t start = row_start(s, index);
    row *r = &s->rows[start % ROWS];
    if (r->start != start) {
        r->start = start;
        set(s, r);
    }
    return r;
}

/* The roundings that reduce.h lists, in units: one of the difference to the greatest element, which changes its
 * exponential by as much as it is large; two of the exponential; the roundings of the sum, in f64; of the inverse of
 * the sum and of the product. The relative error of a sum is the mean of the errors of its terms. */
static reference_number softmax_element(void *user, int64_t index) {
    softmax *s = user;
    const row *r = row_of(s, index, set_row);
    const long double distance = r->most - (long double)s->x.data[index];
    const long double mean = r->distance + 2 + (long double)s->size * SUM_UNIT / s->unit;
    if (isinf(distance) && isfinite(r->most)) {
        return (reference_number){s->logarithm ? -distance : 0, -1};
    }
    if (s->logarithm) {
        const long double value = -distance - r->logarithm;
        return (reference_number){value, s->unit * (distance + fabsl(value) + r->logarithm + mean + 2)};
    }
    const long double value = expl(-distance) / r->sum;
    return (reference_number){value, value * s->unit * (distance + mean + 6) + s->least};
}

bp_status reference_of_softmax(reference_results *made, int kind, int axis, const DLTensor *input,
                               const DLTensor *output) {
    softmax s;
    *made = (reference_results){.count = 0};
    bp_status status = open_softmax(&s, kind, axis, input, NULL);
    status = status == BP_OK ? reference_add_result(made, "output", output, 8 * s.size, softmax_element, &s) : status;
    close_softmax(&s);
    return status;
}

static void set_products(const softmax *s, row *r) {
    r->product = r->terms = 0;
    for (int64_t i = 0; i < s->size; i++) {
        const int64_t at = r->start + i * s->inner;
        const long double factor = s->logarithm ? 1 : (long double)s->x.data[at];
        const long double term = (long double)s->gradient.data[at] * factor;
        r->product += term;
        r->terms += fabsl(term);
    }
}

/* A sum may overflow, although the gradient does not. */
static reference_number gradient_element(void *user, int64_t index) {
    softmax *s = user;
    const row *r = row_of(s, index, set_products);
    const long double y = (long double)s->x.data[index], d = (long double)s->gradient.data[index], sum = r->product;
    const long double weight = s->logarithm ? expl(y) : fabsl(y);
    const long double value = s->logarithm ? d - weight * sum : y * (d - sum);
    const long double size = s->logarithm ? fabsl(d) + weight * fabsl(sum) : weight * (fabsl(d) + fabsl(sum));
    const long double order = s->unit * fabsl(sum) + SUM_UNIT * (long double)(s->size + 1) * r->terms;
    const long double most = fabsl(d) + r->terms,
                      largest = s->least == (long double)DBL_MIN ? (long double)DBL_MAX : (long double)FLT_MAX;
    const long double error = weight * order + 5 * s->unit * size + s->least * (1 + fabsl(sum));
    return (reference_number){value, isfinite(most) && !(most < largest) ? HUGE_VALL : error};
}

bp_status reference_of_softmax_backward(reference_results *made, int kind, int axis, const DLTensor *output,
                                        const DLTensor *output_gradient, const DLTensor *input_gradient) {
    softmax s;
    *made = (reference_results){.count = 0};
    bp_status status = open_softmax(&s, kind, axis, output, output_gradient);
    status = status == BP_OK
                 ? reference_add_result(made, "input_gradient", input_gradient, 2 * s.size, gradient_element, &s)
                 : status;
    close_softmax(&s);
    return status;
}
