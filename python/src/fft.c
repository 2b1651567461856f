/* fft.c - runs Fourier transforms for Python, shifts and frequencies. The names and defaults of torch.fft are in
 * python/backplane/fft.py. */
#include "core.h"
#include "record.h"

#include <string.h>

/* ---- Arguments ---- */

/* One call, from its arguments to its result. */
typedef struct transformation {
    core_state *state;
    bp_fft_call call;
    int dims[BP_MAX_NDIM];
    int64_t s[BP_MAX_NDIM];
    operand input, output;
    DLManagedTensorVersioned *complex; /* real input converted to complex, if the transform needs that */
    core_result fresh;                 /* memory of the result */
    DLTensor in, out;
    int64_t shape[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} transformation;

bool core_numbers(core_state *state, PyObject *tuple, const char *name, int64_t *numbers, int *count) {
    *count = -1;
    if (tuple == Py_None) {
        return true;
    }
    Py_ssize_t size = PyTuple_Size(tuple);
    if (size > BP_MAX_NDIM) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "%s: has %zd numbers; at most %d are accepted", name, size,
                    BP_MAX_NDIM);
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *number = PyNumber_Index(PyTuple_GetItem(tuple, i));
        int overflow = 0;
        numbers[i] = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
        Py_XDECREF(number);
        if (!number || overflow) {
            PyErr_Clear();
            core_refuse(state, overflow ? state->bad_value : state->bad_type, BP_E_ARGUMENT, "%s: takes %s", name,
                        overflow ? "numbers of 64 bits" : "whole numbers");
            return false;
        }
    }
    *count = (int)size;
    return size >= 0;
}

/* Returns a tuple of what was given: a whole number, or a sequence. NULL with an exception set: it is neither. */
static PyObject *tuple_of(core_state *state, PyObject *given, const char *name) {
    PyObject *number = PyTuple_CheckExact(given) || !PyIndex_Check(given) ? NULL : PyNumber_Index(given);
    if (!number && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return NULL;
    }
    PyErr_Clear(); /* arrays of several numbers have an index that fails */
    PyObject *tuple = number ? PyTuple_Pack(1, number) : PySequence_Tuple(given);
    Py_XDECREF(number);
    if (!tuple && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        core_refuse(state, state->bad_type, BP_E_ARGUMENT, "%s: expects a whole number or a tuple of them, but got %R",
                    name, given);
    }
    return tuple;
}

bool core_numbers_each(core_state *state, PyObject *given, const char *name, int ndim, int64_t *numbers,
                       const int64_t **to) {
    int count;
    *to = NULL;
    PyObject *tuple = tuple_of(state, given, name);
    const bool good = tuple && core_numbers(state, tuple, name, numbers, &count);
    Py_XDECREF(tuple);
    if (!good) {
        return false;
    }
    if (count == 1) {
        for (; count < ndim; count++) {
            numbers[count] = numbers[0];
        }
    }
    if (count != ndim) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                    "%s: has %d numbers; one, or one for each of %d dimensions, is needed", name, count, ndim);
        return false;
    }
    *to = numbers;
    return true;
}

bool core_dims(core_state *state, PyObject *tuple, int *dims, int *count) {
    int64_t numbers[BP_MAX_NDIM];
    if (!core_numbers(state, tuple, "dim", numbers, count)) {
        return false;
    }
    for (int i = 0; i < *count; i++) {
        if (numbers[i] < -BP_MAX_NDIM || numbers[i] >= BP_MAX_NDIM) {
            core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                        "dim: %lld is out of range; arrays have at most %d dimensions", (long long)numbers[i],
                        BP_MAX_NDIM);
            return false;
        }
        dims[i] = (int)numbers[i];
    }
    return true;
}

static bool read_norm(transformation *of, PyObject *norm) {
    if (norm != Py_None && !PyUnicode_Check(norm)) {
        core_refuse(of->state, of->state->bad_type, BP_E_ARGUMENT, "norm: expects a str or None, but got %R", norm);
        return false;
    }
    PyObject *text = norm == Py_None ? NULL : core_bytes(of->state, norm, "norm");
    if (!text && norm != Py_None) {
        return false;
    }
    bp_status status = bp_fft_norm_from_name(text ? PyBytes_AsString(text) : NULL, &of->call.norm);
    Py_XDECREF(text);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
    }
    return status == BP_OK;
}

static bool read_call(transformation *of, const char *name, PyObject *s, PyObject *dim, PyObject *norm) {
    static const char *const transforms[] = {
#define X(number, name, text, many) [number] = text,
        BP_FFT_MAP(X)
#undef X
    };
    int sizes, dims;
    of->call = (bp_fft_call){.struct_size = sizeof of->call};
    while (strcmp(transforms[of->call.transform], name) != 0) { /* the package passes no other name */
        of->call.transform++;
    }
    if (!read_norm(of, norm) || !core_numbers(of->state, s, "s", of->s, &sizes) ||
        !core_dims(of->state, dim, of->dims, &dims)) {
        return false;
    }
    if (sizes >= 0 && dims >= 0 && sizes != dims) {
        core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT, "s: has %d sizes, but dim has %d dimensions", sizes,
                    dims);
        return false;
    }
    of->call.axis_count = dims >= 0 ? dims : sizes >= 0 ? sizes : BP_FFT_ALL;
    of->call.axes = dims >= 0 ? of->dims : NULL;
    of->call.s = sizes >= 0 ? of->s : NULL;
    return true;
}

/* ---- Memory ---- */

/* Converts real input of irfft and hfft to complex, as torch and NumPy do. Without data if the call is only explained.
 */
static bool widen(transformation *of, bool runs) {
    bp_dtype dtype = bp_dtype_from_dlpack(of->in.dtype);
    bool half = of->call.transform == BP_IRFFT || of->call.transform == BP_HFFT;
    if (!half || (dtype != BP_F32 && dtype != BP_F64)) {
        return true;
    }
    bp_dtype wide = dtype == BP_F32 ? BP_C64 : BP_C128;
    if (!runs) {
        of->in.dtype = bp_dtype_to_dlpack(wide);
        of->in.strides = NULL;
        of->in.data = NULL;
        of->in.byte_offset = 0;
        return true;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_tensor_empty(&of->complex, wide, of->in.ndim, of->in.shape, NULL);
    status = status == BP_OK ? bp_tensor_copy(&of->complex->dl_tensor, &of->in) : status;
    core_lock(&unlocked);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    of->in = of->complex->dl_tensor;
    return true;
}

static bool place_result(transformation *of, PyObject *out, bool runs) {
    bp_dtype dtype;
    int ndim;
    if (out != Py_None) {
        bool good = core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES));
        of->out = of->output.tensor;
        return good;
    }
    bp_status status = bp_fft_shape(&of->call, &of->in, &dtype, &ndim, of->shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    const operand *input = &of->input;
    of->out = (DLTensor){.device = of->in.device, .ndim = ndim, .dtype = bp_dtype_to_dlpack(dtype), .shape = of->shape};
    return !runs || core_result_new(of->state, &of->fresh, &of->out, &input, 1);
}

static void release_transform(transformation *of) {
    core_operand_release(&of->input);
    core_operand_release(&of->output);
    if (of->complex) {
        of->complex->deleter(of->complex);
    }
    core_result_drop(&of->fresh);
    Py_CLEAR(of->options_owner);
}

/* ---- The call ---- */

static bp_status explain_transform(const void *call, bp_explanation **explanation) {
    const transformation *of = call;
    return bp_fft_explain(explanation, of->options, &of->call, &of->in, &of->out);
}

/* Returns the array of the result, or None if the caller gave an array. */
static PyObject *hand_over(core_state *state, core_result *fresh) {
    if (fresh->array || fresh->memory) {
        return core_result_take(state, fresh);
    }
    Py_RETURN_NONE;
}

static PyObject *run_transform(transformation *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_fft_run(of->options, &of->call, &of->in, &of->out);
    core_lock(&unlocked);
    return status == BP_OK ? hand_over(of->state, &of->fresh)
                           : core_fail_explained(of->state, status, explain_transform, of);
}

static bool bring_arrays(transformation *of, PyObject *input, PyObject *out, bool runs) {
    if (!core_operand(of->state, &of->input, input, "input", runs ? CORE_READS : CORE_DESCRIBES)) {
        return false;
    }
    of->in = of->input.tensor;
    return widen(of, runs) && place_result(of, out, runs);
}

PyObject *core_fft(PyObject *module, PyObject *arguments, PyObject *names) {
    CORE_RECORDED(module, "fft", arguments, names);
    static char *words[] = {"", "", "s", "dim", "norm", "out", "settings", "explains", NULL};
    const char *name;
    PyObject *input, *s, *dim, *norm, *out, *settings, *result = NULL;
    int explains = 0;
    transformation of = {.state = core_state_of(module)};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "sOOOOOO|p:fft", words, &name, &input, &s, &dim, &norm, &out,
                                     &settings, &explains)) {
        return NULL;
    }
    if (read_call(&of, name, s, dim, norm) && core_options(of.state, settings, &of.options, &of.options_owner) &&
        bring_arrays(&of, input, out, !explains)) {
        result = explains ? core_explanation(of.state, explain_transform, &of) : run_transform(&of);
    }
    release_transform(&of);
    return core_finish(of.state, result);
}

/* ---- Shifts, frequencies, plan cache ---- */

PyObject *core_fftshift(PyObject *module, PyObject *arguments) {
    CORE_RECORDED(module, "fftshift", arguments, NULL);
    core_state *state = core_state_of(module);
    PyObject *input, *dim, *result = NULL;
    operand in;
    const operand *given = &in;
    core_result fresh = {0};
    int dims[BP_MAX_NDIM], count, back;
    if (!PyArg_ParseTuple(arguments, "OOp:fftshift", &input, &dim, &back) || !core_dims(state, dim, dims, &count) ||
        !core_operand(state, &in, input, "input", CORE_READS)) {
        return NULL;
    }
    DLTensor out = {.device = in.tensor.device, .ndim = in.tensor.ndim, .dtype = in.tensor.dtype, .shape = in.shape};
    if (core_result_new(state, &fresh, &out, &given, 1)) {
        core_unlocked unlocked;
        core_unlock(&unlocked);
        bp_status status = (back ? bp_ifftshift : bp_fftshift)(&in.tensor, count, dims, &out);
        core_lock(&unlocked);
        result = status == BP_OK ? hand_over(state, &fresh) : core_fail(state, status, NULL);
    }
    core_result_drop(&fresh);
    core_operand_release(&in);
    return result;
}

PyObject *core_fftfreq(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    PyObject *out, *result = NULL;
    DLManagedTensorVersioned *fresh = NULL;
    operand given;
    given.tensor.ndim = 0;
    const char *dtype;
    long long n;
    double d;
    int half;
    if (!PyArg_ParseTuple(arguments, "LdpsO:fftfreq", &n, &d, &half, &dtype, &out) ||
        (out != Py_None && !core_operand(state, &given, out, "out", CORE_WRITES))) {
        return NULL;
    }
    int64_t size = half ? n / 2 + 1 : n;
    if (out != Py_None && (given.tensor.ndim != 1 || given.shape[0] != size)) {
        core_operand_release(&given);
        return core_refuse(state, state->bad_value, BP_E_SHAPE, "out: must have one dimension, of %lld elements",
                           (long long)size);
    }
    bp_status status = out == Py_None ? bp_tensor_empty(&fresh, bp_dtype_from_name(dtype), 1, &size, NULL) : BP_OK;
    if (status == BP_OK) {
        DLTensor *to = fresh ? &fresh->dl_tensor : &given.tensor;
        status = half ? bp_rfftfreq(n, d, to) : bp_fftfreq(d, to);
    }
    if (status == BP_OK) {
        core_result filled = {.memory = fresh};
        fresh = NULL;
        result = hand_over(state, &filled);
    } else {
        core_fail(state, status, NULL);
    }
    if (fresh) {
        fresh->deleter(fresh);
    }
    if (out != Py_None) {
        core_operand_release(&given);
    }
    return result;
}

PyObject *core_fft_plans(PyObject *module, PyObject *unused) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    (void)unused;
    bp_status status = bp_fft_plan_cache_stats(&info);
    return status == BP_OK ? PyLong_FromLongLong(info.size) : core_fail(core_state_of(module), status, NULL);
}

PyObject *core_fft_plans_clear(PyObject *module, PyObject *unused) {
    (void)unused;
    bp_status status = bp_fft_plan_cache_clear();
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    Py_RETURN_NONE;
}
