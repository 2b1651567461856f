/* support_opencl.c - opens the OpenCL devices of this machine for tests. */
#define _GNU_SOURCE
#include "opencl/support_opencl.h"

#include "dispatch/internal.h"
#include "registry/internal.h"
#include "settings/internal.h"
#include "settings/private.h"
#include "support/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *test_cl_state;
bp__cl_device *test_cl_devices[2];
bp_host test_cl_host;
char test_cl_error[2048];
atomic_int test_cl_builds;

static cl_program (*real_source)(cl_context, cl_uint, const char **, const size_t *, cl_int *);

static cl_program count_source(cl_context context, cl_uint count, const char **texts, const size_t *sizes,
                               cl_int *code) {
    atomic_fetch_add(&test_cl_builds, 1);
    return real_source(context, count, texts, sizes, code);
}

/* ---- The host ---- */

static bp_status keep_failure(bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(test_cl_error, sizeof test_cl_error, format, args);
    va_end(args);
    return status;
}

static void *queue_of(bp_queue *queue) {
    return ((test_queue *)queue)->queue;
}

static bp_status keep_event(bp_queue *handle, void *event) {
    test_queue *queue = (test_queue *)handle;
    if (queue->event) {
        bp_runtime_opencl.event_release(queue->event);
    }
    queue->event = event;
    return BP_OK;
}

static const bp_device_info *facts_of(int32_t place) {
    bp__cl_device *device = place >= 0 && place < 2 ? test_cl_devices[place] : NULL;
    return device ? &device->facts : NULL;
}

static bp_status open_place(int32_t place, void **device) {
    *device = test_cl_devices[place];
    return BP_OK;
}

/* ---- Devices ---- */

/* Returns the number of devices that a process finds whose PoCL is told to make these. */
static int count_with(const char *pocl_devices) {
    pid_t child = fork();
    if (child == 0) {
        void *state;
        setenv("POCL_DEVICES", pocl_devices, 1);
        alarm(240);
        _exit(bp_runtime_opencl.open(&test_cl_host, &state) == BP_OK ? bp_runtime_opencl.count(state) : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* PoCL's device on the processor is called "pthread", in newer versions "cpu". */
static void ask_for_two_devices(void) {
    static const char *const lists[] = {"pthread pthread", "cpu cpu"};
    for (size_t i = 0; !getenv("POCL_DEVICES") && i < sizeof lists / sizeof lists[0]; i++) {
        if (count_with(lists[i]) >= 2) {
            setenv("POCL_DEVICES", lists[i], 1);
        }
    }
}

int test_cl_setup(void **state) {
    (void)state;
    test_kernels_setup();
    test_cl_host = *bp__host();
    test_cl_host.fail = keep_failure;
    test_cl_host.queue = queue_of;
    test_cl_host.enqueued = keep_event;
    test_cl_host.device = facts_of;
    test_cl_host.device_open = open_place;
    ask_for_two_devices();
    bp_status status = bp_runtime_opencl.open(&test_cl_host, &test_cl_state);
    int count = status == BP_OK ? bp_runtime_opencl.count(test_cl_state) : 0;
    if (count == 0) {
        print_message("no OpenCL device is installed: all tests of this program are skipped (%s)\n",
                      status == BP_OK ? "the loader finds none" : test_cl_error);
        return 0;
    }
    real_source = bp__cl_loaded.CreateProgramWithSource;
    bp__cl_loaded.CreateProgramWithSource = count_source;
    for (int i = 0; i < 2 && i < count; i++) {
        void *device;
        assert_int_equal(bp_runtime_opencl.device_open(test_cl_state, i, NULL, &device), BP_OK);
        test_cl_devices[i] = device;
    }
    return 0;
}

int test_cl_teardown(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        if (test_cl_devices[i]) {
            bp_runtime_opencl.device_close(test_cl_devices[i]);
        }
    }
    if (test_cl_state) {
        bp_runtime_opencl.close(test_cl_state, 0);
    }
    bp_reset();
    assert_all_freed();
    return 0;
}

void test_cl_need(int devices) {
    if (devices > 0 && !test_cl_devices[devices - 1]) {
        print_message("skipped: %d OpenCL device%s needed\n", devices, devices == 1 ? " is" : "s are");
        skip();
    }
}

/* ---- Queues and memory ---- */

test_queue test_queue_new(int device, uint32_t flags) {
    void *queue;
    assert_int_equal(bp_runtime_opencl.queue_open(test_cl_devices[device], flags, NULL, &queue), BP_OK);
    return (test_queue){.queue = queue};
}

bp_queue *test_queue_handle(test_queue *queue) {
    return (bp_queue *)queue;
}

void test_queue_finish(test_queue *queue) {
    void *event;
    assert_int_equal(bp_runtime_opencl.wait(queue->queue, 0, NULL, &event), BP_OK);
    test_cl_wait(event);
    bp_runtime_opencl.event_release(event);
}

void test_queue_free(test_queue *queue) {
    test_queue_finish(queue);
    if (queue->event) {
        bp_runtime_opencl.event_release(queue->event);
    }
    bp_runtime_opencl.queue_close(queue->queue);
}

int64_t test_cl_wait(void *event) {
    int64_t code = 0;
    bp_event_state state = bp_runtime_opencl.event_sync(event, -1, &code);
    assert_int_not_equal(state, BP_EVENT_PENDING);
    return state == BP_EVENT_FAILED ? code : 0;
}

void test_cl_done(void *event) {
    assert_int_equal(test_cl_wait(event), 0);
    bp_runtime_opencl.event_release(event);
}

void *test_cl_memory(test_queue *queue, const void *from, size_t size) {
    void *base, *event;
    assert_int_equal(bp_runtime_opencl.allocate(queue->queue->device, size, &base), BP_OK);
    if (from) {
        bp_transfer transfer = {
            .kind = BP_TRANSFER_WRITE, .dst = {base, 0}, .src = {(void *)(uintptr_t)from, 0}, .run = size};
        assert_int_equal(bp_runtime_opencl.copy(queue->queue, &transfer, &event), BP_OK);
        test_cl_done(event);
    }
    return base;
}

void test_cl_read(test_queue *queue, void *base, void *to, size_t size) {
    void *event;
    bp_transfer transfer = {.kind = BP_TRANSFER_READ, .dst = {to, 0}, .src = {base, 0}, .run = size};
    assert_int_equal(bp_runtime_opencl.copy(queue->queue, &transfer, &event), BP_OK);
    test_cl_done(event);
}
