/* network_calls.h - declares calls of the operations of neural networks that can fail for lack of memory. */
#ifndef BP_TESTS_OPS_NETWORK_CALLS_H
#define BP_TESTS_OPS_NETWORK_CALLS_H

#include "backplane.h"

/* Convolutions on one algorithm of `native`: one-shot, explained, and planned with a packed weight. */
bp_status call_convolutions(void);
bp_status call_winograd(void);
bp_status call_fourier(void);

/* Both gradients, and a transposed convolution with the gradient of its bias. */
bp_status call_convolution_gradients(void);

/* Pooling with indices and its gradient, and adaptive pooling: one-shot, planned and explained. */
bp_status call_pooling(void);

/* Inference, training and gradients: one-shot, planned and explained. */
bp_status call_batch_norm(void);

/* Both passes, on the kernels flash and math: one-shot, planned and explained. */
bp_status call_attention(void);
bp_status call_attention_math(void);

/* All passes of an LSTM: one-shot, planned with packed weights, and explained. */
bp_status call_rnn(void);

/* A function of one element, one-shot, planned and explained; functions of two elements; taking by indices. */
bp_status call_elementwise(void);

/* Concatenates tensors. Returns BP_E_INTERNAL if the output is wrong, or changed by a call that failed. */
bp_status call_concat(void);

/* Random numbers: one-shot and planned. */
bp_status call_random(void);

/* Cumulative sums, of rows that threads share: one-shot, planned and explained. */
bp_status call_cumsum(void);
bp_status call_pad(void);

/* Both passes of layer normalization. */
bp_status call_layer_norm(void);

/* A sum, and both passes of a softmax, of one part, and of several. */
bp_status call_reductions(void);

#endif
