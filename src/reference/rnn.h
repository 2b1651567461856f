/* rnn.h - the reference of recurrent layers: rnn.h of the public interface, one element at a time, in long double. */
#ifndef BP_REFERENCE_RNN_H
#define BP_REFERENCE_RNN_H

#include "reference/reference.h"

/* Computes output, final hidden state and final cell (NULL: not wanted) of a call, in compact order, from its
 * parameters and the tensors that its forward passes read. `unit` is the largest relative error of one rounding of the
 * kernels that are checked: errors are the bounds of sums of k products, which have errors of at most k + 2 units of
 * the sum of their magnitudes, and of functions, which have 6 units. Errors: BP_E_NO_MEMORY. */
bp_status reference_rnn(const bp_rnn_call *call, long double unit, reference_number *output, reference_number *hidden,
                        reference_number *cell);

#endif
