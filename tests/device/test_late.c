/* test_late.c - failures of commands whose events come after the events of later commands. */
#include "device/support_device.h"

#include <time.h>

/* Enqueues an operation whose event comes late, and fails: it is of many commands of another queue. */
static void add_late_failure(bp_queue *queue, bp_queue *slow, const DLTensor *tensor) {
    enum { COMMANDS = 40, FAILS = 99 };
    fake()->longest_delay_us = 2000;
    fake()->fail_value = FAILS;
    for (int i = 1; i < COMMANDS; i++) {
        assert_ok(add_bytes(slow, tensor, 1, NULL));
    }
    void *late = fake()->add(bp_queue_native(slow), tensor->data, 0, 1, FAILS);
    bp__queue_begin(queue, BP_OP_GEMM, "late");
    assert_ok(bp__queue_enqueued(queue, late));
    bp__queue_end(queue);
}

/* A wait for a command tells of the failures before it, also if their events come after its own. */
static void test_late_failures(void **state) {
    (void)state;
    uint8_t byte;
    bp_queue *queue = new_queue("fake"), *slow = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100), *other = new_bytes("fake", 100);
    const bp_operand start = {other->dl_tensor.data, 0};
    bp_event *event;
    add_late_failure(queue, slow, &tensor->dl_tensor);
    assert_fails(bp__queue_read(queue, &byte, &start, 1), BP_E_DEVICE, "gemm late failed");
    add_late_failure(queue, slow, &tensor->dl_tensor);
    assert_ok(add_bytes(queue, &other->dl_tensor, 1, "after"));
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm late failed");
    add_late_failure(queue, slow, &tensor->dl_tensor);
    assert_ok(bp_event_record(&event, queue));
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "gemm late failed");
    bp_event_release(event);
    fake()->longest_delay_us = 0;
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm late failed");
    assert_ok(bp_queue_wait(queue));
    free_tensor(tensor);
    free_tensor(other);
    bp_queue_release(queue);
    bp_queue_release(slow);
}

/* The limit of a wait is one for the event, and for what comes late before it. */
static void test_late_failures_within_a_limit(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake"), *slow = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    fake()->longest_delay_us = 100000;
    for (int i = 1; i < 40; i++) {
        assert_ok(add_bytes(slow, &tensor->dl_tensor, 1, NULL));
    }
    void *late = fake()->add(bp_queue_native(slow), tensor->dl_tensor.data, 0, 1, 1);
    bp__queue_begin(queue, BP_OP_GEMM, "late");
    assert_ok(bp__queue_enqueued(queue, late));
    bp__queue_end(queue);
    assert_ok(bp_event_record(&event, queue));
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL); /* the mark of the event has ended */
    assert_fails(bp_event_sync(event, 1000000), BP_E_TIMEOUT, "the time of 1000000 ns is over");
    fake()->longest_delay_us = 0;
    assert_ok(bp_event_sync(event, -1));
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(queue);
    bp_queue_release(slow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_late_failures, begin, end),
        cmocka_unit_test_setup_teardown(test_late_failures_within_a_limit, begin, end),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
