/* call.h - describes the call of pooling: its fields, and the operands of each pass. */
#ifndef BP_OPS_POOL_CALL_H
#define BP_OPS_POOL_CALL_H

#include "backplane/pool.h"
#include "ops/call.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_pool_call, kind, field, most)
static const bp__field bp__pool_fields[] = {
    FIELD(WORD, kind, BP_POOL_AVERAGE),
    FIELD(WORD, pass, BP_POOL_BACKWARD),
    FIELD(WORD, ndim, BP_POOL_NDIM),
    FIELD(SIZES, output_size, 0),
    FIELD(SIZES, kernel, 0),
    FIELD(SIZES, stride, 0),
    FIELD(SIZES, dilation, 0),
    FIELD(SIZES, padding, 0),
    FIELD(FLAG, ceil_mode, 0),
    FIELD(FLAG, exclude_padding, 0),
    FIELD(NUMBER, divisor, 0),
    FIELD(TENSOR, input, 0),
    FIELD(TENSOR, output, 0),
    FIELD(TENSOR, indices, 0),
};
#undef FIELD

#define IN(field) BP__OPERAND_OF(bp_pool_call, field, false, true, 0)
#define OUT(field, required) BP__OPERAND_OF(bp_pool_call, field, true, required, 0)
static const bp__pass bp__pool_passes[2][2] = {
    [BP_POOL_MAX] = {{"FORWARD", BP_OP_MAX_POOL, 3, 1, {IN(input), OUT(output, true), OUT(indices, false)}},
                     {"BACKWARD", BP_OP_MAX_POOL_BACKWARD, 3, 2, {IN(output), IN(indices), OUT(input, true)}}},
    [BP_POOL_AVERAGE] = {{"FORWARD", BP_OP_AVG_POOL, 2, 1, {IN(input), OUT(output, true)}},
                         {"BACKWARD", BP_OP_AVG_POOL_BACKWARD, 2, 1, {IN(output), OUT(input, true)}}},
};
#undef IN
#undef OUT

#endif
