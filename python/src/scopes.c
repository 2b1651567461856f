/* scopes.c - defines the types Options (a checked list of settings) and Scope (settings of a thread until it is left).
 *
 * The library implements nesting, leaving out of order, and the rules for threads. If the last reference to an open
 * Scope is dropped, it is left: at once if its own thread drops it, otherwise at that thread's next call of the
 * extension.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    PyObject_HEAD bp_options *handle;
} options;

typedef struct scope {
    PyObject_HEAD PyObject *options;
    bp_scope *handle; /* NULL: not open */
    uint64_t owner;   /* the thread that entered it */
} scope;

/* ---- The text of a list ---- */

/* `name="value"` in the library's grammar, where a backslash escapes quotes and backslashes. */
static PyObject *one_assignment(const char *name, PyObject *value) {
    const char *from = PyBytes_AsString(value);
    size_t size = strlen(name) + 2 * strlen(from) + 4;
    char *text = PyMem_Malloc(size);
    if (!text) {
        return PyErr_NoMemory();
    }
    size_t used = 0;
    for (; *name; name++) {
        text[used++] = *name;
    }
    text[used++] = '=';
    text[used++] = '"';
    for (; *from; from++) {
        if (*from == '"' || *from == '\\') {
            text[used++] = '\\';
        }
        text[used++] = *from;
    }
    text[used++] = '"';
    PyObject *made = PyBytes_FromStringAndSize(text, (Py_ssize_t)used);
    PyMem_Free(text);
    return made;
}

static PyObject *assignment(core_state *state, PyObject *key, PyObject *value) {
    if (!PyUnicode_Check(key)) {
        return core_refuse(state, state->bad_type, BP_E_ARGUMENT, "settings: a name must be a str, but got %R", key);
    }
    PyObject *name = core_bytes(state, key, "name");
    if (!name) {
        return NULL;
    }
    int index = bp_setting_find(PyBytes_AsString(name));
    Py_DECREF(name);
    if (index < 0) {
        return core_fail(state, BP_E_UNKNOWN_NAME, NULL);
    }
    const bp_setting_info *row = bp_setting_at(index);
    PyObject *text = core_setting_text(state, row, value);
    PyObject *made = text ? one_assignment(row->name, text) : NULL;
    Py_XDECREF(text);
    return made;
}

/* Returns the list as bytes: assignments separated by commas. */
static PyObject *list_text(core_state *state, PyObject *given) {
    PyObject *names = PyDict_Copy(given); /* a copy, because code of a value's class may change the caller's dict */
    PyObject *comma = PyBytes_FromString(", ");
    PyObject *text = names && comma ? PyBytes_FromString("") : NULL;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (text && PyDict_Next(names, &at, &key, &value)) {
        PyObject *one = assignment(state, key, value);
        if (one && PyBytes_Size(text) > 0) {
            PyBytes_Concat(&text, comma);
        }
        if (!one) {
            Py_CLEAR(text);
        } else if (text) {
            PyBytes_ConcatAndDel(&text, one);
        } else {
            Py_DECREF(one);
        }
    }
    Py_XDECREF(comma);
    Py_XDECREF(names);
    return text;
}

/* ---- Options ---- */

static PyObject *options_from(core_state *state, PyObject *names) {
    options *made = NULL;
    PyObject *text = list_text(state, names);
    bp_options *handle = NULL;
    if (!text) {
        return NULL;
    }
    bp_status status = bp_options_new(&handle, PyBytes_AsString(text));
    Py_DECREF(text);
    if (status != BP_OK) {
        return core_fail(state, status, NULL);
    }
    made = PyObject_New(options, (PyTypeObject *)state->options_type);
    if (!made) {
        bp_options_release(handle);
        return NULL;
    }
    made->handle = handle;
    return (PyObject *)made;
}

static PyObject *options_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    PyObject *values;
    static char *known[] = {"", NULL};
    core_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!:Options", known, &PyDict_Type, &values)) {
        return NULL;
    }
    return options_from(state, values);
}

static void options_drop(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    bp_options_release(((options *)self)->handle);
    PyObject_Free(self);
    Py_DECREF(type);
}

bool core_options(core_state *state, PyObject *argument, const bp_options **handle, PyObject **owner) {
    *handle = NULL;
    *owner = NULL;
    if (!argument || argument == Py_None) {
        return true;
    }
    if (PyDict_Check(argument)) {
        *owner = options_from(state, argument);
    } else if (Py_TYPE(argument) == (PyTypeObject *)state->options_type) {
        Py_INCREF(argument);
        *owner = argument;
    } else if (PyMapping_Check(argument) && PyObject_HasAttrString(argument, "keys")) {
        PyObject *names = PyDict_New();
        *owner = names && PyDict_Update(names, argument) == 0 ? options_from(state, names) : NULL;
        Py_XDECREF(names);
    } else {
        core_refuse(state, state->bad_type, BP_E_ARGUMENT, "settings: expects a dict or backplane.Options, but got %R",
                    argument);
    }
    *handle = *owner ? ((options *)*owner)->handle : NULL;
    return *owner != NULL;
}

/* ---- Scope ---- */

static PyObject *scope_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    PyObject *list;
    static char *known[] = {"", NULL};
    core_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!:Scope", known, state->options_type, &list)) {
        return NULL;
    }
    scope *made = PyObject_New(scope, type);
    if (made) {
        Py_INCREF(list);
        made->options = list;
        made->handle = NULL;
    }
    return (PyObject *)made;
}

/* ---- Scopes whose last reference another thread has dropped ---- */

typedef struct dropped {
    struct dropped *next;
    bp_scope *handle;
    uint64_t owner;
} dropped;

static dropped *all_dropped; /* under the interpreter's lock */
static uint64_t threads_seen;

/* Returns a number that is never reused, unlike the system's thread number. */
static uint64_t this_thread(void) {
    static _Thread_local uint64_t mine;
    if (mine == 0) {
        mine = ++threads_seen;
    }
    return mine;
}

static void remember_dropped(const scope *self) {
    dropped *made = malloc(sizeof *made);
    if (made) { /* otherwise the scope stays open until its thread ends */
        *made = (dropped){all_dropped, self->handle, self->owner};
        all_dropped = made;
    }
}

void core_leave_dropped(void) {
    dropped **at = &all_dropped;
    while (*at) {
        dropped *one = *at;
        if (one->owner == this_thread()) {
            bp_scope_leave(&one->handle);
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

static void scope_drop(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    scope *self = (scope *)object;
    if (bp_scope_leave(&self->handle) != BP_OK) {
        remember_dropped(self);
    }
    Py_DECREF(self->options);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *scope_enter(PyObject *object, PyObject *unused) {
    scope *self = (scope *)object;
    core_state *state = core_state_of_object(object);
    (void)unused;
    if (self->handle) {
        return core_refuse(state, state->error, BP_E_SCOPE,
                           "this scope is open already; make another with the same settings");
    }
    core_leave_dropped();
    self->owner = this_thread();
    bp_status status = bp_scope_enter_options(&self->handle, ((options *)self->options)->handle);
    if (status != BP_OK) {
        return core_fail(state, status, NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *scope_leave(PyObject *object, PyObject *unused) {
    scope *self = (scope *)object;
    (void)unused;
    core_leave_dropped();
    bp_status status = bp_scope_leave(&self->handle);
    if (status != BP_OK) {
        return core_fail(core_state_of_object(object), status, NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *scope_is_open(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(((scope *)object)->handle != NULL);
}

/* ---- The types ---- */

static PyType_Slot options_slots[] = {
    {Py_tp_doc,
     "Options(dict): settings by dotted name, checked once, for any number of calls and scopes in any thread."},
    {Py_tp_new, (void *)options_new},
    {Py_tp_dealloc, (void *)options_drop},
    {0, NULL},
};
static PyType_Spec options_spec = {
    .name = "backplane.Options", .basicsize = sizeof(options), .flags = Py_TPFLAGS_DEFAULT, .slots = options_slots};

static PyMethodDef scope_methods[] = {
    {"enter", scope_enter, METH_NOARGS, "Applies the settings to the calling thread."},
    {"leave", scope_leave, METH_NOARGS, "Ends their effect; must be called by the same thread."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef scope_fields[] = {
    {"is_open", scope_is_open, NULL, "Whether it is entered and not left.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot scope_slots[] = {
    {Py_tp_doc, "Scope(options): settings for the calling thread between enter() and leave()."},
    {Py_tp_new, (void *)scope_new},
    {Py_tp_dealloc, (void *)scope_drop},
    {Py_tp_methods, scope_methods},
    {Py_tp_getset, scope_fields},
    {0, NULL},
};
static PyType_Spec scope_spec = {
    .name = "backplane._core.Scope", .basicsize = sizeof(scope), .flags = Py_TPFLAGS_DEFAULT, .slots = scope_slots};

static int add_scope(PyObject *module, const char *name, PyType_Spec *spec, PyObject **kept) {
    *kept = PyType_FromModuleAndSpec(module, spec, NULL);
    if (!*kept) {
        return -1;
    }
    Py_INCREF(*kept);
    if (PyModule_AddObject(module, name, *kept) != 0) {
        Py_DECREF(*kept);
        return -1;
    }
    return 0;
}

int core_add_scopes(PyObject *module, core_state *state) {
    return add_scope(module, "Options", &options_spec, &state->options_type) != 0 ||
                   add_scope(module, "Scope", &scope_spec, &state->scope_type) != 0
               ? -1
               : 0;
}
