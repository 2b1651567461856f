/* cosine.c - computes discrete cosine and sine transforms of types 1 to 4 by Fourier transforms of the library.
 *
 * Type 1 is rfft of the line's even or odd extension. Types 2 and 3 are rfft and irfft of the same length, with the
 * elements in another order and a factor for each element (Makhoul 1980). Type 4 is fft of half the length, or of twice
 * the length if it is odd. A sine transform is a cosine transform of the line with every other sign changed or in
 * reverse order, with a result in reverse order or with every other sign changed.
 */
#include "core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846, SQRT2 = 1.41421356237309504880;

/* One call, from its arguments to its result. */
typedef struct cosine {
    int type;
    bool sine, orthogonal;
    double scale;
    int64_t n, batch;
    int64_t given, result;  /* elements of a line of the Fourier transform's input and output */
    double *first, *second; /* factors before and after the Fourier transform: pairs of cosine and sine */
    const bp_options *options;
    DLManagedTensorVersioned *lines, *before, *after;
} cosine;

#define REAL float
#define SUFFIX f32
#include "cosine_lines.h"
#define REAL double
#define SUFFIX f64
#include "cosine_lines.h"

/* Returns a table of cos and sin of pi * (step * i + start) / divisor. */
static double *make_factors(int64_t count, double step, double start, double divisor) {
    double *table = malloc((size_t)(2 * count) * sizeof *table);
    for (int64_t i = 0; table && i < count; i++) {
        double angle = PI * ((step * (double)i + start) / divisor);
        table[2 * i] = cos(angle);
        table[2 * i + 1] = sin(angle);
    }
    return table;
}

/* Sets the lengths of the Fourier transform and the factors. */
static bool choose(cosine *of, bp_fft_call *call) {
    int64_t n = of->n;
    double size = (double)n;
    call->transform = of->type < 3 ? BP_RFFT : of->type == 3 ? BP_IRFFT : BP_FFT;
    call->norm = of->type == 3 ? BP_FFT_FORWARD : BP_FFT_BACKWARD; /* the direction that has no factor */
    if (of->type == 1) {
        of->given = of->sine ? 2 * n + 2 : 2 * n - 2;
        of->result = of->given / 2 + 1;
        return true;
    }
    if (of->type < 4) {
        of->given = of->type == 2 ? n : n / 2 + 1;
        of->result = of->type == 2 ? n / 2 + 1 : n;
        of->first = make_factors(n / 2 + 1, 1, 0, 2 * size);
        return of->first != NULL;
    }
    bool pairs = n % 2 == 0;
    of->given = pairs ? n / 2 : n;
    of->result = pairs ? n / 2 : 2 * n;
    of->first = pairs ? make_factors(n / 2, 4, 1, 4 * size) : make_factors(n, 1, 0, 2 * size);
    of->second = pairs ? make_factors(n / 2, 1, 0, size) : make_factors(n, 2, 1, 4 * size);
    return of->first && of->second;
}

static void release(cosine *of) {
    DLManagedTensorVersioned *held[] = {of->lines, of->before, of->after};
    for (int i = 0; i < 3; i++) {
        if (held[i]) {
            held[i]->deleter(held[i]);
        }
    }
    free(of->first);
    free(of->second);
}

/* Moves a dimension of a view to the end. */
static void move_last(bp_view *view, int dim) {
    int last = view->tensor.ndim - 1;
    int64_t size = view->shape[dim], stride = view->strides[dim];
    for (int i = dim; i < last; i++) {
        view->shape[i] = view->shape[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
    view->shape[last] = size;
    view->strides[last] = stride;
}

/* Copies lines to or from a view; its last dimension is transformed. A shorter view is a part of the lines. */
static bp_status copy_lines(const cosine *of, bp_view *view, bp_dtype dtype, bool back) {
    bp_view all, part;
    int last = view->tensor.ndim - 1;
    int64_t shape[BP_MAX_NDIM];
    memcpy(shape, view->shape, (size_t)(last + 1) * sizeof *shape);
    shape[last] = of->n;
    bp_status status = bp_view_init(&all, of->lines->dl_tensor.data, dtype, last + 1, shape, NULL);
    if (status == BP_OK) {
        status = bp_view_init(&part, of->lines->dl_tensor.data, dtype, last + 1, view->shape, all.strides);
    }
    if (status != BP_OK) {
        return status;
    }
    return back ? bp_tensor_copy(&view->tensor, &part.tensor) : bp_tensor_copy(&part.tensor, &view->tensor);
}

/* Transforms `count` lines in place. */
static bp_status transform_chunk(const cosine *of, const bp_fft_call *call, int64_t count, char *lines) {
    bp_view before, after;
    DLTensor *in = &of->before->dl_tensor, *out = &of->after->dl_tensor;
    bool single = of->lines->dl_tensor.dtype.bits == 32;
    bp_status status =
        bp_view_init(&before, in->data, bp_dtype_from_dlpack(in->dtype), 2, (const int64_t[]){count, of->given}, NULL);
    status = status == BP_OK ? bp_view_init(&after, out->data, bp_dtype_from_dlpack(out->dtype), 2,
                                            (const int64_t[]){count, of->result}, NULL)
                             : status;
    if (status != BP_OK) {
        return status;
    }
    if (single) {
        pack_all_f32(of, count, (float *)(void *)lines, in->data);
    } else {
        pack_all_f64(of, count, (double *)(void *)lines, in->data);
    }
    status = bp_fft_run(of->options, call, &before.tensor, &after.tensor);
    if (status != BP_OK) {
        return status;
    }
    if (single) {
        unpack_all_f32(of, count, out->data, (float *)(void *)lines);
    } else {
        unpack_all_f64(of, count, out->data, (double *)(void *)lines);
    }
    return BP_OK;
}

/* Transforms the lines in chunks, so that their intermediate results stay in the caches. */
static bp_status transform(cosine *of, bp_dtype dtype) {
    enum { CHUNK = 1 << 16 }; /* elements */
    bp_dtype wide = dtype == BP_F32 ? BP_C64 : BP_C128;
    bp_fft_call call = {.struct_size = sizeof call, .ndim = 1, .dims = (const int[]){-1}};
    if (!choose(of, &call)) {
        return BP_E_NO_MEMORY;
    }
    int64_t length = of->type == 4 ? of->result : of->type == 3 ? of->n : of->given;
    int64_t chunk = of->given < CHUNK ? CHUNK / of->given : 1;
    chunk = chunk < of->batch ? chunk : of->batch;
    call.s = &length;
    bp_status status =
        bp_tensor_empty(&of->before, of->type < 3 ? dtype : wide, 2, (const int64_t[]){chunk, of->given}, NULL);
    if (status == BP_OK) {
        status =
            bp_tensor_empty(&of->after, of->type == 3 ? dtype : wide, 2, (const int64_t[]){chunk, of->result}, NULL);
    }
    char *lines = of->lines->dl_tensor.data;
    size_t step = (size_t)of->n * bp_dtype_size(dtype);
    for (int64_t done = 0; done < of->batch && status == BP_OK; done += chunk) {
        int64_t left = of->batch - done;
        status = transform_chunk(of, &call, left < chunk ? left : chunk, lines + (size_t)done * step);
    }
    return status;
}

/* Reads, transforms and writes all lines. The dimension is the last one of both views. */
static bp_status run(cosine *of, bp_view *in, bp_view *out, bp_dtype dtype) {
    int last = in->tensor.ndim - 1;
    in->shape[last] = in->shape[last] < of->n ? in->shape[last] : of->n; /* the rest of each line is 0 */
    of->batch = 1;
    for (int i = 0; i < last; i++) {
        of->batch *= in->shape[i];
    }
    if (of->batch == 0) {
        return BP_OK;
    }
    bp_status status = bp_tensor_new(&of->lines, dtype, 2, (const int64_t[]){of->batch, of->n});
    status = status == BP_OK ? copy_lines(of, in, dtype, false) : status;
    status = status == BP_OK ? transform(of, dtype) : status;
    return status == BP_OK ? copy_lines(of, out, dtype, true) : status;
}

/* Reads `dim` and the length. Returns false with an exception set. */
static bool read_line(core_state *state, cosine *of, const DLTensor *in, long long *n, long long *dim) {
    bp_dtype dtype = bp_dtype_from_dlpack(in->dtype);
    if (dtype != BP_F32 && dtype != BP_F64) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "input: cosine and sine transforms take f32 and f64, but got %s", bp_dtype_name(dtype));
        return false;
    }
    if (*dim < -in->ndim || *dim >= in->ndim) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "dim: %lld is out of range; the input has %d dimensions",
                    *dim, in->ndim);
        return false;
    }
    *dim += *dim < 0 ? in->ndim : 0;
    of->n = *n == BP_FFT_LENGTH ? in->shape[*dim] : *n;
    int64_t least = of->type == 1 && !of->sine ? 2 : 1;
    if (of->n < least || of->n > INT64_MAX / 64) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                    "invalid number of data points (%lld); the transform needs at least %lld", (long long)of->n,
                    (long long)least);
        return false;
    }
    return true;
}

/* Transforms an operand and returns the array of the result. */
static PyObject *compute(core_state *state, cosine *of, const operand *input, int dim, int norm) {
    bp_view in, out;
    const DLTensor *read = &input->tensor;
    core_result fresh = {0};
    bp_dtype dtype = bp_dtype_from_dlpack(read->dtype);
    int64_t shape[BP_MAX_NDIM];
    double period = 2 * (double)(of->type > 1 ? of->n : of->sine ? of->n + 1 : of->n - 1);
    of->scale = norm == 0 ? 1 : norm == 1 ? 1 / period : sqrt(1 / period);
    memcpy(shape, read->shape, (size_t)read->ndim * sizeof *shape);
    shape[dim] = of->n;
    DLTensor to = {.device = {kDLCPU, 0}, .ndim = read->ndim, .dtype = read->dtype, .shape = shape};
    if (!core_result_new(state, &fresh, &to, &input, 1)) {
        return NULL;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status =
        bp_view_init(&in, (char *)read->data + read->byte_offset, dtype, read->ndim, read->shape, read->strides);
    status = status == BP_OK ? bp_view_init(&out, to.data, dtype, to.ndim, shape, NULL) : status;
    if (status == BP_OK) {
        move_last(&in, dim);
        move_last(&out, dim);
        status = run(of, &in, &out, dtype);
    }
    release(of);
    core_lock(&unlocked);
    if (status != BP_OK) {
        core_result_drop(&fresh);
        return core_fail(state, status, NULL);
    }
    return core_result_take(state, &fresh);
}

PyObject *core_cosine(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *array, *settings, *owner = NULL, *result = NULL;
    cosine of = {0};
    operand input;
    long long n, dim;
    int sine, orthogonal, norm;
    core_leave_dropped();
    if (!PyArg_ParseTuple(arguments, "OipLLipO:cosine", &array, &of.type, &sine, &n, &dim, &norm, &orthogonal,
                          &settings) ||
        !core_operand(state, &input, array, "input", CORE_READS)) {
        return NULL;
    }
    of.sine = sine != 0;
    of.orthogonal = orthogonal != 0;
    if (read_line(state, &of, &input.tensor, &n, &dim) && core_options(state, settings, &of.options, &owner)) {
        result = compute(state, &of, &input, (int)dim, norm);
    }
    core_operand_release(&input);
    Py_XDECREF(owner);
    return core_finish(state, result);
}
