/* support_device.c - implements support_device.h. */
#include "device/support_device.h"

#include <dlfcn.h>

fake_controls *fake(void) {
    static fake_controls *found;
    if (!found) {
        void *handle = dlopen(FAKES "/good/fake_runtime.so", RTLD_NOW | RTLD_LOCAL);
        assert_non_null(handle);
        found = dlsym(handle, "fake_control");
        assert_non_null(found);
    }
    return found;
}

void restart_devices(void) {
    assert_ok(bp_reset());
}

int start_devices(void **state) {
    (void)state;
    char number[24];
    snprintf(number, sizeof number, "%d", (int)getpid());
    setenv("FAKE_PARENT", number, 1);
    setenv("BACKPLANE_PROVIDER_PATH", FAKES "/good", 1);
    setenv("BACKPLANE_DEVICE_EXCLUDE", "opencl", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 1);
    return bp_reset() == BP_OK ? 0 : -1;
}

int stop_devices(void **state) {
    (void)state;
    if (bp_reset() != BP_OK || bp__live_blocks() != 0) {
        fprintf(stderr, "%lld blocks are left: %s\n", (long long)bp__live_blocks(), bp_last_error());
        return 1;
    }
    const fake_controls *f = fake();
    if (f->blocks || f->queues || f->events || f->devices || f->opened || f->pinned || f->graphs) {
        fprintf(stderr, "left: %d blocks, %d queues, %d events, %d devices, %d pinned blocks, %d graphs\n", f->blocks,
                f->queues, f->events, f->devices, f->pinned, f->graphs);
        return 1;
    }
    return 0;
}

int begin(void **state) {
    (void)state;
    fake_controls *f = fake();
    f->longest_delay_us = 0;
    f->fail_at = 0;
    f->fail_value = 0;
    f->fail_with = FAKE_FAULT;
    f->chain = false;
    f->refuse_copies = false;
    f->refuse_foreign = false;
    f->refuse_peers = false;
    f->refuse_captures = false;
    f->memory = 0;
    f->violations = 0;
    f->open_gate(true);
    return 0;
}

int end(void **state) {
    (void)state;
    fake()->open_gate(true);
    if (fake()->violations || bp__devices_held() != 0) {
        fprintf(stderr, "%d violations (%s), %lld objects are held\n", fake()->violations, fake()->violation,
                (long long)bp__devices_held());
        return -1;
    }
    return 0;
}

int32_t find_opencl(void) {
    int32_t place;
    setenv("POCL_CACHE_DIR", BP_TEST_BUILD_DIR "/pocl-cache", 1);
    if (bp_device_find("opencl:0", &place) != BP_OK) {
        printf("SKIPPED: %s\n", bp_last_error());
        exit(77);
    }
    return place;
}

int32_t place_of(const char *id) {
    int32_t place = -1;
    assert_ok(bp_device_find(id, &place));
    return place;
}

bp_queue *new_queue(const char *id) {
    bp_queue *queue = NULL;
    assert_ok(bp_queue_new(&queue, place_of(id), 0));
    return queue;
}

DLManagedTensorVersioned *new_bytes(const char *id, int64_t count) {
    DLManagedTensorVersioned *tensor = NULL;
    assert_ok(bp_tensor_empty_on(&tensor, place_of(id), BP_U8, 1, &count, NULL));
    return tensor;
}

void free_tensor(DLManagedTensorVersioned *tensor) {
    tensor->deleter(tensor);
}

bp_status add_bytes(bp_queue *queue, const DLTensor *tensor, uint8_t value, const char *text) {
    bp__queue_begin(queue, BP_OP_GEMM, text);
    void *event =
        fake()->add(bp__queue_runtime(queue), tensor->data, tensor->byte_offset, (size_t)tensor->shape[0], value);
    bp_status status = event ? bp__queue_enqueued(queue, event) : BP_E_NO_MEMORY;
    bp__queue_end(queue);
    return status;
}

void fill_bytes(DLManagedTensorVersioned *tensor, uint8_t value) {
    bp_view view;
    const int64_t count = tensor->dl_tensor.shape[0];
    uint8_t *bytes = malloc((size_t)count);
    assert_non_null(bytes);
    memset(bytes, value, (size_t)count);
    assert_ok(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL));
    assert_ok(bp_copy(&tensor->dl_tensor, &view.tensor, NULL));
    assert_ok(bp_device_wait(bp_device_place(tensor->dl_tensor.device)));
    free(bytes);
}

bool all_bytes_are(const DLManagedTensorVersioned *tensor, uint8_t value) {
    const uint8_t *bytes = fake()->bytes_of(tensor->dl_tensor.data);
    for (int64_t i = 0; i < tensor->dl_tensor.shape[0]; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}
