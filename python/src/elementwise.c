/* elementwise.c - runs operations on single elements for Python. Conversion of lists, numbers and types is in
 * python/backplane/elementwise.py. */
#include "core.h"
#include "record.h"

#include <string.h>

enum { UNARY, BINARY, TAKE, GATHER, WHERE, CONCAT };

/* One call, from its arguments to its result. */
typedef struct elements {
    core_call call; /* must be first */
    int op;         /* UNARY, ... */
    int number;     /* UNARY, BINARY: the kind; otherwise the axis */
    bp_dtype dtype; /* of the result */
    int number_count;
    double numbers[2]; /* UNARY: of the function */
} elements;

static bool find_op(elements *of, const char *name, PyObject *arrays) {
    static const char *const names[] = {"unary", "binary", "take", "gather", "where", "concat"};
    for (int i = 0; i <= CONCAT; i++) {
        if (strcmp(names[i], name) == 0) {
            of->op = i;
            const Py_ssize_t count = PyTuple_Size(arrays);
            const Py_ssize_t wanted = i == UNARY ? 1 : i == WHERE ? 3 : i == CONCAT ? count : 2;
            if (count == wanted && count > 0) {
                return true;
            }
            PyErr_Format(PyExc_ValueError, "%s takes another number of arrays than %zd", name, count);
            return false;
        }
    }
    PyErr_Format(PyExc_ValueError, "operation '%s' is unknown", name);
    return false;
}

static const char *const unary_names[] = {
#define X(number, name, text) text,
    BP_UNARY_MAP(X)
#undef X
};
static const char *const binary_names[] = {
#define X(number, name, text) text,
    BP_BINARY_MAP(X)
#undef X
};

static int number_among(const char *kind, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], kind) == 0) {
            return i;
        }
    }
    return -1;
}

int core_unary_kind(const char *kind) {
    return number_among(kind, unary_names, BP_UNARY_KINDS);
}

int core_binary_kind(const char *kind) {
    return number_among(kind, binary_names, BP_BINARY_KINDS);
}

DLDataType core_unary_type(bp_unary_kind kind, DLDataType type) {
    return bp_dtype_to_dlpack(bp_unary_dtype(kind, bp_dtype_from_dlpack(type)));
}

DLDataType core_binary_type(bp_binary_kind kind, DLDataType type) {
    return bp_dtype_to_dlpack(bp_binary_dtype(kind, bp_dtype_from_dlpack(type)));
}

/* Returns the type of a result whose type is not given. */
static bp_dtype usual_type(const elements *of) {
    const bp_dtype first = bp_dtype_from_dlpack(of->call.operands.tensors[of->op == WHERE]->dtype);
    return of->op == UNARY    ? bp_unary_dtype((bp_unary_kind)of->number, first)
           : of->op == BINARY ? bp_binary_dtype((bp_binary_kind)of->number, first)
                              : first;
}

/* Sets the exception for a name that is none of these. Returns false. */
static bool refuse_kind(const elements *of, const char *kind, const char *const *names, int count) {
    char known[1024] = "";
    int length = 0;
    for (int i = 0; i < count && length < (int)sizeof known; i++) {
        length += PyOS_snprintf(known + length, sizeof known - (size_t)length, "%s%s", i ? "," : "", names[i]);
    }
    core_refuse(of->call.state, of->call.state->bad_value, BP_E_ARGUMENT, "kind '%s' is unknown; it must be one of %s",
                kind, known);
    return false;
}

/* The kinds by their names; the other operations have a number. */
static bool find_number(elements *of, const char *kind, int axis) {
    if (of->op > BINARY) {
        of->number = axis;
        return true;
    }
    of->number = of->op == UNARY ? core_unary_kind(kind) : core_binary_kind(kind);
    return of->number >= 0 || refuse_kind(of, kind, of->op == UNARY ? unary_names : binary_names,
                                          of->op == UNARY ? BP_UNARY_KINDS : BP_BINARY_KINDS);
}

static bp_status shape_of(const elements *of, int *ndim, int64_t *shape) {
    const DLTensor *const *t = of->call.operands.tensors, *like = t[of->op == GATHER];
    switch (of->op) {
    case BINARY:
        return bp_binary_shape(t[0], t[1], ndim, shape);
    case WHERE:
        return bp_where_shape(t[0], t[1], t[2], ndim, shape);
    case TAKE:
        return bp_take_shape(t[0], t[1], of->number, ndim, shape);
    case CONCAT:
        return bp_concat_shape(of->call.operands.count, t, of->number, ndim, shape);
    default:
        *ndim = like->ndim;
        memcpy(shape, like->shape, (size_t)like->ndim * sizeof *shape);
        return BP_OK;
    }
}

/* Determines the result's tensor. If the caller gives no memory, it has no address yet. */
static bool place_result(elements *of, PyObject *out, const char *dtype) {
    core_call *call = &of->call;
    int ndim;
    if (out != Py_None) {
        return core_call_out(call, out);
    }
    const bp_status status = shape_of(of, &ndim, call->shape);
    if (status != BP_OK) {
        core_fail(call->state, status, NULL);
        return false;
    }
    if (dtype[0] && bp_dtype_from_name(dtype) == BP_DTYPE_NONE) {
        core_refuse(call->state, call->state->bad_type, BP_E_DTYPE,
                    "dtype: '%s' is no element type; " CORE_ELEMENT_TYPES, dtype);
        return false;
    }
    of->dtype = dtype[0] ? bp_dtype_from_name(dtype) : usual_type(of);
    call->result = (DLTensor){.device = call->operands.tensors[0]->device,
                              .ndim = ndim,
                              .dtype = bp_dtype_to_dlpack(of->dtype),
                              .shape = call->shape};
    if (of->op == CONCAT) {
        core_result_order(&call->result, call->strides, call->operands.tensors[0]);
    } else if (of->op == UNARY || of->op == BINARY || of->op == WHERE) {
        core_result_follow(&call->result, call->strides, call->operands.tensors, call->operands.count);
    }
    return true;
}

static bp_status run_elements(core_call *call) {
    const elements *of = (const elements *)call;
    const DLTensor *const *t = call->operands.tensors;
    switch (of->op) {
    case UNARY:
        return bp_unary_with_run(call->options, (bp_unary_kind)of->number, of->number_count, of->numbers, t[0],
                                 &call->result);
    case BINARY:
        return bp_binary_run(call->options, (bp_binary_kind)of->number, t[0], t[1], &call->result);
    case WHERE:
        return bp_where_run(call->options, t[0], t[1], t[2], &call->result);
    case TAKE:
        return bp_take_run(call->options, t[0], t[1], of->number, &call->result);
    case GATHER:
        return bp_gather_run(call->options, t[0], t[1], of->number, &call->result);
    default:
        return bp_concat_run(call->options, call->operands.count, t, of->number, &call->result);
    }
}

/* A concatenation is explained as the copy of its first array. */
static bp_status explain_elements(const void *context, bp_explanation **explanation) {
    const elements *of = context;
    const core_call *call = &of->call;
    const DLTensor *const *t = call->operands.tensors;
    switch (of->op) {
    case UNARY:
        return bp_unary_with_explain(explanation, call->options, (bp_unary_kind)of->number, of->number_count,
                                     of->numbers, t[0], &call->result);
    case BINARY:
        return bp_binary_explain(explanation, call->options, (bp_binary_kind)of->number, t[0], t[1], &call->result);
    case WHERE:
        return bp_where_explain(explanation, call->options, t[0], t[1], t[2], &call->result);
    case TAKE:
        return bp_take_explain(explanation, call->options, t[0], t[1], of->number, &call->result);
    case GATHER:
        return bp_gather_explain(explanation, call->options, t[0], t[1], of->number, &call->result);
    default: {
        DLTensor part = call->result;
        part.shape = t[0]->shape;
        part.strides = NULL;
        return bp_unary_explain(explanation, call->options, BP_UNARY_COPY, t[0], &part);
    }
    }
}

/* Reads the numbers of a function: two at most. */
static bool read_numbers(elements *of, PyObject *numbers) {
    of->number_count = numbers ? (int)PyTuple_Size(numbers) : 0;
    if (of->number_count > 2) {
        PyErr_SetString(PyExc_ValueError, "a function takes at most two numbers");
        return false;
    }
    for (int i = 0; i < of->number_count; i++) {
        of->numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(numbers, i));
    }
    return !PyErr_Occurred();
}

/* Arguments: operation, kind, arrays, axis, type of the result or "", out, settings, whether to explain, and the first
 * numbers of a function of one element. */
PyObject *core_elementwise(PyObject *module, PyObject *values) {
    CORE_RECORDED(module, "elementwise", values, NULL);
    elements of;
    core_call *call = &of.call;
    const char *name, *kind, *dtype;
    PyObject *arrays, *out, *settings, *numbers = NULL, *result = NULL;
    int axis, explains;
    if (!PyArg_ParseTuple(values, "ssO!isOOp|O!:elementwise", &name, &kind, &PyTuple_Type, &arrays, &axis, &dtype, &out,
                          &settings, &explains, &PyTuple_Type, &numbers)) {
        return NULL;
    }
    core_call_begin(call, core_state_of(module), explains != 0);
    const bool found = find_op(&of, name, arrays);
    call->operands.like = found && of.op == WHERE; /* not the condition */
    if (found && find_number(&of, kind, axis) && read_numbers(&of, numbers) &&
        core_options(call->state, settings, &call->options, &call->options_owner) &&
        core_operands_read(call->state, &call->operands, arrays, 0, core_call_access(call)) &&
        place_result(&of, out, dtype)) {
        result = explains ? core_explanation(call->state, explain_elements, &of)
                          : core_call_run(call, run_elements, explain_elements);
    }
    core_call_release(call);
    return core_finish(call->state, result);
}
