/* test_plans.c - plans of products on a CUDA device: algorithms that stay, alignments, workspaces, the order of a
 * stream, graphs, threads and children of fork. */
#include "cublas/support_squares.h"

#include <pthread.h>

/* ---- Algorithms and workspaces ---- */

static void a_plan_keeps_its_algorithm(void **state) {
    (void)state;
    matrices *m = make_matrices(0, 0);
    bp_plan *plan = make_plan(m, "num_threads=1");
    write_matrices(m, NULL);
    const int lists = the_lt()->lists;
    for (int i = 0; i < 5; i++) {
        assert_ok(bp_execute(plan, m->operands, NULL));
        assert_int_equal(the_lt()->told.algorithm, 67);
    }
    assert_int_equal(the_lt()->lists, lists);
    expect_product(m, NULL);
    bp_plan_release(plan);
    free_matrices(m);
}

/* Operands that are aligned to less than usual get an algorithm of their own, once. */
static void alignments(void **state) {
    static const struct {
        size_t past;
        uint32_t asked, algorithm;
    } cases[] = {{0, 16, 67}, {16, 16, 67}, {4, 4, 1}, {8, 8, 1}, {12, 4, 1}, {240, 16, 67}};
    (void)state;
    matrices *aligned = make_matrices(0, 0);
    bp_plan *plan = make_plan(aligned, "num_threads=1, cuda.cublaslt_workspace_size=8192");
    assert_int_equal(the_lt()->alignment, 16);
    const int lists = the_lt()->lists;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        matrices *m = make_matrices(0, cases[i].past);
        write_matrices(m, NULL);
        for (int j = 0; j < 2; j++) {
            assert_ok(bp_execute(plan, m->operands, NULL));
            assert_int_equal(the_lt()->told.algorithm, cases[i].algorithm);
        }
        if (cases[i].asked < 16) {
            assert_true(the_lt()->alignment <= cases[i].asked || the_lt()->alignment == 8);
        }
        expect_product(m, NULL);
        free_matrices(m);
    }
    assert_int_equal(the_lt()->lists, lists + 2); /* for 4 and for 8 */
    bp_plan_release(plan);
    free_matrices(aligned);
}

/* Each call of a batch has an algorithm for its own addresses. */
static void calls_of_a_batch_are_aligned(void **state) {
    (void)state;
    const gemm_case c = {.dtype = BP_F32, .m = 3, .n = 4, .k = 16, .batch_ndim = 2, .batch = {3, 5}, .alpha = {1, 0}};
    test_array host[3];
    on_device on[3];
    reference_results made;
    const int64_t shapes[3][4] = {{3, 5, 3, 16}, {3, 5, 16, 4}, {3, 5, 3, 4}};
    const int64_t strides[3][4] = {{1, 64, 16, 1}, {256, 0, 4, 1}, {60, 12, 4, 1}};
    for (int i = 0; i < 3; i++) {
        test_array_make_strided(&host[i], BP_F32, 4, shapes[i], strides[i], 0);
        test_array_fill(&host[i], 1);
        put(&on[i], &host[i], 0, 0);
    }
    assert_ok(reference_of_gemm(&made, 0, 0, &c.alpha, &host[0].view.tensor, &host[1].view.tensor, NULL,
                                &host[2].view.tensor));
    assert_ok(bp_matmul(&on[0].tensor, &on[1].tensor, &on[2].tensor));
    assert_int_equal(the_lt()->told.algorithm, 1); /* the last one */
    get(&on[2]);
    test_check_results(&made, "items at odd addresses");
    for (int i = 0; i < 3; i++) {
        drop(&on[i]);
        test_array_free(&host[i]);
    }
}

static void workspaces_of_the_caller(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        matrices *m = make_matrices(0, 0);
        bp_plan *plan = make_plan(m, libraries[i]);
        bp_plan_info info = {.struct_size = sizeof info};
        assert_ok(bp_plan_describe(plan, &info));
        assert_true(info.workspace > 0);
        assert_int_equal(info.workspace_alignment, 256);
        const int64_t size = (int64_t)info.workspace + 256;
        DLManagedTensorVersioned *block;
        assert_ok(bp_tensor_empty_on(&block, cuda_place(0), BP_U8, 1, &size, NULL));
        write_matrices(m, NULL);
        bp_exec exec = {.struct_size = sizeof exec,
                        .workspace = {block->dl_tensor.data, block->dl_tensor.byte_offset},
                        .workspace_size = info.workspace};
        assert_ok(bp_execute(plan, m->operands, &exec));
        expect_product(m, NULL);
        exec.workspace.offset += 64;
        assert_int_equal(bp_execute(plan, m->operands, &exec), BP_E_ARGUMENT);
        free_tensor(block);
        bp_plan_release(plan);
        free_matrices(m);
    }
}

/* ---- Streams ---- */

/* A plan on one of the libraries, and a queue. */
typedef struct queued {
    const cublas_controls *library;
    matrices *m;
    bp_queue *queue;
    bp_plan *plan;
    bp_exec exec;
} queued;

static queued begin_queued(int library) {
    queued q = {.library = library == 0 ? the_lt() : the_classic(), .m = make_matrices(0, 0), .queue = cuda_queue(0)};
    q.plan = make_plan(q.m, libraries[library]);
    q.exec = (bp_exec){.struct_size = sizeof q.exec, .queue = q.queue};
    return q;
}

static void end_queued(const queued *q) {
    bp_plan_release(q->plan);
    bp_queue_release(q->queue);
    free_matrices(q->m);
}

static void products_run_in_the_order_of_the_stream(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const queued q = begin_queued(i);
        const int run = q.library->run;
        the_double()->open_gate(false);
        write_matrices(q.m, q.queue); /* nothing is written yet */
        assert_ok(bp_execute(q.plan, q.m->operands, &q.exec));
        assert_int_equal(q.library->run, run);
        the_double()->open_gate(true);
        expect_product(q.m, q.queue);
        assert_int_equal(q.library->run, run + 1);
        end_queued(&q);
    }
}

static void streams_of_the_program(void **state) {
    (void)state;
    matrices *m = make_matrices(0, 0);
    bp_queue *queue, *first;
    program_context(0);
    CUstream stream = program_stream(1);
    assert_ok(bp_queue_wrap(&queue, cuda_place(0), stream));
    assert_ok(bp_queue_wrap(&first, cuda_place(0), NULL)); /* the default stream */
    bp_plan *plan = make_plan(m, "num_threads=1");
    for (int i = 0; i < 2; i++) {
        bp_exec exec = {.struct_size = sizeof exec, .queue = i ? first : queue};
        write_matrices(m, exec.queue);
        assert_ok(bp_execute(plan, m->operands, &exec));
        expect_product(m, exec.queue);
    }
    bp_plan_release(plan);
    bp_queue_release(queue);
    bp_queue_release(first);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    free_matrices(m);
}

static void products_are_captured(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const queued q = begin_queued(i);
        bp_queue_graph *graph;
        write_matrices(q.m, q.queue);
        assert_ok(bp_execute(q.plan, q.m->operands, &q.exec)); /* makes the blocks of the pool */
        const int run = q.library->run + 1;
        assert_ok(bp_queue_wait(q.queue));
        assert_int_equal(q.library->run, run);
        assert_ok(bp_queue_capture_begin(q.queue));
        assert_ok(bp_execute(q.plan, q.m->operands, &q.exec));
        assert_ok(bp_queue_capture_end(&graph, q.queue));
        assert_int_equal(q.library->run, run);
        for (int j = 0; j < 3; j++) {
            q.m->values[0][j] += 1;
            write_matrices(q.m, q.queue);
            assert_ok(bp_queue_graph_launch(graph, q.queue));
            expect_product(q.m, q.queue);
        }
        assert_int_equal(q.library->run, run + 3);
        bp_queue_graph_release(graph);
        end_queued(&q);
    }
}

/* ---- Devices and threads ---- */

/* Nothing changes the program's current context: none, or the one of another device. */
static void the_current_context_stays(void **state) {
    (void)state;
    for (int library = 0; library < 2; library++) {
        matrices *m = make_matrices(0, 0);
        for (int other = 0; other < 2; other++) {
            CUcontext expected = other ? program_context(1) : NULL, found;
            driver()->CtxSetCurrent(expected);
            bp_plan *plan = make_plan(m, libraries[library]);
            assert_ok(bp_execute(plan, m->operands, NULL));
            bp_plan_release(plan);
            assert_int_equal(driver()->CtxGetCurrent(&found), BP__CU_SUCCESS);
            assert_ptr_equal(found, expected);
            driver()->CtxSetCurrent(NULL);
        }
        assert_ok(bp_device_wait(cuda_place(0)));
        free_matrices(m);
    }
}

static void each_device_has_a_handle(void **state) {
    (void)state;
    for (int device = 0; device < 2; device++) {
        matrices *m = make_matrices(device, 0);
        write_matrices(m, NULL);
        assert_ok(bp_matmul(tensor_at(m, 0), tensor_at(m, 1), tensor_at(m, 2)));
        expect_product(m, NULL);
        free_matrices(m);
    }
    assert_in_range(the_lt()->handles, 2, 2);
}

typedef struct worker {
    pthread_t thread;
    int number;
    bp_plan *plan;
} worker;

/* One-shot calls, and runs of a plan that all threads share. */
static void *multiply(void *opaque) {
    const worker *own = opaque;
    bp_queue *queue = cuda_queue(0);
    matrices *m = make_matrices(0, own->number % 2 ? 0 : 4);
    bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    for (int i = 0; i < 20; i++) {
        m->values[0][i] = (float)(own->number + i);
        write_matrices(m, queue);
        assert_ok(bp_execute(own->plan, m->operands, &exec));
        expect_product(m, queue);
    }
    free_matrices(m);
    bp_queue_release(queue);
    return NULL;
}

static void threads_share_a_plan(void **state) {
    enum { THREADS = 4 };
    (void)state;
    for (int library = 0; library < 2; library++) {
        worker workers[THREADS];
        matrices *m = make_matrices(0, 0);
        bp_plan *plan = make_plan(m, libraries[library]);
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (worker){.number = i, .plan = plan};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, multiply, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
        }
        bp_plan_release(plan);
        free_matrices(m);
    }
}

/* Adds a bias of its own, whose address the threads' calls set in one descriptor. */
static void *add_bias(void *opaque) {
    const worker *own = opaque;
    bp_queue *queue = cuda_queue(0);
    matrices *m = make_matrices(0, 0);
    float values[ELEMENTS];
    const bp_operand operands[] = {
        m->operands[0], m->operands[1], {m->operands[1].base, m->operands[1].offset}, m->operands[2]};
    bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    memset(m->values, 0, sizeof m->values);
    for (int i = 0; i < SIDE; i++) {
        m->values[1][i] = (float)own->number; /* the first row of the weight, and the bias */
    }
    for (int i = 0; i < 20; i++) {
        write_matrices(m, queue);
        assert_ok(bp_execute(own->plan, operands, &exec));
        read_bytes(values, tensor_at(m, 2), queue);
        assert_ok(bp_queue_wait(queue));
        for (int j = 0; j < ELEMENTS; j++) {
            assert_true(values[j] == (float)own->number);
        }
    }
    free_matrices(m);
    bp_queue_release(queue);
    return NULL;
}

static void threads_have_biases(void **state) {
    enum { THREADS = 4 };
    (void)state;
    worker workers[THREADS];
    matrices *m = make_matrices(0, 0);
    DLTensor bias = *tensor_at(m, 1);
    int64_t shape[] = {SIDE}, strides[] = {1};
    bias.ndim = 1;
    bias.shape = shape;
    bias.strides = strides;
    const bp_linear_call call = {.struct_size = sizeof call,
                                 .input = tensor_at(m, 0),
                                 .weight = tensor_at(m, 1),
                                 .bias = &bias,
                                 .output = tensor_at(m, 2)};
    bp_plan *plan;
    assert_ok(bp_linear_plan(&plan, NULL, &call));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i + 1, .plan = plan};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, add_bias, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    bp_plan_release(plan);
    free_matrices(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plan_keeps_its_algorithm, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(alignments, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(calls_of_a_batch_are_aligned, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(workspaces_of_the_caller, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(products_run_in_the_order_of_the_stream, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(streams_of_the_program, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(products_are_captured, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(the_current_context_stays, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(each_device_has_a_handle, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(threads_share_a_plan, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(threads_have_biases, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("plans", tests, start_cublas, stop_cublas);
}
