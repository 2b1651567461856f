/* warnings.c - brings the library's warnings to Python's.
 *
 * The library tells a warning in whatever thread it arises, without the interpreter's lock and perhaps with locks of
 * its own. So the handler only puts the text on a list, without a lock, and the next call that comes back to Python
 * takes all of them from there.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct note {
    struct note *next; /* the one that came before */
    char text[];
} note;

static _Atomic(note *) newest;

static void take(void *unused, const char *text) {
    size_t size = strlen(text) + 1;
    note *made = malloc(sizeof *made + size);
    (void)unused;
    if (!made) {
        return; /* a warning is lost; the call that it is about goes on */
    }
    memcpy(made->text, text, size);
    made->next = atomic_load_explicit(&newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&newest, &made->next, made, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

void core_collect_warnings(void) {
    bp_set_warning_handler(take, NULL);
}

static note *oldest_first(note *list) {
    note *turned = NULL;
    while (list) {
        note *next = list->next;
        list->next = turned;
        turned = list;
        list = next;
    }
    return turned;
}

bool core_tell_warnings(core_state *state) {
    if (!atomic_load_explicit(&newest, memory_order_relaxed)) {
        return true;
    }
    note *list = oldest_first(atomic_exchange_explicit(&newest, NULL, memory_order_acquire));
    bool fine = true;
    while (list) {
        note *next = list->next;
        fine = fine && PyErr_WarnEx(state->warning, list->text, 2) == 0;
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
        /* The failure is the news; the warning, made an exception, is what happened on the way there. */
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
