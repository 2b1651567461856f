/* test_attention_gradients.c - gradients of attention on a CUDA device with the double of cuDNN, against the reference.
 * Each case runs the forward call on the device before, whose output and logsumexp the gradients read. */
#include "cudnn/support_attention.h"

static const bp_dtype types[] = {BP_F16, BP_BF16};

static sdpa_case small_case(bp_dtype dtype) {
    return (sdpa_case){
        .dtype = dtype, .batch = 2, .heads = 3, .queries = 5, .keys = 7, .size = 16, .value_size = 8, .backward = true};
}

static void lengths(void **state) {
    static const int64_t pairs[][2] = {{2, 2}, {9, 5}, {5, 9}, {33, 65}, {16, 16}, {2, 37}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int k = 0; k < 4; k++) {
            sdpa_case c = small_case(types[k % 2]);
            c.queries = pairs[i][0];
            c.keys = pairs[i][1];
            c.causal = k / 2;
            const int before = the_cudnn()->calls;
            check_sdpa(&c);
            assert_int_equal(the_cudnn()->calls, before + 2);
        }
    }
}

static void columns(void **state) {
    static const int64_t sizes[][2] = {{8, 8}, {128, 8}, {8, 128}, {72, 40}, {128, 128}};
    (void)state;
    check_sdpa_columns(small_case, 5, sizes);
}

/* Gradients by keys and values are summed over the heads that share these. */
static void heads(void **state) {
    (void)state;
    check_sdpa_heads(small_case);
}

static void layouts(void **state) {
    (void)state;
    check_sdpa_layouts(small_case);
}

static void scales(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_F16);
    c.scale = 0.7;
    check_sdpa(&c);
    c = small_case(BP_BF16);
    c.scale = -0.5;
    check_sdpa(&c);
}

/* Gradients that are not wanted are written to the workspace. */
static void unwanted(void **state) {
    (void)state;
    for (int k = 0; k < 7; k++) {
        sdpa_case c = small_case(types[k % 2]);
        c.unwanted = k;
        c.key_heads = c.value_heads = k % 3 ? 1 : 3;
        c.layout = k % 2 ? SDPA_GAPS : SDPA_HEADS_INSIDE;
        check_sdpa(&c);
    }
}

static void refusals(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_F16);
    c.queries = 1;
    refuse_sdpa(&c, "num_threads=1", "its gradients of one query can be NaN");
    c = small_case(BP_F16);
    c.mask = BP_F16;
    refuse_sdpa(&c, "num_threads=1", "its gradients can be NaN where there is a mask");
    c.mask = BP_F32;
    refuse_sdpa(&c, "num_threads=1", "its gradients can be NaN where there is a mask");
    c = small_case(BP_F16);
    c.expanded = true;
    refuse_sdpa(&c, "num_threads=1", "keys and values that repeat in memory have no gradients");
    c = small_case(BP_F16);
    c.size = 136;
    refuse_sdpa(&c, "num_threads=1", "must be multiples of 8 up to 128 here");
    c = small_case(BP_F16);
    refuse_sdpa(&c, "deterministic=run", "does not guarantee bitwise identical results in the next run");
    refuse_sdpa(&c, "cuda.cudnn_sdp=false", "cuda.cudnn_sdp is false");
}

static void addresses(void **state) {
    (void)state;
    sdpa_trial t;
    sdpa_case c = small_case(BP_F16);
    c.past = 2;
    make_sdpa(&t, &c);
    assert_fails(run_sdpa(&t, "num_threads=1"), BP_E_UNSUPPORTED, "no multiple of 16 bytes");
    free_sdpa(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lengths, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(columns, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(heads, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(layouts, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(scales, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(unwanted, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(refusals, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(addresses, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("attention_gradients", tests, start_cudnn, stop_cudnn);
}
