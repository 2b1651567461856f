/* test_accept.c - tests verdicts without a library: refusals and their reasons, integer widths, threads, guarantees,
 * and the order of costs. */
#include "blas/support_blas.h"

#include <string.h>

static bp_verdict judge_row(const bp_library_info *row, const bp_problem *problem) {
    void *instance;
    assert_int_equal(bp_provider_blas.open(test_host(), row, &instance), BP_OK);
    bp_verdict verdict = test_verdict(&bp_provider_blas, instance, problem);
    bp_provider_blas.close(instance);
    return verdict;
}

static bp_verdict judge(const char *family, const char *threading, const test_product *p) {
    bp_library_info row = test_row(family, threading);
    bp_problem problem = test_problem(p);
    return judge_row(&row, &problem);
}

static test_product square(bp_dtype dtype, int64_t n, int threads) {
    return (test_product){.dtype = dtype, .m = n, .n = n, .k = n, .alpha = 1, .threads = threads};
}

static void test_refusals(void **state) {
    (void)state;
    bp_library_info row = test_row("openblas", "pthread");
    test_product p = square(BP_F32, 4, 1);
    bp_problem problem = test_problem(&p);
    assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_ACCEPTED);
    problem.dtype = BP_F16;
    bp_verdict verdict = judge_row(&row, &problem);
    assert_int_equal(verdict.reason, BP_REASON_DTYPE);
    assert_non_null(strstr(verdict.text, "native has one"));
    problem.dtype = BP_I32;
    assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_DTYPE);
    problem.dtype = BP_F32;
    problem.op = 77;
    assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_OP);
    problem.op = BP_OP_GEMM;
    row.int_bits = 0;
    assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_OTHER);
}

/* A routine that the probe found to access memory outside of its operands is refused, in its type alone. Products with
 * a vector run on gemm then. */
static void test_faulty_routines(void **state) {
    (void)state;
    bp_library_info row = test_row("openblas", "pthread");
    row.faulty = BP_CHECK_BIT(BP_CHECK_GEMV, BP_C64) | BP_CHECK_BIT(BP_CHECK_GEMM, BP_F32);
    row.faults = "gemv c64: accesses memory: cgemv\ngemm f32: accesses memory: sgemm";
    for (bp_dtype dtype = BP_F32; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1)) {
        for (int64_t m = 1; m < 4; m += 2) {
            test_product p = {.dtype = dtype, .m = m, .n = 9, .k = 5, .alpha = 1, .threads = 1};
            bp_problem problem = test_problem(&p);
            bp_verdict verdict = judge_row(&row, &problem);
            const bool refused = dtype == BP_F32 && m > 1;
            assert_int_equal(verdict.reason, refused ? BP_REASON_BROKEN : BP_REASON_ACCEPTED);
            assert_string_equal(verdict.algorithm, m > 1 || dtype == BP_C64 ? "gemm" : "gemv");
            assert_true(!refused || strcmp(verdict.text, "accesses memory: sgemm") == 0);
        }
    }
}

/* Sizes and leading dimensions beyond the library's integers are never truncated. */
static void test_integer_width(void **state) {
    (void)state;
    const int64_t limit = INT32_MAX;
    static const struct {
        int64_t over_limit[3]; /* m, n, k relative to the limit; 0: the size is 2 */
        bool fits;
    } cases[] = {{{0, 0, 0}, true}, {{-1, 0, 0}, true}, {{1, 0, 0}, false}, {{0, 1, 0}, false}, {{0, 0, 1}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_product p = square(BP_F64, 2, 1);
        int64_t *sizes[] = {&p.m, &p.n, &p.k};
        for (int d = 0; d < 3; d++) {
            *sizes[d] = cases[i].over_limit[d] ? limit + cases[i].over_limit[d] : 2;
        }
        bp_problem problem = test_problem(&p);
        bp_library_info row = test_row("openblas", "pthread");
        bp_verdict verdict = judge_row(&row, &problem);
        assert_int_equal(verdict.reason, cases[i].fits ? BP_REASON_ACCEPTED : BP_REASON_SIZE);
        assert_true(cases[i].fits || strstr(verdict.text, "32-bit"));
        row.int_bits = 64;
        assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_ACCEPTED);
    }
    /* A leading dimension that is too large does not cause a refusal: the operand is copied. */
    test_product p = square(BP_F64, 3, 1);
    bp_problem problem = test_problem(&p);
    problem.of.gemm.b_row = problem.of.gemm.c_row = limit + 1;
    bp_library_info row = test_row("openblas", "pthread");
    bp_verdict verdict = judge_row(&row, &problem);
    assert_int_equal(verdict.reason, BP_REASON_ACCEPTED);
    assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C),
                     BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C);
    /* With long integers too, because vector kernels may count in 32 bits. */
    row.int_bits = 64;
    verdict = judge_row(&row, &problem);
    assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C),
                     BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C);
    problem.of.gemm.b_row = problem.of.gemm.c_row = (1 << 25) - 1;
    verdict = judge_row(&row, &problem);
    assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C), 0);
    problem.of.gemm.b_row = problem.of.gemm.c_row = limit + 1;
    /* The same holds for an increment. */
    problem.of.gemm.n = 1;
    problem.of.gemm.b_column = problem.of.gemm.c_column = 0;
    row.int_bits = 32;
    verdict = judge_row(&row, &problem);
    assert_string_equal(verdict.algorithm, "gemv");
    assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C),
                     BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C);
    /* Merged batches do not overflow either. */
    p = square(BP_F32, 2, 1);
    p.broadcast_b = true;
    p.batch[1] = (limit + 1) / 2;
    problem = test_problem(&p);
    problem.of.gemm.batch_a[0] = problem.of.gemm.batch_c[0] = 4;
    assert_string_equal(judge_row(&row, &problem).algorithm, "gemm per product");
    problem.of.gemm.batch = --problem.of.gemm.batch_shape[0];
    assert_string_equal(judge_row(&row, &problem).algorithm, "gemm over the batch");
}

/* A copy that exceeds the address space is refused. */
static void test_copy_too_large(void **state) {
    (void)state;
    bp_library_info row = test_row("mkl", "libiomp5");
    row.int_bits = 64;
    test_product p = square(BP_C128, 2, 1);
    p.m = p.k = INT64_C(1) << 40;
    p.a = TEST_REPEATED;
    bp_problem problem = test_problem(&p);
    assert_int_equal(judge_row(&row, &problem).reason, BP_REASON_SIZE);
}

static uint32_t guarantees(const char *family, const char *threading, int64_t n, int threads, int deterministic,
                           bp_reason *reason) {
    test_product p = square(BP_F64, n, threads);
    p.deterministic = deterministic;
    bp_verdict verdict = judge(family, threading, &p);
    *reason = verdict.reason;
    return verdict.properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT);
}

static void test_determinism(void **state) {
    (void)state;
    static const struct {
        const char *family, *threading;
        int guaranteed; /* 1: guaranteed if determinism is requested; 0: never */
    } rows[] = {{"openblas", "serial", 1}, {"openblas", "pthread", 1}, {"openblas", "libgomp", 1},
                {"blis", "libgomp", 1},    {"netlib", "serial", 1},    {"mkl", "libiomp5", 0},
                {"atlas", "pthread", 0},   {"odd", "serial", 0},       {"odd", "libgomp", 0},
                {"odd", "unknown", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int wanted = 1; wanted <= 2; wanted++) {
            for (int threads = 1; threads <= 2; threads++) {
                bp_reason reason;
                uint32_t properties = guarantees(rows[i].family, rows[i].threading, 500, threads, wanted, &reason);
                uint32_t needed = wanted == 2 ? BP_PROPERTY_THREAD_INVARIANT : BP_PROPERTY_REPRODUCIBLE;
                assert_int_equal(reason, rows[i].guaranteed ? BP_REASON_ACCEPTED : BP_REASON_DETERMINISM);
                assert_int_equal((properties & needed) != 0, rows[i].guaranteed);
            }
        }
    }
    /* deterministic=threads: on one thread, and product by product. */
    test_product p = square(BP_F64, 1024, 2);
    p.deterministic = 2;
    assert_int_equal(judge("openblas", "pthread", &p).threads, 1);
    p.batch[1] = 3;
    p.broadcast_b = true;
    bp_library_info row = test_row("netlib", "serial");
    bp_problem problem = test_problem(&p);
    problem.of.gemm.batch_a[0] = problem.of.gemm.batch_c[0] = 1024 * 1024;
    bp_verdict verdict = judge_row(&row, &problem);
    assert_string_equal(verdict.algorithm, "gemm per product");
    assert_true(verdict.properties & BP_PROPERTY_THREAD_INVARIANT);
    problem.policy.deterministic = 1;
    verdict = judge_row(&row, &problem);
    assert_string_equal(verdict.algorithm, "gemm over the batch");
    assert_false(verdict.properties & BP_PROPERTY_THREAD_INVARIANT);
    /* Without a determinism request, a count that another thread of the program may change guarantees nothing ... */
    bp_reason reason;
    assert_int_equal(guarantees("openblas", "pthread", 500, 2, 0, &reason), 0);
    /* ... but a product that the library runs on one thread anyway is reproducible. */
    assert_int_equal(guarantees("openblas", "pthread", 8, 2, 0, &reason), BP_PROPERTY_REPRODUCIBLE);
    assert_int_equal(guarantees("netlib", "serial", 500, 2, 0, &reason),
                     BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT);
}

static int threads_for(const char *family, const char *threading, int64_t n, int allowed) {
    test_product p = square(BP_F64, n, allowed);
    return judge(family, threading, &p).threads;
}

static void test_threads(void **state) {
    (void)state;
    static const char *const families[][2] = {{"openblas", "pthread"}, {"openblas", "libgomp"}, {"blis", "pthread"},
                                              {"blis", "libgomp"},     {"mkl", "libiomp5"},     {"odd", "libgomp"}};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        assert_int_equal(threads_for(families[i][0], families[i][1], 8, 2), 1);
        assert_int_equal(threads_for(families[i][0], families[i][1], 1024, 2), 2);
        assert_int_equal(threads_for(families[i][0], families[i][1], 1024, 1), 1);
    }
    /* Threads that wait actively pay early. Threads that are created in each call, or sleep, pay later. */
    assert_int_equal(threads_for("openblas", "pthread", 100, 2), 2);
    assert_int_equal(threads_for("mkl", "libiomp5", 100, 2), 2);
    assert_int_equal(threads_for("blis", "pthread", 200, 2), 1);
    assert_int_equal(threads_for("blis", "libgomp", 200, 2), 1);
    assert_int_equal(threads_for("openblas", "libgomp", 200, 2), 1);
    assert_int_equal(threads_for("odd", "libgomp", 128, 2), 1);
    assert_int_equal(threads_for("netlib", "serial", 1024, 8), 1);
    /* A count that cannot be set is the number of all processors. It is accepted only if so many threads are allowed.
     */
    assert_int_equal(threads_for("odd", "pthread", 1024, TEST_PROCESSORS), 0);
    test_product fewer = square(BP_F64, 1024, TEST_PROCESSORS - 1);
    assert_int_equal(judge("odd", "pthread", &fewer).reason, BP_REASON_THREADS);
}

static double cost_of(const char *family, const char *threading, int64_t m, int64_t n, int64_t k) {
    test_product p = {.dtype = BP_F64, .m = m, .n = n, .k = k, .alpha = 1, .threads = 1};
    return judge(family, threading, &p).cost_ns;
}

/* The measured order, cheapest first, with factors of two and more between neighbours. */
static void test_cost_order(void **state) {
    (void)state;
    assert_true(cost_of("netlib", "serial", 2, 2, 2) < cost_of("openblas", "pthread", 2, 2, 2));
    assert_true(cost_of("openblas", "pthread", 2, 2, 2) * 2 < cost_of("blis", "libgomp", 2, 2, 2));
    assert_true(cost_of("openblas", "pthread", 8, 8, 8) < cost_of("netlib", "serial", 8, 8, 8));
    assert_true(cost_of("openblas", "pthread", 256, 256, 256) * 4 < cost_of("netlib", "serial", 256, 256, 256));
    assert_true(cost_of("blis", "libgomp", 1000, 1000, 1) * 2 < cost_of("openblas", "pthread", 1000, 1000, 1));
    /* BLIS packs nothing for small k. Above that it pays for each element of C. */
    assert_true(cost_of("blis", "libgomp", 512, 512, 17) - cost_of("blis", "libgomp", 512, 512, 16) > 50000);
    assert_true(cost_of("openblas", "pthread", 512, 512, 17) - cost_of("openblas", "pthread", 512, 512, 16) < 50000);
    assert_true(cost_of("openblas", "pthread", 1, 1000, 1000) * 2 < cost_of("netlib", "serial", 1, 1000, 1000));
    assert_true(cost_of("openblas", "pthread", 256, 256, 256) < cost_of("odd", "serial", 256, 256, 256));
    assert_true(cost_of("odd", "serial", 256, 256, 256) < cost_of("netlib", "serial", 256, 256, 256));
    /* A library with kernels for an older processor, or with unknown ones. */
    test_product p = square(BP_F64, 256, 1);
    bp_problem problem = test_problem(&p);
    bp_library_info row = test_row("blis", "libgomp");
    row.kernels = "zen3";
    double fast = judge_row(&row, &problem).cost_ns;
    row.kernels = "generic";
    assert_true(judge_row(&row, &problem).cost_ns > 4 * fast);
    row.kernels = "SkylakeX"; /* more than the hardware can do */
    assert_true(judge_row(&row, &problem).cost_ns >= fast);
    row.kernels = "Future9000"; /* half of what the hardware can do */
    assert_true(judge_row(&row, &problem).cost_ns > 1.8 * fast);
    /* Copies have a cost. */
    double plain = cost_of("openblas", "pthread", 64, 64, 64);
    p = square(BP_F64, 64, 1);
    p.a = TEST_GENERAL;
    assert_true(judge("openblas", "pthread", &p).cost_ns > plain);
}

/* MKL's names, as the probe reports them, and names that no table has. */
static void test_rates_of_kernel_sets(void **state) {
    (void)state;
    static const struct {
        const char *kernels;
        double with_baseline, with_avx2, with_avx512;
    } cases[] = {
        {"def", 4, 16, 16},  {"mc", 3.8, 3.8, 3.8},    {"mc3", 4, 4, 4},        {"avx", 4, 8, 8},
        {"avx2", 4, 16, 16}, {"avx512", 4, 16, 32},    {"avx10", 4, 16, 32},    {"Zen", 4, 16, 16},
        {"", 2, 8, 16},      {"Future9000", 2, 8, 16}, {"SkylakeX", 4, 16, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = cases[i].kernels;
        assert_float_equal(bp__driver_kernel_flops(name, BP_CAPABILITY_DEFAULT), cases[i].with_baseline, 0);
        assert_float_equal(bp__driver_kernel_flops(name, BP_CAPABILITY_AVX2), cases[i].with_avx2, 0);
        assert_float_equal(bp__driver_kernel_flops(name, BP_CAPABILITY_AVX512), cases[i].with_avx512, 0);
        assert_int_equal(bp__driver_kernels_avx512(name, BP_CAPABILITY_AVX512), cases[i].with_avx512 == 32);
        assert_false(bp__driver_kernels_avx512(name, BP_CAPABILITY_AVX2));
    }
}

/* Views are used in place. The verdict says what is copied, and why. */
static void test_copies(void **state) {
    (void)state;
    static const struct {
        bp_dtype dtype;
        matrix_layout a, b, c;
        bool conjugate_a;
        uint32_t properties;
        const char *text;
    } cases[] = {
        {BP_F32, TEST_ROWS, TEST_COLUMNS_APART, TEST_ROWS_APART, false, 0, ""},
        {BP_F32, TEST_COLUMNS, TEST_ROWS, TEST_COLUMNS, true, 0, ""},
        {BP_F32, TEST_BACKWARDS, TEST_ROWS, TEST_COLUMNS, false, BP_PROPERTY_PACKS_A, "copies A: a stride is negative"},
        {BP_F32, TEST_ROWS, TEST_REPEATED, TEST_COLUMNS, false, BP_PROPERTY_PACKS_B, "copies B: a stride is zero"},
        {BP_F32, TEST_ROWS, TEST_OVERLAPPING, TEST_ROWS, false, BP_PROPERTY_PACKS_B, "copies B: its rows overlap"},
        {BP_F32, TEST_ROWS, TEST_ROWS, TEST_GENERAL, false, BP_PROPERTY_PACKS_C, "copies C: no stride is 1"},
        {BP_C64, TEST_COLUMNS, TEST_ROWS, TEST_ROWS, true, 0, ""},
        {BP_C64, TEST_COLUMNS, TEST_ROWS, TEST_COLUMNS, true, BP_PROPERTY_PACKS_A,
         "copies A: BLAS cannot conjugate without transposing"},
        {BP_C64, TEST_GENERAL, TEST_GENERAL, TEST_GENERAL, false,
         BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C,
         "copies A: no stride is 1; copies B: no stride is 1; copies C: no stride is 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_product p = {
            .dtype = cases[i].dtype, .m = 3, .n = 4, .k = 5, .a = cases[i].a, .b = cases[i].b, .c = cases[i].c};
        p.alpha = 1;
        p.conjugate_a = cases[i].conjugate_a;
        bp_verdict verdict = judge("openblas", "pthread", &p);
        assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C),
                         cases[i].properties);
        assert_string_equal(verdict.text, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_faulty_routines),
        cmocka_unit_test(test_integer_width), cmocka_unit_test(test_copy_too_large),
        cmocka_unit_test(test_determinism),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_cost_order),    cmocka_unit_test(test_rates_of_kernel_sets),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
