/* driver_rules.c - rules of CUDA's driver: contexts, memory, streams, events and errors. */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, SLEEP_NS = 50000000 };

static CUcontext context;
static CUstream first, second; /* they do not wait for the default stream */

static outcome start(void) {
    NEEDS(open_driver());
    NEEDS(use_device(0, &context));
    WORKS(cu.StreamCreate(&first, BP__CU_STREAM_NON_BLOCKING));
    WORKS(cu.StreamCreate(&second, BP__CU_STREAM_NON_BLOCKING));
    return PASSED;
}

static outcome fill(CUdeviceptr memory, uint8_t value, CUstream stream) {
    WORKS(cu.MemsetD8Async(memory, value, BYTES, stream));
    return PASSED;
}

/* Reads the last byte of the memory, behind all work of the stream. */
static outcome last_byte(CUdeviceptr memory, CUstream stream, uint8_t *value) {
    WORKS(cu.MemcpyDtoHAsync(value, memory + BYTES - 1, 1, stream));
    WORKS(cu.StreamSynchronize(stream));
    return PASSED;
}

/* ---- Contexts ---- */

static outcome calls_need_a_context(void) {
    CUdeviceptr memory;
    CUstream stream;
    NEEDS(open_driver());
    EXPECT(cu.MemAlloc(&memory, 16), BP__CU_INVALID_CONTEXT);
    EXPECT(cu.StreamCreate(&stream, 0), BP__CU_INVALID_CONTEXT);
    return PASSED;
}

static outcome the_primary_context_is_one(void) {
    CUcontext again = NULL, current = NULL, popped = NULL;
    NEEDS(start());
    WORKS(cu.DevicePrimaryCtxRetain(&again, 0));
    HOLDS(again == context);
    WORKS(cu.CtxSetCurrent(NULL));
    WORKS(cu.CtxPushCurrent(context));
    WORKS(cu.CtxPopCurrent(&popped));
    WORKS(cu.CtxGetCurrent(&current));
    HOLDS(popped == context && current == NULL);
    WORKS(cu.DevicePrimaryCtxRelease(0));
    return PASSED;
}

static outcome streams_know_their_context(void) {
    CUcontext of = NULL;
    NEEDS(start());
    WORKS(cu.StreamGetCtx(first, &of));
    HOLDS(of == context);
    return PASSED;
}

/* ---- Memory ---- */

static outcome ranges_have_a_start(void) {
    CUdeviceptr memory, start_of = 0;
    size_t size = 0;
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, 1000));
    HOLDS(memory % 256 == 0);
    WORKS(cu.MemGetAddressRange(&start_of, &size, memory + 500));
    HOLDS(start_of == memory && size >= 1000);
    WORKS(cu.MemFree(memory));
    EXPECT(cu.MemGetAddressRange(&start_of, &size, memory + 500), BP__CU_INVALID_VALUE);
    return PASSED;
}

static outcome too_much_memory_is_refused(void) {
    CUdeviceptr memory;
    NEEDS(start());
    EXPECT(cu.MemAlloc(&memory, (size_t)1 << 44), BP__CU_OUT_OF_MEMORY);
    WORKS(cu.MemAlloc(&memory, 16)); /* the context is not affected */
    return PASSED;
}

static void *open_later(void *opaque) {
    usleep(SLEEP_NS / 1000);
    open_gate(opaque);
    return NULL;
}

/* A gate that another thread opens. */
static outcome open_soon(gate *own, pthread_t *thread) {
    HOLDS(own != NULL);
    HOLDS(pthread_create(thread, NULL, open_later, own) == 0);
    return PASSED;
}

static outcome free_waits(void) {
    CUdeviceptr memory;
    pthread_t thread;
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, BYTES));
    const int64_t begin = now_ns();
    NEEDS(open_soon(close_gate(first), &thread));
    NEEDS(fill(memory, 1, first));
    WORKS(cu.MemFree(memory));
    const int64_t took = now_ns() - begin;
    pthread_join(thread, NULL);
    WORKS(cu.StreamSynchronize(first));
    HOLDS(took >= SLEEP_NS * 9 / 10);
    return PASSED;
}

static outcome ordered_memory_outlives_commands(void) {
    CUdeviceptr block, memory;
    uint8_t value = 0;
    int pools = 0;
    NEEDS(start());
    WORKS(cu.DeviceGetAttribute(&pools, BP__CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    if (!pools) {
        return skip_rule("the device has no memory pools");
    }
    WORKS(cu.MemAlloc(&memory, BYTES));
    for (int i = 1; i <= 20; i++) {
        WORKS(cu.MemAllocAsync(&block, BYTES, first));
        NEEDS(fill(block, (uint8_t)i, first));
        WORKS(cu.MemcpyDtoDAsync(memory, block, BYTES, first));
        WORKS(cu.MemFreeAsync(block, first));
    }
    NEEDS(last_byte(memory, first, &value));
    HOLDS(value == 20);
    return PASSED;
}

static outcome pinned_copies_do_not_block(void) {
    CUdeviceptr memory;
    void *pinned = NULL;
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, BYTES));
    WORKS(cu.MemHostAlloc(&pinned, BYTES, BP__CU_MEMHOSTALLOC_PORTABLE));
    memset(pinned, 7, BYTES);
    gate *own = close_gate(first);
    HOLDS(own != NULL);
    WORKS(cu.MemcpyHtoDAsync(memory, pinned, BYTES, first)); /* a call that waits would never return */
    WORKS(cu.MemcpyDtoHAsync(pinned, memory, BYTES, first));
    EXPECT(cu.StreamQuery(first), BP__CU_NOT_READY);
    memset(pinned, 8, BYTES);
    open_gate(own);
    WORKS(cu.StreamSynchronize(first));
    HOLDS(((uint8_t *)pinned)[BYTES - 1] == 8);
    WORKS(cu.MemFreeHost(pinned));
    return PASSED;
}

/* ---- Events ---- */

static outcome events_are_reached_in_order(void) {
    CUevent event;
    NEEDS(start());
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.EventQuery(event)); /* never recorded */
    gate *own = close_gate(first);
    HOLDS(own != NULL);
    WORKS(cu.EventRecord(event, first));
    EXPECT(cu.EventQuery(event), BP__CU_NOT_READY);
    open_gate(own);
    WORKS(cu.EventSynchronize(event));
    WORKS(cu.EventQuery(event));
    WORKS(cu.EventDestroy(event));
    return PASSED;
}

static outcome events_have_times(void) {
    CUevent from, to, untimed;
    float ms = 0;
    NEEDS(start());
    WORKS(cu.EventCreate(&from, 0));
    WORKS(cu.EventCreate(&to, 0));
    WORKS(cu.EventCreate(&untimed, BP__CU_EVENT_DISABLE_TIMING));
    pthread_t thread;
    WORKS(cu.EventRecord(from, first));
    NEEDS(open_soon(close_gate(first), &thread));
    WORKS(cu.EventRecord(to, first));
    WORKS(cu.EventRecord(untimed, first));
    EXPECT(cu.EventElapsedTime(&ms, from, to), BP__CU_NOT_READY);
    WORKS(cu.EventSynchronize(untimed));
    pthread_join(thread, NULL);
    WORKS(cu.EventElapsedTime(&ms, from, to));
    HOLDS(ms > 30);
    WORKS(cu.EventElapsedTime(&ms, to, from));
    HOLDS(ms < -30);
    EXPECT(cu.EventElapsedTime(&ms, from, untimed), BP__CU_INVALID_HANDLE);
    return PASSED;
}

static outcome streams_wait_for_events(void) {
    CUdeviceptr memory;
    CUevent event;
    uint8_t value = 0;
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, BYTES));
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    gate *own = close_gate(first);
    HOLDS(own != NULL);
    NEEDS(fill(memory, 1, first));
    WORKS(cu.EventRecord(event, first));
    WORKS(cu.StreamWaitEvent(second, event, 0));
    NEEDS(fill(memory, 2, second));
    usleep(20000);
    EXPECT(cu.StreamQuery(second), BP__CU_NOT_READY);
    open_gate(own);
    NEEDS(last_byte(memory, second, &value));
    HOLDS(value == 2);
    return PASSED;
}

/* ---- Streams ---- */

static outcome the_default_stream_waits(void) {
    CUstream blocking;
    NEEDS(start());
    WORKS(cu.StreamCreate(&blocking, 0));
    gate *own = close_gate(blocking);
    HOLDS(own != NULL);
    CUdeviceptr memory;
    WORKS(cu.MemAlloc(&memory, BYTES));
    NEEDS(fill(memory, 1, NULL));
    usleep(20000);
    EXPECT(cu.StreamQuery(NULL), BP__CU_NOT_READY);
    EXPECT(cu.StreamQuery(BP__CU_STREAM_LEGACY), BP__CU_NOT_READY);
    WORKS(cu.StreamQuery(first)); /* it does not take part */
    open_gate(own);
    WORKS(cu.StreamSynchronize(NULL));
    own = close_gate(NULL);
    HOLDS(own != NULL);
    NEEDS(fill(memory, 2, blocking));
    NEEDS(fill(memory, 3, first));
    usleep(20000);
    EXPECT(cu.StreamQuery(blocking), BP__CU_NOT_READY);
    WORKS(cu.StreamSynchronize(first));
    open_gate(own);
    WORKS(cu.StreamSynchronize(blocking));
    return PASSED;
}

static void *ask_own_stream(void *opaque) {
    CUresult *answer = opaque;
    *answer = cu.CtxSetCurrent(context);
    *answer = *answer ? *answer : cu.StreamQuery(BP__CU_STREAM_PER_THREAD);
    return NULL;
}

static outcome threads_have_streams(void) {
    pthread_t thread;
    CUresult answer = BP__CU_UNKNOWN;
    NEEDS(start());
    gate *own = close_gate(BP__CU_STREAM_PER_THREAD);
    HOLDS(own != NULL);
    HOLDS(pthread_create(&thread, NULL, ask_own_stream, &answer) == 0);
    pthread_join(thread, NULL);
    const CUresult here = cu.StreamQuery(BP__CU_STREAM_PER_THREAD);
    open_gate(own);
    WORKS(cu.StreamSynchronize(BP__CU_STREAM_PER_THREAD));
    EXPECT(here, BP__CU_NOT_READY);
    EXPECT(answer, BP__CU_SUCCESS);
    return PASSED;
}

static outcome destroyed_streams_end_their_work(void) {
    CUstream stream;
    CUdeviceptr memory;
    CUevent event;
    uint8_t value = 0;
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, BYTES));
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    gate *own = close_gate(stream);
    HOLDS(own != NULL);
    NEEDS(fill(memory, 9, stream));
    WORKS(cu.EventRecord(event, stream));
    WORKS(cu.StreamDestroy(stream));
    EXPECT(cu.EventQuery(event), BP__CU_NOT_READY);
    open_gate(own);
    WORKS(cu.EventSynchronize(event));
    NEEDS(last_byte(memory, first, &value));
    HOLDS(value == 9);
    return PASSED;
}

static outcome streams_need_their_context(void) {
    CUcontext other;
    CUstream stream;
    CUdeviceptr memory;
    int count = 0;
    NEEDS(start());
    WORKS(cu.DeviceGetCount(&count));
    if (count < 2) {
        return skip_rule("there is one device");
    }
    NEEDS(use_device(1, &other));
    WORKS(cu.StreamCreate(&stream, 0));
    WORKS(cu.CtxSetCurrent(context));
    CUevent event;
    WORKS(cu.EventCreate(&event, BP__CU_EVENT_DISABLE_TIMING));
    EXPECT(cu.EventRecord(event, stream), BP__CU_INVALID_HANDLE);
    WORKS(cu.EventRecord(event, first));
    WORKS(cu.CtxSetCurrent(other));
    WORKS(cu.StreamWaitEvent(stream, event, 0)); /* also of another context */
    WORKS(cu.MemAlloc(&memory, BYTES));
    NEEDS(fill(memory, 1, stream));
    WORKS(cu.StreamSynchronize(stream));
    return PASSED;
}

/* ---- Errors ---- */

/* Stores an address at this address. */
static const char store_text[] = ".version 7.4\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry store(.param .align 8 .b8 all[8])\n{\n"
                                 ".reg .b64 %to;\n"
                                 "ld.param.u64 %to, [all+0];\n"
                                 "st.u64 [%to], %to;\n"
                                 "ret;\n}\n";

static outcome an_error_stays(void) {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr memory, wrong = 64;
    CUevent before;
    void *parameters[] = {&wrong};
    NEEDS(start());
    WORKS(cu.MemAlloc(&memory, BYTES));
    WORKS(cu.EventCreate(&before, BP__CU_EVENT_DISABLE_TIMING));
    WORKS(cu.EventRecord(before, first));
    WORKS(cu.StreamSynchronize(first));
    WORKS(cu.ModuleLoadData(&module, store_text));
    WORKS(cu.ModuleGetFunction(&kernel, module, "store"));
    WORKS(cu.LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
    EXPECT(cu.StreamSynchronize(first), BP__CU_ILLEGAL_ADDRESS);
    EXPECT(cu.EventQuery(before), BP__CU_ILLEGAL_ADDRESS); /* also an event that was reached before */
    EXPECT(cu.MemAlloc(&memory, 16), BP__CU_ILLEGAL_ADDRESS);
    EXPECT(cu.StreamQuery(second), BP__CU_ILLEGAL_ADDRESS);
    EXPECT(cu.MemcpyDtoDAsync(memory, memory + 64, 16, second), BP__CU_ILLEGAL_ADDRESS);
    CUcontext current = NULL;
    WORKS(cu.CtxGetCurrent(&current));
    return PASSED;
}

static outcome a_child_has_no_driver(void) {
    int status = 0;
    NEEDS(start());
    const pid_t child = fork();
    if (child == 0) {
        _exit((int)cu.Init(0));
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    EXPECT(WEXITSTATUS(status), BP__CU_NOT_INITIALIZED);
    return PASSED;
}

const rule driver_rules[] = {
    {"driver.context.needed", "Without a current context, calls that need one answer INVALID_CONTEXT (201).",
     calls_need_a_context},
    {"driver.context.primary", "The primary context is one for the process; push and pop leave no trace.",
     the_primary_context_is_one},
    {"driver.context.of_stream", "A stream tells its context, the primary one.", streams_know_their_context},
    {"driver.context.of_stream_needed",
     "An event is recorded in streams of its context only; streams wait for all events.", streams_need_their_context},
    {"driver.memory.range", "Blocks start at multiples of 256 bytes, and an address in the middle tells the block.",
     ranges_have_a_start},
    {"driver.memory.exhausted", "Too much memory is refused with OUT_OF_MEMORY (2), and the context goes on.",
     too_much_memory_is_refused},
    {"driver.memory.free_waits", "cuMemFree waits for the commands of all streams.", free_waits},
    {"driver.memory.ordered", "Memory of cuMemAllocAsync may be freed right after its commands were enqueued.",
     ordered_memory_outlives_commands},
    {"driver.memory.pinned", "Copies from and to pinned memory do not block the calling thread.",
     pinned_copies_do_not_block},
    {"driver.events.state",
     "An event that was never recorded is reached; a recorded one is NOT_READY (600) until then.",
     events_are_reached_in_order},
    {"driver.events.times",
     "Times are differences of two timed events, also negative; others answer INVALID_HANDLE (400).",
     events_have_times},
    {"driver.events.waits", "A stream waits for an event of another stream.", streams_wait_for_events},
    {"driver.streams.default", "The default stream and blocking streams wait for each other; others do not.",
     the_default_stream_waits},
    {"driver.streams.per_thread", "CU_STREAM_PER_THREAD names another stream in each thread.", threads_have_streams},
    {"driver.streams.destroyed", "The work of a destroyed stream goes on.", destroyed_streams_end_their_work},
    {"driver.errors.sticky", "After ILLEGAL_ADDRESS (700) every call of the context answers it.", an_error_stays},
    {"driver.fork", "In a child of fork, cuInit answers NOT_INITIALIZED (3).", a_child_has_no_driver},
    {NULL, NULL, NULL},
};
