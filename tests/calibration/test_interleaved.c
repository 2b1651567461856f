/* test_interleaved.c - tests that a product of a batch gets the measured times of its kind: of contiguous items, or of
 * items between whose rows there are rows of other items. */
#include "calibration/support_curves.h"
#include "ops/gemm/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = BP__BATCH_ITEMS, M = 8, N = 16, K = 4, PLAIN_NS = 100, TIMES_BATCHED = 2, TIMES_INTERLEAVED = 5 };

/* Returns the predicted time of an item, relative to one that is alone. */
static double factor_of(const bp_gemm_problem *g) {
    static const bp_provider provider = {.struct_size = sizeof provider};
    bp__calibration *calibration = calloc(1, sizeof *calibration);
    assert_non_null(calibration);
    set_curve(calibration, BP__VARIANT_PLAIN, PLAIN_NS);
    set_curve(calibration, BP__VARIANT_BATCHED, TIMES_BATCHED);
    set_curve(calibration, BP__VARIANT_INTERLEAVED, TIMES_INTERLEAVED);
    bp__candidate candidate = {.provider = &provider};
    atomic_init(&candidate.calibration, calibration);
    bp_problem problem = bp__plain_gemm(BP_F32, M, N, K);
    problem.of.gemm = *g;
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__accuracy accuracy;
    verdict.threads = 1;
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
    const double found = factor_of(g);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_apart_are_batched),
        cmocka_unit_test(items_between_rows_are_interleaved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
