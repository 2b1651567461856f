/* costs.c - measures what the driver's calls and copies take. Nothing is compared: the report has the numbers. */
#include "check.h"

#include "backplane.h"

#include <stdlib.h>

enum { CALLS = 20000 };

/* Notes the time of one of many calls. */
static void note_calls(const char *name, int64_t begin) {
    note("%s: %.0f ns", name, (double)(now_ns() - begin) / CALLS);
}

static outcome starting(void) {
    CUcontext context;
    int32_t place;
    const int64_t first = now_ns();
    LIBRARY(bp_device_find("cuda:0", &place));
    note("list of devices, from another process or kept: %.1f ms", (double)(now_ns() - first) / 1e6);
    const int64_t begin = now_ns();
    NEEDS(open_driver());
    const int64_t opened = now_ns();
    NEEDS(use_device(0, &context));
    note("library and cuInit: %.1f ms", (double)(opened - begin) / 1e6);
    note("primary context: %.1f ms", (double)(now_ns() - opened) / 1e6);
    return PASSED;
}

static outcome calls(void) {
    CUcontext context, current;
    CUstream stream;
    CUevent event;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = BP__CU_STREAM_CAPTURE_MODE_GLOBAL;
    NEEDS(open_driver());
    NEEDS(use_device(0, &context));
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    int64_t begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.CtxGetCurrent(&current));
    }
    note_calls("cuCtxGetCurrent", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.ThreadExchangeStreamCaptureMode(&mode));
    }
    note_calls("cuThreadExchangeStreamCaptureMode", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.StreamIsCapturing(stream, &status));
    }
    note_calls("cuStreamIsCapturing", begin);
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.EventRecord(event, stream));
    }
    note_calls("cuEventRecord", begin);
    WORKS(cu.StreamSynchronize(stream));
    begin = now_ns();
    for (int i = 0; i < CALLS; i++) {
        WORKS(cu.EventQuery(event));
    }
    note_calls("cuEventQuery", begin);
    return PASSED;
}

/* ---- Copies ---- */

static outcome open_place(int32_t *place, bp_device_info *info) {
    *info = (bp_device_info){.struct_size = sizeof *info};
    LIBRARY(bp_device_find("cuda:0", place));
    LIBRARY(bp_device_describe(*place, info));
    return PASSED;
}

/* Notes the bandwidth of a copy: the best of a few. */
static outcome note_copy(const char *name, int32_t place, DLTensor *to, const DLTensor *from, uint64_t bytes) {
    bp_queue *queue;
    double best = 0;
    LIBRARY(bp_queue_new(&queue, place, 0));
    for (int i = 0; i < 5; i++) {
        const int64_t begin = now_ns();
        LIBRARY(bp_copy(to, from, queue));
        LIBRARY(bp_queue_wait(queue));
        const double rate = (double)bytes / (double)(now_ns() - begin);
        best = rate > best ? rate : best;
    }
    note("%s: %.2f GB/s", name, best);
    bp_queue_release(queue);
    return PASSED;
}

static outcome copies(void) {
    int32_t place;
    bp_device_info info;
    NEEDS(open_place(&place, &info));
    const int64_t side = info.memory >= UINT64_C(4) << 30 ? 8192 : 64;
    const int64_t shape[] = {side, side}, turned[] = {1, side};
    const uint64_t bytes = (uint64_t)(side * side) * 4;
    DLManagedTensorVersioned *one, *two, *three, *pinned, *host;
    LIBRARY(bp_tensor_empty_on(&one, place, BP_F32, 2, shape, NULL));
    LIBRARY(bp_tensor_empty_on(&two, place, BP_F32, 2, shape, NULL));
    LIBRARY(bp_tensor_empty_on(&three, place, BP_F32, 2, shape, turned));
    LIBRARY(bp_tensor_pinned(&pinned, place, BP_F32, 2, shape));
    LIBRARY(bp_tensor_empty(&host, BP_F32, 2, shape, NULL));
    NEEDS(note_copy("from pinned memory", place, &one->dl_tensor, &pinned->dl_tensor, bytes));
    NEEDS(note_copy("to pinned memory", place, &pinned->dl_tensor, &one->dl_tensor, bytes));
    NEEDS(note_copy("from other memory", place, &one->dl_tensor, &host->dl_tensor, bytes));
    NEEDS(note_copy("to other memory", place, &host->dl_tensor, &one->dl_tensor, bytes));
    NEEDS(note_copy("within the device, read and written", place, &two->dl_tensor, &one->dl_tensor, 2 * bytes));
    NEEDS(
        note_copy("transposed by the kernel, read and written", place, &three->dl_tensor, &one->dl_tensor, 2 * bytes));
    one->deleter(one);
    two->deleter(two);
    three->deleter(three);
    pinned->deleter(pinned);
    host->deleter(host);
    return PASSED;
}

static outcome commands(void) {
    int32_t place;
    bp_device_info info;
    bp_queue *queue;
    DLManagedTensorVersioned *one, *two;
    NEEDS(open_place(&place, &info));
    LIBRARY(bp_queue_new(&queue, place, 0));
    LIBRARY(bp_tensor_empty_on(&one, place, BP_F32, 1, &(int64_t){64}, NULL));
    LIBRARY(bp_tensor_empty_on(&two, place, BP_F32, 1, &(int64_t){64}, NULL));
    for (int round = 0; round < 2; round++) { /* the first makes the events */
        const int64_t begin = now_ns();
        for (int i = 0; i < CALLS / 10; i++) {
            LIBRARY(bp_copy(&two->dl_tensor, &one->dl_tensor, queue));
        }
        const double ns = (double)(now_ns() - begin) / (CALLS / 10);
        LIBRARY(bp_queue_wait(queue));
        if (round == 1) {
            note("bp_copy of 256 bytes, enqueued: %.0f ns", ns);
        }
    }
    one->deleter(one);
    two->deleter(two);
    bp_queue_release(queue);
    return PASSED;
}

const rule costs[] = {
    {"costs.start", "Times of the start.", starting},
    {"costs.calls", "Times of the driver's calls.", calls},
    {"costs.copies", "Bandwidths of copies.", copies},
    {"costs.commands", "Times of the library's commands.", commands},
    {NULL, NULL, NULL},
};
