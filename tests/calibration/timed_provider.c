/* timed_provider.c - a provider for tests of measured times. It estimates that every product takes a nanosecond.
 *
 * Products of at least TIMED_SLOW_FROM rows take 0.3 ms, all others nearly nothing. With TIMED_ENDS_AT rows the process
 * ends. With TIMED_ODD_NS set, an odd number of rows above 1 costs this many nanoseconds, and the estimate says so; the
 * cost follows the kernels if TIMED_FOLLOWS is 1. Every product takes TIMED_CALL_NS more. With TIMED_WAITS, a product
 * waits until the file exists that the variable TIMED_GO names. With TIMED_INVERSES, it offers no products but
 * inverses, and none on one thread, as a library does whose threads cannot be limited. With TIMED_CONVOLVES, it offers
 * no products but convolutions in f32: by "loops" in TIMED_LOOPS_NS, and by "winograd" in nearly no time, against its
 * estimates. With TIMED_ROUNDS, it offers products of f32 by a second algorithm too, which rounds its inputs and takes
 * half of the estimated time. Every element of the result is 7, so that tests know who has run. */
#include "backplane/provider.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef TIMED_SLOW_FROM
#define TIMED_SLOW_FROM INT64_MAX
#endif
#ifndef TIMED_ENDS_AT
#define TIMED_ENDS_AT (-1)
#endif

#ifndef TIMED_ODD_NS
#define TIMED_ODD_NS 0
#endif
#ifndef TIMED_CALL_NS
#define TIMED_CALL_NS 0
#endif
#ifndef TIMED_FOLLOWS
#define TIMED_FOLLOWS 0
#endif
#ifndef TIMED_WAITS
#define TIMED_WAITS 0
#endif
#ifndef TIMED_CONVOLVES
#define TIMED_CONVOLVES 0
#endif
#ifndef TIMED_LOOPS_NS
#define TIMED_LOOPS_NS 10000000
#endif
#ifndef TIMED_INVERSES
#define TIMED_INVERSES 0
#endif
#ifndef TIMED_ROUNDS
#define TIMED_ROUNDS 0
#endif

typedef struct prepared {
    bp_prepared base;
    bp_gemm_problem gemm;
    int wide;
    int64_t loops_ns;
} prepared;

static const bp_host *host;

static bp_status open_timed(const bp_host *given, const bp_library_info *library, void **instance) {
    (void)library;
    host = given;
    *instance = &host;
    return BP_OK;
}

static void close_timed(void *instance) {
    (void)instance;
}

static void wait_ns(int64_t ns) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

static int64_t odd_ns(int64_t rows) {
    return rows > 1 && rows % 2 ? TIMED_ODD_NS : 0;
}

static void wait_for_file(void) {
    const char *file = getenv("TIMED_GO");
    while (file && access(file, F_OK) != 0) {
        usleep(1000);
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *p = (const prepared *)self;
    char *c = bp_operand_address(&operands[TIMED_CONVOLVES ? 3 : 2]);
    (void)exec;
    if (p->gemm.m == TIMED_ENDS_AT) {
        abort();
    }
    if (p->gemm.m >= TIMED_SLOW_FROM) {
        wait_ns(300000);
    }
    wait_ns(TIMED_CALL_NS + odd_ns(p->gemm.m));
    wait_ns(p->loops_ns);
    if (TIMED_WAITS) {
        wait_for_file();
    }
    if (p->wide) {
        *(double *)(void *)c = 7;
    } else {
        *(float *)(void *)c = 7;
    }
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    host->release(self);
}

static void accept_convolution(const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.threads = 1;
    verdict.cost_ns = 1;
    verdict.algorithm = "loops";
    verdict.reason = problem->op == BP_OP_CONV && problem->dtype == BP_F32 ? BP_REASON_ACCEPTED : BP_REASON_OP;
    offers->add(offers, &verdict, NULL, 0);
    verdict.cost_ns = 2;
    verdict.algorithm = "winograd";
    verdict.properties = BP_PROPERTY_LARGER_ERROR;
    offers->add(offers, &verdict, NULL, 0);
}

static void accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    (void)instance;
    if (TIMED_CONVOLVES) {
        accept_convolution(problem, offers);
        return;
    }
    const bool real = problem->dtype == BP_F32 || problem->dtype == BP_F64;
    verdict.algorithm = "timed";
    if (problem->op != (TIMED_INVERSES ? BP_OP_INV : BP_OP_GEMM) || !real) {
        verdict.reason = BP_REASON_OP;
    } else if (TIMED_INVERSES) {
        verdict.reason = problem->policy.threads == 1 ? BP_REASON_THREADS : BP_REASON_ACCEPTED;
        verdict.cost_ns = 1000;
    } else {
        verdict.threads = 1;
        verdict.cost_ns = 1 + (double)odd_ns(problem->of.gemm.m);
    }
    offers->add(offers, &verdict, NULL, 0);
    if (TIMED_ROUNDS && verdict.reason == BP_REASON_ACCEPTED && problem->dtype == BP_F32) {
        verdict.algorithm = "rounded";
        verdict.properties = BP_PROPERTY_ROUNDS_BELOW_TF32;
        verdict.cost_ns /= 2;
        offers->add(offers, &verdict, NULL, 0);
    }
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **made) {
    (void)instance, (void)found;
    prepared *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan");
    }
    *p = (prepared){{.struct_size = sizeof p->base, .enqueue = enqueue, .destroy = destroy},
                    TIMED_INVERSES || TIMED_CONVOLVES ? (bp_gemm_problem){0} : problem->of.gemm,
                    problem->dtype == BP_F64,
                    verdict->algorithm[0] == 'l' ? TIMED_LOOPS_NS : 0};
    *made = &p->base;
    return BP_OK;
}

BP_PROVIDER_DEFINE(timed) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = TIMED_NAME,
    .version = "1",
    .description = "times for tests",
    .open = open_timed,
    .close = close_timed,
    .accept = accept,
    .plan = plan,
    .cost_follows_kernels = TIMED_FOLLOWS,
};
