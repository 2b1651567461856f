/* several_provider.c - a module with many providers, for tests of the choice.
 *
 * "several" has three algorithms; one of them fails for lack of memory when it runs. "p0" to "p69" make the list longer
 * than 64; the last one fails in the same way. Every run writes a number that identifies its algorithm: 100, 101 and
 * 102 for the algorithms of "several", i for "pi", 301 for "careless". */
#include "backplane/provider.h"

#include <math.h>
#include <stdio.h>

enum { STARVING = 0, WORKING = 1, SLOW = 2, LAST = 69 };

/* Data that accept() computes and plan() must receive. */
typedef struct worked_out {
    uint64_t mark;
    int64_t elements;
    int number;
} worked_out;

#define MARK UINT64_C(0x5ca1ab1e0ddba11)

typedef struct prepared {
    bp_prepared base;
    worked_out found;
} prepared;

static const bp_host *host;

static bp_status open(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void close(void *instance) {
    (void)instance;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const worked_out *found = &((const prepared *)self)->found;
    double *c = bp_operand_address(&operands[2]);
    (void)exec;
    if (found->number == 100 + STARVING || found->number == LAST) {
        return host->fail(BP_E_NO_MEMORY, "number %d has no memory on purpose", found->number);
    }
    for (int64_t i = 0; i < found->elements; i++) {
        c[i] = found->number;
    }
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    host->release(self);
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **made) {
    const worked_out *w = found;
    (void)instance, (void)problem, (void)verdict;
    if (!w || (uintptr_t)w % 16 != 0 || w->mark != MARK) {
        return host->fail(BP_E_INTERNAL, "what accept() found did not come back");
    }
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){{.struct_size = sizeof p->base, .enqueue = enqueue, .destroy = destroy}, *w};
    *made = &p->base;
    return BP_OK;
}

static void offer(bp_offers *offers, const bp_problem *problem, const char *algorithm, int number, double cost) {
    bp_verdict verdict = BP_VERDICT_INIT;
    worked_out found = {MARK, problem->of.gemm.m * problem->of.gemm.n, number};
    verdict.algorithm = algorithm;
    verdict.threads = 1;
    verdict.properties = number == 100 + SLOW ? BP_PROPERTY_THREAD_INVARIANT : 0;
    verdict.cost_ns = cost;
    offers->add(offers, &verdict, &found, sizeof found);
}

static void accept_several(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    if (problem->op != BP_OP_GEMM || problem->dtype != BP_F64) {
        return; /* adds no offer: the operation is not supported */
    }
    offer(offers, problem, "starving first", 100 + STARVING, 1);
    offer(offers, problem, "working second", 100 + WORKING, 2);
    offer(offers, problem, "slow", 100 + SLOW, 3);
}

#define PROVIDERS(X) TEN(X, 0) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6)
#define TEN(X, tens)                                                                                                   \
    X(tens##0) X(tens##1) X(tens##2) X(tens##3) X(tens##4) X(tens##5) X(tens##6) X(tens##7) X(tens##8) X(tens##9)

/* The last one is the cheapest. */
#define DEFINE(number)                                                                                                 \
    static void accept_##number(void *instance, const bp_problem *problem, bp_offers *offers) {                        \
        (void)instance;                                                                                                \
        if (problem->op == BP_OP_GEMM && problem->dtype == BP_F64) {                                                   \
            offer(offers, problem, "fake", 1##number - 100, 1000 - (1##number - 100));                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static const bp_provider provider_##number = {.abi = BP_PROVIDER_ABI,                                              \
                                                  .struct_size = sizeof(bp_provider),                                  \
                                                  .name = "p" #number,                                                 \
                                                  .version = "1",                                                      \
                                                  .description = "fake provider",                                      \
                                                  .open = open,                                                        \
                                                  .close = close,                                                      \
                                                  .accept = accept_##number,                                           \
                                                  .plan = plan};
PROVIDERS(DEFINE)

static const bp_provider several = {.abi = BP_PROVIDER_ABI,
                                    .struct_size = sizeof(bp_provider),
                                    .name = "several",
                                    .version = "1",
                                    .description = "fake provider",
                                    .open = open,
                                    .close = close,
                                    .accept = accept_several,
                                    .plan = plan};

/* Violates the interface, for products of complex numbers. The only usable offer is one without a text for its
 * algorithm. */
static void accept_careless(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    if (problem->op != BP_OP_GEMM || problem->dtype != BP_C128) {
        return;
    }
    worked_out found = {MARK, problem->of.gemm.m * problem->of.gemm.n, 301};
    bp_verdict verdict = {.reason = BP_REASON_LAYOUT, .algorithm = "unsized"};
    offers->add(offers, &verdict, NULL, 0);
    verdict = (bp_verdict){.struct_size = sizeof verdict, .algorithm = "unknown", .cost_ns = NAN};
    for (size_t i = 0; i < sizeof verdict.text; i++) {
        verdict.text[i] = 'x';
    }
    offers->add(offers, &verdict, &found, sizeof found);
    offer(offers, problem, "starving", 100 + STARVING, 0.5);
    verdict = (bp_verdict){.struct_size = sizeof verdict, .algorithm = NULL, .cost_ns = 1};
    offers->add(offers, &verdict, &found, sizeof found);
}

static const bp_provider careless = {.abi = BP_PROVIDER_ABI,
                                     .struct_size = sizeof(bp_provider),
                                     .name = "careless",
                                     .version = "1",
                                     .description = "fake provider",
                                     .open = open,
                                     .close = close,
                                     .accept = accept_careless,
                                     .plan = plan};

/* Uses a workspace for the run and scratch memory in each task, for products of single complex numbers. Tasks in the
 * calling thread must not get the workspace as scratch. */
enum { SHARED = 5000 };

static void fill_scratch(void *context, int task) {
    unsigned char *block = host->scratch(SHARED);
    (void)context, (void)task;
    for (int i = 0; block && i < SHARED; i++) {
        block[i] = 0xFF;
    }
}

static bp_status enqueue_sharing(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    unsigned char *workspace = bp_operand_address(&exec->workspace);
    (void)self, (void)operands;
    for (int i = 0; i < SHARED; i++) {
        workspace[i] = (unsigned char)(i % 251);
    }
    host->parallel(2, 8, fill_scratch, NULL);
    for (int i = 0; i < SHARED; i++) {
        if (workspace[i] != i % 251) {
            return host->fail(BP_E_BROKEN, "byte %d of the workspace was overwritten", i);
        }
    }
    return BP_OK;
}

static bp_status plan_sharing(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                              bp_prepared **made) {
    (void)instance, (void)problem, (void)verdict, (void)found;
    *made = host->allocate(sizeof **made);
    if (!*made) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    **made = (bp_prepared){
        .struct_size = sizeof **made, .enqueue = enqueue_sharing, .destroy = destroy, .workspace = SHARED};
    return BP_OK;
}

static void accept_sharing(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    if (problem->op == BP_OP_GEMM && problem->dtype == BP_C64) {
        offer(offers, problem, "sharing", 400, 1);
    }
}

static const bp_provider sharing = {.abi = BP_PROVIDER_ABI,
                                    .struct_size = sizeof(bp_provider),
                                    .name = "sharing",
                                    .version = "1",
                                    .description = "fake provider",
                                    .open = open,
                                    .close = close,
                                    .accept = accept_sharing,
                                    .plan = plan_sharing};

/* Offers a new algorithm with each call, which violates the interface, and fails to plan it, for products in half
 * precision. */
static bp_status plan_restless(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **made) {
    (void)instance, (void)problem, (void)found, (void)made;
    return host->fail(BP_E_UNSUPPORTED, "%s does not work after all", verdict->algorithm);
}

static void accept_restless(void *instance, const bp_problem *problem, bp_offers *offers) {
    static char names[200000][16];
    static unsigned asked;
    (void)instance;
    if (problem->op == BP_OP_GEMM && problem->dtype == BP_F16) {
        char *name = names[asked++ % 200000];
        snprintf(name, sizeof names[0], "a%u", asked);
        offer(offers, problem, name, 500, 0);
    }
}

static const bp_provider restless = {.abi = BP_PROVIDER_ABI,
                                     .struct_size = sizeof(bp_provider),
                                     .name = "restless",
                                     .version = "1",
                                     .description = "fake provider",
                                     .open = open,
                                     .close = close,
                                     .accept = accept_restless,
                                     .plan = plan_restless};

/* Works on a device only: it must never receive a problem on the host. */
static void accept_elsewhere(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    offer(offers, problem, "elsewhere", 200, 0);
}

static const bp_provider elsewhere = {.abi = BP_PROVIDER_ABI,
                                      .struct_size = sizeof(bp_provider),
                                      .name = "elsewhere",
                                      .version = "1",
                                      .description = "fake provider",
                                      .open = open,
                                      .close = close,
                                      .accept = accept_elsewhere,
                                      .plan = plan,
                                      .runtimes = "opencl"};

#define ADDRESS(number) &provider_##number,
BP_PROVIDERS_DEFINE = {PROVIDERS(ADDRESS) & several, &careless, &sharing, &restless, &elsewhere, NULL};
