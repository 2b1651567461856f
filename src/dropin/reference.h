/* reference.h - declares what replaces netlib's reference code in a launched program. */
#ifndef BP_DROPIN_REFERENCE_H
#define BP_DROPIN_REFERENCE_H

#include "dropin/library.h"

/* Why another library takes the calls. */
#define BP__DROPIN_WHY_REFERENCE "the program's own library is netlib's reference code, which is slow"

/* Returns whether a file is netlib's reference code, with this width of integers. */
bool bp__dropin_is_reference(const char *path, bool wide);

/* Returns whether the routine is one that netlib's reference code computes slowly. */
bool bp__dropin_is_replaceable(int routine);

/* Returns the best library for products that has BLAS, CBLAS and LAPACK, has integers of this width, passed all checks,
 * and has threads of its own without OpenMP; NULL if there is none. If `deterministic`, `blas.preferred` or
 * `linalg.preferred` is set there is none: the reference code has the same results in each run, and a program whose
 * libraries are named gets no other. */
const bp__dropin_library *bp__dropin_replacement(bool wide);

#endif
