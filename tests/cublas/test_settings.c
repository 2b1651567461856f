/* test_settings.c - what each setting under cuda.matmul makes of a product: the words that the doubles of cuBLASLt and
 * cuBLAS get, the values, explanations, and has_effect. */
#include "cublas/support_cublas.h"

#include "backplane/backends.h"

#define BY_CLASSIC "cuda.preferred_blas_library=cublas, "
#define F16 "cuda.matmul.allow_fp16_reduced_precision_reduction"
#define BF16 "cuda.matmul.allow_bf16_reduced_precision_reduction"

static gemm_case square(bp_dtype dtype) {
    return (gemm_case){.dtype = dtype, .m = 4, .n = 4, .k = 16, .alpha = {1, 0}};
}

/* Runs a product of a type with settings, and returns what the library was told. */
static cublas_told told_lt(bp_dtype dtype, const char *settings) {
    const gemm_case c = square(dtype);
    const int before = the_lt()->calls;
    assert_ok(run_gemm(&c, settings));
    assert_int_equal(the_lt()->calls, before + 1);
    return the_lt()->told;
}

static cublas_told told_classic(bp_dtype dtype, const char *settings) {
    const gemm_case c = square(dtype);
    char all[256];
    const int before = the_classic()->calls;
    snprintf(all, sizeof all, BY_CLASSIC "%s", settings);
    assert_ok(run_gemm(&c, all));
    assert_int_equal(the_classic()->calls, before + 1);
    return the_classic()->told;
}

/* Returns alpha times the sum of products of a row and a column of 8 elements. */
static double sum_of(bp_dtype dtype, const double *a, const double *b, double alpha, const char *settings) {
    const int64_t shapes[3][2] = {{1, 8}, {8, 1}, {1, 1}};
    const bp_scalar factor = {alpha, 0};
    test_array host[3];
    on_device on[3];
    bp_options *options;
    for (int i = 0; i < 3; i++) {
        test_array_make(&host[i], dtype, 2, shapes[i], TEST_COMPACT);
        for (int64_t j = 0; i < 2 && j < 8; j++) {
            test_array_set(&host[i], j, i ? b[j] : a[j]);
        }
        put(&on[i], &host[i], 0, 0);
    }
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_gemm_run(options, BP_AS_IS, BP_AS_IS, &factor, &on[0].tensor, &on[1].tensor, NULL, &on[2].tensor));
    bp_options_release(options);
    get(&on[2]);
    const double found = test_array_get(&host[2], 0);
    for (int i = 0; i < 3; i++) {
        drop(&on[i]);
        test_array_free(&host[i]);
    }
    return found;
}

static const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

/* ---- f32 ---- */

static void precision_of_f32(void **state) {
    static const struct {
        const char *settings;
        uint32_t compute;
    } cases[] = {
        {"num_threads=1", BP__CUBLAS_COMPUTE_32F},
        {"cuda.matmul.allow_tf32=true", BP__CUBLAS_COMPUTE_32F_FAST_TF32},
        {"cuda.matmul.fp32_precision=tf32", BP__CUBLAS_COMPUTE_32F_FAST_TF32},
        {"cuda.matmul.fp32_precision=ieee, fp32_precision=tf32", BP__CUBLAS_COMPUTE_32F},
        {"fp32_precision=tf32", BP__CUBLAS_COMPUTE_32F_FAST_TF32},
        {"cudnn.fp32_precision=tf32", BP__CUBLAS_COMPUTE_32F_FAST_TF32},
        {"float32_matmul_precision=high", BP__CUBLAS_COMPUTE_32F_FAST_TF32},
        {"mkldnn.matmul.fp32_precision=bf16", BP__CUBLAS_COMPUTE_32F},
        {"cuda.matmul.fp32_precision=bfx9", BP__CUBLAS_COMPUTE_32F_EMULATED_16BFX9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int complex = 0; complex < 2; complex++) {
            const bp_dtype dtype = complex ? BP_C64 : BP_F32;
            const cublas_told lt = told_lt(dtype, cases[i].settings), classic = told_classic(dtype, cases[i].settings);
            assert_int_equal(lt.compute, cases[i].compute);
            assert_int_equal(classic.compute, cases[i].compute);
            assert_int_equal(lt.scale, complex ? BP__CUDA_C_32F : BP__CUDA_R_32F);
        }
        assert_int_equal(told_lt(BP_F64, cases[i].settings).compute, BP__CUBLAS_COMPUTE_64F);
        assert_int_equal(told_lt(BP_F16, cases[i].settings).compute, BP__CUBLAS_COMPUTE_32F);
    }
}

static void tf32_changes_values(void **state) {
    const double fine[8] = {1 + 0x1p-12}; /* 1 in TF32 */
    (void)state;
    assert_true(sum_of(BP_F32, fine, ones, 1, "num_threads=1") == 1 + 0x1p-12);
    assert_true(sum_of(BP_F32, fine, ones, 1, "cuda.matmul.allow_tf32=true") == 1);
    assert_true(sum_of(BP_F32, fine, ones, 1, BY_CLASSIC "cuda.matmul.allow_tf32=true") == 1);
    assert_true(sum_of(BP_F32, fine, ones, 1, "cuda.matmul.fp32_precision=bfx9") == 1 + 0x1p-12);
}

/* ---- f16 and bf16 ---- */

static void reductions(void **state) {
    static const struct {
        const char *settings;
        uint32_t f16, bf16; /* masks of reduction schemes */
    } cases[] = {
        {"num_threads=1", 7, 7},
        {F16 "=false", 2, 7},
        {BF16 "=false", 7, 2},
        {F16 "=false, " F16 "_split_k=false", 0, 7},
        {BF16 "=false, " BF16 "_split_k=false", 7, 0},
        {F16 "_split_k=false", 0, 7}, /* without parts there is no sum of parts */
        {"deterministic=run", 6, 6},
        {"deterministic=run, " F16 "=false", 2, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int is_bf16 = 0; is_bf16 < 2; is_bf16++) {
            const uint32_t schemes = is_bf16 ? cases[i].bf16 : cases[i].f16;
            const cublas_told told = told_lt(is_bf16 ? BP_BF16 : BP_F16, cases[i].settings);
            assert_int_equal(the_lt()->schemes, schemes);
            assert_int_equal(told.scheme, schemes & 4 ? 4 : schemes & 2 ? 2 : 0);
            if (schemes != 0) {
                const cublas_told classic = told_classic(is_bf16 ? BP_BF16 : BP_F16, cases[i].settings);
                assert_int_equal(classic.mode, schemes & 4 ? BP__CUBLAS_DEFAULT_MATH
                                                           : BP__CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
            }
        }
        told_lt(BP_F32, cases[i].settings);
        assert_int_equal(the_lt()->schemes, strstr(cases[i].settings, "deterministic") ? 6 : 7);
    }
}

static void reductions_change_values(void **state) {
    const double parts[8] = {2048, 0, 1, 0, 1, 0, 0, 0}; /* in f16, 2048 + 1 is 2048 */
    const double of_bf16[8] = {256, 0, 1, 0, 1, 0, 0, 0};
    (void)state;
    for (int classic = 0; classic < 2; classic++) {
        const char *library = classic ? BY_CLASSIC : "";
        char off[256];
        snprintf(off, sizeof off, "%s" F16 "=false, " BF16 "=false", library);
        assert_true(sum_of(BP_F16, parts, ones, 1, classic ? BY_CLASSIC "num_threads=1" : "num_threads=1") == 2048);
        assert_true(sum_of(BP_F16, parts, ones, 1, off) == 2050);
        assert_true(sum_of(BP_BF16, of_bf16, ones, 1, classic ? BY_CLASSIC "num_threads=1" : "num_threads=1") == 256);
        assert_true(sum_of(BP_BF16, of_bf16, ones, 1, off) == 258);
    }
}

static void accumulation_in_f16(void **state) {
    static const char on[] = "cuda.matmul.allow_fp16_accumulation=true, " F16 "=false";
    const double steps[8] = {2048, 1, 1, 0, 0, 0, 0, 0};
    (void)state;
    for (int classic = 0; classic < 2; classic++) {
        const cublas_told told = classic ? told_classic(BP_F16, on) : told_lt(BP_F16, on);
        assert_int_equal(told.compute, BP__CUBLAS_COMPUTE_16F);
        assert_int_equal(told.scale, BP__CUDA_R_16F);
        const cublas_told other = classic ? told_classic(BP_BF16, on) : told_lt(BP_BF16, on);
        assert_int_equal(other.compute, BP__CUBLAS_COMPUTE_32F);
    }
    assert_true(sum_of(BP_F16, steps, ones, 1, on) == 2048);
    assert_true(sum_of(BP_F16, steps, ones, 1, F16 "=false") == 2050);
    /* Alpha is a number of f16 then. */
    const double alphas[] = {0.5, -3, 65504, 0x1p-24, 0x1.8p-15, 0.1, 1e6, -1e-9, 0x1.002p0};
    const double in_f16[] = {0.5, -3, 65504, 0x1p-24, 0x1.8p-15, 0x1.998p-4, (double)__builtin_inff(), 0, 0x1p0};
    const double unit[8] = {1};
    for (size_t i = 0; i < sizeof alphas / sizeof alphas[0]; i++) {
        assert_true(sum_of(BP_F16, unit, ones, alphas[i], on) == in_f16[i]);
    }
}

/* ---- Libraries and workspaces ---- */

static void preferred_library(void **state) {
    const gemm_case c = square(BP_F16);
    (void)state;
    const int lt = the_lt()->calls, classic = the_classic()->calls;
    assert_ok(run_gemm(&c, "cuda.preferred_blas_library=default"));
    assert_ok(run_gemm(&c, "cuda.preferred_blas_library=ck"));
    assert_ok(run_gemm(&c, "cuda.preferred_blas_library=cublaslt"));
    assert_int_equal(the_lt()->calls, lt + 3);
    assert_ok(run_gemm(&c, "cuda.preferred_blas_library=cublas"));
    assert_int_equal(the_classic()->calls, classic + 1);
    /* It runs what the preferred library cannot. */
    assert_ok(run_gemm(&c, BY_CLASSIC F16 "=false, " F16 "_split_k=false"));
    assert_int_equal(the_lt()->calls, lt + 4);
    the_lt()->empty_lists = true;
    assert_ok(run_gemm(&c, "cuda.preferred_blas_library=cublaslt, cuda.cublaslt_workspace_size=4096"));
    assert_int_equal(the_classic()->calls, classic + 2);
    assert_int_equal(run_gemm(&c, "dispatch.exclude=cublas"), BP_E_NO_CANDIDATE);
    assert_ok(run_gemm(&c, "dispatch.exclude=cublaslt"));
}

static void workspaces(void **state) {
    gemm_case c = square(BP_F32);
    (void)state;
    c.m = 12; /* a product that no other test has planned */
    assert_ok(run_gemm(&c, "num_threads=1"));
    assert_true(the_lt()->most_workspace == 32 << 20);
    c.device = 1; /* sm_80 */
    assert_ok(run_gemm(&c, "num_threads=1"));
    assert_true(the_lt()->most_workspace == 4 << 20);
    assert_ok(run_gemm(&c, BY_CLASSIC "num_threads=1"));
    assert_true(the_classic()->told.workspace == 4 << 20);
    assert_ok(run_gemm(&c, "cuda.cublaslt_workspace_size=65536, cuda.cublas_workspace_size=4096"));
    assert_true(the_lt()->most_workspace == 65536);
    assert_ok(run_gemm(&c, BY_CLASSIC "cuda.cublaslt_workspace_size=65536, cuda.cublas_workspace_size=8192"));
    assert_true(the_classic()->told.workspace == 8192);
    /* Without memory for parts of k there are none. */
    assert_ok(run_gemm(&c, "cuda.cublaslt_workspace_size=100"));
    assert_int_equal(the_lt()->told.splits, 1);
}

/* ---- Explanations ---- */

static void explanations_have_the_words(void **state) {
    gemm_case c = square(BP_F32);
    (void)state;
    assert_contains(explained(&c, "num_threads=1"),
                    "CUBLAS_COMPUTE_32F, any reduction, workspace of at most 32768 KiB");
    assert_contains(explained(&c, "cuda.matmul.allow_tf32=true"), "CUBLAS_COMPUTE_32F_FAST_TF32");
    assert_contains(explained(&c, "cuda.matmul.allow_tf32=true"), "precision tf32 by cuda.matmul.fp32_precision=tf32");
    assert_contains(explained(&c, "deterministic=run"), "no reduction in place");
    assert_contains(explained(&c, BY_CLASSIC "num_threads=1"),
                    "ranked behind the library that cuda.preferred_blas_library names");
    c.dtype = BP_F16;
    assert_contains(explained(&c, F16 "=false"), "parts of k are added in the type of the sum");
    const char *split = explained(&c, F16 "=false, " F16 "_split_k=false");
    assert_contains(split, "k is not split");
    assert_contains(split, "only cuBLASLt can be told not to split k");
    assert_contains(explained(&c, "cuda.matmul.allow_fp16_accumulation=true"), "CUBLAS_COMPUTE_16F");
}

static void explanations_list_the_heuristic(void **state) {
    const gemm_case c = square(BP_F16);
    (void)state;
    const char *text = explained(&c, "explain.all=true");
    assert_contains(text, "heuristic0");
    assert_contains(text, "algorithm 66, tile 20, stages 20, split-k 4, reduction 4");
    assert_contains(text, "heuristic3");
    assert_contains(text, "algorithm 1, tile 20, stages 20, split-k 1, reduction 0, workspace of 0 bytes");
    assert_null(strstr(text, "heuristic4"));
    assert_null(strstr(explained(&c, "num_threads=1"), "heuristic0"));
    the_lt()->refuse_lists = BP__CUBLAS_STATUS_INTERNAL_ERROR;
    assert_null(strstr(explained(&c, "explain.all=true"), "heuristic0"));
}

/* A GPU that is described only, and has no TF32. */
static void older_gpus(void **state) {
    static char record[8192];
    (void)state;
    int32_t place;
    assert_ok(bp_device_record(cuda_place(0), record, sizeof record, NULL));
    char *capability = strstr(record, "\"capability\": 900");
    assert_non_null(capability);
    memcpy(capability + strlen("\"capability\": "), "750", 3);
    assert_ok(bp_device_load(record, &place));
    const int64_t shape[] = {8, 8};
    bp_view a;
    bp_options *options;
    bp_explanation *e;
    assert_ok(bp_view_init(&a, NULL, BP_F32, 2, shape, NULL));
    DLTensor tensor = a.tensor;
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(place, &info));
    tensor.device = (DLDevice){(DLDeviceType)info.type, info.index};
    assert_ok(bp_options_new(&options, "cuda.matmul.allow_tf32=true, explain.all=true"));
    assert_ok(bp_matmul_explain(&e, options, &tensor, &tensor, &tensor));
    assert_contains(bp_explanation_text(e), "CUBLAS_COMPUTE_32F, any reduction, workspace of at most 4096 KiB");
    bp_explanation_release(e);
    bp_options_release(options);
}

/* ---- Effects ---- */

static void settings_have_an_effect(void **state) {
    static const char *const with[] = {"cuda.matmul.fp32_precision",
                                       "cuda.matmul.allow_tf32",
                                       F16,
                                       F16 "_split_k",
                                       BF16,
                                       BF16 "_split_k",
                                       "cuda.matmul.allow_fp16_accumulation",
                                       "cuda.preferred_blas_library",
                                       "cuda.preferred_linalg_library",
                                       "cuda.cublas_workspace_size",
                                       "cuda.cublaslt_workspace_size",
                                       "cuda.cufft_plan_cache.max_size"};
    static const char *const without[] = {"cuda.matmul.prefer_cublaslt_grouped_gemm", "cuda.preferred_rocm_fa_library",
                                          "cuda.fp16_bf16_reduction_math_sdp", "cudnn.allow_tf32"};
    const char *why;
    bp_backend_info info = {.struct_size = sizeof info};
    (void)state;
    assert_ok(bp_backend_status("cuda", &info));
    assert_true(info.built && info.present && info.available && info.enabled);
    assert_string_equal(info.version, "13.1.0");
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
}

static void no_effect_without_a_device(void **state) {
    const char *why;
    bp_backend_info info = {.struct_size = sizeof info};
    (void)state;
    setenv("CUDA_DOUBLE", "devices=0", 1);
    assert_ok(bp_reset());
    assert_ok(bp_backend_status("cuda", &info));
    assert_true(info.built && info.present && !info.available && !info.enabled);
    assert_contains(info.reason, "cuda");
    assert_false(bp_setting_has_effect("cuda.matmul.allow_tf32", &why));
    assert_string_equal(why, info.reason);
    unsetenv("CUDA_DOUBLE");
    assert_ok(bp_reset());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(precision_of_f32, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(tf32_changes_values, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(reductions, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(reductions_change_values, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(accumulation_in_f16, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(preferred_library, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(workspaces, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(explanations_have_the_words, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(explanations_list_the_heuristic, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(older_gpus, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(settings_have_an_effect, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(no_effect_without_a_device, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("settings", tests, start_cublas, stop_cublas);
}
