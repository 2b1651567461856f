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

/* Returns the estimated time on one thread: a term for each tap of each output, and one for each element that is
 * written. Runs of vectors have a fixed time of their own. */
static double cost_of(const bp_host *host, const bp_problem *problem) {
    const bp_pool_problem *p = &problem->of.pool;
    const double lanes[] = {4, 8, 16}, half = problem->dtype < BP_F32 ? 4 : problem->dtype == BP_F64 ? 2 : 1;
    const bool by_channels = bp__pool_by_channels(p);
    double taps = 1, images = (double)p->batch * (double)p->channels, in = images, out = images;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        in *= (double)p->in[d];
        out *= (double)p->out[d];
        taps *= p->adaptive ? (double)p->in[d] / (double)(p->out[d] > 0 ? p->out[d] : 1) + 1 : (double)p->kernel[d];
    }
    const int64_t run = by_channels ? p->channels : p->adaptive ? 1 : p->out[BP_MAX_CONV_NDIM - 1];
    const double speed = run > 8 ? lanes[bp__native_isa(host, problem)] : 1;
    const double rows = out / (double)(run > 0 ? run : 1) * taps;
    return 200 + half * out * taps / speed + 5 * rows + (is_backward(problem) ? half * in / 4 : 0);
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const double alone = cost_of(host, problem);
    const found f = {kernels_for(host, problem), bp__native_worth(alone, problem->policy.threads)};
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
