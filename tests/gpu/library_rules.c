/* library_rules.c - what the library guarantees on CUDA devices, checked on a real one. */
#include "check.h"

#include "backplane.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 20 };

static outcome open_device(int32_t *place) {
    LIBRARY(bp_device_find("cuda:0", place));
    void *context = NULL;
    LIBRARY(bp_device_context(*place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* Makes a tensor of bytes that all have a value. */
static outcome new_bytes(int32_t place, int64_t count, uint8_t value, DLManagedTensorVersioned **tensor) {
    uint8_t *bytes = malloc((size_t)count);
    bp_view view;
    HOLDS(bytes != NULL);
    memset(bytes, value, (size_t)count);
    LIBRARY(bp_tensor_empty_on(tensor, place, BP_U8, 1, &count, NULL));
    LIBRARY(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL));
    LIBRARY(bp_copy(&(*tensor)->dl_tensor, &view.tensor, NULL));
    LIBRARY(bp_device_wait(place));
    free(bytes);
    return PASSED;
}

static outcome expect_bytes(const DLManagedTensorVersioned *tensor, uint8_t value) {
    static uint8_t bytes[COUNT];
    bp_view view;
    LIBRARY(bp_view_init(&view, bytes, BP_U8, 1, tensor->dl_tensor.shape, NULL));
    LIBRARY(bp_copy(&view.tensor, &tensor->dl_tensor, NULL));
    for (int64_t i = 0; i < tensor->dl_tensor.shape[0]; i++) {
        if (bytes[i] != value) {
            return fail("byte %lld is %d, not %d", (long long)i, bytes[i], value);
        }
    }
    return PASSED;
}

static outcome facts_are_plausible(void) {
    bp_device_info info = {.struct_size = sizeof info};
    int32_t place;
    LIBRARY(bp_device_find("cuda:0", &place));
    LIBRARY(bp_device_describe(place, &info));
    note("%s, driver for CUDA %s, %s, %u multiprocessors, %llu MiB, %u GB/s", info.name, info.driver, info.arch,
         info.units, (unsigned long long)(info.memory >> 20), info.bandwidth_gb_s);
    HOLDS(info.units > 0 && info.memory > 0 && info.subgroup == 32 && info.local_memory >= 49152);
    HOLDS(info.capability >= 500 && info.l2 > 0 && strlen(info.uuid) == 36 && info.bandwidth_gb_s > 0);
    return PASSED;
}

/* ---- Copies ---- */

enum { SIDE = 12, DIMS = 4, ELEMENTS = SIDE * SIDE * SIDE * SIDE };

/* A layout of four dimensions whose order is `order`; an element has `item` bytes. The last one may go backwards. */
static void make_tensor(DLTensor *tensor, int64_t strides[DIMS], const int order[DIMS], bool backwards, void *data,
                        DLDevice device, bp_dtype type) {
    static int64_t shape[DIMS] = {SIDE, SIDE, SIDE, SIDE};
    int64_t stride = 1;
    *tensor =
        (DLTensor){.data = data, .device = device, .ndim = DIMS, .dtype = bp_dtype_to_dlpack(type), .shape = shape};
    tensor->strides = strides;
    for (int i = 0; i < DIMS; i++) {
        strides[order[i]] = stride;
        stride *= SIDE;
    }
    if (backwards) {
        tensor->byte_offset = (uint64_t)((SIDE - 1) * strides[3]) * bp_dtype_size(type);
        strides[3] = -strides[3];
    }
}

/* Returns the place of an element in bytes. */
static size_t place_of(const DLTensor *tensor, int64_t number, size_t item) {
    int64_t at = 0;
    for (int i = DIMS - 1; i >= 0; i--) {
        at += number % SIDE * tensor->strides[i];
        number /= SIDE;
    }
    return (size_t)((int64_t)tensor->byte_offset + at * (int64_t)item);
}

/* Copies host -> first device -> second device -> host in three layouts, and compares the elements. */
static outcome copy_through(int32_t place, int32_t other, bp_dtype type, const int order[DIMS], bool backwards) {
    const size_t item = bp_dtype_size(type), bytes = item * ELEMENTS;
    static const int plain[DIMS] = {3, 2, 1, 0};
    int64_t strides[4][DIMS];
    DLManagedTensorVersioned *one, *two;
    DLTensor from, first, second, to;
    uint8_t *source = malloc(bytes), *found = calloc(1, bytes);
    HOLDS(source && found);
    for (size_t i = 0; i < bytes; i++) {
        source[i] = (uint8_t)(i * 7 + i / 251);
    }
    NEEDS(new_bytes(place, (int64_t)bytes, 0, &one));
    NEEDS(new_bytes(other, (int64_t)bytes, 0, &two));
    make_tensor(&from, strides[0], plain, false, source, (DLDevice){kDLCPU, 0}, type);
    make_tensor(&first, strides[1], order, backwards, one->dl_tensor.data, one->dl_tensor.device, type);
    make_tensor(&second, strides[2], plain, !backwards, two->dl_tensor.data, two->dl_tensor.device, type);
    make_tensor(&to, strides[3], order, false, found, (DLDevice){kDLCPU, 0}, type);
    LIBRARY(bp_copy(&first, &from, NULL));
    LIBRARY(bp_copy(&second, &first, NULL));
    LIBRARY(bp_copy(&to, &second, NULL));
    for (int64_t i = 0; i < ELEMENTS; i++) {
        if (memcmp(found + place_of(&to, i, item), source + place_of(&from, i, item), item) != 0) {
            return fail("element %lld of type %s is wrong", (long long)i, bp_dtype_name(type));
        }
    }
    one->deleter(one);
    two->deleter(two);
    free(source);
    free(found);
    return PASSED;
}

static outcome copies_between(int32_t place, int32_t other) {
    static const bp_dtype types[] = {BP_U8, BP_F16, BP_F32, BP_F64, BP_C128};
    static const int orders[][DIMS] = {{3, 2, 1, 0}, {0, 1, 2, 3}, {2, 3, 0, 1}, {1, 3, 0, 2}};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            NEEDS(copy_through(place, other, types[i], orders[j], j % 2 == 1));
        }
    }
    return PASSED;
}

static outcome copies_are_right(void) {
    int32_t place;
    NEEDS(open_device(&place));
    return copies_between(place, place);
}

static outcome peer_copies_are_right(void) {
    int32_t place, other;
    NEEDS(open_device(&place));
    if (bp_device_find("cuda:1", &other) != BP_OK) {
        return skip_rule("there is one device");
    }
    return copies_between(place, other);
}

/* ---- Queues ---- */

static outcome queues_follow_the_program(void) {
    int32_t place;
    CUstream streams[3] = {NULL, NULL, BP__CU_STREAM_PER_THREAD};
    DLManagedTensorVersioned *tensor, *pinned;
    int64_t count = COUNT;
    NEEDS(open_device(&place));
    NEEDS(new_bytes(place, COUNT, 0, &tensor));
    LIBRARY(bp_tensor_pinned(&pinned, place, BP_U8, 1, &count));
    memset(pinned->dl_tensor.data, 3, COUNT);
    WORKS(cu.StreamCreate(&streams[1], 0));
    for (int i = 0; i < 3; i++) {
        bp_queue *queue;
        const CUdeviceptr memory = (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data;
        LIBRARY(bp_queue_wrap(&queue, place, streams[i]));
        gate *own = close_gate(streams[i]);
        HOLDS(own != NULL);
        WORKS(cu.MemsetD8Async(memory, 1, COUNT, streams[i]));
        LIBRARY(bp_copy(&tensor->dl_tensor, &pinned->dl_tensor, queue));
        WORKS(cu.MemsetD8Async(memory, 4, COUNT / 2, streams[i]));
        WORKS(cu.MemsetD8Async(memory + COUNT / 2, 4, COUNT / 2, streams[i]));
        open_gate(own);
        LIBRARY(bp_queue_wait(queue));
        WORKS(cu.StreamSynchronize(streams[i]));
        NEEDS(expect_bytes(tensor, 4));
        bp_queue_release(queue);
    }
    tensor->deleter(tensor);
    pinned->deleter(pinned);
    return PASSED;
}

static outcome the_context_is_not_changed(void) {
    int32_t place;
    DLManagedTensorVersioned *tensor;
    CUcontext current = NULL;
    NEEDS(open_device(&place));
    WORKS(cu.CtxSetCurrent(NULL));
    NEEDS(new_bytes(place, COUNT, 6, &tensor));
    NEEDS(expect_bytes(tensor, 6));
    tensor->deleter(tensor);
    LIBRARY(bp_device_trim(place, 0));
    WORKS(cu.CtxGetCurrent(&current));
    HOLDS(current == NULL);
    return PASSED;
}

/* ---- Graphs ---- */

static outcome graphs_run(void) {
    int32_t place;
    DLManagedTensorVersioned *one, *two;
    bp_queue *queue;
    bp_queue_graph *graph = NULL;
    NEEDS(open_device(&place));
    NEEDS(new_bytes(place, COUNT, 1, &one));
    NEEDS(new_bytes(place, COUNT, 0, &two));
    LIBRARY(bp_queue_new(&queue, place, 0));
    LIBRARY(bp_queue_capture_begin(queue));
    LIBRARY(bp_copy(&two->dl_tensor, &one->dl_tensor, queue));
    LIBRARY(bp_queue_capture_end(&graph, queue));
    NEEDS(expect_bytes(two, 0));
    LIBRARY(bp_queue_graph_launch(graph, queue));
    bp_queue_graph_release(graph);
    LIBRARY(bp_queue_wait(queue));
    NEEDS(expect_bytes(two, 1));
    bp_queue_release(queue);
    one->deleter(one);
    two->deleter(two);
    return PASSED;
}

static outcome captures_of_the_program_go_on(void) {
    int32_t place;
    DLManagedTensorVersioned *one, *fresh;
    CUstream stream;
    CUgraph captured = NULL;
    bp_queue *queue;
    NEEDS(open_device(&place));
    NEEDS(new_bytes(place, COUNT, 1, &one));
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    LIBRARY(bp_queue_wrap(&queue, place, stream));
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIBRARY(bp_tensor_empty_on(&fresh, place, BP_U8, 1, &(int64_t){3 * COUNT}, NULL));
    NEEDS(expect_bytes(one, 1)); /* on another queue */
    DLTensor part = fresh->dl_tensor;
    part.shape = one->dl_tensor.shape;
    LIBRARY(bp_copy(&part, &one->dl_tensor, queue));
    HOLDS(bp_queue_wait(queue) == BP_E_UNSUPPORTED);
    WORKS(cu.StreamEndCapture(stream, &captured));
    WORKS(cu.GraphDestroy(captured));
    bp_queue_release(queue);
    fresh->deleter(fresh);
    one->deleter(one);
    return PASSED;
}

/* ---- Errors, operations, fork ---- */

static outcome errors_are_found(void) {
    static const char text[] = ".version 7.4\n.target sm_50\n.address_size 64\n"
                               ".visible .entry store(.param .align 8 .b8 all[8])\n{\n.reg .b64 %to;\n"
                               "ld.param.u64 %to, [all+0];\nst.u64 [%to], %to;\nret;\n}\n";
    int32_t place;
    DLManagedTensorVersioned *tensor;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr wrong = 64;
    void *parameters[] = {&wrong};
    bp_queue *queue;
    bp_device_info info = {.struct_size = sizeof info};
    NEEDS(open_device(&place));
    NEEDS(new_bytes(place, COUNT, 1, &tensor));
    LIBRARY(bp_queue_new(&queue, place, 0));
    WORKS(cu.ModuleLoadData(&module, text));
    WORKS(cu.ModuleGetFunction(&kernel, module, "store"));
    gate *own = close_gate(bp_queue_native(queue));
    HOLDS(own != NULL);
    WORKS(cu.LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, bp_queue_native(queue), parameters, NULL));
    LIBRARY(bp_copy(&tensor->dl_tensor, &tensor->dl_tensor, queue) == BP_E_OVERLAP ? BP_OK : BP_E_INTERNAL);
    bp_event *event;
    LIBRARY(bp_event_record(&event, queue));
    open_gate(own);
    HOLDS(bp_event_sync(event, -1) == BP_E_DEVICE);
    note("%s", bp_last_error());
    HOLDS(strstr(bp_last_error(), "an error was found at") != NULL);
    LIBRARY(bp_device_describe(place, &info));
    HOLDS(info.state == BP_DEVICE_LOST);
    return PASSED;
}

static outcome operations_need_a_transfer(void) {
    enum { SIZE = 64 };
    static float values[SIZE * SIZE], found[SIZE * SIZE];
    int32_t place;
    DLManagedTensorVersioned *on[3];
    bp_view view;
    const int64_t shape[] = {SIZE, SIZE};
    NEEDS(open_device(&place));
    for (int i = 0; i < SIZE * SIZE; i++) {
        values[i] = (float)(i % 3);
    }
    LIBRARY(bp_view_init(&view, values, BP_F32, 2, shape, NULL));
    for (int i = 0; i < 3; i++) {
        LIBRARY(bp_tensor_empty_on(&on[i], place, BP_F32, 2, shape, NULL));
        LIBRARY(bp_copy(&on[i]->dl_tensor, &view.tensor, NULL));
    }
    LIBRARY(bp_set("dispatch.exclude", "cublas,nvrtc"));
    HOLDS(bp_matmul(&on[0]->dl_tensor, &on[1]->dl_tensor, &on[2]->dl_tensor) == BP_E_NO_CANDIDATE);
    LIBRARY(bp_set("dispatch.transfer", "allow"));
    LIBRARY(bp_matmul(&on[0]->dl_tensor, &on[1]->dl_tensor, &on[2]->dl_tensor));
    LIBRARY(bp_view_init(&view, found, BP_F32, 2, shape, NULL));
    LIBRARY(bp_copy(&view.tensor, &on[2]->dl_tensor, NULL));
    for (int i = 0; i < SIZE * SIZE; i++) {
        float sum = 0;
        for (int k = 0; k < SIZE; k++) {
            sum += values[i / SIZE * SIZE + k] * values[k * SIZE + i % SIZE];
        }
        HOLDS(found[i] == sum);
    }
    return PASSED;
}

static outcome children_are_refused(void) {
    int32_t place;
    DLManagedTensorVersioned *tensor, *fresh = NULL;
    int status = 0;
    NEEDS(open_device(&place));
    NEEDS(new_bytes(place, COUNT, 1, &tensor));
    const pid_t child = fork();
    if (child == 0) {
        _exit(bp_tensor_empty_on(&fresh, place, BP_U8, 1, &(int64_t){16}, NULL) == BP_E_FORKED ? 0 : 1);
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return expect_bytes(tensor, 1);
}

const rule library_rules[] = {
    {"library.facts", "The list of devices has the facts of the driver.", facts_are_plausible},
    {"library.copies", "Copies of any strides are right, from and to the host and within the device.",
     copies_are_right},
    {"library.peers", "Copies between two devices are right.", peer_copies_are_right},
    {"library.queues", "Commands on streams of the program, and on default streams, run in the program's order.",
     queues_follow_the_program},
    {"library.context", "The current context of the calling thread stays what it was.", the_context_is_not_changed},
    {"library.graphs", "A captured graph runs, and may be released while it does.", graphs_run},
    {"library.captures", "Calls of the library do not end a capture of the program.", captures_of_the_program_go_on},
    {"library.errors", "An error of a kernel of the program is found, and the device is lost.", errors_are_found},
    {"library.operations", "Without a candidate, an operation runs on the host if dispatch.transfer allows it.",
     operations_need_a_transfer},
    {"library.fork", "A child of fork gets E_FORKED, and its parent goes on.", children_are_refused},
    {NULL, NULL, NULL},
};
