/* linear.h - computes linear layers and their gradients, with the meanings of torch.nn.functional.linear.
 *
 * Shapes: input ... x I, weight O x I, bias O, output ... x O, with the same leading dimensions; there may be
 * none. O and I are at least 1. For each row,
 *
 *     output[o] = bias[o] + sum over i of weight[o,i] input[i]
 *
 * An absent bias is 0. With an `activation`, such as BP_UNARY_GELU, each element of the output then becomes this
 * function of the element, bitwise equal to the result of bp_unary_run() in place, but while it is in a cache. INPUT
 * computes input_gradient, WEIGHT computes weight_gradient and bias_gradient (optional), both from output_gradient. If
 * there are no rows, the gradients by weight and bias are 0.
 *
 * A linear layer is a convolution whose window has one element, and the rows are its positions. So candidates,
 * settings (`conv.*`), element types, precision and bits are as in conv.h, and explanations describe a convolution.
 * Plans have the operands that bp_conv_pass lists. Networks pack the weight once (bp_plan_pack(), operand 1 of a
 * forward plan).
 *
 * Tensors may have any strides. Input and output are read where they are. After neighbours were merged as far as the
 * strides of both allow, at most four leading dimensions may be left (BP_E_LAYOUT); compact tensors have one.
 *
 * All functions are thread-safe. Errors: as in conv.h, and BP_E_LAYOUT as stated.
 */
#ifndef BACKPLANE_LINEAR_H
#define BACKPLANE_LINEAR_H

#include "backplane/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bp_linear_pass {
    BP_LINEAR_FORWARD, /* output from input, weight and bias (optional) */
    BP_LINEAR_INPUT,   /* input_gradient from output_gradient and weight */
    BP_LINEAR_WEIGHT   /* weight_gradient and bias_gradient (optional) from input and output_gradient */
} bp_linear_pass;

/* One call. Members that are 0 or NULL have their defaults. */
typedef struct bp_linear_call {
    size_t struct_size; /* sizeof(bp_linear_call) */
    bp_linear_pass pass;
    bp_unary_kind activation; /* FORWARD: below BP_ACTIVATION_KINDS, see elementwise.h; 0: none */
    const DLTensor *input, *weight, *bias;
    DLTensor *output;
    const DLTensor *output_gradient;
    DLTensor *input_gradient, *weight_gradient, *bias_gradient;
} bp_linear_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_linear_run(const bp_options *options, const bp_linear_call *call);
BP_API bp_status bp_linear_plan(bp_plan **plan, const bp_options *options, const bp_linear_call *call);
BP_API bp_status bp_linear_explain(bp_explanation **explanation, const bp_options *options, const bp_linear_call *call);

/* Computes a layer in one line, under the settings of the calling thread: FORWARD without activation. `bias` may be
 * NULL. */
BP_API bp_status bp_linear(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, DLTensor *output);

#ifdef __cplusplus
}
#endif

#endif
