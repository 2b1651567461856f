/* test_allocation.c - calls every public function with its n-th allocation failing, alone or with all later ones, for
 * all n. Each must return BP_E_NO_MEMORY or succeed. Nothing may leak, and the library must work afterwards. */
#include "backplane.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "ops/network_calls.h"
#include "support/failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double x[9], y[9], z[9];
static bp_view a, b, c;

static bp_status one_shot(void) {
    return bp_matmul(&a.tensor, &b.tensor, &c.tensor);
}

static bp_status gemm_call(void) {
    bp_scalar two = {2, 0};
    return bp_gemm(BP_TRANSPOSE, BP_AS_IS, &two, &a.tensor, &b.tensor, &two, &c.tensor);
}

static bp_status gemm_plan(void) {
    bp_plan *plan;
    bp_status status = bp_gemm_plan(&plan, NULL, BP_TRANSPOSE, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor);
    if (status == BP_OK) {
        bp_plan_info info = {.struct_size = sizeof info};
        status = bp_plan_describe(plan, &info);
        bp_plan_release(plan);
    }
    return status;
}

static bp_status gemm_explain(void) {
    bp_explanation *e;
    bp_status status = bp_gemm_explain(&e, NULL, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor);
    if (status == BP_OK) {
        bp_explanation_release(e);
    }
    return status;
}

static bp_status gemm_with(void) {
    return bp_gemm_run(NULL, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor);
}

/* Copies between layouts, and computes the shape of a result; neither needs memory. */
static bp_status copy_and_shape(void) {
    bp_view turned;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_status status = bp_view_init(&turned, y, BP_F64, 2, (const int64_t[]){3, 3}, (const int64_t[]){1, 3});
    if (status == BP_OK) {
        status = bp_tensor_copy(&turned.tensor, &a.tensor);
    }
    return status == BP_OK ? bp_matmul_shape(&a.tensor, &b.tensor, &ndim, shape) : status;
}

static bp_status with_options(void) {
    bp_options *options;
    bp_status status = bp_options_new(&options, "num_threads=1, deterministic=run");
    if (status != BP_OK) {
        return status;
    }
    status = bp_matmul_run(options, &a.tensor, &b.tensor, &c.tensor);
    bp_options_release(options);
    return status;
}

static bp_status held_plan(void) {
    bp_plan *plan;
    bp_status status = bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor);
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}, {z, 0}}, NULL);
        bp_plan_info info = {.struct_size = sizeof info};
        bp_last_plan(&info);
        bp_plan_release(plan);
    }
    return status;
}

static bp_status explanation(void) {
    bp_explanation *e;
    bp_status status = bp_matmul_explain(&e, NULL, &a.tensor, &b.tensor, &c.tensor);
    if (status == BP_OK) {
        bp_candidate_info candidate = {.struct_size = sizeof candidate};
        status = bp_explanation_at(e, 0, &candidate) && *bp_explanation_text(e) && *bp_explanation_json(e) &&
                         *bp_explanation_problem(e) && *bp_explanation_decision(e)
                     ? BP_OK
                     : BP_E_NO_MEMORY; /* texts are empty if memory is short */
        bp_explanation_release(e);
    }
    return status;
}

static bp_status scoped(void) {
    bp_scope *scope;
    bp_status status = bp_scope_enter(&scope, "blas.preferred=native, num_threads=2");
    if (status == BP_OK) {
        status = one_shot();
        bp_scope_leave(&scope);
    }
    return status;
}

/* A policy has all that the user set, so that no call runs on an excluded library. */
static bp_status whole_policy(void) {
    bp_scope *scope;
    bp_policy policy;
    bp_status status = bp_scope_enter(&scope, "dispatch.exclude=netlib, blas.preferred=native");
    if (status == BP_OK) {
        status = bp__policy_resolve(&policy, &bp__family_gemm);
        bp_scope_leave(&scope);
    }
    if (status == BP_OK) {
        assert_string_equal(bp__policy_text(policy.exclude), "netlib");
        assert_string_equal(bp__policy_text(policy.preferred), "native");
    }
    return status;
}

static bp_status libraries(void) {
    int count;
    bp_status status = bp_library_count(&count);
    bp_library_info info = {.struct_size = sizeof info};
    if (status == BP_OK) {
        status = bp_library_at(0, &info) ? BP_OK : bp_last_status();
    }
    return status == BP_OK ? bp_libraries_refresh(0) : status;
}

/* Lists end early if memory is short; the entries before that must be complete. */
static bp_status lists(void) {
    bp_provider_info provider = {.struct_size = sizeof provider};
    bp_loaded_object object = {.struct_size = sizeof object};
    const char *place, *outcome;
    int found = 0;
    for (int i = 0; bp_provider_at(i, &provider); i++) {
        found += provider.name[0] != '\0';
    }
    for (int i = 0; bp_loaded_object_at(i, &object); i++) {
        assert_true(object.path[0] != '\0');
    }
    for (int i = 0; bp_search_location_at(i, &place, &outcome); i++) {
        assert_true(place[0] != '\0' && outcome[0] != '\0');
    }
    for (int i = 0; bp_config_error_at(i); i++) {
        assert_true(bp_config_error_at(i)[0] != '\0');
    }
    return found > 0 ? BP_OK : BP_E_NO_MEMORY;
}

static bp_status absent_library(void) {
    bp_library_info info = {.struct_size = sizeof info};
    bp_status status = bp_library_find("no-such-library", &info);
    return status == BP_E_NOT_FOUND ? BP_OK : status;
}

static bp_status setting(void) {
    bp_status status = bp_set("blas.preferred", "nowhere-to-be-found");
    if (status == BP_OK) {
        status = bp_unset("blas.preferred");
    }
    return status;
}

static bp_status new_tensor(void) {
    DLManagedTensorVersioned *t;
    bp_status status = bp_tensor_new(&t, BP_F32, 2, (const int64_t[]){5, 6});
    if (status == BP_OK) {
        t->deleter(t);
    }
    return status;
}

static bp_status cache_walk(void) {
    bp_status status = one_shot();
    bp_plan *plan;
    if (status == BP_OK && bp_plan_cache_at(&plan, 0)) { /* empty if memory was short */
        bp_plan_release(plan);
    }
    return status == BP_OK ? bp_plan_cache_clear() : status;
}

static bp_status threads_of_native(void) {
    int count;
    return bp_library_threads("native", &count);
}

static bp_status machine(void) {
    bp_machine_info info = {.struct_size = sizeof info};
    return bp_machine(&info);
}

static void in_order(void *user, int threads, int count, bp_task task, void *context) {
    (void)user, (void)threads;
    for (int i = 0; i < count; i++) {
        task(context, i);
    }
}

static bp_status executor(void) {
    bp_status status = bp_set_executor(in_order, NULL);
    bp_status ran = status == BP_OK ? one_shot() : status;
    bp_set_executor(NULL, NULL);
    return ran;
}

static bp_status precision(void) {
    const char *node;
    bp_status status = bp_set("float32_matmul_precision", "medium");
    status = status == BP_OK ? bp_get_deciding_setting("mkldnn.matmul.fp32_precision", &node) : status;
    return status == BP_OK ? bp_unset("float32_matmul_precision") : status;
}

static bp_status backends(void) {
    bp_backend_info info = {.struct_size = sizeof info};
    bp_status status = bp_backend_status("mkl", &info); /* with the message for an absent library */
    status = status == BP_OK ? bp_backend_status("cudnn", &info) : status;
    const char *why;
    if (status == BP_OK && !bp_setting_has_effect("cudnn.benchmark", &why) && !*why) {
        return BP_E_INTERNAL;
    }
    return status;
}

static bp_status simulated(void) {
    static float f[3][9];
    bp_view views[3];
    bp_options *options;
    bp_plan *plan;
    bp_status status = bp_options_new(&options, "simulate.bf16=true");
    for (int i = 0; i < 3; i++) {
        bp_view_matrix(&views[i], f[i], BP_F32, 3, 3);
    }
    if (status == BP_OK) {
        status = bp_matmul_plan(&plan, options, &views[0].tensor, &views[1].tensor, &views[2].tensor);
        bp_options_release(options);
    }
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{f[0], 0}, {f[1], 0}, {f[2], 0}}, NULL);
        bp_plan_release(plan);
    }
    return status;
}

/* A small product, one with passes, packed operands and an explanation. Values are right wherever it succeeds. */
static bp_status integers(void) {
    enum { N = 130 };
    static uint8_t left_bytes[N * N], right_bytes[N * N];
    static int32_t sums[N * N];
    bp_view views[3];
    bp_plan *plan;
    bp_packed *packed[3] = {NULL};
    bp_explanation *e;
    bp_status status = BP_OK;
    memset(left_bytes, 255, sizeof left_bytes);
    memset(right_bytes, 128, sizeof right_bytes);
    for (int n = 9; n <= N && status == BP_OK; n += N - 9) {
        bp_view_matrix(&views[0], left_bytes, BP_U8, n, n);
        bp_view_matrix(&views[1], right_bytes, BP_I8, n, n);
        bp_view_matrix(&views[2], sums, BP_I32, n, n);
        status = bp_matmul(&views[0].tensor, &views[1].tensor, &views[2].tensor);
        assert_true(status != BP_OK || sums[n * n - 1] == n * 255 * -128);
    }
    status =
        status == BP_OK ? bp_matmul_plan(&plan, NULL, &views[0].tensor, &views[1].tensor, &views[2].tensor) : status;
    if (status == BP_OK) {
        const bp_operand operands[] = {{left_bytes, 0}, {right_bytes, 0}, {sums, 0}};
        const bp_exec exec = {.struct_size = sizeof exec, .packed = (const bp_packed *const *)packed};
        for (int o = 0; o < 2 && status == BP_OK; o++) {
            status = bp_plan_pack(&packed[o], plan, o, &operands[o]);
        }
        status = status == BP_OK ? bp_execute(plan, operands, &exec) : status;
        bp_packed_release(packed[0]);
        bp_packed_release(packed[1]);
        bp_plan_release(plan);
    }
    status =
        status == BP_OK ? bp_matmul_explain(&e, NULL, &views[0].tensor, &views[1].tensor, &views[2].tensor) : status;
    if (status == BP_OK) {
        bp_explanation_release(e);
    }
    return status;
}

static bp_status inverse(void) {
    return bp_inv(&a.tensor, &c.tensor);
}

static bp_status linalg_plan(void) {
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_INV, .input = {&a.tensor}, .output = {&c.tensor}};
    bp_plan *plan;
    bp_status status = bp_linalg_plan(&plan, NULL, &call);
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{x, 0}, {z, 0}, {NULL, 0}}, NULL);
        bp_plan_release(plan);
    }
    return status;
}

static bp_status linalg_explain(void) {
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_INV, .input = {&a.tensor}, .output = {&c.tensor}};
    bp_explanation *e;
    bp_status status = bp_linalg_explain(&e, NULL, &call);
    if (status == BP_OK) {
        bp_explanation_release(e);
    }
    return status;
}

static bp_status linalg_refusal(void) {
    bp_status status = bp_inv(&a.tensor, &a.tensor);
    return status == BP_E_OVERLAP ? BP_OK : status;
}

static bp_status linalg_preference(void) {
    bp_status status = bp_preferred_set("linalg.preferred", "native");
    status = status == BP_OK ? bp_preferred_set("linalg.preferred", "absent") : status;
    if (status == BP_E_NOT_FOUND) {
        status = bp_unset("linalg.preferred");
    }
    return status;
}

static bp_status verbose_of_absent(void) {
    bp_verbose_scope *scope;
    bp_status status = bp_verbose_enter(&scope, "mkl", BP_VERBOSE_ON, NULL, NULL);
    return status == BP_E_NOT_FOUND ? BP_OK : status;
}

/* Transforms that copy their input, and fill and conjugate their output: one-shot and planned. */
static bp_status transforms(void) {
    static double signal[8], spectrum[32];
    bp_view in, out, half;
    bp_plan *plan;
    bp_explanation *e;
    bp_fft_call call = {sizeof call, BP_HFFT, BP_FFT_ORTHO, 1, NULL, (const int64_t[]){16}};
    bp_status status = bp_view_init(&in, signal, BP_F64, 1, (const int64_t[]){8}, NULL);
    status = status == BP_OK ? bp_view_init(&half, signal, BP_C128, 1, (const int64_t[]){4}, NULL) : status;
    status = status == BP_OK ? bp_view_init(&out, spectrum, BP_C128, 1, (const int64_t[]){16}, NULL) : status;
    status = status == BP_OK ? bp_ifft(&in.tensor, 16, 0, BP_FFT_BACKWARD, &out.tensor) : status;
    status = status == BP_OK ? bp_view_init(&out, spectrum, BP_F64, 1, (const int64_t[]){16}, NULL) : status;
    status = status == BP_OK ? bp_fft_plan(&plan, NULL, &call, &half.tensor, &out.tensor) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{signal, 0}, {spectrum, 0}}, NULL);
        bp_plan_release(plan);
    }
    status = status == BP_OK ? bp_fft_explain(&e, NULL, &call, &half.tensor, &out.tensor) : status;
    if (status == BP_OK) {
        bp_explanation_release(e);
    }
    return status == BP_OK ? bp_fft_plan_cache_clear() : status;
}

/* Shifts and frequencies need no memory. */
static bp_status shifts(void) {
    bp_view turned, other;
    bp_status status = bp_view_init(&turned, x, BP_F64, 2, (const int64_t[]){3, 3}, (const int64_t[]){1, 3});
    status = status == BP_OK ? bp_view_init(&other, y, BP_F64, 2, (const int64_t[]){3, 3}, NULL) : status;
    status = status == BP_OK ? bp_fftshift(&turned.tensor, BP_FFT_ALL, NULL, &other.tensor) : status;
    status = status == BP_OK ? bp_view_init(&other, y, BP_F64, 1, (const int64_t[]){5}, NULL) : status;
    return status == BP_OK ? bp_rfftfreq(8, 0.5, &other.tensor) : status;
}

/* Several steps, including a copy and a sum: run, planned and explained. */
static bp_status contraction(void) {
    static double cube[27], out[9];
    bp_view m, result;
    bp_plan *plan;
    bp_explanation *e;
    const DLTensor *operands[] = {&m.tensor, &m.tensor, &a.tensor};
    bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "abc,bad,de->ce", .count = 3, .operands = operands};
    bp_status status = bp_view_init(&m, cube, BP_F64, 3, (const int64_t[]){3, 3, 3}, NULL);
    status = status == BP_OK ? bp_view_matrix(&result, out, BP_F64, 3, 3) : status;
    status = status == BP_OK ? bp_einsum(call.expression, 3, operands, &result.tensor) : status;
    status = status == BP_OK ? bp_einsum_plan(&plan, NULL, &call, &result.tensor) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{cube, 0}, {cube, 0}, {x, 0}, {out, 0}}, NULL);
        bp_plan_release(plan);
    }
    status = status == BP_OK ? bp_einsum_explain(&e, NULL, &call, &result.tensor) : status;
    if (status == BP_OK) {
        bp_explanation_release(e);
    }
    return status;
}

/* A norm that copies its input, a chain whose labels do not fit the stack, and powers with all their buffers. */
static bp_status vector_products(void) {
    static double cube[100], norm;
    bp_view scattered, scalar;
    bp_explanation *e;
    const DLTensor *chain[20];
    for (int i = 0; i < 20; i++) {
        chain[i] = &a.tensor;
    }
    bp_status status =
        bp_view_init(&scattered, cube, BP_F64, 3, (const int64_t[]){2, 2, 2}, (const int64_t[]){49, 7, 2});
    status = status == BP_OK ? bp_view_init(&scalar, &norm, BP_F64, 0, NULL, NULL) : status;
    status = status == BP_OK ? bp_vector_norm(&scattered.tensor, 3, 0, NULL, 0, &scalar.tensor) : status;
    status = status == BP_OK ? bp_vecdot(&a.tensor, &scattered.tensor, -1, &c.tensor) : status;
    status = status == BP_E_SHAPE ? bp_multi_dot(20, chain, &c.tensor) : status;
    for (int64_t power = -7; power <= 0 && status == BP_OK; power += 7) {
        status = bp_matrix_power(&a.tensor, power, &c.tensor);
        status = status == BP_OK ? bp_matrix_power_explain(&e, NULL, &a.tensor, power, &c.tensor) : status;
        if (status == BP_OK) {
            bp_explanation_release(e);
        }
    }
    size_t length;
    return status == BP_OK ? bp_tensor_format(&c.tensor, NULL, NULL, 0, &length) : status;
}

static const struct {
    const char *name;
    bp_status (*call)(void);
} calls[] = {
    {"one_shot", one_shot},
    {"gemm", gemm_call},
    {"with_options", with_options},
    {"held_plan", held_plan},
    {"explain", explanation},
    {"scoped", scoped},
    {"whole_policy", whole_policy},
    {"libraries", libraries},
    {"absent", absent_library},
    {"setting", setting},
    {"new_tensor", new_tensor},
    {"cache_walk", cache_walk},
    {"threads", threads_of_native},
    {"machine", machine},
    {"gemm_plan", gemm_plan},
    {"gemm_explain", gemm_explain},
    {"gemm_with", gemm_with},
    {"copy", copy_and_shape},
    {"lists", lists},
    {"executor", executor},
    {"precision", precision},
    {"backends", backends},
    {"simulated", simulated},
    {"integers", integers},
    {"verbose", verbose_of_absent},
    {"transforms", transforms},
    {"shifts", shifts},
    {"contraction", contraction},
    {"inverse", inverse},
    {"linalg_plan", linalg_plan},
    {"linalg_explain", linalg_explain},
    {"linalg_refusal", linalg_refusal},
    {"linalg_preference", linalg_preference},
    {"vector_products", vector_products},
    {"convolutions", call_convolutions},
    {"winograd", call_winograd},
    {"fourier", call_fourier},
    {"convolution_gradients", call_convolution_gradients},
    {"pooling", call_pooling},
    {"batch_norm", call_batch_norm},
    {"attention", call_attention},
    {"attention_math", call_attention_math},
    {"rnn", call_rnn},
    {"elementwise", call_elementwise},
    {"concat", call_concat},
    {"random", call_random},
    {"cumsum", call_cumsum},
    {"pad", call_pad},
    {"layer_norm", call_layer_norm},
    {"reductions", call_reductions},
};

/* Returns whether a function of a call fails, as it should. */
static bool fails_inside(const char *name) {
    return bp__text_has_word("absent cache_walk lists linalg_refusal linalg_preference verbose vector_products", name);
}

static void fail_each_allocation_of(int index, bool one) {
    long n = 0;
    int successes = 0;
    for (; n < 20000 && successes < 2; n++) {
        test_fail_allocations(n, one);
        bp__fail(BP_E_CANCELLED, "an earlier failure");
        bp_status status = calls[index].call();
        const bool ran_out = test_end_of_failures();
        if (status != BP_OK && status != BP_E_NO_MEMORY) {
            fail_msg("%s with allocation %ld failing: %s (%s)", calls[index].name, n, bp_status_name(status),
                     bp_last_error());
        }
        if (status == BP_OK && !fails_inside(calls[index].name) && bp_last_status() != BP_E_CANCELLED) {
            fail_msg("%s with allocation %ld failing succeeds, but leaves an error: %s", calls[index].name, n,
                     bp_last_error());
        }
        successes += status == BP_OK && !ran_out;
        assert_int_equal(calls[index].call(), BP_OK);
        assert_int_equal(bp_reset(), BP_OK);
        if (bp__live_blocks() != 0) {
            fail_msg("%s with allocation %ld failing leaks %lld blocks", calls[index].name, n,
                     (long long)bp__live_blocks());
        }
    }
    assert_int_equal(successes, 2);
}

static void every_call_survives(void **state) {
    fail_each_allocation_of((int)(intptr_t)*state, false);
    fail_each_allocation_of((int)(intptr_t)*state, true);
}

int main(void) {
    enum { COUNT = sizeof calls / sizeof calls[0] };
    struct CMUnitTest tests[COUNT];
    /* Real libraries would slow down every round; other tests cover them. */
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/ops-fakes", 1);
    if (bp_set_allocator(&test_failing_allocator) != BP_OK) {
        return 1;
    }
    x[0] = x[4] = x[8] = 1;
    bp_view_matrix(&a, x, BP_F64, 3, 3);
    bp_view_matrix(&b, y, BP_F64, 3, 3);
    bp_view_matrix(&c, z, BP_F64, 3, 3);
    for (int i = 0; i < COUNT; i++) {
        tests[i] = (struct CMUnitTest){calls[i].name, every_call_survives, NULL, NULL, (void *)(intptr_t)i};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
