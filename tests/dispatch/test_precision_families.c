/* test_precision_families.c - each family of operations follows its own precision setting: permission for matmul does
 * not apply to other operations.
 *
 * 'half-width' (local.cmake) rounds f32 inputs to bfloat16 and is the cheapest. */
#include "backplane.h"
#include "dispatch/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint8_t precision(const bp__family *family, const char *settings) {
    bp_policy policy;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    assert_int_equal(bp__policy_resolve(&policy, family), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return policy.precision;
}

static void precision_settings_apply_to_their_families(void **state) {
    (void)state;
    /* Like the families of later operations. */
    const bp__family conv = {
        .preference = BP__NO_SETTING, .enabled = BP__NO_SETTING, .precision = BP_SET_mkldnn_conv_fp32_precision};
    const bp__family rnn = {
        .preference = BP__NO_SETTING, .enabled = BP__NO_SETTING, .precision = BP_SET_mkldnn_rnn_fp32_precision};
    static const struct {
        const char *settings;
        uint8_t matmul, conv, rnn;
    } cases[] = {
        {"num_threads=1", 0, 0, 0},
        {"mkldnn.matmul.fp32_precision=bf16", 2, 0, 0},
        {"mkldnn.conv.fp32_precision=tf32", 0, 1, 0},
        {"mkldnn.rnn.fp32_precision=bf16", 0, 0, 2},
        {"mkldnn.fp32_precision=bf16", 2, 2, 2},
        {"fp32_precision=tf32", 1, 1, 1},
        {"fp32_precision=bf16, mkldnn.conv.fp32_precision=ieee, mkldnn.matmul.fp32_precision=tf32", 1, 0, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(precision(&bp__family_gemm, cases[i].settings), cases[i].matmul);
        assert_int_equal(precision(&conv, cases[i].settings), cases[i].conv);
        assert_int_equal(precision(&rnn, cases[i].settings), cases[i].rnn);
        assert_int_equal(precision(&bp__family_linalg, cases[i].settings), 0);
        assert_int_equal(precision(&bp__family_fft, cases[i].settings), 0);
        assert_int_equal(precision(&bp__family_contract, cases[i].settings), 0);
    }
}

/* Returns the verdict of 'half-width' in an explanation, as a bp_reason. */
static bp_reason reason_in(bp_explanation *e) {
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_reason reason = BP_REASON_OP;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        reason = strcmp(info.library, "half-width") == 0 ? info.reason : reason;
    }
    bp_explanation_release(e);
    return reason;
}

static void rounding_of_products_does_not_apply_to_inverses(void **state) {
    (void)state;
    static float x[64] = {1}, y[64];
    bp_view a, b;
    bp_options *options;
    bp_explanation *e;
    bp_view_matrix(&a, x, BP_F32, 8, 8);
    bp_view_matrix(&b, y, BP_F32, 8, 8);
    bp_linalg_call inverse = {.struct_size = sizeof inverse,
                              .op = BP_OP_INV,
                              .input = {&a.tensor},
                              .output = {&b.tensor},
                              .fail_on_item_error = 1};
    assert_int_equal(bp_options_new(&options, "mkldnn.matmul.fp32_precision=bf16"), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &b.tensor), BP_OK);
    assert_int_equal(reason_in(e), BP_REASON_ACCEPTED);
    assert_int_equal(bp_linalg_explain(&e, options, &inverse), BP_OK);
    assert_int_equal(reason_in(e), BP_REASON_PRECISION);
    bp_options_release(options);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(precision_settings_apply_to_their_families, reset),
        cmocka_unit_test_setup(rounding_of_products_does_not_apply_to_inverses, reset),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-fakes", 1);
    return cmocka_run_group_tests(tests, NULL, reset);
}
