/* results.c - makes the references of the results of a call. */
#include "reference/results.h"

#include <string.h>

static reference *begin(bp_status *status, reference_results *made, const char *name, const DLTensor *tensor,
                        int64_t work, int64_t least) {
    reference_result *result = &made->of[made->count++];
    result->name = name;
    result->tensor = tensor;
    *status = reference_begin(&result->values, tensor, work, least);
    result->values.measure = wholes_can(tensor) ? REFERENCE_WHOLE : REFERENCE_NUMBERS;
    result->values.bounded = true;
    result->values.terms = 0;
    return &result->values;
}

bp_status reference_add_result(reference_results *made, const char *name, const DLTensor *tensor, int64_t work,
                               reference_element *element, void *user) {
    bp_status status = BP_OK;
    reference *values = tensor ? begin(&status, made, name, tensor, work, 64) : NULL;
    int64_t known = 0;
    if (!tensor || status != BP_OK) {
        return status;
    }
    for (int64_t i = 0; i < values->count; i++) {
        reference_value value = values->values[i];
        const reference_number number = element(user, value.index);
        const bool bounded = reference_set(&value, &number, bp_dtype_from_dlpack(tensor->dtype));
        values->values[known] = value;
        known += bounded;
    }
    values->count = known;
    return BP_OK;
}

bp_status reference_add_wholes(reference_results *made, const char *name, const DLTensor *tensor, int64_t work,
                               reference_whole *element, void *user) {
    bp_status status = BP_OK;
    reference *values = tensor ? begin(&status, made, name, tensor, work, 64) : NULL;
    for (int64_t i = 0; values && status == BP_OK && i < values->count; i++) {
        values->values[i].whole = element(user, values->values[i].index);
    }
    return status;
}

bp_status reference_add_values(reference_results *made, const char *name, const DLTensor *tensor, reference_setter *set,
                               void *user) {
    bp_status status;
    reference *values = begin(&status, made, name, tensor, 0, INT64_MAX);
    values->measure = values->measure == REFERENCE_WHOLE ? REFERENCE_WHOLE : REFERENCE_SUMS;
    for (int64_t i = 0; status == BP_OK && i < values->count; i++) {
        set(user, &values->values[i]);
    }
    return status;
}

bp_status reference_add_numbers(reference_results *made, const char *name, const DLTensor *tensor,
                                const reference_number *numbers) {
    bp_status status;
    reference *values = begin(&status, made, name, tensor, 0, INT64_MAX);
    if (status == BP_OK) {
        reference_take(values, numbers, bp_dtype_from_dlpack(tensor->dtype));
    }
    return status;
}

void reference_results_free(reference_results *made) {
    for (int i = 0; i < made->count; i++) {
        reference_free(&made->of[i].values);
    }
    memset(made, 0, sizeof *made);
}

/* ---- Calls by their descriptions ---- */

/* The arguments of a call, whose fields are found by their names. */
typedef struct given {
    const bp_call *call;
    const void *arguments;
} given;

static const void *field_of(const given *from, const char *name) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(from->call, i)); i++) {
        if (strcmp(field->name, name) == 0) {
            return (const char *)from->arguments + field->offset;
        }
    }
    return NULL;
}

static int int_of(const given *from, const char *name) {
    int value;
    memcpy(&value, field_of(from, name), sizeof value);
    return value;
}

static double real_of(const given *from, const char *name) {
    double value;
    memcpy(&value, field_of(from, name), sizeof value);
    return value;
}

static const void *pointer_of(const given *from, const char *name) {
    const void *value;
    memcpy(&value, field_of(from, name), sizeof value);
    return value;
}

#define DEFINE(name)                                                                                                   \
    static bp_status call_##name(reference_results *made, const given *from) {                                         \
        return reference_of_##name(made, from->arguments);                                                             \
    }
BP_CALL_MAP(DEFINE)
#undef DEFINE

static bp_status call_unary(reference_results *made, const given *from) {
    return reference_of_unary(made, int_of(from, "kind"), pointer_of(from, "first"), pointer_of(from, "second"),
                              pointer_of(from, "input"), pointer_of(from, "output"));
}

static bp_status call_binary(reference_results *made, const given *from) {
    return reference_of_binary(made, int_of(from, "kind"), pointer_of(from, "a"), pointer_of(from, "b"),
                               pointer_of(from, "output"));
}

static bp_status call_where(reference_results *made, const given *from) {
    return reference_of_where(made, pointer_of(from, "condition"), pointer_of(from, "a"), pointer_of(from, "b"),
                              pointer_of(from, "output"));
}

static bp_status call_take(reference_results *made, const given *from) {
    return reference_of_take(made, int_of(from, "axis"), pointer_of(from, "input"), pointer_of(from, "indices"),
                             pointer_of(from, "output"));
}

static bp_status call_gather(reference_results *made, const given *from) {
    return reference_of_gather(made, int_of(from, "axis"), pointer_of(from, "input"), pointer_of(from, "indices"),
                               pointer_of(from, "output"));
}

static bp_status call_concat(reference_results *made, const given *from) {
    return reference_of_concat(made, int_of(from, "axis"), int_of(from, "count"), pointer_of(from, "tensors"),
                               pointer_of(from, "output"));
}

static bp_status call_matmul(reference_results *made, const given *from) {
    return reference_of_matmul(made, pointer_of(from, "a"), pointer_of(from, "b"), pointer_of(from, "output"));
}

static bp_status call_gemm(reference_results *made, const given *from) {
    return reference_of_gemm(made, int_of(from, "transform_a"), int_of(from, "transform_b"), pointer_of(from, "alpha"),
                             pointer_of(from, "a"), pointer_of(from, "b"), pointer_of(from, "beta"),
                             pointer_of(from, "c"));
}

static bp_status call_einsum(reference_results *made, const given *from) {
    return reference_of_einsum(made, pointer_of(from, "expression"), int_of(from, "count"),
                               pointer_of(from, "operands"), pointer_of(from, "output"));
}

static bp_status call_fft(reference_results *made, const given *from) {
    const bp_fft_call call = {.struct_size = sizeof call,
                              .transform = (bp_fft_transform)int_of(from, "transform"),
                              .norm = (bp_fft_norm)int_of(from, "norm"),
                              .axis_count = int_of(from, "axis_count"),
                              .axes = pointer_of(from, "axes"),
                              .s = pointer_of(from, "s")};
    return reference_of_fft(made, &call, pointer_of(from, "input"), pointer_of(from, "output"));
}

static bp_status call_reduce(reference_results *made, const given *from) {
    return reference_of_reduce(made, int_of(from, "kind"), int_of(from, "axis_count"), pointer_of(from, "axes"),
                               pointer_of(from, "input"), pointer_of(from, "output"));
}

static bp_status call_pad(reference_results *made, const given *from) {
    return reference_of_pad(made, int_of(from, "mode"), int_of(from, "ndim"), pointer_of(from, "before"),
                            pointer_of(from, "after"), real_of(from, "value"), pointer_of(from, "input"),
                            pointer_of(from, "output"));
}

static bp_status call_flip(reference_results *made, const given *from) {
    return reference_of_flip(made, int_of(from, "axis_count"), pointer_of(from, "axes"), pointer_of(from, "input"),
                             pointer_of(from, "output"));
}

static bp_status call_roll(reference_results *made, const given *from) {
    return reference_of_roll(made, int_of(from, "axis_count"), pointer_of(from, "axes"), pointer_of(from, "shifts"),
                             pointer_of(from, "input"), pointer_of(from, "output"));
}

static bp_status call_variance(reference_results *made, const given *from) {
    return reference_of_variance(made, int_of(from, "kind"), int_of(from, "axis_count"), pointer_of(from, "axes"),
                                 real_of(from, "correction"), pointer_of(from, "input"), pointer_of(from, "output"));
}

static bp_status call_softmax(reference_results *made, const given *from) {
    return reference_of_softmax(made, int_of(from, "kind"), int_of(from, "axis"), pointer_of(from, "input"),
                                pointer_of(from, "output"));
}

static bp_status call_softmax_backward(reference_results *made, const given *from) {
    return reference_of_softmax_backward(made, int_of(from, "kind"), int_of(from, "axis"), pointer_of(from, "output"),
                                         pointer_of(from, "output_gradient"), pointer_of(from, "input_gradient"));
}

#define VALUES_MAP(X) X(det) X(slogdet) X(matrix_rank) X(cond) X(matrix_norm)
#define DEFINE_VALUES(name)                                                                                            \
    static bp_status call_##name(reference_results *made, const given *from) {                                         \
        return reference_of_matrix_values(made, from->arguments);                                                      \
    }
VALUES_MAP(DEFINE_VALUES)
#undef DEFINE_VALUES

static bp_status call_vector_norm(reference_results *made, const given *from) {
    const bp_linalg_call *call = from->arguments;
    return reference_of_vector_norm(made, call, call->input[0], call->output[0]);
}

#define REFERENCE_MAP(X)                                                                                               \
    BP_CALL_MAP(X)                                                                                                     \
    VALUES_MAP(X)                                                                                                      \
    X(vector_norm)                                                                                                     \
    X(unary)                                                                                                           \
    X(binary)                                                                                                          \
    X(where)                                                                                                           \
    X(take)                                                                                                            \
    X(gather)                                                                                                          \
    X(concat)                                                                                                          \
    X(pad) X(flip) X(roll) X(reduce) X(variance) X(softmax) X(softmax_backward) X(matmul) X(gemm) X(einsum) X(fft)

typedef bp_status call_function(reference_results *made, const given *from);

static call_function *function_of(const bp_call *call) {
    static const struct {
        const char *name;
        call_function *function;
    } functions[] = {
#define ROW(name) {#name, call_##name},
        REFERENCE_MAP(ROW)
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
    return function_of(call)(made, &(given){call, arguments});
}
