/* capture_rules.c - rules of CUDA's driver for captures and graphs. */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 16, LAUNCHES = 5 };

static CUcontext context;
static CUstream stream, other;
static CUdeviceptr memory, copy_of;

static outcome start(void) {
    NEEDS(open_driver());
    NEEDS(use_device(0, &context));
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.StreamCreate(&other, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.MemAlloc(&memory, BYTES));
    WORKS(cu.MemAlloc(&copy_of, BYTES));
    return PASSED;
}

static outcome end(CUgraphExec *run) {
    CUgraph graph = NULL;
    WORKS(cu.StreamEndCapture(stream, &graph));
    WORKS(cu.GraphInstantiate(run, graph, 0));
    WORKS(cu.GraphDestroy(graph));
    return PASSED;
}

static outcome last_byte(uint8_t *value) {
    WORKS(cu.MemcpyDtoHAsync(value, copy_of + BYTES - 1, 1, stream));
    WORKS(cu.StreamSynchronize(stream));
    return PASSED;
}

static outcome commands_are_noted(void) {
    CUgraphExec run = NULL;
    uint8_t value = 0;
    CUstreamCaptureStatus status = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    NEEDS(start());
    WORKS(cu.MemsetD8Async(copy_of, 1, BYTES, stream));
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cu.StreamIsCapturing(stream, &status));
    HOLDS(status == BP__CU_STREAM_CAPTURE_STATUS_ACTIVE);
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream));
    WORKS(cu.MemcpyDtoDAsync(copy_of, memory, BYTES, stream));
    NEEDS(end(&run));
    NEEDS(last_byte(&value));
    HOLDS(value == 1);
    WORKS(cu.GraphLaunch(run, stream));
    NEEDS(last_byte(&value));
    HOLDS(value == 2);
    return PASSED;
}

/* Memory of the host that is not pinned is read at each launch. */
static outcome host_memory_is_read_by_launches(void) {
    static uint8_t host[BYTES];
    CUgraphExec run = NULL;
    uint8_t value = 0;
    NEEDS(start());
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cu.MemcpyHtoDAsync(copy_of, host, BYTES, stream));
    NEEDS(end(&run));
    for (uint8_t i = 1; i <= LAUNCHES; i++) {
        memset(host, i, sizeof host);
        WORKS(cu.GraphLaunch(run, stream));
        NEEDS(last_byte(&value));
        HOLDS(value == i);
    }
    return PASSED;
}

static outcome captured_events_have_no_state(void) {
    CUevent event;
    CUgraphExec run = NULL;
    NEEDS(start());
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream));
    WORKS(cu.EventRecord(event, stream));
    NEEDS(end(&run));
    EXPECT(cu.EventQuery(event), BP__CU_CAPTURED_EVENT);
    WORKS(cu.EventRecord(event, other)); /* it can be used again */
    WORKS(cu.EventSynchronize(event));
    return PASSED;
}

static outcome strict_captures_forbid_calls(void) {
    CUdeviceptr fresh;
    CUgraph graph = NULL;
    NEEDS(start());
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(cu.MemAlloc(&fresh, BYTES), BP__CU_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cu.StreamEndCapture(stream, &graph), BP__CU_STREAM_CAPTURE_INVALIDATED);
    return PASSED;
}

/* What the library calls while the program captures a stream. */
static outcome relaxed_threads_may_call(void) {
    CUdeviceptr fresh;
    CUevent event, reached;
    CUgraphExec run = NULL;
    CUstream another;
    void *pinned = NULL;
    CUstreamCaptureMode mode = BP__CU_STREAM_CAPTURE_MODE_RELAXED;
    NEEDS(start());
    WORKS(cu.EventCreate(&reached, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.EventRecord(reached, other));
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_GLOBAL));
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream));
    WORKS(cu.ThreadExchangeStreamCaptureMode(&mode));
    HOLDS(mode == BP__CU_STREAM_CAPTURE_MODE_GLOBAL);
    WORKS(cu.MemAlloc(&fresh, BYTES));
    WORKS(cu.MemFree(fresh));
    WORKS(cu.MemHostAlloc(&pinned, BYTES, BP__CU_MEMHOSTALLOC_PORTABLE));
    WORKS(cu.MemFreeHost(pinned));
    WORKS(cu.EventSynchronize(reached));
    WORKS(cu.EventQuery(reached));
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.StreamCreate(&another, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.StreamDestroy(another));
    WORKS(cu.ThreadExchangeStreamCaptureMode(&mode));
    HOLDS(mode == BP__CU_STREAM_CAPTURE_MODE_RELAXED);
    NEEDS(end(&run));
    return PASSED;
}

static outcome the_default_stream_is_not_captured(void) {
    CUstream blocking;
    CUgraph graph = NULL;
    CUstreamCaptureStatus status;
    NEEDS(start());
    EXPECT(cu.StreamBeginCapture(NULL, BP__CU_STREAM_CAPTURE_MODE_RELAXED), BP__CU_STREAM_CAPTURE_UNSUPPORTED);
    WORKS(cu.StreamCreate(&blocking, 0));
    WORKS(cu.StreamBeginCapture(blocking, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(cu.StreamIsCapturing(NULL, &status), BP__CU_STREAM_CAPTURE_IMPLICIT);
    EXPECT(cu.MemsetD8Async(memory, 2, BYTES, NULL), BP__CU_STREAM_CAPTURE_IMPLICIT);
    EXPECT(cu.StreamEndCapture(blocking, &graph), BP__CU_STREAM_CAPTURE_INVALIDATED);
    return PASSED;
}

static void *end_in_thread(void *opaque) {
    CUgraph graph = NULL;
    CUresult *answer = opaque;
    *answer = cu.CtxSetCurrent(context);
    *answer = *answer ? *answer : cu.StreamEndCapture(stream, &graph);
    return NULL;
}

static outcome relaxed_captures_end_anywhere(void) {
    pthread_t thread;
    CUresult answer = BP__CU_UNKNOWN;
    NEEDS(start());
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream));
    HOLDS(pthread_create(&thread, NULL, end_in_thread, &answer) == 0);
    pthread_join(thread, NULL);
    EXPECT(answer, BP__CU_SUCCESS);
    return PASSED;
}

static outcome launches_run_in_order(void) {
    CUgraphExec run = NULL;
    NEEDS(start());
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream));
    NEEDS(end(&run));
    gate *own = close_gate(stream);
    HOLDS(own != NULL);
    WORKS(cu.GraphLaunch(run, stream));
    WORKS(cu.GraphLaunch(run, other));
    usleep(20000);
    const CUresult behind = cu.StreamQuery(other);
    open_gate(own);
    WORKS(cu.StreamSynchronize(other));
    EXPECT(behind, BP__CU_NOT_READY);
    WORKS(cu.GraphExecDestroy(run));
    return PASSED;
}

static outcome waits_of_the_capture_end_it(void) {
    CUgraph graph = NULL;
    NEEDS(start());
    WORKS(cu.StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(cu.StreamSynchronize(stream), BP__CU_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cu.StreamEndCapture(stream, &graph), BP__CU_STREAM_CAPTURE_INVALIDATED);
    WORKS(cu.MemsetD8Async(memory, 2, BYTES, stream)); /* the stream can be used again */
    WORKS(cu.StreamSynchronize(stream));
    return PASSED;
}

const rule capture_rules[] = {
    {"capture.noted", "Commands of a captured stream run in launches only.", commands_are_noted},
    {"capture.host_memory", "Copies from memory that is not pinned can be captured, and read it at each launch.",
     host_memory_is_read_by_launches},
    {"capture.events", "An event of a capture answers CAPTURED_EVENT (907), and can be recorded again.",
     captured_events_have_no_state},
    {"capture.strict", "A capture in the global mode forbids allocations (900), and ends without a graph (901).",
     strict_captures_forbid_calls},
    {"capture.relaxed_thread",
     "In a thread with the relaxed mode, allocations, frees, events and streams do not end it.",
     relaxed_threads_may_call},
    {"capture.default_stream", "The default stream cannot be captured, and must not be used while a blocking one is.",
     the_default_stream_is_not_captured},
    {"capture.threads", "A relaxed capture may end in another thread.", relaxed_captures_end_anywhere},
    {"capture.launches", "A launch begins after the graph's earlier launches, on any stream.", launches_run_in_order},
    {"capture.waits", "A wait for a captured stream ends the capture without a graph.", waits_of_the_capture_end_it},
    {NULL, NULL, NULL},
};
