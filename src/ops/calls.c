/* calls.c - describes all calls, and runs any of them (calls.h). */
#include "ops/call.h"

#include "tensor/internal.h"

static const bp_call *const all[] = {
#define BP__ENTRY(name) &bp__##name##_call,
    BP_CALL_MAP(BP__ENTRY) BP__ARGUMENT_CALL_MAP(BP__ENTRY)
#undef BP__ENTRY
};

/* ---- Descriptions ---- */

const bp_call *bp_call_at(int index) {
    return index >= 0 && index < BP__COUNT(all) ? all[index] : NULL;
}

const bp_call *bp_call_named(const char *name) {
    for (int i = 0; name && i < BP__COUNT(all); i++) {
        if (strcmp(all[i]->info.name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

const bp_call_info *bp_call_get_info(const bp_call *call) {
    return call ? &call->info : NULL;
}

const bp_call_field *bp_call_field_at(const bp_call *call, int index) {
    return call && index >= 0 && index < call->info.field_count ? &call->fields[index] : NULL;
}

const bp_call_pass *bp_call_pass_at(const bp_call *call, int index) {
    return call && index >= 0 && index < call->info.pass_count ? &call->passes[index].info : NULL;
}

/* A caller's pass is the first member of a bp__pass. */
const bp_call_operand *bp_call_operand_at(const bp_call_pass *pass, int index) {
    const bp__pass *whole = (const bp__pass *)(const void *)pass;
    return pass && index >= 0 && index < pass->operand_count ? &whole->operand[index].info : NULL;
}

/* ---- Calls ---- */

static bp_status fail_without(const bp_call *call, const char *what) {
    return bp__fail(BP_E_UNSUPPORTED, "%s has no %s; what it calls has plans of its own", call->info.name, what);
}

/* Returns the arguments as this version's struct, in `own` if they are of another version; NULL with an error. */
static const void *read(const bp_call *call, const void *arguments, bp__call_arguments *own) {
    if (!call) {
        bp__fail(BP_E_ARGUMENT, "call is NULL");
        return NULL;
    }
    return bp__struct_read(own, call->info.size, arguments, "arguments");
}

const bp_call_pass *bp_call_get_pass(const bp_call *call, const void *arguments) {
    bp__call_arguments own;
    const void *whole = read(call, arguments, &own);
    const bp__pass *pass = whole ? bp__call_pass(call, whole) : NULL;
    return pass ? &pass->info : NULL;
}

bp_status bp_call_run(const bp_options *options, const bp_call *call, const void *arguments) {
    bp__call_arguments own;
    const void *whole = read(call, arguments, &own);
    if (!whole) {
        return BP_E_ARGUMENT;
    }
    return call->functions ? call->functions->run(call, options, whole) : bp__call_run_described(call, options, whole);
}

bp_status bp_call_plan(bp_plan **plan, const bp_options *options, const bp_call *call, const void *arguments) {
    bp__call_arguments own;
    if (plan) {
        *plan = NULL;
    }
    const void *whole = read(call, arguments, &own);
    if (!whole) {
        return BP_E_ARGUMENT;
    }
    if (call->functions && !call->functions->plan) {
        return fail_without(call, "plan");
    }
    return call->functions ? call->functions->plan(call, plan, options, whole)
                           : bp__call_plan_described(call, plan, options, whole);
}

bp_status bp_call_explain(bp_explanation **explanation, const bp_options *options, const bp_call *call,
                          const void *arguments) {
    bp__call_arguments own;
    if (explanation) {
        *explanation = NULL;
    }
    const void *whole = read(call, arguments, &own);
    if (!whole) {
        return BP_E_ARGUMENT;
    }
    if (call->functions && !call->functions->explain) {
        return fail_without(call, "explanation");
    }
    return call->functions ? call->functions->explain(call, explanation, options, whole)
                           : bp__call_explain_described(call, explanation, options, whole);
}

/* ---- Shapes of results ---- */

/* Returns the field of the tensor that an operand is the gradient by: `input` for input_gradient. NULL if there is
 * none. */
static const bp_call_field *field_of_gradient(const bp_call *call, const bp_call_operand *operand) {
    static const char suffix[] = "_gradient";
    const size_t length = strlen(operand->name), own = length - (sizeof suffix - 1);
    if (length < sizeof suffix || strcmp(operand->name + own, suffix) != 0) {
        return NULL;
    }
    for (int i = 0; i < call->info.field_count; i++) {
        const char *name = call->fields[i].name;
        if (strlen(name) == own && memcmp(name, operand->name, own) == 0) {
            return &call->fields[i];
        }
    }
    return NULL;
}

const DLTensor *bp__call_tensor_of_gradient(const bp_call *call, const void *arguments,
                                            const bp_call_operand *operand) {
    const bp_call_field *field = field_of_gradient(call, operand);
    return field ? bp__call_field_tensor(arguments, field) : NULL;
}

static bp_status find_shape(const bp_call *call, const void *arguments, bp__call_result *result) {
    const bp_call_operand *operand = &result->pass->operand[result->operand].info;
    const bp_call_field *field = field_of_gradient(call, operand);
    const bool read = field && bp__pass_has(result->pass, field->offset, result->pass->info.input_count);
    const DLTensor *like = read ? bp__call_field_tensor(arguments, field) : NULL;
    if (!like) {
        return call->shape(arguments, result);
    }
    BP__TRY(bp__tensor_check(like, operand->name, true));
    result->dtype = bp_dtype_from_dlpack(like->dtype);
    result->ndim = like->ndim;
    memcpy(result->shape, like->shape, (size_t)like->ndim * sizeof *like->shape);
    return BP_OK;
}

bp_status bp_call_shape(const bp_call *call, const void *arguments, int operand, bp_dtype *dtype, int *ndim,
                        int64_t *shape) {
    bp__call_arguments own;
    BP__TRY(bp__call_check_shape_arguments("bp_call_shape", dtype, ndim, shape));
    const void *whole = read(call, arguments, &own);
    if (!whole) {
        return BP_E_ARGUMENT;
    }
    bp__call_result result = {.described = call, .pass = bp__call_pass(call, whole), .operand = operand};
    if (!result.pass) {
        return bp__fail(BP_E_ARGUMENT, "%s: pass is no value of its enumeration", call->info.name);
    }
    if (operand < result.pass->info.input_count || operand >= result.pass->info.operand_count) {
        return bp__fail(BP_E_ARGUMENT, "bp_call_shape: operand is %d; %s of %s writes operands %d to %d", operand,
                        result.pass->info.name, call->info.name, result.pass->info.input_count,
                        result.pass->info.operand_count - 1);
    }
    BP__TRY(find_shape(call, whole, &result));
    *dtype = result.dtype;
    *ndim = result.ndim;
    memcpy(shape, result.shape, (size_t)result.ndim * sizeof *shape);
    return BP_OK;
}

bp_status bp__call_fail_unknown_shape(const bp__call_result *result) {
    return bp__fail(BP_E_UNSUPPORTED, "%s: the shape of %s, which %s writes, does not follow from other tensors",
                    result->described->info.name, result->pass->operand[result->operand].info.name,
                    result->pass->info.name);
}

bp_dtype bp__call_parameter_type(bp_dtype input, const DLTensor *const *parameters, int count) {
    for (int i = 0; i < count; i++) {
        if (parameters[i]) {
            return bp_dtype_from_dlpack(parameters[i]->dtype);
        }
    }
    return input == BP_F16 || input == BP_BF16 ? BP_F32 : input;
}
