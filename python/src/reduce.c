/* reduce.c - runs reductions and softmax for Python. The names of the array API and of torch.nn.functional are in
 * python/backplane/reduce.py and python/backplane/nn/. */
#include "core.h"
#include "record.h"

/* One call, from its arguments to its result. */
typedef struct reduction {
    core_state *state;
    int kind;
    bool is_softmax;
    operand arrays[2], output; /* inputs, and the caller's array for the result */
    int count;                 /* inputs; of softmax 2 for the gradient */
    const int *axes;
    int dims[BP_MAX_NDIM];
    int axis_count;
    int keep;
    double correction; /* of a variance */
    core_result fresh;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM];
    DLTensor *to;
    const bp_options *options;
    PyObject *options_owner;
} reduction;

static bool read_array(reduction *of, PyObject *array, const char *name, bool runs) {
    if (!core_operand(of->state, &of->arrays[of->count], array, name, CORE_READS | (runs ? 0 : CORE_DESCRIBES))) {
        return false;
    }
    of->count++;
    return true;
}

/* Sums and products of i32 are i64, as NumPy's. */
DLDataType core_reduce_type(int kind, DLDataType type) {
    switch (kind) {
    case BP_REDUCE_ARGMAX:
    case BP_REDUCE_ARGMIN:
        return bp_dtype_to_dlpack(BP_I64);
    case BP_REDUCE_ANY:
    case BP_REDUCE_ALL:
        return bp_dtype_to_dlpack(BP_BOOL);
    case BP_REDUCE_SUM:
    case BP_REDUCE_PROD:
        return bp_dtype_from_dlpack(type) == BP_I32 ? bp_dtype_to_dlpack(BP_I64) : type;
    default:
        return type;
    }
}

bp_status core_reduce_run(const bp_options *options, int kind, const DLTensor *input, int axis_count, const int *axes,
                          double correction, int keep, DLTensor *output) {
    return kind < CORE_REDUCE_VARIANCE
               ? bp_reduce_run(options, (bp_reduce_kind)kind, input, axis_count, axes, keep, output)
               : bp_variance_run(options, (bp_variance_kind)(kind - CORE_REDUCE_VARIANCE), input, axis_count, axes,
                                 correction, keep, output);
}

static DLDataType result_type(const reduction *of) {
    const DLDataType type = of->arrays[0].tensor.dtype;
    return of->is_softmax ? type : core_reduce_type(of->kind, type);
}

static bool place_result(reduction *of, PyObject *out, bool runs) {
    const DLTensor *input = &of->arrays[0].tensor;
    const operand *arrays[] = {&of->arrays[0]};
    if (out != Py_None) {
        of->to = &of->output.tensor;
        return core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES));
    }
    int ndim = input->ndim;
    for (int d = 0; d < input->ndim && d < BP_MAX_NDIM; d++) {
        of->shape[d] = input->shape[d];
    }
    if (!of->is_softmax) {
        const bp_status status = bp_reduce_shape(input, of->axis_count, of->axes, of->keep, &ndim, of->shape);
        if (status != BP_OK) {
            core_fail(of->state, status, NULL);
            return false;
        }
    }
    of->result = (DLTensor){.device = input->device, .ndim = ndim, .dtype = result_type(of), .shape = of->shape};
    of->to = &of->result;
    return !runs || core_result_new(of->state, &of->fresh, &of->result, arrays, 1);
}

static void release_reduction(reduction *of) {
    for (int i = 0; i < of->count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    core_operand_release(&of->output);
    core_result_drop(&of->fresh);
    Py_CLEAR(of->options_owner);
}

static bp_status explain_reduction(const void *call, bp_explanation **explanation) {
    const reduction *of = call;
    const DLTensor *x = &of->arrays[0].tensor, *y = &of->arrays[1].tensor;
    if (!of->is_softmax && of->kind >= CORE_REDUCE_VARIANCE) {
        return bp_variance_explain(explanation, of->options, (bp_variance_kind)(of->kind - CORE_REDUCE_VARIANCE), x,
                                   of->axis_count, of->axes, of->correction, of->keep, of->to);
    }
    if (!of->is_softmax) {
        return bp_reduce_explain(explanation, of->options, (bp_reduce_kind)of->kind, x, of->axis_count, of->axes,
                                 of->keep, of->to);
    }
    return of->count == 2
               ? bp_softmax_backward_explain(explanation, of->options, (bp_softmax_kind)of->kind, x, y, of->dims[0],
                                             of->to)
               : bp_softmax_explain(explanation, of->options, (bp_softmax_kind)of->kind, x, of->dims[0], of->to);
}

static bp_status compute_reduction(const reduction *of) {
    const DLTensor *x = &of->arrays[0].tensor, *y = &of->arrays[1].tensor;
    if (!of->is_softmax) {
        return core_reduce_run(of->options, of->kind, x, of->axis_count, of->axes, of->correction, of->keep, of->to);
    }
    return of->count == 2 ? bp_softmax_backward_run(of->options, (bp_softmax_kind)of->kind, x, y, of->dims[0], of->to)
                          : bp_softmax_run(of->options, (bp_softmax_kind)of->kind, x, of->dims[0], of->to);
}

/* Runs or explains the call, and releases what it holds. */
static PyObject *finish_reduction(reduction *of, PyObject *out, PyObject *settings, bool explains) {
    PyObject *result = NULL;
    if (core_options(of->state, settings, &of->options, &of->options_owner) && place_result(of, out, !explains)) {
        if (explains) {
            result = core_explanation(of->state, explain_reduction, of);
        } else {
            core_unlocked unlocked;
            core_unlock(&unlocked);
            const bp_status status = compute_reduction(of);
            core_lock(&unlocked);
            PyObject *tuple = status == BP_OK ? core_results_take(of->state, &of->fresh, 1)
                                              : core_fail_explained(of->state, status, explain_reduction, of);
            if (tuple) {
                result = PyTuple_GetItem(tuple, 0);
                Py_INCREF(result);
                Py_DECREF(tuple);
            }
        }
    }
    release_reduction(of);
    return core_finish(of->state, result);
}

PyObject *core_reduce(PyObject *module, PyObject *arguments, PyObject *names) {
    CORE_RECORDED(module, "reduce", arguments, names);
    static char *words[] = {"", "", "axis", "keepdims", "out", "settings", "explains", "correction", NULL};
    PyObject *array, *axes, *out, *settings;
    int explains = 0;
    reduction of = {.state = core_state_of(module)};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iOOpOO|pd:reduce", words, &of.kind, &array, &axes, &of.keep,
                                     &out, &settings, &explains, &of.correction)) {
        return NULL;
    }
    if ((axes != Py_None && !core_dims(of.state, axes, of.dims, &of.axis_count)) ||
        !read_array(&of, array, "x", !explains)) {
        release_reduction(&of);
        return NULL;
    }
    of.axes = axes == Py_None ? NULL : of.dims;
    return finish_reduction(&of, out, settings, explains);
}

PyObject *core_softmax(PyObject *module, PyObject *arguments, PyObject *names) {
    CORE_RECORDED(module, "softmax", arguments, names);
    static char *words[] = {"", "", "", "dim", "out", "settings", "explains", NULL};
    PyObject *array, *gradient, *out, *settings;
    int explains = 0;
    reduction of = {.state = core_state_of(module), .is_softmax = true};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iOOiOO|p:softmax", words, &of.kind, &array, &gradient,
                                     &of.dims[0], &out, &settings, &explains)) {
        return NULL;
    }
    if (!read_array(&of, array, gradient == Py_None ? "input" : "output", !explains) ||
        (gradient != Py_None && !read_array(&of, gradient, "grad_output", !explains))) {
        release_reduction(&of);
        return NULL;
    }
    return finish_reduction(&of, out, settings, explains);
}
