/* layer_norm.c - runs layer, RMS and group normalization and their gradients for Python. The names and defaults of
 * torch.nn.functional are in python/backplane/nn/. */
#include "core.h"

enum { RESULTS = 3, ARRAYS = 6 };

/* One call, from its arguments to its results. */
typedef struct normalization {
    core_state *state;
    bp_layer_norm_call call;
    operand arrays[ARRAYS], output; /* those of the arguments, and the caller's array for the result */
    int count;                      /* of arrays that are held */
    core_result fresh[RESULTS];
    DLTensor result[RESULTS];
    int results;
    int64_t shape[RESULTS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} normalization;

/* Takes the arrays that are not None. */
static bool read_arrays(normalization *of, PyObject *const arrays[ARRAYS], bool runs) {
    static const char *const names[ARRAYS] = {"input", "weight", "bias", "grad_output", "mean", "inverse_std"};
    const DLTensor **const places[ARRAYS] = {&of->call.input,  &of->call.weight, &of->call.bias,
                                             &of->call.output, &of->call.mean,   &of->call.inverse_std};
    for (int i = 0; i < ARRAYS; i++) {
        if (arrays[i] == Py_None) {
            continue;
        }
        if (!core_operand(of->state, &of->arrays[of->count], arrays[i], names[i],
                          CORE_READS | (runs ? 0 : CORE_DESCRIBES))) {
            return false;
        }
        *places[i] = &of->arrays[of->count++].tensor;
    }
    return true;
}

/* The distance of 1 to the next number of the type that PyTorch computes in: the default of eps for rms_norm. */
static double machine_epsilon(const DLTensor *input) {
    return bp_dtype_from_dlpack(input->dtype) == BP_F64 ? 0x1p-52 : 0x1p-23; /* f16 and bf16 are computed in f32 */
}

static bool add_result(normalization *of, const DLTensor **place, int ndim, const int64_t *shape, DLDataType type,
                       bool runs) {
    const operand *arrays[] = {&of->arrays[0]};
    const int i = of->results++;
    for (int d = 0; d < ndim; d++) {
        of->shape[i][d] = shape[d];
    }
    of->result[i] =
        (DLTensor){.device = of->arrays[0].tensor.device, .ndim = ndim, .dtype = type, .shape = of->shape[i]};
    *place = &of->result[i];
    return !runs || core_result_new(of->state, &of->fresh[i], &of->result[i], arrays, 1);
}

/* The type of weights and statistics: that of the first one which is given, otherwise f32 for shorter inputs. */
static DLDataType parameter_type(const normalization *of) {
    const DLTensor *const given[] = {of->call.weight, of->call.bias, of->call.mean, of->call.inverse_std};
    for (int i = 0; i < 4; i++) {
        if (given[i]) {
            return given[i]->dtype;
        }
    }
    const bp_dtype dtype = bp_dtype_from_dlpack(of->call.input->dtype);
    return dtype == BP_F16 || dtype == BP_BF16 ? bp_dtype_to_dlpack(BP_F32) : of->call.input->dtype;
}

/* The sizes of weights and of statistics. */
typedef struct sizes {
    int weights, rows;
    const int64_t *weight, *row;
    int64_t groups[2];
} sizes;

static bool find_sizes(const normalization *of, sizes *s) {
    const DLTensor *input = of->call.input;
    const bool group = of->call.kind == BP_GROUP_NORM;
    if (!input || input->ndim > BP_MAX_NDIM || input->ndim < (group ? 2 : of->call.dims) || of->call.dims < 0) {
        core_refuse(of->state, of->state->bad_value, BP_E_SHAPE, "layer_norm: input must have %d dimensions or more",
                    group ? 2 : (int)of->call.dims);
        return false;
    }
    if (group && of->call.groups < 1) {
        core_refuse(of->state, of->state->bad_value, BP_E_ARGUMENT,
                    "layer_norm: the number of groups must be at least 1");
        return false;
    }
    s->groups[0] = input->shape[0];
    s->groups[1] = of->call.groups;
    s->rows = group ? 2 : input->ndim - of->call.dims;
    s->row = group ? s->groups : input->shape;
    s->weights = group ? 1 : of->call.dims;
    s->weight = &input->shape[group ? 1 : s->rows];
    return true;
}

static bool place_results(normalization *of, PyObject *out, bool statistics, bool runs) {
    const DLTensor *input = of->call.input;
    const bool backward = of->call.pass == BP_LAYER_NORM_BACKWARD, rms = of->call.kind == BP_RMS_NORM;
    const DLTensor **const image = backward ? &of->call.input_gradient : &of->call.output;
    sizes s;
    if (!find_sizes(of, &s)) {
        return false;
    }
    const DLDataType type = parameter_type(of);
    if (out == Py_None) {
        if (!add_result(of, image, input->ndim, input->shape, input->dtype, runs)) {
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
        return add_result(of, &of->call.weight_gradient, s.weights, s.weight, type, runs) &&
               (rms || add_result(of, &of->call.bias_gradient, s.weights, s.weight, type, runs));
    }
    return !statistics || ((rms || add_result(of, &of->call.mean, s.rows, s.row, type, runs)) &&
                           add_result(of, &of->call.inverse_std, s.rows, s.row, type, runs));
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
    return bp_layer_norm_explain(explanation, of->options, &of->call);
}

static PyObject *run(normalization *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = bp_layer_norm_run(of->options, &of->call);
    core_lock(&unlocked);
    return status == BP_OK ? core_results_take(of->state, of->fresh, of->results)
                           : core_fail_explained(of->state, status, explain, of);
}

PyObject *core_layer_norm(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {"",     "",       "",    "",           "",    "",         "",         "",
                            "dims", "groups", "eps", "statistics", "out", "settings", "explains", NULL};
    PyObject *arrays[ARRAYS], *eps, *out, *settings, *result = NULL;
    int pass, kind, dims, statistics, explains = 0;
    long long groups;
    normalization of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iiOOOOOOiLOpOO|p:layer_norm", words, &pass, &kind, &arrays[0],
                                     &arrays[1], &arrays[2], &arrays[3], &arrays[4], &arrays[5], &dims, &groups, &eps,
                                     &statistics, &out, &settings, &explains)) {
        return NULL;
    }
    of.call.pass = (bp_layer_norm_pass)pass; /* the package passes valid ones only */
    of.call.kind = (bp_layer_norm_kind)kind;
    of.call.dims = dims;
    of.call.groups = groups;
    of.call.eps = eps == Py_None ? 0 : PyFloat_AsDouble(eps);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, arrays, !explains)) {
        of.call.eps = eps == Py_None && of.call.input ? machine_epsilon(of.call.input) : of.call.eps;
        if (place_results(&of, out, statistics, !explains)) {
            result = explains ? core_explanation(of.state, explain, &of) : run(&of);
        }
    }
    release(&of);
    return core_finish(of.state, result);
}
