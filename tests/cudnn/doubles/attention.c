/* attention.c - recognizes attention and its gradients in a graph of the double, as the library does: by the kinds of
 * the operations and their order. */
#include "parts.h"

#include <string.h>

/* ---- Patterns ---- */

/* A letter for each operation. */
static char letter_of(const operation *o) {
    static const struct {
        unsigned mode;
        char letter;
    } functions[] = {{BP__CUDNN_POINTWISE_ADD, '+'},       {BP__CUDNN_POINTWISE_MUL, '*'},
                     {BP__CUDNN_POINTWISE_SUB, '-'},       {BP__CUDNN_POINTWISE_DIV, '/'},
                     {BP__CUDNN_POINTWISE_EXP, 'e'},       {BP__CUDNN_POINTWISE_LOG, 'l'},
                     {BP__CUDNN_POINTWISE_CMP_GE, '>'},    {BP__CUDNN_POINTWISE_BINARY_SELECT, '?'},
                     {BP__CUDNN_POINTWISE_GEN_INDEX, 'i'}, {BP__CUDNN_POINTWISE_IDENTITY, '='}};
    switch (o->type) {
    case BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return 'P';
    case BP__CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return o->mode == BP__CUDNN_REDUCE_TENSOR_MAX ? 'M' : 'S';
    case BP__CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return 'V';
    case BP__CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
            if (functions[i].mode == o->mode) {
                return functions[i].letter;
            }
        }
        return '!';
    default:
        return '!';
    }
}

/* Returns whether a text is a pattern, whose parts in brackets may be left out: "a[bc]d" is "ad" or "abcd". */
static bool matches(const char *text, const char *pattern) {
    if (*pattern != '[') {
        return *text == *pattern && (!*text || matches(text + 1, pattern + 1));
    }
    const char *end = strchr(pattern, ']') + 1;
    const size_t length = (size_t)(end - pattern) - 2;
    return matches(text, end) || (strncmp(text, pattern + 1, length) == 0 && matches(text + length, end));
}

static bool has_pattern(const executable *e, const char *pattern) {
    char text[OPERATIONS_MOST + 1] = "";
    for (int i = 0; i < e->operation_count; i++) {
        text[i] = letter_of(&e->operations[i]);
    }
    return matches(text, pattern);
}

static bool is_backward(const executable *e) {
    return has_pattern(e, "*S*P*-[ii>?]eVP[S]P-**VP[S]VP=");
}

bool double_is_attention(const executable *e) {
    return has_pattern(e, "P*[+][ii>?]M-eSl+/P") || is_backward(e);
}

/* ---- Rules ---- */

/* Kernels read rows in pieces of 16 bytes. */
static bool has_rows(const tensor *t) {
    bool whole = true;
    const int last = t->stride[3] == 1 ? 3 : 2; /* a matrix may be turned */
    for (int d = 0; d < t->ndim; d++) {
        whole = whole && (d == last || t->stride[d] % 8 == 0);
    }
    return whole && t->stride[last] == 1 && t->size[last] % 8 == 0 && t->alignment % 16 == 0;
}

bool double_has_attention(const executable *e) {
    const int64_t most = is_backward(e) ? 128 : 256;
    bool has = true;
    for (int i = 0; i < e->operation_count && has; i++) {
        const operation *o = &e->operations[i];
        for (int k = 0; k < 3 && o->type == BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR; k++) {
            const tensor *t = &e->tensors[k < 2 ? o->in[k] : o->out];
            const bool io = t->type == BP__CUDNN_DATA_HALF || t->type == BP__CUDNN_DATA_BFLOAT16;
            if (t->is_virtual || !io) {
                continue;
            }
            if (!has_rows(t)) {
                double_violate(0, "attention reads rows that are no pieces of 16 bytes");
            }
            has = has && t->size[t->stride[3] == 1 ? 3 : 2] <= most;
        }
    }
    return has;
}
