/* elementwise.c - random functions of elements, and taking by indices and concatenation. */
#include "../../support/named.h"
#include "trial.h"

enum { UNARY, BINARY, TAKE, GATHER, WHERE, CONCAT, OPS, PARTS = 5 };

static struct {
    int op, kind, axis, parts;
    int number_count; /* UNARY: of those that the call gives */
    double numbers[2];
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64, BP_U8, BP_C64, BP_BOOL};

static int draw_shape(source *s, int least, int64_t *shape) {
    const int ndim = least + draw(s, 5 - least);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 40 : 7);
    }
    return ndim;
}

/* Numbers of a function, mostly as many as it takes or fewer. */
static void draw_numbers(source *s) {
    static const double values[] = {0.5, 1, 0.01, 2, 20, 3, 0, -1, 1e-30, INFINITY, -INFINITY, NAN};
    const int count = bp_unary_number_count((bp_unary_kind)p.kind, NULL);
    p.number_count = count > 0 || chance(s, 20) ? draw(s, chance(s, 20) ? 4 : count + 1) : 0;
    for (int i = 0; i < 2; i++) {
        p.numbers[i] = values[draw(s, chance(s, 4) ? 12 : 6)];
    }
}

static void draw_unary(trial *t, bp_dtype type) {
    int64_t shape[BP_MAX_NDIM];
    draw_numbers(&t->source);
    const int ndim = draw_shape(&t->source, 0, shape);
    const bp_dtype result = bp_unary_dtype((bp_unary_kind)p.kind, type);
    const bp_dtype to = p.kind == BP_UNARY_COPY   ? draw_type(&t->source, 9, types)
                        : result == BP_DTYPE_NONE ? type
                                                  : result;
    add(t, "input", type, ndim, shape)->content = FRACTIONS;
    add_output(t, "output", to, ndim, shape, p.kind == BP_UNARY_COPY || to == BP_BOOL ? 0 : 4);
}

static void draw_binary(trial *t, bp_dtype type) {
    source *s = &t->source;
    int64_t whole[BP_MAX_NDIM], part[BP_MAX_NDIM], shape[BP_MAX_NDIM];
    int ndim = draw_shape(s, 0, whole);
    DLTensor x[2];
    for (int i = 0; i < 2; i++) {
        const int less = ndim > 0 && chance(s, 4) ? draw(s, ndim + 1) : 0;
        for (int d = less; d < ndim; d++) {
            part[d - less] = chance(s, 4) ? 1 : whole[d];
        }
        operand *o = add(t, i == 0 ? "a" : "b", type, ndim - less, part);
        o->content = draw(s, 2) ? INTEGERS : POSITIVE;
        x[i] = o->tensor;
        x[i].shape = o->shape;
    }
    if (bp_binary_shape(&x[0], &x[1], &ndim, shape) != BP_OK) {
        t->invalid = true;
        return;
    }
    const bp_dtype result = bp_binary_dtype((bp_binary_kind)p.kind, type), to = result == BP_DTYPE_NONE ? type : result;
    const bool computed = p.kind == BP_BINARY_POW || p.kind == BP_BINARY_ATAN2;
    add_output(t, "output", to, ndim, shape, is_float(to) ? computed ? 8 : 2 : 0);
}

static void draw_where(trial *t, bp_dtype type) {
    static const char *const names[] = {"condition", "a", "b"};
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    int ndim = draw_shape(s, 0, shape);
    const int whole = draw(s, 3);
    DLTensor x[3];
    for (int i = 0; i < 3; i++) {
        int64_t part[BP_MAX_NDIM];
        const int less = i == whole ? 0 : draw(s, ndim + 1);
        for (int d = less; d < ndim; d++) {
            part[d - less] = i != whole && chance(s, 4) ? 1 : shape[d];
        }
        operand *o = add(t, names[i], i == 0 && !chance(s, 20) ? BP_BOOL : type, ndim - less, part);
        x[i] = o->tensor;
        x[i].shape = o->shape;
    }
    if (bp_where_shape(&x[0], &x[1], &x[2], &ndim, shape) != BP_OK) {
        t->invalid = true;
        return;
    }
    add_output(t, "output", type, ndim, shape, 0);
}

static void draw_indexed(trial *t, bp_dtype type) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], at[BP_MAX_NDIM], out[BP_MAX_NDIM];
    const int ndim = draw_shape(s, 1, shape);
    const int axis = draw(s, ndim);
    int at_ndim = ndim, out_ndim = ndim;
    p.axis = draw(s, 2) ? axis : axis - ndim;
    add(t, "input", type, ndim, shape);
    for (int d = 0; d < ndim; d++) {
        at[d] = d == axis ? draw_size(s, 12) : shape[d] - (shape[d] > 1 && chance(s, 3));
    }
    if (p.op == TAKE) {
        at_ndim = draw(s, 3);
    }
    operand *o = add(t, "indices", draw(s, 2) ? BP_I32 : BP_I64, at_ndim, at);
    o->content = INDICES;
    o->limit = shape[axis];
    memcpy(out, at, sizeof out);
    if (p.op == TAKE) {
        DLTensor x[2] = {t->operand[0].tensor, o->tensor};
        x[0].shape = t->operand[0].shape;
        x[1].shape = o->shape;
        t->invalid |= bp_take_shape(&x[0], &x[1], p.axis, &out_ndim, out) != BP_OK;
    }
    add_output(t, "output", type, out_ndim, out, 0);
}

static void draw_concat(trial *t, bp_dtype type) {
    static const char *const names[PARTS] = {"part 0", "part 1", "part 2", "part 3", "part 4"};
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], length = 0;
    const int ndim = draw_shape(s, 1, shape), axis = draw(s, ndim);
    p.axis = draw(s, 2) ? axis : axis - ndim;
    p.parts = 1 + draw(s, PARTS);
    for (int i = 0; i < p.parts; i++) {
        shape[axis] = draw_size(s, 9);
        length += shape[axis];
        add(t, names[i], type, ndim, shape);
    }
    shape[axis] = length;
    add_output(t, "output", type, ndim, shape, 0);
}

static void make(trial *t) {
    static void (*const draws[])(trial * t, bp_dtype type) = {draw_unary,   draw_binary, draw_indexed,
                                                              draw_indexed, draw_where,  draw_concat};
    source *s = &t->source;
    p.op = draw(s, OPS);
    p.number_count = 0;
    p.kind = (int)draw_wild(s, p.op == UNARY ? draw(s, BP_UNARY_KINDS) : draw(s, BP_BINARY_KINDS));
    draws[p.op](t, draw_type(s, 9, types));
    p.axis = (int)draw_wild(s, p.axis);
    describe(t, "%s kind %d axis %d, %d numbers %g %g",
             ((const char *const[]){"unary", "binary", "take", "gather", "where", "concat"})[p.op], p.kind, p.axis,
             p.number_count, p.numbers[0], p.numbers[1]);
}

/* Plans and explanations are asked for by name (calls.h). */
static bp_status call_named(const trial *t, request what, const bp_options *set, void *made) {
    static const char *const names[] = {"unary", "binary", "take", "gather", "where"};
    named_call n;
    named_begin(&n, names[p.op]);
    if (p.op != WHERE) {
        const bool has_kind = p.op == UNARY || p.op == BINARY;
        named_int(&n, has_kind ? "kind" : "axis", has_kind ? p.kind : p.axis);
    }
    for (int i = 0; i < p.number_count && i < 2; i++) {
        named_pointer(&n, i ? "second" : "first", &p.numbers[i]);
    }
    named_operands(&n, (const DLTensor *const *)t->tensor);
    return request_described(t, what, names[p.op], &n.arguments, set, made);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    DLTensor *const *x = t->tensor;
    if (what != RUN) {
        return p.op == CONCAT ? BP_E_UNSUPPORTED : call_named(t, what, set, made);
    }
    switch (p.op) {
    case UNARY:
        return bp_unary_with_run(set, (bp_unary_kind)p.kind, p.number_count, p.numbers, x[0], x[1]);
    case BINARY:
        return bp_binary_run(set, (bp_binary_kind)p.kind, x[0], x[1], x[2]);
    case WHERE:
        return bp_where_run(set, x[0], x[1], x[2], x[3]);
    case TAKE:
        return bp_take_run(set, x[0], x[1], p.axis, x[2]);
    case GATHER:
        return bp_gather_run(set, x[0], x[1], p.axis, x[2]);
    default:
        return bp_concat_run(set, p.parts, (const DLTensor *const *)x, p.axis, x[p.parts]);
    }
}

const family family_elementwise = {"elementwise", NULL, make, call, NULL, true};
