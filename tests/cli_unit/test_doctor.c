/* test_doctor.c - Debian's alternatives, rebuilt in a folder: which of them disagree. */
#include "doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void link_to(const char *name, const char *target) {
    char *path = cli_format("%s/%s", folder, name);
    unlink(path);
    if (target) {
        assert_int_equal(symlink(target, path), 0);
    }
    free(path);
}

#define LIB "/usr/lib/x86_64-linux-gnu/"
#define ARCH "-x86_64-linux-gnu"

static void arrange(const char *blas, const char *lapack, const char *openblas) {
    link_to("libblas.so.3" ARCH, blas);
    link_to("liblapack.so.3" ARCH, lapack);
    link_to("libopenblas.so.0" ARCH, openblas);
}

/* The findings in the order found, as "severity text" lines. */
static char *findings(void) {
    doctor d = {.check = "alternatives"};
    doctor_alternatives_in(&d, folder);
    char *all = cli_format("%s", "");
    for (int i = 0; i < d.count; i++) {
        char *line = cli_format("%d %s", (int)d.findings[i].severity, d.findings[i].text);
        all = cli_join(all, "\n", line);
        free(line);
        free(d.findings[i].text);
        free(d.findings[i].advice);
    }
    free(d.findings);
    return all;
}

static void expect(const char *wanted) {
    char *all = findings();
    assert_string_equal(all, wanted);
    free(all);
}

static void agree(void **state) {
    (void)state;
    arrange(LIB "openblas-pthread/libblas.so.3", LIB "openblas-pthread/liblapack.so.3",
            LIB "openblas-pthread/libopenblas.so.0");
    expect("");
    arrange(LIB "openblas-pthread/libblas.so.3", NULL, NULL);
    expect("");
    arrange(NULL, NULL, NULL);
    expect("");
}

static void disagree(void **state) {
    (void)state;
    arrange(LIB "openblas-openmp/libblas.so.3", LIB "lapack/liblapack.so.3", LIB "openblas-openmp/libopenblas.so.0");
    expect("2 libblas.so.3 is openblas-openmp but liblapack.so.3 is netlib");
    arrange(LIB "openblas-openmp/libblas.so.3", LIB "openblas-openmp/liblapack.so.3",
            LIB "openblas-pthread/libopenblas.so.0");
    expect("2 libblas.so.3 is openblas-openmp but libopenblas.so.0 is openblas-pthread: one program may get both, with "
           "two "
           "thread pools");
    arrange(LIB "blis-openmp/libblas.so.3", LIB "lapack/liblapack.so.3", NULL);
    expect("1 libblas.so.3 is blis-openmp but liblapack.so.3 is netlib");
}

static void slow(void **state) {
    (void)state;
    arrange(LIB "blas/libblas.so.3", LIB "lapack/liblapack.so.3", LIB "openblas-pthread/libopenblas.so.0");
    expect("2 libblas.so.3 is netlib's reference code: programs that are linked with it are many times slower than "
           "need be");
}

static void strange(void **state) {
    (void)state;
    arrange("libblas.so.3", "liblapack.so.3", NULL);
    expect("");
    arrange("/libblas.so.3", "x/liblapack.so.3", NULL);
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

static void loader(void **state) {
    (void)state;
    char path[4096];
    const char *why = "";
    assert_false(doctor_loader_takes("libnonesuch.so.99", path, sizeof path, &why));
    assert_true(doctor_loader_takes("libc.so.6", path, sizeof path, &why));
    assert_true(path[0] == '/' && why[0]);
    char tiny[4];
    assert_false(doctor_loader_takes("libc.so.6", tiny, sizeof tiny, &why));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree),   cmocka_unit_test(disagree), cmocka_unit_test(slow),
        cmocka_unit_test(strange), cmocka_unit_test(loader),
    };
    strcpy(folder, "/tmp/backplane-test-XXXXXX");
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
