/* test_fake_libraries.c - probes every kind of library: one test for each fake library of fakes/blas.c. */
#define _GNU_SOURCE
#include "registry/support_registry.h"
#include "support/conditions.h"

#include <dlfcn.h>
#include <unistd.h>

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
    assert_non_null(strstr(row.fact_sources, "int_bits: isamax"));
    assert_non_null(strstr(row.fact_sources, "suffix: symbol dgemm_, cblas_dgemm"));
    assert_null(strstr(row.fact_sources, "prints"));
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
    assert_int_equal(row.int_bits, 32); /* facts found before the crash are kept */
}

static void test_exiting_constructor(void **state) {
    (void)state;
    bp_library_info row = probe("exit");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "ended early in probe, while it was loaded");
}

static void test_hanging_constructor(void **state) {
    (void)state;
    /* Longer than the probe needs to open the library, which takes a second under emulation or on a busy machine. */
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", test_emulated() ? "10000" : "3000", 1);
    bp_library_info row = probe("hang");
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_string_equal(row.reason, "hung in probe, while it was loaded");
}

static void test_printing_constructor(void **state) {
    (void)state;
    bp_library_info row = probe_good("print");
    assert_non_null(strstr(row.fact_sources, "output: prints 11 bytes when loaded"));
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
    restart(FAKES "/marked", NULL);
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 3);
    assert_int_equal(bp_library_at(0, &row), 1);
    assert_string_equal(row.id, "openblas");
    assert_string_equal(row.family, "openblas");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_string_equal(row.version, "9.8.7");
    assert_string_equal(row.kernels, "Testbridge");
    assert_string_equal(row.threading, "serial");
    assert_string_equal(row.thread_scope, "thread"); /* measured; the table says "process" */
    assert_int_equal(bp_library_at(1, &row), 1);
    assert_string_equal(row.id, "openblas-libforward");
    assert_int_equal(row.state, BP_LIBRARY_FACADE);
    assert_string_equal(row.version, "9.8.7");
    assert_non_null(strstr(row.reason, "forwards to libmarked.so, which the loader resolves to /"));
}

/* The probe also limits its threads before it calls it. */
static void test_blis_is_initialised_before_queries(void **state) {
    (void)state;
    restart(FAKES "/blis", NULL);
    bp_library_info row = only_row();
    assert_string_equal(row.family, "blis");
    assert_string_equal(row.reason, "");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_string_equal(row.version, "7.6.5");
    assert_string_equal(row.kernels, "generic");
}

/* ---- Libraries with correct products and another fault ---- */

static void test_right_lapack(void **state) {
    (void)state;
    bp_library_info row = probe_good("lapack");
    assert_int_equal(row.kinds, BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK);
    assert_string_equal(row.faults, "");
    assert_true(row.faulty == 0);
    assert_int_equal(row.overreads, 0);
    assert_string_equal(row.blas, "");
}

/* Wrong in one type of one family: all other operations stay usable. */
static void test_wrong_lapack(void **state) {
    (void)state;
    int length;
    bp_library_info row = probe_good("lapack-wrong");
    assert_true(row.faulty == BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_F64));
    assert_string_equal(row.faults, "cholesky f64: wrong results in probe: dpotrf, random matrix: the product of the "
                                    "factors differs from the matrix");
    const char *fault = bp_library_fault(&row, BP_CHECK_CHOLESKY, BP_F64, &length);
    assert_string_equal(fault, row.faults + strlen("cholesky f64: "));
    assert_int_equal(length, strlen(fault));
    assert_null(bp_library_fault(&row, BP_CHECK_CHOLESKY, BP_F32, &length));
    assert_null(bp_library_fault(&row, BP_CHECK_LU, BP_F64, &length));
}

/* Checks that passed before the crash count, and later families are checked in another child. */
static void test_crashing_lapack(void **state) {
    (void)state;
    int length;
    bp_library_info row = probe_good("lapack-crash");
    assert_true(row.faulty == (BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_C64) | BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_C128) |
                               BP_CHECK_BIT(BP_CHECK_TRIANGULAR, BP_F32)));
    const char *const expected = "cholesky c64: not tested: cpotrf ended the probe with SIGSEGV\n"
                                 "cholesky c128: not tested: cpotrf ended the probe with SIGSEGV\n"
                                 "triangular f32: wrong results in probe: strsm, random matrix: the solutions do not "
                                 "solve the equations";
    assert_string_equal(row.faults, expected);
    const char *fault = bp_library_fault(&row, BP_CHECK_CHOLESKY, BP_C128, &length);
    assert_int_equal(length, strlen("not tested: cpotrf ended the probe with SIGSEGV"));
    assert_memory_equal(fault, "not tested: cpotrf ended the probe with SIGSEGV\n",
                        strlen("not tested: cpotrf ended the probe with SIGSEGV\n"));
    fault = bp_library_fault(&row, BP_CHECK_TRIANGULAR, BP_F32, &length);
    assert_non_null(fault);
    assert_memory_equal(fault, "wrong results in probe: strsm", 29);
}

static void test_exiting_lapack(void **state) {
    (void)state;
    bp_library_info row = probe_good("lapack-exit");
    assert_string_equal(row.faults, "cholesky c128: not tested: zpotrf ended the probe");
}

/* Finding the width of its integers ends a child; the checks run all the same. */
static void test_stopping_lapack(void **state) {
    (void)state;
    bp_library_info row = probe_good("lapack-stops");
    assert_int_equal(row.kinds, BP_LIB_LAPACK);
    assert_int_equal(row.int_bits, 64);
    assert_string_equal(row.faults, "cholesky c128: not tested: zpotrf ended the probe");
}

static void test_hanging_lapack(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "8000", 1);
    bp_library_info row = probe_good("lapack-hang");
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    assert_non_null(strstr(row.faults, "cholesky f32: not tested: spotrf did not end within 2000 ms\n"));
    assert_true(row.faulty == (BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_F32) | BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_F64) |
                               BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_C64) | BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_C128)));
}

/* The child exceeds its own limit too: checks left when the probe's time is over are not tested, and all that passed
 * count. */
static void test_stuck_lapack(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "6000", 1);
    bp_library_info row = probe_good("lapack-stuck");
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    assert_null(strstr(row.faults, "lu f32"));
    assert_null(strstr(row.faults, "cholesky f32"));
    assert_non_null(strstr(row.faults, "cholesky f64: not tested: the probe hung before\n"));
    assert_non_null(strstr(row.faults, "eigh f32: not tested: the probe hung before\n"));
}

/* Finds a LAPACK of the machine that passes all checks. */
static bool find_lapack(char path[4096]) {
    bp_library_info row = {.struct_size = sizeof row};
    int count = 0;
    setenv("BACKPLANE_REGISTRY_SYSTEM", "true", 1);
    unsetenv("BACKPLANE_LIBRARY_PATH");
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < count && bp_library_at(i, &row); i++) {
        if (row.state == BP_LIBRARY_OK && row.kinds & BP_LIB_LAPACK && row.int_bits == 32 && !*row.prefix &&
            strcmp(row.suffix, "_") == 0 && strcmp(row.family, "mkl") != 0 && row.faulty == 0) {
            snprintf(path, 4096, "%s", row.path);
            return true;
        }
    }
    return false;
}

/* Every checked routine, wrong in one number. */
static void test_each_wrong_routine(void **state) {
    (void)state;
    enum { REAL = 3, COMPLEX = 12, ALL = 15 };
    static const struct {
        const char *stem;
        bp_check check;
        unsigned types; /* in the order of the bits */
    } routines[] = {
        {"getrf", BP_CHECK_LU, ALL},           {"getri", BP_CHECK_LU, ALL},
        {"getrs", BP_CHECK_LU, ALL},           {"potrf", BP_CHECK_CHOLESKY, ALL},
        {"potrs", BP_CHECK_CHOLESKY, ALL},     {"potri", BP_CHECK_CHOLESKY, ALL},
        {"sytrf", BP_CHECK_CHOLESKY, ALL},     {"sytrs", BP_CHECK_CHOLESKY, ALL},
        {"hetrf", BP_CHECK_CHOLESKY, COMPLEX}, {"hetrs", BP_CHECK_CHOLESKY, COMPLEX},
        {"trsm", BP_CHECK_TRIANGULAR, ALL},    {"geqrf", BP_CHECK_QR, ALL},
        {"orgqr", BP_CHECK_QR, REAL},          {"ungqr", BP_CHECK_QR, COMPLEX},
        {"syevd", BP_CHECK_EIGH, REAL},        {"heevd", BP_CHECK_EIGH, COMPLEX},
        {"geev", BP_CHECK_EIG, ALL},           {"gesdd", BP_CHECK_SVD, ALL},
        {"gels", BP_CHECK_LSTSQ, ALL},         {"gelsy", BP_CHECK_LSTSQ, ALL},
        {"gelsd", BP_CHECK_LSTSQ, ALL},        {"gelss", BP_CHECK_LSTSQ, ALL},
    };
    char path[4096];
    if (!find_lapack(path)) {
        print_message("no LAPACK on this machine: wrong routines of a real one were not tried\n");
        skip();
    }
    setenv("FAKE_REAL", path, 1);
    setenv("FAKE_WRONG", "", 1);
    assert_string_equal(probe_good("forwarding").faults, "");
    for (int i = 0; i < BP__COUNT(routines); i++) {
        setenv("FAKE_WRONG", routines[i].stem, 1);
        bp_library_info row = probe_good("forwarding");
        if (row.faulty != (uint64_t)routines[i].types << 4 * routines[i].check) {
            fail_msg("wrong %s: %s", routines[i].stem, row.faults);
        }
        assert_non_null(strstr(row.faults, routines[i].stem));
    }
    unsetenv("FAKE_REAL");
    unsetenv("FAKE_WRONG");
}

/* Probes a fake FFTW. It is usable, whatever it has wrong. */
static bp_library_info probe_fftw(const char *folder) {
    restart(folder, NULL);
    bp_library_info row = only_row();
    assert_string_equal(row.family, "fftw");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    return row;
}

static void test_wrong_transforms(void **state) {
    (void)state;
    bp_library_info row = probe_fftw(FAKES "/fftw");
    assert_string_equal(row.faults, "");
    assert_string_equal(row.inexact[0], "");
    row = probe_fftw(FAKES "/fftw-wrong");
    assert_true(row.faulty == BP_CHECK_BIT(BP_CHECK_R2C, BP_C64));
    assert_string_equal(row.faults, "fft r2c c64: wrong results in probe: fftwf, random signal: forward transform of "
                                    "97 elements");
}

static void test_peeking_transforms(void **state) {
    (void)state;
    bp_library_info row = probe_fftw(FAKES "/fftw-peeking");
    assert_true(row.faulty == BP_CHECK_BIT(BP_CHECK_R2C, BP_C64));
    assert_string_equal(row.faults, "fft r2c c64: reads memory outside of its operands in probe: fftwf, forward "
                                    "transform of 1 elements");
}

/* Large errors for some lengths are a property of the library, and no fault. */
static void test_inexact_transforms(void **state) {
    (void)state;
    bp_library_info row = probe_fftw(FAKES "/fftw-inexact");
    assert_string_equal(row.faults, "");
    assert_string_equal(row.inexact[0], "19 23");
    assert_string_equal(row.inexact[1], "");
}

static bp_library_info probe_xsmm(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FAKES, name);
    restart(path, NULL);
    bp_library_info row = only_row();
    assert_string_equal(row.family, "libxsmm");
    assert_int_equal(row.kinds, BP_LIB_SMM); /* although it has names of a BLAS */
    return row;
}

static void test_generated_kernels(void **state) {
    (void)state;
    bp_library_info row = probe_xsmm("xsmm");
    assert_string_equal(row.reason, "");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_int_equal(row.int_bits, 32);
    assert_string_equal(row.kernels, "hsw");
    assert_non_null(strstr(row.fact_sources, "int_bits: leading dimensions"));
    row = probe_xsmm("xsmm-wide");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_int_equal(row.int_bits, 64);
}

static void test_wrong_kernels(void **state) {
    (void)state;
    static const struct {
        const char *name, *reason;
    } cases[] = {
        {"xsmm-version2", "it lacks libxsmm_smmdispatch: the provider needs the interface of version 1"},
        {"xsmm-none", "it generates no kernel for this processor, or may not make memory executable "
                      "(libxsmm_smmdispatch)"},
        {"xsmm-wrong", "wrong results in probe: libxsmm_smmdispatch (op NT, 17x9x13)"},
        {"xsmm-reads", "wrong results in probe: libxsmm_smmdispatch (op NN, 1x1x1)"},
        {"xsmm-spills", "wrong results in probe: libxsmm_smmdispatch (op NN, 3x4x5)"},
    };
    for (int i = 0; i < BP__COUNT(cases); i++) {
        bp_library_info row = probe_xsmm(cases[i].name);
        assert_int_equal(row.state, BP_LIBRARY_BROKEN);
        assert_string_equal(row.reason, cases[i].reason);
    }
}

/* Probes a library in front of the real oneDNN. Returns false if there was none when the tests were built. */
static bool probe_dnn(const char *name, bp_library_info *row) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FAKES, name);
    if (access(path, F_OK) != 0) {
        return false;
    }
    restart(path, NULL);
    *row = only_row();
    assert_string_equal(row->family, "onednn");
    assert_string_equal(row->reason, "");
    assert_int_equal(row->state, BP_LIBRARY_OK);
    return true;
}

/* Each wrong primitive is refused by itself. */
static void test_primitives(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bp_primitive primitive;
        const char *fault;
    } cases[] = {
        {"dnn-sum", BP_PRIMITIVE_MATMUL_F32, "wrong results in probe: op NN, beta 1"},
        {"dnn-relu", BP_PRIMITIVE_CONVOLUTION, "wrong results in probe: 3x3 taps, with ReLU"},
        {"dnn-average", BP_PRIMITIVE_POOLING, "wrong results in probe: averages of 2x2 windows"},
        {"dnn-eps", BP_PRIMITIVE_BATCH_NORM, "wrong results in probe: given statistics"},
        {"dnn-rnn", BP_PRIMITIVE_RNN, "wrong results in probe: descending"},
        {"dnn-lstm", BP_PRIMITIVE_LSTM, "wrong results in probe: descending"},
        {"dnn-gru", BP_PRIMITIVE_GRU, "wrong results in probe: descending"},
        {"dnn-gru_before", BP_PRIMITIVE_GRU_BEFORE, "wrong results in probe: descending"},
        {"dnn-saturates", BP_PRIMITIVE_MATMUL_U8, "wrong results in probe: op NN, 3x5x7, all elements 255 and -128"},
        {"dnn-saturates", BP_PRIMITIVE_MATMUL_I8, "wrong results in probe: op NN, 3x5x7, all elements -128 and -128"},
        {"dnn-rounds", BP_PRIMITIVE_MATMUL_U8, "wrong results in probe: op NN, 9x100x601, all elements 255 and 127"},
        {"dnn-reference", BP_PRIMITIVE_MATMUL_I8, "not offered on this processor"},
        {"dnn-peeks", BP_PRIMITIVE_MATMUL_U8, "reads memory outside of its operands in probe"},
    };
    bp_library_info right, row;
    int length;
    if (!probe_dnn("dnn-none", &right)) {
        print_message("skipped: oneDNN 3 is not installed in .venv\n");
        skip();
    }
    const uint64_t plain = BP_PRIMITIVE_BIT(BP_PRIMITIVE_MATMUL_F32) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_CONVOLUTION) |
                           BP_PRIMITIVE_BIT(BP_PRIMITIVE_POOLING) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_BATCH_NORM) |
                           BP_PRIMITIVE_BIT(BP_PRIMITIVE_RNN) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_LSTM) |
                           BP_PRIMITIVE_BIT(BP_PRIMITIVE_GRU) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_GRU_BEFORE);
    if ((right.faulty & plain) != 0) {
        fail_msg("%s", right.faults);
    }
    for (int i = 0; i < BP__COUNT(cases); i++) {
        const uint64_t bit = BP_PRIMITIVE_BIT(cases[i].primitive);
        assert_true(probe_dnn(cases[i].name, &row));
        const char *fault = bp_library_fault_of_bit(&row, bit, &length);
        assert_non_null(fault);
        if (length != (int)strlen(cases[i].fault) || strncmp(fault, cases[i].fault, strlen(cases[i].fault)) != 0) {
            fail_msg("%s: %s", cases[i].name, row.faults);
        }
        assert_true((row.faulty & plain & ~bit) == 0);
    }
    assert_true(probe_dnn("dnn-products", &row));
    const uint64_t offered = BP_PRIMITIVE_BIT(BP_PRIMITIVE_MATMUL_I8) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_MATMUL_U8) |
                             BP_PRIMITIVE_BIT(BP_PRIMITIVE_MATMUL_F16);
    if ((row.faulty & (plain | offered)) != 0) {
        fail_msg("%s", row.faults);
    }
}

/* ---- Libraries that forward their calls ---- */

static void test_dropin(void **state) {
    (void)state;
    bp_library_info row = {.struct_size = sizeof row};
    restart(FAKES "/dropin", NULL);
    row = only_row();
    assert_int_equal(row.state, BP_LIBRARY_FACADE);
    assert_non_null(strstr(row.reason, "forwards its products to /"));
    assert_non_null(strstr(row.reason, "/plain/libplain.so, which it opens itself"));
    restart(FAKES "/dropin:" FAKES "/plain", NULL);
    assert_int_equal(bp_library_at(0, &row), 1);
    assert_string_equal(row.id, "blas");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_int_equal(bp_library_at(1, &row), 1);
    assert_string_equal(row.id, "blas-libdropin");
    assert_int_equal(row.state, BP_LIBRARY_FACADE);
}

static void test_chosen_when_loaded(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"flexiblas", "flexiblas"}, {"trampoline", "libblastrampoline"}, {"backplane-dropin", "backplane"}};
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", FAKES, names[i][0]);
        restart(path, NULL);
        bp_library_info row = only_row();
        assert_string_equal(row.family, names[i][1]);
        assert_string_equal(row.version, i == 0 ? "3.4.5" : "");
        assert_int_equal(row.state, BP_LIBRARY_FACADE);
        assert_string_equal(row.reason, "forwards its calls to a library that is chosen when it is loaded");
    }
}

/* ---- Opening by name ---- */

static void test_opened_by_name(void **state) {
    (void)state;
    void *handle = &handle, *again;
    bp_library_info row = {.struct_size = sizeof row};
    restart(FAKES "/plain:" FAKES "/flexiblas:" FAKES "/crash", NULL);
    assert_int_equal(bp_library_open(NULL, &handle), BP_E_ARGUMENT);
    assert_int_equal(bp_library_open("blas", NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_library_open("nothing", &handle), BP_E_NOT_FOUND);
    assert_null(handle);
    assert_int_equal(bp_library_open("flexiblas", &handle), BP_E_UNSUPPORTED); /* it forwards */
    assert_int_equal(bp_library_open(FAKES "/crash/libcrash.so", &handle), BP_E_BROKEN);
    assert_int_equal(bp_library_open("native", &handle), BP_E_UNSUPPORTED); /* it has no file */
    assert_null(handle);
    assert_int_equal(bp_library_open("blas", &handle), BP_OK);
    assert_int_equal(bp_library_open(FAKES "/plain/libplain.so", &again), BP_OK);
    assert_ptr_equal(handle, again);
    assert_int_equal(bp_library_find("blas", &row), BP_OK);
    Dl_info where;
    void *routine = dlsym(handle, "dgemm_");
    assert_non_null(routine);
    assert_int_not_equal(dladdr(routine, &where), 0);
    assert_string_equal(strrchr(where.dli_fname, '/'), strrchr(row.path, '/'));
}

/* ---- A LAPACK without its own BLAS ---- */

static void test_lapack_reports_its_blas(void **state) {
    (void)state;
    bp_library_info row = {.struct_size = sizeof row};
    restart(FAKES "/openmp", NULL);
    assert_int_equal(bp_library_find("libalone.so", &row), BP_OK);
    assert_string_equal(row.family, "netlib");
    assert_int_equal(row.kinds, BP_LIB_LAPACK);
    assert_string_equal(row.blas, "blas");
    assert_string_equal(row.threading, "libgomp");
    assert_non_null(strstr(row.fact_sources, "threading: as its BLAS"));
    char paths[8192]; /* for another process */
    bp__library_write_paths(&row, paths, sizeof paths);
    restart(paths, NULL);
    assert_int_equal(bp_library_find("libalone.so", &row), BP_OK);
    assert_string_equal(row.threading, "libgomp");
    restart(FAKES "/openmp/libalone.so", NULL); /* a BLAS that is not listed */
    row = only_row();
    assert_non_null(strstr(row.blas, "/openmp/libopenmp.so"));
    assert_string_equal(row.threading, "unknown");
}

/* The loader would give it another BLAS with the same SONAME, which this process has loaded before. */
static void test_lapack_keeps_its_blas(void **state) {
    (void)state;
    void *handle;
    restart(FAKES "/openmp", NULL);
    assert_non_null(dlopen(FAKES "/other/libopenmp.so", RTLD_NOW | RTLD_LOCAL));
    assert_int_equal(bp__library_open(bp__library_lookup("libalone.so"), &handle), BP_E_LOAD);
    assert_non_null(strstr(bp_last_error(), "products of " FAKES "/other/libopenmp.so"));
    assert_non_null(strstr(bp_last_error(), "instead of the products of blas"));
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
        cmocka_unit_test(test_blis_is_initialised_before_queries),
        cmocka_unit_test(test_right_lapack),
        cmocka_unit_test(test_wrong_lapack),
        cmocka_unit_test(test_crashing_lapack),
        cmocka_unit_test(test_exiting_lapack),
        cmocka_unit_test(test_stopping_lapack),
        cmocka_unit_test(test_hanging_lapack),
        cmocka_unit_test(test_stuck_lapack),
        cmocka_unit_test(test_each_wrong_routine),
        cmocka_unit_test(test_wrong_transforms),
        cmocka_unit_test(test_inexact_transforms),
        cmocka_unit_test(test_peeking_transforms),
        cmocka_unit_test(test_generated_kernels),
        cmocka_unit_test(test_wrong_kernels),
        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_dropin),
        cmocka_unit_test(test_chosen_when_loaded),
        cmocka_unit_test(test_opened_by_name),
        cmocka_unit_test(test_lapack_reports_its_blas),
        cmocka_unit_test(test_lapack_keeps_its_blas),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
