/* test_events.c - tests order, waits and failures: nothing runs before its inputs, and nothing blocks that should not.
 *
 * A user event is the gate: commands behind it wait until the test opens it, or lets it fail. */
#include "opencl/support_opencl.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const bp_runtime *const runtime = &bp_runtime_opencl;
enum { N = 1000 };

static cl_event gate_of(int device) {
    cl_int code;
    cl_event gate = test_cl_devices[device]->cl->CreateUserEvent(test_cl_devices[device]->context, &code);
    assert_non_null(gate);
    return gate;
}

static void open_gate(cl_event gate, cl_int status) {
    assert_int_equal(bp__cl_loaded.SetUserEventStatus(gate, status), 0);
    bp__cl_loaded.ReleaseEvent(gate);
}

static void *wait_for(test_queue *queue, void *one) {
    void *event;
    assert_int_equal(runtime->wait(queue->queue, 1, &one, &event), BP_OK);
    return event;
}

static void *copy(test_queue *queue, bp_transfer_kind kind, void *dst, void *src, size_t size) {
    void *event;
    bp_transfer transfer = {.kind = kind, .dst = {dst, 0}, .src = {src, 0}, .run = size};
    assert_int_equal(runtime->copy(queue->queue, &transfer, &event), BP_OK);
    return event;
}

static void assert_pending(void *event) {
    int64_t code;
    usleep(20000);
    assert_int_equal(runtime->event_state(event, &code), BP_EVENT_PENDING);
}

/* ---- One queue ---- */

/* Source memory is changed while the copy waits: what arrives tells when it was read. */
static void test_gate(void **state) {
    (void)state;
    test_cl_need(1);
    static int from[N], to[N];
    test_queue queue = test_queue_new(0, 0);
    void *base = test_cl_memory(&queue, NULL, sizeof from);
    cl_event gate = gate_of(0);
    for (int i = 0; i < N; i++) {
        from[i] = -1;
        to[i] = 0;
    }
    void *waited = wait_for(&queue, gate);
    void *write = copy(&queue, BP_TRANSFER_WRITE, base, from, sizeof from);
    void *read = copy(&queue, BP_TRANSFER_READ, to, base, sizeof to);
    assert_pending(waited);
    assert_pending(write);
    assert_pending(read);
    for (int i = 0; i < N; i++) {
        assert_int_equal(to[i], 0);
        from[i] = i;
    }
    open_gate(gate, 0);
    test_cl_done(read);
    test_cl_done(write);
    test_cl_done(waited);
    assert_memory_equal(to, from, sizeof from);
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&queue);
}

/* Another queue of the same device goes on. */
static void test_gate_of_another_queue(void **state) {
    (void)state;
    test_cl_need(1);
    int value = 7, result = 0;
    test_queue blocked = test_queue_new(0, 0), free_one = test_queue_new(0, 0);
    cl_event gate = gate_of(0);
    void *waited = wait_for(&blocked, gate);
    void *base = test_cl_memory(&free_one, &value, sizeof value);
    test_cl_read(&free_one, base, &result, sizeof result);
    assert_int_equal(result, 7);
    assert_pending(waited);
    open_gate(gate, 0);
    test_cl_done(waited);
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&blocked);
    test_queue_free(&free_one);
}

static void test_mark(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    cl_event gate = gate_of(0);
    void *mark, *waited = wait_for(&queue, gate);
    assert_int_equal(runtime->wait(queue.queue, 0, NULL, &mark), BP_OK);
    assert_pending(mark);
    open_gate(gate, 0);
    test_cl_done(mark);
    test_cl_done(waited);
    test_queue_free(&queue);
}

/* More events than one command takes; the first and the last are closed. */
static void test_many_events(void **state) {
    (void)state;
    test_cl_need(1);
    enum { MANY = 40 };
    void *gates[MANY], *waited;
    test_queue queue = test_queue_new(0, 0);
    for (int i = 0; i < MANY; i++) {
        gates[i] = gate_of(0);
    }
    assert_int_equal(runtime->wait(queue.queue, MANY, gates, &waited), BP_OK);
    for (int i = 1; i < MANY - 1; i++) {
        open_gate(gates[i], 0);
    }
    assert_pending(waited);
    open_gate(gates[MANY - 1], 0);
    assert_pending(waited);
    open_gate(gates[0], 0);
    test_cl_done(waited);
    test_queue_free(&queue);
}

/* ---- Two devices, whose contexts differ ---- */

static void test_two_devices(void **state) {
    (void)state;
    test_cl_need(2);
    int value = 1, first = 0, second = 0;
    test_queue a = test_queue_new(0, 0), b = test_queue_new(1, 0);
    void *base_a = test_cl_memory(&a, NULL, sizeof value), *base_b = test_cl_memory(&b, NULL, sizeof value);
    cl_event gate = gate_of(0);
    void *closed = wait_for(&a, gate);
    void *written = copy(&a, BP_TRANSFER_WRITE, base_a, &value, sizeof value);
    void *read = copy(&a, BP_TRANSFER_READ, &first, base_a, sizeof first);
    void *crossed = wait_for(&b, read);
    void *written_b = copy(&b, BP_TRANSFER_WRITE, base_b, &first, sizeof first);
    void *read_b = copy(&b, BP_TRANSFER_READ, &second, base_b, sizeof second);
    assert_pending(crossed);
    assert_pending(read_b);
    assert_int_equal(second, 0);
    value = 42;
    open_gate(gate, 0);
    test_cl_done(read_b);
    assert_int_equal(second, 42);
    void *all[] = {closed, written, read, crossed, written_b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        test_cl_done(all[i]);
    }
    runtime->release(test_cl_devices[0], base_a);
    runtime->release(test_cl_devices[1], base_b);
    test_queue_free(&a);
    test_queue_free(&b);
}

/* An event of the other device that has ended already, and one that has failed. */
static void test_two_devices_ended(void **state) {
    (void)state;
    test_cl_need(2);
    test_queue b = test_queue_new(1, 0);
    cl_event ended = gate_of(0), failed = gate_of(0);
    bp__cl_loaded.SetUserEventStatus(ended, 0);
    bp__cl_loaded.SetUserEventStatus(failed, -77);
    void *good = wait_for(&b, ended);
    test_cl_done(good);
    void *event, *bad = failed;
    assert_int_equal(runtime->wait(b.queue, 1, &bad, &event), BP_E_DEVICE);
    assert_contains(test_cl_error, "a command to wait for has failed");
    bp__cl_loaded.ReleaseEvent(ended);
    bp__cl_loaded.ReleaseEvent(failed);
    test_queue_free(&b);
}

/* ---- Failures ---- */

/* The event of another device fails while a queue waits for it. */
static void test_two_devices_failing(void **state) {
    (void)state;
    test_cl_need(2);
    int value = 1, result = 9;
    test_queue b = test_queue_new(1, 0);
    void *base = test_cl_memory(&b, &value, sizeof value);
    cl_event gate = gate_of(0);
    void *waited = wait_for(&b, gate);
    void *read = copy(&b, BP_TRANSFER_READ, &result, base, sizeof result);
    open_gate(gate, -77);
    assert_true(test_cl_wait(read) < 0);
    assert_true(test_cl_wait(waited) < 0);
    assert_int_equal(result, 9);
    runtime->event_release(waited);
    runtime->event_release(read);
    runtime->release(test_cl_devices[1], base);
    test_queue_free(&b);
}

static void test_failing_event(void **state) {
    (void)state;
    test_cl_need(1);
    int value = 3, result = 9;
    test_queue queue = test_queue_new(0, 0);
    void *base = test_cl_memory(&queue, &value, sizeof value);
    cl_event gate = gate_of(0);
    void *waited = wait_for(&queue, gate);
    void *read = copy(&queue, BP_TRANSFER_READ, &result, base, sizeof result);
    open_gate(gate, -77);
    assert_true(test_cl_wait(waited) < 0);
    assert_true(test_cl_wait(read) < 0);
    assert_int_equal(result, 9); /* not written */
    int64_t code = 0;
    assert_int_equal(runtime->event_state(read, &code), BP_EVENT_FAILED);
    assert_true(code < 0);
    int64_t start, end;
    assert_int_equal(runtime->event_times(read, &start, &end), BP_E_DEVICE);
    runtime->event_release(waited);
    runtime->event_release(read);
    test_cl_read(&queue, base, &result, sizeof result); /* the queue works again */
    assert_int_equal(result, 3);
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&queue);
}

/* ---- Waits with a limit, the program's own events, times ---- */

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *open_later(void *gate) {
    usleep(50000);
    open_gate(gate, 0);
    return NULL;
}

static void test_timeout(void **state) {
    (void)state;
    test_cl_need(1);
    pthread_t thread;
    int64_t code = 0, start;
    void *event;
    cl_event gate = gate_of(0);
    assert_int_equal(runtime->event_wrap(test_cl_devices[0], gate, &event), BP_OK);
    assert_int_equal(runtime->event_sync(event, 0, &code), BP_EVENT_PENDING);
    start = now_ms();
    assert_int_equal(runtime->event_sync(event, 30000000, &code), BP_EVENT_PENDING);
    assert_true(now_ms() - start >= 29);
    pthread_create(&thread, NULL, open_later, gate);
    assert_int_equal(runtime->event_sync(event, INT64_C(60000000000), &code), BP_EVENT_DONE);
    pthread_join(thread, NULL);
    assert_int_equal(runtime->event_sync(event, 0, &code), BP_EVENT_DONE);
    runtime->event_release(event);
    gate = gate_of(0);
    assert_int_equal(runtime->event_wrap(test_cl_devices[0], gate, &event), BP_OK);
    pthread_create(&thread, NULL, open_later, gate);
    assert_int_equal(runtime->event_sync(event, -1, &code), BP_EVENT_DONE);
    pthread_join(thread, NULL);
    runtime->event_release(event);
}

static void test_times(void **state) {
    (void)state;
    test_cl_need(1);
    static char bytes[1 << 20];
    int64_t start, end;
    test_queue timed = test_queue_new(0, BP_QUEUE_TIMED), untimed = test_queue_new(0, 0);
    void *base = test_cl_memory(&timed, bytes, sizeof bytes);
    void *event = copy(&timed, BP_TRANSFER_WRITE, base, bytes, sizeof bytes), *mark;
    assert_int_equal(runtime->wait(timed.queue, 0, NULL, &mark), BP_OK);
    test_cl_wait(event);
    test_cl_wait(mark);
    assert_int_equal(runtime->event_times(event, &start, &end), BP_OK);
    assert_true(start > 0 && end >= start);
    int64_t mark_start, mark_end;
    assert_int_equal(runtime->event_times(mark, &mark_start, &mark_end), BP_OK);
    assert_true(mark_end >= end);
    runtime->event_release(event);
    runtime->event_release(mark);
    event = copy(&untimed, BP_TRANSFER_WRITE, base, bytes, sizeof bytes);
    test_cl_wait(event);
    assert_int_equal(runtime->event_times(event, &start, &end), BP_E_UNSUPPORTED);
    runtime->event_release(event);
    cl_event gate = gate_of(0);
    event = wait_for(&timed, gate);
    assert_int_equal(runtime->event_times(event, &start, &end), BP_E_BUSY);
    open_gate(gate, 0);
    test_cl_done(event);
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&timed);
    test_queue_free(&untimed);
}

/* ---- Maps ---- */

static void test_map(void **state) {
    (void)state;
    test_cl_need(1);
    static int from[N], to[N];
    test_queue queue = test_queue_new(0, 0);
    for (int i = 0; i < N; i++) {
        from[i] = i;
    }
    void *base = test_cl_memory(&queue, NULL, sizeof from), *event, *address;
    runtime->event_release(copy(&queue, BP_TRANSFER_WRITE, base, from, sizeof from)); /* the map waits for it */
    bp_operand start = {base, 100 * sizeof(int)};
    assert_int_equal(runtime->map(queue.queue, &start, 200 * sizeof(int), BP_MAP_READ | BP_MAP_WRITE, &address), BP_OK);
    assert_memory_equal(address, from + 100, 200 * sizeof(int));
    ((int *)address)[5] = -5;
    assert_int_equal(runtime->unmap(queue.queue, &start, address, &event), BP_OK);
    test_cl_done(event);
    test_cl_read(&queue, base, to, sizeof to);
    from[105] = -5;
    assert_memory_equal(to, from, sizeof from);
    start.offset = sizeof from;
    assert_int_not_equal(runtime->map(queue.queue, &start, 4, BP_MAP_READ, &address), BP_OK);
    runtime->release(test_cl_devices[0], base);
    test_queue_free(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gate_of_another_queue),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_many_events),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_two_devices_ended),
        cmocka_unit_test(test_two_devices_failing),
        cmocka_unit_test(test_failing_event),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_map),
    };
    return cmocka_run_group_tests_name("events", tests, test_cl_setup, test_cl_teardown);
}
