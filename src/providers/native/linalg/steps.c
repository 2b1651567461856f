/* steps.c - implements each operation for a group of small matrices, with the interleaved kernels.
 *
 * The interleaved A always has the same place in scratch. Which triangle is solved with, and from which side, is
 * expressed by the strides that the kernels get. Right sides are solved a few columns at a time, so that they stay in
 * the cache together with A.
 */
#include "small.h"

bp__small_view bp__small_view_of(const bp__small_group *g, int operand) {
    const bp_linalg_operand *o = &g->l->operand[operand];
    const int64_t size = (int64_t)g->plan->kernels->element;
    return (bp__small_view){g->at[operand], o->row * size, o->column * size};
}

bp__small_view bp__small_transposed(bp__small_view v) {
    return (bp__small_view){v.memory, v.column, v.row};
}

bp__interleaved_copy bp__small_whole(const bp__small_group *g, bp__small_view v, char *elements, int rows,
                                     int columns) {
    return (bp__interleaved_copy){.elements = elements,
                                  .element_row = elements == g->a ? g->plan->factor_row : g->plan->right_row,
                                  .element_column = 1,
                                  .memory = v.memory,
                                  .row = v.row,
                                  .column = v.column,
                                  .rows = rows,
                                  .columns = columns,
                                  .lanes = g->items};
}

void bp__small_load(bp__small_group *g, const bp__interleaved_copy *copy, bp__interleaved_shape shape) {
    g->plan->kernels->load(copy);
    g->wrong |= g->plan->kernels->examine(copy, shape);
}

void bp__small_load_triangle(bp__small_group *g, int operand, bp__interleaved_shape shape, bool natural) {
    const int n = (int)g->l->n;
    const bp__small_view v = bp__small_view_of(g, operand);
    bp__interleaved_copy copy = bp__small_whole(g, g->l->upper ? bp__small_transposed(v) : v, g->a, n, n);
    if (g->l->upper && natural) {
        copy.element_row = 1, copy.element_column = g->plan->factor_row;
    }
    bp__small_load(g, &copy, shape);
}

static void load_all(bp__small_group *g) {
    const int m = (int)g->l->m, n = (int)g->l->n;
    const bp__interleaved_copy copy = bp__small_whole(g, bp__small_view_of(g, 0), g->a, m, n);
    bp__small_load(g, &copy, BP__SHAPE_ALL);
}

static void order_rows(bp__small_group *g, int rows, int pivots) {
    const int lanes = g->plan->kernels->lanes;
    for (int i = 0; i < rows * lanes; i++) {
        g->order[i] = (int16_t)(i / lanes);
    }
    for (int i = 0; i < pivots * lanes; i++) {
        int16_t *here = g->order + i, *there = g->order + g->pivots[i] * lanes + i % lanes;
        const int16_t row = *here;
        *here = *there;
        *there = row;
    }
}

static void factor_lu(bp__small_group *g) {
    const int m = (int)g->l->m, n = (int)g->l->n;
    load_all(g);
    const bp__interleaved_factor factor = {
        .elements = g->a, .row = g->plan->factor_row, .rows = m, .columns = n, .pivots = g->pivots, .info = g->info};
    g->plan->kernels->lu(&factor);
}

static void invert_diagonal(const bp__small_group *g) {
    g->plan->kernels->invert_diagonal(g->inverses, g->a, g->plan->factor_row + 1, (int)g->l->n);
}

/* Selects the triangle of A to solve with. */
typedef struct triangle {
    bool upper, transposed, unit;
} triangle;

/* b = inverse(op(T)) b for an interleaved n x k matrix b. `triangular`: as in bp__interleaved_solve. */
static void solve(const bp__small_group *g, triangle t, int k, bool triangular) {
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    const int64_t sign = t.upper != t.transposed ? -1 : 1, row = sign * g->plan->factor_row;
    /* Read from the last row to the first, an upper triangle is a lower one. */
    const int64_t last = sign < 0 ? g->l->n - 1 : 0;
    const bp__interleaved_solve solve = {
        .factor = g->a + last * (g->plan->factor_row + 1) * (int64_t)kernels->velement,
        .factor_row = t.transposed ? sign : row,
        .factor_column = t.transposed ? row : sign,
        .inverses = t.unit ? NULL : g->inverses + last * (int64_t)kernels->inverse,
        .inverses_step = sign,
        .b = g->b + last * g->plan->right_row * (int64_t)kernels->velement,
        .b_row = sign * g->plan->right_row,
        .b_column = 1,
        .n = (int)g->l->n,
        .k = k,
        .triangular = triangular,
    };
    kernels->solve(&solve);
}

/* Returns B or X as an n x k view, whichever side A is on. A vector with A on its right has its elements in a column.
 */
static bp__small_view right_side(const bp__small_group *g, int operand) {
    const bp_linalg_operand *o = &g->l->operand[operand];
    const bool across = !g->l->a_on_left && g->plan->problem.op != BP_OP_CHOLESKY_SOLVE && o->columns == g->l->n;
    return across ? bp__small_transposed(bp__small_view_of(g, operand)) : bp__small_view_of(g, operand);
}

/* Solution with one or two triangles for all columns of B. */
typedef struct solution {
    int from, to; /* operands */
    triangle first, second;
    int count;
    bool order_first, order_last; /* rows are exchanged while loading, or while storing */
    bool hermitian;               /* the second triangle is the conjugate transpose of the first, which is lower */
} solution;

/* Solves with L^H. L^T solves the conjugate problem, so b is conjugated before and after. */
static void solve_conjugate(bp__small_group *g, int k) {
    const int64_t elements = g->l->n * g->plan->right_row;
    g->plan->kernels->conjugate(g->b, elements);
    solve(g, (triangle){.transposed = true}, k, false);
    g->plan->kernels->conjugate(g->b, elements);
}

static void solve_columns(bp__small_group *g, const solution *s) {
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    const bp__small_view from = right_side(g, s->from), to = right_side(g, s->to);
    const int n = (int)g->l->n;
    char *source[BP__MAX_LANES], *target[BP__MAX_LANES];
    for (int64_t j = 0; j < g->l->k; j += g->plan->width) {
        const int k = (int)(g->l->k - j < g->plan->width ? g->l->k - j : g->plan->width);
        for (int lane = 0; lane < kernels->lanes; lane++) {
            source[lane] = from.memory[lane] + j * from.column;
            target[lane] = to.memory[lane] + j * to.column;
        }
        bp__interleaved_copy in = bp__small_whole(g, (bp__small_view){source, from.row, from.column}, g->b, n, k);
        bp__interleaved_copy out = bp__small_whole(g, (bp__small_view){target, to.row, to.column}, g->b, n, k);
        in.order = s->order_first ? g->order : NULL;
        out.order = s->order_last ? g->order : NULL;
        bp__small_load(g, &in, BP__SHAPE_ALL);
        solve(g, s->first, k, false);
        if (s->hermitian) {
            solve_conjugate(g, k);
        } else if (s->count > 1) {
            solve(g, s->second, k, false);
        }
        kernels->store(&out);
    }
}

/* Solves with the LU factors: A = P L U, and A^T = U^T L^T P^T. */
static void solve_factored(bp__small_group *g, int from, int to, bool transpose) {
    const triangle lower = {.transposed = transpose, .unit = true}, upper = {.upper = true, .transposed = transpose};
    const solution s = {.from = from,
                        .to = to,
                        .first = transpose ? upper : lower,
                        .second = transpose ? lower : upper,
                        .count = 2,
                        .order_first = !transpose,
                        .order_last = transpose};
    invert_diagonal(g);
    order_rows(g, (int)g->l->n, (int)g->l->n);
    solve_columns(g, &s);
}

/* ---- Operations ---- */

static void solve_general(bp__small_group *g) {
    factor_lu(g);
    solve_factored(g, 1, 2, !g->l->a_on_left);
}

/* Loads the caller's pivots, which were checked before. */
static void load_pivots(bp__small_group *g) {
    const bp_linalg_operand *o = &g->l->operand[1];
    const int lanes = g->plan->kernels->lanes, n = (int)g->l->n;
    for (int i = 0; i < n; i++) {
        for (int lane = 0; lane < lanes; lane++) {
            const int32_t pivot = ((const int32_t *)(const void *)g->at[1][lane])[i * o->row];
            g->pivots[i * lanes + lane] = (int16_t)(pivot - 1);
        }
    }
}

static void lu_solve(bp__small_group *g) {
    /* X A^H = B is conj(A) X^T = B^T. The adjoint needs the conjugate; the transpose is needed for either the adjoint
     * or A on the right, but not for both. */
    load_all(g);
    if (g->l->adjoint) {
        g->plan->kernels->conjugate(g->a, g->l->n * g->plan->factor_row);
    }
    load_pivots(g);
    solve_factored(g, 2, 3, (bool)g->l->adjoint == (bool)g->l->a_on_left);
}

static void inv(bp__small_group *g) {
    const int n = (int)g->l->n;
    factor_lu(g);
    invert_diagonal(g);
    order_rows(g, n, n);
    g->plan->kernels->identity(g->b, g->plan->right_row, n);
    solve(g, (triangle){.unit = true}, n, true);
    solve(g, (triangle){.upper = true}, n, false);
    /* Row exchanges of A are column exchanges of its inverse. */
    bp__interleaved_copy copy = bp__small_whole(g, bp__small_transposed(bp__small_view_of(g, 1)), g->b, n, n);
    copy.element_row = 1, copy.element_column = g->plan->right_row;
    copy.order = g->order;
    g->plan->kernels->store(&copy);
}

static void lu_factor(bp__small_group *g) {
    const int m = (int)g->l->m, n = (int)g->l->n, k = m < n ? m : n, lanes = g->plan->kernels->lanes;
    factor_lu(g);
    const bp__interleaved_copy copy = bp__small_whole(g, bp__small_view_of(g, 1), g->a, m, n);
    g->plan->kernels->store(&copy);
    for (int lane = 0; lane < g->items; lane++) {
        int32_t *to = (int32_t *)(void *)g->at[2][lane];
        for (int i = 0; i < k; i++) {
            to[i * g->l->operand[2].row] = g->pivots[i * lanes + lane] + 1;
        }
    }
}

static void lu(bp__small_group *g) {
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    const int m = (int)g->l->m, n = (int)g->l->n, k = m < n ? m : n;
    factor_lu(g);
    order_rows(g, m, k);
    /* Row i of the factors' product is row order[i] of A, so row order[i] of P is row i of the identity. */
    kernels->identity(g->b, g->plan->right_row, m);
    bp__interleaved_copy p = bp__small_whole(g, bp__small_view_of(g, 1), g->b, m, m);
    p.order = g->order;
    kernels->store(&p);
    kernels->trim(g->b, g->plan->right_row, g->a, g->plan->factor_row, m, k, BP__SHAPE_UNIT);
    const bp__interleaved_copy l = bp__small_whole(g, bp__small_view_of(g, 2), g->b, m, k);
    kernels->store(&l);
    kernels->trim(g->a, g->plan->factor_row, g->a, g->plan->factor_row, k, n, BP__SHAPE_UPPER);
    const bp__interleaved_copy u = bp__small_whole(g, bp__small_view_of(g, 3), g->a, k, n);
    kernels->store(&u);
}

static void det(bp__small_group *g) {
    factor_lu(g);
    bp__small_det(g);
}

static void slogdet(bp__small_group *g) {
    factor_lu(g);
    bp__small_slogdet(g);
}

static void cholesky(bp__small_group *g) {
    const int n = (int)g->l->n;
    /* For an upper triangle the transposed matrix is loaded, which is the conjugate one. Its factor, stored transposed,
     * is U. */
    bp__small_load_triangle(g, 0, BP__SHAPE_HERMITIAN, false);
    const bp__interleaved_factor factor = {
        .elements = g->a, .row = g->plan->factor_row, .rows = n, .columns = n, .info = g->info};
    g->plan->kernels->cholesky(&factor);
    const bp__small_view to = bp__small_view_of(g, 1);
    g->plan->kernels->trim(g->a, g->plan->factor_row, g->a, g->plan->factor_row, n, n, BP__SHAPE_LOWER);
    const bp__interleaved_copy copy = bp__small_whole(g, g->l->upper ? bp__small_transposed(to) : to, g->a, n, n);
    g->plan->kernels->store(&copy);
}

/* Loads L of A = L L^H. If U is given, L is its conjugate transpose. */
static void load_cholesky(bp__small_group *g, int operand) {
    bp__small_load_triangle(g, operand, BP__SHAPE_LOWER, false);
    if (g->l->upper) {
        g->plan->kernels->conjugate(g->a, g->l->n * g->plan->factor_row);
    }
    invert_diagonal(g);
}

static void cholesky_solve(bp__small_group *g) {
    load_cholesky(g, 1);
    const solution s = {.from = 0, .to = 2, .hermitian = true};
    solve_columns(g, &s);
}

/* Sets info to the first zero on the diagonal. LAPACK checks this for the inverse, but not when it solves. */
static void find_zeros(bp__small_group *g) {
    const int n = (int)g->l->n;
    const bp_linalg_operand *o = &g->l->operand[0];
    const size_t size = g->plan->kernels->element;
    for (int lane = 0; lane < g->items; lane++) {
        for (int i = n - 1; i >= 0; i--) {
            const char *at = g->at[0][lane] + i * (o->row + o->column) * (int64_t)size;
            const double *d = (const void *)at;
            const float *f = (const void *)at;
            const bool complex = g->plan->kernels->parts == 2;
            const bool doubles = size / (size_t)g->plan->kernels->parts == sizeof *d;
            const bool zero = doubles ? d[0] == 0 && (!complex || d[1] == 0) : f[0] == 0 && (!complex || f[1] == 0);
            g->info[lane] = zero ? i + 1 : g->info[lane];
        }
    }
}

static void cholesky_inverse(bp__small_group *g) {
    const int n = (int)g->l->n;
    load_cholesky(g, 0);
    find_zeros(g);
    g->plan->kernels->identity(g->b, g->plan->right_row, n);
    solve(g, (triangle){0}, n, true);
    solve_conjugate(g, n);
    g->plan->kernels->trim(g->b, g->plan->right_row, g->b, g->plan->right_row, n, n, BP__SHAPE_HERMITIAN);
    const bp__interleaved_copy copy = bp__small_whole(g, bp__small_view_of(g, 1), g->b, n, n);
    g->plan->kernels->store(&copy);
}

static void solve_triangular(bp__small_group *g) {
    bp__small_load_triangle(g, 0, g->l->unit_diagonal ? BP__SHAPE_STRICT : BP__SHAPE_LOWER, true);
    if (!g->l->unit_diagonal) {
        invert_diagonal(g);
    }
    const triangle t = {.upper = g->l->upper, .transposed = !g->l->a_on_left, .unit = g->l->unit_diagonal};
    const solution s = {.from = 1, .to = 2, .first = t, .count = 1};
    solve_columns(g, &s);
}

typedef struct operation {
    bp__small_step step;
    int8_t inputs, info;
    bool square;   /* needs memory for a square matrix with the rows of A */
    bool solves;   /* needs memory for right sides */
    bool spectral; /* an item without a result is an error, although there is no info operand */
} operation;

static const operation operations[] = {
    [BP_OP_INV] = {.step = inv, .inputs = 1, .info = 2, .square = true},
    [BP_OP_CHOLESKY] = {.step = cholesky, .inputs = 1, .info = 2},
    [BP_OP_CHOLESKY_SOLVE] = {.step = cholesky_solve, .inputs = 2, .info = -1, .solves = true},
    [BP_OP_CHOLESKY_INVERSE] = {.step = cholesky_inverse, .inputs = 1, .info = 2, .square = true},
    [BP_OP_LU_FACTOR] = {.step = lu_factor, .inputs = 1, .info = 3},
    [BP_OP_LU] = {.step = lu, .inputs = 1, .info = -1, .square = true},
    [BP_OP_LU_SOLVE] = {.step = lu_solve, .inputs = 3, .info = -1, .solves = true},
    [BP_OP_SOLVE] = {.step = solve_general, .inputs = 2, .info = 3, .solves = true},
    [BP_OP_SOLVE_TRIANGULAR] = {.step = solve_triangular, .inputs = 2, .info = -1, .solves = true},
    [BP_OP_DET] = {.step = det, .inputs = 1, .info = -1},
    [BP_OP_SLOGDET] = {.step = slogdet, .inputs = 1, .info = -1},
    [BP_OP_EIGH] = {.step = bp__small_eigh, .inputs = 1, .info = -1, .spectral = true},
    [BP_OP_SVD] = {.step = bp__small_svd, .inputs = 1, .info = -1, .spectral = true},
    [BP_OP_PINV] = {.step = bp__small_pinv, .inputs = 1, .info = -1, .spectral = true},
    [BP_OP_MATRIX_RANK] = {.step = bp__small_matrix_rank, .inputs = 1, .info = -1, .spectral = true},
    [BP_OP_COND] = {.step = bp__small_cond, .inputs = 1, .info = -1, .spectral = true},
    [BP_OP_MATRIX_NORM] = {.step = bp__small_norm, .inputs = 1, .info = -1, .spectral = true},
};

bp__small_step bp__small_step_of(bp_op op) {
    return (size_t)op < sizeof operations / sizeof *operations ? operations[op].step : NULL;
}

bool bp__small_fails(bp_op op) {
    return operations[op].info >= 0 || operations[op].spectral;
}

int bp__small_inputs(bp_op op) {
    return operations[op].inputs;
}

int bp__small_info(bp_op op) {
    return operations[op].info;
}

bp__small_sizes bp__small_sizes_of(const bp_problem *problem) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const operation *op = &operations[problem->op];
    const int m = (int)l->m, n = (int)l->n, least = m < n ? m : n, most = m < n ? n : m;
    bp__small_sizes sizes = {.rows = m, .columns = n};
    if (op->spectral) {
        const bool vectors = problem->op == BP_OP_PINV || (problem->op == BP_OP_SVD && l->operand[1].dtype);
        sizes.rows = most, sizes.columns = least;
        sizes.width = !vectors ? 0 : problem->op == BP_OP_SVD && l->mode == BP_SVD_FULL ? most : least;
        sizes.third = vectors ? least : 0;
        return sizes;
    }
    const int64_t wanted = op->square ? l->m : op->solves ? l->k : 0;
    sizes.width = wanted < BP__SMALL_MOST ? (int)wanted : BP__SMALL_MOST;
    return sizes;
}
