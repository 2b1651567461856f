/* elementwise.h - computes functions of single elements, converts types, chooses between elements, takes elements by
 * their indices, and concatenates.
 *
 * The caller provides the output, of any strides, with the shape that each function describes. Tensors have up to
 * BP_MAX_NDIM dimensions, any strides, and any sizes, 0 included. Results do not depend on the number of threads, and
 * not on strides. Nothing is written if arguments or indices are refused.
 *
 * Functions of one element (bp_unary_kind), with the formulas of PyTorch, where phi is the normal distribution function
 * (1 + erf(x / sqrt(2))) / 2:
 *
 *   copy       x, converted to the type of the output
 *   negative   -x                            sigmoid    1 / (1 + exp(-x))
 *   abs        |x|                           relu       max(x, 0); -0 stays -0
 *   exp        e^x                           gelu       x phi(x)
 *   log        natural logarithm             gelu_tanh  x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
 *   sqrt       square root                   silu       x / (1 + exp(-x))
 *   tanh       hyperbolic tangent            hardswish  x min(max(x + 3, 0), 6) / 6
 *   floor      the greatest integer <= x     rsqrt      1 / sqrt(x)
 *   ceil       the least integer >= x        sin, cos, tan: of an angle in radians, of any size
 *   trunc      the integer towards 0         erf        the error function
 *   round      the nearest integer, the      expm1      e^x - 1, without loss of digits near 0
 *              even one of two               log1p      log(1 + x), without loss of digits near 0
 *   sign       -1, 0 or 1; 0 of -0           log2       the logarithm to base 2
 *   reciprocal 1 / x                         log10      the logarithm to base 10
 *   exp2       2^x                           erfc       1 - erf(x), without loss of digits where it is small
 *   asin, acos, atan: the angle in radians   sinh, cosh, asinh, acosh, atanh: hyperbolic functions and their inverses
 *   softsign   x / (1 + |x|)                 hardsigmoid  min(max(x + 3, 0), 6) / 6
 *   tanhshrink x - tanh(x)                   logsigmoid   -log(1 + exp(-x))
 *   mish       x tanh(log(1 + exp(x)))       selu         s x of x > 0, otherwise s a (exp(x) - 1), with
 *                                                         s = 1.0507009873554805 and a = 1.6732632423543773
 *
 * Functions of one element that take numbers, with the usual ones in parentheses, as in PyTorch:
 *
 *   leaky_relu  x of x > 0, otherwise slope x                       slope (0.01)
 *   elu         x of x > 0, otherwise alpha (exp(x) - 1)            alpha (1)
 *   celu        x of x > 0, otherwise alpha (exp(x / alpha) - 1)    alpha (1), not 0
 *   clip        min(max(x, low), high): high if low > high          low (-infinity), high (infinity)
 *   softplus    x where beta x > threshold, otherwise               beta (1), threshold (20)
 *               log(1 + exp(beta x)) / beta
 *   threshold   x of x > threshold, otherwise value                 threshold (0), value (0)
 *   hardshrink  0 where -lambda <= x <= lambda, otherwise x         lambda (0.5)
 *   softshrink  x - lambda of x > lambda, x + lambda of             lambda (0.5), not below 0
 *               x < -lambda, otherwise 0
 *
 * Numbers are rounded to f32, for elements of f64 not, and may be infinite, but not NaN. i32 and i64 have clip with
 * limits that are integers or infinite; a limit that their type does not hold is the nearest integer that it holds.
 *
 * Functions of two elements (bp_binary_kind): add, subtract, multiply, divide, and maximum and minimum, which are NaN
 * if either element is. The inputs are broadcast as in NumPy: shapes are aligned at their last dimensions, and a
 * dimension of size 1 is repeated. Further ones are as in PyTorch:
 *
 *   pow           a^b, with the special values of C: 1 if a is 1 or b is 0, NaN if a < 0 is finite and b no integer.
 *                 Of integers with b < 0: 1 of 1, 1 or -1 of -1, otherwise 0
 *   fmod          a - b trunc(a / b), exact: the sign of a
 *   remainder     fmod, and if that is not 0 and has another sign than b, the sum with b: Python's %
 *   floor_divide  floor(a / b): Python's //. a / b if b is 0
 *   atan2         the angle of the point (b, a) in radians, from -pi to pi, with the special values of C
 *   bitwise_and, bitwise_or, bitwise_xor, and bitwise_invert of one element: of integers and bool
 *   bitwise_left_shift, bitwise_right_shift: a is moved by b bits; a shift to the right keeps the sign. If b is
 *                 negative or not below the bits of the type, all bits are moved out: 0, or -1 to the right of a < 0
 *
 * Integers divided by 0 give 0 in fmod, remainder and floor_divide, as in NumPy. The least integer divided by -1 is
 * itself (modulo 2^n), with the remainder 0.
 *
 * With a result of type bool: isnan, isinf (of either sign), isfinite, and logical_not, which is true of 0; equal,
 * not_equal, less, less_equal, greater and greater_equal; logical_and, logical_or and logical_xor of whether the
 * elements differ from 0. NaN differs from 0. If either element is NaN, not_equal is true and the other comparisons are
 * false. -0 equals 0.
 *
 * Element types: f16, bf16, f32 and f64, the same for all operands; i32 and i64 for negative, abs, relu, floor, ceil,
 * round, trunc, sign, clip, and for the functions of two elements except divide and atan2; comparisons and the
 * logical functions also of bool. The bitwise functions have i32 and i64 only, and bool except shifts. Integers are
 * computed modulo 2^32 and 2^64.
 * f16 and bf16 are computed in f32 and rounded once. The largest errors in f32 and f64, in units of the distance of the
 * numbers next to the result:
 *
 *   exact  copy, negative, abs, relu, floor, ceil, round, trunc, sign, fmod, clip, threshold, hardshrink
 *   0.5    sqrt, reciprocal, leaky_relu, softshrink, functions of two that are not named below
 *   1      exp, log, sin, cos, log10
 *   2      hardswish, rsqrt, erf, expm1, log1p, log2, exp2, sinh, cosh, hardsigmoid, softsign, floor_divide, pow
 *   3      tanh, sigmoid, tan, atan2, atan, asinh, atanh, selu, logsigmoid, elu
 *   4      silu, asin, acos, acosh; celu of alpha > 0
 *   6      mish, tanhshrink; softplus of |beta| from 2^-64 to 2^64
 *   8      gelu, erfc; in f64, gelu 12 and erfc 16
 *   4 + 4 |y|  gelu_tanh, with y = sqrt(8 / pi) (x + 0.044715 x^3)
 *
 * These hold for denormal results too, and for gelu where 1 + erf would cancel. log(0), log2(0), log10(0) and log1p(-1)
 * are -infinity, and NaN below; sqrt and rsqrt of negative numbers are NaN. 1 / 0 is an infinity with the sign of the
 * zero, in rsqrt too. sin, cos and tan of infinities are NaN. asin, acos and atanh are NaN beyond 1 and -1, where atanh
 * is infinite; acosh is NaN below 1. log2 of powers of 2, log10 of powers of 10 and exp2 of integers are exact. floor,
 * ceil, round and trunc keep infinities, and the sign of zero. gelu, gelu_tanh, silu, hardswish and mish of -infinity
 * are NaN, and softsign of infinities, as in PyTorch. NaN stays NaN, in sign too, as in NumPy; PyTorch's sign of NaN
 * is 0. If both elements of a function of two are NaN, the result is either, which may depend on its place.
 *
 * copy converts between bool, i8, u8, i32, i64, f16, bf16, f32 and f64, and copies every type to itself. Numbers are
 * rounded once, to nearest even. Floating numbers are truncated to integers; what does not fit becomes the nearest
 * integer of the type, NaN becomes 0. Integers are converted modulo 2^n. To bool: whether the element differs from 0,
 * as NaN does.
 *
 * Memory: the output of a function may be the same tensor as an input: same type, address, shape and strides. Any other
 * overlap with an input or with itself is refused (BP_E_OVERLAP).
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; an unknown kind; an axis out of range), BP_E_SHAPE, BP_E_DTYPE,
 * BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_ELEMENTWISE_H
#define BACKPLANE_ELEMENTWISE_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run, plan or explain a function of one element: the output has the shape of the input. `options` are settings for
 * this call (NULL: none). For planning and explaining, data pointers may be NULL. Release a plan with
 * bp_plan_release(), an explanation with bp_explanation_release(). Operands of a plan: {input, output}. */
BP_API bp_status bp_unary_run(const bp_options *options, bp_unary_kind kind, const DLTensor *input, DLTensor *output);
BP_API bp_status bp_unary_plan(bp_plan **plan, const bp_options *options, bp_unary_kind kind, const DLTensor *input,
                               const DLTensor *output);
BP_API bp_status bp_unary_explain(bp_explanation **explanation, const bp_options *options, bp_unary_kind kind,
                                  const DLTensor *input, const DLTensor *output);

/* As above, of a function with the first `number_count` of its numbers; the others are the usual ones, as all are in
 * bp_unary_run(). numbers may be NULL if there are none. More numbers than the function takes are refused
 * (BP_E_ARGUMENT). Operands of a plan: {input, output}. */
BP_API bp_status bp_unary_with_run(const bp_options *options, bp_unary_kind kind, int number_count,
                                   const double *numbers, const DLTensor *input, DLTensor *output);
BP_API bp_status bp_unary_with_plan(bp_plan **plan, const bp_options *options, bp_unary_kind kind, int number_count,
                                    const double *numbers, const DLTensor *input, const DLTensor *output);
BP_API bp_status bp_unary_with_explain(bp_explanation **explanation, const bp_options *options, bp_unary_kind kind,
                                       int number_count, const double *numbers, const DLTensor *input,
                                       const DLTensor *output);

/* Returns how many numbers a function of one element takes, 0 to 2, and writes the usual ones unless `usual` is NULL.
 * 0: also of an unknown kind. */
BP_API int bp_unary_number_count(bp_unary_kind kind, double *usual);

/* As above, of two elements: the output has the shape to which a and b are broadcast. Operands of a plan: {a, b,
 * output}. */
BP_API bp_status bp_binary_run(const bp_options *options, bp_binary_kind kind, const DLTensor *a, const DLTensor *b,
                               DLTensor *output);
BP_API bp_status bp_binary_plan(bp_plan **plan, const bp_options *options, bp_binary_kind kind, const DLTensor *a,
                                const DLTensor *b, const DLTensor *output);
BP_API bp_status bp_binary_explain(bp_explanation **explanation, const bp_options *options, bp_binary_kind kind,
                                   const DLTensor *a, const DLTensor *b, const DLTensor *output);

/* Choose between two elements: output[i] = condition[i] ? a[i] : b[i], as numpy.where. The condition is bool, in which
 * a byte that is not 0 is true; a, b and the output have one type, any one, and their elements are copied with all
 * bits. The output has the shape to which the three inputs are broadcast. Operands of a plan: {condition, a, b,
 * output}. */
BP_API bp_status bp_where_run(const bp_options *options, const DLTensor *condition, const DLTensor *a,
                              const DLTensor *b, DLTensor *output);
BP_API bp_status bp_where_plan(bp_plan **plan, const bp_options *options, const DLTensor *condition, const DLTensor *a,
                               const DLTensor *b, const DLTensor *output);
BP_API bp_status bp_where_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *condition,
                                  const DLTensor *a, const DLTensor *b, const DLTensor *output);

/* Take slices of the input along an axis, as numpy.take: the output has the shape of the input with the indices' shape
 * in place of the axis. With axis 0, the rows of a table: an embedding. Indices are i32 or i64, of any rank; all other
 * types are copied. A negative axis counts from the last dimension. An index below 0, or not below the size of the
 * axis, fails with BP_E_ARGUMENT; if the output is empty, indices are not read. On a device they are checked when the
 * call runs there: a wrong one is reported by the next function that waits for the queue (BP_E_DEVICE), and nothing is
 * written. Operands of a plan: {input, indices, output}.
 */
BP_API bp_status bp_take_run(const bp_options *options, const DLTensor *input, const DLTensor *indices, int axis,
                             DLTensor *output);
BP_API bp_status bp_take_plan(bp_plan **plan, const bp_options *options, const DLTensor *input, const DLTensor *indices,
                              int axis, const DLTensor *output);
BP_API bp_status bp_take_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                                 const DLTensor *indices, int axis, const DLTensor *output);

/* Take one element for each index along an axis, as torch.gather: in two dimensions with axis 0,
 * output[i,j] = input[indices[i,j], j]. The output has the shape of the indices, which has the rank of the input and no
 * larger size in any dimension but the axis. Otherwise as bp_take_run(). */
BP_API bp_status bp_gather_run(const bp_options *options, const DLTensor *input, const DLTensor *indices, int axis,
                               DLTensor *output);
BP_API bp_status bp_gather_plan(bp_plan **plan, const bp_options *options, const DLTensor *input,
                                const DLTensor *indices, int axis, const DLTensor *output);
BP_API bp_status bp_gather_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                                   const DLTensor *indices, int axis, const DLTensor *output);

/* Writes `count` tensors one after another along an axis (-1: the last one). They and the output have one type, and
 * equal sizes except along the axis, where the output has the sum. The output overlaps none of them. Each part is a
 * copy as bp_unary_run() makes it. */
BP_API bp_status bp_concat_run(const bp_options *options, int count, const DLTensor *const *tensors, int axis,
                               DLTensor *output);

/* Return the element type of the result of a function of elements of this type: BP_BOOL if it is whether something
 * holds, otherwise the same type, which copy may convert. BP_DTYPE_NONE: an unknown kind. */
BP_API bp_dtype bp_unary_dtype(bp_unary_kind kind, bp_dtype dtype);
BP_API bp_dtype bp_binary_dtype(bp_binary_kind kind, bp_dtype dtype);

/* Write rank and shape of a result, of up to BP_MAX_NDIM sizes. Data pointers may be NULL. */
BP_API bp_status bp_binary_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape);
BP_API bp_status bp_where_shape(const DLTensor *condition, const DLTensor *a, const DLTensor *b, int *ndim,
                                int64_t *shape);
BP_API bp_status bp_take_shape(const DLTensor *input, const DLTensor *indices, int axis, int *ndim, int64_t *shape);
BP_API bp_status bp_concat_shape(int count, const DLTensor *const *tensors, int axis, int *ndim, int64_t *shape);

#ifdef __cplusplus
}
#endif

#endif
