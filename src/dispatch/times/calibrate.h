/* calibrate.h - declares how candidates get their measured times. */
#ifndef BP_DISPATCH_TIMES_CALIBRATE_H
#define BP_DISPATCH_TIMES_CALIBRATE_H

#include "dispatch/internal.h"

/* Sets the candidates' times from those that are stored. The caller holds the candidates' mutex. */
bp_status bp__calibrate_load(bp__candidate *const *list, int count);
/* Measures, and replaces the candidates' times and all cached plans if something was measured. The caller does not hold
 * the mutex. Errors: as bp__calibration_measure. */
bp_status bp__calibrate_measure(bp__candidate *const *list, int count, const bp__calibration_request *request);
/* Returns the class of times that is measured before the first choice for such a problem; -1: none. */
int bp__calibrate_class_of(const bp_problem *problem);
/* Measures a class of candidates that have no times of it. The only error is BP_E_NO_MEMORY. */
bp_status bp__calibrate_first(bp__candidate *const *list, int count, int class);
void bp__calibrate_reset(void);

#endif
