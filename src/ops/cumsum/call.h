/* call.h - describes the call of cumulative sums: its fields, and the operands of its pass. */
#ifndef BP_OPS_CUMSUM_CALL_H
#define BP_OPS_CUMSUM_CALL_H

#include "ops/cumsum/cumsum.h"

#define BP__CALL bp_cumsum_call
static const bp_call_field bp__cumsum_fields[] = {
    BP__SIGNED(axis, 0, "the dimension of the rows; negative: counts from the last one"),
    BP__FLAG(exclusive, "an element is not in its own sum"),
    BP__FLAG(reverse, "an element's sum begins at the end of the row"),
    BP__TENSOR(input, "any shape"),
    BP__TENSOR(output, "the shape of the input"),
};

static const bp__pass bp__cumsum_passes[] = {
    {{"FORWARD", BP_OP_CUMSUM, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
