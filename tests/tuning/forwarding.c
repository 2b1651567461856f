/* forwarding.c - a provider module whose functions are the test program's, which passes their address in an
 * environment variable. */
#include "backplane/provider.h"

#include <stdio.h>
#include <stdlib.h>

static const bp_provider *given(void) {
    const char *address = getenv("FORWARDED_PROVIDER");
    void *found = NULL;
    return address && sscanf(address, "%p", &found) == 1 ? found : NULL;
}

static bp_status open_given(const bp_host *host, const bp_library_info *library, void **instance) {
    return given() ? given()->open(host, library, instance) : host->fail(BP_E_UNSUPPORTED, "no test gives a provider");
}

static void close_given(void *instance) {
    given()->close(instance);
}

static void accept_given(void *instance, const bp_problem *problem, bp_offers *offers) {
    given()->accept(instance, problem, offers);
}

static bp_status plan_given(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **prepared) {
    return given()->plan(instance, problem, verdict, found, prepared);
}

BP_PROVIDER_DEFINE(test_forwarding) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "mirror",
    .version = "1",
    .description = "what the test program gives",
    .open = open_given,
    .close = close_given,
    .accept = accept_given,
    .plan = plan_given,
};
