/* reference.h - what a product should have been: sums of exact float64 products in twice float64's precision. */
#ifndef BP_CLI_REFERENCE_H
#define BP_CLI_REFERENCE_H

#include "npy.h"

typedef struct reference_value {
    int64_t index; /* of the element in the result, row-major */
    double re, im;
    double scale; /* sum of |a| |b| over the terms: what rounding errors are in proportion to */
} reference_value;

typedef struct reference {
    reference_value *values; /* all elements of the result, or an even spread of them when there are many */
    int64_t count;
    int64_t total;
    int64_t terms; /* per element */
} reference;

/* `out` has the shape and dtype of the result. On failure *reference is empty and the status is the library's or
 * BP_E_NO_MEMORY. */
bp_status reference_make(reference *made, const DLTensor *a, const DLTensor *b, const DLTensor *out);
void reference_free(reference *made);

/* The largest |result - reference| / (|A| |B|) over the elements kept; infinity where one is finite and the other not.
 */
bp_status reference_error(const reference *made, const DLTensor *result, double *error);

/* What a correct sum of that many terms stays below in that type, whatever its order. */
double reference_bound(const reference *made, bp_dtype dtype);

#endif
