/* accept.c - offers and plans reductions and softmax of the native provider. */
#include "reduce.h"

#include "providers/native/gemm/choose.h"
#include "providers/native/family.h"
#include "providers/native/isa.h"

typedef struct found {
    const bp__reduce_set *set;
    int threads;
} found;

/* Returns the estimated time on one thread: each pass over the elements, in vectors if they are contiguous. */
static double cost_of(const bp_host *host, const bp_problem *problem, const bp__reduce_cut *cut) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const double rates[] = {4, 8, 16}, size = (double)cut->element / 4;
    const int along = cut->columns ? p->kept_ndim - 1 : p->ndim - 1;
    const bool vectors = along >= 0 && (p->x[along] == 1 || p->x[along] == 0);
    const double rate = vectors ? rates[bp__native_isa(host, problem)] : 1;
    const double passes = problem->op == BP_OP_REDUCE     ? 0.8
                          : problem->op == BP_OP_VARIANCE ? 1.6
                          : problem->op == BP_OP_SOFTMAX  ? 4
                                                          : 2.5;
    const double item = cut->columns ? 120 : 60;
    return 100 + item * (double)cut->items * (double)cut->parts +
           passes * (size < 1 ? 1.5 : size) * (double)cut->results * (double)cut->reduced / rate;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    static const bp__reduce_set *const sets[] =
        BP__NATIVE_PER_ISA(&bp__reduce_default, &bp__reduce_avx2, &bp__reduce_avx512);
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__reduce_cut cut;
    const int type = bp__reduce_type(problem->dtype);
    if (problem->op == BP_OP_REDUCE ? !bp__reduce_kernels_of(sets[0], problem)
                                    : type < 0 || type >= BP__SOFTMAX_DTYPES) {
        bp__native_refuse(offers, BP_REASON_DTYPE,
                          problem->op == BP_OP_REDUCE
                              ? "only f16, bf16, f32, f64, i32 and i64 are offered, and bool for any and all"
                              : "only f16, bf16, f32 and f64 are offered");
        return;
    }
    bp__reduce_cut_make(&cut, problem);
    const double alone = cost_of(host, problem, &cut);
    const found f = {sets[bp__native_isa(host, problem)], bp__native_worth(alone, problem->policy.threads)};
    verdict.algorithm = cut.columns ? "columns" : "rows";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         (type < BP__SOFTMAX_DTYPES ? BP_PROPERTY_ACCUMULATES_F64 : 0);
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    return (bp__reduce_joins(problem) ? bp__reduce_plan : bp__softmax_plan)(host, problem, f->set, f->threads,
                                                                            prepared);
}

const bp__native_family bp__native_reduce = {accept, plan};
