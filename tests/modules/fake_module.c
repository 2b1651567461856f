/* fake_module.c - builds provider modules that follow the interface or violate one rule, chosen by FAKE_...:
 *
 *   FAKE_NAME     the name             FAKE_ABI       the interface number
 *   FAKE_SIZE     struct_size          FAKE_NO_PLAN   omits a required function
 *   FAKE_GARBAGE  every field but the number is an invalid address
 *   FAKE_NO_ENTRY exports nothing
 *   FAKE_SEVERAL  exports a list: a good one, one of another interface, a good one, and the name of the first again
 *   FAKE_EMPTY    exports an empty list
 *   FAKE_ACCEPTS  accepts attention and recurrent layers, whatever is asked */
#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif
#ifndef FAKE_ABI
#define FAKE_ABI BP_PROVIDER_ABI
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(bp_provider)
#endif

#if defined(FAKE_SEVERAL) || defined(FAKE_EMPTY)
#define BP_BUILTIN_PROVIDER several
#endif
#include "backplane/provider.h"

#if defined(FAKE_GARBAGE)
#define BAD(type) ((type)(uintptr_t)1)
BP_PROVIDER_DEFINE(garbage) = {
    .abi = FAKE_ABI,
    .struct_size = 0xffffffffu,
    .name = BAD(const char *),
    .version = BAD(const char *),
    .description = BAD(const char *),
    .open = BAD(bp_status(*)(const bp_host *, const bp_library_info *, void **)),
};
#elif defined(FAKE_EMPTY)
BP_PROVIDERS_DEFINE = {NULL};
#elif !defined(FAKE_NO_ENTRY)
static bp_status fake_open(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    *instance = (void *)host;
    return BP_OK;
}

static void fake_close(void *instance) {
    (void)instance;
}

static void fake_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance, (void)problem, (void)offers;
#ifdef FAKE_ACCEPTS
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = BP_REASON_ACCEPTED;
    verdict.algorithm = "overrideable";
    if (problem->op == BP_OP_ATTENTION || problem->op == BP_OP_RNN) {
        offers->add(offers, &verdict, NULL, 0);
    }
#endif
}

#ifndef FAKE_NO_PLAN
static bp_status fake_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared) {
    (void)problem, (void)verdict, (void)found, (void)prepared;
    return ((const bp_host *)instance)->fail(BP_E_UNSUPPORTED, "the fake provider makes no plans");
}
#else
#define fake_plan NULL
#endif

#define DESCRIBE(ABI, NAME)                                                                                            \
    {                                                                                                                  \
        .abi = ABI, .struct_size = FAKE_SIZE, .name = NAME, .version = "1.2", .description = "a fake provider",        \
        .open = fake_open, .close = fake_close, .accept = fake_accept, .plan = fake_plan,                              \
    }

BP_PROVIDER_DEFINE(test_fake) = DESCRIBE(FAKE_ABI, FAKE_NAME);
#ifdef FAKE_SEVERAL
BP_PROVIDER_DEFINE(test_other_abi) = DESCRIBE(BP_PROVIDER_ABI + 1u, "of-tomorrow");
BP_PROVIDER_DEFINE(test_second) = DESCRIBE(BP_PROVIDER_ABI, "second");
BP_PROVIDERS_DEFINE = {&bp_provider_test_fake, &bp_provider_test_other_abi, &bp_provider_test_second,
                       &bp_provider_test_fake, NULL};
#endif
#else
int bp_double_without_entry;
#endif
