/* steps.c - converts a tree, or the caller's path, to steps.
 *
 * Computes the labels, kind and sizes of each step. Sorts the steps of a tree so that they need little memory. */
#include "einsum/internal.h"

#include <string.h>

/* ---- Label sets along a path ---- */

typedef struct follower {
    const bp__network *net;
    int32_t *uses;
    int32_t *label; /* labels of the results, one after the other */
    int32_t entries, capacity;
    int32_t *first; /* of each identity; the operands' labels are in the network */
    int32_t *length;
    void *memory;
} follower;

static bool follower_begin(follower *f, const bp__network *net, int steps) {
    size_t labels = (size_t)net->labels, ids = (size_t)net->terms + (size_t)steps;
    *f = (follower){.net = net, .capacity = net->start[net->terms] + 16};
    f->memory = bp__alloc((labels + 2 * ids) * sizeof(int32_t));
    f->label = bp__alloc((size_t)f->capacity * sizeof(int32_t));
    if (!f->memory || !f->label) {
        bp__free(f->memory);
        bp__free(f->label);
        return false;
    }
    f->uses = f->memory;
    f->first = f->uses + labels;
    f->length = f->first + ids;
    memcpy(f->uses, net->uses, labels * sizeof *f->uses);
    return true;
}

static void follower_end(follower *f) {
    bp__free(f->memory);
    bp__free(f->label);
}

static const int32_t *labels_of(const follower *f, int32_t id, int32_t *count) {
    if (id < f->net->terms) {
        *count = f->net->start[id + 1] - f->net->start[id];
        return f->net->label + f->net->start[id];
    }
    *count = f->length[id];
    return f->label + f->first[id];
}

static bool reserve(follower *f, int64_t more) {
    if (f->capacity - f->entries >= more) {
        return true;
    }
    int64_t capacity = (int64_t)f->capacity * 2 + more;
    int32_t *grown = capacity > INT32_MAX ? NULL : bp__realloc(f->label, (size_t)capacity * sizeof *grown);
    if (!grown) {
        return false;
    }
    f->label = grown;
    f->capacity = (int32_t)capacity;
    return true;
}

/* The number of labels of each kind in a step. */
typedef struct classes {
    int both, left, right, summed, alone;
} classes;

static const char *kind_of(const classes *c, bool single) {
    if (single) {
        return c->alone > 0 ? "sum" : "view";
    }
    if (c->summed == 0) {
        if (c->left > 0 && c->right > 0) {
            return c->both > 0 ? "batched outer" : "outer";
        }
        return "elementwise";
    }
    if (c->left > 0 && c->right > 0) {
        return c->both > 0 ? "batched gemm" : "gemm";
    }
    if (c->left > 0 || c->right > 0) {
        return c->both > 0 ? "batched gemv" : "gemv";
    }
    return c->both > 0 ? "batched dot" : "dot";
}

static void multiply(bp__bigfloat *product, double *run, double size) {
    *run *= size;
    if (*run > 1e150) { /* few steps have enough labels for this */
        *product = bp__bigfloat_times(*product, *run);
        *run = 1;
    }
}

/* Fills *s except for identities and positions. Returns false if memory is short. */
static bool follow(follower *f, bp__step *s, int32_t id) {
    int32_t a_count, b_count = 0;
    const int32_t *a = labels_of(f, s->id.a, &a_count), *b = s->id.b < 0 ? a : labels_of(f, s->id.b, &b_count);
    /* reserve() may move the lists, so they are kept as offsets. */
    bool a_moves = s->id.a >= f->net->terms, b_moves = s->id.b >= f->net->terms;
    if (!reserve(f, (int64_t)a_count + b_count)) {
        return false;
    }
    a = a_moves ? f->label + f->first[s->id.a] : a;
    b = b_moves ? f->label + f->first[s->id.b] : b;
    classes c = {0};
    bp__bigfloat product = bp__bigfloat_of(1), size = product;
    double product_run = 1, size_run = 1;
    f->first[id] = f->entries;
    for (int32_t i = 0, j = 0; i < a_count || j < b_count;) {
        bool from_a = j == b_count || (i < a_count && a[i] <= b[j]),
             from_b = i == a_count || (j < b_count && b[j] <= a[i]);
        int32_t label = from_a ? a[i] : b[j];
        bool both = from_a && from_b;
        bool summed = f->uses[label] == 1 + both;
        f->uses[label] -= both;
        multiply(&product, &product_run, f->net->size[label]);
        if (!summed) {
            multiply(&size, &size_run, f->net->size[label]);
            f->label[f->entries++] = label;
        }
        *(summed ? (both ? &c.summed : &c.alone) : both ? &c.both : from_a ? &c.left : &c.right) += 1;
        i += from_a;
        j += from_b;
    }
    f->length[id] = f->entries - f->first[id];
    s->scaling = c.both + c.left + c.right + c.summed + c.alone;
    s->inner = c.summed + c.alone > 0;
    s->kind = kind_of(&c, s->id.b < 0);
    s->product = bp__bigfloat_times(product, product_run);
    s->size = bp__bigfloat_times(size, size_run);
    return true;
}

static bp_status follow_all(bp__steps *steps, const bp__network *net) {
    follower f;
    bool fine = follower_begin(&f, net, steps->count);
    for (int i = 0; fine && i < steps->count; i++) {
        fine = follow(&f, &steps->step[i], net->terms + i);
        if (!fine || i == steps->count - 1) {
            follower_end(&f);
        }
    }
    if (fine && steps->count == 0) {
        follower_end(&f);
    }
    return fine ? BP_OK : bp__fail_memory((size_t)steps->count * sizeof(bp__step), "a contraction path");
}

static bp_status allocate_steps(bp__steps *steps, int most) {
    steps->count = 0;
    steps->step = bp__alloc_zero((size_t)most, sizeof *steps->step);
    return steps->step ? BP_OK : bp__fail_memory((size_t)most * sizeof *steps->step, "a contraction path");
}

static bp_status find_positions(bp__steps *steps, int terms) {
    bp__operand_list *list = bp__operand_list_new(terms, steps->count);
    if (!list) {
        return bp__fail_memory((size_t)terms * sizeof(int32_t), "a contraction path");
    }
    for (int i = 0; i < steps->count; i++) {
        bp__step *s = &steps->step[i];
        s->position = (bp__pair){bp__operand_list_position(list, s->id.a),
                                 s->id.b < 0 ? -1 : bp__operand_list_position(list, s->id.b)};
        if (s->id.b >= 0 && s->position.b < s->position.a) {
            s->position = (bp__pair){s->position.b, s->position.a};
            s->id = (bp__pair){s->id.b, s->id.a};
        }
        bp__operand_list_take(list, s->id.a);
        if (s->id.b >= 0) {
            bp__operand_list_take(list, s->id.b);
        }
        bp__operand_list_append(list);
    }
    bp__free(list);
    return BP_OK;
}

/* ---- A tree ---- */

static double elements_of(const bp__steps *steps, int terms, int32_t id) {
    /* operands and the output belong to the caller */
    bool result = id >= terms && id < terms + steps->count - 1;
    return result ? bp__bigfloat_double(steps->step[id - terms].size) : 0;
}

/* Computes the peak memory below each step. Of two operands, the one that frees more memory after its peak is computed
 * first. */
static void find_peaks(const bp__steps *steps, int terms, double *peak) {
    for (int i = 0; i < steps->count; i++) {
        bp__pair p = steps->step[i].id;
        int32_t b = p.b < 0 ? p.a : p.b;
        double a_peak = p.a < terms ? 0 : peak[p.a - terms], b_peak = b < terms ? 0 : peak[b - terms];
        double a_size = elements_of(steps, terms, p.a), b_size = p.b < 0 ? 0 : elements_of(steps, terms, b);
        bool a_first = a_peak - a_size >= b_peak - b_size;
        double first = a_first ? a_peak : b_peak, second = a_first ? a_size + b_peak : b_size + a_peak;
        double all = a_size + b_size + elements_of(steps, terms, terms + i);
        double most = first > second ? first : second;
        peak[i] = most > all ? most : all;
    }
}

static bool second_first(const bp__steps *steps, int terms, const double *peak, bp__pair p) {
    if (p.b < terms || p.a < terms) {
        return p.a < terms && p.b >= terms;
    }
    return peak[p.b - terms] - elements_of(steps, terms, p.b) > peak[p.a - terms] - elements_of(steps, terms, p.a);
}

/* Computes the new identity of each step. Walks from the root and assigns the last identities first, so that nodes
 * visited last are executed first. `stack` and `fresh` have an entry per step. */
static void renumber(const bp__steps *steps, int terms, const double *peak, int32_t *stack, int32_t *fresh) {
    int32_t depth = 0, place = steps->count;
    stack[depth++] = steps->count - 1;
    while (depth > 0) {
        int32_t i = stack[--depth];
        bp__pair p = steps->step[i].id;
        fresh[i] = --place;
        if (p.b >= 0 && second_first(steps, terms, peak, p)) {
            p = (bp__pair){p.b, p.a};
        }
        if (p.a >= terms) {
            stack[depth++] = p.a - terms;
        }
        if (p.b >= terms) {
            stack[depth++] = p.b - terms;
        }
    }
}

static bp_status put_in_order(bp__steps *steps, int terms) {
    size_t count = (size_t)steps->count, size = count * (sizeof(double) + sizeof(bp__step) + 2 * sizeof(int32_t));
    double *peak = bp__alloc(size);
    if (!peak) {
        return bp__fail_memory(size, "a contraction path");
    }
    bp__step *old = (bp__step *)(peak + count);
    int32_t *stack = (int32_t *)(old + count), *fresh = stack + count;
    memcpy(old, steps->step, count * sizeof *old);
    find_peaks(steps, terms, peak);
    renumber(steps, terms, peak, stack, fresh);
    for (int i = 0; i < steps->count; i++) {
        bp__step *s = &steps->step[fresh[i]];
        *s = old[i];
        s->id.a = s->id.a < terms ? s->id.a : terms + fresh[s->id.a - terms];
        s->id.b = s->id.b < terms ? s->id.b : terms + fresh[s->id.b - terms];
    }
    bp__free(peak);
    return BP_OK;
}

static bp__side side_of(const bp__network *reduced, const bp__steps *pairs, int32_t id) {
    bool operand = id < reduced->terms;
    return (bp__side){operand ? reduced->elements[id] : bp__bigfloat_double(pairs->step[id - reduced->terms].size),
                      operand ? reduced->alone[id] : 0};
}

/* Inserts sums of single operands before the steps that use them, if that is cheaper. */
static bp_status insert_sums(bp__steps *steps, const bp__network *reduced, const bp__goal *goal) {
    bp__steps pairs = *steps;
    int terms = reduced->terms;
    BP__TRY(follow_all(&pairs, reduced));
    bp_status status = allocate_steps(steps, 3 * pairs.count + 1);
    int32_t *id = bp__alloc(((size_t)terms + (size_t)pairs.count) * sizeof *id); /* the new identities */
    if (status != BP_OK || !id) {
        bp__free(id);
        bp__free(pairs.step);
        return bp__fail_memory((size_t)terms * sizeof *id, "a contraction path");
    }
    for (int i = 0; i < terms; i++) {
        id[i] = i;
    }
    for (int i = 0; i < pairs.count; i++) {
        const bp__step *s = &pairs.step[i];
        int32_t of[] = {s->id.a, s->id.b};
        unsigned first;
        bp__goal_pair(goal, bp__bigfloat_double(s->product), bp__bigfloat_double(s->size), s->inner,
                      side_of(reduced, &pairs, of[0]), side_of(reduced, &pairs, of[1]), &first);
        for (int k = 0; k < 2; k++) {
            if (first >> k & 1) {
                steps->step[steps->count].id = (bp__pair){of[k], -1};
                id[of[k]] = terms + steps->count++;
            }
        }
        steps->step[steps->count].id = (bp__pair){id[of[0]], id[of[1]]};
        id[terms + i] = terms + steps->count++;
    }
    bp__free(id);
    bp__free(pairs.step);
    return BP_OK;
}

static bp_status make_tree(bp__steps *steps, const bp__network *net, const bp__network *reduced, const bp__goal *goal) {
    if (net->terms == 1) {
        steps->step[steps->count++].id = (bp__pair){0, -1};
    } else if (reduced->any_alone) {
        bp_status status = insert_sums(steps, reduced, goal);
        if (status != BP_OK) {
            return status;
        }
    }
    BP__TRY(follow_all(steps, net));
    BP__TRY(put_in_order(steps, net->terms));
    return find_positions(steps, net->terms);
}

bp_status bp__steps_of_tree(bp__steps *steps, const bp__network *net, const bp__network *reduced, const bp__goal *goal,
                            const bp__pair *pairs) {
    BP__TRY(allocate_steps(steps, net->terms));
    for (int i = 0; i < net->terms - 1; i++) {
        steps->step[steps->count++].id = pairs[i];
    }
    return make_tree(steps, net, reduced, goal);
}

/* ---- The caller's path ---- */

static bp_status take_given(bp__operand_list *list, int step, int32_t position, int32_t *id) {
    int32_t length = bp__operand_list_length(list);
    if (position < 0 || position >= length) {
        return bp__fail(BP_E_ARGUMENT, "einsum: step %d of the path has position %d, but only %d operands are left",
                        step, position, length);
    }
    *id = bp__operand_list_at(list, position);
    return BP_OK;
}

/* Adds one step of the path. All its positions refer to the list before the step. Three or more operands are contracted
 * in pairs. */
static bp_status add_given(bp__steps *steps, bp__operand_list *list, int terms, int step, const int *positions,
                           int32_t count, int32_t *ids) {
    if (count < 1 || !positions) {
        return bp__fail(BP_E_ARGUMENT, "einsum: step %d of the path has no operand", step);
    }
    for (int32_t i = 0; i < count; i++) {
        BP__TRY(take_given(list, step, positions[i], &ids[i]));
        for (int32_t j = 0; j < i; j++) {
            if (ids[j] == ids[i]) {
                return bp__fail(BP_E_ARGUMENT, "einsum: step %d of the path has position %d twice", step, positions[i]);
            }
        }
    }
    int32_t result = ids[0];
    for (int32_t i = count == 1 ? 0 : 1; i < count; i++) {
        steps->step[steps->count].id = (bp__pair){result, count == 1 ? -1 : ids[i]};
        bp__operand_list_take(list, result);
        if (count > 1) {
            bp__operand_list_take(list, ids[i]);
        }
        bp__operand_list_append(list);
        result = terms + steps->count++;
    }
    return BP_OK;
}

static bp_status count_given(const bp_einsum_search *search, int terms, int *most, int *longest) {
    int64_t all = 0;
    *longest = 2;
    if (search->path_steps < 0 || (search->path_steps > 0 && !search->path)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: path_steps is %d, but the path has %s positions", search->path_steps,
                        search->path ? "its" : "no");
    }
    for (int i = 0; i < search->path_steps; i++) {
        int count = search->path_counts ? search->path_counts[i] : terms == 1 ? 1 : 2;
        if (count > terms) {
            return bp__fail(BP_E_ARGUMENT, "einsum: step %d of the path has %d operands, but there are only %d", i,
                            count, terms);
        }
        *longest = count > *longest ? count : *longest;
        all += count > 2 ? count - 1 : 1;
    }
    if (all > 4 * (int64_t)terms + 64) {
        return bp__fail(BP_E_ARGUMENT, "einsum: the path has %d steps, too many for %d operands", search->path_steps,
                        terms);
    }
    *most = (int)all;
    return BP_OK;
}

static bp_status read_given(bp__steps *steps, int terms, const bp_einsum_search *search, bp__operand_list *list,
                            int32_t *ids) {
    const int *at = search->path;
    for (int i = 0; i < search->path_steps; i++) {
        int count = search->path_counts ? search->path_counts[i] : terms == 1 ? 1 : 2;
        BP__TRY(add_given(steps, list, terms, i, at, count, ids));
        at += count;
    }
    int left = bp__operand_list_length(list);
    if (left > 1 || steps->count == 0) {
        return bp__fail(BP_E_ARGUMENT, "einsum: the path leaves %d operands; it must end with one result", left);
    }
    return BP_OK;
}

bp_status bp__steps_given(bp__steps *steps, const bp__network *net, const bp_einsum_search *search) {
    int most = 0, longest = 2;
    BP__TRY(count_given(search, net->terms, &most, &longest));
    BP__TRY(allocate_steps(steps, most));
    bp__operand_list *list = bp__operand_list_new(net->terms, most);
    int32_t *ids = bp__alloc((size_t)longest * sizeof *ids);
    bp_status status = list && ids ? read_given(steps, net->terms, search, list, ids)
                                   : bp__fail_memory((size_t)net->terms * sizeof *ids, "a contraction path");
    bp__free(list);
    bp__free(ids);
    BP__TRY(status);
    BP__TRY(follow_all(steps, net));
    return find_positions(steps, net->terms);
}

/* ---- Memory ---- */

double bp__steps_peak(const bp__steps *steps, int terms) {
    double alive = 0, peak = 0;
    for (int i = 0; i < steps->count; i++) {
        bp__pair p = steps->step[i].id;
        alive += elements_of(steps, terms, terms + i);
        peak = alive > peak ? alive : peak;
        alive -= elements_of(steps, terms, p.a) + (p.b < 0 ? 0 : elements_of(steps, terms, p.b));
    }
    return peak;
}
