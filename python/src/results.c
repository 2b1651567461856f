/* results.c - memory for the result of a call, in an array of the type that the caller's arrays have.
 *
 * NumPy's own memory is taken for its arrays: that is the least work, and NumPy keeps small blocks at hand. All other
 * results are in memory of the library, which DLPack's C exchange interface hands to the caller's library; the
 * package converts what has no such interface (_products.py).
 */
#include "core.h"

/* The type of the first operand that is a NumPy array or a tensor with an exchange interface decides. */
static const operand *deciding(const operand *const *operands, int count) {
    for (int i = 0; i < count; i++) {
        if (operands[i]->is_numpy || operands[i]->exchange) {
            return operands[i];
        }
    }
    return NULL;
}

bool core_result_new(core_state *state, core_result *result, DLTensor *tensor, const operand *const *operands,
                     int count) {
    const operand *like = deciding(operands, count);
    *result = (core_result){.exchange = like ? like->exchange : NULL};
    if (like && like->is_numpy && core_numpy_has(tensor->dtype)) {
        result->array = core_numpy_new(&state->numpy, tensor);
        return result->array != NULL;
    }
    bp_status status = bp_tensor_empty(&result->memory, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim,
                                       tensor->shape, tensor->strides);
    if (status != BP_OK) {
        core_fail(state, status, NULL);
        return false;
    }
    *tensor = result->memory->dl_tensor;
    return true;
}

PyObject *core_result_take(core_state *state, core_result *result) {
    PyObject *array = result->array;
    DLManagedTensorVersioned *memory = result->memory;
    *result = (core_result){.exchange = result->exchange};
    if (!memory) {
        return array;
    }
    return result->exchange ? core_exchange_wrap(result->exchange, memory) : core_tensor(state, memory);
}

void core_result_drop(core_result *result) {
    Py_CLEAR(result->array);
    if (result->memory) {
        result->memory->deleter(result->memory);
        result->memory = NULL;
    }
}
