/* exhausted.h - runs a function with each of its allocations failing. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_EXHAUSTED_H
#define BP_TESTS_SUPPORT_EXHAUSTED_H

#include "backplane.h"

/* Runs `live` with the n-th allocation failing, alone and then with all later ones, for all n. Each run must succeed or
 * fail with BP_E_NO_MEMORY, and nothing may be left after it. Other objects must not be held. */
void test_exhausted(bp_status (*live)(void));

#endif
