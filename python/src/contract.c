/* contract.c - runs einsum for Python: reads the arrays in place, allocates the result, and calls the library without
 * the interpreter's lock. Most contractions are small, so the most frequent form has a separate function. */
#include "core.h"

#include <string.h>

#define NEAR_OPERANDS 3 /* operands on the stack; one is about 1.7 kB */

/* One call, from its arguments to its result. */
typedef struct contraction {
    core_state *state;
    core_asking asking;
    bp_einsum_call call;
    operand *operands;
    const DLTensor **tensors;
    Py_ssize_t held; /* operands that were brought in */
    bool given_out;
    bool explains;
    operand out;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
    operand near_operands[NEAR_OPERANDS];
    const DLTensor *near_tensors[NEAR_OPERANDS];
} contraction;

static bool allocate_operands(contraction *of, Py_ssize_t count) {
    of->operands = of->near_operands;
    of->tensors = of->near_tensors;
    if (count > NEAR_OPERANDS) {
        of->operands = PyMem_Malloc((size_t)count * sizeof *of->operands);
        of->tensors = PyMem_Malloc((size_t)count * sizeof *of->tensors);
    }
    if (of->operands && of->tensors && count <= INT_MAX) {
        return true;
    }
    PyErr_NoMemory();
    return false;
}

static unsigned access_of(const contraction *of) {
    return of->explains ? CORE_DESCRIBES : CORE_READS;
}

static bool read_operand(contraction *of, PyObject *array) {
    static const char *const near_names[NEAR_OPERANDS] = {"operand 0", "operand 1", "operand 2"};
    operand *to = &of->operands[of->held];
    if (of->held < NEAR_OPERANDS) {
        return core_operand(of->state, to, array, near_names[of->held], access_of(of));
    }
    char name[32];
    PyOS_snprintf(name, sizeof name, "operand %d", (int)of->held);
    return core_operand(of->state, to, array, name, access_of(of));
}

/* Reads the arrays of a tuple from index `first` on. */
static bool read_operands(contraction *of, PyObject *arrays, Py_ssize_t first) {
    Py_ssize_t count = PyTuple_Size(arrays) - first;
    if (!allocate_operands(of, count)) {
        return false;
    }
    for (; of->held < count; of->held++) {
        if (!read_operand(of, PyTuple_GetItem(arrays, first + of->held))) {
            return false;
        }
        of->tensors[of->held] = &of->operands[of->held].tensor;
    }
    const core_asking *a = &of->asking;
    of->call = (bp_einsum_call){.struct_size = sizeof of->call,
                                .expression = a->expression,
                                .count = (int)count,
                                .operands = of->tensors,
                                .labels = a->lists,
                                .label_counts = a->list_counts,
                                .output_count = a->output_count,
                                .output = a->output,
                                .search = a->search.struct_size > 0 ? &a->search : NULL};
    return true;
}

static bp_status explain(const void *context, bp_explanation **explanation) {
    const contraction *of = context;
    return bp_einsum_explain(explanation, of->options, &of->call, of->given_out ? &of->result : NULL);
}

/* Determines the result's tensor. If the caller gives no memory, it has no address yet, and the layout that costs
 * least, which may not be row-major, as with NumPy and PyTorch. */
static bool place_result(contraction *of, PyObject *out) {
    bp_dtype dtype;
    bp_plan *plan;
    int ndim = 0;
    if (out != Py_None) {
        of->given_out = core_operand(of->state, &of->out, out, "out", access_of(of) | CORE_WRITES);
        of->result = of->out.tensor;
        return of->given_out;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_einsum_plan(&plan, of->options, &of->call, NULL);
    core_lock(&unlocked);
    if (status == BP_OK) {
        status = bp_einsum_plan_output(plan, &dtype, &ndim, of->shape, of->strides);
        bp_plan_release(plan);
    }
    of->result = (DLTensor){.device = {kDLCPU, 0},
                            .ndim = ndim,
                            .dtype = of->operands[0].tensor.dtype,
                            .shape = of->shape,
                            .strides = of->strides};
    if (status != BP_OK) {
        core_fail_explained(of->state, status, explain, of);
    }
    return status == BP_OK;
}

static void release(contraction *of) {
    while (of->held > 0) {
        core_operand_release(&of->operands[--of->held]);
    }
    if (of->given_out) {
        core_operand_release(&of->out);
    }
    if (of->operands != of->near_operands) {
        PyMem_Free(of->operands);
        PyMem_Free((void *)of->tensors);
    }
    Py_CLEAR(of->options_owner);
    core_asking_free(&of->asking);
}

/* The first operand that decides a type of array is looked for one by one: there may be any number of operands. */
static bool new_result(contraction *of, core_result *fresh) {
    const operand *like = of->operands;
    for (Py_ssize_t i = 0; i < of->held && !core_result_like(like); i++) {
        like = &of->operands[i];
    }
    return core_result_new(of->state, fresh, &of->result, &like, 1);
}

static PyObject *contract(contraction *of) {
    core_result fresh = {0};
    if (!of->given_out && !new_result(of, &fresh)) {
        return NULL;
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_einsum_run(of->options, &of->call, &of->result);
    core_lock(&unlocked);
    if (status != BP_OK) {
        core_fail_explained(of->state, status, explain, of);
        core_result_drop(&fresh);
        return NULL;
    }
    if (!of->given_out) {
        return core_result_take(of->state, &fresh);
    }
    Py_RETURN_NONE;
}

/* Initialises the members that are read before they are set. The rest of the structure is large and stays undefined. */
static bool begin(contraction *of, PyObject *module, PyObject *expression, PyObject *words, bool explains) {
    of->state = core_state_of(module);
    of->held = 0;
    of->given_out = false;
    of->explains = explains;
    of->options = NULL;
    of->options_owner = NULL;
    of->operands = of->near_operands;
    core_leave_dropped();
    return core_asking_read(&of->asking, of->state, expression, words);
}

/* Arguments: expression or None, operands, out, settings, search parameters or None, whether to explain. */
PyObject *core_einsum(PyObject *module, PyObject *values) {
    contraction of;
    PyObject *expression, *arrays, *out, *settings, *words, *result = NULL;
    int explains;
    if (!PyArg_ParseTuple(values, "OO!OOOp:einsum", &expression, &PyTuple_Type, &arrays, &out, &settings, &words,
                          &explains)) {
        return NULL;
    }
    if (begin(&of, module, expression, words, explains != 0)) {
        if (core_options(of.state, settings, &of.options, &of.options_owner) && read_operands(&of, arrays, 0) &&
            place_result(&of, out)) {
            result = explains ? core_explanation(of.state, explain, &of) : contract(&of);
        }
        release(&of);
    }
    return core_finish(of.state, result);
}

/* Returns whether the arguments are an expression and one or more arrays of exactly this type. */
static bool is_plain(PyObject *given, PyObject *type) {
    Py_ssize_t count = PyTuple_Size(given);
    bool plain = count > 1 && PyUnicode_Check(PyTuple_GetItem(given, 0));
    for (Py_ssize_t i = 1; plain && i < count; i++) {
        plain = (PyObject *)Py_TYPE(PyTuple_GetItem(given, i)) == type;
    }
    return plain;
}

PyObject *core_einsum_plain(PyObject *module, PyObject *values) {
    contraction of;
    PyObject *result = NULL, *given = PyTuple_GetItem(values, 0), *type = given ? PyTuple_GetItem(values, 1) : NULL;
    if (!type || PyTuple_Size(given) < 0) {
        return NULL;
    }
    if (!is_plain(given, type)) {
        Py_RETURN_NONE;
    }
    if (begin(&of, module, PyTuple_GetItem(given, 0), Py_None, false)) {
        if (read_operands(&of, given, 1) && place_result(&of, Py_None)) {
            result = contract(&of);
        }
        release(&of);
    }
    return core_finish(of.state, result);
}
