/* call.h - describes the calls of reductions and softmax, whose functions take arguments: their fields, and the
 * operands of each pass. */
#ifndef BP_OPS_REDUCE_CALL_H
#define BP_OPS_REDUCE_CALL_H

#include "ops/reduce/reduce.h"

#define BP__CALL bp__reduce_arguments
static const bp_call_field bp__reduce_fields[] = {
    BP__WORD(kind, BP_REDUCE_ALL, "sum,prod,mean,max,min,argmax,argmin,any,all", "how elements are joined"),
    BP__COUNT_UP_TO(axis_count, BP_MAX_NDIM, "number of axes; 0 if they are absent"),
    BP__FLAG(keep, "the output keeps the axes, with size 1"),
    BP__AXES(axes, "the dimensions that are reduced; all if absent"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input without the axes"),
};
static const bp__pass bp__reduce_passes[] = {
    {{"FORWARD", BP_OP_REDUCE, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__variance_arguments
static const bp_call_field bp__variance_fields[] = {
    BP__WORD(kind, BP_STD, "var,std", "the variance, or its root"),
    BP__COUNT_UP_TO(axis_count, BP_MAX_NDIM, "number of axes; 0 if they are absent"),
    BP__REAL(correction, 1, "subtracted from the number of elements"),
    BP__FLAG(keep, "the output keeps the axes, with size 1"),
    BP__AXES(axes, "the dimensions that are reduced; all if absent"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input without the axes"),
};
static const bp__pass bp__variance_passes[] = {
    {{"FORWARD", BP_OP_VARIANCE, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__SOFTMAX_KIND BP__WORD(kind, BP_LOG_SOFTMAX, "softmax,log_softmax", "the values, or their logarithms")
#define BP__SOFTMAX_AXIS BP__SIGNED(axis, -1, "the dimension of the rows; negative: counts from the last one")

#define BP__CALL bp__softmax_arguments
static const bp_call_field bp__softmax_fields[] = {
    BP__SOFTMAX_KIND,
    BP__SOFTMAX_AXIS,
    BP__TENSOR(input, "any shape but a scalar's"),
    BP__TENSOR(output, "the shape of the input"),
};
static const bp__pass bp__softmax_passes[] = {
    {{"FORWARD", BP_OP_SOFTMAX, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__softmax_backward_arguments
static const bp_call_field bp__softmax_backward_fields[] = {
    BP__SOFTMAX_KIND,
    BP__SOFTMAX_AXIS,
    BP__TENSOR(output, "the result of the forward pass"),
    BP__TENSOR(output_gradient, "the gradient by the output, with its shape"),
    BP__TENSOR(input_gradient, "the gradient by the input, with its shape"),
};
static const bp__pass bp__softmax_backward_passes[] = {
    {{"BACKWARD", BP_OP_SOFTMAX_BACKWARD, 3, 2},
     {BP__IN(output, true, 0), BP__IN(output_gradient, true, 0), BP__OUT(input_gradient, true, 0)}}};
#undef BP__CALL

#endif
