/* sample.h - makes sample problems of gradients from sample problems of forward passes, by the descriptions of the
 * calls. */
#ifndef BP_OPS_SAMPLE_H
#define BP_OPS_SAMPLE_H

#include "ops/call.h"
#include "tuning/trial.h"

/* Makes the problem of a gradient. `call` is one of the pass whose results the gradient needs; it gets these results,
 * then the number of the other pass, and the gradients by the tensors that are given. */
bp_status bp__sample_gradient(bp_problem *problem, const bp_call *described, void *call, int pass,
                              bp_status (*make)(bp_problem *problem, const void *request));

#endif
