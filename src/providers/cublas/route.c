/* route.c - expresses a product as calls of the library: order, transposition, leading dimensions, batch.
 *
 * The library is column-major. A result with contiguous rows is computed as its transpose, C^T = B^T A^T, so that a
 * vector along the rows is one along the columns, as the library adds it. */
#include "providers/cublas/cublas.h"

#include <string.h>

/* Each call takes microseconds, so that a batch that needs more of them is left to others. */
enum { MOST_CALLS = 64 };

bp__cublas_matrix bp__cublas_transposed(const bp__cublas_matrix *x) {
    bp__cublas_matrix t = *x;
    t.rows = x->columns;
    t.columns = x->rows;
    t.row = x->column;
    t.column = x->row;
    return t;
}

/* Finds the leading dimension of a matrix whose columns are contiguous. Strides of dimensions of size 1 are 0. */
static bool has_columns(const bp__cublas_matrix *x, int64_t *ld) {
    if (x->rows > 1 && x->row != 1) {
        return false;
    }
    *ld = x->columns > 1 ? x->column : x->rows;
    return *ld >= x->rows;
}

/* The library conjugates only what it also transposes. */
static bool as_input(const bp__cublas_matrix *x, uint32_t *op, int64_t *ld) {
    const bp__cublas_matrix other = bp__cublas_transposed(x);
    *op = BP__CUBLAS_OP_N;
    if (!x->conjugate && has_columns(x, ld)) {
        return true;
    }
    *op = x->conjugate ? BP__CUBLAS_OP_C : BP__CUBLAS_OP_T;
    return has_columns(&other, ld);
}

/* ---- The batch ---- */

/* Returns the dimension of the batch that is one call: the largest that steps forward in all operands; -1: none. */
static int inner_dimension(const bp__cublas_product *p) {
    int best = -1;
    for (int d = 0; d < p->batch_ndim; d++) {
        const bool forward = p->a.batch[d] >= 0 && p->b.batch[d] >= 0 && p->c.batch[d] > 0;
        if (forward && p->batch[d] <= INT32_MAX && (best < 0 || p->batch[d] >= p->batch[best])) {
            best = d;
        }
    }
    return best;
}

/* Divides the batch into items of one call and calls. `a` and `b` are the operands in the library's order. */
static bool divide_batch(const bp__cublas_product *p, const bp__cublas_matrix *a, const bp__cublas_matrix *b,
                         bp__cublas_route *route) {
    const int inner = inner_dimension(p);
    route->count = 1;
    route->outer = 1;
    for (int d = 0; d < p->batch_ndim; d++) {
        if (d == inner) {
            route->count = p->batch[d];
            route->stride_a = a->batch[d];
            route->stride_b = b->batch[d];
            route->stride_d = p->c.batch[d];
            continue;
        }
        const int to = route->outer_ndim++;
        route->outer_size[to] = p->batch[d];
        route->outer_a[to] = a->batch[d];
        route->outer_b[to] = b->batch[d];
        route->outer_d[to] = p->c.batch[d];
        if (__builtin_mul_overflow(route->outer, p->batch[d], &route->outer)) {
            return false;
        }
    }
    return route->outer <= MOST_CALLS;
}

/* ---- The order ---- */

/* Tries D = C, or with `transpose` D = C^T. */
static bool in_order(const bp__cublas_product *p, bool transpose, bp__cublas_route *route) {
    bp__cublas_matrix a = p->a, b = p->b, c = p->c;
    if (transpose) {
        a = bp__cublas_transposed(&p->b);
        b = bp__cublas_transposed(&p->a);
        c = bp__cublas_transposed(&p->c);
    } else if (p->has_bias && !p->sums_rows) {
        return false; /* the vector would be added along the other dimension */
    }
    if (!has_columns(&c, &route->ldd)) {
        return false;
    }
    if (route->work == BP__CUBLAS_PRODUCT &&
        !(as_input(&a, &route->op_a, &route->lda) && as_input(&b, &route->op_b, &route->ldb))) {
        return false;
    }
    route->a = a.operand;
    route->b = b.operand;
    route->m = c.rows;
    route->n = c.columns;
    route->k = a.columns;
    route->epilogue = p->function ? p->function : BP__CUBLASLT_EPILOGUE_DEFAULT;
    if (p->has_bias) {
        route->epilogue = !p->sums_rows ? p->function | BP__CUBLASLT_EPILOGUE_BIAS
                          : transpose   ? BP__CUBLASLT_EPILOGUE_BGRADB
                                        : BP__CUBLASLT_EPILOGUE_BGRADA;
    }
    return true;
}

static bp__cublas_work work_of(const bp__cublas_product *p) {
    bool empty = p->c.rows == 0 || p->c.columns == 0;
    for (int d = 0; d < p->batch_ndim; d++) {
        empty = empty || p->batch[d] == 0;
    }
    const bool unread = p->a.columns == 0 || p->alpha == BP_FACTOR_ZERO; /* then C becomes beta C */
    return empty || (unread && p->beta == BP_FACTOR_ONE) ? BP__CUBLAS_NOTHING
           : unread                                      ? BP__CUBLAS_ZEROS
                                                         : BP__CUBLAS_PRODUCT;
}

/* Zeros are written item by item, unless items follow each other as columns do. */
static bool can_fill(bp__cublas_route *route) {
    if (route->count > 1 && route->stride_d == route->n * route->ldd) {
        route->n *= route->count;
        route->count = 1;
    }
    return route->count * route->outer <= MOST_CALLS;
}

const char *bp__cublas_route_of(const bp__cublas_product *p, bp__cublas_route *route) {
    memset(route, 0, sizeof *route);
    route->work = work_of(p);
    route->d = p->c.operand;
    route->bias = p->bias;
    route->has_bias = p->has_bias;
    if (route->work == BP__CUBLAS_NOTHING) {
        return NULL;
    }
    if (route->work == BP__CUBLAS_ZEROS && p->beta == BP_FACTOR_ANY) {
        return "it cannot multiply a matrix by beta alone";
    }
    const bool transpose = in_order(p, true, route);
    if (!transpose && !in_order(p, false, route)) {
        return "a matrix has neither contiguous rows nor contiguous columns that do not overlap, or would be "
               "conjugated without being transposed, or the result with a bias has no contiguous rows";
    }
    if (!divide_batch(p, transpose ? &p->b : &p->a, transpose ? &p->a : &p->b, route) ||
        (route->work == BP__CUBLAS_ZEROS && !can_fill(route))) {
        return "the batch needs more than 64 calls";
    }
    return NULL;
}
