/* main.h - the function of libbackplane that backplane-probe runs. */
#ifndef BP_PROBE_PROGRAM_MAIN_H
#define BP_PROBE_PROGRAM_MAIN_H

/* Runs the helper with the words of its command line, and returns its exit status. Call it first in a process: it
 * limits the process and closes its files. */
__attribute__((visibility("default"))) int bp__probe_main(int count, char **words);

#endif
