/* test_attention.c - attention on a CUDA device with the double of cuDNN, against the reference. */
#include "cudnn/support_attention.h"

#include <math.h>

static const bp_dtype types[] = {BP_F16, BP_BF16};

static sdpa_case small_case(bp_dtype dtype) {
    return (sdpa_case){.dtype = dtype,
                       .batch = 2,
                       .heads = 3,
                       .queries = 5,
                       .keys = 7,
                       .size = 16,
                       .value_size = 8,
                       .logsumexp = true};
}

/* ---- Shapes ---- */

static void lengths(void **state) {
    static const int64_t pairs[][2] = {{1, 2}, {1, 37}, {2, 2}, {9, 5}, {5, 9}, {33, 65}, {16, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int k = 0; k < 8; k++) {
            sdpa_case c = small_case(types[k % 2]);
            c.queries = pairs[i][0];
            c.keys = pairs[i][1];
            c.causal = k / 2 % 2;
            c.logsumexp = k / 4;
            const int before = the_cudnn()->calls;
            check_sdpa(&c);
            assert_int_equal(the_cudnn()->calls, before + 1);
        }
    }
}

static void columns(void **state) {
    static const int64_t sizes[][2] = {{8, 8}, {128, 8}, {8, 128}, {72, 40}, {256, 256}, {136, 64}};
    (void)state;
    check_sdpa_columns(small_case, 6, sizes);
}

/* There may be one key of all heads, too. */
static void heads(void **state) {
    (void)state;
    check_sdpa_heads(small_case);
    sdpa_case c = small_case(BP_F16);
    c.expanded = true;
    check_sdpa(&c);
}

static void layouts(void **state) {
    (void)state;
    check_sdpa_layouts(small_case);
}

static void scales(void **state) {
    static const double scales[] = {1, -0.5, 3, 1e-3};
    (void)state;
    for (int i = 0; i < 4; i++) {
        sdpa_case c = small_case(types[i % 2]);
        c.scale = scales[i];
        check_sdpa(&c);
    }
}

/* ---- Masks ---- */

/* All types, and all sizes that may be 1. */
static void masks(void **state) {
    (void)state;
    for (int k = 0; k < 16 * 2 * 2; k++) {
        sdpa_case c = small_case(types[k / 32]);
        c.mask = k / 16 % 2 ? BP_F32 : c.dtype;
        c.mask_batch = k & 1;
        c.mask_heads = k & 2;
        c.mask_row = k & 4;
        c.mask_column = k & 8;
        c.key_heads = c.value_heads = k / 32;
        check_sdpa(&c);
    }
}

/* Rows whose scores all are -infinity are 0, and their logarithm is -infinity. */
static void masked_rows(void **state) {
    (void)state;
    for (int k = 0; k < 2 * 2; k++) {
        sdpa_trial t;
        sdpa_case c = small_case(types[k % 2]);
        c.mask = k / 2 ? BP_F32 : c.dtype;
        make_sdpa(&t, &c);
        const int64_t rows = c.batch * c.heads * c.queries;
        for (int64_t i = 0; i < rows * c.keys; i++) {
            if (i / c.keys % 2) {
                test_array_set(&t.host[SDPA_MASK], i, -INFINITY);
            }
        }
        renew_sdpa(&t, SDPA_MASK);
        assert_ok(run_sdpa(&t, "num_threads=1"));
        expect_sdpa(&t);
        for (int64_t row = 1; row < rows; row += 2) {
            assert_true(test_array_get(&t.host[SDPA_LOGSUMEXP], row) == -INFINITY);
            for (int64_t i = 0; i < c.value_size; i++) {
                assert_true(test_array_get(&t.host[SDPA_OUTPUT], row * c.value_size + i) == 0);
            }
        }
        free_sdpa(&t);
    }
}

/* ---- Refusals ---- */

static void refused_kinds(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_F32);
    refuse_sdpa(&c, "num_threads=1", "its attention offers only f16 and bf16");
    c = small_case(BP_F64);
    refuse_sdpa(&c, "num_threads=1", "its attention offers only f16 and bf16");
    c = small_case(BP_F16);
    c.dropout = 0.5;
    refuse_sdpa(&c, "num_threads=1", "it would drop other weights than the seed and offset say");
    c = small_case(BP_F16);
    c.mask = BP_BOOL;
    refuse_sdpa(&c, "num_threads=1", "it adds masks to scores, and has none of bool");
    c = small_case(BP_F16);
    c.softcap = 5;
    refuse_sdpa(&c, "num_threads=1", "its attention has no softcap");
    c = small_case(BP_F16);
    c.window = 3;
    refuse_sdpa(&c, "num_threads=1", "its attention has no windows");
    c = small_case(BP_F16);
    c.causal = c.lower_right = true;
    c.keys = c.queries + 16;
    refuse_sdpa(&c, "num_threads=1", "it counts positions from the first key, not from the last one");
    c = small_case(BP_F16);
    c.keys = 1;
    refuse_sdpa(&c, "num_threads=1", "its attention needs a query and two keys");
}

static void refused_lengths(void **state) {
    (void)state;
    const sdpa_case c = small_case(BP_F16);
    bp_view lengths;
    sdpa_trial t;
    make_sdpa(&t, &c);
    connect_sdpa(&t);
    assert_ok(bp_view_init(&lengths, NULL, BP_I64, 1, t.call.output->shape, NULL));
    lengths.tensor.device = t.call.query->device;
    t.call.lengths = &lengths.tensor;
    assert_non_null(strstr(explained_sdpa(&t, "num_threads=1"), "it offers no attention with lengths"));
    free_sdpa(&t);
}

static void refused_columns(void **state) {
    static const int64_t wrong[][2] = {{12, 16}, {16, 20}, {264, 16}, {16, 264}, {4, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sdpa_case c = small_case(BP_F16);
        c.size = wrong[i][0];
        c.value_size = wrong[i][1];
        refuse_sdpa(&c, "num_threads=1", "must be multiples of 8 up to 256 here");
    }
    sdpa_case c = small_case(BP_F16);
    c.device = 1; /* compute capability 8.0 */
    check_sdpa(&c);
    c.size = 136;
    refuse_sdpa(&c, "num_threads=1", "must be multiples of 8 up to 128 here");
}

static void refused_layouts(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_F16);
    c.layout = SDPA_ODD_ROWS;
    refuse_sdpa(&c, "num_threads=1", "strides of rows, heads and items must be multiples of 8");
    c.layout = SDPA_COLUMNS;
    refuse_sdpa(&c, "num_threads=1", "the last stride of each tensor must be 1, and others positive");
    c.layout = SDPA_BACKWARDS;
    refuse_sdpa(&c, "num_threads=1", "the last stride of each tensor must be 1, and others positive");
    c = small_case(BP_F16);
    c.mask = BP_F16;
    c.mask_turned = true;
    refuse_sdpa(&c, "num_threads=1", "the last stride of each tensor must be 1, and others positive");
    c = small_case(BP_F16);
    c.spread = true;
    refuse_sdpa(&c, "num_threads=1", "logsumexp must be compact");
    c = small_case(BP_F16);
    c.repeats = true; /* heads of the query in two dimensions, of the key in the second */
    refuse_sdpa(&c, "num_threads=1", "the batch is not a number of items with a number of heads");
}

/* Kernels would read beyond their rows, so that nothing is called. */
static void addresses(void **state) {
    (void)state;
    sdpa_trial t;
    sdpa_case c = small_case(BP_F16);
    c.past = 8;
    make_sdpa(&t, &c);
    const int calls = the_cudnn()->calls;
    assert_fails(run_sdpa(&t, "num_threads=1"), BP_E_UNSUPPORTED,
                 "the address of an operand is no multiple of 16 bytes, as the operation needs it");
    assert_int_equal(the_cudnn()->calls, calls);
    free_sdpa(&t);
    c.past = 16;
    check_sdpa(&c);
}

static void versions(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_F16);
    setenv("CUDNN_DOUBLE", "version=91500", 1);
    assert_ok(bp_reset());
    refuse_sdpa(&c, "num_threads=1", "cuDNN 9.16 or newer is needed for attention");
    setenv("CUDNN_DOUBLE", "version=92200", 1);
    assert_ok(bp_reset());
    check_sdpa(&c);
    c.size = 136;
    refuse_sdpa(&c, "num_threads=1", "must be multiples of 8 up to 128 here");
    unsetenv("CUDNN_DOUBLE");
    assert_ok(bp_reset());
}

static void capabilities(void **state) {
    static const struct {
        const char *device, *text;
    } cases[] = {{"capability=75", "8.0 to 12.1, and the device has 7.5"},
                 {"capability=130", "8.0 to 12.1, and the device has 13.0"},
                 {"capability=121", NULL},
                 {"capability=89", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sdpa_case c = small_case(BP_F16);
        setenv("CUDA_DOUBLE", cases[i].device, 1);
        assert_ok(bp_reset());
        if (cases[i].text) {
            refuse_sdpa(&c, "num_threads=1", cases[i].text);
        } else {
            check_sdpa(&c);
        }
    }
    unsetenv("CUDA_DOUBLE");
    assert_ok(bp_reset());
}

/* ---- Settings ---- */

static void switches(void **state) {
    static const struct {
        const char *settings, *text;
    } cases[] = {
        {"cuda.cudnn_sdp=false", "cuda.cudnn_sdp is false"},
        {"cudnn.enabled=false", "cudnn.enabled is false"},
        {"deterministic=run", "does not guarantee bitwise identical results in the next run"},
        {"deterministic_algorithms=true", "does not guarantee bitwise identical results"},
        {"cudnn.deterministic=true", "cudnn.deterministic is true"},
    };
    (void)state;
    const sdpa_case c = small_case(BP_F16);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse_sdpa(&c, cases[i].settings, cases[i].text);
    }
    sdpa_trial t;
    make_sdpa(&t, &c);
    assert_ok(run_sdpa(&t, "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false, cuda.math_sdp=false"));
    expect_sdpa(&t);
    assert_ok(run_sdpa(&t, "cuda.sdp_priority=flash, cuda.overrideable_sdp=false"));
    assert_contains(explained_sdpa(&t, "num_threads=1"), "cudnn");
    free_sdpa(&t);
}

/* Returns what would run a case. */
static const char *chosen(const sdpa_case *c, const char *settings) {
    static char found[64];
    sdpa_trial t;
    make_sdpa(&t, c);
    connect_sdpa(&t);
    const char *at = strstr(explained_sdpa(&t, settings), "chosen    ");
    assert_non_null(at);
    snprintf(found, sizeof found, "%.*s", (int)strcspn(at + 10, " \n"), at + 10);
    free_sdpa(&t);
    return found;
}

/* cuDNN is before the kernels, however small the call is, unless settings say otherwise. */
static void other_providers(void **state) {
    const char *why;
    (void)state;
    assert_ok(restart_with(CUDNN_DOUBLES "/good:" BP_TEST_BUILD_DIR "/tests/nvrtc-doubles/good:" DOUBLES "/good"));
    sdpa_case c = small_case(BP_F16);
    assert_string_equal(chosen(&c, "num_threads=1"), "cudnn");
    assert_string_equal(chosen(&c, "cuda.cudnn_sdp=false"), "nvrtc");
    assert_string_equal(chosen(&c, "cuda.sdp_priority=flash"), "nvrtc");
    assert_string_equal(chosen(&c, "cuda.sdp_priority=cudnn"), "cudnn");
    assert_string_equal(chosen(&c, "cuda.sdp_priority=flash, cuda.flash_sdp=false"), "cudnn");
    assert_string_equal(chosen(&c, "deterministic=run"), "nvrtc");
    for (c.device = 0; c.device < 2; c.device++) {
        c.keys = c.device ? 2 : 512;
        assert_string_equal(chosen(&c, "num_threads=1"), "cudnn");
    }
    c = small_case(BP_F16);
    c.mask = BP_BOOL;
    assert_string_equal(chosen(&c, "num_threads=1"), "nvrtc");
    c = small_case(BP_F32);
    assert_string_equal(chosen(&c, "num_threads=1"), "nvrtc");
    assert_true(bp_setting_has_effect("cuda.cudnn_sdp", &why));
    assert_true(bp_setting_has_effect("cuda.sdp_priority", &why));
    assert_ok(restart_with(CUDNN_DOUBLES "/good:" DOUBLES "/good"));
}

/* Plans of attention are kept, and one of another scale is another one. */
static void plans(void **state) {
    (void)state;
    sdpa_case c = small_case(BP_BF16);
    c.queries = 11; /* not planned before */
    const int before = the_cudnn()->plans;
    check_sdpa(&c);
    check_sdpa(&c);
    assert_int_equal(the_cudnn()->plans, before + 1);
    c.scale = 0.5;
    check_sdpa(&c);
    assert_int_equal(the_cudnn()->plans, before + 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lengths, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(columns, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(heads, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(layouts, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(scales, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(masks, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(masked_rows, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(refused_kinds, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(refused_lengths, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(refused_columns, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(refused_layouts, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(addresses, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(versions, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(capabilities, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(switches, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(other_providers, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(plans, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("attention", tests, start_cudnn, stop_cudnn);
}
