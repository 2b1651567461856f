/* einsum.c - random contractions of small integers, so that all sums are exact. */
#include "../../support/named.h"
#include "trial.h"

#include <stdio.h>

enum { LABELS = 6, MOST_INPUTS = 4 };

static struct {
    char expression[64];
    int inputs;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128, BP_F16};

/* Draws the labels of one operand; they may repeat. Returns their number. */
static int draw_labels(source *s, const int64_t *size, char *letters, int64_t *shape) {
    const int ndim = draw(s, 4);
    for (int d = 0; d < ndim; d++) {
        const int label = draw(s, LABELS);
        letters[d] = (char)('a' + label);
        shape[d] = size[label];
    }
    letters[ndim] = '\0';
    return ndim;
}

/* Draws the labels of the output, each once, from the labels of the inputs. */
static int draw_output(source *s, const char *all, const int64_t *size, char *letters, int64_t *shape) {
    int ndim = 0;
    for (int i = 0; i < LABELS; i++) {
        const int label = (i * 5 + 2) % LABELS;
        if (strchr(all, 'a' + label) && draw(s, 2)) {
            letters[ndim] = (char)('a' + label);
            shape[ndim++] = size[label];
        }
    }
    letters[ndim] = '\0';
    return ndim;
}

static void make(trial *t) {
    static const char *const names[] = {"x", "y", "z", "w"};
    source *s = &t->source;
    int64_t size[LABELS], shape[BP_MAX_NDIM];
    char letters[8], all[48] = "";
    const bp_dtype type = draw_type(s, 4 + (int)chance(s, 4), types);
    p.inputs = 1 + draw(s, MOST_INPUTS);
    p.expression[0] = '\0';
    for (int i = 0; i < LABELS; i++) {
        size[i] = draw_size(s, 5);
    }
    for (int i = 0; i < p.inputs; i++) {
        const int ndim = draw_labels(s, size, letters, shape);
        add(t, names[i], type, ndim, shape);
        snprintf(p.expression + strlen(p.expression), 16, "%s%s", i > 0 ? "," : "", letters);
        strcat(all, letters);
    }
    const int ndim = draw_output(s, all, size, letters, shape);
    snprintf(p.expression + strlen(p.expression), 16, "->%s", letters);
    add_output(t, "output", type, ndim, shape, type == BP_F16 || p.inputs > 2 ? 64 : 0);
    t->late = BP_E_NO_MEMORY;
    describe(t, "%s", p.expression);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const bp_einsum_call c = {.struct_size = sizeof c,
                              .expression = p.expression,
                              .count = p.inputs,
                              .operands = (const DLTensor *const *)t->tensor};
    DLTensor *out = t->tensor[p.inputs];
    if (what == RUN) {
        return bp_einsum_run(set, &c, out);
    }
    /* Plans and explanations are asked for by name (calls.h). */
    named_call n;
    named_begin(&n, "einsum");
    named_pointer(&n, "expression", p.expression);
    named_int(&n, "count", p.inputs);
    named_pointer(&n, "operands", t->tensor);
    named_pointer(&n, "output", out);
    return request_described(t, what, "einsum", &n.arguments, set, made);
}

const family family_einsum = {"einsum", "blas.preferred", make, call, NULL, false};
