/* terms.c - matches the labels of an expression with the operands' shapes: label numbers, broadcast sizes, the output.
 *
 * Labels are numbered in the order of the implicit output: the dimensions of the ellipsis, then ascending. */
#include "einsum/internal.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_NAMES 64 /* letters fit a table on the stack */

/* Numbers of labels: a table by name, or a sorted list of names if they are far apart. */
typedef struct numbering {
    int32_t *table, *sorted;
    int names;
    int32_t largest;
    int ellipsis; /* number of dimensions of the ellipsis */
    int32_t near[NEAR_NAMES];
} numbering;

static int order_names(const void *x, const void *y) {
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

static int input_tokens(const bp__source *source) {
    return source->first[source->count];
}

/* Returns the number of an operand's label; -1 if no operand has it. */
static int32_t number_of(const numbering *n, int32_t name) {
    if (name > n->largest) {
        return -1;
    }
    if (n->table) {
        return n->table[name] < 0 ? -1 : n->table[name] + n->ellipsis;
    }
    const int32_t *found = bsearch(&name, n->sorted, (size_t)n->names, sizeof *n->sorted, order_names);
    return found ? (int32_t)(found - n->sorted) + n->ellipsis : -1;
}

static int32_t largest_name(const bp__source *source) {
    int32_t largest = -1;
    for (int i = 0; i < input_tokens(source); i++) {
        largest = source->tokens[i].label > largest ? source->tokens[i].label : largest;
    }
    return largest;
}

static bp_status number_by_table(numbering *n, const bp__source *source) {
    size_t size = ((size_t)n->largest + 1) * sizeof *n->table;
    n->table = n->largest < NEAR_NAMES ? n->near : bp__alloc(size);
    if (!n->table) {
        return bp__fail_memory(size, "einsum's labels");
    }
    memset(n->table, 0xff, size);
    for (int i = 0; i < input_tokens(source); i++) {
        if (source->tokens[i].label >= 0) {
            n->table[source->tokens[i].label] = 0;
        }
    }
    for (int32_t name = 0; name <= n->largest; name++) {
        n->table[name] = n->table[name] < 0 ? -1 : n->names++;
    }
    return BP_OK;
}

static bp_status number_by_sorting(numbering *n, const bp__source *source) {
    int tokens = input_tokens(source), kept = 0, all = 0;
    n->sorted = bp__alloc((size_t)tokens * sizeof *n->sorted);
    if (!n->sorted) {
        return bp__fail_memory((size_t)tokens * sizeof *n->sorted, "einsum's labels");
    }
    for (int i = 0; i < tokens; i++) {
        if (source->tokens[i].label >= 0) {
            n->sorted[all++] = source->tokens[i].label;
        }
    }
    qsort(n->sorted, (size_t)all, sizeof *n->sorted, order_names);
    for (int i = 0; i < all; i++) {
        if (kept == 0 || n->sorted[i] != n->sorted[kept - 1]) {
            n->sorted[kept++] = n->sorted[i];
        }
    }
    n->names = kept;
    return BP_OK;
}

static bp_status number_labels(numbering *n, const bp__source *source) {
    n->largest = largest_name(source);
    bool dense = n->largest < NEAR_NAMES || n->largest / 8 <= input_tokens(source);
    return dense ? number_by_table(n, source) : number_by_sorting(n, source);
}

static void numbering_free(numbering *n) {
    if (n->table != n->near) {
        bp__free(n->table);
    }
    bp__free(n->sorted);
}

/* Returns the index of an operand's ellipsis token; -1 if there is none. */
static int ellipsis_of(const bp__source *source, int operand) {
    for (int t = source->first[operand]; t < source->first[operand + 1]; t++) {
        if (source->tokens[t].label == BP_EINSUM_ELLIPSIS) {
            return t;
        }
    }
    return -1;
}

/* Compares the number of labels of each operand with its dimensions. Counts the dimensions of the longest ellipsis, and
 * all. */
static bp_status count_dimensions(const bp__source *source, const bp_einsum_operand *operands, int *ellipsis,
                                  int64_t *all) {
    *ellipsis = 0;
    *all = 0;
    for (int i = 0; i < source->count; i++) {
        bool dots = ellipsis_of(source, i) >= 0;
        int named = source->first[i + 1] - source->first[i] - dots, ndim = operands[i].ndim;
        if (dots ? named > ndim : named != ndim) {
            return bp__token_fail(source, source->first[i + 1] - (named > ndim && named > 0), BP_E_SHAPE,
                                  "operand %d has %d dimension%s, but %d label%s%s", i, ndim, ndim == 1 ? "" : "s",
                                  named, named == 1 ? "" : "s", dots ? " and an ellipsis" : "");
        }
        *ellipsis = dots && ndim - named > *ellipsis ? ndim - named : *ellipsis;
        *all += ndim;
    }
    return *all <= 1 << 28 ? BP_OK : bp__fail(BP_E_OVERFLOW, "einsum: more than 2^28 dimensions");
}

static bp_status reserve(bp__einsum *e, int64_t dimensions, int most_output) {
    size_t d = (size_t)dimensions, l = (size_t)e->labels;
    size_t size = (d + l) * sizeof(int64_t) + (d + l + (size_t)e->count + 1 + (size_t)most_output) * sizeof(int32_t);
    char *at = bp__alloc(size);
    if (!at) {
        return bp__fail_memory(size, "einsum's labels");
    }
    e->memory = at;
    e->dim = (int64_t *)at;
    e->size = e->dim + d;
    e->label = (int32_t *)(e->size + l);
    e->name = e->label + d;
    e->start = e->name + l;
    e->output = e->start + e->count + 1;
    return BP_OK;
}

static void name_labels(bp__einsum *e, const numbering *n) {
    for (int i = 0; i < n->ellipsis; i++) {
        e->name[i] = -1 - i;
    }
    for (int32_t name = 0; n->table && name <= n->largest; name++) {
        if (n->table[name] >= 0) {
            e->name[n->table[name] + n->ellipsis] = name;
        }
    }
    for (int i = 0; n->sorted && i < n->names; i++) {
        e->name[i + n->ellipsis] = n->sorted[i];
    }
}

/* Writes a label for error messages. */
static const char *label_text(const bp__einsum *e, int32_t label, char buffer[32]) {
    bp__text text = {0};
    if (e->name[label] < 0) {
        bp__copy_text(buffer, 32, "of the ellipsis");
        return buffer;
    }
    bp__label_add(&text, e, label);
    bp__copy_text(buffer, 32, bp__text_get(&text));
    bp__text_free(&text);
    return buffer;
}

/* Adds one dimension. Its size must equal the label's earlier size, or one of them must be 1. `last` has the last
 * dimension of each label. */
static bp_status take_dimension(bp__einsum *e, const bp__source *source, int token, int operand, int32_t label,
                                int64_t size, int at, int32_t *last) {
    char text[32];
    if (size < 0) {
        return bp__token_fail(source, token, BP_E_SHAPE, "operand %d has a dimension of size %lld", operand,
                              (long long)size);
    }
    int before = last[label];
    if (before >= e->start[operand] && e->dim[before] != size) {
        return bp__token_fail(source, token, BP_E_SHAPE,
                              "label %s is twice in operand %d, for sizes %lld and %lld; a diagonal needs equal ones",
                              label_text(e, label, text), operand, (long long)e->dim[before], (long long)size);
    }
    if (e->size[label] != size && e->size[label] != 1 && size != 1 && e->size[label] >= 0) {
        return bp__token_fail(
            source, token, BP_E_SHAPE,
            "label %s has size %lld in operand %d and %lld before; they must be equal, or one of them 1",
            label_text(e, label, text), (long long)size, operand, (long long)e->size[label]);
    }
    if (e->size[label] < 0 || e->size[label] == 1) {
        e->size[label] = size;
    }
    e->label[at] = label;
    e->dim[at] = size;
    last[label] = at;
    return BP_OK;
}

static bp_status take_operand(bp__einsum *e, const bp__source *source, const numbering *n, int operand,
                              const bp_einsum_operand *given, int32_t *last) {
    int at = e->start[operand], dim = 0;
    int dots = ellipsis_of(source, operand);
    int spread = dots < 0 ? 0 : given->ndim - (source->first[operand + 1] - source->first[operand] - 1);
    for (int t = source->first[operand]; t < source->first[operand + 1]; t++) {
        int times = t == dots ? spread : 1;
        for (int i = 0; i < times; i++, at++, dim++) {
            int32_t label = t == dots ? n->ellipsis - spread + i : number_of(n, source->tokens[t].label);
            BP__TRY(take_dimension(e, source, t, operand, label, given->shape[dim], at, last));
        }
    }
    e->start[operand + 1] = at;
    return BP_OK;
}

/* Makes the output without "->": the ellipsis, then the labels that occur once. */
static void implicit_output(bp__einsum *e, int ellipsis) {
    /* The counters reuse the output array: entry i is read before output label i is written. */
    memset(e->output, 0, (size_t)e->labels * sizeof *e->output);
    for (int i = 0; i < e->start[e->count]; i++) {
        e->output[e->label[i]]++;
    }
    for (int32_t label = 0; label < e->labels; label++) {
        if (label < ellipsis || e->output[label] == 1) {
            e->output[e->output_ndim++] = label;
        }
    }
}

static bp_status explicit_output(bp__einsum *e, const bp__source *source, const numbering *n, unsigned char *seen) {
    char text[32];
    for (int t = input_tokens(source); t < source->token_count; t++) {
        int32_t name = source->tokens[t].label;
        if (name == BP_EINSUM_ELLIPSIS) {
            for (int i = 0; i < n->ellipsis; i++) {
                e->output[e->output_ndim++] = i;
            }
            continue;
        }
        int32_t label = number_of(n, name);
        if (label < 0) {
            bp__einsum other = {.name = &name, .labels = 1};
            return bp__token_fail(source, t, BP_E_ARGUMENT, "the output has label %s, which no operand has",
                                  label_text(&other, 0, text));
        }
        if (seen[label]) {
            return bp__token_fail(source, t, BP_E_ARGUMENT, "the output has label %s twice",
                                  label_text(e, label, text));
        }
        seen[label] = 1;
        e->output[e->output_ndim++] = label;
    }
    return BP_OK;
}

static bp_status make_output(bp__einsum *e, const bp__source *source, const numbering *n) {
    unsigned char near[128] = {0};
    if (!source->has_output) {
        implicit_output(e, n->ellipsis);
        return BP_OK;
    }
    unsigned char *seen = (size_t)e->labels <= sizeof near ? near : bp__alloc_zero((size_t)e->labels, 1);
    if (!seen) {
        return bp__fail_memory((size_t)e->labels, "einsum's output");
    }
    bp_status status = explicit_output(e, source, n, seen);
    if (seen != near) {
        bp__free(seen);
    }
    return status;
}

static bp_status fill(bp__einsum *e, const bp__source *source, const numbering *n, const bp_einsum_operand *operands) {
    name_labels(e, n);
    int32_t *last = e->output; /* not yet used for the output */
    for (int i = 0; i < e->labels; i++) {
        e->size[i] = -1;
        last[i] = -1;
    }
    e->start[0] = 0;
    for (int i = 0; i < e->count; i++) {
        BP__TRY(take_operand(e, source, n, i, &operands[i], last));
    }
    return make_output(e, source, n);
}

bp_status bp__einsum_resolve(bp__einsum *e, const bp__source *source, const bp_einsum_operand *operands) {
    numbering n = {.table = NULL};
    int64_t dimensions;
    *e = (bp__einsum){.count = source->count};
    BP__TRY(count_dimensions(source, operands, &n.ellipsis, &dimensions));
    bp_status status = number_labels(&n, source);
    if (status == BP_OK) {
        e->labels = n.names + n.ellipsis;
        int written = source->token_count - input_tokens(source) + n.ellipsis;
        status = reserve(e, dimensions, written > e->labels ? written : e->labels);
    }
    status = status == BP_OK ? fill(e, source, &n, operands) : status;
    numbering_free(&n);
    if (status != BP_OK) {
        bp__einsum_free(e);
    }
    return status;
}

void bp__einsum_free(bp__einsum *e) {
    bp__free(e->memory);
    e->memory = NULL;
}
