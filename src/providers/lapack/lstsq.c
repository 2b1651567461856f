/* lstsq.c - solves least-squares problems by LAPACK's four drivers, on copies, because they overwrite both operands. */
#include "providers/lapack/operations.h"
#include "providers/lapack/workspace.h"

#include <math.h>
#include <string.h>

/* The right side and the solution share memory with as many rows as the longer of the two. A problem without right
 * sides uses one column of zeros, because some drivers otherwise return at once without setting rank and singular
 * values. */
enum { A_VIEW, B_VIEW, RESIDUAL_VIEW, AT_PIVOTS = BP__LAPACK_AT_MORE };
enum { RESIDUALS = 3, RANK, S }; /* operands */

/* ---- The drivers; with item NULL, a workspace query ---- */

typedef struct arguments {
    const void *rcond;
    bp__lapack_int m, n, k, lda, ldb, rank, result;
    void *a, *b, *values, *pivots;
} arguments;

static arguments arguments_of(const bp__lapack_plan *plan, const bp__lapack_item *item, const void *rcond) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *b = &plan->view[B_VIEW];
    return (arguments){
        .rcond = rcond,
        .m = bp__lapack_integer(plan, a->rows),
        .n = bp__lapack_integer(plan, a->columns),
        .k = bp__lapack_integer(plan, b->columns),
        .lda = bp__lapack_integer(plan, a->ld),
        .ldb = bp__lapack_integer(plan, b->ld),
        .a = item ? bp__lapack_address(a, item) : NULL,
        .b = item ? bp__lapack_address(b, item) : NULL,
        .values = item ? bp__lapack_values(plan, item) : NULL,
        .pivots = item ? item->scratch + plan->at[AT_PIVOTS] : NULL,
    };
}

static void call_gels(const bp__lapack_plan *plan, arguments *x, const bp__lapack_workspace *workspace) {
    const char plain = 'N';
    BP__LAPACK_CALL(plan, gels)
    (&plain, &x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, workspace->work, &workspace->work_size, &x->result, 1);
}

static void call_gelsy(const bp__lapack_plan *plan, arguments *x, const bp__lapack_workspace *workspace) {
    if (plan->complex) {
        BP__LAPACK_CALL(plan, gelsy_complex)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->pivots, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, workspace->reals, &x->result);
    } else {
        BP__LAPACK_CALL(plan, gelsy_real)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->pivots, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, &x->result);
    }
}

static void call_gelsd(const bp__lapack_plan *plan, arguments *x, const bp__lapack_workspace *workspace) {
    if (plan->complex) {
        BP__LAPACK_CALL(plan, gelsd_complex)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->values, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, workspace->reals, workspace->integers, &x->result);
    } else {
        BP__LAPACK_CALL(plan, gelsd_real)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->values, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, workspace->integers, &x->result);
    }
}

static void call_gelss(const bp__lapack_plan *plan, arguments *x, const bp__lapack_workspace *workspace) {
    if (plan->complex) {
        BP__LAPACK_CALL(plan, gelss_complex)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->values, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, workspace->reals, &x->result);
    } else {
        BP__LAPACK_CALL(plan, gelss_real)
        (&x->m, &x->n, &x->k, x->a, &x->lda, x->b, &x->ldb, x->values, x->rcond, &x->rank, workspace->work,
         &workspace->work_size, &x->result);
    }
}

static int64_t call_driver(const bp__lapack_plan *plan, const bp__lapack_item *item,
                           const bp__lapack_workspace *workspace, int64_t *rank) {
    double rcond;
    bp__lapack_put(plan->real_type, &rcond, (bp_scalar){plan->problem.of.linalg.rtol, 0});
    arguments x = arguments_of(plan, item, &rcond);
    switch (plan->problem.of.linalg.mode) {
    case BP_LSTSQ_GELS:
        call_gels(plan, &x, workspace);
        break;
    case BP_LSTSQ_GELSD:
        call_gelsd(plan, &x, workspace);
        break;
    case BP_LSTSQ_GELSS:
        call_gelss(plan, &x, workspace);
        break;
    default:
        call_gelsy(plan, &x, workspace);
        break;
    }
    *rank = bp__lapack_value(plan, &x.rank);
    return bp__lapack_value(plan, &x.result);
}

/* ---- Workspace ---- */

/* gelsd divides down to problems of size 25 in the usual builds of LAPACK; the query result is larger in others. The
 * documented sizes ignore that the longer dimension counts too, so it is added here. */
static bp__lapack_needs needs_of_gelsd(int64_t least, int64_t most, int64_t k, bool is_complex) {
    const int64_t leaf = 25;
    int64_t levels = 1, wide = (leaf + 1) * (leaf + 1);
    while (least / (leaf + 1) >> levels > 0) {
        levels++;
    }
    bp__lapack_needs needs = {.integers = 3 * least * levels + 11 * least};
    if (is_complex) {
        needs.work = 2 * least + bp__most(least * k, most);
        needs.reals =
            10 * least + 2 * least * leaf + 8 * least * levels + 3 * leaf * k + bp__most(wide, least * (1 + k) + 2 * k);
    } else {
        needs.work = 12 * least + 2 * least * leaf + 8 * least * levels + least * k + wide + most;
    }
    return needs;
}

static bp__lapack_needs needs_of(const bp_linalg_problem *l, bool is_complex) {
    int64_t least = bp__least(l->m, l->n), most = bp__most(l->m, l->n), n = l->n;
    int64_t k = bp__most(l->k, 1);
    switch (l->mode) {
    case BP_LSTSQ_GELS:
        return (bp__lapack_needs){.work = least + bp__most(least, k)};
    case BP_LSTSQ_GELSD:
        return needs_of_gelsd(least, most, k, is_complex);
    case BP_LSTSQ_GELSS:
        return (bp__lapack_needs){.work = 3 * least + bp__most(2 * least, bp__most(most, k)), .reals = 5 * least};
    default:
        return (bp__lapack_needs){.work = bp__most(least + 3 * n + 1, 2 * least + k) + least, .reals = 2 * n};
    }
}

static double largest_workspace(const bp_problem *problem) {
    bool is_complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    bp__lapack_needs needs = needs_of(&problem->of.linalg, is_complex);
    return (double)bp__most(needs.work, bp__most(needs.reals, needs.integers));
}

/* ---- Residuals ---- */

/* Returns whether the residual must be computed here. All drivers except gelsy guarantee that the part below the
 * solution has the norm of the residual. */
static bool computes_residual(const bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    return l->operand[RESIDUALS].dtype && l->k > 0 && l->m > l->n && l->mode != BP_LSTSQ_GELS &&
           l->mode != BP_LSTSQ_GELSD && l->mode != BP_LSTSQ_GELSS;
}

/* Returns whether A has full rank. gels does not report a zero A, but its factor shows it. */
static bool has_full_rank(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t rank) {
    if (plan->problem.of.linalg.mode != BP_LSTSQ_GELS) {
        return rank == plan->problem.of.linalg.n;
    }
    bp_scalar first = bp__lapack_get(plan->dtype, bp__lapack_address(&plan->view[A_VIEW], item));
    return first.re != 0 || first.im != 0;
}

/* Computes B - A X from the original operands. */
static const bp__lapack_view *subtract(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *x = &plan->view[B_VIEW], *r = &plan->view[RESIDUAL_VIEW];
    bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE);
    bp__lapack_load(plan, item, r, 1, false, BP__LAPACK_WHOLE);
    bp__lapack_gemm(plan, &(bp__lapack_product){.op_a = 'N',
                                                .op_b = 'N',
                                                .alpha = -1,
                                                .beta = 1,
                                                .m = r->rows,
                                                .n = r->columns,
                                                .k = a->columns,
                                                .lda = a->ld,
                                                .ldb = x->ld,
                                                .ldc = r->ld,
                                                .a = bp__lapack_address(a, item),
                                                .b = bp__lapack_address(x, item),
                                                .c = bp__lapack_address(r, item)});
    return r;
}

static void write_residuals(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t rank) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const bp_linalg_operand *to = bp__lapack_operand(plan, RESIDUALS);
    bool known = l->m > l->n && has_full_rank(plan, item, rank), subtracts = known && computes_residual(plan);
    const bp__lapack_view *from = subtracts ? subtract(plan, item) : &plan->view[B_VIEW];
    const char *memory = bp__lapack_address(from, item);
    for (int64_t j = 0; j < l->k; j++) {
        double sum = known ? 0 : NAN;
        for (int64_t i = subtracts ? 0 : l->n; known && i < l->m; i++) {
            bp_scalar x = bp__lapack_get(plan->dtype, memory + (size_t)(j * from->ld + i) * plan->size);
            sum += x.re * x.re + x.im * x.im;
        }
        char *at = item->operand[RESIDUALS] + j * to->row * (int64_t)plan->real_size;
        bp__lapack_put(plan->real_type, at, (bp_scalar){sum, 0});
    }
}

/* ---- Operations ---- */

static bp__lapack_view place_sides(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    if (l->k == 0) {
        return bp__lapack_scratch_matrix(plan, bp__most(l->m, l->n), 1);
    }
    return l->m > l->n ? bp__lapack_place_in_scratch(plan, 1, false, false) : bp__lapack_place(plan, 2, false);
}

static bp_status prepare(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bp__lapack_needs needs = needs_of(l, plan->complex);
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    int64_t rank;
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    plan->view[B_VIEW] = place_sides(plan);
    if (computes_residual(plan)) {
        plan->view[RESIDUAL_VIEW] = bp__lapack_place_in_scratch(plan, 1, false, false);
    }
    call_driver(plan, NULL, &query, &rank);
    bp__lapack_apply_query(plan, &needs, &result);
    bp__lapack_reserve_values(plan, bp__least(l->m, l->n));
    plan->at[AT_PIVOTS] = bp__lapack_reserve(plan, l->n, plan->integer);
    bp__lapack_reserve_workspace(plan, &needs);
    return BP_OK;
}

static bool load(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bp__lapack_view b = plan->view[B_VIEW];
    if (!bp__lapack_load(plan, item, &plan->view[A_VIEW], 0, false, BP__LAPACK_WHOLE)) {
        return false;
    }
    if (l->k == 0) {
        bp__lapack_clear(plan, b.rows, b.columns, bp__lapack_address(&b, item), b.ld, BP__LAPACK_WHOLE, false);
        return true;
    }
    b.rows = l->m;
    return bp__lapack_load(plan, item, &b, 1, false, BP__LAPACK_WHOLE);
}

static void write_results(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t rank) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const bp__lapack_view *b = &plan->view[B_VIEW];
    if (!b->in_place && l->k > 0) {
        bp__lapack_write(plan, item, 2, l->n, l->k, bp__lapack_address(b, item), b->ld);
    }
    if (item->operand[RANK]) {
        *(int64_t *)(void *)item->operand[RANK] = rank;
    }
    if (item->operand[S]) {
        int64_t count = bp__least(l->m, l->n);
        bp__lapack_write(plan, item, S, count, 1, bp__lapack_values(plan, item), count);
    }
    if (item->operand[RESIDUALS]) {
        write_residuals(plan, item, rank);
    }
}

static bp_status run_lstsq(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    int64_t rank = 0;
    if (!load(plan, item)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    /* zeros allow every column to be exchanged */
    memset(item->scratch + plan->at[AT_PIVOTS], 0, (size_t)plan->problem.of.linalg.n * plan->integer);
    *info = call_driver(plan, item, &workspace, &rank);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0) {
        write_results(plan, item, rank);
    }
    return BP_OK;
}

/* A factorization with orthogonal matrices, and its application to each right side. */
static double work_factor(const bp_linalg_problem *problem) {
    double m = (double)problem->m, n = (double)problem->n, k = m < n ? m : n;
    return 2 * k * (m * n - (m + n) * k / 2 + k * k / 3) + 4 * m * n * (double)problem->k;
}

/* A is reduced to two diagonals, and the iteration rotates the right sides too; gelss also rotates a matrix. */
static double work_values(const bp_linalg_problem *problem) {
    double least = (double)bp__least(problem->m, problem->n);
    double rotations = problem->mode == BP_LSTSQ_GELSS ? 6 * least * least * least : 0;
    return 2 * work_factor(problem) + rotations;
}

#define OPERATION(NAME, TEXT, WORK, EFFICIENCY, ...)                                                                   \
    static const bp__lapack_operation NAME = {.algorithm = TEXT,                                                       \
                                              .routines = {__VA_ARGS__},                                               \
                                              .routine_count = sizeof(int[]){__VA_ARGS__} / sizeof(int),               \
                                              .efficiency = EFFICIENCY,                                                \
                                              .barriers = BP__LAPACK_COLUMN_BARRIERS,                                  \
                                              .prepare = prepare,                                                      \
                                              .run = run_lstsq,                                                        \
                                              .work = WORK,                                                            \
                                              .largest = largest_workspace}
OPERATION(by_gels, "gels", work_factor, 0.45, BP__LAPACK_gels);
OPERATION(by_gelsy, "gelsy", work_factor, 0.25, BP__LAPACK_gelsy_real, BP__LAPACK_gelsy_complex, BP__LAPACK_gemm);
OPERATION(by_gelsd, "gelsd", work_values, 0.2, BP__LAPACK_gelsd_real, BP__LAPACK_gelsd_complex);
OPERATION(by_gelss, "gelss", work_values, 0.2, BP__LAPACK_gelss_real, BP__LAPACK_gelss_complex);

static const bp__lapack_operation *variant(const bp_problem *problem) {
    switch (problem->of.linalg.mode) {
    case BP_LSTSQ_GELS:
        return &by_gels;
    case BP_LSTSQ_GELSD:
        return &by_gelsd;
    case BP_LSTSQ_GELSS:
        return &by_gelss;
    default:
        return &by_gelsy;
    }
}

const bp__lapack_operation bp__lapack_lstsq = {.variant = variant};
