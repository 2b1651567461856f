/* errors.c - converts errors of the library to Python exceptions.
 *
 * All are backplane.Error, a RuntimeError with `status` and `reasons`. Errors about a value, a type or a name are also
 * ValueError, TypeError or AttributeError, so that programs can catch them by Python's classes.
 */
#include "core.h"

#include <stdarg.h>

/* Returns backplane.linalg.LinAlgError. If NumPy has been imported, returns a class that is also numpy.linalg's, so
 * that programs written for NumPy catch it. NumPy may be imported at any time, so that class is made at the first error
 * after the import. */
static PyObject *linalg_error(core_state *state) {
    PyObject *module =
        state->linalg_error_numpy ? NULL : PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.linalg");
    PyObject *numpy = module ? PyObject_GetAttrString(module, "LinAlgError") : NULL;
    PyObject *bases = numpy ? PyTuple_Pack(2, state->linalg_error, numpy) : NULL;
    if (bases) {
        state->linalg_error_numpy = PyErr_NewException("backplane.LinAlgError", bases, NULL);
    }
    Py_XDECREF(bases);
    Py_XDECREF(numpy);
    PyErr_Clear(); /* a module numpy.linalg without LinAlgError: use our class only */
    return state->linalg_error_numpy ? state->linalg_error_numpy : state->linalg_error;
}

static PyObject *kind_of(core_state *state, bp_status status) {
    switch (status) {
    case BP_E_ARGUMENT:
    case BP_E_SHAPE:
    case BP_E_DEVICE:
    case BP_E_LAYOUT:
    case BP_E_OVERLAP:
    case BP_E_OVERFLOW:
    case BP_E_BAD_VALUE:
        return state->bad_value;
    case BP_E_DTYPE:
        return state->bad_type;
    case BP_E_UNKNOWN_NAME:
        return state->unknown_name;
    case BP_E_SINGULAR:
    case BP_E_NOT_POSITIVE_DEFINITE:
    case BP_E_NOT_CONVERGED:
    case BP_E_NON_FINITE:
        return linalg_error(state);
    default:
        return state->error;
    }
}

/* Steals the reference to the message. */
static PyObject *raise_one(PyObject *kind, PyObject *message, bp_status status, PyObject *reasons) {
    PyObject *exception = message ? PyObject_CallFunctionObjArgs(kind, message, NULL) : NULL;
    PyObject *name = exception ? PyUnicode_FromString(bp_status_name(status)) : NULL;
    if (name && PyObject_SetAttrString(exception, "status", name) == 0 &&
        (!reasons || PyObject_SetAttrString(exception, "reasons", reasons) == 0)) {
        PyErr_SetObject(kind, exception);
    }
    Py_XDECREF(name);
    Py_XDECREF(exception);
    Py_XDECREF(message);
    return NULL;
}

PyObject *core_fail(core_state *state, bp_status status, PyObject *reasons) {
    if (status == BP_E_CANCELLED && PyErr_Occurred()) {
        return NULL;
    }
    if (status == BP_E_NO_MEMORY) {
        /* Programs catch Python's MemoryError. If there is no memory for the message either, core_text() has set it. */
        PyObject *sentence = core_text(bp_last_error());
        if (sentence) {
            PyErr_SetObject(PyExc_MemoryError, sentence);
            Py_DECREF(sentence);
        }
        return NULL;
    }
    return raise_one(kind_of(state, status), core_text(bp_last_error()), status, reasons);
}

PyObject *core_refuse(core_state *state, PyObject *type, bp_status status, const char *format, ...) {
    va_list list;
    (void)state;
    va_start(list, format);
    PyObject *message = PyUnicode_FromFormatV(format, list);
    va_end(list);
    return raise_one(type, message, status, NULL);
}

/* Class attributes of Error, for instances that Python code creates: no status, no reasons. */
static PyObject *blank_fields(void) {
    return Py_BuildValue("{s:s, s:()}", "status", "", "reasons");
}

static PyObject *add_kind(PyObject *module, const char *name, const char *text, PyObject *first, PyObject *second,
                          PyObject *fields) {
    char full[64];
    PyOS_snprintf(full, sizeof full, "backplane.%s", name);
    PyObject *bases = second ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first);
    PyObject *kind = bases ? PyErr_NewExceptionWithDoc(full, text, bases, fields) : NULL;
    Py_XDECREF(bases);
    if (kind) {
        Py_INCREF(kind); /* one for the module, one for the state */
        if (PyModule_AddObject(module, name, kind) != 0) {
            Py_DECREF(kind);
            Py_CLEAR(kind);
        }
    }
    return kind;
}

int core_add_errors(PyObject *module, core_state *state) {
    PyObject *fields = blank_fields();
    if (!fields) {
        return -1;
    }
    state->error = add_kind(module, "Error",
                            "An error that the library reports.\n\n"
                            "status: its code, see docs/reference/status.md ('E_SHAPE', 'E_FALLBACK', ...)\n"
                            "reasons: (library, reason, text) of each library that refused the call",
                            PyExc_RuntimeError, NULL, fields);
    Py_DECREF(fields);
    if (!state->error) {
        return -1;
    }
    state->bad_value = add_kind(module, "BadValueError", "A value, shape or memory layout is not accepted.",
                                state->error, PyExc_ValueError, NULL);
    state->bad_type = add_kind(module, "BadTypeError", "A Python type or a data type is not accepted.", state->error,
                               PyExc_TypeError, NULL);
    state->unknown_name =
        add_kind(module, "UnknownNameError", "There is no such name; the message has the nearest ones.", state->error,
                 PyExc_AttributeError, NULL);
    state->linalg_error =
        add_kind(module, "LinAlgError",
                 "A matrix is singular, not positive definite, holds NaN or infinity, or an iteration "
                 "did not converge.",
                 state->error, NULL, NULL);
    state->warning = add_kind(module, "Warning", "A warning of the library: a fallback, two OpenMP runtimes, ...",
                              PyExc_RuntimeWarning, NULL, NULL);
    return state->bad_value && state->bad_type && state->unknown_name && state->linalg_error && state->warning ? 0 : -1;
}
