/* provider.c - defines the built-in provider. It computes every operation except factorizations of large matrices,
 * without any library and without OpenMP. Each family of operations has a folder; the files next to this one are shared
 * by several of them. */
#include "family.h"
#include "gemm/choose.h"

#include <stdio.h>

static bp_status open_native(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    /* An instance needs nothing but the host table, which exists as long as the library. */
    *instance = (void *)(uintptr_t)host;
    return BP_OK;
}

static void close_native(void *instance) {
    (void)instance;
}

void bp__native_refuse(bp_offers *offers, bp_reason reason, const char *text) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = reason;
    snprintf(verdict.text, sizeof verdict.text, "%s", text);
    offers->add(offers, &verdict, NULL, 0);
}

const bp__native_kernels *bp__native_bf16_kernels(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    const char *why = "";
    if (problem->dtype != BP_BF16 && problem->dtype != BP_F32) {
        return NULL;
    }
    const bp__native_set *set = bp__native_bf16_set(host, problem, &why);
    if (!set && (problem->dtype == BP_BF16 || problem->policy.precision == 2)) {
        bp_verdict verdict = BP_VERDICT_INIT;
        verdict.reason = BP_REASON_CAPABILITY;
        verdict.algorithm = BP__NATIVE_BF16;
        snprintf(verdict.text, sizeof verdict.text, "%s", why);
        offers->add(offers, &verdict, NULL, 0);
    }
    return set ? &set->of[problem->dtype - BP_F16] : NULL;
}

/* The families, named as in BP_OP_MAP. Plans of einsum and of graphs are made of other operations, so they never get
 * here. */
#define bp__native_einsum bp__native_contract
#define bp__native_graph bp__native_contract
static const bp__native_family *family_of(uint32_t op) {
    static const bp__native_family *const families[] = {
#define X(number, name, text, inputs, outputs, family) [BP_OP_##name] = &bp__native_##family,
        BP_OP_MAP(X)
#undef X
    };
    return op < sizeof families / sizeof *families ? families[op] : NULL;
}

static void accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    const bp__native_family *family = family_of(problem->op);
    if (family) {
        family->accept(instance, problem, offers);
    }
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **prepared) {
    (void)verdict;
    return family_of(problem->op)->plan(instance, problem, found, prepared);
}

BP_PROVIDER_DEFINE(native) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "native",
    .version = BP_VERSION_STRING,
    .description = "built-in kernels, bitwise reproducible on any number of threads",
    .open = open_native,
    .close = close_native,
    .accept = accept,
    .plan = plan,
};
