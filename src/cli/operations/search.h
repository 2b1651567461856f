/* search.h - options for the search of einsum's contraction path, shared by einsum-path, eval and explain. */
#ifndef BP_CLI_SEARCH_H
#define BP_CLI_SEARCH_H

#include "cli/command/cli.h"

typedef struct cli_search {
    bp_einsum_search fields;
    int *positions, *counts; /* memory that `fields` points to, for a given path */
} cli_search;

/* Of the commands whose --seconds is another limit. */
#define OPTIONS_PATH                                                                                                   \
    {"strategy", 0, "NAME",                                                                                            \
     "einsum: search strategy: auto, auto-hq, optimal, dp, branch-all, branch-2, branch-1, greedy, "                   \
     "random-greedy-N, left-to-right."},                                                                               \
        {"minimize", 0, "NAME",                                                                                        \
         "einsum: what the path minimizes: flops, size, write, combo or limit; combo-N and limit-N weigh elements by " \
         "N."},                                                                                                        \
        {"memory-limit", 0, "N",                                                                                       \
         "einsum: largest intermediate result in elements; max_input is the largest operand."},                        \
        {"trials", 0, "N", "einsum: trials of random-greedy and of the automatic strategies."},                        \
        {"work", 0, "N", "einsum: work limit of auto-hq, optimal, dp and branch-*; default 500 million units."},       \
        {"seed", 0, "N", "Seed of random numbers; default 0."}, {                                                      \
        "contraction-path", 0, "LIST",                                                                                 \
            "einsum: the path itself: 1-2,0-1 are positions in the list of remaining operands."                        \
    }

#define OPTIONS_SEARCH                                                                                                 \
    OPTIONS_PATH, {                                                                                                    \
        "seconds", 0, "X", "einsum: time limit. No trial begins after it; exact strategies stop."                      \
    }

/* Returns CLI_OK, or CLI_USAGE after a message. Call search_free() in both cases. */
int search_read(const cli_args *args, cli_search *search);
void search_free(cli_search *search);

#endif
