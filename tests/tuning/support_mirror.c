/* support_mirror.c - implements mirror.h. */
#include "tuning/mirror.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;

mirror mirrored;

enum { SLOW, QUICK, WRONG, ALGORITHMS, MOST_FOUND = 1 << 16 };
static const struct {
    const char *name;
    double estimate_ns;
    long long ns;
} algorithms[] = {[SLOW] = {"slow", 1.0, 400000}, [QUICK] = {"quick", 1.2, 20000}, [WRONG] = {"wrong", 1.1, 0}};

static const bp_host *host;

/* What native has found, as the data of an offer. */
typedef struct found_data {
    bp_verdict verdict;
    bool accepted;
    size_t size;
    _Alignas(16) char data[MOST_FOUND];
} found_data;

typedef struct collector {
    bp_offers base; /* must be first: the interface of native */
    found_data found;
} collector;

typedef struct prepared {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    int algorithm, inputs;
} prepared;

static bp_status open_mirror(const bp_host *given, const bp_library_info *library, void **instance) {
    host = given;
    return bp_provider_native.open(given, library, instance);
}

static void close_mirror(void *instance) {
    bp_provider_native.close(instance);
}

static void keep(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    found_data *f = &((collector *)self)->found;
    if (!f->accepted && verdict->reason == BP_REASON_ACCEPTED && size <= sizeof f->data) {
        f->accepted = true;
        f->verdict = *verdict;
        f->size = size;
        if (size > 0) {
            memcpy(f->data, found, size);
        }
    }
}

static void accept_mirror(void *instance, const bp_problem *problem, bp_offers *offers) {
    collector c = {.base = {keep}};
    bp_provider_native.accept(instance, problem, &c.base);
    for (int i = 0; i < ALGORITHMS && c.found.accepted; i++) {
        bp_verdict verdict = c.found.verdict;
        verdict.algorithm = algorithms[i].name;
        verdict.cost_ns = algorithms[i].estimate_ns;
        verdict.threads = 1;
        offers->add(offers, &verdict, &c.found, sizeof c.found);
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *p = (const prepared *)self;
    const bp_status status = p->inner->enqueue(p->inner, operands, exec);
    mirrored.failures += status != BP_OK;
    mirrored.runs++;
    if (p->algorithm == WRONG) {
        int output = p->inputs;
        while (!operands[output].base) {
            output++;
        }
        memset(bp_operand_address(&operands[output]), 0x41, sizeof(float)); /* 12.1 */
    }
    mirrored.advance(algorithms[p->algorithm].ns);
    return status;
}

static void destroy(bp_prepared *self) {
    prepared *p = (prepared *)self;
    p->inner->destroy(p->inner);
    host->release(p);
}

static bp_status plan_mirror(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **made) {
    const found_data *f = found;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){.base = {.struct_size = sizeof p->base, .enqueue = enqueue, .destroy = destroy}};
    p->inputs = 1;
    for (const char *names = bp_op_inputs((bp_op)problem->op); *names; names++) {
        p->inputs += *names == ',';
    }
    while (strcmp(algorithms[p->algorithm].name, verdict->algorithm) != 0) {
        p->algorithm++;
    }
    const bp_status status =
        bp_provider_native.plan(instance, problem, &f->verdict, f->size > 0 ? f->data : NULL, &p->inner);
    if (status != BP_OK) {
        host->release(p);
        return status;
    }
    p->base.workspace = p->inner->workspace;
    *made = &p->base;
    return BP_OK;
}

static const bp_provider provider = {.struct_size = sizeof provider,
                                     .open = open_mirror,
                                     .close = close_mirror,
                                     .accept = accept_mirror,
                                     .plan = plan_mirror};

void mirror_offer(void) {
    char address[32];
    snprintf(address, sizeof address, "%p", (const void *)&provider);
    setenv("FORWARDED_PROVIDER", address, 1);
}
