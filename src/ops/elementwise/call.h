/* call.h - describes the calls on single elements, whose functions take arguments: the structs that hold these, their
 * fields, and the operands of each pass. */
#ifndef BP_OPS_ELEMENTWISE_CALL_H
#define BP_OPS_ELEMENTWISE_CALL_H

#include "ops/elementwise/elementwise.h"

#define BP__AXIS_TEXT "the dimension; negative: counts from the last one"

#define BP__CALL bp__unary_arguments
static const bp_call_field bp__unary_fields[] = {
    BP__WORD(kind, BP_UNARY_KINDS - 1, BP__WORDS(BP_UNARY_MAP), "the function"),
    BP__WORD(dtype, BP_BOOL, BP__DTYPES, "copy: the type of the output, for results without a tensor yet"),
    BP__TOLERANCE(first, "the first number of a function that takes some, such as the slope of leaky_relu"),
    BP__TOLERANCE(second, "the second number of a function that takes two, such as the upper limit of clip"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input"),
};
static const bp__pass bp__unary_passes[] = {
    {{"FORWARD", BP_OP_UNARY, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__binary_arguments
static const bp_call_field bp__binary_fields[] = {
    BP__WORD(kind, BP_BINARY_KINDS - 1, BP__WORDS(BP_BINARY_MAP), "the function"),
    BP__TENSOR(a, "any shape"),
    BP__TENSOR(b, "a shape that broadcasts with a's"),
    BP__TENSOR(output, "the shape to which a and b are broadcast"),
};
static const bp__pass bp__binary_passes[] = {
    {{"FORWARD", BP_OP_BINARY, 3, 2}, {BP__IN(a, true, 0), BP__IN(b, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__where_arguments
static const bp_call_field bp__where_fields[] = {
    BP__TENSOR(condition, "bool, any shape"),
    BP__TENSOR(a, "the elements where it is true"),
    BP__TENSOR(b, "the elements where it is false"),
    BP__TENSOR(output, "the shape to which the inputs are broadcast"),
};
static const bp__pass bp__where_passes[] = {
    {{"FORWARD", BP_OP_WHERE, 4, 3},
     {BP__IN(condition, true, 0), BP__IN(a, true, 0), BP__IN(b, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__indexed_arguments
static const bp_call_field bp__take_fields[] = {
    BP__SIGNED(axis, 0, BP__AXIS_TEXT),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(indices, "i32 or i64, any shape"),
    BP__TENSOR(output, "the shape of the input, with the indices' shape in place of the axis"),
};
static const bp_call_field bp__gather_fields[] = {
    BP__SIGNED(axis, 0, BP__AXIS_TEXT),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(indices, "i32 or i64, the rank of the input"),
    BP__TENSOR(output, "the shape of the indices"),
};
#define BP__INDEXED_OPERANDS                                                                                           \
    { BP__IN(input, true, 0), BP__IN(indices, true, 0), BP__OUT(output, true, 0) }
static const bp__pass bp__take_passes[] = {{{"FORWARD", BP_OP_TAKE, 3, 2}, BP__INDEXED_OPERANDS}};
static const bp__pass bp__gather_passes[] = {{{"FORWARD", BP_OP_GATHER, 3, 2}, BP__INDEXED_OPERANDS}};
#undef BP__CALL

#define BP__CALL bp__concat_arguments
static const bp_call_field bp__concat_fields[] = {
    BP__SIGNED(axis, 0, BP__AXIS_TEXT),
    BP__COUNT_UP_TO(count, INT32_MAX, "the number of tensors"),
    BP__TENSORS(tensors, "equal sizes except along the axis"),
    BP__TENSOR(output, "the sum of the sizes along the axis"),
};
static const bp__pass bp__concat_passes[] = {
    {{"FORWARD", BP_OP_UNARY, 2, 1}, {BP__IN_LIST(tensors), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
