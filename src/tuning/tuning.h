/* tuning.h - measures prepared calls of one problem: private operands, a check of the results, a comparison of times.
 *
 * Dispatch decides when to measure and what to do with the result (src/dispatch/times/tune.c). Nothing here reads or
 * writes memory of the program.
 */
#ifndef BP_TUNING_TUNING_H
#define BP_TUNING_TUNING_H

#include "tuning/trial.h"

/* ---- The limit of the time (budget.c) ---- */

/* What measuring one class may take: 20 ms, or 50 times the class's own time if that is more. */
typedef struct bp__budget {
    int64_t start_ns;
    double excluded_ns; /* for the first use of libraries, which is not limited */
    double call_ns;     /* own time of the class: the time of its fastest candidate so far, or what is expected */
    bool known;         /* a candidate has run */
} bp__budget;
void bp__budget_begin(bp__budget *budget, double expected_ns);
void bp__budget_call(bp__budget *budget, double ns); /* a candidate's time */
void bp__budget_exclude(bp__budget *budget, double ns);
double bp__budget_left(const bp__budget *budget); /* in ns; negative if the limit is exceeded */

/* ---- The comparison of times (timing.c) ---- */

typedef struct bp__timed {
    const bp_prepared *prepared;
    void *workspace;
    const bp_packed *const *packed; /* operands in packed form; NULL: there are none */
    bool threaded;                  /* may use more than one thread */
    bp_status status;               /* the first failure */
    double first_ns;                /* time of a call by bp__timed_prepare() */
    double least_ns;                /* its time; 0: not measured */
    int turns;
    int calls;   /* in one sample */
    bool leader; /* still in the comparison at its end */
} bp__timed;

/* Runs a call once; returns its status. */
bp_status bp__timed_run(bp__trial *trial, const bp__timed *timed);

/* Finds how many calls make a sample, and measures a first one. The call has run once before. */
void bp__timed_prepare(bp__trial *trial, bp__timed *timed);

/* Returns the time of the shortest sample after bp__timed_prepare(). */
double bp__timed_sample_ns(const bp__timed *timed);

/* Times the calls in turn: one turn of all, three of those within twice the least time, seven of those within
 * 1.15 times. A turn during which the machine was slow is repeated. What is not within the budget is not run: the last
 * turns, and in the first one the samples of slow calls. Those with a failure are skipped. Returns the ratio of the
 * machine's slowest to its fastest time of a fixed piece of work. */
double bp__compare_times(bp__trial *trial, bp__timed *list, int count, const bp__budget *budget);

#endif
