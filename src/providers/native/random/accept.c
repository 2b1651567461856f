/* accept.c - offers and plans random numbers of the native provider. */
#include "random.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

typedef struct found {
    bp__random_kernel kernel;
    bp__element_write write;
    int threads;
} found;

static bool is_double(const bp_problem *problem) {
    return bp_dtype_size((bp_dtype)problem->dtype) == 8;
}

static void find_kernel(const bp_host *host, const bp_problem *problem, found *f) {
    static const bp__random_kernels *const sets[] =
        BP__NATIVE_PER_ISA(&bp__random_kernels_default, &bp__random_kernels_avx2, &bp__random_kernels_avx512);
    static const bp__element_kernels *const elements[] =
        BP__NATIVE_PER_ISA(&bp__element_kernels_default, &bp__element_kernels_avx2, &bp__element_kernels_avx512);
    const int isa = bp__native_isa(host, problem);
    const bp__random_kernels *set = sets[isa];
    const bool wide = is_double(problem);
    if (problem->of.random.kind == BP_RANDOM_BITS) {
        f->kernel = wide ? set->pairs : set->words;
        f->write = set->put[bp_dtype_size((bp_dtype)problem->dtype)];
    } else {
        f->kernel = problem->of.random.kind == BP_RANDOM_UNIFORM ? set->uniform[problem->dtype]
                    : wide                                       ? set->normal_f64
                                                                 : set->normal_f32;
        f->write = elements[isa]->write[wide ? BP__DOMAIN_F64 : BP__DOMAIN_F32][problem->dtype];
    }
}

/* Returns the estimated time on one thread, from nanoseconds for an element in vectors of AVX-512 on a Zen 4 core. */
static double cost_of(const bp_host *host, const bp_problem *problem) {
    static const double slower[] = {4, 2, 1};
    const bp_random_problem *p = &problem->of.random;
    const double word = p->kind == BP_RANDOM_NORMAL ? 1.2 : 0.5;
    const bool strided = p->ndim > 0 && p->stride[p->ndim - 1] != 1;
    return 100 + (double)p->total * (word * (is_double(problem) ? 2.5 : 1) * slower[bp__native_isa(host, problem)] +
                                     (strided ? 1 : 0));
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    found f = {0};
    find_kernel(host, problem, &f);
    const double alone = cost_of(host, problem);
    f.threads = bp__native_worth(alone, problem->policy.threads);
    verdict.algorithm = "philox";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    return bp__random_plan(host, problem, f->kernel, f->write, f->threads, prepared);
}

const bp__native_family bp__native_random = {accept, plan};
