/* double_module.c - provider modules that keep the contract or break it in one way, chosen by DOUBLE_...:
 *
 *   DOUBLE_NAME     the name             DOUBLE_ABI       the interface number
 *   DOUBLE_SIZE     struct_size          DOUBLE_NO_PLAN   leaves a required slot out
 *   DOUBLE_GARBAGE  every field but the number is a bad address
 *   DOUBLE_NO_ENTRY exports nothing
 *   DOUBLE_SEVERAL  exports a list: a good one, one of another interface, a good one, and the name of the first again
 *   DOUBLE_EMPTY    exports a list of none */
#ifndef DOUBLE_NAME
#define DOUBLE_NAME "double"
#endif
#ifndef DOUBLE_ABI
#define DOUBLE_ABI BP_PROVIDER_ABI
#endif
#ifndef DOUBLE_SIZE
#define DOUBLE_SIZE sizeof(bp_provider)
#endif

#if defined(DOUBLE_SEVERAL) || defined(DOUBLE_EMPTY)
#define BP_BUILTIN_PROVIDER several
#endif
#include "backplane/provider.h"

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
#elif defined(DOUBLE_EMPTY)
BP_PROVIDERS_DEFINE = {NULL};
#elif !defined(DOUBLE_NO_ENTRY)
static bp_status double_open(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    *instance = (void *)host;
    return BP_OK;
}

static void double_close(void *instance) {
    (void)instance;
}

static void double_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance, (void)problem, (void)offers;
}

#ifndef DOUBLE_NO_PLAN
static bp_status double_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared) {
    (void)problem, (void)verdict, (void)found, (void)prepared;
    return ((const bp_host *)instance)->fail(BP_E_UNSUPPORTED, "a double plans nothing");
}
#else
#define double_plan NULL
#endif

#define DESCRIBE(ABI, NAME)                                                                                            \
    {                                                                                                                  \
        .abi = ABI, .struct_size = DOUBLE_SIZE, .name = NAME, .version = "1.2", .description = "a double",             \
        .open = double_open, .close = double_close, .accept = double_accept, .plan = double_plan,                      \
    }

BP_PROVIDER_DEFINE(test_double) = DESCRIBE(DOUBLE_ABI, DOUBLE_NAME);
#ifdef DOUBLE_SEVERAL
BP_PROVIDER_DEFINE(test_other_abi) = DESCRIBE(BP_PROVIDER_ABI + 1u, "of-tomorrow");
BP_PROVIDER_DEFINE(test_second) = DESCRIBE(BP_PROVIDER_ABI, "second");
BP_PROVIDERS_DEFINE = {&bp_provider_test_double, &bp_provider_test_other_abi, &bp_provider_test_second,
                       &bp_provider_test_double, NULL};
#endif
#else
int bp_double_without_entry;
#endif
