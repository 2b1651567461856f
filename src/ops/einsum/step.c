/* step.c - selects how to compute a step, and computes it.
 *
 * The labels form the classes of a matrix product: in both operands and kept, in one and kept, in both and summed.
 * Summed labels of one operand alone are summed first. If a label is summed and one operand has a kept label of its
 * own, the step is a product (product.c) or a contraction, whichever has the lower estimate. All other steps are
 * contractions. */
#include "ops/einsum/step.h"
#include "tensor/internal.h"

#include <string.h>

double bp__group_size(const bp__axis *axes, const bp__group *group) {
    double size = 1;
    for (int i = 0; i < group->count; i++) {
        size *= (double)axes[group->at[i]].size;
    }
    return size;
}

double bp__axes_lay_out(bp__axis *axes, int operand, const bp__group *const *groups, int count) {
    double elements = 1;
    int64_t step = 1; /* may wrap if there are too many elements; bp__result_place() refuses those */
    for (int g = count - 1; g >= 0; g--) {
        for (int i = groups[g]->count - 1; i >= 0; i--) {
            bp__axis *x = &axes[groups[g]->at[i]];
            if (operand == BP__C ? !x->kept : !x->in[operand]) {
                continue;
            }
            x->stride[operand] = step;
            step = (int64_t)((uint64_t)step * (uint64_t)x->size);
            elements *= (double)x->size;
        }
    }
    return elements;
}

bp_status bp__place_take(bp__builder *b, double elements, bp__place *place) {
    *place = (bp__place){.home = BP__AT_WORK};
    return bp__arena_take(&b->arena, elements * (double)b->element, &place->offset);
}

bp_status bp__result_place(const bp__pairing *p, double elements, bp__place *place) {
    *place = (bp__place){.home = BP__AT_OPERAND, .operand = p->builder->einsum->count};
    if (p->last && elements * (double)p->builder->element > (double)BP__MAX_SPAN) {
        return bp__fail(BP_E_OVERFLOW, "einsum: the result has more elements than memory can hold: %.3g", elements);
    }
    return p->last ? BP_OK : bp__place_take(p->builder, elements, place);
}

/* ---- The classes ---- */

static bp__axis *axis_of(bp__pairing *p, int32_t label) {
    for (int i = 0; i < p->count; i++) {
        if (p->axes[i].label == label) {
            return &p->axes[i];
        }
    }
    p->axes[p->count] = (bp__axis){.label = label, .size = p->builder->einsum->size[label]};
    return &p->axes[p->count++];
}

static void find_axes(bp__pairing *p) {
    int32_t *uses = p->builder->uses;
    for (int k = 0; k < 2 && p->in[k]; k++) {
        for (int i = 0; i < p->in[k]->count; i++) {
            bp__axis *x = axis_of(p, p->in[k]->label[i]);
            x->in[k] = true;
            x->stride[k] = p->in[k]->stride[i];
            uses[x->label]--;
        }
    }
    for (int i = 0; i < p->count; i++) {
        p->axes[i].kept = uses[p->axes[i].label] > 0;
    }
    for (int i = 0; p->fixed && i < p->builder->out.count; i++) {
        axis_of(p, p->builder->out.label[i])->stride[BP__C] = p->builder->out.stride[i];
    }
}

static void classify(bp__pairing *p) {
    for (int i = 0; i < p->count; i++) {
        const bp__axis *x = &p->axes[i];
        bool both = x->in[0] && x->in[1];
        bp__group *group = x->kept ? (both       ? &p->batch
                                      : x->in[0] ? &p->left
                                                 : &p->right)
                           : both  ? &p->summed
                                   : &p->alone;
        group->at[group->count++] = i;
    }
}

static bp_status pairing_begin(bp__pairing *p) {
    bp__group *groups[] = {&p->batch, &p->left, &p->right, &p->summed, &p->alone, &p->all};
    size_t most = (size_t)p->in[0]->count + (size_t)(p->in[1] ? p->in[1]->count : 0) + 1;
    size_t size = most * (sizeof *p->axes + BP__COUNT(groups) * sizeof(int));
    p->axes = p->memory = bp__alloc(size);
    if (!p->memory) {
        return bp__fail_memory(size, "a contraction");
    }
    int *at = (int *)(p->axes + most);
    for (int i = 0; i < BP__COUNT(groups); i++) {
        *groups[i] = (bp__group){0, at + (size_t)i * most};
    }
    find_axes(p);
    classify(p);
    return BP_OK;
}

/* ---- Results ---- */

bp_status bp__result_is(bp__pairing *p, const bp__axis *axes, bp__place place) {
    bp__term *r = p->result;
    if (!r->stride) {
        BP__TRY(bp__term_reserve(r, p->count));
    }
    r->count = 0;
    for (int i = 0; i < p->count; i++) {
        if (axes[i].kept) {
            r->label[r->count] = axes[i].label;
            r->stride[r->count++] = axes[i].stride[BP__C];
        }
    }
    r->place = place;
    return BP_OK;
}

/* ---- Contractions ---- */

static bool owns_all(const bp__pairing *p, int k) {
    int kept = p->batch.count + p->left.count + p->right.count;
    return p->in[k]->place.home == BP__AT_WORK && p->in[k]->count == kept;
}

static void swap_operands(bp__pairing *p) {
    bp__term *first = p->in[0];
    bp__group left = p->left;
    p->in[0] = p->in[1];
    p->in[1] = first;
    p->left = p->right;
    p->right = left;
    for (int i = 0; i < p->count; i++) {
        bp__axis *x = &p->axes[i], old = *x;
        x->in[0] = old.in[1];
        x->in[1] = old.in[0];
        x->stride[BP__A] = old.stride[BP__B];
        x->stride[BP__B] = old.stride[BP__A];
    }
}

/* Returns whether the step can overwrite its first operand. An intermediate result with the same labels is not needed
 * afterwards; the operands are swapped so that it is the first one. */
static bool in_place(bp__pairing *p) {
    if (!p->in[1] || p->last || p->summed.count > 0) {
        return false;
    }
    if (!owns_all(p, 0) && owns_all(p, 1)) {
        swap_operands(p);
    }
    return owns_all(p, 0);
}

void bp__group_sort(const bp__axis *axes, bp__group *group, int operand) {
    for (int i = 1; i < group->count; i++) {
        int moved = group->at[i], j = i;
        int64_t step = axes[moved].stride[operand] < 0 ? -axes[moved].stride[operand] : axes[moved].stride[operand];
        for (; j > 0; j--) {
            int64_t other = axes[group->at[j - 1]].stride[operand];
            if ((other < 0 ? -other : other) >= step) {
                break;
            }
            group->at[j] = group->at[j - 1];
        }
        group->at[j] = moved;
    }
}

/* Chooses the layout of an intermediate result. If one operand has all its labels, that operand's order is used. Else
 * the labels of both come first, then the other labels of each operand, in the operands' orders. */
static double lay_out_result(bp__pairing *p) {
    const bp__group *groups[] = {&p->batch, &p->left, &p->right};
    bp__group_sort(p->axes, &p->batch, BP__A);
    bp__group_sort(p->axes, &p->left, BP__A);
    bp__group_sort(p->axes, &p->right, BP__B);
    if (p->right.count > 0 && p->left.count > 0) {
        return bp__axes_lay_out(p->axes, BP__C, groups, BP__COUNT(groups));
    }
    /* All kept axes in one list. One operand has all of them: B if there are right ones, else A. */
    int operand = p->right.count > 0 ? BP__B : BP__A;
    p->all.count = 0;
    for (int g = 0; g < BP__COUNT(groups); g++) {
        for (int i = 0; i < groups[g]->count; i++) {
            p->all.at[p->all.count++] = groups[g]->at[i];
        }
    }
    bp__group_sort(p->axes, &p->all, operand);
    const bp__group *one = &p->all;
    return bp__axes_lay_out(p->axes, BP__C, &one, 1);
}

static bp_status place_result(bp__pairing *p, bool same) {
    bp__place place = p->in[0]->place;
    if (same) {
        for (int i = 0; i < p->count; i++) {
            p->axes[i].stride[BP__C] = p->axes[i].stride[BP__A];
        }
    } else {
        double elements = p->fixed ? 0 : lay_out_result(p);
        BP__TRY(bp__result_place(p, elements, &place));
    }
    return bp__result_is(p, p->axes, place);
}

static const char *name_of(const bp__pairing *p) {
    if (!p->in[1]) {
        return p->alone.count > 0 ? "sum" : "copy";
    }
    return p->summed.count > 0               ? "sum of products"
           : p->left.count && p->right.count ? "outer product"
                                             : "product of elements";
}

static bp_status contract(bp__pairing *p) {
    bp_plan *plan;
    bool same = in_place(p);
    BP__TRY(place_result(p, same));
    BP__TRY(bp__contraction_plan(&plan, p->builder, p->axes, p->count, p->in[1] != NULL, same));
    bp__place none = {.home = BP__NOWHERE};
    return bp__part_add(p->builder, plan, name_of(p), p->in[0]->place, p->in[1] ? p->in[1]->place : none,
                        p->result->place);
}

/* ---- Product or contraction ---- */

void bp__cost_add(bp__cost *sum, const bp_plan *plan, double runs) {
    const bool known = plan->predicted_ns > 0 && sum->predicted_ns >= 0;
    sum->predicted_ns = known ? sum->predicted_ns + plan->predicted_ns * runs : -1;
    sum->order_ns += plan->order_ns * runs;
}

bp__cost bp__cost_since(const bp__builder *b, int first) {
    bp__cost sum = {0, 0};
    for (int i = first; i < b->part_count; i++) {
        bp__cost_add(&sum, b->parts[i].plan, (double)b->parts[i].runs);
    }
    return sum;
}

bool bp__cost_is_less(const bp__cost *x, const bp__cost *y) {
    return x->predicted_ns >= 0 && y->predicted_ns >= 0 ? x->predicted_ns < y->predicted_ns : x->order_ns < y->order_ns;
}

/* A state of the builder to return to. */
typedef struct mark {
    int parts;
    int64_t peak;
} mark;

/* Removes the parts added since the mark. The result is the only block that is still in use. */
static void go_back(bp__pairing *p, mark to) {
    bp__builder *b = p->builder;
    while (b->part_count > to.parts) {
        bp__plan_release(b->parts[--b->part_count].plan);
    }
    if (p->result->place.home == BP__AT_WORK) {
        bp__arena_give(&b->arena, p->result->place.offset);
    }
    p->result->place.home = BP__NOWHERE;
    b->arena.peak = to.peak;
}

/* Returns whether a contraction may be faster than a product. If a library is preferred for products, the step is a
 * product. */
static bool worth_comparing(const bp__pairing *p) {
    double m = bp__group_size(p->axes, &p->left), n = bp__group_size(p->axes, &p->right),
           k = bp__group_size(p->axes, &p->summed), batch = bp__group_size(p->axes, &p->batch);
    bool thin = m <= 8 || n <= 8 || k <= 4 || batch * m * n * k <= 32768;
    const bp_policy *products = &p->builder->policies->products;
    return thin && products->preferred == 0 && products->simulate == 0;
}

/* Builds the cheaper of two variants: a product with copies, or one with a larger batch instead. */
static bp_status multiply(bp__pairing *p) {
    mark start = {p->builder->part_count, p->builder->arena.peak};
    bool done;
    BP__TRY(bp__pairing_multiply(p, false, &done));
    if (!p->copies) {
        return BP_OK;
    }
    const bp__cost copying = bp__cost_since(p->builder, start.parts);
    go_back(p, start);
    BP__TRY(bp__pairing_multiply(p, true, &done));
    const bp__cost batching = bp__cost_since(p->builder, start.parts);
    if (done && bp__cost_is_less(&batching, &copying)) {
        return BP_OK;
    }
    if (done) {
        go_back(p, start);
    }
    return bp__pairing_multiply(p, false, &done);
}

/* Whether a contraction takes less time than the parts of a product since `first`. Not inlined: its memory is not on
 * the stack of the rest. */
__attribute__((noinline)) static bool contracts_faster(bp__pairing *p, int first) {
    bp_plan *plan;
    bp__held_error held;
    if (!p->fixed) {
        lay_out_result(p);
    }
    bp__error_hold(&held);
    const bp_status status = bp__contraction_plan(&plan, p->builder, p->axes, p->count, true, false);
    bp__error_return(&held);
    if (status != BP_OK) {
        return false; /* keep the product */
    }
    const bp__cost product = bp__cost_since(p->builder, first);
    bp__cost contraction = {0, 0};
    bp__cost_add(&contraction, plan, 1);
    bp__plan_release(plan);
    return bp__cost_is_less(&contraction, &product);
}

static bp_status multiply_or_contract(bp__pairing *p) {
    mark start = {p->builder->part_count, p->builder->arena.peak};
    BP__TRY(multiply(p));
    if (!worth_comparing(p) || !contracts_faster(p, start.parts)) {
        return BP_OK;
    }
    go_back(p, start);
    return contract(p);
}

static bool is_product(const bp__pairing *p) {
    return p->in[1] && p->summed.count > 0 && (p->left.count > 0 || p->right.count > 0);
}

/* Returns whether the step only relabels dimensions, so that the result can be a view of its operand. */
static bool is_view(const bp__pairing *p) {
    return !p->in[1] && !p->last && p->alone.count == 0;
}

static bp_status view(bp__pairing *p) {
    for (int i = 0; i < p->count; i++) {
        p->axes[i].stride[BP__C] = p->axes[i].stride[BP__A];
    }
    return bp__result_is(p, p->axes, p->in[0]->place);
}

static void release_operand(bp__builder *b, const bp__term *term, const bp__term *result) {
    bool lives_on = result->place.home == BP__AT_WORK && result->place.offset == term->place.offset;
    if (term->place.home == BP__AT_WORK && !lives_on) {
        bp__arena_give(&b->arena, term->place.offset);
    }
}

static bp_status build(bp__pairing *p) {
    BP__TRY(pairing_begin(p));
    if (is_view(p)) {
        return view(p);
    }
    return is_product(p) ? multiply_or_contract(p) : contract(p);
}

static bp_status build_step(bp__builder *b, bp__term *first, bp__term *second, bp__term *result, bool last) {
    bp__pairing p = {.builder = b, .in = {first, second}, .result = result, .last = last, .fixed = last && !b->free};
    bp_status status = build(&p);
    bp__free(p.memory);
    if (status == BP_OK) {
        release_operand(b, first, result);
        if (second) {
            release_operand(b, second, result);
        }
        for (int i = 0; i < result->count && !last; i++) {
            b->uses[result->label[i]]++;
        }
    }
    return status;
}

/* Sums the labels that only this operand has, into a term of its own. */
static bp_status sum_alone(bp__builder *b, bp__term **term, bp__term *own) {
    bool any = false;
    for (int i = 0; i < (*term)->count; i++) {
        any |= b->uses[(*term)->label[i]] == 1;
    }
    if (any) {
        BP__TRY(build_step(b, *term, NULL, own, false));
        *term = own;
    }
    return BP_OK;
}

bp_status bp__step_build(bp__builder *b, bp__term *first, bp__term *second, bp__term *result, bool last) {
    bp__term own[2] = {{0}, {0}};
    bp_status status = BP_OK;
    if (second) {
        status = sum_alone(b, &first, &own[0]);
        status = status == BP_OK ? sum_alone(b, &second, &own[1]) : status;
    }
    status = status == BP_OK ? build_step(b, first, second, result, last) : status;
    bp__free(own[0].stride);
    bp__free(own[1].stride);
    return status;
}
