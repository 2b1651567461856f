/* pool.c - runs pooling and its gradients for Python. The names and defaults of torch.nn.functional are in
 * python/backplane/nn/. */
#include "core.h"

enum { OUTPUT, INDICES, RESULTS };

/* One call, from its arguments to its results. */
typedef struct pooling {
    core_state *state;
    bp_pool_call call;
    int64_t output_size[BP_MAX_NDIM], kernel[BP_MAX_NDIM], stride[BP_MAX_NDIM], padding[BP_MAX_NDIM],
        dilation[BP_MAX_NDIM];
    operand arrays[2], output; /* those that are read, and the caller's array for the result */
    int count;                 /* of arrays that are held */
    core_result fresh[RESULTS];
    DLTensor result[RESULTS];
    int64_t shape[RESULTS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} pooling;

/* Takes the arrays that the pass reads: the input, or the gradient and perhaps the indices. */
static bool read_arrays(pooling *of, PyObject *first, PyObject *indices, bool runs) {
    const unsigned access = runs ? CORE_READS : CORE_DESCRIBES;
    const bool forward = of->call.pass == BP_POOL_FORWARD;
    if (!core_operand(of->state, &of->arrays[of->count], first, forward ? "input" : "grad_output", access)) {
        return false;
    }
    *(forward ? &of->call.input : &of->call.output) = &of->arrays[of->count++].tensor;
    if (indices == Py_None) {
        return true;
    }
    if (!core_operand(of->state, &of->arrays[of->count], indices, "indices", access)) {
        return false;
    }
    of->call.indices = &of->arrays[of->count++].tensor;
    return true;
}

static bool make_result(pooling *of, int which, bp_dtype dtype, int ndim, bool runs) {
    const operand *arrays[] = {&of->arrays[0]};
    of->result[which] = (DLTensor){.device = of->arrays[0].tensor.device,
                                   .ndim = ndim,
                                   .dtype = bp_dtype_to_dlpack(dtype),
                                   .shape = of->shape[which]};
    return !runs || core_result_new(of->state, &of->fresh[which], &of->result[which], arrays, 1);
}

/* Finds the shape of the results: that of the input, or that of the output. */
static bool find_shape(pooling *of, PyObject *size, bp_dtype *dtype, int *ndim) {
    *dtype = bp_dtype_from_dlpack(of->arrays[0].tensor.dtype);
    if (size != Py_None) {
        return core_numbers(of->state, size, "input_size", of->shape[OUTPUT], ndim);
    }
    const bp_status status = bp_pool_shape(&of->call, dtype, ndim, of->shape[OUTPUT]);
    for (int d = 0; status == BP_OK && d < *ndim; d++) {
        of->shape[INDICES][d] = of->shape[OUTPUT][d];
    }
    return status == BP_OK || (core_fail(of->state, status, NULL), false);
}

/* Sets the tensors that the pass writes. */
static bool place_results(pooling *of, PyObject *size, bool with_indices, PyObject *out, bool runs) {
    bp_dtype dtype;
    int ndim;
    if (!find_shape(of, size, &dtype, &ndim)) {
        return false;
    }
    *(of->call.pass == BP_POOL_FORWARD ? &of->call.output : &of->call.input) = &of->result[OUTPUT];
    if (with_indices) {
        of->call.indices = &of->result[INDICES];
        if (!make_result(of, INDICES, BP_I64, ndim, runs)) {
            return false;
        }
    }
    if (out == Py_None) {
        return make_result(of, OUTPUT, dtype, ndim, runs);
    }
    const bool good = core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES));
    of->result[OUTPUT] = of->output.tensor;
    return good;
}

static void release(pooling *of) {
    for (int i = 0; i < of->count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    core_operand_release(&of->output);
    core_result_drop(&of->fresh[OUTPUT]);
    core_result_drop(&of->fresh[INDICES]);
    Py_CLEAR(of->options_owner);
}

static bp_status explain(const void *call, bp_explanation **explanation) {
    const pooling *of = call;
    return bp_pool_explain(explanation, of->options, &of->call);
}

static PyObject *take(pooling *of, int which) {
    if (of->fresh[which].array || of->fresh[which].memory) {
        return core_result_take(of->state, &of->fresh[which]);
    }
    Py_RETURN_NONE;
}

static PyObject *run(pooling *of, bool with_indices) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_pool_run(of->options, &of->call);
    core_lock(&unlocked);
    if (status != BP_OK) {
        return core_fail_explained(of->state, status, explain, of);
    }
    PyObject *output = take(of, OUTPUT);
    if (!output || !with_indices) {
        return output;
    }
    PyObject *indices = take(of, INDICES), *both = indices ? PyTuple_Pack(2, output, indices) : NULL;
    Py_XDECREF(indices);
    Py_DECREF(output);
    return both;
}

PyObject *core_pool(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {"",
                            "",
                            "",
                            "",
                            "",
                            "",
                            "",
                            "output_size",
                            "kernel_size",
                            "stride",
                            "padding",
                            "dilation",
                            "ceil_mode",
                            "exclude_padding",
                            "divisor",
                            "out",
                            "settings",
                            "explains",
                            NULL};
    PyObject *first, *given, *size, *output_size, *kernel, *stride, *padding, *dilation, *out, *settings,
        *result = NULL;
    int average, backward, with_indices, explains = 0;
    long long divisor;
    pooling of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "ppiOOpOOOOOOppLOO|p:pool", words, &average, &backward,
                                     &of.call.ndim, &first, &given, &with_indices, &size, &output_size, &kernel,
                                     &stride, &padding, &dilation, &of.call.ceil_mode, &of.call.exclude_padding,
                                     &divisor, &out, &settings, &explains)) {
        return NULL;
    }
    of.call.kind = average ? BP_POOL_AVERAGE : BP_POOL_MAX;
    of.call.pass = backward ? BP_POOL_BACKWARD : BP_POOL_FORWARD;
    of.call.divisor = divisor;
    if (core_numbers_each(of.state, output_size, "output_size", of.call.ndim, of.output_size, &of.call.output_size) &&
        core_numbers_each(of.state, kernel, "kernel_size", of.call.ndim, of.kernel, &of.call.kernel) &&
        core_numbers_each(of.state, stride, "stride", of.call.ndim, of.stride, &of.call.stride) &&
        core_numbers_each(of.state, padding, "padding", of.call.ndim, of.padding, &of.call.padding) &&
        core_numbers_each(of.state, dilation, "dilation", of.call.ndim, of.dilation, &of.call.dilation) &&
        core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, first, given, !explains) &&
        place_results(&of, size, with_indices != 0, out, !explains)) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of, with_indices != 0);
    }
    release(&of);
    return core_finish(of.state, result);
}
