/* attention.h - computes scaled dot-product attention and its gradients, with the meanings of
 * torch.nn.functional.scaled_dot_product_attention.
 *
 * Shapes: query is ... x L x E, key is ... x S x E, value is ... x S x V, output is ... x L x V. The leading dimensions
 * broadcast, as in a matrix product. With `enable_gqa`, the last of them are heads, whose numbers may differ: the
 * numbers of key and value must divide the query's number, and one of them the other; head h of the query uses heads
 * h / (query heads / key heads) and h / (query heads / value heads). For row i of an item
 *
 *     product[j] = scale * (sum over e of query[i,e] key[j,e])
 *     score[j] = product[j] + mask[i,j], or with a softcap: softcap * tanh(product[j] / softcap) + mask[i,j]
 *     weight[j] = exp(score[j]) / (sum over k of exp(score[k]))
 *     output[i] = sum over j of weight[j] value[j]
 *
 * A row whose scores all are -infinity has the output 0. `scale` is 1 / square root of E unless `has_scale`. An absent
 * mask is 0. A mask has a shape that broadcasts to ... x L x S; a mask of type BOOL is 0 where it is true and -infinity
 * elsewhere. `logsumexp` is ... x L: the logarithm of the sum of exp(score[j]). `softcap` is 0 (none), or from 2^-100
 * to 2^100. It comes before the mask, so that -infinity in a mask remains, as in ONNX's Attention and in flash-attn.
 *
 * A query sees some keys; the scores of the others are -infinity. The position of query i is i. With `lower_right` it
 * is K - L + i, so that the last query has the position of the last key; K is the number of keys of the item: S, or its
 * number in `lengths`. With `is_causal`, a query sees no key j above its position; there must be no mask then. With
 * `has_window`, it sees the keys from its position less `window_left` to its position plus `window_right`; -1 is no
 * limit on this side. A window may come with a mask and with is_causal; a window with window_right 0 is is_causal, and
 * may have a mask. `lower_right` needs is_causal or has_window.
 *
 * `lengths` is the number of keys of each item of the first dimension of the output, from 0 to S, which must have a
 * leading dimension then: a vector of type I32 or I64. No query sees a key from lengths[item] on, and these keys and
 * values are not read. A length out of range is BP_E_ARGUMENT when the call runs, and nothing is written then.
 *
 * Dropout sets each weight to 0 with probability `dropout`, and divides the others by 1 - dropout. It needs `seed`, two
 * numbers of type I64 {seed, offset}. Row r, counted through all items, and key j have word j modulo 4 of the block
 * that Philox 4x32-10 (Salmon and others, 2011) makes of the counter {j / 4, r + offset} (64 bits each) and the key
 * `seed`; the weight is dropped if the word is below dropout times 2^32. So the same weights are dropped by all
 * kernels and on any number of threads. L more calls of one item need an offset that is L larger.
 *
 * With `pages`, key and value are pools of pages, which items share: pages x rows x heads x E, and ... x V; query is
 * batch x heads x L x E. `pages` is batch x M, the pages of each item in their order, and `lengths` is batch, the
 * number of keys of each item, which is at most M times the rows of a page. Both are I32 or I64, of any strides. Key j
 * of an item is row j modulo (rows of a page) of page pages[item, j / (rows of a page)]. Pages behind the last key are
 * not read, nor are their numbers. S is M times the rows of a page for the mask. The position of query i is
 * lengths[item] - L + i, also without `lower_right`. Only FORWARD has pages. A number of a page that the pool does not
 * have, or a length out of range, is BP_E_ARGUMENT when the call runs, and nothing is written then.
 *
 * BACKWARD computes the gradients of a loss from `output_gradient`, with `output` and `logsumexp` as FORWARD wrote
 * them. A gradient has the shape of its tensor: over dimensions in which this was broadcast, it is summed. Gradients
 * that are NULL are not computed. `mask_gradient` has the mask's type too; a mask of type BOOL has no gradient. Where
 * the mask is -infinity, its gradient is 0. A softcap multiplies the gradient by product[j] by 1 - tanh^2 of its
 * argument, and leaves the gradient by the mask as it is. Gradients by keys and values that no query sees are 0.
 *
 * Kernels are algorithms: "flash" and "mem_efficient" need memory that does not grow with L times S, "math" keeps all
 * scores of an item for each thread. "flash_bf16" is flash for FORWARD of BF16 on processors with AVX512_BF16: it
 * rounds the weights to BF16 before it multiplies them by values, and denormal numbers count as 0. Where
 * mkldnn.matmul.fp32_precision is bf16, it also takes F32, and rounds query, key and value to BF16. The settings of
 * flash apply to it. "cudnn" is cuDNN's on CUDA, for F16 and BF16: it rounds weights to that type before it multiplies
 * them by values, and in BACKWARD also gradients by scores. The settings cuda.flash_sdp, cuda.mem_efficient_sdp,
 * cuda.math_sdp, cuda.cudnn_sdp and cuda.overrideable_sdp disable kernels, on all devices; the last one is for kernels
 * with other names. If cuda.sdp_priority was set, the first kernel of its list that accepts is chosen, otherwise the
 * one with the lowest cost.
 *
 * Element types: F16, BF16, F32 and F64, the same for all tensors, except that a mask may also be BOOL or F32, and that
 * logsumexp is F64 for F64 and otherwise F32. Sums are computed in F32 (F64 in F64) and rounded once. The gradient by
 * score[j] is weight[j] times (the sum over v of output_gradient[i,v] value[j,v], less the sum over v of
 * output_gradient[i,v] output[i,v]). flash and mem_efficient read the second sum from `output`, with its rounding: this
 * changes the gradient by a score by up to u weight[j] (the sum over v of |output_gradient[i,v] output[i,v]|), where u
 * is 2^-11 for F16 and 2^-8 for BF16. math computes that sum from weights, and so do the other two if mask_gradient is
 * F32 and the other tensors are F16 or BF16, because the gradient by the mask has more digits than `output` then.
 * Tensors may have any strides; keys and values with contiguous columns are read where they are. The written tensors
 * must not overlap the others or themselves (BP_E_OVERLAP). Results do not depend on the number of threads.
 *
 * NaN and infinity that a row does not see: what `lengths` excludes is never read. Excluded keys have no effect on the
 * output. Excluded values have none on the processor if a limit of a window excludes a key, other than `window_right` 0,
 * which is `is_causal`. Otherwise, and on devices, they may or may not make the row NaN. Kernels other than math skip
 * blocks of 128 keys that are excluded for all rows which they compute together, at most 64 rows. In BACKWARD, excluded
 * keys and values, and rows of output_gradient and query that do not see a key, may make gradients NaN.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; a mask with is_causal; dropout outside 0 to 1, or without a seed; a
 * scale that is not finite, or is given without has_scale; a softcap or window out of range; a window without
 * has_window; lower_right without is_causal and has_window; a tensor that the pass does not have; mask_gradient without
 * a mask; pages without lengths, with BACKWARD, or out of range; lengths out of range), BP_E_SHAPE, BP_E_DTYPE,
 * BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_ATTENTION_H
#define BACKPLANE_ATTENTION_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call computes, and the operands of its plan. */
typedef enum bp_attention_pass {
    BP_ATTENTION_FORWARD, /* {query, key, value, mask, seed, output, logsumexp}; with pages {query, key, value, mask,
                           * seed, pages, lengths, output, logsumexp}; with lengths alone {query, key, value, mask,
                           * seed, lengths, output, logsumexp} */
    BP_ATTENTION_BACKWARD /* {output_gradient, query, key, value, mask, seed, output, logsumexp, query_gradient,
                           * key_gradient, value_gradient, mask_gradient}; with lengths they are behind seed */
} bp_attention_pass;

/* One call. Members that are 0 or NULL are absent. FORWARD needs query, key, value and output; logsumexp is optional.
 * BACKWARD also needs logsumexp and output_gradient. */
typedef struct bp_attention_call {
    size_t struct_size; /* sizeof(bp_attention_call) */
    bp_attention_pass pass;
    int is_causal, enable_gqa;
    int has_scale;
    double scale;   /* 0 unless has_scale */
    double dropout; /* probability of a weight to become 0 */
    const DLTensor *query, *key, *value, *mask, *seed;
    DLTensor *output, *logsumexp; /* FORWARD writes them, BACKWARD reads them */
    const DLTensor *output_gradient;
    DLTensor *query_gradient, *key_gradient, *value_gradient;
    DLTensor *mask_gradient;         /* BACKWARD only; needs a mask */
    const DLTensor *pages, *lengths; /* pages need lengths */
    double softcap;                  /* 0: none */
    int has_window, lower_right;
    int64_t window_left, window_right; /* 0 unless has_window; -1: no limit */
} bp_attention_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_attention_run(const bp_options *options, const bp_attention_call *call);
BP_API bp_status bp_attention_plan(bp_plan **plan, const bp_options *options, const bp_attention_call *call);
BP_API bp_status bp_attention_explain(bp_explanation **explanation, const bp_options *options,
                                      const bp_attention_call *call);

/* Returns the element type and shape of the output, from query, key and value. `shape` is an array of BP_MAX_NDIM
 * elements. logsumexp has this shape without the last dimension. */
BP_API bp_status bp_attention_shape(const bp_attention_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

/* Computes attention in one line, under the settings of the calling thread: FORWARD, with the usual scale, without
 * dropout and without logsumexp. `mask` may be NULL. */
BP_API bp_status bp_attention(const DLTensor *query, const DLTensor *key, const DLTensor *value, const DLTensor *mask,
                              int is_causal, DLTensor *output);

#ifdef __cplusplus
}
#endif

#endif
