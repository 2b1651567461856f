/* attention.h - converts a call of attention to the problem that providers accept. The files of this folder share it.
 */
#ifndef BP_OPS_ATTENTION_H
#define BP_OPS_ATTENTION_H

#include "backplane/attention.h"
#include "ops/call.h"

/* Views with which a call with pages is one without: KEY and VALUE are heads x S x columns, as if the pages of an item
 * followed each other in memory; PAGES and LENGTHS have a dimension for the heads. */
typedef struct bp__attention_pages {
    bp_attention_call call;
    DLTensor key, value, pages, lengths;
    int64_t shape[4][3], strides[4][3];
    int64_t page_size, pool, key_page, value_page;
} bp__attention_pages;

/* Views with which a call with lengths alone has them for each leading dimension of the output. */
typedef struct bp__attention_lengths {
    bp_attention_call call;
    DLTensor lengths;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
} bp__attention_lengths;

/* A call, resolved: the sizes of its batch and its matrices. */
typedef struct bp__attention {
    const bp_attention_call *call; /* with pages, the call in `paged`; with lengths alone, the call in `counted` */
    bp__attention_pages paged;
    bp__attention_lengths counted;
    const bp_attention_call *given; /* the caller's; some tensors of `call` are views */
    const bp__pass *pass;           /* the shapes of its operands are of bp_attention_tensor */
    bp_dtype dtype;
    int batch_ndim;
    int64_t batch[BP_MAX_NDIM];
    int64_t queries, keys, size, value_size;
    int64_t key_heads, value_heads; /* with enable_gqa; otherwise 1 */
} bp__attention;

const bp__pass *bp__attention_pass(const void *call); /* of bp_call */

/* Returns the tensor of an operand of an operation of this family. */
bp_attention_tensor bp__attention_tensor_of(bp_op op, int operand);

static inline bool bp__attention_has_lengths_alone(const bp_problem *problem) {
    return problem->op == BP_OP_ATTENTION_LENGTHS || problem->op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
}

/* Checks the tensors of a call with pages, and makes their views. */
bp_status bp__attention_view_pages(bp__attention_pages *paged, const bp_attention_call *call, bool data_optional);

/* Checks that a tensor has indices: I32 or I64. */
bp_status bp__attention_check_integers(const DLTensor *tensor, const char *name);

/* Checks the parameters, query, key and value, and computes the sizes. */
bp_status bp__attention_resolve(bp__attention *attention, const bp_attention_call *call, bool data_optional);

/* Checks the other tensors, and that the written ones overlap nothing. */
bp_status bp__attention_check(const bp__attention *attention, bool data_optional);

/* Writes the shape of the output. Returns its rank. */
int bp__attention_output_shape(const bp__attention *attention, int64_t *shape);

/* Fills a zeroed problem. */
bp_status bp__attention_lower(bp_problem *problem, const bp__attention *attention);

bp_status bp__attention_make(bp_problem *problem, const void *request);

bool bp__attention_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
