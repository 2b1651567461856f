/* test_preferred.c - the check of preferred libraries for products, linear algebra and transforms: unknown names,
 * libraries without the operations, the stored value, and the effect of other settings. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *setting, *what, *lacking;
    unsigned kinds; /* a library with one of these offers the operations */
} families[] = {
    {"blas.preferred", "matrix products are offered by native", "offers no matrix products",
     BP_LIB_BLAS | BP_LIB_SMM | BP_LIB_DNN},
    {"linalg.preferred", "linear algebra is offered by native", "offers no LAPACK", BP_LIB_LAPACK},
    {"fft.preferred", "Fourier transforms are offered by native", "offers no Fourier transforms", BP_LIB_FFT},
    {"conv.preferred", "convolutions are offered by native", "offers no convolutions", BP_LIB_DNN},
    {"pool.preferred", "pooling is offered by native", "offers no pooling", BP_LIB_DNN},
    {"batch_norm.preferred", "batch normalization is offered by native", "offers no batch normalization", BP_LIB_DNN},
    {"rnn.preferred", "recurrent layers are offered by native", "offers no recurrent layers", BP_LIB_DNN},
    {"layer_norm.preferred", "the normalization of rows is offered by native", "offers no normalization of rows", 0},
    {"attention.preferred", "attention is offered by native", "offers no attention", 0},
    {"elementwise.preferred", "functions of single elements are offered by native",
     "offers no functions of single elements", 0},
    {"reduce.preferred", "reductions are offered by native", "offers no reductions", 0},
    {"random.preferred", "random numbers are offered by native", "offers no random numbers", 0},
    {"cumsum.preferred", "cumulative sums are offered by native", "offers no cumulative sums", 0},
    {"pad.preferred", "padding is offered by native", "offers no padding", 0},
    {"einsum.preferred", "contractions are offered by native", "offers no contractions", 0}};
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
    for (int i = 0; bp_library_at(i, &row); i++) {
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
        assert_said(
            "it must be one of blas.preferred, fft.preferred, linalg.preferred, conv.preferred, einsum.preferred");
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

static bool has_library(unsigned kinds) {
    bp_library_info row = {.struct_size = sizeof row};
    for (int i = 0; bp_library_at(i, &row); i++) {
        if (row.state == BP_LIBRARY_OK && (row.kinds & kinds)) {
            return true;
        }
    }
    return false;
}

/* Settings that choose have an effect where there is a choice: native has several algorithms of some operations. */
static void settings_have_an_effect_where_there_is_a_choice(void **unused) {
    (void)unused;
    static const struct {
        const char *family;
        bool several; /* algorithms of native */
        unsigned kinds;
    } cases[] = {{"conv", true, 0},
                 {"attention", true, 0},
                 {"pool", false, BP_LIB_DNN},
                 {"rnn", false, BP_LIB_DNN},
                 {"batch_norm", false, BP_LIB_DNN},
                 {"elementwise", false, 0},
                 {"reduce", false, 0},
                 {"random", false, 0},
                 {"cumsum", false, 0},
                 {"pad", false, 0},
                 {"layer_norm", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int last = 0; last < 2; last++) {
            char name[64];
            const char *why;
            snprintf(name, sizeof name, "%s.%s", cases[i].family, last ? "benchmark" : "preferred");
            const bool effect = cases[i].several || has_library(cases[i].kinds);
            if (bp_setting_has_effect(name, &why) != effect || (*why == '\0') != effect) {
                fail_msg("%s: '%s'", name, why);
            }
            if (!effect) {
                assert_non_null(strstr(why, "offered by one algorithm on this machine"));
            }
        }
    }
}

/* Each family follows its preference, and refuses libraries that its list of enabled ones does not name. */
static void each_family_has_a_preference_and_a_list(void **unused) {
    (void)unused;
    static const char *const names[] = {"blas",   "einsum",     "fft",        "linalg", "conv",
                                        "pool",   "batch_norm", "attention",  "rnn",    "elementwise",
                                        "reduce", "random",     "layer_norm", "cumsum", "pad"};
    static const int64_t shape[] = {4, 4};
    bp_view a, b;
    bp_view_init(&a, NULL, BP_F32, 2, shape, NULL);
    bp_view_init(&b, NULL, BP_F32, 2, shape, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[128];
        bp_options *options;
        snprintf(text, sizeof text, "%s.preferred=native, %s.enabled=native", names[i], names[i]);
        assert_int_equal(bp_options_new(&options, text), BP_OK);
        bp_options_release(options);
    }
    bp_options *options;
    bp_explanation *e;
    assert_int_equal(bp_options_new(&options, "elementwise.enabled=nothing"), BP_OK);
    assert_int_equal(bp_unary_explain(&e, options, BP_UNARY_EXP, &a.tensor, &b.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_text(e), "not named by elementwise.enabled"));
    bp_explanation_release(e);
    bp_options_release(options);
    assert_int_equal(bp_options_new(&options, "elementwise.preferred=native"), BP_OK);
    assert_int_equal(bp_unary_explain(&e, options, BP_UNARY_EXP, &a.tensor, &b.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_decision(e), "preferred by elementwise.preferred=native"));
    bp_explanation_release(e);
    bp_options_release(options);
    assert_int_equal(bp_options_new(&options, "elementwise.preferred=none-such, dispatch.fallback=strict"), BP_OK);
    assert_int_equal(bp_unary_explain(&e, options, BP_UNARY_EXP, &a.tensor, &b.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_text(e), "none-such"));
    bp_explanation_release(e);
    bp_options_release(options);
}

/* The preference of attention and its enabled kernels apply together. */
static void attention_has_kernels_and_a_preference(void **unused) {
    (void)unused;
    static const struct {
        const char *settings, *said;
    } cases[] = {
        {"attention.preferred=native:math", "preferred by attention.preferred=native:math"},
        {"attention.preferred=native:math, cuda.flash_sdp=false", "cuda.flash_sdp is false"},
        {"attention.preferred=native:math, cuda.math_sdp=false", "attention.preferred=native:math cannot run this"},
        {"cuda.flash_sdp=false, cuda.mem_efficient_sdp=false", "cuda.mem_efficient_sdp is false"},
    };
    static const int64_t shape[] = {2, 8, 8};
    bp_view views[4];
    for (int i = 0; i < 4; i++) {
        bp_view_init(&views[i], NULL, BP_F32, 3, shape, NULL);
    }
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .query = &views[0].tensor,
                                    .key = &views[1].tensor,
                                    .value = &views[2].tensor,
                                    .output = &views[3].tensor};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bp_options *options;
        bp_explanation *e;
        assert_int_equal(bp_options_new(&options, cases[i].settings), BP_OK);
        assert_int_equal(bp_attention_explain(&e, options, &call), BP_OK);
        if (!strstr(bp_explanation_text(e), cases[i].said)) {
            fail_msg("%s: %s", cases[i].settings, bp_explanation_text(e));
        }
        bp_explanation_release(e);
        bp_options_release(options);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(checking_stores_nothing),
        cmocka_unit_test(each_library_is_accepted_for_its_operations),
        cmocka_unit_test(settings_in_force_do_not_matter),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(default_cancels_a_preference),
        cmocka_unit_test(settings_have_an_effect_where_there_is_a_choice),
        cmocka_unit_test(each_family_has_a_preference_and_a_list),
        cmocka_unit_test(attention_has_kernels_and_a_preference),
    };
    return cmocka_run_group_tests_name("preferred libraries", tests, NULL, NULL);
}
