/* trial.h - declares what connects problems with measurements on private operands. */
#ifndef BP_DISPATCH_TRIAL_H
#define BP_DISPATCH_TRIAL_H

#include "dispatch/internal.h"
#include "tuning/tuning.h"

/* Describes the operands of a problem: what bp__family.elements says, and what bp__measuring adds. Errors:
 * BP_E_UNSUPPORTED (nothing is computed), BP_E_NO_MEMORY. */
bp_status bp__trial_describe(bp__trial *trial, const bp_problem *problem);

#endif
