/* accept.c - offers and plans recurrent layers of the native provider. */
#include "rnn.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

typedef struct found {
    const bp__rnn_kernels *kernels;
    int threads;
} found;

/* Returns the estimated time of one step on one thread: products of whole vectors, or reading the weights, and about 40
 * operations on each vector of gates. */
static double step_cost(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const double gates = (double)bp__rnn_gates(p) * (double)p->hidden_size, columns = (double)p->output_size;
    const double weights = gates * columns + (p->tensor[BP_RNN_WEIGHT_HR].dtype ? columns * (double)p->hidden_size : 0);
    const double rate = bp__native_rate(bp__native_isa(host, problem), (bp_dtype)problem->dtype), bytes_per_ns = 30;
    const double products = weights * (double)p->batch * 1.2 / rate;
    const double reads = weights * (double)kernels->number / bytes_per_ns;
    return p->directions *
           ((products > reads ? products : reads) + gates * (double)p->batch * 10 / kernels->lanes + 50);
}

static bool is_half(const bp_problem *problem) {
    return problem->dtype == BP_F16 || problem->dtype == BP_BF16;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    static const bp__rnn_kernels *const sets[] = BP__NATIVE_PER_ISA(bp__rnn_default, bp__rnn_avx2, bp__rnn_avx512);
    const bp_rnn_problem *p = &problem->of.rnn;
    bp_verdict verdict = BP_VERDICT_INIT;
    bp_problem computed = *problem; /* in the type of the computation */
    computed.dtype = is_half(problem) ? BP_F32 : problem->dtype;
    if (computed.dtype != BP_F32 && computed.dtype != BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const bool backward = problem->op == BP_OP_RNN_BACKWARD;
    const bp__rnn_kernels *kernels = &sets[bp__native_isa(host, problem)][problem->dtype == BP_F64];
    const double step = step_cost(host, &computed, kernels), ratio = (double)p->input_size / (double)p->output_size;
    /* A thread of the pool waits for the next step before it sleeps, so short steps are worth several, too. */
    const found f = {kernels, bp__native_worth(4 * step, problem->policy.threads)};
    verdict.algorithm = "steps";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT |
                         (p->tensor[BP_RNN_LENGTHS].dtype ? 0 : BP_PROPERTY_PROPAGATES_NAN) |
                         (problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32);
    verdict.threads = f.threads;
    verdict.packs = backward ? 0
                             : 1u << BP_RNN_WEIGHT_IH | 1u << BP_RNN_WEIGHT_HH |
                                   (p->tensor[BP_RNN_WEIGHT_HR].dtype ? 1u << BP_RNN_WEIGHT_HR : 0);
    const double stages = p->reset_before ? 2 : 1; /* of a step, which wait for each other */
    verdict.cost_ns = 1000 + (backward ? 3 : 1) * (double)p->steps * (1 + 0.7 * ratio) *
                                 (step / f.threads + stages * (f.threads > 1 ? 1000 : 300));
    verdict.cost_ns += is_half(problem) ? bp__rnn_half_elements(p) / f.threads : 0;
    offers->add(offers, &verdict, &f, sizeof f);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    return (is_half(problem)           ? bp__rnn_plan_half
            : problem->op == BP_OP_RNN ? bp__rnn_plan_forward
                                       : bp__rnn_plan_backward)(host, problem, f->kernels, f->threads, prepared);
}

const bp__native_family bp__native_rnn = {accept, plan};
