/* problems.c - makes problems from the axes of a step: contractions, which accept any strides, and matrix products. */
#include "ops/einsum/einsum.h"

#include "ops/gemm/gemm.h"

#include <string.h>

bp_status bp__part_add(bp__builder *b, bp_plan *plan, const char *action, bp__place a, bp__place second, bp__place c) {
    if (b->part_count == b->part_capacity) {
        int capacity = b->part_capacity * 2 + 8;
        bp__piece *grown = bp__realloc(b->parts, (size_t)capacity * sizeof *grown);
        if (!grown) {
            bp__plan_release(plan);
            return bp__fail_memory((size_t)capacity * sizeof *grown, "a contraction");
        }
        b->parts = grown;
        b->part_capacity = capacity;
    }
    b->parts[b->part_count++] =
        (bp__piece){.plan = plan, .action = {b->step, action}, .runs = 1, .place = {a, second, c}};
    return BP_OK;
}

static bp_status plan_for(bp_plan **plan, const bp__builder *b, const bp_problem *problem) {
    bool fresh;
    bp_status status = bp__cache_get(plan, problem, &fresh);
    if (status == BP_E_NO_CANDIDATE && b->refused) {
        *b->refused = *problem;
    }
    return status;
}

static void begin(bp_problem *problem, const bp__builder *b, bp_op op, const bp_policy *policy) {
    memset(problem, 0, sizeof *problem);
    problem->struct_size = sizeof *problem;
    problem->op = (uint32_t)op;
    problem->dtype = (uint32_t)b->dtype;
    problem->place = b->device_place;
    problem->policy = *policy;
}

/* ---- Contractions ---- */

/* One dimension of the problem. */
typedef struct dim {
    int64_t size, stride[BP__OPERANDS];
    bool kept;
} dim;

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Returns whether x comes before y. Kept dimensions come first, by their stride in C; the others by A, or by B if A
 * does not have them. */
static bool is_before(const dim *x, const dim *y) {
    if (x->kept != y->kept) {
        return x->kept;
    }
    if (x->kept) {
        return magnitude(x->stride[BP__C]) > magnitude(y->stride[BP__C]);
    }
    int64_t a = magnitude(x->stride[BP__A]), other = magnitude(y->stride[BP__A]);
    return a != other ? a > other : magnitude(x->stride[BP__B]) > magnitude(y->stride[BP__B]);
}

static bool joins(const dim *outer, const dim *inner) {
    bool even = outer->kept == inner->kept && outer->size > 0 && inner->size > 0;
    for (int i = 0; i < BP__OPERANDS; i++) {
        even = even && outer->stride[i] == inner->stride[i] * inner->size;
    }
    return even;
}

/* Sorts and merges the dimensions. Returns how many remain. */
static int arrange(dim *dims, const bp__axis *axes, int count) {
    int used = 0, merged = 0;
    for (int i = 0; i < count; i++) {
        const bp__axis *x = &axes[i];
        dim d = {x->size, {x->stride[0], x->stride[1], x->stride[2]}, x->kept};
        int at = used;
        for (; at > 0 && is_before(&d, &dims[at - 1]); at--) {
            dims[at] = dims[at - 1];
        }
        dims[at] = d;
        used += x->size != 1;
    }
    for (int i = 0; i < used; i++) {
        if (merged > 0 && joins(&dims[merged - 1], &dims[i])) {
            int64_t size = dims[merged - 1].size * dims[i].size;
            dims[merged - 1] = dims[i];
            dims[merged - 1].size = size;
        } else {
            dims[merged++] = dims[i];
        }
    }
    return merged;
}

static bp_status fill(bp_contract_problem *c, const dim *dims, int count) {
    if (count > BP_MAX_CONTRACT_NDIM) {
        return bp__fail(BP_E_LAYOUT, "einsum: a step has %d dimensions that do not merge; at most %d can be handled",
                        count, BP_MAX_CONTRACT_NDIM);
    }
    c->ndim = count;
    for (int i = 0; i < count; i++) {
        c->output_ndim += dims[i].kept;
        c->size[i] = dims[i].size;
        c->a[i] = dims[i].stride[BP__A];
        c->b[i] = dims[i].stride[BP__B];
        c->c[i] = dims[i].stride[BP__C];
    }
    return BP_OK;
}

typedef struct contraction {
    bp_problem problem;
    dim dims[];
} contraction;

bp_status bp__contraction_plan(bp_plan **plan, const bp__builder *b, const bp__axis *axes, int count, bool second,
                               bool in_place) {
    contraction *c; /* large: not on the stack. One dimension more: one of size 1 is written before it is dropped */
    const size_t size = sizeof *c + ((size_t)count + 1) * sizeof *c->dims;
    if (!(c = bp__alloc(size))) {
        return bp__fail_memory(size, "a contraction");
    }
    begin(&c->problem, b, BP_OP_CONTRACT, &b->policies->contractions);
    c->problem.of.contract.has_b = second;
    c->problem.of.contract.in_place = in_place;
    bp_status status = fill(&c->problem.of.contract, c->dims, arrange(c->dims, axes, count));
    status = status == BP_OK ? plan_for(plan, b, &c->problem) : status;
    bp__free(c);
    return status;
}

/* ---- Products ---- */

bool bp__group_merges(const bp__axis *axes, const bp__group *group, int operand, int64_t *stride) {
    *stride = group->count > 0 ? axes[group->at[group->count - 1]].stride[operand] : 0;
    int64_t step = *stride;
    for (int i = group->count - 1; i >= 0; i--) {
        const bp__axis *x = &axes[group->at[i]];
        if (x->stride[operand] != step) {
            return false;
        }
        step *= x->size;
    }
    return true;
}

static int64_t size_of(const bp__axis *axes, const bp__group *group) {
    int64_t size = 1;
    for (int i = 0; i < group->count; i++) {
        size *= axes[group->at[i]].size;
    }
    return size;
}

static int64_t stride_of(const bp__axis *axes, const bp__group *group, int operand) {
    return group->count > 0 ? axes[group->at[group->count - 1]].stride[operand] : 0;
}

/* Returns a matrix without batch; `row` and `column` are the groups of its rows and columns. */
static bp__matrix matrix_of(const bp__axis *axes, int operand, const bp__group *row, const bp__group *column) {
    return (bp__matrix){.rows = size_of(axes, row),
                        .columns = size_of(axes, column),
                        .row = stride_of(axes, row, operand),
                        .column = stride_of(axes, column, operand)};
}

/* Adds the batch. Merges neighbours whose strides match in all operands, because a matrix has a limited number of batch
 * dimensions. */
static bp_status add_batch(bp__matrix m[BP__OPERANDS], const bp__axis *axes, const bp__group *batch) {
    int count = 0;
    for (int i = 0; i < batch->count; i++) {
        const bp__axis *x = &axes[batch->at[i]];
        bool even = count > 0;
        for (int k = 0; k < BP__OPERANDS; k++) {
            even = even && m[k].batch_stride[count - 1] == x->stride[k] * x->size;
        }
        if (!even && count == BP_MAX_NDIM) {
            return bp__fail(BP_E_LAYOUT, "einsum: a product has more than %d batch dimensions that do not merge",
                            BP_MAX_NDIM);
        }
        count += !even;
        for (int k = 0; k < BP__OPERANDS; k++) {
            m[k].batch_shape[count - 1] = even ? m[k].batch_shape[count - 1] * x->size : x->size;
            m[k].batch_stride[count - 1] = x->stride[k];
            m[k].batch_ndim = count;
        }
    }
    return BP_OK;
}

/* Returns whether a label of the rows or columns may count the items of a batch: one of several labels, also of size 1,
 * or the only one of a product with a vector, which is a batch of scalar products. Two matrices without a further label
 * are rows and columns, as in bp_matmul(). */
static bool has_items(const bp__builder *b, const bp__axis *axes, const bp__product *p) {
    return p->left.count > 1 || p->right.count > 1 || b->drops_kept || size_of(axes, &p->left) == 1 ||
           size_of(axes, &p->right) == 1;
}

/* Large: not on the stack, which has planning above it. */
typedef struct lowering {
    bp_problem problem;
    bp__matrix m[BP__OPERANDS];
} lowering;

static bp_status lower(lowering *l, const bp__builder *b, const bp__axis *axes, const bp__product *p) {
    begin(&l->problem, b, BP_OP_GEMM, &b->policies->products);
    l->problem.of.gemm.alpha = BP_FACTOR_ONE;
    l->problem.of.gemm.beta = BP_FACTOR_ZERO;
    l->m[BP__A] = matrix_of(axes, BP__A, &p->left, &p->summed);
    l->m[BP__B] = matrix_of(axes, BP__B, &p->summed, &p->right);
    l->m[BP__C] = matrix_of(axes, BP__C, &p->left, &p->right);
    BP__TRY(add_batch(l->m, axes, &p->batch));
    BP__TRY(bp__gemm_lower(&l->problem, &l->m[BP__A], &l->m[BP__B], &l->m[BP__C]));
    l->problem.of.gemm.with_native = b->threads == BP__THREADS_OF_NATIVE;
    l->problem.of.gemm.folded |= l->problem.policy.deterministic == 2 && has_items(b, axes, p);
    return BP_OK;
}

bp_status bp__product_plan(bp_plan **plan, const bp__builder *b, const bp__axis *axes, const bp__product *p) {
    lowering *l = bp__alloc(sizeof *l);
    if (!l) {
        return bp__fail_memory(sizeof *l, "a product");
    }
    bp_status status = lower(l, b, axes, p);
    if (status == BP_OK) {
        status = plan_for(plan, b, &l->problem);
    }
    bp__free(l);
    return status;
}
