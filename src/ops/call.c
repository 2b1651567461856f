/* call.c - checks calls by their descriptions, and runs them on the slow path. */
#include "ops/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

/* ---- Checks ---- */

static bool has(const bp__pass *pass, size_t offset) {
    for (int i = 0; i < pass->info.operand_count; i++) {
        if (pass->operand[i].info.offset == offset) {
            return true;
        }
    }
    return false;
}

bp_status bp__call_check_surplus(const bp_call *described, const bp__pass *pass, const void *call) {
    for (int i = 0; i < described->info.field_count; i++) {
        const bp_call_field *field = &described->fields[i];
        if (field->kind == BP_FIELD_TENSOR && bp__call_field_tensor(call, field) && !has(pass, field->offset)) {
            return bp__fail(BP_E_ARGUMENT, "%s: %s has no %s, which must be NULL", described->info.name,
                            pass->info.name, field->name);
        }
    }
    return BP_OK;
}

bp_status bp__call_check_overlap(const bp__pass *pass, const void *call) {
    for (int w = pass->info.input_count; w < pass->info.operand_count; w++) {
        const DLTensor *written = bp__call_tensor(call, &pass->operand[w]);
        if (written && bp__tensor_self_overlaps(written)) {
            return bp__fail_self_overlap(pass->operand[w].info.name, written);
        }
        for (int i = 0; written && written->data && i < w; i++) {
            const DLTensor *other = bp__call_tensor(call, &pass->operand[i]);
            if (other && other->data && bp__tensor_overlap(other, written)) {
                return bp__fail(BP_E_OVERLAP, "%s, which is written, overlaps %s; it must have its own memory",
                                pass->operand[w].info.name, pass->operand[i].info.name);
            }
        }
    }
    return BP_OK;
}

bp_status bp__call_check_shape_arguments(const char *function, const bp_dtype *dtype, const int *ndim,
                                         const int64_t *shape) {
    return dtype && ndim && shape ? BP_OK
                                  : bp__fail(BP_E_ARGUMENT, "%s: dtype, ndim and shape must not be NULL", function);
}

/* ---- Slow path ---- */

bp_status bp__call_run_unknown(const bp_call *described, bp__operation *operation, const void *call) {
    const bp__call_request request = {call, false};
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
