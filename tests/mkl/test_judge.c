/* test_judge.c - what the mkl provider refuses and why, and what it promises; and libraries that lack something, played
 * by functions of this file. */
#include "mkl/support_mkl.h"

#include "dispatch/internal.h"

#include <stdio.h>
#include <string.h>

static bp_host host;
static const char *lacks; /* a name that the double does not know */
static long fails;        /* the error of its commits */
static int described, freed;

static long create(void **descriptor, int precision, int domain, long rank, ...) {
    static char one;
    (void)precision, (void)domain, (void)rank;
    *descriptor = &one;
    described++;
    return 0;
}

static long set_value(void *descriptor, int parameter, ...) {
    (void)descriptor, (void)parameter;
    return 0;
}

static long commit(void *descriptor) {
    (void)descriptor;
    return fails;
}

static long compute(void *descriptor, void *in, ...) {
    (void)descriptor, (void)in;
    return fails;
}

static long give_back(void **descriptor) {
    (void)descriptor;
    freed++;
    return 0;
}

static char *words(long error) {
    static char text[32];
    snprintf(text, sizeof text, "its error %ld", error);
    return text;
}

static int one_thread(int want) {
    return want;
}

static int max_threads(void) {
    return 1;
}

static const struct {
    const char *name;
    void (*function)(void);
} functions[] = {
    {"DftiCreateDescriptor", (void (*)(void))create},    {"DftiSetValue", (void (*)(void))set_value},
    {"DftiCommitDescriptor", (void (*)(void))commit},    {"DftiComputeForward", (void (*)(void))compute},
    {"DftiComputeBackward", (void (*)(void))compute},    {"DftiFreeDescriptor", (void (*)(void))give_back},
    {"DftiErrorMessage", (void (*)(void))words},         {"MKL_Set_Num_Threads_Local", (void (*)(void))one_thread},
    {"MKL_Get_Max_Threads", (void (*)(void))max_threads}};

static bp_status open_double(const bp_library_info *library, void **handle) {
    (void)library;
    *handle = &host;
    return BP_OK;
}

static void *symbol_of_double(void *handle, const char *name) {
    void *address = NULL;
    (void)handle;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0 && !(lacks && strcmp(lacks, name) == 0)) {
            memcpy(&address, &functions[i].function, sizeof address);
        }
    }
    return address;
}

static void *open_mkl_double(void) {
    static bp_library_info row = {.struct_size = sizeof row,
                                  .id = "mkl",
                                  .family = "mkl",
                                  .kinds = BP_LIB_FFT,
                                  .path = "/lib/libmkl_rt.so",
                                  .threading = "libiomp5",
                                  .kernels = "avx2",
                                  .int_bits = 32};
    void *instance = NULL;
    host = *bp__host();
    host.open_library = open_double;
    host.symbol = symbol_of_double;
    described = freed = 0;
    assert_int_equal(bp_provider_mkl.open(&host, &row, &instance), BP_OK);
    return instance;
}

static bp_problem plain(void) {
    bp_problem p = {.op = BP_OP_FFT, .dtype = BP_C128, .policy = {.threads = 1}};
    p.of.fft = (bp_fft_problem){.ndim = 1, .scale = 1, .batch = 1, .n = {16}, .in = {1}, .out = {1}};
    return p;
}

static void refused(void *instance, const bp_problem *problem, bp_reason reason, const char *part) {
    bp_verdict verdict = test_judge(&bp_provider_mkl, instance, problem);
    bp_prepared *prepared;
    assert_int_equal(verdict.reason, reason);
    if (!strstr(verdict.text, part)) {
        fail_msg("'%s' lacks '%s'", verdict.text, part);
    }
    assert_int_not_equal(bp_provider_mkl.plan(instance, problem, &verdict, &prepared), BP_OK);
}

static void test_refusals(void **state) {
    (void)state;
    void *instance = open_mkl_double();
    bp_problem problem = plain();
    assert_int_equal(test_judge(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem.op = BP_OP_GEMM;
    refused(instance, &problem, BP_REASON_OP, "Fourier");
    problem = plain();
    problem.dtype = BP_F32;
    refused(instance, &problem, BP_REASON_DTYPE, "c128");
    uint8_t *around[] = {&problem.of.fft.fill, &problem.of.fft.conjugate, &problem.of.fft.pads};
    for (int i = 0; i < 3; i++) {
        problem = plain();
        *around[i] = 1;
        refused(instance, &problem, BP_REASON_OTHER, "plain");
    }
    problem = plain();
    problem.of.fft.in[0] = 0;
    refused(instance, &problem, BP_REASON_LAYOUT, "zero");
    problem = plain();
    problem.of.fft.ndim = 8;
    for (int d = 0; d < 8; d++) {
        problem.of.fft.n[d] = 2;
        problem.of.fft.in[d] = problem.of.fft.out[d] = 1 << (7 - d);
    }
    refused(instance, &problem, BP_REASON_LAYOUT, "7 dimensions");
    problem.of.fft.n[3] = 1; /* one that does not count */
    assert_int_equal(test_judge(&bp_provider_mkl, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem = plain();
    problem.policy.deterministic = 1;
    refused(instance, &problem, BP_REASON_DETERMINISM, "repeat");
    bp_provider_mkl.close(instance);
}

static void test_notes(void **state) {
    (void)state;
    void *instance = open_mkl_double();
    bp_problem problem = plain();
    assert_int_equal(test_judge(&bp_provider_mkl, instance, &problem).notes,
                     BP_NOTE_ACCUMULATES_F64 | BP_NOTE_PROPAGATES_NAN);
    problem.dtype = BP_C64;
    assert_int_equal(test_judge(&bp_provider_mkl, instance, &problem).notes,
                     BP_NOTE_ACCUMULATES_F32 | BP_NOTE_PROPAGATES_NAN);
    assert_true(test_judge(&bp_provider_mkl, instance, &problem).cost_ns > 0);
    bp_provider_mkl.close(instance);
}

static void test_missing_symbols(void **state) {
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        void *instance = open_mkl_double();
        bp_problem problem = plain();
        bp_verdict verdict = {.struct_size = sizeof verdict};
        bp_prepared *prepared;
        lacks = functions[i].name;
        assert_int_equal(bp_provider_mkl.plan(instance, &problem, &verdict, &prepared), BP_E_SYMBOL);
        assert_non_null(strstr(bp_last_error(), lacks));
        lacks = NULL;
        bp_provider_mkl.close(instance);
    }
}

/* MKL's errors arrive with its own words, when planning and when running, and nothing is left behind. */
static void test_errors(void **state) {
    (void)state;
    static double memory[2][32];
    void *operands[] = {memory[0], memory[1]};
    void *instance = open_mkl_double();
    bp_problem problem = plain();
    bp_verdict verdict = {.struct_size = sizeof verdict};
    bp_prepared *prepared;
    for (fails = 1; fails < 3; fails++) {
        bp_status wanted = fails == 1 ? BP_E_NO_MEMORY : BP_E_UNSUPPORTED;
        assert_int_equal(bp_provider_mkl.plan(instance, &problem, &verdict, &prepared), wanted);
        assert_non_null(strstr(bp_last_error(), words(fails)));
        assert_int_equal(freed, described);
    }
    for (int walked = 0; walked < 2; walked++) {
        fails = 0;
        problem.of.fft.batch_ndim = walked;
        problem.of.fft.batch = problem.of.fft.batch_shape[0] = 2; /* broadcast: not left to MKL */
        prepared = test_plan(&bp_provider_mkl, instance, &problem);
        assert_int_equal(prepared->execute(prepared, operands), BP_OK);
        fails = 3;
        assert_int_equal(prepared->execute(prepared, operands), BP_E_UNSUPPORTED);
        prepared->destroy(prepared);
        assert_int_equal(freed, described);
    }
    fails = 0;
    bp_provider_mkl.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_notes),
                                       cmocka_unit_test(test_missing_symbols), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
