/* double_provider.c - a provider with a will of its own, for testing choice: built several times with other values.
 *
 *   DOUBLE_NAME     its name                     DOUBLE_COST     the cost that it claims
 *   DOUBLE_NOTES    its promises                 DOUBLE_REASON   what accept() says (0: accepted)
 *   DOUBLE_PLAN     what plan() returns          DOUBLE_RUN      what run() returns
 *   DOUBLE_SCALES   1: it uses as many threads as it may, and its cost is shared by them
 *   DOUBLE_DTYPE    the one type that it takes (f64)
 *   DOUBLE_GATED    1: destroying a plan waits at the gate whose address the variable DOUBLE_GATE holds; see gate.h
 *   DOUBLE_ANY_OP   1: it offers every operation, not products alone
 *   DOUBLE_KINDS    the kinds of libraries that it drives (0: none, and it is a candidate by itself)
 * Where run() succeeds it writes the number DOUBLE_COST into every element of a compact f64 result. */
#include "backplane/provider.h"

#include "gate.h"

#ifndef DOUBLE_ANY_OP
#define DOUBLE_ANY_OP 0
#endif
#ifndef DOUBLE_NOTES
#define DOUBLE_NOTES 0
#endif
#ifndef DOUBLE_DTYPE
#define DOUBLE_DTYPE BP_F64
#endif
#ifndef DOUBLE_REASON
#define DOUBLE_REASON BP_REASON_ACCEPTED
#endif
#ifndef DOUBLE_PLAN
#define DOUBLE_PLAN BP_OK
#endif
#ifndef DOUBLE_SCALES
#define DOUBLE_SCALES 0
#endif
#ifndef DOUBLE_KINDS
#define DOUBLE_KINDS 0
#endif
#ifndef DOUBLE_RUN
#define DOUBLE_RUN BP_OK
#endif

#ifndef DOUBLE_GATED
#define DOUBLE_GATED 0
#endif

typedef struct prepared {
    bp_prepared base;
    int64_t elements;
} prepared;

static const bp_host *host;

static bp_status double_open(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void double_close(void *instance) {
    (void)instance;
}

static void double_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = problem->op != BP_OP_GEMM && !DOUBLE_ANY_OP ? BP_REASON_OP
                     : problem->dtype == DOUBLE_DTYPE            ? DOUBLE_REASON
                                                                 : BP_REASON_DTYPE;
    verdict.algorithm = "double";
    verdict.notes = DOUBLE_NOTES;
    verdict.threads = DOUBLE_SCALES ? problem->policy.threads : 1;
    verdict.cost_ns = DOUBLE_COST / verdict.threads;
    offers->add(offers, &verdict, NULL, 0);
}

static bp_status double_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)exec;
    double *c = bp_operand_address(&operands[2]);
    if (DOUBLE_RUN != BP_OK) {
        return host->fail(DOUBLE_RUN, "%s was told to fail", DOUBLE_NAME);
    }
    for (int64_t i = 0; i < ((const prepared *)self)->elements; i++) {
        c[i] = DOUBLE_COST;
    }
    return BP_OK;
}

static void double_destroy(bp_prepared *self) {
    if (DOUBLE_GATED) {
        wait_at_gate();
    }
    host->release(self);
}

static bp_status double_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **made) {
    (void)instance, (void)verdict, (void)found;
    if (DOUBLE_PLAN != BP_OK) {
        return host->fail(DOUBLE_PLAN, "%s was told to fail", DOUBLE_NAME);
    }
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){{.struct_size = sizeof p->base, .enqueue = double_enqueue, .destroy = double_destroy},
                    DOUBLE_DTYPE == BP_F64 ? problem->of.gemm.m * problem->of.gemm.n : 0};
    *made = &p->base;
    return BP_OK;
}

BP_PROVIDER_DEFINE(test_double) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = DOUBLE_NAME,
    .version = "1",
    .description = "test double",
    .library_kinds = DOUBLE_KINDS,
    .open = double_open,
    .close = double_close,
    .accept = double_accept,
    .plan = double_plan,
};
