/* layer_accept.c - offers and plans layer, RMS and group normalization of the native provider. */
#include "layer.h"

#include "batch_norm.h"

#include "providers/native/gemm/choose.h"
#include "providers/least.h"
#include "providers/native/family.h"
#include "providers/native/isa.h"

#include <math.h>

typedef struct found {
    bp__layer_set set;
    int threads;
} found;

static bp__layer_set set_for(const bp_host *host, const bp_problem *problem) {
    static const bp__layer_kernels *const sets[] =
        BP__NATIVE_PER_ISA(bp__layer_default, bp__layer_avx2, bp__layer_avx512);
    const bp__layer_kernels *of = sets[bp__native_isa(host, problem)];
    static const bp__batch_norm_kernels *const channels[] =
        BP__NATIVE_PER_ISA(bp__batch_norm_default, bp__batch_norm_avx2, bp__batch_norm_avx512);
    return (bp__layer_set){&of[(int)problem->dtype - BP_F16], &of[(int)problem->of.layer_norm.parameters - BP_F16],
                           &channels[bp__native_isa(host, problem)][(int)problem->dtype - BP_F16]};
}

/* The channels of an item, which are neighbours. */
static double channels_of(const bp_layer_norm_problem *p) {
    const bool several = p->ndim - p->row_ndim == 2;
    return (several ? (double)p->size[p->ndim - 1] : 1) * (p->row_ndim > 0 ? (double)p->size[p->row_ndim - 1] : 1);
}

/* Returns the estimated time on one thread: each pass over the elements, and their copies if they are strided. */
static double cost_of(const bp_host *host, const bp_problem *problem) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    const bool backward = problem->op == BP_OP_LAYER_NORM_BACKWARD;
    const double lanes[] = {4, 8, 16}, size = problem->dtype < BP_F32 ? 1.5 : problem->dtype == BP_F64 ? 2 : 1;
    double rows = 1, elements = 1;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &rows : &elements) *= (double)p->size[d];
    }
    if (rows * elements == 0) {
        return 0;
    }
    const bool inner = p->ndim > p->row_ndim;
    const double segments = inner ? rows * elements / (double)p->size[p->ndim - 1] : rows;
    if (bp__layer_by_channels(problem)) {
        const double lane = lanes[bp__native_isa(host, problem)], channels = channels_of(p);
        const double filled =
            channels / (ceil(channels / lane) * lane); /* a part of a vector takes as long as a whole one */
        return 500 + 3 * size * rows * elements / (lane * filled);
    }
    const double copies = inner && p->stride[backward][p->ndim - 1] != 1 ? 0.5 : 0;
    const double passes = (backward ? 3.5 : 2) / lanes[bp__native_isa(host, problem)];
    return 300 + 60 * segments + (passes + copies) * size * rows * elements;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    const uint32_t parameters = problem->of.layer_norm.parameters;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64 || parameters < BP_F16 || parameters > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const double alone = cost_of(host, problem);
    found f = {set_for(host, problem), bp__native_worth(alone, problem->policy.threads)};
    if (bp__layer_by_channels(problem)) {
        f.threads = (int)bp__least(f.threads, bp__most(bp__layer_channel_parts(problem), 1));
    }
    verdict.algorithm = bp__layer_by_channels(problem) ? "channels" : "rows";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         BP_PROPERTY_ACCUMULATES_F64;
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    return bp__layer_plan(host, problem, &f->set, f->threads, prepared);
}

const bp__native_family bp__native_layer_norm = {accept, plan};
