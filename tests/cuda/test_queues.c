/* test_queues.c - queues and events of CUDA devices: order with streams of the program, waits, times, and the state of
 * the calling thread. */
#include "cuda/support_cuda.h"

#include <pthread.h>

enum { COUNT = 4000, ROUNDS = 15 };
static uint8_t ones[COUNT], twos[COUNT];

static int fill_host(void **state) {
    memset(ones, 1, sizeof ones);
    memset(twos, 2, sizeof twos);
    return begin_cuda(state);
}

static void commands_of_a_queue_run_in_order(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    bp_queue *queue = cuda_queue(0);
    for (int i = 0; i < ROUNDS; i++) {
        write_bytes(&tensor->dl_tensor, ones, queue);
        write_bytes(&tensor->dl_tensor, twos, queue);
        assert_ok(bp_queue_wait(queue));
        expect_bytes(tensor, 2);
    }
    bp_queue_release(queue);
    free_tensor(tensor);
}

/* A queue waits on the device for events of another one; the calling thread does not. */
static void queues_wait_for_events(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    bp_queue *first = cuda_queue(0), *second = cuda_queue(0);
    the_double()->longest_delay_us = 3000;
    for (int i = 0; i < ROUNDS; i++) {
        bp_event *event;
        write_bytes(&tensor->dl_tensor, ones, first);
        write_bytes(&tensor->dl_tensor, ones, first);
        assert_ok(bp_event_record(&event, first));
        assert_ok(bp_event_wait(second, event));
        write_bytes(&tensor->dl_tensor, twos, second);
        bp_event_release(event);
        assert_ok(bp_queue_wait(second));
        assert_ok(bp_queue_wait(first));
        expect_bytes(tensor, 2);
    }
    bp_queue_release(first);
    bp_queue_release(second);
    free_tensor(tensor);
}

/* Also between two devices. */
static void queues_wait_for_other_devices(void **state) {
    (void)state;
    static uint8_t host[COUNT];
    DLManagedTensorVersioned *one = cuda_bytes(0, COUNT, 5), *other = cuda_bytes(1, COUNT, 0);
    bp_queue *first = cuda_queue(0), *second = cuda_queue(1);
    the_double()->longest_delay_us = 3000;
    for (int i = 0; i < ROUNDS; i++) {
        bp_event *event;
        memset(host, 0, sizeof host);
        read_bytes(host, &one->dl_tensor, first);
        assert_ok(bp_event_record(&event, first));
        assert_ok(bp_event_wait(second, event));
        write_bytes(&other->dl_tensor, host, second);
        bp_event_release(event);
        assert_ok(bp_queue_wait(second));
        expect_bytes(other, 5);
    }
    bp_queue_release(first);
    bp_queue_release(second);
    free_tensor(one);
    free_tensor(other);
}

static void waits_wait(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 9);
    static uint8_t host[COUNT];
    bp_queue *queue = cuda_queue(0);
    bp_event *event;
    the_double()->open_gate(false);
    memset(host, 0, sizeof host);
    read_bytes(host, &tensor->dl_tensor, queue);
    assert_ok(bp_event_record(&event, queue));
    assert_fails(bp_event_sync(event, 1000000), BP_E_TIMEOUT, "cuda:0");
    assert_ok(bp_queue_error(queue));
    the_double()->open_gate(true);
    assert_ok(bp_event_sync(event, -1));
    assert_int_equal(host[COUNT - 1], 9);
    assert_ok(bp_event_sync(event, 0));
    bp_event_release(event);
    bp_queue_release(queue);
    free_tensor(tensor);
}

/* Our commands run in the order of the program's stream. */
static void streams_of_the_program_can_be_used(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    program_context(0);
    CUstream stream = program_stream(0);
    bp_queue *queue, *again;
    assert_ok(bp_queue_wrap(&queue, cuda_place(0), stream));
    assert_ok(bp_queue_wrap(&again, cuda_place(0), stream));
    assert_ptr_equal(queue, again);
    assert_ptr_equal(bp_queue_native(queue), stream);
    for (int i = 0; i < ROUNDS; i++) {
        write_bytes(&tensor->dl_tensor, ones, queue);
        program_fill(&tensor->dl_tensor, 6, stream);
        assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
        expect_bytes(tensor, 6);
        program_fill(&tensor->dl_tensor, 6, stream);
        write_bytes(&tensor->dl_tensor, ones, queue);
        assert_ok(bp_queue_wait(queue));
        expect_bytes(tensor, 1);
    }
    bp_queue_release(queue);
    bp_queue_release(again);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    free_tensor(tensor);
}

/* The handles 0 and 1 are the legacy default stream, which waits for streams of the program, and they for it. */
static void the_default_stream_is_ordered(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    program_context(0);
    CUstream stream = program_stream(0); /* blocking */
    bp_queue *queue;
    the_double()->longest_delay_us = 3000;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        assert_ok(bp_queue_wrap(&queue, cuda_place(0), i % 2 ? BP__CU_STREAM_LEGACY : NULL));
        program_fill(&tensor->dl_tensor, 6, stream);
        program_fill(&tensor->dl_tensor, 7, stream);
        write_bytes(&tensor->dl_tensor, ones, queue);
        write_bytes(&tensor->dl_tensor, twos, queue);
        program_fill(&tensor->dl_tensor, 8, stream);
        assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
        assert_ok(bp_queue_wait(queue));
        expect_bytes(tensor, 8);
        bp_queue_release(queue);
    }
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    free_tensor(tensor);
}

/* ---- The default stream of a thread ---- */

typedef struct other_thread {
    bp_queue *queue; /* of the first thread */
    DLManagedTensorVersioned *tensor;
    bp_queue *own;
    bp_status status;
    char message[256];
    bp_event *event;
} other_thread;

static void *use_in_other_thread(void *opaque) {
    other_thread *o = opaque;
    bp_view view;
    assert_ok(bp_view_init(&view, ones, BP_U8, 1, &(int64_t){COUNT}, NULL));
    o->status = bp_copy(&o->tensor->dl_tensor, &view.tensor, o->queue);
    snprintf(o->message, sizeof o->message, "%s", bp_last_error());
    assert_ok(bp_event_sync(o->event, -1)); /* waiting is possible in every thread */
    assert_ok(bp_queue_wrap(&o->own, cuda_place(0), BP__CU_STREAM_PER_THREAD));
    program_context(0);
    the_double()->open_gate(false);
    write_bytes(&o->tensor->dl_tensor, ones, o->own);
    assert_int_equal(driver()->StreamQuery(BP__CU_STREAM_PER_THREAD), BP__CU_NOT_READY);
    return NULL;
}

static void a_stream_per_thread_belongs_to_its_thread(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    other_thread o = {.tensor = tensor};
    pthread_t thread;
    program_context(0);
    bp_queue *again;
    assert_ok(bp_queue_wrap(&o.queue, cuda_place(0), BP__CU_STREAM_PER_THREAD));
    assert_ok(bp_queue_wrap(&again, cuda_place(0), BP__CU_STREAM_PER_THREAD));
    assert_ptr_equal(again, o.queue);
    bp_queue_release(again);
    write_bytes(&tensor->dl_tensor, twos, o.queue);
    assert_ok(bp_event_record(&o.event, o.queue));
    assert_int_equal(pthread_create(&thread, NULL, use_in_other_thread, &o), 0);
    pthread_join(thread, NULL);
    assert_int_equal(o.status, BP_E_ARGUMENT);
    assert_non_null(strstr(o.message, "CU_STREAM_PER_THREAD"));
    assert_ptr_not_equal(o.own, o.queue);
    /* The other thread's stream, which has work, is none of this thread. */
    assert_int_equal(driver()->StreamQuery(BP__CU_STREAM_PER_THREAD), BP__CU_SUCCESS);
    the_double()->open_gate(true);
    assert_ok(bp_queue_wait(o.own));
    expect_bytes(tensor, 1);
    bp_event_release(o.event);
    bp_queue_release(o.own);
    bp_queue_release(o.queue);
    free_tensor(tensor);
}

/* ---- Errors of the program ---- */

static void a_stream_of_another_context_is_refused(void **state) {
    (void)state;
    bp_queue *queue;
    program_context(1);
    CUstream stream = program_stream(0);
    assert_fails(bp_queue_wrap(&queue, cuda_place(0), stream), BP_E_ARGUMENT, "belongs to another context");
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    void *context;
    assert_ok(bp_device_context(cuda_place(1), &context));
    assert_fails(bp_device_use_context(cuda_place(0), context), BP_E_BUSY, "another context already");
    assert_ok(bp_reset());
    assert_int_equal(driver()->DevicePrimaryCtxRetain((CUcontext *)&context, 1), BP__CU_SUCCESS);
    assert_fails(bp_device_use_context(cuda_place(0), context), BP_E_ARGUMENT, "another device");
    assert_ok(bp_device_use_context(cuda_place(1), context));
    assert_int_equal(the_double()->contexts, 1); /* the program's */
    DLManagedTensorVersioned *tensor = cuda_bytes(1, COUNT, 3);
    expect_bytes(tensor, 3);
    free_tensor(tensor);
    assert_ok(bp_reset());
    assert_int_equal(driver()->DevicePrimaryCtxRelease(1), BP__CU_SUCCESS);
}

/* ---- Events ---- */

static void times_are_the_devices(void **state) {
    (void)state;
    bp_queue *queue;
    bp_event *from, *to;
    int64_t ns = -1;
    assert_ok(bp_queue_new(&queue, cuda_place(0), BP_QUEUE_TIMED));
    assert_ok(bp_event_record(&from, queue));
    assert_ok(bp_event_sync(from, -1));
    usleep(20000);
    assert_ok(bp_event_record(&to, queue));
    the_double()->open_gate(false);
    the_double()->open_gate(true);
    assert_ok(bp_event_sync(to, -1));
    assert_ok(bp_event_elapsed(from, to, &ns));
    assert_true(ns >= 15000000);
    assert_ok(bp_event_elapsed(to, from, &ns));
    assert_true(ns <= -15000000);
    bp_event_release(from);
    bp_event_release(to);
    bp_queue_release(queue);
    queue = cuda_queue(0);
    assert_ok(bp_event_record(&from, queue));
    assert_fails(bp_event_elapsed(from, from, &ns), BP_E_UNSUPPORTED, "BP_QUEUE_TIMED");
    bp_event_release(from);
    bp_queue_release(queue);
}

static void events_of_the_program_can_be_awaited(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    CUevent native;
    bp_event *event;
    bp_queue *queue = cuda_queue(0);
    program_context(0);
    CUstream stream = program_stream(BP__CU_STREAM_NON_BLOCKING);
    the_double()->longest_delay_us = 3000;
    assert_int_equal(driver()->EventCreate(&native, BP__CU_EVENT_DISABLE_TIMING), BP__CU_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        program_fill(&tensor->dl_tensor, 6, stream);
        program_fill(&tensor->dl_tensor, 7, stream);
        assert_int_equal(driver()->EventRecord(native, stream), BP__CU_SUCCESS);
        assert_ok(bp_event_wrap(&event, cuda_place(0), native));
        assert_ok(bp_event_wait(queue, event));
        write_bytes(&tensor->dl_tensor, ones, queue);
        assert_ok(bp_queue_wait(queue));
        bp_event_release(event);
        expect_bytes(tensor, 1);
    }
    assert_int_equal(driver()->EventDestroy(native), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    bp_queue_release(queue);
    free_tensor(tensor);
}

/* Events are made once, and used again. */
static void commands_create_no_events(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 0);
    bp_queue *queue = cuda_queue(0);
    for (int i = 0; i < 100; i++) {
        write_bytes(&tensor->dl_tensor, ones, queue);
    }
    assert_ok(bp_queue_wait(queue));
    const int before = the_double()->event_creations;
    for (int i = 0; i < 300; i++) {
        write_bytes(&tensor->dl_tensor, ones, queue);
        if (i % 50 == 49) {
            assert_ok(bp_queue_wait(queue));
        }
    }
    assert_int_equal(the_double()->event_creations, before);
    bp_queue_release(queue);
    free_tensor(tensor);
}

/* ---- The current context ---- */

static CUcontext current(void) {
    CUcontext found = NULL;
    assert_int_equal(driver()->CtxGetCurrent(&found), BP__CU_SUCCESS);
    return found;
}

static void use_everything(int index) {
    DLManagedTensorVersioned *tensor = cuda_bytes(index, COUNT, 1), *pinned;
    bp_queue *queue = cuda_queue(index);
    bp_event *event;
    write_bytes(&tensor->dl_tensor, twos, queue);
    assert_ok(bp_event_record(&event, queue));
    assert_ok(bp_event_wait(queue, event));
    assert_ok(bp_event_sync(event, -1));
    bp_event_release(event);
    assert_ok(bp_tensor_pinned(&pinned, cuda_place(index), BP_U8, 1, &(int64_t){COUNT}));
    free_tensor(pinned);
    bp_queue_release(queue);
    free_tensor(tensor);
    assert_ok(bp_device_trim(cuda_place(index), 0));
}

static void the_current_context_does_not_change(void **state) {
    (void)state;
    driver()->CtxSetCurrent(NULL);
    use_everything(0);
    assert_null(current());
    CUcontext own = program_context(0);
    use_everything(1);
    assert_ptr_equal(current(), own);
    use_everything(0);
    assert_ptr_equal(current(), own);
    const int before = the_double()->context_switches;
    use_everything(0); /* it is current already */
    assert_int_equal(the_double()->context_switches, before);
}

/* Other libraries of the process use the primary context. */
static void the_primary_context_is_shared(void **state) {
    (void)state;
    CUcontext theirs = NULL;
    const CUcontext ours = program_context(0);
    assert_int_equal(driver()->DevicePrimaryCtxRetain(&theirs, 0), BP__CU_SUCCESS);
    assert_ptr_equal(theirs, ours);
    assert_int_equal(driver()->DevicePrimaryCtxRelease(0), BP__CU_SUCCESS);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fill_host, end_cuda)
    const struct CMUnitTest tests[] = {
        TEST(commands_of_a_queue_run_in_order),
        TEST(queues_wait_for_events),
        TEST(queues_wait_for_other_devices),
        TEST(waits_wait),
        TEST(streams_of_the_program_can_be_used),
        TEST(the_default_stream_is_ordered),
        TEST(a_stream_per_thread_belongs_to_its_thread),
        TEST(a_stream_of_another_context_is_refused),
        TEST(times_are_the_devices),
        TEST(events_of_the_program_can_be_awaited),
        TEST(commands_create_no_events),
        TEST(the_current_context_does_not_change),
        TEST(the_primary_context_is_shared),
    };
    return cmocka_run_group_tests_name("queues", tests, start_cuda, stop_cuda);
}
