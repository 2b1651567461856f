/* test_ldl.c - tests ldl_factor and ldl_solve on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND 40

static const int64_t sizes[] = {1, 2, 3, 9, 33, 100};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static number mirrored(number x, bool hermitian) {
    return hermitian ? conjl(x) : x;
}

/* Fills with matrices whose diagonal is 0 in every second row, so that D has blocks of both sizes. What must not be
 * read is NaN: the upper triangle. Returns the whole matrices, one after another. */
static number *fill(test_operand *a, test_kind kind, bool hermitian) {
    const int64_t n = a->rows;
    number *whole = calloc((size_t)(a->items * n * n), sizeof *whole);
    test_fill(a, kind, 21);
    for (int64_t item = 0; item < a->items; item++) {
        number *to = whole + item * n * n;
        for (int64_t i = 0; i < n; i++) {
            const number own = test_get(a, item, i, i);
            test_set(a, item, i, i, i % 2 == 0 && n > 1 ? 0 : hermitian ? creall(own) : own);
            for (int64_t j = 0; j <= i; j++) {
                to[i * n + j] = test_get(a, item, i, j);
                to[j * n + i] = i == j ? to[i * n + j] : mirrored(to[i * n + j], hermitian);
            }
            for (int64_t j = i + 1; j < n; j++) {
                test_set(a, item, i, j, NAN);
            }
        }
    }
    return whole;
}

/* The factors of an item, by LAPACK's page of sytrf: A = P1 L1 P2 L2 ... D ... L2' P2' L1' P1'. */
typedef struct factors {
    const number *ld;
    const test_operand *pivots;
    int64_t item, n;
    bool hermitian;
} factors;

/* Returns the number of the row that was exchanged with the last one of the block that ends (or begins) at `row`. */
static int64_t pivot_of(const factors *f, int64_t row, bool *paired) {
    const int64_t pivot = (int64_t)creall(test_get(f->pivots, f->item, row, 0));
    *paired = pivot < 0;
    return (pivot < 0 ? -pivot : pivot) - 1;
}

static void exchange(number *x, int64_t columns, int64_t one, int64_t other) {
    for (int64_t j = 0; j < columns; j++) {
        const number kept = x[one * columns + j];
        x[one * columns + j] = x[other * columns + j];
        x[other * columns + j] = kept;
    }
}

/* Multiplies x (n x columns) by L, or by its transpose or conjugate transpose. */
static void multiply_by_l(const factors *f, bool turned, number *x, int64_t columns) {
    const int64_t n = f->n;
    for (int64_t step = 0; step < n;) {
        bool paired;
        const int64_t edge = turned ? step : n - 1 - step, other = pivot_of(f, edge, &paired);
        const int64_t first = !turned && paired ? edge - 1 : edge, last = turned && paired ? edge + 1 : edge;
        assert_true(first >= 0 && last < n && other >= last && other < n);
        if (turned) {
            exchange(x, columns, last, other);
        }
        for (int64_t i = last + 1; i < n; i++) {
            for (int64_t c = first; c <= last; c++) {
                const number l = f->ld[i * n + c];
                for (int64_t j = 0; j < columns; j++) {
                    *(turned ? &x[c * columns + j] : &x[i * columns + j]) +=
                        turned ? mirrored(l, f->hermitian) * x[i * columns + j] : l * x[c * columns + j];
                }
            }
        }
        if (!turned) {
            exchange(x, columns, last, other);
        }
        step += last - first + 1;
    }
}

/* Returns the product of D and x. */
static number *multiply_by_d(const factors *f, const number *x, int64_t columns) {
    const int64_t n = f->n;
    number *d = calloc((size_t)(n * n), sizeof *d);
    for (int64_t i = 0; i < n; i++) {
        bool paired;
        d[i * n + i] = f->ld[i * n + i];
        pivot_of(f, i, &paired);
        if (paired) {
            d[(i + 1) * n + i + 1] = f->ld[(i + 1) * n + i + 1];
            d[(i + 1) * n + i] = f->ld[(i + 1) * n + i];
            d[i * n + i + 1] = mirrored(d[(i + 1) * n + i], f->hermitian);
            i++;
        }
    }
    number *product = test_product(d, x, n, n, columns);
    free(d);
    return product;
}

static number *product_of(const factors *f) {
    number *unit = calloc((size_t)(f->n * f->n), sizeof *unit);
    for (int64_t i = 0; i < f->n; i++) {
        unit[i * f->n + i] = 1;
    }
    multiply_by_l(f, true, unit, f->n);
    number *product = multiply_by_d(f, unit, f->n);
    multiply_by_l(f, false, product, f->n);
    free(unit);
    return product;
}

/* Rounding grows with the factors, whose sizes Bunch and Kaufman's pivots bound in practice only. */
static long double size_of(const factors *f, const number *a) {
    const long double of_a = test_norm(a, f->n, f->n), of_ld = test_norm(f->ld, f->n, f->n);
    return of_ld > of_a ? of_ld : of_a;
}

static void check(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t items, test_layout in,
                  test_layout out, test_kind kind, bool hermitian) {
    const int64_t k = 1 + n % 4;
    test_operand a = test_make(dtype, n, n, items, false, in), ld = test_make(dtype, n, n, items, false, out);
    test_operand b = test_make(dtype, n, k, items, items > 1, in), x = test_make(dtype, n, k, items, false, out);
    test_operand pivots = test_make(BP_I32, n, 1, items, false, out), info = test_make(BP_I32, 1, 1, items, false, 0);
    number *whole = fill(&a, kind, hermitian);
    const bp_linalg_problem fields = {.hermitian = hermitian, .fail_on_item_error = 1};
    test_fill(&b, TEST_RANDOM, 22);
    test_call call = {.op = BP_OP_LDL_FACTOR, .fields = fields, .operand = {&a, &ld, &pivots, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    call = (test_call){.op = BP_OP_LDL_SOLVE, .fields = fields, .operand = {&ld, &pivots, &b, &x}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < items; item++) {
        const number *of = whole + item * n * n;
        number *both = test_item(&ld, item), *xs = test_item(&x, item), *bs = test_item(&b, item);
        const factors f = {both, &pivots, item, n, hermitian};
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++) {
                assert_true(both[i * n + j] == 0);
            }
        }
        number *product = product_of(&f), *ax = test_product(of, xs, n, n, k);
        const long double unit = BOUND * (long double)n * test_epsilon(dtype) * size_of(&f, of);
        test_within(test_distance(product, of, n, n), unit, "%s: sytrf %d %s", where, (int)n, bp_dtype_name(dtype));
        test_within(test_distance(ax, bs, n, k), unit * test_norm(xs, n, k), "%s: sytrs %d %s", where, (int)n,
                    bp_dtype_name(dtype));
        free(both), free(xs), free(bs), free(product), free(ax);
    }
    test_drop(&a), test_drop(&ld), test_drop(&b), test_drop(&x), test_drop(&pivots), test_drop(&info);
    free(whole);
}

static void check_all(void *instance, const bp_library_info *row) {
    static const test_kind kinds[] = {TEST_RANDOM, TEST_HUGE, TEST_TINY};
    for (int d = 0; d < 4; d++) {
        for (int hermitian = 0; hermitian < 2; hermitian++) {
            for (test_layout layout = 0; layout < TEST_LAYOUTS; layout++) {
                for (unsigned s = 0; s < SIZES - (layout > TEST_COLUMNS); s++) {
                    check(instance, row->id, test_dtypes[d], sizes[s], 1 + s % 3, layout, (layout + s) % TEST_LAYOUTS,
                          kinds[s % 3], hermitian);
                }
            }
            check(instance, row->id, test_dtypes[d], 24, 3, TEST_COLUMNS, TEST_COLUMNS, TEST_RANDOM, hermitian);
        }
    }
}

static void factors_and_solutions(void **state) {
    (void)state;
    test_each_library(check_all);
}

/* Pivots that are no row, or half of a pair: a library would access memory outside of the matrix. */
static void check_pivots(void *instance, const bp_library_info *row) {
    static const int wrong[][3] = {{1, 2, 4},   {0, 2, 3},         {1, 2, -3},
                                   {-2, -3, 3}, {-4, -4, 3},       {1, -3, -2},
                                   {-1, 2, -1}, {1, 2, INT32_MIN}, {INT32_MIN, INT32_MIN, 3}};
    static const int right[][3] = {{1, 2, 3}, {3, 3, 3}, {-2, -2, 3}, {-3, -3, 3}, {1, -3, -3}};
    (void)row;
    test_operand ld = test_make(BP_F64, 3, 3, 1, false, TEST_COLUMNS), b = test_make(BP_F64, 3, 2, 1, false, 0);
    test_operand x = test_make(BP_F64, 3, 2, 1, false, 0), pivots = test_make(BP_I32, 3, 1, 1, false, TEST_GENERAL);
    test_call call = {.op = BP_OP_LDL_SOLVE, .operand = {&ld, &pivots, &b, &x}};
    test_fill(&ld, TEST_RANDOM, 1);
    test_fill(&b, TEST_RANDOM, 2);
    enum { WRONG = sizeof wrong / sizeof *wrong, RIGHT = sizeof right / sizeof *right };
    for (int i = 0; i < WRONG + RIGHT; i++) {
        const bool refused = i < WRONG;
        for (int at = 0; at < 3; at++) {
            test_set(&pivots, 0, at, 0, refused ? wrong[i][at] : right[i - WRONG][at]);
        }
        assert_int_equal(test_run(instance, &call, NULL), refused ? BP_E_ARGUMENT : BP_OK);
        if (refused) {
            assert_non_null(strstr(bp_last_error(), "it must be a row number from 1 to 3, or the first of two equal"));
        }
    }
    test_drop(&ld), test_drop(&b), test_drop(&x), test_drop(&pivots);
}

static void wrong_pivots(void **state) {
    (void)state;
    test_each_library(check_pivots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_solutions),
        cmocka_unit_test(wrong_pivots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
