/* gemm.c - random matrix products. Numbers are small integers, so that all sums are exact. */
#include "../../support/named.h"
#include "trial.h"

enum { MATMUL, GEMM };

static struct {
    int kind, transform[2];
    bp_scalar alpha, beta;
    bool has_alpha, has_beta;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128, BP_F16, BP_BF16, BP_I8, BP_U8};

static bp_scalar draw_scalar(source *s, bp_dtype dtype) {
    static const double values[] = {1, 0, 2, -1, 0.5};
    const double re = values[draw(s, 5)], im = is_complex(dtype) ? values[draw(s, 5)] : 0;
    return (bp_scalar){re, im};
}

/* Draws a batch that broadcasts to the batch of the result. */
static int draw_batch(source *s, int64_t *shape, int ndim, const int64_t *whole) {
    const int less = ndim > 0 ? draw(s, ndim + 1) * (int)chance(s, 3) : 0;
    for (int d = less; d < ndim; d++) {
        shape[d - less] = chance(s, 4) ? 1 : whole[d];
    }
    return ndim - less;
}

static int64_t wrong_size(source *s, int64_t size) {
    return s->wild && chance(s, 6) ? size + 1 : size;
}

static void draw_matmul(trial *t, bp_dtype a_type, bp_dtype b_type) {
    source *s = &t->source;
    int64_t batch[3], shape[2][5], out[5];
    const int ndim = draw(s, 4);
    int rank[2], out_ndim;
    for (int d = 0; d < ndim; d++) {
        batch[d] = draw_size(s, 4);
    }
    const int64_t m = draw_size(s, 40), n = draw_size(s, 140), k = draw_size(s, 40);
    for (int i = 0; i < 2; i++) {
        rank[i] = draw_batch(s, shape[i], ndim, batch);
        if (rank[i] == 0 && chance(s, 3)) { /* a vector */
            shape[i][rank[i]++] = k;
            continue;
        }
        shape[i][rank[i]++] = i == 0 ? m : wrong_size(s, k);
        shape[i][rank[i]++] = i == 0 ? k : n;
    }
    const operand *a = add(t, "a", a_type, rank[0], shape[0]), *b = add(t, "b", b_type, rank[1], shape[1]);
    DLTensor x = a->tensor, y = b->tensor;
    x.shape = shape[0];
    y.shape = shape[1];
    if (bp_matmul_shape(&x, &y, &out_ndim, out) != BP_OK) {
        t->invalid = true;
        return;
    }
    add_output(t, "out", bp_matmul_dtype(&x, &y), out_ndim, out, 0);
}

static void draw_gemm(trial *t, bp_dtype a_type, bp_dtype b_type) {
    source *s = &t->source;
    const int64_t m = draw_size(s, 60), n = draw_size(s, 140), k = draw_size(s, 60);
    p.transform[0] = (int)draw_wild(s, draw(s, 4));
    p.transform[1] = (int)draw_wild(s, draw(s, 4));
    const bool turned[] = {p.transform[0] == BP_TRANSPOSE || p.transform[0] == BP_CONJUGATE_TRANSPOSE,
                           p.transform[1] == BP_TRANSPOSE || p.transform[1] == BP_CONJUGATE_TRANSPOSE};
    add(t, "a", a_type, 2, turned[0] ? (const int64_t[]){k, m} : (const int64_t[]){m, k});
    add(t, "b", b_type, 2, turned[1] ? (const int64_t[]){n, k} : (const int64_t[]){k, n});
    operand *c =
        add_output(t, "c", a_type == BP_I8 || a_type == BP_U8 ? BP_I32 : a_type, 2, (const int64_t[]){m, n}, 0);
    p.has_alpha = draw(s, 2);
    p.has_beta = draw(s, 2);
    p.alpha = draw_scalar(s, a_type);
    p.beta = draw_scalar(s, a_type);
    c->kept = p.has_beta && (p.beta.re != 0 || p.beta.im != 0);
}

static void make(trial *t) {
    source *s = &t->source;
    const bp_dtype a = draw_type(s, 8, types);
    const bp_dtype b = a == BP_I8 || a == BP_U8 ? (draw(s, 2) ? BP_I8 : BP_U8) : a;
    p.kind = draw(s, 2);
    p.has_alpha = p.has_beta = false;
    (p.kind == MATMUL ? draw_matmul : draw_gemm)(t, a, b);
    describe(t, p.kind == MATMUL ? "matmul" : "gemm transforms %d %d, alpha %d %g%+gi, beta %d %g%+gi", p.transform[0],
             p.transform[1], p.has_alpha, p.alpha.re, p.alpha.im, p.has_beta, p.beta.re, p.beta.im);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const DLTensor *a = t->tensor[0], *b = t->tensor[1];
    DLTensor *c = t->tensor[2];
    const bp_transform ta = (bp_transform)p.transform[0], tb = (bp_transform)p.transform[1];
    const bp_scalar *alpha = p.has_alpha ? &p.alpha : NULL, *beta = p.has_beta ? &p.beta : NULL;
    if (what == RUN) {
        return p.kind == MATMUL ? bp_matmul_run(set, a, b, c) : bp_gemm_run(set, ta, tb, alpha, a, b, beta, c);
    }
    if (what == PLAN && p.kind != MATMUL && (alpha || beta)) {
        return BP_E_UNSUPPORTED; /* the plan needs the scalars again */
    }
    /* Plans and explanations are asked for by name (calls.h). */
    const char *name = p.kind == MATMUL ? "matmul" : "gemm";
    named_call n;
    named_begin(&n, name);
    if (p.kind != MATMUL) {
        named_int(&n, "transform_a", (int)ta);
        named_int(&n, "transform_b", (int)tb);
        named_pointer(&n, "alpha", alpha);
        named_pointer(&n, "beta", beta);
    }
    named_operands(&n, (const DLTensor *const *)t->tensor);
    return request_described(t, what, name, &n.arguments, set, made);
}

const family family_gemm = {"gemm", "blas.preferred", make, call, NULL, false};
