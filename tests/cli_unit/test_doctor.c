/* test_doctor.c - tests the checks of doctor on simulated machines: links of Debian's alternatives in a folder, and
 * library entries without files. */
#include "cli/doctor/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void make_file(const char *name) {
    char *path = cli_format("%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    free(path);
}

static void link_to(const char *name, const char *target) {
    char *path = cli_format("%s/%s", folder, name);
    unlink(path);
    if (target) {
        assert_int_equal(symlink(target, path), 0);
    }
    if (target && strncmp(target, "lib/", 4) == 0) {
        make_file(target);
    }
    free(path);
}

/* Targets are empty files in the test's folder, so that the machine's libraries have no effect. */
#define LIB "lib/"
#define ARCH "-x86_64-linux-gnu"

static void arrange(const char *blas, const char *lapack, const char *openblas) {
    link_to("libblas.so.3" ARCH, blas);
    link_to("liblapack.so.3" ARCH, lapack);
    link_to("libopenblas.so.0" ARCH, openblas);
}

/* Returns the findings as lines "severity text", with `advised` also " -> advice". */
static char *take_findings(doctor *d, bool advised) {
    char *all = cli_format("%s", "");
    for (int i = 0; i < d->count; i++) {
        const finding *f = &d->findings[i];
        assert_true(f->severity > SEVERITY_OK && f->advice[0]);
        char *line =
            cli_format("%d %s%s%s", (int)f->severity, f->text, advised ? " -> " : "", advised ? f->advice : "");
        all = cli_join(all, "\n", line);
        free(line);
        free(f->text);
        free(f->advice);
        free(f->saves);
    }
    free(d->findings);
    d->findings = NULL;
    d->count = 0;
    return all;
}

static char *findings(void) {
    doctor d = {.check = "alternatives"};
    doctor_alternatives_in(&d, folder);
    return take_findings(&d, false);
}

static void expect(const char *wanted) {
    char *all = findings();
    assert_string_equal(all, wanted);
    free(all);
}

static void equal_alternatives_are_fine(void **state) {
    (void)state;
    arrange(LIB "openblas-pthread/libblas.so.3", LIB "openblas-pthread/liblapack.so.3",
            LIB "openblas-pthread/libopenblas.so.0");
    expect("");
    arrange(LIB "openblas-pthread/libblas.so.3", NULL, NULL);
    expect("");
    arrange(NULL, NULL, NULL);
    expect("");
}

static void different_alternatives_are_reported(void **state) {
    (void)state;
    arrange(LIB "openblas-openmp/libblas.so.3", LIB "lapack/liblapack.so.3", LIB "openblas-openmp/libopenblas.so.0");
    expect("2 libblas.so.3 is openblas-openmp but liblapack.so.3 is netlib");
    arrange(LIB "openblas-openmp/libblas.so.3", LIB "openblas-openmp/liblapack.so.3",
            LIB "openblas-pthread/libopenblas.so.0");
    expect("2 libblas.so.3 is openblas-openmp but libopenblas.so.0 is openblas-pthread: a program may load both, with "
           "two thread pools");
    arrange(LIB "blis-openmp/libblas.so.3", LIB "lapack/liblapack.so.3", NULL);
    expect("1 libblas.so.3 is blis-openmp but liblapack.so.3 is netlib");
}

static void reference_blas_is_reported(void **state) {
    (void)state;
    arrange(LIB "blas/libblas.so.3", LIB "lapack/liblapack.so.3", LIB "openblas-pthread/libopenblas.so.0");
    expect("2 libblas.so.3 is netlib's reference code: programs that are linked with it are many times slower than "
           "with an optimised BLAS");
}

static void unusual_alternatives_are_tolerated(void **state) {
    (void)state;
    arrange(NULL, "lib/x/liblapack.so.3", NULL);
    make_file("libblas.so.3" ARCH);
    expect("");
    arrange(LIB "libblas.so.3", LIB "x/liblapack.so.3", NULL);
    char *all = findings();
    assert_non_null(strstr(all, "but liblapack.so.3 is x"));
    free(all);
    link_to("libblas.so.3.1" ARCH, "/x/libblas.so.3.1");
    arrange(NULL, NULL, NULL);
    expect("");
    strcpy(folder + strlen(folder), "/absent");
    expect("");
    folder[strlen(folder) - strlen("/absent")] = 0;
    link_to("libblas.so.3.1" ARCH, NULL);
}

static void dangling_links_are_reported(void **state) {
    (void)state;
    arrange(LIB "openblas-pthread/libblas.so.3", "/proc/none/openblas-openmp/liblapack.so.3", NULL);
    expect("2 liblapack.so.3" ARCH " leads to /proc/none/openblas-openmp/liblapack.so.3, which does not exist: "
           "programs that are linked with it may not start");
    arrange("libblas.so.3", NULL, NULL);
    expect("2 libblas.so.3" ARCH " leads to libblas.so.3, which does not exist: programs that are linked with it may "
           "not start");
    arrange(NULL, NULL, NULL);
}

/* ---- Advice that depends on libraries and variables ---- */

static bp_library_info row_of(const char *id, const char *family, const char *threading, bp_library_state state) {
    return (bp_library_info){.struct_size = sizeof(bp_library_info),
                             .faults = "",
                             .blas = "",
                             .id = id,
                             .family = family,
                             .kinds = BP_LIB_BLAS,
                             .state = state,
                             .reason = state == BP_LIBRARY_OK ? "" : "SIGILL",
                             .path = "/x/lib.so",
                             .aliases = "",
                             .soname = "libblas.so.3",
                             .version = "1",
                             .kernels = "",
                             .prefix = "",
                             .threading = threading};
}

/* The processor of the simulated machine. */
static bp_capability hardware = BP_CAPABILITY_AVX2;
static const char *vendor = "GenuineIntel";

/* Runs one check with a variable set ("NAME=value", "" for none), and searches its findings for texts. */
static void expect_words(void (*check)(doctor *), const bp_library_info *rows, int count, const char *setting,
                         const char *wanted, const char *unwanted) {
    doctor d = {.check = "check", .rows = rows, .row_count = count};
    d.machine = (bp_machine_info){
        .struct_size = sizeof d.machine, .usable_cpus = 4, .logical_cpus = 4, .architecture = "x86_64"};
    d.machine.cpu_vendor = vendor;
    d.hardware = hardware;
    char *name = cli_format("%s", setting), *equals = strchr(name, '=');
    if (equals) {
        *equals = 0;
        setenv(name, equals + 1, 1);
    }
    check(&d);
    char *all = take_findings(&d, true);
    if ((wanted[0] ? !strstr(all, wanted) : all[0] != 0) || (unwanted && strstr(all, unwanted))) {
        fail_msg("with %s: %s", setting, all);
    }
    if (equals) {
        unsetenv(name);
    }
    free(name);
    free(all);
}

static void variable_of_a_broken_library_is_named(void **state) {
    (void)state;
    const bp_library_info rows[] = {row_of("openblas", "openblas", "pthread", BP_LIBRARY_BROKEN),
                                    row_of("mkl", "mkl", "libiomp5", BP_LIBRARY_BROKEN)};
    expect_words(doctor_broken, rows, 1, "", "-> reinstall", "unset");
    expect_words(doctor_broken, rows, 1, "MKL_THREADING_LAYER=TBB", "-> reinstall", "unset");
    expect_words(doctor_broken, rows, 1, "OPENBLAS_CORETYPE=SkylakeX",
                 "SIGILL, with OPENBLAS_CORETYPE=SkylakeX -> `unset OPENBLAS_CORETYPE", "-> reinstall");
    expect_words(doctor_broken, rows + 1, 1, "MKL_THREADING_LAYER=TBB",
                 "SIGILL, with MKL_THREADING_LAYER=TBB -> `unset MKL_THREADING_LAYER", "-> reinstall");
    expect_words(doctor_kernel_variables, rows, 2, "OPENBLAS_CORETYPE=Haswell", "2 OPENBLAS_CORETYPE=Haswell ",
                 "broken: openblas, mkl");
    expect_words(doctor_kernel_variables, rows, 2, "MKL_THREADING_LAYER=TBB", "broken: mkl -> `unset", "openblas");
}

static void unknown_values_are_reported(void **state) {
    (void)state;
    expect_words(doctor_kernel_variables, NULL, 0, "OPENBLAS_CORETYPE=bogus", "unknown -> `unset", NULL);
    expect_words(doctor_kernel_variables, NULL, 0, "OPENBLAS_CORETYPE=Haswell", "1 OPENBLAS_CORETYPE", "unknown");
    expect_words(doctor_kernel_variables, NULL, 0, "MKL_THREADING_LAYER=nonsense", "unknown", NULL);
    expect_words(doctor_kernel_variables, NULL, 0, "MKL_THREADING_LAYER=GNU", "1 MKL_THREADING_LAYER", "unknown");
    expect_words(doctor_kernel_variables, NULL, 0, "MKL_THREADING_LAYER=SEQUENTIAL", "makes MKL single-threaded", NULL);
    expect_words(doctor_kernel_variables, NULL, 0, "BLIS_ARCH_TYPE=99", "unknown", NULL);
    expect_words(doctor_kernel_variables, NULL, 0, "BLIS_ARCH_TYPE=25", "1 BLIS_ARCH_TYPE=25", "unknown");
}

static void variable_of_slow_kernels_is_named(void **state) {
    (void)state;
    bp_library_info row = row_of("blis", "blis", "libgomp", BP_LIBRARY_OK);
    row.kernels = "generic";
    expect_words(doctor_kernels, &row, 1, "",
                 "it does not recognise the processor -> `export BLIS_ARCH_TYPE=3` (haswell).", NULL);
    expect_words(doctor_kernels, &row, 1, "BLIS_ARCH_TYPE=25",
                 "selected by BLIS_ARCH_TYPE=25 -> `unset BLIS_ARCH_TYPE`, or set it to 3", "does not recognise");
}

static void generic_kernels_of_mkl_are_reported(void **state) {
    (void)state;
    bp_library_info row = row_of("mkl", "mkl", "libiomp5", BP_LIBRARY_OK);
    row.kernels = "def";
    vendor = "AuthenticAMD";
    expect_words(doctor_kernels, &row, 1, "", "1 mkl runs its generic kernels (def) on an AMD processor: products take",
                 "AVX-512");
    expect_words(doctor_kernels, &row, 1, "", "-> let programs that call MKL themselves use another BLAS", "unset");
    hardware = BP_CAPABILITY_AVX512;
    expect_words(doctor_kernels, &row, 1, "", "2 mkl runs its generic kernels (def) on an AMD processor: they do not",
                 NULL);
    row.state = BP_LIBRARY_BROKEN;
    expect_words(doctor_kernels, &row, 1, "", "", NULL);
    row.state = BP_LIBRARY_OK;
    row.kernels = "avx512";
    expect_words(doctor_kernels, &row, 1, "", "", NULL);
    hardware = BP_CAPABILITY_AVX2;
    row.kernels = "avx2";
    expect_words(doctor_kernels, &row, 1, "", "", NULL);
    row.kernels = "def";
    vendor = "HygonGenuine";
    expect_words(doctor_kernels, &row, 1, "", "on a processor that is not Intel's", "AMD");
    vendor = "GenuineIntel";
}

static void limits_below_the_request_are_reported(void **state) {
    (void)state;
    const bp_library_info rows[] = {row_of("openblas", "openblas", "pthread", BP_LIBRARY_OK),
                                    row_of("openblas-openmp", "openblas", "libgomp", BP_LIBRARY_OK)};
    expect_words(doctor_thread_limits, rows, 2, "OMP_THREAD_LIMIT=2",
                 "2 OMP_THREAD_LIMIT=2 is below the 4 threads that a call may request", NULL);
    expect_words(doctor_thread_limits, rows, 2, "OMP_THREAD_LIMIT=4", "", NULL);
    expect_words(doctor_thread_limits, rows, 1, "OMP_THREAD_LIMIT=2", "1 OMP_THREAD_LIMIT=2 limits", "hang");
    expect_words(doctor_thread_limits, rows, 2, "OMP_DYNAMIC=TRUE", "2 OMP_DYNAMIC=TRUE", NULL);
    expect_words(doctor_thread_limits, rows, 2, "OMP_DYNAMIC=false", "", NULL);
    expect_words(doctor_thread_limits, rows, 1, "OMP_DYNAMIC=true", "", NULL);
}

static void num_threads_is_named(void **state) {
    (void)state;
    expect_words(doctor_thread_limits, NULL, 0, "OMP_NUM_THREADS=1", "1 thread; Backplane's calls follow it", NULL);
    expect_words(doctor_thread_limits, NULL, 0, "VECLIB_MAXIMUM_THREADS=1",
                 "1 thread; num_threads applies to Backplane's calls", "follow it");
    expect_words(doctor_thread_limits, NULL, 0, "OMP_NUM_THREADS=two", "two is not a number of threads", NULL);
    assert_int_equal(bp_set_num_threads(3), BP_OK);
    expect_words(doctor_thread_limits, NULL, 0, "OMP_NUM_THREADS=1",
                 "1 thread; num_threads = 3 applies to Backplane's calls (process)", "follow it");
    assert_int_equal(bp_unset("num_threads"), BP_OK);
    expect_words(doctor_thread_limits, NULL, 0, "OMP_NUM_THREADS=9", "2 OMP_NUM_THREADS=9 is more", NULL);
}

/* The advice names an installed alternative instead of a package. */
static void installed_alternative_is_advised(void **state) {
    (void)state;
    bp_library_info row = row_of("openblas-libblas", "openblas", "pthread", BP_LIBRARY_FACADE);
    doctor d = {.check = "alternatives"};
    arrange(LIB "blas/libblas.so.3", LIB "lapack/liblapack.so.3", NULL);
    doctor_alternatives_in(&d, folder);
    char *all = take_findings(&d, true);
    assert_non_null(strstr(all, "install"));
    free(all);
    d.rows = &row;
    d.row_count = 1;
    doctor_alternatives_in(&d, folder);
    all = take_findings(&d, true);
    assert_non_null(strstr(all, "`update-alternatives --config libblas.so.3" ARCH "`"));
    assert_null(strstr(all, "install"));
    free(all);
    arrange(NULL, NULL, NULL);
}

static void loader_finds_files(void **state) {
    (void)state;
    char path[4096];
    const char *why = "";
    assert_false(doctor_loader_takes("libnonesuch.so.99", path, sizeof path, &why));
    assert_true(doctor_loader_takes("libc.so.6", path, sizeof path, &why));
    assert_true(path[0] == '/' && why[0]);
    char tiny[4];
    assert_false(doctor_loader_takes("libc.so.6", tiny, sizeof tiny, &why));
}

static int forget(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_alternatives_are_fine),
        cmocka_unit_test(different_alternatives_are_reported),
        cmocka_unit_test(reference_blas_is_reported),
        cmocka_unit_test(unusual_alternatives_are_tolerated),
        cmocka_unit_test(loader_finds_files),
        cmocka_unit_test(dangling_links_are_reported),
        cmocka_unit_test(variable_of_a_broken_library_is_named),
        cmocka_unit_test(unknown_values_are_reported),
        cmocka_unit_test(variable_of_slow_kernels_is_named),
        cmocka_unit_test(generic_kernels_of_mkl_are_reported),
        cmocka_unit_test(limits_below_the_request_are_reported),
        cmocka_unit_test(num_threads_is_named),
        cmocka_unit_test(installed_alternative_is_advised),
    };
    /* The machine's own variables must not affect the tests. */
    static const char *const variables[] = {
        "OPENBLAS_CORETYPE",   "OPENBLAS_L2_SIZE",      "BLIS_ARCH_TYPE",          "MKL_CBWR",
        "MKL_THREADING_LAYER", "MKL_INTERFACE_LAYER",   "OMP_NUM_THREADS",         "OMP_THREAD_LIMIT",
        "OMP_DYNAMIC",         "OPENBLAS_NUM_THREADS",  "MKL_NUM_THREADS",         "BLIS_NUM_THREADS",
        "ATEN_CPU_CAPABILITY", "BACKPLANE_NUM_THREADS", "BACKPLANE_CPU_CAPABILITY"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
    strcpy(folder, "/tmp/backplane-test-XXXXXX");
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
