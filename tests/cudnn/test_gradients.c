/* test_gradients.c - gradients of convolutions, transposed convolutions, biases and relu on a CUDA device with the
 * double of cuDNN, against the reference. */
#include "cudnn/support_cudnn.h"

static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64};

static conv_case small_case(bp_dtype dtype) {
    return (conv_case){.dtype = dtype,
                       .ndim = 2,
                       .batch = 2,
                       .in_channels = 4,
                       .out_channels = 6,
                       .in = {7, 5},
                       .kernel = {3, 2},
                       .before = {1, 0},
                       .after = {1, 0}};
}

/* ---- Passes ---- */

/* Windows that differ in all parameters, with groups, in all passes, of convolutions and of their transposes. */
static void passes(void **state) {
    static const conv_case cases[] = {
        {.ndim = 2, .in = {7, 5}, .kernel = {3, 2}, .before = {1, 0}, .after = {1, 0}},
        {.ndim = 2, .in = {9, 8}, .kernel = {3, 3}, .stride = {2, 3}, .more = {1, 2}},
        {.ndim = 2,
         .in = {6, 7},
         .kernel = {2, 3},
         .stride = {1, 2},
         .dilation = {3, 1},
         .before = {2, 1},
         .after = {0, 3}},
        {.ndim = 2, .in = {5, 6}, .kernel = {2, 2}, .stride = {2, 4}},
        {.ndim = 1, .in = {11}, .kernel = {4}, .stride = {2}, .before = {1}, .after = {2}, .more = {1}},
        {.ndim = 3, .in = {3, 4, 5}, .kernel = {2, 2, 3}, .stride = {1, 2, 1}, .before = {1, 0, 1}, .after = {0, 0, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < 3 * 2 * 2; k++) {
            conv_case c = cases[i];
            c.dtype = types[(i + (size_t)k) % 4];
            c.pass = (bp_conv_pass)(k % 3);
            c.transposed = k / 3 % 2;
            c.groups = k / 6 ? 2 : 1;
            c.batch = 2;
            c.in_channels = 4;
            c.out_channels = 6;
            const int before = the_cudnn()->calls;
            check_conv(&c, EXACT);
            assert_int_equal(the_cudnn()->calls, before + 1);
        }
    }
}

static void layouts(void **state) {
    (void)state;
    for (int layout = 0; layout < TEST_BROADCAST; layout++) {
        for (int k = 0; k < 3 * 2; k++) {
            conv_case c = small_case(types[(layout + k) % 4]);
            c.pass = (bp_conv_pass)(k % 3);
            c.transposed = k / 3;
            c.has_bias = c.pass != BP_CONV_INPUT;
            c.layout[CONV_INPUT] = (test_layout)layout;
            c.layout[CONV_WEIGHT] = (test_layout)((layout + k) % TEST_BROADCAST);
            c.layout[CONV_BIAS] = layout % 2 ? TEST_COMPACT : TEST_REVERSED;
            c.layout[CONV_OUTPUT] = (test_layout)((layout + 2 * k) % TEST_BROADCAST);
            check_conv(&c, EXACT);
        }
    }
}

/* cuDNN has no padding below 0, and an output padding that is not less than the stride would need it. */
static void output_padding(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    c.transposed = true;
    c.stride[0] = c.stride[1] = 2;
    c.dilation[0] = c.dilation[1] = 3;
    c.after[0] = 0;
    c.more[0] = 1;
    check_conv(&c, EXACT);
    c.more[0] = 2;
    make_conv(&t, &c);
    assert_fails(run_conv(&t, EXACT), BP_E_NO_CANDIDATE, "is not less than the stride");
    free_conv(&t);
}

/* ---- Biases ---- */

/* A bias in the graph of a convolution, before a transposed one, and the gradient by it. */
static void biases(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int k = 0; k < 2 * 2 * 3; k++) {
            conv_case c = small_case(types[t]);
            c.has_bias = true;
            c.pass = k % 2 ? BP_CONV_WEIGHT : BP_CONV_FORWARD;
            c.transposed = k / 2 % 2;
            c.layout[CONV_BIAS] = k / 4 == 1 ? TEST_GAPS : TEST_COMPACT;
            c.layout[CONV_INPUT] = c.layout[CONV_OUTPUT] = k / 4 == 2 ? TEST_CHANNELS_LAST : TEST_COMPACT;
            c.past = k / 4 == 1 && t > 1 ? (size_t)(t == 2 ? 4 : 8) : 0;
            check_conv(&c, EXACT);
        }
    }
    conv_case c = small_case(BP_F32);
    c.has_bias = true;
    c.out_channels = c.in_channels = 1;
    check_conv(&c, EXACT);
    c.pass = BP_CONV_WEIGHT;
    check_conv(&c, EXACT);
}

/* If no engine adds the bias in the graph, the convolution adds to it. */
static void a_bias_that_no_engine_adds(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        conv_case c = small_case(types[t]);
        c.has_bias = true;
        c.batch = 3; /* not planned before */
        the_cudnn()->plain_only = true;
        check_conv(&c, EXACT);
        the_cudnn()->plain_only = false;
    }
    conv_trial t;
    conv_case c = small_case(BP_F32);
    c.activation = BP_UNARY_RELU;
    c.batch = 3;
    the_cudnn()->plain_only = true;
    make_conv(&t, &c);
    assert_fails(run_conv(&t, EXACT), BP_E_NO_CANDIDATE, "no engine that the settings permit runs it");
    free_conv(&t);
    the_cudnn()->plain_only = false;
}

static void relu(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int has_bias = 0; has_bias < 2; has_bias++) {
            conv_case c = small_case(types[t]);
            c.activation = BP_UNARY_RELU;
            c.has_bias = has_bias;
            check_conv(&c, EXACT);
            c.layout[CONV_INPUT] = c.layout[CONV_WEIGHT] = c.layout[CONV_OUTPUT] = TEST_CHANNELS_LAST;
            check_conv(&c, EXACT);
        }
    }
}

static void functions_that_are_refused(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    c.activation = BP_UNARY_TANH;
    make_conv(&t, &c);
    assert_fails(run_conv(&t, EXACT), BP_E_NO_CANDIDATE, "its function of the result is relu");
    free_conv(&t);
    c.activation = BP_UNARY_RELU;
    c.transposed = true;
    make_conv(&t, &c);
    assert_fails(run_conv(&t, EXACT), BP_E_NO_CANDIDATE, "it applies no function to a transposed convolution");
    free_conv(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(layouts, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(output_padding, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(biases, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(a_bias_that_no_engine_adds, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(relu, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(functions_that_are_refused, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("gradients", tests, start_cudnn, stop_cudnn);
}
