/* test_preferred.c - the check of preferred libraries for products, linear algebra and transforms: unknown names,
 * libraries without the operations, the stored value, and the effect of other settings. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *setting, *what, *lacking;
    unsigned kinds; /* a library with one of these offers the operations */
} families[] = {
    {"blas.preferred", "matrix products are offered by native", "offers no matrix products",
     BP_LIB_BLAS | BP_LIB_SMM | BP_LIB_DNN},
    {"linalg.preferred", "linear algebra is offered by native", "offers no LAPACK", BP_LIB_LAPACK},
    {"fft.preferred", "Fourier transforms are offered by native", "offers no Fourier transforms", BP_LIB_FFT}};
#define FAMILIES (sizeof families / sizeof families[0])

static const char *stored(const char *setting) {
    const char *value;
    assert_int_equal(bp_get_layer(setting, BP_LAYER_PROCESS, &value, NULL), BP_OK);
    return value ? value : "nothing";
}

static void assert_said(const char *words) {
    if (!strstr(bp_last_error(), words)) {
        fail_msg("'%s' is not in: %s", words, bp_last_error());
    }
}

static void unknown_names_are_refused(void **unused) {
    (void)unused;
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *setting = families[i].setting;
        assert_int_equal(bp_preferred_set(setting, "native"), BP_OK);
        assert_string_equal(stored(setting), "native");
        assert_int_equal(bp_preferred_set(setting, "nativ"), BP_E_NOT_FOUND);
        assert_said(setting);
        assert_said("no library 'nativ' was found");
        assert_said(families[i].what);
        assert_said("did you mean 'native'");
        assert_int_equal(bp_preferred_set(setting, "/no/such/library.so"), BP_E_NOT_FOUND);
        assert_int_equal(bp_preferred_check(setting, "nowhere"), BP_E_NOT_FOUND);
        assert_string_equal(stored(setting), "native");
        assert_int_equal(bp_unset(setting), BP_OK);
    }
}

static void checking_stores_nothing(void **unused) {
    (void)unused;
    for (size_t i = 0; i < FAMILIES; i++) {
        assert_int_equal(bp_preferred_check(families[i].setting, "native"), BP_OK);
        assert_int_equal(bp_preferred_check(families[i].setting, ""), BP_OK);
        assert_int_equal(bp_preferred_check(families[i].setting, "default"), BP_OK);
        assert_string_equal(stored(families[i].setting), "nothing");
    }
}

static void each_library_is_accepted_for_its_operations(void **unused) {
    (void)unused;
    bp_library_info row = {.struct_size = sizeof row};
    for (int i = 0; bp_library_at(i, &row) == BP_OK; i++) {
        for (size_t f = 0; row.state == BP_LIBRARY_OK && f < FAMILIES; f++) {
            bp_status status = bp_preferred_check(families[f].setting, row.id);
            bool offers = (row.kinds & families[f].kinds) != 0;
            bool part = strstr(row.id, "-threads") != NULL; /* a file of FFTW that belongs to the main library */
            if ((row.kinds & BP_LIB_BUILTIN) == 0 && (status == BP_OK) != (offers && !part)) {
                fail_msg("%s=%s: %s", families[f].setting, row.id, bp_last_error());
            }
            if (status != BP_OK) {
                assert_int_equal(status, BP_E_UNSUPPORTED);
                assert_said(families[f].lacking);
                assert_said(families[f].what);
            }
        }
    }
}

static void settings_in_force_do_not_matter(void **unused) {
    (void)unused;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "dispatch.exclude=native, deterministic=threads"), BP_OK);
    for (size_t i = 0; i < FAMILIES; i++) {
        assert_int_equal(bp_preferred_check(families[i].setting, "native"), BP_OK);
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void wrong_arguments(void **unused) {
    (void)unused;
    static const char *const others[] = {"", "verbose", "preferred", "cuda.preferred_blas_library", "BLAS.preferred"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(bp_preferred_check(others[i], "native"), BP_E_UNKNOWN_NAME);
        assert_int_equal(bp_preferred_set(others[i], "native"), BP_E_UNKNOWN_NAME);
        assert_said("it must be one of blas.preferred, fft.preferred, linalg.preferred, conv.preferred");
    }
    assert_int_equal(bp_preferred_check(NULL, "native"), BP_E_ARGUMENT);
    assert_int_equal(bp_preferred_set("blas.preferred", NULL), BP_E_ARGUMENT);
    assert_said("library is NULL");
    char long_name[5000];
    memset(long_name, 'x', sizeof long_name);
    long_name[4096] = 0;
    assert_int_equal(bp_preferred_check("fft.preferred", long_name), BP_E_BAD_VALUE);
    long_name[4095] = 0;
    assert_int_equal(bp_preferred_check("fft.preferred", long_name), BP_E_NOT_FOUND);
    assert_true(strlen(bp_last_error()) < 1000);
    assert_int_equal(bp_preferred_check("fft.preferred", "bell\a"), BP_E_BAD_VALUE);
}

/* Every layer accepts the keyword "default", so that a variable can cancel the preference of a file. */
static void default_cancels_a_preference(void **unused) {
    (void)unused;
    static double cells[4];
    const int64_t shape[2] = {2, 2};
    bp_view a, b;
    bp_explanation *plain, *e;
    bp_view_init(&a, cells, BP_F64, 2, shape, NULL);
    bp_view_init(&b, NULL, BP_F64, 2, shape, NULL);
    assert_int_equal(bp_matmul_explain(&plain, NULL, &a.tensor, &a.tensor, &b.tensor), BP_OK);
    assert_int_equal(bp_set("blas.preferred", "native"), BP_OK);
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=default"), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, NULL, &a.tensor, &a.tensor, &b.tensor), BP_OK);
    assert_string_equal(bp_explanation_decision(e), bp_explanation_decision(plain));
    bp_explanation_release(e);
    bp_explanation_release(plain);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_preferred_set("blas.preferred", "default"), BP_OK);
    assert_string_equal(stored("blas.preferred"), "");
    assert_int_equal(bp_unset("blas.preferred"), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(checking_stores_nothing),
        cmocka_unit_test(each_library_is_accepted_for_its_operations),
        cmocka_unit_test(settings_in_force_do_not_matter),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(default_cancels_a_preference),
    };
    return cmocka_run_group_tests_name("preferred libraries", tests, NULL, NULL);
}
