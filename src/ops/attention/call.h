/* call.h - describes the call of attention: its fields, and the operands of each pass. */
#ifndef BP_OPS_ATTENTION_CALL_H
#define BP_OPS_ATTENTION_CALL_H

#include "ops/attention/attention.h"

#define BP__CALL bp_attention_call
static const bp_call_field bp__attention_fields[] = {
    BP__WORD(pass, BP_ATTENTION_BACKWARD, "forward,backward", "what is computed"),
    BP__FLAG(is_causal, "a query sees no key above its own position"),
    BP__FLAG(enable_gqa, "heads of the query share heads of key and value"),
    BP__FLAG(has_scale, "scale is given"),
    BP__REAL(scale, 0, "factor of the scores, with has_scale; otherwise 1 / square root of the last size of query"),
    BP__REAL(dropout, 0, "probability of a weight to become 0"),
    BP__TENSOR(query, "... x L x E"),
    BP__TENSOR(key, "... x S x E"),
    BP__TENSOR(value, "... x S x V"),
    BP__TENSOR(mask, "added to the scores, ... x L x S; of type BOOL: which scores count"),
    BP__TENSOR(seed, "seed and offset of dropout: two I64"),
    BP__TENSOR(output, "... x L x V"),
    BP__TENSOR(logsumexp, "logarithm of the sum of the exponentials of a row, ... x L"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(query_gradient, "gradient by query"),
    BP__TENSOR(key_gradient, "gradient by key"),
    BP__TENSOR(value_gradient, "gradient by value"),
    BP__TENSOR(mask_gradient, "gradient by mask"),
    BP__TENSOR(pages, "numbers of the pages of each item"),
    BP__TENSOR(lengths, "number of keys of each item"),
    BP__REAL(softcap, 0, "limit of the scores before the mask is added: softcap tanh(score / softcap); 0: none"),
    BP__FLAG(has_window, "window_left and window_right are given"),
    BP__FLAG(lower_right, "positions of the queries are counted from the last key"),
    BP__NUMBER(window_left, 0, "keys behind its own position that a query sees, with has_window; -1: all"),
    BP__NUMBER(window_right, 0, "keys ahead of its own position that a query sees, with has_window; -1: all"),
};

/* The number of an operand's shape is its bp_attention_tensor. */
#define INPUTS                                                                                                         \
    BP__IN(query, true, BP_ATTENTION_QUERY), BP__IN(key, true, BP_ATTENTION_KEY),                                      \
        BP__IN(value, true, BP_ATTENTION_VALUE), BP__IN(mask, false, BP_ATTENTION_MASK),                               \
        BP__IN(seed, false, BP_ATTENTION_SEED)

#define LENGTHS BP__IN(lengths, true, BP_ATTENTION_LENGTHS)
#define RESULTS BP__OUT(output, true, BP_ATTENTION_OUTPUT), BP__OUT(logsumexp, false, BP_ATTENTION_LOGSUMEXP)
#define GRADIENTS                                                                                                      \
    BP__IN(output, true, BP_ATTENTION_OUTPUT), BP__IN(logsumexp, true, BP_ATTENTION_LOGSUMEXP),                        \
        BP__OUT(query_gradient, false, BP_ATTENTION_QUERY_GRADIENT),                                                   \
        BP__OUT(key_gradient, false, BP_ATTENTION_KEY_GRADIENT),                                                       \
        BP__OUT(value_gradient, false, BP_ATTENTION_VALUE_GRADIENT),                                                   \
        BP__OUT(mask_gradient, false, BP_ATTENTION_MASK_GRADIENT)

/* By bp_attention_pass, then the forward pass with pages, and both passes with lengths alone. */
enum {
    BP__ATTENTION_PAGED = BP_ATTENTION_BACKWARD + 1,
    BP__ATTENTION_LENGTHS,
    BP__ATTENTION_PASSES = BP__ATTENTION_LENGTHS + BP_ATTENTION_BACKWARD + 1
};
static const bp__pass bp__attention_passes[BP__ATTENTION_PASSES] = {
    [BP_ATTENTION_FORWARD] = {{"FORWARD", BP_OP_ATTENTION, 7, 5}, {INPUTS, RESULTS}},
    [BP_ATTENTION_BACKWARD] = {{"BACKWARD", BP_OP_ATTENTION_BACKWARD, 12, 8},
                               {BP__IN(output_gradient, true, BP_ATTENTION_OUTPUT_GRADIENT), INPUTS, GRADIENTS}},
    [BP__ATTENTION_PAGED] = {{"FORWARD", BP_OP_ATTENTION_PAGED, 9, 7},
                             {INPUTS, BP__IN(pages, true, BP_ATTENTION_PAGES), LENGTHS, RESULTS}},
    [BP__ATTENTION_LENGTHS] = {{"FORWARD", BP_OP_ATTENTION_LENGTHS, 8, 6}, {INPUTS, LENGTHS, RESULTS}},
    [BP__ATTENTION_LENGTHS + BP_ATTENTION_BACKWARD] = {{"BACKWARD", BP_OP_ATTENTION_LENGTHS_BACKWARD, 13, 9},
                                                       {BP__IN(output_gradient, true, BP_ATTENTION_OUTPUT_GRADIENT),
                                                        INPUTS, LENGTHS, GRADIENTS}},
};
#undef BP__CALL
#undef INPUTS
#undef LENGTHS
#undef RESULTS
#undef GRADIENTS

#endif
