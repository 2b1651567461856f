/* test_fork.c - children of fork: none uses a driver that its parent has initialized, and one may use devices that its
 * parent has only listed. */
#include "cuda/support_cuda.h"

#include "support/child.h"

enum { COUNT = 500 };

/* Runs before this process has used a device. */
static void a_child_may_use_listed_devices(void **state) {
    (void)state;
    int32_t place;
    assert_ok(bp_device_find("cuda:0", &place));
    const pid_t child = fork();
    if (child == 0) {
        DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 8);
        expect_bytes(tensor, 8);
        free_tensor(tensor);
        _exit(bp_reset() == BP_OK && the_double()->violations == 0 ? 0 : 1);
    }
    assert_int_equal(test_end_of_child(child, "use of listed devices"), 0);
}

static int use_in_child(DLManagedTensorVersioned *tensor, DLManagedTensorVersioned *pinned, bp_queue *queue,
                        bp_event *event, bp_queue_graph *graph) {
    int64_t count = COUNT;
    DLManagedTensorVersioned *fresh = NULL;
    bp_status answers[] = {
        bp_tensor_empty_on(&fresh, cuda_place(0), BP_U8, 1, &count, NULL),
        bp_queue_wait(queue),
        bp_event_sync(event, -1),
        bp_queue_graph_launch(graph, queue),
        bp_copy(&pinned->dl_tensor, &tensor->dl_tensor, queue),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i] != BP_E_FORKED) {
            return 2 + (int)i;
        }
    }
    free_tensor(tensor);
    free_tensor(pinned);
    bp_event_release(event);
    bp_queue_graph_release(graph);
    bp_queue_release(queue);
    return bp_reset() == BP_OK && the_double()->violations == 0 ? 0 : 1; /* no call has reached the driver */
}

static void a_child_calls_no_driver_of_its_parent(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 1), *pinned;
    bp_queue *queue = cuda_queue(0);
    bp_event *event;
    bp_queue_graph *graph;
    assert_ok(bp_tensor_pinned(&pinned, cuda_place(0), BP_U8, 1, &(int64_t){COUNT}));
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(bp_copy(&pinned->dl_tensor, &tensor->dl_tensor, queue));
    assert_ok(bp_queue_capture_end(&graph, queue));
    assert_ok(bp_event_record(&event, queue));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(tensor, pinned, queue, event, graph));
    }
    assert_int_equal(test_end_of_child(child, "calls after fork"), 0);
    assert_ok(bp_queue_wait(queue)); /* the parent goes on */
    expect_bytes(tensor, 1);
    free_tensor(tensor);
    free_tensor(pinned);
    bp_event_release(event);
    bp_queue_graph_release(graph);
    bp_queue_release(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_child_may_use_listed_devices, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_child_calls_no_driver_of_its_parent, begin_cuda, end_cuda),
    };
    return cmocka_run_group_tests_name("fork", tests, start_cuda, stop_cuda);
}
