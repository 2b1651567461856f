/* test_threads.c - tests the predicted times of products on several threads: for more work than was measured, starting
 * the threads counts less; and of a batch, whether the threads divide its items or each item. */
#include "calibration/support_curves.h"
#include "machine/internal.h"
#include "ops/gemm/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PLAIN_NS = 100, LAST = 1024 }; /* LAST: the largest size of the lattice of threads */

/* The factor of threads for the largest measured product. */
static double measured;

/* Returns the time on all processors, relative to one thread. */
static double factor_of(int64_t m, int64_t items, uint32_t library_kinds) {
    const bp_provider provider = {.struct_size = sizeof provider, .library_kinds = library_kinds};
    bp__calibration *calibration = calloc(1, sizeof *calibration);
    assert_non_null(calibration);
    set_curve(calibration, BP__VARIANT_PLAIN, PLAIN_NS);
    set_curve(calibration, BP__VARIANT_BATCHED, 1);
    set_curve(calibration, BP__VARIANT_THREADED, measured);
    bp__candidate candidate = {.provider = &provider};
    atomic_init(&candidate.calibration, calibration);
    bp_problem problem = bp__plain_gemm(BP_F32, m, LAST, LAST);
    if (items > 1) {
        bp_gemm_problem *g = &problem.of.gemm;
        g->batch_ndim = 1;
        g->batch = g->batch_shape[0] = items;
        g->batch_a[0] = m * LAST;
        g->batch_b[0] = LAST * LAST;
        g->batch_c[0] = m * LAST;
    }
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__accuracy accuracy;
    verdict.threads = bp__available_cpus();
    const double several = bp__gemm_predict(&candidate, &problem, &verdict, &verdict, &accuracy);
    verdict.threads = 1;
    const double one = bp__gemm_predict(&candidate, &problem, &verdict, &verdict, &accuracy);
    free(calibration);
    return several / one;
}

static void check(double found, double factor) {
    if (fabs(found - factor) > 1e-5 * factor) {
        fail_msg("threads take %g times the time of one, not %g", found, factor);
    }
}

static int on_several_processors(void **state) {
    (void)state;
    if (bp__available_cpus() == 1) {
        print_message("skipped: one processor\n");
        skip();
    }
    return 0;
}

static void more_work_repays_the_start(void **state) {
    (void)state;
    const double part = 1.0 / bp__available_cpus();
    measured = 1.5;
    check(factor_of(LAST, 1, 0), measured);
    check(factor_of(LAST / 4, 1, 0), measured);
    check(factor_of(10 * LAST, 1, 0), part + (measured - part) / 10);
    measured = part;
    check(factor_of(10 * LAST, 1, 0), part);
    measured = part / 2; /* the caches of several processors hold more */
    check(factor_of(10 * LAST, 1, 0), measured);
}

static void items_are_more_work_if_threads_divide_them(void **state) {
    (void)state;
    const double part = 1.0 / bp__available_cpus();
    measured = 3;
    check(factor_of(LAST, 20, 0), part + (measured - part) / 20);
    check(factor_of(LAST, 20, BP_LIB_DNN), part + (measured - part) / 20);
    check(factor_of(LAST, 20, BP_LIB_BLAS), measured); /* a call for each item */
    check(factor_of(5 * LAST, 20, 0), part + (measured - part) / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_work_repays_the_start),
        cmocka_unit_test(items_are_more_work_if_threads_divide_them),
    };
    return cmocka_run_group_tests(tests, on_several_processors, NULL);
}
