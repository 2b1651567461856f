/* test_runtime.c - tests the list of devices, contexts, queues, memory and errors of the OpenCL runtime. */
#include "opencl/support_opencl.h"

static const bp_runtime *const runtime = &bp_runtime_opencl;

static void test_facts(void **state) {
    (void)state;
    test_cl_need(1);
    for (int i = 0; i < runtime->count(test_cl_state); i++) {
        bp_device_info info = {.struct_size = sizeof info}, again = info;
        assert_int_equal(runtime->describe(test_cl_state, i, &info), BP_OK);
        assert_int_equal(runtime->describe(test_cl_state, i, &again), BP_OK);
        assert_memory_equal(&info, &again, sizeof info);
        assert_int_equal(info.struct_size, sizeof info);
        assert_int_equal(info.type, kDLOpenCL);
        const char *texts[] = {info.name, info.vendor, info.driver, info.version, info.platform};
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
            assert_true(*texts[j]);
            assert_int_not_equal(texts[j][0], ' ');
            assert_int_not_equal(texts[j][strlen(texts[j]) - 1], ' ');
        }
        assert_contains(info.version, "OpenCL ");
        assert_true(info.units > 0 && info.group_items > 0 && info.alignment > 0 && info.memory > 0);
        assert_true(info.largest > 0 && info.largest <= info.memory && info.local_memory > 0);
        assert_true(info.parameter_bytes >= 256);
        bool f64 = strstr(info.extensions, "cl_khr_fp64") != NULL;
        assert_int_equal((info.can & BP_DEVICE_CAN_F64) != 0, f64);
    }
}

/* ---- Two platforms: the first one has a processor and an accelerator, the second one a GPU ---- */

enum { TYPE_CPU = 2, TYPE_GPU = 4, TYPE_ACCELERATOR = 8 };
static char first_platform, second_platform, processor, accelerator, gpu;

static cl_int two_platforms(cl_uint most, cl_platform_id *platforms, cl_uint *count) {
    assert_true(most >= 2);
    platforms[0] = (cl_platform_id)&first_platform;
    platforms[1] = (cl_platform_id)&second_platform;
    *count = 2;
    return 0;
}

static cl_int devices_of(cl_platform_id platform, cl_bitfield types, cl_uint most, cl_device_id *devices,
                         cl_uint *count) {
    const bool first = platform == (cl_platform_id)&first_platform;
    *count = 0;
    assert_true(most >= 2);
    if (first && types & TYPE_CPU) {
        devices[(*count)++] = (cl_device_id)&processor;
    }
    if (first && types & TYPE_ACCELERATOR) {
        devices[(*count)++] = (cl_device_id)&accelerator;
    }
    if (!first && types & TYPE_GPU) {
        devices[(*count)++] = (cl_device_id)&gpu;
    }
    return *count ? 0 : -1;
}

static void *symbol_of_two(void *handle, const char *name) {
    return strcmp(name, "clGetPlatformIDs") == 0 ? (void *)(uintptr_t)two_platforms
           : strcmp(name, "clGetDeviceIDs") == 0 ? (void *)(uintptr_t)devices_of
                                                 : test_cl_host.symbol(handle, name);
}

static void test_processors_come_last(void **state) {
    (void)state;
    test_cl_need(1);
    const bp__cl_api api = bp__cl_loaded;
    bp_host host = test_cl_host;
    void *opened;
    host.symbol = symbol_of_two;
    assert_int_equal(runtime->open(&host, &opened), BP_OK);
    const bp__cl_state *list = opened;
    assert_int_equal(runtime->count(opened), 3);
    assert_ptr_equal(list->entries[0].id, &accelerator);
    assert_ptr_equal(list->entries[1].id, &gpu);
    assert_ptr_equal(list->entries[2].id, &processor);
    assert_ptr_equal(list->entries[2].platform, &first_platform);
    runtime->close(opened, 0);
    bp__cl_loaded = api;
    bp__cl_host = &test_cl_host;
}

/* A smaller struct of an older core is filled as far as it goes. */
static void test_smaller_struct(void **state) {
    (void)state;
    test_cl_need(1);
    bp_device_info info;
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(bp_device_info, units);
    assert_int_equal(runtime->describe(test_cl_state, 0, &info), BP_OK);
    assert_int_equal(info.struct_size, offsetof(bp_device_info, units));
    assert_int_equal(info.units, 0x5a5a5a5a);
    assert_true(*info.name);
}

static void test_no_such_device(void **state) {
    (void)state;
    test_cl_need(1);
    bp_device_info info = {.struct_size = sizeof info};
    void *device;
    int count = runtime->count(test_cl_state);
    assert_int_equal(runtime->describe(test_cl_state, -1, &info), BP_E_ARGUMENT);
    assert_int_equal(runtime->describe(test_cl_state, count, &info), BP_E_ARGUMENT);
    assert_contains(test_cl_error, "there is no device");
    assert_int_equal(runtime->device_open(test_cl_state, count, NULL, &device), BP_E_ARGUMENT);
}

/* ---- The program's own objects ---- */

static void test_given_context(void **state) {
    (void)state;
    test_cl_need(1);
    void *first = runtime->device_context(test_cl_devices[0]), *device;
    assert_int_equal(runtime->device_open(test_cl_state, 0, first, &device), BP_OK);
    assert_ptr_equal(runtime->device_context(device), first);
    runtime->device_close(device);
    void *base; /* the context still works */
    assert_int_equal(runtime->allocate(test_cl_devices[0], 100, &base), BP_OK);
    runtime->release(test_cl_devices[0], base);
    if (test_cl_devices[1] && test_cl_devices[1]->id != test_cl_devices[0]->id) {
        assert_int_equal(runtime->device_open(test_cl_state, 1, first, &device), BP_E_ARGUMENT);
        assert_contains(test_cl_error, "does not contain the device");
    }
}

static void test_given_queue(void **state) {
    (void)state;
    test_cl_need(1);
    bp__cl_device *device = test_cl_devices[0];
    cl_int code;
    void *queue;
    cl_command_queue own =
        device->cl->CreateCommandQueue(device->context, device->id, BP__CL_QUEUE_PROFILING_ENABLE, &code);
    assert_int_equal(runtime->queue_open(device, 0, own, &queue), BP_OK);
    assert_ptr_equal(runtime->queue_native(queue), own);
    assert_true(((bp__cl_queue *)queue)->timed);
    runtime->queue_close(queue);
    assert_int_equal(device->cl->Finish(own), 0); /* it is still the program's */
    device->cl->ReleaseCommandQueue(own);
    own =
        device->cl->CreateCommandQueue(device->context, device->id, BP__CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (own) {
        assert_int_equal(runtime->queue_open(device, 0, own, &queue), BP_E_UNSUPPORTED);
        assert_contains(test_cl_error, "order");
        device->cl->ReleaseCommandQueue(own);
    }
}

static void test_queue_of_another(void **state) {
    (void)state;
    test_cl_need(2);
    bp__cl_device *other = test_cl_devices[1];
    cl_int code;
    void *queue;
    cl_command_queue own = other->cl->CreateCommandQueue(other->context, other->id, 0, &code);
    assert_int_equal(runtime->queue_open(test_cl_devices[0], 0, own, &queue), BP_E_ARGUMENT);
    assert_contains(test_cl_error, "belongs to another");
    other->cl->ReleaseCommandQueue(own);
}

/* ---- Memory ---- */

static void test_memory(void **state) {
    (void)state;
    test_cl_need(1);
    bp__cl_device *device = test_cl_devices[0];
    void *base;
    size_t size = 0;
    assert_int_equal(runtime->allocate(device, 12345, &base), BP_OK);
    assert_int_equal(runtime->size(device, base, &size), BP_OK);
    assert_true(size >= 12345);
    if (test_cl_devices[1]) {
        assert_int_equal(runtime->size(test_cl_devices[1], base, &size), BP_E_ARGUMENT);
        assert_contains(test_cl_error, "another context");
    }
    runtime->release(device, base);
    assert_int_equal(runtime->allocate(device, 0, &base), BP_OK);
    runtime->release(device, base);
    assert_int_equal(runtime->allocate(device, (size_t)1 << 50, &base), BP_E_NO_MEMORY);
    assert_contains(test_cl_error, "bytes");
}

/* 10^4 blocks, queues and events leave nothing behind. */
static void test_many(void **state) {
    (void)state;
    test_cl_need(1);
    int64_t blocks = bp__live_blocks();
    for (int i = 0; i < 10000; i++) {
        void *base;
        assert_int_equal(runtime->allocate(test_cl_devices[0], 1 << 16, &base), BP_OK);
        runtime->release(test_cl_devices[0], base);
    }
    for (int i = 0; i < 200; i++) {
        test_queue queue = test_queue_new(0, 0);
        test_queue_free(&queue);
    }
    assert_int_equal(bp__live_blocks(), blocks);
}

/* ---- Errors ---- */

static void test_error_names(void **state) {
    (void)state;
    int lost = 1;
    assert_string_equal(runtime->error_name(-5, &lost), "CL_OUT_OF_RESOURCES");
    assert_int_equal(lost, 0);
    assert_string_equal(runtime->error_name(-36, &lost), "CL_INVALID_COMMAND_QUEUE");
    assert_int_equal(lost, 1);
    assert_string_equal(runtime->error_name(-2, &lost), "CL_DEVICE_NOT_AVAILABLE");
    assert_int_equal(lost, 1);
    assert_string_equal(runtime->error_name(-12345, NULL), "unknown error");
    assert_string_equal(runtime->error_name(-14, &lost), "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
    assert_int_equal(lost, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_processors_come_last),
        cmocka_unit_test(test_smaller_struct),
        cmocka_unit_test(test_no_such_device),
        cmocka_unit_test(test_given_context),
        cmocka_unit_test(test_given_queue),
        cmocka_unit_test(test_queue_of_another),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_error_names),
    };
    return cmocka_run_group_tests_name("runtime", tests, test_cl_setup, test_cl_teardown);
}
