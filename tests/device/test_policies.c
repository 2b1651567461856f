/* test_policies.c - which settings decide about an operation, by the device of its operands: mkldnn on the host, cuda
 * and cudnn on CUDA and ROCm, fp32_precision on other devices.
 *
 * "other" looks like ROCm, "fake" like no device that PyTorch has settings for. */
#include "device/support_gauge.h"

#include "dispatch/internal.h"
#include "support/contains.h"

static int begin_policies(void **state) {
    gauge->properties = 0;
    return begin(state);
}

/* ---- Policies, without a call ---- */

static const int32_t host = 0, opencl = kDLOpenCL << 16, cuda = kDLCUDA << 16 | 1, rocm = kDLROCM << 16;

static bp_policy policy_at(const bp__family *family, int32_t place, const char *settings) {
    bp_policy policy;
    bp_scope *scope;
    assert_ok(bp_scope_enter(&scope, settings));
    assert_ok(bp__policy_resolve(&policy, family));
    if (place != host) {
        bp__policy_on_device(&policy, family, place);
    }
    assert_ok(bp_scope_leave(&scope));
    return policy;
}

static void precision_is_by_place(void **state) {
    enum { PLACES = 4, FAMILIES = 4 };
    static const struct {
        const char *settings;
        uint8_t precision[FAMILIES]
                         [PLACES]; /* product, convolution, recurrent layer, transform; host, OpenCL, CUDA, ROCm */
    } cases[] = {
        {"num_threads=1", {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"mkldnn.matmul.fp32_precision=bf16", {{2, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"mkldnn.fp32_precision=bf16", {{2, 0, 0, 0}, {2, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"cuda.matmul.fp32_precision=tf32", {{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"cuda.matmul.allow_tf32=true", {{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"cuda.matmul.fp32_precision=bfx9", {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"float32_matmul_precision=medium", {{2, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"cudnn.conv.fp32_precision=ieee", {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 1}, {0}}},
        {"cudnn.rnn.fp32_precision=ieee", {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 0, 0}, {0}}},
        {"cudnn.allow_tf32=false", {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0}}},
        {"cudnn.fp32_precision=ieee", {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0}}},
        {"cudnn.fp32_precision=tf32", {{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"fp32_precision=tf32", {{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"fp32_precision=bf16", {{2, 2, 0, 0}, {2, 2, 0, 0}, {0, 0, 0, 0}, {0}}}, /* CUDA has no bf16 */
        {"fp32_precision=bf16, cudnn.fp32_precision=tf32", {{2, 2, 1, 1}, {2, 2, 1, 1}, {0, 0, 1, 1}, {0}}},
        {"conv.fp32_precision=bf16", {{0, 0, 0, 0}, {2, 2, 2, 2}, {0, 0, 1, 1}, {0}}},
        {"conv.fp32_precision=ieee, cudnn.conv.fp32_precision=tf32", {{0, 0, 0, 0}, {0}, {0, 0, 1, 1}, {0}}},
    };
    static const int32_t places[PLACES] = {0, kDLOpenCL << 16, kDLCUDA << 16 | 1, kDLROCM << 16};
    static const bp__family *const families[FAMILIES] = {&bp__family_gemm, &bp__family_conv, &bp__family_rnn,
                                                         &bp__family_fft};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int family = 0; family < FAMILIES; family++) {
            for (int at = 0; at < PLACES; at++) {
                const bp_policy policy = policy_at(families[family], places[at], cases[i].settings);
                if (policy.precision != cases[i].precision[family][at]) {
                    fail_msg("%s: family %d at %d has %d", cases[i].settings, family, at, policy.precision);
                }
            }
        }
    }
    assert_int_equal(policy_at(&bp__family_attention, cuda, "cuda.matmul.allow_tf32=true").precision, 1);
    assert_int_equal(policy_at(&bp__family_contract, cuda, "cuda.matmul.allow_tf32=true").precision, 1);
    assert_int_equal(policy_at(&bp__family_contract, opencl, "fp32_precision=tf32").precision, 0);
}

static void ieee_is_required_by_place(void **state) {
    (void)state;
    assert_true(policy_at(&bp__family_conv, host, "mkldnn.conv.fp32_precision=ieee").constraints & BP__IEEE);
    assert_false(policy_at(&bp__family_conv, cuda, "mkldnn.conv.fp32_precision=ieee").constraints & BP__IEEE);
    assert_false(policy_at(&bp__family_conv, opencl, "mkldnn.conv.fp32_precision=ieee").constraints & BP__IEEE);
    assert_true(policy_at(&bp__family_conv, cuda, "cudnn.conv.fp32_precision=ieee").constraints & BP__IEEE);
    assert_false(policy_at(&bp__family_conv, host, "cudnn.conv.fp32_precision=ieee").constraints & BP__IEEE);
    assert_true(policy_at(&bp__family_conv, opencl, "fp32_precision=ieee").constraints & BP__IEEE);
}

/* Returns what differs in a policy on CUDA from the policy under defaults, which has these settings too. */
static bp_policy changed(const bp__family *family, const char *settings) {
    const bp_policy before = policy_at(family, cuda, "num_threads=1");
    char all[256];
    bp_policy after;
    snprintf(all, sizeof all, "num_threads=1, %s", settings);
    after = policy_at(family, cuda, all);
    after.products ^= before.products;
    after.convolutions ^= before.convolutions;
    after.sdp ^= before.sdp;
    const bp_policy on_host = policy_at(family, host, all), on_opencl = policy_at(family, opencl, all);
    assert_int_equal(on_host.products | on_host.convolutions | on_host.sdp | on_host.sdp_order, 0);
    assert_int_equal(on_opencl.products | on_opencl.convolutions | on_opencl.sdp | on_opencl.sdp_order, 0);
    assert_true(on_host.workspace_limit == 0 && on_host.lt_workspace_limit == 0 && on_host.benchmark_limit == 0);
    return after;
}

static void settings_of_cuda_are_in_the_policy(void **state) {
    const bp__family *gemm = &bp__family_gemm, *conv = &bp__family_conv, *rnn = &bp__family_rnn;
    const bp_policy by_default = policy_at(gemm, rocm, "num_threads=1");
    (void)state;
    assert_int_equal(by_default.products, BP_PRODUCTS_F16_REDUCTION | BP_PRODUCTS_F16_SPLIT_K |
                                              BP_PRODUCTS_BF16_REDUCTION | BP_PRODUCTS_BF16_SPLIT_K);
    assert_int_equal(by_default.convolutions, 0);
    static const struct {
        const char *settings;
        uint8_t products;
    } cases[] = {
        {"cuda.matmul.allow_fp16_reduced_precision_reduction=false", BP_PRODUCTS_F16_REDUCTION},
        {"cuda.matmul.allow_fp16_reduced_precision_reduction_split_k=false", BP_PRODUCTS_F16_SPLIT_K},
        {"cuda.matmul.allow_bf16_reduced_precision_reduction=false", BP_PRODUCTS_BF16_REDUCTION},
        {"cuda.matmul.allow_bf16_reduced_precision_reduction_split_k=false", BP_PRODUCTS_BF16_SPLIT_K},
        {"cuda.matmul.allow_fp16_accumulation=true", BP_PRODUCTS_F16_ACCUMULATION},
        {"cuda.matmul.fp32_precision=bfx9", BP_PRODUCTS_BFX9},
        {"cuda.preferred_blas_library=cublaslt", BP_PRODUCTS_BY_CUBLASLT << BP_PRODUCTS_LIBRARY_SHIFT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(changed(gemm, cases[i].settings).products, cases[i].products);
        assert_int_equal(changed(&bp__family_fft, cases[i].settings).products, 0);
    }
    bp_policy policy = changed(gemm, "cuda.preferred_blas_library=ck");
    assert_int_equal(bp_policy_products_library(&policy), BP_PRODUCTS_BY_CK);
    policy = changed(&bp__family_linalg, "cuda.preferred_linalg_library=magma");
    assert_int_equal(bp_policy_linalg_library(&policy), BP_LINALG_BY_MAGMA);
    assert_int_equal(changed(gemm, "cuda.preferred_linalg_library=cusolver").products, 0);
    assert_int_equal(changed(&bp__family_linalg, "cuda.preferred_blas_library=cublas").products, 0);
    policy = changed(gemm, "cuda.cublas_workspace_size=8519680, cuda.cublaslt_workspace_size=1099511627776");
    assert_true(policy.workspace_limit == 8519680 && policy.lt_workspace_limit == UINT64_C(1) << 40);
    assert_int_equal(changed(&bp__family_fft, "cudnn.enabled=false").convolutions, BP_CUDNN_DISABLED);
    assert_int_equal(changed(rnn, "cudnn.deterministic=true").convolutions, BP_CUDNN_DETERMINISTIC);
    assert_int_equal(changed(conv, "cudnn.depthwise_kernel=cudnn").convolutions, BP_CUDNN_DEPTHWISE_CUDNN);
    assert_int_equal(changed(conv, "cudnn.depthwise_kernel=native").convolutions, BP_CUDNN_DEPTHWISE_NATIVE);
    assert_int_equal(changed(conv, "miopen.immediate=true").convolutions, BP_CUDNN_IMMEDIATE);
    policy = changed(conv, "cudnn.benchmark=true, cudnn.benchmark_limit=3");
    assert_true(policy.convolutions == BP_CUDNN_BENCHMARK && policy.benchmark_limit == 3);
    assert_int_equal(changed(conv, "cudnn.benchmark_limit=3").benchmark_limit, 0); /* it limits nothing */
    policy = changed(gemm, "cudnn.benchmark=true, cudnn.benchmark_limit=3");
    assert_true(policy.convolutions == 0 && policy.benchmark_limit == 0);
}

static void settings_of_attention_are_in_the_policy(void **state) {
    const bp__family *attention = &bp__family_attention;
    (void)state;
    static const struct {
        const char *settings;
        uint8_t sdp;
    } cases[] = {
        {"cuda.flash_sdp=false", 1u << BP_SDP_FLASH},
        {"cuda.mem_efficient_sdp=false", 1u << BP_SDP_EFFICIENT},
        {"cuda.math_sdp=false", 1u << BP_SDP_MATH},
        {"cuda.cudnn_sdp=false", 1u << BP_SDP_CUDNN},
        {"cuda.overrideable_sdp=false", 1u << BP_SDP_OVERRIDEABLE},
        {"cuda.fp16_bf16_reduction_math_sdp=true", BP_SDP_REDUCTION},
    };
    assert_int_equal(policy_at(attention, cuda, "num_threads=1").sdp, 31);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(changed(attention, cases[i].settings).sdp, cases[i].sdp);
        assert_int_equal(changed(&bp__family_gemm, cases[i].settings).sdp, 0);
    }
    static const struct {
        const char *order;
        bp_sdp_kernel kernels[BP_SDP_KERNELS];
        uint8_t number;
    } orders[] = {
        {"flash,efficient,math,cudnn,overrideable", {0, 1, 2, 3, 4}, 0},
        {"overrideable,cudnn,math,efficient,flash", {4, 3, 2, 1, 0}, 119},
        {"cudnn,flash,efficient,math,overrideable", {3, 0, 1, 2, 4}, 72},
        {"cudnn", {3, 0, 1, 2, 4}, 72}, /* the others follow in the default order */
        {"math,flash", {2, 0, 1, 3, 4}, 48},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "cuda.sdp_priority=\"%s\"", orders[i].order);
        const bp_policy policy = policy_at(attention, cuda, settings);
        assert_int_equal(policy.sdp_order, orders[i].number);
        for (int k = 0; k < BP_SDP_KERNELS; k++) {
            assert_int_equal(bp_policy_sdp(&policy, k), orders[i].kernels[k]);
        }
    }
}

/* No provider of these libraries exists yet, so the rule is tested with a candidate that is none. */
static void switches_of_cudnn_refuse_candidates(void **state) {
    static const char *const families[] = {"cudnn", "miopen", "cublas"};
    const bp_policy off = policy_at(&bp__family_conv, cuda, "cudnn.enabled=false"),
                    strict = policy_at(&bp__family_conv, rocm, "cudnn.deterministic=true"),
                    of_host = policy_at(&bp__family_conv, host, "cudnn.enabled=false, cudnn.deterministic=true");
    (void)state;
    for (int i = 0; i < 3; i++) {
        const bool cudnn = i < 2;
        const bp_library_info library = {.family = families[i]};
        const bp__candidate candidate = {.library = &library};
        const char *why = bp__candidate_off(&candidate, &off);
        assert_int_equal(why != NULL, cudnn);
        assert_true(!cudnn || strcmp(why, "cudnn.enabled is false") == 0);
        assert_null(bp__candidate_off(&candidate, &strict));
        assert_null(bp__candidate_off(&candidate, &of_host));
        for (int reproducible = 0; reproducible < 2; reproducible++) {
            bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_CONV, .place = rocm, .policy = strict};
            bp_verdict verdict = BP_VERDICT_INIT;
            verdict.properties = reproducible ? BP_PROPERTY_REPRODUCIBLE : 0;
            bp__verdict_check(&problem, &candidate, &verdict);
            assert_int_equal(verdict.reason, cudnn && !reproducible ? BP_REASON_DETERMINISM : BP_REASON_ACCEPTED);
            assert_int_equal(strncmp(verdict.text, "cudnn.deterministic is true", 27) == 0, cudnn && !reproducible);
        }
    }
}

/* ---- Calls ---- */

static DLManagedTensorVersioned *ones(const char *id, int ndim, const int64_t *shape) {
    DLManagedTensorVersioned *tensor;
    assert_ok(bp_tensor_empty_on(&tensor, id ? place_of(id) : 0, BP_F32, ndim, shape, NULL));
    return tensor;
}

/* Explains a product of f32 matrices, and returns the verdict of 'gauge'. */
static bp_reason reason_of_product(const char *id, const char *settings, char *text, size_t size) {
    const int64_t shape[] = {8, 8};
    DLManagedTensorVersioned *a = ones(id, 2, shape), *c = ones(id, 2, shape);
    bp_options *options;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_reason reason = BP_REASON_OP;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_matmul_explain(&e, options, &a->dl_tensor, &a->dl_tensor, &c->dl_tensor));
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        reason = strcmp(info.library, "gauge") == 0 ? info.reason : reason;
    }
    snprintf(text, size, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    free_tensor(a);
    free_tensor(c);
    return reason;
}

static void the_settings_of_the_device_decide_about_a_product(void **state) {
    static char text[16384];
    (void)state;
    gauge->properties = BP_PROPERTY_INPUTS_TF32;
    assert_int_equal(reason_of_product("other:0", "mkldnn.matmul.fp32_precision=bf16", text, sizeof text),
                     BP_REASON_PRECISION);
    assert_contains(text, "lower precision than cuda.matmul.fp32_precision allows");
    assert_contains(text, "refused: works on host memory only");
    assert_contains(text, "precision f32 by cuda.matmul.fp32_precision=none (default)");
    assert_int_equal(reason_of_product("other:0", "cuda.matmul.allow_tf32=true", text, sizeof text),
                     BP_REASON_ACCEPTED);
    assert_contains(text, "precision tf32 by cuda.matmul.fp32_precision=tf32 (call");
    assert_contains(text, "cuda.matmul.fp32_precision = tf32 (call");
    assert_int_equal(reason_of_product("other:0", "cudnn.fp32_precision=tf32", text, sizeof text), BP_REASON_ACCEPTED);
    assert_contains(text, "precision tf32 by cudnn.fp32_precision=tf32 (call");
    assert_int_equal(reason_of_product("other:0", "fp32_precision=bf16", text, sizeof text), BP_REASON_PRECISION);
    assert_contains(text, "precision f32 by fp32_precision=bf16 (call");
    assert_int_equal(reason_of_product("other:0", "cuda.matmul.fp32_precision=bfx9", text, sizeof text),
                     BP_REASON_PRECISION);
    assert_contains(text, "precision f32 by products of bf16 by cuda.matmul.fp32_precision=bfx9 (call");
    assert_int_equal(reason_of_product("fake:0", "cuda.matmul.allow_tf32=true", text, sizeof text),
                     BP_REASON_PRECISION);
    assert_contains(text, "lower precision than fp32_precision allows");
    assert_int_equal(reason_of_product("fake:0", "fp32_precision=tf32", text, sizeof text), BP_REASON_ACCEPTED);
    assert_contains(text, "precision tf32 by fp32_precision=tf32 (call");
    reason_of_product(NULL, "cuda.matmul.allow_tf32=true", text, sizeof text);
    assert_null(strstr(text, "precision tf32"));
    assert_null(strstr(text, "cuda.matmul")); /* a setting without effect on the host is not listed */
}

static void refusals_name_the_devices_of_a_provider(void **state) {
    static char text[16384];
    const int64_t shape[] = {8, 8};
    (void)state;
    if (!bp__provider_exists("opencl")) {
        skip();
    }
    reason_of_product("other:0", "num_threads=1", text, sizeof text);
    assert_contains(text, "refused: works on devices of opencl only");
    DLManagedTensorVersioned *a = ones("other:0", 2, shape), *c = ones("other:0", 2, shape);
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_EXP, &a->dl_tensor, &c->dl_tensor), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "others work on host memory only; ");
    assert_contains(bp_last_error(), " others work on other devices only");
    free_tensor(a);
    free_tensor(c);
}

/* A window of one element has the same convolution in both: only the call tells which setting applies. */
static void linear_layers_obey_the_settings_of_products(void **state) {
    const int64_t image[] = {4, 8, 1}, rows[] = {4, 8}, window[] = {8, 8, 1};
    DLManagedTensorVersioned *x = ones("other:0", 3, image), *w = ones("other:0", 3, window),
                             *y = ones("other:0", 3, image), *in = ones("other:0", 2, rows),
                             *weight = ones("other:0", 2, window), *out = ones("other:0", 2, rows);
    const bp_conv_call conv = {.struct_size = sizeof conv,
                               .ndim = 1,
                               .input = &x->dl_tensor,
                               .weight = &w->dl_tensor,
                               .output = &y->dl_tensor};
    const bp_linear_call linear = {
        .struct_size = sizeof linear, .input = &in->dl_tensor, .weight = &weight->dl_tensor, .output = &out->dl_tensor};
    bp_plan *plan;
    bp_explanation *e;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(bp_conv_run(NULL, &conv));
        assert_int_equal(gauge->ran.precision, 1); /* cudnn.conv.fp32_precision is tf32 by default */
        assert_ok(bp_linear(&in->dl_tensor, &weight->dl_tensor, NULL, &out->dl_tensor));
        assert_int_equal(gauge->ran.precision, 0);
    }
    assert_ok(bp_linear_plan(&plan, NULL, &linear));
    bp_plan_release(plan);
    assert_ok(bp_linear_explain(&e, NULL, &linear));
    assert_contains(bp_explanation_text(e), "precision f32 by cuda.matmul.fp32_precision=none (default)");
    bp_explanation_release(e);
    DLManagedTensorVersioned *const all[] = {x, w, y, in, weight, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free_tensor(all[i]);
    }
}

static bp_status status_of_check;
static const bp_conv_call *call_of_check;

static int runs_a_convolution(void *user) {
    (void)user;
    status_of_check = bp_conv_run(NULL, call_of_check);
    return 0;
}

static void a_check_in_a_linear_layer_runs_convolutions(void **state) {
    const int64_t image[] = {4, 8, 1}, window[] = {8, 8, 1};
    DLManagedTensorVersioned *x = ones("other:0", 3, image), *w = ones("other:0", 3, window),
                             *y = ones("other:0", 3, image);
    const bp_conv_call conv = {.struct_size = sizeof conv,
                               .ndim = 1,
                               .input = &x->dl_tensor,
                               .weight = &w->dl_tensor,
                               .output = &y->dl_tensor};
    (void)state;
    call_of_check = &conv;
    status_of_check = BP_E_INTERNAL;
    bp_set_interrupt_check(runs_a_convolution, NULL, NULL);
    const bool before = bp__precision_of_linear(true);
    assert_false(bp__operation_interrupted(BP_OP_CONV));
    assert_true(bp__precision_of_linear(before));
    bp_set_interrupt_check(NULL, NULL, NULL);
    assert_ok(status_of_check);
    assert_int_equal(gauge->ran.precision, 1);
    free_tensor(x);
    free_tensor(w);
    free_tensor(y);
}

static void multiply(const char *settings, const DLManagedTensorVersioned *a, DLManagedTensorVersioned *c) {
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_matmul_run(options, &a->dl_tensor, &a->dl_tensor, &c->dl_tensor));
    bp_options_release(options);
}

static void a_plan_is_never_used_with_another_policy(void **state) {
    const int64_t shape[] = {16, 16};
    DLManagedTensorVersioned *a = ones("other:0", 2, shape), *c = ones("other:0", 2, shape);
    const char *const settings[] = {"cuda.matmul.allow_fp16_accumulation=true", "cuda.cublas_workspace_size=4096",
                                    "cuda.cublaslt_workspace_size=4096", "cuda.preferred_blas_library=cublas",
                                    "cudnn.enabled=false"};
    bp_plan *held;
    const DLTensor *const operands[] = {&a->dl_tensor, &a->dl_tensor, &c->dl_tensor};
    bp_operand addresses[3];
    (void)state;
    const int before = gauge->plans;
    multiply("num_threads=1", a, c);
    multiply("num_threads=1", a, c);
    assert_int_equal(gauge->plans, before + 1);
    const bp_policy by_default = gauge->ran;
    for (int i = 0; i < 5; i++) {
        char both[128];
        snprintf(both, sizeof both, "num_threads=1, %s", settings[i]);
        multiply(both, a, c);
        assert_int_equal(gauge->plans, before + 2 + i);
        assert_memory_not_equal(&gauge->ran, &by_default, sizeof by_default);
        multiply("num_threads=1", a, c); /* the cache has the plan of the defaults */
        assert_int_equal(gauge->plans, before + 2 + i);
        assert_memory_equal(&gauge->ran, &by_default, sizeof by_default);
    }
    /* A plan that the program holds keeps its policy. */
    bp_options *options;
    assert_ok(bp_options_new(&options, "cuda.matmul.allow_fp16_accumulation=true, num_threads=1"));
    assert_ok(bp_matmul_plan(&held, options, operands[0], operands[1], operands[2]));
    bp_options_release(options);
    for (int i = 0; i < 3; i++) {
        addresses[i] = (bp_operand){operands[i]->data, operands[i]->byte_offset};
    }
    assert_ok(bp_execute(held, addresses, NULL));
    assert_true(gauge->ran.products & BP_PRODUCTS_F16_ACCUMULATION);
    bp_plan_release(held);
    /* A setting that cannot change the operation makes no new plan. */
    multiply("num_threads=1, cudnn.benchmark=true, cuda.sdp_priority=math", a, c);
    assert_memory_equal(&gauge->ran, &by_default, sizeof by_default);
    free_tensor(a);
    free_tensor(c);
}

static void explanations_list_the_algorithms_of_a_library(void **state) {
    static char text[16384];
    (void)state;
    gauge->listed = 3;
    gauge->properties = BP_PROPERTY_INPUTS_TF32;
    reason_of_product("other:0", "cuda.matmul.allow_tf32=true", text, sizeof text);
    assert_null(strstr(text, "engine0"));
    reason_of_product("other:0", "cuda.matmul.allow_tf32=true, explain.all=true", text, sizeof text);
    assert_contains(text, "engine0, ");
    assert_contains(text, "engine2, ");
    assert_contains(text, "because   the only candidate that accepts");
    gauge->listed = 50; /* more than are taken */
    reason_of_product("other:0", "cuda.matmul.allow_tf32=true, explain.all=true", text, sizeof text);
    assert_contains(text, "engine31, ");
    assert_null(strstr(text, "engine32"));
    gauge->listed = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(precision_is_by_place, begin_policies, end),
        cmocka_unit_test_setup_teardown(ieee_is_required_by_place, begin_policies, end),
        cmocka_unit_test_setup_teardown(settings_of_cuda_are_in_the_policy, begin_policies, end),
        cmocka_unit_test_setup_teardown(settings_of_attention_are_in_the_policy, begin_policies, end),
        cmocka_unit_test_setup_teardown(switches_of_cudnn_refuse_candidates, begin_policies, end),
        cmocka_unit_test_setup_teardown(the_settings_of_the_device_decide_about_a_product, begin_policies, end),
        cmocka_unit_test_setup_teardown(explanations_list_the_algorithms_of_a_library, begin_policies, end),
        cmocka_unit_test_setup_teardown(refusals_name_the_devices_of_a_provider, begin_policies, end),
        cmocka_unit_test_setup_teardown(linear_layers_obey_the_settings_of_products, begin_policies, end),
        cmocka_unit_test_setup_teardown(a_check_in_a_linear_layer_runs_convolutions, begin_policies, end),
        cmocka_unit_test_setup_teardown(a_plan_is_never_used_with_another_policy, begin_policies, end),
    };
    return cmocka_run_group_tests(tests, start_gauge, stop_devices);
}
