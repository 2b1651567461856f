/* test_spectra.c - tests eigenvalues and singular values of matrices that are difficult for the algorithms, and
 * failures to converge. The tests of LAPACK results in tests/lapack also run on these kernels. */
#include "linalg.h"

#include "support/pool.h"
#include "providers/native/linalg/small.h"

#include <float.h>
#include <math.h>
#include <string.h>

static task make(bp_op op, bp_dtype dtype, int64_t m, int64_t n, kernels set) {
    return (task){.op = op, .dtype = dtype, .m = m, .n = n, .batch = 21, .set = set, .seed = 5, .mode = BP_SVD_REDUCED};
}

typedef wide (*element_of)(int64_t item, int64_t i, int64_t j, int64_t n);

/* Makes every item of the batch from a function of its elements, and checks the results. */
static void check_made(task t, element_of value, long double scale) {
    t.mode = t.op == BP_OP_SVD ? t.mode : BP_MODE_DEFAULT;
    operands o;
    make_operands(&o, &t);
    for (int64_t item = 0; item < t.batch; item++) {
        for (int64_t i = 0; i < t.m; i++) {
            for (int64_t j = 0; j < t.n; j++) {
                put(&o, 0, item, i, j, value(item, i, j, t.n) * scale);
            }
        }
    }
    assert_int_equal(run_task(&o), BP_OK);
    check_results(&o);
    free_operands(&o);
}

/* A bidiagonal matrix with zeros on the diagonal: each item has one zero, two zeros, the last one, or all. */
static wide two_diagonals(int64_t item, int64_t i, int64_t j, int64_t n) {
    const bool zero = i == item % n || i == (item * 7 + 3) % (2 * n) || item == 20;
    return i == j ? (zero ? 0 : 1 + (i * item) % 5) : j == i + 1 ? 1 + (i + item) % 3 : 0;
}

static wide zero_matrix(int64_t item, int64_t i, int64_t j, int64_t n) {
    (void)item, (void)i, (void)j, (void)n;
    return 0;
}

static wide multiple(int64_t item, int64_t i, int64_t j, int64_t n) {
    (void)n;
    return i == j ? (item % 3) - 1 : 0;
}

static wide ones(int64_t item, int64_t i, int64_t j, int64_t n) {
    (void)i, (void)j, (void)n;
    return 1 + item;
}

/* Symmetric with zeros on the diagonal: eigenvalues come in pairs of opposite sign, except the middle one. */
static wide off_diagonal(int64_t item, int64_t i, int64_t j, int64_t n) {
    (void)n;
    return i == j + 1 || j == i + 1 ? 1 + (item + (i < j ? i : j)) % 4 : 0;
}

/* Symmetric, with elements from 1 at one end to far below rounding at the other. */
static wide graded(int64_t item, int64_t i, int64_t j, int64_t n) {
    const int64_t step = item % 2 ? i + j : 2 * n - 2 - i - j;
    return ldexpl(1 + 0.25L * (long double)((i * j + item) % 3), (int)(-2 * step));
}

/* Far from symmetric, with each element of another magnitude. */
static wide scattered(int64_t item, int64_t i, int64_t j, int64_t n) {
    return ldexpl((i + j) % 2 ? 1 : -1.5L, (int)((i * 5 + j * 11 + item) % (n + 3) * -7));
}

static void test_difficult_matrices(void **state) {
    (void)state;
    static const element_of symmetric[] = {zero_matrix, multiple, ones, off_diagonal, graded};
    static const element_of any[] = {zero_matrix, multiple, ones, off_diagonal, graded, two_diagonals, scattered};
    EACH_SET(set) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            for (int64_t n = 1; n <= 32; n += n < 6 ? 1 : 13) {
                for (int i = 0; i < COUNT(symmetric); i++) {
                    check_made(make(BP_OP_EIGH, dtypes[d], n, n, set), symmetric[i], 1);
                }
                for (int i = 0; i < COUNT(any); i++) {
                    check_made(make(BP_OP_SVD, dtypes[d], n, n, set), any[i], 1);
                    check_made(make(BP_OP_SVD, dtypes[d], n, (n + 1) / 2, set), any[i], 1);
                    check_made(make(BP_OP_SVD, dtypes[d], (n + 1) / 2, n, set), any[i], 1);
                }
            }
        }
    }
}

/* Tests scaled matrices at the limits of the range: vectors must be bitwise the same, and values scaled. */
static void test_scales(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int which = 0; which < 2 * COUNT(dtypes); which++) {
            const bp_dtype dtype = dtypes[which / 2];
            const bool single = real_of(dtype) == BP_F32;
            const int most = single ? FLT_MAX_EXP - 8 : DBL_MAX_EXP - 8, least = single ? -90 : -900;
            const task t = make(which % 2 ? BP_OP_SVD : BP_OP_EIGH, dtype, 9, 9, set);
            operands plain, scaled;
            make_operands(&plain, &t);
            assert_int_equal(run_task(&plain), BP_OK);
            const int values = which % 2 ? 2 : 1;
            for (int end = 0; end < 2; end++) {
                const int exponent = end ? most : least;
                make_operands(&scaled, &t);
                for (int64_t i = 0; i < t.batch * 81; i++) {
                    const wide x = get(&plain, 0, i / 81, i % 81 / 9, i % 9);
                    put(&scaled, 0, i / 81, i % 81 / 9, i % 9, x * ldexpl(1, exponent));
                }
                assert_int_equal(run_task(&scaled), BP_OK);
                for (int x = 1; x < plain.count; x++) {
                    if (x != values) {
                        assert_memory_equal(plain.array[x].memory, scaled.array[x].memory, bytes_of(&plain, x));
                    }
                }
                for (int64_t i = 0; i < t.batch * 9; i++) {
                    assert_true(get(&scaled, values, i / 9, i % 9, 0) ==
                                get(&plain, values, i / 9, i % 9, 0) * ldexpl(1, exponent));
                }
                free_operands(&scaled);
            }
            free_operands(&plain);
        }
    }
}

/* Runs a task without iterations, so that only diagonal matrices converge. */
static bp_status run_without_tries(operands *o) {
    bp_prepared *prepared;
    const bp__interleaved_kernels *set = &bp__interleaved_default[o->t.dtype - BP_F32];
    assert_int_equal(bp__small_prepare(test_host(), &o->problem, set, 2, &prepared), BP_OK);
    ((bp__small_plan *)prepared)->tries = 0;
    last = (reported){0};
    const bp_status status = test_enqueue(prepared, o->first, BP_LINALG_OPERANDS, NULL);
    prepared->destroy(prepared);
    return status;
}

/* Tests that outputs of items without convergence are NaN, or 0 for integers, that a checked call reports the first of
 * them, and that other items have their results. */
static void test_unconverged(void **state) {
    (void)state;
    static const bp_op spectral[] = {BP_OP_EIGH,        BP_OP_SVD,  BP_OP_PINV,
                                     BP_OP_MATRIX_RANK, BP_OP_COND, BP_OP_MATRIX_NORM};
    for (int op = 0; op < COUNT(spectral); op++) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            task t = make(spectral[op], dtypes[d], 4, 4, KERNELS_DEFAULT);
            t.mode = spectral[op] == BP_OP_SVD ? BP_SVD_REDUCED : spectral[op] == BP_OP_COND ? BP_NORM_P : BP_NORM_NUC;
            t.order = 2;
            operands o;
            make_operands(&o, &t);
            for (int64_t i = 0; i < t.batch * 16; i++) {
                const bool full = i / 16 == 9 || i / 16 == 17;
                put(&o, 0, i / 16, i % 16 / 4, i % 4, full ? 1 + (i % 16 / 4 + i % 4) % 3 : i % 16 % 5 == 0);
            }
            assert_int_equal(run_without_tries(&o), BP_OK);
            for (int x = 1; x < o.count; x++) {
                const bool whole = o.problem.of.linalg.operand[x].dtype == BP_I64;
                for (int64_t item = 0; item < t.batch; item++) {
                    const bool failed = item == 9 || item == 17;
                    const wide y = get(&o, x, item, 0, 0);
                    assert_true(whole ? y == (failed ? 0 : 4) : (bool)isnan(creall(y)) == failed);
                }
            }
            o.problem.of.linalg.fail_on_item_error = 1;
            assert_int_not_equal(run_without_tries(&o), BP_OK);
            assert_int_equal(last.item, 9);
            assert_in_range(last.info, 1, 4);
            free_operands(&o);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difficult_matrices),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_unconverged),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
