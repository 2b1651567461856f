/* compare_run.h - one product on every library that can run it, timed in turn and checked. For the command compare. */
#ifndef BP_CLI_CONTEST_H
#define BP_CLI_CONTEST_H

#include "cli.h"
#include "npy.h"
#include "reference.h"

typedef struct contender {
    char *library, *provider, *version, *algorithm, *why;
    bool accepted, chosen, wrong;
    int threads;
    double cost_ns; /* the estimate that the choice went by */
    bp_options *options;
    double *times; /* nanoseconds of one call, one per sample */
    int samples;
    int calls; /* in one sample, so that the clock can resolve it */
    double spent;
    double median, fastest, spread, error;
} contender;

typedef struct contest {
    npy_array array_a, array_b, array_out;
    bp_view a, b, out;
    bp_scope *scope; /* the --set words */
    bp_explanation *explanation;
    reference reference;
    contender *contenders;
    int count;
    int repeat;
    bool threaded; /* some library uses more than one thread */
    double bound;
} contest;

/* With the arrays a and b in place: everything else. A failure has been reported. */
int contest_run(contest *c, const cli_args *args, int repeat);
void contest_free(contest *c);

#endif
