/* attention.h - declares what the files about attention on cuDNN share.
 *
 * Attention is a graph of products, sums and functions of elements, as NVIDIA's frontend composes it: cuDNN recognizes
 * it, and its engines keep no scores in memory. All releases of cuDNN 9 know this graph. The operation that is all of
 * attention in one descriptor has fewer features in most releases, and its gradients are refused by 9.19. */
#ifndef BP_PROVIDERS_CUDNN_ATTENTION_H
#define BP_PROVIDERS_CUDNN_ATTENTION_H

#include "providers/attention/keys.h"
#include "providers/cudnn/cudnn.h"

/* The numbers of tensors in graphs: 1 + bp_attention_tensor, and these. */
enum {
    BP__CUDNN_SCALE_UID = 1 + BP_ATTENTION_TENSORS,
    BP__CUDNN_MINUS_INFINITY_UID,
    BP__CUDNN_ONE_UID,
    BP__CUDNN_SUMS_UID,
    BP__CUDNN_TOTAL_UID,
    BP__CUDNN_FIRST_VIRTUAL_UID
};

/* What accept() hands to plan(). Items are batch x heads; a tensor has fewer heads where they share its own, and has
 * no dimension where it is absent. */
typedef struct bp__cudnn_attention {
    uint32_t type; /* a cudnnDataType_t */
    bool backward, causal;
    float scale;
    int64_t batch, heads, queries, keys;
    bp__cudnn_tensor tensor[BP_ATTENTION_TENSORS];
    bool unwanted[BP_ATTENTION_TENSORS]; /* backward: gradients for which there is no operand */
    bp__cudnn_tensor sums, total;        /* backward: what cuDNN keeps in memory between its kernels */
} bp__cudnn_attention;

static inline bool bp__cudnn_is_attention(const bp_problem *problem) {
    return problem->op == BP_OP_ATTENTION || problem->op == BP_OP_ATTENTION_BACKWARD ||
           problem->op == BP_OP_ATTENTION_PAGED || bp__attention_is_counted(problem);
}

/* Fills *attention. Returns false with a refusal in *verdict. */
bool bp__cudnn_attention_of(const bp__cudnn_instance *instance, const bp_problem *problem, const bp_device_info *device,
                            bp__cudnn_attention *attention, bp_verdict *verdict);
/* Describes the graph, as bp__cudnn_describe; `what` is a bp__cudnn_attention. */
void bp__cudnn_attention_describe(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment);

void bp__cudnn_attention_accept(bp__cudnn_instance *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__cudnn_attention_plan(bp__cudnn_instance *instance, const bp_problem *problem,
                                   const bp__cudnn_attention *attention, bp_prepared **prepared);

#endif
