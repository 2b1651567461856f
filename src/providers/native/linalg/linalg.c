/* linalg.c - linear algebra of the native provider: which problems it takes, and how. Empty ones are filled in, batches
 * of small matrices run along vectors (lanes.h); factorizations of large ones are the libraries'.
 */
#include "providers/native/choose.h"
#include "providers/native/level.h"
#include "providers/native/part.h"

#include "small.h"

#include <stdio.h>

/* Everything that follows from the problem. */
typedef struct choice {
    const bp__lanes_kernels *kernels; /* NULL: nothing to compute */
    const char *algorithm;
    int threads;
    double cost_ns;
} choice;

static const bp__lanes_kernels *const sets[] =
    BP__NATIVE_LEVELS(bp__lanes_default, bp__lanes_avx2, bp__lanes_avx512);

static void choose_lanes(const bp_host *host, const bp_problem *problem, choice *to) {
    static const char *const names[] = {"lanes default", "lanes avx2", "lanes avx512"};
    const int set = bp__native_level(host, problem);
    to->kernels = &sets[set][problem->dtype - BP_F32];
    to->algorithm = names[set];
    const double alone = bp__small_cost(problem, to->kernels);
    const int64_t groups = (problem->of.linalg.batch + to->kernels->lanes - 1) / to->kernels->lanes;
    const int threads = bp__native_worth(alone, problem->policy.threads);
    to->threads = groups < threads ? (int)groups : threads;
    to->cost_ns = to->threads > 1 ? alone / (0.95 * to->threads) + 2000 : alone;
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
    if (!bp__small_step_of((bp_op)problem->op)) {
        return BP_REASON_OP;
    }
    if (l->m > BP__SMALL_MOST || l->n > BP__SMALL_MOST) {
        return BP_REASON_SIZE;
    }
    choose_lanes(host, problem, to);
    return BP_REASON_ACCEPTED;
}

static const char *refusal(bp_reason reason) {
    switch (reason) {
    case BP_REASON_DTYPE:
        return "only f32, f64, c64 and c128 are offered";
    case BP_REASON_SIZE:
        return "only matrices up to 32x32 are offered";
    default:
        return "of empty matrices only";
    }
}

static void accept(const bp_host *host, const bp_problem *problem, bp_verdict *verdict) {
    choice chosen;
    verdict->reason = choose(host, problem, &chosen);
    if (verdict->reason != BP_REASON_ACCEPTED) {
        snprintf(verdict->text, sizeof verdict->text, "%s", refusal(verdict->reason));
        return;
    }
    const bool doubles = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    verdict->algorithm = chosen.algorithm;
    verdict->notes = BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS;
    verdict->notes |= doubles ? BP_NOTE_ACCUMULATES_F64 : BP_NOTE_ACCUMULATES_F32;
    verdict->threads = chosen.threads;
    verdict->cost_ns = chosen.cost_ns;
}

static bp_status plan(const bp_host *host, const bp_problem *problem, bp_prepared **prepared) {
    choice chosen;
    if (choose(host, problem, &chosen) != BP_REASON_ACCEPTED) {
        return host->fail(BP_E_UNSUPPORTED, "the native provider was asked to plan a problem that it refused");
    }
    return chosen.kernels ? bp__small_prepare(host, problem, chosen.kernels, chosen.threads, prepared)
                          : bp__empty_prepare(host, problem, prepared);
}

const bp__native_part bp__native_linalg = {accept, plan};
