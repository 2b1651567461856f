/* offers.h - calls a provider like the dispatcher does: collects its offers, plans them, runs the plans, and checks the
 * rules of provider.h. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_OFFERS_H
#define BP_TESTS_SUPPORT_OFFERS_H

#include "backplane/provider.h"

#include <stddef.h>

enum { TEST_MOST_OFFERS = 16 };

typedef struct test_offer {
    bp_verdict verdict;
    void *found; /* a block of exactly `size` bytes, or NULL */
    size_t size;
} test_offer;

typedef struct test_offers {
    bp_offers base; /* must be first: the part that the provider gets */
    const bp_provider *provider;
    void *instance;
    int count; /* at least 1: a provider that adds nothing has refused the operation */
    test_offer of[TEST_MOST_OFFERS];
} test_offers;

/* Collects the offers. Fails the test if an offer violates the rules: two accepted ones for one algorithm, an estimate
 * that is not a number, a refusal without a reason, ... */
void test_offers_ask(test_offers *offers, const bp_provider *provider, void *instance, const bp_problem *problem);
void test_offers_free(test_offers *offers);

/* Returns the index of the first accepted offer whose algorithm begins with this text ("" for any), or -1. */
int test_offers_find(const test_offers *offers, const char *algorithm);
/* Returns the next accepted offer after `index`, which starts at -1; -1 if there is none. */
int test_offers_next(const test_offers *offers, int index);
/* Returns the verdict of the first accepted offer, else of the first refusal. */
const bp_verdict *test_offers_verdict(const test_offers *offers);

/* Plans an offer. Afterwards overwrites the data that plan() may read only during the call. */
bp_status test_offers_plan(const test_offers *offers, int index, const bp_problem *problem, bp_prepared **prepared);

/* Do both in one call. The first returns the verdict of the first accepted offer, else of the first refusal. The second
 * plans the first accepted offer, and fails the test if there is none. */
bp_verdict test_verdict(const bp_provider *provider, void *instance, const bp_problem *problem);
bp_status test_plan_first(const bp_provider *provider, void *instance, const bp_problem *problem,
                          bp_prepared **prepared);

/* Runs a plan on the addresses of its operands. The workspace has exactly the requested size and is filled with NaN. A
 * plan that writes beyond the workspace gives BP_E_BROKEN (AddressSanitizer also detects reads). `scalars` NULL: 1 and
 * 0. Any thread may call this. */
bp_status test_enqueue(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars);

/* Workspace of this thread's run, for fake libraries. */
extern _Thread_local bp_operand test_workspace;
extern _Thread_local size_t test_workspace_size;

/* As test_enqueue, with packed operands. */
bp_status test_enqueue_packed(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars,
                              const bp_packed *const *packed);

#endif
