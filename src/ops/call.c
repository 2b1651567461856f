/* call.c - checks calls by their descriptions, and runs them on the slow path. */
#include "ops/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <stdio.h>

/* ---- Checks ---- */

bool bp__pass_has(const bp__pass *pass, size_t offset, int count) {
    for (int i = 0; i < count; i++) {
        if (pass->operand[i].info.offset == offset) {
            return true;
        }
    }
    return false;
}

bp_status bp__call_check_surplus(const bp_call *described, const bp__pass *pass, const void *call) {
    for (int i = 0; i < described->info.field_count; i++) {
        const bp_call_field *field = &described->fields[i];
        if (field->kind == BP_FIELD_TENSOR && bp__call_field_tensor(call, field) &&
            !bp__pass_has(pass, field->offset, pass->info.operand_count)) {
            return bp__fail(BP_E_ARGUMENT, "%s: %s has no %s, which must be NULL", described->info.name,
                            pass->info.name, field->name);
        }
    }
    return BP_OK;
}

bool bp__call_same_places(const DLTensor *a, const DLTensor *b) {
    int64_t of_a[BP_MAX_NDIM], of_b[BP_MAX_NDIM];
    if (!a->data || !b->data || !bp__tensor_same_start(a, b) || a->ndim != b->ndim ||
        bp_dtype_from_dlpack(a->dtype) != bp_dtype_from_dlpack(b->dtype)) {
        return false;
    }
    bp__tensor_strides(a, of_a);
    bp__tensor_strides(b, of_b);
    bool same = true;
    for (int d = 0; d < a->ndim && same; d++) {
        same = a->shape[d] == b->shape[d] && (a->shape[d] <= 1 || of_a[d] == of_b[d]);
    }
    return same;
}

/* Checks a written tensor against another one of the pass: number `index` of a list, or -1. */
static bp_status check_apart(const bp_call *described, const DLTensor *written, const bp__call_operand *operand,
                             const DLTensor *other, const bp__call_operand *of_other, int index, bool in_place) {
    char number[16] = "";
    if (!other || !other->data || (in_place && bp__call_same_places(other, written)) ||
        !bp__tensor_overlap(other, written)) {
        return BP_OK;
    }
    if (index >= 0) {
        snprintf(number, sizeof number, "[%d]", index);
    }
    return bp__fail(BP_E_OVERLAP, "%s: %s, which is written, overlaps %s%s; it must have its own memory%s",
                    described->info.name, operand->info.name, of_other->info.name, number,
                    in_place ? ", or the address, type, shape and strides of the input" : "");
}

/* Checks a written tensor against each one of a list. */
static bp_status check_apart_of_list(const bp_call *described, const void *call, const DLTensor *written,
                                     const bp__call_operand *operand, const bp__call_operand *list) {
    const char *at = call;
    const int count = *(const int *)(const void *)(at + described->count_offset);
    const DLTensor *const *tensors = *(const DLTensor *const *const *)(const void *)(at + list->info.offset);
    for (int i = 0; i < count; i++) {
        BP__TRY(check_apart(described, written, operand, tensors[i], list, i, false));
    }
    return BP_OK;
}

bp_status bp__call_check_overlap(const bp_call *described, const bp__pass *pass, const void *call) {
    for (int w = pass->info.input_count; w < pass->info.operand_count; w++) {
        const bp__call_operand *operand = &pass->operand[w];
        const DLTensor *written = bp__call_tensor(call, operand);
        if (written && bp__tensor_self_overlaps(written)) {
            char name[64];
            snprintf(name, sizeof name, "%s: %s", described->info.name, operand->info.name);
            return bp__fail_self_overlap(name, written);
        }
        for (int i = 0; written && written->data && i < w; i++) {
            const bp__call_operand *other = &pass->operand[i];
            BP__TRY(other->shape == BP__LIST ? check_apart_of_list(described, call, written, operand, other)
                                             : check_apart(described, written, operand, bp__call_tensor(call, other),
                                                           other, -1, i < described->info.in_place));
        }
    }
    return BP_OK;
}

bp_status bp__call_check_shape_arguments(const char *function, const bp_dtype *dtype, const int *ndim,
                                         const int64_t *shape) {
    return dtype && ndim && shape ? BP_OK
                                  : bp__fail(BP_E_ARGUMENT, "%s: dtype, ndim and shape must not be NULL", function);
}

bp_status bp__call_output_shape(const bp_call *described, const void *call, int *ndim, int64_t *shape) {
    if (!ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "%s must not be NULL", ndim ? "shape" : "ndim");
    }
    const bp__pass *pass = bp__call_pass(described, call);
    bp__call_result result = {.described = described, .pass = pass, .operand = pass->info.input_count};
    BP__TRY(described->shape(call, &result));
    *ndim = result.ndim;
    memcpy(shape, result.shape, (size_t)result.ndim * sizeof *shape);
    return BP_OK;
}

/* ---- Plans, and the slow path ---- */

bp_status bp__call_plan_described(const bp_call *described, bp_plan **plan, const bp_options *options,
                                  const void *call) {
    const bp__call_request request = {.call = call, .data_optional = true, .described = described};
    return bp__plan_for(plan, options, described->family, &request);
}

bp_status bp__call_explain_described(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                                     const void *call) {
    const bp__call_request request = {.call = call, .data_optional = true, .described = described};
    return bp__explain_for(explanation, options, described->family, &request);
}

bp_status bp__call_run_unknown(const bp_call *described, bp__operation *operation, const void *call) {
    const bp__call_request request = {.call = call, .described = described};
    bool done = false;
    if (described->run_without_plan) {
        BP__TRY(described->run_without_plan(call, &done));
    }
    if (done) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_run_request(operation, described->family, &request);
}
