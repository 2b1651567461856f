/* test_errors.c - failures of CUDA's driver: errors that end the use of a device, and calls that fail.
 *
 * An error of a command stays with the device's context until the process ends, so that each test has its own device.
 */
#include "cuda/support_cuda.h"

enum { COUNT = 1000 };
static uint8_t zeros[COUNT];

static int start_many(void **state) {
    const int result = start_cuda(state);
    setenv("CUDA_DOUBLE", "devices=8", 1);
    return result;
}

static bp_device_state state_of(int index) {
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(cuda_place(index), &info));
    return info.state;
}

/* The other devices go on. */
static void expect_lost(int index) {
    int64_t count = COUNT;
    DLManagedTensorVersioned *tensor = NULL;
    assert_int_equal(state_of(index), BP_DEVICE_LOST);
    assert_fails(bp_tensor_empty_on(&tensor, cuda_place(index), BP_U8, 1, &count, NULL), BP_E_DEVICE,
                 "the device failed and cannot be used any more: CUDA_ERROR_ILLEGAL_ADDRESS");
    tensor = cuda_bytes(7, COUNT, 4);
    expect_bytes(tensor, 4);
    free_tensor(tensor);
    assert_int_equal(state_of(7), BP_DEVICE_READY);
}

static void an_error_of_a_command_loses_the_device(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(0, COUNT, 1);
    bp_queue *queue = cuda_queue(0);
    the_double()->open_gate(false);
    write_bytes(&tensor->dl_tensor, zeros, queue);
    write_bytes(&tensor->dl_tensor, zeros, queue);
    the_double()->fail_at = 1;
    the_double()->open_gate(true);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE,
                 "an error was found at a copy from the host on device cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assert_non_null(strstr(bp_last_error(), "the device is lost"));
    expect_lost(0);
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void events_tell_the_error(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(1, COUNT, 1);
    bp_queue *queue = cuda_queue(1);
    bp_event *event;
    the_double()->open_gate(false);
    write_bytes(&tensor->dl_tensor, zeros, queue);
    assert_ok(bp_event_record(&event, queue));
    the_double()->fail_at = 1;
    the_double()->open_gate(true);
    assert_fails(bp_event_sync(event, -1), BP_E_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    expect_lost(1);
    bp_event_release(event);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* The program's own command fails; ours are told at which call it was found. */
static void an_error_of_the_program_is_found(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(2, COUNT, 1);
    bp_queue *queue = cuda_queue(2);
    bp_view view;
    program_context(2);
    CUstream stream = program_stream(0);
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_ok(bp_view_init(&view, zeros, BP_U8, 1, &(int64_t){COUNT}, NULL));
    assert_fails(
        bp_copy(&tensor->dl_tensor, &view.tensor, queue), BP_E_DEVICE,
        "CUDA_ERROR_ILLEGAL_ADDRESS (700); it was found here, an earlier command of the process has caused it");
    expect_lost(2);
    assert_fails(bp_device_wait(cuda_place(2)), BP_E_DEVICE, "the device failed and cannot be used any more");
    (void)driver()->StreamDestroy(stream);
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void a_pending_command_tells_an_error_of_the_program(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(3, COUNT, 1);
    bp_queue *queue = cuda_queue(3);
    program_context(3);
    CUstream stream = program_stream(0);
    the_double()->open_gate(false);
    write_bytes(&tensor->dl_tensor, zeros, queue);
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    the_double()->open_gate(true);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "an error was found at a copy from the host on device cuda:3");
    expect_lost(3);
    (void)driver()->StreamDestroy(stream);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* A call that the driver refuses fails at once, and the device can be used again. */
static void refused_calls_fail_at_once(void **state) {
    (void)state;
    DLManagedTensorVersioned *tensor = cuda_bytes(4, COUNT, 1);
    bp_queue *queue = cuda_queue(4);
    bp_view view;
    bp_event *event = NULL;
    assert_ok(bp_view_init(&view, zeros, BP_U8, 1, &(int64_t){COUNT}, NULL));
    the_double()->refuse = BP__CU_INVALID_HANDLE;
    assert_fails(bp_copy(&tensor->dl_tensor, &view.tensor, queue), BP_E_DEVICE,
                 "cuda: a copy: CUDA_ERROR_INVALID_HANDLE (400)");
    assert_fails(bp_event_record(&event, queue), BP_E_DEVICE, "cuEventRecord: CUDA_ERROR_INVALID_HANDLE (400)");
    the_double()->refuse = BP__CU_OUT_OF_MEMORY;
    assert_fails(bp_copy(&tensor->dl_tensor, &view.tensor, queue), BP_E_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2)");
    the_double()->refuse = 0;
    assert_ok(bp_copy(&tensor->dl_tensor, &view.tensor, queue));
    assert_ok(bp_queue_wait(queue));
    expect_bytes(tensor, 0);
    assert_int_equal(state_of(4), BP_DEVICE_READY);
    free_tensor(tensor);
    bp_queue_release(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_error_of_a_command_loses_the_device, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(events_tell_the_error, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(an_error_of_the_program_is_found, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_pending_command_tells_an_error_of_the_program, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(refused_calls_fail_at_once, begin_cuda, end_cuda),
    };
    return cmocka_run_group_tests_name("errors", tests, start_many, stop_cuda);
}
