/* test_plans.c - plans of linear algebra on a CUDA device: what cuSOLVER is told, workspaces, the order of a stream,
 * graphs, contexts and threads. */
#include "cusolver/support_cusolver.h"

#include "reference/linalg.h"

#include <pthread.h>

/* A case, its plan, operands and a queue. */
typedef struct queued {
    linalg_case c;
    bp_plan *plan;
    bp_operand operands[CASE_INPUTS + CASE_OUTPUTS];
    bp_queue *queue;
    bp_exec exec;
} queued;

/* A plan with info, which no run is examined for. */
static void begin_queued(queued *q, bp_op op, int64_t n) {
    *q = (queued){.c = new_case(op, BP_F64), .queue = cuda_queue(0)};
    make_definite(add_input(&q->c, 3, I64(3, n, n), TEST_COMPACT));
    if (op == BP_OP_SOLVE) {
        add_input(&q->c, 3, I64(3, n, 2), TEST_COMPACT);
    }
    put_case(&q->c, TEST_COMPACT, 0);
    q->plan = plan_case(&q->c, q->operands);
    q->exec = (bp_exec){.struct_size = sizeof q->exec, .queue = q->queue};
}

static void end_queued(queued *q) {
    bp_plan_release(q->plan);
    bp_queue_release(q->queue);
    free_case(&q->c);
}

/* Writes other random numbers to the input, in the order of the queue. The numbers stay as they are until it waits. */
static void write_input(queued *q) {
    test_array_fill(&q->c.in[0], 1);
    make_definite(&q->c.in[0]);
    test_array_open(&q->c.in[0]);
    write_bytes(&q->c.device_in[0].block->dl_tensor, q->c.in[0].block, q->queue);
}

static void expect_result(queued *q, const char *text) {
    double error;
    assert_ok(bp_queue_wait(q->queue));
    for (int i = 0; i < CASE_OUTPUTS; i++) {
        if (q->c.out[i].memory) {
            get(&q->c.device_out[i]);
        }
    }
    assert_ok(reference_linalg_error(host_call(&q->c), &error));
    if (!(error <= reference_linalg_bound(host_call(&q->c)))) {
        fail_msg("%s: the error is %g", text, error);
    }
}

/* ---- What the library is told ---- */

static void calls_and_kernels(void **state) {
    static const struct {
        bp_op op;
        int calls, kernels; /* of an item, and of all */
    } cases[] = {{BP_OP_CHOLESKY, 1, 3}, {BP_OP_LU_FACTOR, 1, 5}, {BP_OP_INV, 2, 5}, {BP_OP_SOLVE, 2, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        queued q;
        begin_queued(&q, cases[i].op, 5);
        const int calls = the_cusolver()->calls, kernels = the_double()->kernels;
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        assert_int_equal(the_cusolver()->calls, calls + 3 * cases[i].calls);
        expect_result(&q, "calls");
        assert_int_equal(the_double()->kernels, kernels + cases[i].kernels);
        end_queued(&q);
    }
}

static void explanations(void **state) {
    (void)state;
    queued q;
    begin_queued(&q, BP_OP_CHOLESKY, 5);
    assert_contains(explained_case(&q.c, ""), "potrf");
    assert_contains(explained_case(&q.c, ""), "chosen    cusolver");
    const test_array info = q.c.out[1];
    q.c.out[1] = (test_array){.memory = NULL};
    assert_contains(explained_case(&q.c, ""), "failing items are reported when the queue is waited for");
    q.c.out[1] = info;
    end_queued(&q);
    linalg_case c = new_case(BP_OP_EIG, BP_F64);
    add_input(&c, 2, I64(3, 3), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    const bp_status status = run_case(&c);
    free_case(&c);
    assert_fails(status, BP_E_NO_CANDIDATE, "offers eig");
}

/* ---- Workspaces ---- */

/* The workspace of the caller may be anywhere, and ends where its memory ends. */
static void workspaces(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        queued q;
        bp_plan_info info = {.struct_size = sizeof info};
        CUdeviceptr block;
        the_cusolver()->host_bytes = i % 2 ? 100 : 0;
        begin_queued(&q, i / 2 ? BP_OP_SOLVE : BP_OP_CHOLESKY, 16 + i);
        assert_ok(bp_plan_describe(q.plan, &info));
        assert_int_equal(info.workspace_alignment, 256);
        program_context(0);
        assert_int_equal(driver()->MemAlloc(&block, info.workspace), BP__CU_SUCCESS);
        q.exec.workspace = (bp_operand){(void *)(uintptr_t)block, 0};
        q.exec.workspace_size = info.workspace;
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        expect_result(&q, "a workspace");
        assert_int_equal(driver()->MemFree(block), BP__CU_SUCCESS);
        end_queued(&q);
    }
    driver()->CtxSetCurrent(NULL);
}

/* ---- Streams ---- */

static void runs_are_in_the_order_of_the_stream(void **state) {
    static const bp_op ops[] = {BP_OP_CHOLESKY, BP_OP_INV, BP_OP_SOLVE, BP_OP_LU_FACTOR};
    (void)state;
    for (int i = 0; i < 4; i++) {
        queued q;
        begin_queued(&q, ops[i], 5);
        const int run = the_cusolver()->run;
        the_double()->open_gate(false);
        write_input(&q); /* nothing is written yet */
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        assert_int_equal(the_cusolver()->run, run);
        the_double()->open_gate(true);
        expect_result(&q, "behind a gate");
        assert_true(the_cusolver()->run > run);
        end_queued(&q);
    }
}

/* A run that is examined does not wait for the commands before it. */
static void examined_runs_do_not_wait(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_CHOLESKY, BP_F32);
    make_definite(add_input(&c, 2, I64(5, 5), TEST_COMPACT));
    put_case(&c, TEST_COMPACT, 2);
    assert_ok(run_case(&c));
    the_double()->open_gate(false);
    const int run = the_cusolver()->run;
    assert_ok(bp_linalg_run(NULL, device_call(&c)));
    assert_int_equal(the_cusolver()->run, run);
    the_double()->open_gate(true);
    check_case(&c, "after a gate");
    free_case(&c);
}

static void streams_of_the_program(void **state) {
    (void)state;
    queued q;
    bp_queue *queues[2];
    begin_queued(&q, BP_OP_INV, 4);
    program_context(0);
    CUstream stream = program_stream(1);
    assert_ok(bp_queue_wrap(&queues[0], cuda_place(0), stream));
    assert_ok(bp_queue_wrap(&queues[1], cuda_place(0), NULL)); /* the default stream */
    bp_queue *const own = q.queue;
    for (int i = 0; i < 2; i++) {
        q.queue = q.exec.queue = queues[i];
        write_input(&q);
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        expect_result(&q, "a stream of the program");
        bp_queue_release(queues[i]);
    }
    q.queue = own;
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    end_queued(&q);
}

/* A graph still runs when its plan was released. */
static void runs_are_captured(void **state) {
    (void)state;
    queued q;
    bp_queue_graph *graph;
    begin_queued(&q, BP_OP_SOLVE, 6);
    assert_ok(bp_queue_wait(q.queue));
    const int run = the_cusolver()->run;
    assert_ok(bp_queue_capture_begin(q.queue));
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    assert_ok(bp_queue_capture_end(&graph, q.queue));
    assert_int_equal(the_cusolver()->run, run);
    bp_plan_release(q.plan);
    q.plan = NULL;
    for (int i = 0; i < 3; i++) {
        write_input(&q);
        assert_ok(bp_queue_graph_launch(graph, q.queue));
        expect_result(&q, "a graph");
    }
    assert_int_equal(the_cusolver()->run, run + 18);
    bp_queue_graph_release(graph);
    end_queued(&q);
}

/* A graph would use the memory of the host when the plan may be gone. */
static void captures_have_no_memory_of_the_host(void **state) {
    (void)state;
    queued q;
    bp_queue_graph *graph = NULL;
    the_cusolver()->host_bytes = 64;
    begin_queued(&q, BP_OP_CHOLESKY, 7);
    assert_ok(bp_queue_capture_begin(q.queue));
    assert_fails(bp_execute(q.plan, q.operands, &q.exec), BP_E_UNSUPPORTED,
                 "cusolver: cuSOLVER needs memory of the host for this operation, so that it cannot be captured");
    if (bp_queue_capture_end(&graph, q.queue) == BP_OK) {
        bp_queue_graph_release(graph);
    }
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    expect_result(&q, "after a capture");
    end_queued(&q);
}

/* ---- Devices and threads ---- */

/* Nothing changes the program's current context: none, or the one of another device. */
static void the_current_context_stays(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++) {
        CUcontext expected = other ? program_context(1) : NULL, found;
        queued q;
        driver()->CtxSetCurrent(expected);
        begin_queued(&q, BP_OP_INV, 3);
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        expect_result(&q, "another context");
        end_queued(&q);
        assert_int_equal(driver()->CtxGetCurrent(&found), BP__CU_SUCCESS);
        assert_ptr_equal(found, expected);
        driver()->CtxSetCurrent(NULL);
    }
}

/* Each device has a handle and kernels of its own, and reports of its own. */
static void two_devices(void **state) {
    (void)state;
    linalg_case cases[2];
    for (int i = 0; i < 2; i++) {
        cases[i] = new_case(BP_OP_CHOLESKY, BP_F64);
        cases[i].device = i;
        make_definite(add_input(&cases[i], 3, I64(2, 4, 4), TEST_COMPACT));
        put_case(&cases[i], TEST_COMPACT, 2);
    }
    for (int i = 0; i < 4; i++) {
        check_case(&cases[i % 2], i % 2 ? "cuda:1" : "cuda:0");
    }
    test_array_set(&cases[1].in[0], 0, -1);
    write_inputs(&cases[1]);
    assert_ok(bp_linalg_run(NULL, device_call(&cases[1])));
    assert_ok(run_case(&cases[0]));
    assert_int_equal(bp_device_wait(cuda_place(1)), BP_E_NOT_POSITIVE_DEFINITE);
    free_case(&cases[0]);
    free_case(&cases[1]);
}

typedef struct worker {
    pthread_t thread;
    bp_plan *plan;
    queued own; /* operands and a queue */
} worker;

static void *invert(void *opaque) {
    worker *w = opaque;
    for (int i = 0; i < 10; i++) {
        write_input(&w->own);
        assert_ok(bp_execute(w->plan, w->own.operands, &w->own.exec));
        assert_ok(bp_queue_wait(w->own.queue));
    }
    return NULL;
}

static void threads_share_a_plan(void **state) {
    enum { THREADS = 4 };
    static worker workers[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        begin_queued(&workers[i].own, BP_OP_INV, 4);
        workers[i].plan = workers[0].own.plan;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, invert, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        expect_result(&workers[i].own, "a thread");
        end_queued(&workers[i].own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_and_kernels, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(explanations, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(workspaces, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(runs_are_in_the_order_of_the_stream, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(examined_runs_do_not_wait, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(streams_of_the_program, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(runs_are_captured, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(captures_have_no_memory_of_the_host, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(the_current_context_stays, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(two_devices, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(threads_share_a_plan, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("plans", tests, start_cusolver, stop_cusolver);
}
