/* fake_provider.c - a provider with configurable behaviour, for tests of the choice. It is built several times with
 * different values.
 *
 * FAKE_NAME        name of the provider
 * FAKE_COST        estimated cost
 * FAKE_PROPERTIES  guarantees
 * FAKE_REASON      reason of accept() (0: accepted)
 * FAKE_PLAN        status of plan()
 * FAKE_RUN         status of a run
 * FAKE_SCALES      1: uses all allowed threads and divides its cost by them
 * FAKE_MOST_PLANNED, FAKE_MOST_RUN  threads above which plan() or a run has no memory
 * FAKE_DTYPE       the one supported type (f64)
 * FAKE_GATED       1: destroying a plan waits at the gate with the address in the variable FAKE_GATE; see gate.h
 * FAKE_ANY_OP      1: offers every operation, not only products
 * FAKE_KINDS       kinds of libraries that it drives (0: none; it is a candidate on its own)
 *
 * A successful run writes the number FAKE_COST to every element of a compact f64 result. */
#include "backplane/provider.h"

#include "gate.h"

#ifndef FAKE_ANY_OP
#define FAKE_ANY_OP 0
#endif
#ifndef FAKE_PROPERTIES
#define FAKE_PROPERTIES 0
#endif
#ifndef FAKE_DTYPE
#define FAKE_DTYPE BP_F64
#endif
#ifndef FAKE_REASON
#define FAKE_REASON BP_REASON_ACCEPTED
#endif
#ifndef FAKE_PLAN
#define FAKE_PLAN BP_OK
#endif
#ifndef FAKE_SCALES
#define FAKE_SCALES 0
#endif
#ifndef FAKE_MOST_PLANNED
#define FAKE_MOST_PLANNED INT32_MAX
#endif
#ifndef FAKE_MOST_RUN
#define FAKE_MOST_RUN INT32_MAX
#endif
#ifndef FAKE_KINDS
#define FAKE_KINDS 0
#endif
#ifndef FAKE_RUN
#define FAKE_RUN BP_OK
#endif

#ifndef FAKE_GATED
#define FAKE_GATED 0
#endif

typedef struct prepared {
    bp_prepared base;
    int64_t elements;
    int threads;
} prepared;

static const bp_host *host;

static bp_status fake_open(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void fake_close(void *instance) {
    (void)instance;
}

static void fake_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = problem->op != BP_OP_GEMM && !FAKE_ANY_OP ? BP_REASON_OP
                     : problem->dtype == FAKE_DTYPE            ? FAKE_REASON
                                                               : BP_REASON_DTYPE;
    verdict.algorithm = "fake";
    verdict.properties = FAKE_PROPERTIES;
    verdict.threads = FAKE_SCALES ? problem->policy.threads : 1;
    verdict.cost_ns = FAKE_COST / verdict.threads;
    offers->add(offers, &verdict, NULL, 0);
}

static bp_status fake_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)exec;
    double *c = bp_operand_address(&operands[2]);
    if (FAKE_RUN != BP_OK) {
        return host->fail(FAKE_RUN, "%s fails on purpose", FAKE_NAME);
    }
    if (((const prepared *)self)->threads > FAKE_MOST_RUN) {
        return host->fail(BP_E_NO_MEMORY, "%s has no memory on purpose", FAKE_NAME);
    }
    for (int64_t i = 0; i < ((const prepared *)self)->elements; i++) {
        c[i] = FAKE_COST;
    }
    return BP_OK;
}

static void fake_destroy(bp_prepared *self) {
    if (FAKE_GATED) {
        wait_at_gate();
    }
    host->release(self);
}

static bp_status fake_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **made) {
    (void)instance, (void)found;
    if (FAKE_PLAN != BP_OK) {
        return host->fail(FAKE_PLAN, "%s fails on purpose", FAKE_NAME);
    }
    if (verdict->threads > FAKE_MOST_PLANNED) {
        return host->fail(BP_E_NO_MEMORY, "%s has no memory on purpose", FAKE_NAME);
    }
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){{.struct_size = sizeof p->base, .enqueue = fake_enqueue, .destroy = fake_destroy},
                    FAKE_DTYPE == BP_F64 ? problem->of.gemm.m * problem->of.gemm.n : 0,
                    verdict->threads};
    *made = &p->base;
    return BP_OK;
}

BP_PROVIDER_DEFINE(test_fake) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = FAKE_NAME,
    .version = "1",
    .description = "fake provider",
    .library_kinds = FAKE_KINDS,
    .open = fake_open,
    .close = fake_close,
    .accept = fake_accept,
    .plan = fake_plan,
};
