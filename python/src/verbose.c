/* verbose.c - scopes of the verbose modes of MKL and oneDNN. An open one is a capsule, which leaves it when it is
 * thrown away; leaving one that was opened to collect gives the library's lines as a list. */
#include "core.h"

#define CAPSULE "backplane.verbose"

typedef struct held {
    bp_verbose_scope *scope;
    PyObject *lines; /* a list, NULL where lines go to standard output */
} held;

/* Runs inside bp_verbose_leave, with the interpreter's lock held. A line that finds no memory is left out. */
static void collect(void *user, const char *line) {
    PyObject *text = core_text(line);
    if (!text || PyList_Append(user, text) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(text);
}

static void throw_away(PyObject *capsule) {
    held *h = PyCapsule_GetPointer(capsule, CAPSULE);
    bp_verbose_leave(&h->scope);
    Py_XDECREF(h->lines);
    PyMem_Free(h);
}

/* Takes `lines`, in every case. */
static PyObject *enter(core_state *state, const char *backend, int level, PyObject *lines) {
    held *h = PyMem_Calloc(1, sizeof *h);
    if (!h) {
        Py_XDECREF(lines);
        return PyErr_NoMemory();
    }
    h->lines = lines;
    bp_status status = bp_verbose_enter(&h->scope, backend, level, lines ? collect : NULL, lines);
    PyObject *capsule = status == BP_OK ? PyCapsule_New(h, CAPSULE, throw_away) : core_fail(state, status, NULL);
    if (!capsule) {
        bp_verbose_leave(&h->scope);
        Py_XDECREF(lines);
        PyMem_Free(h);
    }
    return capsule;
}

PyObject *core_verbose_enter(PyObject *module, PyObject *arguments) {
    const char *backend;
    int level, collects;
    if (!PyArg_ParseTuple(arguments, "sip:verbose_enter", &backend, &level, &collects)) {
        return NULL;
    }
    PyObject *lines = collects ? PyList_New(0) : NULL;
    return collects && !lines ? NULL : enter(core_state_of(module), backend, level, lines);
}

PyObject *core_verbose_leave(PyObject *module, PyObject *capsule) {
    held *h = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!h) {
        return NULL;
    }
    bp_status status = bp_verbose_leave(&h->scope);
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    PyObject *lines = h->lines ? h->lines : Py_None;
    Py_INCREF(lines);
    return lines;
}
