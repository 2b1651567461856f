/* attention.c - computes attention and its gradients one element at a time, with bounds of the errors that rounding may
 * cause. */
#include "reference/attention.h"

#include "reference/philox.h"
#include "reference/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY, KEY, VALUE, MASK, OUTPUT, OUTPUT_GRADIENT, TENSORS };

typedef reference_number number;

struct reference_attention {
    const bp_attention_call *call;
    int64_t items, queries, keys, size, value_size, heads; /* heads: of the output, if enable_gqa */
    long double scale, unit;
    reference_attention_rounding rounding;
    const DLTensor *like;         /* a tensor with the shape of the output */
    wide_tensor tensor[TENSORS];  /* data NULL: absent */
    wholes seed, pages, lengths;  /* data NULL: absent */
    long double *weight;          /* of each key, for one row: before dropout */
    long double *slope;           /* of each key, for one row: the derivative of the softcap */
    long double *slope_error;     /* their relative errors */
    long double logsumexp, error; /* of the row; the relative error of a weight */
};

/* ---- Tensors ---- */

static bp_dtype type_of(const reference_attention *a) {
    return bp_dtype_from_dlpack(a->call->query->dtype);
}

/* Rounds a number of f32 to bf16, to nearest even. */
static double rounded(double value) {
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = isnan(x) ? bits : (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static void round_operands(reference_attention *a) {
    for (int i = QUERY; i <= VALUE; i++) {
        double *data = a->tensor[i].owner->dl_tensor.data;
        for (int64_t at = 0; at < a->tensor[i].count; at++) {
            data[at] = rounded(data[at]);
        }
    }
}

/* Returns the offset of an item's matrix in a compact tensor that broadcasts over the batch of the output. */
static int64_t matrix_of(const reference_attention *a, const DLTensor *tensor, int64_t item) {
    const bool shares = a->heads > 0 && tensor != a->call->mask;
    int64_t stride = 1, offset = 0;
    for (int back = 1; back <= tensor->ndim; back++) {
        const int64_t own = tensor->shape[tensor->ndim - back];
        if (back > 2) {
            const int64_t size = a->like->shape[a->like->ndim - back], at = item % size;
            item /= size;
            offset += stride * (own == 1 ? 0 : shares && back == 3 ? at / (a->heads / own) : at);
        }
        stride *= own;
    }
    return offset;
}

/* Returns the number of keys of an item. */
static int64_t keys_of(const reference_attention *a, int64_t item) {
    const int64_t items = a->lengths.data ? a->lengths.count : 1;
    return a->lengths.data ? a->lengths.data[item / (a->items / items)] : a->keys;
}

/* Returns the offset of row `j` of an item's keys or values. */
static int64_t row_of(const reference_attention *a, const DLTensor *tensor, int64_t item, int64_t j) {
    const int64_t size = tensor->shape[tensor->ndim - 1];
    if (!a->pages.data) {
        return matrix_of(a, tensor, item) + j * size;
    }
    const int64_t all = a->like->shape[1], rows = tensor->shape[1], heads = tensor->shape[2];
    const int64_t page = a->pages.data[item / all * a->call->pages->shape[1] + j / rows];
    return ((page * rows + j % rows) * heads + (heads == 1 ? 0 : item % all / (all / heads))) * size;
}

/* Index in a mask of the element for a query and a key. */
static int64_t mask_index(const reference_attention *a, int64_t item, int64_t query, int64_t key) {
    const DLTensor *mask = a->call->mask;
    const int64_t columns = mask->ndim > 0 ? mask->shape[mask->ndim - 1] : 1;
    const int64_t rows = mask->ndim > 1 ? mask->shape[mask->ndim - 2] : 1;
    return matrix_of(a, mask, item) + (rows == 1 ? 0 : query * columns) + (columns == 1 ? 0 : key);
}

/* Returns what the mask adds to a score. */
static long double mask_at(const reference_attention *a, int64_t item, int64_t query, int64_t key) {
    const DLTensor *mask = a->call->mask;
    if (!mask) {
        return 0;
    }
    const double x = a->tensor[MASK].data[mask_index(a, item, query, key)];
    return bp_dtype_from_dlpack(mask->dtype) != BP_BOOL ? (long double)x : x != 0 ? 0 : -(long double)HUGE_VAL;
}

static bool excludes(const reference_attention *a, int64_t item, int64_t query, int64_t key) {
    const bp_attention_call *call = a->call;
    const long double left = (long double)call->window_left, right = (long double)call->window_right;
    const bool lower_right = call->pages || call->lower_right;
    const long double ahead = (long double)(key - query - (lower_right ? keys_of(a, item) - a->queries : 0));
    return (call->is_causal && ahead > 0) || (call->has_window && left >= 0 && -ahead > left) ||
           (call->has_window && right >= 0 && ahead > right);
}

/* What is multiplied with a weight: 0 if it is dropped. */
static long double dropout_factor(const reference_attention *a, int64_t row, int64_t key) {
    const double p = a->call->dropout;
    if (!a->seed.data || p <= 0 || p >= 1) {
        return p >= 1 ? 0 : 1;
    }
    uint32_t words[4];
    reference_philox((uint64_t)key / 4, (uint64_t)row + (uint64_t)a->seed.data[1], (uint64_t)a->seed.data[0], words);
    return (double)words[key % 4] < p * 0x1p32 ? 0 : 1 / (1 - (long double)p);
}

/* ---- One row ---- */

/* Applies the softcap to a product with an error. Returns the score and its error. The derivative follows from the
 * product, too, whose error it has, and from e^x of -2 |x|, which may become 0 instead of a denormal number. */
static number cap(reference_attention *a, number product, int64_t j) {
    const long double softcap = (long double)a->call->softcap;
    if (softcap == 0) {
        a->slope[j] = 1;
        a->slope_error[j] = 0;
        return product;
    }
    const long double x = product.value / softcap, score = softcap * tanhl(x), slope = 1 / (coshl(x) * coshl(x));
    const long double nearest = fmaxl(0, fabsl(product.value) - product.error) / softcap,
                      steepest = 1 / (coshl(nearest) * coshl(nearest));
    a->slope[j] = slope;
    a->slope_error[j] = isfinite(x) ? 2 * product.error / softcap + a->unit * (16 + 4 * fabsl(x)) : 0;
    return (number){score, product.error * steepest + 8 * a->unit * fabsl(score)};
}

/* Computes the weights of a row. The error of a score changes its weight, and all others by the division. */
static void weigh(reference_attention *a, int64_t row) {
    const int64_t item = row / a->queries, query = row % a->queries, keys = keys_of(a, item);
    const double *q = a->tensor[QUERY].data + matrix_of(a, a->call->query, item) + query * a->size;
    long double top = -(long double)HUGE_VAL, sum = 0, largest = 0;
    for (int64_t j = 0; j < keys; j++) {
        const double *k = a->tensor[KEY].data + row_of(a, a->call->key, item, j);
        const long double mask = mask_at(a, item, query, j);
        long double score = 0, terms = 0;
        for (int64_t e = 0; e < a->size; e++) {
            const long double product = (long double)q[e] * (long double)k[e];
            score += product;
            terms += isfinite(product) ? fabsl(product) : 0;
        }
        const long double rounding = a->unit * 2 * (long double)(a->size + 12);
        const number capped = cap(a, (number){score * a->scale, rounding * terms * fabsl(a->scale)}, j);
        const long double error = capped.error + (isfinite(mask) ? rounding * fabsl(mask) : 0);
        a->weight[j] = excludes(a, item, query, j) ? -(long double)HUGE_VAL : capped.value + mask;
        top = a->weight[j] > top || isnan(a->weight[j]) ? a->weight[j] : top;
        largest = error > largest ? error : largest;
    }
    const bool none = isinf(top) && top < 0;
    for (int64_t j = 0; j < keys; j++) {
        a->weight[j] = none ? 0 : expl(a->weight[j] - top);
        sum += a->weight[j];
    }
    for (int64_t j = 0; j < keys; j++) {
        a->weight[j] /= sum == 0 ? 1 : sum;
    }
    a->logsumexp = none ? top : top + logl(sum);
    a->error = largest + a->unit * (long double)(keys + 40);
}

void reference_attention_row(reference_attention *a, int64_t row, number *output, number *logsumexp) {
    const int64_t item = row / a->queries;
    weigh(a, row);
    if (logsumexp) {
        *logsumexp = (number){a->logsumexp, a->error};
    }
    for (int64_t e = 0; e < a->value_size; e++) {
        output[e] = (number){0, 0};
    }
    for (int64_t j = 0; j < keys_of(a, item); j++) {
        const double *v = a->tensor[VALUE].data + row_of(a, a->call->value, item, j);
        const bool excluded = excludes(a, item, row % a->queries, j);
        const long double weight = excluded ? 0 : a->weight[j] * dropout_factor(a, row, j);
        for (int64_t e = 0; e < a->value_size; e++) {
            const long double term = excluded ? 0 : weight * (long double)v[e];
            output[e].value += term;
            output[e].error += excluded
                                   ? (isfinite(v[e]) ? 0 : (long double)HUGE_VAL)
                                   : (isfinite(term) ? (a->error + (long double)a->rounding.weights) * fabsl(term) : 0);
        }
    }
}

/* ---- Gradients ---- */

static void add(number *to, long double value, long double error) {
    to->value += value;
    to->error += error;
}

/* Whether no kernel uses the output, because the gradient by the mask has more digits (attention.h). */
static bool weighs(const reference_attention *a) {
    const DLTensor *mask = a->call->mask_gradient;
    return mask && bp_dtype_from_dlpack(mask->dtype) == BP_F32 && (type_of(a) == BP_F16 || type_of(a) == BP_BF16);
}

/* The sum over all keys that each gradient by a score is reduced by, and its errors. */
typedef struct share {
    long double value, size, error;
} share;

static share share_of(const reference_attention *a, int64_t row, int64_t keys, const double *v, const double *g) {
    const double *o = a->tensor[OUTPUT].data + row * a->value_size;
    const bool whole = weighs(a);
    share s = {0, 0, 0};
    long double weighed = 0;
    for (int64_t e = 0; e < a->value_size; e++) {
        const long double own = (long double)g[e] * (long double)o[e];
        s.value += own;
        s.size += whole ? 0 : fabsl(own);
        for (int64_t j = 0; j < keys && (a->rounding.weights > 0 || whole); j++) {
            const long double product =
                (long double)g[e] * (long double)v[j * a->value_size + e] * a->weight[j] * dropout_factor(a, row, j);
            weighed += product;
            s.size += whole ? fabsl(product) : 0; /* terms of different signs may cancel in the output */
            s.error += (long double)a->rounding.weights * fabsl(product);
        }
    }
    s.value = whole ? weighed : s.value;
    /* The kernel math does not use the output, whose rounding is in the sum, with the rounding of its weights. */
    s.error = whole ? 0 : s.error + s.size * (long double)reference_unit(type_of(a));
    return s;
}

/* Adds what one row contributes to the gradients. */
static void add_row(reference_attention *a, int64_t row, number *of[REFERENCE_ATTENTION_GRADIENTS]) {
    const int64_t item = row / a->queries, query = row % a->queries;
    const int64_t at_q = matrix_of(a, a->call->query, item) + query * a->size, at_k = matrix_of(a, a->call->key, item),
                  at_v = matrix_of(a, a->call->value, item);
    const double *q = a->tensor[QUERY].data + at_q, *g = a->tensor[OUTPUT_GRADIENT].data + row * a->value_size;
    /* Each element of the mask's gradient is the sum of so many slopes. */
    const int64_t slopes =
        of[REFERENCE_MASK] && a->tensor[MASK].count > 0 ? a->items * a->queries * a->keys / a->tensor[MASK].count : 0;
    const long double factors = 2 * (long double)a->rounding.factors;
    weigh(a, row);
    const int64_t keys = keys_of(a, item);
    const share shared = share_of(a, row, keys, a->tensor[VALUE].data + at_v, g);
    for (int64_t j = 0; j < keys; j++) {
        const long double w = a->weight[j], keep = dropout_factor(a, row, j);
        const double *k = a->tensor[KEY].data + at_k + j * a->size,
                     *v = a->tensor[VALUE].data + at_v + j * a->value_size;
        long double slope = 0, size = shared.size;
        for (int64_t e = 0; e < a->value_size; e++) {
            const long double product = (long double)g[e] * (long double)v[e] * keep,
                              part = w * keep * (long double)g[e];
            slope += product;
            size += fabsl(product);
            if (of[REFERENCE_VALUE]) {
                add(&of[REFERENCE_VALUE][at_v + j * a->value_size + e], part,
                    (a->error + a->unit * (long double)a->queries * 8 + factors) * fabsl(part));
            }
        }
        const long double d = w * (slope - shared.value) * a->scale * a->slope[j];
        const long double unscaled =
            fabsl(w) * (size * (a->error + (long double)(a->value_size + a->queries * 8 + 8) * a->unit) + shared.error);
        const long double lost = a->call->softcap > 0 ? 0x1p-120L * fabsl(w * (slope - shared.value) * a->scale) : 0;
        const long double error = fabsl(a->scale) * unscaled * a->slope[j] * (1 + a->slope_error[j]) +
                                  (factors + a->slope_error[j]) * fabsl(d) + lost;
        if (of[REFERENCE_MASK]) {
            add(&of[REFERENCE_MASK][mask_index(a, item, query, j)], w * (slope - shared.value),
                unscaled + a->unit * (long double)slopes * fabsl(w) * size);
        }
        for (int64_t e = 0; e < a->size; e++) {
            if (of[REFERENCE_QUERY]) {
                add(&of[REFERENCE_QUERY][at_q + e], d * (long double)k[e], error * fabsl((long double)k[e]));
            }
            if (of[REFERENCE_KEY]) {
                add(&of[REFERENCE_KEY][at_k + j * a->size + e], d * (long double)q[e],
                    error * fabsl((long double)q[e]));
            }
        }
    }
}

void reference_attention_gradients(reference_attention *a, number *of[REFERENCE_ATTENTION_GRADIENTS]) {
    for (int64_t row = 0; row < a->items * a->queries; row++) {
        add_row(a, row, of);
    }
}

/* ---- The call ---- */

static void read_sizes(reference_attention *a) {
    const bp_attention_call *call = a->call;
    const DLTensor *query = call->query, *value = call->value;
    a->queries = query->shape[query->ndim - 2];
    a->size = query->shape[query->ndim - 1];
    a->keys = call->pages ? call->pages->shape[1] * value->shape[1] : value->shape[value->ndim - 2];
    a->value_size = value->shape[value->ndim - 1];
    a->heads = call->enable_gqa ? query->shape[query->ndim - 3] : 0;
    a->scale = call->has_scale ? (long double)call->scale : a->size > 0 ? 1 / sqrtl((long double)a->size) : 1;
    a->like = call->output ? call->output : call->output_gradient;
    a->items = 1;
    for (int d = 0; d < a->like->ndim - 2; d++) {
        a->items *= a->like->shape[d];
    }
}

bp_status reference_attention_open(reference_attention **made, const bp_attention_call *call,
                                   const reference_attention_rounding *rounding) {
    const bool backward = call->pass == BP_ATTENTION_BACKWARD;
    const DLTensor *const tensors[TENSORS] = {call->query,
                                              call->key,
                                              call->value,
                                              call->mask,
                                              backward ? call->output : NULL,
                                              backward ? call->output_gradient : NULL};
    reference_attention *a = *made = calloc(1, sizeof *a);
    if (!a) {
        return BP_E_NO_MEMORY;
    }
    a->call = call;
    a->unit = type_of(a) == BP_F64 ? 0x1p-53L : 0x1p-24L;
    a->rounding = rounding ? *rounding : (reference_attention_rounding){0, false, 0};
    read_sizes(a);
    a->weight = malloc((size_t)(a->keys + 1) * sizeof *a->weight);
    a->slope = malloc((size_t)(a->keys + 1) * sizeof *a->slope);
    a->slope_error = malloc((size_t)(a->keys + 1) * sizeof *a->slope_error);
    const bool allocated = a->weight && a->slope && a->slope_error;
    bp_status status = !allocated ? BP_E_NO_MEMORY : call->seed ? wholes_make(&a->seed, call->seed) : BP_OK;
    for (int i = 0; i < TENSORS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&a->tensor[i], tensors[i], false) : BP_OK;
    }
    if (status == BP_OK && call->pages) {
        status = wholes_make(&a->pages, call->pages);
    }
    if (status == BP_OK && call->lengths) {
        status = wholes_make(&a->lengths, call->lengths);
    }
    if (status == BP_OK && a->rounding.operands) {
        round_operands(a);
    }
    return status;
}

void reference_attention_close(reference_attention *a) {
    if (!a) {
        return;
    }
    free(a->weight);
    free(a->slope);
    free(a->slope_error);
    wholes_free(&a->seed);
    wholes_free(&a->pages);
    wholes_free(&a->lengths);
    for (int i = 0; i < TENSORS; i++) {
        wide_free(&a->tensor[i]);
    }
    free(a);
}

/* ---- Results ---- */

/* The row that was computed last; -1: none. */
typedef struct rows {
    reference_attention *a;
    int64_t at;
    number *output, logsumexp;
} rows;

static void find_row(rows *r, int64_t row) {
    if (r->at != row) {
        reference_attention_row(r->a, row, r->output, &r->logsumexp);
        r->at = row;
    }
}

static number output_element(void *user, int64_t index) {
    rows *r = user;
    find_row(r, index / r->a->value_size);
    return r->output[index % r->a->value_size];
}

static number logsumexp_element(void *user, int64_t index) {
    rows *r = user;
    find_row(r, index);
    return r->logsumexp;
}

/* Whether all lengths and pages exist: the call fails otherwise. */
static bool has_all_keys(const reference_attention *a) {
    const DLTensor *pages = a->call->pages, *key = a->call->key;
    for (int64_t item = 0; a->lengths.data && item < a->lengths.count; item++) {
        const int64_t keys = a->lengths.data[item];
        if (keys < 0 || keys > a->keys) {
            return false;
        }
        for (int64_t j = 0; pages && j < keys; j += key->shape[1]) {
            const int64_t page = a->pages.data[item * pages->shape[1] + j / key->shape[1]];
            if (page < 0 || page >= key->shape[0]) {
                return false;
            }
        }
    }
    return true;
}

/* An element that is computed alone needs all scores of its row. */
static bp_status add_outputs(reference_results *made, reference_attention *a) {
    const bp_attention_call *call = a->call;
    const int64_t work = a->keys * (a->size + 1);
    rows r = {a, -1, reference_numbers(a->value_size), {0, 0}};
    bp_status status = r.output ? BP_OK : BP_E_NO_MEMORY;
    status = status == BP_OK ? reference_add_result(made, "output", call->output, work, output_element, &r) : status;
    status = status == BP_OK ? reference_add_result(made, "logsumexp", call->logsumexp, work, logsumexp_element, &r)
                             : status;
    free(r.output);
    return status;
}

static bp_status add_gradients(reference_results *made, reference_attention *a) {
    static const char *const names[] = {"query_gradient", "key_gradient", "value_gradient", "mask_gradient"};
    const DLTensor *const tensors[] = {a->call->query_gradient, a->call->key_gradient, a->call->value_gradient,
                                       a->call->mask_gradient};
    number *of[REFERENCE_ATTENTION_GRADIENTS] = {NULL};
    bp_status status = BP_OK;
    for (int i = 0; i < REFERENCE_ATTENTION_GRADIENTS; i++) {
        of[i] = tensors[i] ? reference_numbers(a->tensor[QUERY + i].count) : NULL;
        status = tensors[i] && !of[i] ? BP_E_NO_MEMORY : status;
    }
    if (status == BP_OK) {
        reference_attention_gradients(a, of);
    }
    for (int i = 0; i < REFERENCE_ATTENTION_GRADIENTS; i++) {
        status = status == BP_OK && of[i] ? reference_add_numbers(made, names[i], tensors[i], of[i]) : status;
        free(of[i]);
    }
    return status;
}

bp_status reference_of_rounded_attention(reference_results *made, const bp_attention_call *call,
                                         const reference_attention_rounding *rounding) {
    reference_attention *a;
    *made = (reference_results){.count = 0};
    bp_status status = reference_attention_open(&a, call, rounding);
    if (status == BP_OK && call->pass == BP_ATTENTION_FORWARD) {
        status = has_all_keys(a) ? add_outputs(made, a) : BP_OK;
    } else if (status == BP_OK && has_all_keys(a)) {
        const double work = (double)a->items * (double)a->queries * (double)a->keys;
        const bool affordable = work * (double)(a->size + a->value_size + 16) <= (double)REFERENCE_MOST_WORK;
        status = affordable ? add_gradients(made, a) : BP_OK;
    }
    /* Scores may overflow, and which of them do so depends on the order of additions. */
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    reference_attention_close(a);
    return status;
}

bp_status reference_of_attention(reference_results *made, const bp_attention_call *call) {
    /* A kernel of BF16 rounds the weights (attention.h). */
    const bool rounds = bp_dtype_from_dlpack(call->query->dtype) == BP_BF16;
    const reference_attention_rounding rounding = {rounds ? reference_unit(BP_BF16) : 0, false, 0};
    return reference_of_rounded_attention(made, call, &rounding);
}
