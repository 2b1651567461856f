/* test_conv.c - convolutions on an OpenCL device: the cases and the reference of the tests of convolutions on the host.
 */
#include "conv/cases.h"
#include "device_array.h"
#include "support/passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const algorithms[] = {"panels", "tiles", "direct"}; /* the first one: on processors only */
enum { PANELS, TILES, DIRECT, ALGORITHMS };
static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

/* No plan runs then. */
static bool is_empty(const conv_case *c) {
    return test_array_count(&c->input) == 0 || test_array_count(&c->weight) == 0 || test_array_count(&c->output) == 0;
}

static void run(conv_case *c, const char *settings) {
    device_copy m[4];
    bp_options *options;
    bp_conv_call call = c->call;
    call.output_gradient = NULL;
    call.input_gradient = call.weight_gradient = call.bias_gradient = NULL;
    call.input = device_copy_make(&m[0], &c->input);
    call.weight = device_copy_make(&m[1], &c->weight);
    call.bias = device_copy_make(&m[2], &c->bias);
    call.output = device_copy_make(&m[3], &c->output);
    test_call_to_pass("conv", &call, (int)call.pass);
    assert_ok(bp_options_new(&options, settings));
    if (bp_conv_run(options, &call) != BP_OK) {
        fail_msg("%s with %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
    const bool by_input = call.pass == BP_CONV_INPUT;
    device_copy_fetch(&m[by_input ? 0 : 3], by_input ? &c->input : &c->output);
    for (int i = 0; i < 4; i++) {
        device_copy_free(&m[i]);
    }
    if (!is_empty(c)) {
        assert_on_device(c->text);
    }
}

static void run_on(conv_case *c, int algorithm) {
    bp_plan_info info = {.struct_size = sizeof info};
    char settings[128];
    algorithm = test_as_gpu && algorithm == PANELS                 ? TILES
                : test_device_leaves_tiles() && algorithm == TILES ? PANELS
                                                                   : algorithm;
    snprintf(settings, sizeof settings, "conv.preferred=%s:%s,dispatch.fallback=strict", test_device_provider(),
             algorithms[algorithm]);
    run(c, settings);
    if (!is_empty(c)) {
        assert_ok(bp_last_plan(&info));
        assert_string_equal(info.algorithm, algorithms[algorithm]);
    }
}

/* Small integers, for which every order of additions is exact. */
static void test_integers(void **state) {
    test_array_random = 88172645463325252;
    (void)state;
    test_device_need();
    for (int i = 0; i < 20 * 4 * ALGORITHMS; i++) {
        const conv_limits limits = {.dtype = types[i % 4],
                                    .pass = i % 5 < 3 ? BP_CONV_FORWARD : BP_CONV_INPUT,
                                    .most_channels = types[i % 4] == BP_F16 || types[i % 4] == BP_BF16 ? 3 : 20,
                                    .most_size = 12};
        conv_case c;
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL);
        run_on(&c, i / 4 % ALGORITHMS);
        conv_compare(&c, expected, NULL, 0);
        free(expected);
        conv_free(&c);
    }
}

/* Half a unit in the last place for the result, and for each addition of the sum. */
static double bound_of(const conv_case *c) {
    const DLTensor *w = &c->weight.view.tensor;
    double terms = 2;
    for (int d = 1; d < w->ndim; d++) {
        terms *= (double)w->shape[d];
    }
    return (terms + 4) * device_compute_eps(c->dtype) + 1.01 * device_eps(c->dtype);
}

static void test_errors(void **state) {
    test_array_random = 1234567;
    (void)state;
    test_device_need();
    for (int i = 0; i < 10 * 4 * ALGORITHMS; i++) {
        const conv_limits limits = {.dtype = types[i % 4],
                                    .pass = i % 5 < 3 ? BP_CONV_FORWARD : BP_CONV_INPUT,
                                    .most_channels = 40,
                                    .most_size = 20,
                                    .plain = i / 12 % 2};
        conv_case c;
        double *sizes;
        conv_make(&c, &limits, false);
        double *expected = conv_reference(&c, &sizes);
        run_on(&c, i / 4 % ALGORITHMS);
        conv_compare(&c, expected, sizes, bound_of(&c));
        free(expected);
        free(sizes);
        conv_free(&c);
    }
}

/* The choice of the provider is right, too. */
static void test_default(void **state) {
    test_array_random = 99;
    (void)state;
    test_device_need();
    for (int i = 0; i < 24; i++) {
        const conv_limits limits = {
            .dtype = types[i % 2], .pass = BP_CONV_FORWARD, .most_channels = 70, .most_size = 30, .ndim = 2};
        conv_case c;
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL);
        run(&c, "");
        conv_compare(&c, expected, NULL, 0);
        free(expected);
        conv_free(&c);
    }
}

/* NaN reaches the outputs whose windows have it, also through relu, and no others. */
static void test_nan(void **state) {
    static float x[36], w[9], y[36];
    (void)state;
    test_device_need();
    for (int a = test_as_gpu; a < ALGORITHMS; a++) {
        if (a == TILES && test_device_leaves_tiles()) {
            continue;
        }
        char settings[128];
        bp_options *options;
        DLManagedTensorVersioned *t[3];
        const int64_t shape[3][4] = {{1, 1, 6, 6}, {1, 1, 3, 3}, {1, 1, 6, 6}}, one[] = {1, 1};
        bp_view view[3];
        float *data[] = {x, w, y};
        for (int i = 0; i < 36; i++) {
            x[i] = i == 14 ? NAN : -1;
            w[i % 9] = 1;
        }
        for (int i = 0; i < 3; i++) {
            assert_ok(bp_view_init(&view[i], data[i], BP_F32, 4, shape[i], NULL));
            assert_ok(bp_tensor_empty_on(&t[i], test_device, BP_F32, 4, shape[i], NULL));
            assert_ok(bp_copy(&t[i]->dl_tensor, &view[i].tensor, NULL));
        }
        snprintf(settings, sizeof settings, "conv.preferred=%s:%s,dispatch.fallback=strict", test_device_provider(),
                 algorithms[a]);
        assert_ok(bp_options_new(&options, settings));
        const bp_conv_call call = {.struct_size = sizeof call,
                                   .pass = BP_CONV_FORWARD,
                                   .ndim = 2,
                                   .padding = one,
                                   .activation = BP_UNARY_RELU,
                                   .input = &t[0]->dl_tensor,
                                   .weight = &t[1]->dl_tensor,
                                   .output = &t[2]->dl_tensor};
        assert_ok(bp_conv_run(options, &call));
        assert_ok(bp_copy(&view[2].tensor, &t[2]->dl_tensor, NULL));
        for (int i = 0; i < 36; i++) {
            const bool near = abs(i / 6 - 2) <= 1 && abs(i % 6 - 2) <= 1;
            assert_true(near ? isnan(y[i]) : y[i] == 0);
        }
        for (int i = 0; i < 3; i++) {
            t[i]->deleter(t[i]);
        }
        bp_options_release(options);
    }
}

/* An image that is copied in several slabs of columns. */
static void test_slabs(void **state) {
    enum { CHANNELS = 64, SIDE = 96, OUT = 3 };
    (void)state;
    test_device_need();
    for (int a = test_as_gpu; a < ALGORITHMS; a++) {
        if (a == TILES && test_device_leaves_tiles()) {
            continue;
        }
        char settings[128];
        bp_options *options;
        device_array t[3];
        const int64_t shape[3][4] = {{2, CHANNELS, SIDE, SIDE}, {OUT, CHANNELS, 3, 3}, {2, OUT, SIDE - 2, SIDE - 2}};
        for (int i = 0; i < 3; i++) {
            device_array_make(&t[i], BP_F32, 4, shape[i], TEST_COMPACT, 0);
            for (int64_t e = 0; e < test_array_count(&t[i].host); e++) {
                test_array_set(&t[i].host, e, (double)test_array_between(-4, 4));
            }
            device_array_send(&t[i]);
        }
        snprintf(settings, sizeof settings, "conv.preferred=%s:%s,dispatch.fallback=strict", test_device_provider(),
                 algorithms[a]);
        assert_ok(bp_options_new(&options, settings));
        reference_results made;
        bp_conv_call calls[2]; /* the second one is the reference's */
        for (int host = 0; host < 2; host++) {
            calls[host] = (bp_conv_call){.struct_size = sizeof calls[host],
                                         .pass = BP_CONV_FORWARD,
                                         .ndim = 2,
                                         .input = device_array_side(&t[0], host),
                                         .weight = device_array_side(&t[1], host),
                                         .output = device_array_side(&t[2], host)};
        }
        assert_ok(reference_of_conv(&made, &calls[1]));
        assert_ok(bp_conv_run(options, &calls[0]));
        device_array_fetch(&t[2], settings);
        test_check_exact(&made, settings);
        for (int i = 0; i < 3; i++) {
            device_array_free(&t[i]);
        }
        bp_options_release(options);
    }
}

/* A function of the results has the bits of the operation on elements. */
static void test_activation(void **state) {
    test_array_random = 5;
    (void)state;
    test_device_need();
    for (int i = 0; i < 4 * 3; i++) {
        if (test_device_leaves_out(i % 4 != i / 4)) {
            continue;
        }
        const conv_limits limits = {
            .dtype = types[i % 4], .pass = BP_CONV_FORWARD, .most_channels = 9, .most_size = 9, .ndim = 2};
        conv_case c;
        test_array plain;
        device_copy m;
        conv_make(&c, &limits, false);
        c.call.activation = BP_UNARY_COPY;
        run_on(&c, i / 4);
        test_array_copy(&plain, &c.output);
        DLTensor *results = device_copy_make(&m, &plain);
        assert_ok(bp_unary_run(NULL, BP_UNARY_GELU, results, results));
        device_copy_fetch(&m, &plain);
        device_copy_free(&m);
        c.call.activation = BP_UNARY_GELU;
        run_on(&c, i / 4);
        assert_memory_equal(plain.memory, c.output.memory, plain.bytes);
        test_array_free(&plain);
        conv_free(&c);
    }
}

/* Linear layers are convolutions of one position. */
static void test_linear(void **state) {
    enum { ROWS = 37, IN = 29, OUT = 45 };
    (void)state;
    test_device_need();
    for (int i = 0; i < 8; i++) {
        device_array x, w, bias, y;
        device_array_make(&x, types[i % 4], 2, I64(ROWS, IN), (test_layout)(i % TEST_LAYOUTS), 0);
        device_array_make(&w, types[i % 4], 2, I64(OUT, IN), (test_layout)(i / 4), 0);
        device_array_make(&bias, types[i % 4], 1, I64(OUT), TEST_REVERSED, 0);
        device_array_make(&y, types[i % 4], 2, I64(ROWS, OUT), (test_layout)((i + 1) % TEST_LAYOUTS), 0);
        device_array_fill(&x);
        device_array_fill(&w);
        device_array_fill(&bias);
        device_array_send(&y);
        reference_results made;
        bp_linear_call calls[2]; /* the second one is the reference's */
        for (int host = 0; host < 2; host++) {
            calls[host] = (bp_linear_call){.struct_size = sizeof calls[host],
                                           .activation = BP_UNARY_RELU,
                                           .input = device_array_side(&x, host),
                                           .weight = device_array_side(&w, host),
                                           .bias = device_array_side(&bias, host),
                                           .output = device_array_side(&y, host)};
        }
        assert_ok(reference_of_linear(&made, &calls[1]));
        assert_ok(bp_linear_run(NULL, &calls[0]));
        assert_on_device("linear");
        device_array_fetch(&y, "linear");
        /* Without the two roundings of each type that the reference allows besides the sum's. */
        test_check_results_within(&made, (IN + 2) / (IN + 6.0), "linear");
        device_array_free(&x);
        device_array_free(&w);
        device_array_free(&bias);
        device_array_free(&y);
    }
}

/* The gradient by the weight is not offered. */
static void test_gradients(void **state) {
    (void)state;
    test_device_need();
    const int64_t image[] = {1, 2, 5, 5}, weight[] = {2, 2, 3, 3}, result[] = {1, 2, 3, 3};
    device_array t[3];
    device_array_make(&t[0], BP_F32, 4, image, TEST_COMPACT, 0);
    device_array_make(&t[1], BP_F32, 4, weight, TEST_COMPACT, 0);
    device_array_make(&t[2], BP_F32, 4, result, TEST_COMPACT, 0);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .pass = BP_CONV_WEIGHT,
                               .ndim = 2,
                               .input = &t[0].tensor,
                               .weight_gradient = &t[1].tensor,
                               .output_gradient = &t[2].tensor};
    assert_int_equal(bp_conv_run(NULL, &call), BP_E_NO_CANDIDATE);
    for (int i = 0; i < 3; i++) {
        device_array_free(&t[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_default),  cmocka_unit_test(test_nan),
                                       cmocka_unit_test(test_slabs),    cmocka_unit_test(test_activation),
                                       cmocka_unit_test(test_linear),   cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
