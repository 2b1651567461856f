/* graph.c - builds graphs for Python: what backplane.Graph holds, which knows values by their numbers. */
#include "graph.h"

#include <string.h>

/* ---- Life ---- */

static PyObject *new_graph(PyTypeObject *type, PyObject *arguments, PyObject *names) {
    static char *none[] = {NULL};
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    if (!PyArg_ParseTupleAndKeywords(arguments, names, ":Graph", none)) {
        return NULL;
    }
    graph *made = (graph *)allocate(type, 0);
    if (!made) {
        return NULL;
    }
    const bp_status status = bp_graph_create(&made->graph);
    if (status != BP_OK) {
        core_fail(core_state_of_object((PyObject *)made), status, NULL);
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static void drop_constant(operand *of) {
    core_operand_release(of);
    PyMem_Free(of);
}

static void drop_outputs(graph *self) {
    for (int i = 0; self->outputs && i < self->output_count; i++) {
        PyMem_Free(self->outputs[i].strides);
    }
    PyMem_Free(self->outputs);
    PyMem_Free((void *)self->input_names);
    self->outputs = NULL;
    self->input_names = NULL;
}

static void drop_graph(PyObject *object) {
    graph *self = (graph *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    bp_graph_release(self->graph);
    drop_outputs(self);
    for (int i = 0; i < self->borrowed_count; i++) {
        drop_constant(self->borrowed[i]);
    }
    PyMem_Free((void *)self->borrowed);
    release(object);
    Py_DECREF(type);
}

/* ---- Arguments and results ---- */

/* `value` is written by what returned the status, so that its address is given. */
static PyObject *finished(PyObject *self, bp_status status, const bp_value *value) {
    core_state *state = core_state_of_object(self);
    return core_finish(state, status == BP_OK ? PyLong_FromLong(*value) : core_fail(state, status, NULL));
}

static PyObject *done(PyObject *self, bp_status status) {
    core_state *state = core_state_of_object(self);
    if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    Py_INCREF(Py_None);
    return core_finish(state, Py_None);
}

/* Reads the name of an element type. */
static bool read_dtype(PyObject *self, const char *name, bp_dtype *dtype) {
    core_state *state = core_state_of_object(self);
    *dtype = bp_dtype_from_name(name);
    if (*dtype == BP_DTYPE_NONE) {
        core_refuse(state, state->bad_value, BP_E_DTYPE, "dtype: '%s' is not accepted; " CORE_ELEMENT_TYPES, name);
    }
    return *dtype != BP_DTYPE_NONE;
}

static PyObject *tuple_of(int count, const int64_t *numbers) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (!number) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, number);
        }
    }
    return tuple;
}

/* ---- Values ---- */

static PyObject *add_input(PyObject *object, PyObject *arguments) {
    const graph *self = (const graph *)object;
    const char *name, *type;
    PyObject *sizes;
    bp_dtype dtype;
    bp_value value = 0;
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    if (!PyArg_ParseTuple(arguments, "ssO!:add_input", &name, &type, &PyTuple_Type, &sizes) ||
        !read_dtype(object, type, &dtype) ||
        !core_numbers(core_state_of_object(object), sizes, "shape", shape, &ndim)) {
        return NULL;
    }
    return finished(object, bp_graph_input(self->graph, name, dtype, ndim, shape, &value), &value);
}

/* Reads an array into memory of its own. To read may run code of Python, which may add constants too. */
static operand *read_constant(PyObject *object, PyObject *array, const char *name) {
    operand *of = PyMem_Malloc(sizeof *of);
    if (!of) {
        PyErr_NoMemory();
    } else if (!core_operand(core_state_of_object(object), of, array, name, CORE_READS)) {
        PyMem_Free(of);
        of = NULL;
    }
    return of;
}

/* Makes space for one more borrowed array. Returns false with an exception set. */
static bool reserve_borrowed(graph *self) {
    operand **grown = PyMem_Realloc((void *)self->borrowed, ((size_t)self->borrowed_count + 1) * sizeof *grown);
    self->borrowed = grown ? grown : self->borrowed;
    if (!grown) {
        PyErr_NoMemory();
    }
    return grown != NULL;
}

static PyObject *add_constant(PyObject *object, PyObject *arguments) {
    graph *self = (graph *)object;
    const char *name;
    PyObject *array;
    int borrows;
    bp_value value = 0;
    if (!PyArg_ParseTuple(arguments, "sOp:add_constant", &name, &array, &borrows)) {
        return NULL;
    }
    operand *of = read_constant(object, array, name);
    if (!of || !reserve_borrowed(self)) {
        if (of) {
            drop_constant(of);
        }
        return NULL;
    }
    borrows = borrows && !of->aligned;
    const bp_status status = bp_graph_constant(self->graph, name, &of->tensor, borrows ? BP_GRAPH_BORROW : 0, &value);
    if (status == BP_OK && borrows) {
        self->borrowed[self->borrowed_count++] = of;
    } else {
        drop_constant(of);
    }
    return finished(object, status, &value);
}

enum { OPERANDS = 256, RESULTS = 16 };

/* Reads numbers of values; None is an absent one. */
static bool read_values(core_state *state, PyObject *tuple, bp_value *values, int *count) {
    *count = (int)PyTuple_Size(tuple);
    if (*count > OPERANDS) {
        core_refuse(state, state->bad_value, BP_E_ARGUMENT, "a call of a graph has at most %d operands", OPERANDS);
        return false;
    }
    for (int i = 0; i < *count; i++) {
        PyObject *value = PyTuple_GetItem(tuple, i);
        values[i] = value == Py_None ? 0 : (bp_value)PyLong_AsLong(value);
        if (PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

/* Adds a node: call, fields as text, numbers of operands, and for each output whether it is wanted. Returns the numbers
 * of the outputs, None for one that is not wanted. */
static PyObject *add_call(PyObject *object, PyObject *arguments) {
    const graph *self = (const graph *)object;
    core_state *state = core_state_of_object(object);
    const char *call, *fields;
    PyObject *operands, *wanted;
    bp_value values[OPERANDS], outputs[RESULTS];
    bp_value *places[RESULTS];
    int count;
    if (!PyArg_ParseTuple(arguments, "ssO!O!:add_call", &call, &fields, &PyTuple_Type, &operands, &PyTuple_Type,
                          &wanted) ||
        !read_values(state, operands, values, &count)) {
        return NULL;
    }
    const int results = (int)PyTuple_Size(wanted);
    if (results > RESULTS) {
        return core_refuse(state, state->bad_value, BP_E_ARGUMENT, "a call of a graph has at most %d outputs", RESULTS);
    }
    for (int i = 0; i < results; i++) {
        places[i] = PyObject_IsTrue(PyTuple_GetItem(wanted, i)) > 0 ? &outputs[i] : NULL;
    }
    const bp_status status = bp_graph_call(self->graph, call, fields, count, values, results, places);
    PyObject *list = status == BP_OK ? PyList_New(0) : core_fail(state, status, NULL);
    for (int i = 0; list && i < results; i++) {
        core_append(&list, places[i] ? PyLong_FromLong(outputs[i]) : Py_BuildValue(""));
    }
    return core_finish(state, list);
}

/* ---- Views ---- */

static PyObject *add_shaped(PyObject *object, PyObject *arguments,
                            bp_status (*add)(bp_graph *, bp_value, int, const int64_t *, bp_value *)) {
    int value, ndim;
    PyObject *sizes;
    int64_t shape[BP_MAX_NDIM];
    bp_value view = 0;
    if (!PyArg_ParseTuple(arguments, "iO!", &value, &PyTuple_Type, &sizes) ||
        !core_numbers(core_state_of_object(object), sizes, "shape", shape, &ndim)) {
        return NULL;
    }
    return finished(object, add(((graph *)object)->graph, value, ndim, shape, &view), &view);
}

static PyObject *add_reshape(PyObject *object, PyObject *arguments) {
    return add_shaped(object, arguments, bp_graph_reshape);
}

static PyObject *add_expand(PyObject *object, PyObject *arguments) {
    return add_shaped(object, arguments, bp_graph_expand);
}

static PyObject *add_permute(PyObject *object, PyObject *arguments) {
    int value, count, axes[BP_MAX_NDIM];
    PyObject *tuple;
    bp_value view = 0;
    if (!PyArg_ParseTuple(arguments, "iO!", &value, &PyTuple_Type, &tuple) ||
        !core_dims(core_state_of_object(object), tuple, axes, &count)) {
        return NULL;
    }
    return finished(object, bp_graph_permute(((graph *)object)->graph, value, count, axes, &view), &view);
}

static PyObject *add_slice(PyObject *object, PyObject *arguments) {
    int value, axis;
    long long from, to, step;
    bp_value view = 0;
    if (!PyArg_ParseTuple(arguments, "iiLLL", &value, &axis, &from, &to, &step)) {
        return NULL;
    }
    return finished(object, bp_graph_slice(((graph *)object)->graph, value, axis, from, to, step, &view), &view);
}

/* ---- The end of the building ---- */

static PyObject *add_output(PyObject *object, PyObject *arguments) {
    const char *name;
    int value;
    if (!PyArg_ParseTuple(arguments, "si", &name, &value)) {
        return NULL;
    }
    return done(object, bp_graph_output(((graph *)object)->graph, name, value));
}

/* Keeps what a call needs of the inputs and outputs of a finished graph. */
static bool keep_ports(graph *self) {
    bp_graph_port port = {.struct_size = sizeof port};
    self->input_count = self->output_count = 0;
    while (bp_graph_input_at(self->graph, self->input_count, &port)) {
        self->input_count++;
    }
    while (bp_graph_output_at(self->graph, self->output_count, &port)) {
        self->output_count++;
    }
    self->input_names = PyMem_Calloc((size_t)self->input_count + 1, sizeof *self->input_names);
    self->outputs = PyMem_Calloc((size_t)self->output_count + 1, sizeof *self->outputs);
    if (!self->input_names || !self->outputs) {
        drop_outputs(self);
        PyErr_NoMemory();
        return false;
    }
    for (int i = 0; bp_graph_input_at(self->graph, i, &port); i++) {
        self->input_names[i] = port.name;
    }
    for (int i = 0; i < self->output_count; i++) {
        self->outputs[i].port.struct_size = sizeof(bp_graph_port);
        bp_graph_output_at(self->graph, i, &self->outputs[i].port);
    }
    return true;
}

static PyObject *finish(PyObject *object, PyObject *unused) {
    graph *self = (graph *)object;
    (void)unused;
    const bp_status status = bp_graph_finish(self->graph);
    return status == BP_OK && !keep_ports(self) ? NULL : done(object, status);
}

/* Sets the strides of the arrays that calls make for an output. */
static PyObject *set_strides(PyObject *object, PyObject *arguments) {
    graph *self = (graph *)object;
    core_state *state = core_state_of_object(object);
    int index, ndim;
    PyObject *tuple;
    int64_t strides[BP_MAX_NDIM];
    if (!PyArg_ParseTuple(arguments, "iO!", &index, &PyTuple_Type, &tuple) ||
        !core_numbers(state, tuple, "strides", strides, &ndim)) {
        return NULL;
    }
    if (!self->outputs || index < 0 || index >= self->output_count || self->outputs[index].port.ndim != ndim) {
        return core_refuse(state, state->bad_value, BP_E_ARGUMENT,
                           "strides: a finished graph has an output %d with %d dimensions", index, ndim);
    }
    const size_t size = (size_t)ndim * sizeof *strides;
    int64_t *kept = PyMem_Malloc(size ? size : 1);
    if (!kept) {
        return PyErr_NoMemory();
    }
    memcpy(kept, strides, size);
    PyMem_Free(self->outputs[index].strides);
    self->outputs[index].strides = kept;
    Py_RETURN_NONE;
}

/* ---- Descriptions ---- */

static PyObject *describe(const char *name, bp_dtype dtype, int ndim, const int64_t *shape) {
    return Py_BuildValue("(NNN)", core_text(name), core_text(bp_dtype_name(dtype)), tuple_of(ndim, shape));
}

static PyObject *shape_of(PyObject *object, PyObject *number) {
    core_state *state = core_state_of_object(object);
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    const long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const bp_status status = bp_graph_shape(((graph *)object)->graph, (bp_value)value, &dtype, &ndim, shape);
    return status == BP_OK ? Py_BuildValue("(NN)", core_text(bp_dtype_name(dtype)), tuple_of(ndim, shape))
                           : core_fail(state, status, NULL);
}

static PyObject *ports_of(const graph *self, int (*at)(const bp_graph *, int, bp_graph_port *)) {
    bp_graph_port port = {.struct_size = sizeof port};
    PyObject *list = PyList_New(0);
    for (int i = 0; list && at(self->graph, i, &port); i++) {
        core_append(&list, describe(port.name, port.dtype, port.ndim, port.shape));
    }
    return list;
}

static PyObject *get_inputs(PyObject *object, PyObject *unused) {
    (void)unused;
    return ports_of((const graph *)object, bp_graph_input_at);
}

static PyObject *get_outputs(PyObject *object, PyObject *unused) {
    (void)unused;
    return ports_of((const graph *)object, bp_graph_output_at);
}

/* The interpreter's lock is kept: another thread must not change a graph that is not finished. */
static PyObject *get_text(PyObject *object, PyObject *unused) {
    core_state *state = core_state_of_object(object);
    char *text = NULL;
    (void)unused;
    const bp_status status = bp_graph_text(((graph *)object)->graph, &text);
    PyObject *made = status == BP_OK ? core_text(text) : core_fail(state, status, NULL);
    bp_graph_text_release(text);
    return core_finish(state, made);
}

static PyObject *get_hash(PyObject *object, PyObject *unused) {
    core_state *state = core_state_of_object(object);
    unsigned char hash[32];
    (void)unused;
    const bp_status status = bp_graph_hash(((graph *)object)->graph, hash);
    return status == BP_OK ? PyBytes_FromStringAndSize((const char *)hash, sizeof hash)
                           : core_fail(state, status, NULL);
}

bool core_graph_take(graph *self, bp_graph *made) {
    bp_graph_release(self->graph);
    drop_outputs(self);
    self->graph = made;
    return keep_ports(self);
}

/* Replaces the empty graph of a new object by the one of a text. */
static PyObject *parse(PyObject *object, PyObject *text) {
    core_state *state = core_state_of_object(object);
    PyObject *bytes = core_bytes(state, text, "text");
    bp_graph *made = NULL;
    core_unlocked unlocked;
    if (!bytes) {
        return NULL;
    }
    core_unlock(&unlocked);
    const bp_status status = bp_graph_parse(&made, (size_t)PyBytes_Size(bytes), PyBytes_AsString(bytes));
    core_lock(&unlocked);
    Py_DECREF(bytes);
    if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    return core_graph_take((graph *)object, made) ? done(object, BP_OK) : NULL;
}

/* ---- The type ---- */

static PyMethodDef methods[] = {
    {"add_input", add_input, METH_VARARGS, "add_input(name, dtype, shape): the number of the new value"},
    {"add_constant", add_constant, METH_VARARGS, "add_constant(name, array, borrow): the number of the new value"},
    {"add_call", add_call, METH_VARARGS, "add_call(call, fields, operands, wanted): the numbers of the outputs"},
    {"add_reshape", add_reshape, METH_VARARGS, "add_reshape(value, shape): the number of the new value"},
    {"add_expand", add_expand, METH_VARARGS, "add_expand(value, shape): the number of the new value"},
    {"add_permute", add_permute, METH_VARARGS, "add_permute(value, axes): the number of the new value"},
    {"add_slice", add_slice, METH_VARARGS, "add_slice(value, axis, from, to, step): the number of the new value"},
    {"add_output", add_output, METH_VARARGS, "add_output(name, value)"},
    {"close", finish, METH_NOARGS, "Ends the building."},
    {"set_strides", set_strides, METH_VARARGS, "set_strides(index, strides): of new arrays for an output"},
    {"shape_of", shape_of, METH_O, "shape_of(value): element type and shape"},
    {"ports_in", get_inputs, METH_NOARGS, "name, element type and shape of each input"},
    {"ports_out", get_outputs, METH_NOARGS, "name, element type and shape of each output"},
    {"write", get_text, METH_NOARGS, "the graph as text"},
    {"digest", get_hash, METH_NOARGS, "SHA-256 of what the graph computes"},
    {"read", parse, METH_O, "read(text): becomes the graph of a text"},
    {"read_onnx", core_graph_onnx, METH_VARARGS, "read_onnx(path, sizes, values): becomes the graph of a model"},
    {"explained", (PyCFunction)(void (*)(void))core_graph_explain, METH_VARARGS | METH_KEYWORDS,
     "The explanation of a call as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What backplane.Graph holds."}, {Py_tp_new, (void *)new_graph},
    {Py_tp_dealloc, (void *)drop_graph},        {Py_tp_methods, methods},
    {Py_tp_call, (void *)core_graph_call},      {0, NULL},
};

static PyType_Spec spec = {
    .name = "backplane._core.Graph", .basicsize = sizeof(graph), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

int core_add_graph(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type || PyModule_AddObject(module, "Graph", type) != 0) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}
