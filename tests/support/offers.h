/* offers.h - asks a provider as the dispatcher does, without one: collects its offers, plans them and runs the plans,
 * and checks the rules of provider.h on the way. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_OFFERS_H
#define BP_TESTS_SUPPORT_OFFERS_H

#include "backplane/provider.h"

#include <stddef.h>

enum { TEST_MOST_OFFERS = 16 };

typedef struct test_offer {
    bp_verdict verdict;
    void *found; /* a block of exactly `size` bytes; NULL where there are none */
    size_t size;
} test_offer;

typedef struct test_offers {
    bp_offers base; /* first: what the provider sees */
    const bp_provider *provider;
    void *instance;
    int count; /* at least 1: a provider that adds nothing has refused the operation */
    test_offer of[TEST_MOST_OFFERS];
} test_offers;

/* Fails the test where an offer breaks the contract: two accepted ones of one algorithm, an estimate that is no number,
 * a refusal without words, ... */
void test_offers_ask(test_offers *offers, const bp_provider *provider, void *instance, const bp_problem *problem);
void test_offers_free(test_offers *offers);

/* The index of the first accepted offer whose algorithm begins with these words ("" for any); -1 when there is none. */
int test_offers_find(const test_offers *offers, const char *algorithm);
/* The next accepted offer after `index`, from -1 on; -1 when there is none. */
int test_offers_next(const test_offers *offers, int index);
/* That of the first accepted offer, else of the first refusal. */
const bp_verdict *test_offers_verdict(const test_offers *offers);

/* Plans an offer. What plan() may read during the call only is overwritten after it. */
bp_status test_offers_plan(const test_offers *offers, int index, const bp_problem *problem, bp_prepared **prepared);

/* In one: the verdict of the first accepted offer, else of the first refusal; and a plan of the first accepted offer.
 * The second fails the test where there is none. */
bp_verdict test_verdict(const bp_provider *provider, void *instance, const bp_problem *problem);
bp_status test_plan_first(const bp_provider *provider, void *instance, const bp_problem *problem,
                          bp_prepared **prepared);

/* Runs a plan on the addresses of its operands, with a workspace of exactly the size that it asks for, filled with
 * bytes that are NaN as numbers. A plan that writes beyond the workspace gives BP_E_BROKEN (AddressSanitizer sees reads
 * too). `scalars` NULL: 1 and 0. Any thread may call this. */
bp_status test_enqueue(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars);

/* Where the workspace of this thread's run lies, for libraries that are doubles. */
extern _Thread_local bp_operand test_workspace;
extern _Thread_local size_t test_workspace_size;

/* The same with operands packed beforehand. */
bp_status test_enqueue_packed(const bp_prepared *prepared, void *const *addresses, int count, const bp_scalar *scalars,
                              const bp_packed *const *packed);

#endif
