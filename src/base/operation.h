/* operation.h - declares the numbers of operands of an operation. The names are public (backplane/operation.h). */
#ifndef BP_BASE_OPERATION_H
#define BP_BASE_OPERATION_H

#include "backplane/operation.h"

/* Return the number of inputs in BP_OP_MAP, and of inputs and outputs; of einsum, each plan has its own. */
int bp__input_count(bp_op op);
int bp__operand_count(bp_op op);

#endif
