/* attention.h - the reference of attention and its gradients: attention.h of the public interface, one element at a
 * time, in long double. */
#ifndef BP_REFERENCE_ATTENTION_H
#define BP_REFERENCE_ATTENTION_H

#include "reference/results.h"

/* What a kernel rounds more than others. */
typedef struct reference_attention_rounding {
    double weights; /* the relative error of each weight that is rounded before it is multiplied by values; 0: none */
    bool operands;  /* query, key and value are rounded to bf16 */
    double factors; /* of gradients: the relative error of weights and of gradients by scores that are rounded before
                     * they are multiplied by a matrix, and of gradients of single heads before these are added up */
} reference_attention_rounding;

typedef struct reference_attention reference_attention;

/* Opens a call of either pass; its tensors must have data, and gradients only shapes. *made is for
 * reference_attention_close(), also after a failure. `rounding` may be NULL. Errors: BP_E_NO_MEMORY, or as for
 * bp_tensor_copy(). */
bp_status reference_attention_open(reference_attention **made, const bp_attention_call *call,
                                   const reference_attention_rounding *rounding);
void reference_attention_close(reference_attention *made);

/* Computes a row of the output, counted through all items, and its logsumexp (NULL: not wanted). Errors are those
 * before a result is rounded to its type. An error is infinite where attention.h leaves the value open: `is_causal`
 * excludes a value that is not finite. */
void reference_attention_row(reference_attention *a, int64_t row, reference_number *output,
                             reference_number *logsumexp);

/* The written tensors of BACKWARD. */
enum { REFERENCE_QUERY, REFERENCE_KEY, REFERENCE_VALUE, REFERENCE_MASK, REFERENCE_ATTENTION_GRADIENTS };

/* Computes the gradients, each with as many numbers as its tensor, which are 0 before; NULL: not wanted. */
void reference_attention_gradients(reference_attention *a, reference_number *of[REFERENCE_ATTENTION_GRADIENTS]);

/* As reference_of_attention() of results.h, for a kernel that rounds more. */
bp_status reference_of_rounded_attention(reference_results *made, const bp_attention_call *call,
                                         const reference_attention_rounding *rounding);

#endif
