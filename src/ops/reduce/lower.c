/* lower.c - converts a checked call of a reduction or of softmax to its problem. Results do not depend on the order of
 * dimensions, except the results of ARGMAX and ARGMIN, so dimensions are sorted and merged. */
#include "ops/reduce/reduce.h"

#include "tensor/internal.h"

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Appends a dimension to the problem's, from `first` on: before those with smaller strides if `sorted`. */
static void insert(bp_reduce_problem *p, int first, bool sorted, const int64_t values[4]) {
    int64_t *const lists[] = {p->size, p->x, p->y, p->z};
    int at = p->ndim++;
    for (; sorted && at > first && magnitude(p->x[at - 1]) < magnitude(values[1]); at--) {
        for (int i = 0; i < BP__COUNT(lists); i++) {
            lists[i][at] = lists[i][at - 1];
        }
    }
    for (int i = 0; i < BP__COUNT(lists); i++) {
        lists[i][at] = values[i];
    }
}

/* Merges neighbours from `first` on. */
static void merge(bp_reduce_problem *p, int first) {
    int64_t *const lists[] = {p->size, p->x, p->y, p->z};
    int to = first;
    for (int d = first + 1; d < p->ndim; d++) {
        bool follows = true;
        for (int i = 1; i < BP__COUNT(lists); i++) {
            /* Strides of empty tensors may be any. */
            follows = follows && (uint64_t)lists[i][to] == (uint64_t)lists[i][d] * (uint64_t)p->size[d];
        }
        if (follows) {
            p->size[d] *= p->size[to];
        } else {
            to++;
        }
        for (int i = 0; i < BP__COUNT(lists); i++) {
            lists[i][to] = lists[i][d];
        }
    }
    for (int d = to + 1; d < p->ndim; d++) {
        for (int i = 0; i < BP__COUNT(lists); i++) {
            lists[i][d] = 0;
        }
    }
    p->ndim = p->ndim > first ? to + 1 : first;
}

void bp__reduce_lower(bp_problem *problem, const bp__reduction *r, uint64_t reduced) {
    bp_reduce_problem *p = &problem->of.reduce;
    const DLTensor *input = r->operand[0];
    const bool reduction = r->joins;
    const bool positions = r->op == BP_OP_REDUCE && (r->kind == BP_REDUCE_ARGMAX || r->kind == BP_REDUCE_ARGMIN);
    int64_t strides[3][BP_MAX_NDIM] = {0};
    for (int i = 0; i <= r->inputs; i++) {
        bp__tensor_strides(r->operand[i], strides[i]);
    }
    problem->op = (uint32_t)r->op;
    problem->dtype = (uint32_t)bp_dtype_from_dlpack(input->dtype);
    p->kind = (uint32_t)r->kind;
    p->output = (uint32_t)bp_dtype_from_dlpack(r->operand[r->inputs]->dtype);
    p->correction = r->correction + 0.0; /* -0 becomes 0 */
    p->in_place = r->described->info.in_place > 0 && bp__call_same_places(input, r->operand[1]);
    for (int pass = 0; pass < 2; pass++) {
        const int first = p->ndim;
        for (int d = 0, out = 0; d < input->ndim; d++) {
            const bool joined = reduced >> d & 1;
            const int y = reduction ? out : d;
            out += !joined || r->keep;
            if (joined == (pass == 1) && input->shape[d] != 1) {
                const bool used = input->shape[d] > 0; /* strides of an empty dimension may be any */
                insert(p, first, !joined || !positions,
                       (const int64_t[]){input->shape[d], used ? strides[0][d] : 0,
                                         used && !(joined && reduction) ? strides[1][y] : 0, used ? strides[2][d] : 0});
            }
        }
        merge(p, first);
        if (pass == 0) {
            p->kept_ndim = p->ndim;
        }
    }
}
