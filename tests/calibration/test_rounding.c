/* test_rounding.c - tests that measured times, which belong to the default precision, are not taken for the times of
 * algorithms that round their inputs. A program of its own, because a process loads its provider modules once. */
#define _GNU_SOURCE
#include "backplane.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/backplane-calibration-XXXXXX";

/* The last one is no variant that is measured: its time follows from estimates. */
typedef enum layout { PLAIN, TRANSPOSED, STRIDED_RESULT, LAYOUTS } layout;

/* Finds an algorithm of the provider of timed_provider.c in the explanation of a product of 48 x 64 x 64. */
static bp_candidate_info find(const char *settings, layout of, const char *algorithm) {
    const int64_t shape[] = {48, 64}, transposed[] = {1, 48}, strided[] = {130, 2};
    bp_view a, b, c;
    bp_options *options;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_view_init(&a, NULL, BP_F32, 2, shape, of == TRANSPOSED ? transposed : NULL);
    bp_view_matrix(&b, NULL, BP_F32, 64, 64);
    bp_view_init(&c, NULL, BP_F32, 2, shape, of == STRIDED_RESULT ? strided : NULL);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_options_release(options);
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.provider, "rounding") == 0 && strcmp(info.algorithm, algorithm) == 0) {
            bp_explanation_release(e);
            return info; /* only its numbers are used */
        }
    }
    fail_msg("'%s' is no candidate", algorithm);
    return info;
}

static void predicted_from_the_exact_algorithm(void **state) {
    (void)state;
    for (layout of = PLAIN; of < LAYOUTS; of++) {
        const bp_candidate_info plain = find("num_threads=1", of, "timed"),
                                exact = find("num_threads=1, fp32_precision=bf16", of, "timed"),
                                rounded = find("num_threads=1, fp32_precision=bf16", of, "rounded"),
                                refused = find("num_threads=1", of, "rounded");
        assert_true(plain.accepted && exact.accepted && rounded.accepted && !refused.accepted);
        assert_true(plain.time_source != BP_TIME_ESTIMATED && plain.cost_ns > 0);
        assert_true(exact.cost_ns == plain.cost_ns);
        /* The provider estimates the same time for all layouts. */
        assert_true(of != STRIDED_RESULT || plain.cost_ns == find("num_threads=1", PLAIN, "timed").cost_ns);
        assert_true(fabs(rounded.cost_ns - plain.cost_ns / 2) <= 1e-9 * plain.cost_ns);
        assert_int_equal(rounded.time_source, BP_TIME_INTERPOLATED);
    }
}

int main(void) {
    char command[128], modules[4200] = "";
    const ssize_t length = readlink("/proc/self/exe", modules, 4096);
    if (length <= 0 || !mkdtemp(folder)) {
        return 1;
    }
    snprintf(strrchr(modules, '/'), 32, "/calibration-rounding");
    setenv("BACKPLANE_PROVIDER_PATH", modules, 1);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
    setenv("BACKPLANE_CALIBRATION", "auto", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(predicted_from_the_exact_algorithm)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
