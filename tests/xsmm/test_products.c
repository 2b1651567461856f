/* test_products.c - tests the libxsmm of this machine: each layout, size, beta and batch in both types, against long
 * double arithmetic with forward-error bounds; that kernels stay within their operands; and that results repeat. */
#include "xsmm/support_xsmm.h"

#include "support/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const bp_dtype dtypes[] = {BP_F32, BP_F64};

/* Runs a product; returns whether it was accepted. */
static bool try(void *instance, test_product p) {
    bp_verdict verdict;
    p.alpha = 1;
    p.threads = p.threads ? p.threads : 1;
    return test_run_product(instance, &p, &verdict);
}

static void expect(void *instance, test_product p) {
    if (!try(instance, p)) {
        fail_msg("%ldx%ldx%ld layouts %d %d %d: refused", (long)p.m, (long)p.n, (long)p.k, (int)p.a, (int)p.b,
                 (int)p.c);
    }
}

/* How often each layout is accepted is tested in test_accept.c; here every accepted one is computed. */
static void test_layouts(void **state) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 9}, {1, 7, 5}, {6, 1, 5}, {3, 4, 1}, {5, 3, 7}, {17, 33, 9}};
    (void)state;
    void *instance = test_open_real();
    const bool bound = getenv("OMP_PROC_BIND") != NULL;
    int accepted = 0;
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int layouts = 0; layouts < MATRIX_LAYOUTS * MATRIX_LAYOUTS * TEST_REPEATED; layouts++) {
            for (int d = 0; d < 4; d++) {
                test_product p = {.dtype = dtypes[d % 2], .m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2]};
                p.a = (matrix_layout)(layouts % MATRIX_LAYOUTS);
                p.b = (matrix_layout)(layouts / MATRIX_LAYOUTS % MATRIX_LAYOUTS);
                p.c = (matrix_layout)(layouts / MATRIX_LAYOUTS / MATRIX_LAYOUTS);
                p.beta = d / 2;
                p.shift = (size_t)(layouts % 3) * 8;
                accepted += try(instance, p);
            }
        }
    }
    assert_true(accepted >= 7 * 4 * 16);
    assert_true((getenv("OMP_PROC_BIND") != NULL) == bound); /* libxsmm sets it when it starts */
    bp_provider_xsmm.close(instance);
}

static void test_sizes(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 47, 64};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    (void)state;
    void *instance = test_open_real();
    for (int i = 0; i < COUNT * COUNT * COUNT; i += 3) {
        test_product p = {.m = sizes[i % COUNT], .n = sizes[i / COUNT % COUNT], .k = sizes[i / COUNT / COUNT]};
        p.dtype = dtypes[i / 3 % 2];
        p.a = i / 6 % 2 ? TEST_COLUMNS_APART : TEST_ROWS;
        p.beta = i / 12 % 2;
        expect(instance, p);
    }
    static const int64_t long_shapes[][3] = {{1, 1, 70000}, {1, 3000, 80}, {3000, 1, 80}, {9, 9, 3000}, {3, 40000, 2}};
    for (int i = 0; i < 4 * 5; i++) {
        const int64_t *shape = long_shapes[i / 4];
        expect(instance,
               (test_product){.dtype = dtypes[i % 2], .m = shape[0], .n = shape[1], .k = shape[2], .beta = i / 2 % 2});
    }
    bp_provider_xsmm.close(instance);
}

static void test_batches(void **state) {
    static const int64_t shapes[][3] = {{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {1, 1, 5}, {3, 4, 1}, {12, 8, 16}};
    (void)state;
    void *instance = test_open_real();
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int variant = 0; variant < 4 * 8 * 3; variant++) {
            test_product p = {.dtype = dtypes[variant % 2],
                              .m = shapes[s][0],
                              .n = shapes[s][1],
                              .k = shapes[s][2],
                              .batch = {2, 3},
                              .beta = variant / 2 % 2};
            p.broadcast_a = variant & 4;
            p.broadcast_b = variant & 8;
            p.a = variant & 16 ? TEST_COLUMNS : TEST_ROWS;
            p.b = p.c = TEST_ROWS;
            p.threads = 1 + variant / 32;
            expect(instance, p);
            p.batch[0] = 0;
            p.batch[1] = 300; /* several threads */
            p.deterministic = variant % 3;
            expect(instance, p);
        }
    }
    bp_provider_xsmm.close(instance);
}

/* ---- NaN and infinity ---- */

static void check_poison(void *instance, bp_dtype dtype, const int64_t *size, bool in_b, double value) {
    static double a[64 * 64], b[64 * 64], c[64 * 64];
    test_product p = {.dtype = dtype, .m = size[0], .n = size[1], .k = size[2], .alpha = 1, .threads = 1};
    bp_problem problem = test_problem(&p);
    bp_prepared *prepared;
    const int64_t i = p.m / 2, j = p.n / 2, l = p.k / 2, at = in_b ? l * p.n + j : i * p.k + l;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    if (dtype == BP_F64) {
        (in_b ? b : a)[at] = value;
    } else {
        float narrow = (float)value;
        memcpy((char *)(in_b ? b : a) + at * 4, &narrow, 4);
    }
    assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
    assert_int_equal(test_enqueue(prepared, (void *[]){a, b, c}, 3, NULL), BP_OK);
    prepared->destroy(prepared);
    for (int64_t y = 0; y < (in_b ? p.m : p.n); y++) {
        const int64_t element = in_b ? y * p.n + j : i * p.n + y;
        float narrow;
        memcpy(&narrow, (char *)c + element * 4, 4);
        assert_true(isnan(dtype == BP_F64 ? c[element] : (double)narrow));
    }
}

/* A value that is not finite reaches every element that depends on it, also if it is multiplied by zero. */
static void test_non_finite_elements_propagate(void **state) {
    static const int64_t sizes[] = {1, 2, 7, 33, 64};
    (void)state;
    void *instance = test_open_real();
    for (int i = 0; i < 5 * 5 * 5 * 8; i++) {
        const int64_t size[] = {sizes[i % 5], sizes[i / 5 % 5], sizes[i / 25 % 5]};
        check_poison(instance, dtypes[i / 125 % 2], size, i / 250 % 2, i / 500 ? (double)NAN : (double)INFINITY);
    }
    bp_provider_xsmm.close(instance);
}

/* ---- Memory around the operands ---- */

enum { SPACE = 1 << 16, PAGE = 4096 };

/* Returns SPACE bytes between two pages that cannot be read. */
static char *guarded(void) {
    char *block = mmap(NULL, SPACE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    assert_int_equal(mprotect(block + PAGE, SPACE, PROT_READ | PROT_WRITE), 0);
    return block + PAGE;
}

/* Operands begin or end at a page that cannot be read, so a kernel that reads further ends the test. */
static void test_kernels_stay_within_operands(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 31, 64};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    (void)state;
    void *instance = test_open_real();
    char *spaces[] = {guarded(), guarded(), guarded()};
    for (int i = 0; i < COUNT * COUNT * COUNT * 2; i++) {
        test_product p = {.m = sizes[i % COUNT], .n = sizes[i / COUNT % COUNT], .k = sizes[i / COUNT / COUNT % COUNT]};
        const int64_t size = i % 2 ? 8 : 4, elements[] = {p.m * p.k, p.k * p.n, p.m * p.n};
        const bool at_end = i / COUNT / COUNT / COUNT;
        p.alpha = 1;
        p.dtype = i % 2 ? BP_F64 : BP_F32;
        p.a = i / 2 % 2 ? TEST_COLUMNS : TEST_ROWS;
        p.beta = i / 4 % 2;
        void *operands[3];
        for (int x = 0; x < 3; x++) {
            operands[x] = spaces[x] + (at_end ? SPACE - elements[x] * size : 0);
        }
        bp_problem problem = test_problem(&p);
        bp_prepared *prepared;
        assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
        assert_int_equal(test_enqueue(prepared, operands, 3, NULL), BP_OK);
        prepared->destroy(prepared);
    }
    for (int x = 0; x < 3; x++) {
        munmap(spaces[x] - PAGE, SPACE + 2 * PAGE);
    }
    bp_provider_xsmm.close(instance);
}

/* ---- Large strides ---- */

/* Rows that are far apart, up to the limit of test_accept.c, have right offsets in the kernel. */
static void test_distances(void **state) {
    enum { N = 4 };
    const int64_t apart = (INT64_C(1) << 30) / 8 / N, bytes = apart * 8 * N;
    (void)state;
    void *instance = test_open_real();
    double *x = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x == MAP_FAILED) {
        print_message("skipped: no address space of 1 GiB\n");
        bp_provider_xsmm.close(instance);
        skip();
    }
    for (int far = 0; far < 3; far++) {
        double near[3][N * N], *operands[3];
        test_product p = {.dtype = BP_F64, .m = N, .n = N, .k = N, .alpha = 1, .threads = 1};
        bp_problem problem = test_problem(&p);
        int64_t *rows[] = {&problem.of.gemm.a_row, &problem.of.gemm.b_row, &problem.of.gemm.c_row};
        *rows[far] = apart;
        for (int o = 0; o < 3; o++) {
            operands[o] = o == far ? x : near[o];
            for (int64_t i = 0; i < N * N; i++) {
                operands[o][i / N * *rows[o] + i % N] = (double)(i * 3 % 7) - 2 + o;
            }
        }
        bp_prepared *prepared;
        assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
        assert_int_equal(test_enqueue(prepared, (void *const *)operands, 3, NULL), BP_OK);
        prepared->destroy(prepared);
        for (int64_t i = 0; i < N * N; i++) {
            double sum = 0;
            for (int64_t l = 0; l < N; l++) {
                sum += operands[0][i / N * *rows[0] + l] * operands[1][l * *rows[1] + i % N];
            }
            assert_true(operands[2][i / N * *rows[2] + i % N] == sum);
        }
    }
    munmap(x, (size_t)bytes);
    bp_provider_xsmm.close(instance);
}

/* ---- Guarantees ---- */

/* Bitwise equal at any address, with any number of threads, and at any index of a batch. */
static void test_results_repeat(void **state) {
    static const int64_t shapes[][3] = {{7, 9, 33}, {16, 16, 16}, {31, 5, 64}, {1, 13, 40}, {64, 64, 64}};
    static char first[64 * 64 * 8], again[64 * 64 * 8];
    (void)state;
    void *instance = test_open_real();
    for (int i = 0; i < 5 * 2 * 2; i++) {
        const int64_t *shape = shapes[i % 5];
        test_product p = {.dtype = dtypes[i / 5 % 2], .m = shape[0], .n = shape[1], .k = shape[2], .alpha = 1};
        p.a = i / 10 ? TEST_COLUMNS : TEST_ROWS;
        p.deterministic = 2;
        size_t used = test_bits_of_product(instance, &p, 3, first, sizeof first);
        for (int shift = 1; shift < 8; shift++) {
            p.shift = (size_t)shift * 8;
            assert_int_equal(test_bits_of_product(instance, &p, 3, again, sizeof again), used);
            assert_memory_equal(first, again, used);
        }
    }
    bp_provider_xsmm.close(instance);
}

/* All items of a batch are equal, so all results must be. */
static void test_items_repeat(void **state) {
    enum { M = 13, N = 11, K = 37, BATCH = 500 };
    static float a[M * K], b[K * N], c[BATCH][M * N], alone[M * N];
    (void)state;
    void *instance = test_open_real();
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)sin(i);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = (float)cos(i * 1.7);
    }
    for (int threads = 0; threads < 4; threads++) {
        test_product p = {.dtype = BP_F32, .m = M, .n = N, .k = K, .alpha = 1, .threads = threads ? threads : 1};
        bp_problem problem = test_problem(&p);
        bp_prepared *prepared;
        if (threads) {
            problem.of.gemm.batch_ndim = 1;
            problem.of.gemm.batch = problem.of.gemm.batch_shape[0] = BATCH;
            problem.of.gemm.batch_c[0] = M * N;
        }
        assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
        assert_int_equal(test_enqueue(prepared, (void *[]){a, b, threads ? c[0] : alone}, 3, NULL), BP_OK);
        prepared->destroy(prepared);
        for (int i = 0; threads && i < BATCH; i++) {
            assert_memory_equal(c[i], alone, sizeof alone);
        }
        memset(c, 0xff, sizeof c);
    }
    bp_provider_xsmm.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_non_finite_elements_propagate),
        cmocka_unit_test(test_kernels_stay_within_operands),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_results_repeat),
        cmocka_unit_test(test_items_repeat),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, test_stop_pool);
}
