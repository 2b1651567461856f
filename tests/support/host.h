/* host.h - the host of tests that call a provider without the dispatcher. */
#ifndef BP_TESTS_SUPPORT_HOST_H
#define BP_TESTS_SUPPORT_HOST_H

#include "backplane/provider.h"

/* The library's own memory and threads on a machine of which nothing but the instruction set is known. Failures are
 * their status alone. */
const bp_host *test_plain_host(void);

#endif
