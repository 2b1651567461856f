/* linalg.h - checks results of linear algebra that are not unique: by the equations that they must satisfy, after the
 * call has run. Its inputs must be as they were before. */
#ifndef BP_REFERENCE_LINALG_H
#define BP_REFERENCE_LINALG_H

#include "backplane.h"

#include <stdbool.h>

/* Returns the tensor of an operand of a call: an input, or an output behind all inputs; NULL if it is absent, or there
 * is no such operand. */
const DLTensor *reference_linalg_operand(const bp_linalg_call *call, int index);

/* Returns the equations of a call, such as "Q R = A, Q' Q = I"; NULL if it has none, or lacks a result that they need.
 */
const char *reference_linalg_equations(const bp_linalg_call *call);

/* Whether the results are eigenvalues or singular values without vectors, which are checked by their sums. */
bool reference_linalg_is_spectrum(const bp_linalg_call *call);

/* Computes the largest residual of the equations on random vectors, in long double, relative to the Frobenius norms of
 * the matrices; of a large batch, the residual of some items. Of a spectrum, computes the largest relative difference
 * between the sum of the values and the trace, or between the sum of their squares and the trace of the square. The
 * call must have equations, or be a spectrum. Errors: BP_E_NO_MEMORY, and as for bp_tensor_copy(). */
bp_status reference_linalg_error(const bp_linalg_call *call, double *error);

/* The part of reference_linalg_error() for a spectrum (matrix_values.c). */
bp_status reference_spectrum_error(const bp_linalg_call *call, double *error);

/* Returns the bound of this error for a backward stable algorithm. */
double reference_linalg_bound(const bp_linalg_call *call);

#endif
