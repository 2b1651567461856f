/* accept.c - offers and plans attention of the native provider. */
#include "attention.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

#include <stdio.h>

typedef struct found {
    bp__attention_set set;
    bp__attention_kernel kernel;
    int threads;
} found;

static const char *const names[] = {"flash", "mem_efficient", "math"};
static const char name_of_pairs[] = "flash_bf16";

static bp__attention_set set_for(const bp_host *host, const bp_problem *problem) {
    static const bp__attention_numbers *const numbers[] =
        BP__NATIVE_PER_ISA(bp__attention_numbers_default, bp__attention_numbers_avx2, bp__attention_numbers_avx512);
    static const bp__attention_elements *const elements[] =
        BP__NATIVE_PER_ISA(bp__attention_elements_default, bp__attention_elements_avx2, bp__attention_elements_avx512);
    const int isa = bp__native_isa(host, problem);
    return (bp__attention_set){&numbers[isa][problem->dtype == BP_F64], elements[isa], NULL};
}

/* Returns the estimated time on one thread: products at the rate of the matrix kernels, and about 20 operations on each
 * vector of scores. Lanes without a query cost as much as others. */
static double cost_of(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                      bp__attention_kernel kernel) {
    const bp_attention_problem *p = &problem->of.attention;
    const double lanes = set->numbers->lanes, queries = (double)p->queries;
    const double rows = queries >= lanes ? queries : queries <= 4 && !set->pairs ? 2 * queries : lanes;
    const double keys = bp__attention_mean_seen(p, 64);
    const double scores = (double)p->batch * rows * keys, columns = (double)p->size + (double)p->value_size;
    const double rate =
        set->pairs ? bp__native_bf16_rate()
                   : bp__native_rate(bp__native_isa(host, problem), problem->dtype == BP_F64 ? BP_F64 : BP_F32);
    const bool weighs = bp__attention_weighs(problem) && kernel != BP__ATTENTION_MATH;
    const double products = !bp__attention_is_backward(problem) ? 1 : weighs ? 5 : 4;
    const double kernel_factor = kernel == BP__ATTENTION_FLASH ? 1 : kernel == BP__ATTENTION_EFFICIENT ? 1.06 : 1.3;
    /* Weights are rounded, and so are keys and values of f32 once for a block of 256 rows. */
    const double rounding = set->pairs ? (problem->dtype == BP_F32 ? 3 : 2) / lanes : 0;
    const double masks = p->tensor[BP_ATTENTION_MASK].dtype ? 0.5 : 0, dropout = p->dropout > 0 ? 6 : 0;
    const double caps = p->softcap > 0 ? 24 / lanes : 0;
    return 500 +
           kernel_factor * scores * (columns * products * 1.1 / rate + 16 / lanes + rounding + masks + dropout + caps);
}

/* Keys that nothing sees are not read. */
static bool propagates_nan(const bp_problem *problem, bp__attention_kernel kernel) {
    const bp_attention_problem *p = &problem->of.attention;
    return !bp__attention_has_window(p) && !bp__attention_is_counted(problem) &&
           (!p->causal || kernel == BP__ATTENTION_MATH);
}

static void offer(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                  bp__attention_kernel kernel, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    const double alone = cost_of(host, problem, set, kernel);
    const found f = {*set, kernel, bp__native_worth(alone, problem->policy.threads)};
    verdict.algorithm = set->pairs ? name_of_pairs : names[kernel];
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT |
                         (problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32);
    verdict.properties |= propagates_nan(problem, kernel) ? BP_PROPERTY_PROPAGATES_NAN : 0;
    verdict.properties |= set->pairs && problem->dtype == BP_F32 ? BP_PROPERTY_ROUNDS_BELOW_TF32 : 0;
    verdict.threads = f.threads;
    verdict.cost_ns = f.threads > 1 ? alone / (0.95 * f.threads) + 4000 : alone;
    offers->add(offers, &verdict, &f, sizeof f);
}

/* Offers flash_bf16. It rounds inputs of f32, which fp32_precision must permit. Without that it is no candidate on
 * processors that lack the instruction, so that explanations do not name it. */
static void accept_pairs(const bp_host *host, const bp_problem *problem, bp__attention_set set, bp_offers *offers) {
    const char *why = "";
    const bool rounds = problem->dtype == BP_F32;
    if ((problem->dtype != BP_BF16 && !rounds) ||
        (problem->op != BP_OP_ATTENTION && problem->op != BP_OP_ATTENTION_LENGTHS)) {
        return;
    }
    set.pairs = bp__attention_pairs_for(host, problem, &why);
    if (set.pairs) {
        set.numbers = set.pairs->numbers;
        offer(host, problem, &set, BP__ATTENTION_FLASH, offers);
    } else if (!rounds || problem->policy.precision == 2) {
        bp_verdict verdict = BP_VERDICT_INIT;
        verdict.reason = BP_REASON_CAPABILITY;
        verdict.algorithm = name_of_pairs;
        snprintf(verdict.text, sizeof verdict.text, "%s", why);
        offers->add(offers, &verdict, NULL, 0);
    }
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const bp__attention_set set = set_for(host, problem);
    offer(host, problem, &set, BP__ATTENTION_FLASH, offers);
    if (problem->op == BP_OP_ATTENTION_PAGED) {
        bp_verdict verdict = BP_VERDICT_INIT;
        verdict.reason = BP_REASON_LAYOUT;
        verdict.algorithm = names[BP__ATTENTION_EFFICIENT];
        snprintf(verdict.text, sizeof verdict.text, "does not read keys and values in pages");
        offers->add(offers, &verdict, NULL, 0);
        verdict.algorithm = name_of_pairs;
        offers->add(offers, &verdict, NULL, 0);
    } else {
        offer(host, problem, &set, BP__ATTENTION_EFFICIENT, offers);
    }
    offer(host, problem, &set, BP__ATTENTION_MATH, offers);
    accept_pairs(host, problem, set, offers);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    if (f->kernel == BP__ATTENTION_MATH) {
        return bp__attention_plan_math(host, problem, &f->set, f->threads, prepared);
    }
    return !bp__attention_is_backward(problem)
               ? bp__attention_plan_forward(host, problem, &f->set, f->kernel, f->threads, prepared)
               : bp__attention_plan_backward(host, problem, &f->set, f->kernel, f->threads, prepared);
}

const bp__native_family bp__native_attention = {accept, plan};
