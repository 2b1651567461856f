/* reference.h - reference values of a result, and the error of a result against them.
 *
 * The command and the tests compare results with references of their own, because one from the library would share its
 * errors: this library calls the public functions of tensors, element types, descriptions of calls and orders of
 * contractions, and no operation. libbackplane does not contain it. The functions return BP_OK, or the status of those
 * functions.
 */
#ifndef BP_REFERENCE_REFERENCE_H
#define BP_REFERENCE_REFERENCE_H

#include "backplane.h"

#include <stdbool.h>

typedef struct reference_value {
    int64_t index; /* of the element in the result, row-major */
    double re, im;
    int64_t whole; /* the element, if the reference is REFERENCE_WHOLE */
    double scale;  /* of products: sum of |a| |b| over the terms; rounding errors are proportional to it; of
                    * REFERENCE_WHOLE: how much larger a right element may be, usually 0; infinite: nothing is known */
} reference_value;

/* A number, and how far rounding may move it. An error below 0: not at all, also not to its type. One that is not
 * finite: nothing is known of it, if the value is finite. */
typedef struct reference_number {
    long double value, error;
} reference_number;

/* A sum of products, and the sum of their absolute values. */
typedef struct reference_sum {
    long double value, size;
} reference_sum;

/* What the error of a result is. */
typedef enum reference_measure {
    REFERENCE_SUMS, /* the largest |result - reference| / scale, where any number that is not finite equals any other */
    REFERENCE_NUMBERS, /* the same, where NaN equals NaN only, and infinity the same infinity */
    REFERENCE_WHOLE    /* of results that are integers or bool: the number of elements that differ */
} reference_measure;

typedef struct reference {
    reference_measure measure;
    reference_value *values; /* all elements of the result, or evenly distributed ones of a large result */
    int64_t count;
    int64_t total;
    int64_t terms; /* per element */
    bool bounded;  /* the scales are the largest errors of correct results, in units of rounding of its type */
    double tiny;   /* an absolute error that is no error; the error of subnormal results comes from `terms` */
} reference;

/* A tensor converted to compact row-major float64 or complex float64, without loss. */
typedef struct wide_tensor {
    DLManagedTensorVersioned *owner;
    const double *data; /* NULL: there is no tensor */
    int64_t count;
    int parts; /* float64 values per element */
} wide_tensor;

bp_status wide_make(wide_tensor *made, const DLTensor *tensor, bool conjugate);
void wide_free(wide_tensor *made);

/* A tensor of integers or bool converted to compact row-major i64, modulo 2^64. */
typedef struct wholes {
    DLManagedTensorVersioned *owner;
    const int64_t *data; /* NULL: there is no tensor */
    int64_t count;
} wholes;

/* Whether the type is one that wholes_make() reads. */
bool wholes_can(const DLTensor *tensor);
bp_status wholes_make(wholes *made, const DLTensor *tensor);
void wholes_free(wholes *made);

/* Converts to the type modulo 2^n, or for bool to whether it is not 0. */
int64_t wholes_convert(int64_t whole, bp_dtype dtype);

/* Returns the number of elements; 0 without a tensor. */
int64_t reference_count(const DLTensor *tensor);

/* Returns the `i`-th of `count` indices that are evenly distributed over 0 ... total-1; `i` itself if they are all. */
int64_t reference_pick(int64_t i, int64_t count, int64_t total);

#define REFERENCE_MOST_WORK ((int64_t)1 << 25) /* multiplications of one reference: well under a second */

/* Chooses the elements of a result that are checked: all, or as many as can be computed in about a second, but not
 * fewer than `least`. Each takes `terms` multiplications. The caller fills in the values. */
bp_status reference_begin(reference *made, const DLTensor *out, int64_t terms, int64_t least);

/* Computes the reference of op(a) @ op(b), where op() may conjugate, in twice float64's precision. `out` has the shape
 * and dtype of the result. On failure *reference is empty; the status is the library's, or BP_E_NO_MEMORY. */
bp_status reference_product(reference *made, const DLTensor *a, bool conjugate_a, const DLTensor *b, bool conjugate_b,
                            const DLTensor *out);

/* Replaces each value v by alpha v + beta c, where c is the element of the old result; beta 0 does not read it. */
bp_status reference_add(reference *made, bp_scalar alpha, bp_scalar beta, const DLTensor *c);

/* Computes alpha op(a) @ op(b) + beta old, with the errors that any order of the sums has. */
bp_status reference_gemm(reference *made, const DLTensor *a, bool conjugate_a, const DLTensor *b, bool conjugate_b,
                         bp_scalar alpha, bp_scalar beta, const DLTensor *old, const DLTensor *out);
void reference_free(reference *made);

/* Computes the error of the checked elements; infinity if only one of the two values is finite. */
bp_status reference_error(const reference *made, const DLTensor *result, double *error);

/* Returns the bound of that error for a correct sum in any order. */
double reference_bound(const reference *made, bp_dtype dtype);

/* Returns a sum of products as it is computed for a result of the type, in any order and with or without fused
 * multiplications: the error is at most terms + 1 units of the size, and terms of second order (Higham, Accuracy and
 * Stability of Numerical Algorithms, section 3.1). Nothing is known if a part of it may overflow. */
reference_number reference_sum_number(reference_sum sum, int64_t terms, bp_dtype dtype);

/* The largest relative error of one rounding in sums of numbers of the type: F32's for F16 and BF16. */
double reference_sum_unit(bp_dtype dtype);

/* Allocates numbers that are 0; NULL if there is no memory. Free them with free(). */
reference_number *reference_numbers(int64_t count);

/* Sets a value of a result of the type from a number. Its scale becomes its error, and the error of rounding it to the
 * type, in units of rounding. Returns false if nothing can be checked: the error has no bound, or lets the number be
 * finite or not. */
bool reference_set(reference_value *value, const reference_number *number, bp_dtype dtype);

/* Sets the values of `made` from the numbers of all elements, and removes values if nothing about them can be checked.
 */
void reference_take(reference *made, const reference_number *numbers, bp_dtype dtype);

/* The largest relative error of rounding to the type. */
double reference_unit(bp_dtype dtype);

#endif
