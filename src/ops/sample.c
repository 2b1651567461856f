/* sample.c - makes sample problems of gradients from sample problems of forward passes, by the descriptions of the
 * calls. */
#include "ops/sample.h"

/* The tensors that are added to a call. */
typedef struct addition {
    const bp_call *described;
    char *call;
    bp__sample_tensor views[BP__MOST_OPERANDS];
    int count;
} addition;

static const DLTensor **place_of(const addition *a, const bp__call_operand *operand) {
    return (const DLTensor **)(void *)(a->call + operand->info.offset);
}

/* Adds those results of a pass that another one reads. */
static bp_status add_results(addition *a, const bp__pass *from, const bp__pass *to) {
    for (int i = from->info.input_count; i < from->info.operand_count; i++) {
        const DLTensor **tensor = place_of(a, &from->operand[i]);
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        if (*tensor || !bp__pass_has(to, from->operand[i].info.offset, to->info.input_count)) {
            continue;
        }
        BP__TRY(bp_call_shape(a->described, a->call, i, &dtype, &ndim, shape));
        bp__sample_tensor_init(&a->views[a->count], dtype, ndim, shape, NULL);
        *tensor = &a->views[a->count++].tensor;
    }
    return BP_OK;
}

/* Adds the gradients by tensors that are given, with their strides. */
static void add_gradients(addition *a, const bp__pass *pass) {
    for (int i = 0; i < pass->info.operand_count; i++) {
        const DLTensor **tensor = place_of(a, &pass->operand[i]);
        const DLTensor *like =
            *tensor ? NULL : bp__call_tensor_of_gradient(a->described, a->call, &pass->operand[i].info);
        if (like) {
            bp__sample_tensor_init(&a->views[a->count], bp_dtype_from_dlpack(like->dtype), like->ndim, like->shape,
                                   like->strides);
            *tensor = &a->views[a->count++].tensor;
        }
    }
}

/* Removes what the pass does not have. */
static void remove_others(addition *a, const bp__pass *pass) {
    for (int i = 0; i < a->described->info.field_count; i++) {
        const bp_call_field *field = &a->described->fields[i];
        if (field->kind == BP_FIELD_TENSOR && !bp__pass_has(pass, field->offset, pass->info.operand_count)) {
            memset(a->call + field->offset, 0, sizeof(const DLTensor *));
        }
    }
}

static bool set_pass(const addition *a, int pass) {
    for (int i = 0; i < a->described->info.field_count; i++) {
        if (strcmp(a->described->fields[i].name, "pass") == 0) {
            memcpy(a->call + a->described->fields[i].offset, &pass, sizeof pass);
            return true;
        }
    }
    return false;
}

bp_status bp__sample_gradient(bp_problem *problem, const bp_call *described, void *call, int number,
                              bp_status (*make)(bp_problem *problem, const void *request)) {
    addition a = {.described = described, .call = call};
    bp__call_arguments other;
    memcpy(&other, call, described->info.size);
    const addition of_other = {.described = described, .call = other.bytes};
    const bp__pass *forward = bp__call_pass(described, call);
    const bp__pass *pass = set_pass(&of_other, number) ? bp__call_pass(described, &other) : NULL;
    if (!forward || !pass) {
        return bp__fail(BP_E_INTERNAL, "%s has no pass %d", described->info.name, number);
    }
    BP__TRY(add_results(&a, forward, pass));
    set_pass(&a, number);
    add_gradients(&a, pass);
    remove_others(&a, pass);
    const bp__call_request request = {.call = call, .data_optional = true, .described = described};
    return make(problem, &request);
}
