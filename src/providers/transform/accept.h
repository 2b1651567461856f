/* accept.h - declares the checks that all providers of Fourier transforms make in accept(). Pure. */
#ifndef BP_TRANSFORM_ACCEPT_H
#define BP_TRANSFORM_ACCEPT_H

#include "backplane/provider.h"

#include <stdbool.h>

/* Returns whether the problem is a Fourier transform that needs no adapter: no full spectrum, conjugation or zero
 * padding. Otherwise refuses. */
bool bp__transform_is_plain(const bp_problem *problem, bp_verdict *verdict);

/* Returns whether the library passed the probe's check of this kind of transform in this type, and of these lengths.
 * Otherwise refuses. */
bool bp__transform_passed_check(const bp_library_info *library, const bp_problem *problem, bp_verdict *verdict);

#endif
