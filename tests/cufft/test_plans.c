/* test_plans.c - plans of transforms on a CUDA device: what cuFFT is told, copies, workspaces, the order of a stream,
 * graphs, contexts and threads. */
#include "cufft/support_cufft.h"

#include <pthread.h>

static fft_case last_dims(int count) {
    return (fft_case){.call = {.struct_size = sizeof(bp_fft_call), .axis_count = count}};
}

/* A case, its plan, operands and a queue. */
typedef struct queued {
    fft_case c;
    bp_plan *plan;
    bp_operand operands[2];
    bp_queue *queue;
    bp_exec exec;
} queued;

static void begin_queued(queued *q, bp_fft_transform transform, bp_dtype dtype, const int64_t *shape) {
    *q = (queued){.c = last_dims(1), .queue = cuda_queue(0)};
    make_fft(&q->c, transform, dtype, 2, shape, TEST_COMPACT, TEST_COMPACT);
    q->plan = plan_fft(&q->c, "num_threads=1", q->operands);
    q->exec = (bp_exec){.struct_size = sizeof q->exec, .queue = q->queue};
}

static void end_queued(queued *q) {
    bp_plan_release(q->plan);
    bp_queue_release(q->queue);
    free_fft(&q->c);
}

/* Writes other random numbers to the input, in the order of the queue. The numbers stay as they are until it waits. */
static void write_input(queued *q) {
    const int64_t size = (int64_t)q->c.in.bytes;
    bp_view host, device;
    test_array_fill(&q->c.in, 1);
    test_array_open(&q->c.in);
    assert_ok(bp_view_init(&host, q->c.in.block, BP_U8, 1, &size, NULL));
    device.tensor = q->c.device_in.block->dl_tensor;
    device.tensor.shape = host.tensor.shape;
    device.tensor.strides = host.tensor.strides;
    assert_ok(bp_copy(&device.tensor, &host.tensor, q->queue));
}

static void expect_result(queued *q, const char *text) {
    reference_results made;
    assert_ok(bp_queue_wait(q->queue));
    assert_ok(reference_of_fft(&made, &q->c.call, &q->c.in.view.tensor, &q->c.out.view.tensor));
    get(&q->c.device_out);
    test_check_results(&made, text);
}

/* ---- Layouts ---- */

/* The library reads and writes the operands where it can. */
static void operands_are_not_copied(void **state) {
    static const struct {
        bp_fft_transform transform;
        bp_dtype dtype;
        int64_t in[3], out[3];
        bool read, written; /* directly */
    } cases[] = {
        {BP_FFT, BP_C64, {24, 6, 1}, {24, 6, 1}, true, true},
        {BP_FFT, BP_C64, {100, 8, 1}, {24, 6, 1}, true, true},   /* rows with gaps */
        {BP_FFT, BP_C128, {48, 12, 2}, {96, 16, 2}, true, true}, /* elements with gaps */
        {BP_FFT, BP_C64, {1, 5, 20}, {1, 5, 20}, true, true},    /* in the order of columns */
        {BP_FFT, BP_C64, {24, 1, 4}, {24, 6, 1}, false, true},   /* in another order than the result */
        {BP_FFT, BP_C64, {24, 6, 1}, {24, 1, 4}, false, true},   /* dimensions are sorted by the result */
        {BP_FFT, BP_C64, {0, 6, 1}, {24, 6, 1}, true, true},     /* a call for each item */
        {BP_FFT, BP_C64, {24, 2, 1}, {24, 6, 1}, false, true},   /* rows overlap */
        {BP_FFT, BP_C64, {24, -6, 1}, {24, 6, 1}, false, true},
        {BP_FFT, BP_C64, {24, 7, 2}, {24, 6, 1}, false, true}, /* no multiple */
        {BP_RFFT, BP_F32, {24, 6, 1}, {16, 4, 1}, true, true},
        {BP_RFFT, BP_F64, {25, 6, 1}, {16, 4, 1}, true, true}, /* items at odd elements are the library's */
        {BP_RFFT, BP_F32, {24, 6, 1}, {-16, 4, 1}, true, false},
        {BP_IRFFT, BP_C64, {16, 4, 1}, {24, 6, 1}, false, true}, /* cuFFT would overwrite the input */
        {BP_FFT, BP_F32, {24, 6, 1}, {24, 6, 1}, true, false},   /* the other half is filled in */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fft_case c = last_dims(2);
        char text[32];
        const bool from_half = cases[i].transform == BP_IRFFT;
        snprintf(text, sizeof text, "layout %d", (int)i);
        make_strided_fft(&c, cases[i].transform, cases[i].dtype, 3, I64(5, 4, from_half ? 4 : 6), cases[i].in,
                         cases[i].out, 0, 0);
        const int calls = the_cufft()->calls;
        check_fft(&c, text);
        assert_int_equal(the_cufft()->calls, calls + (cases[i].in[0] == 0 ? 5 : 1));
        const cufft_told *told = &the_cufft()->told;
        const size_t last = cases[i].in[0] == 0 ? (size_t)cases[i].out[0] * 4 * 8 : 0; /* of the last call */
        const bool read = told->from == (uint64_t)(uintptr_t)c.device_in.tensor.data + c.device_in.tensor.byte_offset;
        const bool written =
            told->to - last == (uint64_t)(uintptr_t)c.device_out.tensor.data + c.device_out.tensor.byte_offset;
        if (read != cases[i].read || written != cases[i].written) {
            fail_msg("%s: read %d, written %d", text, read, written);
        }
        free_fft(&c);
    }
}

/* Kernels of ours that a transform takes: to copy, and to scale where nothing is copied. */
static void kernels_are_few(void **state) {
    static const struct {
        bp_fft_transform transform;
        bp_dtype dtype;
        bp_fft_norm norm;
        int kernels;
    } cases[] = {{BP_FFT, BP_C64, BP_FFT_BACKWARD, 0},  {BP_IFFT, BP_C64, BP_FFT_BACKWARD, 1},
                 {BP_RFFT, BP_F64, BP_FFT_BACKWARD, 0}, {BP_RFFT, BP_F64, BP_FFT_ORTHO, 1},
                 {BP_IRFFT, BP_C64, BP_FFT_FORWARD, 1}, {BP_IRFFT, BP_C64, BP_FFT_BACKWARD, 1},
                 {BP_HFFT, BP_C128, BP_FFT_FORWARD, 1}, {BP_IHFFT, BP_F32, BP_FFT_BACKWARD, 1},
                 {BP_FFT, BP_F32, BP_FFT_ORTHO, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fft_case c = last_dims(1);
        char text[32];
        snprintf(text, sizeof text, "kernels %d", (int)i);
        c.call.norm = cases[i].norm;
        make_fft(&c, cases[i].transform, cases[i].dtype, 2, I64(3, 7), TEST_COMPACT, TEST_COMPACT);
        const int before = the_double()->kernels;
        check_fft(&c, text);
        assert_int_equal(the_double()->kernels, before + cases[i].kernels);
        free_fft(&c);
    }
}

/* What a plan does in addition to the library's calls is in its explanation. */
static void explanations(void **state) {
    (void)state;
    fft_case c = last_dims(2);
    make_strided_fft(&c, BP_IRFFT, BP_C64, 3, I64(5, 4, 4), I64(16, 4, 1), I64(24, 6, 1), 0, 0);
    assert_contains(explained_fft(&c, ""), "copies the input, which cuFFT overwrites");
    free_fft(&c);
    c = last_dims(2);
    make_strided_fft(&c, BP_FFT, BP_C64, 3, I64(5, 4, 6), I64(0, 6, 1), I64(24, 6, 1), 0, 0);
    assert_contains(explained_fft(&c, ""), "5 calls");
    free_fft(&c);
    c = last_dims(2);
    make_strided_fft(&c, BP_FFT, BP_F32, 3, I64(5, 4, 6), I64(24, 7, 2), I64(24, 6, 1), 0, 0);
    assert_contains(explained_fft(&c, ""), "copies the input; copies the result");
    free_fft(&c);
}

/* Nine dimensions take three plans, and the middle one runs once for each element of the first three or the last three.
 */
static void what_is_refused(void **state) {
    (void)state;
    const int64_t shape[] = {5, 5, 5, 2, 2, 2, 5, 5, 5};
    fft_case c = last_dims(9);
    make_fft(&c, BP_FFT, BP_C64, 9, shape, TEST_COMPACT, TEST_COMPACT);
    assert_int_equal(bp_fft_run(NULL, &c.call, &c.device_in.tensor, &c.device_out.tensor), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "the transform needs more than 64 calls");
    free_fft(&c);
}

/* ---- Workspaces ---- */

static void workspaces_of_the_caller(void **state) {
    (void)state;
    queued q;
    bp_plan_info info = {.struct_size = sizeof info};
    DLManagedTensorVersioned *block;
    begin_queued(&q, BP_IRFFT, BP_C64, I64(3, 51));
    assert_ok(bp_plan_describe(q.plan, &info));
    assert_int_equal(info.workspace_alignment, 256);
    assert_int_equal(info.workspace, 1280 + (3 * 100 * 16 + 255) / 256 * 256); /* the copy, and the library's */
    assert_ok(bp_tensor_empty_on(&block, cuda_place(0), BP_U8, 1, I64((int64_t)info.workspace + 256), NULL));
    q.exec.workspace = (bp_operand){block->dl_tensor.data, block->dl_tensor.byte_offset};
    q.exec.workspace_size = info.workspace;
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    expect_result(&q, "a workspace of the caller");
    q.exec.workspace.offset += 64;
    assert_int_equal(bp_execute(q.plan, q.operands, &q.exec), BP_E_ARGUMENT);
    free_tensor(block);
    end_queued(&q);
}

/* The last workspace of a block ends where its memory ends. */
static void workspaces_are_large_enough(void **state) {
    (void)state;
    queued q;
    bp_plan_info info = {.struct_size = sizeof info};
    CUdeviceptr block;
    begin_queued(&q, BP_FFT, BP_C128, I64(16, 16));
    assert_ok(bp_plan_describe(q.plan, &info));
    assert_int_equal(info.workspace, 0); /* a power of two, and no copy */
    end_queued(&q);
    begin_queued(&q, BP_FFT, BP_C128, I64(16, 15));
    assert_ok(bp_plan_describe(q.plan, &info));
    assert_true(info.workspace > 0);
    program_context(0);
    assert_int_equal(driver()->MemAlloc(&block, info.workspace), BP__CU_SUCCESS);
    q.exec.workspace = (bp_operand){(void *)(uintptr_t)block, 0};
    q.exec.workspace_size = info.workspace;
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    expect_result(&q, "a workspace");
    assert_int_equal(driver()->MemFree(block), BP__CU_SUCCESS);
    end_queued(&q);
}

/* ---- Streams ---- */

static void transforms_run_in_the_order_of_the_stream(void **state) {
    static const struct {
        bp_fft_transform transform;
        bp_dtype dtype;
    } cases[] = {{BP_FFT, BP_C64}, {BP_IFFT, BP_F32}, {BP_RFFT, BP_F64}, {BP_HFFT, BP_C64}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        queued q;
        begin_queued(&q, cases[i].transform, cases[i].dtype, I64(3, 9));
        const int run = the_cufft()->run;
        the_double()->open_gate(false);
        write_input(&q); /* nothing is written yet */
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        assert_int_equal(the_cufft()->run, run);
        the_double()->open_gate(true);
        expect_result(&q, "behind a gate");
        assert_int_equal(the_cufft()->run, run + 1);
        end_queued(&q);
    }
}

static void streams_of_the_program(void **state) {
    (void)state;
    queued q;
    bp_queue *queues[2];
    begin_queued(&q, BP_FFT, BP_C64, I64(3, 9));
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
    end_queued(&q);
}

/* Releases the plan, which the cache holds, too, and bp_last_plan() until another one runs. */
static void release_everywhere(queued *q) {
    queued other;
    bp_plan_release(q->plan);
    q->plan = NULL;
    begin_queued(&other, BP_FFT, BP_C64, I64(1, 2));
    assert_ok(bp_execute(other.plan, other.operands, &other.exec));
    expect_result(&other, "another transform");
    end_queued(&other);
    assert_ok(bp_device_fft_plan_cache_clear(cuda_place(0)));
}

/* A graph still runs when its plan was released. */
static void transforms_are_captured(void **state) {
    (void)state;
    queued q;
    bp_queue_graph *graph;
    begin_queued(&q, BP_IRFFT, BP_C64, I64(3, 6));
    assert_ok(bp_queue_wait(q.queue));
    const int run = the_cufft()->run;
    assert_ok(bp_queue_capture_begin(q.queue));
    assert_ok(bp_execute(q.plan, q.operands, &q.exec));
    assert_ok(bp_queue_capture_end(&graph, q.queue));
    assert_int_equal(the_cufft()->run, run);
    for (int i = 0; i < 3; i++) {
        write_input(&q);
        assert_ok(bp_queue_graph_launch(graph, q.queue));
        expect_result(&q, "a graph");
        release_everywhere(&q);
    }
    assert_int_equal(the_cufft()->run, run + 6);
    bp_queue_graph_release(graph);
    end_queued(&q);
}

/* Other addresses need a block, which a graph may not have. */
static void captures_need_aligned_operands(void **state) {
    (void)state;
    fft_case c = last_dims(1);
    bp_operand operands[2];
    bp_queue *queue = cuda_queue(0);
    bp_queue_graph *graph = NULL;
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    make_strided_fft(&c, BP_RFFT, BP_F32, 2, I64(3, 6), I64(6, 1), I64(4, 1), 4, 0);
    bp_plan *plan = plan_fft(&c, "num_threads=1", operands);
    assert_ok(bp_queue_capture_begin(queue));
    assert_fails(bp_execute(plan, operands, &exec), BP_E_UNSUPPORTED, "the address of the input is no multiple of 8");
    if (bp_queue_capture_end(&graph, queue) == BP_OK) {
        bp_queue_graph_release(graph);
    }
    assert_ok(bp_execute(plan, operands, &exec));
    assert_ok(bp_queue_wait(queue));
    bp_plan_release(plan);
    bp_queue_release(queue);
    free_fft(&c);
}

/* ---- Devices and threads ---- */

/* Nothing changes the program's current context: none, or the one of another device. */
static void the_current_context_stays(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++) {
        CUcontext expected = other ? program_context(1) : NULL, found;
        queued q;
        driver()->CtxSetCurrent(expected);
        begin_queued(&q, BP_IRFFT, BP_C128, I64(3, 6));
        assert_ok(bp_execute(q.plan, q.operands, &q.exec));
        expect_result(&q, "another context");
        end_queued(&q);
        assert_int_equal(driver()->CtxGetCurrent(&found), BP__CU_SUCCESS);
        assert_ptr_equal(found, expected);
        driver()->CtxSetCurrent(NULL);
    }
}

typedef struct worker {
    pthread_t thread;
    bp_plan *plan;
    queued own; /* operands and a queue */
} worker;

static void *transform(void *opaque) {
    worker *w = opaque;
    for (int i = 0; i < 10; i++) {
        write_input(&w->own);
        assert_ok(bp_execute(w->plan, w->own.operands, &w->own.exec));
        expect_result(&w->own, "a thread");
    }
    return NULL;
}

static void threads_share_a_plan(void **state) {
    enum { THREADS = 4 };
    static worker workers[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        begin_queued(&workers[i].own, BP_IRFFT, BP_C64, I64(4, 8));
        workers[i].plan = workers[0].own.plan;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, transform, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        end_queued(&workers[i].own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operands_are_not_copied, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(kernels_are_few, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(explanations, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(what_is_refused, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(workspaces_of_the_caller, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(workspaces_are_large_enough, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(transforms_run_in_the_order_of_the_stream, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(streams_of_the_program, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(transforms_are_captured, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(captures_need_aligned_operands, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(the_current_context_stays, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(threads_share_a_plan, begin_cufft, end_cufft),
    };
    return cmocka_run_group_tests_name("plans", tests, start_cufft, stop_cufft);
}
