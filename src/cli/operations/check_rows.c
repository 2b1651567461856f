/* check_rows.c - checks the results of reductions, softmax and its gradients, and layer, RMS and group normalization,
 * for compare. Each checked element is computed from the definition in reduce.h or norm.h, in long double. What
 * rounding may change is counted by the errors that these headers state, and is the scale of an element. */
#include "operations.h"
#include "reference/walk.h"

#include <float.h>
#include <math.h>

#define SUM_UNIT 0x1p-53L /* of sums in f64 */

static bp_dtype dtype_of(const DLTensor *tensor) {
    return bp_dtype_from_dlpack(tensor->dtype);
}

/* The unit of rounding of the type in which elements are computed. */
static long double computed_unit(bp_dtype dtype) {
    return (long double)reference_unit(dtype == BP_F64 ? BP_F64 : BP_F32);
}

/* Sets an element with its largest error before it is rounded to the type. */
static void set_real(reference_value *value, long double result, long double error, bp_dtype dtype) {
    const long double unit = (long double)reference_unit(dtype);
    const long double scale = fabsl(result) * (dtype == BP_F64 ? 2 : 1) + error / unit;
    value->re = (double)result;
    value->im = 0;
    value->scale = scale < (long double)DBL_MAX ? (double)scale : DBL_MAX;
}

/* The scale has every error, in units of rounding, so that the bound is one of them. */
static bp_status end(cli_check *check, const cli_job *job, bp_status status, const char *text) {
    if (status != BP_OK) {
        return status;
    }
    status = check_with_reference(check, job, text);
    check->bound =
        check->values.measure == REFERENCE_WHOLE ? 0 : 1.01 * reference_unit(dtype_of(&job->results[0].tensor));
    return status;
}

/* ---- Reductions ---- */

/* One reduction: walks over the results and over the elements of one. */
typedef struct reduction {
    bp_reduce_kind kind;
    bp_dtype dtype;
    bool whole;
    walk outer, inner;
    int64_t terms;
    wide reals;
    wholes integers;
} reduction;

static bool is_reduced(const rows_words *words, int ndim, int dim) {
    for (int i = 0; i < words->axis_count; i++) {
        if (words->axes[i] == dim || words->axes[i] + ndim == dim) {
            return true;
        }
    }
    return words->axis_count == 0;
}

static bp_status open_reduction(reduction *r, const cli_job *job) {
    const DLTensor *in = &job->inputs[0].tensor;
    int64_t strides[BP_MAX_NDIM];
    *r = (reduction){.kind = job->words.rows.kind, .dtype = dtype_of(&job->results[0].tensor), .whole = wholes_can(in)};
    walk_compact_strides(in, strides);
    for (int i = 0; i < in->ndim; i++) {
        walk_add(is_reduced(&job->words.rows, in->ndim, i) ? &r->inner : &r->outer, in->shape[i], strides[i]);
    }
    r->terms = walk_count(&r->inner);
    return r->whole ? wholes_make(&r->integers, in) : wide_make(&r->reals, in, false);
}

static bool is_position(bp_reduce_kind kind) {
    return kind == BP_REDUCE_ARGMAX || kind == BP_REDUCE_ARGMIN;
}

static bool takes_greatest(bp_reduce_kind kind) {
    return kind == BP_REDUCE_MAX || kind == BP_REDUCE_ARGMAX;
}

static void reduce_integers(const reduction *r, int64_t start, reference_value *value) {
    uint64_t sum = 0, product = 1;
    int64_t best = 0, place = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const int64_t x = r->integers.data[start + walk_offset(&r->inner, i)];
        sum += (uint64_t)x;
        product *= (uint64_t)x;
        if (i == 0 || (takes_greatest(r->kind) ? x > best : x < best)) {
            best = x;
            place = i;
        }
    }
    value->whole = r->kind == BP_REDUCE_SUM    ? (int64_t)sum
                   : r->kind == BP_REDUCE_PROD ? (int64_t)product
                   : is_position(r->kind)      ? place
                                               : best;
}

/* The extreme is the first NaN, if there is one. */
static void extreme_of(const reduction *r, int64_t start, reference_value *value) {
    double best = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const double x = r->reals.data[start + walk_offset(&r->inner, i)];
        if (i == 0 || (takes_greatest(r->kind) ? x > best : x < best) || (isnan(x) && !isnan(best))) {
            best = x;
            value->whole = i;
        }
    }
    value->re = best;
    value->scale = 0; /* it is exact */
}

/* Returns false if an order of the additions overflows in f64 although the sum does not. */
static bool sum_of(const reduction *r, int64_t start, reference_value *value) {
    long double sum = 0, size = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const long double x = (long double)r->reals.data[start + walk_offset(&r->inner, i)];
        sum += x;
        size += isfinite(x) ? fabsl(x) : 0;
    }
    const long double divisor = r->kind == BP_REDUCE_MEAN ? (long double)r->terms : 1;
    set_real(value, sum / divisor, (long double)r->terms * SUM_UNIT * size / divisor, r->dtype);
    return size < (long double)DBL_MAX;
}

/* Returns false if an order of the multiplications leaves the range of f64. */
static bool product_of(const reduction *r, int64_t start, reference_value *value) {
    long double product = 1, up = 0, down = 0;
    for (int64_t i = 0; i < r->terms; i++) {
        const double x = r->reals.data[start + walk_offset(&r->inner, i)];
        const long double power = x != 0 && isfinite(x) ? log2l(fabsl((long double)x)) : 0;
        product *= (long double)x;
        up += power > 0 ? power : 0;
        down += power < 0 ? power : 0;
    }
    set_real(value, product, (long double)r->terms * SUM_UNIT * fabsl(product), r->dtype);
    return up < 1020 && down > -1020;
}

/* Computes one result. Returns false if it has no reference. */
static bool set_reduced(const reduction *r, reference_value *value) {
    const int64_t start = walk_offset(&r->outer, value->index);
    if (r->whole) {
        reduce_integers(r, start, value);
        return true;
    }
    if (r->kind == BP_REDUCE_PROD) {
        return product_of(r, start, value);
    }
    if (r->kind == BP_REDUCE_SUM || r->kind == BP_REDUCE_MEAN) {
        return sum_of(r, start, value);
    }
    extreme_of(r, start, value);
    return true;
}

static const char *reduction_text(const reduction *r) {
    if (r->whole || is_position(r->kind)) {
        return "the number of elements that differ from the reference";
    }
    if (r->kind == BP_REDUCE_SUM || r->kind == BP_REDUCE_MEAN) {
        return "the largest |result - reference| / (|result| + n 2^-53 sum of |input| / unit of rounding); the "
               "reference is computed in long double";
    }
    return r->kind == BP_REDUCE_PROD
               ? "the largest |result - reference| / (|result| (1 + n 2^-53 / unit of rounding)); "
                 "the reference is computed in long double"
               : "infinity if an element differs from the reference, otherwise 0";
}

bp_status check_reduction(cli_check *check, const cli_job *job) {
    reduction r;
    *check = (cli_check){.bound = 0};
    bp_status status = open_reduction(&r, job);
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, 2 * r.terms + 1, 16) : status;
    check->values.measure = wholes_can(&job->results[0].tensor) ? REFERENCE_WHOLE : REFERENCE_NUMBERS;
    check->values.terms = 0;
    int64_t known = 0;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        check->values.values[known] = check->values.values[i];
        known += set_reduced(&r, &check->values.values[known]);
    }
    check->values.count = known;
    wholes_free(&r.integers);
    wide_free(&r.reals);
    return end(check, job, status, reduction_text(&r));
}

/* ---- Softmax ---- */

/* A softmax: sizes of the axis and of the dimensions behind it, and what is known of one row. */
typedef struct softmax {
    bool logarithm;
    bp_dtype dtype;
    int64_t size, inner, row;
    wide x, gradient;                /* x: the input, or the output of which a gradient is computed */
    long double most, sum, distance; /* distance: the mean of most - x, with the weights of softmax */
    long double product, terms;      /* of the gradient and its factor; terms: their magnitudes */
} softmax;

static bp_status open_softmax(softmax *s, const cli_job *job) {
    const DLTensor *in = &job->inputs[0].tensor;
    const int axis = job->words.rows.axes[0] + (job->words.rows.axes[0] < 0 ? in->ndim : 0);
    *s = (softmax){.logarithm = job->operation->number % 2 == BP_LOG_SOFTMAX,
                   .dtype = dtype_of(in),
                   .size = in->shape[axis],
                   .inner = 1,
                   .row = -1};
    for (int i = axis + 1; i < in->ndim; i++) {
        s->inner *= in->shape[i];
    }
    bp_status status = wide_make(&s->x, in, false);
    return status == BP_OK && job->input_count > 1 ? wide_make(&s->gradient, &job->inputs[1].tensor, false) : status;
}

/* Returns the index of the first element of a row, of which the others are `inner` apart. */
static int64_t row_start(const softmax *s, int64_t index) {
    return index / s->inner / s->size * s->size * s->inner + index % s->inner;
}

static void set_row(softmax *s, int64_t start) {
    s->row = start;
    s->most = -(long double)HUGE_VAL;
    s->sum = s->distance = 0;
    for (int64_t i = 0; i < s->size; i++) {
        const long double x = (long double)s->x.data[start + i * s->inner];
        s->most = x > s->most || isnan(x) ? x : s->most;
    }
    for (int64_t i = 0; i < s->size; i++) {
        const long double distance = s->most - (long double)s->x.data[start + i * s->inner], e = expl(-distance);
        s->sum += e;
        s->distance += e > 0 ? e * distance : 0;
    }
    s->distance /= s->sum;
}

/* Errors, in units of rounding: of a difference one, and so of its exponential the difference and at most 4; of the sum
 * the means of these; of the last operations at most 3. */
static void set_softmax(softmax *s, reference_value *value) {
    const int64_t start = row_start(s, value->index);
    if (start != s->row) {
        set_row(s, start);
    }
    const long double distance = s->most - (long double)s->x.data[value->index], unit = computed_unit(s->dtype);
    if (s->logarithm) {
        const long double logarithm = logl(s->sum);
        const long double error = 2 * distance + 2 * logarithm + s->distance + 6;
        set_real(value, -distance - logarithm, isfinite(error) ? error * unit : 0, s->dtype);
    } else {
        const long double result = expl(-distance) / s->sum, error = distance + s->distance + 12;
        set_real(value, result, result > 0 ? result * error * unit : 0, s->dtype);
    }
}

bp_status check_softmax(cli_check *check, const cli_job *job) {
    softmax s;
    *check = (cli_check){.bound = 0};
    bp_status status = open_softmax(&s, job);
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, 8 * s.size, 64) : status;
    check->values.measure = REFERENCE_NUMBERS;
    check->values.terms = 0;
    check->values.tiny = s.logarithm ? 0 : s.dtype == BP_F64 ? DBL_MIN : (double)FLT_MIN;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_softmax(&s, &check->values.values[i]);
    }
    wide_free(&s.x);
    return end(check, job, status,
               s.logarithm ? "the largest |y - reference| / (|y| + 2 (m - x) + 2 log(sum) + 6 + mean of m - x); the "
                             "reference is computed in long double"
                           : "the largest |y - reference| / (y (13 + m - x + mean of m - x)); the reference is "
                             "computed in long double");
}

static void set_products(softmax *s, int64_t start) {
    s->row = start;
    s->product = s->terms = 0;
    for (int64_t i = 0; i < s->size; i++) {
        const int64_t at = start + i * s->inner;
        const long double factor = s->logarithm ? 1 : (long double)s->x.data[at];
        const long double term = (long double)s->gradient.data[at] * factor;
        s->product += term;
        s->terms += fabsl(term);
    }
}

/* Returns false if the sum overflows, although the gradient may not. */
static bool set_gradient(softmax *s, reference_value *value) {
    const int64_t start = row_start(s, value->index);
    if (start != s->row) {
        set_products(s, start);
    }
    const long double y = (long double)s->x.data[value->index], d = (long double)s->gradient.data[value->index];
    const long double unit = computed_unit(s->dtype), sum = (long double)s->size * SUM_UNIT * s->terms;
    if (s->logarithm) {
        const long double least = s->dtype == BP_F64 ? (long double)DBL_MIN : (long double)FLT_MIN;
        const long double weight = expl(y), rounded = 2 * fabsl(d) + 8 * weight * s->terms;
        set_real(value, d - weight * s->product, rounded * unit + weight * sum + least * s->terms, s->dtype);
    } else {
        const long double rounded = 4 * (fabsl(d) + s->terms) * unit;
        set_real(value, y * (d - s->product), fabsl(y) * (rounded + sum), s->dtype);
    }
    const long double most = fabsl(d) + s->terms, largest = s->dtype == BP_F64 ? (long double)DBL_MAX : FLT_MAX;
    return !isfinite(most) || most < largest;
}

bp_status check_softmax_gradient(cli_check *check, const cli_job *job) {
    softmax s;
    *check = (cli_check){.bound = 0};
    bp_status status = open_softmax(&s, job);
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, 2 * s.size, 64) : status;
    check->values.terms = 2;
    int64_t known = 0;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        check->values.values[known] = check->values.values[i];
        known += set_gradient(&s, &check->values.values[known]);
    }
    check->values.count = known;
    wide_free(&s.x);
    wide_free(&s.gradient);
    return end(check, job, status,
               s.logarithm ? "the largest |gradient - reference| / (3 |d| + 8 exp(y) sum of |d|); the reference is "
                             "computed in long double"
                           : "the largest |gradient - reference| / (5 |y| (|d| + sum of |d y|)); the reference is "
                             "computed in long double");
}

/* ---- Normalization of rows ---- */

typedef struct normalization {
    const bp_layer_norm_call *call;
    bp_dtype dtype;
    int64_t elements, positions, channels; /* of a row; of a channel of GROUP, of an item */
    int64_t row;
    wide input, weight, bias;
    long double mean, variance, error_of_mean, relative_error; /* the last one of the inverse deviation */
    bool known;
} normalization;

static bp_status open_normalization(normalization *n, const bp_layer_norm_call *call) {
    const DLTensor *in = call->input;
    *n = (normalization){.call = call, .dtype = dtype_of(in), .elements = 1, .positions = 1, .row = -1};
    const bool group = call->kind == BP_GROUP_NORM;
    for (int i = group ? 1 : in->ndim - call->row_ndim; i < in->ndim; i++) {
        n->elements *= in->shape[i];
        n->positions *= i > 1 ? in->shape[i] : 1;
    }
    n->elements /= group ? call->groups : 1;
    n->channels = group ? in->shape[1] : 1;
    bp_status status = wide_make(&n->input, in, false);
    status = status == BP_OK && call->weight ? wide_make(&n->weight, call->weight, false) : status;
    return status == BP_OK && call->bias ? wide_make(&n->bias, call->bias, false) : status;
}

/* Computes mean and variance of a row, with the errors that norm.h states. Squares of f64 may overflow or vanish, and
 * are then not known. */
static void set_statistics(normalization *n, int64_t row) {
    const double *x = n->input.data + row * n->elements;
    const bool rms = n->call->kind == BP_RMS_NORM;
    const long double center = rms || n->elements == 0 ? 0 : (long double)x[0], count = (long double)n->elements;
    long double sum = 0, squares = 0, first = 0;
    for (int64_t i = 0; i < n->elements; i++) {
        sum += (long double)x[i] - center;
        first += ((long double)x[i] - center) * ((long double)x[i] - center);
    }
    n->row = row;
    n->mean = rms ? 0 : center + sum / count;
    for (int64_t i = 0; i < n->elements; i++) {
        squares += ((long double)x[i] - n->mean) * ((long double)x[i] - n->mean);
    }
    n->variance = squares / count;
    const long double unit = (count + 8) * SUM_UNIT, size = sqrtl(first / count);
    n->error_of_mean = rms ? 0 : unit * size;
    n->relative_error = squares > 0 ? unit * (1 + 4 * size / sqrtl(n->variance)) / 2 : 0;
    n->known = !(size > 1e150L && isfinite(size)) && !(size > 0 && size < 1e-150L);
}

/* Returns false if the element has no reference. */
static bool set_normalized(normalization *n, reference_value *value) {
    const int64_t row = value->index / n->elements;
    if (row != n->row) {
        set_statistics(n, row);
    }
    const int64_t at =
        n->call->kind == BP_GROUP_NORM ? value->index / n->positions % n->channels : value->index % n->elements;
    const long double weight = n->weight.data ? (long double)n->weight.data[at] : 1;
    const long double bias = n->bias.data ? (long double)n->bias.data[at] : 0;
    const long double factor = weight / sqrtl(n->variance + (long double)n->call->eps);
    const long double normal = ((long double)n->input.data[value->index] - n->mean) * factor;
    const long double rounded = 8 * (fabsl(normal) + fabsl(bias)) * computed_unit(n->dtype);
    set_real(value, normal + bias, rounded + fabsl(factor) * n->error_of_mean + fabsl(normal) * n->relative_error,
             n->dtype);
    return n->known;
}

bp_status check_row_normalization(cli_check *check, const cli_job *job) {
    normalization n;
    *check = (cli_check){.bound = 0};
    bp_status status = open_normalization(&n, &job->words.described.of.layer_norm);
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, 3 * n.elements, 64) : status;
    check->values.terms = 8;
    int64_t known = 0;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        check->values.values[known] = check->values.values[i];
        known += set_normalized(&n, &check->values.values[known]);
    }
    check->values.count = known;
    wide_free(&n.input);
    wide_free(&n.weight);
    wide_free(&n.bias);
    return end(check, job, status,
               "the largest |output - reference| / (8 (|(input - mean) weight / deviation| + |bias|) and errors of the "
               "statistics); the reference is computed in long double");
}
