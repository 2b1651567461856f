/* print.h - declares how single floating numbers of a tensor are measured and written (print_number.c). */
#ifndef BP_TENSOR_PRINT_H
#define BP_TENSOR_PRINT_H

#include "tensor/internal.h"

#define BP__MOST_PRECISION 40 /* digits after the point */
#define BP__NUMBER_LENGTH 96  /* bytes that hold any number, its column filled */
#define BP__WORD_LENGTH 256   /* bytes that hold two of them and a j */

/* What a column of numbers needs, with an exponent and without. */
typedef struct bp__number_format {
    int precision;
    bool sign; /* a plus is written */
    bool exponent;
    bool finite, nonfinite, negative_infinity; /* whether there is such a number */
    double least, largest;                     /* absolute values, of finite numbers other than 0 */
    double most;                               /* numbers from here on have an exponent */
    int fixed_left, fixed_right;               /* characters before and after the point */
    int exponent_left, exponent_right, exponent_digits;
    int left, right; /* the form that was chosen */
} bp__number_format;

void bp__number_begin(bp__number_format *format, int precision, bool sign);
void bp__number_measure(bp__number_format *format, bp_dtype dtype, const char *at);
void bp__number_end(bp__number_format *format); /* all numbers have been measured */
void bp__number_write(const bp__number_format *format, bp_dtype dtype, const char *at, char word[BP__NUMBER_LENGTH]);

#endif
