/* test_graphs.c - captures of CUDA streams, by the library and by the program, and launches of graphs. */
#include "cuda/support_cuda.h"

#include <pthread.h>

enum { COUNT = 4096 };

typedef struct fixture {
    DLManagedTensorVersioned *one, *other, *pinned;
    bp_queue *queue;
} fixture;

static fixture make_fixture(void) {
    fixture f = {.one = cuda_bytes(0, COUNT, 1), .other = cuda_bytes(0, COUNT, 0), .queue = cuda_queue(0)};
    assert_ok(bp_tensor_pinned(&f.pinned, cuda_place(0), BP_U8, 1, &(int64_t){COUNT}));
    memset(f.pinned->dl_tensor.data, 5, COUNT);
    return f;
}

static void free_fixture(fixture *f) {
    assert_ok(bp_device_wait(cuda_place(0)));
    free_tensor(f->one);
    free_tensor(f->other);
    free_tensor(f->pinned);
    bp_queue_release(f->queue);
}

/* Captures the copies host -> one -> other. */
static bp_queue_graph *capture_copies(fixture *f) {
    bp_queue_graph *graph = NULL;
    assert_ok(bp_queue_capture_begin(f->queue));
    assert_ok(bp_copy(&f->one->dl_tensor, &f->pinned->dl_tensor, f->queue));
    assert_ok(bp_copy(&f->other->dl_tensor, &f->one->dl_tensor, f->queue));
    assert_ok(bp_queue_capture_end(&graph, f->queue));
    return graph;
}

static void launches_run_the_commands(void **state) {
    (void)state;
    fixture f = make_fixture();
    bp_queue_graph *graph = capture_copies(&f);
    expect_bytes(f.other, 0); /* nothing has run */
    for (uint8_t i = 6; i < 12; i++) {
        memset(f.pinned->dl_tensor.data, i, COUNT);
        assert_ok(bp_queue_graph_launch(graph, f.queue));
        assert_ok(bp_queue_wait(f.queue));
        expect_bytes(f.other, i);
    }
    bp_queue_graph_release(graph);
    free_fixture(&f);
}

/* A launch begins after the graph's earlier launches, on any queue. A graph may be released while it runs. */
static void a_graph_may_be_released_while_it_runs(void **state) {
    (void)state;
    fixture f = make_fixture();
    bp_queue *second = cuda_queue(0);
    the_double()->longest_delay_us = 3000;
    for (int i = 0; i < 10; i++) {
        bp_queue_graph *graph = capture_copies(&f);
        the_double()->open_gate(false);
        assert_ok(bp_queue_graph_launch(graph, f.queue));
        assert_ok(bp_queue_graph_launch(graph, second));
        bp_queue_graph_release(graph);
        the_double()->open_gate(true);
        assert_ok(bp_queue_wait(second));
    }
    expect_bytes(f.other, 5);
    bp_queue_release(second);
    free_fixture(&f);
}

static void strided_copies_are_captured(void **state) {
    (void)state;
    enum { ROWS = 40, COLUMNS = 50 };
    fixture f = make_fixture();
    bp_queue_graph *graph = NULL;
    DLManagedTensorVersioned *matrix, *turned, *direct, *host;
    const int64_t shape[] = {ROWS, COLUMNS}, columns[] = {1, ROWS};
    assert_ok(bp_tensor_empty_on(&matrix, cuda_place(0), BP_F32, 2, shape, NULL));
    assert_ok(bp_tensor_empty_on(&turned, cuda_place(0), BP_F32, 2, shape, columns));
    assert_ok(bp_tensor_empty_on(&direct, cuda_place(0), BP_F32, 2, shape, columns));
    assert_ok(bp_tensor_pinned(&host, cuda_place(0), BP_F32, 2, shape));
    float *values = host->dl_tensor.data, back[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (float)i;
    }
    assert_ok(bp_queue_capture_begin(f.queue));
    assert_ok(bp_copy(&matrix->dl_tensor, &host->dl_tensor, f.queue));
    assert_ok(bp_copy(&turned->dl_tensor, &matrix->dl_tensor, f.queue));
    assert_ok(bp_copy(&direct->dl_tensor, &host->dl_tensor, f.queue)); /* without a temporary block */
    assert_ok(bp_queue_capture_end(&graph, f.queue));
    assert_ok(bp_queue_graph_launch(graph, f.queue));
    assert_ok(bp_queue_wait(f.queue));
    for (int which = 0; which < 2; which++) {
        read_bytes(back, which ? &direct->dl_tensor : &turned->dl_tensor, NULL);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            assert_true(back[i] == (float)i);
        }
    }
    bp_queue_graph_release(graph);
    free_tensor(matrix);
    free_tensor(turned);
    free_tensor(direct);
    free_tensor(host);
    free_fixture(&f);
}

static void *end_capture(void *opaque) {
    bp_queue_graph *graph = NULL;
    assert_ok(bp_queue_capture_end(&graph, ((fixture *)opaque)->queue));
    return graph;
}

static void a_capture_may_end_in_another_thread(void **state) {
    (void)state;
    fixture f = make_fixture();
    pthread_t thread;
    void *graph = NULL;
    assert_ok(bp_queue_capture_begin(f.queue));
    assert_ok(bp_copy(&f.one->dl_tensor, &f.pinned->dl_tensor, f.queue));
    assert_int_equal(pthread_create(&thread, NULL, end_capture, &f), 0);
    pthread_join(thread, &graph);
    assert_non_null(graph);
    assert_ok(bp_queue_graph_launch(graph, f.queue));
    assert_ok(bp_queue_wait(f.queue));
    expect_bytes(f.one, 5);
    bp_queue_graph_release(graph);
    free_fixture(&f);
}

static void the_default_stream_cannot_be_captured(void **state) {
    (void)state;
    bp_queue *queue;
    assert_ok(bp_queue_wrap(&queue, cuda_place(0), NULL));
    assert_fails(bp_queue_capture_begin(queue), BP_E_UNSUPPORTED, "the legacy default stream cannot be captured");
    bp_queue_release(queue);
}

/* What the library does during a capture of the program, in the mode that forbids most, does not end it. */
static void use_other_queues(fixture *f) {
    static uint8_t host[COUNT];
    DLManagedTensorVersioned *fresh, *pinned;
    bp_queue *other = cuda_queue(0);
    int64_t count = COUNT + 12345;
    assert_ok(bp_tensor_empty_on(&fresh, cuda_place(0), BP_U8, 1, &count, NULL)); /* the driver allocates */
    assert_ok(bp_tensor_pinned(&pinned, cuda_place(0), BP_U8, 1, &count));
    read_bytes(host, &f->other->dl_tensor, other);
    assert_ok(bp_queue_wait(other));
    assert_ok(bp_tensor_export(fresh));
    free_tensor(fresh);
    free_tensor(pinned);
    assert_ok(bp_device_trim(cuda_place(0), 0));
    bp_queue_release(other);
}

static void a_capture_of_the_program_goes_on(void **state) {
    (void)state;
    fixture f = make_fixture();
    bp_queue *queue;
    CUgraph graph = NULL;
    CUgraphExec run = NULL;
    program_context(0);
    CUstream stream = program_stream(BP__CU_STREAM_NON_BLOCKING);
    assert_ok(bp_queue_wrap(&queue, cuda_place(0), stream));
    for (CUstreamCaptureMode mode = BP__CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= BP__CU_STREAM_CAPTURE_MODE_RELAXED;
         mode++) {
        assert_int_equal(driver()->StreamBeginCapture(stream, mode), BP__CU_SUCCESS);
        assert_ok(bp_copy(&f.one->dl_tensor, &f.pinned->dl_tensor, queue));
        use_other_queues(&f);
        assert_fails(bp_queue_wait(queue), BP_E_UNSUPPORTED, "captured");
        assert_fails(bp_queue_capture_begin(f.queue), BP_E_BUSY, "captured already");
        assert_ok(bp_copy(&f.other->dl_tensor, &f.one->dl_tensor, queue));
        assert_int_equal(driver()->StreamEndCapture(stream, &graph), BP__CU_SUCCESS);
        assert_int_equal(driver()->GraphInstantiate(&run, graph, 0), BP__CU_SUCCESS);
        memset(f.pinned->dl_tensor.data, 20 + (int)mode, COUNT);
        assert_int_equal(driver()->GraphLaunch(run, stream), BP__CU_SUCCESS);
        assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
        expect_bytes(f.other, (uint8_t)(20 + mode));
        assert_int_equal(driver()->GraphExecDestroy(run), BP__CU_SUCCESS);
        assert_int_equal(driver()->GraphDestroy(graph), BP__CU_SUCCESS);
    }
    bp_queue_release(queue);
    assert_ok(bp_device_wait(cuda_place(0)));
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    free_fixture(&f);
    assert_ok(bp_reset()); /* frees what was withheld for the program's graph */
}

/* The program breaks its own capture; ours tells so, and the queue can be used again. */
static void an_invalidated_capture_has_no_graph(void **state) {
    (void)state;
    fixture f = make_fixture();
    bp_queue_graph *graph = NULL;
    program_context(0);
    assert_ok(bp_queue_capture_begin(f.queue));
    assert_int_equal(driver()->StreamSynchronize(bp_queue_native(f.queue)), BP__CU_STREAM_CAPTURE_UNSUPPORTED);
    assert_fails(bp_copy(&f.one->dl_tensor, &f.pinned->dl_tensor, f.queue), BP_E_UNSUPPORTED, "(901)");
    assert_fails(bp_queue_capture_end(&graph, f.queue), BP_E_UNSUPPORTED,
                 "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
    assert_null(graph);
    assert_ok(bp_copy(&f.one->dl_tensor, &f.pinned->dl_tensor, f.queue));
    assert_ok(bp_queue_wait(f.queue));
    expect_bytes(f.one, 5);
    free_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_run_the_commands, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_graph_may_be_released_while_it_runs, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(strided_copies_are_captured, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_capture_may_end_in_another_thread, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(the_default_stream_cannot_be_captured, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_capture_of_the_program_goes_on, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(an_invalidated_capture_has_no_graph, begin_cuda, end_cuda),
    };
    return cmocka_run_group_tests_name("graphs", tests, start_cuda, stop_cuda);
}
