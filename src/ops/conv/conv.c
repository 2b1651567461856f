/* conv.c - runs, plans and explains convolutions. */
#include "ops/conv/call.h"

const bp__pass *bp__conv_pass(const void *given) {
    const bp_conv_call *call = given;
    return (unsigned)call->pass <= BP_CONV_WEIGHT ? &bp__conv_passes[call->pass] : NULL;
}

static const bp__signature signature = {
    .name = "conv",
    .op = BP_OP_CONV,
    .ndim_offset = offsetof(bp_conv_call, ndim),
    .ndim_most = BP_CONV_NDIM,
    .fields = bp__conv_fields,
    .count = BP__COUNT(bp__conv_fields),
    .family = &bp__family_conv,
    .pass = bp__conv_pass,
};

<<<<<<< HEAD
static bp_status bp__conv_problem(bp_problem *problem, const bp_conv_call *call, bool data_optional) {
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, data_optional));
    BP__TRY(bp__conv_check(&conv, data_optional));
=======
/* Returns whether the padding of a transposed convolution removes its whole output. No algorithm runs then. */
static bool is_cut_away(const bp__conv *conv) {
    for (int d = 0; d < conv->ndim; d++) {
        if (conv->out[d] == 0) {
            return true;
        }
    }
    return false;
}

bp_status bp__conv_make(bp_problem *problem, const void *asked) {
    const bp__conv_request *r = asked;
    bp_conv_call own;
    bp__conv conv;
    const bp_conv_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__conv_resolve(&conv, call, r->data_optional));
    BP__TRY(bp__conv_check(&conv, r->data_optional));
    if (is_cut_away(&conv)) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "conv: the padding removes all elements of the output, so that there is nothing to plan");
    }
>>>>>>> h-python
    bp__conv_lower(problem, &conv);
    return BP_OK;
}

<<<<<<< HEAD
static bp_status bp__conv_output(const bp_conv_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
=======
/* ---- The call's key ---- */

/* Adds the values of an array to a word, 12 bits each. Returns false if one does not fit. */
static bool add_values(uint64_t *word, const int64_t *values, int ndim) {
    enum { BITS = 12 };
    for (int d = 0; d < ndim; d++) {
        const int64_t value = values ? values[d] : 0;
        if (value < 0 || value >= 1 << BITS) {
            return false;
        }
        *word |= (uint64_t)value << (d * BITS);
    }
    return true;
}

/* Describes the call for the cache of this thread. Invalid calls, and those with unusually large parameters, get no
 * key. Returns false if the call has no operands. */
static bool describe(bp__operation *o, const bp_conv_call *call) {
    const int64_t *const arrays[] = {call->stride, call->dilation, call->padding, call->padding_end,
                                     call->output_padding};
    o->key.count = 0;
    if ((unsigned)call->pass > BP_CONV_WEIGHT || call->ndim < 1 || call->ndim > BP_CONV_NDIM) {
        return false;
    }
    bool fits = (unsigned)call->mode <= BP_CONV_SAME && (unsigned)call->activation < BP_UNARY_KINDS;
    uint64_t flags = (uint64_t)call->pass | (uint64_t)call->ndim << 2 | (uint64_t)(call->transposed != 0) << 4;
    flags |= (uint64_t)((unsigned)call->mode & 3) << 5 | (uint64_t)((unsigned)call->activation & 31) << 7;
    o->parameter_count = 0;
    o->parameters[o->parameter_count++] = (uint64_t)call->groups;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        flags |= (uint64_t)(arrays[i] != NULL) << (12 + i);
        if (arrays[i]) {
            o->parameters[o->parameter_count] = 0;
            fits = add_values(&o->parameters[o->parameter_count++], arrays[i], call->ndim) && fits;
        }
    }
    o->tag = bp__tag(BP_OP_CONV, flags);
    o->parameter_count = fits ? o->parameter_count : BP__PARAMETERS_LONG;
    o->count = 4;
    o->inputs = bp__conv_operands(call, o->tensors);
    o->in_place = false;
    return true;
}

static bool writes_nothing(const bp_conv_call *call) {
    const DLTensor *operands[4];
    for (int i = bp__conv_operands(call, operands); i < 4; i++) {
        if (operands[i] && bp__tensor_elements(operands[i]) > 0) {
            return false;
        }
    }
    return true;
}

static bp_status write_zeros(const DLTensor *tensor) {
    static const int64_t none[BP_MAX_NDIM] = {0};
    double zero[2] = {0, 0};
    bp_view view;
    DLTensor to = *tensor;
    BP__TRY(bp_view_init(&view, zero, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape, none));
    return bp_copy(&to, &view.tensor, NULL);
}

/* Runs a transposed convolution whose padding removes the whole output: gradients of such a one are zeros. `done` is
 * false for all other calls. */
static bp_status run_cut_away(const bp_conv_call *call, bool *done) {
    bp__conv conv;
    const DLTensor *operands[4];
    *done = false;
    if (!call->transposed) {
        return BP_OK;
    }
    BP__TRY(bp__conv_resolve(&conv, call, false));
    if (!is_cut_away(&conv)) {
        return BP_OK;
    }
    BP__TRY(bp__conv_check(&conv, false));
    *done = true;
    for (int i = bp__conv_operands(call, operands); i < 4; i++) {
        if (operands[i] && bp__tensor_elements(operands[i]) > 0 && call->pass != BP_CONV_FORWARD) {
            BP__TRY(write_zeros(operands[i]));
        }
    }
    bp__thread.last_serial = BP__NO_PLAN_RAN;
    return BP_OK;
}

static bp_status run(const bp_conv_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bool done;
    BP__TRY(run_cut_away(call, &done));
    if (done) {
        return BP_OK;
    }
    bp__conv_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_conv, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_conv_run(const bp_options *options, const bp_conv_call *call) {
    bp_conv_call own;
    bp__call_scope scope;
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    bp__call_enter(&scope, options);
    bp_status status = run(call);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_conv_plan(bp_plan **plan, const bp_options *options, const bp_conv_call *call) {
    bp__conv_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_conv, &r);
}

bp_status bp_conv_explain(bp_explanation **explanation, const bp_options *options, const bp_conv_call *call) {
    bp__conv_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_conv, &r);
}

bp_status bp_conv_shape(const bp_conv_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp_conv_call own;
>>>>>>> h-python
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, true));
    *dtype = conv.dtype;
    *ndim = bp__conv_output_shape(&conv, shape);
    return BP_OK;
}

BP__DEFINE_RUN(conv, bp_conv_call, signature)
BP__DEFINE_PLAN(conv, bp_conv_call, bp__family_conv)
BP__DEFINE_SHAPE(conv, bp_conv_call)
