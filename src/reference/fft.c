/* fft.c - computes Fourier transforms from the definition in long double: each element directly, or all elements of
 * transforms in several dimensions one dimension after the other.
 *
 * The error of all elements of a fast transform together is at most a multiple of log2(n) units of rounding of all of
 * them (Higham, Accuracy and Stability of Numerical Algorithms, theorem 24.2), and a rounding of a step is spread
 * evenly over them: so the error of one element is bounded by the 2-norm of the terms.
 */
#include "reference/results.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One dimension that is transformed. */
typedef struct axis {
    int64_t n, given;             /* length of the transform; elements of the input that it uses */
    int64_t in_stride, out_index; /* of the compact input; index of the element that is computed */
    long double *turns;           /* real and imaginary part of exp(+-2 pi i t / n) for t = 0 ... n-1 */
} axis;

typedef struct transform {
    int ndim;
    axis axes[BP_MAX_NDIM]; /* the last one is the half dimension of real results */
    bool to_real;
    long double scale;
    wide_tensor in;
    int64_t item; /* offset of the item that `square` is of; -1: none */
    long double square;
} transform;

typedef struct total {
    long double re, im, square;
} total;

static int64_t next_phase(const axis *a, int64_t phase) {
    phase += a->out_index;
    return phase >= a->n ? phase - a->n : phase;
}

/* Of a real result's spectrum one half is given. The other one is its mirror image: returns how often an element of the
 * last axis counts. */
static long double weight_of(const transform *t, int64_t j) {
    return t->to_real && j > 0 && 2 * j < t->axes[t->ndim - 1].n ? 2 : 1;
}

/* Adds the elements `from` to `end` of a line along the last axis, each times the factor of its own index, and all
 * times `weight`. */
static void add_range(const transform *t, const double *line, int64_t from, int64_t end, long double weight,
                      long double sum[2]) {
    const axis *a = &t->axes[t->ndim - 1];
    const int64_t step = a->in_stride * t->in.parts;
    long double re = 0, im = 0;
    int64_t phase = from > 0 ? from * a->out_index % a->n : 0;
    for (int64_t j = from; j < end && t->in.parts == 2; j++, phase = next_phase(a, phase)) {
        const long double *turn = &a->turns[2 * phase];
        const long double x = line[j * step], y = line[j * step + 1];
        re += turn[0] * x - turn[1] * y;
        im += turn[0] * y + turn[1] * x;
    }
    for (int64_t j = from; j < end && t->in.parts == 1; j++, phase = next_phase(a, phase)) {
        const long double x = line[j * step];
        re += a->turns[2 * phase] * x;
        im += a->turns[2 * phase + 1] * x;
    }
    sum[0] += weight * re;
    sum[1] += weight * im;
}

/* Adds the elements of one line along the last axis, all times `turn`. */
static void add_line(const transform *t, int64_t offset, const long double turn[2], total *sum) {
    const axis *a = &t->axes[t->ndim - 1];
    const double *line = t->in.data + offset * t->in.parts;
    const int64_t one = a->given < 1 ? a->given : 1, half = (a->n + 1) / 2;
    const int64_t twice = !t->to_real || half < one ? one : half < a->given ? half : a->given;
    long double own[2] = {0, 0};
    add_range(t, line, 0, one, 1, own);
    add_range(t, line, one, twice, 2, own);
    add_range(t, line, twice, a->given, 1, own);
    sum->re += turn[0] * own[0] - turn[1] * own[1];
    sum->im += turn[0] * own[1] + turn[1] * own[0];
}

/* Returns the sum of the squares of an item's elements, each with its weight. */
static long double square_of(const transform *t, int which, int64_t offset) {
    const axis *a = &t->axes[which];
    long double square = 0;
    for (int64_t j = 0; j < a->given; j++) {
        const int64_t at = offset + j * a->in_stride;
        const double *element = t->in.data + at * t->in.parts;
        const long double weight = weight_of(t, j);
        const long double x = weight * element[0], y = t->in.parts == 2 ? weight * element[1] : 0;
        square += which < t->ndim - 1 ? square_of(t, which + 1, at) : x * x + y * y;
    }
    return square;
}

/* Without a dimension, the element itself is added. */
static void add_element(const transform *t, int64_t offset, total *sum) {
    const double *element = t->in.data + offset * t->in.parts;
    sum->re = (long double)element[0];
    sum->im = t->in.parts == 2 ? (long double)element[1] : 0;
    sum->square = sum->re * sum->re + sum->im * sum->im;
}

static void add_axis(const transform *t, int which, int64_t offset, const long double turn[2], total *sum) {
    if (which == t->ndim - 1) {
        add_line(t, offset, turn, sum);
        return;
    }
    const axis *a = &t->axes[which];
    int64_t phase = 0;
    for (int64_t j = 0; j < a->given; j++, phase = next_phase(a, phase)) {
        const long double *next = &a->turns[2 * phase];
        long double both[2] = {turn[0] * next[0] - turn[1] * next[1], turn[0] * next[1] + turn[1] * next[0]};
        add_axis(t, which + 1, offset + j * a->in_stride, both, sum);
    }
}

/* Sets the sum for one element of the result. All elements of an item have the same squares. */
static void add_item(transform *t, int64_t offset, total *sum) {
    if (t->ndim == 0) {
        add_element(t, offset, sum);
        return;
    }
    if (t->item != offset) {
        t->square = square_of(t, 0, offset);
        t->item = offset;
    }
    add_axis(t, 0, offset, (const long double[]){1, 0}, sum);
    sum->square = t->square;
}

static bp_status make_turns(axis *a, int sign) {
    const long double turn = 6.283185307179586476925286766559005768L;
    a->turns = malloc(2 * (size_t)a->n * sizeof *a->turns);
    for (int64_t i = 0; a->turns && i < a->n; i++) {
        long double angle = turn * (long double)i / (long double)a->n;
        a->turns[2 * i] = cosl(angle);
        a->turns[2 * i + 1] = (long double)sign * sinl(angle);
    }
    return a->turns ? BP_OK : BP_E_NO_MEMORY;
}

static bool is_forward(bp_fft_transform kind) {
    return kind == BP_FFT || kind == BP_RFFT || kind == BP_HFFT;
}

/* The sign of the exponent with which the transform of the elements as they are gives the result: hfft conjugates its
 * input, ihfft its output. */
static int sign_of(bp_fft_transform kind) {
    return is_forward(kind) ? -1 : 1;
}

static int dimension(const bp_fft_call *call, int ndim, int count, int i) {
    int dim = call->axes ? call->axes[i] : ndim - count + i;
    return dim < 0 ? dim + ndim : dim;
}

/* Returns the stride of dimension `dim` in a compact tensor. */
static int64_t stride_of(const DLTensor *tensor, int dim) {
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i > dim; i--) {
        stride *= tensor->shape[i];
    }
    return stride;
}

static bp_status open_transform(transform *t, const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    long double elements = 1;
    t->to_real = call->transform == BP_IRFFT || call->transform == BP_HFFT;
    t->ndim = call->axis_count == BP_FFT_ALL ? in->ndim : call->axis_count;
    bp_status status = wide_make(&t->in, in, false);
    for (int i = 0; status == BP_OK && i < t->ndim; i++) {
        int dim = dimension(call, in->ndim, t->ndim, i);
        bool half = t->to_real && i == t->ndim - 1;
        bool given = call->s && call->s[i] != BP_FFT_LENGTH;
        axis *a = &t->axes[i];
        a->n = given ? call->s[i] : half ? out->shape[dim] : in->shape[dim];
        int64_t used = half ? a->n / 2 + 1 : a->n;
        a->given = in->shape[dim] < used ? in->shape[dim] : used;
        a->in_stride = stride_of(in, dim);
        elements *= (long double)a->n;
        status = make_turns(a, sign_of(call->transform));
    }
    bool divides = (call->norm == BP_FFT_FORWARD) == is_forward(call->transform);
    t->scale = call->norm == BP_FFT_ORTHO ? 1 / sqrtl(elements) : divides ? 1 / elements : 1;
    return status;
}

/* Splits the index of a result element into the index on each axis, and the offset of its item in the input. */
static int64_t locate(transform *t, const bp_fft_call *call, const DLTensor *in, const DLTensor *out, int64_t index) {
    int64_t offset = 0;
    for (int dim = out->ndim - 1; dim >= 0; dim--) {
        int64_t at = index % out->shape[dim];
        bool transformed = false;
        index /= out->shape[dim];
        for (int i = 0; i < t->ndim; i++) {
            if (dimension(call, in->ndim, t->ndim, i) == dim) {
                t->axes[i].out_index = at;
                transformed = true;
            }
        }
        offset += transformed ? 0 : at * stride_of(in, dim);
    }
    return offset;
}

/* Sets an element with 8 (log2(n) + 4) units of rounding of its terms. Returns false if nothing is known because a
 * partial sum may overflow. */
static bool set_element(const transform *t, const DLTensor *out, const total *sum, reference_value *value) {
    const bp_dtype dtype = bp_dtype_from_dlpack(out->dtype);
    const bool f64 = dtype == BP_F64 || dtype == BP_C128;
    long double points = 1;
    for (int i = 0; i < t->ndim; i++) {
        points *= (long double)t->axes[i].n;
    }
    const long double norm = sqrtl(sum->square), re = t->scale * sum->re, im = t->to_real ? 0 : t->scale * sum->im;
    value->re = (double)re;
    value->im = (double)im;
    value->scale = (double)((fabsl(re) + fabsl(im)) * (f64 ? 2 : 1) + 8 * (log2l(points) + 4) * t->scale * norm);
    const long double largest = f64 ? (long double)DBL_MAX : (long double)FLT_MAX;
    return !isfinite(norm) || norm * sqrtl(points) * 4 < largest;
}

/* ---- One dimension after the other ---- */

static int64_t product_of(const int64_t *sizes, int from, int to) {
    int64_t product = 1;
    for (int d = from; d < to; d++) {
        product *= sizes[d];
    }
    return product;
}

/* Returns the sum for one element of a line: the element `a->out_index` along the axis. */
static total sum_line(const transform *t, const axis *a, const total *line, int64_t step) {
    const bool last = a == &t->axes[t->ndim - 1];
    total sum = {0, 0, 0};
    for (int64_t j = 0, phase = 0; j < a->given; j++, phase = next_phase(a, phase)) {
        const total *x = &line[j * step];
        const long double weight = last ? weight_of(t, j) : 1;
        const long double c = weight * a->turns[2 * phase], s = weight * a->turns[2 * phase + 1];
        sum.re += c * x->re - s * x->im;
        sum.im += c * x->im + s * x->re;
        sum.square += weight * weight * x->square;
    }
    return sum;
}

/* Transforms dimension `dim`, whose size becomes `size`. */
static bp_status transform_dimension(transform *t, axis *a, int ndim, int dim, int64_t size, int64_t *shape,
                                     total **values) {
    const int64_t outer = product_of(shape, 0, dim), inner = product_of(shape, dim + 1, ndim);
    total *made = malloc((size_t)(outer * size * inner + 1) * sizeof *made);
    for (int64_t i = 0; made && i < outer * size * inner; i++) {
        a->out_index = i / inner % size;
        made[i] = sum_line(t, a, *values + i / inner / size * shape[dim] * inner + i % inner, inner);
    }
    free(*values);
    *values = made;
    shape[dim] = size;
    return made ? BP_OK : BP_E_NO_MEMORY;
}

/* Sets the sums of all elements of the result. */
static bp_status transform_all(transform *t, const bp_fft_call *call, const DLTensor *in, const DLTensor *out,
                               total **values) {
    int64_t shape[BP_MAX_NDIM];
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    *values = malloc((size_t)(t->in.count + 1) * sizeof **values);
    for (int64_t i = 0; *values && i < t->in.count; i++) {
        add_element(t, i, &(*values)[i]);
    }
    bp_status status = *values ? BP_OK : BP_E_NO_MEMORY;
    for (int i = 0; status == BP_OK && i < t->ndim; i++) {
        const int dim = dimension(call, in->ndim, t->ndim, i);
        status = transform_dimension(t, &t->axes[i], in->ndim, dim, out->shape[dim], shape, values);
    }
    return status;
}

/* Sets the values of `made`, and removes each value about which nothing is known. */
static bp_status set_values(transform *t, const bp_fft_call *call, const DLTensor *in, const DLTensor *out,
                            reference *made) {
    total *all = NULL;
    int64_t known = 0;
    const bool whole = t->ndim > 1 && made->count == made->total;
    bp_status status = whole ? transform_all(t, call, in, out, &all) : BP_OK;
    for (int64_t i = 0; status == BP_OK && i < made->count; i++) {
        reference_value value = {.index = made->values[i].index};
        total sum = {0, 0, 0};
        if (!whole) {
            add_item(t, locate(t, call, in, out, value.index), &sum);
        }
        const bool bounded = set_element(t, out, whole ? &all[i] : &sum, &value);
        made->values[known] = value;
        known += bounded;
    }
    made->count = known;
    free(all);
    return status;
}

/* Chooses the elements that are computed: all, if they are affordable one dimension after the other, else some. */
static bp_status choose_elements(const transform *t, const DLTensor *out, reference *made) {
    int64_t points = 1, sum = 0;
    for (int i = 0; i < t->ndim; i++) {
        points *= t->axes[i].given > 0 ? t->axes[i].given : 1;
        sum += t->axes[i].given;
    }
    const bool whole = t->ndim > 1 && reference_count(out) <= REFERENCE_MOST_WORK / (4 * sum + 4);
    const bp_status status = reference_begin(made, out, whole ? 1 : 4 * points, 16);
    made->terms = 4 * points;
    return status;
}

bp_status reference_of_fft(reference_results *made, const bp_fft_call *call, const DLTensor *input,
                           const DLTensor *output) {
    transform t = {.ndim = 0, .item = -1};
    *made = (reference_results){.count = 1, .of = {{.name = "output", .tensor = output}}};
    reference *values = &made->of[0].values;
    bp_status status = open_transform(&t, call, input, output);
    status = status == BP_OK ? choose_elements(&t, output, values) : status;
    values->bounded = true;
    status = status == BP_OK ? set_values(&t, call, input, output, values) : status;
    for (int i = 0; i < t.ndim; i++) {
        free(t.axes[i].turns);
    }
    wide_free(&t.in);
    return status;
}
