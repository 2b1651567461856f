/* events.c - marks, waits, maps, and the states and times of events.
 *
 * The runtime's event is a cl_event with a reference. */
#include "providers/opencl/bridge.h"
#include "providers/opencl/runtime.h"

#include <string.h>
#include <time.h>

/* ---- Waits ---- */

/* Sets *usable to an event that the device's queues can wait for, with a reference: the event itself, or a user event
 * that is to be linked to it. Drivers ignore an event that has failed before the wait for it is enqueued, so that the
 * wait is refused. */
static bp_status usable_event(const bp__cl_device *device, cl_event event, cl_event *usable) {
    cl_context context = NULL;
    int64_t failure = 0;
    cl_int code = device->cl->GetEventInfo(event, BP__CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    if (code == BP__CL_SUCCESS && bp__cl_event_state(event, &failure) == BP_EVENT_FAILED) {
        return bp__cl_fail(device->host, (cl_int)failure, "a command to wait for has failed");
    }
    *usable = event;
    if (code == BP__CL_SUCCESS && context != device->context) {
        *usable = device->cl->CreateUserEvent(device->context, &code);
    } else if (code == BP__CL_SUCCESS) {
        code = device->cl->RetainEvent(event);
    }
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(device->host, code, "an event to wait for");
}

enum { WAITS_AT_ONCE = 16 };

/* Makes the queue's next commands wait for a few events. */
static bp_status wait_for(const bp__cl_queue *queue, int count, void *const *events, cl_event *last) {
    const bp__cl_api *cl = queue->device->cl;
    cl_event list[WAITS_AT_ONCE];
    bp_status status = BP_OK;
    int ready = 0;
    while (status == BP_OK && ready < count) {
        status = usable_event(queue->device, events[ready], &list[ready]);
        ready += status == BP_OK;
    }
    if (status == BP_OK) {
        cl_int code = cl->EnqueueBarrierWithWaitList(queue->native, (cl_uint)count, list, last);
        status =
            code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(queue->device->host, code, "clEnqueueBarrierWithWaitList");
    }
    for (int i = 0; i < ready; i++) {
        if (status == BP_OK && list[i] != events[i]) {
            status = bp__cl_bridge_add(queue->device->state->bridge, events[i], list[i]);
        }
        if (status != BP_OK && list[i] != events[i]) {
            cl->SetUserEventStatus(list[i], BP__CL_OUT_OF_RESOURCES); /* nothing may wait for it for ever */
        }
        cl->ReleaseEvent(list[i]);
    }
    return status;
}

static bp_status mark(const bp__cl_queue *queue, cl_event *event) {
    cl_int code = queue->device->cl->EnqueueMarkerWithWaitList(queue->native, 0, NULL, event);
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(queue->device->host, code, "clEnqueueMarkerWithWaitList");
}

bp_status bp__cl_wait(void *opaque, int count, void *const *events, void **event) {
    const bp__cl_queue *queue = opaque;
    cl_event last = NULL;
    bp_status status = count == 0 ? mark(queue, &last) : BP_OK;
    for (int done = 0; status == BP_OK && done < count; done += WAITS_AT_ONCE) {
        int some = count - done < WAITS_AT_ONCE ? count - done : WAITS_AT_ONCE;
        bool is_last = done + some == count;
        status = wait_for(queue, some, events + done, is_last ? &last : NULL);
    }
    queue->device->cl->Flush(queue->native); /* also if a later command failed: the earlier ones are enqueued */
    if (status == BP_OK) {
        *event = last;
    } else if (last) {
        queue->device->cl->ReleaseEvent(last);
    }
    return status;
}

/* ---- Maps ---- */

bp_status bp__cl_map(void *opaque, const bp_operand *start, size_t size, uint32_t flags, void **address) {
    const bp__cl_queue *queue = opaque;
    cl_bitfield access = (flags & BP_MAP_READ ? BP__CL_MAP_READ : 0u) | (flags & BP_MAP_WRITE ? BP__CL_MAP_WRITE : 0u);
    cl_int code;
    *address = queue->device->cl->EnqueueMapBuffer(queue->native, start->base, 1, access, (size_t)start->offset, size,
                                                   0, NULL, NULL, &code);
    return code == BP__CL_SUCCESS ? BP_OK : bp__cl_fail(queue->device->host, code, "clEnqueueMapBuffer");
}

bp_status bp__cl_unmap(void *opaque, const bp_operand *start, void *address, void **event) {
    const bp__cl_queue *queue = opaque;
    cl_event done;
    cl_int code = queue->device->cl->EnqueueUnmapMemObject(queue->native, start->base, address, 0, NULL, &done);
    if (code != BP__CL_SUCCESS) {
        return bp__cl_fail(queue->device->host, code, "clEnqueueUnmapMemObject");
    }
    queue->device->cl->Flush(queue->native);
    *event = done;
    return BP_OK;
}

/* ---- States and times ---- */

bp_event_state bp__cl_event_state(void *event, int64_t *code) {
    cl_int state = 0;
    cl_int failure =
        bp__cl_loaded.GetEventInfo(event, BP__CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    state = failure ? failure : state;
    if (state < 0) {
        *code = state;
        return BP_EVENT_FAILED;
    }
    return state == BP__CL_COMPLETE ? BP_EVENT_DONE : BP_EVENT_PENDING;
}

int64_t bp__cl_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int64_t bp__cl_pause(int64_t passed_ns) {
    enum { LONGEST_NS = 1000000, SHORTEST_NS = 20000, PART = 16 };
    int64_t pause = passed_ns / PART;
    return pause < SHORTEST_NS ? SHORTEST_NS : pause > LONGEST_NS ? LONGEST_NS : pause;
}

/* OpenCL has no wait with a time limit, so the event is asked for its state again and again. */
static bp_event_state poll_until(void *event, int64_t timeout_ns, int64_t *code) {
    int64_t start = bp__cl_now();
    for (;;) {
        bp_event_state state = bp__cl_event_state(event, code);
        int64_t passed = bp__cl_now() - start;
        if (state != BP_EVENT_PENDING || passed >= timeout_ns) {
            return state;
        }
        int64_t pause = bp__cl_pause(passed);
        pause = pause < timeout_ns - passed ? pause : timeout_ns - passed;
        nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
    }
}

bp_event_state bp__cl_event_sync(void *event, int64_t timeout_ns, int64_t *code) {
    if (timeout_ns >= 0) {
        return poll_until(event, timeout_ns, code);
    }
    cl_event native = event;
    cl_int failure = bp__cl_loaded.WaitForEvents(1, &native);
    bp_event_state state = bp__cl_event_state(event, code);
    if (state == BP_EVENT_PENDING) { /* the wait itself has failed */
        *code = failure;
        return BP_EVENT_FAILED;
    }
    return state;
}

bp_status bp__cl_event_times(void *event, int64_t *start_ns, int64_t *end_ns) {
    const bp__cl_api *cl = &bp__cl_loaded;
    cl_ulong start, end;
    int64_t failure = 0;
    bp_event_state state = bp__cl_event_state(event, &failure);
    if (state == BP_EVENT_PENDING) {
        return bp__cl_host->fail(BP_E_BUSY, "opencl: the event is not reached yet");
    }
    if (state == BP_EVENT_FAILED) {
        return bp__cl_fail(bp__cl_host, (cl_int)failure, "the event's command");
    }
    cl_int code = cl->GetEventProfilingInfo(event, BP__CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    code = code ? code : cl->GetEventProfilingInfo(event, BP__CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (code != BP__CL_SUCCESS) {
        return bp__cl_host->fail(BP_E_UNSUPPORTED, "opencl: the event has no times: %s (%d)",
                                 bp__cl_error_name(code, NULL), (int)code);
    }
    *start_ns = (int64_t)start;
    *end_ns = (int64_t)end;
    return BP_OK;
}

bp_status bp__cl_event_wrap(void *opaque, void *native, void **event) {
    const bp__cl_device *device = opaque;
    cl_int code = device->cl->RetainEvent(native);
    if (code != BP__CL_SUCCESS) {
        return device->host->fail(BP_E_ARGUMENT, "opencl: the event cannot be used: %s (%d)",
                                  bp__cl_error_name(code, NULL), (int)code);
    }
    *event = native;
    return BP_OK;
}

bool bp__cl_is_pocl(const char *version) {
    return strstr(version, "pocl") || strstr(version, "PoCL");
}

/* Returns whether the event's device belongs to PoCL. User events have no queue and are none of its commands. */
static bool is_command_of_pocl(cl_event event) {
    const bp__cl_api *cl = &bp__cl_loaded;
    cl_command_queue queue = NULL;
    cl_device_id device = NULL;
    char version[256] = "";
    cl_int code = cl->GetEventInfo(event, BP__CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (code || !queue || cl->GetCommandQueueInfo(queue, BP__CL_QUEUE_DEVICE, sizeof device, &device, NULL)) {
        return false;
    }
    code = cl->GetDeviceInfo(device, BP__CL_DEVICE_VERSION, sizeof version, version, NULL);
    return code == BP__CL_SUCCESS && bp__cl_is_pocl(version);
}

/* PoCL (3.1 to 7.0) locks a command's event once more after it has failed and its last reference may be gone, which
 * ends the process. The reference of a failed command is therefore kept there for ever. */
void bp__cl_event_release(void *event) {
    int64_t code = 0;
    if (bp__cl_event_state(event, &code) == BP_EVENT_FAILED && is_command_of_pocl(event)) {
        return;
    }
    bp__cl_loaded.ReleaseEvent(event);
}
