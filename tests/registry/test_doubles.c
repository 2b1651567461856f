/* test_doubles.c - the probe meets every kind of library that there is: one test for each double of doubles/blas.c. */
#include "registry/support_registry.h"

static bp_library_info probe(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", DOUBLES, name);
    restart(path, NULL);
    bp_library_info row = only_row();
    snprintf(path, sizeof path, "%s/%s/lib%s.so", DOUBLES, name, name);
    char *real = realpath(path, NULL);
    assert_string_equal(row.path, real);
    free(real);
    assert_string_equal(row.family, "unknown");
    return row;
}

static bp_library_info probe_good(const char *name) {
    bp_library_info row = probe(name);
    assert_string_equal(row.reason, "");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    return row;
}

static void test_plain(void **state) {
    (void)state;
    bp_library_info row = probe_good("plain");
    assert_int_equal(row.kinds, BP_LIB_BLAS | BP_LIB_CBLAS);
    assert_int_equal(row.int_bits, 32);
    assert_string_equal(row.suffix, "_");
    assert_string_equal(row.prefix, "");
    assert_string_equal(row.cblas_suffix, "");
    assert_string_equal(row.complex_return, "register");
    assert_int_equal(row.f2c, 0);
    assert_string_equal(row.threading, "serial");
    assert_string_equal(row.soname, "libplain.so");
    assert_int_not_equal(strlen(row.build_id), 0);
    assert_true(row.probe_ms > 0);
    assert_non_null(strstr(row.learned, "int_bits: isamax"));
    assert_non_null(strstr(row.learned, "suffix: symbol dgemm_, cblas_dgemm"));
    assert_null(strstr(row.learned, "prints"));
}

static void test_wide_without_suffix(void **state) {
    (void)state;
    bp_library_info row = probe_good("wide");
    assert_int_equal(row.int_bits, 64);
    assert_string_equal(row.suffix, "_");
    assert_string_equal(row.id, "blas64");
}

static void test_wide_with_suffix(void **state) {
    (void)state;
    bp_library_info row = probe_good("suffixed");
    assert_int_equal(row.int_bits, 64);
    assert_string_equal(row.suffix, "64_");
    assert_int_equal(row.kinds, BP_LIB_BLAS);
}

static void test_fortran_only(void **state) {
    (void)state;
    bp_library_info row = probe_good("fortran");
    assert_int_equal(row.kinds, BP_LIB_BLAS);
    assert_int_equal(row.int_bits, 32);
}

static void test_cblas_only(void **state) {
    (void)state;
    bp_library_info row = probe_good("cblas");
    assert_int_equal(row.kinds, BP_LIB_CBLAS);
    assert_int_equal(row.int_bits, 32);
    assert_string_equal(row.complex_return, "unknown");
    row = probe_good("cblas-wide");
    assert_int_equal(row.kinds, BP_LIB_CBLAS);
    assert_int_equal(row.int_bits, 64);
}

static void test_f2c(void **state) {
    (void)state;
    assert_int_equal(probe_good("f2c").f2c, 1);
}

static void test_hidden_argument(void **state) {
    (void)state;
    assert_string_equal(probe_good("hidden").complex_return, "hidden argument");
}

static void test_missing_symbols(void **state) {
    (void)state;
    bp_library_info row = probe_good("partial");
    assert_int_equal(row.kinds, BP_LIB_BLAS | BP_LIB_CBLAS);
    assert_int_equal(row.int_bits, 32);
}

static void test_wrong_results(void **state) {
    (void)state;
    bp_library_info row = probe("wrong");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_non_null(strstr(row.reason, "wrong results in probe: sgemm (op NN, 3x4x5)"));
}

static void test_crashing_constructor(void **state) {
    (void)state;
    bp_library_info row = probe("crash");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "SIGILL in probe, while it was loaded");
}

static void test_crash_in_call(void **state) {
    (void)state;
    bp_library_info row = probe("crash-in-call");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "SIGSEGV in probe, in sgemm");
    assert_int_equal(row.int_bits, 32); /* what was learned before stays */
}

static void test_exiting_constructor(void **state) {
    (void)state;
    bp_library_info row = probe("exit");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "ended early in probe, while it was loaded");
}

static void test_hanging_constructor(void **state) {
    (void)state;
    /* Longer than the probe takes to come as far as the library, which under emulation is a second. */
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", getenv("TESTED_EMULATED") ? "10000" : "300", 1);
    bp_library_info row = probe("hang");
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "hung in probe, while it was loaded");
}

static void test_printing_constructor(void **state) {
    (void)state;
    bp_library_info row = probe_good("print");
    assert_non_null(strstr(row.learned, "output: prints 11 bytes when loaded"));
}

static void test_missing_dependency(void **state) {
    (void)state;
    bp_library_info row = probe("orphan");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_non_null(strstr(row.reason, "cannot be loaded: "));
    assert_non_null(strstr(row.reason, "undefined symbol: openblas_dgemm_body"));
}

static void test_family_and_facade(void **state) {
    (void)state;
    bp_library_info row = {.struct_size = sizeof row};
    int count = 0;
    restart(DOUBLES "/marked", NULL);
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 3);
    assert_int_equal(bp_library_at(0, &row), BP_OK);
    assert_string_equal(row.id, "openblas");
    assert_string_equal(row.family, "openblas");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_string_equal(row.version, "9.8.7");
    assert_string_equal(row.kernels, "Testbridge");
    assert_string_equal(row.threading, "serial");
    assert_string_equal(row.thread_scope, "thread"); /* seen, where the table says "process" */
    assert_int_equal(bp_library_at(1, &row), BP_OK);
    assert_string_equal(row.id, "openblas-libforward");
    assert_int_equal(row.state, BP_LIBRARY_FACADE);
    assert_string_equal(row.version, "9.8.7");
    assert_non_null(strstr(row.reason, "forwards to libmarked.so, which the loader resolves to /"));
}

static void test_blis_is_initialised_before_it_is_asked(void **state) {
    (void)state;
    restart(DOUBLES "/blis", NULL);
    bp_library_info row = only_row();
    assert_string_equal(row.family, "blis");
    assert_string_equal(row.reason, "");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_string_equal(row.version, "7.6.5");
    assert_string_equal(row.kernels, "generic");
}

static int finish(void **state) {
    (void)state;
    bp_status status = bp_reset();
    return status != BP_OK || bp__live_blocks() != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_wide_without_suffix),
        cmocka_unit_test(test_wide_with_suffix),
        cmocka_unit_test(test_fortran_only),
        cmocka_unit_test(test_cblas_only),
        cmocka_unit_test(test_f2c),
        cmocka_unit_test(test_hidden_argument),
        cmocka_unit_test(test_missing_symbols),
        cmocka_unit_test(test_wrong_results),
        cmocka_unit_test(test_crashing_constructor),
        cmocka_unit_test(test_crash_in_call),
        cmocka_unit_test(test_exiting_constructor),
        cmocka_unit_test(test_hanging_constructor),
        cmocka_unit_test(test_printing_constructor),
        cmocka_unit_test(test_missing_dependency),
        cmocka_unit_test(test_family_and_facade),
        cmocka_unit_test(test_blis_is_initialised_before_it_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
