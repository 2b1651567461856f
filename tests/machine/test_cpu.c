/* test_cpu.c - tests the reported instruction sets, from CPUID words of other processors and from this processor, and
 * the values that the setting accepts. */
#include "machine/cpu.h"
#include "settings/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#if defined(__x86_64__)
enum { FMA_XSAVE_AVX = 1 << 12 | 1 << 27 | 1 << 28, AVX2 = 1 << 5, ALL_SAVED = 0xe7 };
#define AVX512_ALL (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31) /* F, DQ, BW, VL */

static bp_capability capability_of(uint32_t leaf1, uint32_t leaf7, uint64_t xcr0) {
    return bp__x86_capability(&(bp__x86_words){leaf1, leaf7, xcr0});
}

static void test_x86_words(void **state) {
    (void)state;
    assert_int_equal(capability_of(0, 0, 0), BP_CAPABILITY_DEFAULT);
    assert_int_equal(capability_of(FMA_XSAVE_AVX, AVX2, ALL_SAVED), BP_CAPABILITY_AVX2);
    assert_int_equal(capability_of(FMA_XSAVE_AVX, AVX2 | AVX512_ALL, ALL_SAVED), BP_CAPABILITY_AVX512);
    /* Each bit is required. */
    for (int bit = 0; bit < 32; bit++) {
        uint32_t without = ~(1u << bit);
        bp_capability lower1 = 1u << bit & FMA_XSAVE_AVX ? BP_CAPABILITY_DEFAULT : BP_CAPABILITY_AVX512;
        assert_int_equal(capability_of(FMA_XSAVE_AVX & without, AVX2 | AVX512_ALL, ALL_SAVED), lower1);
        bp_capability lower7 = bit == 5                 ? BP_CAPABILITY_DEFAULT
                               : 1u << bit & AVX512_ALL ? BP_CAPABILITY_AVX2
                                                        : BP_CAPABILITY_AVX512;
        assert_int_equal(capability_of(FMA_XSAVE_AVX, (AVX2 | AVX512_ALL) & without, ALL_SAVED), lower7);
    }
    /* The operating system must save the registers. */
    assert_int_equal(capability_of(FMA_XSAVE_AVX, AVX2 | AVX512_ALL, 0x07), BP_CAPABILITY_AVX2);
    assert_int_equal(capability_of(FMA_XSAVE_AVX, AVX2 | AVX512_ALL, 0x67), BP_CAPABILITY_AVX2);
    assert_int_equal(capability_of(FMA_XSAVE_AVX, AVX2 | AVX512_ALL, 0x03), BP_CAPABILITY_DEFAULT);
}

/* Compares with the compiler's own detection. */
static void test_this_processor(void **state) {
    (void)state;
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    bp_capability expected = avx512 ? BP_CAPABILITY_AVX512 : avx2 ? BP_CAPABILITY_AVX2 : BP_CAPABILITY_DEFAULT;
    assert_int_equal(bp__cpu_hardware(), expected);
    bp__cpu_identity cpu;
    bp__cpu_identify(&cpu);
    assert_int_equal(strlen(cpu.vendor), 12);
    assert_true(cpu.family >= 5 && cpu.model_number >= 0 && cpu.stepping >= 0);
    assert_true(cpu.model[0] != ' ' && strlen(cpu.model) < 49);
}
#endif

static void test_names(void **state) {
    (void)state;
    const char *names[] = {"DEFAULT", "AVX2", "AVX512", "VSX", "Z VECTOR", "SVE256"};
    for (int i = 0; i < BP__COUNT(names); i++) {
        assert_string_equal(bp__capability_name((bp_capability)i), names[i]);
    }
    assert_string_equal(bp__capability_name((bp_capability)6), "?");
    assert_string_equal(bp__capability_name((bp_capability)-1), "?");
    assert_string_equal(bp_cpu_hardware_capability(), bp__capability_name(bp__cpu_hardware()));
}

/* The setting's words are in the order of the enum, on which bp__cpu_capability relies. */
static void test_words_match_the_enum(void **state) {
    (void)state;
    char words[128];
    snprintf(words, sizeof words, "%s", bp_setting_at(BP_SET_cpu_capability)->allowed);
    char *rest = NULL;
    assert_string_equal(strtok_r(words, "|", &rest), "auto");
    for (int i = 0; i <= BP_CAPABILITY_SVE256; i++) {
        const char *word = strtok_r(NULL, "|", &rest);
        assert_non_null(word);
        const char *name = i == BP_CAPABILITY_ZVECTOR ? "zvector" : bp__capability_name((bp_capability)i);
        assert_int_equal(strcasecmp(word, name), 0);
    }
    assert_null(strtok_r(NULL, "|", &rest));
}

/* Returns a capability that this machine does not have, in the setting's spelling. */
static const char *impossible(void) {
    return bp__cpu_runs(BP_CAPABILITY_VSX) ? "avx2" : "vsx";
}

static void test_setting_lowers(void **state) {
    (void)state;
    bp__settings_reset();
    assert_string_equal(bp_cpu_capability(), bp_cpu_hardware_capability());
    assert_int_equal(bp_set("cpu.capability", "default"), BP_OK);
    assert_string_equal(bp_cpu_capability(), "DEFAULT");
    assert_string_equal(bp_cpu_hardware_capability(), bp__capability_name(bp__cpu_hardware()));
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "cpu.capability=auto"), BP_OK);
    assert_string_equal(bp_cpu_capability(), bp_cpu_hardware_capability());
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_string_equal(bp_cpu_capability(), "DEFAULT");
    bp__settings_reset();
}

static void test_setting_above_the_hardware_is_refused(void **state) {
    (void)state;
    char text[64];
    bp_scope *scope = NULL;
    bp__settings_reset();
    assert_int_equal(bp_set("cpu.capability", impossible()), BP_E_UNSUPPORTED);
    assert_non_null(strstr(bp_last_error(), impossible()));
    assert_non_null(strstr(bp_last_error(), bp_cpu_hardware_capability()));
    assert_string_equal(bp_get_cpu_capability(), "auto");
    snprintf(text, sizeof text, "cpu.capability=%s", impossible());
    assert_int_equal(bp_scope_enter(&scope, text), BP_E_UNSUPPORTED);
    assert_null(scope);
#if defined(__x86_64__)
    if (!bp__cpu_runs(BP_CAPABILITY_AVX512)) {
        assert_int_equal(bp_set("cpu.capability", "avx512"), BP_E_UNSUPPORTED);
    }
    if (bp__cpu_runs(BP_CAPABILITY_AVX2)) {
        assert_int_equal(bp_set("cpu.capability", "avx2"), BP_OK);
        assert_string_equal(bp_cpu_capability(), "AVX2");
    }
#endif
    bp__settings_reset();
}

/* Returns the problem of our variable; the environment of the test may have others. */
static const char *problem_of_variable(void) {
    const char *problem;
    int index = 0;
    do {
        problem = bp_config_error_at(index++);
    } while (problem && !strstr(problem, "ATEN_CPU_CAPABILITY"));
    return problem;
}

static void test_environment_above_the_hardware_is_a_problem(void **state) {
    (void)state;
    setenv("ATEN_CPU_CAPABILITY", impossible(), 1);
    bp__settings_reset();
    assert_string_equal(bp_cpu_capability(), bp_cpu_hardware_capability());
    assert_non_null(problem_of_variable());
    assert_non_null(strstr(problem_of_variable(), impossible()));
    setenv("ATEN_CPU_CAPABILITY", "default", 1);
    bp__settings_reset();
    assert_string_equal(bp_cpu_capability(), "DEFAULT");
    assert_null(problem_of_variable());
    unsetenv("ATEN_CPU_CAPABILITY");
    bp__settings_reset();
}

int main(void) {
    unsetenv("ATEN_CPU_CAPABILITY");
    unsetenv("BACKPLANE_CPU_CAPABILITY");
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_x86_words),
        cmocka_unit_test(test_this_processor),
#endif
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_words_match_the_enum),
        cmocka_unit_test(test_setting_lowers),
        cmocka_unit_test(test_setting_above_the_hardware_is_refused),
        cmocka_unit_test(test_environment_above_the_hardware_is_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
