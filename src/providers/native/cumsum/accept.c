/* accept.c - offers and plans cumulative sums of the native provider. */
#include "cumsum.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

static bool find_domain(bp_dtype dtype, bp__domain *domain) {
    switch (dtype) {
    case BP_F16:
    case BP_BF16:
    case BP_F32:
        *domain = BP__DOMAIN_F32;
        return true;
    case BP_F64:
        *domain = BP__DOMAIN_F64;
        return true;
    case BP_I32:
    case BP_I64:
        *domain = BP__DOMAIN_I64;
        return true;
    default:
        return false;
    }
}

static void find_kernels(const bp_host *host, const bp_problem *problem, bp__domain domain, bp__cumsum_found *f) {
    static const bp__cumsum_set *const sets[] =
        BP__NATIVE_PER_ISA(&bp__cumsum_default, &bp__cumsum_avx2, &bp__cumsum_avx512);
    static const bp__element_kernels *const elements[] =
        BP__NATIVE_PER_ISA(&bp__element_kernels_default, &bp__element_kernels_avx2, &bp__element_kernels_avx512);
    const int isa = bp__native_isa(host, problem);
    f->kernels = sets[isa]->of[domain];
    f->read = elements[isa]->read[domain][problem->dtype];
    f->write = elements[isa]->write[domain][problem->of.cumsum.output];
    f->number = domain == BP__DOMAIN_F32 ? sizeof(float) : sizeof(int64_t);
    f->integers = domain == BP__DOMAIN_I64;
}

/* Returns the estimated time on one thread, from nanoseconds for an element in vectors of AVX-512, and for one that is
 * read and written alone. */
static double cost_of(const bp_host *host, const bp_problem *problem, bool side_by_side) {
    static const double slower[] = {2, 1.3, 1};
    const bp_cumsum_problem *p = &problem->of.cumsum;
    const int64_t x = side_by_side ? p->x[p->ndim - 1] : p->x_axis, y = side_by_side ? p->y[p->ndim - 1] : p->y_axis;
    double rows = 1;
    for (int d = 0; d < p->ndim; d++) {
        rows *= (double)p->size[d];
    }
    const double element = 0.6 * slower[bp__native_isa(host, problem)] + (y != 1 || (x != 1 && x != 0) ? 0.8 : 0);
    return 100 + (side_by_side ? 1 : 40) * rows + element * rows * (double)p->length;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__cumsum_found f = {.threads = 1};
    bp__domain domain;
    if (!find_domain((bp_dtype)problem->dtype, &domain)) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32, f64, i32 and i64 are offered");
        return;
    }
    const bool side_by_side = bp__cumsum_side_by_side(&problem->of.cumsum);
    const double alone = cost_of(host, problem, side_by_side);
    find_kernels(host, problem, domain, &f);
    f.threads = bp__native_worth(alone, problem->policy.threads);
    verdict.algorithm = side_by_side ? "columns" : "rows";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         (f.integers ? 0 : BP_PROPERTY_ACCUMULATES_F64);
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    return bp__cumsum_plan(host, problem, data, prepared);
}

const bp__native_family bp__native_cumsum = {accept, plan};
