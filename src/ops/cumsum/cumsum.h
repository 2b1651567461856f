/* cumsum.h - converts calls of cumulative sums to the problem that providers accept. */
#ifndef BP_OPS_CUMSUM_H
#define BP_OPS_CUMSUM_H

#include "backplane/cumsum.h"
#include "ops/call.h"

bp_status bp__cumsum_make(bp_problem *problem, const void *request);

bool bp__cumsum_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
