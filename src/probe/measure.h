/* measure.h - declares what the files of the measuring mode of backplane-probe share. */
#ifndef BP_PROBE_MEASURE_H
#define BP_PROBE_MEASURE_H

#include "backplane.h"
#include "base/base.h"
#include "calibration/classes.h"
#include "tuning/trial.h"

/* A plan for one point, and its operands. */
typedef struct call {
    bp_problem problem;
    bp_plan *plan;
    int count;
    bp_operand operands[BP__TRIAL_OPERANDS];
    bool is_packed;                        /* whether one of them is passed in packed form */
    bp_packed *packed[BP__TRIAL_OPERANDS]; /* the packed form, NULL for others */
} call;

/* Adds the settings that prefer a candidate, ",blas.preferred=NAME,...", in each family; in the family of the class
 * they name the algorithm that is measured. */
void call_add_preferences(bp__text *text, const bp__class *class, const char *candidate);

/* Makes the call for one point of a class, under `options`, with operands of random numbers. Returns false if the
 * candidate refuses it. call_free() is needed in both cases. Exits the process if memory is short. */
bool call_make(call *one, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS],
               const bp_options *options);
void call_free(call *one);

/* Returns the least time of a run in nanoseconds, from about `turn_ns` of runs. 0 if a run fails. */
double call_time(const call *one, double turn_ns);

/* ---- The processor's speed (speed.c) ---- */

void speed_begin(const bp_options *native);
/* Returns the present time of the product by which the speed is known. */
double speed_now(void);
/* Returns which share of the greatest speed so far a time of the product means. */
double speed_share(double product_ns);
/* Returns what a time would have been at the first speed; `before` is what speed_now() returned before it. */
double speed_corrected(double time, double before);

#endif
