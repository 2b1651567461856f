/* capability.h - makes options with an instruction set that the processor may lack, without cmocka. */
#ifndef BP_TESTS_SUPPORT_CAPABILITY_H
#define BP_TESTS_SUPPORT_CAPABILITY_H

#include "backplane/settings.h"

/* bp_options_new with these settings. An instruction set of cpu.capability that the processor lacks is left out, so
 * that the best one that it has runs. */
bp_status test_options_new(bp_options **options, const char *settings);

#endif
