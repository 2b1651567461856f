/* test_precision.c - tests precision settings and their aliases: reading resolves, stored values stay unresolved. */
#include "settings/support_settings.h"

static void assert_reads(const char *name, const char *value, const char *node) {
    const char *got, *got_node;
    assert_int_equal(bp_get(name, &got, NULL, NULL), BP_OK);
    assert_int_equal(bp_get_deciding_setting(name, &got_node), BP_OK);
    if (strcmp(got, value) != 0 || strcmp(got_node, node) != 0) {
        fail_msg("%s reads '%s' from %s instead of '%s' from %s", name, got, got_node, value, node);
    }
}

static void set(const char *name, const char *value) {
    assert_int_equal(bp_set(name, value), BP_OK);
}

#define GENERIC "fp32_precision"
#define CUDA "cudnn.fp32_precision"
#define CPU "mkldnn.fp32_precision"
#define CUDA_MATMUL "cuda.matmul.fp32_precision"
#define CUDA_CONV "cudnn.conv.fp32_precision"
#define CUDA_RNN "cudnn.rnn.fp32_precision"
#define CPU_MATMUL "mkldnn.matmul.fp32_precision"
#define CPU_CONV "mkldnn.conv.fp32_precision"

static void settings_inherit_from_their_parents(void **state) {
    (void)state;
    assert_reads(CUDA_CONV, "tf32", CUDA_CONV);
    assert_reads(CUDA_MATMUL, "none", CUDA_MATMUL);
    set(GENERIC, "ieee");
    assert_reads(CUDA_CONV, "ieee", GENERIC); /* a set parent overrides a default */
    assert_reads(CUDA_RNN, "ieee", GENERIC);
    assert_reads(CUDA, "ieee", GENERIC);
    assert_reads(CPU_MATMUL, "ieee", GENERIC);
    set(CPU, "bf16");
    assert_reads(CPU_MATMUL, "bf16", CPU);
    assert_reads(CUDA_MATMUL, "ieee", GENERIC);
    set(CPU_MATMUL, "tf32");
    assert_reads(CPU_MATMUL, "tf32", CPU_MATMUL);
    assert_reads(CPU_CONV, "bf16", CPU);
    set(CPU_MATMUL, "none");
    assert_reads(CPU_MATMUL, "bf16", CPU);
    assert_int_equal(bp_unset(CPU), BP_OK);
    assert_reads(CPU_MATMUL, "ieee", GENERIC);
    assert_int_equal(bp_unset(GENERIC), BP_OK);
    assert_reads(CPU_MATMUL, "none", CPU_MATMUL);
    assert_reads(CUDA_CONV, "tf32", CUDA_CONV);
    set(CUDA_CONV, "none"); /* set explicitly, it is no default any more */
    assert_reads(CUDA_CONV, "none", CUDA_CONV);
}

/* The value read with one load equals the value found by a search, also if the stored value equals the default. */
static void assert_outcome(const char *value) {
    bp_scope *scope;
    assert_string_equal(bp_get_cudnn_conv_fp32_precision(), value);
    assert_int_equal(bp_scope_enter(&scope, "num_threads=1"), BP_OK);
    assert_string_equal(bp_get_cudnn_conv_fp32_precision(), value);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void a_stored_default_is_a_set_value(void **state) {
    (void)state;
    set(GENERIC, "ieee");
    assert_outcome("ieee");
    uint64_t epoch = bp__settings_epoch();
    set(CUDA_CONV, "tf32");
    assert_true(bp__settings_epoch() != epoch);
    assert_outcome("tf32");
    assert_int_equal(bp_unset(CUDA_CONV), BP_OK);
    assert_outcome("ieee");
    set("cudnn.allow_tf32", "true");
    assert_int_equal(bp_get_cudnn_allow_tf32(), 1);
    assert_outcome("tf32");
    set(CUDA_CONV, "ieee");
    set(CUDA_CONV, "tf32");
    assert_int_equal(bp_unset(CUDA_CONV), BP_OK);
    assert_outcome("ieee");
}

static void words_missing_in_a_backend_become_none(void **state) {
    (void)state;
    set(GENERIC, "bf16");
    assert_reads(CUDA_MATMUL, "none", GENERIC);
    assert_reads(CPU_MATMUL, "bf16", GENERIC);
    assert_string_equal(bp_get_mkldnn_matmul_fp32_precision(), "bf16"); /* typed readers resolve, too */
    assert_int_equal(bp_set(CUDA_MATMUL, "bf16"), BP_E_BAD_VALUE);
    assert_int_equal(bp_set(CUDA_CONV, "bf16"), BP_E_BAD_VALUE);
    set(CUDA_MATMUL, "bfx9");
    assert_reads(CUDA_MATMUL, "bfx9", CUDA_MATMUL);
}

/* Leaving a scope leaves no inherited value. */
static void scopes_restore_what_was_stored(void **state) {
    (void)state;
    bp_scope *scope;
    set(GENERIC, "tf32");
    assert_int_equal(bp_scope_enter(&scope, "mkldnn.matmul.fp32_precision=ieee"), BP_OK);
    assert_reads(CPU_MATMUL, "ieee", CPU_MATMUL);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_reads(CPU_MATMUL, "tf32", GENERIC);
    set(GENERIC, "ieee");
    assert_reads(CPU_MATMUL, "ieee", GENERIC);
    assert_int_equal(bp_scope_enter(&scope, "fp32_precision=bf16"), BP_OK);
    assert_reads(CPU_MATMUL, "bf16", GENERIC);
    assert_setting(CPU_MATMUL, "bf16", BP_LAYER_SCOPE, "fp32_precision=bf16");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_reads(CPU_MATMUL, "ieee", GENERIC);
}

typedef struct writing {
    const char *name, *value;
    const char *effects[3][2];
} writing;

static const writing writings[] = {
    {"float32_matmul_precision", "highest", {{CUDA_MATMUL, "ieee"}, {CPU_MATMUL, "ieee"}}},
    {"float32_matmul_precision", "high", {{CUDA_MATMUL, "tf32"}, {CPU_MATMUL, "tf32"}}},
    {"float32_matmul_precision", "medium", {{CUDA_MATMUL, "tf32"}, {CPU_MATMUL, "bf16"}}},
    {"cuda.matmul.allow_tf32", "true", {{CUDA_MATMUL, "tf32"}, {"float32_matmul_precision", "high"}}},
    {"cuda.matmul.allow_tf32", "false", {{CUDA_MATMUL, "ieee"}, {"float32_matmul_precision", "highest"}}},
    {"cudnn.allow_tf32", "false", {{CUDA_CONV, "ieee"}, {CUDA_RNN, "ieee"}}},
    {"cudnn.allow_tf32", "true", {{CUDA_CONV, "tf32"}, {CUDA_RNN, "tf32"}, {CUDA_MATMUL, "none"}}},
    {"mkldnn.allow_tf32", "true", {{CPU, "tf32"}, {CPU_MATMUL, "tf32"}}},
    {"mkldnn.allow_tf32", "false", {{CPU, "ieee"}, {CPU_MATMUL, "ieee"}}},
    {"deterministic_debug_mode", "default", {{"deterministic_algorithms", "false"}}},
    {"deterministic_debug_mode",
     "warn",
     {{"deterministic_algorithms", "true"}, {"deterministic_algorithms.warn_only", "true"}}},
    {"deterministic_debug_mode",
     "error",
     {{"deterministic_algorithms", "true"}, {"deterministic_algorithms.warn_only", "false"}}},
};

static void aliases_write_their_targets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof writings / sizeof writings[0]; i++) {
        const writing *w = &writings[i];
        const char *value;
        set(w->name, w->value);
        assert_int_equal(bp_get(w->name, &value, NULL, NULL), BP_OK);
        assert_string_equal(value, w->value);
        for (int j = 0; j < 3 && w->effects[j][0]; j++) {
            assert_int_equal(bp_get(w->effects[j][0], &value, NULL, NULL), BP_OK);
            if (strcmp(value, w->effects[j][1]) != 0) {
                fail_msg("after %s=%s, %s is '%s'", w->name, w->value, w->effects[j][0], value);
            }
        }
        assert_int_equal(bp_unset(w->name), BP_OK);
        assert_int_equal(bp_get_layer(w->effects[0][0], BP_LAYER_PROCESS, &value, NULL), BP_OK);
        assert_null(value);
    }
}

/* Every mixture of precision settings can be read. */
static void aliases_read_any_mixture(void **state) {
    (void)state;
    static const char *const cuda[] = {"none", "ieee", "tf32", "bfx9"}, *const cpu[] = {"none", "ieee", "tf32", "bf16"};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            set(CUDA_MATMUL, cuda[i]);
            set(CPU_MATMUL, cpu[j]);
            const char *value = bp_get_float32_matmul_precision();
            assert_string_equal(value, j == 3 ? "medium" : i >= 2 || j == 2 ? "high" : "highest");
            assert_int_equal(bp_get_cuda_matmul_allow_tf32(), i == 2);
        }
    }
    set(CUDA_CONV, "tf32");
    set(CUDA_RNN, "ieee");
    assert_int_equal(bp_get_cudnn_allow_tf32(), 0);
    set(GENERIC, "tf32");
    set(CUDA_RNN, "none");
    assert_int_equal(bp_get_cudnn_allow_tf32(), 1); /* inherited */
    assert_int_equal(bp_get_mkldnn_allow_tf32(), 1);
}

static void a_target_is_given_once(void **state) {
    (void)state;
    bp_options *options;
    bp_scope *scope;
    assert_int_equal(bp_options_new(&options, "cuda.matmul.allow_tf32=1, float32_matmul_precision=high"),
                     BP_E_BAD_VALUE);
    assert_contains(bp_last_error(), "cuda.matmul.fp32_precision is given twice, as cuda.matmul.allow_tf32 and as "
                                     "float32_matmul_precision");
    assert_int_equal(bp_options_new(&options, "cuda.matmul.allow_tf32=1, cuda.matmul.allow_tf32=1"), BP_E_BAD_VALUE);
    assert_contains(bp_last_error(), "cuda.matmul.allow_tf32 is given twice");
    /* A setting's own name overrides an alias, in either order. */
    static const char *const both[] = {"cuda.matmul.allow_tf32=1, cuda.matmul.fp32_precision=ieee",
                                       "cuda.matmul.fp32_precision=ieee, cuda.matmul.allow_tf32=1"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bp_scope_enter(&scope, both[i]), BP_OK);
        assert_reads(CUDA_MATMUL, "ieee", CUDA_MATMUL);
        assert_int_equal(bp_scope_leave(&scope), BP_OK);
    }
}

static void variables_of_pytorch(void **state) {
    (void)state;
    setenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1", 1);
    setenv("TORCH_BLAS_PREFER_CUBLASLT", "0", 1);
    setenv("TORCH_LINALG_PREFER_CUSOLVER", "0", 1); /* has no meaning */
    reset_settings();
    assert_setting(CUDA_MATMUL, "tf32", BP_LAYER_ENVIRONMENT, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE");
    assert_setting("cuda.matmul.allow_tf32", "true", BP_LAYER_ENVIRONMENT, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE");
    assert_setting("cuda.preferred_blas_library", "cublas", BP_LAYER_ENVIRONMENT, "TORCH_BLAS_PREFER_CUBLASLT");
    assert_setting("cuda.preferred_linalg_library", "default", BP_LAYER_DEFAULT, "");
    assert_int_equal(problem_count(), 0);
    set("cuda.matmul.allow_tf32", "false"); /* values set by the program override the environment */
    assert_reads(CUDA_MATMUL, "ieee", CUDA_MATMUL);
    setenv("BACKPLANE_CUDA_MATMUL_FP32_PRECISION", "bfx9", 1);
    reset_settings();
    assert_setting(CUDA_MATMUL, "bfx9", BP_LAYER_ENVIRONMENT, "BACKPLANE_CUDA_MATMUL_FP32_PRECISION");
    assert_int_equal(problem_count(), 1);
    assert_contains(bp_config_error_at(0), "is given twice");
    unsetenv("BACKPLANE_CUDA_MATMUL_FP32_PRECISION");
    unsetenv("TORCH_BLAS_PREFER_CUBLASLT");
    setenv("TORCH_BLAS_PREFER_CUBLASLT", "yes", 1);
    setenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "0", 1); /* as if it were unset */
    reset_settings();
    assert_setting(CUDA_MATMUL, "none", BP_LAYER_DEFAULT, "");
    assert_setting("cuda.preferred_blas_library", "default", BP_LAYER_DEFAULT, "");
}

static void lists_contain_known_words_once(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      ",",
                                      "math,",
                                      ",math",
                                      "math,,flash",
                                      "mat",
                                      "math flash",
                                      "math,math",
                                      "flash,math,flash",
                                      "flash,efficient,math,cudnn,overrideable,math"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(bp_set("cuda.sdp_priority", bad[i]), BP_E_BAD_VALUE);
        assert_contains(bp_last_error(), "each once: flash,efficient");
    }
    set("cuda.sdp_priority", "cudnn,math");
    assert_string_equal(bp_get_cuda_sdp_priority(), "cudnn,math");
}

static void sizes_of_workspaces(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", ":16", ":16:", "16:8", ":16:8:", ":a:8", ":16:8x", ":0:0", ":99999999999:1", ":2147483647:2147483647"};
    setenv("CUBLAS_WORKSPACE_CONFIG", ":128:8:64:16:32:32", 1);
    setenv("CUBLASLT_WORKSPACE_SIZE", "1024", 1);
    reset_settings();
    assert_int_equal(bp_get_cuda_cublas_workspace_size(), 3072 * 1024);
    assert_int_equal(bp_get_cuda_cublaslt_workspace_size(), 1024 * 1024);
    assert_int_equal(problem_count(), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("CUBLAS_WORKSPACE_CONFIG", bad[i], 1);
        setenv("CUBLASLT_WORKSPACE_SIZE", "1x", 1);
        reset_settings();
        assert_setting("cuda.cublas_workspace_size", "0", BP_LAYER_DEFAULT, "");
        assert_setting("cuda.cublaslt_workspace_size", "0", BP_LAYER_DEFAULT, "");
        assert_int_equal(problem_count(), *bad[i] ? 2 : 1);
    }
}

static void invalid_arguments(void **state) {
    (void)state;
    const char *node;
    assert_int_equal(bp_get_deciding_setting("fp32_precisoin", &node), BP_E_UNKNOWN_NAME);
    assert_contains(bp_last_error(), "fp32_precision");
    assert_int_equal(bp_get_deciding_setting(NULL, &node), BP_E_ARGUMENT);
    assert_int_equal(bp_get_deciding_setting("verbose", NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_get_deciding_setting("verbose", &node), BP_OK);
    assert_string_equal(node, "verbose");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, enter_environment, leave_environment)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(settings_inherit_from_their_parents),
        IN_WORLD(words_missing_in_a_backend_become_none),
        IN_WORLD(scopes_restore_what_was_stored),
        IN_WORLD(aliases_write_their_targets),
        IN_WORLD(aliases_read_any_mixture),
        IN_WORLD(a_target_is_given_once),
        IN_WORLD(variables_of_pytorch),
        IN_WORLD(invalid_arguments),
        IN_WORLD(sizes_of_workspaces),
        IN_WORLD(a_stored_default_is_a_set_value),
        IN_WORLD(lists_contain_known_words_once),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
