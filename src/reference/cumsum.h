/* cumsum.h - the reference of cumulative sums: cumsum.h of the public interface, one element at a time. */
#ifndef BP_REFERENCE_CUMSUM_H
#define BP_REFERENCE_CUMSUM_H

#include "reference/reference.h"

/* Makes the values of a call, whose input must have data and whose output need not, and the bound of their error. Sums
 * of which an order of the additions overflows in f64 have no value. Free the values with reference_free(), also after
 * a failure. Errors: BP_E_NO_MEMORY, or those of bp_tensor_copy(). */
bp_status reference_cumsum(reference *made, const bp_cumsum_call *call, double *bound);

#endif
