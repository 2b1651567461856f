/* test_batch.c - tests batches that threads of our thread pool share: results equal to the results of single items bit
 * for bit, the first failing item is reported, and a later child of fork works. Runs on every LAPACK library of this
 * machine. */
#include "lapack/support_spectra.h"

#include "dispatch/internal.h"
#include "support/conditions.h"
#include "support/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 6, K = 2, ITEMS = 301, THREADS = 4 };

/* Operands of every operation. Inputs contain suitable values. */
typedef struct family {
    bp_dtype dtype;
    test_operand a, definite, shared, b, x, y, second, third, complex_w, complex_v;
    test_operand pivots, info, rank, value, real, values, residuals;
} family;

static test_operand make_filled(bp_dtype dtype, int64_t rows, int64_t columns, bool broadcast) {
    test_operand x = test_make(dtype, rows, columns, ITEMS, broadcast, TEST_ROWS);
    test_fill(&x, TEST_RANDOM, 5);
    return x;
}

static family make_family(bp_dtype dtype) {
    bp_dtype real = test_real_of(dtype), complex_type = dtype == BP_F32 ? BP_C64 : dtype == BP_F64 ? BP_C128 : dtype;
    family f = {.dtype = dtype,
                .a = make_filled(dtype, N, N, false),
                .definite = test_make(dtype, N, N, ITEMS, false, TEST_ROWS),
                .shared = make_filled(dtype, N, N, true),
                .b = make_filled(dtype, N, K, false),
                .x = test_make(dtype, N, N, ITEMS, false, TEST_ROWS),
                .y = test_make(dtype, N, K, ITEMS, false, TEST_COLUMNS),
                .second = test_make(dtype, N, N, ITEMS, false, TEST_COLUMNS),
                .third = test_make(dtype, N, N, ITEMS, false, TEST_ROWS),
                .complex_w = test_make(complex_type, N, 1, ITEMS, false, TEST_ROWS),
                .complex_v = test_make(complex_type, N, N, ITEMS, false, TEST_ROWS),
                .pivots = test_make(BP_I32, N, 1, ITEMS, false, TEST_ROWS),
                .info = test_make(BP_I32, 1, 1, ITEMS, false, TEST_ROWS),
                .rank = test_make(BP_I64, 1, 1, ITEMS, false, TEST_ROWS),
                .value = test_make(dtype, 1, 1, ITEMS, false, TEST_ROWS),
                .real = test_make(real, 1, 1, ITEMS, false, TEST_ROWS),
                .values = test_make(real, N, 1, ITEMS, false, TEST_ROWS),
                .residuals = test_make(real, K, 1, ITEMS, false, TEST_ROWS)};
    test_fill_definite(&f.definite, 3);
    for (int64_t item = 0; item < ITEMS; item++) {
        for (int64_t i = 0; i < N; i++) {
            test_set(&f.pivots, item, i, 0, (long double)(i + 1 + (item + i) % (N - i)));
        }
    }
    return f;
}

static void drop_family(family *f) {
    test_operand *all[] = {&f->a,      &f->definite, &f->shared,    &f->b,         &f->x,        &f->y,
                           &f->second, &f->third,    &f->complex_w, &f->complex_v, &f->pivots,   &f->info,
                           &f->rank,   &f->value,    &f->real,      &f->values,    &f->residuals};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        test_drop(all[i]);
    }
}

/* ---- Results of shared batches ---- */

static int output_of(bp_op op) {
    int inputs = 1;
    for (const char *at = bp_op_inputs(op); *at; at++) {
        inputs += *at == ',';
    }
    return inputs;
}

/* Returns the number of threads that shared the items. */
static int check_call(void *instance, const bp_library_info *row, test_call call) {
    test_array alone[BP_LINALG_OPERANDS];
    bp_verdict verdict;
    call.threads = 1;
    if (test_run(instance, &call, &verdict) == BP_E_UNSUPPORTED) {
        assert_true(verdict.reason == BP_REASON_THREADS || verdict.reason == BP_REASON_DETERMINISM);
        return 1;
    }
    for (int i = output_of(call.op); i < BP_LINALG_OPERANDS; i++) {
        test_operand *x = call.operand[i];
        if (x) {
            test_array_copy(&alone[i], &x->array);
            test_array_fill(&x->array, 1);
        }
    }
    call.threads = THREADS;
    assert_int_equal(test_run(instance, &call, &verdict), BP_OK);
    for (int i = output_of(call.op); i < BP_LINALG_OPERANDS; i++) {
        const test_operand *x = call.operand[i];
        if (x) {
            char text[128];
            snprintf(text, sizeof text, "%s: %s %s, operand %d", row->id, bp_op_name(call.op),
                     bp_dtype_name(call.operand[0]->dtype), i);
            test_array_check_unchanged(&x->array, &alone[i], text);
            test_array_free(&alone[i]);
        }
    }
    return verdict.threads;
}

static void check_all(void *instance, const bp_library_info *row) {
    int most = 1;
    for (int d = 0; d < 4; d++) {
        family f = make_family(test_dtypes[d]);
        const test_call calls[] = {
            {.op = BP_OP_INV, .operand = {&f.a, &f.x, &f.info}},
            {.op = BP_OP_CHOLESKY, .operand = {&f.definite, &f.x, &f.info}},
            {.op = BP_OP_CHOLESKY_SOLVE, .operand = {&f.b, &f.definite, &f.y}},
            {.op = BP_OP_CHOLESKY_INVERSE, .operand = {&f.definite, &f.x, &f.info}},
            {.op = BP_OP_LU_SOLVE, .fields.a_on_left = 1, .operand = {&f.a, &f.pivots, &f.b, &f.y}},
            {.op = BP_OP_LU_SOLVE, .fields.a_on_left = 1, .operand = {&f.shared, &f.pivots, &f.b, &f.y}},
            {.op = BP_OP_LU_FACTOR, .operand = {&f.a, &f.x, &f.pivots, &f.info}},
            {.op = BP_OP_LDL_FACTOR, .operand = {&f.a, &f.x, &f.pivots, &f.info}},
            {.op = BP_OP_LDL_FACTOR, .fields.hermitian = 1, .operand = {&f.a, &f.x, &f.pivots, &f.info}},
            {.op = BP_OP_LU, .operand = {&f.a, &f.x, &f.second, &f.third}},
            {.op = BP_OP_SOLVE, .fields.a_on_left = 1, .operand = {&f.a, &f.b, &f.y, &f.info}},
            {.op = BP_OP_SOLVE, .fields.a_on_left = 1, .operand = {&f.shared, &f.b, &f.y, &f.info}},
            {.op = BP_OP_SOLVE_TRIANGULAR, .fields.a_on_left = 1, .operand = {&f.a, &f.b, &f.y}},
            {.op = BP_OP_QR, .fields.mode = BP_QR_REDUCED, .operand = {&f.a, &f.x, &f.second}},
            {.op = BP_OP_EIGH, .operand = {&f.definite, &f.values, &f.x}},
            {.op = BP_OP_EIGH, .operand = {&f.definite, &f.values}},
            {.op = BP_OP_EIG, .operand = {&f.a, &f.complex_w, &f.complex_v}},
            {.op = BP_OP_SVD, .fields.mode = BP_SVD_REDUCED, .operand = {&f.a, &f.x, &f.values, &f.second}},
            {.op = BP_OP_SVD, .fields.mode = BP_SVD_REDUCED, .operand = {&f.a, NULL, &f.values}},
            {.op = BP_OP_LSTSQ, .fields.mode = BP_LSTSQ_GELSY, .operand = {&f.a, &f.b, &f.y, NULL, &f.rank}},
            {.op = BP_OP_LSTSQ,
             .fields.mode = BP_LSTSQ_GELSD,
             .operand = {&f.a, &f.b, &f.y, &f.residuals, &f.rank, &f.values}},
            {.op = BP_OP_DET, .operand = {&f.a, &f.value}},
            {.op = BP_OP_SLOGDET, .operand = {&f.a, &f.value, &f.real}},
            {.op = BP_OP_PINV, .operand = {&f.a, &f.x}},
            {.op = BP_OP_MATRIX_RANK, .operand = {&f.a, &f.rank}},
            {.op = BP_OP_COND, .fields.mode = BP_NORM_P, .fields.order = 1, .operand = {&f.a, &f.real}},
            {.op = BP_OP_COND, .fields.mode = BP_NORM_P, .fields.order = 2, .operand = {&f.a, &f.real}},
            {.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_NUC, .operand = {&f.a, &f.real}},
            {.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_FRO, .operand = {&f.a, &f.real}},
            {.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_P, .fields.order = -1, .operand = {&f.a, &f.real}},
        };
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            for (int deterministic = 0; deterministic < 3; deterministic++) {
                test_call call = calls[i];
                call.deterministic = deterministic;
                const int threads = check_call(instance, row, call);
                most = threads > most ? threads : most;
            }
        }
        drop_family(&f);
    }
    /* libraries known to be safe must not fall back to one thread */
    const bool known = (strcmp(row->family, "openblas") == 0 && strcmp(row->threading, "serial") != 0) ||
                       strcmp(row->family, "mkl") == 0;
    assert_int_equal(most, known ? THREADS : 1);
}

static void test_shared_batch_equals_single_items(void **state) {
    (void)state;
    test_each_library(check_all);
}

/* ---- Failing items ---- */

static void set_all(family *f, int64_t item, long double value) {
    for (int64_t i = 0; i < N * N; i++) {
        test_set(&f->a, item, i / N, i % N, value);
    }
}

static void check_failures(void *instance, const bp_library_info *row) {
    (void)row;
    for (int d = 0; d < 4; d++) {
        family f = make_family(test_dtypes[d]);
        test_call call = {.op = BP_OP_INV, .threads = THREADS, .operand = {&f.a, &f.x, &f.info}};
        static const int bad[] = {ITEMS - 1, 250, 111, 112, 40}, least[] = {ITEMS - 1, 250, 111, 111, 40};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            char place[64];
            snprintf(place, sizeof place, "(Batch element %d)", least[i]);
            set_all(&f, bad[i], i == 1 ? (long double)NAN : 1);
            for (int round = 0; round < 20; round++) {
                call.fields.fail_on_item_error = 1;
                const bp_status status = test_run(instance, &call, NULL);
                if (status == BP_E_UNSUPPORTED) {
                    drop_family(&f);
                    return;
                }
                assert_int_equal(status, i == 1 ? BP_E_NON_FINITE : BP_E_SINGULAR);
                assert_non_null(strstr(bp_last_error(), place));
            }
            call.fields.fail_on_item_error = 0;
            assert_int_equal(test_run(instance, &call, NULL), BP_OK);
            for (int item = 0; item < ITEMS; item++) {
                int expected = 0;
                for (size_t j = 0; j <= i; j++) {
                    expected = bad[j] == item ? (j == 1 ? -1 : 2) : expected;
                }
                assert_int_equal((int)creall(test_get(&f.info, item, 0, 0)), expected);
            }
        }
        call = (test_call){.op = BP_OP_LU_SOLVE,
                           .fields.a_on_left = 1,
                           .threads = THREADS,
                           .operand = {&f.definite, &f.pivots, &f.b, &f.y}};
        test_set(&f.pivots, 200, 1, 0, 99);
        test_set(&f.pivots, 77, 3, 0, 0);
        assert_int_equal(test_run(instance, &call, NULL), BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), "element 3 of batch element 77"));
        drop_family(&f);
    }
}

static void test_failures(void **state) {
    (void)state;
    test_each_library(check_failures);
}

/* ---- fork ---- */

/* The child has none of the threads that shared the items, and starts others. */
static void check_fork(void *instance, const bp_library_info *row) {
    family f = make_family(BP_F64);
    const test_call call = {.op = BP_OP_SVD,
                            .fields.mode = BP_SVD_REDUCED,
                            .operand = {&f.a, &f.x, &f.values, &f.second},
                            .threads = THREADS};
    bp_verdict verdict;
    if (test_run(instance, &call, &verdict) == BP_OK && verdict.threads == THREADS) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(240);
            _exit(test_run(instance, &call, NULL) == BP_OK ? 0 : 1);
        }
        int status = 0;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fail_msg("%s: in a child of fork: status %d", row->id, status);
        }
    }
    drop_family(&f);
}

static void test_fork(void **state) {
    (void)state;
    if (!test_child_may_start_threads()) {
        print_message("skipped: this sanitizer does not follow threads that a forked child starts\n");
        skip();
    }
    test_each_library(check_fork);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_batch_equals_single_items),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
