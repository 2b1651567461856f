/* described.c - makes calls through their descriptions (calls.h), and asks for the shapes of their results. */
#include "trial.h"

#include "reference/results.h"

#include <limits.h>
#include <string.h>

/* Statistics and gradients of parameters may have the type of 16 bits or f32, and the caller decides. */
static bool is_allowed(const DLTensor *given, bp_dtype said) {
    const bp_dtype dtype = bp_dtype_from_dlpack(given->dtype);
    return dtype == said || (dtype < BP_F32 && said == BP_F32);
}

static void check_shape(trial *t, const bp_call *call, const void *arguments, const bp_call_pass *pass, int index) {
    const bp_call_operand *row = bp_call_operand_at(pass, index);
    const DLTensor *given;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    memcpy(&given, (const char *)arguments + row->offset, sizeof given);
    if (!given) {
        return;
    }
    const bp_status status = bp_call_shape(call, arguments, index, &dtype, &ndim, shape);
    if (status == BP_E_UNSUPPORTED) { /* calls.h lists these: they do not follow from other tensors */
        return;
    }
    if (status != BP_OK) {
        finding(t, "bp_call_shape of %s: %s", row->name, bp_last_error());
    } else if (ndim != given->ndim || memcmp(shape, given->shape, (size_t)ndim * sizeof *shape) != 0) {
        finding(t, "bp_call_shape of %s has another shape", row->name);
    } else if (!is_allowed(given, dtype)) {
        finding(t, "bp_call_shape of %s is %s", row->name, bp_dtype_name(dtype));
    }
}

bp_status request_described(const trial *t, request what, const char *name, const void *arguments,
                            const bp_options *options, void *made) {
    const bp_call *call = bp_call_named(name);
    const bp_call_pass *given = bp_call_get_pass(call, arguments);
    ((trial *)(uintptr_t)t)->op = given ? given->op : (bp_op)0;
    if (what == RESIDUAL) {
        return BP_E_UNSUPPORTED;
    }
    if (what == REFERENCE) {
        return reference_can(call) ? reference_call(made, call, arguments) : BP_E_UNSUPPORTED;
    }
    if (what != PLAN) {
        return what == RUN ? bp_call_run(options, call, arguments) : bp_call_explain(made, options, call, arguments);
    }
    const bp_status status = bp_call_plan(made, options, call, arguments);
    const bp_call_pass *pass = bp_call_get_pass(call, arguments);
    for (int i = status == BP_OK ? pass->input_count : INT_MAX; i < (pass ? pass->operand_count : 0); i++) {
        check_shape((trial *)(uintptr_t)t, call, arguments, pass, i);
    }
    return status;
}
