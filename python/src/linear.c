/* linear.c - runs linear layers and their gradients for Python. */
#include "core.h"

enum { INPUT, WEIGHT, BIAS, OUTPUT, TENSORS };

/* One call. Tensors that the caller gives are held; the others are results. */
typedef struct layer {
    core_state *state;
    bp_linear_call call;
    operand arrays[TENSORS];
    bool held[TENSORS];
    core_result fresh[TENSORS];
    DLTensor made[TENSORS];
    int64_t shape[TENSORS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} layer;

static const DLTensor **place_of(layer *of, int i) {
    const DLTensor **const places[] = {&of->call.input, &of->call.weight, &of->call.bias, &of->call.output};
    return places[i];
}

static bool hold(layer *of, int i, PyObject *array, const char *name, unsigned access) {
    if (array == Py_None) {
        return true;
    }
    of->held[i] = core_operand(of->state, &of->arrays[i], array, name, access);
    *place_of(of, i) = &of->arrays[i].tensor;
    return of->held[i];
}

/* Makes a result of `like`'s type: the leading dimensions of `rows`, if it is not NULL, and `last`. */
static bool make(layer *of, int i, const DLTensor *rows, int64_t first, int64_t last, bool runs) {
    const int owner = of->held[INPUT] ? INPUT : OUTPUT;
    const operand *arrays[] = {&of->arrays[owner]};
    int ndim = 0;
    for (; rows && ndim + 1 < rows->ndim && ndim < BP_MAX_NDIM - 1; ndim++) {
        of->shape[i][ndim] = rows->shape[ndim];
    }
    if (first >= 0) {
        of->shape[i][ndim++] = first;
    }
    of->shape[i][ndim++] = last;
    of->made[i] = (DLTensor){.device = of->arrays[owner].tensor.device,
                             .ndim = ndim,
                             .dtype = of->arrays[owner].tensor.dtype,
                             .shape = of->shape[i]};
    *place_of(of, i) = &of->made[i];
    return !runs || core_result_new(of->state, &of->fresh[i], &of->made[i], arrays, 1);
}

static int64_t last_of(const DLTensor *tensor) {
    return tensor->ndim > 0 ? tensor->shape[tensor->ndim - 1] : 1;
}

static bool make_results(layer *of, bool with_bias, bool runs) {
    const DLTensor *input = of->call.input, *weight = of->call.weight, *output = of->call.output;
    switch (of->call.pass) {
    case BP_LINEAR_FORWARD:
        return output || make(of, OUTPUT, input, -1, weight->ndim > 0 ? weight->shape[0] : 1, runs);
    case BP_LINEAR_INPUT:
        return make(of, INPUT, output, -1, last_of(weight), runs);
    default:
        return make(of, WEIGHT, NULL, last_of(output), last_of(input), runs) &&
               (!with_bias || make(of, BIAS, NULL, -1, last_of(output), runs));
    }
}

static void release(layer *of) {
    for (int i = 0; i < TENSORS; i++) {
        if (of->held[i]) {
            core_operand_release(&of->arrays[i]);
        }
        core_result_drop(&of->fresh[i]);
    }
    Py_CLEAR(of->options_owner);
}

static bp_status explain(const void *call, bp_explanation **explanation) {
    const layer *of = call;
    return bp_linear_explain(explanation, of->options, &of->call);
}

/* Returns the new arrays: None, one, or a tuple of weight and bias. */
static PyObject *take(layer *of) {
    PyObject *made[2] = {NULL, NULL};
    int count = 0;
    for (int i = 0; i < TENSORS; i++) {
        if (of->fresh[i].array || of->fresh[i].memory) {
            made[count] = core_result_take(of->state, &of->fresh[i]);
            if (!made[count]) {
                Py_CLEAR(made[0]);
                return NULL;
            }
            count++;
        }
    }
    if (count == 0) {
        Py_RETURN_NONE;
    }
    return count == 1 ? made[0] : Py_BuildValue("(NN)", made[0], made[1]);
}

static PyObject *run(layer *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_linear_run(of->options, &of->call);
    core_lock(&unlocked);
    return status == BP_OK ? take(of) : core_fail_explained(of->state, status, explain, of);
}

/* linear(pass, input, weight, bias, output, with_bias, activation, settings, explains): `output` is the gradient by it,
 * or the array that a forward call writes. */
PyObject *core_linear(PyObject *module, PyObject *arguments) {
    PyObject *array[TENSORS], *settings, *result = NULL;
    const char *activation;
    int pass, with_bias, explains;
    layer of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTuple(arguments, "iOOOOpzOp:linear", &pass, &array[INPUT], &array[WEIGHT], &array[BIAS],
                          &array[OUTPUT], &with_bias, &activation, &settings, &explains)) {
        return NULL;
    }
    of.call.pass = (bp_linear_pass)pass; /* the package passes valid ones only */
    const unsigned describes = explains ? CORE_DESCRIBES : 0, reads = CORE_READS | describes;
    const bool forward = of.call.pass == BP_LINEAR_FORWARD;
    if (core_activation(activation, &of.call.activation) &&
        core_options(of.state, settings, &of.options, &of.options_owner) &&
        hold(&of, INPUT, array[INPUT], "input", reads) && hold(&of, WEIGHT, array[WEIGHT], "weight", reads) &&
        hold(&of, BIAS, array[BIAS], "bias", reads) &&
        hold(&of, OUTPUT, array[OUTPUT], forward ? "out" : "grad_output", forward ? CORE_WRITES | describes : reads) &&
        make_results(&of, with_bias, !explains)) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
