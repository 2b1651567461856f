/* ranks_singular.c - checks the factors and the info of LU for singular matrices, which libraries report differently.
 *
 * The number of the first pivot that is zero is known for each matrix. Rank 0 multiplies the factors. */
#include "distributed/ranks.h"

#include <complex.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 70 };

static double zeros(int64_t i, int64_t j, int part) {
    (void)i, (void)j, (void)part;
    return 0;
}

static double ones(int64_t i, int64_t j, int part) {
    (void)i, (void)j;
    return part == 0;
}

static double zero_column(int64_t i, int64_t j, int part) {
    return j == N / 2 ? 0 : ranks_diagonal_heavy(i, j, part);
}

static double zero_last(int64_t i, int64_t j, int part) {
    return i == j && i + 1 < N && part == 0;
}

static const struct {
    const char *name;
    ranks_value value;
    int info;
} matrices[] = {{"zero", zeros, 1},
                {"of ones", ones, 2},
                {"with a zero column", zero_column, N / 2 + 1},
                {"with a zero at the end", zero_last, N},
                {"regular", ranks_diagonal_heavy, 0}};

static double complex element(const void *memory, bp_dtype dtype, int64_t at) {
    const float *f = memory;
    const double *d = memory;
    return dtype == BP_F64   ? d[at]
           : dtype == BP_F32 ? (double)f[at]
           : dtype == BP_C64 ? (double)f[2 * at] + I * (double)f[2 * at + 1]
                             : d[2 * at] + I * d[2 * at + 1];
}

/* Returns the largest difference of L U from the matrix with its rows exchanged. */
static double error_of(const void *lu, bp_dtype dtype, const int32_t *pivots, ranks_value value) {
    const bool is_complex = dtype == BP_C64 || dtype == BP_C128;
    int64_t rows[N];
    double largest = 0;
    for (int64_t i = 0; i < N; i++) {
        rows[i] = i;
    }
    for (int64_t i = 0; i < N; i++) {
        const int64_t other = pivots[i] - 1, kept = rows[i];
        rows[i] = rows[other], rows[other] = kept;
    }
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            double complex sum = i <= j ? element(lu, dtype, i + j * N) : 0;
            for (int64_t k = 0; k < i && k <= j; k++) {
                sum += element(lu, dtype, i + k * N) * element(lu, dtype, k + j * N);
            }
            const double complex right = value(rows[i], j, 0) + I * (is_complex ? value(rows[i], j, 1) : 0);
            const double off = cabs(sum - right);
            largest = !(off <= largest) ? off : largest; /* NaN too */
        }
    }
    return largest;
}

static void check_factors(const bp_dist *like, bp_dtype dtype, int which, const char *name) {
    ranks_matrix a, lu;
    bp_dist_view pivots, info;
    int32_t numbers[N] = {0}, told = -99;
    ranks_make(&a, like, dtype, N, N, matrices[which].value);
    ranks_make(&lu, like, dtype, N, N, NULL);
    CHECK(bp_dist_view_replicated(&pivots, numbers, BP_I32, 1, N, &a.dist) == BP_OK, "pivots");
    CHECK(bp_dist_view_replicated(&info, &told, BP_I32, 0, 1, &a.dist) == BP_OK, "info");
    CHECK(bp_lu_factor_ex(&a.view.tensor, &lu.view.tensor, &pivots.tensor, &info.tensor) == BP_OK, "%s: lu", name);
    CHECK(told == matrices[which].info, "%s: lu has info %d, not %d", name, (int)told, matrices[which].info);
    void *whole = ranks_gather(&lu, NULL);
    if (whole) {
        const double error = error_of(whole, dtype, numbers, matrices[which].value);
        const double bound = 10 * N * (dtype == BP_F32 || dtype == BP_C64 ? FLT_EPSILON : DBL_EPSILON) * 5;
        CHECK(error <= bound, "%s: the factors are wrong by %g", name, error);
    }
    free(whole);
    ranks_free(&a), ranks_free(&lu);
}

static void check_solve(const bp_dist *like, bp_dtype dtype, int which, const char *name) {
    ranks_matrix a, b, x, inverse;
    bp_dist_view info;
    int32_t told = -99;
    ranks_make(&a, like, dtype, N, N, matrices[which].value);
    ranks_make(&b, like, dtype, N, 3, ranks_random);
    ranks_make(&x, like, dtype, N, 3, NULL);
    ranks_make(&inverse, like, dtype, N, N, NULL);
    CHECK(bp_dist_view_replicated(&info, &told, BP_I32, 0, 1, &a.dist) == BP_OK, "info");
    CHECK(bp_solve_ex(&a.view.tensor, &b.view.tensor, 0, &x.view.tensor, &info.tensor) == BP_OK, "%s: solve", name);
    CHECK(told == matrices[which].info, "%s: solve has info %d, not %d", name, (int)told, matrices[which].info);
    told = -99;
    CHECK(bp_inv_ex(&a.view.tensor, &inverse.view.tensor, &info.tensor) == BP_OK, "%s: inv", name);
    CHECK(told == matrices[which].info, "%s: inv has info %d, not %d", name, (int)told, matrices[which].info);
    const bp_status wanted = matrices[which].info ? BP_E_SINGULAR : BP_OK;
    CHECK(bp_solve(&a.view.tensor, &b.view.tensor, 0, &x.view.tensor) == wanted, "%s: solve", name);
    ranks_free(&a), ranks_free(&b), ranks_free(&x), ranks_free(&inverse);
}

static void check_distribution(const bp_dist *like, bool all) {
    static const bp_dtype types[] = {BP_F64, BP_C64, BP_F32, BP_C128};
    for (int i = 0; i < (int)(sizeof matrices / sizeof *matrices); i++) {
        for (int t = 0; t < 4; t++) {
            char name[160];
            snprintf(name, sizeof name, "%s, %s, grid %dx%d, block %d", matrices[i].name, bp_dtype_name(types[t]),
                     (int)like->grid[0], (int)like->grid[1], (int)like->block[0]);
            if (all || t == i % 4 || t == (i + 1) % 4) {
                check_factors(like, types[t], i, name);
                check_solve(like, types[t], i, name);
            }
        }
    }
}

int main(void) {
    ranks_open();
    ranks_each_distribution(check_distribution);
    return ranks_end();
}
