/* internal.h - between ops/ and dispatch/: an operation makes a problem, dispatch finds the plan that runs it. */
#ifndef BP_DISPATCH_INTERNAL_H
#define BP_DISPATCH_INTERNAL_H

#include "backplane/dispatch.h"
#include "base/base.h"

#endif
