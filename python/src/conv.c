/* conv.c - runs convolutions and their gradients for Python. The names and defaults of torch.nn.functional and
 * torch.nn.grad are in python/backplane/nn/. */
#include "core.h"

#include <string.h>

enum { ARRAYS = 3 };

/* One call, from its arguments to its result. */
typedef struct convolution {
    core_state *state;
    bp_conv_call call;
    int64_t stride[BP_MAX_NDIM], padding[BP_MAX_NDIM], padding_end[BP_MAX_NDIM], dilation[BP_MAX_NDIM],
        output_padding[BP_MAX_NDIM];
    operand arrays[ARRAYS], output; /* those that are read, and the caller's array for the result */
    int count;                      /* of arrays that are held */
    core_result fresh;              /* memory of the result */
    DLTensor result;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} convolution;

/* Reads "same", "valid", or a tuple. */
static bool read_padding(convolution *of, PyObject *padding) {
    if (!PyUnicode_Check(padding)) {
        return core_numbers_each(of->state, padding, "padding", of->call.ndim, of->padding, &of->call.padding);
    }
    const bool same = PyUnicode_CompareWithASCIIString(padding, "same") == 0;
    if (!same && PyUnicode_CompareWithASCIIString(padding, "valid") != 0) {
        core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT,
                    "padding: expects 'same', 'valid' or numbers, but got %R", padding);
        return false;
    }
    of->call.mode = same ? BP_CONV_SAME : BP_CONV_VALID;
    return true;
}

/* Takes the arrays that the pass reads. */
static bool read_arrays(convolution *of, PyObject *arrays, bool runs) {
    static const char *const names[][ARRAYS] = {[BP_CONV_FORWARD] = {"input", "weight", "bias"},
                                                [BP_CONV_INPUT] = {"grad_output", "weight", ""},
                                                [BP_CONV_WEIGHT] = {"input", "grad_output", ""}};
    const DLTensor **const places[][ARRAYS] = {[BP_CONV_FORWARD] = {&of->call.input, &of->call.weight, &of->call.bias},
                                               [BP_CONV_INPUT] = {&of->call.output, &of->call.weight, &of->call.bias},
                                               [BP_CONV_WEIGHT] = {&of->call.input, &of->call.output, &of->call.bias}};
    for (Py_ssize_t i = 0; i < PyTuple_Size(arrays) && i < ARRAYS; i++) {
        PyObject *array = PyTuple_GetItem(arrays, i);
        if (array == Py_None) {
            continue;
        }
        operand *to = &of->arrays[of->count];
        if (!core_operand(of->state, to, array, names[of->call.pass][i], runs ? CORE_READS : CORE_DESCRIBES)) {
            return false;
        }
        of->count++;
        *places[of->call.pass][i] = &to->tensor;
    }
    return true;
}

/* Returns whether the channels of an image follow its positions in memory. */
static bool is_channels_last(const DLTensor *image, int positions) {
    const int channel = image->ndim - positions - 1;
    return channel >= 0 && image->strides && image->shape[channel] > 1 && image->strides[channel] == 1 &&
           image->strides[image->ndim - 1] == image->shape[channel];
}

/* Gives a result the layout of the image that it is computed from, as PyTorch does. */
static void follow_layout(convolution *of, const DLTensor *image) {
    const int positions = of->call.ndim, channel = of->result.ndim - positions - 1;
    if (of->call.pass == BP_CONV_WEIGHT || channel < 0 || !is_channels_last(image, positions)) {
        return;
    }
    int64_t step = of->result.shape[channel];
    of->strides[channel] = 1;
    for (int d = of->result.ndim - 1; d >= 0; d--) {
        if (d != channel) {
            of->strides[d] = step;
            step *= of->result.shape[d];
        }
    }
    of->result.strides = of->strides;
}

/* Sets the tensor that the pass writes, of the given shape or of that of the output. */
static bool place_result(convolution *of, PyObject *shape, PyObject *out, bool runs) {
    bp_dtype dtype = bp_dtype_from_dlpack(of->arrays[0].tensor.dtype);
    int ndim;
    const DLTensor **const place = of->call.pass == BP_CONV_FORWARD ? &of->call.output
                                   : of->call.pass == BP_CONV_INPUT ? &of->call.input
                                                                    : &of->call.weight;
    *place = &of->result;
    if (out != Py_None) {
        const bool good = core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES));
        of->result = of->output.tensor;
        return good;
    }
    if (shape != Py_None) {
        if (!core_numbers(of->state, shape, "size", of->shape, &ndim)) {
            return false;
        }
    } else {
        const bp_status status = bp_conv_shape(&of->call, &dtype, &ndim, of->shape);
        if (status != BP_OK) {
            core_fail(of->state, status, NULL);
            return false;
        }
    }
    const operand *arrays[ARRAYS];
    for (int i = 0; i < of->count; i++) {
        arrays[i] = &of->arrays[i];
    }
    of->result = (DLTensor){
        .device = of->arrays[0].tensor.device, .ndim = ndim, .dtype = bp_dtype_to_dlpack(dtype), .shape = of->shape};
    follow_layout(of, &of->arrays[0].tensor);
    return !runs || core_result_new(of->state, &of->fresh, &of->result, arrays, of->count);
}

static void release(convolution *of) {
    for (int i = 0; i < of->count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    core_operand_release(&of->output);
    core_result_drop(&of->fresh);
    Py_CLEAR(of->options_owner);
}

static bp_status explain(const void *call, bp_explanation **explanation) {
    const convolution *of = call;
    return bp_conv_explain(explanation, of->options, &of->call);
}

static PyObject *run(convolution *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_conv_run(of->options, &of->call);
    core_lock(&unlocked);
    if (status != BP_OK) {
        return core_fail_explained(of->state, status, explain, of);
    }
    if (of->fresh.array || of->fresh.memory) {
        return core_result_take(of->state, &of->fresh);
    }
    Py_RETURN_NONE;
}

PyObject *core_conv(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {
        "",       "",     "",    "",         "",         "stride", "padding", "dilation", "output_padding",
        "groups", "relu", "out", "settings", "explains", NULL};
    PyObject *arrays, *shape, *stride, *padding, *dilation, *output_padding, *out, *settings, *result = NULL;
    int pass, transposed, relu, explains = 0;
    long long groups;
    convolution of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iipO!OOOOOLpOO|p:conv", words, &pass, &of.call.ndim,
                                     &transposed, &PyTuple_Type, &arrays, &shape, &stride, &padding, &dilation,
                                     &output_padding, &groups, &relu, &out, &settings, &explains)) {
        return NULL;
    }
    of.call.pass = (bp_conv_pass)pass; /* the package passes valid ones only */
    of.call.transposed = transposed;
    of.call.groups = groups == 0 ? -1 : groups; /* 0 is no default here */
    of.call.activation = relu ? BP_UNARY_RELU : BP_UNARY_COPY;
    if (core_numbers_each(of.state, stride, "stride", of.call.ndim, of.stride, &of.call.stride) &&
        read_padding(&of, padding) &&
        core_numbers_each(of.state, dilation, "dilation", of.call.ndim, of.dilation, &of.call.dilation) &&
        core_numbers_each(of.state, output_padding, "output_padding", of.call.ndim, of.output_padding,
                          &of.call.output_padding) &&
        core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, arrays, !explains) &&
        place_result(&of, shape, out, !explains)) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
