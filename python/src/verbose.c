/* verbose.c - opens and leaves scopes of the verbose modes of MKL and oneDNN. An open scope is a capsule; its
 * destructor leaves the scope. Leaving a scope that collects returns the library's lines as a list. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define CAPSULE "backplane.verbose"

/* A line, allocated with malloc, because it arrives while the interpreter's lock is released. */
typedef struct line {
    struct line *next;
    char text[];
} line;

typedef struct held {
    bp_verbose_scope *scope;
    bool collects;
    line *first, **end; /* list in order of arrival; `end` is the pointer to set for the next line */
} held;

/* Runs inside bp_verbose_leave. Drops a line if memory is exhausted. */
static void collect(void *user, const char *text) {
    held *h = user;
    size_t size = strlen(text) + 1;
    line *made = malloc(sizeof *made + size);
    if (made) {
        memcpy(made->text, text, size);
        made->next = NULL;
        *h->end = made;
        h->end = &made->next;
    }
}

/* Both functions may wait for the library's lock or load a library, so they release the interpreter's lock. */
static bp_status enter_unlocked(held *h, const char *backend, int level) {
    bp_status status;
    Py_BEGIN_ALLOW_THREADS status =
        bp_verbose_enter(&h->scope, backend, level, h->collects ? collect : NULL, h->collects ? h : NULL);
    Py_END_ALLOW_THREADS return status;
}

static bp_status leave_unlocked(held *h) {
    bp_status status;
    Py_BEGIN_ALLOW_THREADS status = bp_verbose_leave(&h->scope);
    Py_END_ALLOW_THREADS return status;
}

static void drop_verbose(held *h) {
    while (h->first) {
        line *next = h->first->next;
        free(h->first);
        h->first = next;
    }
    PyMem_Free(h);
}

static void throw_away(PyObject *capsule) {
    held *h = PyCapsule_GetPointer(capsule, CAPSULE);
    leave_unlocked(h);
    drop_verbose(h);
}

static PyObject *enter(core_state *state, const char *backend, int level, bool collects) {
    held *h = PyMem_Calloc(1, sizeof *h);
    if (!h) {
        return PyErr_NoMemory();
    }
    h->collects = collects;
    h->end = &h->first;
    bp_status status = enter_unlocked(h, backend, level);
    PyObject *capsule = status == BP_OK ? PyCapsule_New(h, CAPSULE, throw_away) : core_fail(state, status, NULL);
    if (!capsule) {
        leave_unlocked(h);
        drop_verbose(h);
    }
    return core_finish(state, capsule);
}

PyObject *core_verbose_enter(PyObject *module, PyObject *arguments) {
    const char *backend;
    int level, collects;
    if (!PyArg_ParseTuple(arguments, "sip:verbose_enter", &backend, &level, &collects)) {
        return NULL;
    }
    return enter(core_state_of(module), backend, level, collects != 0);
}

static PyObject *lines_of(const held *h) {
    PyObject *list = PyList_New(0);
    for (const line *each = h->first; list && each; each = each->next) {
        core_append(&list, core_text(each->text));
    }
    return list;
}

PyObject *core_verbose_leave(PyObject *module, PyObject *capsule) {
    held *h = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!h) {
        return NULL;
    }
    bp_status status = leave_unlocked(h);
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    if (!h->collects) {
        Py_RETURN_NONE;
    }
    return lines_of(h);
}
