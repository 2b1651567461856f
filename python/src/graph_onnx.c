/* graph_onnx.c - makes graphs of ONNX files for Python. */
#include "graph.h"

/* What the caller chose, as the library takes it. */
typedef struct chosen {
    int size_count, value_count;
    const char **size_names, **value_names;
    int64_t *sizes;
    operand *operands;
    const DLTensor **values;
} chosen;

static bool allocate(chosen *c, Py_ssize_t sizes, Py_ssize_t values) {
    c->size_names = PyMem_Calloc((size_t)sizes + 1, sizeof *c->size_names);
    c->sizes = PyMem_Calloc((size_t)sizes + 1, sizeof *c->sizes);
    c->value_names = PyMem_Calloc((size_t)values + 1, sizeof *c->value_names);
    c->operands = PyMem_Calloc((size_t)values + 1, sizeof *c->operands);
    c->values = PyMem_Calloc((size_t)values + 1, sizeof *c->values);
    if (c->size_names && c->sizes && c->value_names && c->operands && c->values) {
        return true;
    }
    PyErr_NoMemory();
    return false;
}

static void drop(chosen *c) {
    for (int i = 0; i < c->value_count; i++) {
        core_operand_release(&c->operands[i]);
    }
    PyMem_Free((void *)c->size_names);
    PyMem_Free(c->sizes);
    PyMem_Free((void *)c->value_names);
    PyMem_Free(c->operands);
    PyMem_Free((void *)c->values);
}

/* Reads names and numbers. */
static bool read_sizes(chosen *c, PyObject *sizes) {
    PyObject *name, *size;
    for (Py_ssize_t at = 0; PyDict_Next(sizes, &at, &name, &size); c->size_count++) {
        c->size_names[c->size_count] = PyBytes_AsString(name);
        c->sizes[c->size_count] = PyLong_AsLongLong(size);
        if (!c->size_names[c->size_count] || (c->sizes[c->size_count] == -1 && PyErr_Occurred())) {
            return false;
        }
    }
    return true;
}

/* Reads names and arrays. */
static bool read_values(core_state *state, chosen *c, PyObject *values) {
    PyObject *name, *array;
    for (Py_ssize_t at = 0; PyDict_Next(values, &at, &name, &array);) {
        const int i = c->value_count;
        c->value_names[i] = PyBytes_AsString(name);
        if (!c->value_names[i] || !core_operand(state, &c->operands[i], array, c->value_names[i], CORE_READS)) {
            return false;
        }
        c->values[i] = &c->operands[i].tensor;
        c->value_count++;
    }
    return true;
}

static PyObject *read_model(PyObject *object, const char *path, const chosen *c) {
    core_state *state = core_state_of_object(object);
    const bp_onnx_choices choices = {.struct_size = sizeof choices,
                                     .size_count = c->size_count,
                                     .size_names = c->size_names,
                                     .sizes = c->sizes,
                                     .value_count = c->value_count,
                                     .value_names = c->value_names,
                                     .values = c->values};
    bp_graph *made = NULL;
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_graph_from_onnx(&made, path, &choices);
    core_lock(&unlocked);
    if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    if (!core_graph_take((graph *)object, made)) {
        return NULL;
    }
    Py_INCREF(Py_None);
    return core_finish(state, Py_None);
}

/* Names are bytes. The dicts are copies that Python's code does not see, so that reading an array cannot change them.
 */
PyObject *core_graph_onnx(PyObject *object, PyObject *arguments) {
    const char *path;
    PyObject *sizes, *values, *made = NULL;
    chosen c = {0};
    if (!PyArg_ParseTuple(arguments, "yO!O!:read_onnx", &path, &PyDict_Type, &sizes, &PyDict_Type, &values)) {
        return NULL;
    }
    if (allocate(&c, PyDict_Size(sizes), PyDict_Size(values)) && read_sizes(&c, sizes) &&
        read_values(core_state_of_object(object), &c, values)) {
        made = read_model(object, path, &c);
    }
    drop(&c);
    return made;
}
