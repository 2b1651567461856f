/* contract.c - runs einsum for Python: reads the arrays in place, allocates the result, and calls the library without
 * the interpreter's lock. Most contractions are small, so the most frequent form has a separate function. */
#include "core.h"
#include "record.h"

/* One call, from its arguments to its result. */
typedef struct contraction {
    core_call call; /* must be first */
    core_asking asking;
    bp_einsum_call einsum;
    int64_t strides[BP_MAX_NDIM];
} contraction;

/* Reads the arrays of a tuple from index `first` on. */
static bool read_operands(contraction *of, PyObject *arrays, Py_ssize_t first) {
    core_operands *operands = &of->call.operands;
    if (!core_operands_read(of->call.state, operands, arrays, first, core_call_access(&of->call))) {
        return false;
    }
    const core_asking *a = &of->asking;
    of->einsum = (bp_einsum_call){.struct_size = sizeof of->einsum,
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

static bp_status explain_contraction(const void *context, bp_explanation **explanation) {
    const contraction *of = context;
    const core_call *call = &of->call;
    return bp_einsum_explain(explanation, call->options, &of->einsum, call->given_out ? &call->result : NULL);
}

/* Determines the result's tensor. If the caller gives no memory, it has no address yet, and the layout that costs
 * least, which may not be row-major, as with NumPy and PyTorch. */
static bool place_result(contraction *of, PyObject *out) {
    core_call *call = &of->call;
    bp_dtype dtype;
    bp_plan *plan;
    int ndim = 0;
    if (out != Py_None) {
        return core_call_out(call, out);
    }
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = bp_einsum_plan(&plan, call->options, &of->einsum, NULL);
    core_lock(&unlocked);
    if (status == BP_OK) {
        status = bp_einsum_plan_output(plan, &dtype, &ndim, call->shape, of->strides);
        bp_plan_release(plan);
    }
    if (status != BP_OK) {
        core_fail_explained(call->state, status, explain_contraction, of);
        return false;
    }
    call->result = (DLTensor){.device = call->operands.tensors[0]->device,
                              .ndim = ndim,
                              .dtype = call->operands.tensors[0]->dtype,
                              .shape = call->shape,
                              .strides = of->strides};
    return true;
}

static void release_contraction(contraction *of) {
    core_call_release(&of->call);
    core_asking_free(&of->asking);
}

static bp_status run_contraction(core_call *call) {
    return bp_einsum_run(call->options, &((contraction *)call)->einsum, &call->result);
}

static bool begin_contraction(contraction *of, PyObject *module, PyObject *expression, PyObject *words, bool explains) {
    core_call_begin(&of->call, core_state_of(module), explains);
    return core_asking_read(&of->asking, of->call.state, expression, words);
}

/* Arguments: expression or None, operands, out, settings, search parameters or None, whether to explain. */
PyObject *core_einsum(PyObject *module, PyObject *values) {
    CORE_RECORDED(module, "einsum", values, NULL);
    contraction of;
    core_call *call = &of.call;
    PyObject *expression, *arrays, *out, *settings, *words, *result = NULL;
    int explains;
    if (!PyArg_ParseTuple(values, "OO!OOOp:einsum", &expression, &PyTuple_Type, &arrays, &out, &settings, &words,
                          &explains)) {
        return NULL;
    }
    if (begin_contraction(&of, module, expression, words, explains != 0)) {
        if (core_options(call->state, settings, &call->options, &call->options_owner) &&
            read_operands(&of, arrays, 0) && place_result(&of, out)) {
            result = explains ? core_explanation(call->state, explain_contraction, &of)
                              : core_call_run(call, run_contraction, explain_contraction);
        }
        release_contraction(&of);
    }
    return core_finish(of.call.state, result);
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
    if (begin_contraction(&of, module, PyTuple_GetItem(given, 0), Py_None, false)) {
        if (read_operands(&of, given, 1) && place_result(&of, Py_None)) {
            result = core_call_run(&of.call, run_contraction, explain_contraction);
        }
        release_contraction(&of);
    }
    return core_finish(of.call.state, result);
}
