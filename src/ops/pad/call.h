/* call.h - describes the calls that pad, reverse and rotate tensors, whose functions take arguments: their fields, and
 * the operands of each pass. */
#ifndef BP_OPS_PAD_CALL_H
#define BP_OPS_PAD_CALL_H

#include "ops/pad/pad.h"

#define BP__CALL bp__pad_arguments
static const bp_call_field bp__pad_fields[] = {
    BP__WORD(mode, BP_PAD_CIRCULAR, "constant,reflect,replicate,circular", "what the added elements are"),
    BP__COUNT_UP_TO(ndim, BP_MAX_NDIM, "how many of the last dimensions have amounts"),
    BP__REAL(value, 0, "the added elements of mode constant"),
    BP__SIZES(before, "elements added before each dimension; negative: removed; 0 if absent"),
    BP__SIZES(after, "the same after it"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the sizes of the input with the amounts"),
};
static const bp__pass bp__pad_passes[] = {
    {{"FORWARD", BP_OP_PAD, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__flip_arguments
static const bp_call_field bp__flip_fields[] = {
    BP__COUNT_UP_TO(axis_count, BP_MAX_NDIM, "number of axes; 0 if they are absent"),
    BP__AXES(axes, "the dimensions that are reversed; all if absent"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input"),
};
static const bp__pass bp__flip_passes[] = {
    {{"FORWARD", BP_OP_FLIP, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__roll_arguments
static const bp_call_field bp__roll_fields[] = {
    BP__COUNT_UP_TO(axis_count, BP_MAX_NDIM, "number of axes"),
    BP__AXES(axes, "the dimensions"),
    BP__SIZES(shifts, "by how much elements move along each of them"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input"),
};
static const bp__pass bp__roll_passes[] = {
    {{"FORWARD", BP_OP_ROLL, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
