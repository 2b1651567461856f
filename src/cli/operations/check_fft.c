/* check_fft.c - checks the results of Fourier transforms, for compare and bench.
 *
 * Each checked element is summed directly from the definition in long double. Its scale is the 2-norm of the terms,
 * because rounding errors of a fast transform are proportional to it, with a factor that grows as the logarithm of the
 * size.
 */
#include "operations.h"

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
    wide in;
} transform;

typedef struct total {
    long double re, im, square;
} total;

/* Adds the elements of one line along the last axis, each times `turn` and the factor of its own index. */
static void add_line(const transform *t, int64_t offset, const long double turn[2], total *sum) {
    const axis *a = &t->axes[t->ndim - 1];
    int64_t phase = 0;
    for (int64_t j = 0; j < a->given; j++) {
        const double *element = t->in.data + (offset + j * a->in_stride) * t->in.parts;
        long double x = element[0], y = t->in.parts == 2 ? element[1] : 0;
        /* Of a real result's spectrum one half is given. The other one is its mirror image. */
        long double weight = t->to_real && j > 0 && 2 * j < a->n ? 2 : 1;
        long double c = a->turns[2 * phase], s = a->turns[2 * phase + 1];
        long double re = weight * (turn[0] * c - turn[1] * s), im = weight * (turn[0] * s + turn[1] * c);
        sum->re += re * x - im * y;
        sum->im += re * y + im * x;
        sum->square += weight * weight * (x * x + y * y);
        phase = (phase + a->out_index) % a->n;
    }
}

static void add_axis(const transform *t, int which, int64_t offset, const long double turn[2], total *sum) {
    if (which == t->ndim - 1) {
        add_line(t, offset, turn, sum);
        return;
    }
    const axis *a = &t->axes[which];
    int64_t phase = 0;
    for (int64_t j = 0; j < a->given; j++, phase = (phase + a->out_index) % a->n) {
        const long double *next = &a->turns[2 * phase];
        long double both[2] = {turn[0] * next[0] - turn[1] * next[1], turn[0] * next[1] + turn[1] * next[0]};
        add_axis(t, which + 1, offset + j * a->in_stride, both, sum);
    }
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

static bp_status prepare(transform *t, const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
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

/* Splits the index of a result element into that of each axis, and the offset of its item in the input. */
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

bp_status check_transform(cli_check *check, const cli_job *job) {
    const bp_fft_call *call = &job->words.fft.call;
    const DLTensor *in = &job->inputs[0].tensor, *out = &job->results[0].tensor;
    transform t = {.ndim = 0};
    int64_t elements = 1;
    *check = (cli_check){.bound = 0};
    bp_status status = prepare(&t, call, in, out);
    for (int i = 0; i < t.ndim; i++) {
        elements *= t.axes[i].given > 0 ? t.axes[i].given : 1;
    }
    status = status == BP_OK ? reference_begin(&check->values, out, 4 * elements, 16) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        total sum = {0, 0, 0};
        int64_t offset = locate(&t, call, in, out, value->index);
        add_axis(&t, 0, offset, (const long double[]){1, 0}, &sum);
        value->re = (double)(t.scale * sum.re);
        value->im = t.to_real ? 0 : (double)(t.scale * sum.im);
        value->scale = (double)(t.scale * sqrtl(sum.square));
    }
    for (int i = 0; i < t.ndim; i++) {
        free(t.axes[i].turns);
    }
    wide_free(&t.in);
    if (status != BP_OK) {
        return status;
    }
    check_with_reference(check, job,
                         "the largest |y - reference| / |x|, with the 2-norm of the input; the reference is a direct "
                         "sum in long double");
    /* The error of all elements together is below a multiple of log2(n) units, and one element may have all of it. */
    double n = (double)elements;
    check->bound = 16 * log2(2 * n) * sqrt(n) * reference_unit(bp_dtype_from_dlpack(out->dtype));
    return BP_OK;
}
