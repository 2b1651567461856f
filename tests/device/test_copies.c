/* test_copies.c - copies and maps of strided tensors between the host and devices, against copies element by element.
 */
#include "device/support_layouts.h"
#include "support/conditions.h"

static void test_random_layouts(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"fake", NULL},       {NULL, "fake"},    {"fake", "fake"},
                                           {"fake:0", "fake:1"}, {"other", NULL},   {NULL, "other"},
                                           {"other", "other"},   {"other", "fake"}, {"fake", "other:1"}};
    for (int round = 0; round < 400; round++) {
        copy_random(pairs[round % BP__COUNT(pairs)][0], pairs[round % BP__COUNT(pairs)][1], round % 10 == 0 ? 13 : 5);
    }
}

static void test_large_copies(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"fake", NULL}, {NULL, "fake"}, {"other", "fake"}, {"fake:0", "fake:1"}};
    const int64_t one = test_sanitized() ? 300001 : 5000001, rows = test_sanitized() ? 101 : 1001;
    for (int i = 0; i < BP__COUNT(pairs); i++) {
        copy_and_check(pairs[i][0], pairs[i][1], BP_U8, 1, &one, false);
        copy_and_check(pairs[i][0], pairs[i][1], BP_F32, 2, (int64_t[]){rows, 1203}, true);
    }
    /* More than a piece of a copy between devices, and slices that are more than one. */
    copy_and_check("other", "fake", BP_C128, 3, (int64_t[]){2, 5, 110000}, false);
    copy_and_check("fake:0", "fake:1", BP_C128, 2, (int64_t[]){3, 180000}, test_sanitized());
}

/* With a queue of the program, the call returns before anything was copied. */
static void test_copies_are_enqueued(void **state) {
    (void)state;
    static uint8_t from[100], to[100];
    const int64_t count = sizeof from;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", count), *second = new_bytes("fake", count);
    bp_view source, target;
    assert_ok(bp_view_init(&source, from, BP_U8, 1, &count, NULL));
    assert_ok(bp_view_init(&target, to, BP_U8, 1, &count, NULL));
    memset(from, 5, sizeof from);
    fake()->open_gate(false);
    assert_ok(bp_copy(&tensor->dl_tensor, &source.tensor, queue));
    assert_ok(bp_copy(&second->dl_tensor, &tensor->dl_tensor, queue));
    assert_ok(bp_copy(&target.tensor, &second->dl_tensor, queue));
    assert_int_equal(to[0], 0);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_int_equal(to[0], 5);
    assert_int_equal(to[99], 5);
    fake()->open_gate(false); /* without one, a small source may be changed at once */
    assert_ok(bp_copy(&tensor->dl_tensor, &source.tensor, NULL));
    memset(from, 6, sizeof from);
    fake()->open_gate(true);
    assert_ok(bp_copy(&target.tensor, &tensor->dl_tensor, NULL));
    assert_int_equal(to[50], 5);
    free_tensor(tensor);
    free_tensor(second);
    bp_queue_release(queue);
}

static void test_failures_of_copies(void **state) {
    (void)state;
    static uint8_t bytes[100];
    const int64_t count = sizeof bytes;
    DLManagedTensorVersioned *tensor = new_bytes("fake", count);
    bp_view view;
    assert_ok(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL));
    fake()->fail_at = 1;
    assert_fails(bp_copy(&view.tensor, &tensor->dl_tensor, NULL), BP_E_DEVICE, "a copy to the host failed");
    fake()->fail_at = 1;
    assert_ok(bp_copy(&tensor->dl_tensor, &view.tensor, NULL));
    assert_fails(bp_device_wait(place_of("fake")), BP_E_DEVICE, "a copy from the host failed");
    fake()->refuse_copies = true;
    assert_fails(bp_copy(&tensor->dl_tensor, &view.tensor, NULL), BP_E_DEVICE, "refuses to copy");
    assert_fails(bp_copy(&view.tensor, &tensor->dl_tensor, NULL), BP_E_DEVICE, "refuses to copy");
    free_tensor(tensor);
}

static void test_wrong_copies(void **state) {
    (void)state;
    static float data[64];
    bp_view host, other, on_device;
    bp_queue *queue = new_queue("fake:0"), *elsewhere = new_queue("fake:1");
    const int64_t shape[] = {4, 4}, wrong[] = {4, 3};
    DLManagedTensorVersioned *tensor;
    assert_ok(bp_tensor_empty_on(&tensor, place_of("fake:0"), BP_F32, 2, shape, NULL));
    assert_ok(bp_view_init(&host, data, BP_F32, 2, shape, NULL));
    assert_ok(bp_view_init(&other, data, BP_F32, 2, wrong, NULL));
    DLTensor *device = &tensor->dl_tensor;
    assert_fails(bp_copy(device, &other.tensor, NULL), BP_E_SHAPE, "4x3");
    assert_fails(bp_copy(NULL, &host.tensor, NULL), BP_E_ARGUMENT, "'dst' is NULL");
    assert_fails(bp_copy(device, NULL, NULL), BP_E_ARGUMENT, "'src' is NULL");
    assert_ok(bp_view_init(&other, data, BP_I32, 2, shape, NULL));
    assert_fails(bp_copy(device, &other.tensor, NULL), BP_E_DTYPE, "do not convert");
    assert_fails(bp_copy(device, &host.tensor, elsewhere), BP_E_ARGUMENT, "fake:1");
    assert_ok(bp_view_init(&other, data + 32, BP_F32, 2, shape, NULL));
    assert_fails(bp_copy(&host.tensor, &other.tensor, queue), BP_E_ARGUMENT, "'dst' is on the host, 'src' on the host");
    assert_fails(bp_copy(device, device, NULL), BP_E_OVERLAP, "overlaps 'src'");
    assert_ok(bp_view_copy(&on_device, &host));
    on_device.tensor.data = device->data;
    on_device.tensor.device = device->device;
    on_device.strides[0] = 1;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_OVERLAP, "overlaps itself");
    on_device.strides[0] = -4;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_OVERFLOW, "48 bytes before the start");
    on_device.tensor.byte_offset = 50;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_LAYOUT, "multiple of 4");
    on_device.tensor.byte_offset = UINT64_C(1) << 62;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_OVERFLOW, "beyond any memory");
    on_device.tensor.byte_offset = 48;
    assert_ok(bp_copy(&on_device.tensor, &host.tensor, NULL));
    on_device.tensor.data = NULL;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_ARGUMENT, "NULL");
    on_device.tensor.data = device->data;
    on_device.tensor.device.device_id = 70000;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_DEVICE, "does not exist");
    on_device.tensor.device.device_id = 5;
    assert_fails(bp_copy(&on_device.tensor, &host.tensor, NULL), BP_E_DEVICE, "vulkan:5");
    assert_ok(bp_device_wait(place_of("fake:0")));
    free_tensor(tensor);
    bp_queue_release(queue);
    bp_queue_release(elsewhere);
}

static void test_host_copies(void **state) {
    (void)state;
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {0};
    bp_view from, to;
    assert_ok(bp_view_init(&from, a, BP_F32, 2, (int64_t[]){2, 3}, NULL));
    assert_ok(bp_view_init(&to, b, BP_F32, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}));
    assert_ok(bp_copy(&to.tensor, &from.tensor, NULL));
    assert_true(b[1] == 4 && b[2] == 2 && b[5] == 6);
}

/* ---- Maps ---- */

static void test_maps(void **state) {
    (void)state;
    static const char *const ids[] = {"fake", "other"};
    for (int i = 0; i < BP__COUNT(ids); i++) {
        placed p;
        bp_view view;
        bp_queue *queue = new_queue(ids[i]);
        placed_make(&p, ids[i], BP_F32, 3, (int64_t[]){3, 4, 5}, false);
        fake()->longest_delay_us = 3000;
        assert_ok(add_bytes(queue, &p.block->dl_tensor, 1, "x"));
        for (size_t k = 0; k < p.size; k++) {
            p.host[k]++;
        }
        assert_ok(bp_map(&view, &p.view.tensor, BP_MAP_READ | BP_MAP_WRITE, queue));
        assert_int_equal(view.tensor.device.device_type, kDLCPU);
        assert_int_equal(view.tensor.ndim, 3);
        assert_memory_equal(view.strides, p.view.strides, 3 * sizeof *view.strides);
        const char *wanted = (const char *)p.host + p.view.tensor.byte_offset;
        assert_memory_equal((const char *)view.tensor.data + view.tensor.byte_offset, wanted, 4);
        const int64_t last = 2 * view.strides[0] + 3 * view.strides[1] + 4 * view.strides[2];
        assert_memory_equal((const float *)view.tensor.data + last, (const float *)(const void *)wanted + last, 4);
        assert_ok(bp_unmap(&view, &p.view.tensor, queue));
        assert_null(view.tensor.data);
        assert_fails(bp_unmap(&view, &p.view.tensor, queue), BP_E_ARGUMENT, "unmapped before");
        assert_ok(bp_queue_wait(queue));
        bp_queue_release(queue);
        placed_free(&p);
        fake()->longest_delay_us = 0;
    }
}

static void test_wrong_maps(void **state) {
    (void)state;
    float data[4];
    bp_view view, host;
    const int64_t none = 0, four = 4;
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100), *empty;
    bp_queue *elsewhere = new_queue("other");
    assert_ok(bp_view_init(&host, data, BP_F32, 1, &four, NULL));
    assert_fails(bp_map(&view, &tensor->dl_tensor, 0, NULL), BP_E_ARGUMENT, "'flags' is 0");
    assert_fails(bp_map(&view, &tensor->dl_tensor, 8, NULL), BP_E_ARGUMENT, "'flags' is 8");
    assert_fails(bp_map(NULL, &tensor->dl_tensor, BP_MAP_READ, NULL), BP_E_ARGUMENT, "'view' is NULL");
    assert_fails(bp_map(&view, NULL, BP_MAP_READ, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_map(&view, &host.tensor, BP_MAP_READ, NULL), BP_E_DEVICE, "host memory already");
    assert_fails(bp_map(&view, &tensor->dl_tensor, BP_MAP_READ, elsewhere), BP_E_ARGUMENT, "other:0");
    assert_ok(bp_tensor_empty_on(&empty, place_of("fake"), BP_F32, 1, &none, NULL));
    assert_ok(bp_map(&view, &empty->dl_tensor, BP_MAP_READ, NULL));
    assert_ok(bp_unmap(&view, &empty->dl_tensor, NULL));
    free_tensor(empty);
    bp_queue *queue;
    assert_ok(bp_queue_current(&queue, place_of("fake")));
    fake()->fail_at = 1;
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "bad"));
    assert_fails(bp_map(&view, &tensor->dl_tensor, BP_MAP_READ, NULL), BP_E_DEVICE, "gemm bad failed");
    bp_queue_release(queue);
    bp_queue_release(elsewhere);
    free_tensor(tensor);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_random_layouts),
        TEST(test_large_copies),
        TEST(test_copies_are_enqueued),
        TEST(test_failures_of_copies),
        TEST(test_wrong_copies),
        TEST(test_host_copies),
        TEST(test_maps),
        TEST(test_wrong_maps),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
