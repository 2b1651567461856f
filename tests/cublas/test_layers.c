/* test_layers.c - linear layers on a CUDA device with the doubles of cuBLASLt and cuBLAS, against the reference:
 * passes, biases, functions, shapes and layouts, and what is refused. */
#include "cublas/support_cublas.h"

enum { INPUT, WEIGHT, BIAS, OUTPUT, TENSORS };

#define EXACT                                                                                                          \
    "cuda.matmul.allow_fp16_reduced_precision_reduction=false, "                                                       \
    "cuda.matmul.allow_bf16_reduced_precision_reduction=false"

typedef struct layer_case {
    bp_dtype dtype;
    bp_linear_pass pass;
    bp_unary_kind activation;
    bool has_bias;
    int ndim; /* of the rows */
    int64_t rows[3], in, out;
    size_t past;
} layer_case;

typedef struct trial {
    test_array host[TENSORS];
    on_device device[TENSORS];
    bp_linear_call on_host, call;
} trial;

static void make_tensors(trial *t, const layer_case *c) {
    int64_t shape[4];
    const int64_t weight[] = {c->out, c->in};
    memcpy(shape, c->rows, sizeof c->rows);
    shape[c->ndim] = c->in;
    test_array_make(&t->host[INPUT], c->dtype, c->ndim + 1, shape, TEST_COMPACT);
    shape[c->ndim] = c->out;
    test_array_make(&t->host[OUTPUT], c->dtype, c->ndim + 1, shape, TEST_COMPACT);
    test_array_make(&t->host[WEIGHT], c->dtype, 2, weight, TEST_COMPACT);
    test_array_make(&t->host[BIAS], c->dtype, 1, &c->out, TEST_COMPACT);
    for (int i = 0; i < TENSORS; i++) {
        test_array_fill(&t->host[i], 1);
        put(&t->device[i], &t->host[i], 0, c->past);
    }
}

/* Sets the tensors of a call, on the host or on the device. */
static bp_linear_call call_of(const layer_case *c, DLTensor *const tensors[TENSORS]) {
    bp_linear_call call = {.struct_size = sizeof call, .pass = c->pass, .activation = c->activation};
    if (c->pass == BP_LINEAR_FORWARD) {
        call.input = tensors[INPUT];
        call.weight = tensors[WEIGHT];
        call.bias = c->has_bias ? tensors[BIAS] : NULL;
        call.output = tensors[OUTPUT];
    } else if (c->pass == BP_LINEAR_INPUT) {
        call.output_gradient = tensors[OUTPUT];
        call.weight = tensors[WEIGHT];
        call.input_gradient = tensors[INPUT];
    } else {
        call.input = tensors[INPUT];
        call.output_gradient = tensors[OUTPUT];
        call.weight_gradient = tensors[WEIGHT];
        call.bias_gradient = c->has_bias ? tensors[BIAS] : NULL;
    }
    return call;
}

static void make_trial(trial *t, const layer_case *c) {
    DLTensor *host[TENSORS], *device[TENSORS];
    make_tensors(t, c);
    for (int i = 0; i < TENSORS; i++) {
        host[i] = &t->host[i].view.tensor;
        device[i] = &t->device[i].tensor;
    }
    t->on_host = call_of(c, host);
    t->call = call_of(c, device);
}

static void free_trial(trial *t) {
    for (int i = 0; i < TENSORS; i++) {
        drop(&t->device[i]);
        test_array_free(&t->host[i]);
    }
}

static bp_status run_settings(const bp_linear_call *call, const char *settings) {
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    const bp_status status = bp_linear_run(options, call);
    bp_options_release(options);
    return status;
}

static void check_layer(const layer_case *c) {
    trial t;
    reference_results made;
    char text[128];
    snprintf(text, sizeof text, "%s pass %d, function %d, bias %d, %dx%dx%d", bp_dtype_name(c->dtype), (int)c->pass,
             (int)c->activation, c->has_bias, (int)c->rows[0], (int)c->in, (int)c->out);
    make_trial(&t, c);
    assert_ok(reference_of_linear(&made, &t.on_host));
    const bp_status status = run_settings(&t.call, EXACT);
    if (status != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    for (int i = 0; i < TENSORS; i++) {
        get(&t.device[i]);
        test_array_check_gaps(&t.host[i], text);
    }
    test_check_results(&made, text);
    free_trial(&t);
}

/* ---- Tests ---- */

static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64};

static void passes(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int pass = 0; pass < 3; pass++) {
            for (int has_bias = 0; has_bias < 2; has_bias++) {
                const layer_case c = {.dtype = types[t],
                                      .pass = (bp_linear_pass)pass,
                                      .has_bias = has_bias,
                                      .ndim = 1,
                                      .rows = {9},
                                      .in = 16,
                                      .out = 6};
                check_layer(&c);
            }
        }
    }
}

static void functions(void **state) {
    static const bp_unary_kind kinds[] = {BP_UNARY_RELU, BP_UNARY_GELU_TANH};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int kind = 0; kind < 2; kind++) {
            for (int has_bias = 0; has_bias < 2; has_bias++) {
                const layer_case c = {.dtype = types[t],
                                      .activation = kinds[kind],
                                      .has_bias = has_bias,
                                      .ndim = 1,
                                      .rows = {7},
                                      .in = 5,
                                      .out = 8};
                check_layer(&c);
                const unsigned function = kind ? BP__CUBLASLT_EPILOGUE_GELU : BP__CUBLASLT_EPILOGUE_RELU;
                assert_int_equal(the_lt()->told.epilogue, function | (has_bias ? BP__CUBLASLT_EPILOGUE_BIAS : 0));
            }
        }
    }
}

static void shapes(void **state) {
    static const layer_case cases[] = {
        {.ndim = 0, .in = 5, .out = 4},              /* one row */
        {.ndim = 1, .rows = {1}, .in = 1, .out = 1}, /* one number */
        {.ndim = 1, .rows = {6}, .in = 1, .out = 4},
        {.ndim = 1, .rows = {6}, .in = 4, .out = 1},
        {.ndim = 3, .rows = {2, 3, 4}, .in = 5, .out = 6},         /* rows that are one dimension */
        {.ndim = 1, .rows = {33}, .in = 40, .out = 29, .past = 4}, /* addresses that are multiples of 4 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int pass = 0; pass < 3; pass++) {
            layer_case c = cases[i];
            c.dtype = BP_F32;
            c.pass = (bp_linear_pass)pass;
            c.has_bias = true;
            check_layer(&c);
        }
    }
    const layer_case none = {.dtype = BP_F32, .has_bias = true, .ndim = 1, .rows = {0}, .in = 3, .out = 2};
    check_layer(&none);
}

/* Rows that are a view of a larger tensor: two dimensions with strides of their own. */
static void rows_with_two_strides(void **state) {
    (void)state;
    const int64_t shape[] = {3, 4, 5}, to[] = {3, 4, 6}, strides[] = {40, 5, 1}, output[] = {60, 6, 1},
                  weight[] = {6, 5};
    test_array host[TENSORS];
    on_device device[TENSORS];
    test_array_make_strided(&host[INPUT], BP_F32, 3, shape, strides, 0);
    test_array_make_strided(&host[OUTPUT], BP_F32, 3, to, output, 0);
    test_array_make(&host[WEIGHT], BP_F32, 2, weight, TEST_COMPACT);
    test_array_make(&host[BIAS], BP_F32, 1, weight, TEST_COMPACT);
    for (int i = 0; i < TENSORS; i++) {
        test_array_fill(&host[i], 1);
        put(&device[i], &host[i], 0, 0);
    }
    reference_results made;
    bp_linear_call call = {.struct_size = sizeof call,
                           .input = &host[INPUT].view.tensor,
                           .weight = &host[WEIGHT].view.tensor,
                           .bias = &host[BIAS].view.tensor,
                           .output = &host[OUTPUT].view.tensor};
    assert_ok(reference_of_linear(&made, &call));
    const int before = the_lt()->calls;
    assert_ok(bp_linear(&device[INPUT].tensor, &device[WEIGHT].tensor, &device[BIAS].tensor, &device[OUTPUT].tensor));
    assert_int_equal(the_lt()->calls, before + 1); /* a batch with the weight for all items */
    assert_int_equal(the_lt()->told.count, 3);
    get(&device[OUTPUT]);
    test_check_results(&made, "two strides");
    test_array_check_gaps(&host[OUTPUT], "two strides");
    const bp_linear_call gradient = {.struct_size = sizeof gradient,
                                     .pass = BP_LINEAR_WEIGHT,
                                     .input = &device[INPUT].tensor,
                                     .output_gradient = &device[OUTPUT].tensor,
                                     .weight_gradient = &device[WEIGHT].tensor};
    assert_fails(bp_linear_run(NULL, &gradient), BP_E_NO_CANDIDATE, "have no single stride");
    for (int i = 0; i < TENSORS; i++) {
        drop(&device[i]);
        test_array_free(&host[i]);
    }
}

static void what_is_refused(void **state) {
    (void)state;
    const layer_case exact_gelu = {
        .dtype = BP_F32, .activation = BP_UNARY_GELU, .ndim = 1, .rows = {4}, .in = 3, .out = 2};
    trial t;
    make_trial(&t, &exact_gelu);
    assert_fails(run_settings(&t.call, "num_threads=1"), BP_E_NO_CANDIDATE, "its functions are relu and gelu_tanh");
    free_trial(&t);
    const layer_case biased = {.dtype = BP_F32, .has_bias = true, .ndim = 1, .rows = {4}, .in = 3, .out = 2};
    make_trial(&t, &biased);
    assert_fails(run_settings(&t.call, "dispatch.exclude=cublaslt"), BP_E_NO_CANDIDATE,
                 "only cuBLASLt adds a bias and applies a function");
    assert_ok(run_settings(&t.call, "cuda.preferred_blas_library=cublas")); /* it prefers, and does not forbid */
    free_trial(&t);
    const int64_t image[] = {1, 2, 5}, window[] = {3, 2, 3}, result[] = {1, 3, 3};
    test_array host[3];
    on_device device[3];
    test_array_make(&host[0], BP_F32, 3, image, TEST_COMPACT);
    test_array_make(&host[1], BP_F32, 3, window, TEST_COMPACT);
    test_array_make(&host[2], BP_F32, 3, result, TEST_COMPACT);
    for (int i = 0; i < 3; i++) {
        put(&device[i], &host[i], 0, 0);
    }
    const bp_conv_call conv = {.struct_size = sizeof conv,
                               .ndim = 1,
                               .input = &device[0].tensor,
                               .weight = &device[1].tensor,
                               .output = &device[2].tensor};
    assert_fails(bp_conv_run(NULL, &conv), BP_E_NO_CANDIDATE, "whose window has one element");
    for (int i = 0; i < 3; i++) {
        drop(&device[i]);
        test_array_free(&host[i]);
    }
}

/* A bias that is aligned to less than the matrices. */
static void biases_at_odd_addresses(void **state) {
    (void)state;
    const layer_case c = {.dtype = BP_F32, .has_bias = true, .ndim = 1, .rows = {8}, .in = 8, .out = 8};
    trial t;
    reference_results made;
    make_trial(&t, &c);
    drop(&t.device[BIAS]);
    put(&t.device[BIAS], &t.host[BIAS], 0, 4);
    assert_ok(reference_of_linear(&made, &t.on_host));
    assert_ok(bp_linear_run(NULL, &t.call));
    assert_int_equal(the_lt()->told.algorithm, 1); /* the one that needs no alignment */
    get(&t.device[OUTPUT]);
    test_check_results(&made, "bias at an odd address");
    free_trial(&t);
}

/* As in PyTorch, the settings of products decide about linear layers. */
static void settings_of_products_decide(void **state) {
    (void)state;
    const layer_case c = {.dtype = BP_F32, .has_bias = true, .ndim = 1, .rows = {4}, .in = 8, .out = 2};
    trial t;
    make_trial(&t, &c);
    assert_ok(run_settings(&t.call, "num_threads=1"));
    assert_int_equal(the_lt()->told.compute, BP__CUBLAS_COMPUTE_32F);
    assert_ok(run_settings(&t.call, "cuda.matmul.allow_tf32=true"));
    assert_int_equal(the_lt()->told.compute, BP__CUBLAS_COMPUTE_32F_FAST_TF32);
    free_trial(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(functions, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(shapes, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(rows_with_two_strides, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(what_is_refused, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(biases_at_odd_addresses, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(settings_of_products_decide, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("layers", tests, start_cublas, stop_cublas);
}
