/* quick.c - functions of the package whose most frequent form runs without a frame of Python: arrays alone, of one
 * floating type, of NumPy or of a library with DLPack's exchange interface, and a new result. Every other call, and
 * each that fails, is one of the function of Python that was given, so that conversions and messages have one source.
 */
#include "quick.h"

#include <string.h>

/* A function of the package. It is the state of a module, because a builtin function of a module is pickled and shown
 * by its name. */
typedef struct quick {
    PyMethodDef method; /* must be first */
    PyObject *core;     /* the module whose state is `state` */
    core_state *state;
    PyObject *function; /* of Python, for other calls */
    PyObject *name, *text;
    const quick_kind *kind;
    int number;
    core_prepared *prepared; /* of a described call; otherwise NULL */
} quick;

/* ---- Kinds of calls ---- */

/* The shape of the first array. */
static void first_shape(quick_call *of) {
    const DLTensor *x = of->tensors[0];
    of->result.ndim = x->ndim;
    for (int i = 0; i < x->ndim; i++) {
        of->shape[i] = x->shape[i];
    }
}

static bp_status unary_shape(quick_call *of) {
    of->result.dtype = core_unary_type((bp_unary_kind)of->number, of->tensors[0]->dtype);
    first_shape(of);
    return BP_OK;
}

static bool have_one_shape(const DLTensor *x, const DLTensor *y) {
    return x->ndim == y->ndim && memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

static bp_status unary_run(quick_call *of) {
    return bp_unary_run(NULL, (bp_unary_kind)of->number, of->tensors[0], &of->result);
}

/* Arrays of one shape are the most frequent, and to compare them takes less time than the rules of broadcasting. */
static bp_status binary_shape(quick_call *of) {
    of->result.dtype = core_binary_type((bp_binary_kind)of->number, of->tensors[0]->dtype);
    if (have_one_shape(of->tensors[0], of->tensors[1])) {
        first_shape(of);
        return BP_OK;
    }
    return bp_binary_shape(of->tensors[0], of->tensors[1], &of->result.ndim, of->shape);
}

static bp_status binary_run(quick_call *of) {
    return bp_binary_run(NULL, (bp_binary_kind)of->number, of->tensors[0], of->tensors[1], &of->result);
}

static bp_status reduce_shape(quick_call *of) {
    of->result.dtype = core_reduce_type(of->number, of->tensors[0]->dtype);
    if (!of->axes && !of->keeps) {
        of->result.ndim = 0;
        return BP_OK;
    }
    return bp_reduce_shape(of->tensors[0], of->axis_count, of->axes, of->keeps, &of->result.ndim, of->shape);
}

static bp_status reduce_run(quick_call *of) {
    return core_reduce_run(NULL, of->number, of->tensors[0], of->axis_count, of->axes, 0, of->keeps, &of->result);
}

static bp_status norm_shape(quick_call *of) {
    return of->tensors[0]->dtype.bits >= 32 ? BP_OK : BP_E_DTYPE; /* the package converts f16 */
}

static bp_status norm_run(quick_call *of) {
    const bp_linalg_call call = {.struct_size = sizeof call,
                                 .op = BP_OP_VECTOR_NORM,
                                 .mode = BP_NORM_P,
                                 .order = 2,
                                 .input = {of->tensors[0]},
                                 .output = {&of->result}};
    return bp_linalg_run(NULL, &call);
}

static int reduce_kind(const char *name) {
    static const char *const names[CORE_REDUCE_KINDS] = {"sum",    "prod", "mean", "max", "min", "argmax",
                                                         "argmin", "any",  "all",  "var", "std"};
    for (int i = 0; i < CORE_REDUCE_KINDS; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static int norm_kind(const char *name) {
    return strcmp(name, "norm") == 0 ? 0 : -1;
}

static const quick_kind kinds[] = {
    {"unary", 1, false, true, core_unary_kind, unary_shape, unary_run},
    {"binary", 2, false, true, core_binary_kind, binary_shape, binary_run},
    {"reduce", 1, true, false, reduce_kind, reduce_shape, reduce_run},
    {"norm", 1, false, false, norm_kind, norm_shape, norm_run},
};

/* ---- The frequent form ---- */

/* Reads `axis`, a whole number or None, and `keepdims`. Returns false for anything else, without an exception. */
static bool read_names(quick_call *of, const core_state *state, PyObject *const *values, PyObject *names) {
    const Py_ssize_t count = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (name == state->word_axis && PyLong_CheckExact(values[i])) {
            int over;
            const long axis = PyLong_AsLongAndOverflow(values[i], &over);
            if (over || axis < -BP_MAX_NDIM || axis >= BP_MAX_NDIM) {
                return false;
            }
            of->axis = (int)axis;
            of->axes = &of->axis;
            of->axis_count = 1;
        } else if (name == state->word_keepdims && PyBool_Check(values[i])) {
            of->keeps = values[i] == Py_True;
        } else if (name != state->word_axis || values[i] != Py_None) {
            return false;
        }
    }
    return true;
}

/* Reads the arrays. Returns false, without an exception, if they are not all of one floating type and of a library. */
static bool read_arrays(quick_call *of, core_state *state, PyObject *const *values) {
    for (; of->count < of->wanted; of->count++) {
        operand *to = &of->arrays[of->count];
        if (!core_operand_direct(state, to, values[of->count])) {
            return false;
        }
        of->tensors[of->count] = &to->tensor;
        const DLDataType type = to->tensor.dtype, first = of->tensors[0]->dtype;
        if ((type.code != kDLFloat && type.code != kDLBfloat) || type.code != first.code || type.bits != first.bits) {
            of->count++;
            return false;
        }
    }
    return true;
}

bool core_quick_compute(quick_call *of, core_state *state, bp_status (*run)(quick_call *of)) {
    const operand *like = &of->arrays[0];
    core_unlocked unlocked;
    if (!core_result_new(state, &of->fresh, &of->result, &like, 1)) {
        return false;
    }
    of->tensors[of->count] = &of->result;
    core_unlock_for(&unlocked, of->tensors, of->count + 1);
    const bp_status status = run(of);
    core_lock(&unlocked);
    return status == BP_OK;
}

static bool compute_quick(quick_call *of, const quick *self) {
    of->result = (DLTensor){.device = {kDLCPU, 0}, .dtype = of->tensors[0]->dtype, .shape = of->shape};
    if (self->kind->shape(of) != BP_OK) {
        return false;
    }
    if (self->kind->by_element) {
        core_result_follow(&of->result, of->strides, of->tensors, of->count);
    }
    return core_quick_compute(of, self->state, self->kind->run);
}

/* Runs a call of the frequent form. Returns NULL without an exception if it is none, or failed. */
static PyObject *run_directly(const quick *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    quick_call of;
    PyObject *result = NULL;
    of.count = 0;
    of.wanted = self->prepared ? (int)count : self->kind->arrays;
    of.number = self->number;
    of.axes = NULL;
    of.axis = 0;
    of.axis_count = 0;
    of.keeps = false;
    of.fresh = (core_result){0};
    core_leave_dropped();
    if (read_arrays(&of, self->state, values) &&
        (self->prepared ? core_prepared_run(&of, self->state, self->prepared, values + count, names)
                        : read_names(&of, self->state, values + count, names) && compute_quick(&of, self))) {
        result = core_result_take(self->state, &of.fresh);
    }
    core_result_drop(&of.fresh);
    for (int i = 0; i < of.count; i++) {
        Py_DECREF(of.arrays[i].owner);
    }
    return result;
}

static bool is_frequent(const quick *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    if (self->prepared) {
        return core_prepared_takes(self->prepared, values + count, count, names);
    }
    return count == self->kind->arrays && (!names || self->kind->takes_axis);
}

/* ---- Other forms ---- */

static PyObject *run_function(const quick *self, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    PyObject *tuple = PyTuple_New(count), *dict = named > 0 ? PyDict_New() : NULL, *result = NULL;
    bool fine = tuple && (dict || named == 0);
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        Py_INCREF(values[i]);
        fine = PyTuple_SetItem(tuple, i, values[i]) == 0;
    }
    for (Py_ssize_t i = 0; fine && i < named; i++) {
        fine = PyDict_SetItem(dict, PyTuple_GetItem(names, i), values[count + i]) == 0;
    }
    if (!self->function) { /* the collector clears the package */
        PyErr_SetString(PyExc_RuntimeError, "the package is being freed");
    } else if (fine) {
        result = PyObject_Call(self->function, tuple, dict);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

static PyObject *call_quick(PyObject *module, PyObject *const *values, Py_ssize_t count, PyObject *names) {
    const quick *self = PyModule_GetState(module);
    PyObject *result = is_frequent(self, values, count, names) ? run_directly(self, values, count, names) : NULL;
    if (result || PyErr_Occurred()) {
        return core_finish(self->state, result);
    }
    return run_function(self, values, count, names);
}

/* ---- Making a function ---- */

static int traverse_quick(PyObject *module, visitproc visit, void *arg) {
    const quick *self = PyModule_GetState(module);
    if (self) {
        Py_VISIT(self->core);
        Py_VISIT(self->function);
        return core_prepared_traverse(self->prepared, visit, arg);
    }
    return 0;
}

static int clear_quick(PyObject *module) {
    quick *self = PyModule_GetState(module);
    if (self) {
        Py_CLEAR(self->function);
    }
    return 0;
}

static void end_quick(void *module) {
    quick *self = PyModule_GetState(module);
    if (self) {
        clear_quick(module);
        core_prepared_free(self->prepared);
        Py_CLEAR(self->name);
        Py_CLEAR(self->text);
        Py_CLEAR(self->core);
    }
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,   .m_name = "backplane._core.quick",
    .m_size = sizeof(quick), .m_traverse = traverse_quick,
    .m_clear = clear_quick,  .m_free = end_quick,
};

static bool find_kind(quick *self, const char *kind, const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            self->kind = &kinds[i];
            self->number = kinds[i].find(name);
            if (self->number >= 0) {
                return true;
            }
        }
    }
    PyErr_Format(PyExc_ValueError, "there is no '%s' of kind '%s'", name, kind);
    return false;
}

/* Keeps the name and the text, because the method has their addresses. */
static bool keep_texts(quick *self, PyObject *name, PyObject *text) {
    self->name = core_bytes(self->state, name, "name");
    self->text = core_bytes(self->state, text, "text");
    if (!self->name || !self->text) {
        return false;
    }
    self->method = (PyMethodDef){PyBytes_AsString(self->name), (PyCFunction)(void (*)(void))call_quick,
                                 METH_FASTCALL | METH_KEYWORDS, PyBytes_AsString(self->text)};
    return true;
}

static bool set_kind(quick *self, PyObject *parts) {
    const char *kind, *name;
    if (PyTuple_Size(parts) == 2) {
        return PyArg_ParseTuple(parts, "ss:quick", &kind, &name) && find_kind(self, kind, name);
    }
    self->prepared = core_prepare(self->state, parts);
    return self->prepared != NULL;
}

/* Arguments: the function of Python, its module, name, signature with help, and what runs its frequent form: a tuple of
 * kind and name, or the parts of a described call. */
PyObject *core_quick(PyObject *module, PyObject *values) {
    PyObject *function, *place, *name, *text, *parts, *made = NULL;
    if (!PyArg_ParseTuple(values, "OUUUO!:quick", &function, &place, &name, &text, &PyTuple_Type, &parts)) {
        return NULL;
    }
    PyObject *holder = PyModule_Create(&definition);
    quick *self = holder ? PyModule_GetState(holder) : NULL;
    if (self) {
        Py_INCREF(module);
        Py_INCREF(function);
        self->core = module;
        self->state = core_state_of(module);
        self->function = function;
        if (set_kind(self, parts) && keep_texts(self, name, text)) {
            made = PyCFunction_NewEx(&self->method, holder, place);
        }
    }
    Py_XDECREF(holder);
    return made;
}
