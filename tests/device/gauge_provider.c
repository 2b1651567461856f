/* gauge_provider.c - a provider of products, contractions and convolutions on the devices of fake_runtime.c, which
 * computes nothing and notes the policy that it gets. */
#include "gauge_provider.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

BP_API extern gauge_record gauge;
gauge_record gauge;

static const bp_host *host;

typedef struct prepared {
    bp_prepared base;
    bp_policy policy;
    bool handles; /* memory has no addresses */
} prepared;

static bp_status open_gauge(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &gauge;
    return BP_OK;
}

static void close_gauge(void *instance) {
    (void)instance;
}

static void accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT;
    const bool offered = problem->op == BP_OP_GEMM || problem->op == BP_OP_CONV || problem->op == BP_OP_CONTRACT ||
                         problem->op == BP_OP_ATTENTION;
    verdict.reason = offered ? BP_REASON_ACCEPTED : BP_REASON_OP;
    verdict.algorithm = problem->op == BP_OP_ATTENTION ? "flash" : "gauge";
    verdict.properties = gauge.properties;
    verdict.cost_ns = 1;
    offers->add(offers, &verdict, NULL, 0);
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *p = (const prepared *)self;
    (void)operands;
    gauge.ran = p->policy;
    gauge.runs++;
    gauge.given = exec->workspace;
    gauge.given_size = exec->workspace_size;
    const uintptr_t at = (p->handles ? 0 : (uintptr_t)exec->workspace.base) + exec->workspace.offset;
    gauge.misaligned += gauge.alignment > 0 && at % gauge.alignment != 0;
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    host->release(self);
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **made) {
    (void)instance, (void)verdict, (void)found;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    memset(p, 0, sizeof *p);
    p->base.struct_size = sizeof p->base;
    p->base.enqueue = enqueue;
    p->base.destroy = destroy;
    p->base.workspace = gauge.workspace;
    p->base.workspace_alignment = gauge.alignment;
    p->policy = problem->policy;
    p->handles = strcmp(host->device(problem->place)->runtime, "fake") == 0;
    gauge.planned = problem->policy;
    gauge.plans++;
    *made = &p->base;
    return BP_OK;
}

static void expand(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers) {
    static char names[64][16];
    (void)instance, (void)problem;
    const char *wanted = getenv("GAUGE_LISTED"); /* by programs that cannot reach `gauge` */
    const int count = wanted ? (int)strtol(wanted, NULL, 10) : gauge.listed;
    for (int i = 0; i < count && i < 64; i++) {
        bp_verdict verdict = *offer;
        snprintf(names[i], sizeof names[i], "engine%d", i);
        verdict.algorithm = names[i];
        offers->add(offers, &verdict, NULL, 0);
    }
}

BP_PROVIDER_DEFINE(gauge) = {.abi = BP_PROVIDER_ABI,
                             .struct_size = sizeof(bp_provider),
                             .name = "gauge",
                             .version = "1",
                             .description = "notes policies",
                             .open = open_gauge,
                             .close = close_gauge,
                             .accept = accept,
                             .plan = plan,
                             .expand = expand,
                             .runtimes = "fake other"};
