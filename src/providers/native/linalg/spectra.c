/* spectra.c - implements the operations on eigenvalues and singular values for a group of small matrices, with the
 * interleaved kernels.
 *
 * A matrix with more columns than rows is transposed: A^T = U S Vh gives A = Vh^T S U^T, so that only the operands'
 * strides are exchanged. Vectors and values are sorted while they are stored.
 */
#include "small.h"

#include <math.h>
#include <string.h>

static bool is_wide(const bp_linalg_problem *l) {
    return l->m < l->n;
}

static int least_of(const bp_linalg_problem *l) {
    return (int)(is_wide(l) ? l->m : l->n);
}

static int most_of(const bp_linalg_problem *l) {
    return (int)(is_wide(l) ? l->n : l->m);
}

/* ---- Eigenvalues ---- */

static void decompose_hermitian(bp__small_group *g, bool vectors) {
    const int n = (int)g->l->n;
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    bp__small_load_triangle(g, 0, BP__SHAPE_HERMITIAN, false);
    if (g->l->upper) {
        kernels->conjugate(g->a, n * g->plan->factor_row);
    }
    kernels->trim(g->a, g->plan->factor_row, g->a, g->plan->factor_row, n, n, BP__SHAPE_HERMITIAN);
    const bp__interleaved_eigh eigh = {.elements = g->a,
                                       .row = g->plan->factor_row,
                                       .n = n,
                                       .tries = g->plan->tries,
                                       .vectors = vectors,
                                       .values = g->values,
                                       .work = g->work,
                                       .order = g->order,
                                       .info = g->info};
    kernels->eigh(&eigh);
}

/* Stores the values of a group in order, as the elements of a vector. */
static void store_values(const bp__small_group *g, int operand, int count) {
    /* The kernels of a complex type come two entries after the kernels of its real type. */
    const bp__interleaved_kernels *real = g->plan->kernels - (g->plan->kernels->parts == 2 ? 2 : 0);
    const int64_t step = g->l->operand[operand].row * (int64_t)real->element;
    const bp__interleaved_copy copy = {.elements = g->values,
                                       .element_row = 1,
                                       .element_column = 1,
                                       .memory = g->at[operand],
                                       .row = step,
                                       .column = (int64_t)real->element,
                                       .rows = count,
                                       .columns = 1,
                                       .lanes = g->items,
                                       .order = g->order};
    real->store(&copy);
}

/* Stores the columns of an interleaved matrix in order, as the rows of a view. */
static void store_columns(bp__small_group *g, bp__small_view to, char *elements, int64_t row, int rows, int columns) {
    const bp__interleaved_copy copy = {.elements = elements,
                                       .element_row = 1,
                                       .element_column = row,
                                       .memory = to.memory,
                                       .row = to.row,
                                       .column = to.column,
                                       .rows = columns,
                                       .columns = rows,
                                       .lanes = g->items,
                                       .order = g->order};
    g->plan->kernels->store(&copy);
}

void bp__small_eigh(bp__small_group *g) {
    const int n = (int)g->l->n;
    const bool vectors = g->l->operand[2].dtype != 0;
    decompose_hermitian(g, vectors);
    store_values(g, 1, n);
    if (vectors) {
        store_columns(g, bp__small_transposed(bp__small_view_of(g, 2)), g->a, g->plan->factor_row, n, n);
    }
}

/* ---- Singular values ---- */

static void decompose(bp__small_group *g, int u_columns) {
    const bp__small_view v = bp__small_view_of(g, 0);
    const int rows = most_of(g->l), columns = least_of(g->l);
    const bp__interleaved_copy copy =
        bp__small_whole(g, is_wide(g->l) ? bp__small_transposed(v) : v, g->a, rows, columns);
    bp__small_load(g, &copy, BP__SHAPE_ALL);
    const bp__interleaved_svd svd = {.elements = g->a,
                                     .row = g->plan->factor_row,
                                     .rows = rows,
                                     .columns = columns,
                                     .tries = g->plan->tries,
                                     .u = u_columns ? g->b : NULL,
                                     .u_row = g->plan->right_row,
                                     .u_columns = u_columns,
                                     .v = u_columns ? g->c : NULL,
                                     .v_row = g->plan->third_row,
                                     .values = g->values,
                                     .work = g->work,
                                     .order = g->order,
                                     .info = g->info};
    g->plan->kernels->svd(&svd);
}

void bp__small_svd(bp__small_group *g) {
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    const int rows = most_of(g->l), columns = least_of(g->l), lanes = kernels->lanes;
    const bool wide = is_wide(g->l), vectors = g->l->operand[1].dtype != 0;
    const int u_columns = !vectors ? 0 : g->l->mode == BP_SVD_FULL ? rows : columns;
    decompose(g, u_columns);
    store_values(g, 2, columns);
    if (!vectors) {
        return;
    }
    /* Further columns of U belong to no singular value and keep their positions. */
    for (int i = columns * lanes; i < u_columns * lanes; i++) {
        g->order[i] = (int16_t)(i / lanes);
    }
    kernels->conjugate(g->c, columns * g->plan->third_row);
    const bp__small_view u = bp__small_view_of(g, wide ? 3 : 1), vh = bp__small_view_of(g, wide ? 1 : 3);
    store_columns(g, wide ? u : bp__small_transposed(u), g->b, g->plan->right_row, rows, u_columns);
    store_columns(g, wide ? bp__small_transposed(vh) : vh, g->c, g->plan->third_row, columns, columns);
}

/* ---- Operations with one number as result ---- */

static double value_of(const bp__small_group *g, int value, int lane) {
    const int at = value * g->plan->kernels->lanes + lane;
    return g->plan->single ? (double)((const float *)(const void *)g->values)[at]
                           : ((const double *)(const void *)g->values)[at];
}

static void put_real(const bp__small_group *g, int lane, double value) {
    void *to = g->at[1][lane];
    if (g->plan->single) {
        *(float *)to = (float)value;
    } else {
        *(double *)to = value;
    }
}

typedef struct extent {
    double least, most, sum; /* of absolute values */
} extent;

static extent extent_of(const bp__small_group *g, int count, int lane) {
    const double first = fabs(value_of(g, 0, lane));
    extent e = {first, first, first};
    for (int i = 1; i < count; i++) {
        const double x = fabs(value_of(g, i, lane));
        e.least = fmin(e.least, x);
        e.most = fmax(e.most, x);
        e.sum += x;
    }
    return e;
}

/* Returns the threshold up to which values count as zero. */
static double threshold_of(const bp__small_group *g, int count, int lane) {
    return fmax(g->l->atol, g->l->rtol * extent_of(g, count, lane).most);
}

void bp__small_matrix_rank(bp__small_group *g) {
    const int count = least_of(g->l);
    if (g->l->hermitian) {
        decompose_hermitian(g, false);
    } else {
        decompose(g, 0);
    }
    for (int lane = 0; lane < g->items; lane++) {
        const double threshold = threshold_of(g, count, lane);
        int64_t rank = 0;
        for (int i = 0; i < count; i++) {
            rank += fabs(value_of(g, i, lane)) > threshold;
        }
        *(int64_t *)(void *)g->at[1][lane] = rank;
    }
}

void bp__small_norm(bp__small_group *g) {
    decompose(g, 0);
    for (int lane = 0; lane < g->items; lane++) {
        const extent e = extent_of(g, least_of(g->l), lane);
        put_real(g, lane, g->l->mode == BP_NORM_NUC ? e.sum : g->l->order > 0 ? e.most : e.least);
    }
}

/* The condition number of a zero matrix is infinite, as of every singular matrix, for order 2 and -2. */
void bp__small_cond(bp__small_group *g) {
    decompose(g, 0);
    for (int lane = 0; lane < g->items; lane++) {
        const extent e = extent_of(g, least_of(g->l), lane);
        put_real(g, lane, e.most == 0 ? (double)INFINITY : g->l->order > 0 ? e.most / e.least : e.least / e.most);
    }
}

/* ---- The Moore-Penrose inverse ---- */

/* Replaces values by the factors of the columns: the inverse, or 0 up to the threshold. */
static void invert_values(bp__small_group *g, int count) {
    const int lanes = g->plan->kernels->lanes;
    for (int lane = 0; lane < lanes; lane++) {
        const double threshold = threshold_of(g, count, lane);
        for (int i = 0; i < count; i++) {
            const double value = value_of(g, i, lane), factor = fabs(value) > threshold ? 1 / value : 0;
            if (g->plan->single) {
                ((float *)(void *)g->values)[i * lanes + lane] = (float)factor;
            } else {
                ((double *)(void *)g->values)[i * lanes + lane] = factor;
            }
        }
    }
}

/* V w^-1 V^H */
static void invert_hermitian(bp__small_group *g) {
    const int n = (int)g->l->n;
    decompose_hermitian(g, true);
    invert_values(g, n);
    memcpy(g->b, g->a, g->plan->factor);
    const bp__interleaved_combine combine = {.to = g->c,
                                             .to_row = g->plan->third_row,
                                             .left = g->b,
                                             .left_row = g->plan->right_row,
                                             .right = g->a,
                                             .right_row = g->plan->factor_row,
                                             .values = g->values,
                                             .rows = n,
                                             .columns = n,
                                             .count = n};
    g->plan->kernels->combine(&combine);
    bp__interleaved_copy copy = bp__small_whole(g, bp__small_view_of(g, 1), g->c, n, n);
    copy.element_row = g->plan->third_row;
    g->plan->kernels->store(&copy);
}

/* V S^-1 U^H. It is the transpose of the conjugate of U S^-1 V^H. */
static void invert_general(bp__small_group *g) {
    const int rows = most_of(g->l), columns = least_of(g->l);
    decompose(g, columns);
    invert_values(g, columns);
    const bp__interleaved_combine combine = {.to = g->a,
                                             .to_row = g->plan->factor_row,
                                             .left = g->b,
                                             .left_row = g->plan->right_row,
                                             .right = g->c,
                                             .right_row = g->plan->third_row,
                                             .values = g->values,
                                             .rows = rows,
                                             .columns = columns,
                                             .count = columns};
    g->plan->kernels->combine(&combine);
    g->plan->kernels->conjugate(g->a, rows * g->plan->factor_row);
    const bp__small_view to = bp__small_view_of(g, 1);
    const bp__interleaved_copy copy =
        bp__small_whole(g, is_wide(g->l) ? to : bp__small_transposed(to), g->a, rows, columns);
    g->plan->kernels->store(&copy);
}

void bp__small_pinv(bp__small_group *g) {
    if (g->l->hermitian) {
        invert_hermitian(g);
    } else {
        invert_general(g);
    }
}

bool bp__small_is_spectral(const bp_linalg_problem *l) {
    return l->mode == BP_NORM_P && fabs(l->order) == 2;
}
