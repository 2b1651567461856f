/* linalg.c - runs all operations of linear algebra for Python, without the interpreter's lock. The names and result
 * types of torch.linalg are in python/backplane/linalg.py. */
#include "core.h"
#include "record.h"

#include <stddef.h>
#include <string.h>

/* ---- Arguments ---- */

static const struct {
    const char *word;
    bp_linalg_mode mode;
} modes[] = {
    {"", BP_MODE_DEFAULT},     {"reduced", BP_QR_REDUCED}, {"complete", BP_QR_COMPLETE}, {"r", BP_QR_R},
    {"thin", BP_SVD_REDUCED},  {"full", BP_SVD_FULL},      {"gelsy", BP_LSTSQ_GELSY},    {"gels", BP_LSTSQ_GELS},
    {"gelsd", BP_LSTSQ_GELSD}, {"gelss", BP_LSTSQ_GELSS},  {"fro", BP_NORM_FRO},         {"nuc", BP_NORM_NUC},
    {"p", BP_NORM_P},
};

/* One call, from its arguments to its results. */
typedef struct calculation {
    core_state *state;
    bp_linalg_call call;
    const char *name; /* of the operation */
    int inputs, outputs;
    core_result fresh[BP_LINALG_OPERANDS]; /* memory of results */
    bool keepdim;
    bool explains;
    double rtol, atol;
    const bp_options *options;
    PyObject *options_owner;
    /* The members below are large and not initialised. */
    int dims[2];              /* dimensions of the input that are the matrix, in ascending order */
    int reduced[BP_MAX_NDIM]; /* dimensions of a vector norm */
    operand arrays[BP_LINALG_OPERANDS];
    DLTensor
        results[BP_LINALG_OPERANDS]; /* outputs as passed to the library: without the dimensions that keepdim keeps */
    int64_t shapes[BP_LINALG_OPERANDS][BP_MAX_NDIM], strides[BP_LINALG_OPERANDS][BP_MAX_NDIM];
} calculation;

/* Allocates a calculation, which is too large for the stack. Clears only the first members, because clearing all takes
 * longer than a small matrix. Returns NULL if memory is exhausted. */
static calculation *begin_linalg(core_state *state) {
    calculation *of = PyMem_Malloc(sizeof *of);
    if (of) {
        memset(of, 0, offsetof(calculation, dims));
        of->state = state;
        for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
            core_operand_clear(&of->arrays[i]);
        }
    }
    return of;
}

static int count_names(const char *names) {
    int count = *names != '\0';
    for (; *names; names++) {
        count += *names == ',';
    }
    return count;
}

static void name_of(const char *names, int index, char *buffer, size_t size) {
    for (; index > 0; index--) {
        names = strchr(names, ',') + 1;
    }
    size_t length = strcspn(names, ",");
    length = length < size - 1 ? length : size - 1;
    memcpy(buffer, names, length);
    buffer[length] = '\0';
}

static bool find_operation(calculation *of) {
    for (int op = BP_OP_INV; *bp_op_inputs((bp_op)op); op++) {
        if (strcmp(bp_op_name((bp_op)op), of->name) == 0) {
            of->call.op = (bp_op)op;
            of->inputs = count_names(bp_op_inputs((bp_op)op));
            of->outputs = count_names(bp_op_outputs((bp_op)op));
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "operation '%s' is unknown", of->name);
    return false;
}

static bool find_mode(calculation *of, const char *word) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].word, word) == 0) {
            of->call.mode = modes[i].mode;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "mode '%s' is unknown", word);
    return false;
}

static bool read_tolerance(PyObject *number, double *value, const double **slot) {
    if (number != Py_None) {
        *value = PyFloat_AsDouble(number);
        *slot = value;
    }
    return !PyErr_Occurred();
}

/* ---- Inputs ---- */

/* Implements torch's `dim`: moves two dimensions of the first input to the end, where the library expects the matrix.
 */
static bool move_dims(calculation *of, PyObject *pair) {
    operand *a = &of->arrays[0];
    int rank = a->tensor.ndim;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    if (pair == Py_None) {
        of->dims[0] = rank - 2;
        of->dims[1] = rank - 1;
        return true;
    }
    if (!PyArg_ParseTuple(pair, "ii:dim", &of->dims[0], &of->dims[1])) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (of->dims[i] < -rank || of->dims[i] >= rank) {
            core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT,
                        "linalg.%s: dim %d is out of range for %d dimensions", of->name, of->dims[i], rank);
            return false;
        }
        of->dims[i] += of->dims[i] < 0 ? rank : 0;
    }
    if (of->dims[0] == of->dims[1]) {
        core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT, "linalg.%s: dim names one dimension twice",
                    of->name);
        return false;
    }
    int at = 0;
    for (int i = 0; i < rank; i++) {
        bool moves = i == of->dims[0] || i == of->dims[1];
        int to = i == of->dims[0] ? rank - 2 : i == of->dims[1] ? rank - 1 : at;
        shape[to] = a->shape[i];
        strides[to] = a->strides[i];
        at += !moves;
    }
    memcpy(a->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(a->strides, strides, (size_t)rank * sizeof *strides);
    return true;
}

/* Vector norms reduce any number of dimensions, and the library finds them. */
static bool read_reduced(calculation *of, PyObject *dims) {
    int count;
    if (!core_dims(of->state, dims, of->reduced, &count)) {
        return false;
    }
    of->call.axes = count < 0 ? NULL : of->reduced;
    of->call.axis_count = count < 0 ? 0 : count;
    of->call.keep = of->keepdim;
    of->keepdim = false;
    return true;
}

static unsigned access_of(const calculation *of) {
    return of->explains ? CORE_DESCRIBES : CORE_READS;
}

static bool read_inputs(calculation *of, PyObject *inputs, PyObject *dim) {
    if (PyTuple_Size(inputs) != of->inputs) {
        PyErr_Format(PyExc_ValueError, "%s takes %d arrays", of->name, of->inputs);
        return false;
    }
    for (int i = 0; i < of->inputs; i++) {
        char name[16];
        name_of(bp_op_inputs(of->call.op), i, name, sizeof name);
        if (!core_operand(of->state, &of->arrays[i], PyTuple_GetItem(inputs, i), name, access_of(of))) {
            return false;
        }
        of->call.input[i] = &of->arrays[i].tensor;
    }
    return of->call.op == BP_OP_VECTOR_NORM ? read_reduced(of, dim) : move_dims(of, dim);
}

/* ---- Outputs ---- */

/* Inserts the two dimensions of the matrix into the shape, with size 1. */
static void keep_dims(const calculation *of, int *ndim, int64_t *shape) {
    int64_t short_shape[BP_MAX_NDIM];
    int rank = *ndim + 2, at = 0;
    memcpy(short_shape, shape, sizeof short_shape);
    for (int i = 0; i < rank; i++) {
        shape[i] = i == of->dims[0] || i == of->dims[1] ? 1 : short_shape[at++];
    }
    *ndim = rank;
}

/* Removes the kept dimensions from a result that the caller gave, for the library. */
static bool drop_dims(calculation *of, int index) {
    DLTensor *result = &of->results[index];
    int at = 0;
    for (int i = 0; i < result->ndim; i++) {
        if (i != of->dims[0] && i != of->dims[1]) {
            of->shapes[index][at] = result->shape[i];
            of->strides[index][at++] = result->strides ? result->strides[i] : 0;
        } else if (result->shape[i] != 1) {
            core_refuse(of->state, of->state->bad_value, BP_E_SHAPE, "linalg.%s: out must have size 1 in dimension %d",
                        of->name, i);
            return false;
        }
    }
    result->ndim = at;
    result->shape = of->shapes[index];
    result->strides = result->strides ? of->strides[index] : NULL;
    return true;
}

static bool library_failed(const calculation *of, bp_status status) {
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
    }
    return status != BP_OK;
}

/* The first input that decides an array's type decides this one's. The tensor keeps a copy of the shape. */
static bool make_array(calculation *of, int index, bp_dtype dtype, int ndim, const int64_t *shape) {
    const operand *inputs[BP_LINALG_OPERANDS];
    for (int i = 0; i < of->inputs; i++) {
        inputs[i] = &of->arrays[i];
    }
    memcpy(of->shapes[index], shape, (size_t)ndim * sizeof *shape);
    of->results[index] = (DLTensor){.device = of->arrays[0].tensor.device,
                                    .ndim = ndim,
                                    .dtype = bp_dtype_to_dlpack(dtype),
                                    .shape = of->shapes[index]};
    return core_result_new(of->state, &of->fresh[index], &of->results[index], inputs, of->inputs);
}

static bool make_output(calculation *of, int index) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    if (library_failed(of, bp_linalg_shape(&of->call, index - of->inputs, &dtype, &ndim, shape))) {
        return false;
    }
    if (of->keepdim) {
        keep_dims(of, &ndim, shape);
    }
    if (of->explains) { /* needs the shape only; the result may be too large to allocate */
        memcpy(of->shapes[index], shape, (size_t)ndim * sizeof *shape);
        of->results[index] = (DLTensor){.device = of->arrays[0].tensor.device,
                                        .ndim = ndim,
                                        .dtype = bp_dtype_to_dlpack(dtype),
                                        .shape = of->shapes[index]};
        return true;
    }
    return make_array(of, index, dtype, ndim, shape);
}

/* Makes an empty tensor, as torch does for a result that the mode or driver does not compute. */
static bool make_empty(calculation *of, int index) {
    static const int64_t nothing[] = {0};
    bp_linalg_call call = of->call;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    call.mode = call.op == BP_OP_QR ? BP_QR_REDUCED : BP_LSTSQ_GELSD;
    return !library_failed(of, bp_linalg_shape(&call, index - of->inputs, &dtype, &ndim, shape)) &&
           make_array(of, index, dtype, 1, nothing);
}

/* Reads the outputs. Each is None (not requested), True (allocate it), False (an empty array), or the caller's array.
 */
static bool read_outputs(calculation *of, PyObject *outputs) {
    if (PyTuple_Size(outputs) != of->outputs) {
        PyErr_Format(PyExc_ValueError, "%s gives %d results", of->name, of->outputs);
        return false;
    }
    for (int i = 0; i < of->outputs; i++) {
        PyObject *wanted = PyTuple_GetItem(outputs, i);
        int index = of->inputs + i;
        if (wanted == Py_None) {
            continue;
        }
        if (wanted == Py_False) {
            if (!of->explains && !make_empty(of, index)) {
                return false;
            }
            continue;
        }
        if (wanted == Py_True) {
            if (!make_output(of, index)) {
                return false;
            }
        } else {
            char name[16];
            name_of(bp_op_outputs(of->call.op), i, name, sizeof name);
            if (!core_operand(of->state, &of->arrays[index], wanted, name, access_of(of) | CORE_WRITES)) {
                return false;
            }
            of->results[index] = of->arrays[index].tensor;
        }
        if (of->keepdim && !drop_dims(of, index)) {
            return false;
        }
        of->call.output[i] = &of->results[index];
    }
    return true;
}

/* ---- The call ---- */

static bool parse_words(calculation *of, PyObject *values, PyObject *names, int *explain) {
    static char *known[] = {"",          "",
                            "",          "",
                            "",          "mode",
                            "upper",     "right",
                            "adjoint",   "unitriangular",
                            "hermitian", "fail_on_item_error",
                            "rtol",      "atol",
                            "order",     "dim",
                            "keepdim",   NULL};
    PyObject *inputs, *outputs, *rtol = Py_None, *atol = Py_None, *dim = Py_None, *settings = Py_None;
    const char *mode = "";
    int keepdim = 0;
    bp_linalg_call *call = &of->call;
    call->struct_size = sizeof *call;
    return PyArg_ParseTupleAndKeywords(values, names, "sO!O!|Op$sppppppOOdOp:linalg", known, &of->name, &PyTuple_Type,
                                       &inputs, &PyTuple_Type, &outputs, &settings, explain, &mode, &call->upper,
                                       &call->right, &call->adjoint, &call->unitriangular, &call->hermitian,
                                       &call->fail_on_item_error, &rtol, &atol, &call->order, &dim, &keepdim) &&
           ((of->keepdim = keepdim), (of->explains = *explain), find_operation(of)) && find_mode(of, mode) &&
           read_tolerance(rtol, &of->rtol, &call->rtol) && read_tolerance(atol, &of->atol, &call->atol) &&
           core_options(of->state, settings, &of->options, &of->options_owner) && read_inputs(of, inputs, dim) &&
           read_outputs(of, outputs);
}

static bp_status explain_call(const void *context, bp_explanation **explanation) {
    const calculation *of = context;
    return bp_linalg_explain(explanation, of->options, &of->call);
}

/* Returns the results as a tuple, with None for a result that is absent or in the caller's array. */
static PyObject *results(calculation *of) {
    PyObject *tuple = PyTuple_New(of->outputs);
    for (int i = 0; tuple && i < of->outputs; i++) {
        core_result *fresh = &of->fresh[of->inputs + i];
        PyObject *result = Py_None;
        if (fresh->array || fresh->memory) {
            result = core_result_take(of->state, fresh);
        } else {
            Py_INCREF(result);
        }
        if (!result) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, result);
        }
    }
    return tuple;
}

static PyObject *calculate(calculation *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_linalg_run(of->options, &of->call);
    core_lock(&unlocked);
    return status == BP_OK ? results(of) : core_fail_explained(of->state, status, explain_call, of);
}

static void release_linalg(calculation *of) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        core_operand_release(&of->arrays[i]);
        core_result_drop(&of->fresh[i]);
    }
    Py_CLEAR(of->options_owner);
    PyMem_Free(of);
}

PyObject *core_linalg(PyObject *module, PyObject *values, PyObject *names) {
    CORE_RECORDED(module, "linalg", values, names);
    int explain = 0;
    PyObject *result = NULL;
    core_state *state = core_state_of(module);
    calculation *of = begin_linalg(state);
    if (!of) {
        return PyErr_NoMemory();
    }
    core_leave_dropped();
    if (parse_words(of, values, names, &explain)) {
        result = explain ? core_explanation(state, explain_call, of) : calculate(of);
    }
    release_linalg(of);
    return core_finish(state, result);
}
