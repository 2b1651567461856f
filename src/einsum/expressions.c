/* expressions.c - writes labels as letters, and the expression of each step.
 *
 * The path is followed again for this, because most paths are never shown. */
#include "einsum/internal.h"

#include <string.h>

#define LETTERS 52
#define MOST_LEFT 20 /* operands; the remaining expression is shown up to this number */

static char letter_of(int32_t name) {
    return (char)(name < 26 ? 'A' + name : 'a' + name - 26);
}

/* Returns a letter for a dimension of the ellipsis. The expression does not use it; letters are assigned from the last
 * dimension on. */
static int32_t free_letter(const bp__einsum *e, int32_t which) {
    uint64_t used = 0;
    for (int i = 0; i < e->labels; i++) {
        used |= e->name[i] >= 0 && e->name[i] < LETTERS ? (uint64_t)1 << e->name[i] : 0;
    }
    for (int32_t letter = LETTERS - 1; letter >= 0; letter--) {
        if (!(used >> letter & 1) && which-- == 0) {
            return letter;
        }
    }
    return -1;
}

void bp__label_add(bp__text *text, const bp__einsum *e, int32_t label) {
    int32_t name = e->name[label];
    int32_t letter = name >= LETTERS ? -1 : name >= 0 ? name : free_letter(e, -1 - name);
    if (letter >= 0) {
        char c = letter_of(letter);
        bp__text_add_n(text, &c, 1);
    } else if (name >= 0) {
        bp__text_addf(text, "{%d}", name);
    } else {
        bp__text_addf(text, "{...%d}", -1 - name);
    }
}

/* ---- Following the path ---- */

typedef struct writer {
    const bp_contraction_path *path;
    bp__expressions *out;
    int32_t *uses;  /* of each label: operands and results that have it, plus the output */
    int32_t *count; /* of each label: operands of the current step that have it */
    int32_t *label; /* labels of the results, in the order of the steps */
    size_t labels, capacity;
    size_t *first; /* of each identity, with one more at the end */
    bp__operand_list *list;
    void *memory;
} writer;

static bool has_dimension(const bp__einsum *e, int32_t dimension) {
    /* A dimension that broadcasts does not count as having the label. */
    return e->dim[dimension] == e->size[e->label[dimension]];
}

static bool is_first(const bp__einsum *e, int operand, int32_t dimension) {
    for (int32_t i = e->start[operand]; i < dimension; i++) {
        if (e->label[i] == e->label[dimension]) {
            return false;
        }
    }
    return true;
}

static bool writer_begin(writer *w) {
    const bp__einsum *e = &w->path->einsum;
    size_t labels = (size_t)e->labels, steps = (size_t)w->path->steps.count;
    w->memory = bp__alloc_zero(1, (steps + 1) * sizeof(size_t) + 2 * labels * sizeof(int32_t));
    w->list = bp__operand_list_new(e->count, w->path->steps.count);
    if (!w->memory || !w->list) {
        return false;
    }
    w->first = w->memory;
    w->uses = (int32_t *)(w->first + steps + 1);
    w->count = w->uses + labels;
    for (int t = 0; t < e->count; t++) {
        for (int32_t d = e->start[t]; d < e->start[t + 1]; d++) {
            w->uses[e->label[d]] += has_dimension(e, d) && is_first(e, t, d);
        }
    }
    for (int i = 0; i < e->output_ndim; i++) {
        w->uses[e->output[i]]++;
    }
    return true;
}

static void writer_end(writer *w) {
    bp__free(w->memory);
    bp__free(w->label);
    bp__free(w->list);
}

static bool keep_label(writer *w, int32_t label) {
    if (w->labels == w->capacity) {
        size_t more = w->capacity * 2 + 256;
        int32_t *grown = bp__realloc(w->label, more * sizeof *grown);
        if (!grown) {
            return false;
        }
        w->label = grown;
        w->capacity = more;
    }
    w->label[w->labels++] = label;
    return true;
}

/* Returns the labels of an operand or a result, as written. The pointer may be NULL if there are none. */
static const int32_t *labels_of(const writer *w, int32_t id, size_t *count) {
    const bp__einsum *e = &w->path->einsum;
    if (id < e->count) {
        *count = (size_t)(e->start[id + 1] - e->start[id]);
        return *count > 0 ? e->label + e->start[id] : NULL;
    }
    size_t *first = w->first + (id - e->count);
    *count = first[1] - first[0];
    return *count > 0 ? w->label + first[0] : NULL;
}

static void write_labels(writer *w, int32_t id) {
    size_t count;
    const int32_t *labels = labels_of(w, id, &count);
    for (size_t i = 0; i < count; i++) {
        bp__label_add(&w->out->text, &w->path->einsum, labels[i]);
    }
}

static void write_output(writer *w) {
    const bp__einsum *e = &w->path->einsum;
    for (int i = 0; i < e->output_ndim; i++) {
        bp__label_add(&w->out->text, e, e->output[i]);
    }
}

static void count_labels(writer *w, int32_t id) {
    const bp__einsum *e = &w->path->einsum;
    size_t count;
    const int32_t *labels = labels_of(w, id, &count);
    for (size_t i = 0; i < count; i++) {
        int32_t d = id < e->count ? e->start[id] + (int32_t)i : -1;
        w->count[labels[i]] += d < 0 || (has_dimension(e, d) && is_first(e, id, d));
    }
}

/* Adds an operand's remaining labels to the result. */
static bool pass_labels(writer *w, int32_t id) {
    size_t count;
    labels_of(w, id, &count);
    for (size_t i = 0; i < count; i++) {
        int32_t label = labels_of(w, id, &count)[i], held = w->count[label];
        w->count[label] = 0;
        if (held > 0 && w->uses[label] != held) {
            w->uses[label] -= held - 1;
            if (!keep_label(w, label)) {
                return false;
            }
        }
    }
    return true;
}

static bool make_result(writer *w, int step, const int32_t *id, int count) {
    const bp__einsum *e = &w->path->einsum;
    w->first[step] = w->labels;
    if (step == w->path->steps.count - 1) { /* the last step has the output's own order */
        for (int i = 0; i < e->output_ndim; i++) {
            if (!keep_label(w, e->output[i])) {
                return false;
            }
        }
    } else {
        for (int k = 0; k < count; k++) {
            count_labels(w, id[k]);
        }
        for (int k = 0; k < count; k++) {
            if (!pass_labels(w, id[k])) {
                return false;
            }
        }
    }
    w->first[step + 1] = w->labels;
    return true;
}

static void write_left(writer *w, int step) {
    int32_t left = bp__operand_list_length(w->list);
    if (left > MOST_LEFT) {
        w->out->left[step] = SIZE_MAX;
        return;
    }
    w->out->left[step] = w->out->text.length;
    for (int32_t i = 0; i < left; i++) {
        bp__text_add(&w->out->text, i ? "," : "");
        write_labels(w, bp__operand_list_at(w->list, i));
    }
    bp__text_add(&w->out->text, "->");
    write_output(w);
    bp__text_add_n(&w->out->text, "", 1);
}

static bool write_step(writer *w, int step) {
    const bp__step *s = &w->path->steps.step[step];
    int32_t id[2] = {s->id.b < 0 ? s->id.a : s->id.b, s->id.a}; /* the larger position first */
    int count = s->id.b < 0 ? 1 : 2;
    w->out->at[step] = w->out->text.length;
    for (int k = 0; k < count; k++) {
        bp__text_add(&w->out->text, k ? "," : "");
        write_labels(w, id[k]);
    }
    if (!make_result(w, step, id, count)) {
        return false;
    }
    bp__text_add(&w->out->text, "->");
    for (int k = 0; k < count; k++) {
        bp__operand_list_take(w->list, id[k]);
    }
    bp__operand_list_append(w->list);
    write_labels(w, w->path->einsum.count + step);
    bp__text_add_n(&w->out->text, "", 1);
    write_left(w, step);
    return true;
}

static bp__expressions *write_all(const bp_contraction_path *path) {
    writer w = {.path = path};
    size_t steps = (size_t)path->steps.count;
    w.out = bp__alloc_zero(1, sizeof *w.out + 2 * steps * sizeof(size_t));
    if (!w.out) {
        return NULL;
    }
    w.out->at = (size_t *)(w.out + 1);
    w.out->left = w.out->at + steps;
    bool fine = writer_begin(&w);
    for (int i = 0; fine && i < path->steps.count; i++) {
        fine = write_step(&w, i);
    }
    writer_end(&w);
    if (!fine || w.out->text.failed) {
        bp__expressions_free(w.out);
        return NULL;
    }
    return w.out;
}

void bp__expressions_free(bp__expressions *expressions) {
    if (expressions) {
        bp__text_free(&expressions->text);
        bp__free(expressions);
    }
}

/* The first thread that makes the expressions publishes them; other threads free their own. */
const bp__expressions *bp__path_expressions(const bp_contraction_path *given) {
    bp_contraction_path *path = (bp_contraction_path *)(uintptr_t)given;
    bp__expressions *there = atomic_load_explicit(&path->expressions, memory_order_acquire);
    bp__expressions *made = there ? NULL : write_all(path);
    if (made && !atomic_compare_exchange_strong(&path->expressions, &there, made)) {
        bp__expressions_free(made);
        made = there;
    }
    return made ? made : there;
}
