/* pad.h - declares plans of calls that pad, reverse and rotate tensors. */
#ifndef BP_NATIVE_PAD_H
#define BP_NATIVE_PAD_H

#include "backplane/provider.h"

bp_status bp__native_pad_plan(const bp_host *host, const bp_problem *problem, int threads, bp_prepared **prepared);

#endif
