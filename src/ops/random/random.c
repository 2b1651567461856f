/* random.c - checks, runs, plans and explains calls of random numbers.
 *
 * The seed is an operand, not a parameter: calls that differ in the seed alone share a plan. It is in host memory on
 * every device, so it is not among the tensors that are checked to be on one device. */
#include "ops/random/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

/* ---- The problem ---- */

static bp_status check_type(bp_random_kind kind, bp_dtype dtype) {
    if ((unsigned)kind >= BP_RANDOM_KINDS) {
        return bp__fail(BP_E_ARGUMENT, "random: kind is no value of its enumeration");
    }
    const bool floating = dtype >= BP_F16 && dtype <= BP_F64, integer = dtype >= BP_I8 && dtype <= BP_U64;
    if (kind == BP_RANDOM_BITS ? integer : floating) {
        return BP_OK;
    }
    return bp__fail(BP_E_DTYPE, "random: output is %s; it must be %s", bp_dtype_name(dtype),
                    kind == BP_RANDOM_BITS ? "an integer type, for random bits" : "f16, bf16, f32 or f64");
}

/* Only neighbours in the order of the indices are merged, because an element's index decides its number. */
static void lower(bp_random_problem *p, const DLTensor *output) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(output, strides);
    p->total = bp__tensor_elements(output);
    for (int d = 0; d < output->ndim && p->total > 0; d++) {
        const int64_t size = output->shape[d];
        const int last = p->ndim - 1;
        if (size == 1) {
            continue;
        }
        if (last >= 0 && p->stride[last] == size * strides[d]) {
            p->size[last] *= size;
            p->stride[last] = strides[d];
            continue;
        }
        p->size[p->ndim] = size;
        p->stride[p->ndim++] = strides[d];
    }
}

static bp_status bp__random_problem(bp_problem *problem, const bp_random_call *call, bool data_optional) {
    BP__TRY(bp__tensor_check(call->output, "output", data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(call->output->dtype);
    BP__TRY(check_type(call->kind, dtype));
    if (bp__tensor_self_overlaps(call->output)) {
        return bp__fail_self_overlap("output", call->output);
    }
    problem->op = BP_OP_RANDOM;
    problem->dtype = (uint32_t)dtype;
    problem->of.random.kind = (uint32_t)call->kind;
    lower(&problem->of.random, call->output);
    return BP_OK;
}

/* ---- Calls ---- */

static bp_status run_random(const bp_random_call *call) {
    uint64_t numbers[2] = {call->seed, call->offset};
    int64_t shape[] = {2};
    const DLTensor seed = {
        .data = numbers, .device = {kDLCPU, 0}, .ndim = 1, .dtype = bp_dtype_to_dlpack(BP_U64), .shape = shape};
    bp__operation operation = {.tag = bp__tag(BP_OP_RANDOM, (unsigned)call->kind & 0xffu),
                               .count = 2,
                               .inputs = 1,
                               .tensors = {&seed, call->output}};
    const bool known = call->output && (unsigned)call->kind < BP_RANDOM_KINDS;
    const bp_plan *plan = known ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    const bp__call_request request = {.call = call};
    return bp__operation_run_request(&operation, &bp__family_random, &request);
}

bp_status bp_random_run(const bp_options *options, const bp_random_call *call) {
    bp_random_call own;
    bp__call_scope scope;
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    bp__call_enter(&scope, options);
    bp_status status = run_random(call);
    bp__call_leave(&scope);
    return status;
}

BP__DEFINE_PLAN(random, bp_random_call)
BP__DEFINE_FUNCTIONS(random)

/* ---- The description ---- */

static bp_status result_shape(const void *call, bp__call_result *result) {
    (void)call;
    return bp__call_fail_unknown_shape(result);
}

const bp_call bp__random_call = {
    .info = {"random", "random numbers of a counter", sizeof(bp_random_call), BP__COUNT(bp__random_fields),
             BP__COUNT(bp__random_passes), 0, false},
    .op = BP_OP_RANDOM,
    .ndim_offset = -1,
    .fields = bp__random_fields,
    .family = &bp__family_random,
    .passes = bp__random_passes,
    .shape = result_shape,
    .functions = &bp__random_functions,
};
