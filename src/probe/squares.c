/* squares.c - checks LAPACK's four drivers for least squares. */
#include "probe/checks.h"

#include <string.h>

static const int64_t sides = SIDES, work_size = WORK;

typedef enum driver { GELS, GELSY, GELSD, GELSS, DRIVERS } driver;
static const char *const stems[DRIVERS] = {"gels", "gelsy", "gelsd", "gelss"};

typedef struct squares {
    int64_t m, n, ld, info, rank;
    array a, b, s, rcond;
} squares;

static void call_gels(trial *t, squares *q) {
    FIND(t, gels, "gels");
    gels("N", &q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, &check_work, &work_size, &q->info, 1);
    q->rank = q->m < q->n ? q->m : q->n;
}

static void call_real(trial *t, driver which, squares *q) {
    if (which == GELSY) {
        FIND(t, gelsy_real, "gelsy");
        gelsy_real(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, check_integers, &q->rcond, &q->rank, &check_work,
                   &work_size, &q->info);
    } else if (which == GELSD) {
        FIND(t, gelsd_real, "gelsd");
        gelsd_real(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, &q->s, &q->rcond, &q->rank, &check_work,
                   &work_size, check_integers, &q->info);
    } else {
        FIND(t, gelss_real, "gelss");
        gelss_real(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, &q->s, &q->rcond, &q->rank, &check_work,
                   &work_size, &q->info);
    }
}

static void call_complex(trial *t, driver which, squares *q) {
    if (which == GELSY) {
        FIND(t, gelsy_complex, "gelsy");
        gelsy_complex(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, check_integers, &q->rcond, &q->rank,
                      &check_work, &work_size, &check_real_work, &q->info);
    } else if (which == GELSD) {
        FIND(t, gelsd_complex, "gelsd");
        gelsd_complex(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, &q->s, &q->rcond, &q->rank, &check_work,
                      &work_size, &check_real_work, check_integers, &q->info);
    } else {
        FIND(t, gelss_complex, "gelss");
        gelss_complex(&q->m, &q->n, &sides, &q->a, &q->m, &q->b, &q->ld, &q->s, &q->rcond, &q->rank, &check_work,
                      &work_size, &check_real_work, &q->info);
    }
}

/* Checks a solution of A X ~ B: its residual is orthogonal to the columns of A. */
static const char *check_solution(trial *t, squares *q) {
    number x[ORDER * SIDES], b[ORDER * SIDES], product[ORDER * SIDES], rest[ORDER * SIDES], zero[ORDER * SIDES] = {0};
    fetch(t, &q->b, q->ld * SIDES, b, t->scale);
    for (int64_t i = 0; i < q->n * SIDES; i++) {
        x[i] = b[i % q->n + i / q->n * q->ld];
    }
    double size = norm_of(t->general, q->m * q->n), length = norm_of(x, q->n * SIDES);
    multiply('N', 'N', q->m, SIDES, q->n, t->general, q->m, x, q->n, product);
    for (int64_t i = 0; i < q->m * SIDES; i++) {
        rest[i] = product[i] - t->sides[i % q->m + i / q->m * q->ld];
    }
    multiply('C', 'N', q->n, SIDES, q->m, t->general, q->m, rest, q->m, product);
    double bound = size * (size * length + norm_of(t->sides, ORDER * SIDES));
    if (!is_near(t, product, zero, q->n * SIDES, bound)) {
        return "the residuals are not orthogonal to the columns";
    }
    bool full = t->kind != GRADED && t->kind != CLUSTERED; /* the rank of the others depends on its definition */
    return full && q->rank != (q->m < q->n ? q->m : q->n) ? "the rank is wrong" : NULL;
}

static const char *check_driver(trial *t, driver which, int64_t m, int64_t n) {
    static squares q;
    memset(&q, 0, sizeof q);
    memset(check_integers, 0, ORDER * sizeof *check_integers); /* no column is forced to be first */
    q.m = m;
    q.n = n;
    q.ld = ORDER;
    put_number(t->type, &q.rcond, 0, t->type->is_double ? 0x1p-52 : 0x1p-23);
    store(t, &q.a, m * n, t->general, t->scale);
    store(t, &q.b, ORDER * SIDES, t->sides, 1);
    if (which == GELS) {
        call_gels(t, &q);
    } else if (t->type->is_complex) {
        call_complex(t, which, &q);
    } else {
        call_real(t, which, &q);
    }
    return q.info != 0 ? "it reports a failure" : check_solution(t, &q);
}

const char *check_lstsq(trial *t) {
    const char *wrong = NULL;
    for (int which = 0; which < DRIVERS && !wrong; which++) {
        if (routine_of(t, stems[which])) {
            wrong = check_driver(t, (driver)which, ORDER, NARROW);
            wrong = wrong ? wrong : check_driver(t, (driver)which, NARROW, ORDER);
        }
    }
    return wrong;
}
