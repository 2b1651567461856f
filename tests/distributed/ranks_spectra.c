/* ranks_spectra.c - compares decompositions and norms of distributed matrices with one machine's.
 *
 * Residuals and orthogonality have LAPACK's bounds. The graded matrix has elements n - max(i, j), with eigenvalues from
 * 1/4 to about n^2 / 2. With TESTED_ALL it takes all cases. */
#include "distributed/ranks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t graded_size;

static double graded(int64_t i, int64_t j, int part) {
    return part == 1 ? 0 : (double)(graded_size - (i > j ? i : j));
}

static double epsilon_of(bp_dtype dtype) {
    return dtype == BP_F32 || dtype == BP_C64 ? FLT_EPSILON : DBL_EPSILON;
}

static bp_dtype real_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

/* A real number in memory of either precision. */
typedef union real {
    double wide;
    float narrow;
} real;

static double value_of(const void *values, bp_dtype dtype, int64_t i) {
    return real_of(dtype) == BP_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static double norm_of(const DLTensor *matrix, bp_linalg_mode mode, double order) {
    const bp_dtype dtype = bp_dtype_from_dlpack(matrix->dtype);
    real norm = {0};
    bp_view view;
    if (matrix->shape[0] == 0 || matrix->shape[1] == 0) {
        return 0;
    }
    bp_view_init(&view, &norm, real_of(dtype), 0, NULL, NULL);
    CHECK(bp_matrix_norm(matrix, mode, order, &view.tensor) == BP_OK, "norm");
    return value_of(&norm, dtype, 0);
}

typedef struct trial {
    bp_dist like;
    bp_dtype dtype;
    int64_t m, n;
    char name[160];
} trial;

/* Checks |left @ right - result| relative to `scale`. Changes `result`. */
static void check_residual(const trial *t, bp_transform turn, const DLTensor *left, const DLTensor *right,
                           DLTensor *result, double scale, const char *what) {
    const bp_scalar one = {1, 0}, minus = {-1, 0};
    CHECK(bp_gemm(turn, BP_AS_IS, &minus, left, right, &one, result) == BP_OK, "%s %s", t->name, what);
    const double error = norm_of(result, BP_NORM_FRO, 0);
    const double bound = 20 * (double)(t->m + t->n + 1) * epsilon_of(t->dtype) * scale;
    CHECK(error <= bound, "%s %s: %g above %g", t->name, what, error, bound);
}

/* Checks that the columns of a matrix on rank 0 are orthonormal. */
static void check_columns(const trial *t, const DLTensor *q, const char *what) {
    const int64_t k = q->shape[1], shape[2] = {k, k};
    DLManagedTensorVersioned *unit;
    if (CHECK(bp_tensor_new(&unit, t->dtype, 2, shape) == BP_OK, "unit")) {
        const size_t item = bp_dtype_size(t->dtype);
        for (int64_t i = 0; i < k; i++) {
            char *at = (char *)unit->dl_tensor.data + (size_t)(i * (k + 1)) * item;
            if (real_of(t->dtype) == BP_F32) {
                *(float *)(void *)at = 1;
            } else {
                *(double *)(void *)at = 1;
            }
        }
        check_residual(t, BP_CONJUGATE_TRANSPOSE, q, q, &unit->dl_tensor, 1, what);
        unit->deleter(unit);
    }
}

/* Multiplies column (or row) j of a matrix on rank 0 by values[j]. */
static void scale_lines(const trial *t, bp_view *view, const void *values, bool rows) {
    const int64_t m = view->shape[0], n = view->shape[1];
    const int parts = t->dtype >= BP_C64 ? 2 : 1;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m * parts; i++) {
            const double factor = value_of(values, t->dtype, rows ? i / parts : j);
            if (real_of(t->dtype) == BP_F32) {
                ((float *)view->tensor.data)[i + j * m * parts] *= (float)factor;
            } else {
                ((double *)view->tensor.data)[i + j * m * parts] *= factor;
            }
        }
    }
}

/* Views a square matrix's adjoint, or a matrix's leading columns, as they lie in memory of rank 0. */
static void check_eigh(const trial *t, ranks_value value, bool upper, bool vectors) {
    ranks_matrix a, v;
    bp_view va, vv, vw;
    bp_dist_view w;
    void *values = calloc((size_t)t->n + 1, sizeof(double)), *alone = calloc((size_t)t->n + 1, sizeof(double));
    ranks_shift = 0, graded_size = t->n;
    ranks_make(&a, &t->like, t->dtype, t->n, t->n, value);
    ranks_make(&v, &t->like, t->dtype, t->n, t->n, NULL);
    CHECK(bp_dist_view_replicated(&w, values, real_of(t->dtype), 1, t->n, &a.dist) == BP_OK, "w");
    const bp_status status = vectors ? bp_eigh(&a.view.tensor, upper, &w.tensor, &v.view.tensor)
                                     : bp_eigvalsh(&a.view.tensor, upper, &w.tensor);
    const bool done = CHECK(status == BP_OK, "%s eigh", t->name);
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&v, &vv), ranks_gather(&v, &vw)};
    if (done && ranks_rank == 0) {
        bp_view one;
        bp_view_init(&one, alone, real_of(t->dtype), 1, &t->n, NULL);
        const double scale = norm_of(&va.tensor, BP_NORM_FRO, 0);
        CHECK(bp_eigvalsh(&va.tensor, upper, &one.tensor) == BP_OK, "reference");
        for (int64_t i = 0; i < t->n; i++) {
            const double error = fabs(value_of(values, t->dtype, i) - value_of(alone, t->dtype, i));
            CHECK(error <= 10 * (double)t->n * epsilon_of(t->dtype) * scale, "%s eigenvalue %d: %g", t->name, (int)i,
                  error);
        }
        if (vectors) {
            check_columns(t, &vv.tensor, "eigenvectors");
            scale_lines(t, &vw, values, false);
            check_residual(t, BP_AS_IS, &va.tensor, &vv.tensor, &vw.tensor, scale, "A V - V w");
        }
    }
    for (int i = 0; i < 3; i++) {
        free(all[i]);
    }
    free(values), free(alone);
    ranks_free(&a), ranks_free(&v);
}

static void check_svd(const trial *t, bool vectors) {
    const int64_t k = t->m < t->n ? t->m : t->n;
    ranks_matrix a, u, vh;
    bp_view va, vu, vv;
    bp_dist_view s;
    void *values = calloc((size_t)k + 1, sizeof(double)), *alone = calloc((size_t)k + 1, sizeof(double));
    ranks_make(&a, &t->like, t->dtype, t->m, t->n, ranks_random);
    ranks_make(&u, &t->like, t->dtype, t->m, k, NULL);
    ranks_make(&vh, &t->like, t->dtype, k, t->n, NULL);
    CHECK(bp_dist_view_replicated(&s, values, real_of(t->dtype), 1, k, &a.dist) == BP_OK, "s");
    const bp_status status = vectors ? bp_svd(&a.view.tensor, 0, &u.view.tensor, &s.tensor, &vh.view.tensor)
                                     : bp_svdvals(&a.view.tensor, &s.tensor);
    const bool few = vectors && t->m < ranks_size && t->n < ranks_size;
    const bool done = CHECK(status == (few ? BP_E_NO_CANDIDATE : BP_OK), "%s svd", t->name) && !few;
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&u, &vu), ranks_gather(&vh, &vv)};
    if (done && ranks_rank == 0) {
        bp_view one;
        bp_view_init(&one, alone, real_of(t->dtype), 1, &k, NULL);
        const double scale = norm_of(&va.tensor, BP_NORM_FRO, 0);
        CHECK(bp_svdvals(&va.tensor, &one.tensor) == BP_OK, "reference");
        for (int64_t i = 0; i < k; i++) {
            const double error = fabs(value_of(values, t->dtype, i) - value_of(alone, t->dtype, i));
            CHECK(error <= 10 * (double)(t->m + t->n) * epsilon_of(t->dtype) * scale, "%s value %d: %g", t->name,
                  (int)i, error);
        }
        if (vectors) {
            check_columns(t, &vu.tensor, "left vectors");
            scale_lines(t, &vu, values, false);
            check_residual(t, BP_AS_IS, &vu.tensor, &vv.tensor, &va.tensor, scale, "U s Vh - A");
        }
    }
    for (int i = 0; i < 3; i++) {
        free(all[i]);
    }
    free(values), free(alone);
    ranks_free(&a), ranks_free(&u), ranks_free(&vh);
}

static void check_qr(const trial *t) {
    const int64_t k = t->m < t->n ? t->m : t->n;
    ranks_matrix a, q, r, alone;
    bp_view va, vq, vr, vs;
    ranks_make(&a, &t->like, t->dtype, t->m, t->n, ranks_random);
    ranks_make(&q, &t->like, t->dtype, t->m, k, NULL);
    ranks_make(&r, &t->like, t->dtype, k, t->n, ranks_random);
    ranks_make(&alone, &t->like, t->dtype, k, t->n, ranks_random);
    const bool done =
        CHECK(bp_qr(&a.view.tensor, BP_QR_REDUCED, &q.view.tensor, &r.view.tensor) == BP_OK, "%s qr", t->name) &&
        CHECK(bp_qr(&a.view.tensor, BP_QR_R, NULL, &alone.view.tensor) == BP_OK, "%s qr, R alone", t->name);
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&q, &vq), ranks_gather(&r, &vr), ranks_gather(&alone, &vs)};
    if (done && ranks_rank == 0) {
        const double scale = norm_of(&va.tensor, BP_NORM_FRO, 0);
        CHECK(memcmp(all[2], all[3], (size_t)(k * t->n) * bp_dtype_size(t->dtype)) == 0, "%s: another R", t->name);
        for (int64_t i = 1; i < k; i++) {
            const int parts = t->dtype >= BP_C64 ? 2 : 1;
            CHECK(value_of(all[2], t->dtype, i * parts) == 0, "%s: R is not triangular", t->name);
        }
        check_columns(t, &vq.tensor, "Q");
        check_residual(t, BP_AS_IS, &vq.tensor, &vr.tensor, &va.tensor, scale, "Q R - A");
    }
    for (int i = 0; i < 4; i++) {
        free(all[i]);
    }
    ranks_free(&a), ranks_free(&q), ranks_free(&r), ranks_free(&alone);
}

/* The residual of a least-squares solution is orthogonal to A; with fewer rows than columns it is 0. */
static void check_lstsq(const trial *t) {
    ranks_matrix a, b, x;
    bp_view va, vb, vx, vz;
    const int64_t k = 2;
    ranks_make(&a, &t->like, t->dtype, t->m, t->n, ranks_diagonal_heavy);
    ranks_make(&b, &t->like, t->dtype, t->m, k, ranks_random_b);
    ranks_make(&x, &t->like, t->dtype, t->n, k, NULL);
    const bool done =
        CHECK(bp_lstsq(&a.view.tensor, &b.view.tensor, NULL, BP_LSTSQ_GELS, &x.view.tensor, NULL, NULL, NULL) == BP_OK,
              "%s lstsq", t->name);
    ranks_matrix product;
    ranks_make(&product, &t->like, t->dtype, t->n, k, NULL);
    memset(product.memory, 0, (size_t)(product.view.leading * product.view.columns) * bp_dtype_size(t->dtype));
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&b, &vb), ranks_gather(&x, &vx), ranks_gather(&product, &vz)};
    if (done && ranks_rank == 0) {
        const double scale = norm_of(&va.tensor, BP_NORM_FRO, 0);
        const double whole = scale * norm_of(&vx.tensor, BP_NORM_FRO, 0) + norm_of(&vb.tensor, BP_NORM_FRO, 0);
        const bp_scalar one = {1, 0}, minus = {-1, 0};
        if (t->m <= t->n) {
            check_residual(t, BP_AS_IS, &va.tensor, &vx.tensor, &vb.tensor, whole, "A X - B");
        } else {
            CHECK(bp_gemm(BP_AS_IS, BP_AS_IS, &minus, &va.tensor, &vx.tensor, &one, &vb.tensor) == BP_OK, "residual");
            check_residual(t, BP_CONJUGATE_TRANSPOSE, &va.tensor, &vb.tensor, &vz.tensor, scale * whole,
                           "A^H (A X - B)");
        }
    }
    for (int i = 0; i < 4; i++) {
        free(all[i]);
    }
    ranks_free(&a), ranks_free(&b), ranks_free(&x), ranks_free(&product);
}

static void check_inverse(const trial *t) {
    ranks_matrix a, x;
    bp_view va, vx;
    const bp_dtype dtype = t->dtype;
    ranks_make(&a, &t->like, dtype, t->n, t->n, ranks_diagonal_heavy);
    ranks_make(&x, &t->like, dtype, t->n, t->n, NULL);
    const bool done = CHECK(bp_inv(&a.view.tensor, &x.view.tensor) == BP_OK, "%s inv", t->name);
    void *all[] = {ranks_gather(&a, &va), ranks_gather(&x, &vx)};
    if (done && ranks_rank == 0) {
        DLManagedTensorVersioned *unit;
        const int64_t shape[2] = {t->n, t->n};
        const size_t item = bp_dtype_size(dtype);
        CHECK(bp_tensor_new(&unit, dtype, 2, shape) == BP_OK, "unit");
        for (int64_t i = 0; i < t->n; i++) {
            char *at = (char *)unit->dl_tensor.data + (size_t)(i * (t->n + 1)) * item;
            if (real_of(dtype) == BP_F32) {
                *(float *)(void *)at = 1;
            } else {
                *(double *)(void *)at = 1;
            }
        }
        check_residual(t, BP_AS_IS, &va.tensor, &vx.tensor, &unit->dl_tensor,
                       norm_of(&va.tensor, BP_NORM_FRO, 0) * norm_of(&vx.tensor, BP_NORM_FRO, 0), "A X - 1");
        unit->deleter(unit);
    }
    free(all[0]), free(all[1]);
    ranks_free(&a), ranks_free(&x);
}

static double with_nan(int64_t i, int64_t j, int part) {
    return i == 1 && j == 0 && part == 0 ? (double)NAN : ranks_random(i, j, part);
}

static void check_norms(const trial *t, ranks_value value) {
    static const struct {
        bp_linalg_mode mode;
        double order;
    } norms[] = {{BP_NORM_FRO, 0}, {BP_NORM_P, 1}, {BP_NORM_P, -1}, {BP_NORM_P, INFINITY}, {BP_NORM_P, -INFINITY}};
    ranks_matrix a;
    bp_view va;
    ranks_make(&a, &t->like, t->dtype, t->m, t->n, value);
    void *all = ranks_gather(&a, &va);
    for (int i = 0; i < 5; i++) {
        real norm = {0};
        bp_dist_view view;
        CHECK(bp_dist_view_replicated(&view, &norm, real_of(t->dtype), 0, 1, &a.dist) == BP_OK, "norm");
        CHECK(bp_matrix_norm(&a.view.tensor, norms[i].mode, norms[i].order, &view.tensor) == BP_OK, "%s norm", t->name);
        if (all) {
            const double got = value_of(&norm, t->dtype, 0), right = norm_of(&va.tensor, norms[i].mode, norms[i].order);
            CHECK(isnan(right) ? isnan(got)
                               : fabs(got - right) <= 4 * (double)(t->m + t->n) * epsilon_of(t->dtype) * right,
                  "%s norm %d: %g, not %g", t->name, i, got, right);
        }
    }
    free(all);
    ranks_free(&a);
}

/* ScaLAPACK computes wrong values of a matrix that does not begin at rank (0, 0). */
static void check_origin(const trial *t) {
    ranks_matrix a;
    bp_dist_view w;
    double values[80];
    ranks_make(&a, &t->like, t->dtype, t->n, t->n, ranks_random);
    CHECK(bp_dist_view_replicated(&w, values, real_of(t->dtype), 1, t->n, &a.dist) == BP_OK, "w");
    CHECK(bp_eigvalsh(&a.view.tensor, 0, &w.tensor) == BP_E_NO_CANDIDATE, "%s eigh", t->name);
    CHECK(bp_svdvals(&a.view.tensor, &w.tensor) == BP_E_NO_CANDIDATE && strstr(bp_last_error(), "source"), "%s svd",
          t->name);
    ranks_free(&a);
}

static void check_trial(trial *t) {
    snprintf(t->name, sizeof t->name, "%s %dx%d grid %dx%d block %d source %d,%d:", bp_dtype_name(t->dtype), (int)t->m,
             (int)t->n, (int)t->like.grid[0], (int)t->like.grid[1], (int)t->like.block[0], (int)t->like.source[0],
             (int)t->like.source[1]);
    check_norms(t, ranks_random);
    check_norms(t, with_nan);
    check_qr(t);
    check_inverse(t);
    check_lstsq(t);
    if (t->like.source[0] != 0 || t->like.source[1] != 0) {
        check_origin(t);
        return;
    }
    check_svd(t, true);
    check_svd(t, false);
    check_eigh(t, ranks_positive, false, true);
    check_eigh(t, graded, true, true);
    check_eigh(t, ranks_positive, true, false);
}

static void check_distribution(const bp_dist *like, bool all) {
    static const bp_dtype types[] = {BP_F64, BP_C64, BP_F32, BP_C128};
    static const int64_t sizes[][2] = {{1, 1}, {2, 3}, {65, 63}, {64, 64}, {31, 65}};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 5; j++) {
            trial t = {.like = *like, .dtype = types[i], .m = sizes[j][0], .n = sizes[j][1]};
            if (all || (i + j) % 4 == 0) {
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
