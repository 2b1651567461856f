/* test_products.c - tests matrix products on the oneDNN of this machine: each layout, size, beta and batch, against
 * long double arithmetic with forward-error bounds; NaN and infinity; and that results repeat as the verdict says. */
#include "blas/support_blas.h"

#include "support/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_onednn;

static void *open_real(void) {
    static bp_library_info row = {.struct_size = sizeof row};
    void *instance;
    if (bp_library_find("onednn", &row) != BP_OK || row.state != BP_LIBRARY_OK || strtol(row.version, NULL, 10) < 3) {
        print_message("skipped: oneDNN 3 is not installed\n");
        skip();
    }
    test_fake = NULL;
    test_provider = &bp_provider_onednn;
    assert_int_equal(bp_provider_onednn.open(test_host(), &row, &instance), BP_OK);
    return instance;
}

/* Runs a product; returns whether it was accepted. */
static bool try(void *instance, test_product p) {
    bp_verdict verdict;
    p.alpha = p.alpha != 0 ? p.alpha : 1;
    p.threads = p.threads ? p.threads : 1;
    return test_run_product(instance, &p, &verdict);
}

static void expect(void *instance, test_product p, bool accepted) {
    if (try(instance, p) != accepted) {
        fail_msg("%ldx%ldx%ld layouts %d %d %d: %s", (long)p.m, (long)p.n, (long)p.k, (int)p.a, (int)p.b, (int)p.c,
                 accepted ? "refused" : "accepted");
    }
}

/* Layouts with a unit stride are taken in every combination, others in none. */
static void test_layouts(void **state) {
    static const int64_t shapes[][3] = {{5, 3, 7}, {17, 33, 9}, {2, 2, 2}};
    (void)state;
    void *instance = open_real();
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int layouts = 0; layouts < MATRIX_LAYOUTS * MATRIX_LAYOUTS * TEST_REPEATED; layouts++) {
            test_product p = {.dtype = BP_F32, .m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2]};
            p.a = (matrix_layout)(layouts % MATRIX_LAYOUTS);
            p.b = (matrix_layout)(layouts / MATRIX_LAYOUTS % MATRIX_LAYOUTS);
            p.c = (matrix_layout)(layouts / MATRIX_LAYOUTS / MATRIX_LAYOUTS);
            p.beta = layouts % 2;
            p.shift = (size_t)(layouts % 5) * 4;
            p.threads = 1 + layouts % 3;
            const matrix_layout most = TEST_COLUMNS_APART;
            expect(instance, p, p.a <= most && p.b <= most && p.c <= most);
        }
    }
    bp_provider_onednn.close(instance);
}

/* Vectors and single elements: strides of size 1 mean nothing. */
static void test_thin(void **state) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 9}, {1, 7, 5}, {6, 1, 5}, {3, 4, 1}, {1, 7, 1}, {7, 1, 1}};
    (void)state;
    void *instance = open_real();
    int accepted = 0;
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int layouts = 0; layouts < MATRIX_LAYOUTS * MATRIX_LAYOUTS * TEST_REPEATED; layouts++) {
            test_product p = {.dtype = BP_F32, .m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2]};
            p.a = (matrix_layout)(layouts % MATRIX_LAYOUTS);
            p.b = (matrix_layout)(layouts / MATRIX_LAYOUTS % MATRIX_LAYOUTS);
            p.c = (matrix_layout)(layouts / MATRIX_LAYOUTS / MATRIX_LAYOUTS);
            p.beta = layouts / 3 % 2;
            accepted += try(instance, p);
        }
    }
    assert_true(accepted >= 7 * 64);
    bp_provider_onednn.close(instance);
}

static void test_sizes(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 47, 64, 100};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    (void)state;
    void *instance = open_real();
    for (int i = 0; i < COUNT * COUNT * COUNT; i += 3) {
        test_product p = {.m = sizes[i % COUNT], .n = sizes[i / COUNT % COUNT], .k = sizes[i / COUNT / COUNT]};
        p.dtype = BP_F32;
        p.a = i / 6 % 2 ? TEST_COLUMNS_APART : TEST_ROWS;
        p.b = i / 24 % 2 ? TEST_COLUMNS_APART : TEST_ROWS_APART;
        p.c = i / 48 % 2 ? TEST_COLUMNS : TEST_ROWS_APART;
        p.beta = i / 12 % 2;
        p.threads = 1 + i % 2;
        expect(instance, p, true);
    }
    static const int64_t long_shapes[][3] = {
        {1, 1, 70000}, {1, 3000, 80}, {3000, 1, 80}, {9, 9, 3000}, {300, 200, 500}};
    for (int i = 0; i < 4 * 5; i++) {
        const int64_t *shape = long_shapes[i / 4];
        expect(
            instance,
            (test_product){
                .dtype = BP_F32, .m = shape[0], .n = shape[1], .k = shape[2], .beta = i % 2, .threads = 1 + i / 2 % 2},
            true);
    }
    bp_provider_onednn.close(instance);
}

static void test_batches(void **state) {
    static const int64_t shapes[][3] = {{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {1, 1, 5}, {3, 4, 1}, {12, 8, 16}};
    (void)state;
    void *instance = open_real();
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int variant = 0; variant < 4 * 8 * 3; variant++) {
            test_product p = {.dtype = BP_F32,
                              .m = shapes[s][0],
                              .n = shapes[s][1],
                              .k = shapes[s][2],
                              .batch = {2, 3},
                              .beta = variant / 2 % 2};
            p.broadcast_a = variant & 4;
            p.broadcast_b = variant & 8;
            p.a = variant & 16 ? TEST_COLUMNS : TEST_ROWS;
            p.b = variant & 1 ? TEST_COLUMNS : TEST_ROWS;
            p.c = TEST_ROWS;
            p.threads = 1 + variant / 32;
            expect(instance, p, !(p.broadcast_a && p.broadcast_b));
            p.batch[0] = 0;
            p.batch[1] = 60;
            p.deterministic = variant % 2;
            expect(instance, p, !(p.broadcast_a && p.broadcast_b));
        }
    }
    bp_provider_onednn.close(instance);
}

/* What the library does not have is refused: empty operands, factors other than 0 and 1, and other types. */
static void test_refusals(void **state) {
    (void)state;
    void *instance = open_real();
    const test_product p = {.dtype = BP_F32, .m = 3, .n = 4, .k = 5};
    test_product other = p;
    expect(instance, p, true);
    other.k = 0;
    expect(instance, other, false);
    other = p;
    other.m = 0;
    expect(instance, other, false);
    other = p;
    other.alpha = 2;
    expect(instance, other, false);
    other = p;
    other.beta = 0.5;
    expect(instance, other, false);
    other = p;
    other.dtype = BP_F64;
    expect(instance, other, false);
    bp_provider_onednn.close(instance);
}

/* The factor that oneDNN reads as a weight can be packed: B, or A of a column-major result. Others, and those that the
 * policy does not name, cannot. */
static void test_packs(void **state) {
    (void)state;
    void *instance = open_real();
    for (unsigned bits = 0; bits < 4; bits++) {
        for (int columns = 0; columns < 2; columns++) {
            const test_product p = {.dtype = BP_F32,
                                    .m = 5,
                                    .n = 6,
                                    .k = 7,
                                    .c = columns ? TEST_COLUMNS : TEST_ROWS,
                                    .alpha = 1,
                                    .threads = 1};
            bp_problem problem = test_problem(&p);
            problem.policy.packed = (uint8_t)bits;
            const bp_verdict verdict = test_verdict(&bp_provider_onednn, instance, &problem);
            assert_int_equal(verdict.reason, BP_REASON_ACCEPTED);
            assert_int_equal(verdict.packs, bits & (columns ? 1u : 2u));
        }
    }
    bp_provider_onednn.close(instance);
}

/* ---- Repeated results ---- */

/* Returns the bits of C after a run with fixed data. */
static size_t bits_of(void *instance, test_product p, void *bits, size_t size) {
    p.alpha = 1;
    p.dtype = BP_F32;
    return test_bits_of_product(instance, &p, 3, bits, size);
}

/* The bits are the same as in the first run on the same threads, wherever the operands are in memory. They depend on
 * the row, so no offer says that they are the same at each place of a batch. */
static void test_repeats(void **state) {
    static const int64_t shapes[][3] = {{200, 100, 300}, {7, 400, 90}, {400, 7, 90}, {1, 300, 700}, {33, 33, 1000}};
    static float first[1 << 16], again[1 << 16];
    (void)state;
    void *instance = open_real();
    for (unsigned s = 0; s < 2 * sizeof shapes / sizeof *shapes; s++) {
        test_product p = {.m = shapes[s / 2][0], .n = shapes[s / 2][1], .k = shapes[s / 2][2], .threads = 2};
        p.deterministic = 1;
        p.a = s & 1 ? TEST_COLUMNS : TEST_ROWS;
        const size_t used = bits_of(instance, p, first, sizeof first);
        assert_true(used > 0);
        for (int i = 0; i < 12; i++) {
            p.shift = (size_t)(i % 5) * 4;
            assert_int_equal(bits_of(instance, p, again, sizeof again), used);
            assert_memory_equal(first, again, used);
        }
        p.dtype = BP_F32;
        p.deterministic = 2;
        expect(instance, p, false);
    }
    bp_provider_onednn.close(instance);
}

/* ---- NaN and infinity ---- */

/* 0 times NaN or infinity is NaN, in every element of a row of A or a column of B. */
static void check_poison(void *instance, const int64_t *size, bool in_b, float value) {
    static float a[64 * 64], b[64 * 64], c[64 * 64];
    test_product p = {.dtype = BP_F32, .m = size[0], .n = size[1], .k = size[2], .alpha = 1, .threads = 1};
    bp_problem problem = test_problem(&p);
    bp_prepared *prepared;
    const int64_t i = p.m / 2, j = p.n / 2, l = p.k / 2;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (int64_t at = 0; at < 64 * 64; at++) {
        c[at] = NAN; /* beta is 0 */
    }
    (in_b ? b : a)[in_b ? l * p.n + j : i * p.k + l] = value;
    assert_int_equal(test_plan_first(&bp_provider_onednn, instance, &problem, &prepared), BP_OK);
    assert_int_equal(test_enqueue(prepared, (void *[]){a, b, c}, 3, NULL), BP_OK);
    prepared->destroy(prepared);
    for (int64_t at = 0; at < p.m * p.n; at++) {
        const bool poisoned = in_b ? at % p.n == j : at / p.n == i;
        if (poisoned ? !isnan(c[at]) : c[at] != 0) {
            fail_msg("%ldx%ldx%ld, %g in %s: element %ld is %g", (long)p.m, (long)p.n, (long)p.k, (double)value,
                     in_b ? "B" : "A", (long)at, (double)c[at]);
        }
    }
}

static void test_poison(void **state) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {1, 9, 64}, {9, 1, 64}, {33, 17, 29}, {64, 64, 64}};
    (void)state;
    void *instance = open_real();
    for (unsigned s = 0; s < 4 * sizeof sizes / sizeof *sizes; s++) {
        check_poison(instance, sizes[s / 4], s & 1, s & 2 ? INFINITY : NAN);
    }
    bp_provider_onednn.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_thin),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_batches), cmocka_unit_test(test_refusals), cmocka_unit_test(test_poison),
        cmocka_unit_test(test_repeats), cmocka_unit_test(test_packs),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
