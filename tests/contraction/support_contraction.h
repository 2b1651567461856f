/* support_contraction.h - samples: an expression, operands in various layouts, and the expected result. */
#ifndef TESTS_CONTRACTION_SUPPORT_H
#define TESTS_CONTRACTION_SUPPORT_H

#include "support/arrays.h"

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLE_OPERANDS = 12, SAMPLE_NDIM = 8, SAMPLE_LABELS = 26 };

/* Memory layout of a tensor. */
typedef enum sample_layout {
    COMPACT,      /* row-major */
    PERMUTED,     /* the dimensions in another order */
    SCATTERED,    /* with gaps between the elements, some strides negative, some dimensions swapped */
    ZERO_STRIDES, /* an operand with a stride of 0 in some dimensions */
    LAYOUTS
} sample_layout;

typedef struct sample {
    const char *expression;
    int count;
    int64_t size[SAMPLE_LABELS]; /* of the labels a to z; upper case is not used */
    bp_dtype dtype;
    test_array operand[SAMPLE_OPERANDS];
    const DLTensor *list[SAMPLE_OPERANDS];
    test_array out;
} sample;

/* Makes operands for the expression (letters a to z, with "->", no ellipsis) with the label sizes in `size`. '!' after
 * a label makes that dimension 1, so that it broadcasts. Numbers and layouts are drawn from test_array_random. */
void sample_make(sample *s, const char *expression, const int64_t size[SAMPLE_LABELS], bp_dtype dtype,
                 sample_layout operands, sample_layout out);
void sample_free(sample *s);

/* Compares the output with the reference, element by element. Returns the largest error as a multiple of the
 * bound; NaN if only one of the two values is NaN. */
double sample_error(const sample *s);

bp_einsum_call sample_call(const sample *s);

/* Writes a random expression of `operands` operands to `text`, and its sizes. */
void sample_expression(char *text, int operands, int64_t size[SAMPLE_LABELS]);

/* Fails the test unless the call gives the right result and writes nothing else. The failure names the expression, the
 * layouts and the error. */
void sample_check(const sample *s, const bp_options *options);

#endif
