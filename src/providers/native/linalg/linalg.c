/* linalg.c - offers and plans linear algebra of the native provider. Empty problems are filled in (empty.c), batches of
 * small matrices run interleaved (interleaved.h), and norms are sums (matrix_norm.h). Factorizations of large matrices
 * are left to libraries.
 */
#include "providers/native/gemm/choose.h"
#include "providers/native/isa.h"
#include "providers/native/family.h"

#include "matrix_norm.h"
#include "small.h"

/* Everything that follows from the problem. */
typedef struct choice {
    const bp__interleaved_kernels *interleaved; /* one of these is set, or neither if there is nothing to compute */
    const bp__matrix_norm_kernels *norm;
    int isa;
    const char *algorithm;
    int threads;
    double cost_ns;
} choice;

static const bp__interleaved_kernels *const interleaved_sets[] =
    BP__NATIVE_PER_ISA(bp__interleaved_default, bp__interleaved_avx2, bp__interleaved_avx512);
static const bp__matrix_norm_kernels *const norm_sets[] =
    BP__NATIVE_PER_ISA(bp__matrix_norm_default, bp__matrix_norm_avx2, bp__matrix_norm_avx512);

/* Sets the threads, at most one for each unit of work, and the cost on that many threads. */
static void share(choice *to, double alone, int most, int64_t units) {
    const int threads = bp__native_worth(alone, most);
    to->threads = units < threads ? (int)units : threads;
    to->cost_ns = to->threads > 1 ? alone / (0.95 * to->threads) + 2000 : alone;
}

static void choose_interleaved(const bp_problem *problem, choice *to) {
    static const char *const names[] = {"lanes default", "lanes avx2", "lanes avx512"};
    to->interleaved = &interleaved_sets[to->isa][problem->dtype - BP_F32];
    to->algorithm = names[to->isa];
    const int64_t groups = (problem->of.linalg.batch + to->interleaved->lanes - 1) / to->interleaved->lanes;
    share(to, bp__small_cost(problem, to->interleaved), problem->policy.threads, groups);
}

static void choose_norm(const bp_host *host, const bp_problem *problem, choice *to) {
    static const char *const names[] = {"sums default", "sums avx2", "sums avx512"};
    to->norm = &norm_sets[to->isa][problem->dtype - BP_F32];
    to->algorithm = names[to->isa];
    share(to, bp__matrix_norm_cost(host, problem), problem->policy.threads, bp__matrix_norm_shares(problem));
}

static bp_reason choose(const bp_host *host, const bp_problem *problem, choice *to) {
    const bp_linalg_problem *l = &problem->of.linalg;
    if (problem->dtype < BP_F32 || problem->dtype > BP_C128) {
        return BP_REASON_DTYPE;
    }
    if (l->empty || l->batch == 0) {
        *to = (choice){.algorithm = "nothing to do", .threads = 1, .cost_ns = 10};
        return BP_REASON_ACCEPTED;
    }
    *to = (choice){.isa = bp__native_isa(host, problem)};
    if (bp__matrix_norm_is_sum(problem)) {
        choose_norm(host, problem, to);
        return BP_REASON_ACCEPTED;
    }
    if (!bp__small_step_of((bp_op)problem->op) || (problem->op == BP_OP_COND && !bp__small_is_spectral(l))) {
        return BP_REASON_OP;
    }
    if (l->m > BP__SMALL_MOST || l->n > BP__SMALL_MOST) {
        return BP_REASON_SIZE;
    }
    choose_interleaved(problem, to);
    return BP_REASON_ACCEPTED;
}

static const char *refusal(bp_reason reason) {
    switch (reason) {
    case BP_REASON_DTYPE:
        return "only f32, f64, c64 and c128 are offered";
    case BP_REASON_SIZE:
        return "only matrices up to 32x32 are offered";
    default:
        return "only empty matrices are offered";
    }
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    choice chosen;
    bp_reason reason = choose(host, problem, &chosen);
    if (reason != BP_REASON_ACCEPTED) {
        bp__native_refuse(offers, reason, refusal(reason));
        return;
    }
    bp_verdict verdict = BP_VERDICT_INIT;
    const bool doubles = chosen.norm || problem->dtype == BP_F64 || problem->dtype == BP_C128;
    verdict.algorithm = chosen.algorithm;
    verdict.properties =
        BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | (chosen.norm ? BP_PROPERTY_PROPAGATES_NAN : 0u);
    verdict.properties |= doubles ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    verdict.threads = chosen.threads;
    verdict.cost_ns = chosen.cost_ns;
    offers->add(offers, &verdict, &chosen, sizeof chosen);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    const choice *chosen = found;
    if (chosen->norm) {
        return bp__matrix_norm_prepare(host, problem, chosen->norm, chosen->threads, prepared);
    }
    return chosen->interleaved ? bp__small_prepare(host, problem, chosen->interleaved, chosen->threads, prepared)
                               : bp__empty_prepare(host, problem, prepared);
}

const bp__native_family bp__native_linalg = {accept, plan};
