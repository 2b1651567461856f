/* product.c - computes a step as a matrix product.
 *
 * Rows, columns and the inner dimension are groups of labels. A group is one dimension if its labels have matching
 * strides in memory. If no order of a group has them, the operand is copied, or the outermost labels become a batch.
 * For each kind, the variant that copies the fewest bytes is tried. A large copy is made slice by slice together with
 * its product, so that slices are still in the cache when they are multiplied. */
#include "ops/einsum/step.h"

#include <string.h>

#define LEAST_ROWS 4     /* of a product whose outermost labels become a batch */
#define SLICED_BYTES 5e5 /* bytes; copies of at least this size are made slice by slice */
#define LEAST_SLICE 2e5  /* bytes */
#define LEAST_SLICE_ROWS 64

/* One way to compute the step. The groups are in the order of the product. */
typedef struct variant {
    bp__product groups;
    bool copied[BP__OPERANDS];
    bool batches_outer; /* some labels of rows or columns become a batch */
    double bytes;       /* copied, plus repeated reads */
    int *memory;
} variant;

enum { LEFT_AS_C = 1, RIGHT_AS_C = 2, SUMMED_AS_B = 4, ORDERS = 8 };

static void copy_group(bp__group *to, const bp__group *from, int *at) {
    *to = (bp__group){from->count, at};
    memcpy(at, from->at, (size_t)from->count * sizeof *at);
}

/* Starts a variant. The batch has capacity for all axes, because others may join it. */
static void start_variant(variant *r, const bp__pairing *p) {
    int *at = r->memory;
    copy_group(&r->groups.batch, &p->batch, at);
    copy_group(&r->groups.left, &p->left, at += p->count);
    copy_group(&r->groups.right, &p->right, at += p->left.count);
    copy_group(&r->groups.summed, &p->summed, at + p->right.count);
    memset(r->copied, 0, sizeof r->copied);
    r->batches_outer = false;
    r->bytes = 0;
}

static double elements_of(const bp__pairing *p, int operand) {
    const bp__group *groups[] = {&p->batch, operand == BP__B ? &p->right : &p->left,
                                 operand == BP__C ? &p->right : &p->summed};
    double elements = 1;
    for (int i = 0; i < BP__COUNT(groups); i++) {
        elements *= bp__group_size(p->axes, groups[i]);
    }
    return elements;
}

/* Returns how many outermost labels must be removed from a group, so that the rest is one dimension. This applies to
 * the operand and, if the result's layout is given, to C. */
static int outer_of(const bp__pairing *p, const bp__group *group, int operand) {
    for (int out = 0; out < group->count; out++) {
        bp__group inner = {group->count - out, group->at + out};
        int64_t unused;
        bool merges = bp__group_merges(p->axes, &inner, operand, &unused);
        if (merges && (!p->fixed || bp__group_merges(p->axes, &inner, BP__C, &unused))) {
            return out;
        }
    }
    return 0;
}

/* Makes a batch of the outermost labels of a side, if the rest is large enough for a product. */
static void batch_outer_labels(variant *r, const bp__pairing *p, bp__group *side, int operand) {
    int out = outer_of(p, side, operand);
    bp__group inner = {side->count - out, side->at + out}, outer = {out, side->at};
    if (out == 0 || bp__group_size(p->axes, &inner) < LEAST_ROWS) {
        return;
    }
    double times = bp__group_size(p->axes, &outer), other = elements_of(p, operand == BP__A ? BP__B : BP__A);
    for (int i = 0; i < out; i++) {
        r->groups.batch.at[r->groups.batch.count++] = side->at[i];
    }
    *side = inner;
    r->batches_outer = true;
    /* The other operand is read again for each item, mostly from a cache. */
    r->bytes += 0.25 * times * other * (double)p->builder->element;
}

/* Returns whether the elements are adjacent in one of the two directions, as libraries require. */
static bool has_unit(const bp__pairing *p, const bp__group *rows, const bp__group *columns, int operand) {
    int64_t row, column;
    bool merge = bp__group_merges(p->axes, rows, operand, &row) && bp__group_merges(p->axes, columns, operand, &column);
    bool vector = bp__group_size(p->axes, rows) == 1 || bp__group_size(p->axes, columns) == 1;
    return merge && (vector || row == 1 || column == 1);
}

static bool too_deep(const bp__pairing *p, const bp__group *batch) {
    int steps = 0;
    for (int i = 0; i < batch->count; i++) {
        bool even = i > 0;
        for (int k = 0; even && k < BP__OPERANDS; k++) {
            const bp__axis *x = &p->axes[batch->at[i]];
            even = p->axes[batch->at[i - 1]].stride[k] == x->stride[k] * x->size && (k != BP__C || p->fixed);
        }
        steps += !even;
    }
    return steps > BP_MAX_BATCH_NDIM;
}

static void judge(variant *r, const bp__pairing *p) {
    const bp__product *g = &r->groups;
    r->copied[BP__A] = !has_unit(p, &g->left, &g->summed, BP__A);
    r->copied[BP__B] = !has_unit(p, &g->summed, &g->right, BP__B);
    r->copied[BP__C] = p->fixed && !has_unit(p, &g->left, &g->right, BP__C);
    if (too_deep(p, &g->batch)) {
        r->copied[BP__A] = r->copied[BP__B] = true;
        r->copied[BP__C] = p->fixed;
    }
    for (int k = 0; k < BP__OPERANDS; k++) {
        r->bytes += r->copied[k] ? 2 * elements_of(p, k) * (double)p->builder->element : 0;
    }
}

static void consider(variant *r, const bp__pairing *p, int orders, bool batch_outer) {
    start_variant(r, p);
    bp__group_sort(p->axes, &r->groups.left, orders & LEFT_AS_C ? BP__C : BP__A);
    bp__group_sort(p->axes, &r->groups.right, orders & RIGHT_AS_C ? BP__C : BP__B);
    bp__group_sort(p->axes, &r->groups.summed, orders & SUMMED_AS_B ? BP__B : BP__A);
    if (batch_outer) {
        batch_outer_labels(r, p, &r->groups.left, BP__A);
        batch_outer_labels(r, p, &r->groups.right, BP__B);
    }
    bp__group_sort(p->axes, &r->groups.batch, p->fixed ? BP__C : BP__A);
    judge(r, p);
}

static bp_status variant_begin(variant *r, const bp__pairing *p) {
    size_t size = 2 * (size_t)p->count * sizeof *r->memory + 1;
    r->memory = bp__alloc(size);
    return r->memory ? BP_OK : bp__fail_memory(size, "a contraction");
}

/* Finds the variant that copies the fewest bytes; among equal ones the first. */
static bp_status find_variant(variant *best, const bp__pairing *p, bool batch_outer) {
    variant next;
    BP__TRY(variant_begin(best, p));
    bp_status status = variant_begin(&next, p);
    if (status != BP_OK) {
        bp__free(best->memory);
        return status;
    }
    consider(best, p, 0, batch_outer);
    for (int orders = 1; orders < ORDERS && best->bytes > 0; orders++) {
        if (!p->fixed && (orders & (LEFT_AS_C | RIGHT_AS_C))) {
            continue; /* C has no layout yet */
        }
        consider(&next, p, orders, batch_outer);
        if (next.bytes < best->bytes) {
            variant worse = *best;
            *best = next;
            next = worse;
        }
    }
    bp__free(next.memory);
    return BP_OK;
}

/* ---- From a variant to parts ---- */

/* A product under construction: the axes in the product's layout, and the locations of its operands. */
typedef struct making {
    bp__pairing *p;
    variant *r;
    bp__axis *axes;
    bp__axis *copied; /* memory for the axes of one copy */
    bp__place place[BP__OPERANDS];
    int slice; /* the axis of the loop; -1: no loop */
} making;

static bool has_axis(const bp__axis *x, int operand) {
    return operand == BP__C ? x->kept : x->in[operand];
}

static int64_t smallest_stride(const bp__axis *axes, const bp__group *group, int operand) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < group->count; i++) {
        int64_t step = axes[group->at[i]].stride[operand];
        step = step < 0 ? -step : step;
        least = step < least ? step : least;
    }
    return least;
}

/* Sets the strides of a copy. It is compact; the group with the smallest stride in the original stays innermost. */
static double lay_out(making *m, int operand) {
    const bp__product *g = &m->r->groups;
    const bp__group *rows = operand == BP__B ? &g->summed : &g->left,
                    *columns = operand == BP__A ? &g->summed : &g->right;
    bool transposed = smallest_stride(m->p->axes, rows, operand) < smallest_stride(m->p->axes, columns, operand);
    const bp__group *groups[] = {&g->batch, transposed ? columns : rows, transposed ? rows : columns};
    return bp__axes_lay_out(m->axes, operand, groups, BP__COUNT(groups));
}

static double bytes_of(const making *m, int operand) {
    return m->r->copied[operand] ? elements_of(m->p, operand) * (double)m->p->builder->element : 0;
}

/* Returns whether a loop over the group's outermost axis gives slices of a suitable size. `bytes` is the size of all
 * copies. */
static bool slices_well(const making *m, const bp__group *group, double bytes) {
    double size = group->count > 0 ? (double)m->p->axes[group->at[0]].size : 1;
    return size > 1 && bytes >= SLICED_BYTES && bytes / size >= LEAST_SLICE;
}

static void remove_first(bp__group *group) {
    group->at++;
    group->count--;
}

/* Removes the axis of the loop from its group. */
static void choose_slice(making *m) {
    bp__product *g = &m->r->groups;
    bp__group *sides[] = {&g->left, &g->right};
    m->slice = -1;
    for (int k = 0; k < 2 && m->slice < 0; k++) {
        bool rows = bp__group_size(m->p->axes, sides[k]) >=
                    LEAST_SLICE_ROWS * (sides[k]->count > 0 ? (double)m->p->axes[sides[k]->at[0]].size : 1);
        if (rows && slices_well(m, sides[k], bytes_of(m, k))) {
            m->slice = sides[k]->at[0];
            remove_first(sides[k]);
        }
    }
    if (m->slice < 0 && slices_well(m, &g->batch, bytes_of(m, BP__A) + bytes_of(m, BP__B) + bytes_of(m, BP__C))) {
        m->slice = g->batch.at[0];
        remove_first(&g->batch);
    }
}

/* Returns the offset between two runs, in bytes; 0 for a tensor without the loop's axis. */
static int64_t advance_of(const making *m, const bp__axis *axes, int operand) {
    bool walks = m->slice >= 0 && has_axis(&axes[m->slice], operand);
    return walks ? axes[m->slice].stride[operand] * (int64_t)m->p->builder->element : 0;
}

static bp_status place_result(making *m) {
    bp__pairing *p = m->p;
    const bp__product *g = &m->r->groups;
    const bp__group *groups[] = {&g->batch, &g->left, &g->right};
    bp__place place;
    double elements = p->fixed ? 0 : bp__axes_lay_out(m->axes, BP__C, groups, BP__COUNT(groups));
    BP__TRY(bp__result_place(p, elements, &place));
    return bp__result_is(p, m->axes, place);
}

/* Sets the location of an operand: its copy, or its own memory. */
static bp_status place_operand(making *m, int operand) {
    if (m->r->copied[operand]) {
        return bp__place_take(m->p->builder, lay_out(m, operand), &m->place[operand]);
    }
    m->place[operand] = operand == BP__C ? m->p->result->place : m->p->in[operand]->place;
    m->place[operand].advance = advance_of(m, m->axes, operand);
    return BP_OK;
}

/* Adds a copy from or to the location that the product uses. */
static bp_status add_copy(making *m, int operand, bp__place whole, const char *action) {
    int count = 0;
    int from = operand == BP__C ? BP__C : BP__A, to = operand == BP__C ? BP__A : BP__C;
    for (int i = 0; i < m->p->count; i++) {
        if (i != m->slice && has_axis(&m->axes[i], operand)) {
            bp__axis *x = &m->copied[count++];
            *x = (bp__axis){.size = m->axes[i].size, .in = {true, false}, .kept = true};
            x->stride[from] = m->p->axes[i].stride[operand];
            x->stride[to] = m->axes[i].stride[operand];
        }
    }
    bp_plan *plan;
    bp__place none = {.home = BP__NOWHERE}, copy = m->place[operand];
    whole.advance = advance_of(m, m->p->axes, operand);
    BP__TRY(bp__contraction_plan(&plan, m->p->builder, m->copied, count, false, false));
    return bp__part_add(m->p->builder, plan, action, operand == BP__C ? copy : whole, none,
                        operand == BP__C ? whole : copy);
}

/* Adds the copies of the inputs that the loop steps through, or of the others. */
static bp_status add_copies(making *m, bool walked) {
    static const char *const actions[] = {"copy of the first operand", "copy of the second operand"};
    for (int k = 0; k < 2; k++) {
        bool walks = m->slice >= 0 && m->axes[m->slice].in[k];
        if (m->r->copied[k] && walks == walked) {
            BP__TRY(add_copy(m, k, m->p->in[k]->place, actions[k]));
        }
    }
    return BP_OK;
}

static bp_status add_product(making *m) {
    bp_plan *plan;
    BP__TRY(bp__product_plan(&plan, m->p->builder, m->axes, &m->r->groups));
    BP__TRY(bp__part_add(m->p->builder, plan, "product", m->place[BP__A], m->place[BP__B], m->place[BP__C]));
    return m->r->copied[BP__C] ? add_copy(m, BP__C, m->p->result->place, "copy of the result") : BP_OK;
}

static bp_status add_parts(making *m) {
    bp__builder *b = m->p->builder;
    BP__TRY(add_copies(m, false));
    int first = b->part_count;
    BP__TRY(add_copies(m, true));
    BP__TRY(add_product(m));
    for (int i = first; i < b->part_count && m->slice >= 0; i++) {
        b->parts[i].runs = m->p->axes[m->slice].size;
    }
    b->parts[first].loop = m->slice >= 0 ? b->part_count - first : 0;
    return BP_OK;
}

static bp_status make(making *m) {
    bp__builder *b = m->p->builder;
    BP__TRY(place_result(m));
    choose_slice(m);
    for (int k = 0; k < BP__OPERANDS; k++) {
        BP__TRY(place_operand(m, k));
    }
    BP__TRY(add_parts(m));
    for (int k = 0; k < BP__OPERANDS; k++) {
        if (m->r->copied[k]) {
            bp__arena_give(&b->arena, m->place[k].offset);
        }
    }
    return BP_OK;
}

static bp_status make_of(bp__pairing *p, variant *r) {
    size_t size = 2 * (size_t)p->count * sizeof(bp__axis);
    making m = {.p = p, .r = r, .axes = bp__alloc(size)};
    if (!m.axes) {
        return bp__fail_memory(size, "a contraction");
    }
    m.copied = m.axes + p->count;
    memcpy(m.axes, p->axes, (size_t)p->count * sizeof *m.axes);
    bp_status status = make(&m);
    bp__free(m.axes);
    return status;
}

bp_status bp__pairing_multiply(bp__pairing *p, bool batch_outer, bool *done) {
    variant r;
    BP__TRY(find_variant(&r, p, batch_outer));
    p->copies = r.copied[BP__A] || r.copied[BP__B] || r.copied[BP__C];
    *done = !batch_outer || r.batches_outer;
    bp_status status = *done ? make_of(p, &r) : BP_OK;
    bp__free(r.memory);
    return status;
}
