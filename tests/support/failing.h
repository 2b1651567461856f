/* failing.h - an allocator whose allocations fail when a test wants it. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_FAILING_H
#define BP_TESTS_SUPPORT_FAILING_H

#include "backplane.h"

#include <stdbool.h>

extern const bp_allocator test_failing_allocator; /* for bp_set_allocator() */

/* Lets the next `succeed` allocations of all threads succeed, and those after them fail: one of them, or all. */
void test_fail_allocations(long succeed, bool only_one);
/* Lets all allocations succeed. Returns whether one has failed since test_fail_allocations(). */
bool test_end_of_failures(void);

#endif
