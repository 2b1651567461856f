/* transformed.h - declares tests of an algorithm that transforms its inputs, such as winograd and fft. */
#ifndef BP_TESTS_CONV_TRANSFORMED_H
#define BP_TESTS_CONV_TRANSFORMED_H

#include "conv/cases.h"

/* The error bounds of conv.h, relative to conv_bounds(). */
#define TRANSFORMED_BOUND_F32 2e-6
#define TRANSFORMED_BOUND_F64 4e-15

typedef struct transformed {
    const char *algorithm;
    /* Returns the limits of case i, with these most channels of a group and elements of an image. */
    conv_limits (*limits)(int i, int channels, int size);
} transformed;

/* Plans a call on the algorithm only. `further` is "" or begins with a comma. */
bp_status transformed_plan(const transformed *by, bp_plan **made, const bp_conv_call *call, const char *further);

/* Runs a random case and compares the results with the definition. */
void transformed_compare(const transformed *by, const conv_limits *limits, const char *further);

/* Tests, whose state is a transformed. */
void transformed_errors_are_bounded(void **state);
void transformed_large_sizes(void **state);
void transformed_bits_do_not_depend_on_threads(void **state);
void transformed_items_of_a_batch_are_independent(void **state);
void transformed_packed_weights_give_the_same_bits(void **state);
void transformed_not_finite_reaches_results(void **state);
void transformed_not_a_number_passes_the_activation(void **state);

#endif
