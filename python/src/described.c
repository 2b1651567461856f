/* described.c - makes the names of the calls that calls.h describes, their fields and words, as objects of Python, so
 * that a call compares addresses only. */
#include "described.h"

#include <string.h>

/* Names of fields in the package, where they differ from the struct's. */
static const char *const renamed[][2] = {
    {"pass", "pass_"},
    {"kernel", "kernel_size"},
    {"mask", "attn_mask"},
    {"dropout", "dropout_p"},
    {"output_gradient", "grad_output"},
    {"final_hidden_gradient", "grad_h_n"},
    {"final_cell_gradient", "grad_c_n"},
};

static const char *name_in_package(const char *name) {
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        if (strcmp(renamed[i][0], name) == 0) {
            return renamed[i][1];
        }
    }
    return name;
}

/* Returns the words of an enumeration, which have commas between them, as a tuple. */
static PyObject *split_words(const char *words) {
    PyObject *list = PyList_New(0);
    while (list && *words) {
        const size_t length = strcspn(words, ",");
        PyObject *word = PyUnicode_FromStringAndSize(words, (Py_ssize_t)length);
        if (word) {
            PyUnicode_InternInPlace(&word);
        }
        core_append(&list, word);
        words += length + (words[length] == ',');
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static bool add_field(core_described *of, const bp_call_field *info, const char *text) {
    described_field *field = &of->fields[of->count++];
    *field = (described_field){.info = info, .text = text, .name = PyUnicode_InternFromString(text)};
    field->words = info->words ? split_words(info->words) : NULL;
    field->is_unsigned = strcmp(info->name, "seed") == 0 || strcmp(info->name, "offset") == 0;
    return field->name && (field->words || !info->words);
}

static bool add_fields(core_described *of) {
    for (int i = 0; i < of->info->field_count; i++) {
        const bp_call_field *info = bp_call_field_at(of->call, i);
        if (!add_field(of, info, name_in_package(info->name))) {
            return false;
        }
        const bool counts = strcmp(info->name, "ndim") == 0 || strcmp(info->name, "axis_count") == 0;
        of->ndim = counts ? info->offset : of->ndim;
        of->groups = strcmp(info->name, "groups") == 0 ? info->offset : of->groups;
    }
    return true;
}

static void drop_one(core_described *of) {
    for (int i = 0; i < of->count; i++) {
        Py_XDECREF(of->fields[i].name);
        Py_XDECREF(of->fields[i].words);
    }
    Py_XDECREF(of->name);
    PyMem_Free(of);
}

void core_described_drop(core_state *state) {
    while (state->described) {
        core_described *first = state->described;
        state->described = first->next;
        drop_one(first);
    }
}

/* The calls whose results are images like the first array. In the first list are calls whose field `ndim` is the number
 * of positions, in the second one calls whose results are images only with groups; the third one has the others.
 * Results of the calls in the fourth list have the same elements as the first array. */
static const char *const with_positions[] = {"conv", "pool", NULL}, *const with_groups[] = {"layer_norm", NULL},
                         *const of_images[] = {"batch_norm", "pad", NULL},
                         *const of_elements[] = {"flip", "roll", NULL};

static bool is_among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Returns a new description, without an entry in the state; NULL with an exception set. */
static core_described *describe_call(core_state *state, PyObject *name) {
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    const bp_call *call = bytes ? bp_call_named(PyBytes_AsString(bytes)) : NULL;
    const bp_call_info *info = bp_call_get_info(call);
    Py_XDECREF(bytes);
    if (!info || info->size > DESCRIBED_ARGUMENTS) {
        return bytes ? (core_refuse(state, state->bad_value, BP_E_ARGUMENT, "there is no call %R", name), NULL) : NULL;
    }
    core_described *made = PyMem_Malloc(sizeof *made + (size_t)info->field_count * sizeof *made->fields);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    *made = (core_described){.call = call,
                             .info = info,
                             .has_positions = is_among(info->name, with_positions),
                             .follows_order = is_among(info->name, of_elements),
                             .needs_groups = is_among(info->name, with_groups),
                             .follows_layout = is_among(info->name, with_positions) ||
                                               is_among(info->name, with_groups) || is_among(info->name, of_images)};
    made->name = PyUnicode_InternFromString(info->name);
    if (!made->name || !add_fields(made)) {
        drop_one(made);
        return NULL;
    }
    return made;
}

const core_described *core_describe(core_state *state, PyObject *name) {
    for (const core_described *one = state->described; one; one = one->next) {
        if (one->name == name) {
            return one;
        }
    }
    for (const core_described *one = state->described; one; one = one->next) {
        if (PyUnicode_Compare(one->name, name) == 0) {
            return one;
        }
    }
    core_described *made = describe_call(state, name);
    if (made) {
        made->next = state->described;
        state->described = made;
    }
    return made;
}

const described_field *core_described_field(const core_described *of, PyObject *name, int *place) {
    const int count = of->count;
    for (int i = 0; i < count; i++) {
        const int at = *place + i < count ? *place + i : *place + i - count;
        if (of->fields[at].name == name) {
            *place = at + 1 < count ? at + 1 : 0;
            return &of->fields[at];
        }
    }
    for (int i = 0; i < count; i++) {
        if (PyUnicode_Compare(of->fields[i].name, name) == 0) {
            return &of->fields[i];
        }
    }
    PyErr_Format(PyExc_TypeError, "%s has no field %R", of->info->name, name);
    return NULL;
}

int core_described_word(core_state *state, const described_field *field, PyObject *word) {
    const int count = (int)PyTuple_Size(field->words);
    for (int i = 0; i < count; i++) {
        if (PyTuple_GetItem(field->words, i) == word) {
            return i;
        }
    }
    for (int i = 0; i < count && PyUnicode_Check(word); i++) {
        if (PyUnicode_Compare(PyTuple_GetItem(field->words, i), word) == 0) {
            return i;
        }
    }
    const bool is_text = PyUnicode_Check(word);
    core_refuse(state, is_text ? state->bad_value : state->bad_type, BP_E_ARGUMENT,
                "%s %R is unknown; it must be one of %s", field->text, word, field->info->words);
    return -1;
}

PyObject *core_word(PyObject *module, PyObject *values) {
    core_state *state = core_state_of(module);
    PyObject *call, *name, *word;
    int place = 0;
    if (!PyArg_ParseTuple(values, "UUO:word", &call, &name, &word)) {
        return NULL;
    }
    const core_described *description = core_describe(state, call);
    const described_field *field = description ? core_described_field(description, name, &place) : NULL;
    const int number = field ? core_described_word(state, field, word) : -1;
    return number < 0 ? NULL : PyLong_FromLong(number);
}

/* ---- What the tracer of graphs asks ---- */

/* Returns the name of each field in the library, and whether it is a number for each dimension. */
static PyObject *field_names(const core_described *of) {
    PyObject *names = PyDict_New();
    for (int i = 0; names && i < of->count; i++) {
        const bp_call_field *info = of->fields[i].info;
        PyObject *field = Py_BuildValue("(sO)", info->name, info->kind == BP_FIELD_SIZES ? Py_True : Py_False);
        if (!field || PyDict_SetItem(names, of->fields[i].name, field) != 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(field);
    }
    return names;
}

/* Returns the names of the operands from one to another as a tuple. */
static PyObject *operand_names(const bp_call_pass *pass, int from, int to) {
    PyObject *names = PyList_New(0);
    for (int i = from; names && i < to; i++) {
        core_append(&names, PyUnicode_FromString(bp_call_operand_at(pass, i)->name));
    }
    PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return tuple;
}

static PyObject *pass_names(const core_described *of) {
    PyObject *passes = PyList_New(0);
    for (int i = 0; passes && i < of->info->pass_count; i++) {
        const bp_call_pass *pass = bp_call_pass_at(of->call, i);
        PyObject *inputs = operand_names(pass, 0, pass->input_count);
        PyObject *outputs = operand_names(pass, pass->input_count, pass->operand_count);
        core_append(&passes, inputs && outputs ? Py_BuildValue("(sOO)", pass->name, inputs, outputs) : NULL);
        Py_XDECREF(inputs);
        Py_XDECREF(outputs);
    }
    return passes;
}

PyObject *core_call_names(PyObject *module, PyObject *name) {
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "described() takes the name of a call");
        return NULL;
    }
    const core_described *of = core_describe(core_state_of(module), name);
    PyObject *fields = of ? field_names(of) : NULL, *passes = fields ? pass_names(of) : NULL;
    PyObject *made = passes ? Py_BuildValue("(OO)", fields, passes) : NULL;
    Py_XDECREF(fields);
    Py_XDECREF(passes);
    return made;
}
