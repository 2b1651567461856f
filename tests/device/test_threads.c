/* test_threads.c - eight threads with a queue each, that share two devices, their pool and one queue. */
#include "device/support_device.h"
#include "support/conditions.h"

#include <pthread.h>

enum { THREADS = 8, BYTES = 700 };

static int rounds(void) {
    return test_sanitized() ? 100 : 300;
}

typedef struct worker {
    pthread_t thread;
    int number;
    bp_queue *shared;
} worker;

/* cmocka's assertions belong to the main thread. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != BP_OK) {                                                                                         \
            return (void *)(uintptr_t) #call;                                                                          \
        }                                                                                                              \
    } while (0)

/* Each round: a fresh tensor is written, changed by two runs, and read on queues in turn. */
static void *work(void *opaque) {
    const worker *w = opaque;
    const char *id = w->number % 2 ? "fake:0" : "fake:1";
    int32_t place;
    uint8_t bytes[BYTES];
    bp_queue *own, *second;
    const int64_t count = BYTES;
    MUST(bp_device_find(id, &place));
    MUST(bp_queue_current(&own, place));
    MUST(bp_queue_new(&second, place, 0));
    for (int round = 0; round < rounds(); round++) {
        DLManagedTensorVersioned *tensor;
        bp_event *event;
        bp_operand block;
        MUST(bp_tensor_empty_on(&tensor, place, BP_U8, 1, &count, NULL));
        const bp_operand start = {tensor->dl_tensor.data, 0};
        memset(bytes, round, sizeof bytes);
        MUST(bp__queue_write(own, &start, bytes, sizeof bytes));
        MUST(add_bytes(own, &tensor->dl_tensor, (uint8_t)w->number, "x"));
        MUST(bp_event_record(&event, own));
        MUST(bp_event_wait(second, event));
        bp_event_release(event);
        bp__queue_begin(second, BP_OP_GEMM, "y");
        MUST(bp__queue_take(second, 600, &block));
        void *done = fake()->add(bp__queue_runtime(second), block.base, 0, 600, 1);
        MUST(bp__queue_enqueued(second, done));
        bp__queue_give(second, &block);
        bp__queue_end(second);
        MUST(add_bytes(second, &tensor->dl_tensor, 1, "y"));
        MUST(bp__queue_read(second, bytes, &start, sizeof bytes));
        for (int i = 0; i < BYTES; i++) {
            if (bytes[i] != (uint8_t)(round + w->number + 1)) {
                return "wrong bytes";
            }
        }
        if (round % 8 == 0 && bp_queue_place(w->shared) == place) {
            MUST(add_bytes(w->shared, &tensor->dl_tensor, 1, "z"));
            if (round % 32 == 0) {
                MUST(bp_queue_wait(w->shared));
            }
        }
        if (round % 16 == 0) {
            MUST(bp_device_wait(place));
            MUST(bp_device_trim(place, 10000));
            bp_queue_release(second);
            MUST(bp_queue_new(&second, place, 0));
        }
        tensor->deleter(tensor);
    }
    bp_queue_release(own);
    bp_queue_release(second);
    return NULL;
}

static void run_all(int longest_delay_us) {
    worker workers[THREADS];
    bp_queue *shared = new_queue("fake:0");
    fake()->longest_delay_us = longest_delay_us;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i, .shared = shared};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(workers[i].thread, &wrong);
        if (wrong) {
            fail_msg("thread %d: %s: %s", i, (const char *)wrong, bp_last_error());
        }
    }
    bp_queue_release(shared);
    fake()->longest_delay_us = 0;
}

static void test_eight_threads(void **state) {
    (void)state;
    run_all(0);
}

static void test_eight_threads_with_delays(void **state) {
    (void)state;
    run_all(50);
}

/* The first contact and the first opening are shared, too. */
static void *list(void *unused) {
    (void)unused;
    int32_t place;
    void *device;
    MUST(bp_device_find("fake:1", &place));
    MUST(bp__device_open(place, &device));
    return NULL;
}

static void test_first_use_by_many(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int round = 0; round < 5; round++) {
        restart_devices();
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, list, NULL), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *wrong;
            pthread_join(threads[i], &wrong);
            assert_null(wrong);
        }
        assert_int_equal(fake()->opened, 1);
        assert_int_equal(fake()->devices, 1);
    }
}

/* A program's deleter may run in any thread. */
static void *delete_all(void *opaque) {
    DLManagedTensorVersioned **tensors = opaque;
    for (int i = 0; i < 100; i++) {
        tensors[i]->deleter(tensors[i]);
    }
    return NULL;
}

static void test_tensors_are_freed_elsewhere(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensors[100];
    bp_queue *queue = new_queue("fake");
    pthread_t thread;
    fake()->longest_delay_us = 100;
    for (int i = 0; i < 100; i++) {
        tensors[i] = new_bytes("fake", 1000);
        assert_ok(add_bytes(queue, &tensors[i]->dl_tensor, 1, "x"));
    }
    assert_int_equal(pthread_create(&thread, NULL, delete_all, tensors), 0);
    pthread_join(thread, NULL);
    assert_ok(bp_device_trim(place_of("fake"), 0)); /* frees none that a command uses: the runtime would see it */
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_eight_threads),
        TEST(test_eight_threads_with_delays),
        TEST(test_first_use_by_many),
        TEST(test_tensors_are_freed_elsewhere),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
