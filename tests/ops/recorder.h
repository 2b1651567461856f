/* recorder.h - the state of recorder_provider.c: what it recorded, and how it must behave. */
#ifndef BP_TESTS_RECORDER_H
#define BP_TESTS_RECORDER_H

#include "backplane/provider.h"

typedef struct recorder_state {
    bp_problem asked, planned; /* the most recent problems */
    int plans, runs;
    void *operands[BP_LINALG_OPERANDS]; /* of the last run */
    int64_t item, info;                 /* item and info with which a run with `check` fails; info 0: it succeeds */
} recorder_state;

#endif
