/* product_calls.h - describes the calls of linear algebra that are made of products: vecdot, multi_dot, matrix_power.
 */
#ifndef BP_OPS_LINALG_PRODUCT_CALLS_H
#define BP_OPS_LINALG_PRODUCT_CALLS_H

#include "backplane/linalg.h"
#include "ops/call.h"

typedef struct bp__vecdot_arguments {
    size_t struct_size;
    int axis;
    const DLTensor *a, *b, *output;
} bp__vecdot_arguments;

typedef struct bp__multi_dot_arguments {
    size_t struct_size;
    int count;
    const DLTensor *const *operands;
    const DLTensor *output;
} bp__multi_dot_arguments;

typedef struct bp__matrix_power_arguments {
    size_t struct_size;
    int64_t n;
    const DLTensor *A, *output;
} bp__matrix_power_arguments;

#define BP__CALL bp__vecdot_arguments
static const bp_call_field bp__vecdot_fields[] = {
    BP__SIGNED(axis, -1, "the dimension that is summed over; negative: counts from the last one"),
    BP__TENSOR(a, "any shape but a scalar's; complex numbers are conjugated"),
    BP__TENSOR(b, "a shape that broadcasts with a's"),
    BP__TENSOR(output, "the broadcast shape without the dimension"),
};
static const bp__pass bp__vecdot_passes[] = {
    {{"FORWARD", BP_OP_GEMM, 3, 2}, {BP__IN(a, true, 0), BP__IN(b, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__multi_dot_arguments
static const bp_call_field bp__multi_dot_fields[] = {
    BP__COUNT_UP_TO(count, INT32_MAX, "number of matrices"),
    BP__TENSORS(operands, "matrices; the first and the last one may be a vector"),
    BP__TENSOR(output, "rows of the first, columns of the last one"),
};
static const bp__pass bp__multi_dot_passes[] = {
    {{"FORWARD", BP_OP_EINSUM, 2, 1}, {BP__IN_LIST(operands), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__matrix_power_arguments
static const bp_call_field bp__matrix_power_fields[] = {
    BP__NUMBER(n, 0, "the power; negative: of the inverse"),
    BP__TENSOR(A, "(*, n, n)"),
    BP__TENSOR(output, "(*, n, n)"),
};
static const bp__pass bp__matrix_power_passes[] = {
    {{"FORWARD", BP_OP_GEMM, 2, 1}, {BP__IN(A, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
