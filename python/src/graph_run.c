/* graph_run.c - runs and explains graphs for Python. */
#include "graph.h"

enum { NEAR_OUTPUTS = 4 };

/* A result: new memory, or the caller's array. */
typedef struct output {
    DLTensor tensor;
    core_result fresh;
    PyObject *array; /* of the caller, borrowed; or NULL */
    operand given;   /* its memory */
} output;

typedef struct graph_call {
    const graph *of;
    core_state *state;
    core_operands operands;
    output *outputs;
    DLTensor **tensors; /* of the outputs */
    int output_count;   /* that hold something */
    const bp_options *options;
    PyObject *options_owner;
    output near_outputs[NEAR_OUTPUTS];
    DLTensor *near_tensors[NEAR_OUTPUTS];
} graph_call;

/* ---- Arguments ---- */

static bool check_count(const graph_call *call, PyObject *arrays) {
    if (!call->of->outputs) {
        core_refuse(call->state, call->state->bad_value, BP_E_ARGUMENT, "the graph is not finished");
        return false;
    }
    if (PyTuple_Size(arrays) != call->of->input_count) {
        core_refuse(call->state, call->state->bad_type, BP_E_ARGUMENT, "the graph takes %d arrays, but got %zd",
                    call->of->input_count, PyTuple_Size(arrays));
        return false;
    }
    return true;
}

static bool allocate_outputs(graph_call *call) {
    const size_t count = (size_t)call->of->output_count;
    if (count > NEAR_OUTPUTS) {
        call->outputs = PyMem_Malloc(count * sizeof *call->outputs);
        call->tensors = PyMem_Malloc(count * sizeof(DLTensor *));
    }
    if (call->outputs && call->tensors) {
        return true;
    }
    PyErr_NoMemory();
    return false;
}

static bool take_out(graph_call *call, output *to, const char *name, PyObject *array, bool runs) {
    if (!core_operand(call->state, &to->given, array, name, CORE_WRITES | (runs ? 0 : CORE_DESCRIBES))) {
        return false;
    }
    to->array = array;
    to->tensor = to->given.tensor;
    return true;
}

/* Makes the memory of an output; none if the call is explained. Arrays are of the type of the first input. */
static bool make_output(graph_call *call, output *to, const graph_output *of, bool runs) {
    const operand *like = call->operands.count > 0 ? core_operands_like(&call->operands) : NULL;
    to->array = NULL;
    to->fresh = (core_result){0};
    to->tensor = (DLTensor){.device = {kDLCPU, 0},
                            .ndim = of->port.ndim,
                            .dtype = bp_dtype_to_dlpack(of->port.dtype),
                            .shape = (int64_t *)(uintptr_t)of->port.shape,
                            .strides = of->strides};
    return !runs || core_result_new(call->state, &to->fresh, &to->tensor, &like, like ? 1 : 0);
}

/* `out` is None, an array for the only output, or a tuple or list with an array or None for each. Returns a new
 * reference to a tuple, or None; NULL with an exception set. */
static PyObject *tuple_of_out(const graph_call *call, PyObject *out) {
    const int count = call->of->output_count;
    if (out == Py_None) {
        Py_INCREF(out);
        return out;
    }
    if (!PyTuple_Check(out) && !PyList_Check(out)) {
        if (count == 1) {
            return PyTuple_Pack(1, out);
        }
        return core_refuse(call->state, call->state->bad_type, BP_E_ARGUMENT,
                           "out: expects a tuple of %d arrays, but got %R", count, (PyObject *)Py_TYPE(out));
    }
    PyObject *tuple = PySequence_Tuple(out);
    if (tuple && PyTuple_Size(tuple) != count) {
        core_refuse(call->state, call->state->bad_value, BP_E_ARGUMENT, "out: has %zd arrays; the graph has %d outputs",
                    PyTuple_Size(tuple), count);
        Py_CLEAR(tuple);
    }
    return tuple;
}

static bool place_outputs(graph_call *call, PyObject *out, bool runs) {
    if (!allocate_outputs(call)) {
        return false;
    }
    for (; call->output_count < call->of->output_count; call->output_count++) {
        const int i = call->output_count;
        const graph_output *of = &call->of->outputs[i];
        PyObject *array = out == Py_None ? Py_None : PyTuple_GetItem(out, i);
        if (array != Py_None ? !take_out(call, &call->outputs[i], of->port.name, array, runs)
                             : !make_output(call, &call->outputs[i], of, runs)) {
            return false;
        }
        call->tensors[i] = &call->outputs[i].tensor;
    }
    return true;
}

static void begin_call(graph_call *call, PyObject *self) {
    call->of = (const graph *)self;
    call->state = core_state_of_object(self);
    call->outputs = call->near_outputs;
    call->tensors = call->near_tensors;
    call->output_count = 0;
    call->options = NULL;
    call->options_owner = NULL;
    core_operands_begin(&call->operands);
    core_leave_dropped();
}

static void end_call(graph_call *call) {
    for (int i = 0; i < call->output_count; i++) {
        if (call->outputs[i].array) {
            core_operand_release(&call->outputs[i].given);
        } else {
            core_result_drop(&call->outputs[i].fresh);
        }
    }
    if (call->outputs != call->near_outputs) {
        PyMem_Free(call->outputs);
        PyMem_Free((void *)call->tensors);
    }
    core_operands_release(&call->operands);
    Py_CLEAR(call->options_owner);
}

/* ---- Results ---- */

/* Returns an output in the type that the inputs have. */
static PyObject *take_output(graph_call *call, output *of, PyObject *arrays) {
    if (of->array) {
        Py_INCREF(of->array);
        return of->array;
    }
    PyObject *result = core_result_take(call->state, &of->fresh);
    if (!result || (PyObject *)Py_TYPE(result) != call->state->tensor_type || !call->state->convert ||
        PyTuple_Size(arrays) == 0) {
        return result;
    }
    PyObject *made = PyObject_CallFunctionObjArgs(call->state->convert, result, PyTuple_GetItem(arrays, 0), NULL);
    Py_DECREF(result);
    return made;
}

static PyObject *take_outputs(graph_call *call, PyObject *arrays) {
    const int count = call->output_count;
    if (count == 1) {
        return take_output(call, &call->outputs[0], arrays);
    }
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *result = take_output(call, &call->outputs[i], arrays);
        if (!result) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, result);
        }
    }
    return tuple;
}

/* ---- Calls ---- */

static bp_status explain_graph(const void *given, bp_explanation **explanation) {
    const graph_call *call = given;
    return bp_graph_explain(explanation, call->options, call->of->graph, call->operands.tensors,
                            (const DLTensor *const *)call->tensors);
}

static PyObject *run_graph(graph_call *call, PyObject *arrays) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_graph_run(call->options, call->of->graph, call->operands.tensors, call->tensors);
    core_lock(&unlocked);
    return status == BP_OK ? take_outputs(call, arrays) : core_fail_explained(call->state, status, explain_graph, call);
}

static PyObject *call_graph(PyObject *self, PyObject *arrays, PyObject *names, bool runs) {
    static char *words[] = {"out", "settings", NULL};
    graph_call call;
    PyObject *none = names ? PyTuple_New(0) : NULL, *result = NULL, *given = Py_None, *settings = Py_None;
    const bool parsed =
        !names || (none && PyArg_ParseTupleAndKeywords(none, names, "|$OO:Graph", words, &given, &settings));
    Py_XDECREF(none);
    if (!parsed) {
        return NULL;
    }
    begin_call(&call, self);
    PyObject *out = check_count(&call, arrays) ? tuple_of_out(&call, given) : NULL;
    const unsigned access = runs ? CORE_READS : CORE_DESCRIBES;
    if (out && core_options(call.state, settings, &call.options, &call.options_owner) &&
        core_operands_read_named(call.state, &call.operands, arrays, call.of->input_names, access) &&
        place_outputs(&call, out, runs)) {
        result = runs ? run_graph(&call, arrays) : core_explanation(call.state, explain_graph, &call);
    }
    end_call(&call);
    Py_XDECREF(out);
    return core_finish(call.state, result);
}

PyObject *core_graph_call(PyObject *self, PyObject *arrays, PyObject *names) {
    return call_graph(self, arrays, names, true);
}

PyObject *core_graph_explain(PyObject *self, PyObject *arrays, PyObject *names) {
    return call_graph(self, arrays, names, false);
}
