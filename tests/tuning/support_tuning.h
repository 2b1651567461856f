/* support_tuning.h - declares what the tests of measured times share: products of the rivals, and the files. */
#ifndef TESTS_TUNING_SUPPORT_H
#define TESTS_TUNING_SUPPORT_H

#include "backplane.h"
#include "base/support_base.h"
#include "tuning/watch.h"

#define NOW "benchmark=true, tuning.start=now, dispatch.exclude=native"
#define RIVALS_ONLY "dispatch.exclude=native"

extern char cache_folder[64];
extern watch seen;

/* The library's clock is one that only runs of the rivals advance, so that no test depends on the load of the machine.
 * Starts each test in a new process state with an empty cache directory. */
int tuning_setup(void **state);
int tuning_teardown(void **state);
void tuning_restart(void); /* as a new process: the files stay */

/* Computes an n x n product of ones and checks the result. Returns the algorithm that ran. */
const char *multiply(const char *settings, int64_t n);

/* Reads a file of the cache directory; "" if there is none. Static storage. */
const char *cache_file(const char *name);
bool cache_file_exists(const char *name);

/* Returns the decision, or with `algorithm` the text of that candidate's line, in an explanation. Static storage. */
const char *decision(const char *settings, int64_t n);
bp_candidate_info rival(const char *settings, int64_t n, const char *algorithm);

#endif
