/* pad.c - random padding, flips and rolls. Results are equal in all layouts, with all settings. */
#include "backplane/pad.h"

#include "../../support/named.h"
#include "trial.h"

enum { PAD, FLIP, ROLL };

static struct {
    int op, mode, count;
    int axes[BP_MAX_NDIM];
    int64_t before[BP_MAX_NDIM], after[BP_MAX_NDIM];
    bool all;
    double value;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16,  BP_BF16, BP_I32, BP_I64,
                                 BP_I8,  BP_U8,  BP_BOOL, BP_C64,  BP_C128};

static void draw_pad(trial *t, const DLTensor *input, int64_t *out) {
    source *s = &t->source;
    int rank;
    p.mode = (int)draw_wild(s, draw(s, 4));
    p.count = (int)draw_wild(s, draw(s, input->ndim + 1));
    p.value = p.mode == 0 || chance(s, 20) ? draw(s, 3) : 0;
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        const int d = input->ndim - p.count + i;
        const int64_t most = d >= 0 && d < input->ndim ? input->shape[d] : 0;
        p.before[i] = draw_wild(s, draw(s, (int)(most < 5 ? most : 5) + 1) - chance(s, 4));
        p.after[i] = draw_wild(s, draw(s, (int)(most < 5 ? most : 5) + 1) - chance(s, 4));
    }
    if (bp_pad_shape((bp_pad_mode)p.mode, input, p.count, p.before, p.after, &rank, out) != BP_OK) {
        t->invalid = true;
    }
    for (int d = 0; d < input->ndim && !t->invalid; d++) {
        t->invalid = out[d] > 10000;
    }
}

static void draw_axes(source *s, int ndim) {
    p.count = 0;
    p.all = p.op == FLIP && chance(s, 4);
    for (int d = 0; d < ndim && !p.all; d++) {
        if (draw(s, 2)) {
            p.before[p.count] = draw_wild(s, draw(s, 30) - 15);
            p.axes[p.count++] = (int)draw_wild(s, draw(s, 2) ? d : d - ndim);
        }
    }
}

static void make(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], out[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, BP__COUNT(types), types);
    const int ndim = draw(s, 5);
    for (int d = 0; d < ndim; d++) {
        out[d] = shape[d] = draw_size(s, d == ndim - 1 ? 60 : 6);
    }
    operand *x = add(t, "input", type, ndim, shape);
    DLTensor input = x->tensor;
    input.shape = x->shape;
    p.op = draw(s, 3);
    if (p.op == PAD) {
        draw_pad(t, &input, out);
    } else {
        draw_axes(s, ndim);
    }
    if (!t->invalid) {
        add_output(t, "output", type, ndim, out, 0);
    }
    describe(t, "%s mode %d, %d amounts %d %d %d %d", ((const char *const[]){"pad", "flip", "roll"})[p.op], p.mode,
             p.all ? -1 : p.count, (int)p.before[0], (int)p.after[0], (int)p.before[1], (int)p.after[1]);
}

/* Plans and explanations are asked for by name (calls.h). */
static bp_status call_named(const trial *t, request what, const bp_options *set, void *made) {
    static const char *const names[] = {"pad", "flip", "roll"};
    named_call n;
    named_begin(&n, names[p.op]);
    named_int(&n, p.op == PAD ? "ndim" : "axis_count", p.count);
    if (p.op == PAD) {
        named_int(&n, "mode", p.mode);
        named_real(&n, "value", p.value);
        named_pointer(&n, "before", p.before);
        named_pointer(&n, "after", p.after);
    } else {
        named_pointer(&n, "axes", p.all ? NULL : p.axes);
    }
    if (p.op == ROLL) {
        named_pointer(&n, "shifts", p.before);
    }
    named_operands(&n, (const DLTensor *const *)t->tensor);
    return request_described(t, what, names[p.op], &n.arguments, set, made);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    DLTensor *const *x = t->tensor;
    if (what != RUN) {
        return call_named(t, what, set, made);
    }
    switch (p.op) {
    case PAD:
        return bp_pad_run(set, (bp_pad_mode)p.mode, x[0], p.count, p.before, p.after, p.value, x[1]);
    case FLIP:
        return bp_flip_run(set, x[0], p.count, p.all ? NULL : p.axes, x[1]);
    default:
        return bp_roll_run(set, x[0], p.count, p.axes, p.before, x[1]);
    }
}

const family family_pad = {"pad", NULL, make, call, NULL, false};
