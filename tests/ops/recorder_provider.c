/* recorder_provider.c - a provider that computes nothing and records its problems, for tests of how operations convert
 * calls.
 *
 * It accepts every problem of linear algebra at the lowest cost of all. */
#include "ops/recorder.h"

static recorder_state state;

/* Called by the tests, which open this module again to find it. */
BP_API recorder_state *bp_test_recorder(void);

recorder_state *bp_test_recorder(void) {
    return &state;
}

static const bp_host *host;

static bp_status recorder_open(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void recorder_close(void *instance) {
    (void)instance;
}

static void recorder_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT;
    state.asked = *problem;
    verdict.reason = problem->op == BP_OP_GEMM || problem->op == BP_OP_FFT ? BP_REASON_OP : BP_REASON_ACCEPTED;
    verdict.algorithm = "none";
    verdict.threads = 1;
    verdict.cost_ns = 1e-6;
    offers->add(offers, &verdict, NULL, 0);
}

typedef struct prepared {
    bp_prepared base;
    bp_problem problem;
} prepared;

static bp_status recorder_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)exec;
    const prepared *p = (const prepared *)self;
    state.runs++;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        state.operands[i] = p->problem.of.linalg.operand[i].dtype ? bp_operand_address(&operands[i]) : NULL;
    }
    if (state.info != 0 && p->problem.of.linalg.fail_on_item_error) {
        return host->fail_numeric(&p->problem, state.item, state.info);
    }
    return BP_OK;
}

static void recorder_destroy(bp_prepared *self) {
    host->release(self);
}

static bp_status recorder_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **made) {
    (void)instance, (void)verdict, (void)found;
    state.plans++;
    state.planned = *problem;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p =
        (prepared){{.struct_size = sizeof p->base, .enqueue = recorder_enqueue, .destroy = recorder_destroy}, *problem};
    *made = &p->base;
    return BP_OK;
}

BP_PROVIDER_DEFINE(recorder) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "recorder",
    .version = "1",
    .description = "records problems",
    .open = recorder_open,
    .close = recorder_close,
    .accept = recorder_accept,
    .plan = recorder_plan,
};
