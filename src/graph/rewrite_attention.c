/* rewrite_attention.c - finds attention that is written as products, softmax(scale * (q @ k) + mask) @ v, and replaces
 * it with the call, whose kernels need no memory for the scores. */
#include "graph/rewrite.h"

#include "base/number.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"

#include <math.h>
#include <string.h>

typedef struct found {
    bp_value query, key, value, mask; /* the key as the product has it: the last two dimensions exchanged */
    double scale;
} found;

/* Returns the binary node that computes a value, if it has this function. */
static const bp__node *binary_of(const bp__rewriting *r, bp_value value, bp_binary_kind kind) {
    const bp__node *node = bp__rewrite_maker(r, value, BP_OP_BINARY);
    return node && ((const bp__binary_arguments *)node->arguments)->kind == kind ? node : NULL;
}

static bool has_shape(const bp_graph *graph, bp_value a, bp_value b) {
    const bp__graph_value *x = &graph->values[a], *y = &graph->values[b];
    return x->ndim == y->ndim && memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

/* Returns the constant of one element that a value repeats; NULL if it is none. */
static const bp__graph_value *single_of(const bp_graph *graph, bp_value value) {
    const bp__graph_value *v = &graph->values[value];
    while (v->kind == BP__VALUE_VIEW) {
        v = &graph->values[v->from];
    }
    return v->kind == BP__VALUE_CONSTANT && bp__value_elements(v) == 1 ? v : NULL;
}

/* Whether a value is a product, or a product with a factor. */
static bool are_scores(const bp__rewriting *r, bp_value value) {
    const bp__node *multiply = binary_of(r, value, BP_BINARY_MULTIPLY);
    const bp__node *scaled = multiply ? multiply : binary_of(r, value, BP_BINARY_DIVIDE);
    return bp__rewrite_maker(r, value, BP_OP_GEMM) ||
           (scaled && (bp__rewrite_maker(r, scaled->operand[0], BP_OP_GEMM) ||
                       bp__rewrite_maker(r, scaled->operand[1], BP_OP_GEMM)));
}

/* Takes a sum of scores and a mask apart. */
static void take_mask(const bp__rewriting *r, bp_value *scores, found *f) {
    const bp__node *add = binary_of(r, *scores, BP_BINARY_ADD);
    for (int i = 0; add && i < 2; i++) {
        const bp_value x = add->operand[i];
        if (are_scores(r, x)) {
            f->mask = add->operand[1 - i];
            *scores = x;
            return;
        }
    }
}

/* Takes a factor apart that is a constant. */
static bp_status take_scale(const bp__rewriting *r, bp_value *scores, found *f) {
    const bp__node *multiply = binary_of(r, *scores, BP_BINARY_MULTIPLY);
    const bp__node *divide = multiply ? NULL : binary_of(r, *scores, BP_BINARY_DIVIDE);
    for (int i = 0; (multiply || divide) && i < 2; i++) {
        const bp__node *node = multiply ? multiply : divide;
        const bp_value x = node->operand[i];
        const bp__graph_value *factor = single_of(r->from, node->operand[1 - i]);
        double *number;
        if (!factor || (divide && i == 1)) {
            continue;
        }
        BP__TRY(bp__rewrite_read(factor, &number));
        f->scale = divide ? 1 / *number : *number;
        bp__free(number);
        *scores = x;
        break;
    }
    return BP_OK;
}

/* Finds the parts; f->query stays 0 if there is another form, or if a mask or factor has more dimensions than the
 * scores.
 */
static bp_status find_parts(const bp__rewriting *r, const bp__node *node, found *f) {
    const bp__node *softmax = bp__rewrite_maker(r, node->operand[0], BP_OP_SOFTMAX);
    const bp__softmax_arguments *call = softmax ? softmax->arguments : NULL;
    const int last = r->from->values[node->operand[0]].ndim - 1;
    if (!softmax || last < 1 || call->kind != BP_SOFTMAX || (call->axis != -1 && call->axis != last)) {
        return BP_OK;
    }
    bp_value scores = softmax->operand[0];
    take_mask(r, &scores, f);
    BP__TRY(take_scale(r, &scores, f));
    const bp__node *product = bp__rewrite_maker(r, scores, BP_OP_GEMM);
    if (product && has_shape(r->from, scores, node->operand[0]) && isfinite(f->scale)) {
        f->query = product->operand[0];
        f->key = product->operand[1];
        f->value = node->operand[1];
    }
    return BP_OK;
}

/* All are matrices of one real type. */
static bool is_attention(const bp_graph *graph, const found *f) {
    const bp_value all[] = {f->query, f->key, f->value};
    const bp_dtype dtype = graph->values[f->query].dtype;
    bool good = f->query != 0 && dtype >= BP_F16 && dtype <= BP_F64;
    for (int i = 0; i < 3; i++) {
        good &= graph->values[all[i]].ndim >= 2;
    }
    return good;
}

/* Adds the key with its last two dimensions exchanged. */
static bp_status add_key(const bp__rewriting *r, bp_value key, bp_value *exchanged) {
    int axes[BP_MAX_NDIM];
    const int ndim = r->from->values[key].ndim;
    for (int d = 0; d < ndim; d++) {
        axes[d] = d < ndim - 2 ? d : 2 * ndim - 3 - d;
    }
    return bp_graph_permute(r->to, r->map[key], ndim, axes, exchanged);
}

bp_status bp__rewrite_attention(bp__rewriting *r, const bp__node *node) {
    found f = {.scale = 1};
    bp_value key, result;
    if (node->pass->info.op != BP_OP_GEMM) {
        return BP_OK;
    }
    BP__TRY(find_parts(r, node, &f));
    if (!is_attention(r->from, &f)) {
        return BP_OK;
    }
    BP__TRY(add_key(r, f.key, &key));
    const bp_value operands[] = {r->map[f.query], key, r->map[f.value], f.mask ? r->map[f.mask] : 0};
    char fields[64];
    bp__format(fields, sizeof fields, "has_scale=true, scale=%a", f.scale);
    BP__TRY(bp__rewrite_call(r, node, "attention", fields, 4, operands, &result));
    r->map[node->first] = result;
    r->made.attentions += result != 0;
    return BP_OK;
}
