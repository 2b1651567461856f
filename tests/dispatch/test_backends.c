/* test_backends.c - the backends of torch.backends: every name is known, the fields are true, and the settings have an
 * effect. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bp_backend_info status_of(const char *name) {
    bp_backend_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_backend_status(name, &info), BP_OK);
    assert_string_equal(info.name, name);
    return info;
}

/* Relations that hold for every backend on any machine. */
static void backend_fields_are_consistent(void **state) {
    (void)state;
    bp_backend_info info = {.struct_size = sizeof info};
    int count = 0;
    for (; bp_backend_at(count, &info); count++) {
        assert_true(info.available <= (info.built && info.present));
        assert_true(info.enabled <= info.available);
        assert_true((info.reason[0] == 0) == (info.available != 0));
        assert_true(info.version_number >= 0 && (info.version_number == 0 || info.version[0]));
        if (info.setting[0]) {
            const char *value;
            assert_int_equal(bp_get(info.setting, &value, NULL, NULL), BP_OK);
        }
        bp_backend_info again = status_of(info.name);
        assert_string_equal(again.reason, info.reason);
    }
    assert_true(count >= 17);
    assert_int_equal(bp_backend_at(-1, &info), 0);
    assert_int_equal(bp_backend_at(count, &info), 0);
    assert_int_equal(bp_backend_at(0, NULL), 0);
    info.struct_size = 1;
    assert_int_equal(bp_backend_at(0, &info), 0);
}

static void names_of_pytorch_are_known(void **state) {
    (void)state;
    static const char *const names[] = {"cpu",        "cuda",      "cudnn",   "cusparselt", "kleidiai", "mha",
                                        "miopen",     "mkl",       "mkldnn",  "mps",        "nnpack",   "openmp",
                                        "opt_einsum", "quantized", "xnnpack", "xpu",        "mtia"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        status_of(names[i]);
    }
    assert_true(status_of("cpu").enabled);
    assert_string_equal(status_of("cpu").version, bp_version());
    assert_false(status_of("mps").built);
    bp_backend_info einsum = status_of("opt_einsum"); /* always built and available */
    assert_true(einsum.built && einsum.present && einsum.available && einsum.enabled);
    assert_string_equal(einsum.reason, "");
    assert_string_equal(einsum.version, bp_version());
    assert_non_null(strstr(status_of("mps").reason, "no provider for Apple's Metal"));
}

static void invalid_queries_are_refused(void **state) {
    (void)state;
    bp_backend_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_backend_status("cudn", &info), BP_E_UNKNOWN_NAME);
    assert_non_null(strstr(bp_last_error(), "cudnn"));
    assert_int_equal(bp_backend_status(NULL, &info), BP_E_ARGUMENT);
    assert_int_equal(bp_backend_status("mkl", NULL), BP_E_ARGUMENT);
    info.struct_size = 3;
    assert_int_equal(bp_backend_status("mkl", &info), BP_E_ARGUMENT);
}

/* Every listed library is reported with its state. */
static void libraries_are_reported(void **state) {
    (void)state;
    bp_library_info row = {.struct_size = sizeof row};
    bp_backend_info mkl = status_of("mkl"), cudnn = status_of("cudnn");
    if (bp_library_find("mkl", &row) == BP_OK) {
        assert_true(mkl.present && mkl.version_number > 20000000);
        assert_string_equal(mkl.version, row.version);
    } else {
        assert_false(mkl.present);
        assert_non_null(strstr(mkl.reason, "mkl"));
    }
    row.struct_size = sizeof row;
    assert_true(cudnn.available || strlen(cudnn.reason) > 10);
    if (bp_library_find("cudnn", &row) == BP_OK && row.version[0] == '9') {
        assert_in_range(cudnn.version_number, 90000, 99999);
        assert_true(cudnn.present);
    } else {
        print_message("skipped: cuDNN 9 is not installed\n");
    }
}

static const char *chosen_under(const char *settings) {
    static double memory[3];
    static char library[64];
    const int64_t shape[] = {1, 1};
    bp_view a, b, c;
    bp_options *options;
    bp_explanation *e;
    bp_view_init(&a, &memory[0], BP_F64, 2, shape, NULL);
    bp_view_init(&b, &memory[1], BP_F64, 2, shape, NULL);
    bp_view_init(&c, &memory[2], BP_F64, 2, shape, NULL);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_candidate_info info = {.struct_size = sizeof info};
    library[0] = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        snprintf(library, info.chosen ? sizeof library : 0, "%s", info.library);
    }
    bp_explanation_release(e);
    bp_options_release(options);
    return library;
}

/* mkl.enabled and openmp.enabled keep dispatch from their libraries. */
static void disabled_backend_is_not_chosen(void **state) {
    (void)state;
    bp_backend_info mkl = status_of("mkl"), openmp = status_of("openmp");
    if (!mkl.available) {
        print_message("skipped: there is no MKL to switch off\n");
    } else {
        assert_true(mkl.enabled);
        assert_string_equal(chosen_under("blas.preferred=mkl"), "mkl");
        assert_string_not_equal(chosen_under("blas.preferred=mkl, mkl.enabled=false"), "mkl");
        bp_scope *scope;
        assert_int_equal(bp_scope_enter(&scope, "mkl.enabled=false"), BP_OK);
        assert_true(status_of("mkl").available && !status_of("mkl").enabled);
        assert_int_equal(bp_scope_leave(&scope), BP_OK);
    }
    bp_library_info row = {.struct_size = sizeof row};
    if (!openmp.available || bp_library_find("openblas-openmp", &row) != BP_OK) {
        print_message("skipped: there is no OpenBLAS on OpenMP to switch off\n");
    } else {
        assert_string_equal(chosen_under("blas.preferred=openblas-openmp"), "openblas-openmp");
        assert_string_not_equal(chosen_under("blas.preferred=openblas-openmp, openmp.enabled=false"),
                                "openblas-openmp");
    }
}

static void settings_report_whether_they_have_an_effect(void **state) {
    (void)state;
    static const char *const answered[] = {"num_threads",
                                           "plan_cache.max_size",
                                           "fp32_precision",
                                           "mkldnn.allow_tf32",
                                           "mkldnn.matmul.fp32_precision",
                                           "float32_matmul_precision",
                                           "mkl.enabled",
                                           "deterministic_algorithms",
                                           "registry.cache",
                                           "simulate.tf32",
                                           "opt_einsum.enabled",
                                           "opt_einsum.strategy",
                                           "mkldnn.enabled",
                                           "mkldnn.conv.fp32_precision",
                                           "mkldnn.deterministic",
                                           "conv.benchmark",
                                           "cuda.flash_sdp",
                                           "cuda.sdp_priority"};
    static const char *const not_answered[] = {"cudnn.benchmark",
                                               "cuda.preferred_linalg_library",
                                               "cuda.fp16_bf16_reduction_math_sdp",
                                               "cuda.matmul.prefer_cublaslt_grouped_gemm",
                                               "cuda.cufft_plan_cache.max_size",
                                               "mkldnn.rnn.fp32_precision",
                                               "mha.fastpath",
                                               "fill_uninitialized_memory",
                                               "quantized.engine",
                                               "xnnpack.enabled"};
    const char *why;
    for (size_t i = 0; i < sizeof answered / sizeof answered[0]; i++) {
        if (!bp_setting_has_effect(answered[i], &why) || why[0]) {
            fail_msg("nothing answers to %s: %s", answered[i], why);
        }
    }
    for (size_t i = 0; i < sizeof not_answered / sizeof not_answered[0]; i++) {
        assert_int_equal(bp_setting_has_effect(not_answered[i], &why), 0);
        assert_true(strlen(why) > 10);
        assert_int_equal(bp_setting_has_effect(not_answered[i], NULL), 0);
    }
    /* Providers of CUDA and ROCm get these. Without a device of CUDA none has an effect; with one, products, linear
     * algebra and convolutions have some. */
    const int device = status_of("cuda").available, cudnn = status_of("cudnn").available;
    int cuda = 0;
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const bp_setting_info *row = bp_setting_at(i);
        if ((row->flags & BP_SETTING_CUDA) && !(row->flags & BP_SETTING_POLICY)) {
            cuda++;
            const int run = strstr(row->affects, "product") || strstr(row->affects, "linear algebra");
            const int product = strncmp(row->name, "cuda.", 5) == 0 && run;
            const int conv = strncmp(row->name, "cudnn.", 6) == 0 && !strstr(row->affects, "recurrent");
            const int read = (device && product) || (cudnn && conv);
            assert_int_equal(bp_setting_has_effect(row->name, &why), read);
            assert_true((why[0] != 0) != (read != 0));
        }
    }
    assert_int_equal(cuda, 20);
    assert_int_equal(bp_setting_has_effect("no such name", &why), 1);
    assert_int_equal(bp_setting_has_effect(NULL, &why), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backend_fields_are_consistent),  cmocka_unit_test(names_of_pytorch_are_known),
        cmocka_unit_test(invalid_queries_are_refused),    cmocka_unit_test(libraries_are_reported),
        cmocka_unit_test(disabled_backend_is_not_chosen), cmocka_unit_test(settings_report_whether_they_have_an_effect),
    };
    return cmocka_run_group_tests_name("backends", tests, NULL, NULL);
}
