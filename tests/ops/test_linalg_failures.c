/* test_linalg_failures.c - matrices on which linear algebra fails or that are refused: singular, not positive definite,
 * NaN and infinity, empty, invalid pivots; with info and without, on every library. */
#include "ops/linalg_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool offered(bp_status status) {
    return status != BP_E_FALLBACK && status != BP_E_NO_CANDIDATE;
}

static bp_view a, b, x, info, pivots;
static double cells[3][4], sides[6], results[12];
static int32_t infos[3], pivot_cells[6];

/* Three 2x2 matrices; the second has rank 1. One right-hand side for each. */
static void singular_batch(void) {
    static const double values[3][4] = {{2, 1, 1, 3}, {1, 2, 2, 4}, {1, 0, 0, 1}};
    memcpy(cells, values, sizeof cells);
    for (int i = 0; i < 6; i++) {
        sides[i] = i + 1;
    }
    memset(infos, 7, sizeof infos);
    bp_view_init(&a, cells, BP_F64, TEST_SHAPE(3, 2, 2), NULL);
    bp_view_init(&b, sides, BP_F64, TEST_SHAPE(3, 2, 1), NULL);
    bp_view_init(&x, results, BP_F64, TEST_SHAPE(3, 2, 2), NULL);
    bp_view_init(&info, infos, BP_I32, TEST_SHAPE(3), NULL);
    bp_view_init(&pivots, pivot_cells, BP_I32, TEST_SHAPE(3, 2), NULL);
}

static void infos_are(int first, int second, int third) {
    if (infos[0] != first || infos[1] != second || infos[2] != third) {
        fail_msg("info is %d %d %d, not %d %d %d", infos[0], infos[1], infos[2], first, second, third);
    }
}

static void singular_matrices(void) {
    bp_view one;
    singular_batch();
    for (int warm = 0; warm < 2; warm++) {
        test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_SINGULAR,
                     "linalg.inv: (Batch element 1): the diagonal element 2");
        assert_int_equal(bp_inv_ex(&a.tensor, &x.tensor, &info.tensor), BP_OK);
        infos_are(0, 2, 0);
        assert_true(fabs(results[0] - 0.6) < 1e-12 && results[8] == 1 && results[11] == 1);
        assert_int_equal(bp_inv_ex(&a.tensor, &x.tensor, NULL), BP_OK);
        test_refused(bp_lu_factor(&a.tensor, &x.tensor, &pivots.tensor), BP_E_SINGULAR,
                     "linalg.lu_factor: (Batch element 1): U[2,2] is zero");
        assert_int_equal(bp_lu_factor_ex(&a.tensor, &x.tensor, &pivots.tensor, &info.tensor), BP_OK);
        infos_are(0, 2, 0);
        bp_view_init(&one, results, BP_F64, TEST_SHAPE(3, 2, 1), NULL);
        test_refused(bp_solve(&a.tensor, &b.tensor, 0, &one.tensor), BP_E_SINGULAR,
                     "linalg.solve: (Batch element 1): ");
        assert_int_equal(bp_solve_ex(&a.tensor, &b.tensor, 0, &one.tensor, &info.tensor), BP_OK);
        infos_are(0, 2, 0);
        assert_true(fabs(results[0] - 0.2) < 1e-12 && fabs(results[1] - 0.6) < 1e-12 && results[5] == 6);
    }
    bp_view_init(&one, results, BP_F64, TEST_SHAPE(3), NULL);
    assert_int_equal(bp_det(&a.tensor, &one.tensor), BP_OK);
    assert_true(fabs(results[0] - 5) < 1e-12 && results[1] == 0 && results[2] == 1);
    double logs[3];
    bp_view log;
    bp_view_init(&log, logs, BP_F64, TEST_SHAPE(3), NULL);
    assert_int_equal(bp_slogdet(&a.tensor, &one.tensor, &log.tensor), BP_OK);
    assert_true(results[1] == 0 && logs[1] == -INFINITY && results[0] == 1 && fabs(logs[0] - log1p(4.0)) < 1e-12);
}

static void indefinite_matrices(void) {
    singular_batch();
    cells[1][3] = 3; /* 1 2; 2 3: the second minor is -1 */
    test_refused(
        bp_cholesky(&a.tensor, 0, &x.tensor), BP_E_NOT_POSITIVE_DEFINITE,
        "linalg.cholesky: (Batch element 1): the input is not positive-definite (the leading minor of order 2");
    assert_int_equal(bp_cholesky_ex(&a.tensor, 1, &x.tensor, &info.tensor), BP_OK);
    infos_are(0, 2, 0);
    memset(cells[2], 0, sizeof cells[2]);
    assert_int_equal(bp_cholesky_inverse(&x.tensor, 1, &b.tensor), BP_E_SHAPE);
    bp_view_init(&x, cells[2], BP_F64, TEST_SHAPE(2, 2), NULL);
    bp_view_init(&b, results, BP_F64, TEST_SHAPE(2, 2), NULL);
    test_refused(bp_cholesky_inverse(&x.tensor, 0, &b.tensor), BP_E_SINGULAR,
                 "linalg.cholesky_inverse: the diagonal element 1 is zero");
}

/* An item with NaN or infinity is not computed; the others are. */
static void non_finite_input(void) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        singular_batch();
        cells[0][1] = bad[i];
        test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_NON_FINITE, "linalg.inv: (Batch element 0): ");
        assert_int_equal(bp_inv_ex(&a.tensor, &x.tensor, &info.tensor), BP_OK);
        infos_are(BP_INFO_NON_FINITE, 2, 0);
        for (int j = 0; j < 4; j++) {
            assert_true(isnan(results[j]));
        }
        assert_true(results[8] == 1 && results[9] == 0);
        assert_int_equal(bp_lu_factor_ex(&a.tensor, &x.tensor, &pivots.tensor, &info.tensor), BP_OK);
        infos_are(BP_INFO_NON_FINITE, 2, 0);
        assert_true(pivot_cells[0] == 0 && pivot_cells[1] == 0 && pivot_cells[4] == 1);
        /* Only the lower triangle is read. */
        cells[1][0] = cells[2][0] = 9;
        assert_int_equal(bp_cholesky_ex(&a.tensor, 0, &x.tensor, &info.tensor), BP_OK);
        infos_are(0, 0, 0);
        assert_int_equal(bp_cholesky_ex(&a.tensor, 1, &x.tensor, &info.tensor), BP_OK);
        infos_are(BP_INFO_NON_FINITE, 0, 0);
        sides[2] = bad[i];
        bp_view_init(&x, results, BP_F64, TEST_SHAPE(3, 2, 1), NULL);
        assert_int_equal(bp_solve_ex(&a.tensor, &b.tensor, 0, &x.tensor, &info.tensor), BP_OK);
        infos_are(BP_INFO_NON_FINITE, BP_INFO_NON_FINITE, 0);
        bp_view_init(&x, results, BP_F64, TEST_SHAPE(3), NULL);
        test_refused(bp_det(&a.tensor, &x.tensor), BP_E_NON_FINITE, "linalg.det: (Batch element 0): ");
    }
}

static bp_status spectrum(int op) {
    bp_view vectors, others;
    static double more[12], values[6];
    bp_view_init(&vectors, results, BP_F64, TEST_SHAPE(3, 2, 2), NULL);
    bp_view_init(&others, more, BP_F64, TEST_SHAPE(3, 2, 2), NULL);
    bp_view_init(&x, values, BP_F64, TEST_SHAPE(3, 2), NULL);
    switch (op) {
    case 0:
        return bp_eigh(&a.tensor, 1, &x.tensor, &vectors.tensor);
    case 1:
        return bp_svd(&a.tensor, 0, &vectors.tensor, &x.tensor, &others.tensor);
    case 2:
        return bp_svdvals(&a.tensor, &x.tensor);
    case 3:
        return bp_qr(&a.tensor, BP_QR_REDUCED, &vectors.tensor, &others.tensor);
    case 4:
        return bp_pinv(&a.tensor, NULL, NULL, 0, &vectors.tensor);
    default:
        bp_view_init(&x, values, BP_F64, TEST_SHAPE(3), NULL);
        return bp_matrix_norm(&a.tensor, BP_NORM_P, 2, &x.tensor);
    }
}

/* No library receives NaN or infinity, because some never return. */
static void non_finite_spectra(void) {
    for (int op = 0; op < 6; op++) {
        singular_batch();
        cells[1][1] = INFINITY;
        bp_status status = spectrum(op);
        if (offered(status)) {
            test_refused(status, BP_E_NON_FINITE, "(Batch element 1): the input contains NaN or infinity");
        }
    }
    bp_view_init(&x, results, BP_F64, TEST_SHAPE(3), NULL);
    bp_status status = bp_matrix_norm(&a.tensor, BP_NORM_P, 1, &x.tensor);
    assert_true(!offered(status) || (status == BP_OK && results[1] == INFINITY && results[0] == 4));
}

static void pivots_out_of_range(void) {
    double one[1] = {4}, right[1] = {8}, got[1] = {0};
    int32_t pivot[1] = {1};
    bp_view p;
    bp_view_matrix(&a, one, BP_F64, 1, 1);
    bp_view_matrix(&b, right, BP_F64, 1, 1);
    bp_view_matrix(&x, got, BP_F64, 1, 1);
    bp_view_init(&p, pivot, BP_I32, TEST_SHAPE(1), NULL);
    assert_int_equal(bp_lu_solve(&a.tensor, &p.tensor, &b.tensor, 0, 0, &x.tensor), BP_OK);
    assert_true(got[0] == 2);
    const int32_t wrong[] = {0, -1, 2, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pivot[0] = wrong[i];
        assert_int_equal(bp_lu_solve(&a.tensor, &p.tensor, &b.tensor, 0, 0, &x.tensor), BP_E_ARGUMENT);
    }
}

static void on_a_library(void **state) {
    bp_scope *scope;
    char setting[256];
    snprintf(setting, sizeof setting, "linalg.preferred=%s, dispatch.fallback=strict", (const char *)*state);
    assert_int_equal(bp_scope_enter(&scope, setting), BP_OK);
    singular_matrices();
    indefinite_matrices();
    non_finite_input();
    non_finite_spectra();
    pivots_out_of_range();
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

/* ---- Matrices without elements ---- */

static void empty_matrices(void **unused) {
    (void)unused;
    double out[12];
    bp_view z, r, more, w;
    for (int i = 0; i < 12; i++) {
        out[i] = 7;
    }
    bp_view_init(&z, NULL, BP_F64, TEST_SHAPE(2, 0, 0), NULL);
    bp_view_init(&r, out, BP_F64, TEST_SHAPE(2), NULL);
    assert_int_equal(bp_det(&z.tensor, &r.tensor), BP_OK);
    assert_true(out[0] == 1 && out[1] == 1);
    bp_view_init(&more, out + 2, BP_F64, TEST_SHAPE(2), NULL);
    assert_int_equal(bp_slogdet(&z.tensor, &r.tensor, &more.tensor), BP_OK);
    assert_true(out[1] == 1 && out[3] == 0);
    assert_int_equal(bp_cond(&z.tensor, BP_MODE_DEFAULT, 0, &r.tensor), BP_OK);
    assert_true(out[1] == 0);
    int64_t ranks[2] = {5, 5};
    bp_view_init(&w, ranks, BP_I64, TEST_SHAPE(2), NULL);
    assert_int_equal(bp_matrix_rank(&z.tensor, NULL, NULL, 0, &w.tensor), BP_OK);
    assert_true(ranks[0] == 0 && ranks[1] == 0);
    /* Full factors of an empty matrix are identities. */
    bp_view_init(&z, NULL, BP_F64, TEST_SHAPE(3, 0), NULL);
    bp_view_init(&r, out, BP_F64, TEST_SHAPE(3, 3), NULL);
    bp_view_init(&more, NULL, BP_F64, TEST_SHAPE(0), NULL);
    bp_view_init(&w, NULL, BP_F64, TEST_SHAPE(0, 0), NULL);
    assert_int_equal(bp_svd(&z.tensor, 1, &r.tensor, &more.tensor, &w.tensor), BP_OK);
    assert_true(out[0] == 1 && out[1] == 0 && out[4] == 1 && out[8] == 1);
    out[0] = out[1] = 7;
    bp_view_init(&w, NULL, BP_F64, TEST_SHAPE(3, 0), NULL);
    assert_int_equal(bp_qr(&z.tensor, BP_QR_COMPLETE, &r.tensor, &w.tensor), BP_OK);
    assert_true(out[0] == 1 && out[1] == 0);
    /* Sums over nothing are zero; the info of empty items reports success. */
    int32_t info_cell[2] = {7, 7};
    bp_view_init(&z, NULL, BP_F64, TEST_SHAPE(2, 0, 0), NULL);
    bp_view_init(&more, info_cell, BP_I32, TEST_SHAPE(2), NULL);
    assert_int_equal(bp_inv_ex(&z.tensor, &z.tensor, &more.tensor), BP_OK);
    assert_true(info_cell[0] == 0 && info_cell[1] == 0);
    bp_view_init(&r, out, BP_F64, TEST_SHAPE(0, 2), NULL);
    bp_view_init(&w, out + 4, BP_F64, TEST_SHAPE(3, 2), NULL);
    bp_view_init(&z, NULL, BP_F64, TEST_SHAPE(0, 3), NULL);
    assert_int_equal(bp_lstsq(&z.tensor, &r.tensor, NULL, BP_MODE_DEFAULT, &w.tensor, NULL, NULL, NULL), BP_OK);
    assert_true(out[4] == 0 && out[9] == 0);
}

/* ---- Preferences ---- */

static void preferences_of_real_libraries(void **unused) {
    (void)unused;
    bp_library_info row = {.struct_size = sizeof row};
    bool blas = false;
    for (int i = 0; bp_library_at(i, &row); i++) {
        bp_status status = bp_preferred_set("linalg.preferred", row.id);
        blas |= row.state == BP_LIBRARY_OK && (row.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) != 0 &&
                !(row.kinds & BP_LIB_BUILTIN);
        if (row.state == BP_LIBRARY_OK && row.kinds & BP_LIB_LAPACK) {
            assert_int_equal(status, BP_OK);
            assert_int_equal(bp_preferred_set("linalg.preferred", row.path), BP_OK);
            assert_int_equal(bp_preferred_set("linalg.preferred", row.soname), BP_OK);
            if (strcmp(row.family, "netlib") != 0) { /* the id belongs to its BLAS */
                assert_int_equal(bp_preferred_set("linalg.preferred", row.family), BP_OK);
            }
        } else if (row.state == BP_LIBRARY_OK && !(row.kinds & BP_LIB_BUILTIN)) {
            assert_int_equal(bp_preferred_set("linalg.preferred", "native"), BP_OK);
            test_refused(bp_preferred_set("linalg.preferred", row.id), BP_E_UNSUPPORTED,
                         "offers no LAPACK; linear algebra is offered by native");
            assert_string_equal(bp_get_linalg_preferred(), "native");
        } else {
            assert_true(status != BP_OK || row.kinds & BP_LIB_BUILTIN);
        }
    }
    assert_int_equal(bp_preferred_set("linalg.preferred", "native"), BP_OK);
    test_refused(bp_preferred_set("linalg.preferred", "magma"), BP_E_NOT_FOUND, "no library 'magma' was found");
    if (blas) {
        test_refused(bp_preferred_set("linalg.preferred", "blas"), BP_E_UNSUPPORTED, "offers no LAPACK");
    } else {
        test_refused(bp_preferred_set("linalg.preferred", "blas"), BP_E_NOT_FOUND, "no library 'blas' was found");
    }
    assert_string_equal(bp_get_linalg_preferred(), "native");
    assert_int_equal(bp_unset("linalg.preferred"), BP_OK);
}

int main(void) {
    enum { MOST = 32 };
    static char names[MOST][128] = {"native"};
    struct CMUnitTest tests[MOST + 2] = {
        cmocka_unit_test(empty_matrices),
        cmocka_unit_test(preferences_of_real_libraries),
        {"native", on_a_library, NULL, NULL, names[0]},
    };
    size_t count = 3;
    bp_library_info row = {.struct_size = sizeof row};
    for (int i = 0; count < MOST && bp_library_at(i, &row); i++) {
        if (row.kinds & BP_LIB_LAPACK && row.state == BP_LIBRARY_OK) {
            snprintf(names[count], sizeof names[0], "%s", row.id);
            tests[count] = (struct CMUnitTest){names[count], on_a_library, NULL, NULL, names[count]};
            count++;
        }
    }
    return _cmocka_run_group_tests("failures", tests, count, NULL, NULL);
}
