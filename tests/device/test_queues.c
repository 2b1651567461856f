/* test_queues.c - queues, events, and failures that show later, on runtimes whose commands take a while. */
#include "device/support_device.h"

#include "backplane/interrupt.h"

#include <pthread.h>

static const int64_t soon = 20000000; /* nanoseconds */

/* ---- Order ---- */

static void test_commands_run_in_order_after_the_call(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 1000);
    fill_bytes(tensor, 1);
    fake()->open_gate(false);
    for (int i = 0; i < 100; i++) {
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 2, "f32 3x3"));
    }
    assert_true(all_bytes_are(tensor, 1)); /* nothing has run, and no call has waited */
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(tensor, 201));
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_reads_and_writes(void **state) {
    (void)state;
    static uint8_t from[3 << 20], to[3 << 20];
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", sizeof from + 7);
    const bp_operand place = {tensor->dl_tensor.data, 7};
    for (size_t size = 1; size <= sizeof from; size = size * 3 + 1) {
        for (size_t i = 0; i < size; i++) {
            from[i] = (uint8_t)(i * 7 + size);
        }
        assert_ok(bp__queue_write(queue, &place, from, size));
        memset(from, 0, size); /* may be reused */
        assert_ok(bp__queue_read(queue, to, &place, size));
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(to[i], (uint8_t)(i * 7 + size));
        }
    }
    assert_ok(bp__queue_write(queue, &place, from, 0));
    assert_ok(bp__queue_read(queue, to, &place, 0));
    fake()->open_gate(false); /* a small write does not wait */
    memset(from, 9, 1000);
    assert_ok(bp__queue_write(queue, &place, from, 1000));
    memset(from, 0, 1000);
    fake()->open_gate(true);
    assert_ok(bp__queue_read(queue, to, &place, 1000));
    assert_int_equal(to[0], 9);
    assert_int_equal(to[999], 9);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Failures ---- */

static void test_a_failure_is_told_at_the_next_wait(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    fake()->chain = true;
    fake()->fail_at = 2;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "first"));
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "f32 64x64x64"));
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "third"));
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "fourth"));
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE,
                 "gemm f32 64x64x64 failed on device fake:0: FAKE_FAULT (-5); 2 later commands failed too");
    assert_ok(bp_queue_wait(queue)); /* it was told */
    free_tensor(tensor);
    bp_queue_release(queue);
    queue = new_queue("fake"); /* others are not affected */
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
}

static void test_failures_without_waiting(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    assert_ok(bp_queue_error(queue));
    fake()->open_gate(false);
    fake()->fail_at = 1;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    assert_ok(bp_event_record(&event, queue)); /* does not fail itself */
    assert_ok(bp_queue_error(queue));          /* not known yet */
    fake()->open_gate(true);
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "gemm x failed on device fake:0");
    assert_fails(bp_queue_error(queue), BP_E_DEVICE, "gemm x failed on device fake:0: FAKE_FAULT (-5);");
    assert_fails(bp_queue_error(queue), BP_E_DEVICE, "gemm x");
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm x");
    assert_ok(bp_queue_error(queue));
    bp_event_release(event);
    uint8_t byte;
    fake()->fail_at = 1;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "y")); /* reads tell it, because what they read is wrong */
    assert_fails(bp__queue_read(queue, &byte, &(bp_operand){tensor->dl_tensor.data, 0}, 1), BP_E_DEVICE, "gemm y");
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* More commands than are kept before the first look, so that failures are found while others are enqueued. */
static void test_one_of_many_fails(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 10);
    char text[32];
    for (int at = 1; at <= 1000; at += 333) {
        fake()->fail_at = at;
        for (int i = 1; i <= 1000; i++) {
            snprintf(text, sizeof text, "number %d", i);
            assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, text));
        }
        snprintf(text, sizeof text, "gemm number %d failed", at);
        assert_fails(bp_queue_wait(queue), BP_E_DEVICE, text);
        assert_null(strstr(bp_last_error(), "later command"));
    }
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_failures_of_released_queues(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 10);
    fake()->open_gate(false);
    fake()->fail_at = 1;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "left alone"));
    bp_queue_release(queue);
    fake()->open_gate(true);
    assert_fails(bp_device_wait(place_of("fake")), BP_E_DEVICE, "gemm left alone failed");
    assert_ok(bp_device_wait(place_of("fake")));
    for (int i = 0; i < 2; i++) { /* of queues that were closed before anybody asked */
        queue = new_queue("fake");
        fake()->open_gate(false);
        fake()->fail_at = 1;
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "left alone"));
        bp_queue_release(queue);
        const int queues = fake()->queues;
        fake()->open_gate(true);
        while (fake()->queues == queues) {
            bp_queue_release(new_queue("fake"));
        }
    }
    assert_fails(bp_device_wait(place_of("fake")), BP_E_DEVICE, "-5); 1 later command failed too");
    free_tensor(tensor);
}

static void test_a_refused_command(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 10);
    uint8_t byte = 0;
    fake()->refuse_copies = true;
    assert_fails(bp__queue_read(queue, &byte, &(bp_operand){tensor->dl_tensor.data, 0}, 1), BP_E_DEVICE,
                 "refuses to copy");
    assert_fails(bp__queue_write(queue, &(bp_operand){tensor->dl_tensor.data, 0}, &byte, 1), BP_E_DEVICE,
                 "refuses to copy");
    assert_ok(bp_queue_wait(queue));
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Lost devices ---- */

static void test_a_lost_device(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake:0"), *second = new_queue("fake:0"), *other = new_queue("fake:1");
    DLManagedTensorVersioned *tensor = new_bytes("fake:0", 100), *alive = new_bytes("fake:1", 100);
    bp_event *event;
    const uint64_t epoch = bp__device_epoch();
    const int32_t place = place_of("fake:0");
    assert_ok(bp_event_record(&event, second));
    fake()->fail_with = FAKE_LOST;
    fake()->fail_at = 1;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE,
                 "gemm x failed on device fake:0: FAKE_DEVICE_LOST (-77); the device "
                 "is lost");
    assert_true(bp__device_epoch() != epoch);
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(place, &info));
    assert_int_equal(info.state, BP_DEVICE_LOST);
    assert_string_equal(info.reason, "FAKE_DEVICE_LOST");
    assert_null(bp__device_facts(place));
    assert_fails(bp__device_check(place), BP_E_DEVICE, "cannot be used any more: FAKE_DEVICE_LOST");
    const int64_t count = 10;
    DLManagedTensorVersioned *more;
    bp_queue *queue_more;
    bp_event *event_more;
    assert_fails(bp_tensor_empty_on(&more, place, BP_U8, 1, &count, NULL), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp_queue_new(&queue_more, place, 0), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp_queue_current(&queue_more, place), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp_event_record(&event_more, queue), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp_queue_wait(second), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp_device_wait(place), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_fails(bp__queue_for(place, queue, &queue_more), BP_E_DEVICE, "FAKE_DEVICE_LOST");
    assert_ok(add_bytes(other, &alive->dl_tensor, 1, "y")); /* others go on */
    assert_ok(bp_queue_wait(other));
    free_tensor(tensor);
    free_tensor(alive);
    bp_event_release(event);
    bp_queue_release(queue);
    bp_queue_release(second);
    bp_queue_release(other);
    restart_devices(); /* opens it again */
    assert_ok(bp__device_check(place_of("fake:0")));
}

/* ---- Events ---- */

static void test_events_order_queues(void **state) {
    (void)state;
    bp_queue *first = new_queue("fake"), *second = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 50000);
    fake()->longest_delay_us = 3000;
    for (int round = 0; round < 20; round++) {
        bp_event *event, *back;
        fill_bytes(tensor, 0);
        assert_ok(add_bytes(first, &tensor->dl_tensor, 100, "first"));
        assert_ok(bp_event_record(&event, first));
        assert_ok(bp_event_wait(second, event));
        bp_event_release(event); /* the wait holds what it needs */
        uint8_t bytes[1];
        assert_ok(bp__queue_read(second, bytes, &(bp_operand){tensor->dl_tensor.data, 49999}, 1));
        assert_int_equal(bytes[0], 100);
        assert_ok(bp_event_record(&back, second));
        assert_ok(bp__queue_after(first, (bp_event *[]){back, back}, 2));
        bp_event_release(back);
        assert_ok(bp_queue_wait(first));
    }
    free_tensor(tensor);
    bp_queue_release(first);
    bp_queue_release(second);
}

/* With "refuse_foreign", the runtime cannot wait for events of another device; "other" is another runtime. */
static void test_events_order_devices(void **state) {
    (void)state;
    static const char *const ids[] = {"fake:1", "fake:1", "other:0"};
    for (int round = 0; round < 3; round++) {
        bp_queue *first = new_queue("fake:0"), *second = new_queue(ids[round]);
        DLManagedTensorVersioned *tensor = new_bytes("fake:0", 100);
        bp_event *event;
        fake()->refuse_foreign = round == 1;
        fill_bytes(tensor, 0);
        fake()->longest_delay_us = 20000;
        assert_ok(add_bytes(first, &tensor->dl_tensor, 7, "first"));
        assert_ok(bp_event_record(&event, first));
        assert_ok(bp_event_wait(second, event));
        assert_ok(bp_queue_wait(second));
        assert_true(all_bytes_are(tensor, 7));
        fake()->longest_delay_us = 0;
        bp_event_release(event);
        free_tensor(tensor);
        bp_queue_release(first);
        bp_queue_release(second);
    }
}

static void test_waits_for_failed_events(void **state) {
    (void)state;
    bp_queue *first = new_queue("fake"), *second = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    fake()->chain = true;
    fake()->open_gate(false);
    fake()->fail_at = 1;
    assert_ok(add_bytes(first, &tensor->dl_tensor, 7, "bad"));
    assert_ok(bp_event_record(&event, first));
    assert_ok(bp_event_wait(second, event));
    assert_ok(add_bytes(second, &tensor->dl_tensor, 7, "after it"));
    fake()->open_gate(true);
    assert_fails(bp_queue_wait(second), BP_E_DEVICE, "the wait for an event failed");
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "gemm bad failed");
    assert_fails(bp_event_wait(second, event), BP_E_DEVICE, "gemm bad failed"); /* known now */
    assert_fails(bp_queue_wait(first), BP_E_DEVICE, "gemm bad failed");
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(first);
    bp_queue_release(second);
}

static void test_time_limits(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    fake()->open_gate(false);
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 7, "x"));
    assert_ok(bp_event_record(&event, queue));
    assert_fails(bp_event_sync(event, 0), BP_E_TIMEOUT, "fake:0");
    assert_fails(bp_event_sync(event, soon), BP_E_TIMEOUT, "fake:0");
    fake()->open_gate(true);
    assert_ok(bp_event_sync(event, INT64_MAX));
    assert_ok(bp_event_sync(event, 0));
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_events_of_the_program(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    fake()->open_gate(false);
    void *native = fake()->add(bp_queue_native(queue), tensor->dl_tensor.data, 0, 10, 1);
    assert_ok(bp_event_wrap(&event, place_of("fake"), native));
    assert_fails(bp_event_sync(event, soon), BP_E_TIMEOUT, "");
    fake()->open_gate(true);
    assert_ok(bp_event_sync(event, -1));
    assert_ok(bp_event_wait(queue, event));
    assert_ok(bp_queue_wait(queue));
    bp_event_release(event);
    assert_fails(bp_event_wrap(&event, place_of("fake"), NULL), BP_E_ARGUMENT, "'native' is NULL");
    fake()->fail_at = 1;
    void *failing = fake()->add(bp_queue_native(queue), tensor->dl_tensor.data, 0, 10, 1);
    assert_ok(bp_event_wrap(&event, place_of("fake"), failing));
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "the program's own work failed on device fake:0: FAKE_FAULT");
    bp_event_release(event);
    bp__queue_begin(queue, BP_OP_GEMM, NULL); /* gives the references of the native events back */
    assert_ok(bp__queue_enqueued(queue, native));
    assert_ok(bp__queue_enqueued(queue, failing));
    bp__queue_end(queue);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm failed");
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Wrapped queues, and queues of threads ---- */

static void test_wrapped_queues(void **state) {
    (void)state;
    const int32_t place = place_of("fake");
    void *device, *native;
    bp_queue *queue, *again;
    assert_ok(bp__device_open(place, &device));
    native = fake()->native_queue(device);
    assert_ok(bp_queue_wrap(&queue, place, native));
    assert_ok(bp_queue_wrap(&again, place, native));
    assert_ptr_equal(queue, again);
    assert_ptr_equal(bp_queue_native(queue), native);
    assert_int_equal(bp_queue_place(queue), place);
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    fill_bytes(tensor, 1);
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
    bp_queue_release(again);
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(tensor, 2));
    bp_queue_release(queue);
    assert_ok(bp_queue_wrap(&queue, place, native)); /* once more, after all were released */
    bp_queue_release(queue);
    assert_fails(bp_queue_wrap(&queue, place, NULL), BP_E_ARGUMENT, "'native' is NULL");
    free_tensor(tensor);
    restart_devices();
    fake()->free_native_queue(native); /* it is still the program's */
}

static void *current_of_thread(void *expected) {
    bp_queue *queue;
    const int32_t place = place_of("fake");
    assert_ok(bp_queue_current(&queue, place));
    assert_ptr_not_equal(queue, expected);
    bp_queue_release(queue);
    return NULL;
}

static void test_queues_of_threads(void **state) {
    (void)state;
    const int32_t place = place_of("fake");
    bp_queue *own, *queue = new_queue("fake"), *got, *elsewhere = new_queue("fake:1");
    pthread_t thread;
    assert_ok(bp_queue_current(&own, place));
    assert_ok(bp_queue_current(&got, place));
    assert_ptr_equal(own, got);
    bp_queue_release(got);
    assert_ok(bp__queue_for(place, NULL, &got));
    assert_ptr_equal(own, got);
    assert_int_equal(pthread_create(&thread, NULL, current_of_thread, own), 0);
    pthread_join(thread, NULL);
    assert_ok(bp_queue_use(place, queue));
    bp_queue *const used = queue;
    bp_queue_release(queue); /* the thread holds it */
    assert_ok(bp_queue_current(&got, place));
    assert_ptr_equal(got, used);
    bp_queue_release(got);
    assert_ok(bp__queue_for(place, NULL, &got));
    assert_ptr_equal(got, used);
    assert_fails(bp_queue_use(place, elsewhere), BP_E_ARGUMENT, "on device fake:1, not on fake:0");
    assert_fails(bp__queue_for(place, elsewhere, &got), BP_E_ARGUMENT, "fake:1");
    assert_ok(bp__queue_for(place_of("fake:1"), elsewhere, &got));
    assert_ptr_equal(got, elsewhere);
    assert_ok(bp_queue_use(place, NULL));
    assert_ok(bp_queue_current(&got, place));
    assert_ptr_equal(got, own);
    bp_queue_release(got);
    bp_queue_release(own);
    bp_queue_release(elsewhere);
}

/* ---- Interruption ---- */

static int stop_at_once(void *calls) {
    ++*(int *)calls;
    return 1;
}

static void *open_later(void *unused) {
    (void)unused;
    usleep(50000);
    fake()->open_gate(true);
    return NULL;
}

/* The memory of the caller is in use until the copy has ended. */
static void test_copies_are_not_interrupted(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 2 << 20);
    static uint8_t bytes[2 << 20];
    pthread_t thread;
    int calls = 0;
    fill_bytes(tensor, 8);
    fake()->open_gate(false);
    bp_set_interrupt_check(stop_at_once, &calls, NULL);
    assert_int_equal(pthread_create(&thread, NULL, open_later, NULL), 0);
    assert_ok(bp__queue_read(queue, bytes, &(bp_operand){tensor->dl_tensor.data, 0}, sizeof bytes));
    pthread_join(thread, NULL);
    bp_set_interrupt_check(NULL, NULL, NULL);
    assert_int_equal(bytes[sizeof bytes - 1], 8);
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_waits_are_interrupted(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 2 << 20);
    bp_event *event;
    int calls = 0;
    static uint8_t bytes[2 << 20];
    fake()->open_gate(false);
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 7, "x"));
    assert_ok(bp_event_record(&event, queue));
    bp_set_interrupt_check(stop_at_once, &calls, NULL);
    assert_fails(bp_queue_wait(queue), BP_E_CANCELLED, "the wait for a queue of device fake:0");
    assert_fails(bp_event_sync(event, -1), BP_E_CANCELLED, "event");
    assert_fails(bp__queue_read(queue, bytes, &(bp_operand){tensor->dl_tensor.data, 0}, sizeof bytes), BP_E_CANCELLED,
                 "");
    assert_fails(bp__queue_write(queue, &(bp_operand){tensor->dl_tensor.data, 0}, bytes, sizeof bytes), BP_E_CANCELLED,
                 "");
    assert_int_equal(calls, 4);
    bp_set_interrupt_check(NULL, NULL, NULL);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue)); /* nothing was cancelled on the device */
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Arguments, reset ---- */

static void test_bad_arguments(void **state) {
    (void)state;
    const int32_t place = place_of("fake");
    bp_queue *queue;
    assert_fails(bp_queue_new(NULL, place, 0), BP_E_ARGUMENT, "'queue' is NULL");
    assert_fails(bp_queue_new(&queue, place, 2), BP_E_ARGUMENT, "'flags' is 2");
    queue = new_queue("fake");
    assert_fails(bp_queue_new(&(bp_queue *){NULL}, kDLCUDA << 16, 0), BP_E_DEVICE, "cuda:0");
    assert_fails(bp_queue_wait(NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_queue_error(NULL), BP_E_ARGUMENT, "NULL");
    assert_null(bp_queue_native(NULL));
    assert_int_equal(bp_queue_place(NULL), -1);
    bp_queue_release(NULL);
    assert_fails(bp_event_record(&(bp_event *){NULL}, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_event_record(NULL, queue), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_event_wait(queue, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_event_wait(NULL, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_event_sync(NULL, 0), BP_E_ARGUMENT, "NULL");
    assert_fails(bp__queue_after(queue, NULL, 1), BP_E_ARGUMENT, "after");
    assert_ok(bp__queue_after(queue, NULL, 0));
    bp_event_release(NULL);
    assert_fails(bp_queue_use(kDLCUDA << 16, NULL), BP_E_DEVICE, "cuda:0");
    assert_fails(bp_device_context(place, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_device_use_context(place, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_device_wait(kDLCUDA << 16), BP_E_DEVICE, "cuda:0");
    bp_queue_release(queue);
}

static void test_contexts(void **state) {
    (void)state;
    restart_devices();
    void *context;
    const int32_t place = place_of("fake");
    assert_fails(bp_device_use_context(place, (void *)0x2000), BP_E_ARGUMENT, "does not contain");
    assert_ok(bp_device_use_context(place, (void *)0x1000));
    assert_ok(bp_device_use_context(place, (void *)0x1000));
    assert_ok(bp_device_context(place, &context));
    assert_ptr_equal(context, (void *)0x1000);
    assert_fails(bp_device_use_context(place, (void *)0x2000), BP_E_BUSY, "has another context");
    assert_fails(bp_device_context(0, &context), BP_E_DEVICE, "host");
}

static void test_reset_waits_for_what_is_held(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_event *event;
    assert_ok(bp_event_record(&event, queue));
    assert_fails(bp_reset(), BP_E_BUSY, "3 device objects are still held");
    bp_queue_release(queue);
    assert_fails(bp_reset(), BP_E_BUSY, "2 ");
    bp_event_release(event);
    assert_fails(bp_reset(), BP_E_BUSY, "1 device object is still held");
    free_tensor(tensor);
    bp_queue *own;
    assert_ok(bp__queue_for(place_of("fake"), NULL, &own)); /* the thread's is not held by the program */
    assert_ok(bp_reset());
    assert_int_equal(fake()->opened, 0);
    assert_int_equal(fake()->queues, 0);
    assert_int_equal(fake()->blocks, 0);
    assert_int_equal(bp__live_blocks(), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_commands_run_in_order_after_the_call),
        TEST(test_reads_and_writes),
        TEST(test_a_failure_is_told_at_the_next_wait),
        TEST(test_failures_without_waiting),
        TEST(test_one_of_many_fails),
        TEST(test_failures_of_released_queues),
        TEST(test_a_refused_command),
        TEST(test_a_lost_device),
        TEST(test_events_order_queues),
        TEST(test_events_order_devices),
        TEST(test_waits_for_failed_events),
        TEST(test_time_limits),
        TEST(test_events_of_the_program),
        TEST(test_wrapped_queues),
        TEST(test_queues_of_threads),
        TEST(test_waits_are_interrupted),
        TEST(test_copies_are_not_interrupted),
        TEST(test_bad_arguments),
        TEST(test_contexts),
        TEST(test_reset_waits_for_what_is_held),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
