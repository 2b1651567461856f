/* call.h - describes the call of random numbers. Its seed is a parameter; a plan has it as its first operand. */
#ifndef BP_OPS_RANDOM_CALL_H
#define BP_OPS_RANDOM_CALL_H

#include "ops/random/random.h"

#define BP__CALL bp_random_call
static const bp_call_field bp__random_fields[] = {
    BP__WORD(kind, BP_RANDOM_KINDS - 1, "uniform,normal,bits", "what is drawn"),
    BP__NUMBER(seed, 0, "the key of the generator"),
    BP__NUMBER(offset, 0, "number of the first block"),
    BP__TENSOR(output, "any shape"),
};

static const bp__pass bp__random_passes[] = {{{"FORWARD", BP_OP_RANDOM, 1, 0}, {BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
