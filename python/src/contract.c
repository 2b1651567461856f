/* contract.c - runs einsum for Python: reads the arrays in place, allocates the result, and calls the library without
 * the interpreter's lock. Most contractions are small, so the most frequent form has a separate function. */
#include "core.h"

/* One call, from its arguments to its result. */
typedef struct contraction {
    core_state *state;
    core_asking asking;
    bp_einsum_call call;
    core_operands operands;
    bool given_out;
    bool explains;
    operand out;
    DLTensor result;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} contraction;

static unsigned access_of(const contraction *of) {
    return of->explains ? CORE_DESCRIBES : CORE_READS;
}

/* Reads the arrays of a tuple from index `first` on. */
static bool read_operands(contraction *of, PyObject *arrays, Py_ssize_t first) {
    core_operands *operands = &of->operands;
    if (!core_operands_read(of->state, operands, arrays, first, access_of(of))) {
        return false;
    }
    const core_asking *a = &of->asking;
    of->call = (bp_einsum_call){.struct_size = sizeof of->call,
                                .expression = a->expression,
                                .count = operands->count,
                                .operands = operands->tensors,
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
    if (status != BP_OK) {
        core_fail_explained(of->state, status, explain, of);
        return false;
    }
    of->result = (DLTensor){.device = {kDLCPU, 0},
                            .ndim = ndim,
                            .dtype = of->operands.tensors[0]->dtype,
                            .shape = of->shape,
                            .strides = of->strides};
    return true;
}

static void release(contraction *of) {
    core_operands_release(&of->operands);
    if (of->given_out) {
        core_operand_release(&of->out);
    }
    Py_CLEAR(of->options_owner);
    core_asking_free(&of->asking);
}

static PyObject *contract(contraction *of) {
    core_result fresh = {0};
    const operand *like = core_operands_like(&of->operands);
    if (!of->given_out && !core_result_new(of->state, &fresh, &of->result, &like, 1)) {
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
    of->given_out = false;
    of->explains = explains;
    of->options = NULL;
    of->options_owner = NULL;
    core_operands_begin(&of->operands);
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
