/* call.h - describes the call of pooling: its fields, and the operands of each pass. */
#ifndef BP_OPS_POOL_CALL_H
#define BP_OPS_POOL_CALL_H

#include "backplane/pool.h"
#include "ops/call.h"

#define BP__CALL bp_pool_call
static const bp__field bp__pool_fields[] = {
    BP__WORD(kind, BP_POOL_AVERAGE),
    BP__WORD(pass, BP_POOL_BACKWARD),
    BP__WORD(ndim, BP_POOL_NDIM),
    BP__SIZES(output_size),
    BP__SIZES(kernel),
    BP__SIZES(stride),
    BP__SIZES(dilation),
    BP__SIZES(padding),
    BP__FLAG(ceil_mode),
    BP__FLAG(exclude_padding),
    BP__NUMBER(divisor),
    BP__TENSOR(input),
    BP__TENSOR(output),
    BP__TENSOR(indices),
};

static const bp__pass bp__pool_passes[2][2] = {
    [BP_POOL_MAX] = {{"FORWARD",
                      BP_OP_MAX_POOL,
                      3,
                      1,
                      {BP__IN(input, true, 0), BP__OUT(output, true, 0), BP__OUT(indices, false, 0)}},
                     {"BACKWARD",
                      BP_OP_MAX_POOL_BACKWARD,
                      3,
                      2,
                      {BP__IN(output, true, 0), BP__IN(indices, true, 0), BP__OUT(input, true, 0)}}},
    [BP_POOL_AVERAGE] =
        {{"FORWARD", BP_OP_AVG_POOL, 2, 1, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}},
         {"BACKWARD", BP_OP_AVG_POOL_BACKWARD, 2, 1, {BP__IN(output, true, 0), BP__OUT(input, true, 0)}}},
};
#undef BP__CALL

#endif
