/* test_memory.c - calls every public function of settings while the n-th allocation fails, for every n: it succeeds, or
 * it reports lack of memory, changes nothing, and leaks nothing. */
#include "settings/support_settings.h"

#include "support/failing.h"

static bp_options *made;
static bp_scope *scope;

/* The calls under test. Each frees what it got, so that only a leak can remain. */
static bp_status try_get(void) {
    const char *value, *where;
    return bp_get("num_threads", &value, NULL, &where);
}

static bp_status try_get_layer(void) {
    const char *value, *where;
    return bp_get_layer("verbose", BP_LAYER_USER_FILE, &value, &where);
}

static bp_status try_set(void) {
    return bp_set("blas.preferred", "openblas");
}

static bp_status try_set_number(void) {
    return bp_set_num_threads(12);
}

static bp_status try_unset(void) {
    return bp_unset("verbose");
}

static bp_status try_options(void) {
    bp_status status = bp_options_new(&made, "num_threads=3, dispatch.exclude=\"blis,netlib\"");
    bp_options_release(made);
    return status;
}

static bp_status try_scope(void) {
    bp_status status = bp_scope_enter(&scope, "num_threads=3, blas.preferred=mkl");
    return status == BP_OK ? bp_scope_leave(&scope) : status;
}

static bp_status try_scope_by_options(void) {
    bp_status status = bp_options_new(&made, "blas.preferred=mkl");
    if (status == BP_OK) {
        status = bp_scope_enter_options(&scope, made);
        bp_options_release(made);
        bp_scope_leave(&scope);
    }
    return status;
}

static bp_status try_user_file(void) {
    const char *path;
    return bp_user_config_path(&path);
}

static bp_status try_save(void) {
    return bp_save_setting("trace", "somewhere #else");
}

static const struct {
    const char *name;
    bp_status (*call)(void);
} calls[] = {
    {"bp_get", try_get},
    {"bp_get_layer", try_get_layer},
    {"bp_set", try_set},
    {"bp_set_num_threads", try_set_number},
    {"bp_unset", try_unset},
    {"bp_options_new", try_options},
    {"bp_scope_enter", try_scope},
    {"bp_scope_enter_options", try_scope_by_options},
    {"bp_user_config_path", try_user_file},
    {"bp_save_setting", try_save},
};

static const char *const file_before = "# kept\nnum_threads = 5\nverbose = 9\n";

/* Checks what must hold after a failed call. The allocator works again here, and layers that were not read yet are read
 * now. */
static void assert_nothing_changed(void) {
    assert_int_equal(bp_get_num_threads(), 5);
    assert_int_equal(bp_get_verbose(), 1);
    assert_string_equal(bp_get_blas_preferred(), "");
    assert_null(bp__settings_thread.top);
    char *text = file_text(user_path);
    assert_string_equal(text, file_before);
    free(text);
}

/* Returns true if the call succeeded although the n-th allocation fails: then it makes fewer. */
static bool survives(int call, int n, bool once, bool layers_read) {
    write_file(user_path, file_before);
    reset_settings();
    failing_allocator(layers_read ? INT32_MAX : n, once);
    if (layers_read) {
        bp_get_verbose();
        bp_config_error_at(0);
    }
    int64_t before = bp__live_blocks();
    test_fail_allocations(n, once);
    bp_status status = calls[call].call();
    test_end_of_failures();
    if (status != BP_OK && status != BP_E_NO_MEMORY) {
        fail_msg("%s, allocation %d: %s (%s)", calls[call].name, n, bp_status_name(status), bp_last_error());
    }
    assert_true(status == BP_OK || bp_last_status() == BP_E_NO_MEMORY);
    assert_true(*bp_last_error() || status == BP_OK);
    assert_int_equal(bp__settings_held(), 0);
    assert_int_equal(problem_count(), 2); /* lack of memory must not make a file ignored */
    if (status != BP_OK) {
        assert_nothing_changed();
    }
    assert_true(bp__live_blocks() >= (layers_read ? before : 0));
    reset_settings();
    assert_int_equal(bp__live_blocks(), 0);
    calm_allocator();
    return status == BP_OK;
}

static void every_call_survives_every_failure(void **state) {
    (void)state;
    setenv("BACKPLANE_VERBOSE", "1", 1);
    setenv("BACKPLANE_NO_SUCH_THING", "1", 1);
    write_file(system_path, "blas.preferred = \"\"\n");
    for (int call = 0; call < BP__COUNT(calls); call++) {
        for (int way = 0; way < 4; way++) {
            int n = 0;
            /* One failing allocation may be tolerated (a table that does not grow), so several successes in a row are
             * required. */
            for (int good = 0; good < 4; n++) {
                good = survives(call, n, way & 1, way & 2) ? good + 1 : 0;
                assert_true(n < 500);
            }
            assert_true(n > 4 || (way & 2) || call == 8);
        }
    }
    unsetenv("BACKPLANE_NO_SUCH_THING");
}

/* Getters never fail: without memory they return the defaults, and later, with memory, the real values. */
static void getters_never_fail(void **state) {
    (void)state;
    write_file(user_path, file_before);
    reset_settings();
    failing_allocator(0, false);
    bp__fail(BP_E_IO, "from before");
    assert_int_equal(bp_get_num_threads(), 0);
    assert_string_equal(bp_get_dispatch_fallback(), "warn");
    assert_string_equal(bp_get_blas_preferred(), "");
    assert_null(bp_config_error_at(0));
    assert_string_equal(bp_last_error(), "from before");
    uint64_t epoch = bp__settings_epoch();
    calm_allocator();
    assert_int_equal(bp_get_num_threads(), 5);
    assert_true(bp__settings_epoch() != epoch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_survives_every_failure, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(getters_never_fail, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
