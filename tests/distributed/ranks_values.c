/* ranks_values.c - compares operations on distributed matrices with the same operations on one machine.
 *
 * With TESTED_ALL it takes all cases. Rank 0 has the whole matrices and checks the residuals with LAPACK's bounds. */
#include "distributed/ranks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double epsilon_of(bp_dtype dtype) {
    return dtype == BP_F32 || dtype == BP_C64 ? FLT_EPSILON : DBL_EPSILON;
}

static bp_dtype real_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

/* Returns the Frobenius norm of a matrix on rank 0. */
static double norm_of(const DLTensor *matrix) {
    double wide = 0;
    float narrow = 0;
    const bp_dtype real = real_of(bp_dtype_from_dlpack(matrix->dtype));
    bp_view norm;
    bp_view_init(&norm, real == BP_F32 ? (void *)&narrow : (void *)&wide, real, 0, NULL, NULL);
    if (matrix->shape[0] == 0 || matrix->shape[1] == 0) {
        return 0;
    }
    CHECK(bp_matrix_norm(matrix, BP_NORM_FRO, 0, &norm.tensor) == BP_OK, "norm");
    return real == BP_F32 ? (double)narrow : wide;
}

/* Checks |left @ right - result| <= bound, which has the norms of both. Changes `result`. */
static void check_product(const DLTensor *left, const DLTensor *right, DLTensor *result, const char *what, int64_t n) {
    const bp_scalar one = {1, 0}, minus = {-1, 0};
    const double scale = norm_of(left) * norm_of(right) + norm_of(result);
    CHECK(bp_gemm(BP_AS_IS, BP_AS_IS, &minus, left, right, &one, result) == BP_OK, "%s: residual", what);
    const double error = norm_of(result),
                 bound = 10 * (double)(n + 1) * epsilon_of(bp_dtype_from_dlpack(left->dtype)) * scale;
    CHECK(error <= bound, "%s: residual %g above %g", what, error, bound);
}

typedef struct trial {
    bp_dist like;
    bp_dtype dtype;
    int64_t n, k;
    char name[160];
} trial;

/* ---- Products ---- */

static void check_gemm(const trial *t, bp_transform ta, bp_transform tb, int64_t m, double beta) {
    const bool a_turned = ta != BP_AS_IS, b_turned = tb != BP_AS_IS;
    const bp_scalar alpha = {1.5, t->dtype >= BP_C64 ? -0.5 : 0}, factor = {beta, 0};
    ranks_matrix a, b, c;
    bp_view va, vb, vc, vr;
    ranks_make(&a, &t->like, t->dtype, a_turned ? t->n : m, a_turned ? m : t->n, ranks_random);
    ranks_make(&b, &t->like, t->dtype, b_turned ? t->k : t->n, b_turned ? t->n : t->k, ranks_random_b);
    ranks_make(&c, &t->like, t->dtype, m, t->k, ranks_positive);
    void *before = ranks_gather(&c, &vr);
    if (CHECK(bp_gemm(ta, tb, &alpha, &a.view.tensor, &b.view.tensor, &factor, &c.view.tensor) == BP_OK,
              "%s gemm %d %d", t->name, (int)ta, (int)tb)) {
        void *all[3] = {ranks_gather(&a, &va), ranks_gather(&b, &vb), ranks_gather(&c, &vc)};
        if (ranks_rank == 0) {
            const double scale = norm_of(&va.tensor) * norm_of(&vb.tensor) + norm_of(&vr.tensor);
            CHECK(bp_gemm(ta, tb, &alpha, &va.tensor, &vb.tensor, &factor, &vr.tensor) == BP_OK, "reference");
            double difference = 0, bound = 10 * (double)(t->n + 1) * epsilon_of(t->dtype) * scale;
            const int64_t elements = m * t->k * (t->dtype >= BP_C64 ? 2 : 1);
            for (int64_t i = 0; i < elements; i++) {
                const double x = real_of(t->dtype) == BP_F32 ? (double)((float *)all[2])[i] : ((double *)all[2])[i];
                const double y = real_of(t->dtype) == BP_F32 ? (double)((float *)before)[i] : ((double *)before)[i];
                difference = fmax(difference, fabs(x - y));
            }
            CHECK(difference <= bound, "%s gemm %d %d beta %g: error %g above %g", t->name, (int)ta, (int)tb, beta,
                  difference, bound);
        }
        for (int i = 0; i < 3; i++) {
            free(all[i]);
        }
    }
    free(before);
    ranks_free(&a), ranks_free(&b), ranks_free(&c);
}

static void check_products(const trial *t) {
    const bp_transform last = t->dtype >= BP_C64 ? BP_CONJUGATE_TRANSPOSE : BP_TRANSPOSE;
    check_gemm(t, BP_AS_IS, BP_AS_IS, t->n, 0);
    check_gemm(t, BP_AS_IS, BP_TRANSPOSE, t->n + 1, 0.25);
    check_gemm(t, last, BP_AS_IS, t->n, 1);
    check_gemm(t, BP_TRANSPOSE, last, 1, 0);
}

/* ---- Cholesky ---- */

static void check_cholesky(const trial *t, bool upper) {
    ranks_matrix a, l, b, x;
    bp_view va, vl, vb, vx;
    ranks_shift = (double)t->n + 1;
    ranks_make(&a, &t->like, t->dtype, t->n, t->n, ranks_positive);
    ranks_make(&l, &t->like, t->dtype, t->n, t->n, ranks_random);
    ranks_make(&b, &t->like, t->dtype, t->n, t->k, ranks_random_b);
    ranks_make(&x, &t->like, t->dtype, t->n, t->k, ranks_random);
    const bool done = CHECK(bp_cholesky(&a.view.tensor, upper, &l.view.tensor) == BP_OK, "%s cholesky", t->name) &&
                      CHECK(bp_cholesky_solve(&b.view.tensor, &l.view.tensor, upper, &x.view.tensor) == BP_OK,
                            "%s cholesky_solve", t->name);
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&l, &vl), ranks_gather(&b, &vb), ranks_gather(&x, &vx)};
    if (done && ranks_rank == 0) {
        const bp_scalar one = {1, 0}, minus = {-1, 0};
        const double scale = norm_of(&va.tensor);
        check_product(&va.tensor, &vx.tensor, &vb.tensor, t->name, t->n);
        CHECK(bp_gemm(upper ? BP_CONJUGATE_TRANSPOSE : BP_AS_IS, upper ? BP_AS_IS : BP_CONJUGATE_TRANSPOSE, &minus,
                      &vl.tensor, &vl.tensor, &one, &va.tensor) == BP_OK,
              "residual");
        CHECK(norm_of(&va.tensor) <= 10 * (double)(t->n + 1) * epsilon_of(t->dtype) * scale, "%s: factor", t->name);
    }
    for (int i = 0; i < 4; i++) {
        free(all[i]);
    }
    ranks_free(&a), ranks_free(&l), ranks_free(&b), ranks_free(&x);
}

/* ---- LU ---- */

static void check_lu(const trial *t) {
    ranks_matrix a, lu, b, x, y;
    bp_view va, vb, vx, vy, vz;
    bp_dist_view pivots;
    int32_t *numbers = calloc((size_t)t->n + 1, sizeof *numbers);
    ranks_make(&a, &t->like, t->dtype, t->n, t->n, ranks_diagonal_heavy);
    ranks_make(&lu, &t->like, t->dtype, t->n, t->n, NULL);
    ranks_make(&b, &t->like, t->dtype, t->n, t->k, ranks_random_b);
    ranks_make(&x, &t->like, t->dtype, t->n, t->k, NULL);
    ranks_make(&y, &t->like, t->dtype, t->n, t->k, NULL);
    CHECK(bp_dist_view_replicated(&pivots, numbers, BP_I32, 1, t->n, &a.dist) == BP_OK, "pivots");
    const bool done =
        CHECK(bp_solve(&a.view.tensor, &b.view.tensor, false, &x.view.tensor) == BP_OK, "%s solve", t->name) &&
        CHECK(bp_lu_factor(&a.view.tensor, &lu.view.tensor, &pivots.tensor) == BP_OK, "%s lu_factor", t->name) &&
        CHECK(bp_lu_solve(&lu.view.tensor, &pivots.tensor, &b.view.tensor, false, true, &y.view.tensor) == BP_OK,
              "%s lu_solve", t->name);
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&b, &vb), ranks_gather(&x, &vx), ranks_gather(&y, &vy),
                   ranks_gather(&b, &vz)};
    if (done && ranks_rank == 0) {
        const bp_scalar one = {1, 0}, minus = {-1, 0};
        const double scale = norm_of(&va.tensor) * norm_of(&vy.tensor);
        check_product(&va.tensor, &vx.tensor, &vb.tensor, t->name, t->n);
        CHECK(bp_gemm(BP_CONJUGATE_TRANSPOSE, BP_AS_IS, &minus, &va.tensor, &vy.tensor, &one, &vz.tensor) == BP_OK,
              "residual");
        CHECK(norm_of(&vz.tensor) <= 10 * (double)(t->n + 1) * epsilon_of(t->dtype) * scale, "%s: lu_solve", t->name);
    }
    for (int i = 0; i < 5; i++) {
        free(all[i]);
    }
    free(numbers);
    ranks_free(&a), ranks_free(&lu), ranks_free(&b), ranks_free(&x), ranks_free(&y);
}

/* ---- All cases ---- */

static void check_trial(trial *t) {
    snprintf(t->name, sizeof t->name, "%s n %d k %d grid %dx%d block %d source %d,%d:", bp_dtype_name(t->dtype),
             (int)t->n, (int)t->k, (int)t->like.grid[0], (int)t->like.grid[1], (int)t->like.block[0],
             (int)t->like.source[0], (int)t->like.source[1]);
    check_products(t);
    check_cholesky(t, false);
    check_cholesky(t, true);
    check_lu(t);
}

static void check_distribution(const bp_dist *like, bool all) {
    static const bp_dtype types[] = {BP_F64, BP_C64, BP_F32, BP_C128};
    static const int64_t sizes[] = {1, 2, 63, 64, 65, 129};
    const int size_count = sizeof sizes / sizeof *sizes;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < size_count; j++) {
            trial t = {.like = *like, .dtype = types[i], .n = sizes[j], .k = j % 2 ? 3 : 1};
            if (all || (i + j) % 4 == 0 || (i == 1 && (j == 0 || j == 2))) {
                check_trial(&t);
            }
        }
    }
}

int main(void) {
    ranks_open();
    ranks_each_distribution(check_distribution);
    return ranks_end();
}
