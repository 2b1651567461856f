/* search.h - how the order of einsum's contractions is searched for: the options that path, eval and explain share. */
#ifndef BP_CLI_SEARCH_H
#define BP_CLI_SEARCH_H

#include "cli.h"

typedef struct cli_search {
    bp_einsum_search fields;
    int32_t *positions, *counts; /* what the fields of a given path point at */
} cli_search;

#define OPTIONS_SEARCH                                                                                                 \
    {"strategy", 0, "NAME",                                                                                            \
     "How einsum's order is found: auto, auto-hq, optimal, dp, branch-all, branch-2, branch-1, greedy, "               \
     "random-greedy-N, left-to-right."},                                                                               \
        {"minimize", 0, "NAME",                                                                                        \
         "What is least in that order: flops, size, write, combo or limit; combo-N and limit-N weigh elements by N."}, \
        {"memory-limit", 0, "N", "Most elements of an intermediate result; max_input is the largest operand."},        \
        {"trials", 0, "N", "How often random-greedy and the automatic strategies try."},                               \
        {"seconds", 0, "X", "Begin no trial after so long; exact strategies give up."},                                \
        {"work", 0, "N",                                                                                               \
         "Most units of counted work of auto-hq, optimal, dp and branch-*; 500 million unless given."},                \
        {"seed", 0, "N", "Of random trials; 0 unless given."}, {                                                       \
        "contraction-path", 0, "LIST", "An order of one's own: 1-2,0-1 are positions in the list of what is left."     \
    }

/* CLI_OK, or CLI_USAGE after a message. What was read is to be freed in either case. */
int search_read(const cli_args *args, cli_search *search);
void search_free(cli_search *search);

#endif
