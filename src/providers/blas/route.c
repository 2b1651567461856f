/* route.c - chooses, from the layout of a problem, the routine to call and how each operand is passed.
 *
 * BLAS takes matrices with one unit stride and a leading dimension, and vectors with a non-zero increment. An operand
 * of that form is used in place; any other one is copied to scratch memory. Nothing in this file accesses data.
 */
#include "providers/blas/blas.h"

#include <stdio.h>

static int64_t at_least_one(int64_t size) {
    return size > 1 ? size : 1;
}

/* ---- Operands ---- */

static const char *why_not(const bp__blas_matrix *x, int64_t int_max) {
    if (x->row < 0 || x->column < 0) {
        return "a stride is negative";
    }
    if ((x->row == 0 && x->rows > 1) || (x->column == 0 && x->columns > 1)) {
        return "a stride is zero";
    }
    if (x->row > int_max || x->column > int_max) {
        return "a stride exceeds the library's integers";
    }
    if (!bp__driver_takes_leading(x->row, x->columns, int_max) ||
        !bp__driver_takes_leading(x->column, x->rows, int_max)) {
        return "a stride of a small matrix exceeds the integers of vector kernels";
    }
    if (x->row != 1 && x->column != 1) {
        return "no stride is 1";
    }
    return x->conjugate && x->row == 1 ? "BLAS cannot conjugate without transposing" : "its rows overlap";
}

static bool fits_as_is(bp__blas_matrix *x, int64_t int_max) {
    int64_t ld = x->columns > 1 ? x->column : at_least_one(x->rows);
    if (x->conjugate || (x->row != 1 && x->rows > 1) || ld < at_least_one(x->rows) ||
        !bp__driver_takes_leading(ld, x->rows, int_max)) {
        return false;
    }
    x->transform = 'N';
    x->ld = ld;
    return true;
}

static bool fits_transposed(bp__blas_matrix *x, int64_t int_max) {
    int64_t ld = x->rows > 1 ? x->row : at_least_one(x->columns);
    if ((x->column != 1 && x->columns > 1) || ld < at_least_one(x->columns) ||
        !bp__driver_takes_leading(ld, x->columns, int_max)) {
        return false;
    }
    x->transform = x->conjugate ? 'C' : 'T';
    x->ld = ld;
    return true;
}

static void fit_matrix(bp__blas_matrix *x, bool transposed_first, int64_t int_max) {
    bool fits = transposed_first ? fits_transposed(x, int_max) || fits_as_is(x, int_max)
                                 : fits_as_is(x, int_max) || fits_transposed(x, int_max);
    if (!fits) {
        x->packs = why_not(x, int_max);
        x->transform = 'N';
        x->ld = at_least_one(x->rows);
    }
}

static void fit_vector(bp__blas_matrix *x, int64_t length, int64_t stride, int64_t int_max) {
    x->transform = 'N';
    x->ld = length > 1 ? stride : 1;
    if (x->conjugate) {
        x->packs = "BLAS cannot conjugate a vector";
    } else if (x->ld == 0) {
        x->packs = "a stride is zero";
    } else if (x->ld > int_max || x->ld < -int_max) {
        x->packs = "a stride exceeds the library's integers";
    }
    if (x->packs) {
        x->ld = 1;
    }
}

static void fit_result(bp__blas_matrix *c, int64_t int_max) {
    c->transform = 'N';
    c->ld = c->columns > 1 ? c->column : at_least_one(c->rows);
    if ((c->row != 1 && c->rows > 1) || c->ld < at_least_one(c->rows) ||
        !bp__driver_takes_leading(c->ld, c->rows, int_max)) {
        c->packs = why_not(c, int_max);
        c->ld = at_least_one(c->rows);
    }
}

/* ---- Orientation ---- */

static bool is_vector_by_gemm(const bp__blas_route *route, const bp_gemm_problem *g) {
    return route->kind == BP__BLAS_GEMM && (g->m == 1 || g->n == 1);
}

static void orient(bp__blas_route *route, const bp_gemm_problem *g, bool swap, int64_t int_max) {
    bool conjugates = route->dtype == BP_C64 || route->dtype == BP_C128;
    bp__blas_matrix a = {.rows = g->m, .columns = g->k, .row = g->a_row, .column = g->a_column};
    bp__blas_matrix b = {.rows = g->k, .columns = g->n, .row = g->b_row, .column = g->b_column};
    a.conjugate = conjugates && g->conjugate_a;
    b.conjugate = conjugates && g->conjugate_b;
    route->swap = swap;
    route->k = g->k;
    if (swap) {
        route->m = g->n;
        route->n = g->m;
        route->first = (bp__blas_matrix){b.columns, b.rows, b.column, b.row, b.conjugate, NULL, 'N', 0};
        route->second = (bp__blas_matrix){a.columns, a.rows, a.column, a.row, a.conjugate, NULL, 'N', 0};
        route->c = (bp__blas_matrix){g->n, g->m, g->c_column, g->c_row, false, NULL, 'N', 0};
    } else {
        route->m = g->m;
        route->n = g->n;
        route->first = a;
        route->second = b;
        route->c = (bp__blas_matrix){g->m, g->n, g->c_row, g->c_column, false, NULL, 'N', 0};
    }
    /* For gemv a single row is contiguous only in its transposed form. gemm packs its operands anyway and gets the
     * letters of a plain call, because libraries have kernels for other letters that round differently. */
    fit_matrix(&route->first, route->kind == BP__BLAS_GEMV && route->first.rows == 1, int_max);
    if (route->kind == BP__BLAS_GEMV) {
        fit_vector(&route->second, route->k, route->second.row, int_max);
        fit_vector(&route->c, route->m, route->c.row, int_max);
    } else {
        fit_matrix(&route->second, false, int_max);
        fit_result(&route->c, int_max);
    }
}

/* Returns the cost of an orientation before the product, in elements. A dot product along a strided row counts like a
 * copy. */
static double burden(const bp__blas_route *route) {
    double sum = 0;
    const bp__blas_matrix *all[] = {&route->first, &route->second, &route->c};
    for (int i = 0; i < 3; i++) {
        if (all[i]->packs) {
            sum += (double)all[i]->rows * (double)all[i]->columns * (i == 2 ? 2 : 1); /* C is copied in and out */
        }
    }
    bool dot = route->kind == BP__BLAS_GEMV && route->first.rows == 1 && route->first.transform == 'N';
    return sum + (dot ? (double)route->k : 0);
}

static void choose_orientation(bp__blas_route *route, const bp_gemm_problem *g, int64_t int_max) {
    if (route->kind == BP__BLAS_GEMV && (g->m != 1 || g->n != 1)) {
        orient(route, g, g->m == 1, int_max);
        return;
    }
    bp__blas_route other = *route;
    orient(route, g, false, int_max);
    orient(&other, g, true, int_max);
    /* A single row or column is both row-major and column-major. It is taken as row-major. */
    if (burden(&other) < burden(route) || (is_vector_by_gemm(route, g) && burden(&other) == burden(route))) {
        *route = other;
    }
}

/* ---- Batch ---- */

static bool continues(int64_t count, int64_t stride, int64_t step) {
    int64_t end;
    return count == 1 || (!__builtin_mul_overflow(count, stride, &end) && end == step);
}

static bool fold_rows(int64_t *m, int64_t *a_row, int64_t *c_row, int64_t count, int64_t step_a, int64_t step_c,
                      int64_t step_b, int64_t int_max) {
    int64_t rows;
    if (step_b != 0 || !continues(*m, *a_row, step_a) || !continues(*m, *c_row, step_c) ||
        __builtin_mul_overflow(*m, count, &rows) || rows > int_max) {
        return false;
    }
    if (*m == 1) {
        *a_row = step_a;
        *c_row = step_c;
    }
    *m = rows;
    return true;
}

/* Merges batch dimensions into the rows or columns of one product, so that one large call replaces many small ones.
 * This needs one factor with stride 0, and constant steps in the other factor and in C. */
static bool fold_batch(bp_gemm_problem *g, int64_t int_max) {
    int before = g->batch_ndim;
    while (g->batch_ndim > 0) {
        int d = g->batch_ndim - 1;
        int64_t count = g->batch_shape[d];
        if (!fold_rows(&g->m, &g->a_row, &g->c_row, count, g->batch_a[d], g->batch_c[d], g->batch_b[d], int_max) &&
            !fold_rows(&g->n, &g->b_column, &g->c_column, count, g->batch_b[d], g->batch_c[d], g->batch_a[d],
                       int_max)) {
            break;
        }
        g->batch /= count;
        g->batch_ndim--;
    }
    return g->batch_ndim != before;
}

/* ---- Scratch memory ---- */

static bool reserve(const bp__blas_matrix *x, size_t element, size_t *total, size_t *at) {
    size_t bytes;
    *at = *total;
    if (!x->packs) {
        return true;
    }
    if (__builtin_mul_overflow((size_t)x->rows, (size_t)x->columns, &bytes) ||
        __builtin_mul_overflow(bytes, element, &bytes) || bytes > (size_t)PTRDIFF_MAX / 4) {
        return false;
    }
    *total += (bytes + 63) & ~(size_t)63;
    return true;
}

static size_t element_size(bp_dtype dtype) {
    return dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
}

/* ---- Route ---- */

static bp__blas_kind kind_of(const bp_gemm_problem *g, bool gemm) {
    if (g->m == 0 || g->n == 0 || g->batch == 0) {
        return BP__BLAS_NOTHING;
    }
    if (g->k == 0 || g->alpha == BP_FACTOR_ZERO) {
        return g->beta == BP_FACTOR_ONE ? BP__BLAS_NOTHING : BP__BLAS_SCALE;
    }
    return !gemm && (g->m == 1 || g->n == 1) ? BP__BLAS_GEMV : BP__BLAS_GEMM;
}

bool bp__blas_route_of(bp__blas_route *route, const bp_problem *problem, int64_t int_max, bp__blas_ways ways,
                       char *text, size_t size) {
    bp_gemm_problem g = problem->of.gemm;
    *route = (bp__blas_route){.dtype = (bp_dtype)problem->dtype, .element = element_size((bp_dtype)problem->dtype)};
    route->kind = kind_of(&g, ways.gemm);
    if (route->kind <= BP__BLAS_SCALE) {
        route->m = g.m;
        route->n = g.n;
        route->c = (bp__blas_matrix){g.m, g.n, g.c_row, g.c_column, false, NULL, 'N', 0};
        bp__batch_take(&route->batch, &g, route->swap);
        return true;
    }
    if (g.m > int_max || g.n > int_max || g.k > int_max) {
        snprintf(text, size, "a size of %lldx%lldx%lld exceeds the library's %d-bit integers", (long long)g.m,
                 (long long)g.n, (long long)g.k, int_max > INT32_MAX ? 64 : 32);
        return false;
    }
    route->folded = ways.fold && fold_batch(&g, int_max);
    route->kind = kind_of(&g, ways.gemm);
    choose_orientation(route, &g, int_max);
    bp__batch_take(&route->batch, &g, route->swap);
    size_t first_at;
    if (!reserve(&route->first, route->element, &route->scratch, &first_at) ||
        !reserve(&route->second, route->element, &route->scratch, &route->second_at) ||
        !reserve(&route->c, route->element, &route->scratch, &route->c_at)) {
        snprintf(text, size, "an operand of %lldx%lldx%lld must be copied and is too large for that", (long long)g.m,
                 (long long)g.n, (long long)g.k);
        return false;
    }
    return true;
}
