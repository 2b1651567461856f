/* test_pocl.c - devices on a real driver with two devices: PoCL, or whatever OpenCL there is with two.
 *
 * User events of OpenCL are gates: nothing behind one runs before it is opened, and one that fails makes the commands
 * behind it fail. Without two devices the tests are skipped. */
#include "device/support_layouts.h"
#include "support/kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

static void *(*create_user_event)(void *context, int32_t *code);
static int32_t (*set_user_event_status)(void *event, int32_t status);
static int32_t (*release_event)(void *event);

/* Returns whether the process has loaded a file with this in its name. */
static bool has_loaded(const char *part) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        found = strstr(line, part) != NULL;
    }
    if (maps) {
        fclose(maps);
    }
    return found;
}

static int start(void **state) {
    (void)state;
    int32_t place;
    setenv("POCL_DEVICES", "pthread pthread", 0);
    test_kernels_setup();
    setenv("BACKPLANE_DEVICE_EXCLUDE", "fake,other", 1);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 1);
    if (bp_device_find("opencl:1", &place) != BP_OK) {
        printf("skipped: there are no two OpenCL devices: %s\n", bp_last_error());
        exit(77); /* ctest counts it as skipped */
    }
    return 0;
}

static int stop(void **state) {
    (void)state;
    return bp_reset() == BP_OK && bp__live_blocks() == 0 ? 0 : -1;
}

/* ---- Gates ---- */

/* Makes the queue wait for a gate, which open_gate() opens or lets fail. */
static void *close_gate(bp_queue *queue) {
    void *context;
    int32_t code;
    bp_event *event;
    if (!create_user_event) {
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
        assert_non_null(library);
        create_user_event = (void *(*)(void *, int32_t *))dlsym(library, "clCreateUserEvent");
        set_user_event_status = (int32_t(*)(void *, int32_t))dlsym(library, "clSetUserEventStatus");
        release_event = (int32_t(*)(void *))dlsym(library, "clReleaseEvent");
    }
    assert_ok(bp_device_context(bp_queue_place(queue), &context));
    void *gate = create_user_event(context, &code);
    assert_non_null(gate);
    assert_ok(bp_event_wrap(&event, bp_queue_place(queue), gate));
    assert_ok(bp_event_wait(queue, event));
    bp_event_release(event);
    return gate;
}

static void open_gate(void *gate, int32_t status) {
    assert_int_equal(set_user_event_status(gate, status), 0);
    assert_int_equal(release_event(gate), 0);
}

/* ---- Tests ---- */

/* Runs first: the list comes from a child process. */
static void test_listing_loads_no_driver(void **state) {
    (void)state;
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(place_of("opencl:0"), &info));
    assert_int_equal(info.state, BP_DEVICE_READY);
    assert_true(info.units > 0 && info.memory > 0 && info.group_items > 0 && info.alignment > 0);
    assert_true(*info.name && *info.platform && *info.version && strstr(info.extensions, "cl_khr"));
    assert_false(has_loaded("libOpenCL"));
    assert_false(has_loaded("libpocl"));
}

static void test_random_layouts(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"opencl", NULL}, {NULL, "opencl"}, {"opencl", "opencl"}, {"opencl:0", "opencl:1"}};
    for (int round = 0; round < 120; round++) {
        copy_random(pairs[round % 4][0], pairs[round % 4][1], round % 10 < 2 ? 11 : 5);
    }
}

/* A chain over two devices stays where it is until the gate opens. */
static void test_nothing_runs_before_its_inputs(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static uint8_t from[COUNT], to[COUNT];
    const int64_t count = COUNT;
    bp_queue *first = new_queue("opencl:0"), *second = new_queue("opencl:1");
    DLManagedTensorVersioned *a = new_bytes("opencl:0", COUNT), *b = new_bytes("opencl:0", COUNT);
    bp_view source, target;
    bp_event *event, *after;
    assert_ok(bp_view_init(&source, from, BP_U8, 1, &count, NULL));
    assert_ok(bp_view_init(&target, to, BP_U8, 1, &count, NULL));
    memset(from, 3, sizeof from);
    void *gate = close_gate(first);
    assert_ok(bp_copy(&a->dl_tensor, &source.tensor, first));
    assert_ok(bp_copy(&b->dl_tensor, &a->dl_tensor, first));
    assert_ok(bp_copy(&target.tensor, &b->dl_tensor, first));
    assert_ok(bp_event_record(&event, first));
    assert_ok(bp_event_wait(second, event)); /* on another device */
    assert_ok(bp_event_record(&after, second));
    usleep(20000);
    assert_int_equal(to[0], 0);
    assert_int_equal(bp_event_sync(event, 0), BP_E_TIMEOUT);
    assert_int_equal(bp_event_sync(after, 10000000), BP_E_TIMEOUT);
    memset(from, 9, sizeof from); /* the source is read when the copy runs */
    open_gate(gate, 0);
    assert_ok(bp_event_sync(after, -1));
    assert_int_equal(to[0], 9);
    assert_int_equal(to[COUNT - 1], 9);
    assert_ok(bp_queue_wait(first));
    assert_ok(bp_queue_wait(second));
    bp_event_release(event);
    bp_event_release(after);
    free_tensor(a);
    free_tensor(b);
    bp_queue_release(first);
    bp_queue_release(second);
}

/* clFinish() of PoCL returns 0 here: only the events know. */
static void test_failures_are_told(void **state) {
    (void)state;
    static uint8_t bytes[100];
    const int64_t count = sizeof bytes;
    bp_queue *queue = new_queue("opencl");
    DLManagedTensorVersioned *tensor = new_bytes("opencl", count);
    bp_view view;
    bp_event *event;
    assert_ok(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL));
    void *gate = close_gate(queue);
    assert_ok(bp_copy(&tensor->dl_tensor, &view.tensor, queue));
    assert_ok(bp_event_record(&event, queue));
    open_gate(gate, -77);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "the wait for an event failed on device opencl:0: ");
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "the wait for an event failed");
    bp_event_release(event);
    assert_ok(bp_copy(&tensor->dl_tensor, &view.tensor, queue)); /* it can be used again */
    assert_ok(bp_queue_wait(queue));
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_reuse_waits_for_the_device(void **state) {
    (void)state;
    static uint8_t late[5000], now[5000], got[5000];
    const int64_t count = sizeof late;
    bp_queue *queue = new_queue("opencl"), *second = new_queue("opencl");
    DLManagedTensorVersioned *old = new_bytes("opencl", count), *fresh;
    const void *const base = old->dl_tensor.data;
    bp_view view;
    memset(late, 1, sizeof late);
    memset(now, 2, sizeof now);
    void *gate = close_gate(queue);
    assert_ok(bp_view_init(&view, late, BP_U8, 1, &count, NULL));
    assert_ok(bp_copy(&old->dl_tensor, &view.tensor, queue));
    free_tensor(old);
    fresh = new_bytes("opencl", count);
    assert_ptr_not_equal(fresh->dl_tensor.data, base);
    const bp_operand place = {fresh->dl_tensor.data, 0};
    assert_ok(bp__queue_write(second, &place, now, sizeof now));
    assert_ok(bp_queue_wait(second));
    open_gate(gate, 0);
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp__queue_read(second, got, &place, sizeof got));
    assert_memory_equal(got, now, sizeof got);
    free_tensor(fresh);
    fresh = new_bytes("opencl", count);
    old = new_bytes("opencl", count);
    assert_true(fresh->dl_tensor.data == base || old->dl_tensor.data == base);
    free_tensor(fresh);
    free_tensor(old);
    bp_queue_release(queue);
    bp_queue_release(second);
}

static void test_maps(void **state) {
    (void)state;
    placed p;
    bp_view view;
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(place_of("opencl"), &info));
    placed_make(&p, "opencl", BP_F32, 2, (int64_t[]){7, 9}, false);
    if (info.can & BP_DEVICE_CAN_MAP) {
        assert_ok(bp_map(&view, &p.view.tensor, BP_MAP_READ | BP_MAP_WRITE, NULL));
        const int64_t last = 6 * view.strides[0] + 8 * view.strides[1];
        const char *wanted = (const char *)p.host + p.view.tensor.byte_offset + 4 * last;
        assert_memory_equal((char *)view.tensor.data + 4 * last, wanted, 4);
        assert_ok(bp_unmap(&view, &p.view.tensor, NULL));
        assert_ok(bp_device_wait(place_of("opencl")));
    }
    placed_free(&p);
}

static void test_times(void **state) {
    (void)state;
    bp_queue *queue;
    bp_event *from, *to;
    int64_t ns = -1;
    DLManagedTensorVersioned *tensor = new_bytes("opencl", 1 << 22), *second = new_bytes("opencl", 1 << 22);
    assert_ok(bp_queue_new(&queue, place_of("opencl"), BP_QUEUE_TIMED));
    assert_ok(bp_event_record(&from, queue));
    assert_ok(bp_copy(&second->dl_tensor, &tensor->dl_tensor, queue));
    assert_ok(bp_event_record(&to, queue));
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp_event_elapsed(from, to, &ns));
    assert_true(ns > 0 && ns < INT64_C(60000000000));
    bp_event_release(from);
    bp_event_release(to);
    free_tensor(tensor);
    free_tensor(second);
    bp_queue_release(queue);
}

/* Without the checks, the child's first blocking call would never return. */
static void test_fork(void **state) {
    (void)state;
    const int32_t place = place_of("opencl");
    bp_queue *queue = new_queue("opencl");
    DLManagedTensorVersioned *tensor = new_bytes("opencl", 100);
    static uint8_t byte;
    const pid_t process = fork();
    if (process == 0) {
        alarm(240);
        bool right = bp_queue_wait(queue) == BP_E_FORKED;
        right = right && bp__queue_read(queue, &byte, &(bp_operand){tensor->dl_tensor.data, 0}, 1) == BP_E_FORKED;
        right = right && bp_device_wait(place) == BP_E_FORKED;
        free_tensor(tensor);
        bp_queue_release(queue);
        right = right && bp_reset() == BP_OK;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ok(bp_queue_wait(queue));
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void *use(void *number) {
    const int own = (int)(intptr_t)number;
    const int32_t place = kDLOpenCL << 16 | own % 2;
    uint8_t bytes[3000], got[3000];
    const int64_t count = sizeof bytes;
    bp_queue *queue;
    if (bp_queue_new(&queue, place, 0) != BP_OK) {
        return "no queue";
    }
    for (int round = 0; round < 200; round++) {
        DLManagedTensorVersioned *a, *b;
        if (bp_tensor_empty_on(&a, place, BP_U8, 1, &count, NULL) != BP_OK ||
            bp_tensor_empty_on(&b, place, BP_U8, 1, &count, NULL) != BP_OK) {
            return "no tensor";
        }
        memset(bytes, own * 31 + round, sizeof bytes);
        if (bp__queue_write(queue, &(bp_operand){a->dl_tensor.data, 0}, bytes, sizeof bytes) != BP_OK ||
            bp_copy(&b->dl_tensor, &a->dl_tensor, queue) != BP_OK ||
            bp__queue_read(queue, got, &(bp_operand){b->dl_tensor.data, 0}, sizeof got) != BP_OK) {
            return "a copy failed";
        }
        if (memcmp(bytes, got, sizeof got) != 0) {
            return "wrong bytes";
        }
        a->deleter(a);
        b->deleter(b);
    }
    bp_queue_release(queue);
    return NULL;
}

static void test_eight_threads(void **state) {
    (void)state;
    pthread_t threads[8];
    for (intptr_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)i), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong) {
            fail_msg("thread %d: %s", i, (const char *)wrong);
        }
    }
}

static void test_many_objects(void **state) {
    (void)state;
    const int32_t place = place_of("opencl");
    assert_ok(bp_device_wait(place));
    const int64_t blocks = bp__live_blocks();
    for (int i = 0; i < 10000; i++) {
        DLManagedTensorVersioned *tensor = new_bytes("opencl", 1 + i % 7 * 1000);
        free_tensor(tensor);
        if (i % 10 == 0) {
            bp_queue *queue = new_queue("opencl");
            bp_event *event;
            assert_ok(bp_event_record(&event, queue));
            bp_event_release(event);
            bp_queue_release(queue);
        }
    }
    assert_ok(bp_device_wait(place));
    assert_ok(bp_device_trim(place, 0));
    assert_true(bp__live_blocks() <= blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_loads_no_driver),
        cmocka_unit_test(test_random_layouts),
        cmocka_unit_test(test_nothing_runs_before_its_inputs),
        cmocka_unit_test(test_failures_are_told),
        cmocka_unit_test(test_reuse_waits_for_the_device),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_eight_threads),
        cmocka_unit_test(test_many_objects),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
