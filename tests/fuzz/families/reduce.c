/* reduce.c - random reductions, variances, softmax and its gradient. */
#include "../../support/named.h"
#include "trial.h"

enum { REDUCE, VARIANCE, SOFTMAX, BACKWARD };

static const char *const names[] = {"reduce", "variance", "softmax", "softmax_backward"};

static struct {
    int op, kind, keep;
    int axis, axes[BP_MAX_NDIM], axis_count;
    bool all;
    double correction;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64, BP_BOOL};

static void draw_reduce(trial *t, const int64_t *shape, int ndim) {
    source *s = &t->source;
    static const double corrections[] = {1, 0, -2, 0.5};
    const bp_dtype type = draw_type(s, p.op == VARIANCE ? 4 : 7, types);
    int64_t out[BP_MAX_NDIM];
    int out_ndim;
    operand *x = add(t, "input", type, ndim, shape);
    p.axis_count = 0;
    p.all = chance(s, 4);
    for (int d = 0; d < ndim && !p.all; d++) {
        if (draw(s, 2)) {
            p.axes[p.axis_count++] = (int)draw_wild(s, draw(s, 2) ? d : d - ndim);
        }
    }
    p.kind = (int)draw_wild(s, p.op == VARIANCE ? draw(s, 2) : type == BP_BOOL ? 7 + draw(s, 2) : draw(s, 9));
    p.correction = chance(s, 20) ? NAN : corrections[draw(s, 4)];
    p.keep = draw(s, 2);
    DLTensor input = x->tensor;
    input.shape = x->shape;
    if (bp_reduce_shape(&input, p.axis_count, p.all ? NULL : p.axes, p.keep, &out_ndim, out) != BP_OK) {
        t->invalid = true;
        return;
    }
    /* Sums and products of a few numbers have hardly an error in f64; squares of deviations are rounded each. */
    const double units = p.op == VARIANCE && type == BP_F64 ? 2. * (2. * (double)count_of(x) + 32) : 8;
    const bool joins = p.op == REDUCE;
    const bool places = joins && (p.kind == BP_REDUCE_ARGMAX || p.kind == BP_REDUCE_ARGMIN);
    const bool truth = joins && (p.kind == BP_REDUCE_ANY || p.kind == BP_REDUCE_ALL);
    add_output(t, "output",
               places  ? BP_I64
               : truth ? BP_BOOL
                       : type,
               out_ndim, out, is_float(type) && !places && !truth ? units : 0);
}

static void draw_softmax(trial *t, const int64_t *shape, int ndim) {
    source *s = &t->source;
    const bp_dtype type = draw_type(s, 4, types);
    p.kind = (int)draw_wild(s, draw(s, 2));
    p.axis = (int)draw_wild(s, ndim > 0 ? draw(s, 2 * ndim) - ndim : 0);
    add(t, p.op == SOFTMAX ? "input" : "output", type, ndim, shape)->content = FRACTIONS;
    if (p.op == BACKWARD) {
        add(t, "output_gradient", type, ndim, shape)->content = FRACTIONS;
    }
    add_output(t, "result", type, ndim, shape, 64);
}

static void make(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const int ndim = draw(s, 5);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 60 : 6);
    }
    p.op = draw(s, 4);
    (p.op <= VARIANCE ? draw_reduce : draw_softmax)(t, shape, ndim);
    describe(t, "%s kind %d axis %d, %d axes %d %d %d, keep %d, correction %g", names[p.op], p.kind, p.axis,
             p.all ? -1 : p.axis_count, p.axes[0], p.axes[1], p.axes[2], p.keep, p.correction);
}

/* Plans and explanations are asked for by name (calls.h). */
static bp_status call_named(const trial *t, request what, const bp_options *set, void *made) {
    named_call n;
    named_begin(&n, names[p.op]);
    named_int(&n, "kind", p.kind);
    if (p.op == VARIANCE) {
        named_real(&n, "correction", p.correction);
    }
    if (p.op <= VARIANCE) {
        named_int(&n, "axis_count", p.axis_count);
        named_int(&n, "keep", p.keep);
        named_pointer(&n, "axes", p.all ? NULL : p.axes);
    } else {
        named_int(&n, "axis", p.axis);
    }
    named_operands(&n, (const DLTensor *const *)t->tensor);
    return request_described(t, what, names[p.op], &n.arguments, set, made);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    DLTensor *const *x = t->tensor;
    const bp_softmax_kind kind = (bp_softmax_kind)p.kind;
    if (what != RUN) {
        return call_named(t, what, set, made);
    }
    switch (p.op) {
    case REDUCE:
        return bp_reduce_run(set, (bp_reduce_kind)p.kind, x[0], p.axis_count, p.all ? NULL : p.axes, p.keep, x[1]);
    case VARIANCE:
        return bp_variance_run(set, (bp_variance_kind)p.kind, x[0], p.axis_count, p.all ? NULL : p.axes, p.correction,
                               p.keep, x[1]);
    case SOFTMAX:
        return bp_softmax_run(set, kind, x[0], p.axis, x[1]);
    default:
        return bp_softmax_backward_run(set, kind, x[0], x[1], p.axis, x[2]);
    }
}

const family family_reduce = {"reduce", NULL, make, call, NULL, false};
