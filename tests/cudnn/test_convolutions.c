/* test_convolutions.c - values of convolutions on a CUDA device with the double of cuDNN, against the reference: types,
 * layouts, windows, groups and positions. */
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

static void values_in_all_types(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        const conv_case c = small_case(types[t]);
        const int before = the_cudnn()->calls;
        check_conv(&c, EXACT);
        assert_int_equal(the_cudnn()->calls, before + 1);
    }
}

/* Each difference from the small case is a difference of the results. */
static void windows(void **state) {
    static const conv_case cases[] = {
        {.ndim = 2, .in = {9, 8}, .kernel = {3, 3}, .stride = {2, 3}},
        {.ndim = 2, .in = {9, 8}, .kernel = {2, 3}, .stride = {1, 1}, .dilation = {3, 2}},
        {.ndim = 2, .in = {5, 6}, .kernel = {3, 2}, .before = {2, 0}, .after = {1, 1}}, /* not symmetric */
        {.ndim = 2, .in = {5, 6}, .kernel = {2, 2}, .stride = {2, 4}},                  /* the last row is not used */
        {.ndim = 2, .in = {5, 5}, .kernel = {1, 1}, .before = {3, 4}, .after = {3, 4}}, /* more than the window */
        {.ndim = 2,
         .in = {6, 7},
         .kernel = {3, 3},
         .stride = {3, 2},
         .dilation = {2, 1},
         .before = {2, 1},
         .after = {0, 3}},
        {.ndim = 2, .in = {4, 3}, .kernel = {4, 3}}, /* one position */
        {.ndim = 1, .in = {11}, .kernel = {4}, .stride = {2}, .before = {1}, .after = {2}},
        {.ndim = 1, .in = {1}, .kernel = {1}},
        {.ndim = 3, .in = {3, 4, 5}, .kernel = {2, 2, 3}, .stride = {1, 2, 1}, .before = {1, 0, 1}, .after = {1, 0, 1}},
        {.ndim = 3,
         .in = {1, 4, 5},
         .kernel = {1, 2, 3},
         .before = {1, 0, 0},
         .after = {0, 0, 0}}, /* three positions */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int t = 0; t < 4; t += 2) {
            conv_case c = cases[i];
            c.dtype = types[t];
            c.batch = 2;
            c.in_channels = 3;
            c.out_channels = 2;
            check_conv(&c, EXACT);
        }
    }
}

static void groups_and_channels(void **state) {
    static const int64_t cases[][4] = {
        /* batch, input and output channels, groups */
        {1, 1, 1, 1}, {3, 1, 5, 1}, {1, 5, 1, 1}, {2, 6, 4, 2}, {2, 6, 6, 6}, {1, 4, 12, 4}, {2, 9, 3, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_case c = small_case(BP_F32);
        c.batch = cases[i][0];
        c.in_channels = cases[i][1];
        c.out_channels = cases[i][2];
        c.groups = cases[i][3];
        check_conv(&c, EXACT);
    }
}

/* Tensors of all layouts, each with all others. */
static void layouts(void **state) {
    (void)state;
    for (int x = 0; x < TEST_BROADCAST; x++) {
        for (int w = 0; w < TEST_BROADCAST; w++) {
            conv_case c = small_case(types[(x + w) % 4]);
            c.layout[CONV_INPUT] = (test_layout)x;
            c.layout[CONV_WEIGHT] = (test_layout)w;
            c.layout[CONV_OUTPUT] = (test_layout)((x + w) % TEST_BROADCAST);
            check_conv(&c, EXACT);
        }
    }
    conv_case c = small_case(BP_F32);
    c.layout[CONV_INPUT] = c.layout[CONV_WEIGHT] = TEST_BROADCAST;
    check_conv(&c, EXACT);
}

/* What is compact in one of the two layouts is not copied; the layout that copies less is taken. */
static void layouts_that_are_not_copied(void **state) {
    static const struct {
        test_layout input, weight, output;
        int kernels; /* copies */
        bool channels_last;
    } cases[] = {
        {TEST_COMPACT, TEST_COMPACT, TEST_COMPACT, 0, false},
        {TEST_CHANNELS_LAST, TEST_CHANNELS_LAST, TEST_CHANNELS_LAST, 0, true},
        {TEST_CHANNELS_LAST, TEST_COMPACT, TEST_CHANNELS_LAST, 1, true}, /* the weight is smaller */
        {TEST_COMPACT, TEST_CHANNELS_LAST, TEST_COMPACT, 1, false},
        {TEST_GAPS, TEST_COMPACT, TEST_COMPACT, 1, false},
        {TEST_COMPACT, TEST_COMPACT, TEST_REVERSED, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_case c = small_case(BP_F32);
        c.in[0] = c.in[1] = 12;
        c.layout[CONV_INPUT] = cases[i].input;
        c.layout[CONV_WEIGHT] = cases[i].weight;
        c.layout[CONV_OUTPUT] = cases[i].output;
        const int before = the_double()->kernels;
        check_conv(&c, EXACT);
        assert_int_equal(the_double()->kernels, before + cases[i].kernels);
        assert_int_equal(the_cudnn()->channels_last, cases[i].channels_last);
    }
}

/* Addresses that are multiples of the element only: engines for them are found in the first run, and have to do with
 * the workspace of the plan. */
static void addresses(void **state) {
    static const size_t items[] = {2, 2, 4, 8};
    (void)state;
    for (int t = 0; t < 4; t++) {
        conv_case c = small_case(types[t]);
        c.past = items[t];
        check_conv(&c, "cudnn.deterministic=true, " EXACT);
        assert_int_equal(the_cudnn()->alignment, items[t]);
        assert_int_equal(the_cudnn()->engine, t < 2 ? CUDNN_ENGINE_ANY : CUDNN_ENGINE_PLAIN);
        c.past = 0;
        check_conv(&c, "cudnn.deterministic=true, " EXACT);
        assert_int_equal(the_cudnn()->alignment, 16);
        assert_int_equal(the_cudnn()->engine, t < 2 ? CUDNN_ENGINE_TENSOR : CUDNN_ENGINE_PLAIN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_in_all_types, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(windows, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(groups_and_channels, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(layouts, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(layouts_that_are_not_copied, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(addresses, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("convolutions", tests, start_cudnn, stop_cudnn);
}
