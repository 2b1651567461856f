/* route.c - expresses products as calls of CLBlast: layout, transposition, leading dimensions, batch. */
#include "providers/clblast/clblast.h"

#include <limits.h>

/* Several calls for one product cost time each; a batch with more of them is left to others. */
enum { MOST_CALLS = 64 };

/* A matrix as the library sees it in row-major layout: rows x columns. In column-major layout all are transposed. */
typedef struct matrix {
    int64_t rows, columns, row, column;
    bool conjugate;
} matrix;

static matrix transposed(matrix x) {
    return (matrix){x.columns, x.rows, x.column, x.row, x.conjugate};
}

/* Finds the leading dimension of a matrix whose rows are contiguous. Strides of dimensions of size 1 are 0. */
static bool has_rows(const matrix *x, size_t *ld) {
    if (x->columns > 1 && x->column != 1) {
        return false;
    }
    *ld = (size_t)(x->rows > 1 ? x->row : x->columns);
    return x->rows == 1 || x->row >= x->columns;
}

/* The library conjugates only what it also transposes. */
static bool as_input(const matrix *x, int *transpose, size_t *ld) {
    matrix other = transposed(*x);
    *transpose = BP__CLBLAST_TransposeNo;
    if (!x->conjugate && has_rows(x, ld)) {
        return true;
    }
    *transpose = x->conjugate ? BP__CLBLAST_TransposeConjugate : BP__CLBLAST_TransposeYes;
    return has_rows(&other, ld);
}

/* Tries one layout. In column-major layout the library sees C^T = B^T A^T if it is told that A and B are swapped; here
 * the operands stay, and each is described by its transpose. */
static bool in_layout(bp__clblast_route *route, int layout, matrix a, matrix b, matrix c) {
    if (layout == BP__CLBLAST_LayoutColMajor) {
        a = transposed(a);
        b = transposed(b);
        c = transposed(c);
    }
    route->layout = layout;
    return has_rows(&c, &route->ldc) && as_input(&a, &route->transpose_a, &route->lda) &&
           as_input(&b, &route->transpose_b, &route->ldb);
}

/* Adds the distance from the first to the last index of a dimension. Returns false if the stride is negative or the
 * sum too large for the library's kernels, which compute with 32-bit integers. */
static bool add_extent(size_t *extent, int64_t size, int64_t stride) {
    int64_t more;
    if (stride < 0 || __builtin_mul_overflow(size - 1, stride, &more) || more > INT_MAX ||
        *extent + (size_t)more > INT_MAX) {
        return false;
    }
    *extent += (size_t)more;
    return true;
}

static bool find_extent(const bp_gemm_problem *g, bp__clblast_route *route) {
    const struct {
        int64_t rows, columns, row, column;
        const int64_t *batch;
    } all[] = {{g->m, g->k, g->a_row, g->a_column, g->batch_a},
               {g->k, g->n, g->b_row, g->b_column, g->batch_b},
               {g->m, g->n, g->c_row, g->c_column, g->batch_c}};
    for (int i = 0; i < 3; i++) {
        size_t extent = 0;
        bool fits = add_extent(&extent, all[i].rows, all[i].row) && add_extent(&extent, all[i].columns, all[i].column);
        for (int d = 0; d < g->batch_ndim; d++) {
            fits = fits && add_extent(&extent, g->batch_shape[d], all[i].batch[d]);
        }
        if (!fits) {
            return false;
        }
        route->extent = extent > route->extent ? extent : route->extent;
    }
    return true;
}

/* The last dimension of the batch is one call, the others are iterated. */
static bool divide_batch(const bp_gemm_problem *g, bp__clblast_route *route) {
    int last = g->batch_ndim - 1;
    route->count = 1;
    route->outer = 1;
    if (last >= 0) {
        route->count = (size_t)g->batch_shape[last];
        route->stride_a = (size_t)g->batch_a[last];
        route->stride_b = (size_t)g->batch_b[last];
        route->stride_c = (size_t)g->batch_c[last];
        route->outer_ndim = last;
        route->outer = (size_t)(g->batch / g->batch_shape[last]);
    }
    return route->outer <= MOST_CALLS;
}

const char *bp__clblast_route_of(const bp_problem *problem, bp__clblast_route *route) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    const matrix a = {g->m, g->k, g->a_row, g->a_column, g->conjugate_a && complex};
    const matrix b = {g->k, g->n, g->b_row, g->b_column, g->conjugate_b && complex};
    const matrix c = {g->m, g->n, g->c_row, g->c_column, false};
    *route = (bp__clblast_route){.m = (size_t)g->m, .n = (size_t)g->n, .k = (size_t)g->k, .dtype = problem->dtype};
    if (!find_extent(g, route)) {
        return "a stride is negative, or an operand exceeds its 32-bit integers";
    }
    if (!in_layout(route, BP__CLBLAST_LayoutRowMajor, a, b, c) &&
        !in_layout(route, BP__CLBLAST_LayoutColMajor, a, b, c)) {
        return "a matrix has neither contiguous rows nor contiguous columns, or would be conjugated in its layout";
    }
    return divide_batch(g, route) ? NULL : "the batch needs more than 64 calls";
}
