/* einsum.c - searches contraction paths for Python, and parses the arguments that einsum (contract.c) shares with it.
 *
 * Input are shapes and labels as tuples. The result is the path as a list, and a capsule of the path object. */
#include "core.h"

#include <limits.h>
#include <string.h>

#define CAPSULE "backplane.path"

/* ---- Arguments of both functions other than operands ---- */

void core_asking_free(core_asking *a) {
    PyMem_Free(a->labels);
    PyMem_Free((void *)a->lists);
    PyMem_Free(a->list_counts);
    PyMem_Free(a->path);
    PyMem_Free(a->path_counts);
    Py_XDECREF(a->bytes);
    *a = (core_asking){.state = a->state};
}

/* Returns the total number of items in a tuple of tuples, or -1 with an exception set. */
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

static void *allocate_each(Py_ssize_t count, size_t each) {
    void *block = PyMem_Malloc((size_t)(count > 0 ? count : 1) * each);
    return block ? block : PyErr_NoMemory();
}

/* Converts a whole number to int32. Returns false with an exception set. */
static bool small_number(core_state *state, PyObject *number, const char *what, int *value) {
    int overflow;
    long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (wide == -1 && PyErr_Occurred()) {
        return false;
    }
    if (overflow || wide < INT_MIN || wide > INT_MAX) {
        core_refuse(state, state->bad_value, BP_E_OVERFLOW, "einsum: %s %R does not fit 32 bits", what, number);
        return false;
    }
    *value = (int)wide;
    return true;
}

static bool read_tuple(core_asking *a, PyObject *tuple, const char *what, int *to) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        if (!small_number(a->state, PyTuple_GetItem(tuple, i), what, &to[i])) {
            return false;
        }
    }
    return true;
}

static bool read_labels(core_asking *a, PyObject *labels, PyObject *output) {
    Py_ssize_t count = items_in(labels), operands = PyTuple_Size(labels), at = 0;
    a->output_count = output == Py_None ? BP_EINSUM_IMPLICIT : (int)PyTuple_Size(output);
    if (count < 0 || (output != Py_None && a->output_count < 0)) {
        return false;
    }
    a->labels = allocate_each(count + (a->output_count > 0 ? a->output_count : 0), sizeof *a->labels);
    a->lists = allocate_each(operands, sizeof *a->lists);
    a->list_counts = allocate_each(operands, sizeof *a->list_counts);
    for (Py_ssize_t i = 0; a->labels && a->lists && a->list_counts && i < operands; i++) {
        PyObject *list = PyTuple_GetItem(labels, i);
        a->lists[i] = a->labels + at;
        a->list_counts[i] = (int)PyTuple_Size(list);
        if (!read_tuple(a, list, "label", a->labels + at)) {
            return false;
        }
        at += a->list_counts[i];
    }
    a->output = output == Py_None ? NULL : a->labels + at;
    return a->labels && a->lists && a->list_counts &&
           (output == Py_None || read_tuple(a, output, "label", a->labels + at));
}

static bool read_path(core_asking *a, PyObject *path) {
    Py_ssize_t count = items_in(path), at = 0, steps = PyTuple_Size(path);
    a->path = count < 0 || steps > INT_MAX ? NULL : allocate_each(count, sizeof *a->path);
    a->path_counts = a->path ? allocate_each(steps, sizeof *a->path_counts) : NULL;
    for (Py_ssize_t i = 0; a->path_counts && i < steps; i++) {
        PyObject *step = PyTuple_GetItem(path, i);
        a->path_counts[i] = (int)PyTuple_Size(step);
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

/* Reads the names; NULL means the setting. */
static bool read_names(core_asking *a, const char *strategy, const char *minimize) {
    bp_einsum_search *s = &a->search;
    int64_t trials = 0;
    bp_status status = strategy ? bp_path_strategy_from_name(strategy, &s->strategy, &trials) : BP_OK;
    status = status == BP_OK ? bp_path_objective_from_name(minimize, &s->objective, &s->factor) : status;
    if (status != BP_OK) {
        core_fail(a->state, status, NULL);
        return false;
    }
    s->trials = s->trials == 0 ? trials : s->trials;
    return true;
}

static bool read_search(core_asking *a, PyObject *words) {
    PyObject *labels, *output, *path;
    const char *strategy, *minimize;
    long long limit, trials, work;
    unsigned long long seed;
    a->search.struct_size = sizeof a->search;
    if (!PyArg_ParseTuple(words, "OOzsLLdKLO:einsum", &labels, &output, &strategy, &minimize, &limit, &trials,
                          &a->search.seconds, &seed, &work, &path)) {
        return false;
    }
    a->search.memory_limit = limit;
    a->search.trials = trials;
    a->search.work = work;
    a->search.seed = seed;
    return read_names(a, strategy, minimize) && (path == Py_None || read_path(a, path)) &&
           (labels == Py_None || read_labels(a, labels, output));
}

/* Reads the expression. Tries the fast conversion first, because it dominates the time of a small call. */
static void read_expression(core_asking *a, PyObject *expression) {
    char *text = NULL;
    a->bytes = PyUnicode_Check(expression) ? PyUnicode_AsUTF8String(expression) : NULL;
    if (!a->bytes || PyBytes_AsStringAndSize(a->bytes, &text, NULL) != 0) { /* fails if there is a NUL inside */
        PyErr_Clear();
        Py_XDECREF(a->bytes);
        a->bytes = core_bytes(a->state, expression, "einsum: the expression");
    }
    a->expression = a->bytes ? PyBytes_AsString(a->bytes) : NULL;
}

bool core_asking_read(core_asking *a, core_state *state, PyObject *expression, PyObject *words) {
    *a = (core_asking){.state = state};
    if (expression != Py_None) {
        read_expression(a, expression);
    }
    if ((expression == Py_None || a->expression) && (words == Py_None || read_search(a, words))) {
        return true;
    }
    core_asking_free(a);
    return false;
}

/* ---- Paths ---- */

/* One search; the lists are PyMem memory. */
typedef struct path_search {
    core_asking asking;
    Py_ssize_t count;
    bp_einsum_operand *operands;
    int64_t *sizes;
} path_search;

static bool read_shapes(path_search *q, PyObject *shapes) {
    Py_ssize_t sizes = items_in(shapes), at = 0;
    q->count = PyTuple_Size(shapes);
    q->operands = sizes < 0 ? NULL : allocate_each(q->count, sizeof *q->operands);
    q->sizes = sizes < 0 ? NULL : allocate_each(sizes, sizeof *q->sizes);
    for (Py_ssize_t i = 0; q->operands && q->sizes && i < q->count; i++) {
        PyObject *shape = PyTuple_GetItem(shapes, i);
        q->operands[i] = (bp_einsum_operand){.ndim = (int)PyTuple_Size(shape), .shape = q->sizes + at};
        if (q->asking.lists) {
            q->operands[i].labels = q->asking.lists[i];
            q->operands[i].label_count = q->asking.list_counts[i];
        }
        for (Py_ssize_t d = 0; d < PyTuple_Size(shape); d++) {
            q->sizes[at] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
            if (q->sizes[at++] == -1 && PyErr_Occurred()) {
                return false;
            }
        }
    }
    return q->operands && q->sizes;
}

static bool read_dtype(path_search *q, const char *dtype) {
    q->asking.search.dtype = dtype ? bp_dtype_from_name(dtype) : BP_DTYPE_NONE;
    if (dtype && q->asking.search.dtype == BP_DTYPE_NONE) {
        core_refuse(q->asking.state, q->asking.state->bad_value, BP_E_DTYPE,
                    "einsum_path: dtype '%s' is unknown; it must be a name such as 'f32'", dtype);
        return false;
    }
    return true;
}

/* Reads the arguments. The package passes tuples of the right types, so few checks are needed. */
static bool read_search_arguments(path_search *q, core_state *state, PyObject *values) {
    PyObject *expression, *shapes, *words;
    const char *dtype;
    return PyArg_ParseTuple(values, "OO!zO!:einsum_path", &expression, &PyTuple_Type, &shapes, &dtype, &PyTuple_Type,
                            &words) &&
           core_asking_read(&q->asking, state, expression, words) && read_dtype(q, dtype) && read_shapes(q, shapes);
}

static void search_free(path_search *q) {
    PyMem_Free(q->operands);
    PyMem_Free(q->sizes);
    core_asking_free(&q->asking);
}

static void release_path(PyObject *capsule) {
    bp_contraction_path_release(PyCapsule_GetPointer(capsule, CAPSULE));
}

static bp_status find_path(const path_search *q, bp_contraction_path **path) {
    const core_asking *a = &q->asking;
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status =
        a->lists ? bp_einsum_path_sublists(path, &a->search, (int)q->count, q->operands, a->output_count, a->output)
                 : bp_einsum_path(path, &a->search, a->expression, (int)q->count, q->operands);
    core_lock(&unlocked);
    return status;
}

/* Returns the positions of each step, in the format of opt_einsum. */
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
    core_state *state = core_state_of(module);
    path_search q = {.count = 0};
    bp_contraction_path *path = NULL;
    PyObject *result = NULL;
    core_leave_dropped();
    if (read_search_arguments(&q, state, values)) {
        bp_status status = find_path(&q, &path);
        if (status != BP_OK) {
            core_fail(state, status, NULL);
        }
    }
    PyObject *list = path ? list_of(path) : NULL;
    PyObject *capsule = list ? PyCapsule_New(path, CAPSULE, release_path) : NULL;
    if (capsule) {
        result = PyTuple_Pack(2, list, capsule);
    } else {
        bp_contraction_path_release(path);
    }
    Py_XDECREF(list);
    Py_XDECREF(capsule);
    search_free(&q);
    return core_finish(state, result);
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
