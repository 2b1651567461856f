/* test_programs.c - tests that programs are built once, that binaries are kept, and that wrong ones are built again. */
#include "opencl/support_opencl.h"

#include "providers/opencl/build_log.h"

#include <pthread.h>

static const char source[] = "kernel void twice(global float *x) { x[get_global_id(0)] *= FACTOR; }\n";

/* ---- Kept bytes ---- */

static struct {
    int recalls, remembers;
    bool stays; /* nothing replaces what is kept */
    char *key, *bytes;
    size_t key_size, size;
} kept;

static void forget(void) {
    free(kept.key);
    free(kept.bytes);
    memset(&kept, 0, sizeof kept);
}

static void *copy_of(const void *bytes, size_t size) {
    void *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void *recall(const char *kind, const void *key, size_t key_size, size_t *size) {
    assert_string_equal(kind, "opencl");
    kept.recalls++;
    if (!kept.bytes || key_size != kept.key_size || memcmp(key, kept.key, key_size) != 0) {
        return NULL;
    }
    void *copy = test_cl_host.allocate(kept.size);
    memcpy(copy, kept.bytes, kept.size);
    *size = kept.size;
    return copy;
}

static void remember(const char *kind, const void *key, size_t key_size, const void *bytes, size_t size) {
    assert_string_equal(kind, "opencl");
    kept.remembers++;
    if (kept.stays) {
        return;
    }
    free(kept.key);
    free(kept.bytes);
    kept.key = copy_of(key, key_size);
    kept.bytes = copy_of(bytes, size);
    kept.key_size = key_size;
    kept.size = size;
}

static int setup(void **state) {
    int result = test_cl_setup(state);
    test_cl_host.recall_bytes = recall;
    test_cl_host.remember_bytes = remember;
    return result;
}

static int teardown(void **state) {
    forget();
    return test_cl_teardown(state);
}

/* ---- Programs ---- */

/* A fresh device, without programs. Its version is not PoCL's, whose binaries are not kept. */
static bp__cl_device *open_device(void) {
    void *opened;
    assert_int_equal(bp_runtime_opencl.device_open(test_cl_state, 0, NULL, &opened), BP_OK);
    bp__cl_device *device = opened;
    device->platform_version = "OpenCL 3.0 of no vendor";
    return device;
}

/* Runs the kernel on a value. */
static float run(bp__cl_device *device, bp__kernel_program *program, float value) {
    bp__cl_device *first = test_cl_devices[0];
    test_cl_devices[0] = device;
    test_queue queue = test_queue_new(0, 0);
    void *base = test_cl_memory(&queue, &value, sizeof value);
    cl_mem memory = base;
    cl_int code;
    cl_kernel kernel = device->cl->CreateKernel(program->native, "twice", &code);
    assert_non_null(kernel);
    assert_int_equal(device->cl->SetKernelArg(kernel, 0, sizeof memory, &memory), 0);
    const size_t one = 1;
    assert_int_equal(device->cl->EnqueueNDRangeKernel(queue.queue->native, kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
                     0);
    test_cl_read(&queue, base, &value, sizeof value);
    device->cl->ReleaseKernel(kernel);
    bp_runtime_opencl.release(device, base);
    test_queue_free(&queue);
    test_cl_devices[0] = first;
    return value;
}

static void test_built_once(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    bp__cl_device *device = open_device();
    bp__kernel_program *one, *again, *other;
    int builds = test_cl_builds;
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=2", &one), BP_OK);
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=2", &again), BP_OK);
    assert_ptr_equal(one, again);
    assert_int_equal(test_cl_builds, builds + 1);
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=3", &other), BP_OK);
    assert_ptr_not_equal(one, other);
    assert_int_equal(test_cl_builds, builds + 2);
    assert_true(run(device, one, 5) == 10 && run(device, other, 5) == 15);
    bp_runtime_opencl.device_close(device);
}

static void test_binary(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    bp__kernel_program *program;
    bp__cl_device *device = open_device();
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=4", &program), BP_OK);
    bp_runtime_opencl.device_close(device);
    assert_int_equal(kept.remembers, 1);
    assert_true(kept.size > 0);
    int builds = test_cl_builds;
    device = open_device();
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=4", &program), BP_OK);
    assert_int_equal(test_cl_builds, builds); /* not from source */
    assert_int_equal(kept.remembers, 1);
    assert_true(run(device, program, 5) == 20);
    bp_runtime_opencl.device_close(device);
}

/* PoCL is not asked for a binary, and it has the program when it is built again. */
static void test_pocl(void **state) {
    static const char *const versions[] = {"OpenCL 2.0 pocl 1.8", "OpenCL 3.0 PoCL 3.1+debian"};
    (void)state;
    test_cl_need(1);
    forget();
    for (int i = 0; i < 4; i++) {
        bp__kernel_program *program;
        bp__cl_device *device = open_device();
        device->platform_version = versions[i % 2];
        const int builds = test_cl_builds;
        assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=9", &program), BP_OK);
        assert_int_equal(test_cl_builds, builds + 1);
        assert_true(run(device, program, 5) == 45);
        bp_runtime_opencl.device_close(device);
    }
    assert_int_equal(kept.remembers, 0);
}

/* Returns how many programs are built from source on a fresh device, one of whose facts (0 to 3) is changed. */
static int builds_with(int fact, const char *text, const char *options) {
    bp__kernel_program *program;
    bp__cl_device *device = open_device();
    const char **facts[] = {&device->platform_version, &device->facts.name, &device->facts.driver,
                            &device->facts.version};
    if (fact >= 0) {
        *facts[fact] = "another";
    }
    int builds = test_cl_builds;
    assert_int_equal(bp__kernel_program_get(&device->kernels, text, options, &program), BP_OK);
    bp_runtime_opencl.device_close(device);
    return test_cl_builds - builds;
}

/* The key differs in everything that a binary depends on. */
static void test_key(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    assert_int_equal(builds_with(-1, source, "-DFACTOR=6"), 1);
    kept.stays = true;
    assert_int_equal(builds_with(-1, source, "-DFACTOR=6"), 0);
    for (int fact = 0; fact < 4; fact++) {
        assert_int_equal(builds_with(fact, source, "-DFACTOR=6"), 1);
    }
    assert_int_equal(builds_with(-1, source, "-DFACTOR=8"), 1);
    assert_int_equal(builds_with(-1, "kernel void other(global float *x) { x[0] = FACTOR; }", "-DFACTOR=6"), 1);
}

/* Binaries that are not of this driver. Damaged ones never reach a driver, because the store has checksums: PoCL
 * crashes on a binary that was cut. */
static void test_bad_binaries(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    bp__kernel_program *program;
    bp__cl_device *device = open_device();
    assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=7", &program), BP_OK);
    bp_runtime_opencl.device_close(device);
    for (int i = 0; i < 2; i++) {
        const char junk[] = "this is no binary of any driver, and it is long enough to be taken for a header of one";
        free(kept.bytes);
        kept.bytes = copy_of(junk, sizeof junk);
        kept.size = i == 0 ? sizeof junk : 1;
        int builds = test_cl_builds, remembers = kept.remembers;
        device = open_device();
        assert_int_equal(bp__kernel_program_get(&device->kernels, source, "-DFACTOR=7", &program), BP_OK);
        assert_int_equal(test_cl_builds, builds + 1);
        assert_int_equal(kept.remembers, remembers + 1); /* and replaced */
        assert_true(run(device, program, 5) == 35);
        bp_runtime_opencl.device_close(device);
    }
}

static void test_failed_build(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    bp__kernel_program *program;
    bp__cl_device *device = open_device();
    const char *bad = "kernel void f(global float *x) { x[0] = undeclared_name; }\n";
    for (int i = 0; i < 2; i++) { /* a failure is not kept */
        assert_int_equal(bp__kernel_program_get(&device->kernels, bad, "-DTHIS=1", &program), BP_E_BROKEN);
        assert_contains(test_cl_error, "CL_BUILD_PROGRAM_FAILURE (-11)");
        assert_contains(test_cl_error, "undeclared_name");
        assert_contains(test_cl_error, "-DTHIS=1");
        assert_null(strstr(test_cl_error, "/tmp"));
        assert_null(strstr(test_cl_error, getenv("POCL_CACHE_DIR")));
    }
    assert_int_equal(kept.remembers, 0);
    bp_runtime_opencl.device_close(device);
}

static void test_logs(void **state) {
    (void)state;
    char text[64];
    bp__cl_shorten_log("/tmp/pocl-x/a.cl:3:5: error: no  'y'\n  in \"/tmp/b c\"\n\n", text, sizeof text);
    assert_string_equal(text, "kernel:3:5: error: no 'y'; in \"kernel c\"");
    bp__cl_shorten_log("a / b // c /* d */ 1/2", text, sizeof text);
    assert_string_equal(text, "a / b // c /* d */ 1/2");
    bp__cl_shorten_log("", text, sizeof text);
    assert_string_equal(text, "");
    char small[8];
    bp__cl_shorten_log("0123456789", small, sizeof small);
    assert_string_equal(small, "0123456");
}

/* ---- Threads: each program is built once ---- */

static void *get_programs(void *opaque) {
    bp__cl_device *device = opaque;
    char options[32];
    for (int i = 0; i < 6; i++) {
        bp__kernel_program *program;
        snprintf(options, sizeof options, "-DFACTOR=%d", 100 + i);
        if (bp__kernel_program_get(&device->kernels, source, options, &program) != BP_OK) {
            return opaque;
        }
    }
    return NULL;
}

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

static void *recall_none(const char *kind, const void *key, size_t key_size, size_t *size) {
    (void)kind;
    (void)key;
    (void)key_size;
    (void)size;
    return NULL;
}

static void remember_none(const char *kind, const void *key, size_t key_size, const void *bytes, size_t size) {
    (void)kind;
    (void)key;
    (void)key_size;
    (void)bytes;
    (void)size;
    pthread_mutex_lock(&keeping);
    kept.remembers++;
    pthread_mutex_unlock(&keeping);
}

static void test_threads(void **state) {
    (void)state;
    test_cl_need(1);
    forget();
    test_cl_host.recall_bytes = recall_none;
    test_cl_host.remember_bytes = remember_none;
    pthread_t threads[4];
    bp__cl_device *device = open_device();
    int builds = test_cl_builds;
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, get_programs, device);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(test_cl_builds, builds + 6);
    bp_runtime_opencl.device_close(device);
    test_cl_host.recall_bytes = recall;
    test_cl_host.remember_bytes = remember;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_once), cmocka_unit_test(test_binary),       cmocka_unit_test(test_pocl),
        cmocka_unit_test(test_key),        cmocka_unit_test(test_bad_binaries), cmocka_unit_test(test_failed_build),
        cmocka_unit_test(test_logs),       cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("programs", tests, setup, teardown);
}
