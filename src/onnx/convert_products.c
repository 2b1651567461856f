/* convert_products.c - adds products of matrices. */
#include "onnx/read.h"

#include <stdio.h>
#include <string.h>

/* Calls of products check their types when they run, which is too late for a file. */
static bp_status check_types(const bp__onnx *r) {
    const bp_dtype wanted = r->inputs[0] ? r->inputs[0]->dtype : BP_DTYPE_NONE;
    if (!bp__onnx_is_float(wanted) && !bp__onnx_is_complex(wanted)) {
        return bp__fail(BP_E_UNSUPPORTED, "products of elements of type %s are not supported", bp_dtype_name(wanted));
    }
    for (int i = 1; i < r->input_count; i++) {
        if (r->inputs[i] && r->inputs[i]->dtype != wanted) {
            return bp__fail(BP_E_FORMAT, "the inputs have elements of types %s and %s", bp_dtype_name(wanted),
                            bp_dtype_name(r->inputs[i]->dtype));
        }
    }
    return BP_OK;
}

/* Adds a linear layer, with the function that the next node has. */
static bp_status add_linear(bp__onnx *r, bp__onnx_chain *chain, bp__onnx_value *const layer[3]) {
    const char *kind = bp__onnx_chain_activation(r, chain);
    return bp__onnx_call_one(r, "linear", 3, layer, &r->results[0], "activation=%s", kind ? kind : "copy");
}

/* A product with a known matrix, and a row that the next node adds to it, are a linear layer. */
bp_status bp__onnx_convert_matmul(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_chain chain;
    bp__onnx_value *a = r->inputs[0], *b = r->inputs[1], *layer[3] = {a};
    (void)row;
    BP__TRY(check_types(r));
    bp__onnx_chain_begin(r, &chain);
    const bool matrix = b->ndim == 2 && (b->tensor || b->data) && bp__onnx_count(b) > 0 && a->ndim >= 2;
    if (matrix && a->shape[a->ndim - 1] == b->shape[0] && bp__onnx_is_float(a->dtype)) {
        layer[2] = bp__onnx_chain_row(r, &chain, b->shape[1]);
    }
    if (layer[2]) {
        BP__TRY(bp__onnx_permute(r, b, (int[]){1, 0}, &layer[1]));
        return add_linear(r, &chain, layer);
    }
    return bp__onnx_call_one(r, "matmul", 2, r->inputs, &r->results[0], " ");
}

bp_status bp__onnx_convert_einsum(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_attribute *equation;
    char text[256];
    size_t length = 0;
    (void)row;
    BP__TRY(check_types(r));
    BP__TRY(bp__onnx_attribute_of(r, "equation", BP__ATTRIBUTE_STRING, &equation));
    if (!equation || bp__bytes_size(equation->text) >= sizeof text) {
        return bp__fail(BP_E_UNSUPPORTED, "attribute 'equation' is absent, or longer than %zu characters",
                        sizeof text - 1);
    }
    for (const unsigned char *at = equation->text.at; at < equation->text.end; at++) {
        const bool known = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || strchr(" ,.->", *at);
        if (!known || *at == 0) {
            return bp__fail(BP_E_FORMAT, "attribute 'equation' has a character that no equation has");
        }
        text[length++] = (char)*at;
    }
    text[length] = '\0';
    return bp__onnx_call_one(r, "einsum", r->input_count, r->inputs, &r->results[0], "expression=\"%s\"", text);
}

/* ---- Gemm: alpha A B + beta C ---- */

static bp_status turned(bp__onnx *r, bp__onnx_value *x, bool turns, bp__onnx_value **view) {
    *view = x;
    return turns ? bp__onnx_permute(r, x, (int[]){1, 0}, view) : BP_OK;
}

/* Whether the product with its sum is a linear layer: one row is added to each row. */
static bool is_linear(const bp__onnx_value *b, const bp__onnx_value *c, double alpha, double beta) {
    const bool row = c->ndim == 1 || (c->ndim == 2 && c->shape[0] == 1);
    return row && c->shape[c->ndim - 1] == b->shape[1] && b->shape[0] > 0 && b->shape[1] > 0 && alpha == 1 && beta == 1;
}

static bp_status scaled(bp__onnx *r, bp__onnx_value *x, double factor, bp__onnx_value **result) {
    *result = x;
    return factor == 1 ? BP_OK : bp__onnx_binary_with(r, "multiply", x, factor, result);
}

bp_status bp__onnx_convert_gemm(bp__onnx *r, const bp__onnx_row *row) {
    bool turns_a, turns_b;
    double alpha, beta;
    bp__onnx_chain chain;
    bp__onnx_value *a = r->inputs[0], *b = r->inputs[1], *c = bp__onnx_input(r, 2), *product;
    (void)row;
    BP__TRY(bp__onnx_attribute_flag(r, "transA", false, &turns_a));
    BP__TRY(bp__onnx_attribute_flag(r, "transB", false, &turns_b));
    BP__TRY(bp__onnx_attribute_real(r, "alpha", 1, &alpha));
    BP__TRY(bp__onnx_attribute_real(r, "beta", 1, &beta));
    BP__TRY(check_types(r));
    if (a->ndim != 2 || b->ndim != 2) {
        return bp__fail(BP_E_SHAPE, "inputs A and B have %d and %d dimensions; they must have two", a->ndim, b->ndim);
    }
    bp__onnx_value *const weight = b;
    BP__TRY(turned(r, a, turns_a, &a));
    BP__TRY(turned(r, b, turns_b, &b));
    if (c && is_linear(b, c, alpha, beta)) {
        bp__onnx_value *layer[3] = {a};
        BP__TRY(turned(r, weight, !turns_b, &layer[1]));
        BP__TRY(bp__onnx_reshape(r, c, 1, (int64_t[]){-1}, &layer[2]));
        bp__onnx_chain_begin(r, &chain);
        return add_linear(r, &chain, layer);
    }
    BP__TRY(bp__onnx_call_one(r, "matmul", 2, ((bp__onnx_value *[]){a, b}), &product, " "));
    BP__TRY(scaled(r, product, alpha, &r->results[0]));
    if (!c || beta == 0) {
        return BP_OK;
    }
    BP__TRY(scaled(r, c, beta, &c));
    return bp__onnx_binary(r, "add", r->results[0], c, &r->results[0]);
}
