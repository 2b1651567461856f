/* accept.c - offers and plans pooling of the native provider. */
#include "pool.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

typedef struct found {
    const bp__pool_kernels *kernels;
    int threads;
} found;

static bool is_backward(const bp_problem *problem) {
    return problem->op == BP_OP_MAX_POOL_BACKWARD || problem->op == BP_OP_AVG_POOL_BACKWARD;
}

static const bp__pool_kernels *kernels_for(const bp_host *host, const bp_problem *problem) {
    static const bp__pool_kernels *const sets[] = BP__NATIVE_PER_ISA(bp__pool_default, bp__pool_avx2, bp__pool_avx512);
    return &sets[bp__native_isa(host, problem)][(int)problem->dtype - BP_F16];
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const bp__pool_kernels *kernels = kernels_for(host, problem);
    const double alone = bp__pool_cost(problem, kernels);
    const found f = {kernels, bp__native_worth(alone, problem->policy.threads)};
    verdict.algorithm = bp__pool_by_channels(&problem->of.pool) ? "channels" : "positions";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    verdict.properties |= problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    if (problem->op == BP_OP_AVG_POOL_BACKWARD && bp__pool_spreads(&problem->of.pool, f->kernels)) {
        return bp__pool_plan_spread(host, problem, f->kernels, f->threads, prepared);
    }
    return is_backward(problem) ? bp__pool_plan_backward(host, problem, f->kernels, f->threads, prepared)
                                : bp__pool_plan_forward(host, problem, f->kernels, f->threads, prepared);
}

const bp__native_family bp__native_pool = {accept, plan};
