/* test_results.c - compares convolutions and their gradients with the definition: random geometries and layouts with
 * small integers, for which every algorithm must be exact, and random numbers within error bounds. */
#include "conv/cases.h"
#include "support/modes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, PASSES = 3 };

/* Algorithms that add up products: others transform f32 operands first, and are tested by themselves. */
#define SUMS "mkldnn.conv.fp32_precision=ieee"

static int cases(void) {
    const char *asked = getenv("CONV_CASES");
    return asked ? atoi(asked) : test_takes_all() ? 120 : 60; /* of each pass and type */
}

static void run(const conv_case *c, const char *settings) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void integers_are_exact(void **state) {
    (void)state;
    test_array_random = 88172645463325252;
    for (int i = 0; i < cases() * DTYPES * PASSES; i++) {
        const conv_limits limits = {.dtype = dtypes[i % DTYPES],
                                    .pass = (bp_conv_pass)(i / DTYPES % PASSES),
                                    .most_channels = dtypes[i % DTYPES] < BP_F32 ? 3 : 20,
                                    .most_size = 12};
        conv_case c;
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL);
        run(&c, i % 2 ? SUMS ", num_threads=1" : SUMS ", num_threads=2");
        conv_compare(&c, expected, NULL, 0);
        free(expected);
        conv_free(&c);
    }
}

/* Each type's rounding error, by which a sum of products may differ from the exact one. */
static double bound_of(bp_dtype dtype) {
    return dtype == BP_F64 ? 1e-13 : dtype == BP_F32 ? 2e-5 : dtype == BP_F16 ? 2e-3 : 2e-2;
}

static void errors_are_bounded(void **state) {
    (void)state;
    test_array_random = 1234567;
    for (int i = 0; i < cases() * DTYPES * PASSES / 4; i++) {
        const conv_limits limits = {.dtype = dtypes[i % DTYPES],
                                    .pass = (bp_conv_pass)(i / DTYPES % PASSES),
                                    .most_channels = 40,
                                    .most_size = 9};
        conv_case c;
        double *sizes;
        conv_make(&c, &limits, false);
        double *expected = conv_reference(&c, &sizes);
        run(&c, SUMS ", num_threads=2");
        conv_compare(&c, expected, sizes, bound_of(limits.dtype));
        free(expected);
        free(sizes);
        conv_free(&c);
    }
}

/* Every number of threads, and every position in the batch, gives equal bits. */
static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    test_array_random = 7654321;
    static const char *const settings[] = {"num_threads=2, deterministic=threads",
                                           "num_threads=3, deterministic=threads",
                                           "num_threads=7, deterministic=threads"};
    for (int i = 0; i < cases() * PASSES; i++) {
        const conv_limits limits = {.dtype = dtypes[i % DTYPES],
                                    .pass = (bp_conv_pass)(i / DTYPES % PASSES),
                                    .most_channels = 50,
                                    .most_size = 12};
        conv_case c;
        test_array first[2], *written[2];
        memset(first, 0, sizeof first);
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        run(&c, "num_threads=1, deterministic=threads");
        for (int w = 0; w < 2 && written[w]; w++) {
            test_array_copy(&first[w], written[w]);
        }
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            run(&c, settings[s]);
            for (int w = 0; w < 2 && written[w]; w++) {
                if (memcmp(first[w].memory, written[w]->memory, written[w]->bytes) != 0) {
                    fail_msg("%s: %s gives other bits", c.text, settings[s]);
                }
            }
        }
        test_array_free(&first[0]);
        test_array_free(&first[1]);
        conv_free(&c);
    }
}

static void items_of_a_batch_are_independent(void **state) {
    (void)state;
    enum { ITEMS = 5, CHANNELS = 13, SIDE = 9, KERNELS = 21, TAPS = 3 };
    static float x[ITEMS][CHANNELS][SIDE][SIDE], w[KERNELS][CHANNELS][TAPS][TAPS], y[ITEMS][KERNELS][SIDE][SIDE],
        one[KERNELS][SIDE][SIDE];
    test_array_random = 99;
    bp_view in, weight, out;
    for (size_t i = 0; i < sizeof x / 4; i++) {
        (&x[0][0][0][0])[i] = (float)test_array_between(0, 999) / 999;
    }
    for (size_t i = 0; i < sizeof w / 4; i++) {
        (&w[0][0][0][0])[i] = (float)test_array_between(0, 999) / 999;
    }
    const int64_t in_shape[] = {ITEMS, CHANNELS, SIDE, SIDE}, w_shape[] = {KERNELS, CHANNELS, TAPS, TAPS},
                  out_shape[] = {ITEMS, KERNELS, SIDE, SIDE};
    bp_view_init(&weight, w, BP_F32, 4, w_shape, NULL);
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .mode = BP_CONV_SAME,
                         .input = &in.tensor,
                         .weight = &weight.tensor,
                         .output = &out.tensor};
    static const char *const algorithms[] = {"implicit", "direct"};
    for (int a = 0; a < 2; a++) {
        char settings[96];
        bp_options *options;
        snprintf(settings, sizeof settings, "conv.preferred=native:%s,dispatch.fallback=strict", algorithms[a]);
        assert_int_equal(bp_options_new(&options, settings), BP_OK);
        bp_view_init(&in, x, BP_F32, 4, in_shape, NULL);
        bp_view_init(&out, y, BP_F32, 4, out_shape, NULL);
        assert_int_equal(bp_conv_run(options, &call), BP_OK);
        for (int i = 0; i < ITEMS; i++) {
            bp_view_init(&in, x[i], BP_F32, 3, in_shape + 1, NULL);
            bp_view_init(&out, one, BP_F32, 3, out_shape + 1, NULL);
            assert_int_equal(bp_conv_run(options, &call), BP_OK);
            assert_memory_equal(one, y[i], sizeof one);
        }
        bp_options_release(options);
    }
}

static void not_a_number_stays(void **state) {
    (void)state;
    float x[] = {1, NAN, -INFINITY, 2, -3}, w[] = {1}, b[] = {0}, y[5];
    bp_view in, weight, bias, out;
    const int64_t shape[] = {1, 1, 5}, one[] = {1, 1, 1};
    bp_view_init(&in, x, BP_F32, 3, shape, NULL);
    bp_view_init(&weight, w, BP_F32, 3, one, NULL);
    bp_view_init(&bias, b, BP_F32, 1, one, NULL);
    bp_view_init(&out, y, BP_F32, 3, shape, NULL);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 1,
                               .activation = BP_UNARY_RELU,
                               .input = &in.tensor,
                               .weight = &weight.tensor,
                               .bias = &bias.tensor,
                               .output = &out.tensor};
    assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
    assert_true(y[0] == 1 && isnan(y[1]) && y[2] == 0 && y[3] == 2 && y[4] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(items_of_a_batch_are_independent),
        cmocka_unit_test(not_a_number_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
