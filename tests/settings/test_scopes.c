/* test_scopes.c - tests options and scopes: all or nothing, leaving in any order, and epochs that identify the values.
 */
#include "settings/support_settings.h"

#include <pthread.h>

static void options_are_accepted_or_refused_as_a_whole(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bp_status status;
        const char *sentence;
    } wrong[] = {
        {"num_threads=1, num_threads=2", BP_E_BAD_VALUE, "num_threads is given twice"},
        {"num_threads=1, nun_threads=2", BP_E_UNKNOWN_NAME, "did you mean 'num_threads'"},
        {"num_threads=1 verbose=2", BP_E_BAD_VALUE, "whole number"},
        {"num_threads=1,\nverbose", BP_E_BAD_VALUE, "line 2, 'verbose': '=' and a value are missing"},
        {"=1", BP_E_BAD_VALUE, "name is missing"},
        {"blas.preferred=\"mkl", BP_E_BAD_VALUE, "not closed"},
        {"blas.preferred=\"mkl\" x", BP_E_BAD_VALUE, "follows the closing quote"},
        {"blas.preferred=\"m\\kl\"", BP_E_BAD_VALUE, "backslash"},
        {"dispatch.exclude=blis,netlib", BP_E_BAD_VALUE, "'netlib': '=' and a value are missing"},
        {"num_threads=1, trace=/tmp/x", BP_E_READ_ONLY, "BACKPLANE_TRACE"},
        {"num_threads=", BP_E_BAD_VALUE, "whole number"},
    };
    for (int i = 0; i < BP__COUNT(wrong); i++) {
        bp_options *options = (bp_options *)1;
        bp_scope *scope = (bp_scope *)1;
        assert_int_equal(bp_options_new(&options, wrong[i].text), wrong[i].status);
        assert_contains(bp_last_error(), wrong[i].sentence);
        assert_null(options);
        assert_int_equal(bp_scope_enter(&scope, wrong[i].text), wrong[i].status);
        assert_null(scope);
        assert_int_equal(bp_get_num_threads(), 0);
    }
}

static void options_take_many_forms(void **state) {
    (void)state;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, ""), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_scope_enter(&scope,
                                    ",, # nothing, verbose=2\n num_threads = 5 ,dispatch.exclude=\"blis,netlib\",\n"
                                    "blas.preferred=\"\\\"q\\\\\" # because\n,verbose=1,"),
                     BP_OK);
    assert_int_equal(bp_get_num_threads(), 5);
    assert_string_equal(bp_get_dispatch_exclude(), "blis,netlib");
    assert_string_equal(bp_get_blas_preferred(), "\"q\\");
    assert_int_equal(bp_get_verbose(), 1);
    assert_string_equal(bp_get_dispatch_fallback(), "warn"); /* not in the options: the process's value is in force */
    assert_int_equal(bp_set_dispatch_fallback("strict"), BP_OK);
    assert_string_equal(bp_get_dispatch_fallback(), "strict");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

/* Leaves four scopes in all 24 orders; the value in force is always the innermost open scope's. */
static void scopes_are_left_in_any_order(void **state) {
    (void)state;
    const char *const texts[4] = {"num_threads=1,verbose=1", "num_threads=2", "verbose=2", "num_threads=4"};
    const int threads[4] = {1, 2, -1, 4}, verbose[4] = {1, -1, 2, -1};
    for (int order = 0; order < 256; order++) {
        bp_scope *scopes[4];
        bool open[4] = {true, true, true, true};
        int used = 0;
        for (int i = 0; i < 4; i++) {
            used |= 1 << (order >> 2 * i & 3);
        }
        if (used != 15) {
            continue;
        }
        for (int i = 0; i < 4; i++) {
            assert_int_equal(bp_scope_enter(&scopes[i], texts[i]), BP_OK);
        }
        for (int i = 0; i < 4; i++) {
            int leaving = order >> 2 * i & 3;
            uint64_t epoch = bp__settings_epoch();
            assert_int_equal(bp_scope_leave(&scopes[leaving]), BP_OK);
            assert_true(bp__settings_epoch() != epoch);
            open[leaving] = false;
            int want_threads = 0, want_verbose = 0;
            for (int j = 0; j < 4; j++) {
                want_threads = open[j] && threads[j] >= 0 ? threads[j] : want_threads;
                want_verbose = open[j] && verbose[j] >= 0 ? verbose[j] : want_verbose;
            }
            assert_int_equal(bp_get_num_threads(), want_threads);
            assert_int_equal(bp_get_verbose(), want_verbose);
        }
        assert_null(bp__settings_thread.top);
    }
}

/* Random walks over scopes, options and process writes: equal epochs mean equal values. */
static void equal_epochs_mean_equal_settings(void **state) {
    (void)state;
    enum { STEPS = 4000 };
    static struct {
        uint64_t epoch;
        int64_t threads, verbose;
    } seen[STEPS];
    bp_scope *open[6] = {NULL};
    bp_options *options[2];
    assert_int_equal(bp_options_new(&options[0], "num_threads=7"), BP_OK);
    assert_int_equal(bp_options_new(&options[1], "num_threads=8,verbose=1"), BP_OK);
    uint32_t random = 1;
    int again = 0;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        unsigned place = (random >> 8) % 6, action = (random >> 16) % 8;
        char text[64];
        if (action == 7) {
            bp_set_num_threads((random >> 20) % 3);
        } else if (open[place]) {
            assert_int_equal(bp_scope_leave(&open[place]), BP_OK);
        } else if (action < 4) {
            snprintf(text, sizeof text, "%s=%u", action < 2 ? "verbose" : "num_threads", (random >> 20) % 3);
            assert_int_equal(bp_scope_enter(&open[place], text), BP_OK);
        } else {
            assert_int_equal(bp_scope_enter_options(&open[place], options[action & 1]), BP_OK);
        }
        seen[step].epoch = bp__settings_epoch();
        seen[step].threads = bp_get_num_threads();
        seen[step].verbose = bp_get_verbose();
        assert_true(seen[step].epoch != 0);
        for (int i = 0; i < step; i++) {
            if (seen[i].epoch == seen[step].epoch) {
                again++;
                assert_int_equal(seen[i].threads, seen[step].threads);
                assert_int_equal(seen[i].verbose, seen[step].verbose);
            }
        }
    }
    assert_true(again > 10); /* epochs did repeat */
    for (int i = 0; i < 6; i++) {
        bp_scope_leave(&open[i]);
    }
    bp_options_release(options[0]);
    bp_options_release(options[1]);
}

static void the_same_options_give_the_same_epoch(void **state) {
    (void)state;
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "num_threads=2"), BP_OK);
    bp_get_num_threads();
    uint64_t outside = bp__settings_epoch(), inside = 0;
    for (int i = 0; i < 3; i++) {
        bp__call_scope call;
        bp__call_enter(&call, options);
        assert_int_equal(bp_get_num_threads(), 2);
        assert_setting("num_threads", "2", BP_LAYER_CALL, "num_threads=2");
        assert_true(inside == 0 || bp__settings_epoch() == inside);
        inside = bp__settings_epoch();
        bp__call_leave(&call);
        assert_true(bp__settings_epoch() == outside && inside != outside);
        assert_int_equal(bp_get_num_threads(), 0);
    }
    bp__call_scope none;
    bp__call_enter(&none, NULL);
    assert_true(bp__settings_epoch() == outside);
    bp__call_leave(&none);
    bp_options_release(options);
}

static void scope_and_call_have_different_layers(void **state) {
    (void)state;
    bp_options *options;
    bp_scope *scope;
    bp__call_scope call;
    const char *value, *where;
    assert_int_equal(bp_options_new(&options, "num_threads=2"), BP_OK);
    assert_int_equal(bp_scope_enter(&scope, "num_threads=3, verbose=1"), BP_OK);
    bp__call_enter(&call, options);
    assert_int_equal(bp_get_layer("num_threads", BP_LAYER_SCOPE, &value, &where), BP_OK);
    assert_string_equal(value, "3");
    assert_string_equal(where, "num_threads=3, verbose=1");
    assert_int_equal(bp_get_layer("num_threads", BP_LAYER_CALL, &value, &where), BP_OK);
    assert_string_equal(value, "2");
    assert_int_equal(bp_get_layer("verbose", BP_LAYER_CALL, &value, &where), BP_OK);
    assert_null(value);
    bp_layer layer;
    bp_setting_id node;
    bp__setting_origin(BP_SET_num_threads, &layer, &where, &node);
    assert_int_equal(layer, BP_LAYER_CALL);
    bp__setting_origin(BP_SET_verbose, &layer, &where, &node);
    assert_int_equal(layer, BP_LAYER_SCOPE);
    bp__call_leave(&call);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    bp_options_release(options);
}

/* A scope keeps what it needs. */
static void options_may_be_released_before_their_scope(void **state) {
    (void)state;
    bp_options *options;
    bp_scope *scope;
    assert_int_equal(bp_options_new(&options, "blas.preferred=mkl"), BP_OK);
    assert_int_equal(bp__settings_held(), 1);
    assert_int_equal(bp_scope_enter_options(&scope, options), BP_OK);
    bp_options_release(options);
    assert_int_equal(bp__settings_held(), 0);
    assert_setting("blas.preferred", "mkl", BP_LAYER_SCOPE, "blas.preferred=mkl");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void *leave_elsewhere(void *user) {
    bp_scope **scope = user, *before = *scope;
    assert_int_equal(bp__settings_held(), 1);
    assert_int_equal(bp_get_num_threads(), 0);
    assert_int_equal(bp_scope_leave(scope), BP_E_SCOPE);
    assert_ptr_equal(*scope, before);
    return NULL;
}

static void scopes_belong_to_their_thread(void **state) {
    (void)state;
    bp_scope *scope;
    pthread_t thread;
    assert_int_equal(bp_scope_enter(&scope, "num_threads=3"), BP_OK);
    assert_int_equal(bp__settings_held(), 0);
    assert_int_equal(pthread_create(&thread, NULL, leave_elsewhere, &scope), 0);
    pthread_join(thread, NULL);
    assert_int_equal(bp_get_num_threads(), 3);
    bp_scope *copy = scope;
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_scope_leave(&copy), BP_E_SCOPE); /* already left */
}

static void a_reset_closes_scopes(void **state) {
    (void)state;
    bp_scope *outer, *inner;
    uint64_t epoch = bp__settings_epoch();
    assert_int_equal(bp_scope_enter(&outer, "num_threads=3"), BP_OK);
    assert_int_equal(bp_scope_enter(&inner, "num_threads=4"), BP_OK);
    bp_set_verbose(2);
    reset_settings();
    assert_int_equal(bp__live_blocks(), 0);
    assert_true(bp__settings_epoch() != epoch);
    assert_int_equal(bp_get_num_threads(), 0);
    assert_int_equal(bp_get_verbose(), 0);
    assert_int_equal(bp_scope_leave(&inner), BP_E_SCOPE);
    assert_int_equal(bp_scope_leave(&outer), BP_E_SCOPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_are_accepted_or_refused_as_a_whole, enter_environment,
                                        leave_environment),
        cmocka_unit_test_setup_teardown(options_take_many_forms, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(scopes_are_left_in_any_order, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(equal_epochs_mean_equal_settings, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(the_same_options_give_the_same_epoch, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(scope_and_call_have_different_layers, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(options_may_be_released_before_their_scope, enter_environment,
                                        leave_environment),
        cmocka_unit_test_setup_teardown(scopes_belong_to_their_thread, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_reset_closes_scopes, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
