/* conv.h - computes convolutions over one, two or three dimensions, transposed convolutions, and the gradients of both,
 * with the shapes and meanings of torch.nn.functional.conv1d to conv_transpose3d.
 *
 * Shapes, for ndim dimensions (N items, C input channels, K output channels, G groups):
 *
 *     input   N x C x I1 x ... x In          weight   K x C/G x T1 x ... x Tn      (transposed: C x K/G x T1 x ...)
 *     output  N x K x O1 x ... x On          bias     K
 *
 * N may be omitted from both input and output. The sizes of the output in each dimension:
 *
 *     convolution     O = (I + padding - dilation (T - 1) - 1) / stride + 1, rounded down
 *     transposed      O = (I - 1) stride - padding + dilation (T - 1) + output_padding + 1
 *
 * where `padding` is the sum of both sides. The output of a convolution is, for output channel k of group g,
 *
 *     output[n,k,o] = bias[k] + sum over c, t of weight[k,c,t] input[n, g C/G + c, o stride + t dilation - padding]
 *
 * with zeros outside the input: a correlation, the kernel is not mirrored. With an `activation`, each element of the
 * output then becomes this function of the element, bitwise equal to the result of bp_unary_run() in place. The
 * transposed convolution is the transpose of that linear map: it adds weight[c,k,t] input[n,c,i] to
 * output[n,k, i stride + t dilation - padding].
 *
 * Element types: f16, bf16, f32 and f64; all operands have the same one. Sums of f16 and bf16 are accumulated in f32
 * and rounded once. Tensors may have any strides. native reads and writes them where they are, without copies of
 * whole images; oneDNN converts images that are not channels-last. The written tensors must not overlap the others or
 * themselves (BP_E_OVERLAP). f32 operands are rounded to a shorter type inside only if the setting of their place
 * allows it: mkldnn.conv.fp32_precision on the host.
 *
 * Results in f32 and f64 are sums of products, except where an algorithm transforms tiles of input and weight first
 * (BP_PROPERTY_LARGER_ERROR): native's winograd, for f32 kernels of 3 x 3 with stride and dilation 1, and its fft, for
 * stride 1. The error of a result is then at most 2e-6 (f64: 4e-15) times the largest |input| times the sum of the
 * |weight| of its channel, plus |bias|: measured, with uniformly distributed numbers. NaN and infinity also reach other
 * results of a tile, infinity as NaN, and numbers near the largest finite one may overflow. A tile of winograd has 4 x
 * 4 results, one of fft up to all of an item. mkldnn.conv.fp32_precision=ieee refuses such algorithms for all types.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * If the padding of a transposed convolution removes all elements of a dimension, the output is empty and the gradients
 * are zeros. Such a call runs, but has neither a plan nor an explanation: BP_E_UNSUPPORTED.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; ndim not 1 to 3; stride, dilation or groups below 1; negative padding;
 * a tensor that the pass does not have), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not
 * aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND, BP_E_NO_MEMORY,
 * BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_CONV_H
#define BACKPLANE_CONV_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_CONV_NDIM 3 /* most dimensions */

/* What a call computes, and the operands of its plan. Gradients are of a loss, given its gradient by the
 * output. */
typedef enum bp_conv_pass {
    BP_CONV_FORWARD, /* output from input, weight and bias (optional): operands {input, weight, bias, output} */
    BP_CONV_INPUT, /* input_gradient from output_gradient and weight: {output_gradient, weight, NULL, input_gradient} */
    BP_CONV_WEIGHT /* weight_gradient and bias_gradient (optional) from input and output_gradient: {input,
                    * output_gradient, weight_gradient, bias_gradient} */
} bp_conv_pass;

typedef enum bp_conv_padding {
    BP_CONV_EXPLICIT, /* as `padding` and `padding_end` say */
    BP_CONV_VALID,    /* none */
    BP_CONV_SAME      /* the output has the size of the input; strides must be 1. Of an odd sum the end gets one more */
} bp_conv_padding;

/* One call. Members that are 0 or NULL have their defaults. The arrays have `ndim` elements. */
typedef struct bp_conv_call {
    size_t struct_size; /* sizeof(bp_conv_call) */
    bp_conv_pass pass;
    int ndim;
    int transposed;                /* 1: a transposed convolution */
    int64_t groups;                /* 0: 1 */
    const int64_t *stride;         /* NULL: 1 */
    const int64_t *dilation;       /* NULL: 1 */
    const int64_t *padding;        /* rows of zeros at the beginning, and at the end if padding_end is NULL; NULL: 0 */
    const int64_t *padding_end;    /* at the end */
    const int64_t *output_padding; /* transposed: added to the end of the output, less than stride or dilation */
    bp_conv_padding mode;
    bp_unary_kind activation; /* FORWARD: below BP_ACTIVATION_KINDS, see elementwise.h; 0: none */
    const DLTensor *input, *weight, *bias;
    DLTensor *output;
    const DLTensor *output_gradient;
    DLTensor *input_gradient, *weight_gradient, *bias_gradient;
} bp_conv_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_conv_run(const bp_options *options, const bp_conv_call *call);
BP_API bp_status bp_conv_plan(bp_plan **plan, const bp_options *options, const bp_conv_call *call);
BP_API bp_status bp_conv_explain(bp_explanation **explanation, const bp_options *options, const bp_conv_call *call);

/* Returns the element type and shape of the output, from the tensors that FORWARD has as input and weight, in
 * INPUT and WEIGHT with the gradients by them (the other tensors may be NULL). `shape` is
 * an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_conv_shape(const bp_conv_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

/* Computes a convolution in one line, under the settings of the calling thread: FORWARD, over the dimensions that the
 * weight has more than two, with one group, dilation 1, and no activation. `stride` and `padding` have a number for
 * each of these dimensions. NULL: no bias, stride 1, padding 0. */
BP_API bp_status bp_conv(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, const int64_t *stride,
                         const int64_t *padding, DLTensor *output);

#ifdef __cplusplus
}
#endif

#endif
