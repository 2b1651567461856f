/* test_values.c - tests names and values that are almost right, wrong, or hostile. */
#include "settings/support_settings.h"

static void unknown_names_get_suggestions(void **state) {
    (void)state;
    const char *value = "untouched";
    assert_int_equal(bp_setting_find("num_thread"), -1);
    assert_int_equal(bp_last_status(), BP_E_UNKNOWN_NAME);
    assert_contains(bp_last_error(), "did you mean 'num_threads'");
    assert_int_equal(bp_get("fallback", &value, NULL, NULL), BP_E_UNKNOWN_NAME);
    assert_contains(bp_last_error(), "dispatch.fallback");
    assert_string_equal(value, "untouched");
    assert_int_equal(bp_set("zzzzzzzzz", "1"), BP_E_UNKNOWN_NAME);
    assert_contains(bp_last_error(), "backplane settings");
    assert_int_equal(bp_unset(""), BP_E_UNKNOWN_NAME);
    assert_int_equal(bp_get_layer("NUM_THREADS", BP_LAYER_DEFAULT, &value, NULL), BP_E_UNKNOWN_NAME);
    assert_int_equal(bp_set("\x1b[31m\xFF", "1"), BP_E_UNKNOWN_NAME);
    assert_contains(bp_last_error(), "\\x1b[31m\\xff"); /* raw bytes are never written to a terminal */
    assert_int_equal(bp_save_setting("nope", "1"), BP_E_UNKNOWN_NAME);
}

static void null_arguments_are_errors(void **state) {
    (void)state;
    const char *value;
    assert_int_equal(bp_setting_find(NULL), -1);
    assert_int_equal(bp_last_status(), BP_E_ARGUMENT);
    assert_int_equal(bp_get(NULL, &value, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_get("verbose", NULL, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_get_layer("verbose", BP_LAYER_DEFAULT, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_get_layer("verbose", BP_LAYER_COUNT, &value, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_get_layer("verbose", (bp_layer)-1, &value, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_set(NULL, "1"), BP_E_ARGUMENT);
    assert_int_equal(bp_set("verbose", NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_unset(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_save_setting(NULL, "1"), BP_E_ARGUMENT);
    assert_int_equal(bp_user_config_path(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_options_new(NULL, ""), BP_E_ARGUMENT);
    bp_options *options = (bp_options *)1;
    assert_int_equal(bp_options_new(&options, NULL), BP_E_ARGUMENT);
    assert_null(options);
    bp_options_release(NULL);
    bp_scope *scope = (bp_scope *)1;
    assert_int_equal(bp_scope_enter(NULL, ""), BP_E_ARGUMENT);
    assert_int_equal(bp_scope_enter(&scope, NULL), BP_E_ARGUMENT);
    assert_null(scope);
    assert_int_equal(bp_scope_enter_options(NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_scope_enter_options(&scope, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_scope_leave(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_null(bp_config_error_at(-1));
    assert_string_equal(bp_layer_name((bp_layer)99), "unknown layer");
    assert_string_equal(bp_layer_name(BP_LAYER_USER_FILE), "user file");
}

static void integers_have_a_range(void **state) {
    (void)state;
    const char *const good[] = {"0", "1024", " 7 ", "+7", "\t8", "007"};
    const char *const wrong[] = {"-1", "1025", "", " ", "1 2", "0x10", "1.0", "99999999999999999999", "7\n", "seven"};
    for (int i = 0; i < BP__COUNT(good); i++) {
        assert_int_equal(bp_set("num_threads", good[i]), BP_OK);
    }
    assert_int_equal(bp_get_num_threads(), 7);
    for (int i = 0; i < BP__COUNT(wrong); i++) {
        assert_int_equal(bp_set("num_threads", wrong[i]), BP_E_BAD_VALUE);
        assert_contains(bp_last_error(), "from 0 to 1024");
    }
    assert_int_equal(bp_get_num_threads(), 7);
}

static void words_come_from_a_list(void **state) {
    (void)state;
    assert_int_equal(bp_set("dispatch.fallback", " Strict "), BP_OK);
    assert_string_equal(bp_get_dispatch_fallback(), "strict");
    assert_int_equal(bp__setting_int(BP_SET_dispatch_fallback), 0);
    assert_int_equal(bp_set("dispatch.fallback", "srtict"), BP_E_BAD_VALUE);
    assert_contains(bp_last_error(), "strict|warn|allow");
    assert_contains(bp_last_error(), "did you mean 'strict'?");
    assert_int_equal(bp_set("dispatch.fallback", "strict|warn"), BP_E_BAD_VALUE);
    assert_int_equal(bp_set("dispatch.fallback", "stric"), BP_E_BAD_VALUE);
    assert_int_equal(bp_set("dispatch.fallback", ""), BP_E_BAD_VALUE);
}

static void some_words_have_a_number(void **state) {
    (void)state;
    const char *const wrong[] = {"random-greedy-N", "random-greedy-",   "random-greedy-0",       "random-greedy--1",
                                 "random-greedy-x", "random-greedy-1x", "random-greedy-1000001", "random-greedy-+1",
                                 "random-greedy1",  "greedy-1",         "random-greedy- 1",      "-N"};
    const char *value;
    assert_int_equal(bp_set("opt_einsum.strategy", " Random-Greedy-0128 "), BP_OK);
    assert_setting("opt_einsum.strategy", "random-greedy-128", BP_LAYER_PROCESS, "");
    assert_string_equal(bp_get_opt_einsum_strategy(), "random-greedy-128");
    for (int i = 0; i < BP__COUNT(wrong); i++) {
        assert_int_equal(bp_set("opt_einsum.strategy", wrong[i]), BP_E_BAD_VALUE);
        assert_contains(bp_last_error(), "random-greedy-N");
    }
    assert_int_equal(bp_set_opt_einsum_strategy("random-greedy-1000000"), BP_OK);
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "opt_einsum.strategy=random-greedy-7"), BP_OK);
    assert_string_equal(bp_get_opt_einsum_strategy(), "random-greedy-7");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_get_layer("opt_einsum.strategy", BP_LAYER_PROCESS, &value, NULL), BP_OK);
    assert_string_equal(value, "random-greedy-1000000");
}

static void booleans_have_many_words(void **state) {
    (void)state;
    const char *const yes[] = {"true", "ON", "Yes", "1"}, *const no[] = {"false", "off", "NO", "0"};
    for (int i = 0; i < 4; i++) {
        bp__value value = 9;
        assert_int_equal(bp__value_parse(BP_SET_registry_system, yes[i], strlen(yes[i]), &value), BP_OK);
        assert_int_equal(value, 1);
        assert_int_equal(bp__value_parse(BP_SET_registry_system, no[i], strlen(no[i]), &value), BP_OK);
        assert_int_equal(value, 0);
    }
    bp__value value = 9;
    assert_int_equal(bp__value_parse(BP_SET_registry_system, "2", 1, &value), BP_E_BAD_VALUE);
    assert_int_equal(bp__value_parse(BP_SET_registry_system, "true\0x", 6, &value), BP_E_BAD_VALUE);
    assert_int_equal(value, 9);
}

static void texts_are_limited(void **state) {
    (void)state;
    static char endless[5000];
    memset(endless, 'x', sizeof endless - 1);
    endless[4095] = '\0';
    assert_int_equal(bp_set("blas.preferred", endless), BP_OK);
    assert_string_equal(bp_get_blas_preferred(), endless);
    endless[4095] = 'x';
    endless[4096] = '\0';
    assert_int_equal(bp_set("blas.preferred", endless), BP_E_BAD_VALUE);
    assert_int_equal(bp_set("blas.preferred", "a\nb"), BP_E_BAD_VALUE);
    assert_contains(bp_last_error(), "a\\x0ab");
    assert_int_equal(bp_set("blas.preferred", "\x7f"), BP_E_BAD_VALUE);
    assert_int_equal(strlen(bp_get_blas_preferred()), 4095);
    assert_int_equal(bp_set("blas.preferred", " \xC3\xA4\xFF "), BP_OK); /* unchanged */
    assert_string_equal(bp_get_blas_preferred(), " \xC3\xA4\xFF ");
    assert_int_equal(bp_set("blas.preferred", ""), BP_OK);
    assert_setting("blas.preferred", "", BP_LAYER_PROCESS, "");
    bp_unset("blas.preferred");
}

static bp_status no_avx512(bp_setting_id id, bp__value value, const char *text) {
    assert_int_equal(id, BP_SET_cpu_capability);
    assert_string_equal(bp__value_text(id, value), text);
    return strcmp(text, "avx512") == 0 ? bp__fail(BP_E_UNSUPPORTED, "cpu.capability: this processor has no AVX-512")
                                       : BP_OK;
}

static void hardware_is_checked(void **state) {
    (void)state;
    bp__setting_set_check(BP_SET_cpu_capability, no_avx512);
    setenv("ATEN_CPU_CAPABILITY", "avx512", 1);
    write_file(user_path, "cpu.capability = AVX2\n");
    assert_int_equal(bp_set("cpu.capability", "avx512"), BP_E_UNSUPPORTED);
    assert_string_equal(bp_get_cpu_capability(), "avx2");
    assert_int_equal(problem_count(), 1);
    assert_contains(bp_config_error_at(0), "ATEN_CPU_CAPABILITY: cpu.capability: this processor has no AVX-512");
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "cpu.capability=avx512"), BP_E_UNSUPPORTED);
    assert_int_equal(bp_save_setting("cpu.capability", "avx512"), BP_E_UNSUPPORTED);
    bp__setting_set_check(BP_SET_cpu_capability, NULL);
}

/* A check that is registered after the layers were read removes the values that it refuses. */
static void late_checks_apply_too(void **state) {
    (void)state;
    setenv("BACKPLANE_CPU_CAPABILITY", "avx512", 1);
    assert_string_equal(bp_get_cpu_capability(), "avx512");
    uint64_t epoch = bp__settings_epoch();
    bp__fail(BP_E_IO, "from before");
    bp__setting_set_check(BP_SET_cpu_capability, no_avx512);
    assert_string_equal(bp_last_error(), "from before");
    assert_setting("cpu.capability", "auto", BP_LAYER_DEFAULT, "");
    assert_true(bp__settings_epoch() != epoch);
    assert_int_equal(problem_count(), 1);
    assert_contains(bp_config_error_at(0), "BACKPLANE_CPU_CAPABILITY");
    bp__setting_set_check(BP_SET_cpu_capability, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_names_get_suggestions, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(null_arguments_are_errors, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(integers_have_a_range, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(words_come_from_a_list, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(some_words_have_a_number, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(booleans_have_many_words, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(texts_are_limited, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(hardware_is_checked, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(late_checks_apply_too, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
