/* test_products.c - tests every BLAS library of the machine, several in one process: each element type in each layout,
 * against long double arithmetic with forward-error bounds. */
#include "blas/support_blas.h"

#include "backplane/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const bp_library_info *library_of_the_moment;
static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};

/* Runs `visit` for every library. All libraries stay open. */
static void for_each_library(void (*visit)(void *instance, const bp_library_info *library)) {
    int count;
    const bp_library_info **rows = test_libraries(&count);
    if (count == 0) {
        print_message("skipped: no BLAS library is installed\n");
        skip();
    }
    for (int i = 0; i < count; i++) {
        void *instance;
        assert_int_equal(test_open(rows[i], &instance), BP_OK);
        visit(instance, rows[i]);
        bp_provider_blas.close(instance);
    }
}

static void expect(void *instance, test_product p) {
    bp_verdict verdict;
    p.threads = p.threads ? p.threads : 1;
    if (!test_run_product(instance, &p, &verdict)) {
        fail_msg("refused: %s", verdict.text);
    }
}

static void visit_layouts(void *instance, const bp_library_info *library) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 9}, {1, 7, 5}, {6, 1, 5}, {3, 4, 1}, {5, 3, 7}, {17, 33, 9}};
    (void)library;
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int layouts = 0; layouts < MATRIX_LAYOUTS * MATRIX_LAYOUTS * TEST_REPEATED; layouts++) {
            test_product p = {.m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2], .alpha = 1};
            p.dtype = dtypes[((unsigned)layouts / 4 + s) % 4];
            p.a = (matrix_layout)(layouts % MATRIX_LAYOUTS);
            p.b = (matrix_layout)(layouts / MATRIX_LAYOUTS % MATRIX_LAYOUTS);
            p.c = (matrix_layout)(layouts / MATRIX_LAYOUTS / MATRIX_LAYOUTS);
            p.beta = layouts % 3 == 0 ? 0 : layouts % 3 == 1 ? 1 : -0.75;
            p.alpha = layouts % 5 == 0 ? 1.5 : 1;
            p.conjugate_a = layouts % 2;
            p.conjugate_b = layouts / 2 % 2;
            expect(instance, p);
        }
    }
}

static void test_layouts(void **state) {
    (void)state;
    for_each_library(visit_layouts);
}

static void visit_factors(void *instance, const bp_library_info *library) {
    static const double factors[] = {0, 1, -1, 2.5};
    static const int64_t shapes[][3] = {{4, 5, 6}, {4, 1, 6}, {1, 5, 6}, {4, 5, 0},
                                        {1, 1, 0}, {0, 5, 6}, {4, 0, 6}, {0, 0, 0}};
    (void)library;
    for (int i = 0; i < 16; i++) {
        for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            for (int d = 0; d < 4; d++) {
                for (matrix_layout c = TEST_ROWS; c < TEST_REPEATED; c++) {
                    expect(instance, (test_product){.dtype = dtypes[d],
                                                    .m = shapes[s][0],
                                                    .n = shapes[s][1],
                                                    .k = shapes[s][2],
                                                    .c = c,
                                                    .alpha = factors[i % 4],
                                                    .beta = factors[i / 4],
                                                    .conjugate_a = true});
                }
            }
        }
    }
}

static void test_factors(void **state) {
    (void)state;
    for_each_library(visit_factors);
}

static void visit_batches(void *instance, const bp_library_info *library) {
    static const int64_t shapes[][3] = {{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {1, 1, 5}, {3, 4, 1}};
    (void)library;
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int variant = 0; variant < 4 * MATRIX_LAYOUTS * TEST_REPEATED; variant++) {
            test_product p = {.dtype = dtypes[variant % 4],
                              .m = shapes[s][0],
                              .n = shapes[s][1],
                              .k = shapes[s][2],
                              .batch = {2, 3},
                              .alpha = 1,
                              .beta = variant % 3 == 0 ? 0.5 : 0};
            p.broadcast_a = variant & 1;
            p.broadcast_b = variant & 2;
            p.a = (matrix_layout)(variant / 4 % MATRIX_LAYOUTS);
            p.b = (matrix_layout)((variant / 4 + variant / 8) % MATRIX_LAYOUTS);
            p.c = (matrix_layout)(variant / 4 / MATRIX_LAYOUTS % TEST_REPEATED);
            p.conjugate_b = variant % 5 == 0;
            expect(instance, p);
            p.batch[0] = 0;
            p.deterministic = variant % 7 == 0 && library->family[0] != 'm' ? 2 : 0;
            expect(instance, p);
        }
    }
}

static void test_batches(void **state) {
    (void)state;
    for_each_library(visit_batches);
}

static void visit_sizes(void *instance, const bp_library_info *library) {
    static const int64_t shapes[][3] = {{129, 131, 127}, {300, 2, 311}, {2, 257, 300},
                                        {257, 255, 3},   {1, 400, 300}, {400, 1, 300}};
    (void)library;
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int d = 0; d < 4; d++) {
            for (int threads = 1; threads < 4; threads++) {
                expect(instance, (test_product){.dtype = dtypes[d],
                                                .m = shapes[s][0],
                                                .n = shapes[s][1],
                                                .k = shapes[s][2],
                                                .a = threads % 2 ? TEST_ROWS : TEST_COLUMNS_APART,
                                                .alpha = 1,
                                                .threads = threads,
                                                .conjugate_a = true});
            }
        }
    }
}

static void test_sizes_and_threads(void **state) {
    (void)state;
    for_each_library(visit_sizes);
}

typedef struct poisoned {
    test_product p;
    bool in_b;
    double value;
} poisoned;

/* One non-finite value, with zeros in all other places, reaches every element that depends on it. */
static void check_poisoned(const test_offers *offers, int index, const bp_problem *problem, const poisoned *x) {
    static double a[64 * 64 * 2], b[64 * 64 * 2], c[64 * 64 * 2];
    const test_product *p = &x->p;
    const bp_gemm_problem *g = &problem->of.gemm;
    bp_prepared *prepared;
    bool is_wide = p->dtype == BP_F64 || p->dtype == BP_C128;
    int64_t parts = p->dtype == BP_C64 || p->dtype == BP_C128 ? 2 : 1, l = p->k / 2, i = p->m / 2, j = p->n / 2;
    int64_t at = (x->in_b ? l * g->b_row + j * g->b_column : i * g->a_row + l * g->a_column) * parts;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(c, 0, sizeof c);
    if (is_wide) {
        (x->in_b ? b : a)[at] = x->value;
    } else {
        ((float *)(x->in_b ? b : a))[at] = (float)x->value;
    }
    assert_int_equal(test_offers_plan(offers, index, problem, &prepared), BP_OK);
    assert_int_equal(test_enqueue(prepared, (void *[]){a, b, c}, 3, NULL), BP_OK);
    prepared->destroy(prepared);
    for (int64_t y = 0; y < (x->in_b ? p->m : p->n); y++) {
        int64_t element = (x->in_b ? y * g->c_row + j * g->c_column : i * g->c_row + y * g->c_column) * parts;
        if (!isnan(is_wide ? c[element] : (double)((float *)c)[element])) {
            fail_msg("%s: '%s': %s %ldx%ldx%ld layouts %d %d %d: %g in %s was lost", library_of_the_moment->id,
                     offers->of[index].verdict.algorithm, bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k,
                     (int)p->a, (int)p->b, (int)p->c, x->value, x->in_b ? "B" : "A");
        }
    }
}

/* Checks every offer that guarantees it. */
static void check_poison(void *instance, test_product p, bool in_b, double value) {
    const poisoned x = {p, in_b, value};
    bp_problem problem = test_problem(&p);
    test_offers offers;
    test_offers_ask(&offers, &bp_provider_blas, instance, &problem);
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        if (offers.of[i].verdict.properties & BP_PROPERTY_PROPAGATES_NAN) {
            check_poisoned(&offers, i, &problem, &x);
        }
    }
    test_offers_free(&offers);
}

static void visit_poison(void *instance, const bp_library_info *library) {
    static const int64_t sizes[] = {1, 2, 7, 33, 64};
    library_of_the_moment = library;
    for (int i = 0; i < 5 * 5 * 5 * 4 * 8; i++) {
        test_product p = {
            .dtype = dtypes[i / 125 % 4], .m = sizes[i % 5], .n = sizes[i / 5 % 5], .k = sizes[i / 25 % 5]};
        p.alpha = 1;
        p.threads = 1;
        p.a = i / 500 & 1 ? TEST_COLUMNS : TEST_ROWS;
        p.b = i / 500 & 2 ? TEST_COLUMNS : TEST_ROWS;
        p.c = i / 500 & 4 ? TEST_COLUMNS : TEST_ROWS;
        check_poison(instance, p, i % 2, i % 3 ? (double)NAN : (double)INFINITY);
        check_poison(instance, p, i % 2 == 0, i % 3 ? (double)NAN : (double)INFINITY);
    }
}

static void test_non_finite_elements_propagate(void **state) {
    (void)state;
    for_each_library(visit_poison);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_sizes_and_threads),
        cmocka_unit_test(test_non_finite_elements_propagate),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
