/* warnings.c - passes the library's warnings to Python's warnings module, and warnings and choices to logging.
 *
 * The library reports in any thread, without the interpreter's lock and possibly with locks of its own. So the handlers
 * only add the text to a lock-free list. The next call that returns to Python passes on all texts of the list. A
 * program that does not import logging pays for the texts of new plans only.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct note {
    struct note *next; /* the one before it */
    bool warns;        /* otherwise it reports a choice */
    char text[];
} note;

static _Atomic(note *) newest;

static void keep_note(const char *text, bool warns) {
    size_t size = strlen(text) + 1;
    note *made = malloc(sizeof *made + size);
    if (!made) {
        return; /* out of memory: the text is lost, the call continues */
    }
    made->warns = warns;
    memcpy(made->text, text, size);
    made->next = atomic_load_explicit(&newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&newest, &made->next, made, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

static void take_warning(void *unused, const char *text) {
    (void)unused;
    keep_note(text, true);
}

static void take_choice(void *unused, const char *text) {
    (void)unused;
    keep_note(text, false);
}

void core_collect_warnings(void) {
    bp_set_warning_handler(take_warning, NULL);
    bp_set_choice_handler(take_choice, NULL);
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

enum { LOGGED_CHOICE = 10, LOGGED_WARNING = 30 }; /* logging.DEBUG and logging.WARNING */

/* Returns whether an object is true, and drops it; false for NULL. */
static bool is_true(PyObject *object) {
    const bool yes = object && PyObject_IsTrue(object) > 0;
    Py_XDECREF(object);
    return yes;
}

static void write_record(PyObject *logger, int level, const char *text, Py_ssize_t frames) {
    PyObject *log = PyObject_GetAttrString(logger, "log");
    PyObject *arguments = Py_BuildValue("(iss)", level, "%s", text);
    PyObject *names = Py_BuildValue("{sn}", "stacklevel", frames);
    PyObject *done = log && arguments && names ? PyObject_Call(log, arguments, names) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(names);
    Py_XDECREF(arguments);
    Py_XDECREF(log);
}

/* Logs a text with the logger "backplane" if the program has imported logging and the logger has a handler: without
 * one, logging would print warnings that Python prints already. What fails does not fail the call. */
static void log_note(const note *which, Py_ssize_t frames) {
    const int level = which->warns ? LOGGED_WARNING : LOGGED_CHOICE;
    PyObject *logging = PyDict_GetItemString(PyImport_GetModuleDict(), "logging"); /* borrowed */
    PyObject *logger = logging ? PyObject_CallMethod(logging, "getLogger", "s", "backplane") : NULL;
    if (logger && is_true(PyObject_CallMethod(logger, "isEnabledFor", "i", level)) &&
        is_true(PyObject_CallMethod(logger, "hasHandlers", NULL))) {
        write_record(logger, level, which->text, frames);
    }
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(logger);
    }
    Py_XDECREF(logger);
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
        if (fine) {
            log_note(list, level);
            fine = !list->warns || PyErr_WarnEx(state->warning, list->text, level) == 0;
        }
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
