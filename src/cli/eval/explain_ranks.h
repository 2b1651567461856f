/* explain_ranks.h - shared by the files of `backplane explain`. */
#ifndef BP_CLI_EXPLAIN_RANKS_H
#define BP_CLI_EXPLAIN_RANKS_H

#include "cli/operations/operations.h"

/* Explains an operation for each number of ranks of --ranks. Returns the exit code. */
int explain_on_ranks(const cli_args *args);

/* Refuses the options below if --ranks is not given. */
int explain_check_ranks(const cli_args *args);

#define OPTIONS_PLANNED_RANKS                                                                                          \
    {"ranks", 'n', "N,N", "Matrices, linear algebra: explain for N ranks of MPI that need not be here."},              \
        {"latency", 0, "TIME", "Of a message between ranks, such as 2us, which is the default."},                      \
        {"bandwidth", 0, "B/s", "Of a rank that sends, such as 25GB/s; default 10GB/s."}, {                            \
        "rate", 0, "FLOPS", "Of a rank in f64, such as 30GF; default: of a usual processor."                           \
    }

#endif
