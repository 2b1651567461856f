/* results.c - makes the references of the results of a call. */
#include "reference/results.h"

#include <string.h>

bp_status reference_add_result(reference_results *made, const char *name, const DLTensor *tensor, int64_t work,
                               reference_element *element, void *user) {
    if (!tensor) {
        return BP_OK;
    }
    reference_result *result = &made->of[made->count++];
    result->name = name;
    result->tensor = tensor;
    reference *values = &result->values;
    const bp_status status = reference_begin(values, tensor, work, 64);
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    int64_t known = 0;
    values->measure = REFERENCE_NUMBERS;
    values->bounded = true;
    values->terms = 0;
    for (int64_t i = 0; status == BP_OK && i < values->count; i++) {
        reference_value value = values->values[i];
        const reference_number number = element(user, value.index);
        const bool bounded = reference_set(&value, &number, dtype);
        values->values[known] = value;
        known += bounded;
    }
    values->count = known;
    return status;
}

void reference_results_free(reference_results *made) {
    for (int i = 0; i < made->count; i++) {
        reference_free(&made->of[i].values);
    }
    memset(made, 0, sizeof *made);
}

/* ---- Calls by their descriptions ---- */

#define REFERENCE_CALLS(X) X(batch_norm) X(layer_norm)

#define DEFINE(name)                                                                                                   \
    static bp_status call_##name(reference_results *made, const void *arguments) {                                     \
        return reference_##name(made, arguments);                                                                      \
    }
REFERENCE_CALLS(DEFINE)
#undef DEFINE

typedef bp_status call_function(reference_results *made, const void *arguments);

static call_function *function_of(const bp_call *call) {
    static const struct {
        const char *name;
        call_function *function;
    } functions[] = {
#define ROW(name) {#name, call_##name},
        REFERENCE_CALLS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, bp_call_get_info(call)->name) == 0) {
            return functions[i].function;
        }
    }
    return NULL;
}

bool reference_can(const bp_call *call) {
    return function_of(call) != NULL;
}

bp_status reference_call(reference_results *made, const bp_call *call, const void *arguments) {
    *made = (reference_results){.count = 0};
    return function_of(call)(made, arguments);
}
