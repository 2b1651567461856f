/* ranks.h - shared by the files that start a program on several ranks of MPI. */
#ifndef BP_CLI_RANKS_H
#define BP_CLI_RANKS_H

#include "cli/command/cli.h"

enum { RANKS_MOST = 1 << 20, RANKS_TIMED_OUT = 124 }; /* the exit code of timeout(1) */

/* The options that `backplane run` and `backplane eval` share. */
#define OPTIONS_RANKS                                                                                                  \
    {"mpi", 0, "NAME", "The MPI: openmpi or mpich; default: the first whose launcher is found."},                      \
        {"threads", 0, "N", "Threads of each rank; default: the cores divided by the ranks."},                         \
        {"timeout", 0, "SECONDS", "End the program after this time, with exit code 124."},                             \
        {"hosts", 0, "LIST", "Hosts of the ranks: a,b (divided evenly) or a:3,b:1 (ranks of each)."}, {                \
        "launcher-options", 0, "TEXT", "Further options of the launcher, separated by spaces."                         \
    }

/* Runs a program, whose words end with NULL, on the ranks of the option "ranks". Returns its exit code, or another one
 * if a rank was lost. */
int ranks_run(const cli_args *args, const char *const *program);

/* Fails (CLI_USAGE) if one of OPTIONS_RANKS is given, for a command that starts no ranks. */
int ranks_refuse_options(const cli_args *args);

/* Whether a launcher of MPI has started this process. */
bool ranks_is_rank(void);

#endif
