/* results.c - memory for the result of a call, in an array of the type that the caller's arrays have.
 *
 * NumPy's own memory is taken for its arrays: that is the least work, and NumPy keeps small blocks at hand. All other
 * results are in memory of the library, which DLPack's C exchange interface hands to the caller's library; the
 * package converts what has no such interface (_products.py).
 */
#include "core.h"

#include <string.h>

static bool is_on_host(const operand *of) {
    return bp_device_place(of->tensor.device) == 0;
}

bool core_result_like(const operand *of) {
    return of->is_numpy || of->exchange || of->managed || of->versioned || !is_on_host(of);
}

/* The first operand that may decide the type of the result. */
static const operand *deciding(const operand *const *operands, int count) {
    for (int i = 0; i < count; i++) {
        if (core_result_like(operands[i])) {
            return operands[i];
        }
    }
    return NULL;
}

bool core_result_new(core_state *state, core_result *result, DLTensor *tensor, const operand *const *operands,
                     int count) {
    const operand *like = deciding(operands, count);
    const int32_t place = like ? bp_device_place(like->tensor.device) : 0;
    *result = (core_result){.exchange = like ? like->exchange : NULL};
    if (like && like->is_numpy && state->numpy.api && core_numpy_has(tensor->dtype)) {
        result->array = core_numpy_new(&state->numpy, tensor);
        if (result->array) {
            return true;
        }
        PyErr_Clear(); /* too large for NumPy: the library reports the error */
    }
    bp_status status = bp_tensor_empty_on(&result->memory, place, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim,
                                          tensor->shape, tensor->strides);
    if (status != BP_OK) {
        core_fail(state, status, NULL);
        return false;
    }
    *tensor = result->memory->dl_tensor;
    return true;
}

static uint64_t size_of_step(const DLTensor *x, int d) {
    return x->strides[d] < 0 ? 0 - (uint64_t)x->strides[d] : (uint64_t)x->strides[d];
}

/* Sorts the dimensions by their strides, the largest first. Dimensions with stride 0 stay where they are. Returns
 * whether that changes their order. */
static bool sort_dimensions(const DLTensor *x, int *order) {
    int places[BP_MAX_NDIM], count = 0;
    bool changes = false;
    for (int d = 0; d < x->ndim; d++) {
        order[d] = d;
        if (x->strides[d] != 0) {
            places[count++] = d;
        }
    }
    for (int i = 1; i < count; i++) {
        const int moved = places[i]; /* order[places[i]] is still places[i] */
        int at = i;
        for (; at > 0 && size_of_step(x, order[places[at - 1]]) < size_of_step(x, moved); at--) {
            order[places[at]] = order[places[at - 1]];
            changes = true;
        }
        order[places[at]] = moved;
    }
    return changes;
}

/* Returns whether the tensor repeats elements along a dimension, so that its strides say little of its order. */
static bool is_repeated(const DLTensor *x) {
    bool repeated = false;
    for (int d = 0; x->strides && d < x->ndim; d++) {
        repeated |= x->shape[d] > 1 && x->strides[d] == 0;
    }
    return repeated;
}

static bool has_shape(const DLTensor *x, const DLTensor *of) {
    return x->ndim == of->ndim && memcmp(x->shape, of->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

/* NumPy (order 'K') and PyTorch keep the order of the dimensions, too; where arrays differ in it, they weigh the
 * strides of all. */
void core_result_order(DLTensor *result, int64_t *strides, const DLTensor *like) {
    int order[BP_MAX_NDIM];
    if (result->ndim < 2 || result->ndim != like->ndim || !like->strides || !sort_dimensions(like, order)) {
        return;
    }
    int64_t step = 1;
    for (int d = result->ndim - 1; d >= 0; d--) {
        strides[order[d]] = step;
        step *= result->shape[order[d]] > 0 ? result->shape[order[d]] : 1;
    }
    result->strides = strides;
}

void core_result_follow(DLTensor *result, int64_t *strides, const DLTensor *const *tensors, int count) {
    const DLTensor *like = NULL;
    for (int i = 0; i < count && (!like || is_repeated(like)); i++) {
        const bool fits = has_shape(tensors[i], result);
        like = fits && (!like || !is_repeated(tensors[i])) ? tensors[i] : like;
    }
    if (like) {
        core_result_order(result, strides, like);
    }
}

static PyObject *wrapped(core_state *state, const core_exchange *of, DLManagedTensorVersioned *memory) {
    PyObject *object = core_exchange_wrap(of, memory);
    if (!object && !PyErr_Occurred()) {
        core_refuse(state, state->error, BP_E_INTERNAL, "the result: %R made no tensor of it, and set no exception",
                    (PyObject *)of->type);
    }
    return object;
}

PyObject *core_result_take(core_state *state, core_result *result) {
    PyObject *array = result->array;
    DLManagedTensorVersioned *memory = result->memory;
    *result = (core_result){.exchange = result->exchange};
    if (!memory) {
        return array;
    }
    return result->exchange ? wrapped(state, result->exchange, memory) : core_tensor(state, memory);
}

PyObject *core_results_take(core_state *state, core_result *results, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *result = Py_None;
        if (results[i].array || results[i].memory) {
            result = core_result_take(state, &results[i]);
        } else {
            Py_INCREF(Py_None);
        }
        if (!result) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SetItem(tuple, i, result);
        }
    }
    return tuple;
}

void core_result_drop(core_result *result) {
    Py_CLEAR(result->array);
    if (result->memory) {
        result->memory->deleter(result->memory);
        result->memory = NULL;
    }
}
