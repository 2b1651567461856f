/* elementwise.h - the reference of functions of one and of two elements: elementwise.h of the public interface, in long
 * double. */
#ifndef BP_REFERENCE_ELEMENTWISE_H
#define BP_REFERENCE_ELEMENTWISE_H

#include "reference/reference.h"

/* Of floating numbers. Results that are bool are 1 or 0. */
long double reference_unary(bp_unary_kind kind, long double x);
long double reference_binary(bp_binary_kind kind, long double a, long double b);

/* As reference_unary(), of a function with these numbers, as a function of elements of this type has them; not copy.
 * Products that decide between two formulas are rounded to the type of the computation. */
long double reference_unary_with(bp_unary_kind kind, bp_dtype dtype, const double *numbers, long double x);

/* Writes the numbers of a function, as it has them for elements of a type. NULL: PyTorch's usual number. */
void reference_unary_numbers(bp_unary_kind kind, bp_dtype dtype, const double *first, const double *second,
                             double numbers[2]);

/* Returns the result of integers of a type, modulo 2^64. */
int64_t reference_binary_whole(bp_binary_kind kind, bp_dtype dtype, int64_t a, int64_t b);

/* Returns the largest difference of a function of two elements from its value y, before it is rounded to the type if it
 * is computed in another one; 0: none but rounding; -1: exact. */
long double reference_binary_bound(bp_binary_kind kind, bp_dtype dtype, long double y);

/* Returns the largest error of a function of one element that is computed in f32, or in f64, in distances of the
 * numbers next to the result. */
long double reference_unary_error(bp_unary_kind kind, bool f64, long double x);

/* Returns the largest error of a function y of x before it is rounded to the type; below 0: it is exact. */
long double reference_unary_bound(bp_unary_kind kind, bp_dtype dtype, long double x, long double y);

/* Returns a function of a number that was rounded to the type before, and is again after it. */
reference_number reference_activation(bp_unary_kind kind, bp_dtype dtype, reference_number x);

#endif
