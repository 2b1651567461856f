/* test_fork.c - a child of fork cannot use devices that its parent had opened: it gets an error at once, and calls no
 * driver. */
#include "device/support_device.h"
#include "support/conditions.h"

#include <pthread.h>
#include <sys/wait.h>

/* Runs `child` in a child process. It returns the number of the first wrong line, 0 if all is right. */
static void in_child(int (*child)(void *user), void *user) {
    fflush(NULL);
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        alarm(240);
        const int wrong = child(user);
        _exit(wrong == 0 ? 0 : 1 + wrong % 250);
    }
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the child ended with %d (signal %d)", WEXITSTATUS(status), WTERMSIG(status));
    }
}

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, bp_last_error());                                               \
            return __LINE__;                                                                                           \
        }                                                                                                              \
    } while (0)

typedef struct held {
    bp_queue *queue;
    bp_event *event;
    DLManagedTensorVersioned *tensor, *second;
    int32_t place;
} held;

static int use_parents(void *opaque) {
    held *h = opaque;
    bp_queue *queue;
    bp_event *event;
    int64_t ns;
    uint8_t bytes[100] = {0};
    const int64_t count = 100;
    DLManagedTensorVersioned *tensor;
    bp_view view;
    void *pointer;
    bp_device_memory_info memory = {.struct_size = sizeof memory};
    bp_device_info info = {.struct_size = sizeof info};
    fake()->violations = 0;
    MUST(bp_queue_wait(h->queue) == BP_E_FORKED);
    MUST(strstr(bp_last_error(), "fake:0 was in use before fork"));
    MUST(bp_queue_error(h->queue) == BP_E_FORKED);
    MUST(bp_queue_native(h->queue) == NULL);
    MUST(bp_queue_place(h->queue) == h->place);
    MUST(bp_event_record(&event, h->queue) == BP_E_FORKED);
    MUST(bp_event_wait(h->queue, h->event) == BP_E_FORKED);
    MUST(bp_event_sync(h->event, -1) == BP_E_FORKED);
    MUST(bp_event_elapsed(h->event, h->event, &ns) == BP_E_FORKED);
    MUST(bp_queue_new(&queue, h->place, 0) == BP_E_FORKED);
    MUST(bp_queue_current(&queue, h->place) == BP_E_FORKED);
    MUST(bp_queue_use(h->place, h->queue) == BP_E_FORKED);
    MUST(bp_queue_wrap(&queue, h->place, &queue) == BP_E_FORKED);
    MUST(bp_event_wrap(&event, h->place, &queue) == BP_E_FORKED);
    MUST(bp__queue_for(h->place, h->queue, &queue) == BP_E_FORKED);
    MUST(bp__queue_for(h->place, NULL, &queue) == BP_E_FORKED);
    MUST(bp__device_check(h->place) == BP_E_FORKED);
    MUST(bp__device_open(h->place, &pointer) == BP_E_FORKED);
    MUST(bp_device_context(h->place, &pointer) == BP_E_FORKED);
    MUST(bp_device_use_context(h->place, &queue) == BP_E_FORKED);
    MUST(bp_device_wait(h->place) == BP_E_FORKED);
    MUST(bp_device_memory(h->place, &memory) == BP_E_FORKED);
    MUST(bp_device_trim(h->place, 0) == BP_E_FORKED);
    MUST(bp_device_set_memory_limit(h->place, 0) == BP_E_FORKED);
    MUST(bp_tensor_empty_on(&tensor, h->place, BP_U8, 1, &count, NULL) == BP_E_FORKED);
    MUST(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL) == BP_OK);
    MUST(bp_copy(&view.tensor, &h->tensor->dl_tensor, NULL) == BP_E_FORKED);
    MUST(bp_copy(&h->tensor->dl_tensor, &view.tensor, h->queue) == BP_E_FORKED);
    MUST(bp_map(&view, &h->tensor->dl_tensor, BP_MAP_READ, NULL) == BP_E_FORKED);
    MUST(bp_unmap(&view, &h->tensor->dl_tensor, NULL) == BP_E_FORKED);
    MUST(bp_device_describe(h->place, &info) == BP_OK && info.state == BP_DEVICE_FORKED);
    MUST(bp__device_facts(h->place) == NULL);
    MUST(bp__devices_held() == 0);
    free_tensor(h->tensor); /* no-ops for the driver */
    bp_event_release(h->event);
    bp_queue_release(h->queue);
    MUST(bp__devices_held() == 0);
    MUST(bp_reset() == BP_OK);
    int32_t place;
    MUST(bp_device_find("fake:0", &place) == BP_E_NOT_FOUND); /* also after a reset */
    MUST(strstr(bp_last_error(), "fork"));
    MUST(bp__device_check(h->place) == BP_E_FORKED);
    free_tensor(h->second); /* also after the reset */
    MUST(fake()->violations == 0);
    MUST(fake()->forked_closes == 1);
    if (!test_child_may_start_threads()) {
        return 0;
    }
    MUST(bp_device_find("other:0", &place) == BP_OK); /* a runtime that the parent had not opened */
    MUST(bp_queue_new(&queue, place, 0) == BP_OK);
    MUST(bp_queue_wait(queue) == BP_OK);
    bp_queue_release(queue);
    MUST(bp_reset() == BP_OK);
    return 0;
}

static held hold(void) {
    held h = {.queue = new_queue("fake"),
              .place = place_of("fake"),
              .tensor = new_bytes("fake", 100),
              .second = new_bytes("fake", 100)};
    assert_ok(bp_event_record(&h.event, h.queue));
    return h;
}

static void release(held *h) {
    free_tensor(h->tensor);
    free_tensor(h->second);
    bp_event_release(h->event);
    bp_queue_release(h->queue);
}

static void test_child_gets_errors(void **state) {
    (void)state;
    held h = hold();
    fake()->open_gate(false); /* with work in the queue */
    assert_ok(add_bytes(h.queue, &h.tensor->dl_tensor, 1, "x"));
    in_child(use_parents, &h);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(h.queue)); /* the parent goes on */
    assert_ok(add_bytes(h.queue, &h.tensor->dl_tensor, 1, "x"));
    assert_ok(bp_queue_wait(h.queue));
    release(&h);
}

/* The parent has listed devices, but opened none: the child may. */
static int use_after_list(void *unused) {
    (void)unused;
    bp_queue *queue;
    int32_t place;
    MUST(bp_device_find("fake:1", &place) == BP_OK);
    MUST(bp_queue_new(&queue, place, 0) == BP_OK);
    MUST(bp_queue_wait(queue) == BP_OK);
    bp_queue_release(queue);
    MUST(bp_reset() == BP_OK);
    MUST(fake()->violations == 0);
    return 0;
}

static void test_child_of_a_parent_that_only_lists(void **state) {
    (void)state;
    restart_devices();
    assert_int_equal(place_of("fake:1"), kDLVulkan << 16 | 1);
    if (test_child_may_start_threads()) {
        in_child(use_after_list, NULL);
    }
    held h = hold();
    release(&h);
}

/* Forks while other threads use the device: the child finds no lock that it needs. */
static atomic_bool stop;

static void *use_all_the_time(void *opaque) {
    const held *h = opaque;
    bp_queue *own;
    if (bp__queue_for(h->place, NULL, &own) != BP_OK) {
        return "failed";
    }
    while (!stop) {
        const int64_t count = 100;
        DLManagedTensorVersioned *tensor;
        bp_event *event;
        if (bp_tensor_empty_on(&tensor, h->place, BP_U8, 1, &count, NULL) != BP_OK ||
            add_bytes(h->queue, &tensor->dl_tensor, 1, "x") != BP_OK || bp_event_record(&event, h->queue) != BP_OK ||
            bp_event_sync(event, -1) != BP_OK || bp_device_wait(h->place) != BP_OK) {
            return "failed";
        }
        bp_event_release(event);
        tensor->deleter(tensor);
    }
    return NULL;
}

/* Uses a queue of this thread on a runtime that the parent had not opened. */
static void *use_other(void *unused) {
    (void)unused;
    int32_t place;
    bp_queue *queue;
    if (bp_device_find("other:0", &place) != BP_OK || bp__queue_for(place, NULL, &queue) != BP_OK ||
        bp_queue_wait(queue) != BP_OK) {
        return "failed";
    }
    return NULL;
}

static int check_a_few(void *opaque) {
    held *h = opaque;
    pthread_t thread;
    void *wrong;
    MUST(bp_queue_wait(h->queue) == BP_E_FORKED);
    MUST(bp_device_wait(h->place) == BP_E_FORKED);
    for (int i = 0; i < 8 && test_child_may_start_threads();
         i++) { /* in memory of the parent's threads, which do not exist here */
        MUST(pthread_create(&thread, NULL, use_other, NULL) == 0);
        pthread_join(thread, &wrong);
        MUST(!wrong);
    }
    free_tensor(h->tensor);
    bp_event_release(h->event);
    bp_queue_release(h->queue);
    MUST(bp_reset() == BP_OK);
    return 0;
}

static void test_forks_while_threads_run(void **state) {
    (void)state;
    enum { THREADS = 4 };
    if (test_sanitized_by("address")) {
        print_message("AddressSanitizer's allocator does not work in children of such processes\n");
        skip();
    }
    held h = hold();
    pthread_t threads[THREADS];
    const int forks = test_sanitized() ? 5 : 50;
    stop = false;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_all_the_time, &h), 0);
    }
    for (int i = 0; i < forks; i++) {
        in_child(check_a_few, &h);
    }
    stop = true;
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    release(&h);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_child_gets_errors),
        TEST(test_child_of_a_parent_that_only_lists),
        TEST(test_forks_while_threads_run),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
