/* random.h - converts calls of random numbers to the problem that providers accept. */
#ifndef BP_OPS_RANDOM_H
#define BP_OPS_RANDOM_H

#include "backplane/random.h"
#include "ops/call.h"

bp_status bp__random_make(bp_problem *problem, const void *request);

bool bp__random_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
