/* host.h - a provider host for tests that call a provider without the dispatcher. */
#ifndef BP_TESTS_SUPPORT_HOST_H
#define BP_TESTS_SUPPORT_HOST_H

#include "backplane/provider.h"

/* Returns a host with the library's memory and threads, on a machine whose instruction set alone is known. Errors
 * keep their status only, no message. */
const bp_host *test_plain_host(void);

#endif
