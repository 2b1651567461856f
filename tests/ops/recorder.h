/* recorder.h - what recorder_provider.c remembers, and what it is told to do. */
#ifndef BP_TESTS_RECORDER_H
#define BP_TESTS_RECORDER_H

#include "backplane/provider.h"

typedef struct recorder_state {
    bp_problem asked, planned; /* the last ones */
    int plans, runs;
    void *operands[BP_LINALG_OPERANDS]; /* of the last run */
    int64_t item, info;                 /* what a run with `check` fails by; info 0: it does not */
} recorder_state;

#endif
