/* einsum.c - paths of einsum for Python: shapes and labels as lists in, a path as a list and the object behind it out.
 */
#include "core.h"

#include <limits.h>
#include <string.h>

#define CAPSULE "backplane.path"

/* What was read of a call; everything is PyMem memory. */
typedef struct asking {
    core_state *state;
    Py_ssize_t count;
    bp_einsum_operand *operands;
    int64_t *sizes;
    int32_t *labels; /* of all operands, then of the output */
    int32_t *path, *path_counts;
    Py_ssize_t output_count;
    bool lists;
    PyObject *expression; /* bytes, or NULL */
    bp_einsum_search search;
} asking;

static void asking_free(asking *a) {
    PyMem_Free(a->operands);
    PyMem_Free(a->sizes);
    PyMem_Free(a->labels);
    PyMem_Free(a->path);
    PyMem_Free(a->path_counts);
    Py_XDECREF(a->expression);
}

/* How many items a tuple of tuples has in all; -1 with an exception set. */
static Py_ssize_t items_in(PyObject *tuples) {
    Py_ssize_t all = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuples); i++) {
        Py_ssize_t count = PyTuple_Size(PyTuple_GetItem(tuples, i));
        if (count < 0) {
            return -1;
        }
        all += count;
    }
    return all;
}

static void *room(Py_ssize_t count, size_t each) {
    void *block = PyMem_Malloc((size_t)(count > 0 ? count : 1) * each);
    return block ? block : PyErr_NoMemory();
}

/* An int32 for a whole number; false with an exception set. */
static bool small_number(core_state *state, PyObject *number, const char *what, int32_t *value) {
    int overflow;
    long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (wide == -1 && PyErr_Occurred()) {
        return false;
    }
    if (overflow || wide < INT32_MIN || wide > INT32_MAX) {
        core_refuse(state, state->bad_value, BP_E_OVERFLOW, "einsum_path: %s %R does not fit 32 bits", what, number);
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

static bool read_tuple(asking *a, PyObject *tuple, const char *what, int32_t *to) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        if (!small_number(a->state, PyTuple_GetItem(tuple, i), what, &to[i])) {
            return false;
        }
    }
    return true;
}

static bool read_shapes(asking *a, PyObject *shapes) {
    Py_ssize_t sizes = items_in(shapes), at = 0;
    a->count = PyTuple_Size(shapes);
    a->operands = sizes < 0 ? NULL : room(a->count, sizeof *a->operands);
    a->sizes = sizes < 0 ? NULL : room(sizes, sizeof *a->sizes);
    for (Py_ssize_t i = 0; a->operands && a->sizes && i < a->count; i++) {
        PyObject *shape = PyTuple_GetItem(shapes, i);
        a->operands[i] = (bp_einsum_operand){.ndim = (int)PyTuple_Size(shape), .shape = a->sizes + at};
        for (Py_ssize_t d = 0; d < PyTuple_Size(shape); d++) {
            a->sizes[at] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
            if (a->sizes[at++] == -1 && PyErr_Occurred()) {
                return false;
            }
        }
    }
    return a->operands && a->sizes;
}

static bool read_labels(asking *a, PyObject *labels, PyObject *output) {
    Py_ssize_t count = items_in(labels), at = 0;
    a->lists = true;
    a->output_count = output == Py_None ? BP_EINSUM_IMPLICIT : PyTuple_Size(output);
    if (count < 0 || (output != Py_None && a->output_count < 0)) {
        return false;
    }
    a->labels = room(count + (a->output_count > 0 ? a->output_count : 0), sizeof *a->labels);
    for (Py_ssize_t i = 0; a->labels && i < a->count; i++) {
        PyObject *list = PyTuple_GetItem(labels, i);
        a->operands[i].labels = a->labels + at;
        a->operands[i].label_count = list ? (int)PyTuple_Size(list) : -1;
        if (!list || !read_tuple(a, list, "label", a->labels + at)) {
            return false;
        }
        at += a->operands[i].label_count;
    }
    return a->labels && (output == Py_None || read_tuple(a, output, "label", a->labels + at));
}

static bool read_path(asking *a, PyObject *path) {
    Py_ssize_t count = items_in(path), at = 0, steps = PyTuple_Size(path);
    a->path = count < 0 || steps > INT_MAX ? NULL : room(count, sizeof *a->path);
    a->path_counts = a->path ? room(steps, sizeof *a->path_counts) : NULL;
    for (Py_ssize_t i = 0; a->path_counts && i < steps; i++) {
        PyObject *step = PyTuple_GetItem(path, i);
        a->path_counts[i] = (int32_t)PyTuple_Size(step);
        if (!read_tuple(a, step, "position", a->path + at)) {
            return false;
        }
        at += a->path_counts[i];
    }
    a->search.strategy = BP_PATH_GIVEN;
    a->search.path = a->path;
    a->search.path_counts = a->path_counts;
    a->search.path_steps = (int)steps;
    return a->path_counts != NULL;
}

/* The words; NULL for what the settings say. */
static bool read_words(asking *a, const char *strategy, const char *minimize, const char *dtype) {
    bp_einsum_search *s = &a->search;
    int64_t trials = 0;
    bp_status status = strategy ? bp_path_strategy_from_name(strategy, &s->strategy, &trials) : BP_OK;
    status = status == BP_OK ? bp_path_objective_from_name(minimize, &s->objective, &s->factor) : status;
    if (status != BP_OK) {
        core_fail(a->state, status, NULL);
        return false;
    }
    s->trials = s->trials == 0 ? trials : s->trials;
    s->dtype = dtype ? bp_dtype_from_name(dtype) : BP_DTYPE_NONE;
    if (dtype && s->dtype == BP_DTYPE_NONE) {
        core_refuse(a->state, a->state->bad_value, BP_E_DTYPE, "einsum_path: no element type is called '%s'", dtype);
        return false;
    }
    return true;
}

/* The package gives what is asked for here as tuples, so that these checks are few. */
static bool read_call(asking *a, PyObject *values) {
    PyObject *expression, *shapes, *labels, *output, *path;
    const char *strategy, *minimize, *dtype;
    long long limit, trials;
    unsigned long long seed;
    a->search.struct_size = sizeof a->search;
    if (!PyArg_ParseTuple(values, "OO!OOzsLLdKzO:einsum_path", &expression, &PyTuple_Type, &shapes, &labels, &output,
                          &strategy, &minimize, &limit, &trials, &a->search.seconds, &seed, &dtype, &path)) {
        return false;
    }
    a->search.memory_limit = limit;
    a->search.trials = trials;
    a->search.seed = seed;
    if (!read_words(a, strategy, minimize, dtype) || !read_shapes(a, shapes)) {
        return false;
    }
    if (path != Py_None && !read_path(a, path)) {
        return false;
    }
    if (expression == Py_None) {
        return read_labels(a, labels, output);
    }
    a->expression = core_bytes(a->state, expression, "einsum_path: the expression");
    return a->expression != NULL;
}

static void release(PyObject *capsule) {
    bp_contraction_path_release(PyCapsule_GetPointer(capsule, CAPSULE));
}

static bp_status find(const asking *a, bp_contraction_path **path) {
    bp_status status;
    const char *expression = a->expression ? PyBytes_AsString(a->expression) : NULL;
    const int32_t *output =
        a->output_count > 0 ? a->operands[a->count - 1].labels + a->operands[a->count - 1].label_count : NULL;
    Py_BEGIN_ALLOW_THREADS status =
        a->lists ? bp_einsum_path_sublists(path, &a->search, (int)a->count, a->operands, (int)a->output_count, output)
                 : bp_einsum_path(path, &a->search, expression, (int)a->count, a->operands);
    Py_END_ALLOW_THREADS return status;
}

/* The positions of each step, as opt_einsum writes a path. */
static PyObject *list_of(const bp_contraction_path *path) {
    PyObject *list = PyList_New(0);
    bp_contraction_step step = {.struct_size = sizeof step};
    for (int i = 0; list && bp_contraction_path_at(path, i, &step); i++) {
        core_append(&list, step.count == 1 ? Py_BuildValue("(i)", (int)step.position[0])
                                           : Py_BuildValue("(ii)", (int)step.position[0], (int)step.position[1]));
    }
    return list;
}

PyObject *core_einsum_path(PyObject *module, PyObject *values) {
    asking a = {.state = core_state_of(module)};
    bp_contraction_path *path = NULL;
    PyObject *result = NULL;
    core_leave_dropped();
    if (read_call(&a, values)) {
        bp_status status = find(&a, &path);
        if (status != BP_OK) {
            core_fail(a.state, status, NULL);
        }
    }
    PyObject *list = path ? list_of(path) : NULL;
    PyObject *capsule = list ? PyCapsule_New(path, CAPSULE, release) : NULL;
    if (capsule) {
        result = PyTuple_Pack(2, list, capsule);
    } else {
        bp_contraction_path_release(path);
    }
    Py_XDECREF(list);
    Py_XDECREF(capsule);
    asking_free(&a);
    return core_finish(a.state, result);
}

static PyObject *text_of(PyObject *module, PyObject *capsule, const char *(*get)(const bp_contraction_path *)) {
    const bp_contraction_path *path = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!path) {
        return NULL;
    }
    const char *text = get(path);
    return *text ? core_text(text) : core_fail(core_state_of(module), BP_E_NO_MEMORY, NULL);
}

PyObject *core_path_text(PyObject *module, PyObject *capsule) {
    return text_of(module, capsule, bp_contraction_path_text);
}

PyObject *core_path_json(PyObject *module, PyObject *capsule) {
    return text_of(module, capsule, bp_contraction_path_json);
}
