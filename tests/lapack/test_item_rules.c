/* test_item_rules.c - tests the rules of bp_linalg_problem beyond correct numbers: non-finite and failing items,
 * refusals and their reasons, and reproducibility. */
#include "lapack/support_lapack.h"

#include "dispatch/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, ITEMS = 3, BAD = 1 };

static test_operand square(bp_dtype dtype, int64_t items) {
    return test_make(dtype, N, N, items, false, TEST_ROWS);
}

static int64_t integer(const test_operand *x, int64_t item, int64_t i) {
    return (int64_t)creall(test_get(x, item, i, 0));
}

/* ---- Non-finite items ---- */

typedef struct family {
    test_operand a, b, x, pivots, info, value, real;
} family;

static family make_family(bp_dtype dtype) {
    family f = {.a = square(dtype, ITEMS), .b = square(dtype, ITEMS), .x = square(dtype, ITEMS)};
    f.pivots = test_make(BP_I32, N, 1, ITEMS, false, TEST_ROWS);
    f.info = test_make(BP_I32, 1, 1, ITEMS, false, TEST_ROWS);
    f.value = test_make(dtype, 1, 1, ITEMS, false, TEST_ROWS);
    f.real = test_make(test_real_of(dtype), 1, 1, ITEMS, false, TEST_ROWS);
    test_fill_definite(&f.a, 3);
    test_fill(&f.b, TEST_RANDOM, 4);
    for (int64_t item = 0; item < ITEMS; item++) {
        for (int64_t i = 0; i < N; i++) {
            test_set(&f.pivots, item, i, 0, (long double)(i + 1));
        }
    }
    return f;
}

static void drop_family(family *f) {
    test_drop(&f->a), test_drop(&f->b), test_drop(&f->x), test_drop(&f->pivots), test_drop(&f->info);
    test_drop(&f->value), test_drop(&f->real);
}

/* Checks that every output of the bad item is NaN or 0, and no output of the others. */
static void check_filled(const test_operand *x) {
    for (int64_t item = 0; item < ITEMS; item++) {
        bool integers = x->dtype == BP_I32, filled = true;
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < x->columns; j++) {
                number value = test_get(x, item, i, j);
                filled =
                    filled &&
                    (integers ? value == 0 : isnan(creall(value)) && isnan(cimagl(value)) == test_is_complex(x->dtype));
            }
        }
        assert_int_equal(filled, item == BAD);
    }
}

/* Tests one operation. `bad` is an input, whose last read element becomes `value`. `info` is the number of the info
 * operand or -1. */
static void one_op(void *instance, test_call call, test_operand *bad, long double value, int info) {
    number before = test_get(bad, BAD, N - 1, 0);
    test_set(bad, BAD, N - 1, 0, value);
    call.fields.fail_on_item_error = 0;
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    int inputs = 1;
    for (const char *at = bp_op_inputs(call.op); *at; at++) {
        inputs += *at == ',';
    }
    for (int o = inputs; o < BP_LINALG_OPERANDS && call.operand[o]; o++) {
        if (o != info) {
            check_filled(call.operand[o]);
        }
    }
    for (int64_t item = 0; info >= 0 && item < ITEMS; item++) {
        assert_int_equal(integer(call.operand[info], item, 0), item == BAD ? BP_INFO_NON_FINITE : 0);
    }
    call.fields.fail_on_item_error = 1;
    assert_int_equal(test_run(instance, &call, NULL), BP_E_NON_FINITE);
    assert_non_null(strstr(bp_last_error(), "(Batch element 1)"));
    test_set(bad, BAD, N - 1, 0, before);
}

static void check_non_finite(void *instance, const bp_library_info *row) {
    (void)row;
    static const long double values[] = {(long double)NAN, (long double)INFINITY, -(long double)INFINITY};
    for (int d = 0; d < 4; d++) {
        family f = make_family(test_dtypes[d]);
        test_operand other = square(test_dtypes[d], ITEMS), third = square(test_dtypes[d], ITEMS);
        test_operand factored = test_make(BP_I32, N, 1, ITEMS, false, TEST_ROWS);
        for (int v = 0; v < 3; v++) {
            one_op(instance, (test_call){.op = BP_OP_INV, .operand = {&f.a, &f.x, &f.info}}, &f.a, values[v], 2);
            one_op(instance, (test_call){.op = BP_OP_CHOLESKY, .operand = {&f.a, &f.x, &f.info}}, &f.a, values[v], 2);
            one_op(instance, (test_call){.op = BP_OP_CHOLESKY_SOLVE, .operand = {&f.b, &f.a, &f.x}}, &f.a, values[v],
                   -1);
            one_op(instance, (test_call){.op = BP_OP_CHOLESKY_SOLVE, .operand = {&f.b, &f.a, &f.x}}, &f.b, values[v],
                   -1);
            one_op(instance, (test_call){.op = BP_OP_CHOLESKY_INVERSE, .operand = {&f.a, &f.x, &f.info}}, &f.a,
                   values[v], 2);
            one_op(instance, (test_call){.op = BP_OP_LU_FACTOR, .operand = {&f.a, &f.x, &f.pivots, &f.info}}, &f.a,
                   values[v], 3);
            one_op(instance, (test_call){.op = BP_OP_LU, .operand = {&f.a, &f.x, &other, &third}}, &f.a, values[v], -1);
            for (int64_t i = 0; i < ITEMS * N; i++) {
                test_set(&f.pivots, i / N, i % N, 0, (long double)(i % N + 1));
            }
            for (int hermitian = 0; hermitian < 2; hermitian++) {
                bp_linalg_problem fields = {.hermitian = (uint8_t)hermitian};
                test_call solving = {.op = BP_OP_LDL_SOLVE, .fields = fields, .operand = {&f.a, &f.pivots, &f.b, &f.x}};
                one_op(instance, solving, &f.a, values[v], -1);
                one_op(instance, solving, &f.b, values[v], -1);
                solving.op = BP_OP_LDL_FACTOR;
                memcpy(solving.operand, ((test_operand *[]){&f.a, &f.x, &factored, &f.info}), 4 * sizeof(void *));
                one_op(instance, solving, &f.a, values[v], 3);
            }
            for (int left = 0; left < 2; left++) {
                bp_linalg_problem fields = {.a_on_left = (uint8_t)left};
                one_op(instance,
                       (test_call){.op = BP_OP_LU_SOLVE, .fields = fields, .operand = {&f.a, &f.pivots, &f.b, &f.x}},
                       &f.a, values[v], -1);
                one_op(instance,
                       (test_call){.op = BP_OP_LU_SOLVE, .fields = fields, .operand = {&f.a, &f.pivots, &f.b, &f.x}},
                       &f.b, values[v], -1);
                one_op(instance,
                       (test_call){.op = BP_OP_SOLVE, .fields = fields, .operand = {&f.a, &f.b, &f.x, &f.info}}, &f.a,
                       values[v], 3);
                one_op(instance,
                       (test_call){.op = BP_OP_SOLVE, .fields = fields, .operand = {&f.a, &f.b, &f.x, &f.info}}, &f.b,
                       values[v], 3);
                one_op(instance,
                       (test_call){.op = BP_OP_SOLVE_TRIANGULAR, .fields = fields, .operand = {&f.a, &f.b, &f.x}}, &f.a,
                       values[v], -1);
                one_op(instance,
                       (test_call){.op = BP_OP_SOLVE_TRIANGULAR, .fields = fields, .operand = {&f.a, &f.b, &f.x}}, &f.b,
                       values[v], -1);
            }
            one_op(instance, (test_call){.op = BP_OP_DET, .operand = {&f.a, &f.value}}, &f.a, values[v], -1);
            one_op(instance, (test_call){.op = BP_OP_SLOGDET, .operand = {&f.a, &f.value, &f.real}}, &f.a, values[v],
                   -1);
        }
        drop_family(&f);
        test_drop(&other), test_drop(&third), test_drop(&factored);
    }
}

static void test_non_finite(void **state) {
    (void)state;
    test_each_library(check_non_finite);
}

/* Returns NaN in the imaginary part only, which arithmetic would propagate. */
static number half_a_nan(void) {
    number value = 0;
    ((long double *)&value)[1] = (long double)NAN;
    return value;
}

/* The check finds one non-finite element among many, at any position. */
static void test_non_finite_element_is_found_anywhere(void **state) {
    (void)state;
    void *instance = test_open(*test_libraries(&(int){0}));
    for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
        for (int64_t at = 0; at < 37 * 37; at += 5) {
            for (int d = 0; d < 4; d++) {
                test_operand a = test_make(test_dtypes[d], 37, 37, 1, false, layout);
                test_operand det = test_make(test_dtypes[d], 1, 1, 1, false, TEST_ROWS);
                test_fill(&a, TEST_RANDOM, 9);
                test_set(&a, 0, at / 37, at % 37, d > 1 && at % 2 ? half_a_nan() : (number)INFINITY);
                test_call call = {.op = BP_OP_DET, .fields.fail_on_item_error = 1, .operand = {&a, &det}};
                assert_int_equal(test_run(instance, &call, NULL), BP_E_NON_FINITE);
                test_drop(&a), test_drop(&det);
            }
        }
    }
    bp_provider_lapack.close(instance);
}

/* ---- Failing items ---- */

static void check_failures(void *instance, const bp_library_info *row) {
    (void)row;
    for (int d = 0; d < 4; d++) {
        family f = make_family(test_dtypes[d]);
        for (int64_t i = 0; i < N; i++) { /* the third column of the bad item is twice the second */
            test_set(&f.b, BAD, i, 2, 2 * test_get(&f.b, BAD, i, 1));
            test_set(&f.b, BAD, i, 1, i == 1);
            test_set(&f.b, BAD, i, 2, i == 1 ? 2 : 0);
        }
        test_call call = {.op = BP_OP_INV, .operand = {&f.b, &f.x, &f.info}};
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_int_equal(integer(&f.info, 0, 0), 0);
        assert_int_equal(integer(&f.info, BAD, 0), 3);
        assert_int_equal(integer(&f.info, 2, 0), 0);
        call.fields.fail_on_item_error = 1;
        assert_int_equal(test_run(instance, &call, NULL), BP_E_SINGULAR);
        assert_non_null(strstr(bp_last_error(), "(Batch element 1)"));
        assert_non_null(strstr(bp_last_error(), "element 3"));
        call = (test_call){.op = BP_OP_SOLVE,
                           .fields = {.fail_on_item_error = 1, .a_on_left = 1},
                           .operand = {&f.b, &f.a, &f.x, &f.info}};
        assert_int_equal(test_run(instance, &call, NULL), BP_E_SINGULAR);
        call.fields.fail_on_item_error = 0;
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_int_equal(integer(&f.info, BAD, 0), 3);
        call = (test_call){
            .op = BP_OP_LU_FACTOR, .fields.fail_on_item_error = 1, .operand = {&f.b, &f.x, &f.pivots, &f.info}};
        assert_int_equal(test_run(instance, &call, NULL), BP_E_SINGULAR);
        call = (test_call){.op = BP_OP_DET, .fields.fail_on_item_error = 1, .operand = {&f.b, &f.value}};
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_true(test_get(&f.value, BAD, 0, 0) == 0 && test_get(&f.value, 0, 0, 0) != 0);
        call = (test_call){.op = BP_OP_SLOGDET, .fields.fail_on_item_error = 1, .operand = {&f.b, &f.value, &f.real}};
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_true(test_get(&f.value, BAD, 0, 0) == 0 &&
                    creall(test_get(&f.real, BAD, 0, 0)) == -(long double)INFINITY);

        test_set(&f.a, BAD, 3, 3, -1);
        for (int upper = 0; upper < 2; upper++) {
            call = (test_call){.op = BP_OP_CHOLESKY, .fields.upper = (uint8_t)upper, .operand = {&f.a, &f.x, &f.info}};
            assert_int_equal(test_run(instance, &call, NULL), BP_OK);
            assert_int_equal(integer(&f.info, BAD, 0), 4);
            assert_int_equal(integer(&f.info, 2, 0), 0);
            call.fields.fail_on_item_error = 1;
            assert_int_equal(test_run(instance, &call, NULL), BP_E_NOT_POSITIVE_DEFINITE);
        }
        test_set(&f.a, BAD, 4, 4, 0);
        call = (test_call){.op = BP_OP_CHOLESKY_INVERSE, .operand = {&f.a, &f.x, &f.info}};
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        assert_int_equal(integer(&f.info, BAD, 0), 5);
        call.fields.fail_on_item_error = 1;
        assert_int_equal(test_run(instance, &call, NULL), BP_E_SINGULAR);
        drop_family(&f);
    }
}

static void test_failures(void **state) {
    (void)state;
    test_each_library(check_failures);
}

/* An A that all items share is factored once, but not reused after an item that failed. */
static void check_shared(void *instance, const bp_library_info *row) {
    (void)row;
    test_operand a = test_make(BP_F64, N, N, 4, true, TEST_ROWS), b = test_make(BP_F64, N, 2, 4, false, TEST_ROWS);
    test_operand x = test_make(BP_F64, N, 2, 4, false, TEST_ROWS), info = test_make(BP_I32, 1, 1, 4, false, TEST_ROWS);
    test_fill(&a, TEST_RANDOM, 3);
    for (int64_t i = 0; i < 4 * N * 2; i++) {
        test_set(&b, i / (2 * N), i / 2 % N, i % 2, test_get(&a, 0, i / 2 % N, i % 2));
    }
    test_set(&b, 1, 0, 0, (long double)NAN);
    test_call call = {.op = BP_OP_SOLVE, .fields.a_on_left = 1, .operand = {&a, &b, &x, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < 4; item++) {
        assert_int_equal(integer(&info, item, 0), item == 1 ? -1 : 0);
        for (int64_t i = 0; item != 1 && i < N; i++) {
            test_within(cabsl(test_get(&x, item, i, 0) - (i == 0)), 1e-12L, "item %d", (int)item);
        }
    }
    test_set(&b, 1, 0, 0, 1);
    for (int64_t i = 0; i < N; i++) { /* every item reports the failing factorization, and none uses its factors */
        test_set(&a, 0, i, 3, 0);
    }
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < 4; item++) {
        assert_int_equal(integer(&info, item, 0), 4);
    }
    test_set(&a, 0, 2, 2, (long double)INFINITY);
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < 4; item++) {
        assert_int_equal(integer(&info, item, 0), -1);
    }
    test_drop(&a), test_drop(&b), test_drop(&x), test_drop(&info);
}

static void test_shared(void **state) {
    (void)state;
    test_each_library(check_shared);
}

static void check_pivots(void *instance, const bp_library_info *row) {
    (void)row;
    family f = make_family(BP_F64);
    static const int wrong[] = {0, N + 1, -1, 2000000000};
    test_call call = {.op = BP_OP_LU_SOLVE, .fields.a_on_left = 1, .operand = {&f.a, &f.pivots, &f.b, &f.x}};
    for (int i = 0; i < 4; i++) {
        test_set(&f.pivots, BAD, 2, 0, wrong[i]);
        test_set(&f.x, 0, 0, 0, 77); /* of an item whose pivots are right */
        assert_int_equal(test_run(instance, &call, NULL), BP_E_ARGUMENT);
        assert_true(test_get(&f.x, 0, 0, 0) == 77);
        assert_non_null(strstr(bp_last_error(), "element 2 of batch element 1"));
    }
    drop_family(&f);
}

static void test_pivots(void **state) {
    (void)state;
    test_each_library(check_pivots);
}

/* ---- Verdicts ---- */

static bp_library_info fake_row(const char *family_name, int bits) {
    return (bp_library_info){.struct_size = sizeof(bp_library_info),
                             .faults = "",
                             .blas = "",
                             .id = "fake",
                             .family = family_name,
                             .kinds = BP_LIB_BLAS | BP_LIB_LAPACK,
                             .path = "/none",
                             .kernels = "haswell",
                             .prefix = "",
                             .suffix = "_",
                             .threading = "serial",
                             .int_bits = bits};
}

static bp_reason judge(const bp_library_info *row, const bp_problem *problem, bp_verdict *verdict) {
    void *instance = test_open(row);
    *verdict = test_verdict(&bp_provider_lapack, instance, problem);
    bp_provider_lapack.close(instance);
    return verdict->reason;
}

static void test_verdicts(void **state) {
    (void)state;
    family f = make_family(BP_F64);
    test_call call = {.op = BP_OP_INV, .operand = {&f.a, &f.x, &f.info}};
    bp_problem problem = test_problem(&call), other = problem;
    bp_library_info row = fake_row("openblas", 32), wide = fake_row("openblas", 64), unknown = fake_row("openblas", 0);
    bp_verdict verdict;
    assert_int_equal(judge(&row, &problem, &verdict), BP_REASON_ACCEPTED);
    assert_string_equal(verdict.algorithm, "getrf, getri");
    assert_true(verdict.cost_ns > 0 && verdict.threads == 1);
    assert_int_equal(judge(&unknown, &problem, &verdict), BP_REASON_OTHER);
    other.of.linalg.empty = 1;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_OTHER);
    other = problem;
    other.dtype = BP_F16;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_DTYPE);
    other = problem;
    other.op = BP_OP_GEMM;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_OP);
    other = problem;
    other.of.linalg.operand[0].rows = 3000000000;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_SIZE);
    assert_int_equal(judge(&wide, &other, &verdict), BP_REASON_ACCEPTED);
    other = problem;
    other.policy.deterministic = 2;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_ACCEPTED);
    assert_true(verdict.properties & BP_PROPERTY_THREAD_INVARIANT);
    row = fake_row("mkl", 32);
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_DETERMINISM);
    row = fake_row("netlib", 32);
    row.kinds = BP_LIB_LAPACK; /* linked to an unknown BLAS */
    other.policy.deterministic = 0;
    other.policy.threads = 1;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_THREADS);
    drop_family(&f);
}

/* An operation is refused, with the probe's message, for the types in which the probe found its routines wrong. */
static void test_faults_are_refused(void **state) {
    (void)state;
    family f = make_family(BP_F64), single = make_family(BP_F32);
    test_call call = {.op = BP_OP_INV, .operand = {&f.a, &f.x, &f.info}};
    bp_problem problem = test_problem(&call), other;
    bp_library_info row = fake_row("openblas", 32);
    bp_verdict verdict;
    row.faulty = BP_CHECK_BIT(BP_CHECK_LU, BP_F64) | BP_CHECK_BIT(BP_CHECK_EIG, BP_F32);
    row.faults = "lu f64: not tested: dgetrf did not end\neig f32: wrong results in probe: sgeev";
    assert_int_equal(judge(&row, &problem, &verdict), BP_REASON_BROKEN);
    assert_string_equal(verdict.text, "not tested: dgetrf did not end");
    other = problem;
    other.op = BP_OP_DET; /* calls getrf too */
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_BROKEN);
    other.op = BP_OP_QR;
    other.of.linalg.mode = BP_QR_REDUCED;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_ACCEPTED);
    other.op = BP_OP_MATRIX_NORM; /* the check of LU includes the memory of lange */
    other.of.linalg.mode = BP_NORM_FRO;
    assert_int_equal(judge(&row, &other, &verdict), BP_REASON_BROKEN);
    call.operand[0] = &single.a;
    call.operand[1] = &single.x;
    call.operand[2] = &single.info;
    problem = test_problem(&call);
    assert_int_equal(judge(&row, &problem, &verdict), BP_REASON_ACCEPTED);
    problem.op = BP_OP_EIG;
    assert_int_equal(judge(&row, &problem, &verdict), BP_REASON_BROKEN);
    assert_string_equal(verdict.text, "wrong results in probe: sgeev");
    drop_family(&f);
    drop_family(&single);
}

/* The verdict of a LAPACK library without BLAS names the BLAS that it calls. */
static void test_blas_below_is_named(void **state) {
    (void)state;
    family f = make_family(BP_F64);
    test_call call = {.op = BP_OP_INV, .operand = {&f.a, &f.x, &f.info}};
    bp_problem problem = test_problem(&call);
    bp_library_info row = fake_row("netlib", 32);
    bp_verdict verdict;
    row.kinds = BP_LIB_LAPACK;
    row.blas = "openblas";
    problem.policy.threads = bp__host()->machine->usable_cpus;
    assert_int_equal(judge(&row, &problem, &verdict), BP_REASON_ACCEPTED);
    assert_string_equal(verdict.text, "calls the products of openblas; its thread count can neither be set nor read");
    drop_family(&f);
}

/* ---- Reproducibility ---- */

static void check_bits(void *instance, const bp_library_info *row) {
    test_operand a = test_make(BP_F64, 300, 300, 1, false, TEST_ROWS),
                 x = test_make(BP_F64, 300, 300, 1, false, TEST_ROWS);
    test_operand again = test_make(BP_F64, 300, 300, 1, false, TEST_ROWS), info = test_make(BP_I32, 1, 1, 1, false, 0);
    test_fill(&a, TEST_RANDOM, 3);
    for (int wanted = 1; wanted <= 2; wanted++) {
        for (int threads = 1; threads <= 2; threads++) {
            bp_verdict verdict;
            test_call call = {.op = BP_OP_INV, .threads = threads, .deterministic = wanted, .operand = {&a, &x, &info}};
            if (test_run(instance, &call, &verdict) == BP_E_UNSUPPORTED) {
                assert_true(verdict.reason == BP_REASON_DETERMINISM || verdict.reason == BP_REASON_THREADS);
                continue;
            }
            for (int i = 0; i < 5; i++) {
                char text[128];
                call.operand[1] = &again;
                call.threads = wanted == 2 ? 1 + i % 2 : threads;
                assert_int_equal(test_run(instance, &call, NULL), BP_OK);
                snprintf(text, sizeof text, "%s: deterministic %d on %d threads", row->id, wanted, threads);
                test_array_check_unchanged(&again.array, &x.array, text);
            }
        }
    }
    test_drop(&a), test_drop(&x), test_drop(&again), test_drop(&info);
}

static void test_results_are_reproducible(void **state) {
    (void)state;
    test_each_library(check_bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_non_finite),
        cmocka_unit_test(test_non_finite_element_is_found_anywhere),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_pivots),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_faults_are_refused),
        cmocka_unit_test(test_blas_below_is_named),
        cmocka_unit_test(test_results_are_reproducible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
