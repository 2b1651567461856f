/* test_settings.c - the settings under cudnn: which engines they permit, and what explanations tell. */
#include "cudnn/support_cudnn.h"

static conv_case small_case(bp_dtype dtype) {
    return (conv_case){.dtype = dtype,
                       .ndim = 2,
                       .batch = 2,
                       .in_channels = 3,
                       .out_channels = 4,
                       .in = {6, 5},
                       .kernel = {3, 3},
                       .before = {1, 1},
                       .after = {1, 1}};
}

/* Returns the engine that runs a case. */
static int engine_of(const conv_case *c, const char *settings) {
    conv_trial t;
    make_conv(&t, c);
    the_cudnn()->engine = -1;
    if (run_conv(&t, settings) != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    free_conv(&t);
    return the_cudnn()->engine;
}

/* The engines of the double are in the order 45 (makes no plan), 40, 41, 44, 42, 43, and 1, 0 in the second list. */
static void engines_that_settings_permit(void **state) {
    static const struct {
        bp_dtype dtype;
        int engine;
        const char *settings;
    } cases[] = {
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "num_threads=1"}, /* TF32 is allowed by default */
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "cudnn.allow_tf32=true"},
        {BP_F32, CUDNN_ENGINE_PLAIN, "cudnn.allow_tf32=false"},
        {BP_F32, CUDNN_ENGINE_PLAIN, "cudnn.conv.fp32_precision=ieee"},
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "cudnn.conv.fp32_precision=tf32"},
        {BP_F32, CUDNN_ENGINE_PLAIN, "cudnn.conv.fp32_precision=none"}, /* as its parents */
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "cudnn.conv.fp32_precision=none, cudnn.fp32_precision=tf32"},
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "cudnn.conv.fp32_precision=none, fp32_precision=tf32"},
        {BP_F32, CUDNN_ENGINE_PLAIN, "conv.fp32_precision=ieee"}, /* of any place */
        {BP_F32, CUDNN_ENGINE_UNSTEADY, "cuda.matmul.fp32_precision=ieee"},
        {BP_F32, CUDNN_ENGINE_WINOGRAD, "cudnn.deterministic=true"},
        {BP_F32, CUDNN_ENGINE_WINOGRAD, "deterministic=run"},
        {BP_F32, CUDNN_ENGINE_WINOGRAD, "deterministic_algorithms=true"},
        {BP_F32, CUDNN_ENGINE_PLAIN, "cudnn.deterministic=true, cudnn.allow_tf32=false"},
        {BP_F32, CUDNN_ENGINE_TENSOR, "cudnn.deterministic=true, conv.preferred=cudnn:direct"},
        {BP_F16, CUDNN_ENGINE_UNSTEADY, "num_threads=1"},
        {BP_F16, CUDNN_ENGINE_UNSTEADY, "cudnn.allow_tf32=false, num_threads=1"}, /* it is about f32 */
        {BP_F16, CUDNN_ENGINE_WINOGRAD, "cudnn.deterministic=true"},
        {BP_F16, CUDNN_ENGINE_UNSTEADY, "conv.preferred=cudnn:direct"},
        {BP_BF16, CUDNN_ENGINE_TENSOR, "cudnn.deterministic=true, conv.preferred=cudnn:direct"},
        {BP_F64, CUDNN_ENGINE_PLAIN, "num_threads=1"}, /* the first list is empty */
        {BP_F64, CUDNN_ENGINE_PLAIN, "cudnn.deterministic=true"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const conv_case c = small_case(cases[i].dtype);
        const int engine = engine_of(&c, cases[i].settings);
        if (engine != cases[i].engine) {
            fail_msg("%s %s: engine %d, not %d", bp_dtype_name(cases[i].dtype), cases[i].settings, engine,
                     cases[i].engine);
        }
    }
}

/* Of the engines that make a plan, as many as the limit says are measured, in the order of the lists. */
static void engines_that_are_measured(void **state) {
    static const struct {
        int engine;
        const char *settings;
        int calls; /* of the library in the first run: four for each engine that is measured, and the run */
    } cases[] = {
        {CUDNN_ENGINE_UNSTEADY, "cudnn.benchmark=false, cudnn.benchmark_limit=0", 1},
        {CUDNN_ENGINE_PLAIN, "cudnn.benchmark=true", 21},
        {CUDNN_ENGINE_UNSTEADY, "cudnn.benchmark=true, cudnn.benchmark_limit=1", 5},
        {CUDNN_ENGINE_WINOGRAD, "cudnn.benchmark=true, cudnn.benchmark_limit=2", 9},
        {CUDNN_ENGINE_WINOGRAD, "cudnn.benchmark=true, cudnn.benchmark_limit=3", 13},
        {CUDNN_ENGINE_PLAIN, "cudnn.benchmark=true, cudnn.benchmark_limit=4", 17},
        {CUDNN_ENGINE_PLAIN, "cudnn.benchmark=true, cudnn.benchmark_limit=0", 21},
        {CUDNN_ENGINE_WINOGRAD, "cudnn.benchmark=true, cudnn.benchmark_limit=2, cudnn.deterministic=true", 9},
        {CUDNN_ENGINE_PLAIN, "cudnn.benchmark=true, cudnn.allow_tf32=false", 9},
        {CUDNN_ENGINE_WINOGRAD, "cudnn.benchmark=true, deterministic=run", 1}, /* the first one that can */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_case c = small_case(BP_F32);
        c.out_channels = 5; /* not planned before */
        const int before = the_cudnn()->calls;
        const int engine = engine_of(&c, cases[i].settings);
        if (engine != cases[i].engine || the_cudnn()->calls - before != cases[i].calls) {
            fail_msg("%s: engine %d with %d calls, not %d with %d", cases[i].settings, engine,
                     the_cudnn()->calls - before, cases[i].engine, cases[i].calls);
        }
        assert_int_equal(engine_of(&c, cases[i].settings), engine); /* the plan is kept */
        assert_int_equal(the_cudnn()->calls - before, cases[i].calls + 1);
    }
}

/* Measuring keeps no memory, and changes no operand. */
static void measuring_leaves_nothing(void **state) {
    (void)state;
    conv_case c = small_case(BP_F32);
    c.batch = 3;
    c.has_bias = true;
    c.layout[CONV_OUTPUT] = TEST_REVERSED;
    check_conv(&c, "cudnn.benchmark=true, " EXACT);
    c.pass = BP_CONV_WEIGHT;
    check_conv(&c, "cudnn.benchmark=true, " EXACT);
    const double_controls *d = the_double();
    const int streams = d->streams, blocks = d->blocks;
    c.in_channels = 5;
    check_conv(&c, "cudnn.benchmark=true, " EXACT);
    assert_int_equal(d->streams, streams);
    assert_in_range(d->blocks, 0, blocks + 8); /* of operands */
}

/* Without memory for a measurement, the engines are tried in the order of the list. */
static void no_memory_to_measure(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    c.batch = 4;
    make_conv(&t, &c);
    the_double()->memory = 1;
    assert_ok(run_conv(&t, "cudnn.benchmark=true"));
    assert_int_equal(the_cudnn()->engine, CUDNN_ENGINE_UNSTEADY);
    the_double()->memory = 0;
    free_conv(&t);
}

/* Convolutions run on cuDNN before our own kernels. cuBLAS has those whose window is one element. */
static void other_providers(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    assert_ok(restart_with(CUDNN_DOUBLES "/good:" BP_TEST_BUILD_DIR "/tests/nvrtc-doubles/good:" BP_TEST_BUILD_DIR
                                         "/tests/cublas-doubles/lt:" DOUBLES "/good"));
    c.groups = c.out_channels = c.in_channels = 4;
    make_conv(&t, &c);
    assert_contains(explained_conv(&t, "num_threads=1"), "chosen    cudnn");
    assert_contains(explained_conv(&t, "cudnn.enabled=false"), "chosen    nvrtc");
    assert_contains(explained_conv(&t, "cudnn.depthwise_kernel=cudnn"), "chosen    cudnn");
    const char *text = explained_conv(&t, "cudnn.depthwise_kernel=native");
    assert_contains(text, "chosen    nvrtc");
    assert_contains(text, "ranked behind other kernels by cudnn.depthwise_kernel");
    assert_contains(explained_conv(&t, "cudnn.depthwise_kernel=native, dispatch.exclude=nvrtc"), "chosen    cudnn");
    free_conv(&t);
    c.layout[CONV_INPUT] = c.layout[CONV_OUTPUT] = TEST_REVERSED; /* copied */
    make_conv(&t, &c);
    assert_contains(explained_conv(&t, "num_threads=1"), "chosen    cudnn");
    free_conv(&t);
    c.groups = 2; /* not depthwise */
    make_conv(&t, &c);
    assert_contains(explained_conv(&t, "cudnn.depthwise_kernel=native"), "chosen    cudnn");
    free_conv(&t);
    c = (conv_case){
        .dtype = BP_F32, .ndim = 1, .batch = 1, .in_channels = 8, .out_channels = 8, .in = {9}, .kernel = {1}};
    c.layout[CONV_INPUT] = c.layout[CONV_OUTPUT] = TEST_CHANNELS_LAST;
    make_conv(&t, &c);
    assert_contains(explained_conv(&t, "num_threads=1"), "chosen    cublaslt");
    free_conv(&t);
    assert_ok(restart_with(CUDNN_DOUBLES "/good:" DOUBLES "/good"));
}

/* TF32 is about the products: the gradient by the bias is a sum of numbers as they are. */
static void gradients_by_biases_are_exact(void **state) {
    (void)state;
    conv_trial t;
    reference_results made;
    conv_case c = small_case(BP_F32);
    c.pass = BP_CONV_WEIGHT;
    c.has_bias = true;
    make_conv(&t, &c);
    assert_ok(run_conv(&t, "cudnn.allow_tf32=true"));
    assert_int_equal(the_cudnn()->engine, CUDNN_ENGINE_PLAIN); /* of the last call */
    assert_ok(reference_of_conv(&made, &t.on_host));
    for (int i = 0; i < CONV_TENSORS; i++) {
        get(&t.device[i]);
    }
    assert_int_equal(made.count, 2);
    for (int i = 0; i < 2; i++) {
        double error;
        assert_ok(reference_error(&made.of[i].values, made.of[i].tensor, &error));
        const bool within = error <= reference_bound(&made.of[i].values, BP_F32);
        assert_int_equal(within, made.of[i].tensor == t.on_host.bias_gradient);
    }
    reference_results_free(&made);
    free_conv(&t);
}

static void the_switch_is_off(void **state) {
    (void)state;
    conv_trial t;
    const conv_case c = small_case(BP_F32);
    make_conv(&t, &c);
    const int calls = the_cudnn()->calls;
    assert_fails(run_conv(&t, "cudnn.enabled=false"), BP_E_NO_CANDIDATE, "cudnn.enabled is false");
    assert_int_equal(the_cudnn()->calls, calls);
    free_conv(&t);
}

/* Bits of two runs: the engine that is not deterministic adds in two orders. */
static void results_repeat(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    c.in_channels = 40;
    make_conv(&t, &c);
    test_array first;
    assert_ok(run_conv(&t, "cudnn.deterministic=true"));
    get(&t.device[CONV_OUTPUT]);
    test_array_copy(&first, &t.host[CONV_OUTPUT]);
    for (int i = 0; i < 3; i++) {
        assert_ok(run_conv(&t, "cudnn.deterministic=true"));
        get(&t.device[CONV_OUTPUT]);
        test_array_check_unchanged(&t.host[CONV_OUTPUT], &first, "a later run");
    }
    test_array_free(&first);
    free_conv(&t);
}

static void explanations(void **state) {
    (void)state;
    conv_trial t;
    conv_case c = small_case(BP_F32);
    make_conv(&t, &c);
    const char *text = explained_conv(&t, "num_threads=1");
    assert_contains(text, "channels first, TF32 allowed");
    text = explained_conv(&t, "cudnn.allow_tf32=false, cudnn.deterministic=true");
    assert_contains(text, "channels first, no tensor cores, deterministic engines only");
    text = explained_conv(&t, "cudnn.benchmark=true");
    assert_contains(text, "TF32 allowed, measures up to 10 engines");
    text = explained_conv(&t, "cudnn.benchmark=true, cudnn.benchmark_limit=0");
    assert_contains(text, "measures all engines");
    text = explained_conv(&t, "explain.all=true");
    assert_contains(text, "engine 40, tensor cores, not deterministic, workspace of 0 bytes");
    assert_contains(text, "engine 42, tensor cores, Winograd, tiles of 4 x 4, workspace of 0 bytes");
    assert_contains(text, "engine 1, of the fallback list, workspace of 540 bytes");
    assert_contains(text, "engine 0, keeps NaN, of the fallback list");
    assert_null(strstr(text, "engine 41"));
    assert_null(strstr(text, "engine 45"));
    text = explained_conv(&t, "explain.all=true, " EXACT);
    assert_contains(text, "direct1, estimated");
    assert_contains(text, "engine 1, of the fallback list, workspace of 540 bytes");
    assert_null(strstr(text, "Winograd"));
    free_conv(&t);
    c.layout[CONV_INPUT] = TEST_REVERSED;
    make_conv(&t, &c);
    assert_contains(explained_conv(&t, "num_threads=1"), "copies operands to this layout");
    free_conv(&t);
}

static void settings_have_effects(void **state) {
    static const char *const with[] = {"cudnn.enabled",         "cudnn.deterministic",       "cudnn.allow_tf32",
                                       "cudnn.fp32_precision",  "cudnn.conv.fp32_precision", "cudnn.benchmark",
                                       "cudnn.benchmark_limit", "cudnn.depthwise_kernel"};
    static const char *const without[] = {"cudnn.rnn.fp32_precision"};
    const char *why;
    bp_backend_info info = {.struct_size = sizeof info};
    (void)state;
    assert_ok(bp_backend_status("cudnn", &info));
    assert_true(info.built && info.present && info.available && info.enabled);
    assert_int_equal(info.version_number, 92801);
    assert_string_equal(info.reason, "");
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) {
        if (!bp_setting_has_effect(with[i], &why)) {
            fail_msg("%s: %s", with[i], why);
        }
    }
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        assert_false(bp_setting_has_effect(without[i], &why));
        assert_true(strlen(why) > 10);
    }
    setenv("CUDA_DOUBLE", "devices=0", 1);
    assert_ok(bp_reset());
    assert_false(bp_setting_has_effect("cudnn.enabled", &why));
    assert_contains(why, "cuda");
    unsetenv("CUDA_DOUBLE");
    assert_ok(bp_reset());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(engines_that_settings_permit, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(engines_that_are_measured, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(measuring_leaves_nothing, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(no_memory_to_measure, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(other_providers, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(gradients_by_biases_are_exact, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(the_switch_is_off, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(results_repeat, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(explanations, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(settings_have_effects, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("settings", tests, start_cudnn, stop_cudnn);
}
