/* reference.h - computes reference values of a product in twice float64's precision. */
#ifndef BP_CLI_REFERENCE_H
#define BP_CLI_REFERENCE_H

#include "npy.h"

typedef struct reference_value {
    int64_t index; /* of the element in the result, row-major */
    double re, im;
    double scale; /* sum of |a| |b| over the terms; rounding errors are proportional to it */
} reference_value;

typedef struct reference {
    reference_value *values; /* all elements of the result, or evenly distributed ones of a large result */
    int64_t count;
    int64_t total;
    int64_t terms; /* per element */
} reference;

/* Computes the reference. `out` has the shape and dtype of the result. On failure *reference is empty; the status is
 * the library's, or BP_E_NO_MEMORY. */
bp_status reference_make(reference *made, const DLTensor *a, const DLTensor *b, const DLTensor *out);
void reference_free(reference *made);

/* Computes the largest |result - reference| / (|A| |B|) of the checked elements; infinity if only one of the two values
 * is finite.
 */
bp_status reference_error(const reference *made, const DLTensor *result, double *error);

/* Returns the bound of that error for a correct sum in any order. */
double reference_bound(const reference *made, bp_dtype dtype);

#endif
