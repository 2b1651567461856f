/* test_accept.c - tests refusals of the mkl provider and their reasons, its guarantees, and libraries with missing
 * functions or errors. */
#include "mkl/support_dfti.h"

#include <stdio.h>
#include <string.h>

static bp_problem plain(void) {
    bp_problem p = {.op = BP_OP_FFT, .dtype = BP_C128, .policy = {.threads = 1}};
    p.of.fft = (bp_fft_problem){.ndim = 1, .scale = 1, .batch = 1, .n = {16}, .in = {1}, .out = {1}};
    return p;
}

static void refused(void *instance, const bp_problem *problem, bp_reason reason, const char *part) {
    bp_verdict verdict = test_verdict(&bp_provider_mkl, instance, problem);
    assert_int_equal(verdict.reason, reason);
    if (!strstr(verdict.text, part)) {
        fail_msg("'%s' lacks '%s'", verdict.text, part);
    }
}

static void test_refusals(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    bp_problem problem = plain();
    assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem.op = BP_OP_GEMM;
    refused(instance, &problem, BP_REASON_OP, "Fourier");
    problem = plain();
    problem.dtype = BP_F32;
    refused(instance, &problem, BP_REASON_DTYPE, "c128");
    uint8_t *around[] = {&problem.of.fft.full_spectrum, &problem.of.fft.conjugate, &problem.of.fft.zero_padded};
    for (int i = 0; i < 3; i++) {
        problem = plain();
        *around[i] = 1;
        refused(instance, &problem, BP_REASON_OTHER, "conjugation");
    }
    problem = plain();
    problem.of.fft.in[0] = 0;
    refused(instance, &problem, BP_REASON_LAYOUT, "stride 0");
    problem = plain();
    problem.of.fft.ndim = 8;
    for (int d = 0; d < 8; d++) {
        problem.of.fft.n[d] = 2;
        problem.of.fft.in[d] = problem.of.fft.out[d] = 1 << (7 - d);
    }
    refused(instance, &problem, BP_REASON_LAYOUT, "7 dimensions");
    problem.of.fft.n[3] = 1; /* a dimension of size 1 does not count */
    assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem = plain();
    problem.policy.deterministic = 1;
    refused(instance, &problem, BP_REASON_DETERMINISM, "reproducible");
    bp_provider_mkl.close(instance);
}

/* A kind of transform that the probe found wrong is refused. */
static void test_faults(void **state) {
    (void)state;
    bp_problem problem = plain();
    void *instance = test_open_faulty_dfti(BP_CHECK_BIT(BP_CHECK_C2C, BP_C64), "fft c2c c64: wrong results");
    assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem.dtype = BP_C64;
    refused(instance, &problem, BP_REASON_BROKEN, "wrong results");
    bp_provider_mkl.close(instance);
}

/* Lengths for which the probe found large errors are refused in that precision, in every dimension; the prime itself
 * and its neighbours are not. */
static void test_inexact_lengths(void **state) {
    (void)state;
    void *instance = test_open_inexact_dfti("17 31");
    static const struct {
        int64_t n[2];
        const char *factor; /* NULL: accepted */
    } cases[] = {{{16, 1}, NULL}, {{17, 1}, NULL},  {{31, 17}, NULL},     {{33, 35}, NULL},     {{34, 1}, "17"},
                 {{1, 93}, "31"}, {{17, 62}, "31"}, {{31 * 17, 1}, "17"}, {{5 * 289, 16}, "17"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bp_problem problem = plain();
        bp_fft_problem *fft = &problem.of.fft;
        fft->ndim = 2;
        fft->n[0] = cases[i].n[0], fft->n[1] = cases[i].n[1];
        fft->in[0] = fft->out[0] = cases[i].n[1];
        fft->in[1] = fft->out[1] = 1;
        for (int kind = BP_FFT_C2C; kind <= BP_FFT_C2R; kind++) {
            char text[64];
            fft->kind = (uint8_t)kind;
            problem.dtype = BP_C128;
            snprintf(text, sizeof text, "double precision of larger multiples of %s ", cases[i].factor);
            if (cases[i].factor) {
                refused(instance, &problem, BP_REASON_BROKEN, text);
            } else {
                assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
            }
            problem.dtype = BP_C64;
            assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
        }
    }
    bp_provider_mkl.close(instance);
}

static void test_guarantees(void **state) {
    (void)state;
    void *instance = test_open_dfti();
    bp_problem problem = plain();
    assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).properties,
                     BP_PROPERTY_ACCUMULATES_F64 | BP_PROPERTY_PROPAGATES_NAN);
    problem.dtype = BP_C64;
    assert_int_equal(test_verdict(&bp_provider_mkl, instance, &problem).properties,
                     BP_PROPERTY_ACCUMULATES_F32 | BP_PROPERTY_PROPAGATES_NAN);
    assert_true(test_verdict(&bp_provider_mkl, instance, &problem).cost_ns > 0);
    bp_provider_mkl.close(instance);
}

static void test_missing_symbols(void **state) {
    (void)state;
    for (int i = 0; test_dfti_name(i); i++) {
        void *instance = test_open_dfti();
        bp_problem problem = plain();
        bp_prepared *prepared;
        dfti.lacks = test_dfti_name(i);
        assert_int_equal(test_plan_first(&bp_provider_mkl, instance, &problem, &prepared), BP_E_SYMBOL);
        assert_non_null(strstr(bp_last_error(), dfti.lacks));
        bp_provider_mkl.close(instance);
    }
}

/* MKL's errors are reported with its own message when planning and when running. No descriptor is leaked. */
static void test_errors(void **state) {
    (void)state;
    static double memory[2][32];
    void *operands[] = {memory[0], memory[1]};
    void *instance = test_open_dfti();
    bp_problem problem = plain();
    bp_prepared *prepared;
    for (dfti.fails = 1; dfti.fails < 3; dfti.fails++) {
        bp_status wanted = dfti.fails == 1 ? BP_E_NO_MEMORY : BP_E_UNSUPPORTED;
        assert_int_equal(test_plan_first(&bp_provider_mkl, instance, &problem, &prepared), wanted);
        assert_non_null(strstr(bp_last_error(), test_dfti_message(dfti.fails)));
        assert_int_equal(dfti.freed, dfti.described);
    }
    for (int walked = 0; walked < 2; walked++) {
        dfti.fails = 0;
        problem.of.fft.batch_ndim = walked;
        problem.of.fft.batch = problem.of.fft.batch_shape[0] = 2; /* broadcast: the provider makes one call per item */
        prepared = test_plan(&bp_provider_mkl, instance, &problem);
        assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_OK);
        dfti.fails = 3;
        assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_E_UNSUPPORTED);
        prepared->destroy(prepared);
        assert_int_equal(dfti.freed, dfti.described);
    }
    dfti.fails = 0;
    bp_provider_mkl.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals),        cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_inexact_lengths), cmocka_unit_test(test_guarantees),
                                       cmocka_unit_test(test_missing_symbols), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
