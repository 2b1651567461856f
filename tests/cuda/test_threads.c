/* test_threads.c - several threads use one CUDA device, the queues and events of each other, and its kernels. */
#include "cuda/support_cuda.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 30, SIDE = 20, COUNT = SIDE * SIDE };

typedef struct worker {
    pthread_t thread;
    int number;
    struct worker *all;
    pthread_mutex_t mutex;
    bp_event *reached; /* of its last round; under the mutex */
} worker;

/* Copies values to a device, transposed, and back through another tensor. */
static void copy_and_compare(int device, bp_queue *queue, uint32_t seed) {
    float values[COUNT], back[COUNT];
    DLManagedTensorVersioned *turned, *plain;
    const int64_t shape[] = {SIDE, SIDE}, strides[] = {1, SIDE};
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)(seed + (uint32_t)i);
    }
    assert_ok(bp_tensor_empty_on(&turned, cuda_place(device), BP_F32, 2, shape, strides));
    assert_ok(bp_tensor_empty_on(&plain, cuda_place(device), BP_F32, 2, shape, NULL));
    write_bytes(&turned->dl_tensor, values, queue);
    assert_ok(bp_copy(&plain->dl_tensor, &turned->dl_tensor, queue));
    read_bytes(back, &plain->dl_tensor, queue);
    assert_ok(bp_queue_wait(queue));
    assert_memory_equal(back, values, sizeof values);
    free_tensor(turned);
    free_tensor(plain);
}

/* Takes the event of another thread's last round; NULL: there is none. */
static bp_event *take_event(worker *of) {
    pthread_mutex_lock(&of->mutex);
    bp_event *taken = of->reached;
    of->reached = NULL;
    pthread_mutex_unlock(&of->mutex);
    return taken;
}

static void *work(void *opaque) {
    worker *own = opaque;
    bp_queue *queue = cuda_queue(own->number % 2);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        bp_event *event = take_event(&own->all[(own->number + 1) % THREADS]);
        if (event) {
            assert_ok(bp_event_wait(queue, event));
            bp_event_release(event);
        }
        copy_and_compare(own->number % 2, queue, i * 1000 + (uint32_t)own->number);
        assert_ok(bp_event_record(&event, queue));
        pthread_mutex_lock(&own->mutex);
        bp_event *before = own->reached;
        own->reached = event;
        pthread_mutex_unlock(&own->mutex);
        bp_event_release(before);
    }
    bp_queue_release(queue);
    return NULL;
}

static void threads_share_devices(void **state) {
    (void)state;
    worker workers[THREADS] = {{.number = 0}};
    the_double()->longest_delay_us = 50;
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].all = workers;
        pthread_mutex_init(&workers[i].mutex, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        bp_event_release(workers[i].reached);
        pthread_mutex_destroy(&workers[i].mutex);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(threads_share_devices, begin_cuda, end_cuda)};
    return cmocka_run_group_tests_name("threads", tests, start_cuda, stop_cuda);
}
