/* compare_run.h - times and verifies one job on every candidate, in interleaved turns. */
#ifndef BP_CLI_COMPARE_RUN_H
#define BP_CLI_COMPARE_RUN_H

#include "cli/operations/candidates.h"

typedef struct timed_candidate {
    cli_candidate *candidate;
    samples times;
    int calls; /* in one sample, so that it lasts long enough for the clock */
    double spent;
    double spread, error;
    bool wrong;
} timed_candidate;

typedef struct comparison {
    cli_job job;
    bp_scope *scope; /* of the --set options */
    cli_candidates candidates;
    timed_candidate *timed;
    cli_check check;
    npy_array old_c; /* a copy, because gemm overwrites it */
    int repeat;
    bp_status failure; /* of the last candidate that failed */
    bool threaded;     /* a candidate uses more than one thread */
} comparison;

/* Compares the candidates of c->job, whose inputs are read and whose results are made. Returns CLI_OK, or an exit code
 * after a message. */
int comparison_run(comparison *c, int repeat);
void comparison_free(comparison *c);

#endif
