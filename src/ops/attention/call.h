/* call.h - describes the call of attention: its fields, and the operands of each pass. */
#ifndef BP_OPS_ATTENTION_CALL_H
#define BP_OPS_ATTENTION_CALL_H

#include "ops/attention/attention.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_attention_call, kind, field, most)
static const bp__field bp__attention_fields[] = {
    FIELD(WORD, pass, BP_ATTENTION_BACKWARD),
    FIELD(FLAG, is_causal, 0),
    FIELD(FLAG, enable_gqa, 0),
    FIELD(FLAG, has_scale, 0),
    FIELD(REAL, scale, 0),
    FIELD(REAL, dropout, 0),
    FIELD(TENSOR, query, 0),
    FIELD(TENSOR, key, 0),
    FIELD(TENSOR, value, 0),
    FIELD(TENSOR, mask, 0),
    FIELD(TENSOR, seed, 0),
    FIELD(TENSOR, output, 0),
    FIELD(TENSOR, logsumexp, 0),
    FIELD(TENSOR, output_gradient, 0),
    FIELD(TENSOR, query_gradient, 0),
    FIELD(TENSOR, key_gradient, 0),
    FIELD(TENSOR, value_gradient, 0),
    FIELD(TENSOR, mask_gradient, 0),
    FIELD(TENSOR, pages, 0),
    FIELD(TENSOR, lengths, 0),
};
#undef FIELD

/* The shape of an operand is that of its bp_attention_tensor. */
#define IN(field, required, shape) BP__OPERAND_OF(bp_attention_call, field, false, required, BP_ATTENTION_##shape)
#define OUT(field, required, shape) BP__OPERAND_OF(bp_attention_call, field, true, required, BP_ATTENTION_##shape)
#define INPUTS                                                                                                         \
    IN(query, true, QUERY), IN(key, true, KEY), IN(value, true, VALUE), IN(mask, false, MASK), IN(seed, false, SEED)

/* By bp_attention_pass; the last one is the forward pass with pages. */
enum { BP__ATTENTION_PAGED = BP_ATTENTION_BACKWARD + 1, BP__ATTENTION_PASSES };
static const bp__pass bp__attention_passes[BP__ATTENTION_PASSES] = {
    [BP_ATTENTION_FORWARD] =
        {"FORWARD", BP_OP_ATTENTION, 7, 5, {INPUTS, OUT(output, true, OUTPUT), OUT(logsumexp, false, LOGSUMEXP)}},
    [BP_ATTENTION_BACKWARD] = {"BACKWARD",
                               BP_OP_ATTENTION_BACKWARD,
                               12,
                               8,
                               {IN(output_gradient, true, OUTPUT_GRADIENT), INPUTS, IN(output, true, OUTPUT),
                                IN(logsumexp, true, LOGSUMEXP), OUT(query_gradient, false, QUERY_GRADIENT),
                                OUT(key_gradient, false, KEY_GRADIENT), OUT(value_gradient, false, VALUE_GRADIENT),
                                OUT(mask_gradient, false, MASK_GRADIENT)}},
    [BP__ATTENTION_PAGED] = {"FORWARD",
                             BP_OP_ATTENTION_PAGED,
                             9,
                             7,
                             {INPUTS, IN(pages, true, PAGES), IN(lengths, true, LENGTHS), OUT(output, true, OUTPUT),
                              OUT(logsumexp, false, LOGSUMEXP)}},
};
#undef IN
#undef OUT
#undef INPUTS

#endif
