/* test_graphs.c - captures of queues and launches of graphs, on runtimes whose commands take a while.
 *
 * The runtime notes a violation if an event of a captured queue is asked for, or memory is freed that a graph uses. */
#include "device/support_device.h"

enum { SIZE = 5000 };

static uint64_t reuses(void) {
    bp_device_memory_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_memory(place_of("other"), &info));
    return info.reuses;
}

/* ---- Launches ---- */

/* Captures a += 1, through b. */
static bp_queue_graph *capture_increment(bp_queue *queue, DLManagedTensorVersioned *a, DLManagedTensorVersioned *b) {
    bp_queue_graph *graph;
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(bp_copy(&b->dl_tensor, &a->dl_tensor, queue));
    assert_ok(add_bytes(queue, &b->dl_tensor, 1, "x"));
    assert_ok(bp_copy(&a->dl_tensor, &b->dl_tensor, queue));
    assert_ok(bp_queue_capture_end(&graph, queue));
    return graph;
}

/* Launches of a graph on two queues do not run at once. */
static void test_launches_follow_each_other(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other"), *second = new_queue("other");
    DLManagedTensorVersioned *a = new_bytes("other", SIZE), *b = new_bytes("other", SIZE);
    fill_bytes(a, 1);
    fill_bytes(b, 0);
    bp_queue_graph *graph = capture_increment(queue, a, b);
    assert_ok(bp_device_wait(place_of("other")));
    assert_true(all_bytes_are(a, 1)); /* a capture runs nothing */
    fake()->longest_delay_us = 300;
    for (int i = 0; i < 10; i++) {
        assert_ok(bp_queue_graph_launch(graph, queue));
        assert_ok(bp_queue_graph_launch(graph, second));
    }
    assert_ok(bp_device_wait(place_of("other")));
    assert_true(all_bytes_are(a, 21));
    fake()->fail_at = 3;
    assert_ok(bp_queue_graph_launch(graph, queue));
    bp_queue_graph_release(graph); /* the launch may still run */
    (void)bp_queue_wait(queue);
    free_tensor(a);
    free_tensor(b);
    bp_queue_release(queue);
    bp_queue_release(second);
}

static void test_a_failed_launch(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *a = new_bytes("other", SIZE), *b = new_bytes("other", SIZE);
    bp_queue_graph *graph = capture_increment(queue, a, b);
    fake()->fail_at = 3;
    fake()->chain = true;
    assert_ok(bp_queue_graph_launch(graph, queue));
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "a graph failed on device other:0");
    bp_queue_graph_release(graph);
    free_tensor(a);
    free_tensor(b);
    bp_queue_release(queue);
}

/* ---- Memory ---- */

/* Workspaces of a capture, and tensors that are freed meanwhile, are not reused before the graph is released. */
static void test_memory_of_a_graph(void **state) {
    (void)state;
    assert_ok(bp_device_wait(place_of("other")));
    assert_ok(bp_device_trim(place_of("other"), 0));
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *freed = new_bytes("other", SIZE), *exported = new_bytes("other", SIZE), *fresh[4];
    bp_operand block, again, second;
    bp_queue_graph *graph;
    assert_ok(bp_tensor_export(exported));
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(add_bytes(queue, &freed->dl_tensor, 1, "x"));
    assert_ok(add_bytes(queue, &exported->dl_tensor, 1, "x"));
    free_tensor(freed);
    free_tensor(exported);
    assert_ok(bp__queue_take(queue, SIZE, &block));
    assert_ok(bp__queue_take(queue, SIZE, &second));
    assert_ptr_not_equal(block.base, second.base);
    bp__queue_give(queue, &block);
    assert_ok(bp__queue_take(queue, SIZE / 2, &again)); /* the queue's order permits it */
    assert_ptr_equal(block.base, again.base);
    bp__queue_give(queue, &again);
    bp__queue_give(queue, &second);
    const uint64_t before = reuses();
    fresh[0] = new_bytes("other", SIZE);
    assert_ok(bp_queue_capture_end(&graph, queue));
    assert_ok(bp_queue_graph_launch(graph, queue));
    for (int i = 1; i < 4; i++) {
        fresh[i] = new_bytes("other", SIZE);
    }
    assert_int_equal(reuses(), before);
    assert_ok(bp_queue_wait(queue));
    bp_queue_graph_release(graph);
    free_tensor(new_bytes("other", SIZE));
    assert_int_equal(reuses(), before + 1);
    for (int i = 0; i < 4; i++) {
        free_tensor(fresh[i]);
    }
    bp_queue_release(queue);
}

/* A released graph still runs: its memory is not reused before the launch has ended. */
static void test_memory_of_a_released_graph(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *freed = new_bytes("other", SIZE), *fresh;
    bp_queue_graph *graph;
    const void *const base = freed->dl_tensor.data;
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(add_bytes(queue, &freed->dl_tensor, 1, "x"));
    free_tensor(freed);
    assert_ok(bp_queue_capture_end(&graph, queue));
    fake()->open_gate(false);
    assert_ok(bp_queue_graph_launch(graph, queue));
    bp_queue_graph_release(graph);
    fresh = new_bytes("other", SIZE);
    assert_ptr_not_equal(fresh->dl_tensor.data, base);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    free_tensor(fresh);
    bp_queue_release(queue);
}

/* ---- What a capture refuses ---- */

/* Commands before and in the capture are so many that the library would look at them. */
static void test_no_event_is_asked_for(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    bp_queue_graph *graph;
    fill_bytes(tensor, 1);
    fake()->open_gate(false);
    for (int i = 0; i < 20; i++) {
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    }
    assert_ok(bp_queue_capture_begin(queue));
    for (int i = 0; i < 100; i++) {
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
        assert_ok(bp_queue_error(queue));
        free_tensor(new_bytes("other", SIZE));
    }
    fake()->open_gate(true);
    assert_ok(bp_device_trim(place_of("other"), 0));
    assert_ok(bp_queue_capture_end(&graph, queue));
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(tensor, 21));
    assert_ok(bp_queue_graph_launch(graph, queue));
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(tensor, 121));
    bp_queue_graph_release(graph);
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_refusals(void **state) {
    (void)state;
    static uint8_t bytes[SIZE];
    const int32_t place = place_of("other");
    bp_queue *queue = new_queue("other"), *second = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    const bp_operand operand = {tensor->dl_tensor.data, 0};
    bp_queue_graph *graph;
    bp_event *event, *none;
    bp_view host, view;
    bp_plan *plan;
    DLTensor floats = tensor->dl_tensor;
    floats.dtype = bp_dtype_to_dlpack(BP_F32);
    floats.shape = (int64_t[]){SIZE / 4};
    fill_bytes(tensor, 1);
    assert_ok(bp_view_init(&host, bytes, BP_U8, 1, (int64_t[]){SIZE}, NULL));
    assert_ok(bp_event_record(&event, second));
    assert_ok(bp_queue_use(place, queue));
    assert_ok(bp_queue_capture_begin(queue));
    assert_fails(bp_queue_wait(queue), BP_E_UNSUPPORTED, "is being captured");
    assert_fails(bp_device_wait(place), BP_E_UNSUPPORTED, "is being captured");
    assert_fails(bp_event_record(&none, queue), BP_E_UNSUPPORTED, "an event: the queue of device other:0");
    assert_fails(bp_event_wait(queue, event), BP_E_UNSUPPORTED, "the wait for an event");
    assert_fails(bp_map(&view, &tensor->dl_tensor, BP_MAP_READ, queue), BP_E_UNSUPPORTED, "is being captured");
    assert_fails(bp__queue_read(queue, bytes, &operand, SIZE), BP_E_UNSUPPORTED, "a copy to the host");
    assert_fails(bp__queue_write(queue, &operand, bytes, SIZE), BP_E_UNSUPPORTED, "a copy from the host");
    assert_fails(bp_copy(&tensor->dl_tensor, &host.tensor, NULL), BP_E_UNSUPPORTED, "a copy from the host");
    assert_fails(bp_copy(&host.tensor, &tensor->dl_tensor, NULL), BP_E_UNSUPPORTED, "a copy to the host");
    assert_fails(bp_queue_capture_begin(queue), BP_E_BUSY, "captured already");
    assert_fails(bp_queue_capture_begin(second), BP_E_BUSY, "captured already");
    assert_fails(bp_unary_plan(&plan, NULL, BP_UNARY_ABS, &floats, &floats), BP_E_UNSUPPORTED, "the making of a plan");
    assert_fails(bp_reset(), BP_E_BUSY, "held");
    assert_ok(bp_queue_capture_end(&graph, queue));
    assert_ok(bp_queue_capture_begin(second));
    assert_fails(bp_queue_graph_launch(graph, second), BP_E_UNSUPPORTED, "bp_queue_graph_launch");
    bp_queue_graph *other;
    assert_ok(bp_queue_capture_end(&other, second));
    bp_queue_graph_release(other);
    assert_fails(bp_reset(), BP_E_BUSY, "held");
    assert_ok(bp_queue_use(place, NULL));
    bp_queue_graph_release(graph);
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(queue);
    bp_queue_release(second);
}

static void test_bad_arguments(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other"), *elsewhere = new_queue("other:1"), *plain = new_queue("fake");
    bp_queue_graph *graph = NULL, *none;
    assert_fails(bp_queue_capture_begin(NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_queue_capture_begin(plain), BP_E_UNSUPPORTED, "runtime fake cannot capture");
    assert_fails(bp_queue_capture_end(&graph, queue), BP_E_ARGUMENT, "no capture was begun");
    assert_null(graph);
    assert_fails(bp_queue_capture_end(NULL, queue), BP_E_ARGUMENT, "'graph' is NULL");
    fake()->refuse_captures = true;
    assert_fails(bp_queue_capture_begin(queue), BP_E_NO_MEMORY, "");
    fake()->refuse_captures = false;
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(bp_queue_capture_end(&graph, queue)); /* an empty one */
    assert_fails(bp_queue_graph_launch(graph, elsewhere), BP_E_ARGUMENT, "other:1");
    assert_fails(bp_queue_graph_launch(NULL, queue), BP_E_ARGUMENT, "'graph' is NULL");
    assert_fails(bp_queue_graph_launch(graph, NULL), BP_E_ARGUMENT, "NULL");
    assert_ok(bp_queue_graph_launch(graph, queue));
    assert_fails(bp_queue_capture_end(&none, queue), BP_E_ARGUMENT, "no capture was begun");
    bp_queue_graph_release(graph);
    bp_queue_graph_release(NULL);
    bp_queue_release(queue);
    bp_queue_release(elsewhere);
    bp_queue_release(plain);
}

/* ---- Operations that fail ---- */

static int checks, ended;

static bp_status check(void *user, int has_ended) {
    (void)user;
    checks++;
    ended += has_ended;
    return BP_OK;
}

static void test_an_operation_fails_in_a_capture(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    bp_queue_graph *graph;
    for (int with_check = 0; with_check < 2; with_check++) {
        assert_ok(bp_queue_capture_begin(queue));
        bp__queue_begin(queue, BP_OP_GEMM, "x");
        void *event = fake()->add(bp__queue_runtime(queue), tensor->dl_tensor.data, 0, SIZE, 1);
        if (with_check) {
            assert_fails(bp__queue_enqueued_checked(queue, event, check, NULL), BP_E_UNSUPPORTED, "check of a result");
        } else {
            fake()->release_event(event); /* a later command of the operation has failed */
        }
        bp__queue_end(queue);
        assert_fails(bp_queue_capture_end(&graph, queue), BP_E_UNSUPPORTED, "is not complete");
        assert_null(graph);
        assert_int_equal(fake()->graphs, 0);
    }
    assert_int_equal(checks, 1);
    assert_int_equal(ended, 0);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Captures of the program ---- */

static void test_the_program_captures_its_queue(void **state) {
    (void)state;
    const int32_t place = place_of("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE), *freed = new_bytes("other", SIZE), *fresh;
    void *native = fake()->native_queue(fake()->device_of(tensor->dl_tensor.data)), *graph;
    const void *const base = freed->dl_tensor.data;
    bp_queue *queue, *own = new_queue("other");
    bp_operand block;
    assert_ok(bp_queue_wrap(&queue, place, native));
    assert_ok(fake()->capture_begin(native));
    assert_fails(bp__queue_take(queue, SIZE, &block), BP_E_UNSUPPORTED, "bp_exec.workspace");
    assert_fails(bp_queue_wait(queue), BP_E_UNSUPPORTED, "is being captured");
    assert_fails(bp_queue_capture_begin(own), BP_E_BUSY, "captured already");
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    assert_ok(add_bytes(queue, &freed->dl_tensor, 1, "x"));
    free_tensor(freed);
    assert_ok(fake()->capture_end(native, &graph));
    fresh = new_bytes("other", SIZE);
    assert_ptr_not_equal(fresh->dl_tensor.data, base);
    assert_ok(bp_queue_wait(queue));
    fake()->graph_release(graph);
    free_tensor(fresh);
    free_tensor(tensor);
    bp_queue_release(queue);
    bp_queue_release(own);
    assert_ok(bp_reset());
    fake()->free_native_queue(native);
}

/* A wait for an event from before a capture fails, as other waits do. */
static void test_an_event_before_a_capture(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    bp_queue_graph *graph;
    bp_event *event;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    assert_ok(bp_event_record(&event, queue));
    assert_ok(bp_queue_capture_begin(queue));
    assert_fails(bp_event_sync(event, -1), BP_E_UNSUPPORTED, "is being captured");
    assert_ok(bp_queue_capture_end(&graph, queue));
    assert_ok(bp_event_sync(event, -1));
    bp_event_release(event);
    bp_queue_graph_release(graph);
    free_tensor(tensor);
    bp_queue_release(queue);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_launches_follow_each_other),
        TEST(test_a_failed_launch),
        TEST(test_memory_of_a_graph),
        TEST(test_memory_of_a_released_graph),
        TEST(test_no_event_is_asked_for),
        TEST(test_refusals),
        TEST(test_an_event_before_a_capture),
        TEST(test_bad_arguments),
        TEST(test_an_operation_fails_in_a_capture),
        TEST(test_the_program_captures_its_queue),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
