/* cosine.c - computes discrete cosine and sine transforms of types 1 to 4 by Fourier transforms of the library.
 *
 * Type 1 is rfft of the line's even or odd extension. Types 2 and 3 are rfft and irfft of the same length, with the
 * elements in another order and a factor for each element (Makhoul 1980). Type 4 is fft of half the length, or rfft of
 * the same length with the elements in another order if the length is odd (Chan and Ho 1992). A sine transform is a
 * cosine transform of the line with every other sign changed or in reverse order, with a result in reverse order or
 * with every other sign changed.
 */
#include "core.h"
#include "record.h"

#include <math.h>
#include <string.h>

static const double SQRT2 = 1.41421356237309504880;

/* One call, from its arguments to its result. */
typedef struct cosine {
    int type;
    bool sine, orthogonal;
    double scale;
    int64_t n, batch;
    int64_t given, result; /* elements of a line of the Fourier transform's input and output */
    int64_t length;        /* of the Fourier transform */
    bp_fft_call call;
    core_table *table; /* factors before and after the Fourier transform; NULL if there are none */
    bp_dtype dtype;
    operand *input, *out; /* out is NULL if the caller gives no array */
    const bp_options *options;
    DLManagedTensorVersioned *lines, *before, *after;
} cosine;

static bool is_odd_4(const cosine *of) {
    return of->type == 4 && of->n % 2 == 1;
}

#define REAL float
#define SUFFIX f32
#include "cosine_lines.h"
#define REAL double
#define SUFFIX f64
#include "cosine_lines.h"

/* Sets the Fourier transform and the lengths of its lines. */
static void choose_cosine(cosine *of) {
    static const int last[] = {-1};
    const int64_t n = of->n;
    of->call = (bp_fft_call){.struct_size = sizeof of->call, .axis_count = 1, .axes = last};
    of->call.transform = of->type < 3 || is_odd_4(of) ? BP_RFFT : of->type == 3 ? BP_IRFFT : BP_FFT;
    of->call.norm = of->type == 3 ? BP_FFT_FORWARD : BP_FFT_BACKWARD; /* the direction that has no factor */
    if (of->type == 1) {
        of->given = of->sine ? 2 * n + 2 : 2 * n - 2;
        of->result = of->given / 2 + 1;
    } else if (of->call.transform == BP_FFT) {
        of->given = of->result = n / 2;
    } else {
        of->given = of->type == 3 ? n / 2 + 1 : n;
        of->result = of->type == 3 ? n : n / 2 + 1;
    }
    of->length = of->type == 3 ? n : of->given;
}

/* ---- The Fourier transform of some lines ---- */

static bp_dtype input_type(const cosine *of) {
    return of->call.transform == BP_RFFT ? of->dtype : of->dtype == BP_F32 ? BP_C64 : BP_C128;
}

static bp_dtype output_type(const cosine *of) {
    return of->call.transform == BP_IRFFT ? of->dtype : of->dtype == BP_F32 ? BP_C64 : BP_C128;
}

/* Lines that are transformed at once, so that their intermediate results stay in the caches. */
static int64_t chunk_of(const cosine *of) {
    enum { CHUNK = 1 << 16 }; /* elements */
    const int64_t chunk = of->given < CHUNK ? CHUNK / of->given : 1;
    return chunk < of->batch ? chunk : of->batch;
}

/* Views of the Fourier transform's input and output, of `count` lines; without data if they are NULL. */
static bp_status make_views(const cosine *of, int64_t count, void *in, void *out, bp_view *before, bp_view *after) {
    const int64_t given[] = {count, of->given}, result[] = {count, of->result};
    const bp_status status = bp_view_init(before, in, input_type(of), 2, given, NULL);
    return status == BP_OK ? bp_view_init(after, out, output_type(of), 2, result, NULL) : status;
}

/* Transforms `count` lines. Both addresses may be the same. */
static bp_status transform_chunk(const cosine *of, int64_t count, const char *from, char *to) {
    bp_view before, after;
    void *in = of->before->dl_tensor.data, *out = of->after->dl_tensor.data;
    bp_status status = make_views(of, count, in, out, &before, &after);
    if (status != BP_OK) {
        return status;
    }
    bp_fft_call call = of->call;
    call.s = &of->length;
    if (of->dtype == BP_F32) {
        pack_all_f32(of, count, (const float *)(const void *)from, in);
    } else {
        pack_all_f64(of, count, (const double *)(const void *)from, in);
    }
    status = bp_fft_run(of->options, &call, &before.tensor, &after.tensor);
    if (status == BP_OK && of->dtype == BP_F32) {
        unpack_all_f32(of, count, out, (float *)(void *)to);
    } else if (status == BP_OK) {
        unpack_all_f64(of, count, out, (double *)(void *)to);
    }
    return status;
}

static bp_status transform(cosine *of, const char *from, char *to) {
    const int64_t chunk = chunk_of(of);
    bp_status status = bp_tensor_empty(&of->before, input_type(of), 2, (const int64_t[]){chunk, of->given}, NULL);
    if (status == BP_OK) {
        status = bp_tensor_empty(&of->after, output_type(of), 2, (const int64_t[]){chunk, of->result}, NULL);
    }
    const size_t step = (size_t)of->n * bp_dtype_size(of->dtype);
    for (int64_t done = 0; done < of->batch && status == BP_OK; done += chunk) {
        const int64_t left = of->batch - done;
        status = transform_chunk(of, left < chunk ? left : chunk, from + (size_t)done * step, to + (size_t)done * step);
    }
    return status;
}

/* ---- All lines of the input ---- */

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

static bool is_compact(const bp_view *view) {
    int64_t stride = 1;
    for (int i = view->tensor.ndim - 1; i >= 0; i--) {
        if (view->shape[i] != 1 && view->strides[i] != stride) {
            return false;
        }
        stride *= view->shape[i];
    }
    return true;
}

/* Copies lines to or from a view; its last dimension is transformed. A shorter view is a part of the lines. */
static bp_status copy_lines(const cosine *of, bp_view *view, bool back) {
    bp_view all, part;
    int last = view->tensor.ndim - 1;
    int64_t shape[BP_MAX_NDIM];
    memcpy(shape, view->shape, (size_t)(last + 1) * sizeof *shape);
    shape[last] = of->n;
    bp_status status = bp_view_init(&all, of->lines->dl_tensor.data, of->dtype, last + 1, shape, NULL);
    if (status == BP_OK) {
        status = bp_view_init(&part, of->lines->dl_tensor.data, of->dtype, last + 1, view->shape, all.strides);
    }
    if (status != BP_OK) {
        return status;
    }
    return back ? bp_tensor_copy(&view->tensor, &part.tensor) : bp_tensor_copy(&part.tensor, &view->tensor);
}

/* Transforms all lines. The dimension is the last one of both views. Lines are read in place if that is possible and
 * the result is memory of ours: the caller's may overlap the input. */
static bp_status run_cosine(cosine *of, bp_view *in, bp_view *out) {
    const int last = in->tensor.ndim - 1;
    const bool fills = in->shape[last] >= of->n;
    const bool reads = in->shape[last] == of->n && !of->out && is_compact(in), writes = is_compact(out);
    in->shape[last] = fills ? of->n : in->shape[last]; /* the rest of each line is 0 */
    bp_status status = BP_OK;
    if (!reads || !writes) {
        const int64_t shape[] = {of->batch, of->n};
        status = fills ? bp_tensor_empty(&of->lines, of->dtype, 2, shape, NULL)
                       : bp_tensor_new(&of->lines, of->dtype, 2, shape);
    }
    char *lines = of->lines ? of->lines->dl_tensor.data : NULL;
    status = status == BP_OK && !reads ? copy_lines(of, in, false) : status;
    if (status == BP_OK) {
        status = transform(of, reads ? in->tensor.data : lines, writes ? out->tensor.data : lines);
    }
    return status == BP_OK && !writes ? copy_lines(of, out, true) : status;
}

static bp_status run_views(cosine *of, const DLTensor *to, int dim) {
    bp_view in, out;
    const DLTensor *read = &of->input->tensor;
    bp_status status =
        bp_view_init(&in, (char *)read->data + read->byte_offset, of->dtype, read->ndim, read->shape, read->strides);
    if (status == BP_OK) {
        status = bp_view_init(&out, (char *)to->data + to->byte_offset, of->dtype, to->ndim, to->shape, to->strides);
    }
    if (status != BP_OK || of->batch == 0) {
        return status;
    }
    move_last(&in, dim);
    move_last(&out, dim);
    return run_cosine(of, &in, &out);
}

static void release_cosine(cosine *of) {
    DLManagedTensorVersioned *held[] = {of->lines, of->before, of->after};
    for (int i = 0; i < 3; i++) {
        if (held[i]) {
            held[i]->deleter(held[i]);
        }
    }
}

/* ---- Arguments ---- */

/* Reads `dim` and the length. Returns false with an exception set. */
static bool read_line(core_state *state, cosine *of, long long n, long long *dim) {
    const DLTensor *in = &of->input->tensor;
    of->dtype = bp_dtype_from_dlpack(in->dtype);
    if (of->dtype != BP_F32 && of->dtype != BP_F64) {
        core_refuse(state, state->bad_type, BP_E_DTYPE,
                    "input: cosine and sine transforms take f32 and f64, but got %s", bp_dtype_name(of->dtype));
        return false;
    }
    if (*dim < -in->ndim || *dim >= in->ndim) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "dim: %lld is out of range; the input has %d dimensions",
                    *dim, in->ndim);
        return false;
    }
    *dim += *dim < 0 ? in->ndim : 0;
    of->n = n == BP_FFT_LENGTH ? in->shape[*dim] : n;
    int64_t least = of->type == 1 && !of->sine ? 2 : 1;
    if (of->n < least || of->n > INT64_MAX / 64) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                    "invalid number of data points (%lld); the transform needs at least %lld", (long long)of->n,
                    (long long)least);
        return false;
    }
    of->batch = 1;
    for (int i = 0; i < in->ndim; i++) {
        if (i != *dim && __builtin_mul_overflow(of->batch, in->shape[i], &of->batch)) {
            core_refuse(state, state->bad_value, BP_E_ARGUMENT, "input: has more elements than 64 bits can count");
            return false;
        }
    }
    return true;
}

static void scale(cosine *of, int norm) {
    const double period = 2 * (double)(of->type > 1 ? of->n : of->sine ? of->n + 1 : of->n - 1);
    of->scale = norm == 0 ? 1 : norm == 1 ? 1 / period : sqrt(1 / period);
}

/* The caller's array must have the type and shape of the result. Returns false with an exception set. */
static bool check_out(core_state *state, const cosine *of, const DLTensor *wanted) {
    const DLTensor *got = &of->out->tensor;
    if (bp_dtype_from_dlpack(got->dtype) != of->dtype) {
        core_refuse(state, state->bad_type, BP_E_DTYPE, "out: must be %s as the input, but is %s",
                    bp_dtype_name(of->dtype), bp_dtype_name(bp_dtype_from_dlpack(got->dtype)));
        return false;
    }
    if (got->ndim != wanted->ndim || memcmp(got->shape, wanted->shape, (size_t)got->ndim * sizeof *got->shape) != 0) {
        core_refuse(state, state->bad_value, BP_E_SHAPE,
                    "out: must have the shape of the input, with %lld elements in "
                    "the transformed dimension",
                    (long long)of->n);
        return false;
    }
    return true;
}

/* ---- The call ---- */

static PyObject *compute_cosine(core_state *state, cosine *of, DLTensor *to, int dim) {
    core_result fresh = {0};
    const operand *like = of->input;
    const bool has_factors = of->type > 1 && !is_odd_4(of);
    of->table = has_factors ? core_table_take(state, of->type, of->n, of->dtype == BP_F32) : NULL;
    if ((has_factors && !of->table) || (!of->out && !core_result_new(state, &fresh, to, &like, 1))) {
        core_table_give(of->table);
        return NULL;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = run_views(of, of->out ? &of->out->tensor : to, dim);
    release_cosine(of);
    core_lock(&unlocked);
    core_table_give(of->table);
    if (status != BP_OK) {
        core_result_drop(&fresh);
        return core_fail(state, status, NULL);
    }
    if (!of->out) {
        return core_result_take(state, &fresh);
    }
    Py_RETURN_NONE;
}

/* Explains the Fourier transform of the first chunk. */
static bp_status explain_cosine(const void *context, bp_explanation **explanation) {
    const cosine *of = context;
    bp_view before, after;
    bp_fft_call call = of->call;
    call.s = &of->length;
    const bp_status status = make_views(of, chunk_of(of), NULL, NULL, &before, &after);
    return status == BP_OK ? bp_fft_explain(explanation, of->options, &call, &before.tensor, &after.tensor) : status;
}

/* Runs or explains a call whose operands are read. */
static PyObject *call_cosine(core_state *state, cosine *of, long long n, long long dim, int norm, long long lines) {
    int64_t shape[BP_MAX_NDIM];
    if (!read_line(state, of, n, &dim)) {
        return NULL;
    }
    const DLTensor *in = &of->input->tensor;
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    shape[dim] = of->n;
    DLTensor to = {.device = in->device, .ndim = in->ndim, .dtype = in->dtype, .shape = shape};
    if (of->out && !check_out(state, of, &to)) {
        return NULL;
    }
    if (of->out && bp_device_place(of->out->tensor.device) != 0) {
        return core_refuse(state, state->error, BP_E_DEVICE,
                           "out: is in memory of a device; cosine transforms run on the host");
    }
    choose_cosine(of);
    scale(of, norm);
    of->batch = lines > 0 ? lines : of->batch;
    return lines > 0 ? core_explanation(state, explain_cosine, of) : compute_cosine(state, of, &to, (int)dim);
}

/* Arguments: input, type, whether it is a sine transform, length, dimension, norm, whether the matrix is orthogonal,
 * out, settings, 0 or the number of lines to explain. */
PyObject *core_cosine(PyObject *module, PyObject *arguments) {
    CORE_RECORDED(module, "cosine", arguments, NULL);
    core_state *state = core_state_of(module);
    PyObject *array, *given, *settings, *owner = NULL, *result = NULL;
    cosine of = {0};
    operand input, out;
    long long n, dim, lines;
    int sine, orthogonal, norm;
    core_leave_dropped();
    if (!PyArg_ParseTuple(arguments, "OipLLipOOL:cosine", &array, &of.type, &sine, &n, &dim, &norm, &orthogonal, &given,
                          &settings, &lines)) {
        return NULL;
    }
    const unsigned access = lines > 0 ? CORE_DESCRIBES : CORE_READS;
    of.sine = sine != 0;
    of.orthogonal = orthogonal != 0;
    of.input = core_operand(state, &input, array, "input", access) ? &input : NULL;
    if (of.input && given != Py_None) {
        of.out = core_operand(state, &out, given, "out", access | CORE_WRITES) ? &out : NULL;
    }
    if (of.input && bp_device_place(input.tensor.device) != 0) {
        core_refuse(state, state->error, BP_E_DEVICE,
                    "input: is in memory of a device; cosine transforms run on the host, so copy it with .cpu()");
    } else if (of.input && (of.out || given == Py_None) && core_options(state, settings, &of.options, &owner)) {
        result = call_cosine(state, &of, n, dim, norm, lines);
    }
    if (of.input) {
        core_operand_release(of.input);
    }
    if (of.out) {
        core_operand_release(of.out);
    }
    Py_XDECREF(owner);
    return core_finish(state, result);
}
