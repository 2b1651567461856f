/* double_module.c - provider modules that keep the contract or break it in one way, chosen by DOUBLE_...:
 *
 *   DOUBLE_NAME     the name             DOUBLE_ABI       the interface number
 *   DOUBLE_SIZE     struct_size          DOUBLE_NO_PLAN   leaves a required slot out
 *   DOUBLE_GARBAGE  every field but the number is a bad address
 *   DOUBLE_NO_ENTRY exports nothing */
#include "backplane/provider.h"

#ifndef DOUBLE_NAME
#define DOUBLE_NAME "double"
#endif
#ifndef DOUBLE_ABI
#define DOUBLE_ABI BP_PROVIDER_ABI
#endif
#ifndef DOUBLE_SIZE
#define DOUBLE_SIZE sizeof(bp_provider)
#endif

#if defined(DOUBLE_GARBAGE)
#define BAD(type) ((type)(uintptr_t)1)
BP_PROVIDER_DEFINE(garbage) = {
    .abi = DOUBLE_ABI,
    .struct_size = 0xffffffffu,
    .name = BAD(const char *),
    .version = BAD(const char *),
    .description = BAD(const char *),
    .open = BAD(bp_status(*)(const bp_host *, const bp_library_info *, void **)),
};
#elif !defined(DOUBLE_NO_ENTRY)
static bp_status double_open(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    *instance = (void *)host;
    return BP_OK;
}

static void double_close(void *instance) {
    (void)instance;
}

static void double_accept(void *instance, const bp_problem *problem, bp_verdict *verdict) {
    (void)instance;
    (void)problem;
    verdict->reason = BP_REASON_OP;
}

#ifndef DOUBLE_NO_PLAN
static bp_status double_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict,
                             bp_prepared **prepared) {
    (void)problem;
    (void)verdict;
    (void)prepared;
    return ((const bp_host *)instance)->fail(BP_E_UNSUPPORTED, "a double plans nothing");
}
#else
#define double_plan NULL
#endif

BP_PROVIDER_DEFINE(test_double) = {
    .abi = DOUBLE_ABI,
    .struct_size = DOUBLE_SIZE,
    .name = DOUBLE_NAME,
    .version = "1.2",
    .description = "a double",
    .open = double_open,
    .close = double_close,
    .accept = double_accept,
    .plan = double_plan,
};
#else
int bp_double_without_entry;
#endif
