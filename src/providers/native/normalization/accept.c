/* accept.c - offers and plans batch normalization of the native provider. */
#include "batch_norm.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

typedef struct found {
    bp__batch_norm_set set;
    int threads;
} found;

static bp__batch_norm_set set_for(const bp_host *host, const bp_problem *problem) {
    static const bp__batch_norm_kernels *const sets[] =
        BP__NATIVE_PER_ISA(bp__batch_norm_default, bp__batch_norm_avx2, bp__batch_norm_avx512);
    const bp__batch_norm_kernels *of = sets[bp__native_isa(host, problem)];
    return (bp__batch_norm_set){&of[(int)problem->dtype - BP_F16],
                                &of[(int)problem->of.batch_norm.parameters - BP_F16]};
}

/* Returns the estimated time on one thread: each pass over the elements, in vectors if they are contiguous. */
static double cost_of(const bp_host *host, const bp_problem *problem) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    const double lanes[] = {4, 8, 16}, half = problem->dtype < BP_F32 ? 6 : problem->dtype == BP_F64 ? 2 : 1;
    const double values = (double)p->size[0] * (double)p->size[1] * (double)p->size[2] * (double)p->size[3];
    const bool vectors =
        bp__batch_norm_by_channels(problem) || (p->x[BP_MAX_NORM_NDIM - 1] == 1 && p->y[BP_MAX_NORM_NDIM - 1] == 1);
    const double speed = vectors ? lanes[bp__native_isa(host, problem)] : 1;
    const double passes = problem->op == BP_OP_BATCH_NORM ? 1 : 4;
    return 200 + 10 * (double)p->channels + passes * half * values * (double)p->channels / speed;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    const uint32_t parameters = problem->of.batch_norm.parameters;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64 || parameters < BP_F16 || parameters > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const double alone = cost_of(host, problem);
    const found f = {set_for(host, problem), bp__native_worth(alone, problem->policy.threads)};
    verdict.algorithm = bp__batch_norm_by_channels(problem) ? "channels" : "positions";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         BP_PROPERTY_ACCUMULATES_F64;
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    return bp__batch_norm_plan(host, problem, &f->set, f->threads, prepared);
}

const bp__native_family bp__native_batch_norm = {accept, plan};
