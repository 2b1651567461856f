/* attention.c - runs attention and its gradients for Python. The names and defaults of torch.nn.functional are in
 * python/backplane/nn/. */
#include "core.h"

enum { RESULTS = 4, ARRAYS = 9 };

/* One call, from its arguments to its results. */
typedef struct attention {
    core_state *state;
    bp_attention_call call;
    operand arrays[ARRAYS], output; /* those of the arguments, and the caller's array for the result */
    int count;                      /* of arrays that are held */
    int64_t words[2], word_count;   /* seed and offset */
    DLTensor seed;
    core_result fresh[RESULTS];
    DLTensor result[RESULTS];
    int results;
    int64_t shape[RESULTS][BP_MAX_NDIM];
    const bp_options *options;
    PyObject *options_owner;
} attention;

/* Takes the arrays that are not None. */
static bool read_arrays(attention *of, PyObject *const arrays[ARRAYS], bool runs) {
    static const char *const names[ARRAYS] = {"query",  "key",       "value", "attn_mask", "grad_output",
                                              "output", "logsumexp", "pages", "lengths"};
    const DLTensor **const places[ARRAYS] = {
        &of->call.query,  &of->call.key,       &of->call.value, &of->call.mask,   &of->call.output_gradient,
        &of->call.output, &of->call.logsumexp, &of->call.pages, &of->call.lengths};
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

/* Makes the next result. */
static bool add_result(attention *of, const DLTensor **place, int ndim, const int64_t *shape, DLDataType type,
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

static bool place_output(attention *of, PyObject *out, bool logsumexp, bool runs) {
    bp_dtype dtype;
    int ndim = 0;
    int64_t shape[BP_MAX_NDIM];
    const bp_status status = bp_attention_shape(&of->call, &dtype, &ndim, shape);
    if (status != BP_OK) {
        core_fail(of->state, status, NULL);
        return false;
    }
    if (out == Py_None) {
        if (!add_result(of, &of->call.output, ndim, shape, of->call.query->dtype, runs)) {
            return false;
        }
    } else {
        if (!core_operand(of->state, &of->output, out, "out", CORE_WRITES | (runs ? 0 : CORE_DESCRIBES))) {
            return false;
        }
        of->results = 1;
        of->call.output = &of->output.tensor;
    }
    return !logsumexp || add_result(of, &of->call.logsumexp, ndim - 1, shape,
                                    bp_dtype_to_dlpack(dtype == BP_F64 ? BP_F64 : BP_F32), runs);
}

/* Makes the gradients by query, key and value, and on demand that by the mask, which is not NULL then. */
static bool place_gradients(attention *of, bool mask, bool runs) {
    const DLTensor *const inputs[RESULTS] = {of->call.query, of->call.key, of->call.value, of->call.mask};
    const DLTensor **const places[RESULTS] = {&of->call.query_gradient, &of->call.key_gradient,
                                              &of->call.value_gradient, &of->call.mask_gradient};
    for (int i = 0; i < (mask ? RESULTS : RESULTS - 1); i++) {
        if (!add_result(of, places[i], inputs[i]->ndim, inputs[i]->shape, inputs[i]->dtype, runs)) {
            return false;
        }
    }
    return true;
}

static void release(attention *of) {
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
    const attention *of = call;
    DLTensor seed = of->seed;
    bp_attention_call there = of->call;
    seed.device = there.query->device; /* where run_unlocked() copies it; an explanation needs no memory */
    seed.data = NULL;
    there.seed = there.seed ? &seed : NULL;
    return bp_attention_explain(explanation, of->options, &there);
}

/* Runs the call. All operands are on the device of the query, so the seed is copied there. */
static bp_status run_unlocked(const attention *of) {
    const int32_t place = bp_device_place(of->call.query->device);
    bp_attention_call call = of->call;
    DLManagedTensorVersioned *seed;
    if (!call.seed || place == 0) {
        return bp_attention_run(of->options, &call);
    }
    bp_status status = bp_tensor_empty_on(&seed, place, BP_I64, 1, &of->word_count, NULL);
    if (status != BP_OK) {
        return status;
    }
    status = bp_copy(&seed->dl_tensor, call.seed, NULL);
    call.seed = &seed->dl_tensor;
    status = status == BP_OK ? bp_attention_run(of->options, &call) : status;
    seed->deleter(seed);
    return status;
}

static PyObject *run(attention *of) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    const bp_status status = run_unlocked(of);
    core_lock(&unlocked);
    return status == BP_OK ? core_results_take(of->state, of->fresh, of->results)
                           : core_fail_explained(of->state, status, explain, of);
}

PyObject *core_attention(PyObject *module, PyObject *arguments, PyObject *names) {
    static char *words[] = {"",     "",       "",          "",          "",          "",         "",
                            "",     "",       "",          "dropout_p", "is_causal", "scale",    "enable_gqa",
                            "seed", "offset", "logsumexp", "out",       "settings",  "explains", "mask_gradient",
                            NULL};
    PyObject *arrays[ARRAYS], *scale, *out, *settings, *result = NULL;
    int pass, logsumexp, explains = 0, mask_gradient = 0;
    long long seed, offset;
    attention of = {.state = core_state_of(module), .call = {.struct_size = sizeof of.call}};
    core_leave_dropped();
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "iOOOOOOOOOdpOpLLpOO|pp:attention", words, &pass, &arrays[0],
                                     &arrays[1], &arrays[2], &arrays[3], &arrays[4], &arrays[5], &arrays[6], &arrays[7],
                                     &arrays[8], &of.call.dropout, &of.call.is_causal, &scale, &of.call.enable_gqa,
                                     &seed, &offset, &logsumexp, &out, &settings, &explains, &mask_gradient)) {
        return NULL;
    }
    of.call.pass = (bp_attention_pass)pass; /* the package passes valid ones only */
    of.call.has_scale = scale != Py_None;
    of.call.scale = of.call.has_scale ? PyFloat_AsDouble(scale) : 0;
    if (PyErr_Occurred()) {
        return NULL;
    }
    of.words[0] = seed;
    of.words[1] = offset;
    of.word_count = 2;
    of.seed = (DLTensor){.data = of.words,
                         .device = {kDLCPU, 0},
                         .ndim = 1,
                         .dtype = bp_dtype_to_dlpack(BP_I64),
                         .shape = &of.word_count};
    of.call.seed = of.call.dropout > 0 ? &of.seed : NULL;
    if (core_options(of.state, settings, &of.options, &of.options_owner) && read_arrays(&of, arrays, !explains) &&
        (pass == BP_ATTENTION_FORWARD ? place_output(&of, out, logsumexp, !explains)
                                      : place_gradients(&of, mask_gradient && of.call.mask, !explains))) {
        result = explains ? core_explanation(of.state, explain, &of) : run(&of);
    }
    release(&of);
    return core_finish(of.state, result);
}
