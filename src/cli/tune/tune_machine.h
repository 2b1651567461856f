/* tune_machine.h - `backplane tune --machine`. */
#ifndef BP_CLI_TUNE_MACHINE_H
#define BP_CLI_TUNE_MACHINE_H

#include "cli/command/cli.h"

/* Measures all libraries for at most `seconds`; 0: 60. Returns an exit code. */
int tune_machine(const cli_args *args, int64_t seconds);

#endif
