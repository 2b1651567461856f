/* qr.c - computes qr, and lstsq by it. */
#include "providers/scalapack/scalapack.h"

static const char *refuse_qr(const bp_problem *problem, const bp_dist_place *place) {
    (void)place;
    const bp_linalg_problem *l = &problem->of.linalg;
    return l->mode == BP_QR_COMPLETE && l->m > l->n ? "complete factors of a matrix with more rows than columns" : NULL;
}

static size_t matrix_bytes(const bp__scalapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const int64_t elements = bp__scalapack_own(plan->place, 0, l->m) * bp__scalapack_own(plan->place, 1, l->n);
    return ((size_t)elements * bp__scalapack_item(&plan->problem) + 63) / 64 * 64;
}

/* The factored matrix, and the factors of the reflections of the local columns. */
static size_t work_qr(const bp__scalapack_plan *plan) {
    const int64_t columns = bp__scalapack_own(plan->place, 1, plan->problem.of.linalg.n) + plan->place->dist->block[1];
    return matrix_bytes(plan) + (size_t)columns * bp__scalapack_item(&plan->problem);
}

typedef struct qr {
    bp__scalapack_matrix a;
    void *reflections;
} qr;

static void call_factor(bp__scalapack_call *call, const qr *f, void *work, const int *count, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const int m = (int)l->m, n = (int)l->n;
    BP__SCALAPACK_ROUTINE(call, 0, const int *, const int *, BP__SCALAPACK_MATRIX, void *, void *, const int *, int *)
    (&m, &n, BP__SCALAPACK_PASS(f->a), f->reflections, work, count, info);
}

/* Makes Q of the reflections, which are below the diagonal of its first columns. */
static void call_form(bp__scalapack_call *call, const bp__scalapack_matrix *q, const qr *f, void *work,
                      const int *count, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const int m = (int)l->m, k = (int)bp__least(l->m, l->n);
    BP__SCALAPACK_ROUTINE(call, 1, const int *, const int *, const int *, BP__SCALAPACK_MATRIX, void *, void *,
                          const int *, int *)
    (&m, &k, &k, BP__SCALAPACK_PASS(*q), f->reflections, work, count, info);
}

/* Copies the first local rows and columns. */
static void copy_part(const bp__scalapack_call *call, const bp__scalapack_matrix *to,
                      const bp__scalapack_matrix *from) {
    for (int64_t j = 0; j < to->columns && to->rows > 0; j++) {
        memcpy((char *)to->local + (size_t)(j * to->leading) * call->item,
               (const char *)from->local + (size_t)(j * from->leading) * call->item, (size_t)to->rows * call->item);
    }
}

static bp_status run_form(bp__scalapack_call *call, const qr *f, int *info) {
    const bp__scalapack_matrix q = bp__scalapack_operand(call, 1);
    double asked[4] = {0};
    const int ask = -1;
    int count;
    void *work;
    copy_part(call, &q, &f->a);
    call_form(call, &q, f, asked, &ask, info);
    const bp_status status =
        bp__scalapack_take_asked(call, asked, 0, bp__scalapack_is_complex(&call->plan->problem), &count, &work);
    if (status == BP_OK) {
        call_form(call, &q, f, work, &count, info);
    }
    return status;
}

static bp_status run_qr(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const qr f = {bp__scalapack_in(call, call->work, l->m, l->n), call->work + matrix_bytes(call->plan)};
    const bp__scalapack_matrix r = bp__scalapack_operand(call, 2);
    double asked[4] = {0};
    const int ask = -1;
    int count;
    void *work;
    bp__scalapack_copy(call, &f.a, 0);
    call_factor(call, &f, asked, &ask, info);
    const bp_status status =
        bp__scalapack_take_asked(call, asked, 0, bp__scalapack_is_complex(&call->plan->problem), &count, &work);
    if (status != BP_OK) {
        return status;
    }
    call_factor(call, &f, work, &count, info);
    copy_part(call, &r, &f.a);
    bp__scalapack_clear(call, &r, false);
    return call->view[1] ? run_form(call, &f, info) : BP_OK;
}

const bp__scalapack_operation bp__scalapack_qr = {
    .op = BP_OP_QR,
    .algorithm = "geqrf",
    .real = {"geqrf", "orgqr"},
    .other = {"geqrf", "ungqr"},
    .inputs = 1,
    .matrices = 0x7,
    .whole = 1,
    .refuse = refuse_qr,
    .work = work_qr,
    .run = run_qr,
    .model = bp__scalapack_model_qr,
};

/* ---- lstsq ---- */

static const char *refuse_lstsq(const bp_problem *problem, const bp_dist_place *place) {
    const bp_linalg_problem *l = &problem->of.linalg;
    (void)place;
    if (l->mode != BP_LSTSQ_GELS) {
        return "other drivers than gels, which assumes full rank";
    }
    return l->operand[3].dtype || l->operand[4].dtype || l->operand[5].dtype ? "residuals, rank and singular values"
                                                                             : NULL;
}

/* The factored matrix, and the right-hand sides, which have as many rows as the larger side. */
static size_t work_lstsq(const bp__scalapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const int64_t rows = bp__scalapack_own(plan->place, 0, bp__most(l->m, l->n));
    return matrix_bytes(plan) +
           (size_t)(rows * bp__scalapack_own(plan->place, 1, l->k)) * bp__scalapack_item(&plan->problem);
}

static void call_lstsq(bp__scalapack_call *call, const bp__scalapack_matrix *a, const bp__scalapack_matrix *b,
                       void *work, const int *count, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const int m = (int)l->m, n = (int)l->n, k = (int)l->k;
    BP__SCALAPACK_ROUTINE(call, 0, const char *, const int *, const int *, const int *, BP__SCALAPACK_MATRIX,
                          BP__SCALAPACK_MATRIX, void *, const int *, int *, size_t)
    ("N", &m, &n, &k, BP__SCALAPACK_PASS(*a), BP__SCALAPACK_PASS(*b), work, count, info, 1);
}

static bp_status run_lstsq(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp__scalapack_matrix a = bp__scalapack_in(call, call->work, l->m, l->n);
    const bp__scalapack_matrix sides =
        bp__scalapack_in(call, call->work + matrix_bytes(call->plan), bp__most(l->m, l->n), l->k);
    const bp__scalapack_matrix x = bp__scalapack_operand(call, 2);
    double asked[4] = {0};
    const int ask = -1;
    int count;
    void *work;
    bp__scalapack_copy(call, &a, 0);
    bp__scalapack_copy(call, &sides, 1);
    call_lstsq(call, &a, &sides, asked, &ask, info);
    const bp_status status =
        bp__scalapack_take_asked(call, asked, 0, bp__scalapack_is_complex(&call->plan->problem), &count, &work);
    if (status == BP_OK) {
        call_lstsq(call, &a, &sides, work, &count, info);
        copy_part(call, &x, &sides);
    }
    return status;
}

const bp__scalapack_operation bp__scalapack_lstsq = {
    .op = BP_OP_LSTSQ,
    .algorithm = "gels",
    .real = {"gels"},
    .inputs = 2,
    .matrices = 0x7,
    .whole = 1 | 2,
    .refuse = refuse_lstsq,
    .work = work_lstsq,
    .run = run_lstsq,
    .model = bp__scalapack_model_lstsq,
};
