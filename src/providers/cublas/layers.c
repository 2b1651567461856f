/* layers.c - reads what a problem asks for: products, and convolutions whose window has one element, which are products
 * with a bias and a function. Linear layers are such convolutions. */
#include "providers/cublas/cublas.h"

#include <string.h>

const char *bp__cublas_product_of_gemm(const bp_problem *problem, bp__cublas_product *p) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    *p = (bp__cublas_product){.batch_ndim = g->batch_ndim, .alpha = g->alpha, .beta = g->beta};
    p->a = (bp__cublas_matrix){
        .rows = g->m, .columns = g->k, .row = g->a_row, .column = g->a_column, .conjugate = complex && g->conjugate_a};
    p->b = (bp__cublas_matrix){.rows = g->k,
                               .columns = g->n,
                               .row = g->b_row,
                               .column = g->b_column,
                               .conjugate = complex && g->conjugate_b,
                               .operand = 1};
    p->c = (bp__cublas_matrix){.rows = g->m, .columns = g->n, .row = g->c_row, .column = g->c_column, .operand = 2};
    memcpy(p->batch, g->batch_shape, sizeof p->batch);
    memcpy(p->a.batch, g->batch_a, sizeof p->a.batch);
    memcpy(p->b.batch, g->batch_b, sizeof p->b.batch);
    memcpy(p->c.batch, g->batch_c, sizeof p->c.batch);
    return NULL;
}

/* ---- Convolutions whose window has one element ---- */

/* The items and positions of a convolution, which are rows of its matrices. */
typedef struct rows {
    int ndim;
    int64_t size[1 + BP_MAX_CONV_NDIM], x[1 + BP_MAX_CONV_NDIM], y[1 + BP_MAX_CONV_NDIM];
} rows;

/* Adds a dimension inside the others, merged with the last one if both tensors permit it. */
static void add_rows(rows *r, int64_t size, int64_t x, int64_t y) {
    if (size == 1) {
        return;
    }
    const int last = r->ndim - 1;
    if (last >= 0 && r->x[last] == x * size && r->y[last] == y * size) {
        r->size[last] *= size;
        r->x[last] = x;
        r->y[last] = y;
        return;
    }
    r->size[r->ndim] = size;
    r->x[r->ndim] = x;
    r->y[r->ndim++] = y;
}

static bool has_window_of_one(const bp_conv_problem *c) {
    bool one = c->groups == 1;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        one = one && c->kernel[d] == 1 && c->stride[d] == 1 && c->padding[d] == 0 && c->in[d] == c->out[d];
    }
    return one;
}

static rows rows_of(const bp_conv_problem *c) {
    rows r = {0};
    add_rows(&r, c->batch, c->x_batch, c->y_batch);
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        add_rows(&r, c->in[d], c->x[d], c->y[d]);
    }
    return r;
}

/* Writes the dimensions except the last one as the batch, and sets the sizes and strides of the last one. */
static void use_rows(const rows *r, bp__cublas_product *p, bp__cublas_matrix *x, bp__cublas_matrix *y) {
    const int last = r->ndim - 1;
    x->rows = y->rows = last >= 0 ? r->size[last] : 1;
    x->row = last >= 0 ? r->x[last] : 0;
    y->row = last >= 0 ? r->y[last] : 0;
    p->batch_ndim = last > 0 ? last : 0;
    for (int d = 0; d < p->batch_ndim; d++) {
        p->batch[d] = r->size[d];
        x->batch[d] = r->x[d];
        y->batch[d] = r->y[d];
    }
}

/* The function that the library has as an epilogue. Its GELU is the one with tanh. */
static const char *set_function(const bp_conv_problem *c, bp__cublas_product *p) {
    const bool relu = c->relu || c->activation == BP_UNARY_RELU, gelu = c->activation == BP_UNARY_GELU_TANH;
    p->function = relu ? BP__CUBLASLT_EPILOGUE_RELU : gelu ? BP__CUBLASLT_EPILOGUE_GELU : 0;
    return relu || gelu || c->activation == BP_UNARY_COPY ? NULL : "its functions are relu and gelu_tanh";
}

const char *bp__cublas_product_of_layer(const bp_problem *problem, bp__cublas_product *p) {
    const bp_conv_problem *c = &problem->of.conv;
    if (!has_window_of_one(c)) {
        return "it takes only convolutions whose window has one element, without groups, steps and padding";
    }
    const rows r = rows_of(c);
    bp__cublas_matrix x = {.columns = c->in_channels, .column = c->x_channel},
                      y = {.columns = c->out_channels, .column = c->y_channel},
                      w = {.rows = c->out_channels, .columns = c->in_channels, .row = c->w_out, .column = c->w_in};
    *p = (bp__cublas_product){.alpha = BP_FACTOR_ONE, .beta = BP_FACTOR_ZERO, .has_bias = c->has_bias != 0, .bias = 2};
    use_rows(&r, p, &x, &y);
    if (c->has_bias && c->bias != 1 && (problem->op == BP_OP_CONV_INPUT ? c->in_channels : c->out_channels) > 1) {
        return "the elements of the bias are not contiguous";
    }
    if (problem->op == BP_OP_CONV_WEIGHT) { /* W = Y^T X */
        if (p->batch_ndim > 0 || c->transposed) {
            return "the rows of the operands have no single stride, or the convolution is transposed";
        }
        x.operand = 0;
        y.operand = 1;
        w.operand = 2;
        p->a = bp__cublas_transposed(&y);
        p->b = x;
        p->c = w;
        p->bias = 3;
        p->sums_rows = p->has_bias;
        return NULL;
    }
    const bool forward = problem->op == BP_OP_CONV; /* Y = X W^T, or X = Y W */
    w.operand = 1;
    x.operand = forward ? 0 : 3;
    y.operand = forward ? 3 : 0;
    p->a = forward ? x : y;
    p->b = forward ? bp__cublas_transposed(&w) : w;
    p->c = forward ? y : x;
    return set_function(c, p);
}
