/* attention.c - random attention, with masks, groups of heads, dropout, softcaps, windows, lengths and pages, and its
 * gradients. */
#include "trial.h"

static bp_attention_call attention;
static bool is_paged, is_counted; /* has lengths alone */

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

typedef struct sizes {
    int64_t lead[2], l, s, e, v;
    int count; /* of the leading dimensions */
} sizes;

/* Draws the leading dimensions of a tensor, and adds the last two. Returns the rank. */
static int shape_of(source *s, const sizes *n, int64_t rows, int64_t columns, bool broadcasts, int64_t *shape) {
    for (int d = 0; d < n->count; d++) {
        shape[d] = broadcasts && chance(s, 6) ? 1 : n->lead[d];
    }
    shape[n->count] = rows;
    shape[n->count + 1] = columns;
    return n->count + 2;
}

static operand *add_fractions(trial *t, const char *name, bp_dtype type, int ndim, const int64_t *shape) {
    operand *o = add(t, name, type, ndim, shape);
    o->content = FRACTIONS;
    return o;
}

static void add_mask(trial *t, const sizes *n, bp_dtype type) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const int ndim = shape_of(s, n, chance(s, 3) ? 1 : n->l, chance(s, 6) ? 1 : n->s, true, shape);
    const int less = chance(s, 3) ? draw(s, n->count + 1) : 0;
    if (attention.is_causal || !draw(s, 2)) {
        add_absent(t);
        return;
    }
    add_fractions(t, "mask", chance(s, 3) ? BP_BOOL : chance(s, 3) ? BP_F32 : type, ndim - less, shape + less);
}

static void add_seed(trial *t) {
    attention.dropout = chance(&t->source, 5) ? 0.25 * draw(&t->source, 5) : 0;
    if (attention.dropout > 0) {
        add(t, "seed", BP_I64, 1, (const int64_t[]){2});
    } else {
        add_absent(t);
    }
}

static void add_gradient(trial *t, bool present, const char *name, int of) {
    const operand *o = &t->operand[of];
    if (present && t->tensor[of]) {
        add_output(t, name, o->dtype, o->tensor.ndim, o->shape, 2048);
    } else {
        add_absent(t);
    }
}

static void add_rest(trial *t, const sizes *n, bp_dtype type, int first) {
    static const char *const names[] = {"query_gradient", "key_gradient", "value_gradient", "mask_gradient"};
    source *s = &t->source;
    const bp_dtype wide = type == BP_F64 ? BP_F64 : BP_F32;
    int64_t shape[BP_MAX_NDIM];
    const int ndim = shape_of(s, n, n->l, n->v, false, shape);
    if (attention.pass == BP_ATTENTION_FORWARD) {
        add_output(t, "output", type, ndim, shape, 256);
        if (draw(s, 2)) {
            add_output(t, "logsumexp", wide, ndim - 1, shape, 256);
        } else {
            add_absent(t);
        }
        return;
    }
    add_fractions(t, "output", type, ndim, shape)->distinct = true;
    add_fractions(t, "logsumexp", wide, ndim - 1, shape)->distinct = true;
    for (int i = 0; i < 4; i++) {
        const bool real = i < 3 || (t->tensor[first + 3] && t->operand[first + 3].dtype != BP_BOOL);
        add_gradient(t, real && draw(s, 2), names[i], first + i);
    }
}

static int64_t draw_side(source *s) {
    return chance(s, 3) ? -1 : draw(s, 45);
}

/* Draws which keys a query sees, and how scores are limited. */
static void draw_limits(source *s) {
    attention.softcap = chance(s, 3) ? 0.5 * (1 + draw(s, 8)) : 0;
    attention.has_window = chance(s, 3);
    attention.window_left = attention.has_window ? draw_side(s) : 0;
    attention.window_right = attention.has_window ? draw_side(s) : 0;
    attention.lower_right = (attention.is_causal || attention.has_window) && draw(s, 2);
}

static void make_plain(trial *t, bp_dtype type) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    sizes n = {{draw_size(s, 3), draw_size(s, 3)},
               draw_size(s, 20),
               draw_size(s, 40),
               draw_size(s, 20),
               draw_size(s, 20),
               draw(s, 3)};
    const bool backward = attention.pass == BP_ATTENTION_BACKWARD;
    int first = 0, ndim;
    attention.is_causal = chance(s, 4);
    attention.enable_gqa = n.count == 2 && chance(s, 4);
    is_counted = n.count > 0 && chance(s, 3);
    draw_limits(s);
    if (backward) {
        ndim = shape_of(s, &n, n.l, n.v, false, shape);
        add_fractions(t, "output_gradient", type, ndim, shape);
        first = 1;
    }
    ndim = shape_of(s, &n, n.l, n.e, false, shape);
    add_fractions(t, "query", type, ndim, shape);
    ndim = shape_of(s, &n, n.s, n.e, true, shape);
    add_fractions(t, "key", type, ndim, shape);
    ndim = shape_of(s, &n, n.s, n.v, true, shape);
    add_fractions(t, "value", type, ndim, shape);
    add_mask(t, &n, type);
    add_seed(t);
    if (is_counted) {
        operand *o = add(t, "lengths", draw(s, 2) ? BP_I32 : BP_I64, 1, n.lead);
        o->content = INDICES;
        o->limit = n.s + 1;
    }
    add_rest(t, &n, type, first);
}

static void make_paged(trial *t, bp_dtype type) {
    source *s = &t->source;
    const int64_t batch = draw_size(s, 3), heads = 1 + draw(s, 3), rows = 1 + draw(s, 8), pages = draw_size(s, 6),
                  most = draw_size(s, 4), l = draw_size(s, 5), e = draw_size(s, 20), v = draw_size(s, 20);
    const bp_dtype index = draw(s, 2) ? BP_I32 : BP_I64;
    is_paged = true;
    attention.pass = BP_ATTENTION_FORWARD;
    attention.is_causal = draw(s, 2);
    draw_limits(s);
    add_fractions(t, "query", type, 4, (const int64_t[]){batch, heads, l, e});
    add_fractions(t, "key", type, 4, (const int64_t[]){pages, rows, heads, e});
    add_fractions(t, "value", type, 4, (const int64_t[]){pages, rows, heads, v});
    add_absent(t);
    add_absent(t);
    attention.dropout = 0;
    for (int i = 0; i < 2; i++) {
        operand *o = add(t, i == 0 ? "pages" : "lengths", index, 2 - i, (const int64_t[]){batch, most});
        o->content = INDICES;
        o->limit = i == 0 ? pages : most * rows + 1;
    }
    add_output(t, "output", type, 4, (const int64_t[]){batch, heads, l, v}, 256);
    if (draw(s, 2)) {
        add_output(t, "logsumexp", type == BP_F64 ? BP_F64 : BP_F32, 3, (const int64_t[]){batch, heads, l}, 256);
    } else {
        add_absent(t);
    }
}

static void make(trial *t) {
    source *s = &t->source;
    const bp_dtype type = draw_type(s, 4, types);
    attention = (bp_attention_call){.struct_size = sizeof attention, .pass = (bp_attention_pass)draw(s, 2)};
    is_paged = is_counted = false;
    attention.has_scale = chance(s, 3);
    attention.scale = attention.has_scale ? 0.5 : 0;
    (chance(s, 4) ? make_paged : make_plain)(t, type);
    describe(t,
             "attention pass %d causal %d gqa %d scale %d dropout %g paged %d counted %d softcap %g window %d %d %d%s",
             (int)attention.pass, attention.is_causal, attention.enable_gqa, attention.has_scale, attention.dropout,
             is_paged, is_counted, attention.softcap, attention.has_window, (int)attention.window_left,
             (int)attention.window_right, attention.lower_right ? " lower right" : "");
}

/* Writes output and logsumexp, for the gradients. */
static void prepare(const trial *t) {
    DLTensor *const *x = t->tensor + 1;
    bp_attention_call c = attention;
    if (c.pass != BP_ATTENTION_BACKWARD) {
        return;
    }
    c.pass = BP_ATTENTION_FORWARD;
    c.query = x[0], c.key = x[1], c.value = x[2], c.mask = x[3], c.seed = x[4];
    c.lengths = is_counted ? x[5] : NULL;
    x += is_counted;
    c.output = x[5], c.logsumexp = x[6];
    bp_attention_run(NULL, &c);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    bp_attention_call c = attention;
    DLTensor *const *x = t->tensor;
    if (c.pass == BP_ATTENTION_BACKWARD) {
        c.output_gradient = *x++;
    }
    c.query = x[0], c.key = x[1], c.value = x[2], c.mask = x[3], c.seed = x[4];
    x += 5;
    c.pages = is_paged ? *x++ : NULL;
    c.lengths = is_paged || is_counted ? *x++ : NULL;
    c.output = x[0], c.logsumexp = x[1];
    if (c.pass == BP_ATTENTION_BACKWARD) {
        c.query_gradient = x[2], c.key_gradient = x[3], c.value_gradient = x[4], c.mask_gradient = x[5];
    }
    return what == RUN ? bp_attention_run(set, &c) : request_described(t, what, "attention", &c, set, made);
}

const family family_attention = {"attention", NULL, make, call, prepare, false};
