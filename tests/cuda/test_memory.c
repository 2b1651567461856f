/* test_memory.c - memory of CUDA devices: the pool, exhaustion, pinned memory, and what happens to freed blocks. */
#include "cuda/support_cuda.h"

static DLManagedTensorVersioned *new_tensor(int index, int64_t count) {
    DLManagedTensorVersioned *tensor = NULL;
    assert_ok(bp_tensor_empty_on(&tensor, cuda_place(index), BP_U8, 1, &count, NULL));
    return tensor;
}

static void tensors_have_addresses(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, 1000, 7);
    const DLTensor *of = &tensor->dl_tensor;
    assert_int_equal(of->device.device_type, kDLCUDA);
    assert_int_equal(of->device.device_id, 0);
    const uint8_t *bytes = the_double()->bytes_of((uint64_t)(uintptr_t)of->data + 999, 1);
    assert_non_null(bytes);
    assert_int_equal(*bytes, 7);

    /* A program may give an address in the middle of a block. */
    DLTensor part = *of;
    int64_t count = 10;
    uint8_t found[10];
    part.data = (uint8_t *)of->data + 500;
    part.shape = &count;
    part.strides = NULL;
    read_bytes(found, &part, NULL);
    assert_int_equal(found[9], 7);

    size_t whole = 0, rest = 0;
    assert_ok(bp__device_block_size(cuda_place(0), of->data, &whole));
    assert_ok(bp__device_block_size(cuda_place(0), part.data, &rest));
    assert_true(whole >= 1000 && rest == whole - 500);
    assert_fails(bp__device_block_size(cuda_place(0), found, &rest), BP_E_ARGUMENT, "the memory cannot be used");
    free_tensor(tensor);
}

static void memory_cannot_be_mapped(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, 100, 1);
    bp_view view;
    assert_fails(bp_map(&view, &tensor->dl_tensor, BP_MAP_READ, NULL), BP_E_UNSUPPORTED, "cuda:0");
    free_tensor(tensor);
}

static void freed_blocks_are_used_again(void **state) {
    (void)state;
    bp_device_memory_info before = {.struct_size = sizeof before}, after = before;
    free_tensor(new_tensor(0, 5000));
    assert_ok(bp_device_memory(cuda_place(0), &before));
    free_tensor(new_tensor(0, 5000));
    assert_ok(bp_device_memory(cuda_place(0), &after));
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.reuses, before.reuses + 1);
}

/* The block of a freed tensor is used by another queue only when the first one's commands have ended. */
static void blocks_are_used_again_in_order(void **state) {
    (void)state;
    enum { BYTES = 3000 };
    static uint8_t sevens[BYTES];
    bp_queue *first = cuda_queue(0), *second = cuda_queue(0);
    assert_ok(bp_device_trim(cuda_place(0), 0));
    for (int i = 0; i < 20; i++) {
        DLManagedTensorVersioned *one = new_tensor(0, BYTES);
        memset(sevens, 7, sizeof sevens);
        the_double()->open_gate(false);
        write_bytes(&one->dl_tensor, sevens, first);
        free_tensor(one);
        DLManagedTensorVersioned *two = new_tensor(0, BYTES);
        static uint8_t nines[BYTES];
        memset(nines, 9, sizeof nines);
        write_bytes(&two->dl_tensor, nines, second);
        the_double()->open_gate(true);
        assert_ok(bp_queue_wait(first));
        assert_ok(bp_queue_wait(second));
        expect_bytes(two, 9);
        free_tensor(two);
    }
    bp_queue_release(first);
    bp_queue_release(second);
}

/* The driver waits for the commands that use a block which goes back to it: a write of the program, whose tensor was
 * exported. Without the wait, the block would be gone when the write runs. */
static void exported_blocks_are_freed_after_all_work(void **state) {
    (void)state;
    program_context(0);
    CUstream stream = program_stream(BP__CU_STREAM_NON_BLOCKING);
    the_double()->longest_delay_us = 20000;
    for (int i = 0; i < 5; i++) {
        DLManagedTensorVersioned *tensor = cuda_bytes(0, 100000, 1);
        assert_ok(bp_tensor_export(tensor));
        for (int j = 0; j < 5; j++) {
            program_fill(&tensor->dl_tensor, 2, stream);
        }
        free_tensor(tensor);
    }
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
}

static void exhausted_memory_is_an_error(void **state) {
    (void)state;
    int64_t most = 80 << 20, half = 40 << 20;
    DLManagedTensorVersioned *tensor = NULL;
    assert_fails(bp_tensor_empty_on(&tensor, cuda_place(0), BP_U8, 1, &most, NULL), BP_E_NO_MEMORY, "cuda:0");
    the_double()->memory = 50 << 20; /* less than the list says */
    DLManagedTensorVersioned *first = new_tensor(0, half);
    assert_fails(bp_tensor_empty_on(&tensor, cuda_place(0), BP_U8, 1, &(int64_t){20 << 20}, NULL), BP_E_NO_MEMORY,
                 "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
    free_tensor(first); /* its block is kept, and freed for the next request */
    DLManagedTensorVersioned *second = new_tensor(0, half + (5 << 20));
    free_tensor(second);
    assert_ok(bp_device_trim(cuda_place(0), 0));
}

static void pinned_memory_is_the_hosts(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    DLManagedTensorVersioned *pinned = NULL, *tensor = cuda_bytes(0, COUNT, 3);
    assert_ok(bp_tensor_pinned(&pinned, cuda_place(0), BP_U8, 1, &(int64_t){COUNT}));
    assert_int_equal(pinned->dl_tensor.device.device_type, kDLCUDAHost);
    assert_int_equal(bp_device_place(pinned->dl_tensor.device), 0);
    assert_int_equal(the_double()->pinned, 1);
    bp_queue *queue = cuda_queue(0);
    memset(pinned->dl_tensor.data, 0, COUNT);
    the_double()->open_gate(false);
    assert_ok(bp_copy(&pinned->dl_tensor, &tensor->dl_tensor, queue));
    assert_int_equal(((uint8_t *)pinned->dl_tensor.data)[COUNT - 1], 0); /* enqueued, not run */
    the_double()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_int_equal(((uint8_t *)pinned->dl_tensor.data)[COUNT - 1], 3);
    free_tensor(pinned);
    assert_int_equal(the_double()->pinned, 0);
    bp_queue_release(queue);
    free_tensor(tensor);
}

typedef struct lent {
    int allocations;
    void *native;
} lent;

static void *lend(void *user, size_t size, void *native) {
    lent *own = user;
    CUdeviceptr address = 0;
    CUcontext context = NULL;
    driver()->CtxGetCurrent(&context);
    own->allocations++;
    own->native = native;
    return driver()->MemAlloc(&address, size) == BP__CU_SUCCESS ? (void *)(uintptr_t)address : NULL;
}

static void take_back(void *user, void *block, size_t size) {
    lent *own = user;
    (void)size;
    own->allocations--;
    driver()->MemFree((CUdeviceptr)(uintptr_t)block);
}

static void the_program_may_allocate(void **state) {
    (void)state;
    lent own = {0};
    program_context(0);
    assert_ok(bp_device_wait(cuda_place(0)));
    assert_ok(bp_device_use_allocator(cuda_place(0), &(bp_device_allocator){lend, take_back, &own}));
    DLManagedTensorVersioned *tensor = cuda_bytes(0, 700, 4);
    assert_int_equal(own.allocations, 1);
    assert_non_null(own.native);
    expect_bytes(tensor, 4);
    free_tensor(tensor);
    assert_ok(bp_device_use_allocator(cuda_place(0), NULL));
    assert_int_equal(own.allocations, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tensors_have_addresses, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(memory_cannot_be_mapped, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(freed_blocks_are_used_again, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(blocks_are_used_again_in_order, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(exported_blocks_are_freed_after_all_work, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(exhausted_memory_is_an_error, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(pinned_memory_is_the_hosts, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(the_program_may_allocate, begin_cuda, end_cuda),
    };
    return cmocka_run_group_tests_name("memory", tests, start_cuda, stop_cuda);
}
