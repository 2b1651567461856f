/* call.h - describes the call of pooling: its fields, and the operands of each pass. */
#ifndef BP_OPS_POOL_CALL_H
#define BP_OPS_POOL_CALL_H

#include "backplane/pool.h"
#include "ops/call.h"

#define BP__CALL bp_pool_call
static const bp_call_field bp__pool_fields[] = {
    BP__WORD(kind, BP_POOL_AVERAGE, "max,average", "maxima or averages"),
    BP__WORD(pass, BP_POOL_BACKWARD, "forward,backward", "what is computed"),
    BP__COUNT_UP_TO(ndim, BP_POOL_NDIM, "number of dimensions of the windows"),
    BP__SIZES(output_size, "adaptive pooling: sizes of the output"),
    BP__SIZES(kernel, "sizes of the windows"),
    BP__SIZES(stride, "steps of the windows; the kernel if absent"),
    BP__SIZES(dilation, "max: distance between the elements of a window; 1 if absent"),
    BP__SIZES(padding, "rows on both sides; 0 if absent"),
    BP__FLAG(ceil_mode, "round the sizes of the output up"),
    BP__FLAG(exclude_padding, "average: do not count the padding"),
    BP__NUMBER(divisor, 0, "average: divide by this; 0: by the number of elements"),
    BP__TENSOR(input, "N x C x sizes"),
    BP__TENSOR(output, "N x C x sizes"),
    BP__TENSOR(indices, "max: place of each maximum in its channel"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(input_gradient, "gradient by input"),
};

static const bp__pass bp__pool_passes[2][2] = {
    [BP_POOL_MAX] = {{{"FORWARD", BP_OP_MAX_POOL, 3, 1},
                      {BP__IN(input, true, 0), BP__OUT(output, true, 0), BP__OUT(indices, false, 0)}},
                     {{"BACKWARD", BP_OP_MAX_POOL_BACKWARD, 3, 2},
                      {BP__IN(output_gradient, true, 0), BP__IN(indices, true, 0), BP__OUT(input_gradient, true, 0)}}},
    [BP_POOL_AVERAGE] = {{{"FORWARD", BP_OP_AVG_POOL, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}},
                         {{"BACKWARD", BP_OP_AVG_POOL_BACKWARD, 2, 1},
                          {BP__IN(output_gradient, true, 0), BP__OUT(input_gradient, true, 0)}}},
};
#undef BP__CALL

#endif
