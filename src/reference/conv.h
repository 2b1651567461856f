/* conv.h - the reference of convolutions and their gradients: conv.h of the public interface, one multiplication at a
 * time, in long double. */
#ifndef BP_REFERENCE_CONV_H
#define BP_REFERENCE_CONV_H

#include "reference/reference.h"

typedef struct reference_conv reference_conv;

/* Opens a call of any pass. *made is for reference_conv_close(), also after a failure. Errors: BP_E_NO_MEMORY, or as
 * for bp_tensor_copy(). */
bp_status reference_conv_open(reference_conv **made, const bp_conv_call *call);
void reference_conv_close(reference_conv *made);

/* Returns an element of the output of FORWARD, in row-major order, before the activation. */
reference_sum reference_conv_output(const reference_conv *c, int64_t index);

/* Adds up the results of the pass, which are 0 before: the output, the gradient by the input, or the gradients by the
 * weight and the bias (NULL: not wanted). */
void reference_conv_all(const reference_conv *c, reference_sum *result, reference_sum *bias);

/* Returns what errors of an element of the output, or of the gradient by the input, are relative to if an algorithm
 * transforms whole tiles: the largest |element| that is finite, times the sum of the |weights| of the element's
 * channel, plus |bias|. */
long double reference_conv_reach(const reference_conv *c, int64_t index);

int64_t reference_conv_terms(const reference_conv *c); /* products of an element of the output */
double reference_conv_work(const reference_conv *c);   /* products of the whole pass, and those with the padding */

#endif
