/* build.c - converts a path and the operands' layouts to a program.
 *
 * It follows the steps of the path; the remaining operands are terms. */
#include "ops/einsum/einsum.h"

#include "tensor/internal.h"

#include <string.h>

bp_status bp__term_reserve(bp__term *term, int count) {
    size_t size = ((size_t)count + 1) * (sizeof *term->stride + sizeof *term->label);
    term->stride = bp__alloc(size);
    term->label = (int32_t *)(term->stride + count + 1);
    return term->stride ? BP_OK : bp__fail_memory(size, "a contraction");
}

/* Adds a dimension. A repeated label is a diagonal; its strides are added. */
static void add_label(bp__term *term, int32_t label, int64_t stride) {
    for (int i = 0; i < term->count; i++) {
        if (term->label[i] == label) {
            term->stride[i] += stride;
            return;
        }
    }
    term->label[term->count] = label;
    term->stride[term->count++] = stride;
}

/* Makes the term of an operand. Dimensions of size 1 are dropped, even if they broadcast. */
static bp_status operand_term(bp__term *term, const bp__einsum *e, int operand, const DLTensor *tensor) {
    int64_t strides[BP_MAX_NDIM];
    int first = e->start[operand], ndim = e->start[operand + 1] - first;
    BP__TRY(bp__term_reserve(term, ndim));
    bp__tensor_strides(tensor, strides);
    for (int i = 0; i < ndim; i++) {
        if (e->dim[first + i] != 1) {
            add_label(term, e->label[first + i], strides[i]);
        }
    }
    term->place = (bp__place){.home = BP__AT_OPERAND, .operand = operand};
    return BP_OK;
}

/* Returns the strides of the output. Without a given layout they are compact; that only matters if there is nothing to
 * compute. */
static void output_strides(const bp__einsum *e, const DLTensor *out, int64_t strides[BP_MAX_NDIM]) {
    if (out) {
        bp__tensor_strides(out, strides);
        return;
    }
    int64_t step = 1;
    for (int i = e->output_ndim - 1; i >= 0; i--) {
        int64_t size = e->size[e->output[i]];
        strides[i] = step;
        step = (int64_t)((uint64_t)step * (uint64_t)(size > 0 ? size : 1));
    }
}

static bp_status output_term(bp__term *term, const bp__einsum *e, const DLTensor *out) {
    int64_t strides[BP_MAX_NDIM] = {0};
    BP__TRY(bp__term_reserve(term, e->output_ndim));
    output_strides(e, out, strides);
    for (int i = 0; i < e->output_ndim; i++) {
        if (e->size[e->output[i]] != 1) {
            add_label(term, e->output[i], strides[i]);
        }
    }
    term->place = (bp__place){.home = BP__AT_OPERAND, .operand = e->count};
    return BP_OK;
}

static void count_uses(bp__builder *b, const bp__term *term) {
    for (int i = 0; i < term->count; i++) {
        b->uses[term->label[i]]++;
    }
}

static bp_status begin(bp__builder *b, const bp__einsum *e, int steps, const DLTensor *const *operands,
                       const DLTensor *out) {
    b->terms = bp__alloc_zero((size_t)e->count + (size_t)steps, sizeof *b->terms);
    b->uses = bp__alloc_zero((size_t)e->labels + 1, sizeof *b->uses);
    if (!b->terms || !b->uses) {
        return bp__fail_memory((size_t)e->count * sizeof *b->terms, "a contraction");
    }
    for (int i = 0; i < e->count; i++) {
        BP__TRY(operand_term(&b->terms[i], e, i, operands[i]));
        count_uses(b, &b->terms[i]);
    }
    BP__TRY(output_term(&b->out, e, out));
    count_uses(b, &b->out);
    b->free = !out;
    b->drops_kept = b->out.count < e->output_ndim;
    b->dtype = bp_dtype_from_dlpack(operands[0]->dtype);
    b->element = bp_dtype_size(b->dtype);
    return BP_OK;
}

static void end(bp__builder *b, int terms) {
    for (int i = 0; b->terms && i < terms; i++) {
        bp__free(b->terms[i].stride);
    }
    bp__free(b->terms);
    bp__free(b->uses);
    bp__free(b->out.stride);
    bp__free(b->parts);
    bp__arena_free(&b->arena);
}

/* Builds the program for operands with a dimension of size 0: the output is empty or all zero. */
static bp_status build_zeros(bp__builder *b) {
    const bp__term *out = &b->out;
    bp__axis *axes = bp__alloc_zero((size_t)out->count + 1, sizeof *axes);
    if (!axes) {
        return bp__fail_memory(sizeof *axes, "a contraction");
    }
    for (int i = 0; i < out->count; i++) {
        axes[i].size = b->einsum->size[out->label[i]];
        axes[i].kept = true;
        axes[i].stride[BP__C] = out->stride[i];
    }
    bp_plan *plan;
    bp_status status = bp__contraction_plan(&plan, b, axes, out->count + 1, false, false);
    bp__place none = {.home = BP__NOWHERE};
    bp__free(axes);
    return status == BP_OK ? bp__part_add(b, plan, "zeros", b->terms[0].place, none, out->place) : status;
}

static bool is_empty(const bp__einsum *e) {
    bool empty = false;
    for (int i = 0; i < e->labels; i++) {
        empty |= e->size[i] == 0;
    }
    return empty;
}

static bp_status build_steps(bp__builder *b, const bp__steps *steps) {
    int operands = b->einsum->count;
    for (int i = 0; i < steps->count; i++) {
        const bp__step *s = &steps->step[i];
        b->step = i;
        BP__TRY(bp__step_build(b, &b->terms[s->id.a], s->id.b < 0 ? NULL : &b->terms[s->id.b], &b->terms[operands + i],
                               i == steps->count - 1));
    }
    return BP_OK;
}

/* Stores the output's strides: the given ones, or those that the last step chose. A dimension with at most one index
 * has stride 1. */
static void store_strides(bp__contraction *contraction, const bp__builder *b, const bp__term *result,
                          const DLTensor *out) {
    const bp__einsum *e = b->einsum;
    output_strides(e, out, contraction->strides);
    for (int i = 0; i < e->output_ndim && !out; i++) {
        bool walks = e->size[e->output[i]] > 1;
        contraction->strides[i] = walks || is_empty(e) ? contraction->strides[i] : 1;
        for (int k = 0; k < result->count; k++) {
            contraction->strides[i] = result->label[k] == e->output[i] ? result->stride[k] : contraction->strides[i];
        }
    }
}

static bp_status build(bp__builder *b, bp_contraction_path *path, const DLTensor *const *operands,
                       const DLTensor *out) {
    b->einsum = &path->einsum;
    b->device_place = bp__place_of(operands[0]->device);
    BP__TRY(begin(b, &path->einsum, path->steps.count, operands, out));
    return is_empty(&path->einsum) ? build_zeros(b) : build_steps(b, &path->steps);
}

static void discard(bp__builder *b, int terms) {
    for (int i = 0; i < b->part_count; i++) {
        bp__plan_release(b->parts[i].plan);
    }
    end(b, terms);
}

/* ---- The threads of several libraries ----
 *
 * Idle threads of a library spin for a while before they sleep. Threads of another library that run in that time share
 * the processors with them, and a part waits for a thread that the system has put aside. So parts that run on several
 * threads belong to one library, unless the call takes so long that this does not matter. */

/* Idle threads of OpenBLAS spin for 2^26 cycles, idle threads of libiomp5 for 200 ms. Measured on two processors: 4 to
 * 16 ms for each change. */
#define CHANGE_NS 2e7

static bool is_threaded(const bp__piece *part) {
    return part->plan->verdict.threads != 1;
}

/* Whether both parts run on the same threads: native's, or the ones that an OpenMP runtime has for all its libraries.
 */
static bool share_threads(const bp__candidate *x, const bp__candidate *y) {
    if (!bp__candidate_has_threads(x) || !bp__candidate_has_threads(y)) {
        return bp__candidate_has_threads(x) == bp__candidate_has_threads(y);
    }
    return x->library == y->library ||
           (strcmp(x->library->threading, "pthread") != 0 && strcmp(x->library->threading, y->library->threading) == 0);
}

/* Returns what the changes between the threads of several libraries take; 0 if there are none. On devices the parts
 * have no threads. */
static double change_ns(const bp__builder *b) {
    const bp__candidate *first = NULL;
    double of_others = 0;
    bool changes = false;
    for (int i = 0; i < b->part_count && b->device_place == 0; i++) {
        const bp__candidate *candidate = b->parts[i].plan->candidate;
        if (is_threaded(&b->parts[i])) {
            first = first ? first : candidate;
            changes |= !share_threads(first, candidate);
            of_others += bp__candidate_has_threads(candidate) ? (double)b->parts[i].runs : 0;
        }
    }
    return changes ? CHANGE_NS * of_others : 0;
}

static bp__cost cost_of(const bp__builder *b) {
    const double change = change_ns(b);
    bp__cost cost = bp__cost_since(b, 0);
    cost.predicted_ns += cost.predicted_ns >= 0 ? change : 0;
    cost.order_ns += change;
    return cost;
}

static bool is_cheaper(const bp__builder *x, const bp__builder *y) {
    const bp__cost of_x = cost_of(x), of_y = cost_of(y);
    return bp__cost_is_less(&of_x, &of_y);
}

/* Not on the stack, which has planning above it. */
typedef struct alternative {
    bp__builder builder;
    bp__part_policies policies;
    bp__held_error held;
} alternative;

/* Builds the program again with threads of one library only, and keeps the cheaper one. A program that cannot be built
 * in this way is no error. */
static void build_on(bp__threads threads, bp__builder *best, bp_contraction_path *path, const DLTensor *const *operands,
                     const DLTensor *out, const bp__part_policies *policies) {
    alternative *a = bp__alloc_zero(1, sizeof *a);
    if (!a) {
        return;
    }
    a->policies = *policies;
    a->policies.contractions.threads = threads == BP__THREADS_OF_PRODUCTS ? 1 : policies->contractions.threads;
    a->builder.policies = &a->policies;
    a->builder.threads = threads;
    bp__error_hold(&a->held);
    const bool built = build(&a->builder, path, operands, out) == BP_OK;
    bp__error_return(&a->held);
    if (built && is_cheaper(&a->builder, best)) {
        const bp__builder worse = *best;
        *best = a->builder;
        a->builder = worse;
    }
    discard(&a->builder, path->einsum.count + path->steps.count);
    bp__free(a);
}

/* Under deterministic=threads the parts must not depend on num_threads. If a library is preferred, it runs. */
static void avoid_changes(bp__builder *b, bp_contraction_path *path, const DLTensor *const *operands,
                          const DLTensor *out, const bp__part_policies *policies) {
    if (change_ns(b) == 0 || policies->products.deterministic == 2) {
        return;
    }
    build_on(BP__THREADS_OF_PRODUCTS, b, path, operands, out, policies);
    if (policies->products.preferred == 0) {
        build_on(BP__THREADS_OF_NATIVE, b, path, operands, out, policies);
    }
}

bp_status bp__program_build(bp__program **program, bp_contraction_path *path, const DLTensor *const *operands,
                            const DLTensor *out, const bp__part_policies *policies, bp_problem *refused) {
    bp__builder b = {.policies = policies, .refused = refused};
    const int terms = path->einsum.count + path->steps.count;
    bp_status status = build(&b, path, operands, out);
    if (status != BP_OK) {
        discard(&b, terms);
        bp__path_drop(path);
        return status;
    }
    avoid_changes(&b, path, operands, out, policies);
    bp__contraction *contraction;
    status = bp__contraction_make(program, &contraction, path, b.parts, b.part_count, b.arena.peak);
    if (status == BP_OK) {
        contraction->threads = b.threads;
        store_strides(contraction, &b, &b.terms[terms - 1], out);
    }
    end(&b, terms);
    return status;
}
