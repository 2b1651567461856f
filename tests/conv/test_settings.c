/* test_settings.c - settings of convolutions alone: which libraries may run, determinism, precision, and how many
 * candidates are measured. */
#include "conv/cases.h"
#include "dispatch/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float memory[2][16 * 14 * 14];

/* Explains a 3x3 layer with channels-last tensors, which every algorithm takes. */
static bp_explanation *explain(const char *settings) {
    static float weights[16 * 16 * 9];
    const int64_t image[] = {1, 16, 14, 14}, strides[] = {16 * 14 * 14, 1, 16 * 14, 16}, taps[] = {16, 16, 3, 3};
    bp_view in, weight, out;
    bp_options *options;
    bp_explanation *explanation;
    bp_view_init(&in, memory[0], BP_F32, 4, image, strides);
    bp_view_init(&out, memory[1], BP_F32, 4, image, strides);
    bp_view_init(&weight, weights, BP_F32, 4, taps, NULL);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .mode = BP_CONV_SAME,
                               .input = &in.tensor,
                               .weight = &weight.tensor,
                               .output = &out.tensor};
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_conv_explain(&explanation, options, &call), BP_OK);
    bp_options_release(options);
    return explanation;
}

/* The candidates of a convolution under some settings. */
typedef struct seen {
    int accepted, native, direct, winograd, measured;
    bool reproducible, invariant; /* all that are accepted guarantee it */
    char chosen[64];
    char text[8192];
} seen;

static seen look(const char *settings) {
    seen s = {.reproducible = true, .invariant = true};
    bp_explanation *explanation = explain(settings);
    bp_candidate_info c = {.struct_size = sizeof c};
    for (int i = 0; bp_explanation_at(explanation, i, &c); i++) {
        s.measured += c.measured_ns > 0;
        if (!c.accepted) {
            continue;
        }
        const bool native = strcmp(c.library, "native") == 0;
        s.accepted++;
        s.native += native;
        s.direct += native && strncmp(c.algorithm, "direct", 6) == 0;
        s.winograd += native && strncmp(c.algorithm, "winograd", 8) == 0;
        s.reproducible &= (c.properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT)) != 0;
        s.invariant &= (c.properties & BP_PROPERTY_THREAD_INVARIANT) != 0;
        if (c.chosen) {
            snprintf(s.chosen, sizeof s.chosen, "%s:%s", c.library, c.algorithm);
        }
    }
    snprintf(s.text, sizeof s.text, "%s", bp_explanation_text(explanation));
    bp_explanation_release(explanation);
    return s;
}

static void only_enabled_libraries_run(void **state) {
    (void)state;
    const seen all = look("");
    assert_true(all.native > 2 && all.direct == 1 && all.winograd > 0);
    const seen native = look("conv.enabled=native");
    assert_int_equal(native.native, all.native);
    assert_int_equal(native.accepted, all.native);
    if (all.accepted > all.native) {
        assert_non_null(strstr(native.text, "not named by conv.enabled"));
    }
    const seen direct = look("conv.enabled=native:direct");
    assert_int_equal(direct.accepted, 1);
    assert_int_equal(direct.direct, 1);
    assert_non_null(strstr(direct.chosen, "native:direct"));
    const seen two = look("conv.enabled=\"native:winograd, native:direct\"");
    assert_int_equal(two.accepted, 1 + all.winograd);
    const seen default_value = look("conv.enabled=");
    assert_int_equal(default_value.accepted, all.accepted);
}

static void exclusions_apply_to_enabled_libraries(void **state) {
    (void)state;
    const seen all = look("");
    const seen none = look("conv.enabled=native,dispatch.exclude=native");
    assert_int_equal(none.accepted, 0);
    assert_non_null(strstr(none.text, "named by dispatch.exclude"));
    const seen fewer = look("conv.enabled=native,dispatch.exclude=native:direct");
    assert_int_equal(fewer.accepted, all.native - 1);
    assert_int_equal(fewer.direct, 0);
}

/* A name that matches nothing is reported, with the name of its setting. */
static void unknown_names_are_reported(void **state) {
    (void)state;
    const seen s = look("conv.enabled=\"native,onednm\",dispatch.exclude=opnblas");
    assert_non_null(strstr(s.text, "conv.enabled names 'onednm'"));
    assert_non_null(strstr(s.text, "dispatch.exclude names 'opnblas'"));
    assert_null(strstr(s.text, "dispatch.exclude names 'onednm'"));
    assert_true(s.native > 0);
}

static void products_ignore_settings_of_convolutions(void **state) {
    (void)state;
    double values[3] = {2, 3, 0};
    const int64_t shape[] = {1, 1};
    bp_view a, b, c;
    bp_options *options;
    bp_view_init(&a, &values[0], BP_F64, 2, shape, NULL);
    bp_view_init(&b, &values[1], BP_F64, 2, shape, NULL);
    bp_view_init(&c, &values[2], BP_F64, 2, shape, NULL);
    assert_int_equal(bp_options_new(&options, "conv.enabled=none-such,conv.deterministic=threads"), BP_OK);
    bp_explanation *explanation;
    assert_int_equal(bp_matmul_explain(&explanation, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_null(strstr(bp_explanation_text(explanation), "not named by"));
    assert_null(strstr(bp_explanation_text(explanation), "does not guarantee"));
    assert_null(strstr(bp_explanation_text(explanation), "independent of num_threads"));
    bp_explanation_release(explanation);
    bp_options_release(options);
}

static void the_stricter_determinism_applies(void **state) {
    (void)state;
    assert_true(look("conv.deterministic=run").reproducible);
    assert_true(look("conv.deterministic=threads").invariant);
    assert_true(look("deterministic=threads,conv.deterministic=run").invariant);
    assert_true(look("deterministic=threads,conv.deterministic=off").invariant);
    assert_true(look("deterministic=run,conv.deterministic=threads").invariant);
    assert_true(look("deterministic_algorithms=true,conv.deterministic=threads").invariant);
    static const char independent[] = "independent of num_threads", unused[] = "because deterministic is set",
                      measure[] = "conv.benchmark=true,tuning.start=now,tuning.store=off,conv.enabled=native";
    char settings[256];
    assert_non_null(strstr(look("conv.deterministic=threads").text, independent));
    assert_non_null(strstr(look("deterministic=run,conv.deterministic=threads").text, independent));
    assert_non_null(strstr(look("deterministic=threads,conv.deterministic=run").text, independent));
    assert_null(strstr(look("conv.deterministic=run").text, independent));
    assert_null(strstr(look(measure).text, unused));
    snprintf(settings, sizeof settings, "%s,conv.deterministic=run", measure);
    assert_non_null(strstr(look(settings).text, unused));
}

static bp_policy resolve(const char *settings, const bp__family *family) {
    bp_policy policy;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    assert_int_equal(bp__policy_resolve(&policy, family), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return policy;
}

/* A requirement of the family is never a mere warning, and calibrated times do not decide under it. */
static void a_family_requirement_is_strict(void **state) {
    (void)state;
    static const char warns[] = "deterministic_algorithms=true,deterministic_algorithms.warn_only=true,"
                                "conv.deterministic=threads";
    const bp_policy conv = resolve(warns, &bp__family_conv), gemm = resolve(warns, &bp__family_gemm);
    assert_int_equal(conv.deterministic, 2);
    assert_false(conv.warn_only);
    assert_int_equal(gemm.deterministic, 1);
    assert_true(gemm.warn_only);
    assert_true(resolve("calibration=auto", &bp__family_conv).measured);
    assert_false(resolve("calibration=auto,conv.deterministic=run", &bp__family_conv).measured);
    assert_true(resolve("calibration=auto,conv.deterministic=run", &bp__family_gemm).measured);
}

static void precision_is_that_of_the_nearest_setting(void **state) {
    (void)state;
    const seen all = look("");
    assert_true(all.winograd > 0);
    assert_int_equal(look("conv.fp32_precision=ieee").winograd, 0);
    assert_int_equal(look("mkldnn.conv.fp32_precision=ieee").winograd, 0);
    assert_int_equal(look("mkldnn.fp32_precision=ieee").winograd, 0);
    assert_int_equal(look("fp32_precision=ieee").winograd, 0);
    assert_true(look("mkldnn.conv.fp32_precision=ieee,conv.fp32_precision=tf32").winograd > 0);
    assert_int_equal(look("mkldnn.conv.fp32_precision=tf32,conv.fp32_precision=ieee").winograd, 0);
    assert_true(look("mkldnn.matmul.fp32_precision=ieee").winograd > 0);
    const char *value, *origin;
    bp_layer layer;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "mkldnn.conv.fp32_precision=bf16"), BP_OK);
    assert_int_equal(bp_get("conv.fp32_precision", &value, &layer, &origin), BP_OK);
    assert_string_equal(value, "bf16");
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void the_limit_of_measurements_is_the_nearest(void **state) {
    (void)state;
    enum { ATTEMPTS = 50 };
    static const char now[] = "conv.benchmark=true,tuning.start=now,tuning.store=off,conv.enabled=native";
    static const struct {
        const char *limits;
        int least, most;
    } cases[] = {{"benchmark_limit=1,conv.benchmark_limit=2", 2, 2},
                 {"benchmark_limit=1,conv.benchmark_limit=0", 2, 100},
                 {"benchmark_limit=0,conv.benchmark_limit=1", 0, 1},
                 {"benchmark_limit=1,conv.benchmark_limit=-1", 0, 1},
                 {"benchmark_limit=1", 0, 1},
                 {"benchmark_limit=100000", 2, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char settings[256];
        seen s = {.measured = -1};
        /* A busy machine may use up the time of a class before the first candidate has run. */
        for (int attempt = 0; s.measured < cases[i].least && attempt < ATTEMPTS; attempt++) {
            /* Without a name that matches nothing, all cases would be one class, which is measured once. */
            snprintf(settings, sizeof settings, "%s,%s,dispatch.exclude=none-such-%zu-%d", now, cases[i].limits, i,
                     attempt);
            s = look(settings);
            assert_true(s.measured <= cases[i].most);
        }
        if (s.measured < cases[i].least) {
            fail_msg("%s: %d candidates were measured: %s", settings, s.measured, s.text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_enabled_libraries_run),
                                       cmocka_unit_test(exclusions_apply_to_enabled_libraries),
                                       cmocka_unit_test(unknown_names_are_reported),
                                       cmocka_unit_test(products_ignore_settings_of_convolutions),
                                       cmocka_unit_test(the_stricter_determinism_applies),
                                       cmocka_unit_test(a_family_requirement_is_strict),
                                       cmocka_unit_test(precision_is_that_of_the_nearest_setting),
                                       cmocka_unit_test(the_limit_of_measurements_is_the_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
