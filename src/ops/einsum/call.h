/* call.h - describes the call of einsum by its expression. The form with lists of labels is another spelling of it,
 * which names more labels than an alphabet has. */
#ifndef BP_OPS_EINSUM_CALL_H
#define BP_OPS_EINSUM_CALL_H

#include "backplane/einsum.h"
#include "ops/call.h"

typedef struct bp__einsum_arguments {
    size_t struct_size;
    const char *expression;
    int count;
    const DLTensor *const *operands;
    const DLTensor *output;
} bp__einsum_arguments;

#define BP__CALL bp__einsum_arguments
static const bp_call_field bp__einsum_fields[] = {
    BP__TEXT(expression, "the labels of all dimensions: ij,jk->ik"),
    BP__COUNT_UP_TO(count, INT32_MAX, "number of operands"),
    BP__TENSORS(operands, "a dimension for each label"),
    BP__TENSOR(output, "a dimension for each label behind the arrow"),
};
static const bp__pass bp__einsum_passes[] = {
    {{"FORWARD", BP_OP_EINSUM, 2, 1}, {BP__IN_LIST(operands), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
