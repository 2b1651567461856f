/* test_reasons.c - the reason that is reported if a preferred library cannot run a call.
 *
 * Of several providers, the one that offers the operation counts; of a family, the library that supports the type. The
 * libraries are two fakes of BLIS, driven by the blas provider and by twin_provider.c. */
#define _GNU_SOURCE
#include "backplane.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dispatch/internal.h"
#include "registry/internal.h"

static void expect_refusal(bp_status status, const char *sentence) {
    assert_int_equal(status, BP_E_FALLBACK);
    if (!strstr(bp_last_error(), sentence)) {
        fail_msg("'%s' does not say '%s'", bp_last_error(), sentence);
    }
}

static bp_status transform(const char *settings, bp_dtype dtype) {
    static double in[16], out[16];
    bp_view x, y;
    bp_scope *scope;
    assert_int_equal(bp_view_init(&x, in, dtype, 1, (const int64_t[]){8}, NULL), BP_OK);
    assert_int_equal(bp_view_init(&y, out, dtype, 1, (const int64_t[]){8}, NULL), BP_OK);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_fft(&x.tensor, 8, 0, BP_FFT_BACKWARD, &y.tensor);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return status;
}

static bp_status linear(const char *settings, bp_op op) {
    static double in[9], out[9], other[9];
    bp_view a, x, y;
    bp_scope *scope;
    assert_int_equal(bp_view_matrix(&a, in, BP_F64, 3, 3), BP_OK);
    assert_int_equal(bp_view_matrix(&y, other, BP_F64, 3, 3), BP_OK);
    assert_int_equal(bp_view_init(&x, out, BP_F64, op == BP_OP_QR ? 2 : 0, (const int64_t[]){3, 3}, NULL), BP_OK);
    bp_linalg_call call = {.struct_size = sizeof call, .op = op, .input = {&a.tensor}, .output = {&x.tensor}};
    call.output[1] = op == BP_OP_QR ? &y.tensor : NULL;
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_linalg_run(NULL, &call);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return status;
}

/* The name matches one library exactly, but another one of the family supports the type. */
static void the_reason_comes_from_the_library_with_the_type(void **state) {
    (void)state;
    expect_refusal(transform("fft.preferred=blis, dispatch.fallback=strict", BP_C128),
                   "cannot run this: no layout will do");
    expect_refusal(transform("fft.preferred=blis, dispatch.fallback=strict", BP_C64),
                   "fft.preferred=blis cannot run this: blis-serial: no layout will do");
    expect_refusal(transform("fft.preferred=libblis.so, dispatch.fallback=strict", BP_C64),
                   "cannot run this: no layout will do");
    expect_refusal(transform("fft.preferred=twin, dispatch.fallback=strict", BP_C64),
                   "cannot run this: no layout will do");
    expect_refusal(transform("fft.preferred=blis-serial, dispatch.fallback=strict", BP_C128),
                   "blis: no layout will do");
}

static void the_reason_comes_from_the_provider_with_the_operation(void **state) {
    (void)state;
    expect_refusal(linear("linalg.preferred=blis, dispatch.fallback=strict", BP_OP_MATRIX_NORM),
                   "linalg.preferred=blis cannot run this: another type");
    expect_refusal(linear("linalg.preferred=blis, dispatch.fallback=strict", BP_OP_QR),
                   "linalg.preferred=blis cannot run this: it does not offer qr");
}

static bp_status multiply(const char *settings, char *provider, size_t size) {
    static double in[4] = {1, 2, 3, 4}, out[4];
    bp_view x, y;
    bp_scope *scope;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_view_matrix(&x, in, BP_F64, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&y, out, BP_F64, 2, 2), BP_OK);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_matmul(&x.tensor, &x.tensor, &y.tensor);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    if (status == BP_OK) {
        assert_int_equal(bp_last_plan(&info), BP_OK);
        snprintf(provider, size, "%s:%s", info.library, info.provider);
    }
    return status;
}

/* Settings may name one of the providers that drive a library. */
static void settings_name_a_provider_of_a_library(void **state) {
    (void)state;
    char ran[64];
    assert_int_equal(multiply("blas.preferred=\"blis:blas\", dispatch.fallback=strict", ran, sizeof ran), BP_OK);
    assert_string_equal(ran, "blis:blas");
    assert_int_equal(multiply("blas.preferred=\"native:native\", dispatch.fallback=strict", ran, sizeof ran), BP_OK);
    assert_string_equal(ran, "native:native");
    expect_refusal(multiply("blas.preferred=\"blis:twin\", dispatch.fallback=strict", ran, sizeof ran),
                   "blas.preferred=blis:twin cannot run this: neither transform nor norm");
    expect_refusal(multiply("blas.preferred=\"blis:blas\", dispatch.exclude=\"blis:blas\", dispatch.fallback=strict",
                            ran, sizeof ran),
                   "named by dispatch.exclude");
    assert_int_equal(multiply("blas.preferred=\"blis:lapack\", dispatch.fallback=strict", ran, sizeof ran),
                     BP_E_NOT_FOUND);
    assert_int_equal(multiply("blas.preferred=\"blis:blas\", dispatch.exclude=\"blis-serial:blas\"", ran, sizeof ran),
                     BP_OK);
    assert_string_equal(ran, "blis:blas");
}

/* If a preference names an unknown algorithm of a provider without a library, the choice falls back to the cheapest
 * candidate of all. It agrees with the explanation, whether or not the machine was searched before. */
static void fallback_includes_the_libraries(void **state) {
    (void)state;
    static double in[9], out[9];
    bp_view a, c;
    bp_options *options;
    bp_explanation *e;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_view_matrix(&a, in, BP_F64, 3, 3);
    bp_view_matrix(&c, out, BP_F64, 3, 3);
    assert_int_equal(bp_options_new(&options, "blas.preferred=native:nothing-such, dispatch.fallback=allow"), BP_OK);
    assert_int_equal(bp_matmul_run(options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_string_equal(info.reason, bp_explanation_decision(e));
    bp_explanation_release(e);
    bp_options_release(options);
}

static int entries_with(const char *link, bool current) {
    bp__candidate **list;
    int count, found = 0;
    assert_int_equal(bp__candidates(&BP__NEED_ALL, -1, &list, &count), BP_OK);
    for (int i = 0; i < count; i++) {
        const bp_library_info *library = list[i]->library;
        if (library && strcmp(library->id, "blis") == 0) {
            assert_true(current == (library == bp__library_lookup(library->path)));
            found += strstr(library->aliases, link) != NULL;
        }
    }
    return found;
}

/* A refresh updates the entries of candidates, unless the library is open: then the entry describes the open file. */
static void candidates_have_the_current_entries(void **state) {
    (void)state;
    static const char file[] = BP_TEST_BUILD_DIR "/tests/dispatch-twins/one/libblis.so";
    static const char link[] = BP_TEST_BUILD_DIR "/tests/dispatch-twins/one/libblis-link.so";
    char ran[64];
    unlink(link);
    assert_int_equal(entries_with(link, true), 0);
    assert_int_equal(symlink(file, link), 0);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_int_equal(entries_with(link, true), 2); /* one for each provider */
    assert_int_equal(multiply("blas.preferred=\"blis:blas\", dispatch.fallback=strict", ran, sizeof ran), BP_OK);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_int_equal(entries_with(link, false), 2);
    assert_int_equal(multiply("blas.preferred=\"blis:blas\", dispatch.fallback=strict", ran, sizeof ran), BP_OK);
}

/* Counts the calls that resolve a file which a setting names. */
static const char *watched = "";
static int resolved;
char *realpath(const char *restrict path, char *restrict buffer) {
    char *(*real)(const char *, char *) = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");
    resolved += strcmp(path, watched) == 0;
    return real(path, buffer);
}

static void expect_choice(const char *file, const char *library) {
    static double in[4], out[4];
    char settings[4096];
    bp_view a, c;
    bp_options *options;
    bp_explanation *e;
    assert_int_equal(bp_view_matrix(&a, in, BP_F64, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&c, out, BP_F64, 2, 2), BP_OK);
    snprintf(settings, sizeof settings, "blas.preferred=\"%s\", dispatch.fallback=strict", file);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    bp_candidate_info info = {.struct_size = sizeof info};
    const char *chosen = "none";
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        chosen = info.chosen ? info.library : chosen;
    }
    assert_string_equal(chosen, library);
    bp_explanation_release(e);
    bp_options_release(options);
}

/* A link to a library names it. It is resolved once for all candidates of all choices, until the settings or the list
 * of libraries change. */
static void a_file_is_resolved_once(void **state) {
    (void)state;
    static const char link[] = BP_TEST_BUILD_DIR "/tests/dispatch-link-to-a-twin";
    unlink(link);
    watched = link;
    assert_int_equal(symlink(BP_TEST_BUILD_DIR "/tests/dispatch-twins/one/libblis.so", link), 0);
    for (int i = 0; i < 3; i++) {
        expect_choice(link, "blis");
    }
    assert_int_equal(resolved, 1);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(BP_TEST_BUILD_DIR "/tests/dispatch-twins/two/libblis.so", link), 0);
    assert_int_equal(bp_set("num_threads", "1"), BP_OK);
    expect_choice(link, "blis-serial");
    assert_int_equal(resolved, 2);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(bp_set("num_threads", "2"), BP_OK);
    for (int i = 0; i < 3; i++) {
        expect_choice(link, "none");
    }
    watched = "";
}

/* Of several files, each is resolved once, even if they are more than are kept. */
static void many_files_are_resolved(void **state) {
    (void)state;
    char link[512];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++) {
            snprintf(link, sizeof link, "%s/tests/dispatch-link-%d", BP_TEST_BUILD_DIR, i);
            unlink(link);
            assert_int_equal(symlink(i % 2 ? BP_TEST_BUILD_DIR "/tests/dispatch-twins/one/libblis.so"
                                           : BP_TEST_BUILD_DIR "/tests/dispatch-twins/two/libblis.so",
                                     link),
                             0);
            expect_choice(link, i % 2 ? "blis" : "blis-serial");
            assert_int_equal(unlink(link), 0);
        }
    }
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_reason_comes_from_the_library_with_the_type, reset),
        cmocka_unit_test_setup(the_reason_comes_from_the_provider_with_the_operation, reset),
        cmocka_unit_test_setup(settings_name_a_provider_of_a_library, reset),
        cmocka_unit_test_setup(fallback_includes_the_libraries, reset),
        cmocka_unit_test_setup(candidates_have_the_current_entries, reset),
        cmocka_unit_test_setup(a_file_is_resolved_once, reset),
        cmocka_unit_test_setup(many_files_are_resolved, reset),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH",
           BP_TEST_BUILD_DIR "/tests/dispatch-twins/one:" BP_TEST_BUILD_DIR "/tests/dispatch-twins/two", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-twins", 1);
    return cmocka_run_group_tests(tests, NULL, reset);
}
