/* support_cuda.c - implements support_cuda.h. */
#include "cuda/support_cuda.h"

#include <dlfcn.h>

static void *open_double(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fail_msg("%s", dlerror());
    }
    return handle;
}

static void *library(void) {
    static void *handle;
    handle = handle ? handle : open_double(DOUBLES "/good/libcuda.so.1");
    return handle;
}

void *controls_of(const char *path, const char *name) {
    void *found = dlsym(open_double(path), name);
    assert_non_null(found);
    return found;
}

double_controls *the_double(void) {
    static double_controls *found;
    found = found ? found : controls_of(DOUBLES "/good/libcuda.so.1", "cuda_double");
    return found;
}

const program_api *driver(void) {
    static program_api found;
    if (!found.Init) {
#define X(name, symbol, parameters) *(void **)&found.name = dlsym(library(), #symbol);
        BP__CU_FIRST_FUNCTIONS(X)
        BP__CU_FUNCTIONS(X)
        PROGRAM_FUNCTIONS(X)
#undef X
    }
    return &found;
}

/* ---- Setup ---- */

bp_status restart_with(const char *folders) {
    setenv("BACKPLANE_LIBRARY_PATH", folders, 1);
    return bp_reset();
}

int start_cuda(void **state) {
    (void)state;
    setenv("BACKPLANE_LIBRARY_PATH", DOUBLES "/good", 1);
    setenv("BACKPLANE_DEVICE_EXCLUDE", "opencl", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1); /* NVIDIA's libraries cannot use the double */
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DOUBLE");
    return bp_reset() == BP_OK ? 0 : -1;
}

int stop_cuda(void **state) {
    (void)state;
    if (bp_reset() != BP_OK || bp__live_blocks() != 0) {
        fprintf(stderr, "%lld blocks are left: %s\n", (long long)bp__live_blocks(), bp_last_error());
        return 1;
    }
    const double_controls *d = the_double();
    if (d->contexts || d->blocks || d->pinned || d->streams || d->events || d->graphs || d->modules) {
        fprintf(stderr, "left: %d contexts, %d blocks, %d pinned, %d streams, %d events, %d graphs, %d modules\n",
                d->contexts, d->blocks, d->pinned, d->streams, d->events, d->graphs, d->modules);
        return 1;
    }
    return 0;
}

int number_of_fault(const char *variable, const char *const *names, int count) {
    const char *wanted = getenv(variable);
    for (int i = 0; wanted && i < count; i++) {
        if (strcmp(names[i], wanted) == 0) {
            return i;
        }
    }
    return 0;
}

/* Returns the number of a fault that CUDA_FAULT names, as the tests of local.cmake do. */
static int planted_fault(void) {
    static const char *const names[FAULT_MOST] = {
        [FAULT_NONE] = "",           [FAULT_WAITS] = "waits",
        [FAULT_LEGACY] = "legacy",   [FAULT_EVENTS] = "events",
        [FAULT_FREE] = "free",       [FAULT_ROWS] = "rows",
        [FAULT_PEERS] = "peers",     [FAULT_GRAPHS] = "graphs",
        [FAULT_KERNELS] = "kernels", [FAULT_POP] = "pop",
        [FAULT_RELAXED] = "relaxed", [FAULT_STICKY] = "sticky",
        [FAULT_TIMES] = "times",     [FAULT_PER_THREAD] = "per_thread",
    };
    return number_of_fault("CUDA_FAULT", names, FAULT_MOST);
}

int begin_cuda(void **state) {
    (void)state;
    double_controls *d = the_double();
    d->longest_delay_us = 200;
    d->fail_at = 0;
    d->fail_with = BP__CU_ILLEGAL_ADDRESS;
    d->refuse = 0;
    d->refuse_rectangles = false;
    d->refuse_modules = false;
    d->memory = 0;
    d->violations = 0;
    d->fault = planted_fault();
    d->open_gate(true);
    return 0;
}

int end_cuda(void **state) {
    (void)state;
    const double_controls *d = the_double();
    CUcontext current = NULL;
    d->open_gate(true);
    driver()->CtxSetCurrent(NULL);
    driver()->CtxGetCurrent(&current);
    if (d->violations || bp__devices_held() != 0) {
        fprintf(stderr, "%d violations (%s), %lld objects are held\n", d->violations, d->violation,
                (long long)bp__devices_held());
        return -1;
    }
    return 0;
}

/* ---- The library ---- */

int32_t cuda_place(int index) {
    return bp_device_place((DLDevice){kDLCUDA, index});
}

bp_queue *cuda_queue(int index) {
    bp_queue *queue = NULL;
    assert_ok(bp_queue_new(&queue, cuda_place(index), 0));
    return queue;
}

/* Makes a view of bytes of the host with the shape of a tensor. */
static void view_like(bp_view *view, const DLTensor *like, const void *bytes) {
    assert_ok(
        bp_view_init(view, (void *)(uintptr_t)bytes, bp_dtype_from_dlpack(like->dtype), like->ndim, like->shape, NULL));
}

void write_bytes(const DLTensor *to, const void *from, bp_queue *queue) {
    DLTensor target = *to;
    bp_view view;
    view_like(&view, to, from);
    assert_ok(bp_copy(&target, &view.tensor, queue));
}

void read_bytes(void *to, const DLTensor *from, bp_queue *queue) {
    bp_view view;
    view_like(&view, from, to);
    assert_ok(bp_copy(&view.tensor, from, queue));
}

DLManagedTensorVersioned *cuda_bytes(int index, int64_t count, uint8_t value) {
    DLManagedTensorVersioned *tensor = NULL;
    uint8_t *bytes = malloc((size_t)count);
    assert_non_null(bytes);
    memset(bytes, value, (size_t)count);
    assert_ok(bp_tensor_empty_on(&tensor, cuda_place(index), BP_U8, 1, &count, NULL));
    write_bytes(&tensor->dl_tensor, bytes, NULL);
    assert_ok(bp_device_wait(cuda_place(index)));
    free(bytes);
    return tensor;
}

void expect_bytes(const DLManagedTensorVersioned *tensor, uint8_t value) {
    const size_t count = (size_t)tensor->dl_tensor.shape[0];
    uint8_t *bytes = malloc(count);
    assert_non_null(bytes);
    read_bytes(bytes, &tensor->dl_tensor, NULL);
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            const uint8_t found = bytes[i];
            free(bytes);
            fail_msg("byte %zu is %d, not %d", i, found, value);
        }
    }
    free(bytes);
}

void free_tensor(DLManagedTensorVersioned *tensor) {
    tensor->deleter(tensor);
}

/* ---- The program ---- */

CUcontext program_context(int index) {
    void *context = NULL;
    assert_ok(bp_device_context(cuda_place(index), &context));
    assert_int_equal(driver()->CtxSetCurrent(context), BP__CU_SUCCESS);
    return context;
}

CUstream program_stream(unsigned flags) {
    CUstream stream = NULL;
    assert_int_equal(driver()->StreamCreate(&stream, flags), BP__CU_SUCCESS);
    return stream;
}

void program_fill(const DLTensor *tensor, uint8_t value, CUstream stream) {
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)tensor->data + tensor->byte_offset;
    assert_int_equal(driver()->MemsetD8Async(address, value, (size_t)tensor->shape[0], stream), BP__CU_SUCCESS);
}
