/* norm.c - runs batch normalization and its gradients for Python. The names and defaults of torch.nn.functional are in
 * python/backplane/nn/. */
#include "core.h"

enum { RESULTS = 3, ARRAYS = 8 };

/* One call, from its arguments to its results. */
typedef struct normalization {
    core_state *state;
    bp_batch_norm_call call;
    operand arrays[ARRAYS], output; /* those of the arguments, and the caller's array for the result */
    int count;                      /* of arrays that are held */
    core_result fresh[RESULTS];
    DLTensor result[RESULTS];
    int results;
    int64_t shape[RESULTS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} normalization;

/* Takes the arrays that are not None. Running statistics are written in training. */
static bool read_arrays(normalization *of, PyObject *const arrays[ARRAYS], bool runs) {
    static const char *const names[ARRAYS] = {"input",        "weight",      "bias", "grad_output",
                                              "running_mean", "running_var", "mean", "inverse_std"};
    const DLTensor **const places[ARRAYS] = {&of->call.input,  &of->call.weight,       &of->call.bias,
                                             &of->call.output, &of->call.running_mean, &of->call.running_var,
                                             &of->call.mean,   &of->call.inverse_std};
    enum { RUNNING_MEAN = 4, RUNNING_VAR };
    for (int i = 0; i < ARRAYS; i++) {
        const bool writes = of->call.pass == BP_BATCH_NORM_TRAINING && (i == RUNNING_MEAN || i == RUNNING_VAR);
        const unsigned access = (writes ? CORE_WRITES : CORE_READS) | (runs ? 0 : CORE_DESCRIBES);
        if (arrays[i] == Py_None) {
            continue;
        }
        if (!core_operand(of->state, &of->arrays[of->count], arrays[i], names[i], access)) {
            return false;
        }
        *places[i] = &of->arrays[of->count++].tensor;
    }
    return true;
}

/* Makes the next result: of the input's shape and type, or with one element of the parameters' type for each channel.
 */
static bool add_result(normalization *of, const DLTensor **place, bool image, DLDataType type, bool runs) {
    const DLTensor *input = of->call.input;
    const operand *arrays[] = {&of->arrays[0]};
    const int i = of->results++;
    for (int d = 0; d < input->ndim && d < BP_MAX_NDIM; d++) {
        of->shape[i][d] = image ? input->shape[d] : input->shape[1];
    }
    of->result[i] = (DLTensor){
        .device = of->arrays[0].tensor.device, .ndim = image ? input->ndim : 1, .dtype = type, .shape = of->shape[i]};
    *place = &of->result[i];
    return !runs || core_result_new(of->state, &of->fresh[i], &of->result[i], arrays, 1);
}

/* The type of weight and statistics: that of the first one which is given, otherwise f32 for shorter inputs. */
static DLDataType parameter_type(const normalization *of) {
    const DLTensor *const given[] = {of->call.weight, of->call.bias, of->call.running_mean, of->call.mean};
    for (int i = 0; i < 4; i++) {
        if (given[i]) {
            return given[i]->dtype;
        }
    }
    const bp_dtype dtype = bp_dtype_from_dlpack(of->call.input->dtype);
    return dtype == BP_F16 || dtype == BP_BF16 ? bp_dtype_to_dlpack(BP_F32) : of->call.input->dtype;
}

static bool place_results(normalization *of, PyObject *out, bool runs) {
    const DLTensor *input = of->call.input;
    const bool backward = of->call.pass == BP_BATCH_NORM_BACKWARD;
    if (!input || input->ndim < 2) {
        core_refuse(of->state, of->state->bad_value, BP_E_SHAPE, "batch_norm: input must have 2 to 5 dimensions");
        return false;
    }
    const DLDataType type = parameter_type(of);
    const DLTensor **const image = backward ? &of->call.input_gradient : &of->call.output;
    if (out == Py_None) {
        if (!add_result(of, image, true, input->dtype, runs)) {
            return false;
        }
    } else {
        if (!core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES))) {
            return false;
        }
        of->results = 1;
        *image = &of->output.tensor;
    }
    if (backward) {
        return add_result(of, &of->call.weight_gradient, false, type, runs) &&
               add_result(of, &of->call.bias_gradient, false, type, runs);
    }
    return of->call.pass == BP_BATCH_NORM_INFERENCE || (add_result(of, &of->call.mean, false, type, runs) &&
                                                        add_result(of, &of->call.inverse_std, false, type, runs));
}

static void release(normalization *of) {
    for (int i = 0; i < of->count; i++) {
        core_operand_release(&of->arrays[i]);
    }
    core_operand_release(&of->output);
    for (int i = 0; i < RESULTS; i++) {
        core_result_drop(&of->fresh[i]);
    }
    Py_CLEAR(of->options_owner);
}

static bp_status explain(const void *call, bp_explanation **explanation) {
    const normalization *of = call;
    return bp_batch_norm_explain(explanation, of->options, &of->call);
}

static PyObject *run(normalization *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_batch_norm_run(of->options, &of->call);
    core_lock(&unlocked);
    return status == BP_OK ? core_results_take(of->state, of->fresh, of->results)
                           : core_fail_explained(of->state, status, explain, of);
}

PyObject *core_batch_norm(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {"", "",    "",         "",     "",    "",         "",         "",
                            "", "eps", "momentum", "relu", "out", "settings", "explains", NULL};
    PyObject *arrays[ARRAYS], *out, *settings, *result = NULL;
    int pass, explains = 0;
    normalization of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iOOOOOOOOddpOO|p:batch_norm", words, &pass, &arrays[0],
                                     &arrays[1], &arrays[2], &arrays[3], &arrays[4], &arrays[5], &arrays[6], &arrays[7],
                                     &of.call.eps, &of.call.momentum, &of.call.relu, &out, &settings, &explains)) {
        return NULL;
    }
    of.call.pass = (bp_batch_norm_pass)pass; /* the package passes valid ones only */
    if (core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, arrays, !explains) &&
        place_results(&of, out, !explains)) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
