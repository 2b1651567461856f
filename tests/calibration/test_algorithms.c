/* test_algorithms.c - tests that each algorithm that a library offers for a product has its own measured times. */
#include "calibration/support_curves.h"
#include "machine/internal.h"
#include "ops/gemm/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PLAIN_NS = 100, SIZE = 16 };
#define PREFERRED_COST 50.0
#define COST 80.0
#define TIMES_SMALL 3.0
#define TIMES_BY_GEMM 0.5
#define TIMES_UNEVEN 1.25
#define TIMES_SMALL_UNEVEN 1.5

typedef struct offer {
    const char *algorithm;
    int64_t m;
    bool transposed;       /* the second operand, whose class has a factor of 2 */
    const char *preferred; /* the algorithm that the provider prefers; NULL: one without times of its own */
} offer;

/* Returns the predicted time, relative to the one of the preferred algorithm of a plain product. */
static double time_of(const offer *o, bool knows_algorithms, bp__accuracy *accuracy) {
    static const bp_provider provider = {.struct_size = sizeof provider};
    bp__calibration *calibration = calloc(1, sizeof *calibration);
    assert_non_null(calibration);
    set_curve(calibration, BP__VARIANT_PLAIN, PLAIN_NS);
    set_curve(calibration, BP__VARIANT_TRANSPOSED_B, 2);
    if (knows_algorithms) {
        set_curve(calibration, BP__VARIANT_SMALL, TIMES_SMALL);
        set_curve(calibration, BP__VARIANT_BY_GEMM, TIMES_BY_GEMM);
        set_curve(calibration, BP__VARIANT_UNEVEN, TIMES_UNEVEN);
        set_curve(calibration, BP__VARIANT_SMALL_UNEVEN, TIMES_SMALL_UNEVEN);
    }
    bp__candidate candidate = {.provider = &provider};
    atomic_init(&candidate.calibration, calibration);
    bp_problem problem = bp__plain_gemm(BP_F32, o->m, SIZE, SIZE);
    if (o->transposed) {
        problem.of.gemm.b_row = 1;
        problem.of.gemm.b_column = SIZE;
    }
    bp_verdict preferred = BP_VERDICT_INIT, verdict = BP_VERDICT_INIT;
    preferred.threads = verdict.threads = 1;
    preferred.cost_ns = PREFERRED_COST;
    verdict.cost_ns = COST;
    verdict.algorithm = o->algorithm;
    preferred.algorithm = o->preferred ? o->preferred : "";
    const double time = bp__gemm_predict(&candidate, &problem, &verdict, &preferred, accuracy);
    free(calibration);
    return time / PLAIN_NS;
}

static void check(const offer *o, bool knows_algorithms, double times, bp__accuracy expected) {
    bp__accuracy accuracy;
    const double found = time_of(o, knows_algorithms, &accuracy);
    if (fabs(found - times) > 1e-5 * times) {
        fail_msg("'%s' takes %g times the time, not %g", o->algorithm, found, times);
    }
    assert_int_equal(accuracy, expected);
}

static void measured_algorithms_have_their_times(void **state) {
    (void)state;
    check(&(offer){"small", SIZE, false, NULL}, true, TIMES_SMALL, BP__MEASURED);
    check(&(offer){"small avx512", SIZE, false, NULL}, true, TIMES_SMALL, BP__MEASURED);
    check(&(offer){"small", 3 * SIZE, false, NULL}, true, TIMES_SMALL, BP__INTERPOLATED);
    check(&(offer){"gemm", 1, false, NULL}, true, TIMES_BY_GEMM, BP__MEASURED);
}

/* A layout has the time of the algorithm that the provider prefers for it. */
static void algorithms_are_compared_in_layouts(void **state) {
    (void)state;
    check(&(offer){"gemm", 1, true, "small"}, true, 2 * TIMES_BY_GEMM / TIMES_SMALL, BP__INTERPOLATED);
    check(&(offer){"small", 1, true, "gemm"}, true, 2 * TIMES_SMALL / TIMES_BY_GEMM, BP__INTERPOLATED);
    check(&(offer){"small", SIZE, true, NULL}, true, 2 * COST / PREFERRED_COST, BP__INTERPOLATED);
    check(&(offer){"small", SIZE, true, "packed"}, true, 2 * COST / PREFERRED_COST, BP__INTERPOLATED);
}

/* Sizes with remainders have times of their own. */
static void uneven_sizes_have_their_times(void **state) {
    (void)state;
    const double ratio = COST / PREFERRED_COST;
    check(&(offer){"small", SIZE + 1, false, NULL}, true, TIMES_SMALL_UNEVEN, BP__INTERPOLATED);
    check(&(offer){"small", 1000, false, NULL}, true, TIMES_SMALL_UNEVEN, BP__INTERPOLATED);
    check(&(offer){"small", 1024, false, NULL}, true, TIMES_SMALL, BP__MEASURED);
    check(&(offer){"packed", SIZE + 1, false, NULL}, true, TIMES_UNEVEN * ratio, BP__INTERPOLATED);
    check(&(offer){"packed", SIZE + 1, true, NULL}, true, 2 * TIMES_UNEVEN * ratio, BP__INTERPOLATED);
    check(&(offer){"small", SIZE + 1, false, NULL}, false, ratio, BP__INTERPOLATED);
}

/* Sizes of whole vectors have no remainders. */
static void whole_vectors_are_even(void **state) {
    (void)state;
    const int64_t lanes = bp__cpu_hardware() == BP_CAPABILITY_AVX512                               ? 16
                          : bp__cpu_runs(BP_CAPABILITY_AVX2) || bp__cpu_runs(BP_CAPABILITY_SVE256) ? 8
                                                                                                   : 4;
    for (int64_t size = 12; size <= 48; size *= 2) {
        check(&(offer){"small", size, false, NULL}, true, size % lanes ? TIMES_SMALL_UNEVEN : TIMES_SMALL,
              BP__INTERPOLATED);
    }
}

/* What was measured of small products says nothing of large ones. */
static void algorithms_end_where_they_were_measured(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[bp__class_find(BP_OP_GEMM, BP_F32, BP__VARIANT_SMALL)].lattice;
    const int64_t m = (int64_t)lattice->most / SIZE / SIZE;
    check(&(offer){"small", 2 * m, false, NULL}, true, 2.0 * (double)m / 1024 * TIMES_SMALL, BP__INTERPOLATED);
    check(&(offer){"small", 4 * m, false, NULL}, true, 4.0 * (double)m / 1024 * COST / PREFERRED_COST,
          BP__INTERPOLATED);
}

/* Others have the ratio of their estimates. */
static void other_algorithms_follow_estimates(void **state) {
    (void)state;
    const double ratio = COST / PREFERRED_COST;
    check(&(offer){"small", SIZE, false, NULL}, false, ratio, BP__INTERPOLATED);
    check(&(offer){"small", SIZE, true, NULL}, false, 2 * ratio, BP__INTERPOLATED);
    check(&(offer){"packed", SIZE, false, NULL}, true, ratio, BP__INTERPOLATED); /* has no curve */
    check(&(offer){"smaller", SIZE, false, NULL}, true, ratio, BP__INTERPOLATED);
    check(&(offer){"gemm", SIZE, false, NULL}, true, ratio, BP__INTERPOLATED); /* without a vector */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_algorithms_have_their_times),    cmocka_unit_test(algorithms_are_compared_in_layouts),
        cmocka_unit_test(uneven_sizes_have_their_times),           cmocka_unit_test(whole_vectors_are_even),
        cmocka_unit_test(algorithms_end_where_they_were_measured), cmocka_unit_test(other_algorithms_follow_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
