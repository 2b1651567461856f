/* test_memory.c - the pool of a device: reuse in order, limits, exhaustion, statistics. */
#include "device/support_device.h"

#include <pthread.h>

static bp_device_memory_info memory_of(const char *id) {
    bp_device_memory_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_memory(place_of(id), &info));
    return info;
}

static void test_statistics(void **state) {
    (void)state;
    restart_devices();
    bp_device_memory_info info = memory_of("fake");
    assert_int_equal(info.used + info.cached + info.peak + info.allocations, 0);
    assert_int_equal(fake()->opened, 0); /* asking opens nothing */
    DLManagedTensorVersioned *first = new_bytes("fake", 4096), *second = new_bytes("fake", 1);
    info = memory_of("fake");
    assert_int_equal(info.used, 4096 + 512);
    assert_int_equal(info.allocations, 2);
    free_tensor(first);
    info = memory_of("fake");
    assert_int_equal(info.used, 512);
    assert_int_equal(info.cached, 4096);
    assert_int_equal(info.peak, 4096 + 512);
    first = new_bytes("fake", 4000); /* of the same class */
    info = memory_of("fake");
    assert_int_equal(info.reuses, 1);
    assert_int_equal(info.allocations, 2);
    assert_int_equal(info.cached, 0);
    assert_int_equal(memory_of("fake:1").used, 0);
    free_tensor(first);
    free_tensor(second);
    assert_ok(bp_device_trim(place_of("fake"), 4096));
    assert_int_equal(memory_of("fake").cached, 512); /* the largest ones first */
    assert_ok(bp_device_trim(place_of("fake"), 0));
    assert_int_equal(memory_of("fake").cached, 0);
    assert_int_equal(fake()->blocks, 0);
    assert_ok(bp_device_trim(place_of("fake:1"), 0));
}

/* A block is as large as requested, and at most an eighth larger. */
static void test_sizes(void **state) {
    (void)state;
    restart_devices();
    for (int64_t size = 512; size < 40000000; size = size * 9 / 7 + 1) {
        for (int64_t near = size - 1; near <= size + 1; near++) {
            DLManagedTensorVersioned *tensor = new_bytes("fake", near);
            const uint64_t used = memory_of("fake").used;
            assert_true(used >= (uint64_t)near && (used <= 512 || used <= (uint64_t)(near + near / 8 + 1)));
            free_tensor(tensor);
            assert_ok(bp_device_trim(place_of("fake"), 0));
        }
    }
}

/* The block of a freed tensor that a queue still writes must not be given to another user, or the pending command would
 * change the new tensor. */
static void test_reuse_waits_for_pending_commands(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake"), *second = new_queue("fake");
    DLManagedTensorVersioned *old = new_bytes("fake", 5000), *fresh;
    fill_bytes(old, 1);
    const void *const base = old->dl_tensor.data;
    fake()->open_gate(false);
    assert_ok(add_bytes(queue, &old->dl_tensor, 40, "late"));
    free_tensor(old);
    fresh = new_bytes("fake", 5000);
    assert_ptr_not_equal(fresh->dl_tensor.data, base);
    fake()->open_gate(true);
    fill_bytes(fresh, 7);
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(fresh, 7));
    free_tensor(fresh);
    const uint64_t reuses = memory_of("fake").reuses;
    old = new_bytes("fake", 5000); /* now both blocks are free */
    fresh = new_bytes("fake", 5000);
    assert_int_equal(memory_of("fake").reuses, reuses + 2);
    assert_true(old->dl_tensor.data == base || fresh->dl_tensor.data == base);
    free_tensor(old);
    free_tensor(fresh);
    bp_queue_release(queue);
    bp_queue_release(second);
}

/* The pool does not know when the commands of a consumer end, so it never gives out memory that was exported. */
static void test_exported_memory_goes_back_to_the_driver(void **state) {
    (void)state;
    assert_ok(bp_device_trim(place_of("fake"), 0));
    DLManagedTensorVersioned *tensor = new_bytes("fake", 5000), *host;
    const bp_device_memory_info before = memory_of("fake");
    assert_ok(bp_tensor_export(tensor));
    free_tensor(tensor);
    bp_device_memory_info after = memory_of("fake");
    assert_int_equal(after.cached, 0);
    assert_true(after.used < before.used);
    tensor = new_bytes("fake", 5000);
    after = memory_of("fake");
    assert_int_equal(after.reuses, before.reuses);
    assert_int_equal(after.used, before.used);
    free_tensor(tensor);
    assert_true(memory_of("fake").cached > 0); /* that one was not exported */
    assert_ok(bp_tensor_empty_on(&host, 0, BP_F32, 1, (int64_t[]){3}, NULL));
    assert_ok(bp_tensor_export(host));
    free_tensor(host);
    assert_fails(bp_tensor_export(NULL), BP_E_ARGUMENT, "tensor");
}

/* Workspace goes round on its own queue at once, and to another queue only after the work. */
static void test_workspace_is_in_queue_order(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake"), *second = new_queue("fake");
    bp_operand block, again, other;
    DLManagedTensorVersioned *tensor = new_bytes("fake", 100);
    fake()->open_gate(false);
    assert_ok(add_bytes(second, &tensor->dl_tensor, 1, "before")); /* of no interest to the first queue */
    bp__queue_begin(queue, BP_OP_GEMM, "x");
    assert_ok(bp__queue_take(queue, 3000, &block));
    void *event = fake()->add(bp__queue_runtime(queue), block.base, block.offset, 3000, 1);
    assert_ok(bp__queue_enqueued(queue, event));
    bp__queue_give(queue, &block);
    assert_ok(bp__queue_take(queue, 3000, &again)); /* of the next run */
    assert_ptr_equal(again.base, block.base);
    bp__queue_give(queue, &again);
    bp__queue_end(queue);
    assert_ok(bp__queue_take(second, 3000, &other));
    assert_ptr_not_equal(other.base, block.base);
    bp__queue_give(second, &other);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp_queue_wait(second));
    free_tensor(tensor);
    bp_operand both[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(bp__queue_take(second, 3000, &both[i]));
    }
    assert_true(both[0].base == block.base || both[1].base == block.base);
    for (int i = 0; i < 2; i++) {
        bp__queue_give(second, &both[i]);
    }
    bp_queue_release(queue);
    bp_queue_release(second);
}

/* A provider that fails after it has enqueued commands tells no event; its workspace is in use nevertheless. */
static void test_workspace_of_a_failed_run(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake"), *second = new_queue("fake");
    bp_operand block, other;
    assert_ok(bp_device_trim(place_of("fake"), 0));
    fake()->open_gate(false);
    bp__queue_begin(queue, BP_OP_GEMM, "x");
    assert_ok(bp__queue_take(queue, 3000, &block));
    void *event = fake()->add(bp__queue_runtime(queue), block.base, block.offset, 3000, 1);
    bp__queue_give(queue, &block);
    bp__queue_end(queue);
    assert_ok(bp__queue_take(second, 3000, &other));
    assert_ptr_not_equal(other.base, block.base);
    bp__queue_give(second, &other);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp__queue_enqueued(queue, event)); /* gives the reference back */
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
    bp_queue_release(second);
}

/* Many queues that take, use and give blocks with random delays; each checks its own bytes before it gives them. */
static void test_reuse_across_queues(void **state) {
    (void)state;
    enum { QUEUES = 4, ROUNDS = 300, BYTES = 2000 };
    bp_queue *queues[QUEUES];
    static uint8_t pattern[BYTES], got[BYTES];
    fake()->longest_delay_us = 200;
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = new_queue("fake");
    }
    for (int round = 0; round < ROUNDS; round++) {
        bp_queue *queue = queues[round * 7 % QUEUES];
        DLManagedTensorVersioned *tensor = new_bytes("fake", BYTES);
        const bp_operand place = {tensor->dl_tensor.data, 0};
        memset(pattern, round, BYTES);
        assert_ok(bp__queue_write(queue, &place, pattern, BYTES));
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
        if (round % 3 == 0) {
            assert_ok(bp__queue_read(queue, got, &place, BYTES));
            memset(pattern, round + 1, BYTES);
            assert_memory_equal(got, pattern, BYTES);
            assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
        }
        free_tensor(tensor);
    }
    for (int i = 0; i < QUEUES; i++) {
        assert_ok(bp_queue_wait(queues[i]));
        bp_queue_release(queues[i]);
    }
    assert_true(memory_of("fake").reuses > 0);
}

/* ---- Limits ---- */

static void test_limits(void **state) {
    (void)state;
    restart_devices();
    const int32_t place = place_of("fake");
    const int64_t count = 4096, much = 40000;
    DLManagedTensorVersioned *tensor, *second, *none;
    assert_ok(bp_device_set_memory_limit(place, 10000));
    assert_int_equal(memory_of("fake").limit, 10000);
    tensor = new_bytes("fake", 4096);
    second = new_bytes("fake", 4096);
    assert_fails(bp_tensor_empty_on(&none, place, BP_U8, 1, &count, NULL), BP_E_NO_MEMORY,
                 "device fake:0 has no memory for 4096 bytes: the limit is reached (8192 bytes are used, 0 kept for "
                 "reuse; the limit is 10000)");
    assert_null(none);
    assert_int_equal(memory_of("fake").failures, 1);
    free_tensor(second);
    second = new_bytes("fake", 3000); /* of another class: the kept block is freed first */
    assert_int_equal(memory_of("fake").cached, 0);
    assert_int_equal(memory_of("fake").used, 4096 + 3072);
    assert_fails(bp_tensor_empty_on(&none, place, BP_U8, 1, &much, NULL), BP_E_NO_MEMORY, "limit");
    assert_ok(bp_device_set_memory_limit(place, 0));
    assert_ok(bp_tensor_empty_on(&none, place, BP_U8, 1, &much, NULL));
    free_tensor(none);
    assert_ok(bp_device_set_memory_limit(place, 8000)); /* frees what is kept */
    assert_int_equal(memory_of("fake").cached, 0);
    free_tensor(tensor);
    free_tensor(second);
    assert_ok(bp_device_set_memory_limit(place, BP_DEVICE_LIMIT_DEFAULT));
    assert_ok(bp_set("device.memory_limit", "5000"));
    assert_int_equal(memory_of("fake").limit, 5000);
    tensor = new_bytes("fake", 4096);
    assert_fails(bp_tensor_empty_on(&none, place, BP_U8, 1, &count, NULL), BP_E_NO_MEMORY, "the limit is 5000");
    free_tensor(tensor);
    assert_ok(bp_unset("device.memory_limit"));
    assert_int_equal(memory_of("fake").limit, 0);
}

/* The host is far ahead of the device: a block that a command uses is awaited, not refused. */
static void *open_later(void *unused) {
    (void)unused;
    usleep(20000);
    fake()->open_gate(true);
    return NULL;
}

static void test_exhaustion_waits_for_pending_blocks(void **state) {
    (void)state;
    restart_devices();
    const int32_t place = place_of("fake");
    bp_queue *queue = new_queue("fake");
    pthread_t thread;
    assert_ok(bp_device_set_memory_limit(place, 10000));
    fake()->open_gate(false);
    for (int i = 0; i < 2; i++) {
        DLManagedTensorVersioned *tensor = new_bytes("fake", 4096);
        assert_ok(add_bytes(queue, &tensor->dl_tensor, 1, "x"));
        free_tensor(tensor);
    }
    assert_int_equal(memory_of("fake").cached, 8192);
    assert_int_equal(pthread_create(&thread, NULL, open_later, NULL), 0);
    DLManagedTensorVersioned *tensor = new_bytes("fake", 8192); /* needs both */
    pthread_join(thread, NULL);
    assert_int_equal(memory_of("fake").failures, 0);
    free_tensor(tensor);
    bp_queue_release(queue);
    assert_ok(bp_device_set_memory_limit(place, BP_DEVICE_LIMIT_DEFAULT));
}

static void test_a_full_device(void **state) {
    (void)state;
    restart_devices();
    const int32_t place = place_of("fake");
    const int64_t count = 1 << 20;
    DLManagedTensorVersioned *tensors[10], *none;
    bp_queue *queue = new_queue("fake");
    bp_operand block;
    fake()->memory = 4 << 20;
    for (int i = 0; i < 4; i++) {
        tensors[i] = new_bytes("fake", count);
    }
    assert_fails(bp_tensor_empty_on(&none, place, BP_U8, 1, &count, NULL), BP_E_NO_MEMORY, "the fake device is full");
    assert_fails(bp__queue_take(queue, 10, &block), BP_E_NO_MEMORY, "no limit");
    assert_null(block.base);
    assert_int_equal(memory_of("fake").failures, 2);
    assert_int_equal(memory_of("fake").used, 4 << 20);
    free_tensor(tensors[0]);
    free_tensor(tensors[1]);
    tensors[0] = new_bytes("fake", 2 << 20); /* the kept blocks are freed, and it is tried once more */
    assert_int_equal(memory_of("fake").cached, 0);
    for (int i = 0; i < 4; i += i == 0 ? 2 : 1) {
        free_tensor(tensors[i]);
    }
    bp_queue_release(queue);
}

/* The fake driver has 8 GiB by its facts, and would make larger blocks. */
static void test_more_than_the_memory(void **state) {
    (void)state;
    restart_devices();
    const int64_t count = INT64_C(9) << 30;
    DLManagedTensorVersioned *none;
    assert_fails(bp_tensor_empty_on(&none, place_of("fake"), BP_U8, 1, &count, NULL), BP_E_NO_MEMORY,
                 "its memory is used");
    assert_int_equal(memory_of("fake").used, 0);
}

static void test_bad_arguments(void **state) {
    (void)state;
    const int32_t place = place_of("fake");
    DLManagedTensorVersioned *tensor = NULL;
    const int64_t shape[] = {4, 5}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 21}, negative[] = {-1, 3};
    assert_fails(bp_tensor_empty_on(NULL, place, BP_F32, 2, shape, NULL), BP_E_ARGUMENT, "'tensor' is NULL");
    assert_fails(bp_tensor_empty_on(&tensor, place, (bp_dtype)99, 2, shape, NULL), BP_E_DTYPE, "99");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 65, shape, NULL), BP_E_ARGUMENT, "65");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 2, NULL, NULL), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 2, negative, NULL), BP_E_SHAPE, "size -1");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 2, huge, NULL), BP_E_OVERFLOW, "");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 2, shape, (int64_t[]){1, -1}), BP_E_ARGUMENT, "negative");
    assert_fails(bp_tensor_empty_on(&tensor, place, BP_F32, 2, shape, (int64_t[]){1, 1}), BP_E_OVERLAP, "");
    assert_fails(bp_tensor_empty_on(&tensor, kDLCUDA << 16, BP_F32, 2, shape, NULL), BP_E_DEVICE, "cuda:0");
    assert_fails(bp_tensor_empty_on(&tensor, -1, BP_F32, 2, shape, NULL), BP_E_DEVICE, "");
    assert_null(tensor);
    bp_device_memory_info info = {.struct_size = sizeof info};
    assert_fails(bp_device_memory(0, &info), BP_E_DEVICE, "host");
    assert_fails(bp_device_memory(place, NULL), BP_E_ARGUMENT, "info");
    assert_fails(bp_device_trim(0, 0), BP_E_DEVICE, "host");
    assert_fails(bp_device_set_memory_limit(0, 0), BP_E_DEVICE, "host");
    assert_fails(bp_device_set_memory_limit(kDLCUDA << 16, 0), BP_E_DEVICE, "cuda:0");
}

static void test_tensors(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor;
    size_t size = 0;
    assert_ok(bp_tensor_empty_on(&tensor, place_of("other:1"), BP_C64, 3, (int64_t[]){2, 3, 4}, NULL));
    const DLTensor *t = &tensor->dl_tensor;
    assert_int_equal(t->device.device_type, kDLROCM);
    assert_int_equal(t->device.device_id, 1);
    assert_int_equal(t->ndim, 3);
    assert_int_equal(t->shape[2], 4);
    assert_int_equal(t->strides[0], 12);
    assert_int_equal(t->strides[2], 1);
    assert_int_equal(bp_dtype_from_dlpack(t->dtype), BP_C64);
    assert_int_equal(tensor->version.major, DLPACK_MAJOR_VERSION);
    assert_ok(bp__device_block_size(place_of("other:1"), t->data, &size));
    assert_int_equal(size, 512);
    assert_fails(bp__device_block_size(place_of("other:1"), &size, &size), BP_E_ARGUMENT, "no such memory");
    free_tensor(tensor);
    assert_ok(bp_tensor_empty_on(&tensor, place_of("fake"), BP_F32, 2, (int64_t[]){0, 5}, NULL));
    assert_null(tensor->dl_tensor.data);
    free_tensor(tensor);
    assert_ok(bp_tensor_empty_on(&tensor, place_of("fake"), BP_F32, 0, NULL, NULL));
    assert_non_null(tensor->dl_tensor.data);
    free_tensor(tensor);
    assert_ok(bp_tensor_empty_on(&tensor, place_of("fake"), BP_F32, 2, (int64_t[]){3, 2}, (int64_t[]){10, 1}));
    assert_int_equal(tensor->dl_tensor.strides[0], 10);
    free_tensor(tensor);
    assert_ok(bp_tensor_empty_on(&tensor, 0, BP_F32, 1, (int64_t[]){3}, NULL)); /* of the host */
    assert_int_equal(tensor->dl_tensor.device.device_type, kDLCPU);
    free_tensor(tensor);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_statistics),
        TEST(test_sizes),
        TEST(test_reuse_waits_for_pending_commands),
        TEST(test_exported_memory_goes_back_to_the_driver),
        TEST(test_workspace_is_in_queue_order),
        TEST(test_workspace_of_a_failed_run),
        TEST(test_reuse_across_queues),
        TEST(test_limits),
        TEST(test_exhaustion_waits_for_pending_blocks),
        TEST(test_a_full_device),
        TEST(test_more_than_the_memory),
        TEST(test_bad_arguments),
        TEST(test_tensors),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
