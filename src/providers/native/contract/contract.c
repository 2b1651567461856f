/* contract.c - offers and plans contractions of the native provider: everything in einsum that is not a matrix product.
 * It accepts every problem of its types.
 */
#include "contract.h"

#include "providers/native/gemm/choose.h"
#include "providers/native/isa.h"
#include "providers/native/family.h"

static const bp__contract_kernels *const sets[] =
    BP__NATIVE_PER_ISA(bp__contract_default, bp__contract_avx2, bp__contract_avx512);

static const char *algorithm(const bp__contract_tiling *tiling, int isa) {
    static const char *const copies[] = {"copy rows",       "copy fill", "copy transposed",
                                         "copy transposed", "copy",      "copy"};
    static const char *const products[] = {"product default", "product avx2", "product avx512"};
    static const char *const rows[] = {"sum default", "sum avx2", "sum avx512"};
    static const char *const dots[] = {"dot default", "dot avx2", "dot avx512"};
    switch (tiling->mode) {
    case BP__CONTRACT_NOTHING:
        return "nothing to do";
    case BP__CONTRACT_COPY:
        return copies[tiling->pack_kind[BP__C]];
    case BP__CONTRACT_PRODUCT:
        return products[isa];
    case BP__CONTRACT_ROWS:
        return rows[isa];
    default:
        return dots[isa];
    }
}

static uint32_t properties_of(const bp_problem *problem, const bp__contract_tiling *tiling) {
    const bool doubles = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    uint32_t properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    properties |= doubles ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    properties |= tiling->packed[BP__A] ? BP_PROPERTY_PACKS_A : 0;
    properties |= tiling->packed[BP__B] ? BP_PROPERTY_PACKS_B : 0;
    return properties | (tiling->packed[BP__C] ? BP_PROPERTY_PACKS_C : 0);
}

/* Memory bandwidth grows less with threads than arithmetic does, but one core cannot use all of it. */
static double shared_cost(double alone, int threads) {
    return threads > 1 ? alone / (0.8 * threads) + 2000 : alone;
}

static bool offers(const bp_problem *problem) {
    return problem->dtype >= BP_F16 && problem->dtype <= BP_C128;
}

static int threads_for(const bp_problem *problem, const bp__contract_tiling *tiling) {
    const int threads = bp__native_worth(tiling->cost_ns, problem->policy.threads);
    const double shares = (double)tiling->outer.count * (double)tiling->splits;
    return shares < threads ? (int)shares : threads;
}

/* Bytes that accept() passes to plan(). */
typedef struct found {
    bp__contract_tiling tiling;
    const bp__contract_kernels *kernels;
    int threads;
} found;

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *to) {
    if (!offers(problem)) {
        bp__native_refuse(to, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64 and c128 are offered");
        return;
    }
    const int isa = bp__native_isa(host, problem);
    found f = {.kernels = &sets[isa][problem->dtype - BP_F16]};
    bp__contract_choose_tiling(host, problem, isa, &f.tiling);
    f.threads = threads_for(problem, &f.tiling);
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = algorithm(&f.tiling, isa);
    verdict.properties = properties_of(problem, &f.tiling);
    verdict.threads = f.threads;
    verdict.cost_ns = shared_cost(f.tiling.cost_ns, f.threads);
    to->add(to, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *bytes, bp_prepared **prepared) {
    const found *f = bytes;
    (void)problem;
    return bp__contract_prepare(host, f->kernels, &f->tiling, f->threads, prepared);
}

const bp__native_family bp__native_contract = {accept, plan};
