/* multi_dot.c - makes products of several matrices from einsum, whose search finds the order of fewest operations.
 * Operand i has the labels i and i + 1. Sizes are checked here, because einsum would broadcast a size of 1. */
#include "ops/linalg/product_calls.h"

#include "backplane/einsum.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define NEAR_OPERANDS 16 /* labels on the stack */

/* One call in the form of einsum. */
typedef struct chain {
    bp_einsum_search search;
    bp_einsum_call call;
    int32_t output[2];
    int32_t near_labels[2 * NEAR_OPERANDS];
    const int32_t *near_lists[NEAR_OPERANDS];
    int near_counts[NEAR_OPERANDS];
    void *memory; /* of more operands, else NULL */
} chain;

static bp_status check(int count, const DLTensor *const *operands) {
    if (count < 2 || !operands) {
        return bp__fail(BP_E_ARGUMENT, "linalg.multi_dot: %d operands are given; there must be at least 2", count);
    }
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "operand %d", i);
        BP__TRY(bp__tensor_check(operands[i], name, true));
        const int rank = operands[i]->ndim;
        const bool end = i == 0 || i == count - 1;
        if (rank != 2 && !(end && rank == 1)) {
            return bp__fail(BP_E_SHAPE, "linalg.multi_dot: %s has %d dimensions; it must have 2%s", name, rank,
                            end ? ", or 1" : "");
        }
        const DLTensor *before = i > 0 ? operands[i - 1] : NULL;
        if (before && before->shape[before->ndim - 1] != operands[i]->shape[0]) {
            return bp__fail(BP_E_SHAPE,
                            "linalg.multi_dot: %s has %" PRId64 " rows; the operand before it has %" PRId64 " columns",
                            name, operands[i]->shape[0], before->shape[before->ndim - 1]);
        }
    }
    return BP_OK;
}

static bp_status make_chain(chain *c, int count, const DLTensor *const *operands) {
    BP__TRY(check(count, operands));
    int32_t *labels = c->near_labels;
    const int32_t **lists = c->near_lists;
    int *counts = c->near_counts;
    c->memory = NULL;
    if (count > NEAR_OPERANDS) {
        const size_t size = (size_t)count * (sizeof *lists + 2 * sizeof *labels + sizeof *counts);
        c->memory = bp__alloc(size);
        if (!c->memory) {
            return bp__fail_memory(size, "a product of several matrices");
        }
        lists = c->memory;
        labels = (int32_t *)(void *)(lists + count);
        counts = (int *)(void *)(labels + 2 * (size_t)count);
    }
    for (int i = 0; i < count; i++) {
        const bool row = i == 0 && operands[0]->ndim == 1; /* it lacks the first of its labels */
        labels[2 * i] = row ? 1 : i;
        labels[2 * i + 1] = i + 1;
        lists[i] = &labels[2 * i];
        counts[i] = operands[i]->ndim;
    }
    c->search = (bp_einsum_search){.struct_size = sizeof c->search, .strategy = BP_PATH_DP};
    c->call = (bp_einsum_call){.struct_size = sizeof c->call,
                               .count = count,
                               .operands = operands,
                               .labels = lists,
                               .label_counts = counts,
                               .output = c->output,
                               .search = &c->search};
    if (operands[0]->ndim == 2) {
        c->output[c->call.output_count++] = 0;
    }
    if (operands[count - 1]->ndim == 2) {
        c->output[c->call.output_count++] = count;
    }
    return BP_OK;
}

static void free_chain(chain *c) {
    if (c->memory) {
        bp__free(c->memory);
    }
}

bp_status bp_multi_dot_run(const bp_options *options, int count, const DLTensor *const *operands, DLTensor *out) {
    chain c;
    BP__TRY(make_chain(&c, count, operands));
    bp_status status = bp_einsum_run(options, &c.call, out);
    free_chain(&c);
    return status;
}

bp_status bp_multi_dot(int count, const DLTensor *const *operands, DLTensor *out) {
    return bp_multi_dot_run(NULL, count, operands, out);
}

bp_status bp_multi_dot_plan(bp_plan **plan, const bp_options *options, int count, const DLTensor *const *operands,
                            const DLTensor *out) {
    chain c;
    if (plan) {
        *plan = NULL;
    }
    BP__TRY(make_chain(&c, count, operands));
    bp_status status = bp_einsum_plan(plan, options, &c.call, out);
    free_chain(&c);
    return status;
}

bp_status bp_multi_dot_explain(bp_explanation **explanation, const bp_options *options, int count,
                               const DLTensor *const *operands, const DLTensor *out) {
    chain c;
    if (explanation) {
        *explanation = NULL;
    }
    BP__TRY(make_chain(&c, count, operands));
    bp_status status = bp_einsum_explain(explanation, options, &c.call, out);
    free_chain(&c);
    return status;
}

static bp_status shape_of_call(const void *given, bp__call_result *result) {
    const bp__multi_dot_arguments *call = given;
    const DLTensor *const *operands = call->operands;
    const int count = call->count;
    BP__TRY(check(count, operands));
    result->dtype = bp_dtype_from_dlpack(operands[0]->dtype);
    result->ndim = 0;
    if (operands[0]->ndim == 2) {
        result->shape[result->ndim++] = operands[0]->shape[0];
    }
    if (operands[count - 1]->ndim == 2) {
        result->shape[result->ndim++] = operands[count - 1]->shape[1];
    }
    return BP_OK;
}

bp_status bp_multi_dot_shape(int count, const DLTensor *const *operands, int *ndim, int64_t *shape) {
    const bp__multi_dot_arguments call = {sizeof call, count, operands, NULL};
    return bp__call_output_shape(&bp__multi_dot_call, &call, ndim, shape);
}

/* ---- The description ---- */

static bp_status run_described(const bp_call *described, const bp_options *options, const void *given) {
    const bp__multi_dot_arguments *call = given;
    (void)described;
    return bp_multi_dot_run(options, call->count, call->operands, (DLTensor *)(uintptr_t)call->output);
}

static bp_status plan_described(const bp_call *described, bp_plan **plan, const bp_options *options,
                                const void *given) {
    const bp__multi_dot_arguments *call = given;
    (void)described;
    return bp_multi_dot_plan(plan, options, call->count, call->operands, call->output);
}

static bp_status explain_described(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                                   const void *given) {
    const bp__multi_dot_arguments *call = given;
    (void)described;
    return bp_multi_dot_explain(explanation, options, call->count, call->operands, call->output);
}

static const bp__call_functions functions = {run_described, plan_described, explain_described};

const bp_call bp__multi_dot_call = {
    .info = {"multi_dot", "the product of several matrices in the best order", sizeof(bp__multi_dot_arguments),
             BP__COUNT(bp__multi_dot_fields), 1, 0, false},
    .op = BP_OP_EINSUM,
    .ndim_offset = -1,
    .count_offset = offsetof(bp__multi_dot_arguments, count),
    .fields = bp__multi_dot_fields,
    .family = &bp__family_einsum,
    .passes = bp__multi_dot_passes,
    .shape = shape_of_call,
    .functions = &functions,
};
