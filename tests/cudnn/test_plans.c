/* test_plans.c - plans of convolutions on a CUDA device: workspaces, the order of a stream, streams of the program,
 * graphs, contexts and threads. */
#include "cudnn/support_cudnn.h"

#include <pthread.h>

/* A case, its plan, operands and a queue. */
typedef struct queued {
    conv_trial t;
    bp_plan *plan;
    bp_operand operands[4];
    bp_queue *queue;
    bp_exec exec;
} queued;

/* A convolution for which an engine with a workspace is taken; `n` items. */
static void begin_queued(queued *q, int64_t n) {
    const conv_case c = {.dtype = BP_F32,
                         .ndim = 2,
                         .batch = n,
                         .in_channels = 3,
                         .out_channels = 2,
                         .in = {6, 5},
                         .kernel = {2, 2},
                         .layout = {[CONV_OUTPUT] = TEST_CHANNELS_LAST}};
    *q = (queued){.queue = cuda_queue(0)};
    make_conv(&q->t, &c);
    q->plan = plan_conv(&q->t, EXACT, q->operands);
    q->exec = (bp_exec){.struct_size = sizeof q->exec, .queue = q->queue};
}

static void end_queued(queued *q) {
    bp_plan_release(q->plan);
    bp_queue_release(q->queue);
    free_conv(&q->t);
}

/* Writes other random numbers to the input, in the order of the queue. The numbers stay as they are until it waits. */
static void write_input(queued *q) {
    test_array *input = &q->t.host[CONV_INPUT];
    const int64_t size = (int64_t)input->bytes;
    bp_view host, device;
    test_array_fill(input, 1);
    test_array_open(input);
    assert_ok(bp_view_init(&host, input->block, BP_U8, 1, &size, NULL));
    device.tensor = q->t.device[CONV_INPUT].block->dl_tensor;
    device.tensor.shape = host.tensor.shape;
    device.tensor.strides = host.tensor.strides;
    assert_ok(bp_copy(&device.tensor, &host.tensor, q->queue));
}

static void expect_result(queued *q) {
    assert_ok(bp_queue_wait(q->queue));
    expect_conv(&q->t);
}

/* ---- Workspaces ---- */

/* The copy of the result, and the library's part behind it. The last workspace ends where its memory ends. */
static void workspaces_are_large_enough(void **state) {
    (void)state;
    queued q;
    bp_plan_info info = {.struct_size = sizeof info};
    CUdeviceptr block;
    begin_queued(&q, 2);
    assert_ok(bp_plan_describe(q.plan, &info));
    assert_int_equal(info.workspace_alignment, 256);
    assert_int_equal(info.workspace, 512 + 3 * 2 * 3 * 6 * 5);
    program_context(0);
    assert_int_equal(driver()->MemAlloc(&block, info.workspace), BP__CU_SUCCESS);
    q.exec.workspace = (bp_operand){(void *)(uintptr_t)block, 0};
    q.exec.workspace_size = info.workspace;
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    assert_int_equal(the_cudnn()->engine, CUDNN_ENGINE_PLAIN);
    expect_result(&q);
    q.exec.workspace.offset += 64;
    assert_int_equal(bp_execute(q.plan, q.operands, &q.exec), BP_E_ARGUMENT);
    assert_int_equal(driver()->MemFree(block), BP__CU_SUCCESS);
    end_queued(&q);
}

/* An engine whose workspace is more than half of the device's memory is not taken. */
static void engines_that_need_too_much(void **state) {
    static int64_t in[] = {20000, 7, 9, 9}, out[] = {20000, 1, 9, 9};
    const conv_case c = {
        .dtype = BP_F64, .ndim = 2, .batch = 1, .in_channels = 7, .out_channels = 1, .in = {9, 9}, .kernel = {1, 1}};
    (void)state;
    conv_trial t;
    bp_plan *plan;
    bp_plan_info info = {.struct_size = sizeof info};
    make_conv(&t, &c);
    DLTensor input = *t.call.input, output = *t.call.output;
    for (int64_t batch = 10000; batch <= 20000; batch += 10000) {
        in[0] = out[0] = batch;
        input.shape = in;
        output.shape = out;
        input.data = output.data = NULL; /* planning needs no memory */
        t.call.input = &input;
        t.call.output = &output;
        assert_ok(bp_conv_plan(&plan, NULL, &t.call));
        assert_ok(bp_plan_describe(plan, &info));
        assert_int_equal(info.workspace, batch == 10000 ? 3 * 10000 * 7 * 9 * 9 : 0);
        bp_plan_release(plan);
    }
    free_conv(&t);
}

/* ---- Streams ---- */

static void convolutions_run_in_the_order_of_the_stream(void **state) {
    (void)state;
    queued q;
    begin_queued(&q, 3);
    const int run = the_cudnn()->run;
    the_double()->open_gate(false);
    write_input(&q); /* nothing is written yet */
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    assert_int_equal(the_cudnn()->run, run);
    the_double()->open_gate(true);
    expect_result(&q);
    assert_int_equal(the_cudnn()->run, run + 1);
    end_queued(&q);
}

static void streams_of_the_program(void **state) {
    (void)state;
    queued q;
    bp_queue *queues[2];
    begin_queued(&q, 3);
    program_context(0);
    CUstream stream = program_stream(1);
    assert_ok(bp_queue_wrap(&queues[0], cuda_place(0), stream));
    assert_ok(bp_queue_wrap(&queues[1], cuda_place(0), NULL)); /* the default stream */
    bp_queue *const own = q.queue;
    for (int i = 0; i < 2; i++) {
        q.queue = q.exec.queue = queues[i];
        write_input(&q);
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        expect_result(&q);
        bp_queue_release(queues[i]);
    }
    q.queue = own;
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    end_queued(&q);
}

/* ---- Graphs ---- */

/* The caches have the plan too. */
static void release_everywhere(queued *q) {
    bp_plan_release(q->plan);
    q->plan = NULL;
    assert_ok(bp_plan_cache_clear());
    assert_ok(bp_device_plan_cache_clear(cuda_place(0)));
}

/* A graph runs after its plan was released. */
static void convolutions_are_captured(void **state) {
    (void)state;
    queued q;
    bp_queue_graph *graph;
    begin_queued(&q, 4);
    bp_plan_info info = {.struct_size = sizeof info};
    DLManagedTensorVersioned *block;
    assert_ok(bp_plan_describe(q.plan, &info));
    const int64_t size = (int64_t)info.workspace;
    assert_ok(bp_tensor_empty_on(&block, cuda_place(0), BP_U8, 1, &size, NULL));
    q.exec.workspace = (bp_operand){block->dl_tensor.data, block->dl_tensor.byte_offset};
    q.exec.workspace_size = info.workspace;
    assert_ok(bp_queue_capture_begin(q.queue));
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    assert_ok(bp_queue_capture_end(&graph, q.queue));
    const int run = the_cudnn()->run;
    release_everywhere(&q);
    for (int i = 0; i < 3; i++) {
        write_input(&q);
        assert_ok(bp_queue_graph_launch(graph, q.queue));
        expect_result(&q);
    }
    assert_int_equal(the_cudnn()->run, run + 3);
    bp_queue_graph_release(graph);
    free_tensor(block);
    bp_queue_release(q.queue);
    free_conv(&q.t);
}

/* ---- Contexts and threads ---- */

static void the_current_context_stays(void **state) {
    (void)state;
    queued q;
    CUcontext current = NULL;
    const CUcontext other = program_context(1);
    begin_queued(&q, 5);
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    expect_result(&q);
    assert_int_equal(driver()->CtxGetCurrent(&current), BP__CU_SUCCESS);
    assert_ptr_equal(current, other);
    end_queued(&q);
    driver()->CtxSetCurrent(NULL);
}

typedef struct worker {
    pthread_t thread;
    bp_plan *plan;
    queued own; /* operands and a queue */
} worker;

static void *convolve(void *opaque) {
    worker *w = opaque;
    for (int i = 0; i < 10; i++) {
        write_input(&w->own);
        assert_ok(bp_execute(w->plan, w->own.operands, &w->own.exec));
        expect_result(&w->own);
    }
    return NULL;
}

static void threads_share_a_plan(void **state) {
    enum { THREADS = 4 };
    static worker workers[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        begin_queued(&workers[i].own, 6);
        workers[i].plan = workers[0].own.plan;
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, convolve, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        end_queued(&workers[i].own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workspaces_are_large_enough, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(engines_that_need_too_much, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(convolutions_run_in_the_order_of_the_stream, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(streams_of_the_program, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(convolutions_are_captured, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(the_current_context_stays, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(threads_share_a_plan, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("plans", tests, start_cudnn, stop_cudnn);
}
