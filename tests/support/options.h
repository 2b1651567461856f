/* options.h - makes options for tests that go through all instruction sets. */
#ifndef BP_TESTS_SUPPORT_OPTIONS_H
#define BP_TESTS_SUPPORT_OPTIONS_H

#include "backplane/settings.h"

/* Makes options with these settings. An instruction set of cpu.capability that the processor lacks is left out, so that
 * the best one that it has runs. The test fails if they cannot be made. */
bp_options *test_options(const char *settings);

#endif
