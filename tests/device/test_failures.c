/* test_failures.c - lets every allocation fail once, and makes ten thousand of each object: nothing leaks. */
#include "device/support_device.h"

#include "support/conditions.h"
#include "support/failing.h"

/* Goes through the whole interface; returns the first failure. */
static bp_status use_all(void) {
    uint8_t bytes[3000] = {0};
    char text[16384];
    const int64_t count = sizeof bytes, spread = 2;
    int32_t place, other, recorded;
    bp_queue *queue = NULL, *second = NULL, *elsewhere = NULL;
    bp_event *event = NULL;
    DLManagedTensorVersioned *tensor = NULL, *remote = NULL;
    bp_view view, strided;
    bp_operand block;
    bp_view_init(&view, bytes, BP_U8, 1, &count, NULL);
    bp_status status = bp_device_find("fake:0", &place);
    status = status == BP_OK ? bp_device_find("fake:1", &other) : status;
    status = status == BP_OK ? bp_queue_new(&queue, place, 0) : status;
    status = status == BP_OK ? bp_queue_current(&second, place) : status;
    status = status == BP_OK ? bp_queue_new(&elsewhere, other, 0) : status;
    status = status == BP_OK ? bp_tensor_empty_on(&tensor, place, BP_U8, 1, &count, NULL) : status;
    status = status == BP_OK ? bp_tensor_empty_on(&remote, other, BP_U8, 1, &count, NULL) : status;
    status = status == BP_OK ? bp_copy(&tensor->dl_tensor, &view.tensor, NULL) : status;
    status = status == BP_OK ? bp_copy(&remote->dl_tensor, &tensor->dl_tensor, NULL) : status;
    status = status == BP_OK ? bp_copy(&view.tensor, &remote->dl_tensor, elsewhere) : status;
    status = status == BP_OK ? bp_queue_wait(elsewhere) : status;
    if (status == BP_OK) {
        const int64_t half = count / 2;
        DLTensor part = tensor->dl_tensor;
        part.shape = (int64_t *)(uintptr_t)&half;
        bp_view_init(&strided, bytes, BP_U8, 1, &half, &spread);
        status = bp_copy(&part, &strided.tensor, NULL);
        status = status == BP_OK ? bp_copy(&strided.tensor, &part, NULL) : status;
    }
    status = status == BP_OK ? add_bytes(queue, &tensor->dl_tensor, 1, "x") : status;
    status = status == BP_OK ? bp__queue_take(queue, 100, &block) : status;
    if (status == BP_OK) {
        bp__queue_give(queue, &block);
    }
    status = status == BP_OK ? bp_event_record(&event, queue) : status;
    status = status == BP_OK ? bp_event_wait(elsewhere, event) : status;
    status = status == BP_OK ? bp_event_sync(event, -1) : status;
    status = status == BP_OK ? bp_device_wait(place) : status;
    status = status == BP_OK ? bp_device_record(place, text, sizeof text, NULL) : status;
    status = status == BP_OK ? bp_device_load(text, &recorded) : status;
    bp_event_release(event);
    if (tensor) {
        free_tensor(tensor);
    }
    if (remote) {
        free_tensor(remote);
    }
    bp_queue_release(queue);
    bp_queue_release(second);
    bp_queue_release(elsewhere);
    return status;
}

/* From a kept list, because a child process for each step would take long. */
static void test_allocations_fail(void **state) {
    (void)state;
    char folder[] = "/tmp/backplane-devices-XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    setenv("BACKPLANE_REGISTRY_CACHE", "read-write", 1);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(&test_failing_allocator));
    assert_ok(use_all());
    bp_status status = BP_E_NO_MEMORY;
    int64_t allowed = 0;
    for (; status != BP_OK; allowed++) {
        assert_ok(bp_reset());
        assert_int_equal(fake()->opened + fake()->devices + fake()->queues + fake()->events + fake()->blocks, 0);
        test_fail_allocations(allowed, false);
        status = use_all();
        test_end_of_failures();
        if (status != BP_OK && status != BP_E_NO_MEMORY) {
            fail_msg("after %lld allocations: %s: %s", (long long)allowed, bp_status_name(status), bp_last_error());
        }
        assert_int_equal(bp__devices_held(), 0);
        assert_true(allowed < 100000);
    }
    assert_true(allowed > 100);
    assert_ok(bp_reset());
    assert_int_equal(bp__live_blocks(), 0);
    assert_ok(bp_set_allocator(NULL));
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    unsetenv("BACKPLANE_CACHE_DIR");
    assert_ok(bp_reset());
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void test_ten_thousand_of_each(void **state) {
    (void)state;
    const int many = test_sanitized() ? 1000 : 10000;
    const int32_t place = place_of("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    bp_queue *queue = new_queue("fake"), *own;
    bp_event *event;
    fill_bytes(tensor, 0);
    assert_ok(bp_queue_current(&own, place));
    bp_queue_release(own);
    assert_ok(bp_queue_wait(queue));
    const int64_t blocks = bp__live_blocks();
    const int events = fake()->events, memory = fake()->blocks;
    for (int i = 0; i < many; i++) {
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
        assert_ok(bp_event_record(&event, queue));
        bp_event_release(event);
        DLManagedTensorVersioned *another = new_bytes("fake", 2000 + i % 3 * 5000);
        if (i % 2) {
            assert_ok(add_bytes(queue, &another->dl_tensor, 1, "x"));
        }
        free_tensor(another);
    }
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp_device_trim(place, 0));
    assert_int_equal(bp__live_blocks(), blocks);
    assert_int_equal(fake()->events, events);
    assert_int_equal(fake()->blocks, memory);
    for (int i = 0; i < many; i++) {
        bp_queue *another = new_queue("fake");
        assert_ok(add_bytes(another, &tensor->dl_tensor, 1, "x"));
        bp_queue_release(another); /* its work goes on */
    }
    assert_ok(bp_device_wait(place));
    assert_int_equal(fake()->queues, 2);
    bp_queue_release(new_queue("fake")); /* without work, it is closed at once */
    assert_int_equal(fake()->queues, 2);
    assert_int_equal(bp__live_blocks(), blocks);
    assert_int_equal(fake()->events, events);
    assert_true(all_bytes_are(tensor, (uint8_t)(2 * many)));
    free_tensor(tensor);
    bp_queue_release(queue);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_allocations_fail),
        TEST(test_ten_thousand_of_each),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
