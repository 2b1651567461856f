/* pool.c - runs, plans and explains pooling. */
#include "ops/pool/call.h"
#include "ops/pool/pool.h"

const bp__pass *bp__pool_pass(const void *given) {
    const bp_pool_call *call = given;
    const bool known = (unsigned)call->kind <= BP_POOL_AVERAGE && (unsigned)call->pass <= BP_POOL_BACKWARD;
    return known ? &bp__pool_passes[call->kind][call->pass] : NULL;
}

static bp_status bp__pool_output(const bp_pool_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__pool pool;
    BP__TRY(bp__pool_resolve(&pool, call, true));
    *dtype = pool.dtype;
    *ndim = bp__pool_output_shape(&pool, shape);
    return BP_OK;
}

/* A gradient by the input needs the caller's shape, because windows need not reach the end of the input. */
static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_pool_call *call = given;
    if (call->pass == BP_POOL_BACKWARD) {
        return bp__call_fail_unknown_shape(result);
    }
    BP__TRY(bp__pool_output(call, &result->dtype, &result->ndim, result->shape));
    if (result->pass->operand[result->operand].info.offset == offsetof(bp_pool_call, indices)) {
        result->dtype = BP_I64;
    }
    return BP_OK;
}

const bp_call bp__pool_call = {
    .info = {"pool", "maxima and averages of windows", sizeof(bp_pool_call), BP__COUNT(bp__pool_fields),
             sizeof(bp__pool_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_MAX_POOL,
    .ndim_offset = offsetof(bp_pool_call, ndim),
    .ndim_most = BP_POOL_NDIM,
    .images = true,
    .fields = bp__pool_fields,
    .family = &bp__family_pool,
    .passes = bp__pool_passes[0],
    .pass = bp__pool_pass,
    .shape = result_shape,
};

static bp_status bp__pool_problem(bp_problem *problem, const bp_pool_call *call, bool data_optional) {
    bp__pool pool;
    BP__TRY(bp__pool_resolve(&pool, call, data_optional));
    BP__TRY(bp__pool_check(&pool, data_optional));
    bp__pool_lower(problem, &pool);
    return BP_OK;
}

BP__DEFINE_RUN(pool, bp_pool_call)
BP__DEFINE_PLAN(pool, bp_pool_call)
BP__DEFINE_SHAPE(pool, bp_pool_call)
