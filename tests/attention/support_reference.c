/* support_reference.c - computes attention and its gradients one element at a time, in f64, with bounds of the errors
 * that rounding may cause, and compares the results of a case. */
#include "attention/cases.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Dropout ---- */

static uint32_t random_word(const attention_case *c, int64_t row, int64_t key) {
    const uint64_t at = (uint64_t)(row + c->seed[1]), block = (uint64_t)key / 4;
    uint32_t x[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)at, (uint32_t)(at >> 32)};
    uint32_t k0 = (uint32_t)c->seed[0], k1 = (uint32_t)((uint64_t)c->seed[0] >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
        const uint32_t y[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k1,
                               (uint32_t)a};
        memcpy(x, y, sizeof x);
    }
    return x[key % 4];
}

/* What is multiplied with a weight: 0 if it is dropped. */
static double kept(const attention_case *c, int64_t row, int64_t key) {
    const double p = c->shape.dropout;
    return p <= 0 ? 1 : p >= 1 || (double)random_word(c, row, key) < floor(p * 0x1p32) ? 0 : 1 / (1 - p);
}

/* ---- The numbers of a case, in compact order ---- */

typedef struct numbers {
    double *of[BP_ATTENTION_TENSORS];
} numbers;

/* Rounds a number of f32 to bf16, to nearest even. */
static double rounded(double value) {
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = isnan(x) ? bits : (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static numbers numbers_of(const attention_case *c) {
    numbers n = {{NULL}};
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        const strided_tensor *t = &c->tensor[i];
        const int64_t count = t->memory ? strided_elements(t) : 0;
        n.of[i] = calloc((size_t)count + 1, sizeof(double));
        assert_non_null(n.of[i]);
        for (int64_t at = 0; at < count; at++) {
            const double value = strided_get(t, at);
            n.of[i][at] = c->rounds && i <= BP_ATTENTION_VALUE ? rounded(value) : value;
        }
    }
    return n;
}

static void release(numbers *n) {
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        free(n->of[i]);
    }
}

/* Index of the first element of a tensor's matrix for an item of the output; heads may be shared. */
static int64_t matrix_of(const attention_case *c, bp_attention_tensor which, const int64_t *item) {
    const strided_tensor *t = &c->tensor[which];
    const strided_tensor *output = &c->tensor[BP_ATTENTION_OUTPUT];
    const int batch = t->view.tensor.ndim - 2, all = output->view.tensor.ndim - 2;
    int64_t index = 0;
    for (int d = 0; d < batch; d++) {
        const int64_t size = t->view.shape[d];
        int64_t at = item[d + all - batch];
        if (d == batch - 1 && which != BP_ATTENTION_MASK && size > 1 && c->shape.key_heads) {
            at /= output->view.shape[all - 1] / size;
        }
        index = index * size + (size == 1 ? 0 : at);
    }
    return index * t->view.shape[batch] * t->view.shape[batch + 1];
}

/* Value of the mask for a row and a key. */
static double mask_at(const attention_case *c, const double *mask, int64_t row, int64_t key) {
    const strided_tensor *t = &c->tensor[BP_ATTENTION_MASK];
    const int64_t *size = &t->view.shape[t->view.tensor.ndim - 2];
    const double value = mask[(size[0] == 1 ? 0 : row) * size[1] + (size[1] == 1 ? 0 : key)];
    return c->shape.mask == ATTENTION_BOOL ? (value != 0 ? 0 : -INFINITY) : value;
}

static double scale_of(const attention_shape *s) {
    return s->scale != 0 ? s->scale : s->size > 0 ? 1 / sqrt((double)s->size) : 1;
}

/* One row of weights, and bounds of the errors that rounding may cause. */
typedef struct row {
    double *weight; /* of each key, before dropout */
    double logsumexp;
    double error; /* relative, of a weight */
} row;

static double rounding(bp_dtype dtype) {
    return dtype == BP_F64 ? 0x1p-53 : dtype == BP_F32 ? 0x1p-24 : dtype == BP_F16 ? 0x1p-11 : 0x1p-8;
}

static void weigh(const attention_case *c, const numbers *n, const int64_t *item, int64_t query, row *r) {
    const attention_shape *s = &c->shape;
    const double scale = scale_of(s);
    const double eps = s->dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
    const double *q = n->of[BP_ATTENTION_QUERY] + matrix_of(c, BP_ATTENTION_QUERY, item) + query * s->size;
    const double *k = n->of[BP_ATTENTION_KEY] + matrix_of(c, BP_ATTENTION_KEY, item);
    const double *m = s->mask ? n->of[BP_ATTENTION_MASK] + matrix_of(c, BP_ATTENTION_MASK, item) : NULL;
    double top = -INFINITY, sum = 0, size = 0;
    for (int64_t j = 0; j < s->keys; j++, k += s->size) {
        double score = 0, all = 0;
        for (int64_t e = 0; e < s->size; e++) {
            score += q[e] * k[e];
            all += isfinite(q[e] * k[e]) ? fabs(q[e] * k[e]) : 0;
        }
        const double mask = m ? mask_at(c, m, query, j) : 0;
        score = s->causal && j > query ? -INFINITY : score * scale + mask;
        all = all * fabs(scale) + (isfinite(mask) ? fabs(mask) : 0);
        r->weight[j] = score;
        top = score > top || isnan(score) ? score : top;
        size = all > size ? all : size;
    }
    for (int64_t j = 0; j < s->keys; j++) {
        r->weight[j] = top == -INFINITY ? 0 : exp(r->weight[j] - top);
        sum += r->weight[j];
    }
    for (int64_t j = 0; j < s->keys; j++) {
        r->weight[j] /= sum == 0 ? 1 : sum;
    }
    r->logsumexp = top == -INFINITY ? -INFINITY : top + log(sum);
    r->error = eps * (2 * ((double)s->size + 12) * size + (double)s->keys + 40);
}

static void item_at(const attention_case *c, int64_t index, int64_t *item) {
    const strided_tensor *output = &c->tensor[BP_ATTENTION_OUTPUT];
    for (int d = output->view.tensor.ndim - 3; d >= 0; d--) {
        item[d] = index % output->view.shape[d];
        index /= output->view.shape[d];
    }
}

static int64_t items_of(const attention_case *c) {
    const strided_tensor *output = &c->tensor[BP_ATTENTION_OUTPUT];
    int64_t items = 1;
    for (int d = 0; d < output->view.tensor.ndim - 2; d++) {
        items *= output->view.shape[d];
    }
    return items;
}

static bool agrees(double got, double want, double tolerance) {
    return isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= tolerance;
}

/* Compares one logsumexp. */
static void compare_logsumexp(const attention_case *c, const numbers *n, int64_t line, const row *r) {
    if (!c->shape.logsumexp) {
        return;
    }
    const double got = n->of[BP_ATTENTION_LOGSUMEXP][line];
    const double bound = r->error + rounding(c->shape.dtype == BP_F64 ? BP_F64 : BP_F32) * fabs(r->logsumexp);
    if (!agrees(got, r->logsumexp, bound)) {
        fail_msg("%s: logsumexp %" PRId64 " is %g; it must be %g", c->text, line, got, r->logsumexp);
    }
}

/* Writes the output, and unless NULL bounds of its errors. */
static void compute_output(const attention_case *c, double *output, double *bound) {
    const attention_shape *s = &c->shape;
    row r = {.weight = malloc((size_t)(s->keys + 1) * sizeof(double))};
    int64_t item[BP_MAX_NDIM] = {0};
    numbers n = numbers_of(c);
    assert_non_null(r.weight);
    for (int64_t i = 0; i < items_of(c); i++) {
        item_at(c, i, item);
        const double *v = n.of[BP_ATTENTION_VALUE] + matrix_of(c, BP_ATTENTION_VALUE, item);
        for (int64_t q = 0; q < s->queries; q++) {
            const int64_t line = i * s->queries + q;
            weigh(c, &n, item, q, &r);
            if (bound) {
                compare_logsumexp(c, &n, line, &r);
            }
            for (int64_t j = 0; j < s->keys; j++) {
                r.weight[j] *= kept(c, line, j);
            }
            for (int64_t e = 0; e < s->value_size; e++) {
                double sum = 0, all = 0;
                for (int64_t j = 0; j < s->keys; j++) {
                    sum += r.weight[j] * v[j * s->value_size + e];
                    all += isfinite(r.weight[j] * v[j * s->value_size + e])
                               ? fabs(r.weight[j] * v[j * s->value_size + e])
                               : 0;
                }
                output[line * s->value_size + e] = sum;
                if (bound) {
                    bound[line * s->value_size + e] = (r.error + c->weight_error) * all +
                                                      rounding(s->dtype) * fabs(sum) + 1e-7 * rounding(s->dtype) +
                                                      (s->dtype == BP_F16 ? 0x1p-24 : 0);
                }
            }
        }
    }
    release(&n);
    free(r.weight);
}

void attention_reference(const attention_case *c, double *output) {
    compute_output(c, output, NULL);
}

void attention_compare_output(const attention_case *c) {
    const strided_tensor *output = &c->tensor[BP_ATTENTION_OUTPUT];
    const int64_t count = strided_elements(output);
    double *want = malloc((size_t)count * 2 * sizeof *want + 8);
    assert_non_null(want);
    compute_output(c, want, want + count);
    for (int64_t i = 0; i < count; i++) {
        const double got = strided_get(output, i);
        if (!agrees(got, want[i], want[count + i])) {
            fail_msg("%s: output %" PRId64 " is %.9g; it must be %.9g, within %.3g", c->text, i, got, want[i],
                     want[count + i]);
        }
    }
    free(want);
    strided_check_gaps(output, c->text);
    if (c->shape.logsumexp) {
        strided_check_gaps(&c->tensor[BP_ATTENTION_LOGSUMEXP], c->text);
    }
}

/* Sums of one gradient, and bounds of their errors. */
typedef struct sums {
    double *value, *bound;
} sums;

enum { GRADIENTS = 4 };

/* Index in a mask of the element for a key. */
static int64_t mask_index(const attention_case *c, const int64_t *item, int64_t query, int64_t key) {
    const strided_tensor *t = &c->tensor[BP_ATTENTION_MASK];
    const int64_t *size = &t->view.shape[t->view.tensor.ndim - 2];
    return matrix_of(c, BP_ATTENTION_MASK, item) + (size[0] == 1 ? 0 : query) * size[1] + (size[1] == 1 ? 0 : key);
}

/* Whether no kernel uses the output, because the gradient by the mask has more digits (attention.h). */
static bool weighs(const attention_case *c) {
    return c->call.mask_gradient && c->tensor[BP_ATTENTION_MASK_GRADIENT].dtype == BP_F32 && c->shape.dtype < BP_F32;
}

/* Adds what one row contributes to the gradients by query, key, value and mask. */
static void add_row(const attention_case *c, const numbers *n, const int64_t *item, int64_t line, int64_t query,
                    const row *r, sums of[GRADIENTS]) {
    const attention_shape *s = &c->shape;
    /* Each element of the mask's gradient is the sum of so many slopes. */
    const int64_t scores = items_of(c) * s->queries * s->keys;
    const int64_t masks = of[3].value ? strided_elements(&c->tensor[BP_ATTENTION_MASK]) : 0;
    const int64_t terms = masks > 0 ? scores / masks : 0;
    const double scale = scale_of(s);
    const double eps = s->dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
    const int64_t at_q = matrix_of(c, BP_ATTENTION_QUERY, item) + query * s->size,
                  at_k = matrix_of(c, BP_ATTENTION_KEY, item), at_v = matrix_of(c, BP_ATTENTION_VALUE, item);
    const double *q = n->of[BP_ATTENTION_QUERY] + at_q, *g = n->of[BP_ATTENTION_OUTPUT_GRADIENT] + line * s->value_size,
                 *o = n->of[BP_ATTENTION_OUTPUT] + line * s->value_size;
    double share = 0, share_size = 0, share_error = 0, weighed = 0;
    for (int64_t e = 0; e < s->value_size; e++) {
        share += g[e] * o[e];
        share_size += fabs(g[e] * o[e]);
        for (int64_t j = 0; j < s->keys && (c->weight_error > 0 || weighs(c)); j++) {
            const double term = n->of[BP_ATTENTION_VALUE][at_v + j * s->value_size + e] * r->weight[j];
            const double product = g[e] * term * kept(c, line, j);
            weighed += product;
            share_error += c->weight_error * fabs(product);
        }
    }
    share = weighs(c) ? weighed : share;
    /* The kernel math does not use the output, whose rounding is in `share`, with that of its weights. */
    const double of_output = weighs(c) ? 0 : share_size * rounding(s->dtype) + share_error;
    for (int64_t j = 0; j < s->keys; j++) {
        const double w = r->weight[j], keep = kept(c, line, j);
        const double *k = n->of[BP_ATTENTION_KEY] + at_k + j * s->size,
                     *v = n->of[BP_ATTENTION_VALUE] + at_v + j * s->value_size;
        double slope = 0, size = share_size;
        for (int64_t e = 0; e < s->value_size; e++) {
            const int64_t at = at_v + j * s->value_size + e;
            slope += g[e] * v[e] * keep;
            size += fabs(g[e] * v[e] * keep);
            of[2].value[at] += w * keep * g[e];
            of[2].bound[at] += (r->error + eps * (double)s->queries * 8) * fabs(w * keep * g[e]);
        }
        const double d = w * (slope - share) * scale;
        const double unscaled =
            fabs(w) * (size * (r->error + ((double)(s->value_size + s->queries * 8) + 8) * eps) + of_output);
        const double error = fabs(scale) * unscaled;
        if (of[3].value) {
            const int64_t at = mask_index(c, item, query, j);
            of[3].value[at] += w * (slope - share);
            of[3].bound[at] += unscaled + eps * (double)terms * fabs(w) * size;
        }
        for (int64_t e = 0; e < s->size; e++) {
            of[0].value[at_q + e] += d * k[e];
            of[0].bound[at_q + e] += error * fabs(k[e]);
            of[1].value[at_k + j * s->size + e] += d * q[e];
            of[1].bound[at_k + j * s->size + e] += error * fabs(q[e]);
        }
    }
}

void attention_compare_gradients(const attention_case *c) {
    static const char *const names[GRADIENTS] = {"query", "key", "value", "mask"};
    const attention_shape *s = &c->shape;
    sums of[GRADIENTS] = {{NULL, NULL}};
    const int count = c->call.mask_gradient ? GRADIENTS : GRADIENTS - 1;
    row r = {.weight = malloc((size_t)(s->keys + 1) * sizeof(double))};
    int64_t item[BP_MAX_NDIM] = {0};
    numbers n = numbers_of(c);
    assert_non_null(r.weight);
    for (int i = 0; i < count; i++) {
        const size_t elements = (size_t)strided_elements(&c->tensor[BP_ATTENTION_QUERY + i]);
        of[i] = (sums){calloc(elements + 1, sizeof(double)), calloc(elements + 1, sizeof(double))};
        assert_non_null(of[i].value);
        assert_non_null(of[i].bound);
    }
    for (int64_t i = 0; i < items_of(c); i++) {
        item_at(c, i, item);
        for (int64_t q = 0; q < s->queries; q++) {
            weigh(c, &n, item, q, &r);
            add_row(c, &n, item, i * s->queries + q, q, &r, of);
        }
    }
    for (int i = 0; i < count; i++) {
        const strided_tensor *got = &c->tensor[BP_ATTENTION_QUERY_GRADIENT + i];
        for (int64_t at = 0; at < strided_elements(got); at++) {
            const double value = strided_get(got, at), want = of[i].value[at];
            const double own = rounding(got->dtype);
            const double bound = of[i].bound[at] + own * fabs(want) + 1e-6 * own + (got->dtype == BP_F16 ? 0x1p-24 : 0);
            if (!agrees(value, want, bound)) {
                fail_msg("%s: gradient by %s, element %" PRId64 ", is %.9g; it must be %.9g, within %.3g", c->text,
                         names[i], at, value, want, bound);
            }
        }
        strided_check_gaps(got, c->text);
        free(of[i].value);
        free(of[i].bound);
    }
    release(&n);
    free(r.weight);
}
