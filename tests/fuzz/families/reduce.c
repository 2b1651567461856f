/* reduce.c - random reductions, softmax and its gradient, and random numbers. */
#include "trial.h"

enum { REDUCE, SOFTMAX, BACKWARD };

static struct {
    int op, kind, keep;
    int32_t axis, axes[BP_MAX_NDIM], axis_count;
    bool all;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64};

static void draw_reduce(trial *t, const int64_t *shape, int ndim) {
    source *s = &t->source;
    const bp_dtype type = draw_type(s, 6, types);
    int64_t out[BP_MAX_NDIM];
    int32_t out_ndim;
    operand *x = add(t, "input", type, ndim, shape);
    p.axis_count = 0;
    p.all = chance(s, 4);
    for (int d = 0; d < ndim && !p.all; d++) {
        if (draw(s, 2)) {
            p.axes[p.axis_count++] = (int32_t)draw_wild(s, draw(s, 2) ? d : d - ndim);
        }
    }
    p.kind = (int)draw_wild(s, draw(s, 7));
    p.keep = draw(s, 2);
    DLTensor input = x->tensor;
    input.shape = x->shape;
    if (bp_reduce_shape(&input, p.all ? NULL : p.axes, p.axis_count, p.keep, &out_ndim, out) != BP_OK) {
        t->invalid = true;
        return;
    }
    const bool places = p.kind == BP_REDUCE_ARGMAX || p.kind == BP_REDUCE_ARGMIN;
    add_output(t, "output", places ? BP_I64 : type, out_ndim, out, is_float(type) && !places ? 8 : 0);
}

static void draw_softmax(trial *t, const int64_t *shape, int ndim) {
    source *s = &t->source;
    const bp_dtype type = draw_type(s, 4, types);
    p.kind = (int)draw_wild(s, draw(s, 2));
    p.axis = (int32_t)draw_wild(s, ndim > 0 ? draw(s, 2 * ndim) - ndim : 0);
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
    p.op = draw(s, 3);
    (p.op == REDUCE ? draw_reduce : draw_softmax)(t, shape, ndim);
    describe(t, "%s kind %d axis %d, %d axes %d %d %d, keep %d",
             ((const char *const[]){"reduce", "softmax", "softmax_backward"})[p.op], p.kind, p.axis,
             p.all ? -1 : p.axis_count, p.axes[0], p.axes[1], p.axes[2], p.keep);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const DLTensor *const *x = t->tensor;
    const int32_t *axes = p.all ? NULL : p.axes;
    const bp_reduce_kind reduce = (bp_reduce_kind)p.kind;
    const bp_softmax_kind kind = (bp_softmax_kind)p.kind;
    switch (p.op) {
    case REDUCE:
        return what == RUN    ? bp_reduce_run(set, reduce, x[0], axes, p.axis_count, p.keep, x[1])
               : what == PLAN ? bp_reduce_plan(made, set, reduce, x[0], axes, p.axis_count, p.keep, x[1])
                              : bp_reduce_explain(made, set, reduce, x[0], axes, p.axis_count, p.keep, x[1]);
    case SOFTMAX:
        return what == RUN    ? bp_softmax_run(set, kind, x[0], p.axis, x[1])
               : what == PLAN ? bp_softmax_plan(made, set, kind, x[0], p.axis, x[1])
                              : bp_softmax_explain(made, set, kind, x[0], p.axis, x[1]);
    default:
        return what == RUN    ? bp_softmax_backward_run(set, kind, x[0], x[1], p.axis, x[2])
               : what == PLAN ? bp_softmax_backward_plan(made, set, kind, x[0], x[1], p.axis, x[2])
                              : bp_softmax_backward_explain(made, set, kind, x[0], x[1], p.axis, x[2]);
    }
}

const family family_reduce = {"reduce", NULL, make, call, NULL};
