/* rivals.c - a provider whose algorithms take known times, for tests of measured times.
 *
 * It runs single products of f64. An algorithm computes its result, if it does, and then advances the clock of the test
 * (watch.h), which may give other times and estimates. The estimates are not in the order of the times:
 *     steady  right, 400 us, the least estimate
 *     quick   right, 20 us
 *     wrong   every element is 1, at once
 *     idle    writes nothing, at once
 *     moody   right, 5 us for n up to 8, else 800 us; 10 us if B is packed */
#include "backplane/provider.h"

#include "watch.h"

#include <stdbool.h>
#include <string.h>

typedef struct rival {
    const char *name;
    double estimate_ns;
    int64_t least_ns, large_ns; /* time for n up to 8, and above */
} rival;

enum { STEADY, QUICK, WRONG, IDLE, MOODY };
static const rival rivals[RIVALS] = {
    [STEADY] = {"steady", 1.0, 400000, 400000},
    [QUICK] = {"quick", 1.2, 20000, 20000},
    [WRONG] = {"wrong", 1.1, 0, 0},
    [IDLE] = {"idle", 1.3, 0, 0},
    [MOODY] = {"moody", 1.4, 5000, 800000},
};

typedef struct prepared {
    bp_prepared base;
    bp_gemm_problem g;
    int number;
    watch *seen;
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

/* B of moody, packed: row by row, without gaps. */
typedef struct packed {
    bp_packed base; /* must be first: dispatch uses this part */
    double values[];
} packed;

static void multiply(const bp_gemm_problem *g, const double *a, const double *b, double *c, const bp_scalar *scalars) {
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0, *at = &c[i * g->c_row + j * g->c_column];
            for (int64_t l = 0; l < g->k; l++) {
                sum += a[i * g->a_row + l * g->a_column] * b[l * g->b_row + j * g->b_column];
            }
            *at = scalars[0].re * sum + (g->beta == BP_FACTOR_ZERO ? 0 : scalars[1].re * *at);
        }
    }
}

/* Advances the clock of the test by the time of a run. */
static void take_time(const prepared *p, bool is_packed) {
    enum { PACKED_NS = 10000 };
    watch *w = p->seen;
    const long long given = w->times[p->number];
    const long long own = is_packed ? PACKED_NS : p->g.n <= 8 ? rivals[p->number].least_ns : rivals[p->number].large_ns;
    atomic_fetch_add(&w->packed_runs, is_packed);
    w->advance((given > 0 ? given : own) + atomic_exchange(&w->first_ns, 0));
}

static void destroy_packed(bp_packed *self) {
    host->release(self);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const bp_gemm_problem *g = &((const prepared *)self)->g;
    const double *b = bp_operand_address(source);
    const size_t size = (size_t)(g->k * g->n) * sizeof *b;
    packed *p = operand == 1 ? host->allocate(sizeof *p + size) : NULL;
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory to pack");
    }
    p->base = (bp_packed){.struct_size = sizeof p->base, .size = size, .destroy = destroy_packed};
    for (int64_t l = 0; l < g->k; l++) {
        for (int64_t j = 0; j < g->n; j++) {
            p->values[l * g->n + j] = b[l * g->b_row + j * g->b_column];
        }
    }
    *result = &p->base;
    return BP_OK;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *p = (const prepared *)self;
    const packed *given = exec->packed ? (const packed *)exec->packed[1] : NULL;
    const double *b = given ? given->values : bp_operand_address(&operands[1]);
    bp_gemm_problem plain = p->g;
    const bp_gemm_problem *g = &plain;
    plain.b_row = given ? plain.n : plain.b_row;
    plain.b_column = given ? 1 : plain.b_column;
    double *c = bp_operand_address(&operands[2]);
    bp_scalar scalars[2] = {exec->scalars[0], exec->scalars[1]};
    scalars[0].re = g->alpha == BP_FACTOR_ONE ? 1 : scalars[0].re;
    scalars[1].re = g->beta == BP_FACTOR_ONE ? 1 : scalars[1].re;
    if (p->seen) {
        atomic_fetch_add(&p->seen->runs[p->number], 1);
        atomic_fetch_add(&p->seen->writes, c == p->seen->c);
    }
    for (int64_t i = 0; p->number == WRONG && i < g->m * g->n; i++) {
        c[i] = 1;
    }
    if (p->number != WRONG && p->number != IDLE) {
        multiply(g, bp_operand_address(&operands[0]), b, c, scalars);
    }
    if (p->seen) {
        take_time(p, given != NULL);
        if (p->seen->during) {
            p->seen->during();
        }
    }
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    host->release(self);
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **made) {
    (void)instance, (void)found;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){
        {.struct_size = sizeof p->base, .enqueue = enqueue, .destroy = destroy}, problem->of.gemm, 0, find_watch()};
    while (strcmp(rivals[p->number].name, verdict->algorithm) != 0) {
        p->number++;
    }
    p->base.pack = p->number == MOODY ? pack : NULL;
    *made = &p->base;
    return BP_OK;
}

static void accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    const watch *w = find_watch();
    for (int i = 0; i < (w && w->lists ? 1 : RIVALS); i++) {
        bp_verdict verdict = BP_VERDICT_INIT;
        bool offered = problem->op == BP_OP_GEMM && problem->dtype == BP_F64 && problem->of.gemm.batch_ndim == 0;
        verdict.reason = offered ? BP_REASON_ACCEPTED : BP_REASON_OP;
        verdict.algorithm = rivals[i].name;
        verdict.properties = BP_PROPERTY_REPRODUCIBLE;
        verdict.threads = 1;
        verdict.packs = i == MOODY ? 1u << 1 : 0;
        verdict.cost_ns = w && w->estimates[i] > 0 ? w->estimates[i] : rivals[i].estimate_ns;
        offers->add(offers, &verdict, NULL, 0);
        if (!offered) {
            return;
        }
    }
}

/* If the test asks for it, quick and moody are algorithms of a library's own list, with less expected times than they
 * may have. */
static void expand(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers) {
    watch *w = find_watch();
    (void)instance, (void)problem;
    if (!w || !w->lists) {
        return;
    }
    atomic_fetch_add(&w->expanded, 1);
    for (int i = QUICK; i <= MOODY; i += MOODY - QUICK) {
        bp_verdict verdict = *offer;
        verdict.algorithm = rivals[i].name;
        verdict.cost_ns = offer->cost_ns / 2;
        offers->add(offers, &verdict, NULL, 0);
    }
}

BP_PROVIDER_DEFINE(test_rivals) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "rivals",
    .version = "1",
    .description = "algorithms that take known times",
    .open = open,
    .close = close,
    .accept = accept,
    .plan = plan,
    .expand = expand,
};
