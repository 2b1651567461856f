/* test_interleaved.c - tests that a product of a batch gets the measured times of its kind: of contiguous items, or of
 * items between whose rows there are rows of other items. */
#include "calibration/support_curves.h"
#include "ops/gemm/gemm.h"
#include "ops/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    ITEMS = BP__BATCH_ITEMS,
    M = 8,
    N = 16,
    K = 4,
    PLAIN_NS = 100,
    TIMES_BATCHED = 2,
    TIMES_INTERLEAVED = 5,
    OWN_COST = 7,
    OWN_TIMES = 3
};

static const bp_provider of_library = {.struct_size = sizeof of_library, .library_kinds = BP_LIB_BLAS};

/* Returns the predicted time of an item, relative to one that is alone. */
static double factor_with(const bp_provider *provider, const bp_gemm_problem *g) {
    bp__calibration *calibration = calloc(1, sizeof *calibration);
    assert_non_null(calibration);
    set_curve(calibration, BP__VARIANT_PLAIN, PLAIN_NS);
    set_curve(calibration, BP__VARIANT_BATCHED, TIMES_BATCHED);
    set_curve(calibration, BP__VARIANT_INTERLEAVED, TIMES_INTERLEAVED);
    bp__candidate candidate = {.provider = provider};
    atomic_init(&candidate.calibration, calibration);
    bp_problem problem = bp__plain_gemm(BP_F32, M, N, K);
    problem.of.gemm = *g;
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__accuracy accuracy;
    verdict.threads = 1;
    verdict.cost_ns = ITEMS * OWN_COST * OWN_TIMES;
    const double time = bp__gemm_predict(&candidate, &problem, &verdict, &verdict, &accuracy);
    free(calibration);
    return time / PLAIN_NS / (double)g->batch;
}

static bp_gemm_problem contiguous(void) {
    bp_gemm_problem g = bp__plain_gemm(BP_F32, M, N, K).of.gemm;
    g.batch_ndim = 1;
    g.batch = g.batch_shape[0] = ITEMS;
    g.batch_a[0] = M * K;
    g.batch_b[0] = K * N;
    g.batch_c[0] = M * N;
    return g;
}

static void check(const bp_gemm_problem *g, double factor) {
    const double found = factor_with(&of_library, g);
    if (fabs(found - factor) > 1e-5 * factor) {
        fail_msg("an item takes %g times the time of one, not %g", found, factor);
    }
}

static void items_apart_are_batched(void **state) {
    (void)state;
    bp_gemm_problem g = contiguous();
    check(&g, TIMES_BATCHED);
    g.batch_a[0] = 0; /* repeated */
    check(&g, TIMES_BATCHED);
    g.a_row = 2 * K; /* a part of a wider matrix */
    g.batch_a[0] = -2 * M * K;
    check(&g, TIMES_BATCHED);
    g.batch = g.batch_shape[0] = 1;
    g.batch_a[0] = 1;
    check(&g, 1);
}

static void items_between_rows_are_interleaved(void **state) {
    (void)state;
    bp_gemm_problem g = contiguous();
    g.a_row = ITEMS * K;
    g.batch_a[0] = K;
    check(&g, TIMES_INTERLEAVED);
    g.batch_a[0] = -K;
    check(&g, TIMES_INTERLEAVED);
    g.batch = g.batch_shape[0] = 8; /* of fewer items, a part of the factor: log2(8) of log2(64) */
    check(&g, sqrt(TIMES_INTERLEAVED));
    g = contiguous();
    g.b_row = ITEMS * N;
    g.batch_b[0] = N;
    check(&g, TIMES_INTERLEAVED);
    g = contiguous();
    g.c_row = ITEMS * N;
    g.batch_c[0] = N;
    check(&g, TIMES_INTERLEAVED);
    g = contiguous(); /* in the second dimension of the batch only */
    g.batch_ndim = 2;
    g.batch_shape[0] = ITEMS / 4;
    g.batch_shape[1] = 4;
    g.c_row = 4 * N;
    g.batch_a[1] = M * K;
    g.batch_b[1] = K * N;
    g.batch_c[1] = N;
    g.batch_a[0] = 4 * M * K;
    g.batch_b[0] = 4 * K * N;
    g.batch_c[0] = 4 * M * N;
    check(&g, TIMES_INTERLEAVED);
}

/* Rows of an item that fall on the same lines of a cache would take longer than rows in programs do. */
static void measured_rows_are_on_other_lines(void **state) {
    (void)state;
    enum { SIDE = 64, PAGE = 4096 };
    static const int64_t sizes[BP__LATTICE_DIMENSIONS] = {SIDE, SIDE, SIDE};
    bp_problem problem;
    const int class = bp__class_find(BP_OP_GEMM, BP_F32, BP__VARIANT_INTERLEAVED);
    assert_int_equal(bp__sample_make(&problem, &bp__classes[class], sizes), BP_OK);
    const bp_gemm_problem *g = &problem.of.gemm;
    const int64_t rows[] = {g->a_row, g->b_row, g->c_row};
    for (int i = 0; i < 3; i++) {
        assert_true(rows[i] >= SIDE * ITEMS);
        assert_int_not_equal(rows[i] * (int64_t)sizeof(float) % PAGE, 0);
    }
    assert_int_equal(g->batch_a[0], SIDE);
}

static void accept_own(void *instance, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    (void)instance;
    (void)problem;
    verdict.cost_ns = OWN_COST;
    offers->add(offers, &verdict, NULL, 0);
}

/* A provider with kernels of its own has the factor of its estimates. */
static void own_kernels_follow_estimates(void **state) {
    (void)state;
    const bp_provider own = {.struct_size = sizeof own, .accept = accept_own};
    bp_gemm_problem g = contiguous();
    assert_true(fabs(factor_with(&own, &g) - TIMES_BATCHED) < 1e-5 * TIMES_BATCHED);
    g.c_row = ITEMS * N;
    g.batch_c[0] = N;
    assert_true(fabs(factor_with(&own, &g) - OWN_TIMES) < 1e-5 * OWN_TIMES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_apart_are_batched),
        cmocka_unit_test(items_between_rows_are_interleaved),
        cmocka_unit_test(own_kernels_follow_estimates),
        cmocka_unit_test(measured_rows_are_on_other_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
