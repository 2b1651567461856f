/* settings.c - defines the type Setting, one entry of the settings table as a Python object.
 *
 * A Setting is a data descriptor, so that the package can build classes with Settings as attributes. Reading such an
 * attribute reads the setting, assignment writes the process layer, and deletion removes the value from it; help()
 * shows the table's text. A value is a bool, an int or a str.
 */
#include "core.h"

#include <string.h>

typedef struct setting {
    PyObject_HEAD const bp_setting_info *row;
    char
        *last_text; /* the last value read, and its str: cached, because settings change much less than they are read */
    PyObject *last;
} setting;

/* Typed getters, by number. They take one atomic load if no scope is open. */
typedef union reader {
    int (*of_BOOL)(void);
    int64_t (*of_INT)(void);
    const char *(*of_ENUM)(void);
    const char *(*of_TEXT)(void);
} reader;

static const reader readers[BP_SETTING_COUNT] = {
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    [BP_SET_##id] = {.of_##type = bp_get_##id},
    BP_SETTINGS_MAP(X)
#undef X
};

static const char *const type_names[] = {
    [BP_SETTING_BOOL] = "bool", [BP_SETTING_INT] = "int", [BP_SETTING_ENUM] = "enum", [BP_SETTING_TEXT] = "text"};

static void remember_value(setting *self, const char *text, PyObject *value) {
    size_t size = strlen(text) + 1;
    PyMem_Free(self->last_text);
    Py_CLEAR(self->last);
    self->last_text = PyMem_Malloc(size);
    if (self->last_text) {
        memcpy(self->last_text, text, size);
        Py_INCREF(value);
        self->last = value;
    }
}

static PyObject *read_text(setting *self, const char *text) {
    if (self->last && strcmp(self->last_text, text) == 0) {
        Py_INCREF(self->last);
        return self->last;
    }
    PyObject *value = core_text(text);
    if (value) {
        remember_value(self, text, value);
    }
    return value;
}

static PyObject *read_value(setting *self) {
    const reader *read = &readers[self->row->number];
    core_leave_dropped();
    switch (self->row->type) {
    case BP_SETTING_BOOL:
        return PyBool_FromLong(read->of_BOOL());
    case BP_SETTING_INT:
        return PyLong_FromLongLong(read->of_INT());
    case BP_SETTING_ENUM:
        return read_text(self, read->of_ENUM());
    case BP_SETTING_TEXT:
        break;
    }
    return read_text(self, read->of_TEXT());
}

/* ---- Values from Python ---- */

static PyObject *wrong_type(core_state *state, const bp_setting_info *row, const char *expected, PyObject *value) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
    if (name) {
        core_refuse(state, state->bad_type, BP_E_BAD_VALUE, "%s: expects %s, but got %U", row->name, expected, name);
        Py_DECREF(name);
    }
    return NULL;
}

PyObject *core_setting_text(core_state *state, const bp_setting_info *row, PyObject *value) {
    PyObject *text = NULL;
    switch (row->type) {
    case BP_SETTING_BOOL:
        return PyBool_Check(value) ? PyBytes_FromString(value == Py_True ? "true" : "false")
                                   : wrong_type(state, row, "a bool", value);
    case BP_SETTING_INT: {
        if (PyBool_Check(value) || !PyIndex_Check(value)) {
            return wrong_type(state, row, "an int", value);
        }
        PyObject *number = PyNumber_Index(value);
        text = number ? PyObject_Str(number) : NULL;
        Py_XDECREF(number);
        if (number && !text &&
            PyErr_ExceptionMatches(PyExc_ValueError)) { /* Python refuses to convert so long a number */
            PyErr_Clear();
            return core_refuse(state, state->bad_value, BP_E_BAD_VALUE, "%s: the number is too large; it takes %s",
                               row->name, row->allowed);
        }
        break;
    }
    case BP_SETTING_ENUM:
        if (PyBool_Check(value) && strstr(row->allowed, "true|false")) {
            return PyBytes_FromString(value == Py_True ? "true" : "false");
        }
        /* fall through */
    case BP_SETTING_TEXT:
        if (!PyUnicode_Check(value)) {
            return wrong_type(state, row, "a str", value);
        }
        Py_INCREF(value);
        text = value;
    }
    PyObject *bytes = text ? core_bytes(state, text, row->name) : NULL;
    Py_XDECREF(text);
    return bytes;
}

/* ---- Preferred libraries: checked on assignment, otherwise a wrong name would be unnoticed until a call ---- */

/* dist.preferred is no name of a library, but one of a list of words. */
static bool is_preference(const bp_setting_info *row) {
    const char *dot = strrchr(row->name, '.');
    return dot && strcmp(dot, ".preferred") == 0 && row->type == BP_SETTING_TEXT;
}

/* Warns if the library cannot be used and dispatch.fallback is not `allow`. The value is accepted nevertheless, because
 * the program may also run on machines with other libraries. Returns false with an exception set; a warning may be
 * turned into one. */
static bool accept_preference(core_state *state, const bp_setting_info *row, const char *library) {
    bp_status status;
    if (!is_preference(row) || strcmp(bp_get_dispatch_fallback(), "allow") == 0) {
        return true;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_preferred_check(row->name, library);
    Py_END_ALLOW_THREADS if (status == BP_OK) {
        return true;
    }
    if (status == BP_E_NOT_FOUND || status == BP_E_UNSUPPORTED || status == BP_E_BROKEN || status == BP_E_UNTRUSTED) {
        return PyErr_WarnFormat(state->warning, 1, "%s", bp_last_error()) == 0;
    }
    core_fail(state, status, NULL);
    return false;
}

PyObject *core_prefer(PyObject *module, PyObject *arguments) {
    const char *name, *library;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "ss:prefer", &name, &library)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_preferred_set(name, library);
    Py_END_ALLOW_THREADS if (status != BP_OK) {
        core_fail(core_state_of(module), status, NULL);
        return core_finish(core_state_of(module), NULL);
    }
    Py_INCREF(Py_None);
    return core_finish(core_state_of(module), Py_None);
}

/* Checks a value as assignment does, without storing it. Returns 0, or -1 with an exception set. */
static int check_value(const setting *self, core_state *state, PyObject *value) {
    PyObject *text = core_setting_text(state, self->row, value);
    bool good = text && accept_preference(state, self->row, PyBytes_AsString(text));
    Py_XDECREF(text);
    return good ? 0 : -1;
}

static int write_value(const setting *self, core_state *state, PyObject *value) {
    bp_status status;
    if (value) {
        PyObject *text = core_setting_text(state, self->row, value);
        if (!text) {
            return -1;
        }
        status = bp_set(self->row->name, PyBytes_AsString(text));
        Py_DECREF(text);
    } else {
        status = bp_unset(self->row->name);
    }
    return status == BP_OK ? 0 : (core_fail(state, status, NULL), -1);
}

/* ---- As an attribute ---- */

static PyObject *descriptor_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    if (!object) {
        Py_INCREF(self);
        return self;
    }
    return read_value((setting *)self);
}

static int descriptor_set(PyObject *object, PyObject *target, PyObject *value) {
    const setting *self = (const setting *)object;
    core_state *state = core_state_of_object(object);
    (void)target;
    if (state->frozen) {
        core_refuse(state, state->error, BP_E_READ_ONLY,
                    "%s: assignment was switched off by backends.disable_global_flags(); use backplane.flags() or "
                    "backplane.set_flags()",
                    self->row->name);
        return -1;
    }
    return value && check_value(self, state, value) != 0 ? -1 : write_value(self, state, value);
}

/* ---- Methods ---- */

static PyObject *method_get(PyObject *self, PyObject *unused) {
    (void)unused;
    return read_value((setting *)self);
}

static PyObject *method_set(PyObject *self, PyObject *value) {
    if (write_value((const setting *)self, core_state_of_object(self), value) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *method_check(PyObject *self, PyObject *value) {
    if (check_value((const setting *)self, core_state_of_object(self), value) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *method_unset(PyObject *self, PyObject *unused) {
    (void)unused;
    if (write_value((const setting *)self, core_state_of_object(self), NULL) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *method_origin(PyObject *object, PyObject *unused) {
    const setting *self = (const setting *)object;
    const char *value, *where;
    bp_layer layer;
    (void)unused;
    core_leave_dropped();
    bp_status status = bp_get(self->row->name, &value, &layer, &where);
    if (status != BP_OK) {
        return core_fail(core_state_of_object(object), status, NULL);
    }
    return Py_BuildValue("(sNN)", bp_layer_name(layer), core_text(where), core_text(value));
}

static PyObject *method_stored(PyObject *object, PyObject *argument) {
    const setting *self = (const setting *)object;
    core_state *state = core_state_of_object(object);
    const char *value;
    PyObject *bytes = PyUnicode_Check(argument) ? core_bytes(state, argument, "layer")
                                                : wrong_type(state, self->row, "a layer's name", argument);
    if (!bytes) {
        return NULL;
    }
    int layer = 0;
    while (layer < BP_LAYER_COUNT && strcmp(bp_layer_name((bp_layer)layer), PyBytes_AsString(bytes)) != 0) {
        layer++;
    }
    Py_DECREF(bytes);
    if (layer == BP_LAYER_COUNT) {
        return core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                           "layer: '%U' is unknown; it must be the name of a layer, such as 'process'", argument);
    }
    bp_status status = bp_get_layer(self->row->name, (bp_layer)layer, &value, NULL);
    if (status != BP_OK) {
        return core_fail(state, status, NULL);
    }
    if (!value) {
        Py_RETURN_NONE;
    }
    return core_text(value);
}

static PyMethodDef methods[] = {
    {"get", method_get, METH_NOARGS, "Returns the effective value for the calling thread."},
    {"set", method_set, METH_O, "Writes the process layer."},
    {"check", method_check, METH_O,
     "Checks a value, and warns if it is a preferred library that cannot be used, as assignment does; stores nothing."},
    {"unset", method_unset, METH_NOARGS, "Removes the value from the process layer."},
    {"origin", method_origin, METH_NOARGS, "Returns (layer, where, value as text) of the effective value."},
    {"stored", method_stored, METH_O, "Returns the value that one layer stores, as text; None if it does not set it."},
    {NULL, NULL, 0, NULL},
};

/* ---- Description ---- */

/* Closures of the getters: the offset of a text member of bp_setting_info, or one of its flags. */
static size_t name_at = offsetof(bp_setting_info, name), default_at = offsetof(bp_setting_info, default_text),
              allowed_at = offsetof(bp_setting_info, allowed), environment_at = offsetof(bp_setting_info, environment),
              alias_at = offsetof(bp_setting_info, alias), affects_at = offsetof(bp_setting_info, affects),
              help_at = offsetof(bp_setting_info, help);
static unsigned read_only_flag = BP_SETTING_READ_ONLY, startup_flag = BP_SETTING_STARTUP;

static PyObject *get_text(PyObject *object, void *where) {
    const char *row = (const char *)((const setting *)object)->row;
    return core_text(*(const char *const *)(row + *(const size_t *)where));
}

static PyObject *get_type(PyObject *object, void *unused) {
    (void)unused;
    return core_text(type_names[((const setting *)object)->row->type]);
}

/* Returns whether the setting has an effect, without the interpreter's lock: the first call searches for libraries. */
static bool has_effect(PyObject *object, const char **why) {
    const char *name = ((const setting *)object)->row->name;
    core_unlocked unlocked;
    core_leave_dropped();
    core_unlock(&unlocked);
    int effect = bp_setting_has_effect(name, why);
    core_lock(&unlocked);
    return effect;
}

static PyObject *get_has_effect(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(has_effect(object, NULL));
}

static PyObject *get_why_not(PyObject *object, void *unused) {
    const char *why = NULL;
    (void)unused;
    return core_text(has_effect(object, &why) || !why ? "" : why);
}

static PyObject *get_flag(PyObject *object, void *which) {
    return PyBool_FromLong((((const setting *)object)->row->flags & *(const unsigned *)which) != 0);
}

/* "Maximum number of threads. ...\n\nint 0..1024, default 0; environment BACKPLANE_NUM_THREADS; ..." */
static PyObject *get_doc(PyObject *object, void *unused) {
    const bp_setting_info *row = ((const setting *)object)->row;
    (void)unused;
    return PyUnicode_FromFormat("%s\n\n%s%s%s, default %s; environment %s%s%s; affects %s%s", row->help,
                                type_names[row->type], *row->allowed ? " " : "", row->allowed,
                                *row->default_text ? row->default_text : "empty", row->environment,
                                *row->alias ? " or " : "", row->alias, row->affects,
                                (row->flags & BP_SETTING_READ_ONLY) != 0 ? "; read-only"
                                : (row->flags & BP_SETTING_STARTUP) != 0 ? "; read once, before the first use"
                                                                         : "");
}

static PyGetSetDef fields[] = {
    {"has_effect", get_has_effect, NULL, "Whether a provider or library on this machine uses the setting.", NULL},
    {"why_not", get_why_not, NULL, "Why the setting has no effect on this machine; empty if it has one.", NULL},
    {"name", get_text, NULL, "The dotted name.", &name_at},
    {"type", get_type, NULL, "'bool', 'int', 'enum' or 'text'.", NULL},
    {"default", get_text, NULL, "The default, as text.", &default_at},
    {"allowed", get_text, NULL, "'0..1024', 'strict|warn|allow' or ''.", &allowed_at},
    {"environment", get_text, NULL, "The environment variable.", &environment_at},
    {"alias", get_text, NULL, "A second variable, or ''.", &alias_at},
    {"affects", get_text, NULL, "What it affects.", &affects_at},
    {"help", get_text, NULL, "What it does.", &help_at},
    {"read_only", get_flag, NULL, "Whether it cannot be set.", &read_only_flag},
    {"startup", get_flag, NULL, "Whether only files and environment set it; read once, before the first use.",
     &startup_flag},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *show_setting(PyObject *object) {
    PyObject *value = read_value((setting *)object);
    PyObject *text =
        value ? PyUnicode_FromFormat("<setting %s = %R>", ((const setting *)object)->row->name, value) : NULL;
    Py_XDECREF(value);
    return text;
}

/* The table of the module has these objects, and their type has the module: Python frees such a cycle only if it sees
 * it. */
static int traverse_setting(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((setting *)self)->last);
    return 0;
}

static void drop_setting(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyMem_Free(((setting *)self)->last_text);
    Py_XDECREF(((setting *)self)->last);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot type_slots[] = {
    {Py_tp_traverse, (void *)traverse_setting},
    {Py_tp_new, (void *)core_no_new},
    {Py_tp_descr_get, (void *)descriptor_get},
    {Py_tp_descr_set, (void *)descriptor_set},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {Py_tp_repr, (void *)show_setting},
    {Py_tp_dealloc, (void *)drop_setting},
    {0, NULL},
};

static PyType_Spec type_spec = {.name = "backplane.Setting",
                                .basicsize = sizeof(setting),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                .slots = type_slots};

/* ---- The table ---- */

static PyObject *make_setting(core_state *state, const bp_setting_info *row) {
    setting *made = PyObject_GC_New(setting, (PyTypeObject *)state->setting_type);
    if (made) {
        made->row = row;
        made->last_text = NULL;
        made->last = NULL;
        PyObject_GC_Track((PyObject *)made);
    }
    return (PyObject *)made;
}

static int fill_settings(core_state *state, PyObject *table) {
    const bp_setting_info *row;
    for (int i = 0; (row = bp_setting_listed_at(i)) != NULL; i++) {
        if (row->number >= BP_SETTING_COUNT) {
            continue; /* the library is newer than this module, which has no getter for the setting */
        }
        PyObject *one = make_setting(state, row);
        int failed = !one || PyDict_SetItemString(table, row->name, one) != 0;
        Py_XDECREF(one);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

int core_add_settings(PyObject *module, core_state *state) {
    state->setting_type = PyType_FromModuleAndSpec(module, &type_spec, NULL);
    PyObject *table = state->setting_type ? PyDict_New() : NULL;
    if (!table || fill_settings(state, table) != 0) {
        Py_XDECREF(table);
        return -1;
    }
    Py_INCREF(state->setting_type);
    if (PyModule_AddObject(module, "Setting", state->setting_type) != 0) {
        Py_DECREF(state->setting_type);
        Py_DECREF(table);
        return -1;
    }
    if (PyModule_AddObject(module, "table", table) != 0) {
        Py_DECREF(table);
        return -1;
    }
    return 0;
}
