/* warnings.c - passes the library's warnings to Python's warnings module.
 *
 * The library warns in any thread, without the interpreter's lock and possibly with locks of its own. So the handler
 * only adds the text to a lock-free list. The next call that returns to Python passes on all texts of the list.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct note {
    struct note *next; /* the one before it */
    char text[];
} note;

static _Atomic(note *) newest;

static void take_warning(void *unused, const char *text) {
    size_t size = strlen(text) + 1;
    note *made = malloc(sizeof *made + size);
    (void)unused;
    if (!made) {
        return; /* out of memory: the warning is lost, the call continues */
    }
    memcpy(made->text, text, size);
    made->next = atomic_load_explicit(&newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&newest, &made->next, made, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

void core_collect_warnings(void) {
    bp_set_warning_handler(take_warning, NULL);
}

static note *oldest_first(note *list) {
    note *reversed = NULL;
    while (list) {
        note *next = list->next;
        list->next = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

/* Returns whether the code of a frame is in the package. */
static bool is_of_package(PyObject *frame) {
    PyObject *globals = PyObject_GetAttrString(frame, "f_globals");
    PyObject *name = globals ? PyMapping_GetItemString(globals, "__name__") : NULL;
    PyObject *bytes = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : "";
    const bool found = strncmp(text, "backplane", 9) == 0 && (text[9] == '\0' || text[9] == '.');
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    Py_XDECREF(globals);
    return found;
}

/* The number of the first frame outside the package, counted from 1, so that a warning names the program's line.
 * Builtin functions have no frame, and functions of the package have some. */
static Py_ssize_t level_of_program(void) {
    Py_ssize_t level = 1;
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame && is_of_package(frame)) {
        PyObject *caller = PyObject_GetAttrString(frame, "f_back");
        Py_DECREF(frame);
        frame = caller;
        level++;
    }
    PyErr_Clear();
    Py_XDECREF(frame);
    return level;
}

bool core_tell_warnings(core_state *state) {
    if (!atomic_load_explicit(&newest, memory_order_relaxed)) {
        return true;
    }
    note *list = oldest_first(atomic_exchange_explicit(&newest, NULL, memory_order_acquire));
    const Py_ssize_t level = level_of_program();
    bool fine = true;
    while (list) {
        note *next = list->next;
        fine = fine && PyErr_WarnEx(state->warning, list->text, level) == 0;
        free(list);
        list = next;
    }
    return fine;
}

PyObject *core_finish(core_state *state, PyObject *result) {
    PyObject *kind, *value, *trace, *other_kind, *other, *other_trace;
    if (result) {
        if (!core_tell_warnings(state)) {
            Py_CLEAR(result);
        }
        return result;
    }
    PyErr_Fetch(&kind, &value, &trace);
    if (!core_tell_warnings(state)) {
        /* The call failed, and a warning became an exception. The failure is raised; the warning is its context. */
        PyErr_Fetch(&other_kind, &other, &other_trace);
        PyErr_NormalizeException(&other_kind, &other, &other_trace);
        PyErr_NormalizeException(&kind, &value, &trace);
        PyException_SetContext(value, other); /* takes it over */
        Py_XDECREF(other_kind);
        Py_XDECREF(other_trace);
    }
    PyErr_Restore(kind, value, trace);
    return NULL;
}
