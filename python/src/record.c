/* record.c - hands calls over to the tracer of backplane.compile, which records those on traced values in a graph. */
#include "record.h"

PyObject *core_set_recorder(PyObject *module, PyObject *recorder) {
    core_state *state = core_state_of(module);
    PyObject *former = state->recorder;
    Py_XINCREF(recorder);
    state->recorder = recorder == Py_None ? NULL : recorder;
    if (recorder == Py_None) {
        Py_DECREF(recorder);
    }
    Py_XDECREF(former);
    Py_RETURN_NONE;
}

/* The recorder returns NotImplemented for a call without traced values. It may be replaced while it runs. */
bool core_record(core_state *state, const char *function, PyObject *arguments, PyObject *names, PyObject **result) {
    PyObject *recorder = state->recorder;
    PyObject *given = Py_BuildValue("(sOO)", function, arguments, names ? names : Py_None);
    Py_INCREF(recorder);
    *result = given ? PyObject_Call(recorder, given, NULL) : NULL;
    Py_XDECREF(given);
    Py_DECREF(recorder);
    if (*result == Py_NotImplemented) {
        Py_CLEAR(*result);
        return false;
    }
    return true;
}

bool core_record_vector(core_state *state, const char *function, PyObject *const *values, Py_ssize_t count,
                        PyObject *names, PyObject **result) {
    PyObject *tuple = PyTuple_New(count), *dict = PyDict_New();
    bool recorded = true, fine = tuple && dict;
    *result = NULL;
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        Py_INCREF(values[i]);
        fine = PyTuple_SetItem(tuple, i, values[i]) == 0;
    }
    for (Py_ssize_t i = 0; fine && names && i < PyTuple_Size(names); i++) {
        fine = PyDict_SetItem(dict, PyTuple_GetItem(names, i), values[count + i]) == 0;
    }
    if (fine) {
        recorded = core_record(state, function, tuple, dict, result);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return recorded;
}
