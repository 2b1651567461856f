/* test_needs.c - tests that libraries are probed as far as they are needed, and that the order of the needs changes
 * nothing in what is known in the end. */
#include "registry/support_registry.h"

#include "backplane.h"
#include "dispatch/internal.h"

#include <sys/wait.h>
#include <unistd.h>

static const bp__need products = {BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_SMM, true}, transforms = {BP_LIB_FFT, false},
                      factors = {BP_LIB_LAPACK, false}, none = {0, false};

/* In the order of paths, which decides about ids, one without LAPACK is before the one with it. */
static const char some[] = FAKES "/fortran:" FAKES "/lapack-wrong:" FAKES "/fftw-inexact:" FAKES "/plain:" FAKES
                                 "/wide:" FAKES "/crash:" FAKES "/xsmm:" FAKES "/lapack-stops:" FAKES "/peeking";

/* Returns the entry whose file has that name; NULL if it is left out. */
static const bp_library_info *entry_of(bp__need need, const char *file) {
    const bp_library_info **entries;
    int count;
    assert_int_equal(bp__libraries(need, &entries, &count), BP_OK);
    assert_string_equal(entries[count - 1]->id, "native");
    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(entries[i]->path, '/');
        if (slash && strcmp(slash + 1, file) == 0) {
            return entries[i];
        }
    }
    return NULL;
}

static int is_known(void) {
    int known = -1;
    assert_int_equal(bp_libraries_cached(&known), BP_OK);
    return known;
}

static void test_only_what_is_needed_is_probed(void **state) {
    (void)state;
    restart(some, NULL);
    assert_null(entry_of(none, "libplain.so"));
    assert_non_null(entry_of(products, "libplain.so"));
    assert_non_null(entry_of(products, "libxsmm.so"));
    assert_int_equal(entry_of(products, "libcrash.so")->state, BP_LIBRARY_BROKEN);
    assert_null(entry_of(products, "libfftw-inexact.so"));
    assert_null(entry_of(products, "liblapack-stops.so"));
    assert_int_equal(is_known(), 0);
    assert_non_null(entry_of(transforms, "libfftw-inexact.so"));
    assert_null(entry_of(products, "liblapack-stops.so"));
    assert_non_null(entry_of(factors, "liblapack-stops.so"));
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_library_find(FAKES "/plain/libplain.so", &row), BP_OK);
    assert_int_equal(is_known(), 1);
}

/* A list without a need of its own makes the checks that were left, and no others. */
static void test_the_rest_of_one_library(void **state) {
    (void)state;
    bool changed = false;
    restart(some, NULL);
    const bp_library_info *brief = entry_of(products, "liblapack-wrong.so");
    const uint32_t lists = bp__library_lists();
    assert_string_equal(brief->faults, "");
    assert_int_equal(brief->state, BP_LIBRARY_OK);
    assert_int_equal(bp__library_check_rest(brief, &changed), BP_OK);
    assert_true(changed);
    assert_int_not_equal(bp__library_lists(), lists);
    const bp_library_info *whole = entry_of(products, "liblapack-wrong.so");
    assert_ptr_not_equal(brief, whole);
    assert_non_null(strstr(whole->faults, "cholesky f64: wrong results in probe"));
    assert_string_equal(brief->faults, ""); /* others may still use this entry */
    assert_int_equal(bp__library_check_rest(brief, &changed), BP_OK);
    assert_true(changed); /* for a thread that has chosen by this entry meanwhile */
    assert_string_equal(entry_of(products, "libpeeking.so")->outside, "*");
    assert_int_equal(bp__library_check_rest(whole, &changed), BP_OK);
    assert_false(changed);
    assert_int_equal(bp__library_check_rest(entry_of(products, "libcrash.so"), &changed), BP_OK);
    assert_false(changed);
    assert_null(entry_of(products, "libfftw-inexact.so"));
}

/* Writes what a probe finds of each library; needs of memory and time differ from probe to probe. */
static void describe(char *text, size_t size) {
    bp_library_info row = {.struct_size = sizeof row};
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; bp_library_at(i, &row); i++) {
        used += (size_t)snprintf(text + used, size - used, "%s %s %d %d %x %s|%s|%s|%s|%s|%s|%s|%s\n", row.id, row.path,
                                 (int)row.state, row.int_bits, row.overreads, row.reason, row.faults, row.outside,
                                 row.inexact[1], row.fact_sources, row.threading, row.thread_scope, row.blas);
        assert_true(used < size);
    }
}

static void test_the_order_of_needs_changes_nothing(void **state) {
    (void)state;
    static char direct[1 << 16], grown[1 << 16];
    const bp__need *const orders[][3] = {
        {&products, &transforms, &factors}, {&factors, &products, &none}, {&transforms, &factors, &products}};
    restart(some, NULL);
    describe(direct, sizeof direct);
    assert_non_null(strstr(direct, "ssyrk"));
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        bool changed;
        restart(some, NULL);
        for (int j = 0; j < 3; j++) {
            const bp_library_info *one = entry_of(*orders[i][j], "libpeeking.so");
            assert_int_equal(one ? bp__library_check_rest(one, &changed) : BP_OK, BP_OK);
        }
        describe(grown, sizeof grown);
        assert_string_equal(grown, direct);
    }
}

/* An entry that is known has the id that it has in the whole list. */
static void test_ids_do_not_depend_on_needs(void **state) {
    (void)state;
    const bp__need *const needs[] = {&products, &transforms, &factors};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const bp_library_info **entries;
        int count;
        restart(some, NULL);
        assert_int_equal(bp__libraries(*needs[i], &entries, &count), BP_OK);
        assert_true(count > 1);
        for (int j = 0; j < count - 1; j++) {
            bp_library_info whole = {.struct_size = sizeof whole};
            assert_int_equal(bp_library_find(entries[j]->path, &whole), BP_OK);
            assert_string_equal(whole.id, entries[j]->id);
            assert_int_equal(whole.state, entries[j]->state);
        }
    }
}

static const char *folder;
static char cache[4352];

static int make(void **state) {
    (void)state;
    folder = strdup(make_folder());
    snprintf(cache, sizeof cache, "%s/cache", folder);
    return 0;
}

static int forget(void **state) {
    (void)state;
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return bp_reset() != BP_OK || bp__live_blocks() != 0;
}

static void test_what_was_left_is_stored_as_such(void **state) {
    (void)state;
    restart(some, cache);
    assert_true(entry_of(products, "liblapack-wrong.so")->probe_ms > 0);
    restart(some, cache);
    const bp_library_info *brief = entry_of(products, "liblapack-wrong.so");
    assert_true(brief->probe_ms == 0);
    assert_int_equal(is_known(), 0);
    assert_string_equal(brief->faults, "");
    assert_non_null(strstr(entry_of(factors, "liblapack-wrong.so")->faults, "cholesky f64: wrong"));
    restart(some, cache);
    brief = entry_of(products, "liblapack-wrong.so");
    assert_true(brief->probe_ms == 0);
    assert_non_null(strstr(brief->faults, "cholesky f64: wrong"));
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_library_find("fftw", &row), BP_OK);
    assert_true(row.probe_ms > 0);
    restart(some, cache);
    assert_int_equal(is_known(), 1);
}

/* A process keeps what another one has stored since it has read the cache. */
static void test_another_process_knows_more(void **state) {
    (void)state;
    bool changed;
    restart(some, cache);
    const bp_library_info *brief = entry_of(products, "liblapack-wrong.so");
    const pid_t other = fork();
    if (other == 0) {
        int count = 0;
        restart(some, cache);
        _exit(bp_library_count(&count) == BP_OK && is_known() == 1 ? 0 : 1);
    }
    int end = -1;
    assert_int_equal(waitpid(other, &end, 0), other);
    assert_int_equal(end, 0);
    assert_int_equal(bp__library_check_rest(brief, &changed), BP_OK);
    assert_true(changed);
    restart(some, cache);
    assert_int_equal(is_known(), 1);
}

/* A file may vanish between the two probes. */
static void test_a_library_that_vanishes(void **state) {
    (void)state;
    char path[4352];
    snprintf(path, sizeof path, "%s/liblapack-wrong.so", folder);
    copy_file(FAKES "/lapack-wrong/liblapack-wrong.so", path);
    restart(folder, NULL);
    const bp_library_info *brief = entry_of(products, "liblapack-wrong.so");
    assert_int_equal(brief->state, BP_LIBRARY_OK);
    assert_int_equal(unlink(path), 0);
    const bp_library_info *whole = entry_of(factors, "liblapack-wrong.so");
    assert_int_equal(whole->state, BP_LIBRARY_BROKEN);
    assert_string_equal(whole->id, brief->id);
    assert_non_null(strstr(whole->reason, "cannot be loaded"));
}

/* ---- Calls ---- */

static bp_status multiply(void) {
    double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4];
    bp_view views[3];
    bp_view_matrix(&views[0], a, BP_F64, 2, 2);
    bp_view_matrix(&views[1], b, BP_F64, 2, 2);
    bp_view_matrix(&views[2], c, BP_F64, 2, 2);
    const bp_status status = bp_matmul(&views[0].tensor, &views[1].tensor, &views[2].tensor);
    return status == BP_OK && (c[0] != 19 || c[3] != 50) ? BP_E_INTERNAL : status;
}

static void take_exponentials(void) {
    double x[] = {0, 1}, y[2];
    bp_view views[2];
    bp_view_matrix(&views[0], x, BP_F64, 1, 2);
    bp_view_matrix(&views[1], y, BP_F64, 1, 2);
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_EXP, &views[0].tensor, &views[1].tensor), BP_OK);
    assert_true(y[0] == 1);
}

/* A product needs the libraries that multiply, and all of the one that it runs on. */
static void test_a_first_product(void **state) {
    (void)state;
    restart(some, NULL);
    assert_int_equal(bp_set("blas.preferred", FAKES "/lapack-wrong/liblapack-wrong.so"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "strict"), BP_OK);
    assert_int_equal(multiply(), BP_OK);
    assert_non_null(strstr(entry_of(products, "liblapack-wrong.so")->faults, "cholesky f64: wrong"));
    assert_string_equal(entry_of(products, "libpeeking.so")->outside, "*");
    assert_null(entry_of(products, "libfftw-inexact.so"));
    assert_int_equal(is_known(), 0);
    /* A name of no library that multiplies: the error has what all libraries are. */
    assert_int_equal(bp_set("blas.preferred", "fftw"), BP_OK);
    assert_int_not_equal(multiply(), BP_OK);
    assert_non_null(strstr(bp_last_error(), "Fourier transforms"));
    assert_int_equal(is_known(), 1);
    assert_int_equal(bp_unset("blas.preferred"), BP_OK);
    assert_int_equal(bp_unset("dispatch.fallback"), BP_OK);
}

/* An error tells of all libraries, as an explanation does. */
static void test_a_first_failure(void **state) {
    (void)state;
    double a[] = {2, 1, 1, 3}, values[4];
    bp_view matrix, vector;
    restart(FAKES "/plain:" FAKES "/fftw", NULL);
    bp_view_matrix(&matrix, a, BP_F64, 2, 2);
    bp_view_init(&vector, values, BP_C128, 1, (const int64_t[]){2}, NULL);
    assert_int_equal(bp_eigvals(&matrix.tensor, &vector.tensor), BP_E_NO_CANDIDATE);
    assert_int_equal(is_known(), 1);
}

static void test_a_first_function_of_elements(void **state) {
    (void)state;
    restart(some, NULL);
    take_exponentials();
    assert_null(entry_of(none, "libplain.so"));
}

static int is_measured(const char *class) {
    char path[4608], *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/calibration.txt", cache);
    if (access(path, F_OK) != 0) {
        return 0;
    }
    assert_int_equal(bp__file_read(path, 1 << 22, &bytes, &size), BP_OK);
    const int found = strstr(bytes, class) != NULL;
    bp__free(bytes);
    return found;
}

static void multiply_singles(void) {
    float one = 1, two = 2, product = 0;
    bp_view views[3];
    bp_view_matrix(&views[0], &one, BP_F32, 1, 1);
    bp_view_matrix(&views[1], &two, BP_F32, 1, 1);
    bp_view_matrix(&views[2], &product, BP_F32, 1, 1);
    assert_int_equal(bp_matmul(&views[0].tensor, &views[1].tensor, &views[2].tensor), BP_OK);
    assert_true(product == 2);
}

/* Times of an element type are measured before the first product of this type. */
static void test_only_times_that_are_needed_are_measured(void **state) {
    (void)state;
    restart(FAKES "/plain:" FAKES "/fftw", cache);
    assert_int_equal(bp_set("calibration", "auto"), BP_OK);
    take_exponentials();
    assert_false(is_measured("\ngemm."));
    assert_int_equal(multiply(), BP_OK);
    assert_true(is_measured("\ngemm.f64 native"));
    assert_true(is_measured("\ngemm.f64 blas"));
    assert_false(is_measured("\ngemm.f32 "));
    multiply_singles();
    assert_true(is_measured("\ngemm.f32 native"));
    assert_true(is_measured("\ngemm.f32 blas"));
    assert_int_equal(is_known(), 0); /* nor did the helper need more of the libraries */
    assert_int_equal(bp_unset("calibration"), BP_OK);
}

/* Returns whether native has times of products in f32. */
static bool knows_singles(void) {
    const bp__candidate *native = NULL;
    bp__candidate **list;
    int count;
    assert_int_equal(bp__candidates(NULL, -1, &list, &count), BP_OK);
    for (int i = 0; i < count; i++) {
        native = bp__candidate_is_native(list[i]) ? list[i] : native;
    }
    assert_non_null(native);
    return bp__calibration_knows(atomic_load(&native->calibration), bp__class_base(BP_F32));
}

/* Times that another process has measured since this one has read the store are used. */
static void test_another_process_measures(void **state) {
    (void)state;
    restart(FAKES "/plain", cache);
    assert_int_equal(bp_set("calibration", "auto"), BP_OK);
    assert_int_equal(multiply(), BP_OK);
    const pid_t other = fork();
    if (other == 0) {
        restart(FAKES "/plain", cache);
        const bp_status set = bp_set("calibration", "auto");
        multiply_singles();
        _exit(set == BP_OK && knows_singles() ? 0 : 1);
    }
    int end = -1;
    assert_int_equal(waitpid(other, &end, 0), other);
    assert_int_equal(end, 0);
    assert_false(knows_singles());
    multiply_singles();
    assert_true(knows_singles());
    assert_int_equal(bp_unset("calibration"), BP_OK);
}

/* The kinds of libraries of a family decide what is probed, so no provider may use others. */
static void test_kinds_of_families(void **state) {
    (void)state;
    bp__candidate **list;
    int count, samples = 0;
    setenv("BACKPLANE_REGISTRY_SYSTEM", "true", 1);
    unsetenv("BACKPLANE_LIBRARY_PATH");
    setenv("BACKPLANE_REGISTRY_CACHE", "read-write", 1);
    unsetenv("BACKPLANE_CACHE_DIR");
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp__candidates(&BP__NEED_ALL, -1, &list, &count), BP_OK);
    for (int class = 0; class < BP__CLASSES; class ++) {
        bp_problem sample;
        assert_int_equal(bp__class_sample(&sample, &bp__classes[class]), BP_OK);
        const bp__need need = bp__need_of(&sample);
        for (int i = 0; i < count; i++) {
            const bp_library_info *library = list[i]->library;
            if (library && !list[i]->provider->runtimes && !(library->kinds & need.kinds)) {
                assert_false(bp__candidate_offers(list[i], &sample));
                samples++;
            }
        }
    }
    print_message("%d samples of other libraries\n", samples);
}

/* The last test: a helper stays one. */
static void test_a_helper_looks_up_what_it_knows(void **state) {
    (void)state;
    restart(some, NULL);
    const bp_library_info *known = entry_of(transforms, "libfftw-inexact.so");
    bp__libraries_leave_rest();
    assert_ptr_equal(bp__library_lookup("fftw"), known);
    assert_null(bp__library_lookup(FAKES "/plain/libplain.so"));
    assert_string_equal(bp__library_lookup("native")->id, "native");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_needed_is_probed),
        cmocka_unit_test(test_the_rest_of_one_library),
        cmocka_unit_test(test_the_order_of_needs_changes_nothing),
        cmocka_unit_test(test_ids_do_not_depend_on_needs),
        cmocka_unit_test_setup_teardown(test_what_was_left_is_stored_as_such, make, forget),
        cmocka_unit_test_setup_teardown(test_another_process_knows_more, make, forget),
        cmocka_unit_test_setup_teardown(test_a_library_that_vanishes, make, forget),
        cmocka_unit_test(test_a_first_product),
        cmocka_unit_test(test_a_first_failure),
        cmocka_unit_test(test_a_first_function_of_elements),
        cmocka_unit_test_setup_teardown(test_only_times_that_are_needed_are_measured, make, forget),
        cmocka_unit_test_setup_teardown(test_another_process_measures, make, forget),
        cmocka_unit_test(test_kinds_of_families),
        cmocka_unit_test(test_a_helper_looks_up_what_it_knows),
    };
    setenv("BACKPLANE_CALIBRATION", "off", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
