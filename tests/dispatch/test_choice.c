/* test_choice.c - the choice: constraints, preferences, cost, fallback, and failures of a chosen candidate.
 *
 * The candidates are native and fakes with known costs (local.cmake). */
#include "backplane.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static double x[4] = {1, 2, 3, 4}, y[4] = {1, 0, 0, 1}, z[4];
static bp_view a, b, c;

/* The two candidates that fail when chosen would be the cheapest; most tests exclude them. */
#define QUIET "dispatch.exclude=\"unplannable, starving\""

static bp_status multiply(const char *settings) {
    bp_scope *scope;
    memset(z, 0, sizeof z);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return status;
}

static const char *ran(bp_plan_info *info) {
    info->struct_size = sizeof *info;
    assert_int_equal(bp_last_plan(info), BP_OK);
    return info->library;
}

static int warnings(const char *needle) {
    char text[1024];
    int found = 0;
    for (int i = 0; bp_warning_at(i, text, sizeof text); i++) {
        found += strstr(text, needle) != NULL;
    }
    return found;
}

static void cost_decides(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply(QUIET), BP_OK);
    assert_string_equal(ran(&info), "cheap");
    assert_non_null(strstr(info.reason, "lowest estimated time"));
    assert_true(z[3] == 1.0);
    assert_int_equal(multiply("dispatch.exclude=\"unplannable, starving, cheap\""), BP_OK);
    assert_string_equal(ran(&info), "dear");
}

static void constraints_refuse(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply(QUIET ", deterministic=run"), BP_OK);
    assert_string_equal(ran(&info), "dear");
    assert_int_equal(multiply(QUIET ", deterministic=threads"), BP_OK);
    assert_string_equal(ran(&info), "native");
    assert_true(z[0] == 1 && z[3] == 4);
    assert_int_equal(warnings("dispatch.exclude"), 0);
    assert_int_equal(multiply("dispatch.exclude=\"unplannable, starving,cheep , openblas\""), BP_OK);
    assert_int_equal(warnings("names 'cheep', but there is no such library; did you mean 'cheap'"), 1);
    assert_int_equal(warnings("names 'openblas'"), 1);
    memset(z, 0, sizeof z);
    assert_int_equal(multiply("deterministic=threads, dispatch.exclude=\"native, scaling\""), BP_E_NO_CANDIDATE);
    assert_non_null(strstr(bp_last_error(), "cheap: does not guarantee"));
    assert_non_null(strstr(bp_last_error(), "native: named by dispatch.exclude"));
    assert_true(z[0] == 0);
}

/* Bitwise reproducibility with any number of threads requires the same library with any number of threads. */
static void the_choice_ignores_the_number_of_threads(void **state) {
    (void)state;
    bp_plan_info one, many;
    assert_int_equal(multiply(QUIET ", num_threads=1024"), BP_OK);
    assert_string_equal(ran(&many), "scaling"); /* chosen without the constraint */
    assert_int_equal(multiply(QUIET ", deterministic=threads, num_threads=1"), BP_OK);
    char first[64];
    snprintf(first, sizeof first, "%s", ran(&one));
    assert_int_equal(multiply(QUIET ", deterministic=threads, num_threads=1024"), BP_OK);
    assert_string_equal(ran(&many), first);
    assert_non_null(strstr(many.reason, "independent of num_threads"));
}

static uint64_t runs_of_plan(void) {
    bp_plan_info info;
    assert_int_equal(multiply(QUIET), BP_OK);
    ran(&info);
    return info.runs;
}

/* A changed list may contain a better library, so plans made before are not found again. A refresh without a change
 * keeps them. */
static void plans_are_remade_after_the_list_changes(void **state) {
    (void)state;
    char folder[] = BP_TEST_BUILD_DIR "/tests/choice-XXXXXX", path[sizeof folder + 16];
    int count = 0;
    assert_non_null(mkdtemp(folder));
    setenv("BACKPLANE_LIBRARY_PATH", folder, 1);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 1);
    assert_int_equal(runs_of_plan(), 1);
    assert_int_equal(runs_of_plan(), 2);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_int_equal(runs_of_plan(), 3);
    snprintf(path, sizeof path, "%s/libany.so", folder);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(fchmod(file, 0666), 0); /* an entry: it is untrusted, whatever its content */
    close(file);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 2);
    assert_int_equal(runs_of_plan(), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
}

static void preference_wins_over_cost(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply("blas.preferred=dear"), BP_OK);
    assert_string_equal(ran(&info), "dear");
    assert_non_null(strstr(info.reason, "blas.preferred=dear"));
    assert_non_null(strstr(info.reason, "scope"));
    assert_int_equal(multiply("blas.preferred=native, dispatch.fallback=strict"), BP_OK);
    assert_string_equal(ran(&info), "native");
}

static void constraint_wins_over_preference(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply("blas.preferred=cheap, deterministic=run, dispatch.fallback=strict"), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "cheap"));
    assert_non_null(strstr(bp_last_error(), "does not guarantee"));
    assert_int_equal(multiply(QUIET ", blas.preferred=cheap, deterministic=run, dispatch.fallback=allow"), BP_OK);
    assert_string_equal(ran(&info), "dear");
    assert_int_equal(warnings("blas.preferred=cheap"), 0);
    assert_int_equal(multiply(QUIET ", blas.preferred=cheap, deterministic=run, dispatch.fallback=warn"), BP_OK);
    assert_int_equal(multiply(QUIET ", blas.preferred=cheap, deterministic=run, dispatch.fallback=warn, num_threads=1"),
                     BP_OK);
    assert_int_equal(warnings("blas.preferred=cheap"), 1); /* once per reason */
}

static void an_unknown_preference_falls_back(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply("blas.preferred=openblax, dispatch.fallback=strict"), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "openblax"));
    assert_true(z[0] == 0);
    assert_int_equal(multiply(QUIET ", blas.preferred=openblax, dispatch.fallback=warn"), BP_OK);
    assert_string_equal(ran(&info), "cheap");
    assert_int_equal(warnings("openblax"), 1);
}

static void failure_when_planned(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply("dispatch.exclude=starving, dispatch.fallback=strict"), BP_E_LOAD);
    assert_int_equal(multiply("dispatch.exclude=starving"), BP_OK);
    assert_string_equal(ran(&info), "cheap");
    assert_int_equal(warnings("'unplannable' was chosen but failed"), 1);
    assert_int_equal(multiply("blas.preferred=unplannable, dispatch.fallback=strict"), BP_E_LOAD);
}

/* The message of a failed provider is kept if another candidate is tried: if none is left, and if one runs instead. It
 * is also kept the second time, when the warning is not repeated. */
static void the_message_of_a_failed_candidate_is_kept(void **state) {
    (void)state;
    static const char *const words[] = {"warn", "allow"};
    static const char alone[] = "dispatch.exclude=\"cheap, dear, refusing, scaling, failing, gated, native, starving\"";
    bp_plan_info info;
    for (int i = 0; i < 4; i++) {
        char settings[256];
        snprintf(settings, sizeof settings, "%s, dispatch.fallback=%s", alone, words[i % 2]);
        assert_int_equal(multiply(settings), BP_E_NO_CANDIDATE);
        assert_non_null(strstr(bp_last_error(), "unplannable fails on purpose"));
        assert_non_null(strstr(bp_last_error(), "dear: named by dispatch.exclude"));
        snprintf(settings, sizeof settings,
                 "blas.preferred=unplannable, dispatch.exclude=starving, dispatch.fallback=%s", words[i % 2]);
        assert_int_equal(multiply(settings), BP_OK);
        assert_string_equal(ran(&info), "cheap");
        assert_non_null(strstr(info.reason, "unplannable fails on purpose"));
        snprintf(settings, sizeof settings, "dispatch.exclude=unplannable, dispatch.fallback=%s", words[i % 2]);
        assert_int_equal(multiply(settings), BP_OK);
        assert_string_equal(ran(&info), "cheap");
        assert_non_null(strstr(info.reason, "starving fails on purpose"));
    }
    assert_int_equal(warnings("unplannable fails on purpose"), 1);
    assert_int_equal(warnings("starving fails on purpose"), 1);
}

static void failure_when_run(void **state) {
    (void)state;
    bp_plan_info info;
    assert_int_equal(multiply("dispatch.fallback=strict"), BP_E_NO_MEMORY);
    assert_non_null(strstr(bp_last_error(), "starving"));
    assert_int_equal(multiply("dispatch.exclude=unplannable"), BP_OK);
    assert_string_equal(ran(&info), "cheap");
    assert_int_equal(warnings("'starving' failed"), 1);
    /* A numerical failure is not retried: no other library would succeed. */
    assert_int_equal(multiply("blas.preferred=failing"), BP_E_SINGULAR);
}

static void refusal_by_type_falls_to_native(void **state) {
    (void)state;
    float fx[4] = {1, 2, 3, 4}, fz[4];
    bp_view fa, fc;
    bp_view_matrix(&fa, fx, BP_F32, 2, 2);
    bp_view_matrix(&fc, fz, BP_F32, 2, 2);
    assert_int_equal(bp_matmul(&fa.tensor, &fa.tensor, &fc.tensor), BP_OK);
    bp_plan_info info;
    assert_string_equal(ran(&info), "native");
    bp_explanation *e; /* several algorithms accept, but only native's */
    assert_int_equal(bp_matmul_explain(&e, NULL, &fa.tensor, &fa.tensor, &fc.tensor), BP_OK);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int i = 0; bp_explanation_at(e, i, &candidate); i++) {
        assert_true(!candidate.accepted || strcmp(candidate.library, "native") == 0);
    }
    bp_explanation_release(e);
    assert_true(fz[0] == 7 && fz[3] == 22);
}

static void explain_agrees_with_the_run(void **state) {
    (void)state;
    bp_options *options;
    bp_explanation *e;
    assert_int_equal(bp_options_new(&options, QUIET), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_candidate_info info = {.struct_size = sizeof info};
    int chosen = 0, seen = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        seen++;
        chosen += info.chosen;
        if (strcmp(info.library, "cheap") == 0) {
            assert_true(info.chosen && info.accepted && info.cost_ns == 1.0);
        } else if (strcmp(info.library, "refusing") == 0) {
            assert_true(!info.accepted && info.reason == BP_REASON_LAYOUT);
            assert_string_equal(info.text, bp_reason_text(BP_REASON_LAYOUT));
        } else if (strcmp(info.library, "starving") == 0) {
            assert_true(!info.accepted && info.reason == BP_REASON_EXCLUDED);
        }
    }
    assert_int_equal(chosen, 1);
    assert_true(seen >= 7);
    assert_non_null(strstr(bp_explanation_problem(e), "f64 2x2 @ 2x2"));
    assert_non_null(strstr(bp_explanation_text(e), "* cheap"));
    assert_non_null(strstr(bp_explanation_text(e), "dispatch.exclude"));
    assert_non_null(strstr(bp_explanation_json(e), "\"chosen\":\"cheap\""));
    bp_explanation_release(e);
    bp_options_release(options);
    assert_int_equal(bp_options_new(&options, "deterministic=threads, dispatch.exclude=\"native, scaling\""), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor), BP_OK); /* also if none accepts */
    assert_non_null(strstr(bp_explanation_decision(e), "none accepts"));
    bp_explanation_release(e);
    bp_options_release(options);
}

static void options_of_one_call(void **state) {
    (void)state;
    bp_options *options;
    bp_plan_info info;
    assert_int_equal(bp_options_new(&options, "blas.preferred=dear"), BP_OK);
    assert_int_equal(bp_matmul_run(options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_string_equal(ran(&info), "dear");
    assert_non_null(strstr(info.reason, "call"));
    assert_int_equal(multiply(QUIET), BP_OK);
    assert_string_equal(ran(&info), "cheap");
    bp_options_release(options);
}

static void providers_are_listed(void **state) {
    (void)state;
    bp_provider_info info = {.struct_size = sizeof info};
    int native = 0, fakes = 0;
    for (int i = 0; bp_provider_at(i, &info); i++) {
        native += strcmp(info.name, "native") == 0 && info.path[0] == '\0';
        fakes += info.status == BP_OK && strstr(info.path, "dispatch-fakes") != NULL;
    }
    assert_int_equal(native, 1);
    assert_int_equal(fakes, 10);
}

/* The fakes except half-width only offer products. Excluding them must not hide that they do not offer inverses. */
static void excluded_candidates_without_the_operation_do_not_offer_it(void **state) {
    (void)state;
    static double in[4] = {1, 0, 0, 1}, out[4];
    bp_view matrix, inverse;
    bp_options *options;
    bp_explanation *e;
    bp_candidate_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_view_matrix(&matrix, in, BP_F64, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&inverse, out, BP_F64, 2, 2), BP_OK);
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_INV, .input = {&matrix.tensor}, .output = {&inverse.tensor}};
    assert_int_equal(bp_options_new(&options, "dispatch.exclude=\"cheap, dear, half-width, native\""), BP_OK);
    assert_int_equal(bp_linalg_explain(&e, options, &call), BP_OK);
    int checked = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        bool excluded = strcmp(info.library, "half-width") == 0 || strcmp(info.library, "native") == 0;
        assert_int_equal(info.reason, excluded ? BP_REASON_EXCLUDED : BP_REASON_OP);
        checked++;
    }
    assert_int_equal(checked, 14);
    assert_non_null(strstr(bp_explanation_text(e), "(12 more do not offer this operation)"));
    assert_non_null(strstr(bp_explanation_decision(e), "native: named by dispatch.exclude"));
    assert_null(strstr(bp_explanation_decision(e), "cheap"));
    bp_explanation_release(e);
    bp_options_release(options);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(cost_decides, reset),
        cmocka_unit_test_setup(constraints_refuse, reset),
        cmocka_unit_test_setup(the_choice_ignores_the_number_of_threads, reset),
        cmocka_unit_test_setup(plans_are_remade_after_the_list_changes, reset),
        cmocka_unit_test_setup(preference_wins_over_cost, reset),
        cmocka_unit_test_setup(constraint_wins_over_preference, reset),
        cmocka_unit_test_setup(an_unknown_preference_falls_back, reset),
        cmocka_unit_test_setup(failure_when_planned, reset),
        cmocka_unit_test_setup(failure_when_run, reset),
        cmocka_unit_test_setup(the_message_of_a_failed_candidate_is_kept, reset),
        cmocka_unit_test_setup(refusal_by_type_falls_to_native, reset),
        cmocka_unit_test_setup(explain_agrees_with_the_run, reset),
        cmocka_unit_test_setup(excluded_candidates_without_the_operation_do_not_offer_it, reset),
        cmocka_unit_test_setup(options_of_one_call, reset),
        cmocka_unit_test_setup(providers_are_listed, reset),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-fakes", 1);
    bp_view_matrix(&a, x, BP_F64, 2, 2);
    bp_view_matrix(&b, y, BP_F64, 2, 2);
    bp_view_matrix(&c, z, BP_F64, 2, 2);
    return cmocka_run_group_tests(tests, NULL, reset);
}
