/* test_failing.c - items that fail on a CUDA device: info, NaN and infinity, and failures that a wait tells. */
#include "cusolver/support_cusolver.h"

#include <math.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

/* Sets an element of an item of square matrices. */
static void set_element(test_array *a, int64_t item, int64_t i, int64_t j, double value) {
    const int64_t n = a->view.tensor.shape[a->view.tensor.ndim - 1];
    test_array_set(a, (item * n + i) * n + j, value);
}

/* Makes five matrices of 4 x 4. The third one fails with info 3: its leading minor is not positive definite, or its
 * third column is zero. */
static void make_failing(linalg_case *c, bp_op op, bp_dtype dtype) {
    *c = new_case(op, dtype);
    test_array *a = add_input(c, 3, I64(5, 4, 4), TEST_GAPS);
    make_definite(a);
    if (op == BP_OP_CHOLESKY) {
        set_element(a, 2, 2, 2, -1);
    } else {
        for (int i = 0; i < 4; i++) {
            set_element(a, 2, i, 2, 0);
        }
    }
    if (op == BP_OP_SOLVE) {
        add_input(c, 3, I64(5, 4, 2), TEST_COMPACT);
    }
}

static const struct {
    bp_op op;
    int info; /* number of the output */
    bp_status status;
    const char *text;
} ops[] = {
    {BP_OP_CHOLESKY, 1, BP_E_NOT_POSITIVE_DEFINITE,
     "linalg.cholesky: (Batch element 2): the input is not positive-definite (the leading minor of order 3"},
    {BP_OP_INV, 1, BP_E_SINGULAR, "linalg.inv: (Batch element 2): the diagonal element 3 is zero"},
    {BP_OP_LU_FACTOR, 2, BP_E_SINGULAR, "linalg.lu_factor: (Batch element 2): U[3,3] is zero"},
    {BP_OP_SOLVE, 1, BP_E_SINGULAR, "linalg.solve: (Batch element 2): the solver failed"},
};

static void expect_infos(const test_array *info, int64_t item, int64_t expected) {
    for (int64_t i = 0; i < test_array_count(info); i++) {
        assert_int_equal(test_array_get_i64(info, i), i == item ? expected : 0);
    }
}

static void info_of_failing_items(void **state) {
    (void)state;
    for (int i = 0; i < 16; i++) {
        linalg_case c;
        make_failing(&c, ops[i % 4].op, types[i / 4]);
        put_case(&c, i % 2 ? TEST_REVERSED : TEST_COMPACT, 0);
        assert_ok(run_case(&c));
        expect_infos(&c.out[ops[i % 4].info], 2, 3);
        free_case(&c);
    }
}

/* A call returns before its items are computed: the next wait tells the failure, and nothing is left of it. */
static void a_wait_tells_failures(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool with_info = i >= 4; /* both are wanted */
        linalg_case c;
        make_failing(&c, ops[i % 4].op, types[i % 3]);
        put_case(&c, TEST_COMPACT, with_info ? 0 : 1u << ops[i % 4].info);
        c.call.fail_on_item_error = with_info;
        assert_ok(bp_linalg_run(NULL, device_call(&c)));
        assert_fails(bp_device_wait(cuda_place(0)), ops[i % 4].status, ops[i % 4].text);
        if (with_info) {
            get(&c.device_out[ops[i % 4].info]);
            expect_infos(&c.out[ops[i % 4].info], 2, 3);
        }
        assert_ok(bp_device_wait(cuda_place(0)));
        free_case(&c);
    }
}

/* Of several failing items the first one is told, whatever its reason. */
static void the_first_failing_item(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        linalg_case c;
        make_failing(&c, BP_OP_CHOLESKY, BP_F32);
        set_element(&c.in[0], 4, 1, 1, -1);
        set_element(&c.in[0], i == 0 ? 3 : 1, 0, 0, (double)NAN);
        put_case(&c, TEST_COMPACT, 2);
        assert_fails(run_case(&c), i == 0 ? BP_E_NOT_POSITIVE_DEFINITE : BP_E_NON_FINITE,
                     i == 0 ? "(Batch element 2)" : "(Batch element 1)");
        free_case(&c);
    }
}

/* Runs that were examined leave no pinned memory in use. */
static void reports_are_used_again(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_CHOLESKY, BP_F32);
    make_definite(add_input(&c, 2, I64(2, 2), TEST_COMPACT));
    put_case(&c, TEST_COMPACT, 2);
    assert_ok(run_case(&c));
    const int pinned = the_double()->pinned;
    for (int i = 0; i < 300; i++) {
        assert_ok(run_case(&c));
    }
    assert_int_equal(the_double()->pinned, pinned);
    free_case(&c);
}

/* A single matrix is no element of a batch, and an event of the run has the failure. */
static void failures_of_one_matrix(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_INV, BP_F32);
    bp_event *done = NULL;
    bp_operand operands[CASE_INPUTS + CASE_OUTPUTS];
    test_array *a = add_input(&c, 2, I64(3, 3), TEST_COMPACT);
    for (int i = 0; i < 9; i++) {
        test_array_set(a, i, 1);
    }
    put_case(&c, TEST_COMPACT, 2);
    bp_plan *plan = plan_case(&c, operands);
    bp_queue *queue = cuda_queue(0);
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue, .done = &done};
    assert_ok(bp_execute(plan, operands, &exec));
    assert_fails(bp_event_sync(done, -1), BP_E_SINGULAR, "linalg.inv: the diagonal element 2 is zero");
    bp_event_release(done);
    assert_int_equal(bp_queue_wait(queue), BP_E_SINGULAR);
    bp_plan_release(plan);
    bp_queue_release(queue);
    free_case(&c);
}

/* ---- NaN and infinity ---- */

static bool is_nan(const test_array *a, int64_t index) {
    const bp_scalar x = test_array_get_complex(a, index);
    return isnan(x.re) && (a->dtype == BP_F32 || a->dtype == BP_F64 || isnan(x.im));
}

/* Item 1 is NaN, or 0 for pivots, and its info is -1; the others are as without it. */
static void expect_skipped(linalg_case *c, int info) {
    const int64_t items = c->out[0].view.tensor.shape[0];
    for (int o = 0; o < CASE_OUTPUTS && c->out[o].memory; o++) {
        const int64_t each = test_array_count(&c->out[o]) / items;
        for (int64_t i = 0; i < test_array_count(&c->out[o]); i++) {
            const bool skipped = i / each == 1;
            if (o == info) {
                assert_int_equal(test_array_get_i64(&c->out[o], i), skipped ? -1 : 0);
            } else if (c->out[o].dtype == BP_I32) {
                assert_int_equal(test_array_get_i64(&c->out[o], i) == 0, skipped);
            } else {
                assert_int_equal(is_nan(&c->out[o], i), skipped);
            }
        }
    }
}

static void items_that_are_not_finite(void **state) {
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    (void)state;
    for (int i = 0; i < 48; i++) {
        const int op = i % 4;
        linalg_case c;
        make_failing(&c, ops[op].op, types[i / 4 % 4]);
        test_array_fill(&c.in[0], 1);
        make_definite(&c.in[0]);
        set_element(&c.in[0], 1, 3, i % 2, values[i / 16]);
        put_case(&c, i % 3 ? TEST_GAPS : TEST_COMPACT, 0);
        assert_ok(run_case(&c));
        expect_skipped(&c, ops[op].info);
        drop(&c.device_out[ops[op].info]); /* without info it is a failure */
        test_array_free(&c.out[ops[op].info]);
        c.out[ops[op].info] = (test_array){.memory = NULL};
        assert_fails(run_case(&c), BP_E_NON_FINITE, "(Batch element 1): the input contains NaN or infinity");
        free_case(&c);
    }
}

/* An imaginary part that is not finite, and a right side. */
static void parts_that_are_not_finite(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_SOLVE, BP_C64);
    make_dominant(add_input(&c, 2, I64(4, 4), TEST_COMPACT)); /* one matrix for all items */
    test_array *b = add_input(&c, 3, I64(3, 4, 2), TEST_COMPACT);
    test_array_set_complex(b, 8 + 5, (bp_scalar){1, (double)NAN});
    put_case(&c, TEST_COMPACT, 0);
    assert_ok(run_case(&c));
    expect_skipped(&c, 1);
    free_case(&c);
    c = new_case(BP_OP_SOLVE_TRIANGULAR, BP_F64);
    make_dominant(add_input(&c, 3, I64(3, 4, 4), TEST_COMPACT));
    add_input(&c, 3, I64(3, 4, 2), TEST_COMPACT);
    set_element(&c.in[0], 1, 2, 0, (double)NAN); /* not read by the upper triangle */
    c.call.upper = 1;
    put_case(&c, TEST_COMPACT, 0);
    check_case(&c, "the other triangle");
    c.call.upper = 0;
    assert_fails(run_case(&c), BP_E_NON_FINITE, "linalg.solve_triangular: (Batch element 1): ");
    free_case(&c);
}

/* A zero on the diagonal of a triangle gives infinity or NaN, without a failure. */
static void zeros_on_a_diagonal(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_SOLVE_TRIANGULAR, BP_F64);
    make_dominant(add_input(&c, 2, I64(3, 3), TEST_COMPACT));
    set_element(&c.in[0], 0, 1, 1, 0);
    add_input(&c, 2, I64(3, 1), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    assert_ok(run_case(&c));
    const bool is_finite = isfinite(test_array_get(&c.out[0], 1));
    assert_false(is_finite);
    free_case(&c);
}

/* ---- Pivots ---- */

static void wrong_pivots(void **state) {
    static const int wrong[] = {0, -1, 5, INT32_MAX, INT32_MIN};
    (void)state;
    for (int i = 0; i < 5; i++) {
        char text[160];
        linalg_case c = new_case(BP_OP_LU_SOLVE, BP_F32);
        make_dominant(add_input(&c, 3, I64(3, 4, 4), TEST_COMPACT));
        test_array_make(&c.in[1], BP_I32, 2, I64(3, 4), TEST_GAPS);
        for (int j = 0; j < 12; j++) {
            test_array_set_i64(&c.in[1], j, j == 6 || j == 9 ? wrong[i] : j % 4 + 1);
        }
        add_input(&c, 3, I64(3, 4, 2), TEST_COMPACT);
        put_case(&c, TEST_COMPACT, 0);
        snprintf(text, sizeof text,
                 "linalg.lu_solve: pivots: element 2 of batch element 1 is %d; it must be a row number from 1 to 4",
                 wrong[i]);
        assert_fails(run_case(&c), BP_E_ARGUMENT, text);
        free_case(&c);
    }
}

/* ---- Captures, and runs that nothing waits for ---- */

/* A graph reports no failure, so that info is needed. */
static void captures_need_info(void **state) {
    (void)state;
    for (int with_info = 0; with_info < 2; with_info++) {
        linalg_case c;
        bp_operand operands[CASE_INPUTS + CASE_OUTPUTS];
        bp_queue_graph *graph = NULL;
        make_failing(&c, BP_OP_CHOLESKY, BP_F64);
        put_case(&c, TEST_COMPACT, with_info ? 0 : 2);
        bp_plan *plan = plan_case(&c, operands);
        bp_queue *queue = cuda_queue(0);
        const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
        assert_ok(bp_queue_capture_begin(queue));
        const bp_status status = bp_execute(plan, operands, &exec);
        if (!with_info) {
            assert_fails(status, BP_E_UNSUPPORTED, "the check of a result");
        }
        const bp_status ended = bp_queue_capture_end(&graph, queue);
        if (with_info) {
            assert_ok(status);
            assert_ok(ended);
            for (int i = 0; i < 2; i++) {
                assert_ok(bp_queue_graph_launch(graph, queue));
                assert_ok(bp_queue_wait(queue));
                get(&c.device_out[1]);
                expect_infos(&c.out[1], 2, 3);
            }
            bp_queue_graph_release(graph);
        }
        bp_plan_release(plan);
        bp_queue_release(queue);
        free_case(&c);
    }
}

static void failures_that_nothing_waits_for(void **state) {
    (void)state;
    linalg_case c;
    make_failing(&c, BP_OP_CHOLESKY, BP_F64);
    put_case(&c, TEST_COMPACT, 2);
    for (int i = 0; i < 300; i++) { /* more than one block of pinned memory has reports for */
        assert_ok(bp_linalg_run(NULL, device_call(&c)));
    }
    free_case(&c);
    assert_ok(bp_reset());
}

/* What the library leaves behind a zero pivot, NaN or pivots that are no rows, reaches neither determinants nor other
 * kernels. */
static void zero_pivots_leave_garbage(void **state) {
    static const bp_op all[] = {BP_OP_DET, BP_OP_SLOGDET, BP_OP_LU, BP_OP_LU_FACTOR, BP_OP_INV, BP_OP_SOLVE};
    (void)state;
    the_cusolver()->divides = true;
    for (int i = 0; i < 6; i++) {
        linalg_case c = new_case(all[i], i % 2 ? BP_F32 : BP_F64);
        test_array *a = add_input(&c, 2, I64(3, 3), TEST_COMPACT);
        for (int k = 0; k < 9; k++) {
            test_array_set(a, k, 1);
        }
        if (all[i] == BP_OP_SOLVE) {
            add_input(&c, 2, I64(3, 2), TEST_COMPACT);
        }
        put_case(&c, TEST_COMPACT, 0);
        assert_ok(run_case(&c));
        if (all[i] == BP_OP_DET || all[i] == BP_OP_SLOGDET) {
            assert_true(test_array_get(&c.out[0], 0) == 0);
        }
        if (all[i] == BP_OP_SLOGDET) {
            assert_true(test_array_get(&c.out[1], 0) == -(double)INFINITY);
        }
        if (all[i] == BP_OP_LU) { /* a permutation */
            for (int k = 0; k < 3; k++) {
                double sum = 0;
                for (int row = 0; row < 3; row++) {
                    sum += test_array_get(&c.out[0], 3 * row + k);
                }
                assert_true(sum == 1);
            }
        }
        if (all[i] == BP_OP_LU_FACTOR) {
            for (int k = 0; k < 3; k++) {
                const int64_t pivot = test_array_get_i64(&c.out[1], k);
                assert_true(pivot >= 1 && pivot <= 3);
            }
        }
        free_case(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(zero_pivots_leave_garbage, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(info_of_failing_items, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(a_wait_tells_failures, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(the_first_failing_item, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(reports_are_used_again, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(failures_of_one_matrix, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(items_that_are_not_finite, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(parts_that_are_not_finite, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(zeros_on_a_diagonal, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(wrong_pivots, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(captures_need_info, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(failures_that_nothing_waits_for, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("failing", tests, start_cusolver, stop_cusolver);
}
