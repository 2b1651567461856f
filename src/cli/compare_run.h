/* compare_run.h - times and verifies one product on every candidate, in interleaved rounds. */
#ifndef BP_CLI_COMPARE_RUN_H
#define BP_CLI_COMPARE_RUN_H

#include "cli.h"
#include "npy.h"
#include "reference.h"

typedef struct candidate {
    char *library, *provider, *version, *algorithm, *why;
    bool accepted, chosen, wrong;
    int threads;
    double cost_ns; /* estimate that the choice is based on */
    bp_options *options;
    double *times; /* nanoseconds of one call, one for each sample */
    int samples;
    int calls; /* in one sample, so that it lasts long enough for the clock */
    double spent;
    double median, fastest, spread, error;
} candidate;

typedef struct comparison {
    npy_array array_a, array_b, array_out;
    bp_view a, b, out;
    bp_scope *scope; /* of the --set options */
    bp_explanation *explanation;
    reference reference;
    candidate *candidates;
    int count;
    int repeat;
    bool threaded; /* a candidate uses more than one thread */
    double bound;
} comparison;

/* Runs the comparison of array_a and array_b, which the caller has read. Returns CLI_OK, or an exit code after a
 * message. */
int comparison_run(comparison *c, const cli_args *args, int repeat);
void comparison_free(comparison *c);

#endif
