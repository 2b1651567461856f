/* rnn.c - runs recurrent layers and their gradients for Python. The names and defaults of torch are in
 * python/backplane/nn/. */
#include "core.h"

#include <string.h>

enum { ARRAYS = BP_RNN_INPUT_GRADIENT, RESULTS = 8 };

/* One call, from its arguments to its results. */
typedef struct layer {
    core_state *state;
    bp_rnn_call call;
    operand arrays[ARRAYS];
    int count; /* of arrays that are held */
    core_result fresh[RESULTS];
    DLTensor result[RESULTS];
    int results;
    int64_t shape[RESULTS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} layer;

/* The tensors of a call are in the order of bp_rnn_tensor. */
static void set_tensor(layer *of, int which, const DLTensor *tensor) {
    memcpy((char *)&of->call + offsetof(bp_rnn_call, input) + (size_t)which * sizeof tensor, &tensor, sizeof tensor);
}

/* Takes the arrays that are not None. */
static bool read_arrays(layer *of, PyObject *arrays, bool runs) {
    static const char *const names[ARRAYS] = {"input",   "weight_ih",   "weight_hh",      "weight_hr",
                                              "bias_ih", "bias_hh",     "initial_hidden", "initial_cell",
                                              "lengths", "output",      "final_hidden",   "final_cell",
                                              "reserve", "grad_output", "grad_h_n",       "grad_c_n"};
    for (int i = 0; i < ARRAYS && i < (int)PyTuple_Size(arrays); i++) {
        PyObject *array = PyTuple_GetItem(arrays, i);
        if (array == Py_None) {
            continue;
        }
        if (!core_operand(of->state, &of->arrays[of->count], array, names[i],
                          CORE_READS | (runs ? 0 : CORE_DESCRIBES))) {
            return false;
        }
        set_tensor(of, i, &of->arrays[of->count++].tensor);
    }
    return true;
}

/* Makes the results, a bit of `wanted` for each. */
static bool make_results(layer *of, unsigned wanted, bool runs) {
    const operand *inputs[] = {&of->arrays[0]};
    for (int which = 0; which < BP_RNN_TENSORS && of->results < RESULTS; which++) {
        const int i = of->results;
        bp_dtype dtype;
        if (!(wanted >> which & 1)) {
            continue;
        }
        DLTensor *result = &of->result[i];
        *result = (DLTensor){.device = of->arrays[0].tensor.device, .shape = of->shape[i]};
        const bp_status status = bp_rnn_shape(&of->call, (bp_rnn_tensor)which, &dtype, &result->ndim, result->shape);
        if (status != BP_OK) {
            core_fail(of->state, status, NULL);
            return false;
        }
        result->dtype = bp_dtype_to_dlpack(dtype);
        of->results++;
        if (runs && !core_result_new(of->state, &of->fresh[i], result, inputs, 1)) {
            return false;
        }
    }
    /* The tensors of the call are set last, because bp_rnn_shape() refuses those that have no memory yet. */
    for (int which = 0, i = 0; which < BP_RNN_TENSORS; which++) {
        if (wanted >> which & 1) {
            set_tensor(of, which, &of->result[i++]);
        }
    }
    return true;
}

static void release(layer *of) {
    for (int i = 0; i < of->count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    for (int i = 0; i < RESULTS; i++) {
        core_result_drop(&of->fresh[i]);
    }
    Py_CLEAR(of->options_owner);
}

static bp_status explain(const void *call, bp_explanation **explanation) {
    const layer *of = call;
    return bp_rnn_explain(explanation, of->options, &of->call);
}

static PyObject *run(layer *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_rnn_run(of->options, &of->call);
    core_lock(&unlocked);
    if (status != BP_OK) {
        return core_fail_explained(of->state, status, explain, of);
    }
    PyObject *tuple = PyTuple_New(of->results);
    for (int i = 0; tuple && i < of->results; i++) {
        PyObject *result = core_result_take(of->state, &of->fresh[i]);
        if (!result) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, result);
        }
    }
    return tuple;
}

PyObject *core_rnn(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {"", "", "", "", "", "", "settings", "explains", NULL};
    PyObject *arrays, *settings, *result = NULL;
    int pass, mode, explains = 0;
    unsigned wanted;
    layer of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iiipO!IO|p:rnn", words, &pass, &mode, &of.call.directions,
                                     &of.call.reverse, &PyTuple_Type, &arrays, &wanted, &settings, &explains)) {
        return NULL;
    }
    of.call.pass = (bp_rnn_pass)pass; /* the package passes valid ones only */
    of.call.mode = (bp_rnn_mode)mode;
    if (core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, arrays, !explains) &&
        make_results(&of, wanted, !explains)) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
