/* test_accept.c - tests verdicts of the fftw provider without a library: refusals and their reasons, guarantees, and
 * planning effort. */
#include "fftw/support_fftw.h"

#include "dispatch/internal.h"

#include <string.h>

static bp_library_info row_of(const char *id, const char *path, const char *threading) {
    return (bp_library_info){.faults = "",
                             .inexact = {"", ""},
                             .blas = "",
                             .struct_size = sizeof(bp_library_info),
                             .id = id,
                             .path = path,
                             .threading = threading,
                             .family = "fftw"};
}

typedef struct rows {
    bp_library_info library, threads;
    void *instance, *second;
} rows;

static void open_rows(rows *r, const char *id, const char *threads_id, const char *threads_path,
                      const char *threading) {
    r->library = row_of(id, "/lib/one/libfftw3.so", "serial");
    r->threads = row_of(threads_id, threads_path, threading);
    assert_int_equal(bp_provider_fftw.open(test_host(), &r->library, &r->instance), BP_OK);
    assert_int_equal(bp_provider_fftw.open(test_host(), &r->threads, &r->second), BP_OK);
}

static void close_rows(rows *r) {
    bp_provider_fftw.close(r->instance);
    bp_provider_fftw.close(r->second);
}

static bp_verdict judge(void *instance, const test_transform *t) {
    test_operands o;
    test_make(&o, t);
    bp_verdict verdict = test_verdict(&bp_provider_fftw, instance, &o.problem);
    test_release_operands(&o);
    return verdict;
}

static void refused(void *instance, const bp_problem *problem, bp_reason reason, const char *words) {
    bp_verdict verdict = test_verdict(&bp_provider_fftw, instance, problem);
    assert_int_equal(verdict.reason, reason);
    if (!strstr(verdict.text, words)) {
        fail_msg("'%s' lacks '%s'", verdict.text, words);
    }
}

static void test_refusals(void **state) {
    (void)state;
    rows r;
    open_rows(&r, "fftw", "fftw-threads", "/lib/one/libfftw3_threads.so", "pthread");
    test_transform t = {.n = {16}};
    test_operands o;
    test_make(&o, &t);
    assert_int_equal(test_verdict(&bp_provider_fftw, r.instance, &o.problem).reason, BP_REASON_ACCEPTED);
    refused(r.second, &o.problem, BP_REASON_OP, "holds only FFTW's threads");
    bp_problem other = o.problem;
    other.dtype = BP_C64;
    refused(r.instance, &other, BP_REASON_DTYPE, "f64 and c128 only");
    other = o.problem;
    other.op = BP_OP_GEMM;
    refused(r.instance, &other, BP_REASON_OP, "Fourier");
    uint8_t *around[] = {&other.of.fft.full_spectrum, &other.of.fft.conjugate, &other.of.fft.zero_padded};
    for (int i = 0; i < 3; i++) {
        other = o.problem;
        *around[i] = 1;
        refused(r.instance, &other, BP_REASON_OTHER, "conjugation");
    }
    test_release_operands(&o);
    close_rows(&r);
}

/* A kind of transform that the probe found wrong is refused. */
static void test_faults(void **state) {
    (void)state;
    rows r;
    open_rows(&r, "fftw", "fftw-threads", "/lib/one/libfftw3_threads.so", "pthread");
    test_transform t = {.n = {16}};
    test_operands o;
    test_make(&o, &t);
    r.library.faulty = BP_CHECK_BIT(BP_CHECK_R2C, BP_C128);
    r.library.faults = "fft r2c c128: wrong results in probe: fftw";
    assert_int_equal(test_verdict(&bp_provider_fftw, r.instance, &o.problem).reason, BP_REASON_ACCEPTED);
    r.library.faulty |= BP_CHECK_BIT(BP_CHECK_C2C, BP_C128);
    r.library.faults = "fft c2c c128: not tested: fftw did not end\nfft r2c c128: wrong results in probe: fftw";
    refused(r.instance, &o.problem, BP_REASON_BROKEN, "not tested: fftw did not end");
    test_release_operands(&o);
    close_rows(&r);
}

static void test_other_precisions(void **state) {
    (void)state;
    rows r;
    test_transform t = {.n = {16}, .single = true};
    test_operands o;
    test_make(&o, &t);
    open_rows(&r, "fftwf", "fftwl", "/lib/one/libfftw3l.so", "serial");
    assert_int_equal(test_verdict(&bp_provider_fftw, r.instance, &o.problem).reason, BP_REASON_ACCEPTED);
    refused(r.second, &o.problem, BP_REASON_DTYPE, "wider");
    o.problem.dtype = BP_C128;
    refused(r.instance, &o.problem, BP_REASON_DTYPE, "f32 and c64 only");
    test_release_operands(&o);
    close_rows(&r);
    assert_int_equal(bp_provider_fftw.open(test_host(), NULL, &r.instance), BP_E_ARGUMENT);
    test_fail_allocation = 1;
    assert_int_equal(bp_provider_fftw.open(test_host(), &r.library, &r.instance), BP_E_NO_MEMORY);
}

/* Returns the threads of a large transform, with a file of threads at `path`. It must have pthread threads, the same
 * precision and the same directory. */
static int threads_with(const char *id, const char *path, const char *threading) {
    rows r;
    test_transform t = {.n = {1 << 10}, .batch = {1 << 8}, .threads = 4};
    open_rows(&r, "fftw", id, path, threading);
    int threads = judge(r.instance, &t).threads;
    t.deterministic = 1;
    assert_int_equal(judge(r.instance, &t).threads, threads);
    t.deterministic = 2;
    assert_int_equal(judge(r.instance, &t).threads, 1);
    t = (test_transform){.n = {64}, .threads = 4}; /* too small for several threads */
    assert_int_equal(judge(r.instance, &t).threads, 1);
    close_rows(&r);
    return threads;
}

static void test_threads(void **state) {
    (void)state;
    assert_int_equal(threads_with("fftw-threads", "/lib/one/libfftw3_threads.so", "pthread"), 4);
    assert_int_equal(threads_with("fftw-threads-2", "/lib/one/libfftw3_threads.so", "pthread"), 4);
    assert_int_equal(threads_with("fftw-threads-openmp", "/lib/one/libfftw3_omp.so", "libgomp"), 1);
    assert_int_equal(threads_with("fftwf-threads", "/lib/one/libfftw3f_threads.so", "pthread"), 1);
    assert_int_equal(threads_with("fftw-threads", "/lib/other/libfftw3_threads.so", "pthread"), 1);
    assert_int_equal(threads_with("fftw-threads", "/lib/one2/libfftw3_threads.so", "pthread"), 1);
}

static void test_guarantees(void **state) {
    (void)state;
    rows r;
    open_rows(&r, "fftw", "fftw-threads", "/lib/one/libfftw3_threads.so", "pthread");
    const uint32_t always = BP_PROPERTY_ACCUMULATES_F64 | BP_PROPERTY_PROPAGATES_NAN;
    test_transform t = {.n = {64, 64}, .planner = 1};
    assert_int_equal(judge(r.instance, &t).properties, always); /* earlier measurements influence the plan */
    t.planner = 3;
    assert_int_equal(judge(r.instance, &t).properties, always);
    t.deterministic = 1;
    assert_int_equal(judge(r.instance, &t).properties, always | BP_PROPERTY_REPRODUCIBLE);
    t.deterministic = 2;
    assert_int_equal(judge(r.instance, &t).properties,
                     always | BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT);
    close_rows(&r);
}

/* FFTW 3.3.10 may recurse in such transforms until the stack overflows. So every item of a batch is planned alone. */
static void test_strides_of_both_signs(void **state) {
    (void)state;
    rows r;
    open_rows(&r, "fftw", "fftw-threads", "/lib/one/libfftw3_threads.so", "pthread");
    test_transform t = {.n = {4, 4, 4}, .in = FFT_BACKWARDS, .out = FFT_COMPACT};
    test_operands o;
    test_make(&o, &t);
    assert_int_equal(test_verdict(&bp_provider_fftw, r.instance, &o.problem).reason, BP_REASON_ACCEPTED);
    o.problem.of.fft.out[0] *= -1;
    refused(r.instance, &o.problem, BP_REASON_LAYOUT, "negative");
    o.problem.of.fft.out[0] *= -1;
    o.problem.of.fft.in[2] *= -1;
    refused(r.instance, &o.problem, BP_REASON_LAYOUT, "negative");
    o.problem.of.fft.n[2] = 1;
    o.problem.of.fft.out[2] = o.problem.of.fft.in[2] = 0;
    assert_int_equal(test_verdict(&bp_provider_fftw, r.instance, &o.problem).reason, BP_REASON_ACCEPTED);
    test_release_operands(&o);
    t = (test_transform){.n = {16}, .batch = {3, 2}};
    test_make(&o, &t);
    double together = test_verdict(&bp_provider_fftw, r.instance, &o.problem).cost_ns;
    o.problem.of.fft.batch_in[0] *= -1;
    bp_verdict alone = test_verdict(&bp_provider_fftw, r.instance, &o.problem);
    assert_int_equal(alone.reason, BP_REASON_ACCEPTED);
    assert_true(alone.cost_ns > together);
    test_release_operands(&o);
    close_rows(&r);
}

static void test_efforts(void **state) {
    (void)state;
    rows r;
    open_rows(&r, "fftw", "fftw-threads", "/lib/one/libfftw3_threads.so", "pthread");
    test_transform t = {.n = {64, 64}};
    double measured = judge(r.instance, &t).cost_ns;
    assert_string_equal(judge(r.instance, &t).algorithm, "plan by measurement");
    t.planner = 3;
    assert_string_equal(judge(r.instance, &t).algorithm, "plan by patient measurement");
    t.deterministic = 1;
    assert_string_equal(judge(r.instance, &t).algorithm, "plan by estimate");
    t = (test_transform){.n = {64, 64}, .planner = 1};
    assert_string_equal(judge(r.instance, &t).algorithm, "plan by estimate");
    assert_true(judge(r.instance, &t).cost_ns >= measured);
    /* Operands of half a gigabyte are not measured. */
    bp_problem large = {.op = BP_OP_FFT, .dtype = BP_C128, .policy = {.threads = 1}};
    large.of.fft = (bp_fft_problem){.ndim = 1, .scale = 1, .batch = 1, .n = {1 << 24}, .in = {1}, .out = {1}};
    assert_string_equal(test_verdict(&bp_provider_fftw, r.instance, &large).algorithm, "plan by estimate");
    t = (test_transform){.kind = BP_FFT_C2R, .inverse = true, .n = {8, 8}};
    assert_non_null(strstr(judge(r.instance, &t).text, "copies the input"));
    close_rows(&r);
}

/* Dispatch calls each provider only for the families that it names. */
static void test_candidates(void **state) {
    (void)state;
    bp__candidate **list;
    int count, others = 0;
    assert_int_equal(bp__candidates(&BP__NEED_ALL, -1, &list, &count), BP_OK);
    for (int i = 0; i < count; i++) {
        const bp_provider *provider = list[i]->provider;
        if (strcmp(provider->name, "fftw") == 0 || strcmp(provider->name, "mkl") == 0) {
            assert_string_equal(list[i]->library->family, provider->name);
        } else {
            others++;
        }
    }
    assert_true(others > 0); /* a provider that names none is called for all */
}

static int count_blocks(void **state) {
    (void)state;
    return test_blocks;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_faults),
        cmocka_unit_test(test_other_precisions), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_guarantees),       cmocka_unit_test(test_strides_of_both_signs),
        cmocka_unit_test(test_efforts),          cmocka_unit_test(test_candidates),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, count_blocks);
}
