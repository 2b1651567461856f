/* test_record.c - tests records of calls: rows and calls of one-shot calls, plans of the program, parts, failures and
 * threads, limits, several records at once, and failing allocations. */
#include "backplane.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/exhausted.h"

enum { N = 24 };
static double a[N * N], b[N * N];

static void view(bp_view *v, double *data, int rows, int columns) {
    bp_view_matrix(v, data, BP_F64, rows, columns);
}

static void multiply(int rows) {
    bp_view left, right, result;
    view(&left, a, rows, N);
    view(&right, a, N, N);
    view(&result, b, rows, N);
    assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &result.tensor), BP_OK);
}

static bp_record *start(int64_t most) {
    bp_record *record;
    assert_int_equal(bp_record_start(&record, most), BP_OK);
    return record;
}

static bp_recorded_plan plan_at(const bp_record *record, int64_t index) {
    bp_recorded_plan row = {.struct_size = sizeof row};
    assert_int_equal(bp_record_plan_at(record, index, &row), 1);
    return row;
}

static bp_recorded_call call_at(const bp_record *record, int64_t index) {
    bp_recorded_call call = {.struct_size = sizeof call};
    assert_int_equal(bp_record_call_at(record, index, &call), 1);
    return call;
}

static void expect_counts(const bp_record *record, int plans, int calls) {
    bp_recorded_plan row = {.struct_size = sizeof row};
    bp_recorded_call call = {.struct_size = sizeof call};
    assert_int_equal(bp_record_plan_at(record, plans, &row), 0);
    assert_int_equal(bp_record_call_at(record, calls, &call), 0);
    if (plans > 0) {
        plan_at(record, plans - 1);
    }
    if (calls > 0) {
        call_at(record, calls - 1);
    }
}

static void test_rows_and_calls(void **state) {
    (void)state;
    multiply(3); /* before: not in the record */
    bp_record *record = start(0);
    multiply(3);
    multiply(5);
    multiply(3);
    bp_record_stop(record);
    multiply(5);
    expect_counts(record, 2, 3);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    const bp_recorded_plan three = plan_at(record, 0), five = plan_at(record, 1);
    assert_int_equal(three.runs, 2);
    assert_int_equal(five.runs, 1);
    assert_string_equal(five.operation, "gemm");
    assert_string_equal(five.problem, info.problem);
    assert_string_equal(five.library, info.library);
    assert_string_equal(five.provider, info.provider);
    assert_string_equal(five.algorithm, info.algorithm);
    assert_string_equal(five.reason, info.reason);
    assert_int_equal(five.threads, info.threads);
    assert_int_equal(five.properties, info.properties);
    assert_true(five.cost_ns == info.cost_ns);
    assert_true(strcmp(three.problem, five.problem) != 0);
    const int64_t rows[] = {0, 1, 0};
    int64_t total = 0, before = 0;
    for (int i = 0; i < 3; i++) {
        const bp_recorded_call call = call_at(record, i);
        assert_int_equal(call.plan, rows[i]);
        assert_int_equal(call.status, BP_OK);
        assert_int_equal(call.thread, call_at(record, 0).thread);
        assert_true(call.duration_ns >= 0 && call.start_ns >= before);
        before = call.start_ns + call.duration_ns;
        total += call.plan == 0 ? call.duration_ns : 0;
    }
    assert_int_equal(three.total_ns, total);
    assert_true(three.least_ns <= three.most_ns && three.least_ns + three.most_ns == total);
    assert_int_equal(three.part + five.part + three.queued + three.failed, 0);
    bp_record_release(record);
}

static void test_fresh_plans_and_equal_rows(void **state) {
    (void)state;
    bp_record *record = start(0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bp_plan_cache_clear(), BP_OK);
        multiply(7);
        multiply(7);
    }
    expect_counts(record, 1, 4); /* two plans with equal texts */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(call_at(record, i).fresh, i % 2 == 0);
    }
    bp_record_release(record);
}

static void test_held_plans(void **state) {
    (void)state;
    bp_view left, result;
    view(&left, a, N, N);
    view(&result, b, N, N);
    bp_plan *plan;
    assert_int_equal(bp_matmul_plan(&plan, NULL, &left.tensor, &left.tensor, &result.tensor), BP_OK);
    const bp_operand operands[] = {{a, 0}, {a, 0}, {b, 0}};
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    bp_record *record = start(0);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    bp_record_stop(record);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    expect_counts(record, 1, 2);
    bp_plan_release(plan);
    assert_int_equal(plan_at(record, 0).runs, 2);
    assert_true(strstr(plan_at(record, 0).problem, "f64") != NULL); /* the texts outlive the plan */
    bp_record_release(record);
}

static void test_parts_are_marked(void **state) {
    (void)state;
    bp_view left, result;
    view(&left, a, N, N);
    view(&result, b, N, N);
    const DLTensor *inputs[] = {&left.tensor, &left.tensor, &left.tensor};
    bp_record *record = start(0);
    assert_int_equal(bp_einsum("ij,jk,kl->il", 3, inputs, &result.tensor), BP_OK);
    bp_recorded_plan row = {.struct_size = sizeof row};
    int parts = 0, wholes = 0;
    int64_t in_parts = 0, in_whole = 0;
    for (int i = 0; bp_record_plan_at(record, i, &row); i++) {
        *(row.part ? &parts : &wholes) += (int)row.runs;
        *(row.part ? &in_parts : &in_whole) += row.total_ns;
        if (row.part) { /* the libraries of the machine decide which of both multiplies two operands */
            assert_true(strcmp(row.operation, "gemm") == 0 || strcmp(row.operation, "contract") == 0);
        } else {
            assert_string_equal(row.operation, "einsum");
        }
    }
    assert_int_equal(parts, 2);
    assert_int_equal(wholes, 1);
    assert_true(in_parts <= in_whole);
    assert_int_equal(plan_at(record, call_at(record, 2).plan).part, 0); /* the whole ends last */
    bp_record_release(record);
}

static void *contract_lists(void *record) {
    bp_view left, result;
    view(&left, a, N, N);
    view(&result, b, N, N);
    const DLTensor *inputs[] = {&left.tensor, &left.tensor};
    const int first[] = {0, 1}, second[] = {1, 2}, output[] = {0, 2}, counts[] = {2, 2};
    const int *const labels[] = {first, second};
    const bp_einsum_call call = {.struct_size = sizeof call,
                                 .count = 2,
                                 .operands = inputs,
                                 .labels = labels,
                                 .label_counts = counts,
                                 .output_count = 2,
                                 .output = output};
    *(bp_record **)record = start(0);
    return bp_einsum_run(NULL, &call, &result.tensor) == BP_OK ? NULL : "failed";
}

/* Subscripts in lists have no place in the thread's cache, and a thread that only makes such calls never looks there.
 */
static void test_first_call_without_a_key(void **state) {
    (void)state;
    pthread_t thread;
    bp_record *record;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, contract_lists, &record), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    expect_counts(record, 2, 2);
    bp_record_release(record);
}

static void test_failed_runs(void **state) {
    (void)state;
    double matrix[] = {1, 2, 2, 1}, factor[4];
    bp_view input, output;
    view(&input, matrix, 2, 2);
    view(&output, factor, 2, 2);
    bp_record *record = start(0);
    const bp_status status = bp_cholesky(&input.tensor, 0, &output.tensor);
    assert_int_not_equal(status, BP_OK);
    expect_counts(record, 1, 1);
    assert_int_equal(plan_at(record, 0).failed, 1);
    assert_int_equal(call_at(record, 0).status, status);
    bp_record_release(record);
}

static void test_limit_of_calls(void **state) {
    (void)state;
    bp_record *record = start(2), *other = start(1000);
    for (int i = 0; i < 700; i++) {
        multiply(3 + i % 2);
    }
    expect_counts(record, 2, 2);
    expect_counts(other, 2, 700);
    assert_int_equal(bp_record_left_out(record), 698);
    assert_int_equal(bp_record_left_out(other), 0);
    assert_int_equal(plan_at(record, 0).runs, 350); /* the rows count all */
    bp_record_release(record);
    multiply(3);
    expect_counts(other, 2, 701);
    bp_record_stop(other);
    bp_record_stop(other);
    bp_record_release(other);
}

static void test_many_plans(void **state) {
    (void)state;
    bp_record *record = start(0);
    for (int i = 0; i < 300; i++) {
        double x[300];
        bp_view left, right, result;
        view(&left, a, 1, 1);
        view(&right, a, 1, i + 1);
        view(&result, x, 1, i + 1);
        assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &result.tensor), BP_OK);
    }
    expect_counts(record, 300, 300);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(call_at(record, i).plan, i);
    }
    bp_record_release(record);
}

static void *read_in_thread(void *record) {
    bp_record_left_out(record);
    return NULL;
}

/* Waits for a thread that reads the record. */
static void wait_for_reader(void *record, const char *text) {
    pthread_t thread;
    assert_non_null(strstr(text, "trace file"));
    alarm(60); /* a handler that waits for ever */
    assert_int_equal(pthread_create(&thread, NULL, read_in_thread, *(bp_record **)record), 0);
    pthread_join(thread, NULL);
    alarm(0);
    *(bp_record **)record = NULL;
}

static void test_warnings_hold_no_record(void **state) {
    (void)state;
    setenv("BACKPLANE_TRACE", BP_TEST_BUILD_DIR "/no-such-folder/trace.json", 1);
    assert_int_equal(bp_reset(), BP_OK); /* the variable is read at the start */
    bp_record *record = start(0), *waiting = record;
    bp_set_warning_handler(wait_for_reader, &waiting);
    multiply(3);
    bp_set_warning_handler(NULL, NULL);
    assert_null(waiting);
    bp_record_release(record);
    unsetenv("BACKPLANE_TRACE");
    assert_int_equal(bp_reset(), BP_OK);
}

enum { LARGE = 300 };

typedef struct begun {
    bp_record *record;
    int64_t at_ns;
} begun;

/* Starts a record, and lets the thread know of it. */
static int begin_record(void *user) {
    begun *own = user;
    if (!own->record) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        own->at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        own->record = start(0);
        multiply(3);
    }
    return 0;
}

static void expect_calls_after(const begun *own) {
    bp_recorded_call call = {.struct_size = sizeof call};
    assert_non_null(own->record);
    for (int i = 0; bp_record_call_at(own->record, i, &call); i++) {
        assert_true(call.start_ns >= own->at_ns);
        assert_true(call.duration_ns < 60 * (int64_t)1000000000);
    }
    bp_record_release(own->record);
}

/* When the call that is interrupted began, its time was not asked for. */
static void test_record_that_an_interrupt_check_starts(void **state) {
    (void)state;
    double *large = calloc(2 * LARGE * LARGE, sizeof *large);
    bp_view in, out;
    view(&in, large, LARGE, LARGE);
    view(&out, large + LARGE * LARGE, LARGE, LARGE);
    const DLTensor *inputs[] = {&in.tensor, &in.tensor, &in.tensor};
    const int first[] = {0, 1}, second[] = {1, 2}, third[] = {2, 3}, output[] = {0, 3}, counts[] = {2, 2, 2};
    const int *const labels[] = {first, second, third};
    const bp_einsum_call call = {.struct_size = sizeof call,
                                 .count = 3,
                                 .operands = inputs,
                                 .labels = labels,
                                 .label_counts = counts,
                                 .output_count = 2,
                                 .output = output};
    const bp_operand operands[] = {{large, 0}, {large, 0}, {large, 0}, {large + LARGE * LARGE, 0}};
    bp_plan *plan;
    assert_int_equal(bp_einsum_plan(&plan, NULL, &call, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    for (int way = 0; way < 3; way++) {
        begun own = {NULL, 0};
        assert_int_equal(way == 0 ? bp_einsum("ij,jk,kl->il", 3, inputs, &out.tensor)
                                  : bp_einsum_run(NULL, &call, &out.tensor),
                         BP_OK);
        multiply(3); /* its plan exists in the check */
        bp_set_interrupt_check(begin_record, &own, NULL);
        assert_int_equal(way == 0   ? bp_einsum("ij,jk,kl->il", 3, inputs, &out.tensor)
                         : way == 1 ? bp_einsum_run(NULL, &call, &out.tensor)
                                    : bp_execute(plan, operands, NULL),
                         BP_OK);
        bp_set_interrupt_check(NULL, NULL, NULL);
        expect_calls_after(&own);
    }
    bp_plan_release(plan);
    free(large);
}

static size_t taken; /* bytes of the allocations that are alive */

static void *take(void *user, size_t size) {
    (void)user;
    size_t *block = malloc(size + 64);
    if (block) {
        *block = size;
        taken += size;
    }
    return block ? (char *)block + 64 : NULL;
}

static void give(void *user, void *block) {
    (void)user;
    if (block) {
        size_t *whole = (size_t *)(void *)((char *)block - 64);
        taken -= *whole;
        free(whole);
    }
}

static void *take_again(void *user, void *old, size_t size) {
    void *block = take(user, size);
    if (block && old) {
        const size_t before = *(size_t *)(void *)((char *)old - 64);
        memcpy(block, old, before < size ? before : size);
        give(user, old);
    }
    return block;
}

/* Without a plan cache each call has a plan of its own. */
static void test_memory_without_a_plan_cache(void **state) {
    (void)state;
    enum { CALLS = 5000, MOST_BYTES = 65536 };
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&(bp_allocator){take, take_again, give, NULL}), BP_OK);
    assert_int_equal(bp_set("plan_cache.max_size", "0"), BP_OK);
    bp_record *record = start(1);
    multiply(3);
    multiply(4);
    const size_t before = taken;
    for (int i = 2; i < CALLS; i++) {
        multiply(3 + i % 2);
    }
    assert_true(taken < before + MOST_BYTES);
    expect_counts(record, 2, 1);
    assert_int_equal(plan_at(record, 0).runs, CALLS / 2);
    bp_record_release(record);
    assert_int_equal(bp_unset("plan_cache.max_size"), BP_OK);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

static void *multiply_often(void *unused) {
    (void)unused;
    double own[4] = {1, 2, 3, 4}, result[4];
    bp_view left, right;
    view(&left, own, 2, 2);
    view(&right, result, 2, 2);
    for (int i = 0; i < 500; i++) {
        if (bp_matmul(&left.tensor, &left.tensor, &right.tensor) != BP_OK) {
            return "failed";
        }
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    bp_record *record = start(0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, NULL), 0);
    }
    for (int i = 0; i < 200; i++) { /* reads and further records meanwhile */
        bp_recorded_plan row = {.struct_size = sizeof row};
        bp_record_plan_at(record, 0, &row);
        bp_record_release(start(3));
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    expect_counts(record, 1, 500 * THREADS);
    assert_int_equal(plan_at(record, 0).runs, 500 * THREADS);
    bool other = false;
    for (int i = 1; i < 500 * THREADS; i++) {
        other |= call_at(record, i).thread != call_at(record, 0).thread;
    }
    assert_true(other);
    bp_record_release(record);
}

static void test_arguments(void **state) {
    (void)state;
    bp_record *record = (bp_record *)(void *)a;
    assert_int_equal(bp_record_start(NULL, 0), BP_E_ARGUMENT);
    assert_int_equal(bp_record_start(&record, -1), BP_E_ARGUMENT);
    assert_null(record);
    bp_record_stop(NULL);
    bp_record_release(NULL);
    assert_int_equal(bp_record_left_out(NULL), 0);
    record = start(0);
    bp_recorded_plan row = {.struct_size = sizeof row};
    bp_recorded_call call = {.struct_size = sizeof call};
    assert_int_equal(bp_record_plan_at(NULL, 0, &row) + bp_record_call_at(NULL, 0, &call), 0);
    multiply(3);
    assert_int_equal(bp_record_plan_at(record, -1, &row) + bp_record_call_at(record, -1, &call), 0);
    assert_int_equal(bp_record_plan_at(record, 0, NULL) + bp_record_call_at(record, 0, NULL), 0);
    row.struct_size = 0;
    call.struct_size = 3;
    assert_int_equal(bp_record_plan_at(record, 0, &row) + bp_record_call_at(record, 0, &call), 0);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "record"));
    bp_record_release(record);
    assert_int_equal(bp_reset(), BP_OK);
}

/* With too little memory calls still run; a record leaves out what it cannot keep. */
static bp_status record_some(void) {
    bp_record *record;
    bp_status status = bp_record_start(&record, 0);
    if (status != BP_OK) {
        return status;
    }
    bp_view left, right, result;
    for (int i = 0; i < 80; i++) {
        view(&left, a, 1 + i % 3, N);
        view(&right, a, N, N);
        view(&result, b, 1 + i % 3, N);
        status = status == BP_OK ? bp_matmul(&left.tensor, &right.tensor, &result.tensor) : status;
    }
    bp_record_release(record);
    return status;
}

static void test_failing_allocations(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1); /* the search for libraries allocates, too */
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    test_exhausted(record_some);
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_LIBRARY_PATH");
}

int main(void) {
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 5;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_calls),
        cmocka_unit_test(test_fresh_plans_and_equal_rows),
        cmocka_unit_test(test_held_plans),
        cmocka_unit_test(test_parts_are_marked),
        cmocka_unit_test(test_first_call_without_a_key),
        cmocka_unit_test(test_failed_runs),
        cmocka_unit_test(test_limit_of_calls),
        cmocka_unit_test(test_many_plans),
        cmocka_unit_test(test_warnings_hold_no_record),
        cmocka_unit_test(test_record_that_an_interrupt_check_starts),
        cmocka_unit_test(test_memory_without_a_plan_cache),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
